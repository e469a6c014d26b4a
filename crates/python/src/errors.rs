//! Errors and panics of Rust as exceptions of Python.

use clearway_sim::{SimError, scenario};
use pyo3::exceptions::PyException;
use pyo3::{PyErr, create_exception, pyfunction};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

create_exception!(clearway, Error, PyException, "Whatever Clearway refuses or fails at.");
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

/// Whatever can go wrong on the Rust side.
pub enum Failure {
    /// What the user gave can't be simulated.
    Scenario(scenario::ScenarioError),
    /// The simulation failed.
    Simulation(SimError),
    /// There is a mistake in Clearway: the panic's message and place, and the seed that leads to it.
    Panic(String, u64),
    /// An exception raised by a Python callback.
    Python(PyErr),
}

/// The one place where errors become exceptions.
impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Scenario(error) => ScenarioError::new_err(error.to_string()),
            Failure::Simulation(error) => SimulationError::new_err(error.to_string()),
            Failure::Panic(what, seed) => SimulationError::new_err(format!(
                "internal error, please report it with the scenario and its seed {seed}: {what}"
            )),
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
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics' messages for [`guard`] instead of printing them.
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

/// Runs `work`; a panic in it comes back as a failure.
pub fn guard<T>(seed: u64, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Failure::Panic(LAST_PANIC.with(|last| last.borrow().clone()), seed)))
}

/// Panics as a mistake in the simulator would. Only the tests call it.
#[pyfunction(name = "_panic_for_tests")]
pub fn panic_for_tests(seed: u64) -> Result<(), Failure> {
    guard(seed, || panic!("as the test wants"))
}
