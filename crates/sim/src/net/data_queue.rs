//! The queue of a class of data at a port: its limit, and its marks.

use super::queue::Queue;
use crate::model::{Class, Threshold};
use clearway_proto::port::{MarkAt, RedMarker, StepMarker, frames_by_rate};
use clearway_proto::{Entity, Flags, Framing, Packet, Rng};
use clearway_units::Rate;
use serde::{Deserialize, Serialize};

/// The queue of a class of data at a port.
#[derive(Serialize, Deserialize)]
pub struct DataQueue {
    /// The packets that wait.
    pub queue: Queue,
    /// The most bytes on the wire that may wait.
    limit_bytes: u64,
    /// The most packets that may wait.
    limit_packets: u32,
    /// The marks of congestion that packets get here, if any do.
    marker: Option<Marker>,
    /// The number of packets marked.
    pub marks: u64,
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
            queue: Queue::default(),
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

    /// Answers whether a packet of `wire` bytes may wait as well.
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
