//! The results of a run as columns of bytes, which NumPy and Polars read without another copy.

use crate::errors::Failure;
use clearway_sim as sim;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::sync::{Arc, Mutex, PoisonError};

/// The results of a run.
#[pyclass(frozen, module = "clearway._clearway")]
pub struct Results {
    tables: [Source; 3],
    summary: sim::Summary,
    hash: String,
    traces: Vec<Arc<sim::trace::Trace>>,
}

impl Results {
    /// Wraps the simulator's results.
    ///
    /// # Errors
    /// If a file of rows can't be read.
    pub fn new(mut results: sim::Spooled) -> Result<Results, sim::SimError> {
        let hash = results.hash().map_err(|error| sim::SimError::Spool(error.to_string()))?;
        let rows = |rows: sim::Rows| Source::Rows(Arc::new(Mutex::new(rows)));
        let tables = [rows(results.flows), Source::Table(Arc::new(results.ports)), rows(results.samples)];
        let traces = results.traces.into_iter().map(Arc::new).collect();
        Ok(Results { tables, summary: results.summary, hash, traces })
    }
}

/// The rows of a table, in memory or in parts that may lie in a file.
#[derive(Clone)]
enum Source {
    Table(Arc<sim::Table>),
    Rows(Arc<Mutex<sim::Rows>>),
}

impl Source {
    /// Calls `of` for the parts of a table that may lie in a file.
    fn with<T>(
        &self,
        of: impl FnOnce(&mut sim::Rows) -> std::io::Result<T>,
        table: impl FnOnce(&Arc<sim::Table>) -> T,
    ) -> PyResult<T> {
        match self {
            Source::Table(whole) => Ok(table(whole)),
            Source::Rows(rows) => {
                let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
                of(&mut rows)
                    .map_err(|error| sim::SimError::Spool(error.to_string()))
                    .map_err(|error| Failure::from(error).into())
            }
        }
    }
}

#[pymethods]
impl Results {
    /// The tables of flows, ports and samples.
    #[getter]
    fn tables(&self) -> Vec<Table> {
        self.tables.iter().map(|source| Table { source: source.clone() }).collect()
    }

    /// The traces.
    #[getter]
    fn traces(&self) -> Vec<Trace> {
        self.traces.iter().map(|trace| Trace(trace.clone())).collect()
    }

