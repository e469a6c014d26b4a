//! The plug for rate control under RDMA: what a law hears from the [`Sender`](super::Sender), and what it answers.
//!
//! The sender knows *which* packets to send: order, acknowledgements, going back, the timer. A law knows *how fast*
//! and how much may be in flight. The sender is generic over its law, so that calls are direct.

use crate::endpoint::Env;
use crate::packet::Hop;
use clearway_units::{Rate, Span, Time};

/// No limit to the bytes in flight.
pub const UNLIMITED: u64 = u64::MAX / 4;

/// An acknowledgement (or a negative one) arrived.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Bytes by which the cumulative acknowledgement advanced; 0 for a repeated or a negative one.
    pub newly: u64,
    /// Oldest byte not acknowledged, after this acknowledgement.
    pub acked: u64,
    /// First byte not yet sent; below what was sent before while the sender goes back.
    pub next: u64,
    /// Whether the data that it answers was marked (or the receiver's note of that rides on it).
    pub marked: bool,
    /// From the departure of the data packet that it answers until now.
    pub rtt: Span,
    /// What the ports on the data packet's way wrote into it, in order. Empty without telemetry.
    pub hops: &'a [Hop],
}

/// Law of a flow's rate.
pub trait RateLaw {
    /// Whether a new rate also moves the packet that already waits for its turn; else it holds from the next on. HPCC's
    /// ns-3 code moves it for HPCC alone.
    const MOVES_TURN: bool = false;

    /// Pace of packets, in bits on the wire per second.
    fn rate(&self) -> Rate;

    /// Most bytes in flight. One packet may always be in flight.
    fn window(&self) -> u64 {
        UNLIMITED
    }

    /// An acknowledgement arrived.
    fn on_ack(&mut self, ack: &Ack<'_>, now: Time);

    /// A congestion notification packet (CNP) arrived.
    fn on_cnp(&mut self, now: Time) {
        let _ = now;
    }

    /// A data packet of `wire` bytes leaves.
    fn on_sent(&mut self, wire: u32, now: Time) {
        let _ = (wire, now);
    }

    /// When the law wants [`RateLaw::on_timeout`]; [`Time::MAX`] if never.
    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    /// The time of [`RateLaw::next_timeout`] came, or an earlier one.
    fn on_timeout(&mut self, now: Time) {
        let _ = now;
    }
}

/// A law that a transport builds for each flow.
pub trait BuildLaw {
    /// The law.
    type Law: RateLaw;

    /// One for a new flow. Its timers rest until it hears of something.
    fn build(&self, env: &Env) -> Self::Law;
}
