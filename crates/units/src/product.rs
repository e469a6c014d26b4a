//! Products that mostly fit into 64 bits.

/// Answers whether the product of two numbers surely fits into 64 bits. WebAssembly has no multiplication that tells, and
/// calls a function that computes 128 bits; elsewhere the processor's own is faster than this look.
#[inline(always)]
const fn surely_fits(a: u64, b: u64) -> bool {
    cfg!(target_family = "wasm") && a.leading_zeros() + b.leading_zeros() >= u64::BITS
}

/// The product of two numbers, if it fits into 64 bits.
#[inline]
pub const fn product(a: u64, b: u64) -> Option<u64> {
    if surely_fits(a, b) { Some(a * b) } else { a.checked_mul(b) }
}

/// The product of two numbers.
#[inline]
pub const fn wide_product(a: u64, b: u64) -> u128 {
    if surely_fits(a, b) { (a * b) as u128 } else { a as u128 * b as u128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_exact_at_the_ends_of_64_bits() {
        for (a, b) in
            [(0, u64::MAX), (1, u64::MAX), (2, 1 << 63), (1 << 32, 1 << 32), (u32::MAX.into(), 1 << 32)]
        {
            let exact = u128::from(a) * u128::from(b);
            assert_eq!(wide_product(a, b), exact);
            assert_eq!(product(a, b), u64::try_from(exact).ok());
        }
    }
}
