//! The pending events: a wheel of buckets for the near future, one of wider buckets for what lies behind, and a heap for
//! the far future.

use super::event::Event;
use super::lanes::WIDEST;
use super::ring::{Chunks, Ring};
use super::sort::Sorter;
use clearway_units::{Span, Time};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The number of near buckets.
const NEAR: usize = 2048;

/// The number of wide buckets.
const WIDE: usize = 1024;

/// The number of near buckets that a wide one spans, as a power of two.
const SPAN: u32 = 8;

/// The number of buckets with events after which the wheel thinks over the width of buckets.
const TURNS: usize = 2048;

/// Buckets that hold fewer events become twice as wide: to turn to a bucket costs as much as to put several events of it
/// in order.
const FEWEST: usize = 8;

/// Buckets that hold more events become half as wide again.
const MOST: usize = 24;

/// The chunks of events that a wheel keeps that is turned back: 128 KiB.
const KEPT: usize = 1024;

/// Pending events in their order.
///
/// Near events lie unsorted in buckets of equal width; a bucket is sorted when it becomes current. That makes a push
/// an append and spreads the cost of order over neighbours, which share cache lines. Later events (packets at the end of
/// a long queue) lie in wide buckets, each of which is spread over near ones when the wheel comes near. The heap is for
/// the far future (timers, arrivals of flows).
///
/// Near buckets become wider while they hold few events, as long as these are put in order without a branch, and narrower
/// again when they hold many. Their width changes speed, never order.
pub struct Wheel {
    /// The events of the current bucket in order; those before `next` are gone.
    current: Vec<Event>,
    /// The index of the first event of the current bucket that is still pending.
    next: usize,
    sorter: Sorter,
    /// The number of the current bucket, counted from the start of time.
    cursor: u64,
    /// The width of a near bucket, as a power of two: 2^shift picoseconds.
    shift: u32,
    /// The least and the greatest `shift`.
    shifts: (u32, u32),
    /// The number of buckets that have become current since the last look at their width, and that of their events.
    turned: usize,
    taken: usize,
    /// The number of the first bucket that is not near: at most [`NEAR`] after `cursor`, at the start of a wide one.
    near_end: u64,
    /// The events of the buckets after the current one, before `near_end`.
    near: Ring<NEAR, { NEAR / 64 }>,
    /// The events of the wide buckets from `near_end` on.
    wide: Ring<WIDE, { WIDE / 64 }>,
    /// The room of the events in both rings.
    chunks: Chunks,
    /// Events behind the range of the wide buckets.
    far: BinaryHeap<Far>,
    /// The number of events that ever went into the heap.
    far_pushed: u64,
    /// The number of entities that schedule events.
    entities: usize,
}

/// An event in the heap, with the order in which it came: the earliest on top.
#[derive(Clone, Serialize, Deserialize)]
struct Far(Event, u64);

impl Wheel {
    /// Returns an empty wheel for events of so many entities, most of which lie at most `horizon` ahead. The horizon
    /// changes speed, never order.
    pub fn new(horizon: Span, entities: usize) -> Wheel {
        let width = (horizon.as_ps() / NEAR as u64).max(1);
        let shift = width.next_power_of_two().trailing_zeros().min(Event::KEY_BITS);
        Wheel::of_width(shift, shift, entities)
    }

    /// Returns an empty wheel whose buckets, which are never narrower than 2^least picoseconds, are 2^shift wide.
    fn of_width(shift: u32, least: u32, entities: usize) -> Wheel {
        Wheel {
            current: Vec::new(),
            next: 0,
            sorter: Sorter::new(shift, entities),
            cursor: 0,
            shift,
            shifts: (least, WIDEST.max(least)),
            turned: 0,
            taken: 0,
            near_end: NEAR as u64,
            near: Ring::new(),
            wide: Ring::new(),
            chunks: Chunks::new(),
            far: BinaryHeap::new(),
            far_pushed: 0,
            entities,
        }
    }

