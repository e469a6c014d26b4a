//! Traffic: entries start their flows, and open the connections of rounds.

use super::apps::{ask_connected, start_round};
use super::global_events::GlobalEvent;
use super::life::{Start, open_flow, open_single, start_single, write_message};
use super::messages::MessagesState;
use super::rounds::{Connection, has_requests, rounds_of};
use super::snapshots::flow_counts;
use super::source::Source;
use super::state::Simulation;
use crate::engine::TICK;
use crate::hosts::FlowName;
use crate::ids::{Id, RecordId, TrafficId};
use crate::metrics::WindowEnd;
use crate::model::{Flow, Messages, Pattern};
use crate::traffic::{Done, Wait};
use clearway_units::Time;

/// Starts what a traffic entry has due now, and schedules its next start.
pub fn run_source(sim: &mut Simulation, traffic: TrafficId) {
    match next_flow(sim, traffic) {
        Some((name, flow)) => start_single(sim, name, flow),
        None if matches!(sim.model.traffic[traffic.index()].pattern, Pattern::Rounds(_)) => {
            return start_rounds(sim, traffic);
        }
        None => start_next_message(sim, traffic),
    }
    schedule_source(sim, traffic);
    if sim.starts_ahead {
        prepare_starts(sim);
    }
}

/// Prepares the flows that start before the next barrier, so that their regions start them without one. What else
/// happens to the whole network never meets a flow that was prepared and has yet to start.
fn prepare_starts(sim: &mut Simulation) {
    let stop = sim.model.stop.map_or(Time::MAX, |stop| stop + TICK);
    let until = sim.end_of_cell(sim.now).min(stop);
    let mut count = 0;
    while let Some((at, GlobalEvent::Traffic(traffic))) = sim.global_events.first()
        && at < until
        && sim.sources.get_mut(traffic).may_prepare(&sim.model.traffic[traffic.index()].pattern)
        && let Some((name, flow)) = next_flow(sim, traffic)
    {
        sim.global_events.pop();
        let slot = open_single(sim, name, flow);
        sim.nets.part_mut(sim.nets.part_of(flow.src)).agenda.start(at, slot);
        schedule_source(sim, traffic);
        count += 1;
    }
    sim.threads.expect(count);
}

/// Returns the next flow of a traffic entry, with its name; `None` if the entry has rounds or messages.
fn next_flow(sim: &mut Simulation, traffic: TrafficId) -> Option<(FlowName, Flow)> {
    let pattern = &sim.model.traffic[traffic.index()].pattern;
    let (number, flow) = sim.sources.get_mut(traffic).next_flow(pattern)?;
    Some((FlowName { traffic, number }, flow))
}

/// Schedules the next start of a traffic entry, or notes that it has none.
fn schedule_source(sim: &mut Simulation, traffic: TrafficId) {
    let source = sim.sources.get_mut(traffic);
    match source.next_at(&sim.model.traffic[traffic.index()].pattern) {
        Some(at) => sim.global_events.push(at, GlobalEvent::Traffic(traffic)),
        None if source.waits() => {}
        None => {
            let arrives = matches!(source, Source::Poisson { .. });
            sim.sources.close();
            if arrives && sim.window.ends_with_arrivals() {
                let flows = flow_counts(sim);
                // The start of a flow does not look at the network, but the end of the window does.
                sim.nets.settle(true);
                sim.window.close(&mut sim.nets, flows, WindowEnd::LastArrival);
            }
        }
    }
}

/// Starts the next message of a traffic entry that has a time of its own.
fn start_next_message(sim: &mut Simulation, traffic: TrafficId) {
    let message = messages_of(sim, traffic).1.take_next();
    begin_message(sim, traffic, message);
}

/// Starts a message that waited for others.
pub fn start_waiting_message(sim: &mut Simulation, traffic: TrafficId, message: u32) {
    begin_message(sim, traffic, message);
    let (messages, state) = messages_of(sim, traffic);
    if state.next_at(messages).is_none() && !state.waits() {
        sim.sources.close();
    }
}

