//! Reads decimal numbers as floats, in WebAssembly by code that is small.

use std::cmp::Ordering;

/// The digits that a number keeps. No more than 767 decide which float is the nearest; of the rest it only matters whether
/// they are all zero.
const DIGITS: usize = 800;

/// The exponents of ten within which a number, written as 0.d1d2d3... with d1 > 0, is neither zero nor infinite.
const DECIMAL: std::ops::RangeInclusive<i64> = -324..=309;

/// Reads a number: the nearest float, the even one of two.
#[inline]
pub fn read_f64(text: &str) -> Option<f64> {
    if cfg!(target_family = "wasm") { read_by_whole_numbers(text) } else { text.parse().ok() }
}

/// Reads a number as `str::parse` of the standard library does, and refuses what that refuses. It is slower, and has no
/// table: that of the standard library has 10 KB, which everybody who opens the live page would load.
fn read_by_whole_numbers(text: &str) -> Option<f64> {
    let (is_negative, plain) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let is = |word: &str| plain.eq_ignore_ascii_case(word);
    let number = if is("inf") || is("infinity") {
        f64::INFINITY
    } else if is("nan") {
        f64::NAN
    } else {
        magnitude(plain)?
    };
    Some(if is_negative { -number } else { number })
}

/// Reads a number without a sign.
fn magnitude(text: &str) -> Option<f64> {
    let (number, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], read_exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all = || whole.bytes().chain(fraction.bytes());
    if all().next().is_none() || !all().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let zeros = all().take_while(|&digit| digit == b'0').count();
    let mut digits: Vec<u8> = all().skip(zeros).take(DIGITS).collect();
    if all().skip(zeros + DIGITS).any(|digit| digit != b'0') {
        digits.push(b'1');
    }
    let point = exponent.saturating_add(whole.len() as i64 - zeros as i64);
    Some(match () {
        () if digits.is_empty() || point < *DECIMAL.start() => 0.0,
        () if point > *DECIMAL.end() => f64::INFINITY,
        () => nearest(&digits, point - digits.len() as i64),
    })
}

/// Reads the exponent of a number; one beyond all bounds is cut off.
fn read_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let most = i64::from(i32::MAX);
    let size = digits.bytes().fold(0, |size: i64, digit| most.min(size * 10 + i64::from(digit - b'0')));
    Some(if text.starts_with('-') { -size } else { size })
}

/// Returns the float that is nearest to the whole number of these digits times a power of ten.
fn nearest(digits: &[u8], power: i64) -> f64 {
    let (mut above, mut below) = (Whole(Vec::new()), Whole(vec![1]));
    digits.iter().for_each(|digit| above.extend(10, u32::from(digit - b'0')));
    let scaled = if power < 0 { &mut below } else { &mut above };
    (0..power.abs()).for_each(|_| scaled.extend(10, 0));

    // The fraction becomes one from 1 to 2, times 2^exponent.
    let mut exponent = above.bits() - below.bits();
    let narrower = if exponent < 0 { &mut above } else { &mut below };
    (0..exponent.abs()).for_each(|_| narrower.extend(2, 0));
    if above.compare(&below) == Ordering::Less {
        above.extend(2, 0);
        exponent -= 1;
    }
    // Below 2^-1022, a float has fewer bits.
    let bits = (f64::MANTISSA_DIGITS as i64).min(exponent + 1075);
    let mut mantissa = 0_u64;
    for _ in 0..bits {
        let is_set = above.compare(&below) != Ordering::Less;
        if is_set {
            above.subtract(&below);
        }
        mantissa = mantissa << 1 | u64::from(is_set);
        above.extend(2, 0);
    }
    // What is left is the next bit and those behind it; of no bits at all, the first is the next one.
    match above.compare(&below) {
        _ if bits < 0 => {}
        Ordering::Less => {}
        Ordering::Equal => mantissa += mantissa & 1,
        Ordering::Greater => mantissa += 1,
    }
    times_power_of_two(mantissa, exponent + 1 - bits)
}

/// Returns a mantissa times a power of two from 2^-1074 on: exact, or infinite.
fn times_power_of_two(mantissa: u64, power: i64) -> f64 {
    let scale = match power {
        ..-1022 => f64::from_bits(1 << (power + 1074)),
        -1022..1024 => f64::from_bits(((power + 1023) as u64) << 52),
        _ => f64::INFINITY,
    };
    mantissa as f64 * scale
}

/// A whole number of any size, the lowest word first; the highest is not zero.
struct Whole(Vec<u32>);

