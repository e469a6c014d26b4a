//! Mechanisms at ports of switches besides their queues: a rate, telemetry, a controller.

use crate::classes::Classes;
use crate::ids::{IdVec, MechanismId};
use crate::timer::Timer;
use clearway_proto::AnyMechanism;
use clearway_topology::PortId;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// A mechanism at work at a port. It begins a cache line with what the protocol says that each packet touches.
#[derive(Serialize, Deserialize)]
#[repr(C, align(64))]
pub struct Mechanism {
    /// The protocol's part of it.
    pub protocol: AnyMechanism,
    /// The port at which it works.
    pub port: PortId,
    /// The number of notifications that it had sent to senders.
    pub cnps: u64,
    /// The number of packets that were marked by its votes.
    pub marks: u64,
    /// The number of packets that were cut to their headers by its votes.
    pub trims: u64,
    /// The classes of the packets of the transport that brought it.
    pub classes: Classes,
    timer: Timer,
}

/// The mechanisms of all ports.
pub type Mechanisms = IdVec<MechanismId, Mechanism>;

impl Mechanism {
    /// Returns a mechanism that begins its work at a port, for packets of a transport in these classes.
    pub fn new(protocol: AnyMechanism, port: PortId, classes: Classes) -> Mechanism {
        Mechanism { protocol, port, cnps: 0, marks: 0, trims: 0, classes, timer: Timer::IDLE }
    }

    /// Sees to it that the mechanism is woken when it wants to be. Returns the time for which the caller must schedule
    /// an event, if any.
    #[inline]
    #[must_use = "without the event, the mechanism is never woken"]
    pub fn arm(&mut self, now: Time) -> Option<Time> {
        self.timer.arm(self.protocol.next_timeout(), now)
    }

    /// Returns whether the timer event that comes now is for a timeout of the mechanism.
    pub fn is_due(&mut self, now: Time) -> bool {
        self.timer.fires(now) && self.protocol.next_timeout() <= now
    }
}
