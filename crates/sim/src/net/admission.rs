//! The rules of a class of data at a port: how long its queue may grow, and which packets get a mark.

use crate::model::{Amount, Class, Threshold, by_rate};
use clearway_proto::port::{MarkAt, RedMarker};
use clearway_proto::{Entity, Flags, Framing, Kind, Packet, Rng};
use clearway_units::Rate;
use serde::{Deserialize, Serialize};

/// The rules of a class of data at a port, with the count of the packets marked.
#[derive(Serialize, Deserialize)]
pub struct Admission {
    /// The bytes of a queue up to which a packet that joins it, and one that left it, surely gets no mark.
    unmarked: [u64; 2],
    /// The most bytes on the wire that may wait.
    limit_bytes: u64,
    /// The most packets that may wait.
    limit_packets: u32,
    /// The marks of congestion that packets get here, if any do.
    marker: Option<Marker>,
    /// The number of packets marked.
    marks: u64,
    /// The last packet of the class that the port sent, where a queue of it trims.
    sent: LastSent,
}

/// The packet of a class that a port sent last, in the cache line that each packet of the class touches as it leaves.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct LastSent {
    /// The lowest 32 bits of the number of packets, of any kind, that the port had sent when this one left, itself included.
    number: u32,
    /// Its size on the wire.
    wire: u16,
}

/// The length of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Length {
    /// The number of packets that wait.
    pub packets: u32,
    /// The bytes on the wire that wait.
    pub bytes: u64,
}

/// A rule by which packets are marked.
#[derive(Serialize, Deserialize)]
enum Marker {
    /// Marks above a length.
    Step { bytes: u64, packets: u32 },
    /// Marks at random.
    Red(Box<Red>),
}

/// Marks at random between two thresholds.
#[derive(Serialize, Deserialize)]
struct Red {
    marker: RedMarker,
    rng: Rng,
}

impl Marker {
    /// Returns the bytes of a queue up to which there is surely no mark.
    fn unmarked(&self) -> u64 {
        match self {
            Marker::Step { bytes, packets: u32::MAX } => *bytes,
            // Only an empty queue surely has too few packets.
            Marker::Step { .. } => 0,
            Marker::Red(red) => red.marker.k_min(),
        }
    }
}

impl Admission {
    /// Returns the rules of `class` at a port of `rate`.
    pub fn new(class: &Class, rate: Rate, framing: Framing) -> Admission {
        let marker = class.marking.map(|marking| {
            let red = |marker: RedMarker| {
                Marker::Red(Box::new(Red { marker, rng: Rng::stream(0, Entity::Port, 0) }))
            };
            match marking.threshold {
                Threshold::Fixed(Amount { bytes, packets }) => Marker::Step { bytes: bytes.get(), packets },
                Threshold::ByRate => {
                    let Amount { bytes, packets } = by_rate(rate, class.limit, framing);
                    Marker::Step { bytes: bytes.get(), packets }
                }
                Threshold::Red(config) => red(RedMarker::new(&config, rate)),
                Threshold::Between(min, max) => red(RedMarker::between(min, max)),
            }
        });
        let mut unmarked = [u64::MAX; 2];
        if let (Some(marking), Some(marker)) = (class.marking, &marker) {
            unmarked[marking.at as usize] = marker.unmarked();
        }
        Admission {
            unmarked,
            limit_bytes: class.limit.bytes.get(),
            limit_packets: class.limit.packets,
            marker,
            marks: 0,
            sent: LastSent::default(),
        }
    }

    /// Gives a queue that marks at random a stream of its own.
    pub fn seed(&mut self, stream: impl FnOnce() -> Rng) {
        if let Some(Marker::Red(red)) = &mut self.marker {
            red.rng = stream();
        }
    }

    /// Keeps so many bytes and a packet free: a packet that finds no room beside them is looked at again, with what the port
    /// sends just now.
    pub fn set_apart(&mut self, bytes: u64) {
        self.limit_bytes = self.limit_bytes.saturating_sub(bytes);
        self.limit_packets -= 1;
    }

    /// Notes that a packet of this class leaves a port that trims, which has sent `packets` packets by then, this one included. A
    /// packet without data is noted under a number that is past, so that it never counts as the last one; that takes no branch,
    /// which a processor would often guess wrong.
    #[inline(always)]
    pub fn send(&mut self, packet: &Packet, packets: u64) {
        let is_other = packet.kind() != Kind::Data;
        self.sent = LastSent { number: (packets as u32).wrapping_sub(is_other.into()), wire: packet.wire };
    }

    /// Returns the size on the wire of the last packet of this class that a port sent, if none has left it since: it has sent so
    /// many.
    pub fn last_sent(&self, packets: u64) -> Option<u16> {
        (self.sent.number == packets as u32).then_some(self.sent.wire)
    }

    /// Returns the number of packets marked.
    pub fn marks(&self) -> u64 {
        self.marks
    }

    /// Returns whether a packet of `wire` bytes may join a queue of this length.
    #[inline]
    pub fn has_room(&self, queue: Length, wire: u64) -> bool {
        queue.packets < self.limit_packets && queue.bytes + wire <= self.limit_bytes
    }

