//! Numbers in the order of a few events, and how many of them are smaller than each.

use super::event::Event;
use super::ring::CHUNK;

/// The number of chunks whose events are put in order by counting, for each, how many come before it.
pub const FEW: usize = 4;

const _: () = assert!(FEW * CHUNK == 1 << Event::SHORT_KEY_CLEAR, "a number has room for the place");

/// The numbers of the events of a few chunks, with [`Lane::END`] behind them.
pub type Lanes<L> = [[L; CHUNK]; FEW + 1];

/// A number whose order is that of events.
pub trait Lane: Copy + PartialOrd {
    /// The number behind those of events.
    const END: Self;

    /// Returns the number of an event. Of events that are alike the one of the lower place comes first.
    fn of(event: &Event, entity_end: u32, place: usize) -> Self;

    /// For each number of the first `USED` chunks, how many of those from `from` on are smaller.
    #[inline(always)]
    fn count_before<const USED: usize>(lanes: &Lanes<Self>, from: usize) -> [[u32; CHUNK]; USED] {
        let mut before = [[0; CHUNK]; USED];
        for &other in lanes.as_flattened()[from..].iter().take_while(|other| **other != Self::END) {
            for (before, key) in before.as_flattened_mut().iter_mut().zip(lanes.as_flattened()) {
                *before += u32::from(other < *key);
            }
        }
        before
    }
}

/// The number of an event in narrow buckets of networks that are not large: [`Event::short_key`] and the place. All 32 bits may be
/// in use, so that half of the numbers are negative.
impl Lane for i32 {
    const END: i32 = i32::MAX;

    #[inline(always)]
    fn of(event: &Event, entity_end: u32, place: usize) -> i32 {
        // The bits of the place are clear in the key: one instruction sets them and the sign.
        event.short_key(entity_end) as i32 ^ (place as i32 ^ i32::MIN)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    #[allow(unsafe_code)]
    fn count_before<const USED: usize>(lanes: &Lanes<i32>, from: usize) -> [[u32; CHUNK]; USED] {
        // SAFETY: every processor of this kind has SSE2.
        unsafe { vectors::count_short(lanes, from) }
    }
}

/// The bits of a floating-point number that hold a whole one.
const WHOLE_BITS: u32 = f64::MANTISSA_DIGITS - 1;

/// The greatest width of buckets, as a power of two, whose events a floating-point number puts in order.
pub const WIDEST: u32 = WHOLE_BITS - Event::SHORT_KEY_CLEAR - (u64::BITS - Event::KEY_BITS);

/// The number of an event as a whole number from 2^52 on: vector instructions of every processor compare floating-point
/// numbers of 64 bits, and those of many do not compare integers of 64 bits.
impl Lane for f64 {
    const END: f64 = f64::INFINITY;

