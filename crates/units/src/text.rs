//! Reads and writes quantities such as `"10 Gbps"` in exact integer arithmetic, so that each reads back unchanged.

use std::fmt;
use thiserror::Error;

/// The error for a text that is not a quantity. Its message names the fault and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} {problem}{}; write {what} as a number and one of {units}, such as {example}", hint(meant))]
pub struct UnitError {
    text: String,
    problem: &'static str,
    /// The same quantity with the unit that may be meant.
    meant: Option<String>,
    what: &'static str,
    units: String,
    example: &'static str,
}

/// Returns the part of the message that names the unit that may be meant.
fn hint(meant: &Option<String>) -> String {
    meant.as_ref().map(|meant| format!(" (did you mean {meant:?}?)")).unwrap_or_default()
}

/// Reads a text such as `"384.5 KB"`; `scales` lists each unit's name with its multiple of the smallest unit.
/// A value that is not a whole number of the smallest unit is an error; nothing is rounded.
pub(crate) fn parse_scaled(
    text: &str,
    what: &'static str,
    example: &'static str,
    scales: &[(&str, u64)],
) -> Result<u64, UnitError> {
    let fail = |problem| UnitError {
        text: text.into(),
        problem,
        meant: None,
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
    // Micro has two letters in Unicode, and files for every system have a "u" for it.
    let unit = unit.replace(['\u{b5}', '\u{3bc}'], "u");
    let Some(&(_, scale)) = scales.iter().find(|(name, _)| *name == unit) else {
        let meant = like(&unit, scales).map(|name| format!("{} {name}", &trimmed[..split]));
        return Err(UnitError { meant, ..fail("has an unknown unit") });
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(fail("is not a number"));
    }
    let fraction = fraction.trim_end_matches('0');
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| fail("is too large"))?;
    let places = u32::try_from(fraction.len()).map_err(|_| fail("has too many decimals"))?;
    let divisor = 10u128.checked_pow(places).ok_or_else(|| fail("has too many decimals"))?;
    let product = digits.checked_mul(scale.into()).ok_or_else(|| fail("is too large"))?;
    if product % divisor != 0 {
        return Err(fail("has more decimals than its smallest unit"));
    }
    u64::try_from(product / divisor).map_err(|_| fail("is too large"))
}

/// Returns the unit that differs from a text in the case of letters alone.
fn like<'a>(unit: &str, scales: &[(&'a str, u64)]) -> Option<&'a str> {
    scales.iter().map(|(name, _)| *name).find(|name| name.eq_ignore_ascii_case(unit))
}

/// Writes `value` exactly, in the largest unit in which it is at least one.
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
    fn an_error_quotes_the_text_and_says_what_is_wrong_with_it() {
        let cases = [
            ("ten us", "does not start with a number"),
            ("10 parsec", "has an unknown unit; write a time"),
            ("10 US", "has an unknown unit (did you mean \"10 us\"?); write a time"),
            ("4 \u{b5}S", "has an unknown unit (did you mean \"4 us\"?); write a time"),
            ("1..2 us", "is not a number"),
            ("99999999999999999999 s", "is too large"),
        ];
        for (text, problem) in cases {
            let message = text.parse::<Span>().unwrap_err().to_string();
            assert!(message.starts_with(&format!("{text:?} {problem}")), "{message}");
        }
    }

    #[test]
    fn microseconds_are_read_with_a_u_and_with_both_letters_for_micro() {
        for text in ["4.5us", "4.5 us", "4.5 \u{b5}s", "4.5\u{3bc}s"] {
            assert_eq!(text.parse(), Ok(Span::from_ns(4_500)), "{text}");
        }
        assert_eq!(Span::from_ns(4_500).to_string(), "4.5 us");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,24}") {
            let _ = text.parse::<Span>();
            let _ = text.parse::<Bytes>();
        }

        #[test]
        fn every_span_and_size_that_is_written_reads_back_unchanged(value in any::<u64>()) {
            prop_assert_eq!(Span::from_ps(value).to_string().parse(), Ok(Span::from_ps(value)));
            prop_assert_eq!(Bytes::new(value).to_string().parse(), Ok(Bytes::new(value)));
        }
    }
}
