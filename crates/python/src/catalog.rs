//! The lists of transports, topologies and workloads, and the scenario reference.

use crate::errors::Error;
use clearway_proto::{TRANSPORTS, TransportInfo};
use clearway_schema::{Form, Profile, Spec};
use clearway_sim::scenario;
use clearway_sim::traffic::WorkloadInfo;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

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
    let params: PyResult<Vec<_>> =
        info.params.iter().map(|spec| param(py, spec, spec.name, spec.doc)).collect();
    dict.set_item("parameters", params?)?;
    let profiles: PyResult<Vec<_>> = info.profiles.iter().map(|of| profile(py, of)).collect();
    dict.set_item("profiles", profiles?)?;
    Ok(dict)
}

fn param<'py>(py: Python<'py>, spec: &Spec, name: &str, doc: &str) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", name)?;
    dict.set_item("kind", spec.kind_and_unit())?;
    dict.set_item("default", spec.default)?;
    dict.set_item("min", spec.min)?;
    dict.set_item("max", spec.max)?;
    dict.set_item("source", spec.source)?;
    dict.set_item("doc", doc.trim())?;
    dict.set_item("forms", forms(py, &(spec.forms)())?)?;
    Ok(dict)
}

/// Forms of values as dicts, each with its name under `form` and what else it has under `of`.
fn forms<'py>(py: Python<'py>, all: &[Form]) -> PyResult<Bound<'py, PyList>> {
    let one = |form: &Form| {
        let dict = PyDict::new(py);
        let name = match form {
            Form::Quantity(units) => {
                dict.set_item("of", units)?;
                "quantity"
            }
            Form::Counted(words) => {
                dict.set_item("of", words.to_vec())?;
                "counted"
            }
            Form::Integer(most) => {
                dict.set_item("of", most)?;
                "integer"
            }
            Form::Number => "number",
            Form::Truth => "truth",
            Form::Text => "text",
            Form::Word(word) => {
                dict.set_item("of", word)?;
                "word"
            }
            Form::Name => "name",
            Form::List(entry) => {
                dict.set_item("of", forms(py, entry)?)?;
                "list"
            }
            Form::Row(entries) => {
                let entries: PyResult<Vec<_>> = entries.iter().map(|entry| forms(py, entry)).collect();
                dict.set_item("of", entries?)?;
                "row"
            }
            Form::Table(keys) => {
                let inner = PyDict::new(py);
                for key in keys {
                    inner.set_item(key.name, (key.required, forms(py, &key.forms)?))?;
                }
                dict.set_item("of", inner)?;
                "table"
            }
            Form::Elsewhere(what) => what,
        };
        dict.set_item("form", name)?;
        Ok(dict)
    };
    let dicts: PyResult<Vec<_>> = all.iter().map(one).collect();
    PyList::new(py, dicts?)
}

/// Returns all tables of scenario files with their keys, in the order of the reference.
#[pyfunction]
pub fn scenario_tables(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let table = |info: scenario::TableInfo| {
        let dict = PyDict::new(py);
        dict.set_item("path", info.path)?;
        dict.set_item("many", info.many)?;
        dict.set_item("doc", info.doc)?;
        let keys: PyResult<Vec<_>> =
            info.keys.iter().map(|key| param(py, &key.spec, &key.name, &key.doc)).collect();
        dict.set_item("keys", keys?)?;
        let kinds: PyResult<Vec<_>> = info.kinds.iter().map(|of| kind(py, of)).collect();
        dict.set_item("kinds", kinds?)?;
        Ok(dict)
    };
    scenario::tables().into_iter().map(table).collect()
}

fn kind<'py>(py: Python<'py>, of: &scenario::KindInfo) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", of.name)?;
    dict.set_item("doc", of.doc.trim())?;
    let keys: PyResult<Vec<_>> = of.keys.iter().map(|spec| param(py, spec, spec.name, spec.doc)).collect();
    dict.set_item("keys", keys?)?;
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

/// Returns the hint `; did you mean "rate"?` if one of the known words is close to `word`, else an empty text.
#[pyfunction]
pub fn suggestion(word: &str, known: Vec<String>) -> String {
    clearway_schema::suggestion(word, known.iter().map(String::as_str))
}

/// Returns the content of a file that a scenario names, unpacked if it is in the gzip or Zstandard format.
#[pyfunction]
pub fn unpacked<'py>(py: Python<'py>, content: Vec<u8>) -> PyResult<Bound<'py, PyBytes>> {
    let unpacked = scenario::unpack(content, scenario::LIST_MAX).map_err(Error::new_err)?;
    Ok(PyBytes::new(py, &unpacked))
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
