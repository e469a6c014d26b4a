//! What lives at a switch's or a host's output port, without the port: queues belong to whoever drives these.

mod credit_limiter;
mod ecn;
pub mod pfc;
mod phantom;
mod rcp;

pub use credit_limiter::{CreditLimiter, CreditRoom, CreditShaping};
pub use ecn::{MarkAt, RedConfig, RedMarker, StepMarker, frames_by_rate};
pub use phantom::{PhantomConfig, PhantomQueue};
pub use rcp::{RcpConfig, RcpRate};

use crate::packet::{Extra, Flags, Hop, Hops, Kind, Packet};
use crate::rdma::pacc::{PaccConfig, PaccPort};
use clearway_units::{Rate, Time};

/// A mechanism that a switch's ports need for a transport, besides queues, marks and credits: what to build.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PortMechanism {
    /// HULL's phantom queue.
    Phantom(PhantomConfig),
    /// RCP's rate.
    Rcp(RcpConfig),
    /// Entries in packets that ask for them (HPCC).
    Telemetry,
    /// PACC's controller and flow table.
    Pacc(PaccConfig),
}

impl PortMechanism {
    /// Its name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            PortMechanism::Phantom(_) => "phantom queue",
            PortMechanism::Rcp(_) => "RCP rate",
            PortMechanism::Telemetry => "telemetry",
            PortMechanism::Pacc(_) => "PACC controller",
        }
    }

    /// Whether it sends notifications of congestion to senders.
    pub fn notifies(&self) -> bool {
        matches!(self, PortMechanism::Pacc(_))
    }

    /// One for a port of `rate`.
    pub fn build(&self, rate: Rate) -> AnyPortMechanism {
        match self {
            PortMechanism::Phantom(config) => AnyPortMechanism::Phantom(PhantomQueue::new(config, rate)),
            PortMechanism::Rcp(config) => AnyPortMechanism::Rcp(RcpRate::new(config, rate)),
            PortMechanism::Telemetry => AnyPortMechanism::Telemetry(rate),
            PortMechanism::Pacc(config) => AnyPortMechanism::Pacc(PaccPort::new(config, rate)),
        }
    }
}

/// A port, as its mechanism sees it.
#[derive(Clone, Copy, Debug)]
pub struct PortState {
    /// Now.
    pub now: Time,
    /// Bytes that wait in all classes of data.
    pub queued: u64,
    /// Bytes sent so far.
    pub sent: u64,
}

/// Such a mechanism at work at one port.
#[derive(Clone, Debug)]
pub enum AnyPortMechanism {
    /// HULL's phantom queue.
    Phantom(PhantomQueue),
    /// RCP's rate.
    Rcp(RcpRate),
    /// Telemetry, of a link of this rate.
    Telemetry(Rate),
    /// PACC's controller and flow table.
    Pacc(PaccPort),
}

impl AnyPortMechanism {
    /// Whether it wants [`AnyPortMechanism::on_arrival`].
    pub fn sees_arrivals(&self) -> bool {
        matches!(self, AnyPortMechanism::Rcp(_) | AnyPortMechanism::Pacc(_))
    }

    /// Whether it wants [`AnyPortMechanism::on_departure`].
    pub fn sees_departures(&self) -> bool {
        !matches!(self, AnyPortMechanism::Pacc(_))
    }

    /// When it wants [`AnyPortMechanism::on_timeout`]; [`Time::MAX`] if never.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        match self {
            AnyPortMechanism::Pacc(pacc) => pacc.next_timeout(),
            _ => Time::MAX,
        }
    }

    /// The time of [`AnyPortMechanism::next_timeout`] came, or an earlier one.
    pub fn on_timeout(&mut self, port: PortState) {
        if let AnyPortMechanism::Pacc(pacc) = self {
            pacc.on_timeout(port.queued, port.now);
        }
    }

    /// The flow that shall be notified of congestion next, by the name that it had on arrival.
    pub fn poll_notice(&mut self, now: Time) -> Option<u64> {
        match self {
            AnyPortMechanism::Pacc(pacc) => pacc.poll_cnp(now),
            _ => None,
        }
    }

    /// A packet of `flow` arrived, and may be dropped yet.
    #[inline]
    pub fn on_arrival(&mut self, packet: &Packet, flow: u64, port: PortState) {
        match self {
            AnyPortMechanism::Phantom(_) | AnyPortMechanism::Telemetry(_) => {}
            AnyPortMechanism::Rcp(rcp) => rcp.on_arrival(packet, port.queued, port.now),
            AnyPortMechanism::Pacc(pacc) => {
                if packet.kind() == Kind::Data {
                    pacc.on_forward(flow, packet.wire, port.queued, port.now);
                }
            }
        }
    }

    /// A packet leaves for the link. `extra` means something only if the packet is flagged [`Flags::EXTRA`].
    #[inline]
    pub fn on_departure(&mut self, packet: &mut Packet, extra: Option<&mut Extra>, port: PortState) {
        match self {
            AnyPortMechanism::Pacc(_) => {}
            AnyPortMechanism::Phantom(queue) => queue.on_departure(packet, port.now),
            AnyPortMechanism::Rcp(rcp) => rcp.on_departure(packet),
            AnyPortMechanism::Telemetry(rate) => {
                let Some(extra) = extra.filter(|_| packet.flags.has(Flags::TELEMETRY)) else { return };
                let hop = Hop { left: port.now, sent: port.sent, queued: port.queued, rate: *rate };
                match extra {
                    Extra::Hops(hops) => {
                        hops.push(hop);
                    }
                    _ => {
                        let mut hops = Hops::default();
                        hops.push(hop);
                        *extra = Extra::Hops(hops);
                    }
                }
            }
        }
    }
}
