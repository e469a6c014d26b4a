//! A queue of packets of data, threaded through the slab.

use super::slab::{RoutedPacket, Slab};
use crate::ids::PacketId;
use clearway_units::{Time, wide_product};
use serde::{Deserialize, Serialize};

/// A queue of data, first in, first out, with its length over time.
#[repr(align(64))]
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Queue {
    head: Option<PacketId>,
    /// The last packet, where there is a first one; else it means nothing.
    tail: Option<PacketId>,
    packets: u32,
    bytes: u64,
    bytes_max: u64,
    /// The integral of `bytes` over time, up to `since`, in byte picoseconds.
    area: u128,
    /// The bytes that the packets found waiting that came, summed up. Those that found the port idle found none.
    met: u64,
    /// The time of the last change.
    since: Time,
}

const _: () = assert!(size_of::<Queue>() == 64, "a queue shall be one cache line");

impl Queue {
    /// Returns the number of packets that wait.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Returns the bytes on the wire that wait.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the most bytes that ever waited.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Returns the integral of the bytes that waited over the time from the start to `now`, in byte picoseconds.
    pub fn bytes_area(&self, now: Time) -> u128 {
        self.area + self.bytes as u128 * (now - self.since).as_ps() as u128
    }

    /// Returns the number of bytes that waited, averaged over the time from the start to `now`.
    pub fn bytes_mean(&self, now: Time) -> f64 {
        mean(self.bytes_area(now), now)
    }

    /// Returns the bytes that the packets found waiting that came, summed up.
    pub fn bytes_met(&self) -> u64 {
        self.met
    }

    /// A packet came that finds no room.
    pub fn turn_away(&mut self) {
        self.met += self.bytes;
    }

    /// Starts the maximum anew from what waits now. Returns the one so far, in bytes.
    pub fn restart_maximum(&mut self) -> u64 {
        std::mem::replace(&mut self.bytes_max, self.bytes)
    }

    /// Raises the maximum to that of an earlier time, in bytes.
    pub fn raise_maximum(&mut self, before: u64) {
        self.bytes_max = self.bytes_max.max(before);
    }

    /// Returns the first packet, if any waits.
    #[inline]
    pub fn head(&self) -> Option<PacketId> {
        self.head
    }

    /// Adds a packet at the end.
    #[inline]
    pub fn push(&mut self, slab: &mut Slab, id: PacketId, now: Time) {
        self.account(now);
        // In an empty queue the packet itself stands for the last one: a branch for that would often be guessed wrong.
        slab[self.last().unwrap_or(id)].next = Some(id);
        self.head = self.head.or(Some(id));
        self.tail = Some(id);
        let routed = &mut slab[id];
        routed.next = None;
        self.met += self.bytes;
        self.bytes += routed.packet.wire as u64;
        self.packets += 1;
        self.bytes_max = self.bytes_max.max(self.bytes);
    }

    /// Takes the first packet, if any waits.
    #[inline(always)]
    pub fn pop(&mut self, slab: &Slab, now: Time) -> Option<PacketId> {
        let id = self.head?;
        self.pop_head(&slab[id], now);
        Some(id)
    }

    /// Takes the first packet, which is this one.
    #[inline(always)]
    pub fn pop_head(&mut self, routed: &RoutedPacket, now: Time) {
        self.account(now);
        self.head = routed.next;
        self.packets -= 1;
        self.bytes -= routed.packet.wire as u64;
    }

    /// Puts a packet in the place of the last one, which goes on under the number of the other: what `last` refers to takes the
    /// place in the queue of what `id` refers to, and `id` refers to what waited. As [`Queue::pop_last`] and [`Queue::push`], but
    /// no packet before the last one is looked for. Neither packet may have an addition.
    pub fn exchange_last(&mut self, slab: &mut Slab, id: PacketId, now: Time) {
        let Some(last) = self.last() else { return };
        self.account(now);
        self.bytes -= slab[last].packet.wire as u64;
        self.met += self.bytes;
        self.bytes += slab[id].packet.wire as u64;
        self.bytes_max = self.bytes_max.max(self.bytes);
        let (was, comes) = (slab[last], slab[id]);
        slab[last] = RoutedPacket { next: None, ..comes };
        slab[id] = RoutedPacket { next: None, ..was };
    }

