//! A run of a case, and what it took.

use crate::cases::{Case, Load};
use crate::models::model;
use crate::usage::{cpu_seconds, peak_bytes, resident_bytes, wall_seconds};
use clearway_sim::bare::Bare;
use clearway_sim::model::Model;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_sim::{Partition, Rows, SimError, Simulation, Spool, Store};
use clearway_units::{Span, Time};
use clearway_view::{Camera, Parts};
use std::hint::black_box;
use std::io;
use std::path::Path;

/// The simulated time between two frames.
const FRAME: Span = Span::from_us(10);

/// The measurements of a run.
#[derive(Default)]
pub struct Outcome {
    /// The number of packets put on a link, summed over all links.
    link_transmissions: u64,
    /// The number of events handled.
    events: u64,
    /// The number of flows started.
    flows: u64,
    /// The CPU time in seconds of the whole process up to the results: model, set-up, run and hash.
    cpu_s: f64,
    /// The part of it before the first event.
    setup_cpu_s: f64,
    /// The elapsed time from the first to the last event, in seconds.
    run_wall_s: f64,
    /// The most memory that was resident, in bytes.
    peak_bytes: u64,
    /// The memory that was resident when the model was there and nothing else, in bytes.
    model_bytes: u64,
    /// The memory that was resident at the end of the run, before the tables of results were made, in bytes.
    run_bytes: u64,
    /// The mean over flows of the time from a flow's start until its sender knows that all has arrived, in microseconds.
    /// None if a flow did not get so far, if there is none, or if rows of flows went to a file.
    mean_completion_us: Option<f64>,
    /// The hash of the results; none for a bare loop.
    hash: Option<String>,
}

impl Outcome {
    /// Returns the outcome as JSON on one line.
    pub fn to_json(&self) -> String {
        let Outcome { link_transmissions, events, flows, cpu_s, setup_cpu_s, run_wall_s, .. } = self;
        let hash = self.hash.as_ref().map_or("null".into(), |hash| format!("{hash:?}"));
        let completion = self.mean_completion_us.map_or("null".into(), |us| format!("{us:.3}"));
        format!(
            "{{\"link_transmissions\": {link_transmissions}, \"events\": {events}, \"flows\": {flows}, \"cpu_s\": {cpu_s:.2}, \
             \"setup_cpu_s\": {setup_cpu_s:.2}, \"run_wall_s\": {run_wall_s:.6}, \"peak_bytes\": {}, \"model_bytes\": {}, \
             \"run_bytes\": {}, \"mean_completion_us\": {completion}, \"hash\": {hash}}}",
            self.peak_bytes, self.model_bytes, self.run_bytes,
        )
    }
}

/// Runs a case in this process. `is_whole` forbids that one thread goes through blocks of the network in turn.
pub fn of_case(case: &Case, scale: f64, is_whole: bool) -> Outcome {
    let model = model(&case.load, scale);
    if matches!(case.load, Load::Bare(_)) {
        return of_bare(&model);
    }
    let spools: [Option<Box<dyn Spool>>; 2] = match case.load {
        Load::Short(..) => [Some(Box::new(Folder)), None],
        _ => [None, None],
    };
    measure(&model, &partition(&model, is_whole, case.threads), spools, case.frames)
        .expect("a case has results")
}

/// Runs a scenario file in this process, and takes frames of it, if any are wanted. `is_whole` forbids that one thread goes
/// through blocks of the network in turn.
///
/// # Errors
/// If the file, a key or the transport is refused, or the run has no results.
pub fn of_scenario(
    path: &Path,
    transport: Option<String>,
    set: &[String],
    is_whole: bool,
    frames: Option<Parts>,
) -> Result<Outcome, String> {
    let pairs = set.iter().map(|pair| match pair.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(format!("--set {pair}: must be KEY=VALUE")),
    });
    let overrides = Overrides { transport, set: pairs.collect::<Result<_, _>>()?, ..Overrides::default() };
    let scenario = Scenario::load(path, &overrides).map_err(|error| error.to_string())?;
    let model = &scenario.model;
    measure(model, &partition(model, is_whole, 1), [None, None], frames).map_err(|error| error.to_string())
}

/// Returns the partition of a model for so many threads, of which one alone goes through blocks in turn where these gain. With
/// `is_whole` it is a single part that is a single block.
fn partition(model: &Model, is_whole: bool, threads: usize) -> Partition {
    match is_whole {
        true => Partition::whole(model),
        false => Partition::new(model, threads),
    }
}

/// Runs the bare loop of a model.
fn of_bare(model: &Model) -> Outcome {
    let model_bytes = resident_bytes();
    let mut bare = Bare::new(model);
    let (setup_cpu_s, start) = (cpu_seconds(), wall_seconds());
    let (mut link_transmissions, mut events) = (0, 0);
    counted(&mut || (link_transmissions, events) = bare.run());
    let run_wall_s = wall_seconds() - start;
    let (cpu_s, peak_bytes) = (cpu_seconds(), peak_bytes());
    Outcome {
        link_transmissions,
        events,
        cpu_s,
        setup_cpu_s,
        run_wall_s,
        peak_bytes,
        model_bytes,
        ..Outcome::default()
    }
}

