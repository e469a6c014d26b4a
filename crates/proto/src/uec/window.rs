//! NSCC: the window of a sender, which follows the marks and the delays of acknowledgements.
//!
//! | mark | delay | the window |
//! |---|---|---|
//! | no | below the target | grows in proportion to what is missing, and fast where there is no delay at all |
//! | no | the target or more | grows by a fair increase, the same for all flows |
//! | yes | below the target | stays: the path is changed, not the window |
//! | yes | the target or more | is cut, once a round trip at most, if the average delay is beyond the target too |
//!
//! *Quick adapt* beside it sets the window to what arrived in a round trip, if that was little and something was lost. Sources:
//! UE 1.0.3, sec. 3.6.13, and uet-htsim 40ccb05.

use super::params::{Average, CommonParams, Gains, Penalty, WindowParams};
use crate::endpoint::Env;
use crate::shared::Shared;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

mod state;

pub use state::NsccState;

/// The constants of a window, which flows of one rate and network have in common. Sizes are bytes on the wire.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NsccConfig {
    /// A full packet, which is the least window.
    pub mtu: f64,
    /// The rate of the sender's NIC, in bytes a picosecond.
    pub rate: f64,
    /// The largest window, in BDPs.
    pub maxwnd: f64,
    /// The window of a new flow, if it is not the largest.
    pub cwnd: Option<f64>,
    /// The base round-trip time of the longest path, which is the delay of a packet that was cut.
    pub network_rtt: Span,
    /// The queueing delay that is aimed at.
    pub target_qdelay: Span,
    /// The gain of the proportional increase, in bytes a picosecond.
    pub alpha: f64,
    /// The gain of the fair increase, in bytes.
    pub fi: f64,
    /// The gain of the fast increase.
    pub fi_scale: f64,
    /// The increase of each `adjust_period`, in bytes.
    pub eta: f64,
    /// The strength of a cut.
    pub gamma: f64,
    /// The largest cut in one step, as a share of the window.
    pub max_md_jump: f64,
    /// The average of delays that a cut asks.
    pub average: Average,
    /// The weight of a sample in the average over samples.
    pub delay_alpha: f64,
    /// The delay below which the window may grow fast.
    pub fast_delay: Span,
    /// Quick adapt takes place if no more than the largest window over this number arrived.
    pub qa_gate: f64,
    /// The delay that counts as a loss for quick adapt, if any does.
    pub qa_threshold: Option<Span>,
    /// True if a period of quick adapt is over at its end, false if just after it.
    pub qa_at_end: bool,
    /// The bytes received after which increases come into force.
    pub adjust_bytes: f64,
    /// The time after which they do so at the latest.
    pub adjust_period: Span,
    /// True if they do so just after that time and every answer holds the window to its largest value.
    pub adjust_late: bool,
    /// True if the increases that are not yet in force are counted in 32 bits.
    pub increase_wraps: bool,
    /// True if an answer without a sample acts as one with the average delay.
    pub acts_without_sample: bool,
    /// The penalty that a receiver may ask of the window.
    pub penalty: Penalty,
    /// True if receivers pace their senders too.
    pub is_paced: bool,
    /// True if a packet that was cut at its last hop may set off quick adapt though receivers pace their senders.
    pub last_hop_adapts: bool,
    /// True if a packet that was cut leaves the bytes in flight before quick adapt.
    pub nack_leaves_first: bool,
    /// True if the bytes of a packet that timed out count as ignored.
    pub timeout_is_ignored: bool,
}

