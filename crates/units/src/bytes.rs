//! Sizes of packets, flows and buffers.

use crate::text::{UnitError, parse_scaled, write_scaled};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

/// The units of size that are read, each with its number of bytes. Only the decimal ones are written.
const SCALES: &[(&str, u64)] = &[
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Bytes(u64);

impl Bytes {
    /// Returns the units in which it may be written, the largest first of each system.
    pub fn units() -> impl Iterator<Item = &'static str> {
        SCALES.iter().map(|(name, _)| *name)
    }

    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// The largest size, which stands for "no limit": no buffer holds as much.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// Makes a size of `count` bytes.
    pub const fn new(count: u64) -> Bytes {
        Bytes(count)
    }

    /// Returns the number of bytes as an integer.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns `self - other`, or zero where `other` is larger.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, factor: u64) -> Bytes {
        Bytes(self.0 * factor)
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(sizes: I) -> Bytes {
        sizes.fold(Bytes::ZERO, Add::add)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        parse_scaled(text, "a size", "\"384.5 KB\"", SCALES).map(Bytes)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimal: Vec<_> = SCALES.iter().filter(|(name, _)| !name.contains('i')).copied().collect();
        write_scaled(f, self.0, &decimal)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kb_is_1000_bytes_and_kib_is_1024() {
        assert_eq!("384.5 KB".parse(), Ok(Bytes::new(384_500)));
        assert_eq!("1 KiB".parse(), Ok(Bytes::new(1024)));
        assert_eq!("10 MB".parse(), Ok(Bytes::new(10_000_000)));
    }

    #[test]
    fn a_negative_size_is_refused() {
        let error = "-3 KB".parse::<Bytes>().unwrap_err().to_string();
        assert_eq!(
            error,
            "\"-3 KB\" is negative; write a size as a number and one of TB, GB, MB, KB, GiB, MiB, KiB, B, such as \"384.5 KB\""
        );
    }

    #[test]
    fn a_size_that_is_not_a_whole_number_of_bytes_is_refused() {
        assert!("0.5 B".parse::<Bytes>().is_err());
    }
}
