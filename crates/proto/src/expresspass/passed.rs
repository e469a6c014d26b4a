//! The default feedback control: Algorithm 1 of ExpressPass '17, read so that a decrease counts each loss once.

use super::feedback::{Algorithm1, Feedback, Period};
use super::ns2::W_STEP;
use crate::shared::Shared;
use serde::{Deserialize, Serialize};

/// Algorithm 1 (E17 sec. 3.2), which follows the prose and the authors' ns-2 code where they contradict the printed
/// lines.
///
/// The counts of a period are a round trip old: they are about credits that left before the last update. Therefore
///
/// * a decrease sets the rate to the rate that "passed through the bottleneck during the last RTT period", plus the target
///   loss, as in the prose and the code. Losses that are reported twice then reduce the rate once. Line 12 as printed
///   multiplies the present rate, and reduces it twice;
/// * a loss reported one update after an increase happened at the rate before the increase, and does not undo it;
/// * the target is `target_loss x (1 - cur_rate / max_rate)`, `w` grows by 0.05 and the rate is at most `max_rate`, as in
///   the code. Flows with lower rates tolerate more loss, which makes the shares equal.
///
/// ```
/// use clearway_proto::expresspass::{Algorithm1, Feedback, PassedFeedback, Period};
/// use clearway_units::Span;
///
/// let constants = Algorithm1 {
///     max_rate: 1000.0, alpha: 0.5, w_init: 0.5, w_min: 0.01, w_max: 0.5, target_loss: 0.1, ramp: 0,
/// };
/// let mut control = PassedFeedback::new(constants);
/// let period = Period {
///     sent: 50, dropped: 10, received: 40, marked: 0, span: Span::from_ms(100), rtt: Span::from_ms(100),
/// };
/// // 400 credits a second passed, and the target loss at half of max_rate is 5 %.
/// control.update(&period);
/// assert_eq!(control.rate(), 400.0 * 1.05);
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PassedFeedback {
    constants: Shared<Algorithm1>,
    cur_rate: f64,
    w: f64,
    /// True if the last update that changed the rate was an increase.
    increased: bool,
    /// True if the next update is the first one after an increase, so that its counts are about credits sent before it.
    outdated: bool,
}

impl PassedFeedback {
    /// Makes the law of a new flow, at the initial rate.
    pub fn new(constants: Algorithm1) -> PassedFeedback {
        PassedFeedback {
            cur_rate: constants.initial_rate(u64::MAX),
            w: constants.w_init,
            constants: Shared::new(constants),
            increased: false,
            outdated: false,
        }
    }

    /// Returns the aggressiveness factor `w`.
    pub fn w(&self) -> f64 {
        self.w
    }

    /// Continues from the rate and the factor of another law, as if there had been no update.
    pub(crate) fn resume(&mut self, cur_rate: f64, w: f64) {
        self.adjust(cur_rate, w);
        (self.increased, self.outdated) = (false, false);
    }

    /// Sets the rate and the factor, and keeps the phase.
    pub(crate) fn adjust(&mut self, cur_rate: f64, w: f64) {
        (self.cur_rate, self.w) = (cur_rate, w);
    }

    /// Updates the rate after a period with this credit loss, in which data arrived at the rate `passed`. A decrease
    /// stops at `floor`, and never raises the rate.
    pub fn step(&mut self, credit_loss: f64, passed: f64, floor: f64) {
        let Algorithm1 { max_rate, w_min, w_max, .. } = *self.constants;
        let target_loss = (1.0 - self.cur_rate / max_rate) * self.constants.target_loss;
        if credit_loss <= target_loss {
            if self.increased {
                self.w = (self.w + W_STEP).min(w_max);
            }
            self.cur_rate = (1.0 - self.w) * self.cur_rate + self.w * max_rate;
            (self.increased, self.outdated) = (true, true);
        } else if self.outdated {
            self.outdated = false;
        } else {
            let passed = passed * (1.0 + target_loss);
            self.cur_rate = passed.max(floor).min(self.cur_rate);
            self.w = (self.w / 2.0).max(w_min);
            self.increased = false;
        }
    }
}

