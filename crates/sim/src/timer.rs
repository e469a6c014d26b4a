//! A timer: turns deadlines, which move often, into wake-up events, which can't be taken back.
//!
//! An end of a flow, an agent or a mechanism of a port names the time at which it wants to be woken, and names another
//! one after most of its inputs. The event queue has no removal: a wake-up that an earlier one overtook still comes,
//! and [`Timer::fires`] recognises it by its time.

use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// An overtaken wake-up serves a later deadline if it is at least this far ahead: its owner is then woken early and
/// asked again. A nearer one is left alone, so that owners which wake at one instant do so in the order in which they
/// asked.
const FAR: Span = Span::from_us(100);

/// The wake-ups of one owner.
///
/// The driver calls [`Timer::arm`] with the owner's deadline after every input of the owner, schedules an event if the
/// answer asks for one, and calls [`Timer::fires`] when such an event comes. Every deadline is then met by a wake-up
/// at that time or earlier. The owner must bear to be woken early.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Timer {
    /// Time of the scheduled wake-up that counts; [`Time::MAX`] if none does.
    due: Time,
    /// Time of a later wake-up that was overtaken and may still come; [`Time::MAX`] if none is known, a time that is
    /// not in the future if it has come. Without this field, a far deadline (a retransmission timeout) would be
    /// scheduled anew after each near one (a pace), and such wake-ups would fill the heap of far events.
    overtaken: Time,
}

impl Timer {
    /// A timer without a wake-up.
    pub const IDLE: Timer = Timer { due: Time::MAX, overtaken: Time::MAX };

    /// Sees to a wake-up at `deadline` or earlier; a deadline that has passed means now. Returns the time for which the
    /// driver must schedule a wake-up, if the scheduled ones do not serve.
    #[inline(always)]
    #[must_use = "without the event, the owner is never woken"]
    pub fn arm(&mut self, deadline: Time, now: Time) -> Option<Time> {
        if deadline >= self.due {
            return None;
        }
        // A wake-up for the present instant may have come already, so only a later one can serve.
        let is_pending = self.overtaken > now;
        if is_pending
            && deadline >= self.overtaken
            && (deadline == self.overtaken || self.overtaken > now + FAR)
        {
            (self.due, self.overtaken) = (self.overtaken, Time::MAX);
            return None;
        }
        // A far wake-up that is forgotten comes all the same, and another one is scheduled, so it goes before a near one.
        let is_far = self.overtaken > now + FAR && self.overtaken != Time::MAX;
        if !is_far {
            self.overtaken = if is_pending { self.overtaken.min(self.due) } else { self.due };
        }
        self.due = deadline.max(now);
        Some(self.due)
    }

    /// Returns whether the owner needs no other wake-up after `turn` to meet a `deadline` behind it: one is scheduled that
    /// serves, as after the wake-up that [`Timer::arm`] would have asked for at `turn`.
    #[inline]
    pub fn serves_after(&self, turn: Time, deadline: Time, now: Time) -> bool {
        self.due > turn && (deadline == self.due || deadline > self.due && self.due > now + FAR)
    }

