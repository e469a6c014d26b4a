//! The present and the pending events, by the entities that schedule them.

use super::event::{Event, EventKind};
use super::wheel::Wheel;
use crate::ids::{FlowSlot, HostId, Id};
use clearway_topology::PortId;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The clock of a run and its pending events.
///
/// Entities schedule events: output ports, hosts and, behind them at one instant, the applications of rounds, and what
/// starts flows.
#[derive(Serialize, Deserialize)]
pub struct Agenda {
    /// The present.
    pub now: Time,
    wheel: Wheel,
    ports: u32,
    hosts: u32,
}

impl Agenda {
    /// Returns an empty agenda for so many ports and hosts, most of whose events lie at most `horizon` ahead.
    pub fn new(ports: usize, hosts: usize, horizon: Span) -> Agenda {
        let entities = ports + hosts + 2;
        let (ports, hosts) = (ports as u32, hosts as u32);
        Agenda { now: Time::ZERO, wheel: Wheel::new(horizon, entities), ports, hosts }
    }

    /// Schedules an event of an output port.
    #[inline(always)]
    pub fn at_port(&mut self, port: PortId, at: Time, kind: EventKind) {
        self.wheel.push(Event::new(at, port.0, kind));
    }

    /// Schedules an event of a host.
    #[inline]
    pub fn at_host(&mut self, host: HostId, at: Time, kind: EventKind) {
        self.wheel.push(Event::new(at, self.ports + host.index() as u32, kind));
    }

    /// Schedules an event of the applications of rounds.
    pub fn at_applications(&mut self, at: Time, kind: EventKind) {
        self.wheel.push(Event::new(at, self.ports + self.hosts, kind));
    }

    /// Schedules the start of a flow, behind all else that happens at that instant.
    pub fn start(&mut self, at: Time, flow: FlowSlot) {
        self.wheel.push(Event::new(at, self.ports + self.hosts + 1, EventKind::Start(flow)));
    }

    /// Schedules an event that the same entity scheduled on another agenda of the same run. Those of one agenda come in
    /// their order.
    pub fn take_over(&mut self, event: Event) {
        self.wheel.push(event);
    }

    /// Lets an agenda in which nothing is pending take events from `now` on again, however far those lay that it had.
    pub fn rewind(&mut self, now: Time) {
        self.now = now;
        self.wheel.rewind(now);
    }

    /// Returns the host that scheduled an event. Its meaning is another one if an entity of another kind did.
    pub fn host_of(&self, event: &Event) -> HostId {
        HostId::from_index((event.port().0 - self.ports) as usize)
    }

    /// Takes the first event, if it comes before `until`. The present moves only when the caller says so.
    #[inline]
    pub fn pop_before(&mut self, until: Time) -> Option<Event> {
        self.wheel.pop_before(until)
    }

    /// Takes the first event, if it comes before `until` and the wheel need not turn to another bucket for it.
    #[inline]
    pub fn pop_here(&mut self, until: Time) -> Option<Event> {
        self.wheel.pop_here(until)
    }

    /// Turns the wheel to the next bucket, where [`Agenda::pop_here`] took none. Returns false if no event before `until` is
    /// left.
    #[inline]
    pub fn turn(&mut self, until: Time) -> bool {
        self.wheel.turn(until)
    }

    /// Returns the time of the first event.
    pub fn next_at(&self) -> Option<Time> {
        self.wheel.next_at()
    }

    /// Returns the event `ahead` places behind the next one, if both are near: to fetch what it will need.
    #[inline]
    pub fn peek(&self, ahead: usize) -> Option<Event> {
        self.wheel.peek(ahead)
    }

    /// Returns the pending events, in no meaningful order.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        self.wheel.iter()
    }

    /// Shows the pending events up to and at `until`, and perhaps later ones, in no meaningful order.
    #[inline]
    pub fn each_until(&self, until: Time, see: impl FnMut(&Event)) {
        self.wheel.each_until(until, see);
    }

    /// Returns the pending events of the present bucket in their order: to fetch what they will need.
    #[inline]
    pub fn bucket(&self) -> &[Event] {
        self.wheel.bucket_left()
    }

    /// Shows the events of the next bucket in no order: to fetch what they will need.
    #[inline]
    pub fn each_of_next_bucket(&self, see: impl FnMut(&Event)) {
        self.wheel.each_of_next_bucket(see);
    }
}
