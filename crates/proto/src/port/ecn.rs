//! Marking: by a step on the queue's length (DCTCP, SIGCOMM'10, sec. 3.1), or at random.

use clearway_schema::choice;
use clearway_units::{Bytes, Rate};

choice! {
    /// When a port compares its queue with the marking threshold.
    pub enum MarkAt {
        /// As a packet joins the queue.
        Enqueue = "enqueue",
        /// As a packet leaves it.
        Dequeue = "dequeue",
    }
}

/// The marking threshold `K` by a port's rate, in full frames: 65 for each 10 Gbps, at least 10 (the DCTCP and
/// ExpressPass papers': 65 at 10 Gbps, 650 at 100 Gbps; PAC's 10 at 1 Gbps).
pub fn frames_by_rate(rate: Rate) -> u64 {
    (65 * rate.as_bps() / Rate::gbps(10).as_bps()).max(10)
}

/// Marks every packet that meets a queue longer than `K`.
#[derive(Clone, Copy, Debug)]
pub struct StepMarker {
    /// Marking threshold `K`, in bytes on the wire.
    pub threshold: u64,
    /// When to compare.
    pub at: MarkAt,
}

impl StepMarker {
    /// Whether to mark a packet that joins (or leaves behind) `queued` bytes, itself not counted.
    #[inline]
    pub fn marks(&self, queued: u64) -> bool {
        queued > self.threshold
    }
}

/// Marking by random early detection, as RDMA networks do (DCQCN, SIGCOMM'15, sec. 3.1): never up to `Kmin`, always
/// above `Kmax`, and with a probability that rises from 0 to `Pmax` in between.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RedConfig {
    /// `Kmin` at a port of `at_rate`.
    pub k_min: Bytes,
    /// `Kmax` at a port of `at_rate`.
    pub k_max: Bytes,
    /// `Pmax`, from 0 to 1.
    pub p_max: f64,
    /// The thresholds grow with a port's rate, and are those given at this one.
    pub at_rate: Rate,
}

impl RedConfig {
    /// The HPCC authors' thresholds: 400 KB, 1600 KB and 0.2 at 100 Gbps.
    pub const DEFAULT: RedConfig = RedConfig {
        k_min: Bytes::new(400_000),
        k_max: Bytes::new(1_600_000),
        p_max: 0.2,
        at_rate: Rate::gbps(100),
    };
}

/// RED at one port.
#[derive(Clone, Copy, Debug)]
pub struct RedMarker {
    k_min: u64,
    k_max: u64,
    p_max: f64,
}

impl RedMarker {
    /// For a port of `rate`.
    pub fn new(config: &RedConfig, rate: Rate) -> RedMarker {
        let scaled = |size: Bytes| {
            let wide = u128::from(size.get()) * u128::from(rate.as_bps());
            (wide / u128::from(config.at_rate.as_bps().max(1))) as u64
        };
        RedMarker { k_min: scaled(config.k_min), k_max: scaled(config.k_max), p_max: config.p_max }
    }

    /// Whether to mark a packet beside `queued` bytes; `draw` is uniform from 0 to 1, and asked for only if needed.
    #[inline]
    pub fn marks(&self, queued: u64, draw: impl FnOnce() -> f64) -> bool {
        if queued <= self.k_min {
            return false;
        }
        queued > self.k_max
            || draw() < self.p_max * (queued - self.k_min) as f64 / (self.k_max - self.k_min) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_follows_the_rate_as_in_the_papers() {
        assert_eq!(frames_by_rate(Rate::gbps(10)), 65);
        assert_eq!(frames_by_rate(Rate::gbps(100)), 650);
        assert_eq!(frames_by_rate(Rate::gbps(1)), 10);
    }

    #[test]
    fn red_marks_never_below_kmin_always_above_kmax_and_in_proportion_between() {
        let red = RedMarker::new(&RedConfig::DEFAULT, Rate::gbps(100));
        assert!(!red.marks(400_000, || unreachable!("no draw is needed")));
        assert!(red.marks(1_600_001, || unreachable!("no draw is needed")));
        // Half way the probability is half of 0.2.
        assert!(red.marks(1_000_000, || 0.0999));
        assert!(!red.marks(1_000_000, || 0.1));
    }

    #[test]
    fn the_thresholds_of_red_grow_with_the_rate_of_the_port() {
        let red = RedMarker::new(&RedConfig::DEFAULT, Rate::gbps(400));
        assert!(!red.marks(1_600_000, || 0.0) && red.marks(6_400_001, || 1.0));
        let red = RedMarker::new(&RedConfig::DEFAULT, Rate::gbps(25));
        assert!(!red.marks(100_000, || 0.0) && red.marks(400_001, || 1.0));
    }
}
