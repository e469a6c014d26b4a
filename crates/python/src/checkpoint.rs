//! The files of a checkpoint: when they are written, and how a run goes on from them.

use crate::errors::Failure;
use clearway_sim as sim;
use clearway_sim::{CheckpointError, Partition, Simulation};
use pyo3::prelude::*;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The sources that the module is built from: only the same code may go on from a checkpoint.
const CODE: &str = env!("CLEARWAY_SOURCES");

/// The file of a checkpoint that is complete.
const STATE: &str = "state";

/// The file of a checkpoint that is being written.
const DRAFT: &str = "state.new";

/// The files of rows that left memory: of flows and of samples.
const ROWS: [&str; 2] = ["flows.rows", "samples.rows"];

/// The checkpoints of a run: a folder with the last one and with the rows that left memory before it.
#[derive(FromPyObject)]
pub struct Checkpoints {
    /// The folder, which no other process uses.
    #[pyo3(attribute)]
    folder: PathBuf,
    /// The least time between two checkpoints, in seconds.
    #[pyo3(attribute)]
    every_s: f64,
    /// A function that is called before a run goes on from a checkpoint, with its simulated time in seconds.
    #[pyo3(attribute)]
    resumed: Py<PyAny>,
    /// A function that is called after each checkpoint.
    #[pyo3(attribute)]
    saved: Py<PyAny>,
}

impl Checkpoints {
    /// Prepares a run in the parts of a partition, which goes on from the checkpoint in the folder if there is one.
    pub fn prepare(
        &self,
        model: &sim::model::Model,
        partition: &Partition,
        part_rows: usize,
    ) -> Result<Simulation, Failure> {
        let spool = |name: &str| {
            let path = self.folder.join(name);
            Some(Box::new(RowsFile { path, part_rows, file: None }) as Box<dyn sim::Spool>)
        };
        let state = match fs::read(self.folder.join(STATE)) {
            Ok(state) => state,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Simulation::spooled(model, partition, ROWS.map(spool))?);
            }
            Err(error) => return Err(self.failure(&error.into())),
        };
        let simulation = Simulation::resume(model, partition, ROWS.map(spool), CODE, &state);
        let simulation = simulation.map_err(|error| self.failure(&error))?;
        let simulated_s = simulation.progress().now.as_secs_f64();
        Python::attach(|py| self.resumed.call1(py, (simulated_s,))).map_err(Failure::Python)?;
        Ok(simulation)
    }

    /// Runs a simulation as [`Simulation::run`] does, and writes checkpoints meanwhile, the last one if `report` ends
    /// the run.
    pub fn run(
        &self,
        simulation: &mut Simulation,
        report: &mut dyn FnMut(&sim::Progress) -> bool,
    ) -> Result<(), Failure> {
        let every = Duration::try_from_secs_f64(self.every_s).unwrap_or(Duration::MAX);
        let mut last = now();
        while simulation.step(Simulation::SLICE) {
            let goes_on = report(&simulation.progress());
            if !goes_on || last.elapsed() >= every {
                self.write(simulation)?;
                // The time until the next counts from here, so that a run whose checkpoints take long still gets on.
                last = now();
            }
            if !goes_on {
                simulation.interrupt();
            }
        }
        report(&simulation.progress());
        Ok(())
    }

    /// Puts a new checkpoint into the place of the last one, which is there until the disk has the new one.
    fn write(&self, simulation: &mut Simulation) -> Result<(), Failure> {
        self.replace(simulation).map_err(|error| self.failure(&error))?;
        Python::attach(|py| self.saved.call0(py)).map_err(Failure::Python)?;
        Ok(())
    }

    fn replace(&self, simulation: &mut Simulation) -> Result<(), CheckpointError> {
        let draft = self.folder.join(DRAFT);
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&draft)?);
        simulation.save(CODE, &mut file)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        fs::rename(&draft, self.folder.join(STATE))?;
        sync_folder(&self.folder)?;
        Ok(())
    }

    fn failure(&self, error: &CheckpointError) -> Failure {
        let advice = match error {
            CheckpointError::File(_) | CheckpointError::Run(_) => "",
            _ => "; start over (--fresh), which removes it",
        };
        Failure::Checkpoint(format!("{}: {error}{advice}", self.folder.display()))
    }
}

/// Returns the wall-clock time, which decides when checkpoints are written and nothing else.
#[expect(clippy::disallowed_methods, reason = "the times of checkpoints can't change a result")]
fn now() -> Instant {
    Instant::now()
}

/// Waits until the disk has a folder's list of names.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A file of rows that another process may go on with.
struct RowsFile {
    path: PathBuf,
    part_rows: usize,
    /// The file, once it is open.
    file: Option<File>,
}

impl RowsFile {
    fn keep(&mut self, file: File) -> io::Result<Box<dyn sim::Store>> {
        self.file = Some(file.try_clone()?);
        Ok(Box::new(file))
    }
}

impl sim::Spool for RowsFile {
    fn open(&mut self) -> io::Result<Box<dyn sim::Store>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&self.path)?;
        self.keep(file)
    }

    fn part_rows(&self) -> usize {
        self.part_rows
    }

    fn reopen(&mut self, len: u64) -> io::Result<Box<dyn sim::Store>> {
        let named = |problem: String| io::Error::other(format!("{}: {problem}", self.path.display()));
        let opened = OpenOptions::new().read(true).write(true).open(&self.path);
        let file = opened.map_err(|error| named(error.to_string()))?;
        let there = file.metadata()?.len();
        if there < len {
            return Err(named(format!("it has {there} bytes, and {len} when the checkpoint was written")));
        }
        file.set_len(len)?;
        self.keep(file)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), File::sync_all)
    }
}