impl NsccConfig {
    /// Returns the constants of a flow in this environment, whose receiver paces its senders or does not.
    pub fn new(common: &CommonParams, params: &WindowParams, env: &Env, is_paced: bool) -> NsccConfig {
        let network_rtt = env.network_rtt.max(Span::from_ps(1));
        let bytes_per_ps = |rate: clearway_units::Rate| rate.as_bps_f64() / 8e12;
        let mtu = f64::from(env.framing.wire_max());
        let size = match params.gains {
            Gains::Mtu => mtu,
            Gains::Mss => f64::from(env.framing.payload_max),
        };
        let scale_ps = params.scale_rtt.as_ps() as f64;
        let bdp = network_rtt.as_ps() as f64 * bytes_per_ps(env.path_rate);
        let a = bdp / (scale_ps * bytes_per_ps(params.scale_rate));
        let share = if common.trimming { 0.75 } else { 1.0 };
        let target_qdelay = params.target_qdelay.or(network_rtt.mul_f64(share)).max(Span::from_ps(1));
        let has_threshold = params.qa_late_always || !common.trimming;
        NsccConfig {
            mtu,
            rate: bytes_per_ps(env.line_rate),
            maxwnd: common.maxwnd,
            cwnd: params.cwnd.set().map(|bytes| bytes.get() as f64),
            network_rtt,
            target_qdelay,
            alpha: params.alpha * size * a / scale_ps,
            fi: params.fi * size * a,
            fi_scale: params.fi_scale * a,
            eta: params.eta * size * a,
            gamma: params.gamma,
            max_md_jump: params.max_md_jump,
            average: params.average,
            delay_alpha: params.delay_alpha,
            fast_delay: params.fast_delay,
            qa_gate: f64::from(1u32 << params.qa_gate.min(31)),
            qa_threshold: has_threshold.then(|| params.qa_threshold.or(target_qdelay.saturating_mul(4))),
            qa_at_end: params.qa_at_end,
            adjust_bytes: params.adjust_packets * mtu,
            adjust_period: params.adjust_period.or(network_rtt),
            adjust_late: params.adjust_late,
            increase_wraps: params.increase_wraps,
            acts_without_sample: params.acts_without_sample,
            penalty: params.penalty,
            is_paced,
            last_hop_adapts: params.last_hop_adapts,
            nack_leaves_first: params.nack_leaves_first,
            timeout_is_ignored: params.timeout_is_ignored,
        }
    }
}

/// A measurement of the round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The time from the sending of a packet to the answer.
    pub rtt: Span,
    /// True if it may lower the base round-trip time.
    pub lowers: bool,
}

/// What an acknowledgement tells a window.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// The present time.
    pub now: Time,
    /// The bytes of which it is the first to tell that they arrived.
    pub new: u64,
    /// The bytes in flight without them.
    pub in_flight: i64,
    /// The measurement, if it is a valid one.
    pub sample: Option<Sample>,
    /// True if the packet that it answers was marked.
    pub marked: bool,
    /// The penalty that the receiver asks for, if any.
    pub penalty: Option<u8>,
}

/// The window of a sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Nscc {
    config: Shared<NsccConfig>,
    cwnd: f64,
    base_rtt: Span,
    /// The average delay, in picoseconds.
    average: f64,
    /// The time of the last sample.
    sampled: Time,
    /// The bytes that arrived in this period of quick adapt.
    achieved: u64,
    /// The bytes that arrived since increases last came into force.
    received: f64,
    /// The increases that are not yet in force, in bytes of window times bytes.
    increase: f64,
    /// The bytes of which the sender heard since the last quick adapt.
    ignored: i64,
    /// The bytes of which nothing is to be learned, since they were in flight then.
    to_ignore: i64,
    /// The end of this period of quick adapt.
    qa_end: Time,
    /// The bytes that arrived in a row without delay.
    fast_bytes: f64,
    /// The time at which the last `eta` was added.
    adjusted: Time,
    /// The time of the last cut.
    cut: Time,
    /// The window from before a penalty, which is to come back.
    saved: Option<f64>,
    /// True if a packet was cut in this period of quick adapt.
    lost: bool,
    /// True while the window grows fast.
    is_fast: bool,
}

impl Nscc {
    /// Returns the window of a new flow with this base round-trip time.
    pub fn new(config: NsccConfig, base_rtt: Span) -> Nscc {
        let mut nscc = Nscc {
            config: Shared::new(config),
            cwnd: 0.0,
            base_rtt,
            average: 0.0,
            sampled: Time::ZERO,
            achieved: 0,
            received: 0.0,
            increase: 0.0,
            ignored: 0,
            to_ignore: 0,
            qa_end: Time::ZERO,
            fast_bytes: 0.0,
            adjusted: Time::ZERO,
            cut: Time::ZERO,
            saved: None,
            lost: false,
            is_fast: false,
        };
        nscc.cwnd = nscc.config.cwnd.unwrap_or(nscc.maxwnd()).max(nscc.config.mtu);
        nscc
    }

    /// Returns the window, in bytes.
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Returns true if a packet of this size may join so many bytes in flight.
    pub fn has_room(&self, in_flight: i64, size: u32) -> bool {
        self.cwnd >= in_flight as f64 + f64::from(size)
    }

    /// Returns the largest window, in bytes.
    pub fn maxwnd(&self) -> f64 {
        self.config.maxwnd * self.base_rtt.as_ps() as f64 * self.config.rate
    }