    /// The totals of the run, as in `summary.json`.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let summary = &self.summary;
        let dict = PyDict::new(py);
        dict.set_item("ended", summary.ended.name())?;
        dict.set_item("simulated_s", summary.end.as_secs_f64())?;
        dict.set_item("flows_started", summary.flows_started)?;
        dict.set_item("flows_completed", summary.flows_completed)?;
        dict.set_item("link_transmissions", summary.link_transmissions)?;
        dict.set_item("events", summary.events)?;
        for (name, book) in
            [("packets", &summary.packets), ("bytes", &summary.bytes), ("credits", &summary.credits)]
        {
            let entries = PyDict::new(py);
            book.iter().try_for_each(|(what, count)| entries.set_item(what, count))?;
            dict.set_item(name, entries)?;
        }
        dict.set_item("notices", summary.cnps)?;
        dict.set_item("warnings", warnings(py, &summary.warnings)?)?;
        let measured = &summary.measured;
        let end = match measured.end {
            sim::WindowEnd::Set => "set",
            sim::WindowEnd::LastArrival => "last arrival",
            sim::WindowEnd::RunEnd => "end of the run",
        };
        let entry = PyDict::new(py);
        entry.set_item("is_set", measured.is_set)?;
        entry.set_item("from_s", measured.from.as_secs_f64())?;
        entry.set_item("until_s", measured.until.as_secs_f64())?;
        entry.set_item("end", end)?;
        let traffic = PyList::empty(py);
        for (name, counts) in summary.traffic.iter().zip(&measured.flows) {
            let line = PyDict::new(py);
            line.set_item("traffic", name)?;
            line.set_item("delivered_bytes", counts.delivered)?;
            line.set_item("data_packets", counts.stats.data_packets)?;
            line.set_item("retransmits", counts.stats.rare().retransmits)?;
            line.set_item("timeouts", counts.stats.rare().timeouts)?;
            line.set_item("repeated_signals", counts.stats.rare().repeated_signals)?;
            line.set_item("credits_sent", counts.stats.credits_sent)?;
            line.set_item("credits_used", counts.stats.credits_used)?;
            line.set_item("credits_wasted", counts.stats.rare().credits_wasted)?;
            traffic.append(line)?;
        }
        entry.set_item("traffic", traffic)?;
        entry.set_item("tiers", tiers(py, &summary.asked)?)?;
        dict.set_item("measure", entry)?;
        if let Some(control) = &summary.flow_control {
            let entry = PyDict::new(py);
            entry.set_item("pauses", control.pauses)?;
            entry.set_item("paused_s", control.stopped.as_secs_f64())?;
            entry.set_item("longest_pause_s", control.longest.as_secs_f64())?;
            entry.set_item("storms", &control.storms)?;
            entry.set_item("deadlock", &control.deadlock)?;
            entry.set_item("circle", &control.circle)?;
            dict.set_item("flow_control", entry)?;
        }
        if let Some(livelock) = &summary.livelock {
            let entry = PyDict::new(py);
            entry.set_item("at_s", livelock.at.as_secs_f64())?;
            entry.set_item("what", &livelock.what)?;
            dict.set_item("livelock", entry)?;
        }
        let agents = PyList::empty(py);
        for agent in &summary.agents {
            let entry = PyDict::new(py);
            entry.set_item("traffic", &agent.traffic)?;
            entry.set_item("host", &agent.host)?;
            entry.set_item("acks_held_max", agent.stats.held_max)?;
            entry.set_item("acks_released", agent.stats.released)?;
            entry.set_item("acks_dropped", agent.stats.dropped)?;
            agents.append(entry)?;
        }
        dict.set_item("shims", agents)?;
        if !self.traces.is_empty() {
            let traces = PyDict::new(py);
            for trace in &self.traces {
                let entry = PyDict::new(py);
                entry.set_item("events", trace.entries.len())?;
                entry.set_item("left_out", trace.left_out)?;
                traces.set_item(&trace.name, entry)?;
            }
            dict.set_item("traces", traces)?;
        }
        Ok(dict)
    }

    /// The hash of the flow table, the port table and the books.
    #[getter]
    fn hash(&self) -> String {
        self.hash.clone()
    }
}

/// A trace: the events at the ports that it covers.
#[pyclass(frozen, module = "clearway._clearway")]
pub struct Trace(Arc<sim::trace::Trace>);

#[pymethods]
impl Trace {
    /// The trace's name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The table of events.
    #[getter]
    fn table(&self) -> Table {
        Table { source: Source::Table(self.0.table().clone()) }
    }

    /// Returns the files that the scenario asks for, by the ends of their names. `scenario` names the scenario in them.
    fn files<'py>(&self, py: Python<'py>, scenario: &str) -> PyResult<Bound<'py, PyDict>> {
        let files = PyDict::new(py);
        for format in &self.0.formats {
            let (end, bytes) = match format {
                sim::model::TraceFormat::Pcapng => ("pcapng", self.0.pcapng(scenario)),
                sim::model::TraceFormat::Perfetto => ("perfetto-trace", self.0.perfetto()),
            };
            files.set_item(end, PyBytes::new(py, &bytes))?;
        }
        Ok(files)
    }
}

/// A table of results, or a part of one.
#[pyclass(frozen, module = "clearway._clearway")]
pub struct Table {
    source: Source,
}

impl Table {
    /// A table in memory.
    pub fn of(table: sim::Table) -> Table {
        Table { source: Source::Table(Arc::new(table)) }
    }
}