    /// Marks a packet that is about to join a queue of this length, or that just left one, if it is too long.
    #[inline(always)]
    pub fn mark(&mut self, packet: &mut Packet, at: MarkAt, queue: Length) {
        // Most queues are short, so this one branch tells that no mark is due, whatever the rule is.
        if queue.bytes > self.unmarked[at as usize] {
            self.mark_where_long(packet, queue);
        }
    }

    /// As [`Admission::mark`], at the moment at which the rule compares.
    #[inline(never)]
    fn mark_where_long(&mut self, packet: &mut Packet, queue: Length) {
        let marks = match &mut self.marker {
            None => false,
            Some(Marker::Step { bytes, packets }) => queue.bytes > *bytes || queue.packets > *packets,
            Some(Marker::Red(red)) => red.marker.marks(queue.bytes, || red.rng.unit()),
        };
        if marks && packet.flags.has(Flags::ECN_CAPABLE) {
            packet.flags.set(Flags::ECN_CE);
            self.marks += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Marking;
    use clearway_proto::Header;
    use clearway_units::{Bytes, Time};

    fn class(limit: Amount, threshold: Amount) -> Class {
        let marking = Marking { threshold: Threshold::Fixed(threshold), at: MarkAt::Enqueue };
        Class { limit, marking: Some(marking), ..Class::new("", 0) }
    }

    fn admission(limit: Amount, threshold: Amount) -> Admission {
        Admission::new(&class(limit, threshold), Rate::gbps(10), Framing::ETHERNET)
    }

    /// Answers whether a packet that may carry marks gets one where so much waits.
    fn marks(admission: &mut Admission, at: MarkAt, packets: u32, bytes: u64) -> bool {
        let packet = Packet::data(Header::data(0), 1460, 1538, Time::ZERO);
        let mut packet = packet.with_flags(Flags::ECN_CAPABLE);
        admission.mark(&mut packet, at, Length { packets, bytes });
        packet.flags.has(Flags::ECN_CE)
    }

    #[test]
    fn a_queue_of_exactly_the_threshold_marks_nothing_and_one_packet_or_byte_more_does() {
        let of_packets = Amount { bytes: Bytes::MAX, packets: 5 };
        let of_bytes = Amount { bytes: Bytes::new(7_000), packets: u32::MAX };
        let mut admission = admission(Amount::UNLIMITED, of_packets);
        for (packets, marked) in [(0, false), (5, false), (6, true)] {
            assert_eq!(marks(&mut admission, MarkAt::Enqueue, packets, 1_000_000), marked, "{packets}");
        }
        assert!(!marks(&mut admission, MarkAt::Dequeue, 6, 0), "marks are made where packets join");
        assert_eq!(admission.marks(), 1);
        let mut admission = self::admission(Amount::UNLIMITED, of_bytes);
        for (bytes, marked) in [(0, false), (7_000, false), (7_001, true)] {
            assert_eq!(marks(&mut admission, MarkAt::Enqueue, 1_000, bytes), marked, "{bytes}");
        }
    }

    #[test]
    fn a_packet_that_may_not_carry_marks_gets_none_and_none_is_counted() {
        let mut admission = admission(Amount::UNLIMITED, Amount { bytes: Bytes::ZERO, packets: 0 });
        let mut packet = Packet::data(Header::data(0), 1460, 1538, Time::ZERO);
        admission.mark(&mut packet, MarkAt::Enqueue, Length { packets: 9, bytes: 9_000 });
        assert!(!packet.flags.has(Flags::ECN_CE));
        assert_eq!(admission.marks(), 0);
    }

    #[test]
    fn the_last_packet_of_a_class_is_known_until_the_port_sends_another_one_of_any_class() {
        let mut admission = admission(Amount::UNLIMITED, Amount::UNLIMITED);
        let sent = u64::from(u32::MAX);
        let data = Packet::data(Header::data(0), 1460, 1538, Time::ZERO);
        admission.send(&data, sent);
        assert_eq!([sent, sent + 1].map(|packets| admission.last_sent(packets)), [Some(1_538), None]);
        admission.send(&Packet::data(Header::data(0), 0, 84, Time::ZERO), sent + 2);
        assert_eq!([sent, sent + 2].map(|packets| admission.last_sent(packets)), [None, Some(84)]);
        admission.send(&Packet::control(Header::Syn, 84, Time::ZERO), sent + 3);
        assert_eq!(admission.last_sent(sent + 3), None, "it is no data");
    }

    #[test]
    fn a_queue_is_filled_to_exactly_its_limit_of_packets_or_of_bytes() {
        let limit = Amount { bytes: Bytes::new(3_000), packets: 4 };
        let admission = admission(limit, Amount::UNLIMITED);
        let has_room = |packets, bytes, wire| admission.has_room(Length { packets, bytes }, wire);
        assert!(has_room(3, 1_000, 2_000), "the fourth packet, which ends at the last byte");
        assert!(!has_room(3, 1_000, 2_001));
        assert!(!has_room(4, 1_000, 84));
    }
}
