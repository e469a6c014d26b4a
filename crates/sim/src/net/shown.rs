//! Packets as a viewer sees them: those that wait at ports, and those on links. All of it only reads, and a run at which
//! nobody looks pays nothing for it.

use super::credit_queue::CreditQueue;
use super::divide::agendas;
use super::exchange::Crossing;
use super::flow_control::FlowControl;
use super::looks::Look;
use super::network::Network;
use super::networks::Networks;
use super::port::Sent;
use super::queue::Queue;
use super::queued::{Marks, QueuedPacket};
use super::slab::RoutedPacket;
use crate::engine::{Agenda, Event, EventKind};
use crate::ids::{ClassId, Id};
use clearway_proto::port::pfc::PAUSE_WIRE;
use clearway_topology::PortId;
use clearway_units::{Span, Time};

/// A frame that left a port, or whose turn there is known: it goes on the link at `start`, and its last bit reaches the
/// next node at `arrives`.
#[derive(Clone, Copy)]
pub struct Launched<'a> {
    /// The port.
    pub port: PortId,
    /// The packet; `None` for a pause frame.
    pub packet: Option<&'a RoutedPacket>,
    /// The size on the wire in bytes.
    pub wire: u32,
    /// The time at which the first bit leaves the port.
    pub start: Time,
    /// The time at which the last bit reaches the next node.
    pub arrives: Time,
}

/// The packets of one class that wait at a port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Waiting {
    /// The bytes on the wire.
    pub bytes: u64,
    /// The number of packets.
    pub packets: u64,
}

impl Waiting {
    #[inline]
    fn of(Sent { bytes, packets, .. }: Sent) -> Waiting {
        Waiting { bytes, packets }
    }

    #[inline]
    fn in_queue(queue: &Queue) -> Waiting {
        Waiting { bytes: queue.bytes(), packets: u64::from(queue.packets()) }
    }

    #[inline]
    fn credits(queue: &CreditQueue) -> Waiting {
        Waiting { bytes: queue.bytes(), packets: u64::from(queue.packets()) }
    }

    #[inline]
    fn plus(self, other: Waiting) -> Waiting {
        Waiting { bytes: self.bytes + other.bytes, packets: self.packets + other.packets }
    }
}

impl<'a> Look<'a> {
    /// Returns what a port sent so far, and what waits in its queues of data.
    #[inline]
    pub fn sent_and_waiting(self) -> (Sent, Waiting) {
        let counted = self.out.counted;
        match self.plain() {
            // A port that is free has nothing that waits, and its queue needs no look.
            Some(_) if self.out.busy_until <= self.net.now() => (counted, Waiting::default()),
            Some(queue) => {
                let waiting = queue.waiting(self.net.now());
                (counted.minus(waiting), Waiting::of(waiting))
            }
            None => {
                let classes = self.data_queues().iter().map(|class| Waiting::in_queue(&class.queue));
                (counted, classes.fold(Waiting::default(), Waiting::plus))
            }
        }
    }

    /// Returns a number for a port at rest: if a later look gets the same one, the port looks as it did before. `None`
    /// where something leaves or waits, and where more than the port's own packets changes what it shows.
    #[inline]
    pub fn rest(self) -> Option<u64> {
        let out = &self.out;
        if out.busy_until > self.net.now() {
            return None;
        }
        if out.plain.is_some() {
            // It drops only what finds a queue, which leaves afterwards.
            return Some(out.counted.packets);
        }
        let is_simple = self.net.memory.control().is_none() && out.special.mechanism.is_none() && out.up;
        // A port that has something to send waits to be woken for it.
        let is_at_rest = is_simple && out.wake_at == Time::MAX && out.waiting == 0 && out.paused.is_empty();
        debug_assert!(!is_at_rest || self.credits_waiting().packets == 0, "nobody wakes the port");
        // Counts only grow, and so does their sum.
        is_at_rest.then(|| out.counted.packets + self.drops().iter().map(|(_, count)| count).sum::<u64>())
    }

    /// Returns the credits that wait at a port under a rate limit.
    #[inline]
    pub fn credits_waiting(self) -> Waiting {
        match self.out.credits {
            Some(_) => self.waiting_credits().fold(Waiting::default(), Waiting::plus),
            None => Waiting::default(),
        }
    }

    /// Returns the packets that wait in the queue of a class of data at a port.
    pub fn waiting_data(self, class: ClassId) -> Waiting {
        match self.plain() {
            Some(queue) if class == ClassId::FIRST => Waiting::of(queue.waiting(self.net.now())),
            Some(_) => Waiting::default(),
            None => Waiting::in_queue(&self.net.queues.nth(self.out.queues, class.index()).queue),
        }
    }

    /// Returns the credits that wait at a port under a rate limit, by class of credits.
    pub fn waiting_credits(self) -> impl Iterator<Item = Waiting> {
        self.credit_queues().map(Waiting::credits)
    }

