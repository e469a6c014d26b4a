//! An output port: its link, its counters, and its classes' queues.

use super::queue::Queue;
use super::slab::NONE;
use crate::model::{Class, CreditClass, Threshold};
use clearway_proto::port::{CreditLimiter, CreditRoom, MarkAt, RedMarker, StepMarker, frames_by_rate};
use clearway_proto::{Entity, Flags, Framing, Packet, Rng};
use clearway_units::{Bytes, Rate, Span, Time};

/// One direction of a link, with the port that feeds it. What every packet touches stands in the first cache line.
#[repr(C, align(64))]
pub struct Port {
    /// When the frame now on the link has left the port.
    pub busy_until: Time,
    /// The pending wake-up that counts.
    pub wake_at: Time,
    /// Propagation delay of the link.
    pub delay: Span,
    /// How long a full frame and a smallest one take: known beforehand, since a division costs more than all else.
    full: Span,
    smallest: Span,
    full_wire: u32,
    smallest_wire: u32,
    /// Packets waiting in the data queues.
    pub waiting: u32,
    /// Index of its credit class, or [`NONE`].
    pub credits: u32,
    /// Index of its host's part, or [`NONE`] at a switch.
    pub nic: u32,
    /// Whether the link works in this direction.
    pub up: bool,
    /// Whether more than queueing awaits a packet that arrives: the link is down, or there is a mechanism.
    pub arrival_is_special: bool,
    /// The same for a packet that leaves: random loss, or a mechanism.
    pub departure_is_special: bool,
    /// What flow control wants of it: bits.
    pub control: u8,
    /// Where this port's data queues start.
    pub first_queue: u32,
    /// Index of its loss, or [`NONE`].
    pub loss: u32,
    /// Index of what else it does with a packet that arrives, or [`NONE`].
    pub at_arrival: u32,
    /// The same for a packet that leaves.
    pub at_departure: u32,
    /// Classes that flow control has stopped, one bit each.
    pub paused: u32,
    /// Whether a fraction of a nanosecond in the time that a frame takes is dropped.
    whole_ns: bool,
    /// How long a byte takes in picoseconds, where that is a whole number and nothing is dropped; else 0. Credits of random
    /// sizes then need no division.
    byte_ps: u32,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes on the wire sent.
    pub tx_bytes: u64,
    /// Bytes of flows in the packets sent.
    pub tx_payload: u64,
    /// Credits sent.
    pub tx_credits: u64,
    /// Rate of the link.
    pub rate: Rate,
    /// The node that it belongs to.
    pub owner: u32,
    /// Packets dropped, by reason.
    pub drops: [u64; 4],
}

impl Port {
    /// A port of a topology, idle. Its classes are added by the network.
    pub fn new(port: &clearway_topology::Port, framing: Framing, whole_ns: bool) -> Port {
        let time = |wire: u32| time_to_send(port.rate, wire, whole_ns);
        Port {
            busy_until: Time::ZERO,
            wake_at: Time::MAX,
            delay: port.delay,
            full: time(framing.wire_max()),
            smallest: time(framing.wire_min),
            full_wire: framing.wire_max(),
            smallest_wire: framing.wire_min,
            waiting: 0,
            credits: NONE,
            nic: NONE,
            up: true,
            arrival_is_special: false,
            departure_is_special: false,
            first_queue: 0,
            loss: NONE,
            at_arrival: NONE,
            at_departure: NONE,
            control: 0,
            paused: 0,
            whole_ns,
            byte_ps: if whole_ns { 0 } else { whole_byte(port.rate) },
            tx_packets: 0,
            tx_bytes: 0,
            tx_payload: 0,
            tx_credits: 0,
            rate: port.rate,
            owner: port.from.0,
            drops: [0; 4],
        }
    }

    /// How long a frame of `wire` bytes takes to leave.
    #[inline]
    pub fn time_to_send(&self, wire: u32) -> Span {
        if wire == self.full_wire {
            self.full
        } else if wire == self.smallest_wire {
            self.smallest
        } else if self.byte_ps != 0 {
            Span::from_ps(wire as u64 * self.byte_ps as u64)
        } else {
            time_to_send(self.rate, wire, self.whole_ns)
        }
    }

    /// Notes whether more than queueing awaits a packet that arrives.
    pub fn settle_arrival(&mut self) {
        self.arrival_is_special = !self.up || self.at_arrival != NONE || self.control != 0;
    }

    /// Counts a packet that is sent.
    #[inline]
    pub fn count(&mut self, packet: &Packet) {
        self.tx_packets += 1;
        self.tx_bytes += packet.wire as u64;
        self.tx_payload += packet.payload() as u64;
        self.tx_credits += packet.is_credit() as u64;
    }
}

/// How many picoseconds a byte takes at `rate` if that is a whole number below 2^32, else 0.
fn whole_byte(rate: Rate) -> u32 {
    const PS_TIMES_BITS: u64 = 8_000_000_000_000;
    match rate.as_bps() {
        0 => 0,
        bps if !PS_TIMES_BITS.is_multiple_of(bps) => 0,
        bps => u32::try_from(PS_TIMES_BITS / bps).unwrap_or(0),
    }
}

/// How long `wire` bytes take at `rate`.
fn time_to_send(rate: Rate, wire: u32, whole_ns: bool) -> Span {
    let size = Bytes::new(wire as u64);
    if whole_ns { rate.time_to_send_below(size, Span::from_ns(1)) } else { rate.time_to_send(size) }
}

