//! The hash by which switches choose next hops in the ExpressPass authors' ns-2 code (ns2-xpass): the first number of
//! the C library's random generator, seeded with the value to be hashed.

/// Returns the first number that `rand()` of the GNU C library gives after `srand(seed)`.
///
/// The generator starts with 31 words of a linear generator with the multiplier 16807. Each further word is the sum
/// of those 3 and 31 places before it, and the first 310 of them are discarded.
fn rand_after_srand(seed: u32) -> u32 {
    const DEGREE: usize = 31;
    const OUTPUT: usize = 344;
    let mut words = [0u32; OUTPUT + 1];
    words[0] = seed.max(1);
    for i in 1..DEGREE {
        words[i] = (16807 * words[i - 1] as u64 % 0x7fff_ffff) as u32;
    }
    words.copy_within(0..3, DEGREE);
    for i in DEGREE + 3..=OUTPUT {
        words[i] = words[i - DEGREE].wrapping_add(words[i - 3]);
    }
    words[OUTPUT] >> 1
}

/// Returns the hash that a switch of tier `tier` (2 for a ToR, 3 for an aggregation switch) computes of a flow's
/// number and of the lower and higher number of its two hosts.
pub fn hash(flow: u32, tier: u32, lower: u32, higher: u32) -> u64 {
    let mixed = [flow, tier, lower, higher].into_iter().fold(0, |mixed, part| mixed ^ rand_after_srand(part));
    rand_after_srand(mixed).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_numbers_of_the_gnu_c_library() {
        for (seed, first) in
            [(0, 1804289383), (1, 1804289383), (2, 1505335290), (42, 71876166), (2147483647, 1065668062)]
        {
            assert_eq!(rand_after_srand(seed), first, "{seed}");
        }
    }

    #[test]
    fn the_hash_gives_the_numbers_of_the_authors_classifier() {
        assert_eq!(hash(17, 2, 3, 190), 2107691965);
        assert_eq!(hash(17, 3, 3, 190), 553971894);
    }
}
