//! The rate limit of signals: requests for credits, stops, and the answers to both.
//!
//! A host and a port of a switch send a request and a stop for each credit at most, and so many at once. Signals so take less than
//! an eighth of a link with full frames of 1538 bytes, however many flows ask for credits, and none is lost in the queue of a
//! port that few hosts send to at once.

use clearway_planner::htb::SIGNALS_AT_ONCE;
use clearway_proto::port::CreditShaping;
use clearway_units::{Bytes, Rate, Span, Time};

/// The limit of signals at a port or a NIC: one in each gap, and [`SIGNALS_AT_ONCE`] after a pause.
#[derive(Clone, Copy, Debug)]
pub struct SignalLimiter {
    /// The time between signals in the long run.
    gap: Span,
    /// The bytes on the wire of such a signal: those of a credit. A longer one, as of an IPv6 flow, takes as much more.
    wire: u32,
    /// The time by which signals may be ahead of that.
    ahead: Span,
    /// The time at which the next signal is due in the long run.
    due: Time,
}

impl SignalLimiter {
    /// Makes the limit of a link of rate `rate`, which must not be zero, whose credits are limited by `shaping`.
    pub fn new(rate: Rate, shaping: CreditShaping) -> SignalLimiter {
        let gap = rate.time_to_send(Bytes::new(u64::from(shaping.credit + shaping.data))) / 2;
        SignalLimiter {
            gap,
            wire: shaping.credit,
            ahead: gap * u64::from(SIGNALS_AT_ONCE - 1),
            due: Time::ZERO,
        }
    }

    /// Returns the time, `now` or later, at which a signal may leave.
    pub fn ready_at(&self, now: Time) -> Time {
        now.max(Time::from_ps(self.due.as_ps().saturating_sub(self.ahead.as_ps())))
    }

    /// Lets a signal of so many bytes on the wire leave. Returns false if it may not leave yet.
    pub fn take(&mut self, wire: u32, now: Time) -> bool {
        let is_ready = self.ready_at(now) == now;
        if is_ready {
            self.due = self.due.max(now).saturating_add(self.gap * u64::from(wire) / u64::from(self.wire));
        }
        is_ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_two_signals_leave_at_once_and_then_two_in_the_time_of_a_credit_and_its_data() {
        let mut limiter = SignalLimiter::new(Rate::mbps(100), CreditShaping::PAPER);
        let start = Time::ZERO + Span::from_ms(5);
        assert_eq!((0..100).filter(|_| limiter.take(84, start)).count(), 32);
        assert_eq!(limiter.ready_at(start), start + Span::from_ns(64_880));
        let later = start + Span::from_ns(2 * 64_880);
        assert_eq!((0..100).filter(|_| limiter.take(84, later)).count(), 2);
        // 500 times 64.88 us later all of them are there again, and no more.
        let late = start + Span::from_ms(100);
        assert_eq!((0..100).filter(|_| limiter.take(84, late)).count(), 32);
    }

    #[test]
    fn the_longer_signals_of_ipv6_get_the_same_bytes() {
        let mut limiter = SignalLimiter::new(Rate::mbps(100), CreditShaping::PAPER);
        let start = Time::ZERO + Span::from_ms(5);
        let at_once = (0..100).filter(|_| limiter.take(108, start)).count();
        assert_eq!((at_once, at_once * 108), (25, 2700), "32 times 84 bytes are 2688");
        let mut left = 0;
        for us in 0..100_000 {
            left += u32::from(limiter.take(108, start + Span::from_us(us)));
        }
        let share = f64::from(left * 108) * 8.0 / 0.1 / 100e6;
        assert!((share / (2.0 * 84.0 / 1622.0) - 1.0).abs() < 0.01, "{share}");
    }
}
