//! What happens next: events in their total order.

mod wheel;

pub use wheel::Wheel;

use clearway_units::Time;

/// Something that will happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// A packet reaches the end of the link that it is on.
    Arrive(u32),
    /// A port may send again.
    Wake(u32),
    /// A host is done with the processing of a packet that arrived earlier.
    Handle(u32),
    /// The sending end of a flow asked to be woken.
    SenderTimer(u32),
    /// The receiving end of a flow asked to be woken.
    ReceiverTimer(u32),
    /// A part of the traffic has its next flow or round to start.
    Traffic(u32),
    /// A long flow stops.
    Stop(u32),
    /// A link fails or recovers.
    Fault(u32),
    /// A series is due.
    Sample(u32),
}

/// An event. Events are ordered by time, then by the entity that scheduled them, then by that entity's own count.
///
/// So the order does not depend on how entities are spread over threads: each entity's count is its own business.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    at: u64,
    key: u64,
    what: What,
}

/// Bits of an event's key that hold the entity's own count: a million million events an entity.
const COUNT_BITS: u32 = 40;

impl Event {
    /// An event at `at`, the `count`-th that entity `origin` schedules.
    #[inline]
    pub fn new(at: Time, origin: u32, count: u64, what: What) -> Event {
        debug_assert!(origin < 1 << (64 - COUNT_BITS) && count < 1 << COUNT_BITS);
        Event { at: at.as_ps(), key: (origin as u64) << COUNT_BITS | count, what }
    }

    /// When.
    #[inline]
    pub fn at(&self) -> Time {
        Time::from_ps(self.at)
    }

    /// What.
    #[inline]
    pub fn what(&self) -> What {
        self.what
    }

    #[inline]
    fn rank(&self) -> (u64, u64) {
        (self.at, self.key)
    }
}
