//! A ring of buckets of events, which lie in chunks of an arena.

use super::event::Event;

/// The number of events of a chunk, as a power of two.
const CHUNK_BITS: u32 = 3;

/// The number of events of a chunk.
pub const CHUNK: usize = 1 << CHUNK_BITS;

/// A bucket of unsorted events: the number of its newest chunk above the number of places that are free there. Zero is the
/// empty bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket(u32);

/// Room for events of one bucket: two cache lines. It is filled from its end, so that events stand in it from the newest
/// one to the oldest.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Chunk([Event; CHUNK]);

/// The arena of chunks. Buckets share it, so that a chunk that one has left is soon written again, by whichever bucket
/// needs it, while it still lies in the cache.
pub struct Chunks {
    /// The chunks; the first one is never used, so that no bucket has the number 0.
    chunks: Vec<Chunk>,
    /// For each chunk, the one that its bucket filled before, or the next one that is in no bucket; 0 if there is none.
    older: Vec<u32>,
    /// The first of the chunks that are in no bucket; 0 if there is none.
    free: u32,
}

impl Chunks {
    /// Returns an arena in which nothing is used.
    pub fn new() -> Chunks {
        Chunks { chunks: vec![Chunk::EMPTY], older: vec![0], free: 0 }
    }

    /// Returns the number of chunks, whether or not they are used.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Puts an event into a bucket whose newest chunk has a free place.
    #[inline]
    fn put(&mut self, bucket: &mut Bucket, event: Event) {
        bucket.0 -= 1;
        let (number, place) = bucket.parts();
        self.chunks[number].0[place] = event;
    }

    /// Puts an event into a bucket that has no free place.
    #[inline(always)]
    fn extend(&mut self, bucket: &mut Bucket, event: Event) {
        let older = bucket.0 >> CHUNK_BITS;
        let number = self.free as usize;
        self.free = std::mem::replace(&mut self.older[number], older);
        *bucket = Bucket((number as u32) << CHUNK_BITS | (CHUNK as u32 - 1));
        self.chunks[number].0[CHUNK - 1] = event;
    }

    /// Makes room for a chunk more, where all are in buckets.
    #[cold]
    fn grow(&mut self) {
        let number = self.chunks.len() as u32;
        assert!(number <= u32::MAX >> CHUNK_BITS, "more than four billion events are pending");
        self.chunks.push(Chunk::EMPTY);
        self.older.push(0);
        self.free = number;
    }

    /// Returns the chunks of a bucket, the newest one first. The number of places that are free in that one comes
    /// besides.
    #[inline]
    pub fn of(&self, bucket: Bucket) -> (usize, impl Iterator<Item = &[Event; CHUNK]>) {
        let (newest, free) = bucket.parts();
        (free, Older { chunks: self, next: newest })
    }

    /// Returns the events of a bucket, the newest one first, if they lie in one chunk.
    #[inline]
    pub fn lone(&self, bucket: Bucket) -> Option<&[Event]> {
        let (number, free) = bucket.parts();
        (self.older[number] == 0).then(|| &self.chunks[number].0[free..])
    }

    /// Shows the events of a bucket, the newest one first: faster than [`Chunks::iter`].
    #[inline]
    pub fn each(&self, bucket: Bucket, mut see: impl FnMut(&Event)) {
        let (mut free, chunks) = self.of(bucket);
        for events in chunks {
            events[std::mem::take(&mut free)..].iter().for_each(&mut see);
        }
    }

    /// Returns the events of a bucket, the newest one first.
    pub fn iter(&self, bucket: Bucket) -> impl Iterator<Item = &Event> {
        let (free, chunks) = self.of(bucket);
        chunks.flatten().skip(free)
    }

    /// Empties a bucket, of which [`Chunks::of`] has shown what was in it.
    #[inline(always)]
    pub fn clear(&mut self, bucket: &mut Bucket) {
        let (newest, _) = std::mem::replace(bucket, Bucket::EMPTY).parts();
        let mut oldest = newest;
        while self.older[oldest] != 0 {
            oldest = self.older[oldest] as usize;
        }
        self.older[oldest] = std::mem::replace(&mut self.free, newest as u32);
    }

