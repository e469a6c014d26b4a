//! The queue of a class of data at a port.

use super::admission::{Admission, Length};
use super::queue::Queue;
use super::slab::Slab;
use crate::ids::PacketId;
use clearway_proto::Packet;
use clearway_proto::port::MarkAt;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// The queue of a class of data at a port: a cache line for the queue, and one for its rules.
#[repr(C)]
#[derive(Serialize, Deserialize)]
pub struct DataQueue {
    /// The packets that wait.
    pub queue: Queue,
    /// The limit of the queue and its marks.
    pub admission: Admission,
}

const _: () = assert!(size_of::<DataQueue>() == 128, "a queue of data shall be two cache lines");

impl DataQueue {
    /// Returns an empty queue under these rules.
    pub fn new(admission: Admission) -> DataQueue {
        DataQueue { queue: Queue::default(), admission }
    }

    #[inline]
    fn length(&self) -> Length {
        Length { packets: self.queue.packets(), bytes: self.queue.bytes() }
    }

    /// Returns whether a packet of `wire` bytes may wait as well.
    #[inline]
    pub fn has_room(&self, wire: u64) -> bool {
        self.admission.has_room(self.length(), wire)
    }

    /// Marks a packet that is about to join, if it meets too long a queue.
    #[inline]
    pub fn mark_joining(&mut self, packet: &mut Packet) {
        let length = self.length();
        self.admission.mark(packet, MarkAt::Enqueue, length);
    }

    /// Puts a packet in the place of the last one, as [`Queue::exchange_last`], and marks it as one that joins.
    pub fn exchange_last(&mut self, slab: &mut Slab, id: PacketId, now: Time) {
        let (packets, bytes) = self.queue.without_last(slab);
        self.admission.mark(&mut slab[id].packet, MarkAt::Enqueue, Length { packets, bytes });
        self.queue.exchange_last(slab, id, now);
    }

    /// Marks a packet that just left, if it leaves too long a queue behind.
    #[inline(always)]
    pub fn mark_leaving(&mut self, packet: &mut Packet) {
        let length = self.length();
        self.admission.mark(packet, MarkAt::Dequeue, length);
    }
}
