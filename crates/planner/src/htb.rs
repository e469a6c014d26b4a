//! The settings of a Linux switch's port by traffic control: the figures of its HTB classes for credits, signals and data.
//!
//! *Signals* are requests for credits, stops, and the answers to both. They have a class of their own, beside that of credits: in
//! one class with credits, whose queue holds eight, more than half of them were lost wherever many flows asked for credits.
//!
//! HTB counts frames without preamble, gap and check sequence, so each class adds [`OVERHEAD`] and counts at least
//! [`MPU`]. It lets a packet pass as long as its bucket isn't overdrawn; so a bucket of one credit passes two at once,
//! the paper's depth. From 130 Mbit/s on, credits come closer than HTB's timer can follow, and their bucket is larger: at
//! 1 Gbit/s it passes eight. On two busy cores a flow carried 1.1 times as much with buckets of 100 us as with buckets of 48 us,
//! since a timer for each group of packets took much of the CPU.

use crate::switches::credit_rate;
use clearway_proto::port::CreditShaping;
use clearway_units::{Rate, Span};

/// The bytes of a frame on the wire that Linux does not count: preamble, gap and check sequence.
pub const OVERHEAD: u32 = 24;
/// The size on the wire, in bytes, of the smallest frame of Ethernet.
pub const MPU: u32 = 84;
/// The bytes that a class may send before another of its priority gets its turn: a full frame as Linux counts it.
pub const QUANTUM: u32 = 1514;
/// The time by which 99.9 % of HTB's timers were late at most, with 20,000 of them a second at 1 Gbit/s on a virtual machine: what a
/// port misses in it must fit into its bucket.
pub const TIMER: Span = Span::from_us(100);
/// The signals that a port's bucket lets pass at once: as many as a host sends at once.
pub const SIGNALS_AT_ONCE: u32 = 32;
/// The credits that a bucket holds at most, to make up for late timers: each lets a frame of data follow at once.
const CREDITS_MAX: u32 = 8;

/// The figures of a port's HTB classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Htb {
    /// The rate of the link, which is also the rate of the class of data.
    pub rate: Rate,
    /// The rate of the class of credits, rounded down to a whole bit per second.
    pub credit_rate: Rate,
    /// The bucket of the class of credits, in bytes.
    pub credit_burst: u64,
    /// The rate that the class of signals has in any case: a request and a stop for each credit. It may take what the others
    /// leave besides.
    pub signal_rate: Rate,
    /// The bucket of the class of signals, in bytes.
    pub signal_burst: u64,
    /// The bucket of the link and of the class of data, in bytes.
    pub burst: u64,
}

/// Returns the figures of a port whose link has this rate.
pub fn htb(rate: Rate, shaping: CreditShaping) -> Htb {
    let CreditShaping { credit, data, bucket, .. } = shaping;
    let credit_rate = credit_rate(rate, shaping);
    // tc counts buckets in whole microseconds, rounded down.
    let least = |rate: Rate| rate.as_bps().div_ceil(8 * 1_000_000);
    let signal_rate = Rate::bps(credit_rate.as_bps() * 2);
    Htb {
        rate,
        credit_rate,
        credit_burst: u64::from(bucket.saturating_sub(credit).max(credit))
            .max(credit_rate.bytes_in(TIMER).get().min(u64::from(CREDITS_MAX * credit)))
            .max(least(credit_rate)),
        signal_rate,
        signal_burst: u64::from(SIGNALS_AT_ONCE * credit).max(least(signal_rate)),
        burst: rate.bytes_in(TIMER).get().max(u64::from(data)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_the_figures_that_were_measured_at_100_mbps_and_at_1_gbps() {
        let of = |mbps| htb(Rate::mbps(mbps), CreditShaping::PAPER);
        let bps = Rate::bps;
        let at_100 = Htb {
            rate: Rate::mbps(100),
            credit_rate: bps(5_178_791),
            credit_burst: 84,
            signal_rate: bps(10_357_582),
            signal_burst: 2688,
            burst: 1538,
        };
        assert_eq!(of(100), at_100);
        let at_1000 = Htb {
            rate: Rate::gbps(1),
            credit_rate: bps(51_787_916),
            credit_burst: 647,
            signal_rate: bps(103_575_832),
            signal_burst: 2688,
            burst: 12_500,
        };
        assert_eq!(of(1000), at_1000);
    }

    #[test]
    fn a_bucket_of_credits_lasts_a_microsecond_at_least() {
        // 20.7 Gbit/s of credits are 2589.4 bytes in a microsecond.
        assert_eq!(htb(Rate::gbps(400), CreditShaping::PAPER).credit_burst, 2590);
    }

    #[test]
    fn a_bucket_of_credits_holds_eight_where_that_is_a_microsecond() {
        assert_eq!(htb(Rate::gbps(10), CreditShaping::PAPER).credit_burst, 8 * 84);
        assert_eq!(htb(Rate::mbps(129), CreditShaping::PAPER).credit_burst, 84);
        assert_eq!(htb(Rate::mbps(135), CreditShaping::PAPER).credit_burst, 87);
    }
}