#[pymethods]
impl Table {
    /// The table's name.
    #[getter]
    fn name(&self) -> PyResult<&'static str> {
        self.source.with(|rows| Ok(rows.read(0)?.name), |table| table.name)
    }

    /// The number of rows.
    #[getter]
    fn rows(&self) -> PyResult<usize> {
        self.source.with(|rows| Ok(rows.len()), |table| table.rows())
    }

    /// The number of parts that the rows come in; 1 if all of them are in memory.
    #[getter]
    fn parts(&self) -> PyResult<usize> {
        self.source.with(|rows| Ok(rows.parts()), |_| 1)
    }

    /// Reads a part of the rows, as a table in memory.
    fn part(&self, index: usize) -> PyResult<Table> {
        let read = |rows: &mut sim::Rows| {
            let none = || std::io::Error::other(format!("there is no part {index}"));
            if index < rows.parts() { rows.read(index) } else { Err(none()) }
        };
        Ok(Table { source: Source::Table(self.source.with(read, Arc::clone)?) })
    }

    /// The table's columns, in order, all of whose rows are read into memory.
    #[getter]
    fn columns(&self) -> PyResult<Vec<Column>> {
        let table = self.source.with(sim::Rows::table, Arc::clone)?;
        Ok((0..table.columns.len()).map(|index| Column { table: table.clone(), index }).collect())
    }
}

/// A column of a table.
#[pyclass(frozen, module = "clearway._clearway")]
pub struct Column {
    table: Arc<sim::Table>,
    /// The column's index in its table.
    index: usize,
}

impl Column {
    fn inner(&self) -> &sim::Column {
        &self.table.columns[self.index]
    }
}

#[pymethods]
impl Column {
    /// The column's name.
    #[getter]
    fn name(&self) -> &'static str {
        self.inner().name
    }

    /// The unit of the values; empty if they have none.
    #[getter]
    fn unit(&self) -> &'static str {
        self.inner().unit
    }

    /// The meaning of a value.
    #[getter]
    fn doc(&self) -> &'static str {
        self.inner().doc
    }

    /// The NumPy name of the values' type: `<u8`, `<f8`, or `<u4` for indices into `texts`.
    #[getter]
    fn dtype(&self) -> &'static str {
        match self.inner().values {
            sim::Values::U64(_) => "<u8",
            sim::Values::F64(_) => "<f8",
            sim::Values::Text(..) => "<u4",
        }
    }

    /// The texts into which the values are indices, or `None` for a column of numbers.
    #[getter]
    fn texts(&self) -> Option<Vec<String>> {
        match &self.inner().values {
            sim::Values::Text(_, texts) => Some(texts.clone()),
            _ => None,
        }
    }

    /// Returns the values as little-endian bytes.
    fn bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match &self.inner().values {
            sim::Values::U64(values) => pack(py, values, u64::to_le_bytes),
            sim::Values::F64(values) => pack(py, values, f64::to_le_bytes),
            sim::Values::Text(values, _) => pack(py, values, u32::to_le_bytes),
        }
    }
}

/// Copies values into a Python `bytes` object, each turned into `N` bytes.
fn pack<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    to_bytes: fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * N, |buffer| {
        for (chunk, value) in buffer.chunks_exact_mut(N).zip(values) {
            chunk.copy_from_slice(&to_bytes(*value));
        }
        Ok(())
    })
}

/// Returns the shares that tiers are asked for as a list of dicts.
pub fn tiers<'py>(py: Python<'py>, shares: &[sim::traffic::TierShare]) -> PyResult<Bound<'py, PyList>> {
    let rows = PyList::empty(py);
    for share in shares {
        let row = PyDict::new(py);
        row.set_item("tier", &share.tier)?;
        row.set_item("asked", share.asked)?;
        rows.append(row)?;
    }
    Ok(rows)
}

/// Returns warnings as a list of dicts with the keys `transport`, `kind` and `text`.
pub fn warnings<'py>(py: Python<'py>, of: &[sim::Warning]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for warning in of {
        let line = PyDict::new(py);
        line.set_item("transport", warning.transport)?;
        line.set_item("kind", warning.kind)?;
        line.set_item("text", &warning.text)?;
        list.append(line)?;
    }
    Ok(list)
}
