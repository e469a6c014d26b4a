//! What lives at a switch's or a host's output port, without the port: queues belong to whoever drives these.

mod credit_limiter;
mod ecn;
mod phantom;
mod rcp;

pub use credit_limiter::{CreditLimiter, CreditShaping};
pub use ecn::{MarkAt, StepMarker};
pub use phantom::{PhantomConfig, PhantomQueue};
pub use rcp::{RcpConfig, RcpRate};

use crate::packet::Packet;
use clearway_units::{Rate, Time};

/// A mechanism that a switch's ports need for a transport, besides queues, marks and credits: what to build.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PortMechanism {
    /// HULL's phantom queue.
    Phantom(PhantomConfig),
    /// RCP's rate.
    Rcp(RcpConfig),
}

impl PortMechanism {
    /// Its name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            PortMechanism::Phantom(_) => "phantom queue",
            PortMechanism::Rcp(_) => "RCP rate",
        }
    }

    /// One for a port of `rate`.
    pub fn build(&self, rate: Rate) -> AnyPortMechanism {
        match self {
            PortMechanism::Phantom(config) => AnyPortMechanism::Phantom(PhantomQueue::new(config, rate)),
            PortMechanism::Rcp(config) => AnyPortMechanism::Rcp(RcpRate::new(config, rate)),
        }
    }
}

/// Such a mechanism at work at one port.
#[derive(Clone, Copy, Debug)]
pub enum AnyPortMechanism {
    /// HULL's phantom queue.
    Phantom(PhantomQueue),
    /// RCP's rate.
    Rcp(RcpRate),
}

impl AnyPortMechanism {
    /// A packet arrived, and may be dropped yet; `queued` bytes wait at the port.
    #[inline]
    pub fn on_arrival(&mut self, packet: &Packet, queued: u64, now: Time) {
        match self {
            AnyPortMechanism::Phantom(_) => {}
            AnyPortMechanism::Rcp(port) => port.on_arrival(packet, queued, now),
        }
    }

    /// A packet leaves for the link.
    #[inline]
    pub fn on_departure(&mut self, packet: &mut Packet, now: Time) {
        match self {
            AnyPortMechanism::Phantom(queue) => queue.on_departure(packet, now),
            AnyPortMechanism::Rcp(port) => port.on_departure(packet),
        }
    }
}
