//! What happens next: events in their total order.

mod prefetch;
mod wheel;

pub use prefetch::prefetch;
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
    /// The shim of a host asked to be woken.
    ShimTimer(u32),
    /// A part of the traffic has its next flow or round to start.
    Traffic(u32),
    /// A long flow stops.
    Stop(u32),
    /// A link fails or recovers.
    Fault(u32),
    /// A series is due.
    Sample(u32),
    /// A pause frame reaches the port that it is about.
    Pause(u32),
    /// A mechanism of a port asked to be woken.
    PortTimer(u32),
    /// Flow control looks whether ports are stopped for too long.
    Watch(u32),
    /// Flows started or ended, and so fair shares changed.
    Shares(u32),
}

impl What {
    /// Whether a packet reaches the end of its link or, at a host that takes time to look at it, the end of that time.
    #[inline]
    fn is_arrival(self) -> bool {
        matches!(self, What::Arrive(_) | What::Handle(_) | What::Pause(_))
    }
}

/// An event: 16 bytes.
///
/// Events are ordered by time; of those of one time, packets that arrive come before all else, since each of them was
/// on its way before a timer or a port's wake-up for this time could be set; then by the entity that scheduled them;
/// those of one entity in the order in which it scheduled them. So the order does not depend on how entities are spread
/// over threads.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    at: u64,
    /// A bit that is clear for packets that arrive ([`What::is_arrival`]), above the entity, above the kind of event.
    origin_kind: u32,
    argument: u32,
}

const _: () = assert!(size_of::<Event>() == 16, "four events shall fit into a cache line");

/// Bits of [`Event::origin_kind`] that hold the kind of event.
const KIND_BITS: u32 = 4;

/// The bit of [`Event::origin_kind`] that puts an event behind the packets that arrive at its time.
const AFTER_ARRIVALS: u32 = 1 << (u32::BITS - 1);

/// Most entities that a simulation can have.
pub const ENTITIES_MAX: usize = 1 << (u32::BITS - 1 - KIND_BITS);

impl Event {
    /// An event at `at` that entity `origin` schedules.
    #[inline]
    pub fn new(at: Time, origin: u32, what: What) -> Event {
        debug_assert!((origin as usize) < ENTITIES_MAX);
        let (kind, argument) = what.pack();
        let class = if what.is_arrival() { 0 } else { AFTER_ARRIVALS };
        Event { at: at.as_ps(), origin_kind: class | origin << KIND_BITS | kind, argument }
    }

    /// When.
    #[inline]
    pub fn at(&self) -> Time {
        Time::from_ps(self.at)
    }

    /// What.
    #[inline]
    pub fn what(&self) -> What {
        What::unpack(self.origin_kind & ((1 << KIND_BITS) - 1), self.argument)
    }

    /// What decides the order, but for the order of scheduling: the time above the class above the entity, as one
    /// number, which two instructions compare.
    #[inline]
    fn rank(&self) -> u128 {
        (self.at as u128) << 64 | (self.origin_kind >> KIND_BITS) as u128
    }
}

macro_rules! packed {
    ($($kind:literal $Variant:ident),+) => {
        impl What {
            #[inline]
            fn pack(self) -> (u32, u32) {
                match self { $(What::$Variant(argument) => ($kind, argument)),+ }
            }

            #[inline]
            fn unpack(kind: u32, argument: u32) -> What {
                match kind {
                    $($kind => What::$Variant(argument),)+
                    _ => unreachable!("no such kind of event"),
                }
            }
        }
    };
}
packed!(0 Arrive, 1 Wake, 2 Handle, 3 SenderTimer, 4 ReceiverTimer, 5 Traffic, 6 Stop, 7 Fault, 8 Sample, 9 Shares, 10 ShimTimer, 11 Pause, 12 PortTimer, 13 Watch);
