//! An event: its time, its place among the events of that time, and what happens.

use crate::ids::{AgentId, FlowSlot, MechanismId, PacketId, TrafficId};
use clearway_topology::PortId;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// The kinds of events, each with the object that it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// A packet reaches the end of the link that it is on.
    Arrive(PacketId),
    /// A port may send again.
    Wake(PortId),
    /// A host is done with the processing of a packet that arrived earlier.
    Handle(PacketId),
    /// The sending end of a flow asked to be woken.
    SenderTimer(FlowSlot),
    /// The receiving end of a flow asked to be woken.
    ReceiverTimer(FlowSlot),
    /// The agent of a host asked to be woken.
    AgentTimer(AgentId),
    /// A traffic entry has its next round to start, or its next worker to ask.
    Traffic(TrafficId),
    /// A port obeys the pause frame that reached it first.
    Pause(PortId),
    /// A mechanism of a port asked to be woken.
    MechanismTimer(MechanismId),
    /// A flow starts that was prepared earlier.
    Start(FlowSlot),
}

impl EventKind {
    /// Returns whether something reaches the end of its link or, at a host that takes time to look at a packet, the end
    /// of that time.
    #[inline]
    fn is_arrival(self) -> bool {
        matches!(self, EventKind::Arrive(_) | EventKind::Handle(_) | EventKind::Pause(_))
    }

    /// Returns the kind as a number of [`KIND_BITS`] bits, and the id of the object.
    #[inline]
    fn pack(self) -> (u32, u32) {
        match self {
            EventKind::Arrive(packet) => (ARRIVE, packet.to_bits()),
            EventKind::Wake(port) => (1, port.0),
            EventKind::Handle(packet) => (2, packet.to_bits()),
            EventKind::SenderTimer(flow) => (3, flow.to_bits()),
            EventKind::ReceiverTimer(flow) => (4, flow.to_bits()),
            EventKind::AgentTimer(agent) => (5, agent.to_bits()),
            EventKind::Traffic(traffic) => (6, traffic.to_bits()),
            EventKind::Pause(port) => (7, port.0),
            EventKind::MechanismTimer(mechanism) => (8, mechanism.to_bits()),
            EventKind::Start(flow) => (9, flow.to_bits()),
        }
    }

    /// Returns the kind and object that [`EventKind::pack`] packed. Inlined wherever kinds are told apart, so that the
    /// two matches become one: 4 % of all instructions of a run.
    #[inline(always)]
    fn unpack(kind: u32, id: u32) -> EventKind {
        match kind {
            ARRIVE => EventKind::Arrive(PacketId::from_bits(id)),
            1 => EventKind::Wake(PortId(id)),
            2 => EventKind::Handle(PacketId::from_bits(id)),
            3 => EventKind::SenderTimer(FlowSlot::from_bits(id)),
            4 => EventKind::ReceiverTimer(FlowSlot::from_bits(id)),
            5 => EventKind::AgentTimer(AgentId::from_bits(id)),
            6 => EventKind::Traffic(TrafficId::from_bits(id)),
            7 => EventKind::Pause(PortId(id)),
            8 => EventKind::MechanismTimer(MechanismId::from_bits(id)),
            9 => EventKind::Start(FlowSlot::from_bits(id)),
            _ => unreachable!("no such kind of event"),
        }
    }
}

/// An event: 16 bytes.
///
/// Events are ordered by time; of those of one time, packets that arrive come before all else, since each of them was
/// on its way before a timer or a port's wake-up for this time could be set; then by the entity that scheduled them;
/// those of one entity in the order in which it scheduled them. So the order does not depend on how entities are spread
/// over threads.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Event {
    at: u64,
    /// A bit that is clear for packets that arrive, above the number of the entity, above the kind of event, above the id
    /// of the object that the event is about. One number, so that an event passes through two registers.
    what: u64,
}

const _: () = assert!(size_of::<Event>() == 16, "four events shall fit into a cache line");

/// Bits of [`Event::what`] that hold the id.
const ID_BITS: u32 = u32::BITS;

/// Bits of [`Event::what`] that hold the kind of event.
const KIND_BITS: u32 = 4;

/// The number of [`EventKind::Arrive`].
const ARRIVE: u32 = 0;

/// The bit of [`Event::what`] that puts an event behind the packets that arrive at its time.
const AFTER_ARRIVALS: u64 = 1 << (u64::BITS - 1);

/// Most entities that a simulation can have.
pub const ENTITIES_MAX: usize = 1 << (u64::BITS - 1 - KIND_BITS - ID_BITS);

impl Event {
    /// The content of places without an event.
    pub const BLANK: Event = Event { at: 0, what: 0 };

    /// Returns an event at `at` that the entity of number `origin` schedules.
    #[inline]
    pub fn new(at: Time, origin: u32, kind: EventKind) -> Event {
        debug_assert!((origin as usize) < ENTITIES_MAX);
        let (number, id) = kind.pack();
        let class = if kind.is_arrival() { 0 } else { AFTER_ARRIVALS };
        let origin_kind = origin << KIND_BITS | number;
        Event { at: at.as_ps(), what: class | u64::from(origin_kind) << ID_BITS | u64::from(id) }
    }

    /// Returns the event with another kind or object, at its place among the events of its time.
    pub fn with_kind(self, kind: EventKind) -> Event {
        Event::new(self.at(), self.port().0, kind)
    }

    /// Returns the time of the event.
    #[inline]
    pub fn at(&self) -> Time {
        Time::from_ps(self.at)
    }

    /// Returns the port that scheduled the event. Its meaning is another one if an entity of another kind did.
    pub fn port(&self) -> PortId {
        PortId(((self.what & !AFTER_ARRIVALS) >> (ID_BITS + KIND_BITS)) as u32)
    }

