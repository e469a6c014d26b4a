//! Points in time ([`Time`]) and lengths of time ([`Span`]), both in whole picoseconds.

use crate::nearest::nearest;
use crate::text::{UnitError, parse_scaled, write_scaled};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

const PS_PER_NS: u64 = 1_000;
const PS_PER_US: u64 = 1_000_000;
const PS_PER_MS: u64 = 1_000_000_000;
const PS_PER_S: u64 = 1_000_000_000_000;

/// The units of time, largest first, each with its number of picoseconds.
const SCALES: &[(&str, u64)] =
    &[("s", PS_PER_S), ("ms", PS_PER_MS), ("us", PS_PER_US), ("ns", PS_PER_NS), ("ps", 1)];

/// A point in time, in picoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Time(u64);

/// A length of time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Span(u64);

impl Time {
    /// Returns the units in which it may be written, the largest first of each system.
    pub fn units() -> impl Iterator<Item = &'static str> {
        SCALES.iter().map(|(name, _)| *name)
    }

    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// The latest point in time, which stands for "never": no run reaches it.
    pub const MAX: Time = Time(u64::MAX);

    /// Makes the point `ps` picoseconds after the start of the run.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Returns the picoseconds since the start of the run.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the start of the run, rounded to a float. For reports only, not for decisions.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// Returns the span from `earlier` to this point, or zero if `earlier` is the later one.
    pub const fn saturating_since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Returns `self + span`, or [`Time::MAX`] if the sum overflows.
    pub const fn saturating_add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// Returns the units in which it may be written, the largest first of each system.
    pub fn units() -> impl Iterator<Item = &'static str> {
        SCALES.iter().map(|(name, _)| *name)
    }

    /// Zero picoseconds.
    pub const ZERO: Span = Span(0);
    /// The longest span, 213 days.
    pub const MAX: Span = Span(u64::MAX);

    /// Makes a span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Span {
        Span(ps)
    }

    /// Makes a span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Span {
        Span(ns * PS_PER_NS)
    }

    /// Makes a span of `us` microseconds.
    pub const fn from_us(us: u64) -> Span {
        Span(us * PS_PER_US)
    }

    /// Makes a span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Span {
        Span(ms * PS_PER_MS)
    }

    /// Makes a span of `s` seconds.
    pub const fn from_secs(s: u64) -> Span {
        Span(s * PS_PER_S)
    }

    /// Makes the span nearest to `s` seconds. A negative number and NaN give zero.
    #[inline]
    pub fn from_secs_f64(s: f64) -> Span {
        Span(nearest(s * PS_PER_S as f64))
    }

    /// Returns the span in picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Returns the span in seconds, for reports and for control laws that are stated in real numbers.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// Returns the span in microseconds, for reports.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / PS_PER_US as f64
    }

    /// Returns true if the span is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns `self - other`, or zero where `other` is longer.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// Returns `self + other`, or [`Span::MAX`] if the sum overflows.
    pub const fn saturating_add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }

    /// Returns `self * factor`, or [`Span::MAX`] if the product overflows.
    pub const fn saturating_mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }

    /// Returns the span times a real factor, rounded to the nearest picosecond. A negative factor gives zero.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Span {
        Span(nearest(self.0 as f64 * factor))
    }

    /// Returns `self / other` as a real number. `other` must not be zero.
    pub fn ratio(self, other: Span) -> f64 {
        self.0 as f64 / other.0 as f64
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0 - span.0)
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        Span(self.0 - earlier.0)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Span) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0 * factor)
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        spans.fold(Span::ZERO, Add::add)
    }
}

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Span, UnitError> {
        parse_scaled(text, "a time", "\"4 us\"", SCALES).map(Span)
    }
}

impl FromStr for Time {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Time, UnitError> {
        text.parse::<Span>().map(|since_start| Time(since_start.0))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, SCALES)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::MAX { f.write_str("never") } else { Span(self.0).fmt(f) }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_read_with_or_without_a_space_and_with_decimals() {
        assert_eq!("4 us".parse(), Ok(Span::from_us(4)));
        assert_eq!("0.5ms".parse(), Ok(Span::from_us(500)));
        assert_eq!("1.2976 us".parse(), Ok(Span::from_ps(1_297_600)));
        assert_eq!("3 s".parse(), Ok(Span::from_secs(3)));
    }

    #[test]
    fn a_time_without_a_unit_is_refused_with_an_example() {
        let error = "4".parse::<Span>().unwrap_err().to_string();
        assert_eq!(
            error,
            "\"4\" has no unit; write a time as a number and one of s, ms, us, ns, ps, such as \"4 us\""
        );
    }

    #[test]
    fn a_span_that_is_not_a_whole_number_of_picoseconds_is_refused() {
        assert!("0.5 ps".parse::<Span>().is_err());
    }

    #[test]
    fn a_span_is_written_in_the_largest_unit_in_which_it_is_at_least_one() {
        assert_eq!(Span::from_ps(1_297_600).to_string(), "1.2976 us");
        assert_eq!(Span::from_ms(200).to_string(), "200 ms");
        assert_eq!(Span::ZERO.to_string(), "0 s");
    }
}
