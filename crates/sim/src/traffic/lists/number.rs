//! Numbers whose unit the format or the column states, such as seconds.

use super::flow::{ListError, fail};
use clearway_units::{Bytes, Time};

/// The largest number of decimal places that a power of ten of 128 bits covers.
const PLACES_MAX: i64 = 38;

/// Reads a number times a power of ten as a whole number, rounded half up, and tells if nothing was rounded.
fn scaled(text: &str, power: i64) -> Result<(u64, bool), &'static str> {
    if text.starts_with('-') {
        return Err("is negative");
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !digits(whole) || !digits(fraction) {
        return Err("is no number");
    }
    let exponent: i64 = exponent.parse().map_err(|_| "is no number")?;
    let fraction = fraction.trim_end_matches('0');
    let all = format!("{whole}{fraction}");
    let all = all.trim_start_matches('0');
    if all.is_empty() {
        return Ok((0, true));
    }
    let digits: u128 = all.parse().map_err(|_| "has too many digits")?;
    let shift = power.saturating_add(exponent).saturating_sub(fraction.len() as i64);
    let ten = |places: i64| 10u128.pow(places as u32);
    match shift {
        _ if shift < -PLACES_MAX => Ok((0, false)),
        ..0 => {
            let divisor = ten(-shift);
            let (value, rest) = (digits / divisor, digits % divisor);
            let value = value + u128::from(rest >= divisor.div_ceil(2));
            u64::try_from(value).map(|value| (value, rest == 0)).map_err(|_| "is too large")
        }
        0..=PLACES_MAX => digits
            .checked_mul(ten(shift))
            .and_then(|value| u64::try_from(value).ok())
            .map(|value| (value, true))
            .ok_or("is too large"),
        _ => Err("is too large"),
    }
}

/// Reads a time in a unit of 10^`power` picoseconds, rounded to the picosecond.
pub(super) fn time(line: usize, column: &str, text: &str, power: i64) -> Result<Time, ListError> {
    match scaled(text, power) {
        Ok((ps, _)) => Ok(Time::from_ps(ps)),
        Err(problem) => fail(line, format!("{column}: {text:?} {problem}; write a number such as 0.1")),
    }
}

/// Reads a whole number of bytes, which may be written as 1500.0 or 1e6.
pub(super) fn bytes(line: usize, column: &str, text: &str) -> Result<Bytes, ListError> {
    let right = "write a whole number of bytes such as 1500";
    match scaled(text, 0) {
        Ok((bytes, true)) => Ok(Bytes::new(bytes)),
        Ok((_, false)) => fail(line, format!("{column}: {text:?} is no whole number; {right}")),
        Err(problem) => fail(line, format!("{column}: {text:?} {problem}; {right}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_exactly_and_rounded_to_the_smallest_unit() {
        let ps = |text: &str| time(1, "start", text, 12).unwrap().as_ps();
        assert_eq!(ps("2.000000001"), 2_000_000_001_000);
        assert_eq!(ps("1e-05"), 10_000_000);
        assert_eq!(
            ps("0.10000023456789012"),
            100_000_234_568,
            "Tcl's and Polars' digits beyond a picosecond"
        );
        assert_eq!(ps("0.0000000000005"), 1, "half up");
        assert_eq!((ps("00"), ps("1e-999"), ps("0e999"), ps("+1")), (0, 0, 0, 1_000_000_000_000));
        assert_eq!(bytes(1, "size", "1.5e6").unwrap(), Bytes::new(1_500_000));
        for text in ["", ".", "nan", "inf", "1e", "0x10", "1 000", "-1", "1e40", "1..2", "١"] {
            assert!(time(7, "start", text, 12).is_err(), "{text}");
        }
        assert_eq!(
            bytes(7, "size", "1.5").unwrap_err().problem,
            "size: \"1.5\" is no whole number; write a whole number of bytes such as 1500"
        );
    }

    proptest! {
        #[test]
        fn a_whole_number_of_nanoseconds_written_in_seconds_is_exact(ns in 0..u64::MAX / 1_000) {
            let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            prop_assert_eq!(time(1, "start", &text, 12).unwrap().as_ps(), ns * 1_000);
        }

        #[test]
        fn no_text_panics(text in "[-+0-9.eE]{0,50}", power in -50i64..50) {
            let _ = scaled(&text, power);
        }
    }
}
