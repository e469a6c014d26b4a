//! The watch over the clock, which finds that events follow each other at one instant without end.

use crate::model::{Model, Pattern};
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// The number of events between two looks at the clock, which therefore cost nothing.
const LOOK: u64 = 1 << 20;

/// The number of events that each port, and each flow that may start with all others, can have at one instant.
///
/// A port has an arrival, a wake-up, a pause frame and a timer of its mechanism. A flow starts, and each of its ends has a
/// timer and some that were moved, which still come. No frame takes no time on a link, so none comes twice. That is less
/// than a dozen each; a run with several times as many does not get on.
const EACH: u64 = 64;

/// The watch over the clock of one sequence of events. It counts in steps of a million events from the beginning of the run,
/// so that what it finds does not depend on the steps in which a caller lets the run go on.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Standstill {
    /// The most events that may have one time.
    most: u64,
    /// The time at the last look that found another one than the look before.
    at: Time,
    /// The number of events at that look.
    since: u64,
    /// Set once too many events had one time.
    is_reached: bool,
}

impl Standstill {
    /// Returns the watch over a run of a model, before the first event.
    pub fn new(model: &Model) -> Standstill {
        let starting = |pattern: &Pattern| match pattern {
            Pattern::Flows(flows) => flows.len(),
            Pattern::Messages(messages) => messages.list().len(),
            Pattern::Rounds(rounds) => 2 * rounds.workers.len(),
            // These arrive one by one, since no load is above that of all links.
            Pattern::Poisson(poisson) => poisson.hosts.len(),
        };
        let flows: usize = model.traffic.iter().map(|entry| starting(&entry.pattern)).sum();
        let entities = model.topology.ports().len() + flows + 2 * model.faults.len() + model.samples.len();
        Standstill { most: (EACH * entities as u64).max(LOOK), at: Time::ZERO, since: 0, is_reached: false }
    }

    /// Returns the number of events until the next look, after so many.
    pub fn until_look(events: u64) -> u64 {
        LOOK - events % LOOK
    }

    /// Looks at the clock, if that is due after so many events, the last of which came now.
    pub fn look(&mut self, events: u64, now: Time) {
        if !events.is_multiple_of(LOOK) {
            return;
        }
        if now != self.at {
            (self.at, self.since) = (now, events);
        }
        self.is_reached = events - self.since >= self.most;
    }

    /// Returns whether time stands still.
    pub fn is_reached(&self) -> bool {
        self.is_reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::network_for;
    use clearway_topology::Star;
    use clearway_units::{Rate, Span};

    fn of_star(hosts: u32) -> Standstill {
        let star = Star { hosts, rate: Rate::gbps(1), delay: Span::from_us(1) }.build().unwrap();
        Standstill::new(&network_for(star, []).unwrap())
    }

    #[test]
    fn time_stands_still_once_a_million_events_had_one_time_and_not_if_it_passes_ever_so_slowly() {
        let mut still = of_star(2);
        let mut moving = still;
        for look in 1..10 {
            still.look(look * LOOK, Time::from_ps(7));
            moving.look(look * LOOK, Time::from_ps(look));
            still.look(look * LOOK + 1, Time::from_ps(100));
            assert_eq!((still.is_reached(), moving.is_reached()), (look > 1, false), "{look}");
        }
        assert_eq!([0, 1, LOOK - 1, LOOK].map(Standstill::until_look), [LOOK, LOOK - 1, 1, LOOK]);
    }

    #[test]
    fn a_large_network_may_have_more_events_at_one_instant_than_a_small_one() {
        let [small, large] = [of_star(2), of_star(50_000)];
        assert_eq!((small.most, large.most), (LOOK, 100_000 * EACH));
    }
}
