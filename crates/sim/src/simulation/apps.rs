//! Applications: rounds of requests and responses (incast, partition/aggregate), over connections that stay open or new
//! ones each time. They react in the instant in which a message arrives, so all hosts of a traffic entry are in one
//! region.

use super::notes::News;
use super::region::Region;
use super::rounds::{RoundsState, rounds_of};
use crate::engine::EventKind;
use crate::hosts::{FlowName, Input};
use crate::ids::{FlowSlot, TrafficId};
use crate::net::Network;
use clearway_units::{Span, Time};

fn progress_of(region: &mut Region, traffic: TrafficId) -> &mut RoundsState {
    region.rounds[traffic].as_mut().expect("the rounds are in this region")
}

/// Starts the next round of a traffic entry, or goes on with one whose workers are asked one by one.
pub fn start_round(region: &mut Region, traffic: TrafficId, net: &mut Network) {
    let rounds = rounds_of(&region.model, traffic);
    let (workers, spread) = (rounds.workers.len(), rounds.spread);
    let state = progress_of(region, traffic);
    if state.waiting.is_empty() {
        state.begun += 1;
        state.outstanding = workers as u32;
        if spread == Span::ZERO {
            return (0..workers).for_each(|worker| ask(region, traffic, worker, net));
        }
        let mut waiting: Vec<(Time, usize)> =
            (0..workers).map(|worker| (net.now() + state.rng.span_up_to(spread), worker)).collect();
        waiting.sort();
        state.waiting = waiting.into();
    }
    ask_those_due(region, traffic, net);
}

/// Asks the workers whose time came, and schedules the next one's.
fn ask_those_due(region: &mut Region, traffic: TrafficId, net: &mut Network) {
    loop {
        let state = progress_of(region, traffic);
        let Some(&(at, worker)) = state.waiting.front() else { return };
        if at > net.now() {
            return net.agenda.at_applications(at, EventKind::Traffic(traffic));
        }
        state.waiting.pop_front();
        ask(region, traffic, worker, net);
    }
}

/// A request or a response was delivered. Flow 2w carries the requests to worker w, flow 2w + 1 the responses; with
/// new connections for each of W workers in every round, that is flow 2w + 2W r of round r.
pub fn round_progress(region: &mut Region, FlowName { traffic, number }: FlowName, net: &mut Network) {
    let rounds = rounds_of(&region.model, traffic);
    let (total, barrier, pause, reconnect) = (rounds.rounds, rounds.barrier, rounds.pause, rounds.reconnect);
    let worker = (number / 2 % rounds.workers.len() as u64) as usize;
    let is_response = number % 2 == 1;
    if !is_response {
        return answer(region, traffic, worker, net);
    }
    let state = progress_of(region, traffic);
    let connection = state.connection(worker);
    connection.done += 1;
    if connection.done == total {
        state.open -= 1;
        if state.open == 0 {
            region.note(net, News::SourceDone);
        }
        if !reconnect {
            disconnect(region, traffic, worker, net);
        }
    } else if !barrier {
        ask(region, traffic, worker, net);
    }
    let state = progress_of(region, traffic);
    state.outstanding -= barrier as u32;
    if barrier && state.outstanding == 0 && state.begun < total {
        net.agenda.at_applications(net.now() + pause, EventKind::Traffic(traffic));
    }
}

/// Asks one worker, over a new connection if there is one for each round.
fn ask(region: &mut Region, traffic: TrafficId, worker: usize, net: &mut Network) {
    if rounds_of(&region.model, traffic).reconnect {
        region.note(net, News::Connect { traffic, worker });
    } else {
        ask_connected(region, traffic, worker, net);
    }
}

/// Asks one worker to which there is a connection; without requests it starts by itself.
pub fn ask_connected(region: &mut Region, traffic: TrafficId, worker: usize, net: &mut Network) {
    let rounds = rounds_of(&region.model, traffic);
    let (bytes, close) = (rounds.request.get(), rounds.reconnect);
    match progress_of(region, traffic).connection(worker).request {
        Some(slot) => write(region, slot, bytes, close, net),
        None => answer(region, traffic, worker, net),
    }
}

/// A worker answers.
fn answer(region: &mut Region, traffic: TrafficId, worker: usize, net: &mut Network) {
    let rounds = rounds_of(&region.model, traffic);
    let bytes = rounds.response.get() + (worker < rounds.longer as usize) as u64;
    let close = rounds.reconnect;
    let slot = progress_of(region, traffic).connection(worker).response;
    write(region, slot, bytes, close, net);
}

/// An application writes a message to a flow both of whose ends are here, its last one if it closes.
fn write(region: &mut Region, slot: FlowSlot, bytes: u64, close: bool, net: &mut Network) {
    let ends = (region.hosts.senders.get_mut(slot), region.hosts.receivers.get_mut(slot));
    let (Some(sending), Some(receiving)) = ends else {
        unreachable!("the flow is open, with both ends here")
    };
    receiving.messages.push(sending.add_message(bytes));
    region.note(net, News::Wrote { slot, bytes });
    region.drive_sender(slot, Input::Write { bytes, close }, net);
}

fn disconnect(region: &mut Region, traffic: TrafficId, worker: usize, net: &mut Network) {
    let connection = *progress_of(region, traffic).connection(worker);
    region.drive_sender(connection.response, Input::Close, net);
    if let Some(slot) = connection.request {
        region.drive_sender(slot, Input::Close, net);
    }
}
