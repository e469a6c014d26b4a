//! The event loop.

use super::journal::Journal;
use super::router::Router;
use super::shares::Shares;
use super::source::Sources;
use crate::engine::{Event, EventKind};
use crate::hosts::{Hosts, Input};
use crate::ids::{FlowSlot, Id, PacketId, SeriesId};
use crate::metrics::{Ended, FlowCounts, Sampler, Window};
use crate::model::Model;
use crate::net::Network;
use clearway_proto::{Header, Packet};
use clearway_units::{Span, Time};
use thiserror::Error;

/// The reasons for which a run has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimError {
    /// Something was lost or made up: a mistake in the simulator or in a protocol, never in the scenario.
    #[error("the books of the run do not balance, so it has no result: {0}")]
    Books(String),
    /// Rows could not be written to their file, or read from it.
    #[error("the rows of flows and samples can't be kept in a file: {0}")]
    Spool(String),
    /// The model contradicts itself.
    #[error("{0}")]
    Model(String),
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The simulated time.
    pub now: Time,
    /// The time at which the scenario stops, if it says so.
    pub stop: Option<Time>,
    /// The number of events handled.
    pub events: u64,
    /// The number of packets put on links, those included whose turn at a port is known but has yet to come.
    pub link_transmissions: u64,
    /// The number of flows or messages started.
    pub flows_started: u64,
    /// The number of flows or messages delivered in full.
    pub flows_completed: u64,
    /// The number of flows or messages that there will be, if that is known.
    pub flows_expected: Option<u64>,
}

/// A run of a model. One owned value: a process may have many.
pub struct Simulation {
    pub(super) model: Model,
    pub(super) net: Network,
    pub(super) hosts: Hosts,
    pub(super) router: Router,
    pub(super) sources: Sources,
    pub(super) journal: Journal,
    pub(super) shares: Shares,
    pub(super) sampler: Sampler,
    pub(super) window: Window,
    /// The number of pending events that only look: samples, and the ends of the window.
    pub(super) observers: usize,
    /// The time of the last event before only such events were left: without them the run would have ended there.
    pub(super) quiet_since: Option<Time>,
    /// Set if round-trip times are sampled.
    pub(super) watches_rtt: bool,
    /// Set if mechanisms of switches send notifications to senders.
    pub(super) switches_notify: bool,
    /// The number of events handled.
    pub(super) events: u64,
    /// The reason for which the run ended, once it has.
    pub(super) ended: Option<Ended>,
}

impl Simulation {
    /// The number of events between two looks at whether the caller wants to stop.
    pub const SLICE: u64 = 1 << 16;

    /// Runs until the traffic is done or the scenario's stop time comes. `report` is called every 65,536 events; if
    /// it answers false the run ends there, and what was simulated so far is the result.
    pub fn run(&mut self, report: &mut dyn FnMut(&Progress) -> bool) {
        while self.step(Simulation::SLICE) {
            if !report(&self.progress()) {
                self.interrupt();
            }
        }
        report(&self.progress());
    }

    /// Handles at most so many events. Answers whether the run goes on.
    pub fn step(&mut self, events: u64) -> bool {
        if self.ended.is_none() {
            self.events += self.slice(events);
            if self.journal.has_failed() || self.sampler.has_failed() {
                self.interrupt();
            }
        }
        self.ended.is_none()
    }

    /// Ends the run where it is, unless it has ended: what was simulated so far is the result.
    pub fn interrupt(&mut self) {
        self.ended.get_or_insert(Ended::Interrupted);
    }

    /// Handles a slice of events. Answers how many these were.
    fn slice(&mut self, most: u64) -> u64 {
        let until = self.model.stop.map_or(Time::MAX, |stop| stop + Span::from_ps(1));
        let fetches_ahead = self.net.is_large();
        for handled in 0..most {
            let Some(event) = self.net.agenda.pop_before(until) else {
                if let Some(stop) = self.model.stop.filter(|_| self.net.agenda.next_at().is_some()) {
                    self.net.agenda.now = stop;
                    self.ended = Some(Ended::Stopped);
                } else {
                    self.ended = Some(if self.is_complete() { Ended::Complete } else { Ended::Stalled });
                    self.net.agenda.now = self.quiet_since.unwrap_or(self.net.agenda.now);
                }
                return handled;
            };
            debug_assert!(event.at() >= self.net.now(), "time runs backwards");
            let before = self.net.agenda.now;
            self.net.agenda.now = event.at();
            if fetches_ahead {
                self.net.look_ahead();
            }
            if !self.handle(event, before) {
                return handled + 1;
            }
            if self.net.residents.any_drained() {
                self.retire();
                if self.is_complete() {
                    self.ended = Some(Ended::Complete);
                    return handled + 1;
                }
            }
        }
        most
    }

    /// Handles an event; `before` is the time of the event before it. Answers whether the run goes on.
    #[inline(always)]
    fn handle(&mut self, event: Event, before: Time) -> bool {
        match event.kind() {
            EventKind::Arrive(id) => {
                if self.net.arrive(id) && self.hosts.reach(id, &mut self.net) {
                    self.hand_over(id);
                }
            }
            EventKind::Wake(port) => {
                if self.net.wakes(port) {
                    self.hosts.use_port(port, &mut self.net);
                }
            }
            EventKind::Handle(id) => self.hand_over(id),
            EventKind::SenderTimer(flow) => {
                if self.hosts.sender_wakes(flow, &self.net) {
                    self.drive_sender(flow, Input::Timer);
                }
            }
            EventKind::ReceiverTimer(flow) => {
                if self.hosts.receiver_wakes(flow, &self.net) {
                    self.drive_receiver(flow, Input::Timer);
                }
            }
            other => {
                self.handle_other(other, before);
                return self.ended.is_none();
            }
        }
        true
    }