    /// Returns the least round-trip time of the flow.
    pub fn base_rtt(&self) -> Span {
        self.base_rtt
    }

    /// Returns the constants.
    pub fn config(&self) -> &NsccConfig {
        &self.config
    }

    /// Handles an acknowledgement. Returns the delay that it tells, if it is a valid sample.
    pub fn on_ack(&mut self, heard: &Heard) -> Option<Span> {
        self.achieved += heard.new;
        self.received += heard.new as f64;
        self.ignored = self.ignored.saturating_add_unsigned(heard.new);
        let is_fined = self.fine(heard);
        let sampled = heard.sample.and_then(|sample| self.observe(sample, heard.marked, heard.now));
        let delay = match sampled {
            Some(delay) => delay,
            None if self.config.acts_without_sample => Span::from_ps(self.average as u64),
            None => return None,
        };
        if !self.quick_adapt(false, heard.marked, delay, heard.in_flight, heard.now) {
            self.follow(heard, delay, !is_fined);
        }
        sampled
    }

    /// Handles the news that a packet of this size was cut, which was in flight for `rtt`. `in_flight` are the bytes in flight
    /// with it.
    pub fn on_nack(&mut self, size: u64, rtt: Span, last_hop: bool, in_flight: i64, now: Time) {
        self.lower(rtt);
        self.ignored = self.ignored.saturating_add_unsigned(size);
        self.mean(self.config.network_rtt, true, now);
        let is_pacers = self.config.is_paced && last_hop;
        if is_pacers && !self.config.last_hop_adapts {
            return;
        }
        self.lost = true;
        let left =
            if self.config.nack_leaves_first { in_flight.saturating_sub_unsigned(size) } else { in_flight };
        if !self.quick_adapt(true, true, Span::ZERO, left, now) && !is_pacers {
            self.cwnd -= size as f64;
            self.hold(true);
        }
    }

    /// Handles the loss of a packet of this size, of which nothing was heard.
    pub fn on_timeout(&mut self, size: u64) {
        self.cwnd = (self.cwnd - size as f64).max(self.config.mtu);
        if self.config.timeout_is_ignored {
            self.ignored = self.ignored.saturating_add_unsigned(size);
        }
    }

    /// Takes a measurement for the base round-trip time alone.
    pub fn lower(&mut self, rtt: Span) {
        self.base_rtt = self.base_rtt.min(rtt.max(Span::from_ps(1)));
    }

    /// Takes a measurement. Returns the delay, unless the packet was faster than the base round-trip time allows.
    fn observe(&mut self, sample: Sample, marked: bool, now: Time) -> Option<Span> {
        if sample.lowers {
            self.lower(sample.rtt);
        }
        let delay = (sample.rtt >= self.base_rtt).then(|| sample.rtt.saturating_sub(self.base_rtt))?;
        self.mean(delay, marked, now);
        Some(delay)
    }

    /// Takes a delay into the average.
    fn mean(&mut self, delay: Span, marked: bool, now: Time) {
        let base = self.base_rtt.as_ps() as f64;
        let (delay, weight) = match self.config.average {
            Average::Samples if !marked && delay > self.config.target_qdelay => {
                (0.25 * base, self.config.delay_alpha)
            }
            Average::Samples => (delay.as_ps() as f64, self.config.delay_alpha),
            Average::RoundTrip => {
                let since = now.saturating_since(self.sampled).as_ps() as f64;
                (delay.as_ps() as f64, (since / base).min(1.0))
            }
        };
        self.average += weight * (delay - self.average);
        self.sampled = now;
    }

    /// Takes the penalty of a receiver. Returns true if there was one that allows no increase.
    fn fine(&mut self, heard: &Heard) -> bool {
        let (floor, new) = (self.config.mtu, heard.new as f64);
        match (self.config.penalty, heard.penalty) {
            (Penalty::Kept, Some(penalty)) => {
                self.cwnd = (self.cwnd - new * (1.0 - f64::from(penalty) / 255.0)).max(floor);
                false
            }
            (Penalty::Restored, Some(penalty)) => {
                self.saved.get_or_insert(self.cwnd);
                let cwnd = self.cwnd.min(heard.in_flight as f64);
                self.cwnd = (cwnd - f64::from(penalty & 127) * new / 128.0).max(floor);
                true
            }
            (_, None) => {
                if let Some(saved) = self.saved.take() {
                    self.cwnd = saved;
                }
                false
            }
        }
    }

