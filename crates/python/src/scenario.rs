//! The bindings that read a scenario and run it.

use crate::checkpoint::Checkpoints;
use crate::errors::{Failure, guard};
use crate::results::Results;
use clearway_sim as sim;
use clearway_sim::scenario::{Overrides, Scenario as Loaded};
use clearway_sim::{Partition, Simulation};
use clearway_units::Span;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::fs::OpenOptions;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The least time between two visits to Python, which handle signals and call the progress callback.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The number of rows of flows or samples that leave memory together.
const PART_ROWS: usize = 1 << 16;

/// A scenario that has been checked, with every default filled in.
#[pyclass(frozen, module = "clearway._clearway")]
pub struct Scenario(Loaded);

impl Scenario {
    /// Returns the model that the scenario describes.
    pub fn model(&self) -> &sim::model::Model {
        &self.0.model
    }
}

#[pymethods]
impl Scenario {
    /// Reads a scenario file. One whose run would take more than `memory` bytes is refused; with `disk`, one whose rows
    /// leave memory (`spool` of `run`) and would then take more than so many bytes there.
    #[staticmethod]
    #[pyo3(signature = (path, *, transport = None, seed = None, set = Vec::new(), memory = None, disk = None))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        transport: Option<String>,
        seed: Option<u64>,
        set: Vec<(String, String)>,
        memory: Option<u64>,
        disk: Option<u64>,
    ) -> Result<Scenario, Failure> {
        let overrides = Overrides { transport, seed, set, memory, links: None, disk };
        py.detach(|| guard(seed.unwrap_or(0), || Ok(Scenario(Loaded::load(&path, &overrides)?))))
    }

    /// Reads a scenario from text. `origin` names it in messages; files that it names are looked for in `base_dir`.
    /// One whose run would take more than `memory` or `disk` bytes is refused, as by `load`.
    #[staticmethod]
    #[pyo3(signature = (text, origin, base_dir, *, transport = None, seed = None, set = Vec::new(), memory = None, disk = None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn parse(
        py: Python<'_>,
        text: &str,
        origin: &str,
        base_dir: PathBuf,
        transport: Option<String>,
        seed: Option<u64>,
        set: Vec<(String, String)>,
        memory: Option<u64>,
        disk: Option<u64>,
    ) -> Result<Scenario, Failure> {
        let overrides = Overrides { transport, seed, set, memory, links: None, disk };
        py.detach(|| {
            guard(seed.unwrap_or(0), || {
                Ok(Scenario(Loaded::parse(text, origin, base_dir.as_path(), &overrides)?))
            })
        })
    }

    /// The scenario's name.
    #[getter]
    fn name(&self) -> String {
        self.0.name.clone()
    }

    /// The seed of all random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.model.seed
    }

    /// Returns the scenario with another seed, as it is when it is read with that one, or `None` where it has to be read for
    /// that, since the seed draws pairs of hosts, hosts, or the times at which flows start.
    fn with_seed(&self, seed: u64) -> Option<Scenario> {
        self.0.with_seed(seed).map(Scenario)
    }

    /// Returns the scenario with every default filled in, as the text of a file that gives the same run.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// Returns what a run will take, by arithmetic. No key is left out; counts of hosts, switches and links are exact.
    ///
    /// * `hosts`, `switches`, `links`: the network; a link has two output ports.
    /// * `path_links`: mean number of links on the paths of flows.
    /// * `simulated_s`: simulated time until the last flow has ended, or the scenario's stop.
    /// * `flows`, `open_flows`, `live_flows`: rows of the flow table; those of them without a size, which send until they
    ///   or the run are stopped; flows alive at once.
    /// * `payload_bytes`, `packets`, `link_transmissions`: bytes of applications, data packets without retransmissions,
    ///   packets with their answers times links.
    /// * `traffic`, `samples`: for each entry its name and memory, with `flows` and `live_flows`, or `rows`.
    /// * `network_bytes`, `memory_bytes`: memory of the network, and of the whole run without the interpreter.
    /// * `streamed_memory_bytes`, `disk_bytes`: memory of the run, and room on the disk, where flows and samples leave
    ///   memory (`spool` of `run`).
    /// * `cpu_s`: processor time, to the order of magnitude.
    /// * `how`: for each number a sentence on how it was got and what it can't know.
    fn estimate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        estimate(py, &py.detach(|| guard(self.0.model.seed, || Ok(self.0.estimate())))?)
    }

    /// Returns what the scenario has that a transport is not made for: a list of dicts with the name of the transport as
    /// `transport`, the `kind` of the warning, and a sentence as `text`.
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let found = py.detach(|| guard(self.0.model.seed, || Ok(sim::warnings(&self.0.model))))?;
        crate::results::warnings(py, &found)
    }

    /// Returns how the network is cut for so many threads.
    ///
    /// * `parts`: the number of parts, which may be smaller. `refusal`: why the run has one thread only, or `None`.
    /// * `loads`, `hosts`, `switches`: for each part its share of the expected load, and the numbers of its nodes.
    /// * `cut_links`, `cut_traffic`: the links between parts, and their share of the expected transmissions.
    /// * `width_s`: the simulated time between two hand-overs of packets; `None` if no link has a delay.
    /// * `blocks`: the number of blocks of each part, through which its thread goes in turn.
    fn partition<'py>(&self, py: Python<'py>, parts: usize) -> PyResult<Bound<'py, PyDict>> {
        let model = &self.0.model;
        let (partition, summary) = py.detach(|| {
            guard(model.seed, || {
                let partition = Partition::new(model, parts);
                let summary = sim::PartitionSummary::new(&partition, model);
                Ok((partition, summary))
            })
        })?;
        let dict = PyDict::new(py);
        dict.set_item("parts", partition.parts())?;
        dict.set_item("refusal", Partition::refusal(model))?;
        dict.set_item("loads", summary.loads)?;
        dict.set_item("hosts", summary.hosts)?;
        dict.set_item("switches", summary.switches)?;
        dict.set_item("cut_links", summary.cut_links)?;
        dict.set_item("cut_traffic", summary.cut_traffic)?;
        dict.set_item("width_s", summary.width.map(Span::as_secs_f64))?;
        dict.set_item("blocks", partition.blocks().to_vec())?;
        Ok(dict)
    }

    /// Runs the simulation and returns its results. Other Python threads run meanwhile. `progress` is called at most
    /// ten times a second. On Ctrl-C, or when `progress` returns `False`, the run ends and the results cover the part
    /// simulated so far. With `spool`, a folder, finished flows and samples leave memory for nameless files there, in
    /// parts of `part_rows` rows; the files go with the results. `threads` simulate parts of the network beside each
    /// other, which changes no result.
    ///
    /// With `checkpoint`, an object with the attributes `folder`, `every_s`, `resumed` and `saved`, the state of the run
    /// and these rows are kept in its folder every so many seconds of wall time, and when the run is interrupted. A run
    /// whose checkpoint is there goes on from it, however many `threads` it had before; `resumed` is called with its
    /// simulated time, in seconds, first. `saved` is called after each checkpoint.
    ///
    /// When the process has more than `memory` bytes of memory, the run ends, and the results cover the part simulated so
    /// far. That is looked at as often as progress is told, where the system tells it (Linux).
    #[pyo3(signature = (
        progress = None, *, spool = None, part_rows = PART_ROWS, threads = 1, checkpoint = None, memory = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn run(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        spool: Option<PathBuf>,
        part_rows: usize,
        threads: usize,
        checkpoint: Option<Checkpoints>,
        memory: Option<u64>,
    ) -> Result<Results, Failure> {
        let model = &self.0.model;
        py.detach(|| {
            guard(model.seed, || {
                let mut look = Look { progress, last: now(), failed: None, memory, is_exhausted: false };
                let part_rows = part_rows.max(1);
                let place = || {
                    let folder = spool.clone()?;
                    Some(Box::new(Folder { folder, part_rows }) as Box<dyn sim::Spool>)
                };
                let partition = Partition::new(model, threads);
                let mut simulation = match &checkpoint {
                    Some(checkpoints) => {
                        let mut simulation = checkpoints.prepare(model, &partition, part_rows)?;
                        checkpoints.run(&mut simulation, &mut |progress| look.go_on(progress))?;
                        simulation
                    }
                    None => {
                        let mut simulation = Simulation::spooled(model, &partition, [place(), place()])?;
                        simulation.run(&mut |progress| look.go_on(progress));
                        simulation
                    }
                };
                if look.is_exhausted {
                    simulation.exhaust();
                }
                match look.failed {
                    Some(error) => Err(Failure::Python(error)),
                    None => Ok(Results::new(simulation.finish_spooled()?)?),
                }
            })
        })
    }
}