    /// Returns the kind of event, with its object.
    #[inline(always)]
    pub fn kind(&self) -> EventKind {
        EventKind::unpack((self.what >> ID_BITS) as u32 & ((1 << KIND_BITS) - 1), self.what as u32)
    }

    /// Returns the packet that reaches the end of its link, if that is the event: most are. This asks for nothing else,
    /// where [`Event::kind`] is compiled to a jump.
    #[inline(always)]
    pub fn arriving(&self) -> Option<PacketId> {
        let kind = (self.what >> ID_BITS) as u32 & ((1 << KIND_BITS) - 1);
        (kind == ARRIVE).then(|| PacketId::from_bits(self.what as u32))
    }

    /// Returns the flow of which one end asked to be woken, if that is the event, and whether it is the receiving end.
    #[inline(never)]
    pub fn timer_of_end(&self) -> Option<(bool, FlowSlot)> {
        match self.kind() {
            EventKind::ReceiverTimer(flow) => Some((true, flow)),
            EventKind::SenderTimer(flow) => Some((false, flow)),
            _ => None,
        }
    }

    /// Returns the packet of [`Event::arriving`], and any id for other events: to fetch one packet too many costs less
    /// than a branch whose way nobody can guess.
    #[inline(always)]
    pub fn likely_packet(&self) -> PacketId {
        PacketId::from_bits((self.what as u32).max(1))
    }

    /// Returns the order among events, but for the order of scheduling: the time above the class above the entity.
    #[inline]
    pub fn rank(&self) -> u128 {
        (self.at as u128) << 64 | (self.what >> (ID_BITS + KIND_BITS)) as u128
    }

    /// The number of low bits of the time that are in [`Event::key`]; those of the entity are below.
    pub const KEY_BITS: u32 = ID_BITS + KIND_BITS;

    /// Returns the order among events whose times differ in their lowest [`Event::KEY_BITS`] bits alone, as a number
    /// that one instruction compares.
    #[inline]
    pub fn key(&self) -> u64 {
        self.at << (u64::BITS - Event::KEY_BITS) | self.what >> Event::KEY_BITS
    }

    /// The number of bits of [`Event::short_key`] below the entity, which are clear.
    pub const SHORT_KEY_CLEAR: u32 = KIND_BITS + 1;

    /// Returns the order among events of which the low bits of the time, the class and the number of the entity fit
    /// into a number of 32 bits: that of the entity ends below bit `entity_end`.
    #[inline]
    pub fn short_key(&self, entity_end: u32) -> u32 {
        let origin_kind = (self.what >> ID_BITS) as u32;
        let time_class = (self.at as u32) << 1 | origin_kind >> (u32::BITS - 1);
        time_class << entity_end | (origin_kind << 1) & !((1 << Event::SHORT_KEY_CLEAR) - 1)
    }

    /// [`Event::key`] above clear bits, as many as below [`Event::short_key`]. Of the time it has what fits into so many bits.
    #[inline]
    pub fn long_key(&self, bits: u32) -> u64 {
        let time = self.at << (u64::BITS - Event::KEY_BITS + Event::SHORT_KEY_CLEAR) & ((1 << bits) - 1);
        time | self.what >> (Event::KEY_BITS - Event::SHORT_KEY_CLEAR) & !((1 << Event::SHORT_KEY_CLEAR) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn only_timers_of_ends_name_the_flow_whose_end_they_wake() {
        let (flow, packet) = (FlowSlot::from_bits(7), PacketId::from_bits(7));
        let timer = |kind| Event::new(Time::ZERO, 3, kind).timer_of_end();
        assert_eq!(timer(EventKind::ReceiverTimer(flow)), Some((true, flow)));
        assert_eq!(timer(EventKind::SenderTimer(flow)), Some((false, flow)));
        assert_eq!(
            [EventKind::Wake(PortId(7)), EventKind::Handle(packet), EventKind::Start(flow)].map(timer),
            [None; 3]
        );
    }

    #[test]
    fn the_last_entity_that_there_can_be_fits_below_the_bit_of_arrivals_and_one_more_would_not() {
        let last = ENTITIES_MAX as u32 - 1;
        for kind in [EventKind::Arrive(PacketId::from_index(0)), EventKind::Wake(PortId(0))] {
            let event = Event::new(Time::ZERO, last, kind);
            assert_eq!((event.port(), event.kind()), (PortId(last), kind));
        }
        assert_eq!(u64::from(last + 1) << Event::KEY_BITS, AFTER_ARRIVALS);
    }

    #[test]
    fn every_kind_of_event_survives_its_packing() {
        let packet = PacketId::from_index(0);
        let kinds = [
            EventKind::Arrive(packet),
            EventKind::Wake(PortId(0)),
            EventKind::Handle(packet),
            EventKind::SenderTimer(FlowSlot::from_index(2)),
            EventKind::ReceiverTimer(FlowSlot::from_index(3)),
            EventKind::AgentTimer(AgentId::from_index(4)),
            EventKind::Traffic(TrafficId::from_index(5)),
            EventKind::Pause(PortId(9)),
            EventKind::MechanismTimer(MechanismId::from_index(10)),
            EventKind::Start(FlowSlot::from_index(11)),
        ];
        for kind in kinds {
            let event = Event::new(Time::from_ps(7), 5, kind);
            assert_eq!((event.kind(), event.at()), (kind, Time::from_ps(7)));
            assert_eq!(event.port(), PortId(5));
            assert_eq!(event.arriving(), (kind == EventKind::Arrive(packet)).then_some(packet));
            let likely = event.likely_packet();
            assert_eq!(event.arriving().unwrap_or(likely), likely);
        }
    }
}
