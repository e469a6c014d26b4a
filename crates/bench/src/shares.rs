//! The shares of work and waiting of a case on several threads, from which its speed-up follows where the machine has fewer
//! processors.
//!
//! One thread goes through all parts of the network one after the other, window by window, and its CPU time is noted for
//! each. On as many processors as parts a window would take as long as its busiest part, so that the run would take the
//! sum of these, and what one thread does between windows, and what it takes to hand parts over. That last cost is
//! measured on as many threads as there are processors.
//!
//! A part that is gone through in turn finds the caches full of what belongs to the others. So where there are as many
//! processors as parts, the CPU time of each part is that on its own thread.

use crate::cases::{Case, Load};
use crate::models::model;
use crate::usage::{thread_ns, wall_ns};
use clearway_sim::model::Model;
use clearway_sim::{Clock, PartTimes, Partition, Simulation};
use std::num::NonZero;
use std::thread::available_parallelism;

/// The times of a case on one thread and on some numbers of threads.
pub struct Shares {
    /// The elapsed time and the CPU time on one thread, in seconds.
    alone: [f64; 2],
    /// The time to hand a part to a thread and to take it back, in seconds; zero if there is a single processor.
    handover: f64,
    /// The shares by number of threads.
    splits: Vec<Split>,
    /// The hash of the results, the same of all runs.
    hash: String,
}

/// The times of a case on a number of threads, in seconds of CPU time.
struct Split {
    threads: usize,
    /// The time of all parts for their events, and to take in what crossed between them.
    work: f64,
    intake: f64,
    /// The time of the part that took longest, both together.
    busiest: f64,
    /// The sum over windows of the time of the part that took longest.
    longest: f64,
    /// The time of windows with so few events that one thread goes through all parts.
    small: f64,
    /// The time between windows.
    between: f64,
    windows: u64,
    /// The speed-up to which even the most even machine is bound, since windows end with their last part: events of all
    /// parts by those of the part that has the most, window by window.
    balance: f64,
    /// The elapsed time on that many threads, if there are as many processors.
    elapsed: Option<f64>,
}

/// A run that was timed.
struct Timed {
    total: f64,
    times: PartTimes,
    hash: String,
}

/// Measures the shares of a case on these numbers of threads.
///
/// # Errors
/// If the network can't be cut into so many parts, or results depend on the number of threads.
pub fn of_case(case: &Case, scale: f64, threads: &[usize]) -> Result<Shares, String> {
    if matches!(case.load, Load::Bare(_)) {
        return Err(format!("--shares: {} is a bare loop, which has one thread", case.name));
    }
    let model = model(&case.load, scale);
    let processors = available_parallelism().map_or(1, NonZero::get);
    let wall = timed(&model, 1, wall_ns, false)?;
    let cpu = timed(&model, 1, thread_ns, true)?;
    let (mut handover, mut splits) = (0.0, Vec::new());
    for &threads in threads {
        let Timed { total, times: in_turn, hash } = timed(&model, threads, thread_ns, true)?;
        if hash != wall.hash {
            return Err(format!("{}: {threads} threads have other results than one", case.name));
        }
        let all = seconds(of_parts(&in_turn).sum());
        let small = seconds(in_turn.small);
        let balance = in_turn.events.iter().sum::<u64>() as f64 / in_turn.most_events.max(1) as f64;
        let windows = in_turn.windows;
        let (mut elapsed, mut times) = (None, in_turn);
        if threads <= processors {
            let beside = timed(&model, threads, wall_ns, false)?;
            // Threads come back after many windows. What they lose by then grows with these.
            let each = beside.times.windows as f64 / windows.max(1) as f64;
            handover = median(beside.times.handovers) * each;
            elapsed = Some(beside.total);
            times = timed(&model, threads, thread_ns, false)?.times;
        }
        splits.push(Split {
            threads,
            work: seconds(times.work.iter().sum()),
            intake: seconds(times.intake.iter().sum()),
            busiest: seconds(of_parts(&times).max().unwrap_or(0)),
            longest: seconds(times.longest),
            small,
            between: total - all - small,
            windows,
            balance,
            elapsed,
        });
    }
    Ok(Shares { alone: [wall.total, cpu.total], handover, splits, hash: wall.hash })
}

/// Runs a model in so many parts, on their threads or in turn on one.
fn timed(model: &Model, threads: usize, clock: Clock, in_turn: bool) -> Result<Timed, String> {
    let partition = Partition::new(model, threads);
    if partition.parts() != threads {
        return Err(format!("the network has {} parts at most, not {threads}", partition.parts()));
    }
    let mut simulation =
        Simulation::spooled(model, &partition, [None, None]).map_err(|error| error.to_string())?;
    simulation.time_parts(clock, in_turn);
    let start = clock();
    simulation.run(&mut |_| true);
    let total = seconds(clock() - start);
    let times = simulation.part_times().cloned().unwrap_or_default();
    let mut results = simulation.finish_spooled().map_err(|error| error.to_string())?;
    Ok(Timed { total, times, hash: results.hash().map_err(|error| error.to_string())? })
}

/// Returns the time of each part, to take in what crossed and for its events.
fn of_parts(times: &PartTimes) -> impl Iterator<Item = u64> {
    times.work.iter().zip(&times.intake).map(|(work, intake)| work + intake)
}

/// Returns the median in seconds of times in nanoseconds: on a machine that others share the mean is mostly theirs.
fn median(mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    seconds(times.get(times.len() / 2).copied().unwrap_or(0))
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

impl Shares {
    /// Returns the shares as JSON on one line.
    pub fn to_json(&self) -> String {
        let Shares { alone: [alone_s, alone_cpu_s], handover, splits, hash } = self;
        let split = |split: &Split| {
            let Split { threads, work, intake, busiest, longest, small, between, windows, balance, elapsed } =
                split;
            let elapsed = elapsed.map_or("null".into(), |elapsed| format!("{elapsed:.6}"));
            format!(
                "{{\"threads\": {threads}, \"windows\": {windows}, \"work_s\": {work:.6}, \"intake_s\": {intake:.6}, \
                 \"busiest_s\": {busiest:.6}, \"longest_s\": {longest:.6}, \"small_s\": {small:.6}, \
                 \"between_s\": {between:.6}, \"balance\": {balance:.3}, \"elapsed_s\": {elapsed}}}"
            )
        };
        let splits: Vec<String> = splits.iter().map(split).collect();
        format!(
            "{{\"alone_s\": {alone_s:.6}, \"alone_cpu_s\": {alone_cpu_s:.6}, \"handover_s\": {handover:.9}, \
             \"splits\": [{}], \"hash\": {hash:?}}}",
            splits.join(", ")
        )
    }
}
