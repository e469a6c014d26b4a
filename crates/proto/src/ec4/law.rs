//! The credit rate of a receiver of EC4: Algorithm 1 of the paper, which follows marks on data and losses of credits.
//!
//! The law is a pure function of its state and the counts of one update period, as in [`crate::expresspass`].

use crate::expresspass::{Algorithm1, Feedback, PassedFeedback, Period};
use crate::shared::Shared;
use clearway_schema::choice;
use serde::{Deserialize, Serialize};

choice! {
    /// The reading of `omega`, the aggressiveness factor, in HIGH mode (EC4-2).
    #[derive(Serialize, Deserialize)]
    pub enum OmegaInHigh {
        /// Both modes share one factor.
        Shared = "shared",
        /// Each mode has its own factor. HIGH mode starts with that of a new flow; LOW mode continues with its last
        /// one.
        Own = "own",
    }
}

choice! {
    /// The amount by which an unmarked period of LOW mode raises the rate before the credit block (EC4-4).
    #[derive(Serialize, Deserialize)]
    pub enum EcnIncrease {
        /// The rate rises by half of `target_ECN_ratio + ECN_alpha`, as line 7 says, so that recent marks speed the
        /// increase.
        Alpha = "alpha",
        /// The rate rises by half of `target_ECN_ratio` alone, which is zero with the paper's target.
        Target = "target",
    }
}

choice! {
    /// The reading of the credit block, which the paper prints after both modes, in HIGH mode (EC4-1).
    #[derive(Serialize, Deserialize)]
    pub enum CreditBlock {
        /// HIGH mode skips it, since ExpressPass's feedback already answers the loss of credits.
        LowOnly = "low-only",
        /// HIGH mode applies it to the rate that ExpressPass's feedback returns.
        Always = "always",
    }
}

choice! {
    /// The periods of LOW mode in which the credit block raises the rate if no credits were lost (EC4-17). It moves
    /// `omega` towards `omega_mid` in all periods.
    #[derive(Serialize, Deserialize)]
    pub enum CreditIncrease {
        /// The rate rises only in periods without marks.
        Unmarked = "unmarked",
        /// The rate rises in all periods, as lines 20 to 22 say. A flow whose data is always marked then stays at 1/11
        /// of the link.
        Always = "always",
    }
}

/// The constants of the law, with the paper's names.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Constants {
    /// The constants of HIGH mode, which is the default law of ExpressPass. `max_rate`, `alpha`, `w_init` and `w_min`
    /// hold in LOW mode too.
    pub expresspass: Algorithm1,
    /// The number of unmarked periods beyond the first after which HIGH mode begins.
    pub mode_threshold: u32,
    /// The weight of a new share of marked packets in `ECN_alpha`.
    pub g: f64,
    /// The share of marked packets up to which there is no congestion.
    pub target_ecn_ratio: f64,
    /// The loss of credits up to which LOW mode sees no congestion.
    pub target_loss: f64,
    /// The value that `omega` approaches in LOW mode while no credits are lost.
    pub omega_mid: f64,
    /// The amount by which an unmarked period raises the rate.
    pub ecn_increase: EcnIncrease,
    /// The reading of `omega` in HIGH mode.
    pub omega_in_high: OmegaInHigh,
    /// The reading of the credit block in HIGH mode.
    pub credit_block: CreditBlock,
    /// The periods of LOW mode in which the credit block may raise the rate.
    pub credit_increase: CreditIncrease,
}

/// The mode of an update.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Mode {
    /// LOW mode: there may be traffic without credits, so both marks and losses of credits lower the rate.
    Low,
    /// HIGH mode: there is no traffic without credits, so the law is that of ExpressPass.
    High,
}

/// The law of EC4: Algorithm 1 (sec. III-B).
///
/// ```
/// use clearway_proto::ec4::{Constants, CreditBlock, CreditIncrease, EcnIncrease, Law, Mode, OmegaInHigh};
/// use clearway_proto::expresspass::{Algorithm1, Feedback};
///
/// let mut law = Law::new(Constants {
///     expresspass: Algorithm1 {
///         max_rate: 1000.0, alpha: 1.0, w_init: 0.0625, w_min: 0.01, w_max: 0.5, target_loss: 0.1, ramp: 0,
///     },
///     mode_threshold: 3,
///     g: 0.0625,
///     target_ecn_ratio: 0.0,
///     target_loss: 0.0,
///     omega_mid: 0.05,
///     ecn_increase: EcnIncrease::Target,
///     omega_in_high: OmegaInHigh::Shared,
///     credit_block: CreditBlock::LowOnly,
///     credit_increase: CreditIncrease::Unmarked,
/// });
/// // Half of the data is marked and a tenth of the credits is lost, so ECN_alpha = 1/32.
/// law.step(Some(0.5), Some(0.1), 1.0, 0.0);
/// assert_eq!(law.mode(), Mode::Low);
/// assert_eq!(law.rate(), 1000.0 * (1.0 - 0.03125 / 2.0) * (1.0 - 0.1));
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Law {
    constants: Shared<Constants>,
    /// `omega` in LOW mode.
    omega: f64,
    /// `ECN_alpha`, the moving average of the share of marked packets.
    ecn_alpha: f64,
    /// The number of unmarked periods in a row, up to `mode_threshold + 1`.
    mode_flag: u32,
    mode: Mode,
    /// The law of HIGH mode, which also holds the rate of LOW mode.
    high: PassedFeedback,
}

