//! The control of a receiving host in a network whose core is oversubscribed: pulls are left out, the more the more packets arrive
//! marked or cut. Source: htsim's EQDS, option `-recv_oversub_cc` (uet-htsim 40ccb05).

use crate::rng::Rng;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The share of packets that may arrive marked or cut before pulls are left out.
const ALLOWED: f64 = 0.1;

/// What has arrived at a host in the last round trip.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Moderation {
    round_trip: Span,
    /// The times of arrival, each with whether the packet was marked or cut.
    arrivals: VecDeque<(Time, bool)>,
    /// The number of those that were.
    congested: u32,
    rng: Rng,
}

impl Moderation {
    /// Returns the control of a host that looks back for this long.
    pub fn new(round_trip: Span, rng: Rng) -> Moderation {
        Moderation { round_trip, arrivals: VecDeque::new(), congested: 0, rng }
    }

    /// Counts a packet of data that arrives.
    pub fn count(&mut self, is_congested: bool, now: Time) {
        self.forget(now);
        self.arrivals.push_back((now, is_congested));
        self.congested += u32::from(is_congested);
    }

    /// Decides whether the next pull is left out: with the probability by which the share of marked and cut packets exceeds what is
    /// allowed.
    pub fn leaves_out(&mut self, now: Time) -> bool {
        self.forget(now);
        if self.congested == 0 {
            return false;
        }
        let share = f64::from(self.congested) / self.arrivals.len() as f64;
        share > ALLOWED && self.rng.unit() < share - ALLOWED
    }

    /// Forgets what arrived more than a round trip ago.
    fn forget(&mut self, now: Time) {
        while let Some(&(at, is_congested)) = self.arrivals.front()
            && at.saturating_add(self.round_trip) < now
        {
            self.arrivals.pop_front();
            self.congested -= u32::from(is_congested);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Entity;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn control() -> Moderation {
        Moderation::new(Span::from_us(10), Rng::stream(1, Entity::Agent, 0))
    }

    /// Returns the share of pulls that are left out now.
    fn share(control: &mut Moderation, now: Time) -> f64 {
        (0..10_000).filter(|_| control.leaves_out(now)).count() as f64 / 10_000.0
    }

    #[test]
    fn a_tenth_of_the_packets_may_be_congested_and_what_is_more_leaves_out_as_many_pulls() {
        for (congested, expected) in [(0, 0.0), (1, 0.0), (4, 0.3), (10, 0.9)] {
            let mut control = control();
            (0..10).for_each(|packet| control.count(packet < congested, us(1)));
            let found = share(&mut control, us(2));
            // Four standard deviations of a share of 10,000.
            assert!((found - expected).abs() < 0.02, "{congested} of 10: {found}");
            assert_eq!(expected == 0.0, found == 0.0, "{congested} of 10");
        }
    }

    #[test]
    fn what_arrived_more_than_a_round_trip_ago_counts_no_more() {
        let mut control = control();
        control.count(true, us(1));
        control.count(false, us(2));
        assert!(share(&mut control, us(11)) > 0.35);
        assert_eq!(share(&mut control, us(12)), 0.0, "the marked one came 11 us ago");
        control.count(true, us(12));
        assert_eq!(control.arrivals.len(), 2);
        assert!(share(&mut control, us(13)) > 0.85, "only the new one is left");
        assert_eq!(control.arrivals.len(), 1);
    }
}
