//! Findings: facts on the flows of a run from the columns of its table, and sentences from facts, which go to and fro as
//! JSON.

use crate::errors::Error;
use clearway_findings::{Finding, Kind, Observed, most_at_once};
use pyo3::prelude::*;

/// The flows of a run as facts: a JSON list of the flows of a fixed size, those without an end, and the groups by size
/// and by traffic entry. Columns are little-endian bytes, eight a value.
#[pyfunction]
#[pyo3(signature = (*, size_bytes, start_s, fct_s, slowdown, delivered_bytes, traffic, names, end_s))]
#[expect(clippy::too_many_arguments, reason = "columns of one table, each by its name")]
pub fn flow_facts(
    size_bytes: &[u8],
    start_s: &[u8],
    fct_s: &[u8],
    slowdown: &[u8],
    delivered_bytes: &[u8],
    traffic: &[u8],
    names: Vec<String>,
    end_s: f64,
) -> PyResult<String> {
    let traffic: Vec<u32> = unpack(traffic, |bytes| u64::from_le_bytes(bytes) as u32);
    let observed = Observed {
        size_bytes: &unpack(size_bytes, u64::from_le_bytes),
        start_s: &unpack(start_s, f64::from_le_bytes),
        fct_s: &unpack(fct_s, f64::from_le_bytes),
        slowdown: &unpack(slowdown, f64::from_le_bytes),
        delivered_bytes: &unpack(delivered_bytes, u64::from_le_bytes),
        traffic: &traffic,
        names: &names,
        end_s,
    };
    clearway_findings::json(&observed.facts()).map_err(Error::new_err)
}

/// The most flows under way at once, of flows with these starts and completion times, as of `flow_facts`.
#[pyfunction]
pub fn flows_at_once(start_s: &[u8], fct_s: &[u8]) -> u64 {
    most_at_once(&unpack(start_s, f64::from_le_bytes), &unpack(fct_s, f64::from_le_bytes))
}

/// The findings on runs, whose facts are a list in JSON: what each is about, and its text.
#[pyfunction]
pub fn findings(facts: &str) -> PyResult<Vec<(&'static str, String)>> {
    clearway_findings::value(facts)
        .and_then(|facts| clearway_findings::runs_json(&facts))
        .map(pairs)
        .map_err(Error::new_err)
}

/// The findings on a sweep, whose points are a list in JSON.
#[pyfunction]
pub fn sweep_findings(points: &str) -> PyResult<Vec<(&'static str, String)>> {
    clearway_findings::value(points)
        .and_then(|points| clearway_findings::sweep_json(&points))
        .map(pairs)
        .map_err(Error::new_err)
}

fn pairs(found: Vec<Finding>) -> Vec<(&'static str, String)> {
    found.into_iter().map(|one| (Kind::name(one.kind), one.text)).collect()
}

fn unpack<T>(bytes: &[u8], read: fn([u8; 8]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|&chunk| read(chunk)).collect()
}
