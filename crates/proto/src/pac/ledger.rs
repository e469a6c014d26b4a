//! What of a flow was triggered and has not come: the sender's answers settle it.
//!
//! Ours, not the paper's. Data returns the timestamp of the acknowledgement that it answers. So once data arrives
//! that answers an acknowledgement, whatever earlier ones of the flow triggered has come, or never will.

use clearway_units::Time;
use std::collections::VecDeque;

/// Traffic of one flow that releases triggered, in the order of the releases.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// When an acknowledgement was released, and how much of what it triggers has not come.
    entries: VecDeque<(Time, u64)>,
    outstanding: u64,
    /// Releases before this one are settled.
    settled: Time,
}

/// What an arrival takes out of the traffic in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settled {
    /// Bytes that it brought, as far as they were expected.
    pub arrived: u64,
    /// Bytes that will not come.
    pub absent: u64,
}

impl Ledger {
    /// Bytes that have not come.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// An acknowledgement that triggers this much was released.
    pub fn release(&mut self, trigger: u64, now: Time) {
        self.outstanding += trigger;
        match self.entries.back_mut() {
            Some((at, bytes)) if *at == now => *bytes += trigger,
            _ => self.entries.push_back((now, trigger)),
        }
    }

    /// Takes the oldest release out, if `due` says so of its time.
    fn pop_if(&mut self, due: impl Fn(Time) -> bool) -> Option<u64> {
        let (released, bytes) = *self.entries.front()?;
        due(released).then(|| {
            self.entries.pop_front();
            bytes
        })
    }

    /// What the release at `at` and those before it triggered has come by now, or never will. Returns how much that
    /// is.
    pub fn expire(&mut self, at: Time) -> u64 {
        let mut absent = 0;
        while let Some(bytes) = self.pop_if(|released| released <= at) {
            absent += bytes;
        }
        self.outstanding -= absent;
        absent
    }

    /// How much more is expected in answer to the release at `at`.
    pub fn rest(&self, at: Time) -> u64 {
        self.entries.front().filter(|(released, _)| *released <= at).map_or(0, |(_, bytes)| *bytes)
    }

    /// Data arrived that answers the acknowledgement released at `answers`, if that is known.
    pub fn arrive(&mut self, payload: u64, answers: Option<Time>) -> Settled {
        let mut absent = 0;
        if let Some(answers) = answers {
            if answers < self.settled {
                // Overtaken by an answer to a later release: counted as absent already.
                return Settled { arrived: 0, absent };
            }
            self.settled = answers;
            while let Some(bytes) = self.pop_if(|released| released < answers) {
                absent += bytes;
            }
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
        self.outstanding -= arrived + absent;
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

    #[test]
    fn an_answer_settles_what_earlier_releases_triggered() {
        let mut ledger = ledger();
        assert_eq!(ledger.arrive(1000, Some(us(10))), Settled { arrived: 1000, absent: 0 });
        assert_eq!(ledger.arrive(1000, Some(us(30))), Settled { arrived: 1000, absent: 1000 + 2000 });
        assert_eq!(ledger.outstanding(), 1000);
    }

    #[test]
    fn what_has_not_come_in_time_will_not() {
        let mut ledger = ledger();
        ledger.arrive(1500, Some(us(10)));
        assert_eq!((ledger.rest(us(10)), ledger.rest(us(5))), (500, 0));
        assert_eq!(ledger.expire(us(20)), 500 + 2000);
        assert_eq!((ledger.outstanding(), ledger.expire(us(20))), (2000, 0));
    }

    #[test]
    fn data_without_a_timestamp_counts_against_the_oldest_release() {
        let mut ledger = ledger();
        assert_eq!(ledger.arrive(3000, None), Settled { arrived: 3000, absent: 0 });
        assert_eq!(ledger.arrive(9000, None), Settled { arrived: 3000, absent: 0 });
        assert_eq!(ledger.outstanding(), 0);
    }

    #[test]
    fn data_that_was_overtaken_is_not_counted_twice() {
        let mut ledger = ledger();
        ledger.arrive(1000, Some(us(20)));
        assert_eq!(ledger.arrive(1000, Some(us(10))), Settled { arrived: 0, absent: 0 });
        assert_eq!(ledger.outstanding(), 1000 + 2000);
    }
}
