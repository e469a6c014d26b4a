//! The ledger of a flow: traffic that releases have triggered and that has not arrived.
//!
//! It is our addition to the paper. Data returns the timestamp of the acknowledgement that it answers. So once data
//! arrives that answers one acknowledgement, the data that earlier ones of the flow triggered has arrived or never
//! will.

use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The traffic of one flow that releases have triggered and that has not arrived, in the order of the releases.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// The time of each release, with the bytes that it triggered and that have not arrived.
    entries: VecDeque<(Time, u64)>,
    /// The sum of the bytes in `entries`.
    outstanding: u64,
    /// The time of the latest release that was answered. All before it are settled.
    settled: Time,
    /// The growth of the window, in bytes, that was counted but has not arrived, because it was less than a segment,
    /// and that stands in no entry. Negative if growth arrived before it was counted.
    growth: i64,
}

/// The bytes that an arrival takes out of the traffic in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settled {
    /// The bytes that arrived and were expected.
    pub arrived: u64,
    /// The bytes that will not arrive, or not in answer to a release so far.
    pub absent: u64,
}

impl Ledger {
    /// Returns the bytes that have been triggered and have not arrived.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Returns the bytes to expect of an acknowledgement that triggers `trigger` by eq. (3). In congestion avoidance
    /// the window grows by less than a segment with each acknowledgement, and senders send whole segments, so the
    /// growth that earlier acknowledgements added arrives with a later one.
    pub fn expected(&self, trigger: u64) -> u64 {
        trigger.saturating_add_signed(self.growth)
    }

    /// Records the release of an acknowledgement that triggers `trigger` bytes, as [`Ledger::expected`] returned.
    pub fn release(&mut self, trigger: u64, now: Time) {
        self.growth = 0;
        self.outstanding += trigger;
        match self.entries.back_mut() {
            Some((at, bytes)) if *at == now => *bytes += trigger,
            _ => self.entries.push_back((now, trigger)),
        }
    }

    /// Removes the oldest releases for whose times `due` returns true. Whole segments among them will not arrive; less
    /// than a segment is growth, which moves to the next release. Returns the bytes that are no longer expected.
    fn settle(&mut self, mss: u64, due: impl Fn(Time) -> bool) -> u64 {
        let (mut absent, mut growth) = (0, 0);
        while let Some(&(_, bytes)) = self.entries.front().filter(|(released, _)| due(*released)) {
            self.entries.pop_front();
            let bytes = bytes + std::mem::take(&mut growth);
            if bytes < mss {
                growth = bytes;
            } else {
                absent += bytes;
            }
        }
        match self.entries.front_mut() {
            Some((_, bytes)) => *bytes += growth,
            None => {
                self.growth += growth as i64;
                absent += growth;
            }
        }
        self.outstanding -= absent;
        absent
    }

    /// Removes the release at `at` and those before it, whose traffic has arrived by now or never will. Returns the
    /// bytes that are no longer expected.
    pub fn expire(&mut self, at: Time, mss: u64) -> u64 {
        self.settle(mss, |released| released <= at)
    }

    /// Returns true if an answer to the release at `at` is expected.
    pub fn awaits(&self, at: Time) -> bool {
        self.entries.front().is_some_and(|(released, _)| *released <= at)
    }

