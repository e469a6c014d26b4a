//! ECN marking at a port: by a threshold of the queue (DCTCP, SIGCOMM'10, sec. 3.1), or by random early detection
//! (RED).

use clearway_schema::choice;
use clearway_units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

choice! {
    /// The moment at which a port compares its queue with the marking threshold.
    #[derive(Serialize, Deserialize)]
    pub enum MarkAt {
        /// A packet is marked as it joins the queue.
        Enqueue = "enqueue",
        /// A packet is marked as it leaves the queue.
        Dequeue = "dequeue",
    }
}

/// Returns the marking threshold `K` for a port's rate, in full frames: 65 for each 10 Gbps, at least 10. The DCTCP and
/// ExpressPass papers use 65 at 10 Gbps and 650 at 100 Gbps, PAC 10 at 1 Gbps.
pub fn frames_by_rate(rate: Rate) -> u64 {
    (65 * rate.as_bps() / Rate::gbps(10).as_bps()).max(10)
}

/// Returns the largest marking threshold `K` for a buffer: 65 parts in 250 of it, bytes or packets. ExpressPass '17 (sec.
/// 6) has K = 65 frames in a buffer of 250, and DCTCP (SIGCOMM'10, sec. 3.3) needs room above K, since the queue grows by
/// up to a packet a flow after the first mark. A fixed K in a smaller buffer would leave no such room, or never be met.
pub fn largest_in_buffer(buffer: u64) -> u64 {
    (u128::from(buffer) * 65 / 250) as u64
}

/// The marker that marks every packet at a queue longer than `K`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StepMarker {
    /// The marking threshold `K`, in bytes on the wire.
    pub threshold: u64,
    /// The moment of the comparison.
    pub at: MarkAt,
}

impl StepMarker {
    /// Returns true if a packet must be marked that joins (or leaves behind) a queue of `queued` bytes, itself not
    /// counted.
    #[inline]
    pub fn marks(&self, queued: u64) -> bool {
        queued > self.threshold
    }
}

/// The settings of RED, as RDMA networks mark (DCQCN, SIGCOMM'15, sec. 3.1): never up to `Kmin`, always above `Kmax`,
/// and with a probability that rises from 0 to `Pmax` in between.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RedConfig {
    /// `Kmin` at a port of `at_rate`.
    pub k_min: Bytes,
    /// `Kmax` at a port of `at_rate`.
    pub k_max: Bytes,
    /// `Pmax`, from 0 to 1.
    pub p_max: f64,
    /// The rate of a port to which `k_min` and `k_max` apply. The thresholds of other ports are in proportion to their
    /// rate.
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

/// The RED marker of one port.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RedMarker {
    k_min: u64,
    k_max: u64,
    p_max: f64,
}

impl RedMarker {
    /// Makes the marker of a port of rate `rate`.
    pub fn new(config: &RedConfig, rate: Rate) -> RedMarker {
        let scaled = |size: Bytes| {
            let wide = u128::from(size.get()) * u128::from(rate.as_bps());
            (wide / u128::from(config.at_rate.as_bps().max(1))) as u64
        };
        RedMarker { k_min: scaled(config.k_min), k_max: scaled(config.k_max), p_max: config.p_max }
    }

    /// Makes a marker with the same thresholds at ports of every rate, between which the probability rises from 0 to 1.
    pub fn between(k_min: Bytes, k_max: Bytes) -> RedMarker {
        RedMarker { k_min: k_min.get(), k_max: k_max.get(), p_max: 1.0 }
    }

    /// Returns the queue up to which no packet is marked, in bytes on the wire.
    pub fn k_min(&self) -> u64 {
        self.k_min
    }

    /// Returns true if a packet must be marked at a queue of `queued` bytes. `draw` returns a uniform number from 0 to
    /// 1, and is called only between the thresholds.
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
    fn a_buffer_of_250_frames_has_room_for_the_papers_65_and_a_smaller_one_for_the_same_share() {
        assert_eq!(largest_in_buffer(384_500), 65 * 1538);
        assert_eq!(largest_in_buffer(250), 65);
        assert_eq!(largest_in_buffer(100_000), 26_000);
        assert_eq!(largest_in_buffer(u64::MAX), (u128::from(u64::MAX) * 65 / 250) as u64);
    }

    #[test]
    fn red_marks_never_below_kmin_always_above_kmax_and_in_proportion_between() {
        let red = RedMarker::new(&RedConfig::DEFAULT, Rate::gbps(100));
        assert!(!red.marks(400_000, || unreachable!("no draw is needed")));
        assert!(red.marks(1_600_001, || unreachable!("no draw is needed")));
        // Halfway between the thresholds the probability is half of 0.2.
        assert!(red.marks(1_000_000, || 0.0999));
        assert!(!red.marks(1_000_000, || 0.1));
    }

    #[test]
    fn red_at_exactly_kmax_marks_with_pmax_and_not_always() {
        let red = RedMarker::new(&RedConfig::DEFAULT, Rate::gbps(100));
        assert!(red.marks(1_600_000, || 0.1999));
        assert!(!red.marks(1_600_000, || 0.2));
    }

    #[test]
    fn the_thresholds_of_red_grow_with_the_rate_of_the_port() {
        let red = RedMarker::new(&RedConfig::DEFAULT, Rate::gbps(400));
        assert!(!red.marks(1_600_000, || 0.0) && red.marks(6_400_001, || 1.0));
        let red = RedMarker::new(&RedConfig::DEFAULT, Rate::gbps(25));
        assert!(!red.marks(100_000, || 0.0) && red.marks(400_001, || 1.0));
    }

    #[test]
    fn a_marker_between_two_sizes_marks_every_packet_above_the_second_and_half_of_them_in_the_middle() {
        let marker = RedMarker::between(Bytes::new(37_350), Bytes::new(145_250));
        assert!(!marker.marks(37_350, || unreachable!("no draw is needed")));
        assert!(marker.marks(145_251, || unreachable!("no draw is needed")));
        assert!(marker.marks(91_300, || 0.4999) && !marker.marks(91_300, || 0.5));
        let step = RedMarker::between(Bytes::new(100), Bytes::new(100));
        assert!(!step.marks(100, || 0.0) && step.marks(101, || 1.0));
    }
}
