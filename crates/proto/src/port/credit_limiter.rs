//! The rate limit of credits at an output port, which is a token bucket (ExpressPass '17, sec. 3.1).

use clearway_schema::choice;
use clearway_units::{Rate, Span, Time, product};
use serde::{Deserialize, Serialize};

choice! {
    /// The credit that a port drops when another one finds the queue of credits full.
    pub enum CreditDrop {
        /// The one that arrives: a drop-tail queue.
        Arriving = "tail",
        /// One at random of those that wait and the one that arrives, so that each flow loses in proportion to the
        /// credits that it sends, whatever their order.
        Random = "random",
    }
}

/// The settings of a port's rate limit and queue of credits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreditShaping {
    /// The size of a credit on the wire, in bytes; 84 in the papers.
    pub credit: u32,
    /// The size of the largest data frame on the wire that a credit releases, in bytes; 1538 in the papers.
    pub data: u32,
    /// The size of the token bucket, in bytes; 2 credits in the papers.
    pub bucket: u32,
    /// If true, the bucket is empty at the start, as in the authors' ns-2 code; else it is full.
    pub starts_empty: bool,
    /// If true, a queue for `n` credits holds `n * credit` bytes, whatever the number of credits, as in the authors'
    /// ns-2 code; else it holds `n` credits of any size.
    pub queue_in_bytes: bool,
    /// The credit that is dropped when the queue is full.
    pub drop: CreditDrop,
}

impl CreditShaping {
    /// The papers' settings: 84 of every 1622 bytes, and a bucket of two credits that is full at the start.
    pub const PAPER: CreditShaping = CreditShaping {
        credit: 84,
        data: 1538,
        bucket: 168,
        starts_empty: false,
        queue_in_bytes: false,
        drop: CreditDrop::Arriving,
    };

    /// Returns the capacity of a queue for `credits` credits.
    pub fn room(&self, credits: u32) -> CreditRoom {
        if self.queue_in_bytes {
            CreditRoom { packets: u32::MAX, bytes: credits as u64 * self.credit as u64 }
        } else {
            CreditRoom { packets: credits, bytes: u64::MAX }
        }
    }
}

/// The capacity of a queue of credits, in packets and in bytes, neither of which it exceeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CreditRoom {
    packets: u32,
    bytes: u64,
}

impl CreditRoom {
    /// Returns true if a credit of `wire` bytes may join a queue of `packets` credits with `bytes` bytes in all.
    #[inline]
    pub fn admits(&self, packets: u32, bytes: u64, wire: u32) -> bool {
        packets < self.packets && bytes + wire as u64 <= self.bytes
    }
}

/// The token bucket of a port, which passes exactly `credit / (credit + data)` of the link's rate.
///
/// The level is an integer in units of which every refill and every credit is a whole number: a picosecond adds `rate x
/// credit` units, and a byte costs `8e12 x (credit + data)`. Nothing is rounded, so the long-run rate is exact at every
/// link rate.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CreditLimiter {
    /// The tokens in the bucket.
    level: u64,
    /// The size of the bucket.
    cap: u64,
    /// The tokens that a picosecond adds.
    per_ps: u64,
    /// The tokens that a byte costs.
    per_byte: u64,
    /// The time of the last refill.
    updated: Time,
}

impl CreditLimiter {
    /// Makes the limiter of a link of rate `rate`.
    ///
    /// # Panics Panics if the bucket does not fit into 64 bits (it does up to 1.4 KB for frames of 1538 B), or if the
    /// rate is zero.
    pub fn new(rate: Rate, shaping: CreditShaping) -> CreditLimiter {
        assert!(!rate.is_zero(), "a link that carries nothing limits nothing");
        let per_byte = 8_000_000_000_000 * (shaping.credit as u64 + shaping.data as u64);
        let cap = per_byte.checked_mul(shaping.bucket as u64).expect("the bucket is small");
        let per_ps = rate.as_bps().checked_mul(shaping.credit as u64).expect("the rate is below 1 Pbit/s");
        let level = if shaping.starts_empty { 0 } else { cap };
        CreditLimiter { level, cap, per_ps, per_byte, updated: Time::ZERO }
    }

    /// Takes the tokens of a credit of `wire` bytes that may leave at `now`. Returns false if there are too few.
    #[inline(always)]
    pub fn take(&mut self, wire: u32, now: Time) -> bool {
        self.refill(now);
        let cost = wire as u64 * self.per_byte;
        let has = self.level >= cost;
        if has {
            self.level -= cost;
        }
        has
    }

    /// Returns the time, `now` or later, at which a credit of `wire` bytes may leave if no other takes its tokens.
    #[inline]
    pub fn ready_at(&mut self, wire: u32, now: Time) -> Time {
        self.refill(now);
        self.ready_since(wire)
    }

