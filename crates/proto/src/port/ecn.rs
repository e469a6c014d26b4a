//! Marking by a step on the queue's length (DCTCP, SIGCOMM'10, sec. 3.1).

crate::choice! {
    /// When a port compares its queue with the marking threshold.
    pub enum MarkAt {
        /// As a packet joins the queue.
        Enqueue = "enqueue",
        /// As a packet leaves it.
        Dequeue = "dequeue",
    }
}

/// Marks every packet that meets a queue longer than `K`.
#[derive(Clone, Copy, Debug)]
pub struct StepMarker {
    /// Marking threshold `K`, in bytes on the wire.
    pub threshold: u64,
    /// When to compare.
    pub at: MarkAt,
}

impl StepMarker {
    /// Whether to mark a packet that joins (or leaves behind) `queued` bytes, itself not counted.
    #[inline]
    pub fn marks(&self, queued: u64) -> bool {
        queued > self.threshold
    }
}