    /// Takes the events of a bucket, the oldest one first. For each of them the caller may put others.
    pub fn spread(&mut self, bucket: &mut Bucket, mut put: impl FnMut(&mut Chunks, Event)) {
        let (mut number, free) = std::mem::replace(bucket, Bucket::EMPTY).parts();
        let mut oldest = 0;
        while number != 0 {
            let older = std::mem::replace(&mut self.older[number], oldest);
            oldest = number as u32;
            number = older as usize;
        }
        while oldest != 0 {
            let Chunk(events) = self.chunks[oldest as usize];
            let newer = std::mem::replace(&mut self.older[oldest as usize], self.free);
            self.free = oldest;
            // The newest chunk, which comes last, is the only one that may have places left.
            let free = if newer == 0 { free } else { 0 };
            events[free..].iter().rev().for_each(|event| put(self, *event));
            oldest = newer;
        }
    }
}

/// Goes over the chunks of a bucket, from one to the older one.
struct Older<'a> {
    chunks: &'a Chunks,
    /// The number of the next chunk; 0 if there is none.
    next: usize,
}

impl<'a> Iterator for Older<'a> {
    type Item = &'a [Event; CHUNK];

    #[inline(always)]
    fn next(&mut self) -> Option<&'a [Event; CHUNK]> {
        let number = self.next;
        if number == 0 {
            return None;
        }
        self.next = self.chunks.older[number] as usize;
        Some(&self.chunks.chunks[number].0)
    }
}

impl Chunk {
    const EMPTY: Chunk = Chunk([Event::BLANK; CHUNK]);
}

impl Bucket {
    /// The bucket without events.
    pub const EMPTY: Bucket = Bucket(0);

    /// Returns whether the newest chunk has no free place, or there is none.
    #[inline]
    fn is_full(self) -> bool {
        self.parts().1 == 0
    }

    /// Returns the number of the newest chunk, and of its places that are free.
    #[inline]
    fn parts(self) -> (usize, usize) {
        ((self.0 >> CHUNK_BITS) as usize, self.0 as usize % CHUNK)
    }
}

/// Buckets of unsorted events. They are numbered from the start of time; at any time events lie in at most `N`
/// neighbouring ones, of which number `n` stands at `n` modulo `N`. `N` is a power of two, and `WORDS` is `N / 64`.
pub struct Ring<const N: usize, const WORDS: usize> {
    buckets: Box<[Bucket; N]>,
    /// A bit for each bucket, set while it holds events.
    occupied: [u64; WORDS],
}

impl<const N: usize, const WORDS: usize> Ring<N, WORDS> {
    const CHECKED: () = assert!(N.is_power_of_two() && N == WORDS * 64);

    /// Returns a ring without events.
    pub fn new() -> Ring<N, WORDS> {
        let () = Self::CHECKED;
        Ring { buckets: Box::new([Bucket::EMPTY; N]), occupied: [0; WORDS] }
    }

    /// Returns the buckets that hold events, in no meaningful order.
    pub fn iter(&self) -> impl Iterator<Item = Bucket> {
        self.buckets.iter().copied().filter(|bucket| *bucket != Bucket::EMPTY)
    }

    /// Shows the buckets that hold events, from `from` to before `end`. All events lie from bucket `from` on, and `end` is
    /// at most `N` behind it.
    pub fn each_before(&self, from: u64, end: u64, mut see: impl FnMut(Bucket)) {
        let mut next = from;
        while let Some(bucket) = self.first(next).filter(|bucket| *bucket < end) {
            see(self.get(bucket));
            next = bucket + 1;
        }
    }

    /// Puts an event into a bucket.
    #[inline(always)]
    pub fn put(&mut self, chunks: &mut Chunks, number: u64, event: Event) {
        let bucket = &mut self.buckets[number as usize % N];
        if bucket.is_full() {
            self.extend(chunks, number, event);
        } else {
            chunks.put(bucket, event);
        }
    }

    #[inline(never)]
    fn extend(&mut self, chunks: &mut Chunks, number: u64, event: Event) {
        if chunks.free == 0 {
            return self.extend_anew(chunks, number, event);
        }
        let place = number as usize % N;
        self.occupied[place / 64] |= 1 << (place % 64);
        chunks.extend(&mut self.buckets[place], event);
    }

    /// As [`Ring::extend`], where no chunk is free.
    #[cold]
    #[inline(never)]
    fn extend_anew(&mut self, chunks: &mut Chunks, number: u64, event: Event) {
        chunks.grow();
        self.extend(chunks, number, event);
    }

    /// Returns a bucket.
    #[inline]
    pub fn get(&self, bucket: u64) -> Bucket {
        self.buckets[bucket as usize % N]
    }

    /// Gives a bucket to the caller, who takes all that is in it.
    #[inline]
    pub fn take(&mut self, bucket: u64) -> &mut Bucket {
        let place = bucket as usize % N;
        self.occupied[place / 64] &= !(1 << (place % 64));
        &mut self.buckets[place]
    }

