//! The numbers of credits: when each one left, and which ones have arrived.

use clearway_units::Time;
use std::collections::VecDeque;

/// The largest number of credits whose fate is open that a receiver remembers.
const OPEN_MAX: usize = 8192;
/// The number of credits below the newest echo that a receiver remembers, for data that overtook other data.
const LATE: u64 = 64;
/// The time of a credit that did not leave, or that data has spent.
const GONE: Time = Time::MAX;

/// The times at which the newest credits of a flow left, found by the lower 16 bits of their numbers.
///
/// Memory is bounded by the credits of one round trip, since an echo removes what is older.
#[derive(Clone, Default, Debug)]
pub(super) struct Departures {
    /// The number of the first credit in `times`.
    first: u64,
    times: VecDeque<Time>,
}

impl Departures {
    /// Adds the next credit, which has not left yet.
    pub fn add(&mut self, number: u64) {
        if number != self.first + self.times.len() as u64 {
            self.times.clear();
            self.first = number;
        }
        if self.times.len() == OPEN_MAX {
            self.times.pop_front();
            self.first += 1;
        }
        self.times.push_back(GONE);
    }

    /// Records that a credit leaves.
    pub fn leave(&mut self, number: u64, now: Time) {
        if let Some(time) = number.checked_sub(self.first).and_then(|at| self.times.get_mut(at as usize)) {
            *time = now;
        }
    }

    /// Returns the number and the departure of the credit that a data packet spends, of whose number the lower 16 bits
    /// are `id`. Each credit can be spent once. Returns `None` if no such credit is open.
    pub fn spend(&mut self, id: u16) -> Option<(u64, Time)> {
        let newest = self.first + (self.times.len() as u64).checked_sub(1)?;
        let number = newest.checked_sub(u64::from((newest as u16).wrapping_sub(id)))?;
        let at = number.checked_sub(self.first)?;
        let time = std::mem::replace(self.times.get_mut(at as usize)?, GONE);
        if time == GONE {
            return None;
        }
        self.forget_before(number);
        Some((number, time))
    }

    /// Spends the newest credit that is open, and returns its number and departure. Returns `None` if none is.
    pub fn spend_newest(&mut self) -> Option<(u64, Time)> {
        let at = self.times.iter().rposition(|time| *time != GONE)?;
        let time = std::mem::replace(self.times.get_mut(at)?, GONE);
        let number = self.first + at as u64;
        self.forget_before(number);
        Some((number, time))
    }

    fn forget_before(&mut self, number: u64) {
        for _ in self.first..number.saturating_sub(LATE) {
            self.times.pop_front();
            self.first += 1;
        }
    }
}

/// The verdict on the number of a credit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// The credit has not arrived before.
    New,
    /// The credit has arrived before, or is too old to tell.
    Replayed,
    /// The credit is of a session that ended.
    OldSession,
}

/// The record of the credits that have arrived at a sender, which refuses replays.
#[derive(Clone, Default, Debug)]
pub(super) struct Arrivals {
    /// The session of the newest credits.
    session: u32,
    /// The highest number that has arrived.
    highest: u64,
    /// Bit `i` is 1 if number `highest - i` has arrived.
    seen: u64,
}

impl Arrivals {
    /// Returns the highest number, and a bit for it and each of the 63 before that have arrived.
    pub fn newest(&self) -> (u64, u64) {
        (self.highest, self.seen)
    }

    /// Records that the numbers have arrived elsewhere that [`Arrivals::newest`] would tell there.
    pub fn learn(&mut self, highest: u64, seen: u64) {
        let shifted = |seen: u64, by: u64| if by < 64 { seen << by } else { 0 };
        if highest >= self.highest {
            self.seen = seen | shifted(self.seen, highest - self.highest);
            self.highest = highest;
        } else {
            self.seen |= shifted(seen, self.highest - highest);
        }
    }

