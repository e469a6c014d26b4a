//! Runs of a model: in slices, on several threads, and from a checkpoint.

use super::rules::Failure;
use clearway_sim::model::Model;
use clearway_sim::{Partition, Results, Simulation, Table};
use clearway_units::{Span, Time};

/// The number of events after which a run is cut short by a stop at the time that it has reached.
const EVENTS: u64 = 60_000;
/// The largest number of events at one instant.
const AT_ONCE: u64 = 200_000;
/// The number of events of a slice.
const SLICE: u64 = 10_000;
/// The largest number of windows of a run on several threads: each costs the threads a meeting.
const WINDOWS: u64 = 3_000;

/// Opens a simulation on so many threads.
fn open(model: &Model, threads: usize) -> Result<Simulation, Failure> {
    let partition = Partition::new(model, threads);
    Simulation::spooled(model, &partition, [None, None])
        .map_err(|error| Failure::new("accepted, but no model", error.to_string()))
}

fn finish(simulation: Simulation) -> Result<Results, Failure> {
    simulation.finish().map_err(|error| Failure::new("books", error.to_string()))
}

/// Runs a model in slices to its end, or until it has handled `most` events. Returns the simulation.
fn sliced(model: &Model, most: u64) -> Result<Simulation, Failure> {
    let mut simulation = open(model, 1)?;
    let mut before = simulation.progress();
    let mut since = before.events;
    while simulation.step(SLICE) {
        let now = simulation.progress();
        if now.now != before.now {
            since = now.events;
        }
        if now.now < before.now || now.events - since > AT_ONCE {
            let (at, events) = (now.now, now.events - since);
            return Err(Failure::new("time stands still", format!("{events} events at {at:?}")));
        }
        if now.events >= most && now.now > Time::ZERO {
            break;
        }
        before = now;
    }
    Ok(simulation)
}

/// Runs a model in slices on one thread, and returns it with its results. A long run is cut short by an earlier stop.
pub fn bounded(model: &Model) -> Result<(Model, Results), Failure> {
    let simulation = sliced(model, EVENTS)?;
    if simulation.ended().is_some() {
        return Ok((model.clone(), finish(simulation)?));
    }
    let stop = simulation.progress().now;
    let shorter = Model { stop: Some(stop), ..model.clone() };
    let simulation = sliced(&shorter, EVENTS + AT_ONCE)?;
    if simulation.ended().is_none() {
        let progress = simulation.progress();
        return Err(Failure::new("the run passes its stop", format!("{stop:?}: {progress:?}")));
    }
    Ok((shorter, finish(simulation)?))
}

/// Runs a model at a stretch on one thread.
pub fn whole(model: &Model) -> Result<Results, Failure> {
    let mut simulation = open(model, 1)?;
    simulation.run(&mut |_| true);
    finish(simulation)
}

/// Returns whether a run until `end` can be divided among so many threads, into windows that are not too short.
pub fn is_divisible(model: &Model, threads: usize, end: Time) -> bool {
    let width = Partition::new(model, threads).lookahead(model);
    width.is_some_and(|width| end.as_ps() / width.as_ps().max(1) <= WINDOWS)
}

/// Runs a model on so many threads. Returns `None` where it is not divisible.
pub fn threaded(model: &Model, threads: usize, end: Time, always: bool) -> Result<Option<Results>, Failure> {
    if !is_divisible(model, threads, end) {
        return Ok(None);
    }
    let mut simulation = open(model, threads)?;
    if always {
        simulation.always_hand_over();
    }
    simulation.run(&mut |_| true);
    finish(simulation).map(Some)
}

/// Where a run is broken off: after so many events, and then at the end of so much simulated time.
#[derive(Clone, Copy, Debug)]
pub struct Break {
    pub events: u64,
    pub span: Span,
}

/// Runs a model on the first number of threads. It is broken off, and goes on from its checkpoint on the next one, as
/// often as there are breaks.
pub fn resumed(model: &Model, first: usize, breaks: &[(Break, usize)]) -> Result<Results, Failure> {
    let mut simulation = open(model, first)?;
    for &(Break { events, span }, threads) in breaks {
        simulation.step(events);
        simulation.run_until(simulation.progress().now.saturating_add(span), u64::MAX);
        let mut checkpoint = Vec::new();
        let broken = |error: String| Failure::new("checkpoint", error);
        simulation.save("random", &mut checkpoint).map_err(|error| broken(error.to_string()))?;
        drop(simulation);
        let partition = Partition::new(model, threads);
        simulation = Simulation::resume(model, &partition, [None, None], "random", &checkpoint)
            .map_err(|error| broken(error.to_string()))?;
    }
    simulation.run(&mut |_| true);
    finish(simulation)
}

/// All that a run shows: hash, totals and tables.
pub fn shown(results: &Results) -> String {
    let table = |table: &Table| format!("{:?}", table.columns);
    let tables = [&results.flows, &results.ports, &results.samples].map(table);
    let traces: Vec<String> = results.traces.iter().map(|trace| table(trace.table())).collect();
    format!("{}\n{:?}\n{}\n{}", results.hash(), results.summary, tables.join("\n"), traces.join("\n"))
}
