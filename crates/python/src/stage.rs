//! The binding of runs that are looked at while they go on.

use crate::errors::{Failure, guard};
use clearway_view::{Reply, Stage as Viewed};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::sync::{Mutex, PoisonError};

/// Runs that are looked at while they go on, by requests in JSON (docs/reference/view-protocol.md).
#[pyclass(frozen, module = "clearway._clearway")]
pub struct Stage(Mutex<Viewed>);

#[pymethods]
impl Stage {
    /// A stage without runs. A scenario is refused whose run would take more memory in bytes than `memory`, less what
    /// the open runs take.
    #[new]
    #[pyo3(signature = (*, memory = None))]
    fn new(memory: Option<u64>) -> Stage {
        Stage(Mutex::new(Viewed::new(memory)))
    }

    /// Answers a request with JSON as `str` or with a frame as `bytes`. A request that is refused gets an object with the
    /// key `error`, whose value is one line. Other Python threads run meanwhile.
    fn handle<'py>(&self, py: Python<'py>, request: &str) -> Result<Bound<'py, PyAny>, Failure> {
        let reply = py.detach(|| {
            guard(0, || Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).handle(request)))
        })?;
        Ok(match reply {
            Reply::Json(text) => PyString::new(py, &text).into_any(),
            Reply::Frame(bytes) => PyBytes::new(py, &bytes).into_any(),
        })
    }
}