    /// Returns the pending events, in no meaningful order.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        let far = self.far.iter().map(|far| &far.0);
        let buckets = self.near.iter().chain(self.wide.iter());
        self.current[self.next..].iter().chain(buckets.flat_map(|bucket| self.chunks.iter(bucket))).chain(far)
    }

    /// Shows the pending events up to and at `until`, and perhaps later ones, in no meaningful order: a short look ahead
    /// costs little, however many events are pending.
    #[inline]
    pub fn each_until(&self, until: Time, mut see: impl FnMut(&Event)) {
        let end = (until.as_ps() >> self.shift) + 1;
        self.current[self.next..].iter().for_each(&mut see);
        let (from, near_end) = (self.cursor + 1, self.near_end);
        self.near.each_before(from, end.min(near_end), |bucket| self.chunks.each(bucket, &mut see));
        let wide_end = end.min(self.wide_end()).div_ceil(1 << SPAN);
        self.wide.each_before(near_end >> SPAN, wide_end, |bucket| self.chunks.each(bucket, &mut see));
        if end > self.wide_end() {
            self.far.iter().for_each(|far| see(&far.0));
        }
    }

    #[inline]
    fn bucket(&self, event: &Event) -> u64 {
        event.at().as_ps() >> self.shift
    }

    /// Adds an event, which must not lie before the last one popped.
    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        let bucket = self.bucket(&event);
        if self.cursor < bucket && bucket < self.near_end {
            self.near.put(&mut self.chunks, bucket, event);
        } else {
            self.push_aside(bucket, event);
        }
    }

    /// Adds an event that belongs to the current bucket or is not near. Kept apart so that the usual way is short.
    #[inline(never)]
    fn push_aside(&mut self, bucket: u64, event: Event) {
        if bucket <= self.cursor {
            let later = self.current[self.next..].partition_point(|other| other.rank() <= event.rank());
            self.current.insert(self.next + later, event);
        } else if bucket < self.wide_end() {
            self.wide.put(&mut self.chunks, bucket >> SPAN, event);
        } else {
            self.far_pushed += 1;
            self.far.push(Far(event, self.far_pushed));
        }
    }

    /// Returns the number of the first bucket behind the wide ones.
    fn wide_end(&self) -> u64 {
        self.near_end + ((WIDE as u64) << SPAN)
    }

    /// Takes the first event of the current bucket, if it comes before `until`. Only this is done for each event: where it
    /// returns none, [`Wheel::turn`] tells whether any event is left.
    #[inline]
    pub fn pop_here(&mut self, until: Time) -> Option<Event> {
        let &event = self.current.get(self.next)?;
        if event.at() >= until {
            return None;
        }
        self.next += 1;
        Some(event)
    }

    /// Turns to the next bucket that holds events, if nothing of the current one is left and that one begins before
    /// `until`. Returns false if it does not turn: no event before `until` is left. Afterwards events from `until` on can be
    /// pushed without a look at what is pending, since the wheel has not moved further than that.
    #[inline]
    pub fn turn(&mut self, until: Time) -> bool {
        self.next == self.current.len() && self.advance(until)
    }

    /// Turns a wheel on which nothing is pending back, or on, to the time `now`.
    pub fn rewind(&mut self, now: Time) {
        debug_assert!(self.next_at().is_none(), "what is pending would be lost");
        self.current.clear();
        self.next = 0;
        self.cursor = now.as_ps() >> self.shift;
        self.near_end = (self.cursor + NEAR as u64) >> SPAN << SPAN;
        if self.chunks.len() > KEPT {
            // What was pending is elsewhere now.
            self.chunks = Chunks::new();
        }
    }

    /// Takes the first event, if it comes before `until`.
    #[inline]
    pub fn pop_before(&mut self, until: Time) -> Option<Event> {
        loop {
            if let Some(event) = self.pop_here(until) {
                return Some(event);
            }
            if !self.turn(until) {
                return None;
            }
        }
    }

    /// Returns the time of the first event.
    pub fn next_at(&self) -> Option<Time> {
        if let Some(event) = self.current.get(self.next) {
            return Some(event.at());
        }
        let near = self.near.first(self.cursor + 1).map(|bucket| self.near.get(bucket));
        let first = near.or_else(|| Some(self.wide.get(self.wide.first(self.near_end >> SPAN)?)));
        let Some(first) = first else { return self.far.peek().map(|far| far.0.at()) };
        self.chunks.iter(first).map(Event::at).min()
    }

    /// Returns the event `ahead` places behind the one that is taken next, if it is in the same bucket: the caller
    /// fetches what it will need.
    #[inline]
    pub fn peek(&self, ahead: usize) -> Option<Event> {
        self.current.get(self.next + ahead).copied()
    }

    /// Returns the events of the current bucket that are still pending, in their order.
    #[inline]
    pub fn bucket_left(&self) -> &[Event] {
        &self.current[self.next..]
    }

    /// Shows the events of the near bucket behind the current one, in no order.
    #[inline]
    pub fn each_of_next_bucket(&self, see: impl FnMut(&Event)) {
        let next = self.cursor + 1;
        if next < self.near_end {
            self.chunks.each(self.near.get(next), see);
        }
    }

    /// Makes the next bucket that holds events the current one, if it begins before `until`. Returns false if there is
    /// none.
    #[inline(never)]
    fn advance(&mut self, until: Time) -> bool {
        if self.turned == TURNS {
            self.think_width_over();
        }
        let Some(next) = self.near.first(self.cursor + 1) else {
            return self.come_near(until) && self.advance(until);
        };
        if next << self.shift >= until.as_ps() {
            return false;
        }
        self.turn_to(next);
        self.next = 0;
        self.sorter.sort(&mut self.chunks, self.near.take(next), &mut self.current);
        self.turned += 1;
        self.taken += self.current.len();
        true
    }

    /// Where no near bucket holds events, turns to before the first one that does, if that begins before `until`. Returns
    /// false if there is none.
    #[cold]
    #[inline(never)]
    fn come_near(&mut self, until: Time) -> bool {
        let wide = self.wide.first(self.near_end >> SPAN).map(|wide| wide << SPAN);
        let far = || self.far.peek().map(|far| self.bucket(&far.0));
        let next = wide.or_else(far).filter(|next| next << self.shift < until.as_ps());
        next.inspect(|next| self.turn_to(next - 1)).is_some()
    }

    /// Moves the cursor to a bucket, and brings near what now is.
    #[inline]
    fn turn_to(&mut self, cursor: u64) {
        self.cursor = cursor;
        let near_end = (cursor + NEAR as u64) >> SPAN << SPAN;
        if near_end > self.near_end {
            self.bring_near(near_end);
        }
    }

    /// Moves the end of the near buckets, and with it that of the wide ones. Events that lay behind an end move over
    /// before others are pushed there, so that an entity's events for one time stay in their order.
    #[inline(never)]
    fn bring_near(&mut self, near_end: u64) {
        while let Some(wide) = self.wide.first(self.near_end >> SPAN).filter(|wide| wide << SPAN < near_end) {
            self.chunks.spread(self.wide.take(wide), |chunks, event| {
                self.near.put(chunks, event.at().as_ps() >> self.shift, event);
            });
        }
        self.near_end = near_end;
        self.bring_far();
    }

    /// Takes the events from the heap that are no longer behind the wide buckets.
    fn bring_far(&mut self) {
        let (near_end, wide_end) = (self.near_end, self.wide_end());
        while self.far.peek().is_some_and(|far| self.bucket(&far.0) < wide_end) {
            let event = self.far.pop().expect("just seen").0;
            let bucket = self.bucket(&event);
            if bucket < near_end {
                self.near.put(&mut self.chunks, bucket, event)
            } else {
                self.wide.put(&mut self.chunks, bucket >> SPAN, event)
            }
        }
    }

    /// Chooses another width if buckets hold too few events or too many. Nothing of the current bucket is pending.
    #[cold]
    #[inline(never)]
    fn think_width_over(&mut self) {
        let shift = match self.taken / self.turned {
            ..FEWEST => self.shift + 1,
            FEWEST..=MOST => self.shift,
            _ => self.shift.saturating_sub(1),
        };
        (self.turned, self.taken) = (0, 0);
        let shift = shift.clamp(self.shifts.0, self.shifts.1);
        if shift != self.shift {
            self.resize(shift);
        }
    }

    /// Gives buckets another width, unless the wheel is still at the first of such buckets. Nothing of the current bucket is
    /// pending.
    fn resize(&mut self, shift: u32) {
        debug_assert_eq!(self.next, self.current.len());
        // All that is pending lies behind the current bucket, and so it must afterwards.
        let passed = (u128::from(self.cursor) + 1) << self.shift >> shift;
        let Some(cursor) = passed.checked_sub(1).and_then(|cursor| u64::try_from(cursor).ok()) else {
            return;
        };
        let events = self.in_rings();
        *self = Wheel {
            cursor,
            near_end: (cursor + NEAR as u64) >> SPAN << SPAN,
            far: std::mem::take(&mut self.far),
            far_pushed: self.far_pushed,
            ..Wheel::of_width(shift, self.shifts.0, self.entities)
        };
        events.into_iter().for_each(|event| self.push(event));
        self.bring_far();
    }

    /// Returns the events of both rings, those of a bucket in the order in which it took them.
    fn in_rings(&self) -> Vec<Event> {
        let buckets = self.near.iter().chain(self.wide.iter());
        let mut events: Vec<Event> = buckets.flat_map(|bucket| self.chunks.iter(bucket)).copied().collect();
        events.reverse();
        events
    }
}

