//! The reader of Parquet files, which is a function of the Python package.

use clearway_sim::scenario::FLOWS_MAX;
use pyo3::prelude::*;
use std::path::Path;

/// Returns the table of a Parquet file as CSV, or the reason why it is refused.
pub fn read(path: &Path) -> Result<String, String> {
    Python::attach(|py| {
        let read = || {
            let module = py.import("clearway.parquet_lists")?;
            module.call_method1("csv_of", (path, FLOWS_MAX))?.extract::<String>()
        };
        read().map_err(|error: PyErr| error.value(py).to_string())
    })
}