    /// Returns the time, not before the last question, at which a credit of `wire` bytes may leave if no other takes its
    /// tokens.
    #[inline(always)]
    pub fn ready_since(&self, wire: u32) -> Time {
        let cost = wire as u64 * self.per_byte;
        match cost.checked_sub(self.level) {
            None | Some(0) => self.updated,
            Some(missing) => self.updated + Span::from_ps(missing.div_ceil(self.per_ps)),
        }
    }

    /// Adds the tokens since the last refill.
    #[inline]
    fn refill(&mut self, now: Time) {
        let elapsed = (now - self.updated).as_ps();
        self.updated = now;
        let missing = self.cap - self.level;
        // The product overflows for a link that was idle for hours; its bucket is then full.
        match product(elapsed, self.per_ps) {
            Some(gained) if gained < missing => self.level += gained,
            _ => self.level = self.cap,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Bytes;
    use proptest::prelude::*;

    /// Returns the number of credits that pass until `end` while credits always wait.
    fn greedy(rate: Rate, wire: u32, end: Time) -> u64 {
        let mut limiter =
            CreditLimiter::new(rate, CreditShaping { starts_empty: true, ..CreditShaping::PAPER });
        let (mut now, mut passed) = (Time::ZERO, 0);
        loop {
            now = limiter.ready_at(wire, now);
            if now > end {
                return passed;
            }
            assert!(limiter.take(wire, now));
            passed += 1;
        }
    }

    #[test]
    fn exactly_84_of_1622_bytes_pass_at_every_rate() {
        for mbps in [100, 1_000, 2_500, 10_000, 25_000, 40_000, 56_000, 100_000, 200_000, 400_000, 800_000] {
            let rate = Rate::mbps(mbps);
            // In the time of n pairs of credit and data frame exactly n credits pass.
            let pairs = 100_000;
            // The end is rounded to a picosecond, and so might lie just before the last credit.
            let end = Time::ZERO + rate.time_to_send(Bytes::new(1622 * pairs)) + Span::from_ps(1);
            assert_eq!(greedy(rate, 84, end), pairs, "{rate}");
        }
    }

    #[test]
    fn a_full_bucket_passes_two_credits_at_once_and_then_one_per_frame() {
        let rate = Rate::gbps(10);
        let mut limiter = CreditLimiter::new(rate, CreditShaping::PAPER);
        assert!(limiter.take(84, Time::ZERO) && limiter.take(84, Time::ZERO));
        assert!(!limiter.take(84, Time::ZERO));
        assert_eq!(limiter.ready_at(84, Time::ZERO), Time::from_ps(1_297_600));
    }

    #[test]
    fn the_time_after_a_credit_is_known_without_another_look_at_the_clock() {
        let mut limiter = CreditLimiter::new(Rate::gbps(10), CreditShaping::PAPER);
        let now = Time::from_ps(500_000);
        assert!(limiter.take(84, now));
        assert_eq!(limiter.ready_since(84), now, "a second one may follow at once");
        assert!(limiter.take(84, now) && !limiter.take(84, now));
        assert_eq!(limiter.ready_since(84), now + Span::from_ps(1_297_600));
        assert_eq!(limiter.ready_since(84), limiter.ready_at(84, now));
    }

    #[test]
    fn a_queue_for_eight_credits_holds_eight_credits_or_their_bytes() {
        let counted = CreditShaping::PAPER.room(8);
        assert!(counted.admits(7, 644, 92) && !counted.admits(8, 8, 1));
        let in_bytes = CreditShaping { queue_in_bytes: true, ..CreditShaping::PAPER }.room(8);
        assert!(in_bytes.admits(8, 588, 84) && !in_bytes.admits(7, 588, 85), "672 bytes");
    }

    #[test]
    fn a_bucket_holds_no_more_than_two_credits_after_an_idle_day() {
        let mut limiter = CreditLimiter::new(Rate::gbps(800), CreditShaping::PAPER);
        while limiter.take(84, Time::ZERO) {}
        let later = Time::ZERO + Span::from_secs(86_400);
        assert!(limiter.take(84, later) && limiter.take(84, later) && !limiter.take(84, later));
    }

    proptest! {
        #[test]
        fn no_more_passes_in_any_interval_than_the_bucket_and_the_rate_allow(
            gaps in prop::collection::vec(0u64..3_000_000, 1..200),
            mbps in 100u64..800_000,
        ) {
            let rate = Rate::mbps(mbps);
            let mut limiter = CreditLimiter::new(rate, CreditShaping::PAPER);
            let (mut now, mut bytes) = (Time::ZERO, 0u64);
            for gap in gaps {
                now += Span::from_ps(gap);
                let wire = 84 + (gap % 9) as u32;
                bytes += if limiter.take(wire, now) { wire as u64 } else { 0 };
                let allowed = 168.0 + now.as_secs_f64() * rate.as_bps_f64() / 8.0 * 84.0 / 1622.0;
                prop_assert!(bytes as f64 <= allowed + 1e-6);
            }
        }
    }
}
