//! A ring of buckets of events.

use super::event::Event;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Buckets of unsorted events. They are numbered from the start of time; at any time events lie in at most `N`
/// neighbouring ones, of which number `n` stands at `n` modulo `N`. `N` is a power of two, and `WORDS` is `N / 64`.
pub struct Ring<const N: usize, const WORDS: usize> {
    buckets: Box<[Vec<Event>; N]>,
    /// A bit for each bucket, set while it holds events.
    occupied: [u64; WORDS],
}

impl<const N: usize, const WORDS: usize> Ring<N, WORDS> {
    const CHECKED: () = assert!(N.is_power_of_two() && N == WORDS * 64);

    /// A ring without events.
    pub fn new() -> Ring<N, WORDS> {
        let () = Self::CHECKED;
        let buckets: Box<[Vec<Event>]> = (0..N).map(|_| Vec::new()).collect();
        Ring { buckets: buckets.try_into().expect("as many as were made"), occupied: [0; WORDS] }
    }

    /// The number of events, counted bucket by bucket.
    pub fn len(&self) -> usize {
        self.buckets.iter().map(Vec::len).sum()
    }

    /// The events of all buckets, in no meaningful order.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        let words = self.occupied.iter().enumerate();
        let places = words.flat_map(|(word, &bits)| {
            let rest = std::iter::successors(Some(bits), |bits| Some(bits & bits.wrapping_sub(1)));
            rest.take_while(|&bits| bits != 0).map(move |bits| word * 64 + bits.trailing_zeros() as usize)
        });
        places.flat_map(|place| &self.buckets[place])
    }

    /// Puts an event into a bucket.
    #[inline]
    pub fn put(&mut self, bucket: u64, event: Event) {
        let place = bucket as usize % N;
        self.buckets[place].push(event);
        self.occupied[place / 64] |= 1 << (place % 64);
    }

    /// The events of a bucket.
    pub fn get(&self, bucket: u64) -> &[Event] {
        &self.buckets[bucket as usize % N]
    }

    /// Gives a bucket to the caller, who takes all that is in it.
    #[inline]
    pub fn take(&mut self, bucket: u64) -> &mut Vec<Event> {
        let place = bucket as usize % N;
        self.occupied[place / 64] &= !(1 << (place % 64));
        &mut self.buckets[place]
    }

    /// The number of the first bucket that holds events, which all lie from bucket `from` on.
    #[inline]
    pub fn first(&self, from: u64) -> Option<u64> {
        let start = from as usize % N;
        let near = self.occupied[start / 64] >> (start % 64);
        if near != 0 {
            return Some(from + u64::from(near.trailing_zeros()));
        }
        // The words after the first one, and last those of its bits that lie before the start.
        let base = from - (start % 64) as u64;
        (1..=WORDS).find_map(|step| {
            let bits = self.occupied[(start / 64 + step) % WORDS];
            (bits != 0).then(|| base + step as u64 * 64 + u64::from(bits.trailing_zeros()))
        })
    }
}

impl<const N: usize, const WORDS: usize> Serialize for Ring<N, WORDS> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.buckets.iter())
    }
}

impl<'de, const N: usize, const WORDS: usize> Deserialize<'de> for Ring<N, WORDS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ring<N, WORDS>, D::Error> {
        let buckets = Vec::<Vec<Event>>::deserialize(deserializer)?.into_boxed_slice();
        let buckets: Box<[Vec<Event>; N]> =
            buckets.try_into().map_err(|_| D::Error::custom(format!("a ring has {N} buckets")))?;
        let mut occupied = [0; WORDS];
        for (place, _) in buckets.iter().enumerate().filter(|(_, bucket)| !bucket.is_empty()) {
            occupied[place / 64] |= 1 << (place % 64);
        }
        Ok(Ring { buckets, occupied })
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::EventKind;
    use super::*;
    use clearway_topology::PortId;
    use clearway_units::Time;

    #[test]
    fn the_first_bucket_is_found_wherever_the_ring_begins() {
        for from in [0, 1, 63, 64, 100, 127, 1000] {
            for ahead in [0, 1, 5, 63, 64, 100, 127] {
                let mut ring: Ring<128, 2> = Ring::new();
                assert_eq!(ring.first(from), None);
                ring.put(from + ahead, Event::new(Time::ZERO, 0, EventKind::Wake(PortId(7))));
                assert_eq!((ring.first(from), ring.len()), (Some(from + ahead), 1));
                ring.take(from + ahead).clear();
                assert_eq!((ring.first(from), ring.len()), (None, 0));
            }
        }
    }
}