/// A wheel as it is saved: what lies in its rings is in the order in which each bucket took it.
#[derive(Serialize, Deserialize)]
struct Saved {
    current: Vec<Event>,
    cursor: u64,
    shift: u32,
    least: u32,
    near_end: u64,
    rings: Vec<Event>,
    far: Vec<Far>,
    far_pushed: u64,
    entities: usize,
}

impl Serialize for Wheel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let saved = Saved {
            current: self.current[self.next..].to_vec(),
            cursor: self.cursor,
            shift: self.shift,
            least: self.shifts.0,
            near_end: self.near_end,
            rings: self.in_rings(),
            far: self.far.iter().cloned().collect(),
            far_pushed: self.far_pushed,
            entities: self.entities,
        };
        saved.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Wheel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Wheel, D::Error> {
        let saved = Saved::deserialize(deserializer)?;
        let mut wheel = Wheel {
            current: saved.current,
            cursor: saved.cursor,
            near_end: saved.near_end,
            far: saved.far.into(),
            far_pushed: saved.far_pushed,
            ..Wheel::of_width(saved.shift, saved.least, saved.entities)
        };
        saved.rings.into_iter().for_each(|event| wheel.push(event));
        Ok(wheel)
    }
}

impl Ord for Far {
    fn cmp(&self, other: &Far) -> Ordering {
        (other.0.rank(), other.1).cmp(&(self.0.rank(), self.1))
    }
}

