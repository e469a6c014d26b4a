//! The queue of a class of data at a port.

use super::admission::{Admission, Length};
use super::queue::Queue;
use clearway_proto::Packet;
use clearway_proto::port::MarkAt;
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

    /// Marks a packet that just left, if it leaves too long a queue behind.
    #[inline(always)]
    pub fn mark_leaving(&mut self, packet: &mut Packet) {
        let length = self.length();
        self.admission.mark(packet, MarkAt::Dequeue, length);
    }
}