/// Begins a message. The first one of a connection opens it, and the last one closes it.
fn begin_message(sim: &mut Simulation, traffic: TrafficId, message: u32) {
    let (messages, state) = messages_of(sim, traffic);
    let (flow, connection) = (messages.list()[message as usize], messages.connection(message as usize));
    let is_awaited = messages.triggers().is_awaited(message);
    let slot = state.flow(connection).unwrap_or_else(|| {
        let name = FlowName { traffic, number: connection as u64 };
        open_flow(sim, Start { name, src: flow.src, dst: flow.dst, established: false })
    });
    let is_last = messages_of(sim, traffic).1.begin(connection, slot);
    let row = write_message(sim, slot, flow, is_last);
    if is_awaited {
        messages_of(sim, traffic).1.watch(row, message);
    }
}

/// The message of a row is done, so that others may begin.
pub fn heed_end(sim: &mut Simulation, traffic: TrafficId, row: RecordId, done: Done) {
    if !matches!(&sim.model.traffic[traffic.index()].pattern, Pattern::Messages(messages) if !messages.triggers().is_empty())
    {
        return;
    }
    let (messages, state) = messages_of(sim, traffic);
    for Wait { message, pause, .. } in state.finish(row, done, messages) {
        sim.global_events.push(sim.now.saturating_add(pause), GlobalEvent::Message { traffic, message });
    }
}

/// Returns the messages of a traffic entry that has some, with their progress.
fn messages_of(sim: &mut Simulation, traffic: TrafficId) -> (&Messages, &mut MessagesState) {
    match (&sim.model.traffic[traffic.index()].pattern, sim.sources.get_mut(traffic)) {
        (Pattern::Messages(messages), Source::Messages(state)) => (messages, state),
        _ => unreachable!("this traffic entry has messages"),
    }
}

/// Opens the connections that stay open, and starts the first round of a traffic entry.
fn start_rounds(sim: &mut Simulation, traffic: TrafficId) {
    let rounds = rounds_of(&sim.model, traffic);
    let (workers, reconnect, part) =
        (rounds.workers.len(), rounds.reconnect, sim.nets.part_of(rounds.client));
    if !reconnect {
        (0..workers).for_each(|worker| connect(sim, traffic, worker));
    }
    start_round(&mut sim.regions[part], traffic, sim.nets.part_mut(part));
}

/// Opens a connection to a worker for a new round, and asks it.
pub fn reconnect(sim: &mut Simulation, traffic: TrafficId, worker: usize) {
    connect(sim, traffic, worker);
    let part = sim.nets.part_of(rounds_of(&sim.model, traffic).client);
    ask_connected(&mut sim.regions[part], traffic, worker, sim.nets.part_mut(part));
}

/// Opens the connection to a worker.
fn connect(sim: &mut Simulation, traffic: TrafficId, worker: usize) {
    let rounds = rounds_of(&sim.model, traffic);
    let (client, host, asks) = (rounds.client, rounds.workers[worker], has_requests(rounds));
    let (workers, established) = (rounds.workers.len() as u64, !rounds.reconnect);
    let part = sim.nets.part_of(client);
    let state = sim.regions[part].rounds[traffic].as_ref().expect("the rounds are in their client's region");
    let done = state.connections[worker].map_or(0, |last| last.done);
    let mut open = |kind, src, dst| {
        let number = 2 * (workers * u64::from(done) + worker as u64) + kind;
        open_flow(sim, Start { name: FlowName { traffic, number }, src, dst, established })
    };
    let request = asks.then(|| open(0, client, host));
    let response = open(1, host, client);
    sim.nets.share_paths();
    let state = sim.regions[part].rounds[traffic].as_mut().expect("the rounds are in their client's region");
    state.connections[worker] = Some(Connection { request, response, done });
}