    /// Lets the window follow the mark and the delay of an acknowledgement.
    fn follow(&mut self, heard: &Heard, delay: Span, may_rise: bool) {
        let (target, new) = (self.config.target_qdelay, heard.new as f64);
        match (heard.marked, delay >= target) {
            (false, true) if may_rise => self.collect(self.config.fi * new),
            (false, false) if may_rise => self.rise(new, delay),
            (true, true) => self.reduce(heard.now),
            _ => {}
        }
        self.hold(self.config.adjust_late);
        if may_rise {
            self.fulfil(heard.now);
        }
        self.hold(self.config.adjust_late);
    }

    /// Grows in proportion to what the delay lacks to the target, or fast.
    fn rise(&mut self, new: f64, delay: Span) {
        if delay < self.config.fast_delay {
            self.fast_bytes += new;
            self.is_fast |= self.fast_bytes > self.cwnd;
        } else {
            (self.fast_bytes, self.is_fast) = (0.0, false);
        }
        if self.is_fast {
            self.cwnd += new * self.config.fi_scale;
            self.hold(true);
        } else {
            let lacks = self.config.target_qdelay.saturating_sub(delay).as_ps() as f64;
            self.collect(self.config.alpha * new * lacks);
        }
    }

    /// Takes an increase that is to come into force later.
    fn collect(&mut self, increase: f64) {
        self.increase += increase;
        if self.config.increase_wraps {
            self.increase %= 4_294_967_296.0;
        }
    }

    /// Cuts the window if the average delay is beyond the target, once a round trip.
    fn reduce(&mut self, now: Time) {
        (self.fast_bytes, self.is_fast) = (0.0, false);
        let target = self.config.target_qdelay.as_ps() as f64;
        if self.average > target && now.saturating_since(self.cut) > self.base_rtt {
            let factor = 1.0 - self.config.gamma * (self.average - target) / self.average;
            self.cwnd = (self.cwnd * factor.max(1.0 - self.config.max_md_jump)).max(self.config.mtu);
            self.cut = now;
        }
    }

    /// Lets increases come into force, if it is time.
    fn fulfil(&mut self, now: Time) {
        let (since, period) = (now.saturating_since(self.adjusted), self.config.adjust_period);
        let is_time = if self.config.adjust_late { since > period } else { since >= period };
        if !is_time && self.received <= self.config.adjust_bytes {
            return;
        }
        self.cwnd += self.increase / self.cwnd;
        if since >= period {
            (self.cwnd, self.adjusted) = (self.cwnd + self.config.eta, now);
        }
        (self.increase, self.received) = (0.0, 0.0);
        self.hold(true);
    }

    /// Holds the window to a packet at least, and to its largest value if `above`.
    fn hold(&mut self, above: bool) {
        if above {
            self.cwnd = self.cwnd.min(self.maxwnd());
        }
        self.cwnd = self.cwnd.max(self.config.mtu);
    }

    /// Sets the window to what arrived in the last period, if that was little and something was lost. Returns true if the
    /// answer shall do nothing else to the window.
    fn quick_adapt(&mut self, loss: bool, marked: bool, delay: Span, in_flight: i64, now: Time) -> bool {
        let is_over = if self.config.qa_at_end { now >= self.qa_end } else { now > self.qa_end };
        let mut adapts = false;
        if self.ignored < self.to_ignore && marked {
            adapts = true;
        } else if is_over {
            let is_late = self.config.qa_threshold.is_some_and(|threshold| delay > threshold);
            let is_little = (self.achieved as f64) < self.maxwnd() / self.config.qa_gate;
            if self.qa_end != Time::ZERO && (self.lost || loss || is_late) && is_little {
                self.cwnd = (self.achieved as f64).max(self.config.mtu);
                (self.to_ignore, self.ignored, self.lost) = (in_flight, 0, false);
                adapts = true;
            }
            self.achieved = 0;
            self.qa_end = now.saturating_add(self.base_rtt).saturating_add(self.config.target_qdelay);
        }
        if adapts {
            (self.increase, self.received) = (0.0, 0.0);
        }
        adapts
    }
}

/// Returns the penalty that a field of an acknowledgement asks for.
pub(super) fn penalty_in(kind: Penalty, field: u8) -> Option<u8> {
    (field != no_penalty(kind)).then_some(field)
}

/// Returns what the field of an acknowledgement holds that asks for no penalty.
pub(super) fn no_penalty(kind: Penalty) -> u8 {
    match kind {
        Penalty::Restored => 0,
        Penalty::Kept => 255,
    }
}

#[cfg(test)]
mod tests;
