//! An output port: its link, its counters, and where its queues and other parts are found.

use super::link::{ByteTime, Link};
use crate::ids::{ClassSet, CreditsId, LossId, MechanismId, NicId, PlainId, QueueId};
use clearway_proto::{Framing, Packet, Sees};
use clearway_topology::NodeId;
use clearway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// One direction of a link, with the port that feeds it. The fields that a packet touches at a plain port stand in the
/// first cache line; parts that few ports have, or few packets meet, are found by their ids.
#[repr(C, align(64))]
#[derive(Serialize, Deserialize)]
pub struct Port {
    /// The time at which the frame now on the link has left the port.
    pub busy_until: Time,
    /// The propagation delay of the link.
    pub delay: Span,
    /// The time that a byte takes to leave; `None` if the link must be asked how long a frame takes.
    byte_time: Option<ByteTime>,
    /// The queue of the port, if it is plain; it then has no credits, no NIC and no queues of data.
    pub plain: Option<PlainId>,
    /// Set while the link works in this direction.
    pub up: bool,
    /// The packets that must take the slow path when they arrive: all if the link is down, flow control wants
    /// something, a trace covers the port, or it may be served late; else those that a mechanism looks at.
    pub special_arrivals: Sees,
    /// The packets that must take the slow path when they depart: all if the link loses at random or leads to
    /// another part or block of the network, or a trace covers the port; else those that a mechanism looks at.
    pub special_departures: Sees,
    /// The work that flow control has for the port.
    pub control: ControlWork,
    /// The number of packets that wait in the queues of data; 0 at a plain port.
    pub waiting: u32,
    /// The packets sent; at a plain port also those that wait, so that readers ask [`super::Network::sent`].
    pub(super) counted: Sent,
    /// The time of the pending wake-up that counts; [`Time::MAX`] if there is none.
    pub wake_at: Time,
    /// The port's credits, where they have a rate limit.
    pub credits: Option<CreditsId>,
    /// The host's NIC behind the port; `None` at a switch.
    pub nic: Option<NicId>,
    /// The first of the port's queues of data; those of its other classes follow. A plain port has none there.
    pub queues: QueueId,
    /// The node that the port belongs to.
    pub owner: NodeId,
    /// The classes that flow control has stopped.
    pub paused: ClassSet,
    /// The parts of the port that packets meet on the slow path.
    pub special: Special,
    /// The rate of the link by the topology, also while a fault has it send at another one.
    pub rate: Rate,
    /// The link, if it must be asked how long a frame takes: its times are cut to whole nanoseconds, are no whole number of
    /// picoseconds a byte, or its rate changes.
    link: Option<Box<Link>>,
}

const _: () = assert!(size_of::<Port>() == 128, "a large network has hundreds of thousands of ports");

/// The work that flow control has for a port, and how the flows of a host use it, as bits. A port that has any takes slow
/// paths.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct ControlWork(u8);

impl ControlWork {
    /// A class of the port is stopped.
    pub const STOPPED: ControlWork = ControlWork(1);
    /// A pause frame waits for the port.
    pub const FRAME_DUE: ControlWork = ControlWork(2);
    /// The flows of a host put their data into the queues of the port as soon as they may send it
    /// ([`HostModel::queues_data`](crate::model::HostModel::queues_data)).
    pub const QUEUES_DATA: ControlWork = ControlWork(4);

    /// Returns whether there is no work.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether there is this work.
    #[inline]
    pub fn has(self, work: ControlWork) -> bool {
        self.0 & work.0 != 0
    }

    /// Notes that there is this work, or that there is not.
    pub fn set(&mut self, work: ControlWork, is_due: bool) {
        self.0 = self.0 & !work.0 | if is_due { work.0 } else { 0 };
    }
}

/// The instance of the pipeline that a port may take while nothing special is asked of it, chosen when the network is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Instance {
    /// The general one.
    General,
    /// A port of which a queue trims: no credits, no flow control, and classes that share no turns.
    Trimming,
    /// As [`Instance::Trimming`], and the port may be served late (`pipeline/deferred.rs`).
    Deferred,
    /// One class of credits with a limit and, at a switch, one class of data, with memory of its own.
    Limited,
    /// Flow control, no limit of credits, and classes that share no turns.
    Guarded,
}