    /// Returns the bytes that wait without the last packet, and the number of packets.
    pub fn without_last(&self, slab: &Slab) -> (u32, u64) {
        match self.last() {
            Some(last) => (self.packets - 1, self.bytes - slab[last].packet.wire as u64),
            None => (0, 0),
        }
    }

    /// Takes the last packet, if any waits. It is found from the first one on, for a queue links each packet to the next.
    pub fn pop_last(&mut self, slab: &mut Slab, now: Time) -> Option<PacketId> {
        let (mut before, mut last) = (None, self.head?);
        while let Some(next) = slab[last].next {
            (before, last) = (Some(last), next);
        }
        self.account(now);
        match before {
            Some(before) => slab[before].next = None,
            None => self.head = None,
        }
        self.tail = before;
        self.packets -= 1;
        self.bytes -= slab[last].packet.wire as u64;
        Some(last)
    }

    /// Returns the last packet, if any waits.
    #[inline]
    pub fn last(&self) -> Option<PacketId> {
        self.head.and(self.tail)
    }

    /// Takes all packets.
    pub fn drain(&mut self, slab: &Slab, now: Time) -> Vec<PacketId> {
        std::iter::from_fn(|| self.pop(slab, now)).collect()
    }

    /// Brings the packets that wait over from one slab to another.
    pub fn bring(&mut self, from: &Slab, to: &mut Slab) {
        let mut next = self.head.take();
        self.tail = None;
        while let Some(id) = next {
            next = from[id].next;
            let own = to.bring(from, id);
            to[own].next = None;
            match self.tail.replace(own) {
                Some(tail) => to[tail].next = Some(own),
                None => self.head = Some(own),
            }
        }
    }

    /// Returns the packets that wait, the first one first.
    pub fn iter<'a>(&self, slab: &'a Slab) -> impl Iterator<Item = &'a RoutedPacket> {
        std::iter::successors(self.head.map(|id| &slab[id]), |routed| routed.next.map(|id| &slab[id]))
    }

    #[inline]
    fn account(&mut self, now: Time) {
        let elapsed = (now - self.since).as_ps();
        self.area += wide_product(self.bytes, elapsed);
        self.since = now;
    }
}