/// The queue of a class of data at a port.
pub struct DataQueue {
    /// What waits.
    pub queue: Queue,
    limit_bytes: u64,
    limit_packets: u32,
    marker: Option<Marker>,
    /// Packets marked.
    pub marks: u64,
}

/// What marks.
enum Marker {
    Step { bytes: StepMarker, packets: u32 },
    Red(Box<Red>),
}

struct Red {
    marker: RedMarker,
    at: MarkAt,
    rng: Rng,
}

impl DataQueue {
    /// An empty queue of `class` at a port of `rate`.
    pub fn new(class: &Class, rate: Rate, framing: Framing) -> DataQueue {
        let marker = class.marking.map(|marking| {
            let step = |threshold, packets| Marker::Step {
                bytes: StepMarker { threshold, at: marking.at },
                packets,
            };
            match marking.threshold {
                Threshold::Fixed(amount) => step(amount.bytes.get(), amount.packets),
                Threshold::ByRate => step(frames_by_rate(rate) * framing.wire_max() as u64, u32::MAX),
                Threshold::Red(config) => {
                    let marker = RedMarker::new(&config, rate);
                    Marker::Red(Box::new(Red {
                        marker,
                        at: marking.at,
                        rng: Rng::stream(0, Entity::Port, 0),
                    }))
                }
            }
        });
        DataQueue {
            queue: Queue::new(),
            limit_bytes: class.limit.bytes.get(),
            limit_packets: class.limit.packets,
            marker,
            marks: 0,
        }
    }

    /// Gives a queue that marks at random a stream of its own.
    pub fn seed(&mut self, stream: impl FnOnce() -> Rng) {
        if let Some(Marker::Red(red)) = &mut self.marker {
            red.rng = stream();
        }
    }

    /// Whether `wire` bytes more may wait.
    #[inline]
    pub fn has_room(&self, wire: u64) -> bool {
        self.queue.packets() < self.limit_packets && self.queue.bytes() + wire <= self.limit_bytes
    }

    /// Marks a packet that is about to join, if it meets too long a queue.
    #[inline]
    pub fn mark_joining(&mut self, packet: &mut Packet) {
        self.mark(packet, MarkAt::Enqueue);
    }

    /// Marks a packet that just left, if it leaves too long a queue behind.
    #[inline]
    pub fn mark_leaving(&mut self, packet: &mut Packet) {
        self.mark(packet, MarkAt::Dequeue);
    }

    #[inline]
    fn mark(&mut self, packet: &mut Packet, at: MarkAt) {
        let Some(marker) = &mut self.marker else { return };
        let marks = match marker {
            Marker::Step { bytes, packets } => {
                bytes.at == at && (bytes.marks(self.queue.bytes()) || self.queue.packets() > *packets)
            }
            Marker::Red(red) => red.at == at && red.marker.marks(self.queue.bytes(), || red.rng.unit()),
        };
        if marks && packet.flags.has(Flags::ECN_CAPABLE) {
            packet.flags.set(Flags::ECN_CE);
            self.marks += 1;
        }
    }
}

/// Credits at a port. Where they have several classes, those have the queues.
pub struct Credits {
    /// Credits that wait.
    pub queue: Queue,
    /// Their rate limit.
    pub limiter: CreditLimiter,
    /// How many may wait.
    room: CreditRoom,
}

impl Credits {
    /// None at a port of `rate`.
    pub fn new(class: CreditClass, rate: Rate) -> Credits {
        let limiter = CreditLimiter::new(rate.mul_f64(class.share), class.shaping);
        Credits { queue: Queue::new(), limiter, room: class.shaping.room(class.queue) }
    }

    /// Whether a credit of `wire` bytes more may wait.
    #[inline]
    pub fn has_room(&self, wire: u32) -> bool {
        self.room.admits(self.queue.packets(), self.queue.bytes(), wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_proto::port::CreditShaping;

    #[test]
    fn a_whole_number_of_picoseconds_a_byte_gives_the_time_that_a_division_gives() {
        let rates = [1, 10, 25, 40, 56, 100, 200, 300, 400, 1_600].map(Rate::gbps);
        for rate in rates.into_iter().chain([Rate::mbps(1), Rate::mbps(333)]) {
            let byte = whole_byte(rate) as u64;
            for wire in 60..=1538 {
                let exact = time_to_send(rate, wire, false).as_ps();
                assert!(byte == 0 || wire as u64 * byte == exact, "{rate}, {wire} B");
            }
        }
        assert_eq!([10, 100, 400].map(|gbps| whole_byte(Rate::gbps(gbps))), [800, 80, 20]);
        assert_eq!(whole_byte(Rate::gbps(300)), 0, "26 2/3 ps a byte");
    }

    #[test]
    fn a_queue_of_credits_in_bytes_asks_for_their_size() {
        let has_room = |queue_in_bytes, wire| {
            let shaping = CreditShaping { queue_in_bytes, ..CreditShaping::PAPER };
            Credits::new(CreditClass::new(1, shaping), Rate::gbps(10)).has_room(wire)
        };
        assert!(has_room(true, 84) && !has_room(true, 85), "room for one credit of 84 B");
        assert!(has_room(false, 92));
    }
}
