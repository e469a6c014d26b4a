//! The credit rate of a receiver: Algorithm 1 of ExpressPass '17, and the trait [`Feedback`] of all such laws.
//!
//! A law is a pure function of its state and the counts of one update period. Rates are real numbers of credits per
//! second, since the algorithm is stated in real numbers and a flow may get less than one credit a second.

use crate::shared::Shared;
use clearway_units::{Rate, Span};
use serde::{Deserialize, Serialize};

/// The counts of one update period.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Period {
    /// The number of credits that turned out to be spent or lost.
    pub sent: u64,
    /// The number of lost credits among them.
    pub dropped: u64,
    /// The number of data packets that arrived.
    pub received: u64,
    /// The number of marked packets among them.
    pub marked: u64,
    /// The length of the period.
    pub span: Span,
    /// The smoothed round-trip time.
    pub rtt: Span,
}

impl Period {
    /// Returns the share of credits that were lost, or `None` if the fate of none became known.
    pub fn loss(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.dropped as f64 / self.sent as f64)
    }

    /// Returns the share of data packets that were marked, or `None` if none arrived.
    pub fn ecn_ratio(&self) -> Option<f64> {
        (self.received > 0).then(|| self.marked as f64 / self.received as f64)
    }

    /// Returns the rate of one credit per period, the least that a period can measure, in credits per second.
    pub fn one_per_period(&self) -> f64 {
        per_second(1, self.span)
    }

    /// Returns the rate of one credit per round-trip time, in credits per second.
    pub fn one_per_rtt(&self) -> f64 {
        per_second(1, self.rtt)
    }

    /// Returns the rate of arrivals, in data packets per second.
    pub fn receive_rate(&self) -> f64 {
        per_second(self.received, self.span)
    }
}

fn per_second(events: u64, span: Span) -> f64 {
    if span.is_zero() { 0.0 } else { events as f64 / span.as_secs_f64() }
}

/// The event that starts an update of the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Trigger {
    /// A timer starts an update every update period.
    Timer,
    /// A credit that leaves at least one update period after the last update starts the next one, if data arrived
    /// since. That credit leaves when it was due, and the new rate sets the gap after it. Counts from before a request
    /// enter the first update after it.
    Credit,
    /// The rate is fixed and never updated.
    Never,
}

/// A law that sets the credit rate.
pub trait Feedback {
    /// Returns to the initial rate because the flow asks for `wanted` credits.
    fn start(&mut self, wanted: u64);
    /// Returns the present rate, in credits per second.
    fn rate(&self) -> f64;
    /// Updates the rate by the counts of a finished update period.
    fn update(&mut self, period: &Period);
    /// Returns the event that starts an update, which never changes.
    fn trigger(&self) -> Trigger {
        Trigger::Timer
    }
}

/// Returns the credit rate that fills a link, in credits per second: one credit of `credit` bytes for each frame of
/// `frame` bytes (E17 sec. 3.1).
pub fn max_rate(line_rate: Rate, credit: u32, frame: u32) -> f64 {
    line_rate.as_bps_f64() / (8.0 * (credit as f64 + frame as f64))
}

/// The constants of Algorithm 1, with the paper's names.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Algorithm1 {
    /// The credit rate that fills the link, in credits per second.
    pub max_rate: f64,
    /// The initial rate as a share of `max_rate`.
    pub alpha: f64,
    /// The first value of the aggressiveness factor `w`.
    pub w_init: f64,
    /// The least value of `w`.
    pub w_min: f64,
    /// The value that `w` approaches while there is no congestion.
    pub w_max: f64,
    /// The credit loss up to which there is no congestion.
    pub target_loss: f64,
    /// The divisor in the scaling of the initial rate by `min(1, credits wanted / ramp)`; 0 for no scaling. The ns-2
    /// code has 40.
    pub ramp: u32,
}

impl Algorithm1 {
    /// Returns the initial rate of a flow that asks for `wanted` credits.
    pub(super) fn initial_rate(&self, wanted: u64) -> f64 {
        let ramp = if self.ramp == 0 { 1.0 } else { (wanted.max(1) as f64 / self.ramp as f64).min(1.0) };
        self.alpha * ramp * self.max_rate
    }
}

