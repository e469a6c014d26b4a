//! Plain ports: first in, first out, so that a packet's departure is known when it arrives.
//!
//! A port of a switch is *plain* if nothing can change the turn of a packet that waits or look at it when it leaves: it
//! has one class, memory of its own and no limit of credits; it marks packets as they join or not at all; no mechanism,
//! loss, fault or trace concerns it. Such a port needs no wake-up: a packet that is handed to it goes on the wheel at
//! once, for the time at which it will reach the next node. The port keeps the frames that have yet to start, for the
//! length of its queue. What it counts as sent includes them, and whoever looks subtracts what still waits.

use super::admission::{Admission, Length};
use super::port::Sent;
use super::queued::{Marks, QueuedPacket};
use clearway_proto::port::MarkAt;
use clearway_proto::{Kind, Packet};
use clearway_units::{Time, wide_product};
use serde::{Deserialize, Serialize};
use std::collections::{VecDeque, vec_deque};

/// The queue of a plain port.
#[derive(Serialize, Deserialize)]
pub struct PlainQueue {
    /// The frames that wait, the first one first, and before them some that have started since the last arrival.
    frames: VecDeque<Frame>,
    /// The bytes on the wire of `frames`.
    bytes: u64,
    bytes_max: u64,
    /// The integral of the bytes that wait over time, in byte picoseconds, to the end of the wait of all `frames`.
    area: u128,
    /// The bytes that the packets found waiting that came while the port was busy, summed up.
    met: u64,
    admission: Admission,
}

/// A frame whose turn is known, with what a port counts of it: the packet itself may have left the network before the
/// port forgets the frame.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Frame {
    /// The time at which it goes on the link.
    start: Time,
    wire: u32,
    payload: u16,
    kind: Kind,
    marks: Marks,
}

const _: () = assert!(size_of::<Frame>() == 16, "four frames shall fit into a cache line");

impl PlainQueue {
    /// Returns an empty queue under these rules.
    pub fn new(admission: Admission) -> PlainQueue {
        PlainQueue { frames: VecDeque::new(), bytes: 0, bytes_max: 0, area: 0, met: 0, admission }
    }

    /// A packet joins that goes on the link at `start`. Returns false, and takes nothing, if there is no room for it.
    #[inline]
    pub fn join(&mut self, packet: &mut Packet, now: Time, start: Time) -> bool {
        // A frame that starts in this instant still waits: at one instant packets arrive before ports send.
        while let Some(first) = self.frames.front().filter(|first| first.start < now) {
            self.bytes -= u64::from(first.wire);
            self.frames.pop_front();
        }
        self.met += self.bytes;
        let wire = u64::from(packet.wire);
        let length = Length { packets: self.frames.len() as u32, bytes: self.bytes };
        if !self.admission.has_room(length, wire) {
            return false;
        }
        self.admission.mark(packet, MarkAt::Enqueue, length);
        self.bytes += wire;
        self.bytes_max = self.bytes_max.max(self.bytes);
        self.area += wide_product(wire, (start - now).as_ps());
        let (payload, kind, marks) = (packet.payload() as u16, packet.kind(), Marks::of(packet.flags));
        self.frames.push_back(Frame { start, wire: packet.wire.into(), payload, kind, marks });
        true
    }

