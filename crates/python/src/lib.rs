//! The simulator as the Python module `clearway._clearway`: bindings, nothing but bindings. The package around it
//! makes data frames, files and the command of what is here.

mod catalog;
mod errors;
mod planner;
mod results;
mod scenario;

use pyo3::prelude::*;

/// Clearway's core: scenarios in, columns out. Use the package `clearway`, which wraps it.
#[pymodule]
mod _clearway {
    #[pymodule_export]
    use crate::catalog::{scenario_reference, topologies, transports, workloads};
    #[pymodule_export]
    use crate::errors::{Error, ScenarioError, SimulationError, panic_for_tests};
    #[pymodule_export]
    use crate::planner::{plan_buffers, plan_switches};
    #[pymodule_export]
    use crate::results::{Column, Results, Table};
    #[pymodule_export]
    use crate::scenario::{Progress, Scenario};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        errors::quiet_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("__commit__", option_env!("CLEARWAY_COMMIT"))?;
        module.add("__sources__", env!("CLEARWAY_SOURCES"))?;
        module.add("__profile__", if cfg!(debug_assertions) { "debug" } else { "release" })
    }
}