/// Returns the mean over the time from the start to `now` of a length whose integral is `area`.
pub fn mean(area: u128, now: Time) -> f64 {
    if now == Time::ZERO { 0.0 } else { area as f64 / now.as_ps() as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_in_the_order_of_their_arrival_and_the_mean_is_weighted_by_time() {
        let (mut slab, mut queue) = (Slab::default(), Queue::default());
        let (a, b) = (slab.insert(RoutedPacket::for_test(100)), slab.insert(RoutedPacket::for_test(300)));
        queue.push(&mut slab, a, Time::from_ps(10));
        queue.push(&mut slab, b, Time::from_ps(20));
        assert_eq!(queue.iter(&slab).map(|routed| routed.packet.wire).collect::<Vec<_>>(), [100, 300]);
        assert_eq!(queue.pop(&slab, Time::from_ps(30)), Some(a));
        assert_eq!(queue.pop(&slab, Time::from_ps(40)), Some(b));
        assert_eq!(queue.pop(&slab, Time::from_ps(40)), None);
        // 10 ps of 100 bytes, 10 of 400, 10 of 300 in 80 ps.
        assert_eq!(queue.bytes_mean(Time::from_ps(80)), 100.0);
        assert_eq!(queue.bytes_max(), 400);
    }

    #[test]
    fn the_last_packet_leaves_first_where_it_is_taken_and_the_queue_goes_on_without_it() {
        let (mut slab, mut queue) = (Slab::default(), Queue::default());
        let [a, b, c] = [100, 200, 300].map(|wire| slab.insert(RoutedPacket::for_test(wire)));
        [a, b].into_iter().for_each(|id| queue.push(&mut slab, id, Time::ZERO));
        assert_eq!((queue.last(), queue.pop_last(&mut slab, Time::from_ps(10))), (Some(b), Some(b)));
        assert_eq!((queue.packets(), queue.bytes(), queue.last()), (1, 100, Some(a)));
        queue.push(&mut slab, c, Time::from_ps(10));
        assert_eq!(queue.iter(&slab).map(|routed| routed.packet.wire).collect::<Vec<_>>(), [100, 300]);
        assert_eq!([(); 3].map(|()| queue.pop_last(&mut slab, Time::from_ps(20))), [Some(c), Some(a), None]);
        assert_eq!((queue.head(), queue.last(), queue.bytes()), (None, None, 0));
        // 10 ps of 300 bytes and 10 of 400.
        assert_eq!(queue.bytes_mean(Time::from_ps(20)), 350.0);
    }

    #[test]
    fn a_packet_takes_the_place_of_the_last_one_as_if_that_had_left_and_it_had_come() {
        let run = |exchanges: bool| {
            let (mut slab, mut queue) = (Slab::default(), Queue::default());
            let [a, b, c, d] = [100, 200, 350, 70].map(|wire| slab.insert(RoutedPacket::for_test(wire)));
            [a, b].into_iter().for_each(|id| queue.push(&mut slab, id, Time::ZERO));
            let at = Time::from_ps(10);
            let left = if exchanges {
                assert_eq!(queue.without_last(&slab), (1, 100));
                queue.exchange_last(&mut slab, c, at);
                c
            } else {
                queue.pop_last(&mut slab, at);
                queue.push(&mut slab, c, at);
                b
            };
            assert_eq!((slab[left].packet.wire, slab[left].next), (200, None));
            queue.push(&mut slab, d, Time::from_ps(20));
            let waiting: Vec<_> = queue.iter(&slab).map(|routed| routed.packet.wire).collect();
            let end = Time::from_ps(30);
            (
                waiting,
                queue.bytes_max(),
                queue.bytes_met(),
                queue.bytes_area(end),
                queue.packets(),
                queue.bytes(),
            )
        };
        assert_eq!(run(true), run(false));
        assert_eq!(run(true).0, [100, 350, 70]);
    }

    #[test]
    fn each_packet_that_comes_counts_what_it_meets_whether_it_joins_or_not() {
        let (mut slab, mut queue) = (Slab::default(), Queue::default());
        for wire in [100, 300, 50] {
            let id = slab.insert(RoutedPacket::for_test(wire));
            queue.push(&mut slab, id, Time::ZERO);
        }
        assert_eq!(queue.bytes_met(), 100 + 400, "the first met nothing");
        queue.turn_away();
        assert_eq!(queue.bytes_met(), 500 + 450);
        queue.pop(&slab, Time::from_ps(1));
        assert_eq!(queue.bytes_met(), 950, "who leaves meets nobody");
    }

    #[test]
    fn packets_that_are_brought_to_another_slab_wait_there_in_their_order() {
        let (mut old, mut new, mut queue) = (Slab::default(), Slab::default(), Queue::default());
        for wire in [100, 200, 300] {
            let id = old.insert(RoutedPacket::for_test(wire));
            queue.push(&mut old, id, Time::ZERO);
        }
        let other = new.insert(RoutedPacket::for_test(50));
        queue.bring(&old, &mut new);
        queue.push(&mut new, other, Time::ZERO);
        assert_eq!(
            queue.iter(&new).map(|routed| routed.packet.wire).collect::<Vec<_>>(),
            [100, 200, 300, 50]
        );
        assert_eq!((queue.packets(), queue.bytes()), (4, 650));
        assert_eq!(queue.drain(&new, Time::ZERO).len(), 4);
        queue.bring(&old, &mut new);
        assert!(queue.head().is_none(), "an empty queue stays empty");
    }

    #[test]
    fn the_maximum_starts_anew_from_what_waits_and_rises_to_that_of_an_earlier_time() {
        let (mut slab, mut queue) = (Slab::default(), Queue::default());
        for wire in [200, 100] {
            let id = slab.insert(RoutedPacket::for_test(wire));
            queue.push(&mut slab, id, Time::ZERO);
        }
        queue.pop(&slab, Time::ZERO);
        assert_eq!((queue.restart_maximum(), queue.bytes_max()), (300, 100));
        queue.raise_maximum(50);
        assert_eq!(queue.bytes_max(), 100);
        queue.raise_maximum(300);
        assert_eq!(queue.bytes_max(), 300);
    }
}
