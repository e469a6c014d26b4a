//! The feedback control of the authors' ns-2 code (ns2-xpass), which differs from Algorithm 1 of the paper.

use super::feedback::{Algorithm1, Feedback, Period, Trigger};
use crate::shared::Shared;
use serde::{Deserialize, Serialize};

/// The amount by which `w` grows with the second and every further increase in a row.
pub(super) const W_STEP: f64 = 0.05;

/// The feedback control of ns2-xpass: the target loss shrinks as the rate approaches the maximum, a loss sets the rate
/// to the rate of arrivals, and `w` grows by fixed steps.
///
/// `target_loss` of the constants is the target at rate zero (0.125 in ns2-xpass). The target at `cur_rate` is
/// `(1 - cur_rate / max_rate) x target_loss`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ns2Feedback {
    constants: Shared<Algorithm1>,
    cur_rate: f64,
    w: f64,
    increased: bool,
}

impl Ns2Feedback {
    /// Makes the law of a new flow, at the initial rate.
    pub fn new(constants: Algorithm1) -> Ns2Feedback {
        let cur_rate = constants.initial_rate(u64::MAX);
        let w = constants.w_init;
        Ns2Feedback { constants: Shared::new(constants), cur_rate, w, increased: false }
    }

    /// Returns the aggressiveness factor `w`.
    pub fn w(&self) -> f64 {
        self.w
    }
}

impl Feedback for Ns2Feedback {
    fn start(&mut self, wanted: u64) {
        // As in that code, a request does not reset `increased`.
        (self.cur_rate, self.w) = (self.constants.initial_rate(wanted), self.constants.w_init);
    }

    fn rate(&self) -> f64 {
        self.cur_rate
    }

    fn update(&mut self, period: &Period) {
        let Some(credit_loss) = period.loss() else { return };
        let Algorithm1 { max_rate, w_min, w_max, .. } = *self.constants;
        let target_loss = (1.0 - self.cur_rate / max_rate) * self.constants.target_loss;
        if credit_loss > target_loss {
            self.cur_rate = (period.receive_rate() * (1.0 + target_loss)).min(self.cur_rate);
            self.w = (self.w / 2.0).max(w_min);
            self.increased = false;
        } else {
            if self.increased {
                self.w = (self.w + W_STEP).min(w_max);
            }
            self.cur_rate = self.w * max_rate + (1.0 - self.w) * self.cur_rate;
            self.increased = true;
        }
        self.cur_rate = self.cur_rate.max(period.one_per_rtt()).min(max_rate);
    }

    fn trigger(&self) -> Trigger {
        Trigger::Credit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Span;

    const NS2: Algorithm1 = Algorithm1 {
        max_rate: 770_000.0,
        alpha: 0.5,
        w_init: 0.5,
        w_min: 0.01,
        w_max: 0.5,
        target_loss: 0.125,
        ramp: 40,
    };

    fn period(sent: u64, dropped: u64, received: u64) -> Period {
        Period { sent, dropped, received, marked: 0, span: Span::from_us(100), rtt: Span::from_us(50) }
    }

    #[test]
    fn a_flow_of_ten_packets_starts_at_a_quarter_of_the_initial_rate() {
        let mut control = Ns2Feedback::new(NS2);
        control.start(10);
        assert_eq!(control.rate(), 0.5 * 0.25 * 770_000.0);
        control.start(4_000);
        assert_eq!(control.rate(), 0.5 * 770_000.0);
    }

    #[test]
    fn a_loss_sets_the_rate_to_the_arrivals_plus_the_target_and_never_raises_it() {
        let mut control = Ns2Feedback::new(NS2);
        control.update(&period(40, 10, 30));
        assert_eq!(control.rate(), 300_000.0 * (1.0 + 0.0625), "the target at half rate is 6.25 %");
        assert_eq!(control.w(), 0.25);
        let before = control.rate();
        control.update(&period(100, 50, 100));
        assert_eq!(control.rate(), before);
    }

    #[test]
    fn w_grows_by_0_05_from_the_second_increase_on() {
        let mut control = Ns2Feedback::new(Algorithm1 { w_init: 0.1, ..NS2 });
        control.update(&period(10, 0, 10));
        assert_eq!(control.w(), 0.1);
        control.update(&period(10, 0, 10));
        assert!((control.w() - 0.15).abs() < 1e-12);
        (0..20).for_each(|_| control.update(&period(10, 0, 10)));
        assert_eq!(control.w(), 0.5);
        assert!(control.rate() <= 770_000.0, "no 1 + target_loss in the increase");
    }

    #[test]
    fn an_increase_brings_the_rate_nearer_to_the_highest_by_the_share_w_of_what_is_missing() {
        let mut control = Ns2Feedback::new(Algorithm1 { w_init: 0.25, ..NS2 });
        control.start(4_000);
        let missing = 770_000.0 - control.rate();
        control.update(&period(10, 0, 10));
        assert!((770_000.0 - control.rate() - 0.75 * missing).abs() < 1e-6, "{}", control.rate());
        control.update(&period(10, 0, 10));
        let left = 0.75 * 0.7 * missing;
        assert!((770_000.0 - control.rate() - left).abs() < 1e-6, "w is 0.3 now: {}", control.rate());
    }

    #[test]
    fn a_request_resets_rate_and_w_and_keeps_the_phase() {
        let mut control = Ns2Feedback::new(Algorithm1 { w_init: 0.1, ..NS2 });
        control.update(&period(10, 0, 10));
        control.start(40);
        assert_eq!((control.rate(), control.w()), (385_000.0, 0.1));
        control.update(&period(10, 0, 10));
        assert!((control.w() - 0.15).abs() < 1e-12, "the second increase in a row");
    }

    #[test]
    fn the_rate_never_falls_below_one_credit_per_round_trip() {
        let mut control = Ns2Feedback::new(NS2);
        control.update(&period(40, 40, 0));
        assert_eq!(control.rate(), 20_000.0, "the period was two round trips long");
    }
}
