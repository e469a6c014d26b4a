//! The estimate of the traffic in flight to this host (sec. III-C).

use super::phase::{Correction, Phase};
use clearway_units::{Rate, Span};
use serde::{Deserialize, Serialize};

/// The inputs of eq. (3), which gives the traffic that an acknowledgement triggers.
#[derive(Clone, Copy, Debug)]
pub struct Trigger {
    /// `ACK_q`, the number of this acknowledgement.
    pub ack: u64,
    /// `ACK_prev`, the number of the acknowledgement released before it.
    pub prev: u64,
    /// True if it carries the ECN echo flag: the window may then shrink, and no growth is counted.
    pub ecn_echo: bool,
    /// The flow's phase.
    pub phase: Phase,
    /// The largest payload of a packet, in bytes.
    pub mss: u64,
    /// The sender's window as estimated by the receiver, in bytes. With `None`, growth in congestion avoidance is not
    /// counted.
    pub window: Option<u64>,
}

impl Trigger {
    /// Returns `q.trigger`, the bytes of payload that the acknowledgement triggers.
    pub fn bytes(&self) -> u64 {
        let increment = match self.phase {
            _ if self.ecn_echo => 0,
            Phase::SlowStart => self.mss,
            Phase::CongestionAvoidance => {
                self.window.map_or(0, |window| self.mss * self.mss / window.max(self.mss))
            }
        };
        self.ack.saturating_sub(self.prev) + increment
    }
}

/// The estimate of the traffic in flight to this host, with the correction for traffic that will not arrive. It counts
/// bytes of payload, or of the wire with [`Units::Wire`](super::Units).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct InFlight {
    bytes: u64,
    /// `in_flight_S`, the smoothed estimate, in bytes.
    bytes_smooth: f64,
    /// `BW_S`, the smoothed throughput, in bytes per second; zero until the first interval with traffic.
    bandwidth_smooth: f64,
    /// The bytes that arrived in this control interval.
    arrived: u64,
    /// The bytes of marked packets among them.
    marked: u64,
    correction: Correction,
    lambda: f64,
    gain: f64,
    /// The rate of the host's line, in bytes per second.
    line_rate: f64,
}

impl InFlight {
    /// Makes an estimate of zero. `lambda` is the share of the usual throughput at or below which the estimate is
    /// corrected; `gain` is the weight of a new value in the exponential filters.
    pub fn new(correction: Correction, lambda: f64, gain: f64, line_rate: Rate) -> InFlight {
        InFlight {
            bytes: 0,
            bytes_smooth: 0.0,
            bandwidth_smooth: 0.0,
            arrived: 0,
            marked: 0,
            correction,
            lambda,
            gain,
            line_rate: line_rate.as_bps() as f64 / 8.0,
        }
    }

    /// Returns the estimate, in bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds what an acknowledgement triggers, as it is released (eq. (4)).
    #[inline]
    pub fn add(&mut self, trigger: u64) {
        self.bytes += trigger;
    }

    /// Subtracts the payload of a packet that arrived (eq. (5)). The estimate stays at zero for data that no release
    /// announced, such as a first window.
    #[inline]
    pub fn arrive(&mut self, payload: u64, marked: bool) {
        self.bytes = self.bytes.saturating_sub(payload);
        self.count(payload, marked);
    }

    /// Counts the payload of a packet that arrived towards the throughput. The caller subtracts it with
    /// [`InFlight::settle`].
    #[inline]
    pub fn count(&mut self, payload: u64, marked: bool) {
        self.arrived += payload;
        self.marked += payload * marked as u64;
    }

