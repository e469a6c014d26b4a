//! Putting the events of a bucket in order.

use super::event::Event;
use super::ring::{Bucket, CHUNK, Chunks};
use clearway_units::sort_by_key;
use std::collections::BinaryHeap;
use std::mem::{swap, take};

/// The number of chunks whose events are put in order by counting, for each, how many come before it.
const FEW: usize = 4;

const _: () = assert!(FEW * CHUNK == 1 << Event::SHORT_KEY_CLEAR, "a short key has room for the place");

/// The most events for which such counting does not pay.
const LONE: usize = 3;

/// A number for each event of a chunk.
type Lanes = [i32; CHUNK];

/// The number behind the keys of a few events, which is no key.
const END: i32 = i32::MAX;

/// Puts the events of buckets in order. An entity's events for one time stay in the order in which it scheduled them.
pub struct Sorter {
    /// The width of a bucket, as a power of two: 2^shift picoseconds.
    shift: u32,
    /// The end of the entity in [`Event::short_key`], if such keys have room for the entities and the times of a bucket.
    entity_end: Option<u32>,
    /// The keys of a few events, with [`END`] behind them.
    short: [Lanes; FEW + 1],
    /// The events of a crowded bucket, and their keys.
    crowd: Vec<Event>,
    keys: Vec<u64>,
}

impl Sorter {
    /// A sorter of buckets that are 2^shift picoseconds wide and hold events of so many entities.
    pub fn new(shift: u32, entities: usize) -> Sorter {
        let fits = Sorter::widest(entities).is_some_and(|widest| shift <= widest);
        let entity_end = fits.then_some(Sorter::entity_end(entities));
        let short = [[END; CHUNK]; FEW + 1];
        Sorter { shift, entity_end, short, crowd: Vec::new(), keys: Vec::new() }
    }

    /// The greatest width of buckets, as a power of two, at which a few events of so many entities are put in order without
    /// a branch. In wider buckets that costs more, however few they are. With very many entities there is no such width.
    pub fn widest(entities: usize) -> Option<u32> {
        // The time stands above a bit for the class and below one that is the same in the whole bucket, for the sign.
        (i32::BITS - 2).checked_sub(Sorter::entity_end(entities))
    }

    /// The end of the entity in [`Event::short_key`].
    fn entity_end(entities: usize) -> u32 {
        // No entity has the number whose bits are all set, so that no key is the end.
        (entities + 1).next_power_of_two().trailing_zeros() + Event::SHORT_KEY_CLEAR
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
        let (free, mut full) = chunks.of(*bucket);
        let mut used = 0;
        if let Some(entity_end) = self.entity_end {
            for (keys, events) in self.short[..FEW].iter_mut().zip(&mut full) {
                for (lane, (key, event)) in keys.iter_mut().zip(events).enumerate() {
                    // Of equal keys the oldest one, which stands last, is to be the smallest.
                    *key =
                        event.short_key(entity_end) as i32 | (FEW * CHUNK - 1 - used * CHUNK - lane) as i32;
                }
                used += 1;
            }
        }
        let is_crowded = full.next().is_some();
        drop(full);
        if is_crowded {
            return self.sort_crowd(chunks, bucket, sorted);
        }
        self.short[used][0] = END;
        sorted.resize(used * CHUNK - free, Event::BLANK);
        match used {
            1 => self.sort_few::<1>(chunks, *bucket, sorted),
            2 => self.sort_few::<2>(chunks, *bucket, sorted),
            3 => self.sort_few::<3>(chunks, *bucket, sorted),
            _ => self.sort_few::<FEW>(chunks, *bucket, sorted),
        }
        chunks.clear(bucket);
    }

    /// Moves the events of so many chunks in their order to `sorted`. Unlike a sort, this has no branch whose way nobody
    /// can guess.
    #[inline]
    fn sort_few<const USED: usize>(&self, chunks: &Chunks, bucket: Bucket, sorted: &mut [Event]) {
        let (mut free, events) = chunks.of(bucket);
        let keys: [Lanes; USED] = std::array::from_fn(|chunk| self.short[chunk]);
        let mut before = [[0; CHUNK]; USED];
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        for (before, keys) in before.iter_mut().zip(keys) {
            *before = count_before(keys, &self.short.as_flattened()[free..]);
        }
        #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
        {
            // The end of this loop is a key: a loop over a length would be compiled to compare one event with several
            // others at a time, and to add up the results event by event.
            let mut others = self.short.as_flattened()[free..].iter();
            while let Some(&other) = others.next()
                && other != END
            {
                for (before, key) in before.as_flattened_mut().iter_mut().zip(keys.as_flattened()) {
                    *before += u32::from(other < *key);
                }
            }
        }
        for (before, events) in before.iter().zip(events) {
            for (before, event) in before[free..].iter().zip(&events[free..]) {
                sorted[*before as usize] = *event;
            }
            free = 0;
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
            return sort_by_key(sorted, Event::key);
        }
        self.keys.clear();
        let key = |(place, event): (usize, &Event)| event.key() << place_bits | (last - place) as u64;
        self.keys.extend(self.crowd.iter().enumerate().map(key));
        if cfg!(target_family = "wasm") {
            // A heap needs less code, and buckets are seldom crowded in networks that a page shows.
            self.keys = BinaryHeap::from(take(&mut self.keys)).into_sorted_vec();
        } else {
            self.keys.sort_unstable();
        }
        sorted.clear();
        sorted.extend(self.keys.iter().map(|key| self.crowd[last - (*key as usize & last)]));
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

/// For each key of a chunk, how many of `others` are smaller, of which those up to the first [`END`] count. The engine in
/// WebAssembly is compiled for its size, so that the compiler would make no vectors of a loop over lanes.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline]
fn count_before([a, b, c, d, e, f, g, h]: Lanes, others: &[i32]) -> [u32; CHUNK] {
    use std::arch::wasm32::{i32x4, i32x4_lt, i32x4_splat, i32x4_sub, u32x4_extract_lane as lane};
    let (low, high) = (i32x4(a, b, c, d), i32x4(e, f, g, h));
    let (mut below_low, mut below_high) = (i32x4_splat(0), i32x4_splat(0));
    for &other in others.iter().take_while(|&&other| other != END) {
        let other = i32x4_splat(other);
        // A lane in which a comparison holds is -1.
        below_low = i32x4_sub(below_low, i32x4_lt(other, low));
        below_high = i32x4_sub(below_high, i32x4_lt(other, high));
    }
    let (low, high) = (below_low, below_high);
    [
        lane::<0>(low),
        lane::<1>(low),
        lane::<2>(low),
        lane::<3>(low),
        lane::<0>(high),
        lane::<1>(high),
        lane::<2>(high),
        lane::<3>(high),
    ]
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
