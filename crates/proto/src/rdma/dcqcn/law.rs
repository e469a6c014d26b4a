//! DCQCN's law, the reaction point of its paper: a cut of the rate on each notification, then increases by time and by
//! bytes sent.
//!
//! Moves of `alpha` and increases that were due are made up for when the law is asked the next time, so that only cuts
//! and increases by time need a timer.

use super::{AlphaFrom, DcqcnConfig, Hyper, Notice, Reaction};
use crate::endpoint::Env;
use crate::rdma::law::{AckEvent, BuildLaw, RateLaw};
use crate::rdma::scale::{Window, plus, times};
use clearway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// The value of `alpha` below which it changes no rate, because sums and products round it away.
const ALPHA_NOTHING: f64 = 1e-20;

/// The delay added to the first interval between cuts, so that `alpha` moves before the cut where both are due (ns-3).
const AFTER_ALPHA: Span = Span::from_ns(1);

/// The shortest period of anything that repeats.
const TICK_MIN: Span = Span::from_ns(100);

/// The constants that the law of a flow needs all along, out of [`DcqcnConfig`].
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Constants {
    reaction: Reaction,
    notice: Notice,
    alpha_from: AlphaFrom,
    hyper: Hyper,
    clamp_target: bool,
    fast_recovery: u32,
    g: f64,
    alpha_period: Span,
    decrease_interval: Span,
    increase_timer: Span,
    byte_counter: Option<u64>,
}

/// The rate law of one DCQCN flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DcqcnLaw {
    config: Constants,
    /// The rate of the host's own link, which the flow never exceeds.
    line: Rate,
    /// The least rate of the flow.
    min: Rate,
    /// `R_AI` at this line rate.
    ai: Rate,
    /// `R_HAI` at this line rate.
    hai: Rate,
    window: Window,
    /// The current rate `R_C`.
    rate: Rate,
    /// The target rate `R_T`, at which fast recovery aims.
    target: Rate,
    /// The estimate of congestion, as of the last move before `alpha_at`.
    alpha: f64,
    /// The time of the next move of `alpha`.
    pub(super) alpha_at: Time,
    /// Ticks: true if there was a notification since `alpha` moved.
    alpha_noticed: bool,
    /// Ticks: true if there was a notification since the last look for a cut.
    cut_noticed: bool,
    /// Ticks: the time of the next look for a cut. On a notification: the time before which there is no cut.
    cut_at: Time,
    /// The time of the next increase by time.
    increase_at: Time,
    /// Bytes to send until the next increase by bytes.
    bytes_left: u64,
    /// Increases by time since the last cut.
    by_time: u32,
    /// Increases by bytes since the last cut.
    by_bytes: u32,
    /// True once there was a notification.
    noticed: bool,
}

impl BuildLaw for DcqcnConfig {
    type Law = DcqcnLaw;

    fn build(&self, env: &Env) -> DcqcnLaw {
        let line = env.line_rate;
        let config = Constants {
            reaction: self.reaction,
            notice: self.notice,
            alpha_from: self.alpha_from,
            hyper: self.hyper,
            clamp_target: self.clamp_target,
            fast_recovery: self.fast_recovery,
            g: self.g,
            alpha_period: self.alpha_period.max(TICK_MIN),
            increase_timer: self.increase_timer.max(TICK_MIN),
            decrease_interval: match self.reaction {
                Reaction::OnCnp => self.decrease_interval,
                Reaction::Ticks => self.decrease_interval.max(TICK_MIN),
            },
            byte_counter: self.byte_counter,
        };
        DcqcnLaw {
            config,
            line,
            min: self.min_rate.min(line),
            ai: self.ai.at(line),
            hai: self.hai.at(line),
            window: Window::new(self.windowing, line, self.base_rtt.unwrap_or(env.base_rtt)),
            rate: line,
            target: line,
            alpha: self.alpha_initial,
            alpha_at: Time::MAX,
            alpha_noticed: false,
            cut_noticed: false,
            cut_at: Time::ZERO,
            increase_at: Time::MAX,
            bytes_left: self.byte_counter.unwrap_or(0),
            by_time: 0,
            by_bytes: 0,
            noticed: false,
        }
    }
}

impl DcqcnLaw {
    /// Returns the target rate `R_T`.
    pub fn target(&self) -> Rate {
        self.target
    }

    /// Returns `alpha`, as of the last notification or cut.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Handles one notification.
    fn notify(&mut self, now: Time) {
        self.advance(now);
        self.skip_looks(now);
        match self.config.reaction {
            Reaction::OnCnp => {
                if self.noticed && now < self.cut_at {
                    return;
                }
                self.noticed = true;
                self.move_alpha_until(now);
                self.cut(now);
                self.alpha = (1.0 - self.config.g) * self.alpha + self.config.g;
                self.alpha_at = now + self.config.alpha_period;
                self.cut_at = now + self.config.decrease_interval;
            }
            Reaction::Ticks => {
                self.cut_noticed = true;
                if self.noticed {
                    self.move_alpha_until(now);
                    self.alpha_noticed = true;
                } else {
                    self.move_alpha_until(now);
                    self.noticed = true;
                    self.alpha_at = now + self.config.alpha_period;
                    self.cut_at = now + self.config.decrease_interval + AFTER_ALPHA;
                }
            }
        }
    }

