//! How much traffic is on its way to this host (sec. III-C).

use super::phase::{Correction, Phase};
use clearway_units::{Rate, Span};

/// Traffic that an acknowledgement triggers, in bytes of payload (eq. (3)).
#[derive(Clone, Copy, Debug)]
pub struct Trigger {
    /// `ACK_q`: what it acknowledges.
    pub ack: u64,
    /// `ACK_prev`: what the last one released acknowledged.
    pub prev: u64,
    /// Whether it carries the ECN echo flag: then the window may shrink, and no increment is counted.
    pub ecn_echo: bool,
    /// Phase of the flow.
    pub phase: Phase,
    /// Largest payload of a packet.
    pub mss: u64,
    /// The sender's window, as far as it can be told; `None`: growth in congestion avoidance is not counted.
    pub window: Option<u64>,
}

impl Trigger {
    /// `q.trigger`.
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

/// The estimate of the traffic in flight towards this host, in bytes of payload (or of the wire, with
/// [`Units::Wire`](super::Units)), with its correction.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    bytes: u64,
    /// `in_flight_S`.
    bytes_smooth: f64,
    /// `BW_S`, in bytes per second; zero until the first interval with traffic.
    bandwidth_smooth: f64,
    /// Bytes that arrived in this interval, and those of them that were marked.
    arrived: u64,
    marked: u64,
    correction: Correction,
    lambda: f64,
    gain: f64,
    /// Of the line, in bytes per second.
    line_rate: f64,
}

impl InFlight {
    /// Nothing in flight. `lambda` is the share of the usual throughput at or below which the estimate is suspected,
    /// `gain` the weight of a new value in the exponential filters.
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

    /// The estimate.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// An acknowledgement that triggers this much left (eq. (4)).
    #[inline]
    pub fn add(&mut self, trigger: u64) {
        self.bytes += trigger;
    }

    /// A packet with this payload arrived (eq. (5)). Data that no release announced, such as a first window, must
    /// not turn the estimate negative.
    #[inline]
    pub fn arrive(&mut self, payload: u64, marked: bool) {
        self.bytes = self.bytes.saturating_sub(payload);
        self.count(payload, marked);
    }

    /// A packet with this payload arrived, which [`InFlight::settle`] accounts for.
    #[inline]
    pub fn count(&mut self, payload: u64, marked: bool) {
        self.arrived += payload;
        self.marked += payload * marked as u64;
    }

    /// This much of what was added will never come.
    pub fn settle(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Nothing is in flight any more, and the throughput that was usual says nothing of what comes next: after a
    /// pause it would take the first round trip, in which nothing arrives yet, for a fall.
    pub fn clear(&mut self) {
        self.bytes = 0;
        self.bandwidth_smooth = 0.0;
    }

    /// A control interval ended in which a share `alpha` of the packets was marked: a throughput that fell below
    /// `lambda` times the usual one is a sign that less is in flight than was thought (eq. (6)).
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

    /// Eq. (6) as printed: what is usual is what exponential filters remember.
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
    fn a_duplicate_ack_triggers_the_growth_alone_equation_3() {
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

    /// 100 KB in each of some intervals of 1 ms, with 50 KB thought to be in flight.
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
    fn intervals_before_the_first_arrival_say_nothing() {
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

    /// 80 KB in flight where the switch holds 80 KB, and so many bytes arrive in a millisecond of 125,000.
    fn by_line_rate(arrived: u64, marked: u64) -> u64 {
        let mut estimate = InFlight::new(Correction::LineRate, 0.8, 0.125, Rate::gbps(1));
        estimate.add(80_000 + arrived);
        estimate.arrive(marked, true);
        estimate.arrive(arrived - marked, false);
        estimate.close_interval(Span::from_ms(1), 0.0, 80_000);
        estimate.bytes()
    }

    #[test]
    fn the_authors_code_takes_line_rate_and_buffer_for_what_is_usual_pac_8() {
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
