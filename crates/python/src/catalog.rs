//! The lists of transports, topologies and workloads, and the scenario reference.

use clearway_proto::{TRANSPORTS, TransportInfo};
use clearway_schema::{Profile, Spec};
use clearway_sim::scenario;
use clearway_sim::traffic::WorkloadInfo;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns all transports with their parameters and profiles.
#[pyfunction]
pub fn transports(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    TRANSPORTS.iter().map(|info| transport(py, info)).collect()
}

fn transport<'py>(py: Python<'py>, info: &TransportInfo) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", info.name)?;
    dict.set_item("summary", info.summary)?;
    dict.set_item("source", info.source)?;
    dict.set_item("checked", info.checked.against())?;
    dict.set_item("checked_how", info.checked.how())?;
    let params: PyResult<Vec<_>> = info.params.iter().map(|spec| param(py, spec)).collect();
    dict.set_item("parameters", params?)?;
    let profiles: PyResult<Vec<_>> = info.profiles.iter().map(|of| profile(py, of)).collect();
    dict.set_item("profiles", profiles?)?;
    Ok(dict)
}

fn param<'py>(py: Python<'py>, spec: &Spec) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", spec.name)?;
    dict.set_item("kind", spec.kind_and_unit())?;
    dict.set_item("default", spec.default)?;
    dict.set_item("min", spec.min)?;
    dict.set_item("max", spec.max)?;
    dict.set_item("source", spec.source)?;
    dict.set_item("doc", spec.doc.trim())?;
    Ok(dict)
}

fn profile<'py>(py: Python<'py>, of: &Profile) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", of.name)?;
    dict.set_item("doc", of.doc.trim())?;
    let values = PyDict::new(py);
    of.values.iter().try_for_each(|(name, value)| values.set_item(name, value))?;
    dict.set_item("values", values)?;
    Ok(dict)
}

/// Returns all kinds of topologies with their keys.
#[pyfunction]
pub fn topologies(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let topology = |info: &scenario::TopologyInfo| {
        let dict = PyDict::new(py);
        dict.set_item("name", info.name)?;
        dict.set_item("summary", info.summary)?;
        dict.set_item("names", info.names())?;
        let keys = PyDict::new(py);
        info.keys.iter().try_for_each(|(key, default)| keys.set_item(key, default))?;
        dict.set_item("keys", keys)?;
        Ok(dict)
    };
    scenario::topologies().iter().map(topology).collect()
}

/// Returns all built-in distributions of flow sizes.
#[pyfunction]
pub fn workloads(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let workload = |info: &WorkloadInfo| {
        let dict = PyDict::new(py);
        dict.set_item("name", info.name)?;
        dict.set_item("summary", info.summary)?;
        dict.set_item("mean_bytes", info.mean())?;
        dict.set_item("points", info.cdf().points().to_vec())?;
        dict.set_item("notes", info.notes().collect::<Vec<_>>())?;
        Ok(dict)
    };
    scenario::workloads().iter().map(workload).collect()
}

/// Returns the scenario reference in Markdown, generated from the schema.
#[pyfunction]
pub fn scenario_reference() -> String {
    scenario::reference()
}

/// The example scenarios of the repository, as (name, text).
static EXAMPLES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// Returns the example scenarios that need no other file, with their names, summaries and texts. The summary is the
/// comment at the head of the file, up to its first empty line.
#[pyfunction]
pub fn scenarios(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let example = |(name, text): &(&str, &str)| {
        let comment = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
        let summary: Vec<&str> = comment.take_while(|line| !line.is_empty()).collect();
        let dict = PyDict::new(py);
        dict.set_item("name", name)?;
        dict.set_item("summary", summary.join(" "))?;
        dict.set_item("text", text)?;
        Ok(dict)
    };
    EXAMPLES.iter().map(example).collect()
}