impl Feedback for PassedFeedback {
    fn start(&mut self, wanted: u64) {
        self.resume(self.constants.initial_rate(wanted), self.constants.w_init);
    }

    fn rate(&self) -> f64 {
        self.cur_rate
    }

    fn update(&mut self, period: &Period) {
        // A period in which no credit's fate became known (less than one credit per RTT) changes nothing (E17-5).
        if let Some(credit_loss) = period.loss() {
            self.step(credit_loss, period.receive_rate(), period.one_per_period());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Span;

    const PAPER: Algorithm1 = Algorithm1 {
        max_rate: 1000.0,
        alpha: 0.5,
        w_init: 0.0625,
        w_min: 0.01,
        w_max: 0.5,
        target_loss: 0.1,
        ramp: 0,
    };

    fn period(sent: u64, dropped: u64) -> Period {
        let span = Span::from_ms(100);
        Period { sent, dropped, received: sent - dropped, marked: 0, span, rtt: span }
    }

    #[test]
    fn losses_that_are_reported_twice_reduce_the_rate_once() {
        let mut control = PassedFeedback::new(Algorithm1 { alpha: 1.0, ..PAPER });
        // Half of 100 credits are lost, and half of those that left before that was known.
        control.update(&period(100, 50));
        assert_eq!(control.rate(), 500.0, "what passed; at max_rate no loss is tolerated");
        control.update(&period(100, 50));
        assert_eq!(control.rate(), 500.0);
    }

    #[test]
    fn the_first_report_after_an_increase_cannot_reduce_the_rate_and_the_second_can() {
        let mut control = PassedFeedback::new(PAPER);
        control.update(&period(50, 0));
        let increased = control.rate();
        assert_eq!(increased, (1.0 - 0.0625) * 500.0 + 0.0625 * 1000.0);
        control.update(&period(50, 20));
        assert_eq!((control.rate(), control.w()), (increased, 0.0625));
        control.update(&period(50, 20));
        assert_eq!(control.rate(), 300.0 * (1.0 + (1.0 - increased / 1000.0) * 0.1));
        assert_eq!(control.w(), 0.03125);
    }

    #[test]
    fn of_two_flows_that_lose_the_same_share_the_slower_one_increases() {
        for (alpha, increases) in [(0.2, true), (0.8, false)] {
            let mut control = PassedFeedback::new(Algorithm1 { alpha, ..PAPER });
            let before = control.rate();
            control.update(&period(100, 5));
            assert_eq!(control.rate() > before, increases, "{alpha}");
        }
    }

    #[test]
    fn w_grows_by_0_05_from_the_second_increase_on_and_the_rate_ends_at_max_rate() {
        let mut control = PassedFeedback::new(PAPER);
        control.update(&period(50, 0));
        assert_eq!(control.w(), 0.0625);
        control.update(&period(50, 0));
        assert_eq!(control.w(), 0.1125);
        (0..100).for_each(|_| control.update(&period(50, 0)));
        assert_eq!(control.w(), 0.5);
        assert!((control.rate() - 1000.0).abs() < 1e-9 && control.rate() <= 1000.0);
    }

    #[test]
    fn total_loss_leaves_one_credit_per_period_and_silence_changes_nothing() {
        let mut control = PassedFeedback::new(PAPER);
        control.update(&period(7, 7));
        assert_eq!(control.rate(), 10.0, "one credit in 100 ms");
        let before = control.clone();
        control.update(&period(0, 0));
        assert_eq!((control.rate(), control.w()), (before.rate(), before.w()));
    }

    #[test]
    fn a_request_starts_anew() {
        let mut control = PassedFeedback::new(PAPER);
        control.update(&period(50, 0));
        control.start(u64::MAX);
        assert_eq!((control.rate(), control.w()), (500.0, 0.0625));
        control.update(&period(50, 25));
        assert!(control.rate() < 500.0, "there was no increase since");
    }
}
