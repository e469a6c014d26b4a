//! Reading and writing "number unit" without passing through floating point.

use std::fmt;
use thiserror::Error;

/// Why a text is not a quantity. The message says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} {problem}; write {what} as a number and one of {units}, such as {example}")]
pub struct UnitError {
    text: String,
    problem: &'static str,
    what: &'static str,
    units: String,
    example: &'static str,
}

/// Reads `"384.5 KB"` against a table of (unit, scale). Exact: decimals that do not come to a whole number of
/// the smallest unit are an error, not a rounding.
pub(crate) fn parse_scaled(
    text: &str,
    what: &'static str,
    example: &'static str,
    scales: &[(&str, u64)],
) -> Result<u64, UnitError> {
    let fail = |problem| UnitError {
        text: text.into(),
        problem,
        what,
        units: scales.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        example,
    };
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(fail("is negative"));
    }
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(trimmed.len());
    let (number, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim());
    if number.is_empty() {
        return Err(fail("does not start with a number"));
    }
    if unit.is_empty() {
        return Err(fail("has no unit"));
    }
    let (_, scale) =
        *scales.iter().find(|(name, _)| *name == unit).ok_or_else(|| fail("has an unknown unit"))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(fail("is not a number"));
    }
    let fraction = fraction.trim_end_matches('0');
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| fail("is too large"))?;
    let divisor = 10u128.checked_pow(fraction.len() as u32).ok_or_else(|| fail("has too many decimals"))?;
    let product = digits.checked_mul(scale as u128).ok_or_else(|| fail("is too large"))?;
    if product % divisor != 0 {
        return Err(fail("has more decimals than its smallest unit"));
    }
    u64::try_from(product / divisor).map_err(|_| fail("is too large"))
}

/// Writes `value` in the largest unit that leaves a number of at least one, exactly, so that it reads back.
pub(crate) fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, scales: &[(&str, u64)]) -> fmt::Result {
    let (name, scale) = *scales.iter().find(|(_, scale)| value >= *scale).unwrap_or(&scales[0]);
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return write!(f, "{whole} {name}");
    }
    let places = scale.ilog10() as usize;
    let fraction = format!("{rest:0places$}");
    write!(f, "{whole}.{} {name}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use crate::{Bytes, Span};
    use proptest::prelude::*;

    #[test]
    fn messages_name_the_text_and_what_would_be_right() {
        let cases = [
            ("ten us", "does not start with a number"),
            ("10 parsec", "has an unknown unit"),
            ("1..2 us", "is not a number"),
            ("99999999999999999999 s", "is too large"),
        ];
        for (text, problem) in cases {
            let message = text.parse::<Span>().unwrap_err().to_string();
            assert!(message.starts_with(&format!("{text:?} {problem}")), "{message}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,24}") {
            let _ = text.parse::<Span>();
            let _ = text.parse::<Bytes>();
        }

        #[test]
        fn spans_and_sizes_read_back(value in any::<u64>()) {
            prop_assert_eq!(Span::from_ps(value).to_string().parse(), Ok(Span::from_ps(value)));
            prop_assert_eq!(Bytes::new(value).to_string().parse(), Ok(Bytes::new(value)));
        }
    }
}
