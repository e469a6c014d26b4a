//! The interface of rate control under RDMA: the events that a law hears from the [`Sender`](super::Sender), and the
//! rate and window with which it answers.
//!
//! The sender knows *which* packets to send: order, acknowledgements, repetition, the timer. A law knows *how fast*
//! they may leave and how many bytes may be in flight. The sender is generic over its law, so that calls are direct.

use crate::endpoint::Env;
use crate::packet::Hop;
use clearway_units::{Rate, Span, Time};

/// The window of a law that does not limit the bytes in flight.
pub const UNLIMITED: u64 = u64::MAX / 4;

/// An acknowledgement (or a negative one) arrived.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent<'a> {
    /// Bytes by which the cumulative acknowledgement advanced; 0 for a repeated or a negative one.
    pub acked: u64,
    /// The oldest byte that is not acknowledged, after this acknowledgement.
    pub snd_una: u64,
    /// The next byte to send. While the sender goes back over a loss, bytes beyond it were sent before.
    pub snd_nxt: u64,
    /// True if the acknowledgement echoes a mark on the data that it answers.
    pub ecn_echo: bool,
    /// The time from the departure of the data packet that the acknowledgement answers until now.
    pub rtt: Span,
    /// The telemetry that the ports on the data packet's way wrote into it, in order; empty without telemetry.
    pub hops: &'a [Hop],
}

/// The law that sets the rate and the window of a flow.
pub trait RateLaw {
    /// True if a new rate also applies to the packet that already waits for the pace; else it applies from the next
    /// packet on. In HPCC's ns-3 code it does for HPCC alone.
    const REPACES: bool = false;

    /// Returns the pace of packets, in bits on the wire per second.
    fn rate(&self) -> Rate;

    /// Returns the window, the most bytes in flight. One packet may always be in flight.
    fn window(&self) -> u64 {
        UNLIMITED
    }

    /// Handles an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent<'_>, now: Time);

    /// Handles a congestion notification packet (CNP).
    fn on_cnp(&mut self, now: Time) {
        let _ = now;
    }

    /// Notes that a data packet of `wire` bytes leaves. It may change the window only together with the rate.
    fn on_sent(&mut self, wire: u32, now: Time) {
        let _ = (wire, now);
    }

    /// Returns the time at which the law wants [`RateLaw::on_timeout`]; [`Time::MAX`] if never.
    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    /// Handles the time of [`RateLaw::next_timeout`]. A call too early must be harmless.
    fn on_timeout(&mut self, now: Time) {
        let _ = now;
    }
}

/// The constants of a law, from which the law of each new flow is built.
pub trait BuildLaw {
    /// The law.
    type Law: RateLaw;

    /// Returns the law of a new flow. Its timers are off until the first acknowledgement or notification.
    fn build(&self, env: &Env) -> Self::Law;
}
