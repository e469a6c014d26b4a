//! Arithmetic that the laws share: windows that follow a rate, increments given for one line rate, and rates in whole
//! bits per second.

use super::law::UNLIMITED;
use clearway_schema::{Auto, choice, declare};
use clearway_units::{Rate, Span, product};
use serde::{Deserialize, Serialize};

choice! {
    /// The rule for the bytes that a law allows in flight.
    #[derive(Serialize, Deserialize)]
    pub enum Windowing {
        /// There is no limit: the rate alone counts.
        None = "none",
        /// The limit is the bytes that line rate sends in a base round-trip time.
        Fixed = "fixed",
        /// The limit is the bytes that the flow's rate sends in a base round-trip time.
        Rate = "rate",
    }
}

declare! {
    /// The parameters that the laws of a rate share.
    pub struct LawParams {
        /// The least rate of a flow.
        min_rate: Rate = "10 Mbps" in "1 bps" to "1.6 Tbps" from "our choice: the paper leaves it open";
        /// The limit of data in flight. `none`: no limit; `fixed`: what line rate sends in a base round-trip time;
        /// `rate`: the share of that which the rate has of line rate.
        windowing: Windowing = "none" from "our choice";
        /// The base round-trip time of windows. `auto`: that of the path. HPCC's ns-3 code takes the longest of the
        /// network (12.24 us in that of 320 hosts).
        base_rtt: Auto<Span> = "auto" in "1 ns" to "1 s" from "our choice";
    }
}

/// The window that belongs to each rate of a flow.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Window {
    windowing: Windowing,
    /// The window at line rate, in bytes.
    full: u64,
    line: Rate,
}

impl Window {
    /// Returns the windows of a flow with this line rate and base round-trip time. The window at line rate is rounded
    /// down to a byte.
    pub fn new(windowing: Windowing, line: Rate, base_rtt: Span) -> Window {
        Window { windowing, full: line.bytes_in(base_rtt).get().max(1), line }
    }

    /// Returns the window at line rate, in bytes.
    pub fn full(&self) -> u64 {
        self.full
    }

    /// Returns the window at `rate` in bytes, rounded down, and at least one.
    pub fn at(&self, rate: Rate) -> u64 {
        match self.windowing {
            Windowing::None => UNLIMITED,
            Windowing::Fixed => self.full,
            Windowing::Rate => {
                let (bps, line) = (rate.as_bps(), self.line.as_bps());
                // 64-bit arithmetic where it does not overflow: a 128-bit division is several times slower.
                let window = match product(self.full, bps) {
                    Some(product) => product / line,
                    None => (self.full as u128 * bps as u128 / line as u128) as u64,
                };
                window.max(1)
            }
        }
    }
}

/// An increment of the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Step {
    /// The increment does not depend on the line rate.
    Fixed(Rate),
    /// The increment is `step` at line rate `line`, and in proportion at others.
    PerLine {
        /// The increment at line rate `line`.
        step: Rate,
        /// The line rate for which `step` was given.
        line: Rate,
    },
}

impl Step {
    /// Returns the increment `step`, given for the line rate `line`, or for any if `line` is zero.
    pub fn given(step: Rate, line: Rate) -> Step {
        if line.is_zero() { Step::Fixed(step) } else { Step::PerLine { step, line } }
    }

    /// Returns the increment at a line rate, rounded down, and at least 1 bit/s so that no law stands still.
    pub fn at(self, line_rate: Rate) -> Rate {
        match self {
            Step::Fixed(step) => step,
            Step::PerLine { step, line } => {
                let bps = step.as_bps() as u128 * line_rate.as_bps() as u128 / line.as_bps() as u128;
                Rate::bps((bps as u64).max(1))
            }
        }
    }
}

/// Returns `rate` times `factor`, rounded down to a whole bit per second as in HPCC's ns-3 code; never negative.
pub(super) fn times(rate: Rate, factor: f64) -> Rate {
    Rate::bps((rate.as_bps_f64() * factor) as u64)
}

/// Returns the sum of two rates.
pub(super) fn plus(rate: Rate, step: Rate) -> Rate {
    Rate::bps(rate.as_bps().saturating_add(step.as_bps()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_hpccs_320_hosts_is_153_000_bytes_at_line_rate_and_follows_the_rate_peers_md_3() {
        let line = Rate::gbps(100);
        let window = Window::new(Windowing::Rate, line, Span::from_ns(12_240));
        assert_eq!((window.full(), window.at(line)), (153_000, 153_000));
        assert_eq!(window.at(Rate::gbps(33)), 50_490);
        assert_eq!(window.at(Rate::bps(1)), 1, "a window of nothing would stop the flow for good");
        let long = Window::new(Windowing::Rate, line, Span::from_ms(100));
        assert_eq!(long.at(Rate::bps(33_333_333_333)), 416_666_666, "the product takes more than 64 bits");
        assert_eq!(Window::new(Windowing::Fixed, line, Span::from_us(1)).at(Rate::gbps(1)), 12_500);
        assert_eq!(Window::new(Windowing::None, line, Span::from_us(1)).at(Rate::gbps(1)), UNLIMITED);
    }

    #[test]
    fn an_increment_grows_with_the_line_rate_it_was_given_for() {
        let step = Step::PerLine { step: Rate::mbps(20), line: Rate::gbps(100) };
        assert_eq!(step.at(Rate::gbps(100)), Rate::mbps(20));
        assert_eq!(step.at(Rate::gbps(25)), Rate::mbps(5), "run.py: 5 Mb/s at 25 Gb/s");
        assert_eq!(step.at(Rate::bps(100)), Rate::bps(1), "never nothing");
        assert_eq!(Step::Fixed(Rate::mbps(615)).at(Rate::gbps(10)), Rate::mbps(615));
    }

    #[test]
    fn a_product_is_rounded_down() {
        assert_eq!(times(Rate::bps(3), 0.5), Rate::bps(1));
        assert_eq!(times(Rate::bps(3), -1.0), Rate::bps(0));
    }
}
