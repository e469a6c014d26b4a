//! The smoothed round-trip time of both ends.

use clearway_units::Span;

/// The weight of a new sample in RFC 6298.
const EIGHTH: f64 = 0.125;

/// Returns the smoothed time after a new sample, which counts `weight` of it.
#[inline]
pub(super) fn smooth(before: Span, sample: Span, weight: f64) -> Span {
    if weight == EIGHTH {
        return smooth_by_eighth(before, sample);
    }
    before.mul_f64(1.0 - weight) + sample.mul_f64(weight)
}

/// As [`smooth`] with a weight of an eighth, in whole numbers.
#[inline]
pub(super) fn smooth_by_eighth(before: Span, sample: Span) -> Span {
    eighth(before.saturating_mul(7)) + eighth(sample)
}

/// Returns an eighth of a span, rounded to the nearest picosecond (half up).
fn eighth(span: Span) -> Span {
    Span::from_ps(span.as_ps().saturating_add(4) / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sample_counts_by_its_weight() {
        let [before, sample] = [100, 200].map(Span::from_ns);
        assert_eq!(smooth(before, sample, 0.2), Span::from_ns(120));
        assert_eq!(smooth(before, sample, 0.125), Span::from_ps(112_500));
    }

    proptest! {
        #[test]
        fn eighths_are_what_real_numbers_give_up_to_a_quarter_of_an_hour(ps in 0u64..900_000_000_000_000) {
            let span = Span::from_ps(ps);
            prop_assert_eq!(eighth(span), span.mul_f64(0.125));
            prop_assert_eq!(eighth(span.saturating_mul(7)), span.mul_f64(0.875));
        }
    }
}
