//! The bandwidth that a host has left for larger windows (ICTCP sec. 4.1 and 4.2).

/// The two halves of a control slot, which is `2T` long.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Half {
    /// The first half, in which incoming traffic is measured and windows do not grow.
    Measure,
    /// The second half, in which windows may grow as far as the quota allows.
    Grow,
}

use clearway_schema::choice;
use clearway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

choice! {
    /// The times at which the available bandwidth is measured.
    #[derive(Serialize, Deserialize)]
    pub enum Measure {
        /// The bandwidth is measured at the end of the first half of each slot.
        FirstHalf = "first-half",
        /// The bandwidth is measured at the end of both halves (PAC's authors' module).
        BothHalves = "both-halves",
    }
}

/// The quota of available bandwidth, which is measured in the first half of each slot and granted to windows in the
/// second.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Quota {
    /// The link's rate `C`, in bytes per second.
    capacity: f64,
    /// `alpha`, the share of the link that may be used.
    share: f64,
    measure: Measure,
    /// The present half of the slot.
    half: Half,
    /// The start of this half.
    since: Time,
    /// The length `T` of a half.
    length: Span,
    /// The bytes that arrived in this half.
    arrived: u64,
    /// The sum of bytes times the round-trip time of their connection in this slot, from which the next `T` follows.
    weighted: f64,
    /// The sum of the bytes in `weighted`.
    weight: f64,
    /// `BW_A`, the available bandwidth as measured, in bytes per second.
    available: f64,
    /// The available bandwidth that has not been granted, in bytes per second.
    left: f64,
    /// The number of slots that have ended.
    slots: u64,
}

impl Quota {
    /// Makes the quota of a link of rate `capacity`, of which a share `alpha` may be used. The first slot lasts twice
    /// `initial`.
    pub fn new(capacity: Rate, alpha: f64, initial: Span, measure: Measure) -> Quota {
        let capacity = capacity.as_bps_f64() / 8.0;
        Quota {
            capacity,
            share: alpha,
            measure,
            half: Half::Measure,
            since: Time::ZERO,
            length: initial,
            arrived: 0,
            weighted: 0.0,
            weight: 0.0,
            available: capacity * alpha,
            left: 0.0,
            slots: 0,
        }
    }

    /// Records the arrival of a packet of `wire` bytes on a connection whose round-trip time is `rtt`.
    pub fn arrive(&mut self, wire: u64, rtt: Span, now: Time) {
        self.advance(now);
        self.arrived += wire;
        self.weighted += wire as f64 * rtt.as_secs_f64();
        self.weight += wire as f64;
    }

    /// Ends the present half if it is over. Without traffic a half lasts until the next packet.
    pub fn advance(&mut self, now: Time) {
        let elapsed = now.saturating_since(self.since);
        if elapsed < self.length {
            return;
        }
        if self.half == Half::Measure || self.measure == Measure::BothHalves {
            // BW_A = max(0, alpha C - BW_T)
            let incoming = self.arrived as f64 / elapsed.as_secs_f64().max(1e-12);
            self.available = (self.share * self.capacity - incoming).max(0.0);
            self.left = self.available;
        }
        if self.half == Half::Measure {
            self.half = Half::Grow;
        } else {
            // T = sum of w_i RTT_i, with w_i the share of connection i in the traffic.
            if self.weight > 0.0 {
                self.length = Span::from_secs_f64(self.weighted / self.weight).max(Span::from_us(1));
            }
            (self.weighted, self.weight) = (0.0, 0.0);
            self.half = Half::Measure;
            self.slots += 1;
        }
        self.arrived = 0;
        self.since = now;
    }

    /// Grants `bandwidth` bytes per second if windows may grow now and enough is left. Returns true if it did.
    pub fn take(&mut self, bandwidth: f64) -> bool {
        let enough = self.half == Half::Grow && bandwidth <= self.left;
        if enough {
            self.left -= bandwidth;
        }
        enough
    }

    /// Adds the bandwidth that a window gave up, in bytes per second, to what is left.
    pub fn give_back(&mut self, bandwidth: f64) {
        self.left += bandwidth;
    }

    /// Returns the present half of the slot.
    pub fn half(&self) -> Half {
        self.half
    }

    /// Returns true if the available bandwidth as measured is less than this share of the link.
    pub fn is_scarce(&self, share: f64) -> bool {
        self.available < share * self.capacity
    }

    /// Returns true if the available bandwidth that is left after grants is less than this share of the link.
    pub fn is_left_scarce(&self, share: f64) -> bool {
        self.left < share * self.capacity
    }

    /// Returns the number of slots that have ended.
    pub fn slots(&self) -> u64 {
        self.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn the_unused_part_of_alpha_c_is_measured_in_one_half_and_granted_in_the_other() {
        // 1 Gbps: 125 MB/s, of which 112.5 may be used. 5000 bytes in 100 us are 50 MB/s.
        let mut quota = Quota::new(Rate::gbps(1), 0.9, Span::from_us(100), Measure::FirstHalf);
        quota.arrive(5000, Span::from_us(200), us(50));
        assert!(!quota.take(1.0), "not in the first half");
        quota.advance(us(100));
        assert_eq!(quota.half(), Half::Grow);
        assert!(quota.take(60e6));
        assert!(!quota.take(3e6));
        assert!(quota.take(2e6));
        assert!(!quota.is_scarce(0.2));
        quota.advance(us(200));
        assert_eq!(quota.half(), Half::Measure);
        quota.advance(us(399));
        assert_eq!(quota.half(), Half::Measure, "T is now the connection's round-trip time");
        quota.advance(us(400));
        assert_eq!((quota.half(), quota.slots()), (Half::Grow, 1));
    }

    #[test]
    fn the_authors_module_measures_at_the_end_of_both_halves() {
        let available = |measure| {
            let mut quota = Quota::new(Rate::gbps(1), 0.9, Span::from_us(100), measure);
            quota.advance(us(100));
            // The traffic of the second half fills the link.
            quota.arrive(12_500, Span::from_us(100), us(150));
            quota.advance(us(200));
            assert_eq!(quota.half(), Half::Measure);
            quota.is_left_scarce(0.2)
        };
        assert!(!available(Measure::FirstHalf) && available(Measure::BothHalves));
    }

    #[test]
    fn a_full_link_leaves_no_bandwidth_to_grant() {
        let mut quota = Quota::new(Rate::gbps(1), 0.9, Span::from_us(100), Measure::FirstHalf);
        quota.arrive(12_500, Span::from_us(100), us(50));
        quota.advance(us(100));
        assert!(quota.is_scarce(0.2) && !quota.take(1.0));
    }

    #[test]
    fn a_slot_without_traffic_keeps_the_length_of_the_one_before() {
        let mut quota = Quota::new(Rate::gbps(1), 0.9, Span::from_us(100), Measure::FirstHalf);
        quota.advance(us(100));
        quota.advance(us(200));
        assert_eq!((quota.half(), quota.slots()), (Half::Measure, 1));
        quota.advance(us(299));
        assert_eq!(quota.half(), Half::Measure, "there is no round-trip time to take a new length from");
        quota.advance(us(300));
        assert_eq!(quota.half(), Half::Grow);
    }
}