    /// Makes the moves of `alpha` that were due by `now`.
    fn move_alpha_until(&mut self, now: Time) {
        while self.alpha_at <= now {
            let feedback = if std::mem::take(&mut self.alpha_noticed) { self.config.g } else { 0.0 };
            self.alpha = (1.0 - self.config.g) * self.alpha + feedback;
            self.alpha_at += self.config.alpha_period;
            if self.alpha < ALPHA_NOTHING {
                // Only zeros follow: go to the first move after now.
                self.alpha = 0.0;
                let period = self.config.alpha_period.as_ps();
                let behind = now.saturating_since(self.alpha_at).as_ps();
                if self.alpha_at <= now {
                    self.alpha_at += Span::from_ps((behind / period + 1) * period);
                }
            }
        }
    }

    /// Cuts the rate: the multiplicative decrease, eq. (1).
    fn cut(&mut self, now: Time) {
        if self.config.clamp_target || self.by_time > 0 {
            self.target = self.rate;
        }
        self.rate = times(self.rate, 1.0 - self.alpha / 2.0).max(self.min);
        (self.by_time, self.by_bytes) = (0, 0);
        self.increase_at = now + self.config.increase_timer;
        self.bytes_left = self.config.byte_counter.unwrap_or(0);
    }

    /// Makes one increase, eq. (2) to (4); `by_time` and `by_bytes` count those before it. Returns true if the next one
    /// comes after half the time and half the bytes.
    fn increase(&mut self) -> bool {
        let threshold = self.config.fast_recovery;
        let (most, least) = match self.config.byte_counter {
            Some(_) => (self.by_time.max(self.by_bytes), self.by_time.min(self.by_bytes)),
            None => (self.by_time, self.by_time),
        };
        let grows = self.config.hyper == Hyper::Growing && least >= threshold;
        if most >= threshold {
            let step = if grows {
                Rate::bps(self.hai.as_bps().saturating_mul(u64::from(least - threshold) + 1))
            } else if least > threshold {
                self.hai
            } else {
                self.ai
            };
            self.target = plus(self.target, step).min(self.line);
        }
        // The halves are rounded down, which must not take a rate below the least, and one bit per second to nothing.
        self.rate = Rate::bps(self.rate.as_bps() / 2 + self.target.as_bps() / 2).max(self.min);
        grows
    }

    /// Returns true if increases change nothing any more, so that their timer may rest. The halves are rounded down, so
    /// the rate ends up to two bits per second short of its target.
    fn is_recovered(&self) -> bool {
        self.target == self.line && self.rate.as_bps() / 2 + self.target.as_bps() / 2 <= self.rate.as_bps()
    }

    /// Makes the increases by time and the cuts that were due by `now`.
    fn advance(&mut self, now: Time) {
        loop {
            let cut_at = self.next_cut();
            if self.increase_at.min(cut_at) > now {
                return;
            }
            if self.increase_at <= cut_at {
                let grows = self.increase();
                self.by_time += 1;
                let timer = self.config.increase_timer;
                let wait = if grows { (timer / 2).max(TICK_MIN) } else { timer };
                self.increase_at = if self.is_recovered() { Time::MAX } else { self.increase_at + wait };
            } else {
                self.move_alpha_until(cut_at);
                self.cut(cut_at);
                self.cut_noticed = false;
                self.cut_at = cut_at + self.config.decrease_interval;
            }
        }
    }

    /// Ticks: returns the time of the next look that will find a notification; looks that find none need no timer.
    fn next_cut(&self) -> Time {
        if self.cut_noticed { self.cut_at } else { Time::MAX }
    }

    /// Ticks: passes over looks that found no notification; the next one comes after `now`.
    fn skip_looks(&mut self, now: Time) {
        if self.config.reaction == Reaction::Ticks && self.noticed && !self.cut_noticed && self.cut_at <= now
        {
            let interval = self.config.decrease_interval.as_ps();
            let behind = (now - self.cut_at).as_ps();
            self.cut_at += Span::from_ps((behind / interval + 1) * interval);
        }
    }
}

impl RateLaw for DcqcnLaw {
    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window.at(self.rate)
    }

    fn on_ack(&mut self, ack: &AckEvent<'_>, now: Time) {
        if ack.ecn_echo && self.config.notice == Notice::MarkedAck {
            self.notify(now);
        }
    }

    fn on_cnp(&mut self, now: Time) {
        if self.config.notice == Notice::Cnp {
            self.notify(now);
        }
    }

    fn on_sent(&mut self, wire: u32, now: Time) {
        if self.config.alpha_from == AlphaFrom::Start && self.alpha_at == Time::MAX {
            self.alpha_at = now + self.config.alpha_period;
        }
        let Some(counter) = self.config.byte_counter else { return };
        if !self.noticed {
            return;
        }
        self.advance(now);
        if wire as u64 >= self.bytes_left {
            let grows = self.increase();
            self.by_bytes += 1;
            self.bytes_left = if grows { (counter / 2).max(1) } else { counter };
            if self.is_recovered() {
                self.increase_at = Time::MAX;
            }
        } else {
            self.bytes_left -= wire as u64;
        }
    }

    fn next_timeout(&self) -> Time {
        self.increase_at.min(self.next_cut())
    }

    fn on_timeout(&mut self, now: Time) {
        self.advance(now);
    }
}