/// Returns an estimate as a dict.
fn estimate<'py>(py: Python<'py>, of: &sim::Estimate) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    // Counts beyond 2^63 mean nothing more than that they are too large.
    let count = |number: f64| number.round() as u64;
    dict.set_item("hosts", of.hosts)?;
    dict.set_item("switches", of.switches)?;
    dict.set_item("links", of.links)?;
    dict.set_item("path_links", of.path_links)?;
    dict.set_item("simulated_s", of.simulated_s)?;
    dict.set_item("flows", count(of.flows))?;
    dict.set_item("open_flows", of.open_flows)?;
    dict.set_item("live_flows", count(of.live_flows))?;
    dict.set_item("payload_bytes", count(of.payload_bytes))?;
    dict.set_item("packets", count(of.packets))?;
    dict.set_item("link_transmissions", count(of.link_transmissions))?;
    let traffic = PyList::empty(py);
    for entry in &of.traffic {
        let row = PyDict::new(py);
        row.set_item("name", &entry.name)?;
        row.set_item("flows", count(entry.flows))?;
        row.set_item("live_flows", count(entry.live_flows))?;
        row.set_item("memory_bytes", count(entry.flow_bytes + entry.row_bytes.kept))?;
        traffic.append(row)?;
    }
    dict.set_item("traffic", traffic)?;
    dict.set_item("tiers", crate::results::tiers(py, &of.tiers)?)?;
    dict.set_item("payload_share_max", of.payload_share_max)?;
    let samples = PyList::empty(py);
    for series in &of.samples {
        let row = PyDict::new(py);
        row.set_item("name", &series.name)?;
        row.set_item("rows", count(series.rows))?;
        row.set_item("memory_bytes", count(series.row_bytes.kept))?;
        samples.append(row)?;
    }
    dict.set_item("samples", samples)?;
    dict.set_item("network_bytes", count(of.network_bytes))?;
    dict.set_item("memory_bytes", count(of.memory_bytes()))?;
    dict.set_item("streamed_memory_bytes", count(of.streamed_memory_bytes()))?;
    dict.set_item("disk_bytes", count(of.disk_bytes()))?;
    dict.set_item("cpu_s", of.cpu_s)?;
    let how = PyDict::new(py);
    sim::Estimate::HOW.iter().try_for_each(|(name, text)| how.set_item(name, text))?;
    dict.set_item("how", how)?;
    Ok(dict)
}

