//! Reading a scenario and running it.

use crate::errors::{Failure, guard};
use crate::results::Results;
use clearway_sim as sim;
use clearway_sim::Simulation;
use clearway_sim::scenario::{Overrides, Scenario as Loaded};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Least time between two looks at Python: for signals, and for the progress callback.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A scenario, checked and with every default filled in.
#[pyclass(frozen, module = "clearway._clearway")]
pub struct Scenario(Loaded);

impl Scenario {
    /// What it comes to.
    pub fn model(&self) -> &sim::model::Model {
        &self.0.model
    }
}

#[pymethods]
impl Scenario {
    /// Reads a scenario file.
    #[staticmethod]
    #[pyo3(signature = (path, *, transport = None, seed = None, set = Vec::new()))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        transport: Option<String>,
        seed: Option<u64>,
        set: Vec<(String, String)>,
    ) -> Result<Scenario, Failure> {
        let overrides = Overrides { transport, seed, set };
        py.detach(|| guard(seed.unwrap_or(0), || Ok(Scenario(Loaded::load(&path, &overrides)?))))
    }

    /// Reads a scenario from text; `origin` names it in messages, files that it names are looked for in `base_dir`.
    #[staticmethod]
    #[pyo3(signature = (text, origin, base_dir, *, transport = None, seed = None, set = Vec::new()))]
    fn parse(
        py: Python<'_>,
        text: &str,
        origin: &str,
        base_dir: PathBuf,
        transport: Option<String>,
        seed: Option<u64>,
        set: Vec<(String, String)>,
    ) -> Result<Scenario, Failure> {
        let overrides = Overrides { transport, seed, set };
        py.detach(|| {
            guard(seed.unwrap_or(0), || Ok(Scenario(Loaded::parse(text, origin, &base_dir, &overrides)?)))
        })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> String {
        self.0.name.clone()
    }

    /// Seed of every random stream.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.model.seed
    }

    /// The scenario with every default filled in, as a file that gives the same run.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// Simulates. The interpreter is free meanwhile; `progress` is called at most ten times a second. On Ctrl-C, or
    /// when `progress` returns `False`, the results are of the part that was simulated.
    #[pyo3(signature = (progress = None))]
    fn run(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> Result<Results, Failure> {
        let model = &self.0.model;
        py.detach(|| {
            guard(model.seed, || {
                let mut look = Look { progress, last: now(), failed: None };
                let mut simulation = Simulation::new(model)?;
                simulation.run(&mut |progress| look.go_on(progress));
                match look.failed {
                    Some(error) => Err(Failure::Python(error)),
                    None => Ok(Results::new(simulation.finish()?)),
                }
            })
        })
    }
}

/// The clock of the world outside, which decides when to look at Python and nothing else.
#[expect(clippy::disallowed_methods, reason = "how often Python is looked at can't change a result")]
fn now() -> Instant {
    Instant::now()
}

/// Looks at Python now and then while the simulation runs.
struct Look {
    progress: Option<Py<PyAny>>,
    last: Instant,
    failed: Option<PyErr>,
}

impl Look {
    fn go_on(&mut self, progress: &sim::Progress) -> bool {
        if self.last.elapsed() < LOOK_EVERY {
            return true;
        }
        self.last = now();
        let wanted = Python::attach(|py| {
            py.check_signals()?;
            let Some(callback) = &self.progress else { return Ok(true) };
            let answer = callback.bind(py).call1((Progress::from(progress),))?;
            Ok(!answer.is_exact_instance_of::<pyo3::types::PyBool>() || answer.is_truthy()?)
        });
        wanted.unwrap_or_else(|error: PyErr| {
            if !Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py)) {
                self.failed = Some(error);
            }
            false
        })
    }
}

/// How far a simulation is.
#[pyclass(frozen, get_all, module = "clearway._clearway")]
pub struct Progress {
    /// Simulated time, in seconds.
    now_s: f64,
    /// When the scenario stops, in seconds, if it says so.
    stop_s: Option<f64>,
    /// Events handled.
    events: u64,
    /// Packets put on a link.
    link_transmissions: u64,
    /// Flows that started.
    flows_started: u64,
    /// Flows that were delivered in full.
    flows_completed: u64,
    /// Flows that there will be, if that is known.
    flows_expected: Option<u64>,
}

impl From<&sim::Progress> for Progress {
    fn from(progress: &sim::Progress) -> Progress {
        Progress {
            now_s: progress.now.as_secs_f64(),
            stop_s: progress.stop.map(|stop| stop.as_secs_f64()),
            events: progress.events,
            link_transmissions: progress.link_transmissions,
            flows_started: progress.flows_started,
            flows_completed: progress.flows_completed,
            flows_expected: progress.flows_expected,
        }
    }
}