    /// Records the arrival of data, which answers the acknowledgement released at `answers` if that is known.
    pub fn arrive(&mut self, payload: u64, answers: Option<Time>, mss: u64) -> Settled {
        let mut absent = 0;
        if let Some(answers) = answers {
            if answers < self.settled {
                // An answer to a later release overtook this data, which was then counted as absent.
                return Settled { arrived: 0, absent };
            }
            self.settled = answers;
            absent = self.settle(mss, |released| released < answers);
        }
        let mut left = payload;
        while let Some((_, bytes)) = self.entries.front_mut().filter(|_| left > 0) {
            let taken = left.min(*bytes);
            *bytes -= taken;
            left -= taken;
            if *bytes == 0 {
                self.entries.pop_front();
            }
        }
        let arrived = payload - left;
        self.outstanding -= arrived;
        if arrived > 0 {
            // Only part of this segment was expected: the sender's window has grown by more than was counted.
            self.growth -= left as i64;
        }
        Settled { arrived, absent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Span;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        [10, 20, 30].into_iter().for_each(|at| ledger.release(2000, us(at)));
        ledger
    }

    const MSS: u64 = 1000;

    #[test]
    fn an_answer_settles_what_earlier_releases_triggered() {
        let mut ledger = ledger();
        assert_eq!(ledger.arrive(1000, Some(us(10)), MSS), Settled { arrived: 1000, absent: 0 });
        assert_eq!(ledger.arrive(1000, Some(us(30)), MSS), Settled { arrived: 1000, absent: 1000 + 2000 });
        assert_eq!(ledger.outstanding(), 1000);
    }

    #[test]
    fn an_expired_release_and_those_before_it_are_no_longer_expected() {
        let mut ledger = ledger();
        ledger.arrive(1000, Some(us(10)), MSS);
        assert!(ledger.awaits(us(10)) && !ledger.awaits(us(5)));
        assert_eq!(ledger.expire(us(20), MSS), 1000 + 2000);
        assert_eq!((ledger.outstanding(), ledger.expire(us(20), MSS)), (2000, 0));
    }

    #[test]
    fn growth_of_less_than_a_segment_comes_with_a_later_release() {
        // A window of two segments grows by half a segment per acknowledgement, so every second one triggers two.
        let mut ledger = Ledger::default();
        for round in 0..10 {
            let at = |step: u64| us(100 * round + 10 * step);
            assert_eq!(ledger.expected(1500), 1500);
            ledger.release(1500, at(0));
            assert_eq!(ledger.arrive(1000, Some(at(0)), MSS), Settled { arrived: 1000, absent: 0 });
            assert_eq!(ledger.expire(at(0), MSS), 500, "it will not come in answer to this one");
            assert_eq!(ledger.expected(1500), 2000);
            ledger.release(2000, at(1));
            ledger.arrive(1000, Some(at(1)), MSS);
            assert_eq!(ledger.arrive(1000, Some(at(1)), MSS), Settled { arrived: 1000, absent: 0 });
            assert_eq!(ledger.outstanding(), 0);
        }
    }

    #[test]
    fn growth_that_arrived_before_it_was_counted_is_not_counted_again() {
        let mut ledger = Ledger::default();
        ledger.release(1500, us(10));
        ledger.arrive(1000, Some(us(10)), MSS);
        assert_eq!(ledger.arrive(1000, Some(us(10)), MSS), Settled { arrived: 500, absent: 0 });
        assert_eq!(ledger.expected(1500), 1000);
    }

    #[test]
    fn growth_moves_to_the_next_release_that_is_under_way() {
        let mut ledger = Ledger::default();
        ledger.release(1500, us(10));
        ledger.release(1500, us(20));
        ledger.arrive(1000, Some(us(10)), MSS);
        assert_eq!((ledger.expire(us(10), MSS), ledger.expected(0)), (0, 0));
        assert_eq!(ledger.arrive(2000, Some(us(20)), MSS), Settled { arrived: 2000, absent: 0 });
    }

    #[test]
    fn data_without_a_timestamp_counts_against_the_oldest_release() {
        let mut ledger = ledger();
        assert_eq!(ledger.arrive(3000, None, MSS), Settled { arrived: 3000, absent: 0 });
        assert_eq!(ledger.arrive(9000, None, MSS), Settled { arrived: 3000, absent: 0 });
        assert_eq!(ledger.outstanding(), 0);
    }

    #[test]
    fn data_overtaken_by_a_later_answer_is_not_counted_twice() {
        let mut ledger = ledger();
        ledger.arrive(1000, Some(us(20)), MSS);
        assert_eq!(ledger.arrive(1000, Some(us(10)), MSS), Settled { arrived: 0, absent: 0 });
        assert_eq!(ledger.outstanding(), 1000 + 2000);
    }
}
