//! Rounding of real numbers to whole ones, which pacers and estimators do for each packet.

/// From this number on, reals have no fraction.
const WHOLE: f64 = (1u64 << 52) as f64;

/// Returns the whole number nearest to `x`, and the larger one of two equally near: `x.round() as u64`, without the call
/// of a library that `round` is on x86-64. A negative number and NaN give zero.
#[inline]
pub(crate) fn nearest(x: f64) -> u64 {
    if !(0.0..WHOLE).contains(&x) {
        return round(x);
    }
    // A sum this large has no fraction: the addition rounds, halves to the even number.
    let sum = x + WHOLE;
    let was_half_above = x - (sum - WHOLE) == 0.5;
    sum.to_bits() - WHOLE.to_bits() + was_half_above as u64
}

#[cold]
fn round(x: f64) -> u64 {
    x.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The reals next to `x`, and `x`.
    fn around(x: f64) -> [f64; 3] {
        [x.next_down(), x, x.next_up()]
    }

    #[test]
    fn halves_and_their_neighbours_round_as_the_standard_library_rounds_them() {
        let powers = (0..80).map(|exponent| 2f64.powi(exponent));
        let wholes =
            (0..200).map(f64::from).chain(powers.flat_map(|power| [power - 1.0, power, power + 1.0]));
        for x in wholes.flat_map(|whole| [whole - 0.5, whole, whole + 0.5]).flat_map(around) {
            assert_eq!(nearest(x), x.round() as u64, "{x:?}");
        }
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MIN_POSITIVE, f64::MAX] {
            assert_eq!(nearest(x), x.round() as u64, "{x:?}");
        }
    }

    proptest! {
        #[test]
        fn every_number_rounds_as_the_standard_library_rounds_it(bits in any::<u64>(), x in 0.0..1e16f64) {
            for x in [f64::from_bits(bits), x, (x * 2.0).trunc() / 2.0] {
                prop_assert_eq!(nearest(x), x.round() as u64, "{:?}", x);
            }
        }
    }
}
