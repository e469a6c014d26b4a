//! The bandwidth that a host still has for larger windows (ICTCP sec. 4.1 and 4.2).

/// Where a control slot of `2T` stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// Incoming traffic is measured, windows do not grow.
    Measure,
    /// Windows may grow out of the quota that was measured.
    Grow,
}

use clearway_schema::choice;
use clearway_units::{Rate, Span, Time};

choice! {
    /// When the available bandwidth is measured.
    pub enum Measure {
        /// At the end of the first half of each slot.
        FirstHalf = "first-half",
        /// At the end of both halves (PAC's authors' module).
        BothHalves = "both-halves",
    }
}

/// Available bandwidth, measured in the first half of each slot and handed out in the second.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// `C`, in bytes per second.
    capacity: f64,
    /// `alpha`.
    share: f64,
    measure: Measure,
    half: Half,
    since: Time,
    length: Span,
    /// Bytes in this half.
    arrived: u64,
    /// Bytes times the round-trip times of their connections, for `T`.
    weighted: f64,
    weight: f64,
    /// `BW_A` as measured, in bytes per second.
    available: f64,
    /// What is left of it.
    left: f64,
    slots: u64,
}

impl Quota {
    /// A link of `capacity`, of which a share `alpha` is to be used. Slots last twice `initial` at first.
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

    /// A packet of this size on the wire arrived, on a connection with this round-trip time.
    pub fn arrive(&mut self, wire: u64, rtt: Span, now: Time) {
        self.advance(now);
        self.arrived += wire;
        self.weighted += wire as f64 * rtt.as_secs_f64();
        self.weight += wire as f64;
    }

    /// Moves on to the half of the slot that `now` lies in. Without traffic a half lasts until the next packet.
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

    /// Takes this much bandwidth, in bytes per second, if windows may grow now and enough is left.
    pub fn take(&mut self, bandwidth: f64) -> bool {
        let enough = self.half == Half::Grow && bandwidth <= self.left;
        if enough {
            self.left -= bandwidth;
        }
        enough
    }

    /// Gives back what a window that shrank no longer takes, in bytes per second.
    pub fn give_back(&mut self, bandwidth: f64) {
        self.left += bandwidth;
    }

    /// Where the slot stands.
    pub fn half(&self) -> Half {
        self.half
    }

    /// Whether less than this share of the link is available.
    pub fn is_scarce(&self, share: f64) -> bool {
        self.available < share * self.capacity
    }

    /// Whether less than this share of the link is left of what was available.
    pub fn is_left_scarce(&self, share: f64) -> bool {
        self.left < share * self.capacity
    }

    /// Slots that ended.
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
    fn what_is_left_of_alpha_c_is_measured_in_one_half_and_handed_out_in_the_other() {
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
    fn the_module_measures_at_the_end_of_both_halves() {
        let available = |measure| {
            let mut quota = Quota::new(Rate::gbps(1), 0.9, Span::from_us(100), measure);
            quota.advance(us(100));
            // The second half is full.
            quota.arrive(12_500, Span::from_us(100), us(150));
            quota.advance(us(200));
            assert_eq!(quota.half(), Half::Measure);
            quota.is_left_scarce(0.2)
        };
        assert!(!available(Measure::FirstHalf) && available(Measure::BothHalves));
    }

    #[test]
    fn a_full_link_leaves_nothing() {
        let mut quota = Quota::new(Rate::gbps(1), 0.9, Span::from_us(100), Measure::FirstHalf);
        quota.arrive(12_500, Span::from_us(100), us(50));
        quota.advance(us(100));
        assert!(quota.is_scarce(0.2) && !quota.take(1.0));
    }
}
