//! The pending events: a wheel of buckets for the near future, one of wider buckets for what lies behind, and a heap for
//! the far future.

use super::event::Event;
use super::ring::Ring;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The number of near buckets.
const NEAR: usize = 2048;

/// The number of wide buckets.
const WIDE: usize = 1024;

/// The number of near buckets that a wide one spans, as a power of two.
const SPAN: u32 = 8;

/// The number of events for which an empty wide bucket keeps room.
const KEPT: usize = 64;

/// The most events of a bucket that are put in order by counting, for each, how many come before it.
const FEW: usize = 24;

/// Pending events in their order.
///
/// Near events lie unsorted in buckets of equal width; a bucket is sorted when it becomes current. That makes a push
/// an append and spreads the cost of order over neighbours, which share cache lines. Later events (packets at the end of
/// a long queue) lie in wide buckets, each of which is spread over near ones when the wheel comes near. The heap is for
/// the far future (timers, arrivals of flows).
#[derive(Serialize, Deserialize)]
pub struct Wheel {
    /// The events of the current bucket in order; those before `next` are gone.
    current: Vec<Event>,
    /// The index of the first event of the current bucket that is still pending.
    next: usize,
    /// The keys of the events of a bucket while it is sorted.
    #[serde(skip)]
    keys: Vec<u64>,
    /// The number of the current bucket, counted from the start of time.
    cursor: u64,
    /// The width of a near bucket, as a power of two: 2^shift picoseconds.
    shift: u32,
    /// The number of the first bucket that is not near: at most [`NEAR`] after `cursor`, at the start of a wide one.
    near_end: u64,
    /// The events of the buckets after the current one, before `near_end`.
    near: Ring<NEAR, { NEAR / 64 }>,
    /// The events of the wide buckets from `near_end` on.
    wide: Ring<WIDE, { WIDE / 64 }>,
    /// Events behind the range of the wide buckets.
    far: BinaryHeap<Far>,
    /// The number of events that ever went into the heap.
    far_pushed: u64,
}

/// An event in the heap, with the order in which it came: the earliest on top.
#[derive(Serialize, Deserialize)]
struct Far(Event, u64);

impl Wheel {
    /// An empty wheel for which most events lie at most `horizon` ahead. The horizon changes speed, never order.
    pub fn new(horizon: Span) -> Wheel {
        let width = (horizon.as_ps() / NEAR as u64).max(1);
        Wheel {
            current: Vec::new(),
            next: 0,
            keys: Vec::new(),
            cursor: 0,
            shift: width.next_power_of_two().trailing_zeros().min(Event::KEY_BITS),
            near_end: NEAR as u64,
            near: Ring::new(),
            wide: Ring::new(),
            far: BinaryHeap::new(),
            far_pushed: 0,
        }
    }

    /// The number of pending events, counted bucket by bucket.
    pub fn len(&self) -> usize {
        self.current.len() - self.next + self.near.len() + self.wide.len() + self.far.len()
    }

