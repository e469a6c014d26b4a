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

impl Region {
    fn progress_of(&mut self, traffic: TrafficId) -> &mut RoundsState {
        self.rounds[traffic].as_mut().expect("the rounds are in this region")
    }

    /// Starts the next round of a traffic entry, or goes on with one whose workers are asked one by one.
    pub(super) fn start_round(&mut self, traffic: TrafficId, net: &mut Network) {
        let rounds = rounds_of(&self.model, traffic);
        let (workers, spread) = (rounds.workers.len(), rounds.spread);
        let state = self.progress_of(traffic);
        if state.waiting.is_empty() {
            state.begun += 1;
            state.outstanding = workers as u32;
            if spread == Span::ZERO {
                return (0..workers).for_each(|worker| self.ask(traffic, worker, net));
            }
            let mut waiting: Vec<(Time, usize)> =
                (0..workers).map(|worker| (net.now() + state.rng.span_up_to(spread), worker)).collect();
            waiting.sort();
            state.waiting = waiting.into();
        }
        self.ask_those_due(traffic, net);
    }

    /// Asks the workers whose time came, and schedules the next one's.
    fn ask_those_due(&mut self, traffic: TrafficId, net: &mut Network) {
        loop {
            let state = self.progress_of(traffic);
            let Some(&(at, worker)) = state.waiting.front() else { return };
            if at > net.now() {
                return net.agenda.at_applications(at, EventKind::Traffic(traffic));
            }
            state.waiting.pop_front();
            self.ask(traffic, worker, net);
        }
    }

    /// A request or a response was delivered. Flow 2w carries the requests to worker w, flow 2w + 1 the responses; with
    /// new connections for each of W workers in every round, that is flow 2w + 2W r of round r.
    pub(super) fn round_progress(&mut self, FlowName { traffic, number }: FlowName, net: &mut Network) {
        let rounds = rounds_of(&self.model, traffic);
        let (total, barrier, pause, reconnect) =
            (rounds.rounds, rounds.barrier, rounds.pause, rounds.reconnect);
        let worker = (number / 2 % rounds.workers.len() as u64) as usize;
        let is_response = number % 2 == 1;
        if !is_response {
            return self.answer(traffic, worker, net);
        }
        let state = self.progress_of(traffic);
        let connection = state.connection(worker);
        connection.done += 1;
        if connection.done == total {
            state.open -= 1;
            if state.open == 0 {
                self.note(net, News::SourceDone);
            }
            if !reconnect {
                self.disconnect(traffic, worker, net);
            }
        } else if !barrier {
            self.ask(traffic, worker, net);
        }
        let state = self.progress_of(traffic);
        state.outstanding -= barrier as u32;
        if barrier && state.outstanding == 0 && state.begun < total {
            net.agenda.at_applications(net.now() + pause, EventKind::Traffic(traffic));
        }
    }

    /// Asks one worker, over a new connection if there is one for each round.
    fn ask(&mut self, traffic: TrafficId, worker: usize, net: &mut Network) {
        if rounds_of(&self.model, traffic).reconnect {
            self.note(net, News::Connect { traffic, worker });
        } else {
            self.ask_connected(traffic, worker, net);
        }
    }

    /// Asks one worker to which there is a connection; without requests it starts by itself.
    pub(super) fn ask_connected(&mut self, traffic: TrafficId, worker: usize, net: &mut Network) {
        let rounds = rounds_of(&self.model, traffic);
        let (bytes, close) = (rounds.request.get(), rounds.reconnect);
        match self.progress_of(traffic).connection(worker).request {
            Some(slot) => self.write(slot, bytes, close, net),
            None => self.answer(traffic, worker, net),
        }
    }

    /// A worker answers.
    fn answer(&mut self, traffic: TrafficId, worker: usize, net: &mut Network) {
        let rounds = rounds_of(&self.model, traffic);
        let bytes = rounds.response.get() + (worker < rounds.longer as usize) as u64;
        let close = rounds.reconnect;
        let slot = self.progress_of(traffic).connection(worker).response;
        self.write(slot, bytes, close, net);
    }

    /// An application writes a message to a flow both of whose ends are here, its last one if it closes.
    fn write(&mut self, slot: FlowSlot, bytes: u64, close: bool, net: &mut Network) {
        let ends = (self.hosts.senders.get_mut(slot), self.hosts.receivers.get_mut(slot));
        let (Some(sending), Some(receiving)) = ends else {
            unreachable!("the flow is open, with both ends here")
        };
        receiving.messages.push(sending.add_message(bytes));
        self.note(net, News::Wrote { slot, bytes });
        self.drive_sender(slot, Input::Write { bytes, close }, net);
    }

    fn disconnect(&mut self, traffic: TrafficId, worker: usize, net: &mut Network) {
        let connection = *self.progress_of(traffic).connection(worker);
        self.drive_sender(connection.response, Input::Close, net);
        if let Some(slot) = connection.request {
            self.drive_sender(slot, Input::Close, net);
        }
    }
}