    /// Returns the packets in the queues of a port that is not plain: credits under a rate limit first, then data class
    /// by class, of each class the first one first. The packets that wait at a plain port are among those of
    /// [`each_launched`].
    pub fn waiting_packets(self) -> impl Iterator<Item = &'a RoutedPacket> {
        let is_plain = self.out.plain.is_some();
        let data = if is_plain { &[] } else { self.data_queues() };
        let credits = self.credit_queues().flat_map(|queue| queue.iter().map(|id| &self.net.slab[id]));
        credits.chain(data.iter().flat_map(|class| class.queue.iter(&self.net.slab)))
    }

    /// Returns whether a port may have such packets.
    #[inline]
    pub fn has_packets(self) -> bool {
        let out = &self.out;
        out.waiting > 0 || out.credits.is_some()
    }

    /// Returns the number of notifications that the mechanism of a port had sent to senders.
    #[inline]
    pub fn cnps(self) -> u64 {
        self.out.special.mechanism.map_or(0, |mechanism| self.net.mechanisms[mechanism].cnps)
    }

    /// Shows the packets in the queues of a port, the first `most` of them: credits under a rate limit first, then data
    /// class by class, of each class the first one first.
    pub fn each_queued(self, most: usize, mut show: impl FnMut(QueuedPacket)) {
        match self.plain() {
            Some(queue) => queue.shown(self.net.now()).take(most).for_each(show),
            None => self.waiting_packets().take(most).for_each(|RoutedPacket { packet, .. }| {
                let (kind, wire) = (packet.kind(), packet.wire.into());
                show(QueuedPacket { kind, wire, marks: Marks::of_any(packet.flags) });
            }),
        }
    }

    /// Returns the latest time at which the last bit of a frame that a port has begun to send reaches the next node.
    #[inline]
    fn last_arrival(self) -> Time {
        // What waits at a plain port is counted in the time until which the port is busy.
        let plain = self.out.plain.filter(|_| self.out.busy_until > self.net.now());
        let next = plain.and_then(|plain| self.net.plain[plain].next_start(self.net.now()));
        next.unwrap_or(self.out.busy_until) + self.out.delay
    }
}

/// Returns the number of packets that reached a host which has yet to look at them.
pub fn handled_later(net: &Network) -> u64 {
    let is_handled = |kind| matches!(kind, EventKind::Handle(_));
    agendas(net).flat_map(Agenda::iter).filter(|event| is_handled(event.kind())).count() as u64
}

/// Shows the frames that ports gave to their links, or that wait there although their turn is known. Those that arrive
/// behind the last arrivals by port are left out, if these are given.
fn each_of_part<'a>(net: &'a Network, last: Option<&[Time]>, show: &mut impl FnMut(Launched<'a>)) {
    let latest = last.map_or(Time::MAX, |last| last.iter().copied().max().unwrap_or(Time::ZERO));
    let response = net.memory.control().map_or(Span::ZERO, FlowControl::response);
    let mut see = |event: &Event| {
        let (port, at) = (event.port(), event.at());
        if let Some(id) = event.arriving() {
            if last.is_none_or(|last| at <= last[port.index()]) {
                show(launched_at(net, port, at, Some(&net.slab[id])));
            }
        } else if matches!(event.kind(), EventKind::Pause(_)) {
            show(launched_at(net, port, at, None));
        }
    };
    agendas(net).for_each(|agenda| agenda.each_until(latest.saturating_add(response), &mut see));
}

/// Returns the frames that other parts of the network sent here and that this one has yet to take in.
fn handed_over(net: &Network) -> impl Iterator<Item = Launched<'_>> {
    let boxes = net.exchange.iter().flat_map(|exchange| &exchange.inboxes);
    boxes.flat_map(move |batch| {
        let mut packets = batch.packets.iter();
        batch.items.iter().map(move |item| {
            let routed = match item.what {
                Crossing::Packet => packets.next(),
                Crossing::Frame(..) => None,
            };
            launched_at(net, item.port, item.at, routed)
        })
    })
}

/// Returns the frame of a port whose event comes at `at`: of a packet its arrival, of a pause frame the time at
/// which the other end obeys it.
fn launched_at<'a>(net: &Network, port: PortId, at: Time, routed: Option<&'a RoutedPacket>) -> Launched<'a> {
    let out = &net.ports[port];
    let response = net.memory.control().filter(|_| routed.is_none()).map(|control| control.response());
    let wire = routed.map_or(PAUSE_WIRE, |routed| routed.packet.wire.into());
    let arrives = response.map_or(at, |response| at - response);
    let done = arrives - out.delay;
    let start = done - out.time_taken(wire, done);
    Launched { port, packet: routed, wire, start, arrives }
}

/// Shows the frames on all links, those included that wait at a plain port, whose start lies in the future. A pause
/// frame stays until the other end has obeyed it. They come in no meaningful order.
pub fn each_launched<'a>(nets: &'a Networks, mut show: impl FnMut(Launched<'a>)) {
    for net in nets.iter() {
        each_of_part(net, None, &mut show);
        handed_over(net).for_each(&mut show);
    }
}

/// As [`each_launched`], but shows only few of those that wait. `last` is room for a time for each port.
pub fn each_on_links<'a>(nets: &'a Networks, last: &mut Vec<Time>, mut show: impl FnMut(Launched<'a>)) {
    last.clear();
    last.extend(nets.ports().map(|port| nets.look(port).last_arrival()));
    for net in nets.iter() {
        each_of_part(net, Some(last), &mut show);
        handed_over(net).for_each(&mut show);
    }
}