    /// Returns the number of the first bucket that holds events, which all lie from bucket `from` on.
    #[inline]
    pub fn first(&self, from: u64) -> Option<u64> {
        let start = from as usize % N;
        let near = self.occupied[start / 64] >> (start % 64);
        if near != 0 {
            return Some(from + u64::from(near.trailing_zeros()));
        }
        self.first_behind(from)
    }

    /// As [`Ring::first`], where no bucket of the same word holds events from `from` on.
    #[inline(never)]
    fn first_behind(&self, from: u64) -> Option<u64> {
        // The words after the first one, and last those of its bits that lie before the start.
        let start = from as usize % N;
        let base = from - (start % 64) as u64;
        (1..=WORDS).find_map(|step| {
            let bits = self.occupied[(start / 64 + step) % WORDS];
            (bits != 0).then(|| base + step as u64 * 64 + u64::from(bits.trailing_zeros()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::EventKind;
    use super::*;
    use clearway_topology::PortId;
    use clearway_units::Time;

    fn event(number: u32) -> Event {
        Event::new(Time::ZERO, 0, EventKind::Wake(PortId(number)))
    }

    fn numbers<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<u32> {
        let number = |event: &Event| match event.kind() {
            EventKind::Wake(PortId(number)) => number,
            other => panic!("{other:?} was not put there"),
        };
        events.map(number).collect()
    }

    #[test]
    fn the_first_bucket_is_found_wherever_the_ring_begins() {
        for from in [0, 1, 63, 64, 100, 127, 1000] {
            for ahead in [0, 1, 5, 63, 64, 100, 127] {
                let (mut ring, mut chunks): (Ring<128, 2>, _) = (Ring::new(), Chunks::new());
                assert_eq!(ring.first(from), None);
                ring.put(&mut chunks, from + ahead, event(7));
                assert_eq!((ring.first(from), ring.iter().count()), (Some(from + ahead), 1));
                let seen = |end| {
                    let mut seen = 0;
                    ring.each_before(from, end, |bucket| seen += chunks.iter(bucket).count());
                    seen
                };
                assert_eq!((seen(from + ahead), seen(from + ahead + 1), seen(from + 128)), (0, 1, 1));
                chunks.clear(ring.take(from + ahead));
                assert_eq!((ring.first(from), ring.iter().count()), (None, 0));
            }
        }
    }

    #[test]
    fn a_bucket_shows_its_events_from_the_newest_to_the_oldest_however_many_there_are() {
        for count in 1..40 {
            let (mut ring, mut chunks): (Ring<64, 1>, _) = (Ring::new(), Chunks::new());
            for number in 0..count {
                ring.put(&mut chunks, 3, event(number));
                ring.put(&mut chunks, 4, event(100 + number));
            }
            let of = |bucket| numbers(chunks.iter(ring.get(bucket)));
            assert_eq!(of(3), (0..count).rev().collect::<Vec<_>>());
            let mut seen = Vec::new();
            chunks.each(ring.get(3), |event| seen.push(*event));
            assert_eq!(numbers(seen.iter()), of(3));
            assert_eq!(of(4), (100..100 + count).rev().collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_events_of_a_bucket_are_spread_over_others_in_the_order_in_which_they_came() {
        for count in 1..40 {
            let (mut from, mut to, mut chunks): (Ring<64, 1>, Ring<64, 1>, _) =
                (Ring::new(), Ring::new(), Chunks::new());
            (0..count).for_each(|number| from.put(&mut chunks, 0, event(number)));
            let mut order = 0..count;
            chunks.spread(from.take(0), |chunks, event| {
                to.put(chunks, u64::from(order.next().unwrap() % 3), event)
            });
            for bucket in 0..3 {
                let expected: Vec<u32> = (0..count).rev().filter(|number| number % 3 == bucket).collect();
                assert_eq!(numbers(chunks.iter(to.get(u64::from(bucket)))), expected);
            }
        }
    }

    #[test]
    fn a_chunk_that_a_bucket_has_left_is_used_again() {
        let (mut ring, mut chunks): (Ring<64, 1>, _) = (Ring::new(), Chunks::new());
        for bucket in 0..100 {
            (0..20).for_each(|number| ring.put(&mut chunks, bucket, event(number)));
            chunks.clear(ring.take(bucket));
        }
        assert_eq!(
            chunks.chunks.len(),
            1 + 20usize.div_ceil(CHUNK),
            "one that is never used, and those of one bucket"
        );
    }
}