    /// The pending events, in no meaningful order.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        let far = self.far.iter().map(|far| &far.0);
        self.current[self.next..].iter().chain(self.near.iter()).chain(self.wide.iter()).chain(far)
    }

    #[inline]
    fn bucket(&self, event: &Event) -> u64 {
        event.at().as_ps() >> self.shift
    }

    /// Adds an event, which must not lie before the last one popped.
    #[inline]
    pub fn push(&mut self, event: Event) {
        let bucket = self.bucket(&event);
        if self.cursor < bucket && bucket < self.near_end {
            self.near.put(bucket, event);
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
            self.wide.put(bucket >> SPAN, event);
        } else {
            self.far_pushed += 1;
            self.far.push(Far(event, self.far_pushed));
        }
    }

    /// The number of the first bucket behind the wide ones.
    fn wide_end(&self) -> u64 {
        self.near_end + ((WIDE as u64) << SPAN)
    }

    /// Takes the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        self.pop_before(Time::MAX)
    }

    /// Takes the first event, if it comes before `until`. Afterwards events from `until` on can be pushed without a
    /// look at what is pending, since the wheel has not moved further than that.
    #[inline]
    pub fn pop_before(&mut self, until: Time) -> Option<Event> {
        loop {
            if let Some(&event) = self.current.get(self.next) {
                if event.at() >= until {
                    return None;
                }
                self.next += 1;
                return Some(event);
            }
            if !self.advance(until) {
                return None;
            }
        }
    }

    /// The time of the first event.
    pub fn next_at(&self) -> Option<Time> {
        if let Some(event) = self.current.get(self.next) {
            return Some(event.at());
        }
        let near = self.near.first(self.cursor + 1).map(|bucket| self.near.get(bucket));
        let first = near.or_else(|| Some(self.wide.get(self.wide.first(self.near_end >> SPAN)?)));
        let Some(first) = first else { return self.far.peek().map(|far| far.0.at()) };
        first.iter().map(Event::at).min()
    }

    /// The event `ahead` places behind the one that [`Wheel::pop`] gives next, if it is in the same bucket: the caller
    /// fetches what it will need.
    #[inline]
    pub fn peek(&self, ahead: usize) -> Option<Event> {
        self.current.get(self.next + ahead).copied()
    }

    /// Answers whether the event that was popped last was the first one of its bucket.
    #[inline]
    pub fn has_turned(&self) -> bool {
        self.next == 1
    }

    /// The events of the current bucket that are still pending, in their order.
    #[inline]
    pub fn bucket_left(&self) -> &[Event] {
        &self.current[self.next..]
    }

    /// The events of the near bucket behind the current one, in no order.
    #[inline]
    pub fn next_bucket(&self) -> &[Event] {
        let next = self.cursor + 1;
        if next < self.near_end { self.near.get(next) } else { &[] }
    }

    /// Makes the next bucket that holds events the current one, if it begins before `until`. Answers false if there is
    /// none.
    #[inline(never)]
    fn advance(&mut self, until: Time) -> bool {
        let next = loop {
            let near = self.near.first(self.cursor + 1);
            let wide = || self.wide.first(self.near_end >> SPAN).map(|wide| wide << SPAN);
            let far = || self.far.peek().map(|far| self.bucket(&far.0));
            let Some(next) = near.or_else(wide).or_else(far) else { return false };
            if next << self.shift >= until.as_ps() {
                return false;
            }
            if near.is_some() {
                break next;
            }
            self.turn_to(next - 1);
        };
        self.turn_to(next);
        self.current.clear();
        self.next = 0;
        self.sort(next);
        true
    }

    /// Moves the events of a bucket in their order to `current`, which is empty. An entity's events for one time stay in
    /// the order in which it scheduled them.
    #[inline]
    fn sort(&mut self, bucket: u64) {
        let events = self.near.take(bucket);
        // The bits of a key that are the same in the whole bucket make room for the event's place in it, so no two keys
        // are equal.
        let place_bits = Event::KEY_BITS - self.shift;
        if events.len() == 1 || events.len() >> place_bits > 0 {
            std::mem::swap(&mut self.current, events);
            return self.current.sort_by_key(Event::key);
        }
        let key = |(place, event): (usize, &Event)| event.key() << place_bits | place as u64;
        self.keys.clear();
        self.keys.extend(events.iter().enumerate().map(key));
        if events.len() <= FEW {
            // Unlike a sort, this has no branch whose way nobody can guess.
            self.current.extend_from_slice(events);
            for (event, key) in events.iter().zip(&self.keys) {
                let before = self.keys.iter().filter(|other| *other < key).count();
                self.current[before] = *event;
            }
        } else {
            self.keys.sort_unstable();
            let place = |key: &u64| (key & ((1 << place_bits) - 1)) as usize;
            self.current.extend(self.keys.iter().map(|key| events[place(key)]));
        }
        events.clear();
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
            let events = self.wide.take(wide);
            for event in events.drain(..) {
                self.near.put(event.at().as_ps() >> self.shift, event);
            }
            // Each of the wide buckets is as full as this one when its turn comes: together they must not keep the room.
            events.shrink_to(KEPT);
        }
        self.near_end = near_end;
        let wide_end = self.wide_end();
        while self.far.peek().is_some_and(|far| self.bucket(&far.0) < wide_end) {
            let event = self.far.pop().expect("just seen").0;
            let bucket = self.bucket(&event);
            if bucket < near_end {
                self.near.put(bucket, event)
            } else {
                self.wide.put(bucket >> SPAN, event)
            }
        }
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
        let mut wheel = Wheel::new(Span::from_us(1));
        for (origin, tag) in [(2, 0), (1, 1), (1, 0), (0, 7)] {
            wheel.push(Event::new(Time::from_ps(5), origin, EventKind::Wake(PortId(origin * 10 + tag))));
        }
        let order: Vec<_> = std::iter::from_fn(|| wheel.pop()).map(|event| event.kind()).collect();
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
        let mut wheel = Wheel::new(Span::from_ps(width * width));
        for (at, tag) in [(width, 0), (width + 1, 1), (2 * width, 2), (4 * width, 3)] {
            wheel.push(Event::new(Time::from_ps(at), 0, EventKind::Wake(PortId(tag))));
        }
        let ats =
            |events: &[Event]| events.iter().map(|event| event.at().as_ps() / width).collect::<Vec<_>>();
        wheel.pop();
        assert!(wheel.has_turned());
        assert_eq!((ats(wheel.bucket_left()), ats(wheel.next_bucket())), (vec![1], vec![2]));
        wheel.pop();
        assert!(!wheel.has_turned());
        wheel.pop();
        assert!(wheel.has_turned());
        assert_eq!(
            (ats(wheel.bucket_left()), ats(wheel.next_bucket())),
            (vec![], vec![]),
            "one bucket is empty"
        );
    }

    #[test]
    fn a_crowded_bucket_keeps_the_order_in_which_equal_events_were_scheduled() {
        // An unstable sort leaves short runs as they are; it reorders equal events among 200 of two times.
        let mut wheel = Wheel::new(Span::from_us(1));
        for tag in 0..200u32 {
            let at = Time::from_ps(900_000 + u64::from(tag % 3 == 0));
            wheel.push(Event::new(at, 7, EventKind::Wake(PortId(tag))));
        }
        let order: Vec<_> = std::iter::from_fn(|| wheel.pop()).map(|event| event.kind()).collect();
        let (later, first): (Vec<u32>, Vec<u32>) = (0..200).partition(|tag| tag % 3 == 0);
        let expected: Vec<_> =
            first.into_iter().chain(later).map(|tag| EventKind::Wake(PortId(tag))).collect();
        assert_eq!(order, expected);
    }

    #[test]
    fn of_events_of_one_time_packets_that_arrive_come_first_whoever_scheduled_them() {
        let mut wheel = Wheel::new(Span::from_us(1));
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
        let order: Vec<_> = std::iter::from_fn(|| wheel.pop()).map(|event| event.kind()).collect();
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

    proptest! {
        #[test]
        fn events_come_out_in_order_however_they_go_in(
            horizon in 1u64..10_000_000_000,
            steps in prop::collection::vec((0u64..3, 0u64..1_000_000_000_000, 0u32..40), 1..400),
        ) {
            let mut wheel = Wheel::new(Span::from_ps(horizon));
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
                    let event = wheel.pop();
                    prop_assert_eq!(event.map(rank), reference.pop_first());
                    now = event.map_or(now, |event| event.at().as_ps());
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
                prop_assert_eq!(wheel.len(), reference.len());
            }
            while let Some(event) = wheel.pop() {
                prop_assert_eq!(Some(rank(event)), reference.pop_first());
            }
            prop_assert!(reference.is_empty());
        }
    }
}