impl Whole {
    /// Multiplies the number, and adds to it.
    fn extend(&mut self, factor: u32, more: u32) {
        let mut carry = u64::from(more);
        for word in &mut self.0 {
            carry += u64::from(*word) * u64::from(factor);
            *word = carry as u32;
            carry >>= u32::BITS;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    /// Returns the number of bits without zeros in front.
    fn bits(&self) -> i64 {
        let high = self.0.last().map_or(u32::BITS, |word| word.leading_zeros());
        self.0.len() as i64 * i64::from(u32::BITS) - i64::from(high)
    }

    fn compare(&self, other: &Whole) -> Ordering {
        let words = || self.0.iter().rev().cmp(other.0.iter().rev());
        self.0.len().cmp(&other.0.len()).then_with(words)
    }

    /// Subtracts a number that is not greater.
    fn subtract(&mut self, other: &Whole) {
        let mut is_borrowed = false;
        for (at, word) in self.0.iter_mut().enumerate() {
            let (less, first) = word.overflowing_sub(other.0.get(at).copied().unwrap_or(0));
            let (less, second) = less.overflowing_sub(is_borrowed.into());
            (*word, is_borrowed) = (less, first || second);
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks that a text is read as the standard library reads it.
    fn check(text: &str) {
        let (read, expected) = (read_by_whole_numbers(text), text.parse::<f64>().ok());
        let bits =
            |number: Option<f64>| number.map(|number| if number.is_nan() { 1 } else { number.to_bits() });
        assert_eq!(bits(read), bits(expected), "{text:?}: {read:?} and not {expected:?}");
    }

    #[test]
    fn texts_that_are_no_numbers_are_refused() {
        for text in [
            "", "+", ".", "-.", "e5", ".e1", "1e", "1e+", "1e-", "1.2.3", "1 ", "0x1", "1_0", "--1", "1e5.",
            "µ",
        ] {
            assert_eq!(read_by_whole_numbers(text), None, "{text:?}");
            check(text);
        }
    }

    #[test]
    fn numbers_are_read_in_all_their_forms() {
        for text in
            ["0", "-0", "+1", "1.", ".5", "-.5e1", "1E3", "1e+3", "00012.5000", "inf", "-Infinity", "NaN"]
        {
            assert!(read_by_whole_numbers(text).is_some(), "{text:?}");
            check(text);
        }
    }

    #[test]
    fn numbers_at_the_ends_of_the_range_and_between_two_floats_are_rounded_to_the_even_one() {
        for text in [
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.797693134862315807e308",
            "1.797693134862315808e308",
            "1e309",
            "1e310",
            "9e99999999999999999999",
            "9e-99999999999999999999",
            "0e99999999999999999999",
            "2.2250738585072014e-308",
            "2.2250738585072011e-308",
            "5e-324",
            "2.5e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "1e-324",
            "1e-325",
            "9007199254740993",
            "9007199254740995",
            "9007199254740993.0000000000000000000000000000000000001",
            "4503599627370496.5",
            "4503599627370497.5",
            "0.000000000000000000000000000000000000000000000000001e51",
        ] {
            check(text);
        }
    }

    /// Half of the least float has 1,075 decimals: the longest number on which two floats meet.
    #[test]
    fn digits_behind_those_that_are_kept_decide_where_two_floats_meet() {
        let half = half_of_the_least();
        check(&half);
        assert_eq!(read_by_whole_numbers(&half), Some(0.0));
        for zeros in [0, 100, 1000] {
            let above = format!("{half}{}1", "0".repeat(zeros));
            check(&above);
            assert_eq!(read_by_whole_numbers(&above), Some(f64::from_bits(1)), "{zeros}");
        }
    }

    /// 2^-1075 in decimals.
    fn half_of_the_least() -> String {
        let mut digits = Whole(vec![1]);
        (0..1075).for_each(|_| digits.extend(5, 0));
        let mut text = String::new();
        while !digits.0.is_empty() {
            let mut rest = 0_u64;
            for word in digits.0.iter_mut().rev() {
                let all = rest << 32 | u64::from(*word);
                (*word, rest) = ((all / 10) as u32, all % 10);
            }
            while digits.0.last() == Some(&0) {
                digits.0.pop();
            }
            text.insert(0, char::from(b'0' + rest as u8));
        }
        format!("0.{text:0>1075}")
    }

    proptest! {
        #[test]
        fn every_float_is_read_back(bits in any::<u64>(), decimals in 0_usize..30) {
            let number = f64::from_bits(bits);
            check(&format!("{number}"));
            check(&format!("{number:e}"));
            check(&format!("{number:.decimals$e}"));
        }

        #[test]
        fn numbers_are_rounded_as_by_the_standard_library(
            text in "[+-]?[0-9]{0,25}(\\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?"
        ) {
            check(&text);
        }

        #[test]
        fn numbers_amid_two_floats_are_rounded_to_the_even_one(mantissa in (1_u64 << 52)..(1 << 53), power in 0_u32..70) {
            let middle = (u128::from(mantissa) << 1 | 1) << power;
            check(&middle.to_string());
            check(&(middle - 1).to_string());
            check(&format!("{middle}.0000000000000000000001"));
        }

        #[test]
        fn no_text_is_read_otherwise(text in ".{0,12}") {
            check(&text);
        }
    }
}