impl PartialOrd for Far {
    fn partial_cmp(&self, other: &Far) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Far {
    fn eq(&self, other: &Far) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Far {}

#[cfg(test)]
mod tests {
    use super::super::event::EventKind;
    use super::*;
    use crate::ids::{FlowSlot, Id, PacketId, TrafficId};
    use clearway_topology::PortId;
    use proptest::prelude::*;

    #[test]
    fn equal_times_are_ordered_by_origin_and_then_by_the_order_of_scheduling() {
        let mut wheel = Wheel::new(Span::from_us(1), 10);
        for (origin, tag) in [(2, 0), (1, 1), (1, 0), (0, 7)] {
            wheel.push(Event::new(Time::from_ps(5), origin, EventKind::Wake(PortId(origin * 10 + tag))));
        }
        let order: Vec<_> =
            std::iter::from_fn(|| wheel.pop_before(Time::MAX)).map(|event| event.kind()).collect();
        assert_eq!(
            order,
            [
                EventKind::Wake(PortId(7)),
                EventKind::Wake(PortId(11)),
                EventKind::Wake(PortId(10)),
                EventKind::Wake(PortId(20))
            ]
        );
    }

    #[test]
    fn what_comes_next_is_known_when_the_wheel_turns_to_a_bucket() {
        let width = NEAR as u64;
        let mut wheel = Wheel::new(Span::from_ps(width * width), 1);
        for (at, tag) in [(width, 0), (width + 1, 1), (2 * width, 2), (4 * width, 3)] {
            wheel.push(Event::new(Time::from_ps(at), 0, EventKind::Wake(PortId(tag))));
        }
        let ats =
            |events: &[Event]| events.iter().map(|event| event.at().as_ps() / width).collect::<Vec<_>>();
        let next_bucket = |wheel: &Wheel| {
            let mut seen = Vec::new();
            wheel.each_of_next_bucket(|event| seen.push(*event));
            seen
        };
        assert!(wheel.turn(Time::MAX));
        assert_eq!((ats(wheel.bucket_left()), ats(&next_bucket(&wheel))), (vec![1, 1], vec![2]));
        assert!(!wheel.turn(Time::MAX), "events are left");
        assert_eq!(wheel.pop_here(Time::MAX).map(|event| event.at()), Some(Time::from_ps(width)));
        assert!(wheel.pop_here(Time::from_ps(width + 1)).is_none(), "the next one comes then");
        assert!(wheel.pop_here(Time::MAX).is_some() && wheel.pop_here(Time::MAX).is_none());
        assert!(!wheel.turn(Time::from_ps(2 * width)), "the next bucket begins then");
        assert!(wheel.turn(Time::from_ps(2 * width + 1)));
        assert_eq!(
            (ats(wheel.bucket_left()), ats(&next_bucket(&wheel))),
            (vec![2], vec![]),
            "one bucket is empty"
        );
    }

    #[test]
    fn a_crowded_bucket_keeps_the_order_in_which_equal_events_were_scheduled() {
        // An unstable sort leaves short runs as they are; it reorders equal events among 200 of two times.
        let mut wheel = Wheel::new(Span::from_us(1), 10);
        for tag in 0..200u32 {
            let at = Time::from_ps(900_000 + u64::from(tag % 3 == 0));
            wheel.push(Event::new(at, 7, EventKind::Wake(PortId(tag))));
        }
        let order: Vec<_> =
            std::iter::from_fn(|| wheel.pop_before(Time::MAX)).map(|event| event.kind()).collect();
        let (later, first): (Vec<u32>, Vec<u32>) = (0..200).partition(|tag| tag % 3 == 0);
        let expected: Vec<_> =
            first.into_iter().chain(later).map(|tag| EventKind::Wake(PortId(tag))).collect();
        assert_eq!(order, expected);
    }

    #[test]
    fn of_events_of_one_time_packets_that_arrive_come_first_whoever_scheduled_them() {
        let mut wheel = Wheel::new(Span::from_us(1), 10);
        let events = [
            (0, EventKind::Wake(PortId(1))),
            (3, EventKind::Arrive(PacketId::from_index(2))),
            (1, EventKind::SenderTimer(FlowSlot::from_index(3))),
            (2, EventKind::Handle(PacketId::from_index(4))),
            (9, EventKind::Pause(PortId(5))),
            (0, EventKind::Traffic(TrafficId::from_index(6))),
        ];
        // A later time stays later, whatever happens then.
        wheel.push(Event::new(Time::from_ps(6), 0, EventKind::Arrive(PacketId::from_index(7))));
        for (origin, kind) in events {
            wheel.push(Event::new(Time::from_ps(5), origin, kind));
        }
        let order: Vec<_> =
            std::iter::from_fn(|| wheel.pop_before(Time::MAX)).map(|event| event.kind()).collect();
        let arrivals = [
            EventKind::Handle(PacketId::from_index(4)),
            EventKind::Arrive(PacketId::from_index(2)),
            EventKind::Pause(PortId(5)),
        ];
        let others = [
            EventKind::Wake(PortId(1)),
            EventKind::Traffic(TrafficId::from_index(6)),
            EventKind::SenderTimer(FlowSlot::from_index(3)),
        ];
        assert_eq!(order, [&arrivals[..], &others, &[EventKind::Arrive(PacketId::from_index(7))]].concat());
    }

    #[test]
    fn a_wheel_that_was_emptied_far_ahead_takes_events_of_the_present_again() {
        let event = |at| Event::new(Time::from_ps(at), 0, EventKind::Wake(PortId(at as u32)));
        let mut wheel = Wheel::new(Span::from_us(1), 10);
        for round in 1..4 {
            // Near, in the wide buckets, and in the heap.
            let ats = [30, 4_000_000, 900_000_000_000].map(|at| at * round);
            ats.iter().for_each(|&at| wheel.push(event(at)));
            let taken: Vec<u64> =
                std::iter::from_fn(|| wheel.pop_before(Time::MAX)).map(|event| event.at().as_ps()).collect();
            assert_eq!(taken, ats);
            let now = 30 * round;
            wheel.rewind(Time::from_ps(now));
            assert_eq!((wheel.cursor, wheel.current.len()), (now >> wheel.shift, 0));
        }
    }

    proptest! {
        #[test]
        fn events_come_out_in_order_however_they_go_in(
            horizon in 1u64..10_000_000_000,
            steps in prop::collection::vec((0u64..3, 0u64..1_000_000_000_000, 0u32..40), 1..400),
        ) {
            let mut wheel = Wheel::new(Span::from_ps(horizon), 5);
            let mut reference = std::collections::BTreeSet::new();
            let (mut now, mut count) = (0, 0);
            let rank = |event: Event| {
                let EventKind::Wake(PortId(count)) = event.kind() else { unreachable!() };
                (event.rank(), count)
            };
            for (pops, ahead, squeeze) in steps {
                let at = now + (ahead >> squeeze);
                let origin = (ahead % 5) as u32;
                let event = Event::new(Time::from_ps(at), origin, EventKind::Wake(PortId(count)));
                wheel.push(event);
                reference.insert((event.rank(), count));
                count += 1;
                for _ in 0..pops {
                    let event = wheel.pop_before(Time::MAX);
                    prop_assert_eq!(event.map(rank), reference.pop_first());
                    now = event.map_or(now, |event| event.at().as_ps());
                }
                if squeeze % 8 == 1 && wheel.next == wheel.current.len() {
                    wheel.resize((ahead % u64::from(Event::KEY_BITS + 1)) as u32);
                }
                if pops == 2 {
                    // The time up to which all is handled, after which others may push from there on.
                    let until = now + (ahead >> (squeeze / 2));
                    while let Some(event) = wheel.pop_before(Time::from_ps(until)) {
                        prop_assert!(event.at().as_ps() < until);
                        prop_assert_eq!(Some(rank(event)), reference.pop_first());
                    }
                    now = now.max(until);
                    let first = reference.first().map(|(rank, _)| (rank >> 64) as u64);
                    prop_assert!(first.is_none_or(|at| at >= until));
                    prop_assert_eq!(wheel.next_at().map(Time::as_ps), first);
                }
                prop_assert_eq!(wheel.iter().count(), reference.len());
            }
            while let Some(event) = wheel.pop_before(Time::MAX) {
                prop_assert_eq!(Some(rank(event)), reference.pop_first());
            }
            prop_assert!(reference.is_empty());
        }
    }
}
