//! The pace at which credits of a flow come, and how long a packet will wait for one.

use clearway_units::{Span, Time};

/// The credits of a session after which its pace is known.
const KNOWN_AFTER: u32 = 16;
/// The packets of a flow that may wait at any pace: more than the first window of TCP, which is 10 (RFC 6928), and enough for the
/// duplicate acknowledgements by which TCP notices a packet that was dropped.
pub(super) const WAITING_LEAST: u64 = 16;

/// The smoothed gap between the credits of a flow in its present session. An idle time ends the session, so it is no gap.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Pace {
    session: u32,
    /// The credits of the session.
    credits: u32,
    last: Time,
    gap: Span,
}

impl Pace {
    /// Records that credits came meanwhile, the last one now, of which no packet here has any.
    pub fn skip(&mut self, now: Time) {
        self.last = self.last.max(now);
    }

    /// Records a credit of a session.
    pub fn on_credit(&mut self, session: u32, now: Time) {
        if session != self.session || self.credits == 0 {
            *self = Pace { session, credits: 1, last: now, gap: Span::ZERO };
            return;
        }
        let gap = now.saturating_since(self.last);
        self.gap = if self.credits == 1 {
            gap
        } else {
            // A pause of the machine is one long gap, and says little of the pace.
            let most = self.gap.max(Span::from_us(1)).saturating_mul(8);
            (self.gap.saturating_mul(7).saturating_add(gap.min(most))) / 8
        };
        self.credits = self.credits.saturating_add(1);
        self.last = now;
    }

    /// Returns true if a packet behind `waiting` others of its flow would have to wait for longer than `most` for a credit. It
    /// never does behind fewer than [`WAITING_LEAST`], or while the pace is unknown.
    pub fn is_too_slow(&self, waiting: u64, most: Span) -> bool {
        self.credits >= KNOWN_AFTER && waiting >= WAITING_LEAST && self.gap.saturating_mul(waiting) > most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// A pace of a credit in each millisecond, after so many credits of session 1.
    fn after(credits: u64) -> Pace {
        let mut pace = Pace::default();
        (0..credits).for_each(|n| pace.on_credit(1, at(n)));
        pace
    }

    #[test]
    fn a_packet_is_too_late_behind_so_many_that_their_credits_take_longer_than_the_bound() {
        let pace = after(20);
        assert!(!pace.is_too_slow(100, Span::from_ms(100)), "100 credits take 100 ms");
        assert!(pace.is_too_slow(101, Span::from_ms(100)));
    }

    #[test]
    fn a_few_packets_may_wait_at_any_pace() {
        let pace = after(20);
        assert!(!pace.is_too_slow(WAITING_LEAST - 1, Span::from_us(1)));
        assert!(pace.is_too_slow(WAITING_LEAST, Span::from_us(1)));
    }

    #[test]
    fn a_pause_between_two_credits_doubles_the_gap_at_most() {
        let mut pace = after(20);
        pace.on_credit(1, at(2_000));
        assert!(!pace.is_too_slow(50, Span::from_ms(100)));
        // Credits that stay slow are believed within a few.
        (1..=8).for_each(|n| pace.on_credit(1, at(2_000 + 100 * n)));
        assert!(pace.is_too_slow(WAITING_LEAST, Span::from_ms(100)));
    }

    #[test]
    fn the_pace_of_a_session_is_known_after_its_first_credits_and_an_idle_time_is_no_part_of_it() {
        let bound = Span::from_ms(100);
        assert!(!after(u64::from(KNOWN_AFTER) - 1).is_too_slow(1_000, bound));
        assert!(after(u64::from(KNOWN_AFTER)).is_too_slow(1_000, bound));
        let mut pace = after(20);
        // A new session begins after ten seconds, with credits at the same pace.
        (0..20).for_each(|n| pace.on_credit(2, at(10_000 + n)));
        assert!(!pace.is_too_slow(100, bound));
        assert!(pace.is_too_slow(101, bound));
    }
}