/// Algorithm 1 (E17 sec. 3.2), with its branches nested as the prose says.
///
/// ```
/// use clearway_proto::expresspass::{Algorithm1, Feedback, FeedbackControl, Period};
/// use clearway_units::Span;
///
/// let constants = Algorithm1 {
///     max_rate: 1000.0, alpha: 0.5, w_init: 0.5, w_min: 0.01, w_max: 0.5, target_loss: 0.1, ramp: 0,
/// };
/// let mut control = FeedbackControl::new(constants);
/// control.update(&Period {
///     sent: 100, dropped: 20, received: 80, marked: 0, span: Span::from_ms(100), rtt: Span::from_ms(100),
/// });
/// assert_eq!(control.rate(), 500.0 * 0.8 * 1.1);
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FeedbackControl {
    constants: Shared<Algorithm1>,
    cur_rate: f64,
    w: f64,
    increased: bool,
    matched: bool,
}

impl FeedbackControl {
    /// Makes the law of a new flow, at the initial rate.
    pub fn new(constants: Algorithm1) -> FeedbackControl {
        let cur_rate = constants.initial_rate(u64::MAX);
        let w = constants.w_init;
        FeedbackControl { constants: Shared::new(constants), cur_rate, w, increased: false, matched: false }
    }

    /// Makes the law of a new flow, with line 12 read as sec. 4 models it: the loss applies to the rate at which the
    /// lost credits were sent. Losses become known a round trip later, when line 12 as printed has often reduced
    /// `cur_rate` already, and reduces it again for the same losses.
    pub fn matched(constants: Algorithm1) -> FeedbackControl {
        FeedbackControl { matched: true, ..FeedbackControl::new(constants) }
    }

    /// Returns the aggressiveness factor `w`.
    pub fn w(&self) -> f64 {
        self.w
    }

    /// Returns true if the last update was an increase.
    pub fn increased(&self) -> bool {
        self.increased
    }

    /// Updates the rate after a period with this credit loss (lines 4 to 13). A decrease stops at `floor` credits per
    /// second. The paper has no floor, but a rate of zero would stay zero (E17-5).
    pub fn step(&mut self, credit_loss: f64, floor: f64) {
        self.step_from(self.cur_rate, credit_loss, floor);
    }

    /// Updates the rate as [`FeedbackControl::step`] does, where the lost credits were sent at `sent_rate`. A decrease
    /// never raises the rate.
    fn step_from(&mut self, sent_rate: f64, credit_loss: f64, floor: f64) {
        let Algorithm1 { max_rate, w_min, w_max, target_loss, .. } = *self.constants;
        if credit_loss <= target_loss {
            if self.increased {
                self.w = (self.w + w_max) / 2.0;
            }
            self.cur_rate = (1.0 - self.w) * self.cur_rate + self.w * max_rate * (1.0 + target_loss);
            self.increased = true;
        } else {
            let decreased = sent_rate * (1.0 - credit_loss) * (1.0 + target_loss);
            self.cur_rate = decreased.max(floor).min(self.cur_rate);
            self.w = (self.w / 2.0).max(w_min);
            self.increased = false;
        }
    }
}

impl Feedback for FeedbackControl {
    fn start(&mut self, wanted: u64) {
        self.cur_rate = self.constants.initial_rate(wanted);
        (self.w, self.increased) = (self.constants.w_init, false);
    }

    fn rate(&self) -> f64 {
        self.cur_rate
    }

    fn update(&mut self, period: &Period) {
        // A period in which no credit's fate became known (less than one credit per RTT) changes nothing (E17-5).
        if let Some(loss) = period.loss() {
            let sent_rate = if self.matched { per_second(period.sent, period.span) } else { self.cur_rate };
            self.step_from(sent_rate, loss, period.one_per_period());
        }
    }
}

/// A fixed rate, in credits per second: credits leave at it until a stop (E17 sec. 2, the naive scheme).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AtMaxRate(pub f64);

impl Feedback for AtMaxRate {
    fn start(&mut self, _: u64) {}

    fn rate(&self) -> f64 {
        self.0
    }

    fn update(&mut self, _: &Period) {}