impl Law {
    /// Makes the law of a new flow: at the initial rate, in LOW mode.
    pub fn new(constants: Constants) -> Law {
        let high = PassedFeedback::new(constants.expresspass);
        Law {
            constants: Shared::new(constants),
            omega: constants.expresspass.w_init,
            ecn_alpha: 0.0,
            mode_flag: 0,
            mode: Mode::Low,
            high,
        }
    }

    /// Returns the mode of the last update.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns `omega` of the present mode.
    pub fn omega(&self) -> f64 {
        if self.mode == Mode::High { self.high.w() } else { self.omega }
    }

    /// Returns `ECN_alpha`, the moving average of the share of marked packets.
    pub fn ecn_alpha(&self) -> f64 {
        self.ecn_alpha
    }

    /// Updates the rate after a period with this share of marked packets and this loss of credits (lines 4 to 27).
    /// Either is `None` if the period had no data or no credits to measure it. `passed` is the rate at which data
    /// arrived. A decrease stops at `floor`; both rates are in credits per second.
    pub fn step(&mut self, ecn_ratio: Option<f64>, credit_loss: Option<f64>, passed: f64, floor: f64) {
        let before = self.high.rate();
        let mut tmp_rate = before;
        let Constants { target_ecn_ratio, mode_threshold, .. } = *self.constants;
        let marked = ecn_ratio.is_some_and(|ratio| ratio > target_ecn_ratio);
        if let Some(ecn_ratio) = ecn_ratio {
            if marked {
                tmp_rate *= 1.0 - self.averaged(ecn_ratio);
                self.mode_flag = 0;
                self.enter(Mode::Low);
            } else if self.mode_flag <= mode_threshold {
                let by = self.averaged(ecn_ratio);
                tmp_rate *= 1.0
                    + match self.constants.ecn_increase {
                        EcnIncrease::Alpha => by,
                        EcnIncrease::Target => target_ecn_ratio / 2.0,
                    };
                self.mode_flag += 1;
                self.enter(Mode::Low);
            } else {
                self.enter(Mode::High);
            }
        }
        if self.mode == Mode::High {
            let Some(credit_loss) = credit_loss else { return };
            self.high.step(credit_loss, passed, floor);
            if self.constants.credit_block == CreditBlock::LowOnly {
                return;
            }
            tmp_rate = self.high.rate();
        }
        let (rate, omega) = self.credit_block(tmp_rate, self.omega(), credit_loss, marked);
        let rate = rate.min(self.constants.expresspass.max_rate).max(floor.min(before));
        match self.mode {
            Mode::Low => {
                self.omega = omega;
                self.high.adjust(rate, self.high.w());
            }
            Mode::High => self.high.adjust(rate, omega),
        }
    }

    /// Updates the average (lines 6 and 15) and returns the share by which lines 7 and 16 change the rate.
    fn averaged(&mut self, ecn_ratio: f64) -> f64 {
        let Constants { g, target_ecn_ratio, .. } = *self.constants;
        self.ecn_alpha = (1.0 - g) * self.ecn_alpha + g * ecn_ratio;
        (target_ecn_ratio + self.ecn_alpha) / 2.0
    }

    /// Returns the next rate and `omega` after the credit block (lines 19 to 27).
    fn credit_block(&self, tmp_rate: f64, omega: f64, credit_loss: Option<f64>, marked: bool) -> (f64, f64) {
        let Constants { omega_mid, target_loss, expresspass: Algorithm1 { max_rate, w_min, .. }, .. } =
            *self.constants;
        let may_increase = !marked || self.constants.credit_increase == CreditIncrease::Always;
        match credit_loss {
            None => (tmp_rate, omega),
            Some(loss) if loss <= target_loss => {
                let omega = (omega + omega_mid) / 2.0;
                let raised = (1.0 - omega) * tmp_rate + omega * max_rate;
                (if may_increase { raised } else { tmp_rate }, omega)
            }
            Some(loss) => (tmp_rate * (1.0 - loss), (omega / 2.0).max(w_min)),
        }
    }

    /// Changes the mode, and hands `omega` over if both modes share it.
    fn enter(&mut self, mode: Mode) {
        if self.mode == mode {
            return;
        }
        self.mode = mode;
        match (mode, self.constants.omega_in_high) {
            (Mode::High, OmegaInHigh::Shared) => self.high.resume(self.high.rate(), self.omega),
            (Mode::High, OmegaInHigh::Own) => {
                self.high.resume(self.high.rate(), self.constants.expresspass.w_init);
            }
            (Mode::Low, OmegaInHigh::Shared) => self.omega = self.high.w(),
            (Mode::Low, OmegaInHigh::Own) => {}
        }
    }
}

impl Feedback for Law {
    fn start(&mut self, wanted: u64) {
        (self.omega, self.ecn_alpha) = (self.constants.expresspass.w_init, 0.0);
        (self.mode, self.mode_flag) = (Mode::Low, 0);
        self.high.start(wanted);
    }

    fn rate(&self) -> f64 {
        self.high.rate()
    }

    fn update(&mut self, period: &Period) {
        self.step(period.ecn_ratio(), period.loss(), period.receive_rate(), period.one_per_period());
    }
}

#[cfg(test)]
mod tests;
