//! How much traffic is on its way to this host (sec. III-C).

use super::phase::Phase;
use clearway_units::Span;

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
    /// The sender's window, as far as it can be told.
    pub window: u64,
}

impl Trigger {
    /// `q.trigger`.
    pub fn bytes(&self) -> u64 {
        let increment = match self.phase {
            _ if self.ecn_echo => 0,
            Phase::SlowStart => self.mss,
            Phase::CongestionAvoidance => self.mss * self.mss / self.window.max(self.mss),
        };
        self.ack.saturating_sub(self.prev) + increment
    }
}

/// The estimate of the traffic in flight towards this host, in bytes of payload, with its correction.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    bytes: u64,
    /// `in_flight_S`.
    bytes_smooth: f64,
    /// `BW_S`, in bytes per second; zero until the first interval with traffic.
    bandwidth_smooth: f64,
    /// Bytes that arrived in this interval.
    arrived: u64,
    lambda: f64,
    gain: f64,
}

impl InFlight {
    /// Nothing in flight. `lambda` is the share of the usual throughput below which the estimate is suspected (negative:
    /// never), `gain` the weight of a new value in the exponential filters.
    pub fn new(lambda: f64, gain: f64) -> InFlight {
        InFlight { bytes: 0, bytes_smooth: 0.0, bandwidth_smooth: 0.0, arrived: 0, lambda, gain }
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
    pub fn arrive(&mut self, payload: u64) {
        self.bytes = self.bytes.saturating_sub(payload);
        self.arrived += payload;
    }

    /// A packet with this payload arrived, which [`InFlight::settle`] accounts for.
    #[inline]
    pub fn count(&mut self, payload: u64) {
        self.arrived += payload;
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
    pub fn close_interval(&mut self, elapsed: Span, alpha: f64) {
        let arrived = std::mem::take(&mut self.arrived) as f64;
        let bandwidth = arrived / elapsed.as_secs_f64().max(1e-12);
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

    const TRIGGER: Trigger =
        Trigger { ack: 5000, prev: 2000, ecn_echo: false, phase: Phase::SlowStart, mss: 1000, window: 4000 };

    #[test]
    fn an_ack_triggers_what_it_frees_and_the_growth_of_the_window_equation_3() {
        assert_eq!(TRIGGER.bytes(), 3000 + 1000);
        let avoidance = Trigger { phase: Phase::CongestionAvoidance, ..TRIGGER };
        assert_eq!(avoidance.bytes(), 3000 + 1000 * 1000 / 4000);
        assert_eq!(
            Trigger { window: 0, ..avoidance }.bytes(),
            3000 + 1000,
            "a window has at least a segment"
        );
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
        let mut estimate = InFlight::new(0.8, 0.125);
        estimate.add(3000);
        estimate.arrive(1000);
        assert_eq!(estimate.bytes(), 2000);
        estimate.arrive(5000);
        assert_eq!(estimate.bytes(), 0, "PAC-4");
    }

    /// 100 KB in each of some intervals of 1 ms, with 50 KB thought to be in flight.
    fn steady() -> InFlight {
        let mut estimate = InFlight::new(0.8, 0.125);
        for _ in 0..10 {
            estimate.add(150_000 - estimate.bytes());
            estimate.arrive(100_000);
            estimate.close_interval(Span::from_ms(1), 0.0);
            assert_eq!(estimate.bytes(), 50_000);
        }
        estimate
    }

    #[test]
    fn a_fall_of_throughput_cuts_the_estimate_in_proportion_equation_6() {
        let mut estimate = steady();
        estimate.add(40_000);
        estimate.arrive(40_000);
        estimate.close_interval(Span::from_ms(1), 0.0);
        assert_eq!(estimate.bytes(), 20_000, "in_flight_S 50 KB, BW_T / BW_S 0.4");
    }

    #[test]
    fn a_fall_within_lambda_leaves_the_estimate_equation_6() {
        let mut estimate = steady();
        estimate.add(81_000);
        estimate.arrive(81_000);
        estimate.close_interval(Span::from_ms(1), 0.0);
        assert_eq!(estimate.bytes(), 50_000);
    }

    #[test]
    fn a_fall_with_many_marks_leaves_the_estimate_equation_6() {
        // BW_T / BW_S = 0.6 and alpha = 0.9: 0.6 / 0.55 is more than 1, so the network may be to blame.
        let mut estimate = steady();
        estimate.add(60_000);
        estimate.arrive(60_000);
        estimate.close_interval(Span::from_ms(1), 0.9);
        assert_eq!(estimate.bytes(), 50_000);
    }

    #[test]
    fn intervals_before_the_first_arrival_say_nothing() {
        let mut estimate = InFlight::new(0.8, 0.125);
        estimate.add(10_000);
        (0..5).for_each(|_| estimate.close_interval(Span::from_us(100), 0.0));
        assert_eq!(estimate.bytes(), 10_000);
    }

    #[test]
    fn the_first_round_trip_after_a_pause_is_no_fall() {
        let mut estimate = steady();
        estimate.clear();
        estimate.add(30_000);
        estimate.close_interval(Span::from_us(100), 0.0);
        assert_eq!(estimate.bytes(), 30_000);
    }

    #[test]
    fn a_silent_interval_empties_the_estimate_equation_6() {
        let mut estimate = steady();
        estimate.close_interval(Span::from_ms(1), 0.0);
        assert_eq!(estimate.bytes(), 0);
    }
}