    fn trigger(&self) -> Trigger {
        Trigger::Never
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Algorithm1 = Algorithm1 {
        max_rate: 1.0,
        alpha: 0.0625,
        w_init: 0.0625,
        w_min: 0.01,
        w_max: 0.5,
        target_loss: 0.1,
        ramp: 0,
    };

    /// Updates N synchronised flows at one bottleneck, which all see the same loss, as sec. 4 models them. Returns the
    /// loss.
    fn fluid(flows: &mut [FeedbackControl]) -> f64 {
        let sum: f64 = flows.iter().map(|flow| flow.cur_rate).sum();
        let loss = (1.0 - 1.0 / sum).max(0.0);
        flows.iter_mut().for_each(|flow| flow.step(loss, 0.0));
        loss
    }

    fn settled(n: usize) -> Vec<FeedbackControl> {
        let mut flows: Vec<_> = (0..n).map(|_| FeedbackControl::new(PAPER)).collect();
        for (i, flow) in flows.iter_mut().enumerate() {
            flow.cur_rate = if i == 0 { 1.1 } else { 0.0625 };
            flow.w = 0.5;
        }
        (0..4_000).for_each(|_| {
            fluid(&mut flows);
        });
        // Sec. 4 calls the points of time after a decrease even.
        if flows[0].increased {
            fluid(&mut flows);
        }
        flows
    }

    #[test]
    fn a_first_increase_leaves_w_and_a_second_one_in_a_row_halves_its_way_to_w_max() {
        let mut control = FeedbackControl::new(PAPER);
        control.step(0.0, 0.0);
        assert_eq!(control.w, 0.0625, "E17-1: line 8 only after an increase");
        assert_eq!(control.cur_rate, (1.0 - 0.0625) * 0.0625 + 0.0625 * 1.1, "line 9 after any phase");
        let before = control.cur_rate;
        control.step(0.0, 0.0);
        assert_eq!(control.w, (0.0625 + 0.5) / 2.0);
        assert_eq!(control.cur_rate, (1.0 - 0.28125) * before + 0.28125 * 1.1, "the new w at once");
    }

    #[test]
    fn a_loss_at_the_target_still_increases_and_one_above_it_decreases() {
        let mut control = FeedbackControl::new(PAPER);
        control.step(0.1, 0.0);
        assert!(control.increased);
        let before = control.cur_rate;
        control.step(0.2, 0.0);
        assert!(!control.increased);
        assert_eq!(control.cur_rate, before * (1.0 - 0.2) * (1.0 + 0.1));
    }

    #[test]
    fn w_halves_with_every_decrease_and_stops_at_w_min() {
        let mut control = FeedbackControl::new(Algorithm1 { w_init: 0.5, ..PAPER });
        let expected = [0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.01, 0.01];
        for w in expected {
            control.step(0.5, 0.0);
            assert_eq!(control.w, w);
            control.step(0.0, 0.0);
            assert_eq!(control.w, w, "w(t+1) = w(t), sec. 4");
        }
    }

    #[test]
    fn the_aggressiveness_that_others_read_lies_between_its_ends_and_halves_with_a_loss() {
        let mut control = FeedbackControl::new(Algorithm1 { w_init: 0.5, ..PAPER });
        assert_eq!(control.w(), 0.5);
        control.step(0.5, 0.0);
        assert_eq!(control.w(), 0.25);
        (0..20).for_each(|_| control.step(0.0, 0.0));
        assert!(control.w() > 0.4999 && control.w() <= 0.5, "{}", control.w());
    }

    #[test]
    fn an_update_follows_the_recursions_of_section_4() {
        // C = max_rate (1 + target_loss). Increase: R' = (1-w) R + w C. Decrease: R'' = C R' / sum R'.
        let c = 1.1;
        let mut flows: Vec<_> = (0..3).map(|_| FeedbackControl::new(PAPER)).collect();
        for (flow, share) in flows.iter_mut().zip([0.2, 0.3, 0.5]) {
            (flow.cur_rate, flow.w) = (share * c, 0.25);
        }
        let before: Vec<f64> = flows.iter().map(|flow| flow.cur_rate).collect();
        // The loss at a sum of C is 1/11 and below the target, so all increase.
        fluid(&mut flows);
        for (flow, r) in flows.iter().zip(&before) {
            assert!((flow.cur_rate - (0.75 * r + 0.25 * c)).abs() < 1e-12);
        }
        let up: Vec<f64> = flows.iter().map(|flow| flow.cur_rate).collect();
        fluid(&mut flows);
        for (flow, r) in flows.iter().zip(&up) {
            assert!((flow.cur_rate - c * r / up.iter().sum::<f64>()).abs() < 1e-12);
            assert_eq!(flow.w, 0.125);
        }
        // The sum overshoots C by the factor A(t0) = 1 + sum w (1 - R/C).
        let a = 1.0 + before.iter().map(|r| 0.25 * (1.0 - r / c)).sum::<f64>();
        assert!((up.iter().sum::<f64>() / c - a).abs() < 1e-12);
    }

    #[test]
    fn three_and_more_flows_settle_at_the_fixed_points_5_and_6_with_the_swing_d_star() {
        for n in [3, 4, 10, 100] {
            let mut flows = settled(n);
            let (c, share) = (1.1, 1.1 / n as f64);
            for flow in &flows {
                assert!((flow.cur_rate - share).abs() < 1e-6, "(5) N = {n}: {}", flow.cur_rate);
                assert_eq!(flow.w, 0.01);
            }
            fluid(&mut flows);
            for flow in &flows {
                let odd = share * (1.0 + (n as f64 - 1.0) * 0.01);
                assert!((flow.cur_rate - odd).abs() < 1e-6, "(6) N = {n}: {}", flow.cur_rate);
                let swing = flow.cur_rate - share;
                assert!((swing - c * 0.01 * (1.0 - 1.0 / n as f64)).abs() < 1e-6, "D*, N = {n}");
            }
        }
    }

    #[test]
    fn two_flows_do_not_settle_since_w_jumps_to_0_255() {
        // E17-4: at w = w_min the overshoot of two flows stays below the target loss.
        let mut flows = settled(2);
        let mut jumps = Vec::new();
        for step in 0..120 {
            let before = flows[0].w;
            fluid(&mut flows);
            if flows[0].w > before {
                assert_eq!((before, flows[0].w), (0.01, 0.255));
                jumps.push(step);
            }
        }
        assert!(jumps.len() >= 9, "{jumps:?}");
        assert!(jumps.windows(2).all(|pair| pair[1] - pair[0] == 11), "every 11 updates: {jumps:?}");
    }

    #[test]
    fn losses_that_are_a_period_old_reduce_the_rate_once_if_matched_and_twice_as_printed() {
        let period = |sent, dropped| Period {
            sent,
            dropped,
            received: sent - dropped,
            marked: 0,
            span: Span::from_ms(100),
            rtt: Span::from_ms(100),
        };
        let constants = Algorithm1 { max_rate: 1000.0, alpha: 1.0, w_init: 0.5, ..PAPER };
        let (mut printed, mut matched) =
            (FeedbackControl::new(constants), FeedbackControl::matched(constants));
        for control in [&mut printed, &mut matched] {
            // Half of 100 credits are lost, and half of those that left before that was known.
            control.update(&period(100, 50));
            control.update(&period(100, 50));
        }
        assert!((printed.cur_rate - 1000.0 * 0.55 * 0.55).abs() < 1e-9);
        assert!((matched.cur_rate - 1000.0 * 0.55).abs() < 1e-9);
        matched.start(u64::MAX);
        assert!(matched.matched && matched.cur_rate == 1000.0);
    }

    #[test]
    fn total_loss_leaves_one_credit_per_period_and_silence_changes_nothing() {
        let period = |sent, dropped, received| Period {
            sent,
            dropped,
            received,
            marked: 0,
            span: Span::from_us(10),
            rtt: Span::from_us(10),
        };
        let mut control = FeedbackControl::new(Algorithm1 { max_rate: 770_000.0, alpha: 1.0, ..PAPER });
        control.update(&period(7, 7, 0));
        assert!((control.cur_rate - 100_000.0).abs() < 1e-6, "one credit in 10 us");
        let before = control.clone();
        control.update(&period(0, 0, 0));
        assert_eq!((control.cur_rate, control.w), (before.cur_rate, before.w));
        // A loss does not raise a rate that is below the floor.
        control.cur_rate = 20_000.0;
        control.update(&period(1, 1, 0));
        assert_eq!(control.cur_rate, 20_000.0);
    }

    #[test]
    fn a_lone_flow_approaches_1_1_max_rate_where_its_own_limiter_takes_a_loss_below_target() {
        let mut flows = vec![FeedbackControl::new(PAPER)];
        let loss = (0..200).map(|_| fluid(&mut flows)).last().unwrap();
        assert!((flows[0].cur_rate - 1.1).abs() < 1e-9, "E17-6");
        assert!((loss - 1.0 / 11.0).abs() < 1e-9);
    }

    #[test]
    fn the_link_rate_in_credits_is_one_per_1_2976_us_at_10_gbps() {
        let gap = 1.0 / max_rate(Rate::gbps(10), 84, 1538);
        assert_eq!(Span::from_secs_f64(gap), Span::from_ps(1_297_600));
    }
}