    #[inline(always)]
    fn of(event: &Event, _: u32, place: usize) -> f64 {
        const FROM: u64 = ((1u64 << WHOLE_BITS) as f64).to_bits();
        f64::from_bits(FROM | event.long_key(WHOLE_BITS) | place as u64)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    #[allow(unsafe_code)]
    fn count_before<const USED: usize>(lanes: &Lanes<f64>, from: usize) -> [[u32; CHUNK]; USED] {
        // SAFETY: every processor of this kind has SSE2.
        unsafe { vectors::count_long(lanes, from) }
    }
}

/// The same with vectors that are written out: whether the compiler makes them of a loop depends on the code around.
#[cfg(target_arch = "x86_64")]
mod vectors {
    use super::{CHUNK, Lane, Lanes};
    use std::arch::x86_64::*;
    use std::array::from_fn;

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn count_short<const USED: usize>(lanes: &Lanes<i32>, from: usize) -> [[u32; CHUNK]; USED] {
        let (mut low, mut high) = ([_mm_setzero_si128(); USED], [_mm_setzero_si128(); USED]);
        let mut others = lanes.as_flattened()[from..].iter();
        while let Some(&other) = others.next()
            && other != i32::END
        {
            let other = _mm_set1_epi32(other);
            for chunk in 0..USED {
                let [a, b, c, d, e, f, g, h] = lanes[chunk];
                // A lane in which a comparison holds is -1.
                low[chunk] = _mm_sub_epi32(low[chunk], _mm_cmpgt_epi32(_mm_setr_epi32(a, b, c, d), other));
                high[chunk] = _mm_sub_epi32(high[chunk], _mm_cmpgt_epi32(_mm_setr_epi32(e, f, g, h), other));
            }
        }
        from_fn(|chunk| {
            let halves = [halves(low[chunk]), halves(high[chunk])];
            from_fn(|lane| (halves[lane / 4][lane / 2 % 2] >> (32 * (lane % 2))) as u32)
        })
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn count_long<const USED: usize>(lanes: &Lanes<f64>, from: usize) -> [[u32; CHUNK]; USED] {
        let mut before = [[_mm_setzero_si128(); CHUNK / 2]; USED];
        let mut others = lanes.as_flattened()[from..].iter();
        while let Some(&other) = others.next()
            && other != f64::END
        {
            let other = _mm_set1_pd(other);
            // Written out: iterators over both are a call where the compiler does not inline them.
            for chunk in 0..USED {
                let [a, b, c, d, e, f, g, h] = lanes[chunk];
                let pairs = [_mm_setr_pd(a, b), _mm_setr_pd(c, d), _mm_setr_pd(e, f), _mm_setr_pd(g, h)];
                for pair in 0..CHUNK / 2 {
                    let is_before = _mm_castpd_si128(_mm_cmplt_pd(other, pairs[pair]));
                    before[chunk][pair] = _mm_sub_epi64(before[chunk][pair], is_before);
                }
            }
        }
        from_fn(|chunk| {
            let [a, b, c, d] = before[chunk];
            let halves = [halves(a), halves(b), halves(c), halves(d)];
            from_fn(|lane| halves[lane / 2][lane % 2] as u32)
        })
    }

    /// Returns the lower and the upper half of a vector.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn halves(vector: __m128i) -> [u64; 2] {
        // Without `map`, which is a call where the compiler does not see that it is one of two.
        [_mm_cvtsi128_si64(vector) as u64, _mm_cvtsi128_si64(_mm_unpackhi_epi64(vector, vector)) as u64]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What [`Lane::count_before`] returns, by the simplest means.
    fn naive<L: Lane, const USED: usize>(lanes: &Lanes<L>, from: usize) -> [[u32; CHUNK]; USED] {
        let others = || lanes.as_flattened()[from..].iter().take_while(|other| **other != L::END);
        std::array::from_fn(|chunk| {
            lanes[chunk].map(|key| others().filter(|other| **other < key).count() as u32)
        })
    }

    /// Numbers in as many chunks, with the end behind them.
    fn lanes<L: Lane>(drawn: &[u32], used: usize, number: impl Fn(u32) -> L) -> Lanes<L> {
        let mut lanes = [[L::END; CHUNK]; FEW + 1];
        for (lane, drawn) in lanes[..used].as_flattened_mut().iter_mut().zip(drawn) {
            *lane = number(*drawn);
        }
        lanes
    }

    proptest! {
        #[test]
        fn vectors_count_as_many_smaller_numbers_as_a_plain_loop(
            drawn in prop::collection::vec(prop_oneof![0u32..5, any::<u32>()], FEW * CHUNK),
            from in 0..CHUNK,
        ) {
            fn check<L: Lane, const USED: usize>(drawn: &[u32], from: usize, number: impl Fn(u32) -> L) -> Result<(), TestCaseError> {
                let lanes = lanes(drawn, USED, number);
                prop_assert_eq!(L::count_before::<USED>(&lanes, from), naive::<L, USED>(&lanes, from));
                Ok(())
            }
            let short = |drawn: u32| (drawn - drawn % 2) as i32;
            let long = |drawn: u32| (1u64 << WHOLE_BITS | u64::from(drawn) << 20) as f64;
            check::<_, 1>(&drawn, from, short)?;
            check::<_, 2>(&drawn, from, short)?;
            check::<_, 3>(&drawn, from, short)?;
            check::<_, 4>(&drawn, from, short)?;
            check::<_, 1>(&drawn, from, long)?;
            check::<_, 2>(&drawn, from, long)?;
            check::<_, 3>(&drawn, from, long)?;
            check::<_, 4>(&drawn, from, long)?;
        }
    }
}
