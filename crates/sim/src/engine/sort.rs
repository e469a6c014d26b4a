//! Putting the events of a bucket in order.

use super::event::Event;
use super::lanes::{FEW, Lane, Lanes, WIDEST};
use super::ring::{Bucket, CHUNK, Chunks};
use std::mem::{swap, take};

/// The most events for which such counting does not pay.
const LONE: usize = 3;

/// Puts the events of buckets in order. An entity's events for one time stay in the order in which it scheduled them.
pub struct Sorter {
    /// The width of a bucket, as a power of two: 2^shift picoseconds.
    shift: u32,
    /// The numbers of a few events in narrow buckets, and in wide ones.
    short: Lanes<i32>,
    long: Lanes<f64>,
    /// The end of the entity in [`Event::short_key`], if such keys have room for the entities and the times of a bucket.
    entity_end: Option<u32>,
    /// The events of a crowded bucket, and their keys.
    crowd: Vec<Event>,
    keys: Vec<u64>,
}

impl Sorter {
    /// Returns a sorter of buckets that are 2^shift picoseconds wide and hold events of so many entities.
    pub fn new(shift: u32, entities: usize) -> Sorter {
        // No entity has the number whose bits are all set, so that no key is the end.
        let entity_end = (entities + 1).next_power_of_two().trailing_zeros() + Event::SHORT_KEY_CLEAR;
        // The time stands above a bit for the class.
        let fits = shift + 1 + entity_end <= i32::BITS;
        Sorter {
            shift,
            short: [[i32::END; CHUNK]; FEW + 1],
            long: [[f64::END; CHUNK]; FEW + 1],
            entity_end: fits.then_some(entity_end),
            crowd: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Moves the events of a bucket in their order to `sorted`, in place of what is there.
    #[inline]
    pub fn sort(&mut self, chunks: &mut Chunks, bucket: &mut Bucket, sorted: &mut Vec<Event>) {
        if let Some(events) = chunks.lone(*bucket).filter(|events| events.len() <= LONE) {
            sorted.clear();
            // The oldest one stands last.
            sorted.extend(events.iter().rev());
            insert_in_order(sorted);
            return chunks.clear(bucket);
        }
        let is_sorted = match self.entity_end {
            Some(entity_end) => sort_some(&mut self.short, entity_end, chunks, *bucket, sorted),
            None if self.shift <= WIDEST => sort_some(&mut self.long, 0, chunks, *bucket, sorted),
            None => false,
        };
        match is_sorted {
            true => chunks.clear(bucket),
            false => self.sort_crowd(chunks, bucket, sorted),
        }
    }

    /// As [`Sorter::sort`], for any number of events.
    #[inline(never)]
    fn sort_crowd(&mut self, chunks: &mut Chunks, bucket: &mut Bucket, sorted: &mut Vec<Event>) {
        self.crowd.clear();
        let (mut free, full) = chunks.of(*bucket);
        for events in full {
            self.crowd.extend_from_slice(&events[take(&mut free)..]);
        }
        chunks.clear(bucket);
        // The bits of a key that are the same in the whole bucket make room for the event's place in it, so no two keys
        // are equal. Of events that are alike, the oldest one stands last.
        let place_bits = Event::KEY_BITS - self.shift;
        let last = (1 << place_bits) - 1;
        if self.crowd.len() > last {
            swap(sorted, &mut self.crowd);
            sorted.reverse();
            return sorted.sort_by_key(Event::key);
        }
        self.keys.clear();
        let key = |(place, event): (usize, &Event)| event.key() << place_bits | (last - place) as u64;
        self.keys.extend(self.crowd.iter().enumerate().map(key));
        self.keys.sort_unstable();
        sorted.clear();
        sorted.extend(self.keys.iter().map(|key| self.crowd[last - (*key as usize & last)]));
    }
}

/// Moves the events of a bucket in their order to `sorted`, unless there are too many.
#[inline(always)]
fn sort_some<L: Lane>(
    lanes: &mut Lanes<L>,
    entity_end: u32,
    chunks: &Chunks,
    bucket: Bucket,
    sorted: &mut Vec<Event>,
) -> bool {
    let (free, mut full) = chunks.of(bucket);
    let mut used = 0;
    for (lanes, events) in lanes[..FEW].iter_mut().zip(&mut full) {
        for (place, (lane, event)) in lanes.iter_mut().zip(events).enumerate() {
            // Of events that are alike the oldest one, which stands last, is to be the first.
            *lane = L::of(event, entity_end, FEW * CHUNK - 1 - used * CHUNK - place);
        }
        used += 1;
    }
    if full.next().is_some() {
        return false;
    }
    lanes[used][0] = L::END;
    sorted.resize(used * CHUNK - free, Event::BLANK);
    match used {
        1 => sort_few::<L, 1>(lanes, chunks, bucket, sorted),
        2 => sort_few::<L, 2>(lanes, chunks, bucket, sorted),
        3 => sort_few::<L, 3>(lanes, chunks, bucket, sorted),
        _ => sort_few::<L, FEW>(lanes, chunks, bucket, sorted),
    }
    true
}

/// Moves the events of so many chunks in their order to `sorted`. Unlike a sort, this has no branch whose way nobody can
/// guess.
#[inline(always)]
fn sort_few<L: Lane, const USED: usize>(
    lanes: &Lanes<L>,
    chunks: &Chunks,
    bucket: Bucket,
    sorted: &mut [Event],
) {
    let (mut free, events) = chunks.of(bucket);
    let before: [[u32; CHUNK]; USED] = L::count_before(lanes, free);
    for (before, events) in before.iter().zip(events) {
        for (before, event) in before[free..].iter().zip(&events[free..]) {
            sorted[*before as usize] = *event;
        }
        free = 0;
    }
}

/// Puts very few events in order. Those of equal keys stay in theirs.
#[inline]
fn insert_in_order(events: &mut [Event]) {
    for end in 1..events.len() {
        for at in (1..=end).rev() {
            if events[at - 1].key() <= events[at].key() {
                break;
            }
            events.swap(at - 1, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::EventKind;
    use super::super::ring::Ring;
    use super::*;
    use clearway_topology::PortId;
    use clearway_units::Time;
    use proptest::prelude::*;

    /// Sorts events of one bucket, which are numbered in the order in which they were scheduled.
    fn sorted(shift: u32, entities: usize, events: &[Event]) -> Vec<(u128, EventKind)> {
        let (mut ring, mut chunks, mut sorted): (Ring<64, 1>, _, _) =
            (Ring::new(), Chunks::new(), Vec::new());
        // What lies there from earlier buckets must not matter.
        sorted.resize(5, Event::BLANK);
        events.iter().for_each(|event| ring.put(&mut chunks, 7, *event));
        Sorter::new(shift, entities).sort(&mut chunks, ring.take(7), &mut sorted);
        assert_eq!(chunks.iter(ring.get(7)).count(), 0);
        sorted.iter().map(|event| (event.rank(), event.kind())).collect()
    }

    #[test]
    fn keys_of_32_bits_that_are_all_in_use_put_events_in_order_and_longer_ones_are_not_short() {
        // 13 bits of time, one for the class, 13 for the entity, and five for the place.
        let (shift, entities): (u32, usize) = (13, (1 << 13) - 1);
        let end = |shift| Sorter::new(shift, entities).entity_end;
        assert_eq!([shift, shift + 1].map(end), [Some(18), None]);
        let (last, ends) =
            (entities as u32 - 1, [0, (1 << (shift - 1)) - 1, 1 << (shift - 1), (1 << shift) - 1]);
        let each = |at| {
            [0, last].map(|entity| Event::new(Time::from_ps(at), entity, EventKind::Wake(PortId(entity))))
        };
        let mut events: Vec<Event> = ends.into_iter().flat_map(each).collect();
        events.reverse();
        let ranks: Vec<u128> = sorted(shift, entities, &events).iter().map(|event| event.0).collect();
        assert!(ranks.is_sorted() && ranks.len() == 8, "{ranks:?}");
    }

    proptest! {
        #[test]
        fn buckets_of_any_size_are_put_in_order_and_equal_events_stay_in_theirs(
            shift in 0u32..30,
            entity_bits in 0u32..27,
            bucket in 0u64..1 << 30,
            draws in prop::collection::vec((any::<u64>(), any::<u32>(), any::<bool>()), 1..100),
        ) {
            let entities = 1 << entity_bits;
            let numbered = draws.iter().zip(0..).map(|(&(time, entity, is_timer), number)| {
                // The ends of both ranges are as likely as all between them.
                let at = [0, u64::MAX, time][time as usize % 3] & ((1 << shift) - 1);
                let entity = [0, u32::MAX, entity][entity as usize % 3] & (entities - 1);
                let port = PortId(number);
                let kind = if is_timer { EventKind::Wake(port) } else { EventKind::Pause(port) };
                Event::new(Time::from_ps(bucket << shift | at), entity, kind)
            });
            let numbered: Vec<Event> = numbered.collect();
            let mut expected = numbered.clone();
            expected.sort_by_key(Event::rank);
            let expected: Vec<_> = expected.iter().map(|event| (event.rank(), event.kind())).collect();
            prop_assert_eq!(sorted(shift, entities as usize, &numbered), expected);
        }
    }
}
