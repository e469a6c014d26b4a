//! Patterns of senders and receivers that are drawn at random.

use clearway_proto::Rng;

/// Returns for each of `count` hosts the host that it sends to. They form a random cycle, so that no host sends to
/// itself and each receives from one (Sattolo's algorithm). `count` is at least 2.
pub fn random_permutation(count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut to: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        to.swap(last, rng.below(last as u64) as usize);
    }
    to
}

/// Draws two different numbers below `count`, uniformly over all such pairs. `count` is at least 2.
pub fn random_pair(count: usize, rng: &mut Rng) -> (usize, usize) {
    let first = rng.below(count as u64) as usize;
    let second = rng.below(count as u64 - 1) as usize;
    (first, if second >= first { second + 1 } else { second })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_proto::{Entity, Rng};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn in_a_permutation_everybody_receives_once_and_nobody_from_itself(count in 2usize..200, seed: u64) {
            let to = random_permutation(count, &mut Rng::stream(seed, Entity::Traffic, 0));
            let mut seen = vec![false; count];
            for (from, &to) in to.iter().enumerate() {
                prop_assert!(from != to && !std::mem::replace(&mut seen[to], true));
            }
        }

        #[test]
        fn a_random_pair_differs(count in 2usize..200, seed: u64) {
            let (a, b) = random_pair(count, &mut Rng::stream(seed, Entity::Traffic, 0));
            prop_assert!(a != b && a < count && b < count);
        }
    }
}
