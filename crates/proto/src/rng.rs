//! Streams of random numbers, one for each use that an entity of the network makes of them, which the driver of an end
//! passes in.
//!
//! A use has a stream of its own so that a draw more or less in one place moves no draw in another: whether packets are
//! spread over paths, say, has no part in what the protocols of their ends draw.

use clearway_units::Span;
use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// The kind of entity to which a stream belongs, and what it draws from the stream. It is a part of the stream's seed, so
/// that no two entities share one, nor two uses of one entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Entity {
    /// A host, which draws processing delays.
    Host = 1,
    /// An output port, which draws losses and probabilistic marks.
    Port = 2,
    /// The protocol of the sending end of a flow.
    Sender = 3,
    /// The protocol of the receiving end of a flow.
    Receiver = 4,
    /// A traffic entry, which draws sizes, arrival times and pairs of hosts.
    Traffic = 5,
    /// The network as a whole, which draws the keys of flows.
    Network = 6,
    /// The sending end of a flow, which draws the entropy of its packets' tags.
    SenderPath = 7,
    /// The receiving end of a flow, which draws the entropy of its packets' tags.
    ReceiverPath = 8,
    /// The agent of a transport at a host.
    Agent = 9,
}

/// Returns the seed of the stream of entity number `id` under `seed`.
const fn seed_of(seed: u64, entity: Entity, id: u64) -> u64 {
    mix(mix(mix(seed) ^ entity as u64) ^ id)
}

/// A stream of random numbers that belongs to one entity. Many entities never draw any, so the generator is made for
/// the first draw.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rng {
    seed: u64,
    generator: Option<Box<Xoshiro256PlusPlus>>,
}

impl Rng {
    /// Returns the stream of entity number `id` under `seed`. Equal arguments give equal streams.
    pub fn stream(seed: u64, entity: Entity, id: u64) -> Rng {
        Rng { seed: seed_of(seed, entity, id), generator: None }
    }

    /// Returns whether a number has been drawn.
    pub fn has_drawn(&self) -> bool {
        self.generator.is_some()
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        match &mut self.generator {
            Some(generator) => generator.next_u64(),
            None => self.first(),
        }
    }

    /// Makes the generator and returns its first 64 random bits.
    #[cold]
    fn first(&mut self) -> u64 {
        self.generator.insert(Box::new(Xoshiro256PlusPlus::seed_from_u64(self.seed))).next_u64()
    }

    /// Returns a real number, uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns an integer, uniform in `0..bound`; zero if `bound` is zero. (Lemire's multiplication; the bias is below
    /// `bound` / 2^64.)
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((self.bits() as u128 * bound as u128) >> 64) as u64
    }

    /// Returns a span, uniform in `[0, bound]` to the picosecond.
    #[inline]
    pub fn span_up_to(&mut self, bound: Span) -> Span {
        Span::from_ps(self.below(bound.as_ps().saturating_add(1)))
    }

    /// Returns an exponentially distributed number of the given mean. The logarithm is our own library's, since the
    /// platform's may differ in the last bit from one machine to the next.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }
}

/// A stream of random numbers in eight bytes, for an entity that draws little at a time and of which there are many. It is
/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): a sequence of period
/// 2^64, in which every number comes once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SmallRng(u64);

impl SmallRng {
    /// Returns the stream of entity number `id` under `seed`. Equal arguments give equal streams, and no [`Rng`] has the
    /// numbers of any.
    pub const fn stream(seed: u64, entity: Entity, id: u64) -> SmallRng {
        SmallRng(seed_of(seed, entity, id))
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub const fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        bits
    }

    /// Returns the next 16 random bits: an [entropy](crate::Tag::entropy).
    #[inline]
    pub const fn entropy(&mut self) -> u16 {
        (self.bits() >> 48) as u16
    }
}

/// The step of SplitMix64 from one state to the next: 2^64 over the golden ratio, made odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Maps 64 bits one to one without visible structure (the finaliser of SplitMix64), to derive seeds and to hash the
/// keys of flows.
#[inline]
pub const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_entities_differ_and_equal_ones_agree() {
        let first = |entity, id| Rng::stream(7, entity, id).bits();
        assert_eq!(first(Entity::Host, 3), first(Entity::Host, 3));
        assert_ne!(first(Entity::Host, 3), first(Entity::Host, 4));
        assert_ne!(first(Entity::Host, 3), first(Entity::Port, 3));
    }

    #[test]
    fn the_small_stream_is_splitmix64() {
        // The first numbers of the reference implementation (Vigna, splitmix64.c) from the state 1234567.
        let mut rng = SmallRng(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!([(); 5].map(|()| rng.bits()), expected);
        let mut again = SmallRng(1_234_567);
        assert_eq!(again.entropy(), (expected[0] >> 48) as u16, "the highest bits");
    }

    #[test]
    fn the_two_ends_of_a_flow_draw_entropies_apart() {
        let first = |entity| SmallRng::stream(7, entity, 3).bits();
        assert_ne!(first(Entity::SenderPath), first(Entity::ReceiverPath));
        assert_ne!(first(Entity::SenderPath), SmallRng::stream(7, Entity::SenderPath, 4).bits());
    }

    #[test]
    fn unit_and_below_stay_in_range_and_average_to_the_middle() {
        let mut rng = Rng::stream(1, Entity::Traffic, 0);
        let n = 100_000;
        let mean = (0..n).map(|_| rng.unit()).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        let mut counts = [0u32; 9];
        (0..n).for_each(|_| counts[rng.below(9) as usize] += 1);
        assert!(counts.iter().all(|&c| (c as f64 - n as f64 / 9.0).abs() < 500.0), "{counts:?}");
    }

    #[test]
    fn exponential_has_its_mean() {
        let mut rng = Rng::stream(1, Entity::Traffic, 1);
        let mean = (0..100_000).map(|_| rng.exponential(3.0)).sum::<f64>() / 100_000.0;
        assert!((mean - 3.0).abs() < 0.05, "{mean}");
    }
}