    /// Returns the frames that wait after all that happens at `now`, the first one first.
    #[inline]
    fn frames_waiting(&self, now: Time) -> vec_deque::Iter<'_, Frame> {
        let started = |frame: &&Frame| frame.start <= now;
        // Few frames have started since the last arrival, or all have, be it long ago.
        let gone = match self.frames.back() {
            Some(last) if !started(&last) => self.frames.iter().take_while(started).count(),
            _ => self.frames.len(),
        };
        self.frames.range(gone..)
    }

    /// Returns the time at which the first frame that waits goes on the link.
    #[inline]
    pub fn next_start(&self, now: Time) -> Option<Time> {
        self.frames.iter().map(|frame| frame.start).find(|&start| start > now)
    }

    /// Returns the packets that wait, the first one first.
    #[inline]
    pub fn shown(&self, now: Time) -> impl Iterator<Item = QueuedPacket> {
        self.frames_waiting(now).map(|&Frame { wire, kind, marks, .. }| QueuedPacket { kind, wire, marks })
    }

    /// Returns what waits, as it is counted once it is sent.
    #[inline]
    pub fn waiting(&self, now: Time) -> Sent {
        let mut sum = Sent::default();
        self.frames_waiting(now).for_each(|frame| {
            sum.packets += 1;
            sum.bytes += u64::from(frame.wire);
            sum.payload += u64::from(frame.payload);
            sum.credits += u64::from(frame.kind == Kind::Credit);
        });
        sum
    }

    /// Returns the number of packets that wait.
    pub fn packets(&self, now: Time) -> u64 {
        self.frames_waiting(now).len() as u64
    }

    /// Returns the bytes on the wire that wait.
    pub fn bytes(&self, now: Time) -> u64 {
        self.waiting(now).bytes
    }

    /// Returns the integral of the bytes that waited over the time from the start to `now`, in byte picoseconds.
    pub fn bytes_area(&self, now: Time) -> u128 {
        let ahead = |frame: &Frame| u128::from(frame.wire) * u128::from((frame.start - now).as_ps());
        self.area - self.frames_waiting(now).map(ahead).sum::<u128>()
    }

    /// Returns the most bytes that ever waited.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Returns the bytes that the packets found waiting that came, summed up. Those that found the port idle found
    /// none.
    pub fn bytes_met(&self) -> u64 {
        self.met
    }

    /// Returns the number of packets marked.
    pub fn marks(&self) -> u64 {
        self.admission.marks()
    }

    /// Starts the maximum anew from what waits now. Returns the one so far.
    pub fn restart_maximum(&mut self, now: Time) -> u64 {
        let waiting = self.bytes(now);
        std::mem::replace(&mut self.bytes_max, waiting)
    }

    /// Raises the maximum to that of an earlier time.
    pub fn raise_maximum(&mut self, bytes: u64) {
        self.bytes_max = self.bytes_max.max(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Amount, Class};
    use clearway_proto::{Flags, Framing, Header};
    use clearway_units::Rate;

    fn ps(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    /// A queue that holds so many packets.
    fn queue(packets: u32) -> PlainQueue {
        let class = Class { limit: Amount { packets, ..Amount::UNLIMITED }, ..Class::new("", 0) };
        PlainQueue::new(Admission::new(&class, Rate::gbps(100), Framing::ETHERNET))
    }

    fn data(payload: u32) -> Packet {
        Packet::data(Header::data(0), payload, payload + 78, Time::ZERO).with_flags(Flags::RETRANSMIT)
    }

    #[test]
    fn what_waits_is_counted_until_the_time_at_which_it_starts() {
        let mut queue = queue(10);
        assert!(queue.join(&mut data(1_460), ps(0), ps(100)));
        assert!(queue.join(&mut data(22), ps(10), ps(200)));
        let waiting = |now| {
            let sent = queue.waiting(ps(now));
            assert_eq!((queue.packets(ps(now)), queue.bytes(ps(now))), (sent.packets, sent.bytes));
            assert_eq!(queue.shown(ps(now)).map(|packet| u64::from(packet.wire)).sum::<u64>(), sent.bytes);
            (sent.packets, sent.bytes, sent.payload, sent.credits, queue.next_start(ps(now)))
        };
        assert_eq!(waiting(10), (2, 1_638, 1_482, 0, Some(ps(100))));
        assert_eq!(waiting(99), (2, 1_638, 1_482, 0, Some(ps(100))));
        assert_eq!(waiting(100), (1, 100, 22, 0, Some(ps(200))));
        assert_eq!(waiting(200), (0, 0, 0, 0, None));
    }

    #[test]
    fn the_integral_counts_each_byte_for_the_time_that_it_has_waited_so_far() {
        let mut queue = queue(10);
        assert!(queue.join(&mut data(22), ps(0), ps(100)));
        assert!(queue.join(&mut data(122), ps(50), ps(200)));
        // 100 bytes from 0 to 100 ps, and 200 bytes from 50 to 200 ps.
        let areas = [50, 60, 100, 150, 200, 300].map(|now| queue.bytes_area(ps(now)));
        assert_eq!(areas, [5_000, 8_000, 20_000, 30_000, 40_000, 40_000]);
    }

    #[test]
    fn a_packet_meets_what_has_not_started_before_it_comes_and_has_no_room_beside_as_much() {
        let mut queue = queue(2);
        assert!(queue.join(&mut data(22), ps(0), ps(100)));
        assert!(queue.join(&mut data(122), ps(0), ps(200)));
        assert_eq!((queue.bytes_met(), queue.bytes_max()), (100, 300));
        assert!(
            !queue.join(&mut data(22), ps(100), ps(300)),
            "the first starts in this instant, and still waits"
        );
        assert_eq!(queue.bytes_met(), 400, "who is turned away met it too");
        assert!(queue.join(&mut data(22), ps(101), ps(300)));
        assert_eq!((queue.bytes_met(), queue.bytes_max()), (600, 300));
    }

    #[test]
    fn the_maximum_starts_anew_from_what_waits_and_rises_to_that_of_an_earlier_time() {
        let mut queue = queue(10);
        assert!(queue.join(&mut data(122), ps(0), ps(100)));
        assert!(queue.join(&mut data(22), ps(0), ps(200)));
        assert_eq!((queue.restart_maximum(ps(150)), queue.bytes_max()), (300, 100));
        queue.raise_maximum(50);
        assert_eq!(queue.bytes_max(), 100);
        queue.raise_maximum(300);
        assert_eq!(queue.bytes_max(), 300);
    }

    #[test]
    fn a_viewer_sees_the_kind_the_size_and_the_marks_of_each_packet() {
        let mut queue = queue(10);
        let mut syn = Packet::control(Header::Syn, 84, Time::ZERO);
        assert!(queue.join(&mut data(22), ps(0), ps(100)) && queue.join(&mut syn, ps(0), ps(200)));
        let shown: Vec<_> = queue.shown(ps(0)).collect();
        assert_eq!(
            shown.iter().map(|packet| (packet.kind, packet.wire)).collect::<Vec<_>>(),
            [(Kind::Data, 100), (Kind::Syn, 84)]
        );
        assert_eq!(
            shown.iter().map(|packet| packet.marks.is_retransmission()).collect::<Vec<_>>(),
            [true, false]
        );
    }
}