/// Where a link leads whose ends are handled apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Away {
    /// To the part of the network of this number.
    Part(u16),
    /// To the block of this number of the same part (`blocks.rs`).
    Block(u16),
}

/// The parts of a port that packets meet on the slow path.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Special {
    /// The random loss of the link.
    pub loss: Option<LossId>,
    /// The mechanism that looks at packets.
    pub mechanism: Option<MechanismId>,
    /// The packets that the mechanism sees when they arrive.
    pub sees_arrivals: Sees,
    /// The packets that the mechanism sees when they depart.
    pub sees_departures: Sees,
    /// Set if a trace covers the port.
    pub is_traced: bool,
    /// The instance of the pipeline that the port takes while nothing special is asked of it.
    pub instance: Instance,
    /// Where the link leads, if that is another part of the network or another block of this one.
    pub leads_to: Option<Away>,
}

impl Special {
    /// A port without any such part.
    const NONE: Special = Special {
        loss: None,
        mechanism: None,
        sees_arrivals: Sees::Nothing,
        sees_departures: Sees::Nothing,
        is_traced: false,
        instance: Instance::General,
        leads_to: None,
    };

    /// Returns the block to which the link leads, if nothing else of a departure has to be looked at, but for what a port
    /// that trims notes.
    #[inline(always)]
    pub fn only_leads_to_block(&self) -> Option<u16> {
        match self.leads_to {
            Some(Away::Block(block))
                if self.mechanism.is_none() && self.loss.is_none() && !self.is_traced =>
            {
                Some(block)
            }
            _ => None,
        }
    }

    /// Returns whether the port may be served late.
    #[inline]
    pub fn defers(&self) -> bool {
        self.instance == Instance::Deferred
    }

    /// Returns whether a queue of the port trims.
    #[inline]
    pub fn trims(&self) -> bool {
        matches!(self.instance, Instance::Trimming | Instance::Deferred)
    }
}

/// The packets that a port sent.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub struct Sent {
    /// The number of packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// The bytes of flows in them.
    pub payload: u64,
    /// The number of credits among them.
    pub credits: u64,
}

impl Sent {
    /// Counts a packet.
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += packet.wire as u64;
        self.payload += packet.payload() as u64;
        self.credits += packet.is_credit() as u64;
    }

    /// Counts a credit of `wire` bytes.
    #[inline(always)]
    pub fn add_credit(&mut self, wire: u32) {
        self.packets += 1;
        self.bytes += wire as u64;
        self.credits += 1;
    }

    /// Returns what is left without a part of it.
    #[inline]
    pub fn minus(self, part: Sent) -> Sent {
        Sent {
            packets: self.packets - part.packets,
            bytes: self.bytes - part.bytes,
            payload: self.payload - part.payload,
            credits: self.credits - part.credits,
        }
    }

    /// Counts a frame of flow control, which belongs to no flow.
    pub fn add_frame(&mut self, wire: u32) {
        self.packets += 1;
        self.bytes += wire as u64;
    }
}

/// What a port sent over its link: the bytes, and the time in which they left if that does not follow from the bytes.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub struct Used {
    bytes: u64,
    busy: Option<Span>,
}

impl Used {
    /// So many bytes, and the time in which they left if that does not follow from them.
    pub fn new(bytes: u64, busy: Option<Span>) -> Used {
        Used { bytes, busy }
    }

    /// Returns what was sent of this after `before`.
    pub fn since(self, before: Used) -> Used {
        let busy = self.busy.map(|busy| busy - before.busy.unwrap_or_default());
        Used { bytes: self.bytes - before.bytes, busy }
    }

    /// Returns the share of so many seconds in which a link of `rate` was busy with this. Bytes count when their frame
    /// begins, which may be just before the end of the time, but a link is never busy for more than all of it.
    pub fn share(self, rate: Rate, seconds: f64) -> f64 {
        let share = match self.busy {
            Some(busy) => busy.as_secs_f64() / seconds,
            None => self.bytes as f64 / (rate.as_bps_f64() / 8.0 * seconds),
        };
        if share > 1.0 { 1.0 } else { share }
    }
}