    /// Handles an event that is rarer than packets.
    #[inline(never)]
    fn handle_other(&mut self, kind: EventKind, before: Time) {
        match kind {
            EventKind::ShimTimer(shim) => self.hosts.wake_shim(shim, &mut self.net),
            EventKind::Traffic(traffic) => self.run_source(traffic),
            EventKind::Stop(record) => self.stop_flow(record),
            EventKind::Fault(fault) => self.fault(fault),
            EventKind::Sample(series) => self.sample(series, before),
            EventKind::Window => self.turn_window(before),
            EventKind::Pause(port) => self.obey_frame(port),
            EventKind::MechanismTimer(mechanism) => self.wake_mechanism(mechanism),
            EventKind::Watch => self.watch(),
            EventKind::Shares => self.tell_shares(),
            _ => unreachable!("handled where packets are"),
        }
    }

    /// Hands a packet to the end of the flow that it is for.
    #[inline]
    fn hand_over(&mut self, id: PacketId) {
        let parcel = &self.net.slab[id];
        let (packet, slot) = (parcel.packet, parcel.flow);
        self.net.deliver(id);
        if packet.kind().is_for_receiver() {
            self.drive_receiver(slot, Input::Packet(&packet, id));
        } else {
            if self.watches_rtt {
                self.watch_rtt(slot, &packet);
            }
            self.drive_sender(slot, Input::Packet(&packet, id));
        }
    }

    /// Samples the round-trip time that an acknowledgement tells: it returns the time at which the data left that it
    /// answers.
    #[inline(never)]
    fn watch_rtt(&mut self, slot: FlowSlot, packet: &Packet) {
        let echo = match packet.header {
            Header::Ack { echo, .. } | Header::RdmaAck { echo, .. } => echo,
            Header::CreditAck(answer) => answer.echo,
            _ => return,
        };
        if let Some(flow) = self.hosts.flows.get_mut(slot) {
            let rtt = self.net.now().saturating_since(echo);
            self.sampler.watch(&self.model, &self.net, flow.traffic, flow.number, rtt);
        }
    }

    /// Drives a sending end, and notes what it then knows to have arrived. Answers the bytes of the flow in all, if it
    /// was truncated.
    #[inline]
    pub(super) fn drive_sender(&mut self, slot: FlowSlot, input: Input<'_>) -> u64 {
        let Some(standing) = self.hosts.drive_sender(slot, input, &mut self.net) else { return 0 };
        if standing.has_message {
            self.note_acknowledged(slot, standing.bytes);
        }
        standing.total
    }

    /// Notes that a sender knows that messages have arrived in full.
    #[inline(never)]
    pub(super) fn note_acknowledged(&mut self, slot: FlowSlot, acknowledged: u64) {
        while let Some(record) = self.hosts.flows.pop_acknowledged(slot, acknowledged) {
            self.journal.open(record).acknowledged = Some(self.net.now());
            if self.hosts.flows.get_mut(slot).is_some_and(|flow| flow.record != Some(record)) {
                self.journal.release(record);
            }
        }
    }

    /// Drives a receiving end, and tells the application what is complete.
    #[inline]
    fn drive_receiver(&mut self, slot: FlowSlot, input: Input<'_>) {
        let Some(standing) = self.hosts.drive_receiver(slot, input, &mut self.net) else { return };
        if standing.has_message {
            self.note_delivered(slot, standing.bytes);
        }
        if standing.finished {
            self.hosts.note_finished(slot, &mut self.net);
        }
    }

    /// Answers whether nothing will happen any more that a result could show.
    fn is_complete(&self) -> bool {
        self.hosts.flows.live() == 0 && self.sources.all_done()
    }

    fn sample(&mut self, series: SeriesId, before: Time) {
        self.sampler.sample(series, &self.model, &self.net, &mut self.hosts.flows);
        if self.goes_on(before) {
            self.schedule_sample(series);
        }
    }

    /// The window of measurement opens or closes.
    fn turn_window(&mut self, before: Time) {
        if self.goes_on(before) {
            let flows = self.flow_counts();
            self.window.turn(&mut self.net, flows);
        }
    }

    /// Notes that an event came that only looks, after another one at `before`. Answers whether anything else is to
    /// come: where it is not, the run is over, and was so before the first event that found it so.
    fn goes_on(&mut self, before: Time) -> bool {
        self.observers -= 1;
        let goes_on = self.net.agenda.len() > self.observers;
        if !goes_on && self.quiet_since.is_none() {
            self.quiet_since = Some(before);
        }
        goes_on
    }

    /// The counts of the flows of each traffic entry so far. It must not be called once all flows are settled.
    pub(super) fn flow_counts(&mut self) -> Vec<FlowCounts> {
        let mut counts = self.journal.settled.clone();
        for flow in self.hosts.flows.iter_mut() {
            let delivered = flow.delivered();
            counts[flow.traffic.index()].add(delivered, &flow.stats());
        }
        counts
    }
}
