//! The binding of test vectors.

use clearway_schema::Field;
use clearway_schema::Value;
use clearway_vectors::{Algorithm, Reading};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Returns the test vectors of an algorithm under a reading, as the text of a file in JSON. An equal seed gives equal bytes.
#[pyfunction]
#[pyo3(signature = (algorithm, reading, *, seed = 1))]
pub fn vectors(algorithm: &str, reading: &str, seed: u64) -> PyResult<String> {
    let algorithm: Algorithm = named(algorithm)?;
    let reading: Reading = named(reading)?;
    Ok(clearway_vectors::text(algorithm, reading, seed, env!("CARGO_PKG_VERSION")))
}

/// Returns the names of the algorithms and of the readings that test vectors have.
#[pyfunction]
pub fn vector_names() -> (Vec<String>, Vec<String>) {
    (
        Algorithm::ALL.iter().map(ToString::to_string).collect(),
        Reading::ALL.iter().map(ToString::to_string).collect(),
    )
}

fn named<T: Field>(name: &str) -> PyResult<T> {
    T::read(&Value::from(name)).map_err(|what| PyValueError::new_err(format!("{name:?}: {what}")))
}
