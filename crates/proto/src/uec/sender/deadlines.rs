//! The times at which packets count as lost of which nothing is heard. Looking through all of a window for them at each timeout
//! would take most of a run in which much is lost.

use crate::uec::config::SenderConfig;
use crate::uec::records::{Records, State};
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The deadlines of packets that are on their way. Those of packets sent once ascend with their numbers, and one number tells them
/// all. Those of others are kept.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Deadlines {
    /// The number of a packet before which no packet sent once is on its way.
    first: u32,
    /// The deadlines of packets that were sent again or whose time began anew, and their numbers. What has become of a packet since
    /// tells whether one still holds.
    others: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Deadlines {
    /// The packet at a place was sent again, or its time began anew.
    pub fn begin_again(&mut self, place: usize, records: &Records, config: &SenderConfig) {
        if let Some(deadline) = deadline(place, records, config) {
            self.others.push(Reverse((deadline, records.psn(place))));
        }
    }

    /// Removes the deadlines up to `now` that hold, whose packets must be lost, sent again or begin anew before the next call.
    /// Returns their places, in order.
    pub fn overdue(&mut self, records: &Records, config: &SenderConfig, now: Time) -> Vec<usize> {
        let mut places = Vec::new();
        while let Some((place, deadline)) = self.first(records, config)
            && deadline <= now
        {
            places.push(place);
            self.first = records.psn(place).wrapping_add(1);
        }
        while let Some((place, deadline)) = self.first_of_others(records, config)
            && deadline <= now
        {
            places.push(place);
            self.others.pop();
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Returns the first deadline that holds, or [`Time::MAX`].
    pub fn next(&mut self, records: &Records, config: &SenderConfig) -> Time {
        let firsts = [self.first(records, config), self.first_of_others(records, config)];
        firsts.into_iter().flatten().map(|(_, deadline)| deadline).min().unwrap_or(Time::MAX)
    }

    /// Returns the first packet sent once that is on its way, with its deadline.
    fn first(&mut self, records: &Records, config: &SenderConfig) -> Option<(usize, Time)> {
        let mut place = (self.first.wrapping_sub(records.base()) as i32).max(0) as usize;
        while place < records.len() {
            let is_first = records.get(place).0.repeats == 0;
            if let Some(deadline) = deadline(place, records, config).filter(|_| is_first) {
                self.first = records.psn(place);
                return Some((place, deadline));
            }
            place += 1;
        }
        self.first = records.next();
        None
    }

    /// Returns the packet with the first of the other deadlines, which holds, and drops what no longer does before it.
    fn first_of_others(&mut self, records: &Records, config: &SenderConfig) -> Option<(usize, Time)> {
        while let Some(&Reverse((kept, psn))) = self.others.peek() {
            let place = records.place(psn);
            if let Some(place) = place.filter(|place| deadline(*place, records, config) == Some(kept)) {
                return Some((place, kept));
            }
            self.others.pop();
        }
        None
    }
}

/// Returns the time at which the packet at a place counts as lost, if it is on its way.
fn deadline(place: usize, records: &Records, config: &SenderConfig) -> Option<Time> {
    let (record, state) = records.get(place);
    let is_on_its_way = matches!(state, State::Flying | State::Asking);
    is_on_its_way.then(|| record.sent.saturating_add(config.rto_after(record.repeats)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Entity, Rng};
    use crate::transport::Transport;
    use crate::uec::OfMode;
    use crate::uec::params::NsccParams;
    use crate::uec::tests::{env, htsim};
    use clearway_units::Span;

    #[test]
    fn deadlines_are_those_that_a_look_at_every_packet_finds() {
        for doubles in [true, false] {
            let made = OfMode::<NsccParams>::sender(&htsim(), &env());
            let config =
                SenderConfig { rto: Span::from_us(1), rto_doubles: doubles, ..(*made.config).clone() };
            let mut rng = Rng::stream(3, Entity::Traffic, doubles.into());
            let (mut records, mut deadlines, mut now) =
                (Records::default(), Deadlines::default(), Time::ZERO);
            let (mut expired, mut again) = (0, 0);
            for _ in 0..10_000 {
                now = now.saturating_add(Span::from_ps(rng.below(3) * rng.below(60_000)));
                let place = rng.below(records.len().max(1) as u64) as usize;
                match rng.below(8) {
                    0..3 => {
                        _ = records.push(100, 0, [State::Flying, State::Asking][rng.below(2) as usize], now)
                    }
                    3 => {
                        if let Some(lost) = records.first_lost() {
                            records.repeat(lost, 0, now);
                            deadlines.begin_again(lost, &records, &config);
                            again += 1;
                        }
                    }
                    4 if place < records.len() && records.get(place).1 == State::Flying => {
                        records.lose(place)
                    }
                    5 if place < records.len() => _ = records.arrive(place),
                    6 => records.drop_arrived(),
                    _ => {
                        let all: Vec<_> = (0..records.len())
                            .filter(|place| deadline(*place, &records, &config).is_some_and(|at| at <= now))
                            .collect();
                        assert_eq!(deadlines.overdue(&records, &config, now), all);
                        for place in all {
                            expired += 1;
                            match records.get(place).1 {
                                State::Flying if rng.below(2) == 0 => records.lose(place),
                                State::Flying => records.restart(place, now),
                                _ => records.repeat(place, 0, now),
                            }
                            deadlines.begin_again(place, &records, &config);
                        }
                        let next =
                            (0..records.len()).filter_map(|place| deadline(place, &records, &config)).min();
                        assert_eq!(deadlines.next(&records, &config), next.unwrap_or(Time::MAX));
                    }
                }
            }
            assert!(expired > 250 && again > 100, "{expired} {again}");
        }
    }
}
