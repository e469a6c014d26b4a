//! Data rates, and the conversions between sizes, rates and times.

use crate::nearest::nearest;
use crate::product::product;
use crate::text::{UnitError, parse_scaled, write_scaled};
use crate::{Bytes, Span};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The units of rate, largest first, each with its number of bits per second.
const SCALES: &[(&str, u64)] =
    &[("Tbps", 1_000_000_000_000), ("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("Kbps", 1_000), ("bps", 1)];

/// The bits in a byte times the picoseconds in a second: `bytes * BIT_PS / rate` is a time in picoseconds.
const BIT_PS: u64 = 8_000_000_000_000;

/// A data rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Rate(u64);

impl Rate {
    /// Returns the units in which it may be written, the largest first of each system.
    pub fn units() -> impl Iterator<Item = &'static str> {
        SCALES.iter().map(|(name, _)| *name)
    }

    /// Zero bits per second.
    pub const ZERO: Rate = Rate(0);

    /// Makes a rate of `bps` bits per second.
    pub const fn bps(bps: u64) -> Rate {
        Rate(bps)
    }

    /// Makes a rate of `mbps` million bits per second.
    pub const fn mbps(mbps: u64) -> Rate {
        Rate(mbps * 1_000_000)
    }

    /// Makes a rate of `gbps` billion bits per second.
    pub const fn gbps(gbps: u64) -> Rate {
        Rate(gbps * 1_000_000_000)
    }

    /// Returns the rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns the rate in bits per second as a real number, for control laws.
    pub const fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }

    /// Makes the rate nearest to `bps` bits per second. A negative number and NaN give zero.
    pub fn from_bps_f64(bps: f64) -> Rate {
        Rate(nearest(bps))
    }

    /// Returns the rate times a real factor, rounded to the nearest bit per second. A negative factor gives zero.
    pub fn mul_f64(self, factor: f64) -> Rate {
        Rate::from_bps_f64(self.0 as f64 * factor)
    }

    /// Returns true if the rate is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the largest multiple of `grain` that is strictly below the time that `size` takes at this rate.
    ///
    /// Code that computes times in floating-point seconds and truncates them to whole grains gets this value: a
    /// time that is a whole number of grains comes out just below it there, and loses one. In ns-3, for example,
    /// 8,448 bits take 8,447 ns at 1 Gbps.
    ///
    /// # Panics
    /// Panics as [`Rate::time_to_send`] does, and if the grain is zero.
    pub const fn time_to_send_below(self, size: Bytes, grain: Span) -> Span {
        // 64-bit arithmetic where it does not overflow: a 128-bit division is several times slower.
        if let (Some(product), Some(divisor)) = (product(size.get(), BIT_PS), product(self.0, grain.as_ps()))
        {
            let grains = if product == 0 { 0 } else { (product - 1) / divisor };
            return Span::from_ps(grains * grain.as_ps());
        }
        let bits = size.get() as u128 * BIT_PS as u128;
        let grains = bits.div_ceil(self.0 as u128 * grain.as_ps() as u128).saturating_sub(1);
        let ps = grains * grain.as_ps() as u128;
        assert!(ps <= u64::MAX as u128, "a transmission of more than 213 days");
        Span::from_ps(ps as u64)
    }

    /// Returns the time that `size` takes at this rate, rounded to the nearest picosecond (half up).
    ///
    /// The rounding is at most half a picosecond a call, and does not accumulate over a frame's bytes.
    ///
    /// # Panics
    /// Panics if the rate is zero, or if the time is past the range of [`Span`].
    #[inline]
    pub const fn time_to_send(self, size: Bytes) -> Span {
        // Up to 2.3 MB the product fits into 64 bits, where a division is several times faster than in 128.
        match product(size.get(), BIT_PS) {
            Some(product) if product <= u64::MAX - self.0 / 2 => {
                Span::from_ps((product + self.0 / 2) / self.0)
            }
            _ => {
                let ps = (size.get() as u128 * BIT_PS as u128 + self.0 as u128 / 2) / self.0 as u128;
                assert!(ps <= u64::MAX as u128, "a transmission of more than 213 days");
                Span::from_ps(ps as u64)
            }
        }
    }

    /// As [`Rate::time_to_send`], but [`Span::MAX`] where the time is past the range of [`Span`]: for waits that follow from
    /// sizes and rates of a scenario, where a longer one makes no difference.
    ///
    /// # Panics
    /// Panics if the rate is zero.
    pub const fn saturating_time_to_send(self, size: Bytes) -> Span {
        let ps = (size.get() as u128 * BIT_PS as u128 + self.0 as u128 / 2) / self.0 as u128;
        if ps > u64::MAX as u128 { Span::MAX } else { Span::from_ps(ps as u64) }
    }

    /// Returns the size that passes in `span`, rounded down to a whole byte.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        Bytes::new((self.0 as u128 * span.as_ps() as u128 / BIT_PS as u128) as u64)
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Rate, UnitError> {
        parse_scaled(text, "a rate", "\"10 Gbps\"", SCALES).map(Rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, SCALES)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_time_past_the_range_of_spans_is_the_longest_span_where_it_may_be() {
        let rate = Rate::mbps(1);
        assert_eq!(rate.saturating_time_to_send(Bytes::new(1538)), Span::from_us(12_304));
        // 2^64 ps are 1.84e7 s, in which 1 Mbps carries 2.3e12 bytes.
        assert!(rate.saturating_time_to_send(Bytes::new(2_300_000_000_000)) < Span::MAX);
        assert_eq!(rate.saturating_time_to_send(Bytes::new(2_310_000_000_000)), Span::MAX);
        assert_eq!(rate.saturating_time_to_send(Bytes::new(u64::MAX)), Span::MAX);
    }

    #[test]
    fn serialisation_times_are_rounded_to_the_nearest_picosecond() {
        assert_eq!(Rate::gbps(10).time_to_send(Bytes::new(1538)), Span::from_ps(1_230_400));
        assert_eq!(Rate::gbps(100).time_to_send(Bytes::new(1048)), Span::from_ps(83_840));
        assert_eq!(Rate::gbps(1600).time_to_send(Bytes::new(84)), Span::from_ps(420));
        assert_eq!(Rate::mbps(1).time_to_send(Bytes::new(1538)), Span::from_us(12_304));
        assert_eq!(Rate::gbps(56).time_to_send(Bytes::new(1)), Span::from_ps(143));
    }

    #[test]
    fn the_time_below_loses_the_fraction_of_a_nanosecond_or_one_whole_nanosecond() {
        let below = |bps, bytes| {
            Rate::bps(bps).time_to_send_below(Bytes::new(bytes), Span::from_ns(1)).as_ps() as f64 / 1000.0
        };
        assert_eq!(below(100_000_000_000, 1048), 83.0, "83.84 ns");
        // Measured in ns-3: a pace of 1 Gbps, and one a hair above 205 ns at 42.5 Gbps.
        assert_eq!(below(1_000_000_000, 1056), 8447.0, "8448 ns exactly");
        assert_eq!((below(42_536_605_959, 1090), below(42_536_580_000, 1090)), (204.0, 205.0));
        assert_eq!(below(100_000_000_000, 0), 0.0);
    }

    #[test]
    fn a_rate_is_read_in_bits_per_second_and_not_in_bytes() {
        assert_eq!("1.6 Tbps".parse(), Ok(Rate::gbps(1600)));
        assert_eq!("2.5Gbps".parse(), Ok(Rate::mbps(2500)));
        assert!("10 GBps".parse::<Rate>().is_err(), "bytes per second are not a rate here");
    }

    proptest! {
        #[test]
        fn the_64_bit_and_the_128_bit_division_agree(bytes in 0u64..3_000_000, bps in 1_000_000u64..1_600_000_000_001) {
            let exact = (bytes as u128 * BIT_PS as u128 + bps as u128 / 2) / bps as u128;
            prop_assert_eq!(Rate::bps(bps).time_to_send(Bytes::new(bytes)).as_ps() as u128, exact);
        }

        #[test]
        fn every_rate_that_is_written_reads_back_unchanged(bps in any::<u64>()) {
            prop_assert_eq!(Rate::bps(bps).to_string().parse(), Ok(Rate::bps(bps)));
        }
    }
}
