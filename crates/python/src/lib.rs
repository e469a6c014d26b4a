//! The Python module `clearway._clearway`, which binds the simulator and does nothing else. The package `clearway`
//! wraps it, and adds data frames, result folders and the command.

mod catalog;
mod checkpoint;
mod errors;
mod findings;
mod network;
mod parquet;
mod planner;
mod results;
mod scenario;
mod stage;
mod stepped;
mod vectors;

use pyo3::prelude::*;

/// Clearway's core, which turns scenarios into columns of results. Use the package `clearway`, which wraps it.
#[pymodule]
mod _clearway {
    #[pymodule_export]
    use crate::catalog::{
        scenario_reference, scenario_tables, scenarios, suggestion, topologies, transports, unpacked,
        workloads,
    };
    #[pymodule_export]
    use crate::errors::{Error, ScenarioError, SimulationError, panic_for_tests};
    #[pymodule_export]
    use crate::findings::{findings, flow_facts, flows_at_once, sweep_findings};
    #[pymodule_export]
    use crate::network::{network, node, paths};
    #[pymodule_export]
    use crate::planner::{plan_buffers, plan_switches};
    #[pymodule_export]
    use crate::results::{Column, Results, Table, Trace};
    #[pymodule_export]
    use crate::scenario::{Progress, Scenario};
    #[pymodule_export]
    use crate::stage::Stage;
    #[pymodule_export]
    use crate::stepped::Stepped;
    #[pymodule_export]
    use crate::vectors::{vector_names, vectors};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        errors::quiet_panics();
        clearway_sim::scenario::read_parquet_with(parquet::read);
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("__commit__", option_env!("CLEARWAY_COMMIT"))?;
        module.add("__sources__", env!("CLEARWAY_SOURCES"))?;
        module.add("__build__", env!("CLEARWAY_BUILD"))?;
        let profile = match option_env!("CLEARWAY_GUIDED") {
            _ if cfg!(debug_assertions) => "debug",
            Some(_) => "release, profile-guided",
            None => "release",
        };
        module.add("__profile__", profile)
    }
}
