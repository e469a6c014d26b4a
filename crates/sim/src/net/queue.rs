//! A queue of packets, threaded through the slab.

use super::slab::{NONE, Slab};
use clearway_units::Time;

/// First in, first out; counts itself.
#[derive(Clone, Debug)]
pub struct Queue {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
    packets_max: u32,
    bytes_max: u64,
    /// Integral of `bytes` over time, up to `since`, in byte picoseconds.
    area: u128,
    packets_area: u128,
    since: Time,
}

impl Queue {
    /// An empty queue.
    pub fn new() -> Queue {
        Queue {
            head: NONE,
            tail: NONE,
            packets: 0,
            bytes: 0,
            packets_max: 0,
            bytes_max: 0,
            area: 0,
            packets_area: 0,
            since: Time::ZERO,
        }
    }

    /// Packets waiting.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Bytes on the wire waiting.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The most packets that ever waited.
    pub fn packets_max(&self) -> u32 {
        self.packets_max
    }

    /// The most bytes that ever waited.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Bytes waiting, averaged over the time from the start to `now`.
    pub fn bytes_mean(&self, now: Time) -> f64 {
        mean(self.area, self.bytes, self.since, now)
    }

    /// Packets waiting, averaged over the time from the start to `now`.
    pub fn packets_mean(&self, now: Time) -> f64 {
        mean(self.packets_area, self.packets as u64, self.since, now)
    }

    /// The first packet, or [`NONE`].
    #[inline]
    pub fn head(&self) -> u32 {
        self.head
    }

    /// Adds a packet at the end.
    #[inline]
    pub fn push(&mut self, slab: &mut Slab, index: u32, now: Time) {
        self.account(now);
        let slot = slab.get_mut(index);
        slot.next = NONE;
        self.bytes += slot.packet.wire as u64;
        self.packets += 1;
        self.bytes_max = self.bytes_max.max(self.bytes);
        self.packets_max = self.packets_max.max(self.packets);
        if self.tail == NONE {
            self.head = index;
        } else {
            slab.get_mut(self.tail).next = index;
        }
        self.tail = index;
    }

    /// Takes the first packet, or [`NONE`].
    #[inline]
    pub fn pop(&mut self, slab: &Slab, now: Time) -> u32 {
        let index = self.head;
        if index == NONE {
            return NONE;
        }
        self.account(now);
        let slot = slab.get(index);
        self.head = slot.next;
        if self.head == NONE {
            self.tail = NONE;
        }
        self.packets -= 1;
        self.bytes -= slot.packet.wire as u64;
        index
    }

    /// Takes all packets.
    pub fn drain(&mut self, slab: &Slab, now: Time) -> Vec<u32> {
        std::iter::from_fn(|| Some(self.pop(slab, now)).filter(|&index| index != NONE)).collect()
    }

    #[inline]
    fn account(&mut self, now: Time) {
        let elapsed = (now - self.since).as_ps() as u128;
        self.area += self.bytes as u128 * elapsed;
        self.packets_area += self.packets as u128 * elapsed;
        self.since = now;
    }
}

fn mean(area: u128, level: u64, since: Time, now: Time) -> f64 {
    let total = area + level as u128 * (now - since).as_ps() as u128;
    if now == Time::ZERO { 0.0 } else { total as f64 / now.as_ps() as f64 }
}

#[cfg(test)]
mod tests {
    use super::super::slab::Slot;
    use super::*;
    use clearway_proto::{Header, Packet};

    fn insert(slab: &mut Slab, wire: u32) -> u32 {
        slab.insert(Slot {
            packet: Packet::data(Header::data(0), 0, wire, Time::ZERO),
            flow: 0,
            route: 0,
            next: NONE,
            hops: 0,
            class: 0,
            class_at_host: 0,
        })
    }

    #[test]
    fn packets_leave_in_the_order_of_their_arrival_and_the_mean_is_weighted_by_time() {
        let (mut slab, mut queue) = (Slab::new(), Queue::new());
        let (a, b) = (insert(&mut slab, 100), insert(&mut slab, 300));
        queue.push(&mut slab, a, Time::from_ps(10));
        queue.push(&mut slab, b, Time::from_ps(20));
        assert_eq!(queue.pop(&slab, Time::from_ps(30)), a);
        assert_eq!(queue.pop(&slab, Time::from_ps(40)), b);
        assert_eq!(queue.pop(&slab, Time::from_ps(40)), NONE);
        // 10 ps of 100 bytes, 10 of 400, 10 of 300 in 80 ps.
        assert_eq!(queue.bytes_mean(Time::from_ps(80)), 100.0);
        assert_eq!((queue.bytes_max(), queue.packets_max()), (400, 2));
    }
}
