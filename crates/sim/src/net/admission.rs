//! The rules of a class of data at a port: how long its queue may grow, and which packets get a mark.

use crate::model::{Amount, Class, Threshold, by_rate};
use clearway_proto::port::{MarkAt, RedMarker, StepMarker};
use clearway_proto::{Entity, Flags, Framing, Packet, Rng};
use clearway_units::Rate;
use serde::{Deserialize, Serialize};

/// The rules of a class of data at a port, with the count of the packets marked.
#[derive(Serialize, Deserialize)]
pub struct Admission {
    /// The most bytes on the wire that may wait.
    limit_bytes: u64,
    /// The most packets that may wait.
    limit_packets: u32,
    /// The marks of congestion that packets get here, if any do.
    marker: Option<Marker>,
    /// The number of packets marked.
    marks: u64,
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
    Step { bytes: StepMarker, packets: u32 },
    Red(Box<Red>),
}

/// Marks at random between two thresholds.
#[derive(Serialize, Deserialize)]
struct Red {
    marker: RedMarker,
    at: MarkAt,
    rng: Rng,
}

impl Admission {
    /// Returns the rules of `class` at a port of `rate`.
    pub fn new(class: &Class, rate: Rate, framing: Framing) -> Admission {
        let marker = class.marking.map(|marking| {
            let step = |threshold, packets| Marker::Step {
                bytes: StepMarker { threshold, at: marking.at },
                packets,
            };
            match marking.threshold {
                Threshold::Fixed(Amount { bytes, packets }) => step(bytes.get(), packets),
                Threshold::ByRate => {
                    let Amount { bytes, packets } = by_rate(rate, class.limit, framing);
                    step(bytes.get(), packets)
                }
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
        Admission {
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
        let Some(marker) = &mut self.marker else { return };
        let marks = match marker {
            Marker::Step { bytes, packets } => {
                bytes.at == at && (bytes.marks(queue.bytes) || queue.packets > *packets)
            }
            Marker::Red(red) => red.at == at && red.marker.marks(queue.bytes, || red.rng.unit()),
        };
        if marks && packet.flags.has(Flags::ECN_CAPABLE) {
            packet.flags.set(Flags::ECN_CE);
            self.marks += 1;
        }
    }
}
