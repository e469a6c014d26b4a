//! Products that mostly fit into 64 bits.

/// Set where a look at the factors comes first. WebAssembly has no multiplication that tells whether its product fits, and
/// calls a function that computes 128 bits; elsewhere the processor's own is faster than the look.
const LOOKS: bool = cfg!(target_family = "wasm");

/// Returns whether the product of two numbers surely fits into 64 bits.
#[inline(always)]
const fn surely_fits(a: u64, b: u64) -> bool {
    a.leading_zeros() + b.leading_zeros() >= u64::BITS
}

/// Returns the product of two numbers, if it fits into 64 bits.
#[inline]
pub const fn product(a: u64, b: u64) -> Option<u64> {
    product_by::<LOOKS>(a, b)
}

/// Returns the product of two numbers.
#[inline]
pub const fn wide_product(a: u64, b: u64) -> u128 {
    wide_product_by::<LOOKS>(a, b)
}

#[inline(always)]
const fn product_by<const LOOKS: bool>(a: u64, b: u64) -> Option<u64> {
    if LOOKS && surely_fits(a, b) { Some(a * b) } else { a.checked_mul(b) }
}

#[inline(always)]
const fn wide_product_by<const LOOKS: bool>(a: u64, b: u64) -> u128 {
    if LOOKS && surely_fits(a, b) { (a * b) as u128 } else { a as u128 * b as u128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const U32: u64 = u32::MAX as u64;

    #[test]
    fn products_are_exact_at_the_ends_of_64_bits_with_a_look_and_without() {
        let large = [(0, u64::MAX), (1, u64::MAX), (2, 1 << 63), (1 << 32, 1 << 32), (U32, 1 << 32)];
        // The last two have 63 and 64 leading zeros together.
        let even = [(3, 5), (1 << 31, 1 << 32), (2 * U32 + 1, U32), (U32, U32)];
        for (a, b) in large.into_iter().chain(even) {
            let exact = u128::from(a) * u128::from(b);
            assert_eq!([product_by::<true>(a, b), product_by::<false>(a, b)], [u64::try_from(exact).ok(); 2]);
            assert_eq!([wide_product_by::<true>(a, b), wide_product_by::<false>(a, b)], [exact; 2]);
            assert_eq!((product(a, b), wide_product(a, b)), (u64::try_from(exact).ok(), exact));
        }
    }

    #[test]
    fn the_look_knows_that_factors_of_64_digits_together_fit_and_gives_up_at_65() {
        assert!(surely_fits(U32, U32) && surely_fits(1, u64::MAX >> 1) && surely_fits(0, u64::MAX));
        assert!(!surely_fits(U32, 1 << 32), "this one fits, but the look can't tell");
        assert!(!surely_fits(2 * U32 + 1, U32) && !surely_fits(2, u64::MAX));
    }
}