    /// Subtracts bytes that arrived or will never arrive.
    pub fn settle(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Sets the estimate to zero and forgets the usual throughput. After a pause it would mistake the first round trip,
    /// in which nothing arrives yet, for a fall.
    pub fn clear(&mut self) {
        self.bytes = 0;
        self.bandwidth_smooth = 0.0;
    }

    /// Ends a control interval of length `elapsed`, in which a share `alpha` of the packets was marked. A throughput of
    /// at most `lambda` times the usual one is a sign that less is in flight than was estimated (eq. (6)).
    pub fn close_interval(&mut self, elapsed: Span, alpha: f64, threshold: u64) {
        let arrived = std::mem::take(&mut self.arrived) as f64;
        let marked = std::mem::take(&mut self.marked) as f64;
        let bandwidth = arrived / elapsed.as_secs_f64().max(1e-12);
        match self.correction {
            Correction::Answers => {}
            Correction::Throughput => self.correct_by_filters(bandwidth, alpha),
            Correction::LineRate => {
                if bandwidth < self.lambda * self.line_rate {
                    let marked_share = if arrived > 0.0 { marked / arrived } else { 0.0 };
                    let share = bandwidth / (self.line_rate * (1.0 - marked_share / 2.0));
                    self.bytes = self.bytes.min((threshold as f64 * share) as u64);
                }
            }
        }
    }

    /// Corrects the estimate by eq. (6) as printed, where exponential filters give the usual values.
    fn correct_by_filters(&mut self, bandwidth: f64, alpha: f64) {
        if self.bandwidth_smooth == 0.0 {
            // Before the first arrival there is no throughput that could have fallen.
            self.bandwidth_smooth = bandwidth;
            self.bytes_smooth = self.bytes as f64;
            return;
        }
        if bandwidth <= self.lambda * self.bandwidth_smooth {
            let share = bandwidth / (self.bandwidth_smooth * (1.0 - alpha / 2.0));
            self.bytes = self.bytes.min((self.bytes_smooth * share) as u64);
        }
        self.bandwidth_smooth += self.gain * (bandwidth - self.bandwidth_smooth);
        self.bytes_smooth += self.gain * (self.bytes as f64 - self.bytes_smooth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIGGER: Trigger = Trigger {
        ack: 5000,
        prev: 2000,
        ecn_echo: false,
        phase: Phase::SlowStart,
        mss: 1000,
        window: Some(4000),
    };

    #[test]
    fn an_ack_triggers_what_it_frees_and_the_growth_of_the_window_equation_3() {
        assert_eq!(TRIGGER.bytes(), 3000 + 1000);
        let avoidance = Trigger { phase: Phase::CongestionAvoidance, ..TRIGGER };
        assert_eq!(avoidance.bytes(), 3000 + 1000 * 1000 / 4000);
        assert_eq!(
            Trigger { window: Some(0), ..avoidance }.bytes(),
            3000 + 1000,
            "a window has at least a segment"
        );
    }

    #[test]
    fn the_authors_code_counts_no_growth_in_congestion_avoidance_pac_5() {
        let avoidance = Trigger { phase: Phase::CongestionAvoidance, window: None, ..TRIGGER };
        assert_eq!(avoidance.bytes(), 3000);
        assert_eq!(Trigger { window: None, ..TRIGGER }.bytes(), 3000 + 1000, "slow start as printed");
    }

    #[test]
    fn an_echo_of_a_mark_triggers_no_growth_section_iii_c() {
        assert_eq!(Trigger { ecn_echo: true, ..TRIGGER }.bytes(), 3000);
        assert_eq!(Trigger { ecn_echo: true, ack: 2000, ..TRIGGER }.bytes(), 0);
    }

    #[test]
    fn a_duplicate_ack_triggers_only_the_growth_of_the_window_equation_3() {
        assert_eq!(Trigger { ack: 2000, ..TRIGGER }.bytes(), 1000);
        assert_eq!(Trigger { ack: 1000, ..TRIGGER }.bytes(), 1000, "and an old one no less");
    }

    #[test]
    fn releases_add_and_arrivals_subtract_down_to_zero_equations_4_and_5() {
        let mut estimate = InFlight::new(Correction::Throughput, 0.8, 0.125, Rate::gbps(1));
        estimate.add(3000);
        estimate.arrive(1000, false);
        assert_eq!(estimate.bytes(), 2000);
        estimate.arrive(5000, false);
        assert_eq!(estimate.bytes(), 0, "PAC-4");
    }

    /// Returns an estimate after ten intervals of 1 ms with 100 KB each and 50 KB in flight.
    fn steady() -> InFlight {
        let mut estimate = InFlight::new(Correction::Throughput, 0.8, 0.125, Rate::gbps(1));
        for _ in 0..10 {
            estimate.add(150_000 - estimate.bytes());
            estimate.arrive(100_000, false);
            estimate.close_interval(Span::from_ms(1), 0.0, 80_000);
            assert_eq!(estimate.bytes(), 50_000);
        }
        estimate
    }

    #[test]
    fn a_fall_of_throughput_cuts_the_estimate_in_proportion_equation_6() {
        let mut estimate = steady();
        estimate.add(40_000);
        estimate.arrive(40_000, false);
        estimate.close_interval(Span::from_ms(1), 0.0, 80_000);
        assert_eq!(estimate.bytes(), 20_000, "in_flight_S 50 KB, BW_T / BW_S 0.4");
    }

    #[test]
    fn a_fall_within_lambda_leaves_the_estimate_equation_6() {
        let mut estimate = steady();
        estimate.add(81_000);
        estimate.arrive(81_000, false);
        estimate.close_interval(Span::from_ms(1), 0.0, 80_000);
        assert_eq!(estimate.bytes(), 50_000);
    }

    #[test]
    fn a_fall_with_many_marks_leaves_the_estimate_equation_6() {
        // BW_T / BW_S = 0.6 and alpha = 0.9: 0.6 / 0.55 is more than 1, so the network may be to blame.
        let mut estimate = steady();
        estimate.add(60_000);
        estimate.arrive(60_000, false);
        estimate.close_interval(Span::from_ms(1), 0.9, 80_000);
        assert_eq!(estimate.bytes(), 50_000);
    }

    #[test]
    fn intervals_before_the_first_arrival_leave_the_estimate() {
        let mut estimate = InFlight::new(Correction::Throughput, 0.8, 0.125, Rate::gbps(1));
        estimate.add(10_000);
        (0..5).for_each(|_| estimate.close_interval(Span::from_us(100), 0.0, 80_000));
        assert_eq!(estimate.bytes(), 10_000);
    }

    #[test]
    fn the_first_round_trip_after_a_pause_is_no_fall() {
        let mut estimate = steady();
        estimate.clear();
        estimate.add(30_000);
        estimate.close_interval(Span::from_us(100), 0.0, 80_000);
        assert_eq!(estimate.bytes(), 30_000);
    }

    #[test]
    fn a_silent_interval_empties_the_estimate_equation_6() {
        let mut estimate = steady();
        estimate.close_interval(Span::from_ms(1), 0.0, 80_000);
        assert_eq!(estimate.bytes(), 0);
    }

    /// Returns the estimate after one interval of 1 ms, which could bring 125,000 bytes, at the end of which 80 KB are
    /// in flight and the threshold is 80 KB.
    fn by_line_rate(arrived: u64, marked: u64) -> u64 {
        let mut estimate = InFlight::new(Correction::LineRate, 0.8, 0.125, Rate::gbps(1));
        estimate.add(80_000 + arrived);
        estimate.arrive(marked, true);
        estimate.arrive(arrived - marked, false);
        estimate.close_interval(Span::from_ms(1), 0.0, 80_000);
        estimate.bytes()
    }

    #[test]
    fn the_authors_code_corrects_by_the_line_rate_and_the_threshold_pac_8() {
        assert_eq!(by_line_rate(100_000, 0), 80_000, "0.8 of the line rate is no fall");
        assert_eq!(by_line_rate(50_000, 0), 32_000, "0.4 of the line rate, 0.4 of the threshold");
        assert_eq!(by_line_rate(0, 0), 0);
    }

    #[test]
    fn the_authors_code_always_applies_equation_6_and_counts_marks_in_bytes_pac_7() {
        // 0.4 of the line rate and half of the bytes marked: 0.4 / 0.75 of the threshold.
        assert_eq!(by_line_rate(50_000, 25_000), 42_666);
    }
}