/// Simulates a model that is cut in this way, and takes frames of it, if any are wanted.
fn measure(
    model: &Model,
    partition: &Partition,
    spools: [Option<Box<dyn Spool>>; 2],
    frames: Option<Parts>,
) -> Result<Outcome, SimError> {
    let model_bytes = resident_bytes();
    let mut simulation = Simulation::spooled(model, partition, spools)?;
    let (setup_cpu_s, start) = (cpu_seconds(), wall_seconds());
    counted(&mut || match frames {
        Some(parts) => look(&mut simulation, parts),
        None => simulation.run(&mut |_| true),
    });
    let (run_wall_s, run_bytes) = (wall_seconds() - start, resident_bytes());
    let mut results = simulation.finish_spooled()?;
    let hash = results.hash().map_err(|error| SimError::Spool(error.to_string()))?;
    let (cpu_s, peak_bytes) = (cpu_seconds(), peak_bytes());
    let mean_completion_us = mean_completion_us(&mut results.flows);
    let summary = results.summary;
    Ok(Outcome {
        link_transmissions: summary.link_transmissions,
        events: summary.events,
        flows: summary.flows_started,
        cpu_s,
        setup_cpu_s,
        run_wall_s,
        peak_bytes,
        model_bytes,
        run_bytes,
        mean_completion_us,
        hash: Some(hash),
    })
}

/// Returns the mean completion time of these flows as [`Outcome`] defines it.
fn mean_completion_us(flows: &mut Rows) -> Option<f64> {
    if flows.is_stored() {
        return None;
    }
    let table = flows.table().ok()?;
    let acked = table.f64s("acked_s");
    // A flow that is not complete has no number there, nor does the mean of no flows.
    Some(acked.iter().sum::<f64>() / acked.len() as f64 * 1e6).filter(|mean| mean.is_finite())
}

/// Runs a simulation to its end, with a frame every 10 us as a viewer takes them.
fn look(simulation: &mut Simulation, parts: Parts) {
    let mut camera = Camera::default();
    let mut until = Time::ZERO + FRAME;
    while simulation.run_until(until, u64::MAX) {
        black_box(camera.take(0, simulation, parts));
        until += FRAME;
    }
}

/// Runs what instructions are counted of: `tools/bench` has callgrind count between the start and the end of this
/// function, which it knows by its name.
#[inline(never)]
fn counted(run: &mut dyn FnMut()) {
    run();
}

/// The folder of temporary files, to which rows of flows go.
struct Folder;

impl Spool for Folder {
    fn open(&mut self) -> io::Result<Box<dyn Store>> {
        let path = std::env::temp_dir().join(format!("clearway-bench-{}.rows", std::process::id()));
        let file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(Box::new(file))
    }

    fn part_rows(&self) -> usize {
        1 << 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets a function read a scenario file with this text.
    fn with_file<T>(name: &str, text: &str, read: impl FnOnce(&Path) -> T) -> T {
        let path = std::env::temp_dir().join(format!("clearway-bench-{}-{name}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let found = read(&path);
        std::fs::remove_file(&path).unwrap();
        found
    }

    /// Two hosts under a switch, of which one sends 1 MB, or for ever.
    fn outcome(size: &str) -> Outcome {
        let text = format!(
            "transport = \"dctcp\"\nstop = \"1 ms\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"10 Gbps\"\n\
             delay = \"1 us\"\n[[traffic]]\nname = \"flow\"\nkind = \"flows\"\n\
             list = [{{ src = \"h0\", dst = \"h1\"{size} }}]\n"
        );
        with_file(&size.len().to_string(), &text, |path| of_scenario(path, None, &[], false, None)).unwrap()
    }

    #[test]
    fn a_scenario_is_gone_through_as_a_whole_or_in_blocks_with_the_same_results() {
        let text = "transport = \"uec-nscc\"\nstop = \"20 us\"\n[topology]\nkind = \"fat-tree\"\nk = 8\n\
                    rate = \"400 Gbps\"\n[[traffic]]\nname = \"flows\"\nkind = \"permutation\"\n";
        with_file("blocks", text, |path| {
            let scenario = Scenario::load(path, &Overrides::default()).unwrap();
            assert_eq!(
                [true, false].map(|is_whole| partition(&scenario.model, is_whole, 1).blocks().to_vec()),
                [[1], [2]]
            );
            let hashes =
                [true, false].map(|is_whole| of_scenario(path, None, &[], is_whole, None).unwrap().hash);
            assert!(hashes[0].is_some() && hashes[0] == hashes[1]);
        });
    }

    #[test]
    fn the_mean_completion_time_is_that_until_the_sender_knows_and_none_if_a_flow_goes_on() {
        // 1 MB takes 800 us at 10 Gbps; headers take 5 %, and the last packet and its acknowledgement some microseconds.
        let us = outcome(", size = \"1 MB\"").mean_completion_us.unwrap();
        assert!((840.0..870.0).contains(&us), "{us}");
        assert_eq!(outcome("").mean_completion_us, None);
    }
}