    /// Records a credit, where `present` is the session that the sender asked for last.
    ///
    /// Numbers rise over all sessions of one receiver. A receiver that was started again begins anew, in a new session.
    pub fn record(&mut self, session: u32, number: u64, present: u32) -> Arrival {
        if session != self.session {
            if session != present {
                return Arrival::OldSession;
            }
            self.session = session;
            if number <= self.highest {
                (self.highest, self.seen) = (number, 1);
                return Arrival::New;
            }
        }
        match number.checked_sub(self.highest) {
            Some(step) if step > 0 || self.seen == 0 => {
                self.seen = if step < 64 { self.seen << step | 1 } else { 1 };
                self.highest = number;
                Arrival::New
            }
            _ => {
                let age = self.highest - number;
                let bit = if age < 64 { 1 << age } else { 0 };
                let is_new = bit != 0 && self.seen & bit == 0;
                self.seen |= bit;
                if is_new { Arrival::New } else { Arrival::Replayed }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Span;
    use proptest::prelude::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn data_spends_a_credit_once_and_only_one_that_left() {
        let mut departures = Departures::default();
        assert_eq!(departures.spend(0), None, "none left");
        for number in 0..4 {
            departures.add(number);
            if number != 2 {
                departures.leave(number, us(number));
            }
        }
        assert_eq!(departures.spend(3), Some((3, us(3))));
        assert_eq!(departures.spend(3), None, "spent already");
        assert_eq!(departures.spend(1), Some((1, us(1))), "late data");
        assert_eq!(departures.spend(2), None, "dropped at the own NIC");
        assert_eq!(departures.spend(4), None, "never sent");
    }

    #[test]
    fn numbers_are_widened_beyond_16_bits() {
        let mut departures = Departures::default();
        for number in 0..200_000u64 {
            departures.add(number);
            departures.leave(number, us(number));
            if number >= 100 {
                let spent = number - 100;
                assert_eq!(departures.spend(spent as u16), Some((spent, us(spent))));
            }
        }
        assert!(departures.times.len() < 300, "{}", departures.times.len());
    }

    #[test]
    fn a_receiver_without_echoes_forgets_the_oldest_credits() {
        let mut departures = Departures::default();
        for number in 0..3 * OPEN_MAX as u64 {
            departures.add(number);
            departures.leave(number, us(number));
        }
        assert_eq!(departures.times.len(), OPEN_MAX);
        assert_eq!(departures.spend(0), None);
    }

    #[test]
    fn a_credit_that_arrives_twice_is_a_replay() {
        let mut arrivals = Arrivals::default();
        let mut record = |session, number| arrivals.record(session, number, 1);
        assert_eq!(record(1, 0), Arrival::New);
        assert_eq!(record(1, 0), Arrival::Replayed);
        assert_eq!(record(1, 5), Arrival::New);
        assert_eq!(record(1, 3), Arrival::New, "overtaken by number 5");
        assert_eq!(record(1, 3), Arrival::Replayed);
        assert_eq!(record(1, 1000), Arrival::New);
        assert_eq!(record(1, 900), Arrival::Replayed, "too old to tell");
        assert_eq!(record(2, 1001), Arrival::OldSession, "never asked for");
    }

    #[test]
    fn a_receiver_that_was_started_again_begins_with_number_zero_in_a_new_session() {
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.record(1, 70, 1), Arrival::New);
        assert_eq!(arrivals.record(1, 71, 2), Arrival::New, "sent before the new request arrived");
        assert_eq!(arrivals.record(2, 0, 2), Arrival::New);
        assert_eq!(arrivals.record(2, 0, 2), Arrival::Replayed);
        assert_eq!(arrivals.record(1, 72, 2), Arrival::OldSession);
    }

    proptest! {
        #[test]
        fn no_credit_arrives_twice_as_new(numbers in prop::collection::vec(0u64..200, 1..300)) {
            let (mut arrivals, mut new) = (Arrivals::default(), std::collections::HashSet::new());
            for number in numbers {
                if arrivals.record(1, number, 1) == Arrival::New {
                    prop_assert!(new.insert(number), "number {}", number);
                }
            }
        }
    }
}