impl Port {
    /// Returns an idle port of a topology, with its queues from `queues` on and no other part yet.
    pub fn new(port: &clearway_topology::Port, queues: QueueId, framing: Framing, whole_ns: bool) -> Port {
        let link = Link::new(port.rate, framing, whole_ns);
        let byte_time = link.byte_time();
        Port {
            busy_until: Time::ZERO,
            wake_at: Time::MAX,
            delay: port.delay,
            byte_time,
            waiting: 0,
            credits: None,
            nic: None,
            plain: None,
            up: true,
            special_arrivals: Sees::Nothing,
            special_departures: Sees::Nothing,
            control: ControlWork::default(),
            queues,
            owner: port.from,
            paused: ClassSet::EMPTY,
            counted: Sent::default(),
            special: Special::NONE,
            rate: port.rate,
            link: byte_time.is_none().then(|| Box::new(link)),
        }
    }

    /// Lets faults change the rate at which the port sends.
    pub fn let_rate_change(&mut self, framing: Framing, whole_ns: bool) {
        self.byte_time = None;
        self.link = Some(Box::new(Link::new(self.rate, framing, whole_ns).changing()));
    }

    /// The port sends frames at another rate from now on. The last one that it began has left by `left`.
    pub fn set_rate(&mut self, rate: Rate, left: Time) {
        debug_assert!(self.plain.is_none(), "a port that faults concern is not plain");
        self.link.as_mut().expect("a link whose rate changes is kept").set_rate(rate, left);
    }

    /// Takes over the rates that the same port has had, from the part of the network that it belongs to.
    pub fn take_over_rates(&mut self, own: &Port) {
        if own.link.as_ref().is_some_and(|link| link.has_changed()) {
            self.link.clone_from(&own.link);
        }
    }

    /// Takes over what happened to the same port of a network that is cut otherwise. What follows from the model and from
    /// the cut, such as the places of its queues, stays.
    pub fn take_over(&mut self, old: &mut Port) {
        let Port {
            busy_until,
            delay: _,
            byte_time: _,
            plain: _,
            up,
            special_arrivals: _,
            special_departures: _,
            control,
            waiting,
            counted,
            wake_at,
            credits: _,
            nic: _,
            queues: _,
            owner: _,
            paused,
            special: _,
            rate: _,
            link,
        } = old;
        (self.busy_until, self.up, self.control) = (*busy_until, *up, *control);
        (self.waiting, self.counted, self.wake_at) = (*waiting, *counted, *wake_at);
        (self.paused, self.link) = (*paused, link.take());
        self.settle();
    }

    /// Returns the time that a frame of `wire` bytes takes to leave.
    #[inline(always)]
    pub fn time_to_send(&self, wire: u32) -> Span {
        if let Some(byte) = self.byte_time {
            return byte.of_frame(wire);
        }
        self.link.as_ref().expect("a link that must be asked is kept").time_to_send(wire)
    }

    /// Returns the time that a frame of `wire` bytes took that has left at `done`, or leaves then.
    pub fn time_taken(&self, wire: u32, done: Time) -> Span {
        match &self.link {
            Some(link) => link.time_taken(wire, done),
            None => self.time_to_send(wire),
        }
    }

    /// Puts a frame on the link at `start`, when it is free. Returns when it reaches the other end.
    #[inline(always)]
    pub fn start_frame(&mut self, wire: u32, start: Time) -> Time {
        let time = match self.byte_time {
            Some(byte) => byte.of_frame(wire),
            None => self.link.as_mut().expect("a link that must be asked is kept").start_frame(wire),
        };
        let done = start + time;
        self.busy_until = done;
        done + self.delay
    }

    /// Returns the time until `now` in which frames left, if it does not follow from their bytes.
    pub fn busy(&self, now: Time) -> Option<Span> {
        // What is on the link now, and what waits at a plain port, leaves without a gap until the port is free.
        let ahead = self.busy_until.saturating_since(now);
        self.link.as_ref().and_then(|link| link.busy()).map(|busy| busy - ahead)
    }

    /// Returns whether the port could send at once.
    #[inline]
    pub fn is_free(&self, now: Time) -> bool {
        self.up && self.busy_until <= now
    }

    /// Returns whether a packet of data that arrives at a port that is not plain, and not special, leaves at once. A
    /// wake-up due now is for a credit that may leave, or for a flow: it goes first, though this packet came just before.
    #[inline(always)]
    pub fn sends_at_once(&self, now: Time) -> bool {
        self.busy_until <= now && self.waiting == 0 && self.wake_at != now
    }