    /// Returns whether the wake-up that comes now is the one that counts. If so, the owner is woken, and the timer has
    /// no wake-up until it is armed again.
    #[inline]
    pub fn fires(&mut self, now: Time) -> bool {
        let counts = self.due == now;
        if counts {
            self.due = Time::MAX;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// An owner with one deadline, and an event queue of its own: a driver that is simple enough to be right.
    struct Owner {
        timer: Timer,
        now: Time,
        deadline: Time,
        /// Scheduled wake-ups, by time.
        events: BTreeMap<Time, usize>,
        scheduled: usize,
    }

    impl Owner {
        fn new() -> Owner {
            let (now, events) = (Time::ZERO, BTreeMap::new());
            Owner { timer: Timer::IDLE, now, deadline: Time::MAX, events, scheduled: 0 }
        }

        fn ask(&mut self, deadline: Time) {
            self.deadline = deadline;
            if let Some(at) = self.timer.arm(deadline, self.now) {
                assert!(at >= self.now, "a wake-up in the past");
                *self.events.entry(at).or_default() += 1;
                self.scheduled += 1;
            }
        }

        /// The next event comes. Returns whether the owner was woken at its deadline.
        fn step(&mut self) -> bool {
            let mut first = self.events.first_entry().expect("an owner with a deadline has a wake-up ahead");
            self.now = *first.key();
            *first.get_mut() -= 1;
            if *first.get() == 0 {
                first.remove();
            }
            if !self.timer.fires(self.now) {
                return false;
            }
            if self.deadline > self.now {
                self.ask(self.deadline);
                return false;
            }
            true
        }
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_deadline_now_is_met_though_an_overtaken_wake_up_has_just_come() {
        let mut owner = Owner::new();
        owner.ask(at(10));
        owner.ask(at(5));
        assert!(owner.step(), "the near deadline");
        owner.ask(Time::MAX);
        // The wake-up at 10 us was overtaken; it comes, and at that instant the owner asks to be woken at once.
        assert!(!owner.step());
        owner.ask(at(10));
        assert!(owner.step());
        assert_eq!(owner.now, at(10));
    }

    #[test]
    fn a_deadline_that_has_passed_means_now() {
        let mut owner = Owner::new();
        owner.ask(at(5));
        owner.ask(at(3));
        assert!(owner.step());
        owner.ask(Time::ZERO);
        assert!(owner.step());
        assert_eq!(owner.now, at(3));
    }

    #[test]
    fn a_far_deadline_behind_many_near_ones_is_scheduled_once() {
        let mut owner = Owner::new();
        owner.ask(at(10_000));
        for pace in 1..=100 {
            owner.ask(at(pace));
            assert!(owner.step());
            // A retransmission timeout moves on with every packet.
            owner.ask(at(10_000 + pace));
        }
        assert_eq!(owner.scheduled, 101);
        while !owner.step() {}
        assert_eq!(owner.now, at(10_100));
    }

    #[test]
    fn a_far_deadline_is_scheduled_once_though_each_near_one_is_moved_forward() {
        let mut owner = Owner::new();
        owner.ask(at(10_000));
        for pace in 1..=100 {
            owner.ask(at(10 * pace + 5));
            owner.ask(at(10 * pace));
            while owner.deadline != at(10 * pace) || !owner.step() {}
            owner.ask(at(10_000 + pace));
        }
        assert_eq!(owner.scheduled, 201);
    }

    #[test]
    fn a_near_wake_up_that_was_overtaken_serves_only_a_deadline_of_its_own_time() {
        let mut owner = Owner::new();
        owner.ask(at(50));
        owner.ask(at(10));
        assert!(owner.step());
        owner.ask(at(60));
        assert_eq!(owner.scheduled, 3, "60 us has a wake-up of its own");
        owner.ask(at(20));
        assert!(owner.step());
        owner.ask(at(50));
        assert_eq!(owner.scheduled, 4, "50 us has one already");
    }

    #[test]
    fn a_turn_needs_no_wake_up_of_its_own_where_one_behind_it_serves_the_next_deadline() {
        let timer = Timer { due: at(1000), overtaken: Time::MAX };
        let serves = |turn, deadline, now| timer.serves_after(at(turn), at(deadline), at(now));
        assert!(serves(5, 1000, 0) && serves(5, 1001, 0) && serves(5, 1000, 950));
        assert!(!serves(5, 999, 0), "it comes too late");
        assert!(!serves(1000, 2000, 0), "it does not come behind the turn");
        assert!(!serves(950, 1001, 900), "a near one serves only a deadline of its own time");
        assert!(Timer::IDLE.serves_after(at(5), Time::MAX, at(0)), "nothing else is due");
    }

    proptest! {
        #[test]
        fn every_deadline_is_met_at_its_time_or_at_once_if_it_had_passed(
            inputs in prop::collection::vec((0u64..4, 0u64..6, 0u64..4, 0u64..4), 1..200),
        ) {
            let mut owner = Owner::new();
            for (events, wait, scale, deadline) in inputs {
                let asked_at = owner.now;
                for _ in 0..events {
                    if owner.events.is_empty() {
                        break;
                    }
                    let (before, deadline) = (owner.now, owner.deadline);
                    if owner.step() {
                        prop_assert!(owner.now == deadline.max(before) || deadline < asked_at);
                        owner.deadline = Time::MAX;
                    }
                    prop_assert!(owner.now <= owner.deadline, "a deadline passed without a wake-up");
                }
                // A packet comes before the next wake-up or at its time, and makes the owner name another deadline.
                let next = owner.events.keys().next().copied().unwrap_or(Time::MAX);
                owner.now = (owner.now + Span::from_us(wait)).min(next);
                let ahead = Span::from_us(deadline * [1, 1, 60, 1000][scale as usize]);
                owner.ask(if scale == 0 && deadline == 3 { Time::MAX } else { owner.now + ahead });
            }
            while owner.deadline != Time::MAX {
                let deadline = owner.deadline;
                if owner.step() {
                    prop_assert_eq!(owner.now, deadline);
                    owner.deadline = Time::MAX;
                }
                prop_assert!(owner.now <= deadline);
            }
        }
    }
}