/// A folder for the rows of a run.
struct Folder {
    folder: PathBuf,
    part_rows: usize,
}

impl sim::Spool for Folder {
    /// Makes a file without a name, which is gone when nobody has it open any more, however the process ends.
    fn open(&mut self) -> io::Result<Box<dyn sim::Store>> {
        let process = std::process::id();
        for number in 0.. {
            let path = self.folder.join(format!(".clearway-{process}-{number}.rows"));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => {
                    std::fs::remove_file(&path)?;
                    return Ok(Box::new(file));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io::Error::other(format!("{}: {error}", self.folder.display()))),
            }
        }
        unreachable!("some number is free")
    }

    fn part_rows(&self) -> usize {
        self.part_rows
    }
}

/// Returns the wall-clock time, which decides when Python is visited and nothing else.
#[expect(clippy::disallowed_methods, reason = "the times of visits to Python can't change a result")]
pub fn now() -> Instant {
    Instant::now()
}

/// The visits to Python while a simulation runs.
struct Look {
    progress: Option<Py<PyAny>>,
    last: Instant,
    /// The exception that the callback raised, which ends the run.
    failed: Option<PyErr>,
    /// The memory in bytes that the process may have.
    memory: Option<u64>,
    /// Set once it had more, which ends the run.
    is_exhausted: bool,
}

impl Look {
    /// Visits Python if it is time, and returns false if the run must end.
    fn go_on(&mut self, progress: &sim::Progress) -> bool {
        if self.last.elapsed() < LOOK_EVERY {
            return true;
        }
        self.last = now();
        if self.memory.is_some_and(|most| memory_taken().is_some_and(|taken| taken > most)) {
            self.is_exhausted = true;
            return false;
        }
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

/// The memory that this process has, in bytes, where the system tells it.
fn memory_taken() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(resident.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The progress of a simulation.
#[pyclass(frozen, get_all, module = "clearway._clearway")]
pub struct Progress {
    /// The simulated time, in seconds.
    now_s: f64,
    /// The simulated time at which the scenario stops, in seconds, if it sets one.
    stop_s: Option<f64>,
    /// The number of events handled.
    events: u64,
    /// The number of packets put on a link, summed over all links.
    link_transmissions: u64,
    /// The number of flows that have started.
    flows_started: u64,
    /// The number of flows whose data has been delivered in full.
    flows_completed: u64,
    /// The number of flows that the run will have, if that is known.
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