    /// Returns whether every packet that arrives must take the slow path: the link is down, flow control wants something,
    /// data waits in the queues of a host, or a trace covers the port.
    #[inline]
    pub fn is_special(&self) -> bool {
        !self.up || !self.control.is_empty() || self.special.is_traced
    }

    /// Notes which arrivals and departures must take the slow path, after something changed that decides it.
    pub fn settle(&mut self) {
        let Special { loss, sees_arrivals, mut sees_departures, is_traced, leads_to, .. } = self.special;
        if self.special.trims() {
            // A port that trims knows which packet of data it sends.
            sees_departures = if sees_departures == Sees::Nothing { Sees::Data } else { Sees::All };
        }
        let is_special = self.is_special();
        let those = |all, sees| if all { Sees::All } else { sees };
        self.special_arrivals = those(is_special || self.special.defers(), sees_arrivals);
        self.special_departures = those(loss.is_some() || is_traced || leads_to.is_some(), sees_departures);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use clearway_proto::Header;

    #[test]
    fn the_fields_that_a_packet_touches_at_a_plain_port_fill_the_first_cache_line() {
        assert_eq!(std::mem::offset_of!(Port, wake_at), 64);
    }

    #[test]
    fn what_a_port_sent_less_a_part_of_it_is_less_in_packets_bytes_payload_and_credits() {
        let mut sent = Sent { packets: 7, bytes: 5_000, payload: 3_000, credits: 2 };
        let part = Sent { packets: 1, bytes: 1_538, payload: 1_460, credits: 0 };
        let left = sent.minus(part);
        assert_eq!((left.packets, left.bytes, left.payload, left.credits), (6, 3_462, 1_540, 2));
        sent.add_credit(84);
        let left = sent.minus(left);
        assert_eq!((left.packets, left.bytes, left.payload, left.credits), (2, 1_622, 1_460, 1));
    }

    #[test]
    fn a_link_is_busy_for_no_more_than_all_of_a_time() {
        let rate = Rate::gbps(10);
        let frames = |bytes| Used { bytes, busy: None };
        assert_eq!(frames(1250).since(frames(625)).share(rate, 1e-6), 0.5);
        assert_eq!(
            frames(1538).share(rate, 1e-6),
            1.0,
            "a frame of 1.23 us that began in the last microsecond"
        );
        assert!(frames(0).share(rate, 0.0).is_nan());
        let timed = |ns| Used { bytes: 1538, busy: Some(Span::from_ns(ns)) };
        assert_eq!(timed(900).since(timed(400)).share(rate, 1e-6), 0.5, "whatever the bytes are");
    }

    #[test]
    fn work_of_flow_control_is_noted_bit_by_bit() {
        let mut work = ControlWork::default();
        work.set(ControlWork::STOPPED, true);
        work.set(ControlWork::FRAME_DUE, true);
        work.set(ControlWork::STOPPED, false);
        assert!(work.has(ControlWork::FRAME_DUE) && !work.has(ControlWork::STOPPED) && !work.is_empty());
    }

    /// A port of 100 Gbit/s whose link takes a microsecond; with `whole_ns`, frames take whole nanoseconds.
    fn port(whole_ns: bool) -> Port {
        let (from, to, delay) = (NodeId(0), NodeId(1), Span::from_us(1));
        let of_topology = clearway_topology::Port { from, to, rate: Rate::gbps(100), delay };
        Port::new(&of_topology, QueueId::from_index(0), Framing::ETHERNET, whole_ns)
    }

    fn at(ps: u64) -> Time {
        Time::ZERO + Span::from_ps(ps)
    }

    #[test]
    fn each_kind_of_packet_is_counted_in_packets_and_bytes_and_with_what_else_it_carries() {
        let counts = |sent: Sent| [sent.packets, sent.bytes, sent.payload, sent.credits];
        let mut sent = Sent::default();
        sent.add(&Packet::data(Header::data(0), 1_460, 1_538, Time::ZERO));
        assert_eq!(counts(sent), [1, 1_538, 1_460, 0]);
        sent.add(&Packet::control(Header::Syn, 84, Time::ZERO));
        assert_eq!(counts(sent), [2, 1_622, 1_460, 0]);
        sent.add_credit(92);
        assert_eq!(counts(sent), [3, 1_714, 1_460, 1]);
        sent.add_frame(64);
        assert_eq!(counts(sent), [4, 1_778, 1_460, 1]);
    }

    #[test]
    fn a_frame_occupies_the_link_for_its_time_and_arrives_after_the_delay() {
        for (whole_ns, time) in [(false, 123_040), (true, 123_000)] {
            let mut port = port(whole_ns);
            assert_eq!(port.time_to_send(1_538), Span::from_ps(time));
            assert_eq!(port.start_frame(1_538, at(500)), at(500 + time + 1_000_000));
            assert_eq!(port.busy_until, at(500 + time));
            assert!(!port.is_free(at(499 + time)) && port.is_free(at(500 + time)));
            port.up = false;
            assert!(!port.is_free(at(500 + time)), "the link is down");
        }
    }

    #[test]
    fn the_time_in_which_frames_left_leaves_out_what_is_yet_to_leave() {
        let mut port = port(true);
        port.start_frame(1_538, at(0));
        port.start_frame(84, at(200_000));
        // 123 ns, and 6 ns from 200 ns on.
        let busy = |port: &Port, ns: u64| port.busy(at(ns * 1_000));
        assert_eq!(
            [200, 202, 206, 300].map(|ns| busy(&port, ns)),
            [123, 125, 129, 129].map(|ns| Some(Span::from_ns(ns)))
        );
        assert_eq!(busy(&self::port(false), 10), None, "it follows from the bytes");
    }

    #[test]
    fn a_packet_leaves_at_once_if_the_port_is_free_and_nothing_waits_or_is_woken_now() {
        let mut port = port(false);
        assert!(port.sends_at_once(at(0)));
        port.busy_until = at(10);
        assert!(!port.sends_at_once(at(9)) && port.sends_at_once(at(10)));
        port.wake_at = at(10);
        assert!(!port.sends_at_once(at(10)) && port.sends_at_once(at(11)));
        port.waiting = 1;
        assert!(!port.sends_at_once(at(11)));
    }

    #[test]
    fn packets_take_the_slow_path_where_something_looks_at_them_or_is_to_be_done() {
        let settled = |change: &dyn Fn(&mut Port)| {
            let mut port = port(false);
            change(&mut port);
            port.settle();
            (port.special_arrivals, port.special_departures)
        };
        let (none, all) = (Sees::Nothing, Sees::All);
        assert_eq!(settled(&|_| ()), (none, none));
        assert_eq!(settled(&|port| port.up = false), (all, none));
        assert_eq!(settled(&|port| port.control = ControlWork::FRAME_DUE), (all, none));
        assert_eq!(settled(&|port| port.special.is_traced = true), (all, all));
        assert_eq!(settled(&|port| port.special.loss = Some(LossId::from_index(0))), (none, all));
        assert_eq!(settled(&|port| port.special.leads_to = Some(Away::Part(1))), (none, all));
        assert_eq!(settled(&|port| port.special.sees_arrivals = Sees::Data), (Sees::Data, none));
        assert_eq!(settled(&|port| port.special.sees_departures = Sees::Data), (none, Sees::Data));
        let trims = |port: &mut Port| port.special.instance = Instance::Trimming;
        assert_eq!(settled(&trims), (none, Sees::Data));
        let trims_and_sees = |port: &mut Port| {
            trims(port);
            port.special.sees_departures = Sees::Data;
        };
        assert_eq!(settled(&trims_and_sees), (none, all));
    }

    #[test]
    fn a_port_of_another_cut_goes_on_as_the_old_one_was() {
        let (mut old, mut new) = (port(true), port(true));
        old.start_frame(1_538, at(0));
        old.counted.add_frame(1_538);
        (old.up, old.waiting, old.wake_at) = (false, 3, at(70));
        old.control.set(ControlWork::FRAME_DUE, true);
        new.take_over(&mut old);
        assert_eq!((new.busy_until, new.up, new.waiting, new.wake_at), (at(123_000), false, 3, at(70)));
        assert_eq!((new.counted.bytes, new.control), (1_538, ControlWork::FRAME_DUE));
        assert_eq!(new.busy(at(123_000)), Some(Span::from_ns(123)));
        assert_eq!(new.special_arrivals, Sees::All, "it is down");
    }
}
