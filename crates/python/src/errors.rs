//! The Python exceptions into which errors and panics of the Rust code are turned.

use clearway_sim::{SimError, scenario};
use pyo3::exceptions::PyException;
use pyo3::{PyErr, create_exception, pyfunction};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

create_exception!(clearway, Error, PyException, "The base class of all errors that Clearway raises.");
create_exception!(
    clearway,
    ScenarioError,
    Error,
    "A scenario that can't be simulated; the message names the file, the key, the value and what would be right."
);
create_exception!(
    clearway,
    SimulationError,
    Error,
    "A simulation that can't go on or whose books don't balance."
);

/// The reason for which a call from Python failed.
pub enum Failure {
    /// The scenario can't be simulated.
    Scenario(scenario::ScenarioError),
    /// The simulation could not go on, or its books do not balance.
    Simulation(SimError),
    /// The Rust code panicked, which is a mistake in Clearway: the panic's message with its place, and the run's seed.
    Panic(String, u64),
    /// A checkpoint can't be written, or the run can't go on from it: the message.
    Checkpoint(String),
    /// A Python callback raised an exception.
    Python(PyErr),
}

/// Turns a failure into an exception. No other code does so.
impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Scenario(error) => ScenarioError::new_err(error.to_string()),
            Failure::Simulation(error) => SimulationError::new_err(error.to_string()),
            Failure::Panic(what, seed) => SimulationError::new_err(format!(
                "internal error, please report it with the scenario and its seed {seed}: {what}"
            )),
            Failure::Checkpoint(what) => Error::new_err(what),
            Failure::Python(error) => error,
        }
    }
}

impl From<scenario::ScenarioError> for Failure {
    fn from(error: scenario::ScenarioError) -> Failure {
        Failure::Scenario(error)
    }
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Failure {
        Failure::Simulation(error)
    }
}

thread_local! {
    /// The message and place of the last panic in this thread.
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Makes panics store their message for [`guard`] instead of printing it.
pub fn quiet_panics() {
    set_hook(Box::new(|info| {
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let what = text.unwrap_or("a panic without a message").replace('\n', " ");
        let place = info.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
        LAST_PANIC.with(|last| *last.borrow_mut() = what + &place);
    }));
}

/// Runs `work` and returns a panic in it as a failure that names the seed.
pub fn guard<T>(seed: u64, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Failure::Panic(LAST_PANIC.with(|last| last.borrow().clone()), seed)))
}

/// Panics as a mistake in the simulator would. Only tests call it.
#[pyfunction(name = "_panic_for_tests")]
pub fn panic_for_tests(seed: u64) -> Result<(), Failure> {
    guard(seed, || panic!("as the test wants"))
}
