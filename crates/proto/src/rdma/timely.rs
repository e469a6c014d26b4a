//! TIMELY: a law that steers the rate by the slope of the round-trip time.
//!
//! Source: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, Algorithm 1; its
//! authors' code as eRPC carries it (for the count of falls and the scaling of updates); Zhu, Ghobadi, Misra, Padhye,
//! "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016, which restates the law and patches
//! it; and `rdma-hw.cc` of the HPCC authors' ns-3 code, which differs in when it updates and in when it hurries.
//!
//! # Deviation
//! - The paper measures from the start of a segment to the completion of its last byte, less what the segment takes at
//!   line rate. Here packets are paced one by one, so a measurement is that of the packet whose acknowledgement
//!   completes the segment. What this one packet takes at line rate is not subtracted (0.1 us at 100 Gbps).

use super::config::CommonParams;
use super::law::{AckEvent, BuildLaw, RateLaw};
use super::scale::{LawParams, Step, Window, Windowing, plus, times};
use super::{Config, Rdma, RdmaParams};
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::Needs;
use crate::transport::Checked;
use clearway_schema::{Auto, Profile, choice, declare, told};
use clearway_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};

choice! {
    /// The moments at which the rate is updated.
    #[derive(Serialize, Deserialize)]
    pub enum UpdateAt {
        /// Each time that a segment's worth of bytes is acknowledged (the paper).
        Segment = "segment",
        /// Once in a round trip: when data sent after the last update is acknowledged (HPCC's ns-3 code).
        RoundTrip = "round-trip",
    }
}

choice! {
    /// The events that are counted towards large increases of the rate.
    #[derive(Serialize, Deserialize)]
    pub enum HurryAfter {
        /// Updates in a row, this one included, whose round-trip time is below that of the update before. Below `t_low`
        /// the step is always the small one (the paper; the count is that of its authors' code).
        Slope = "slope",
        /// Steps up in a row before this one, for whatever reason, and all may be large (HPCC's ns-3 code).
        Any = "any",
    }
}

choice! {
    /// The rate of a new flow.
    #[derive(Serialize, Deserialize)]
    pub enum Start {
        /// Line rate, shared with the flows that the host is sending already: `C / (N + 1)` (the paper).
        Share = "share",
        /// Line rate (HPCC's ns-3 code).
        Line = "line",
    }
}

choice! {
    /// The law that holds between the two thresholds.
    #[derive(Serialize, Deserialize)]
    pub enum Variant {
        /// The law of the paper, by the slope alone.
        Original = "original",
        /// The law of "Patched TIMELY" (CoNEXT'16), by the slope and by the distance from `t_low`: rates and queue have
        /// a fixed point.
        Patched = "patched",
    }
}

/// The constants of the law, under the paper's names.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TimelyConfig {
    /// The law that holds between the two thresholds.
    pub variant: Variant,
    /// The rate of a new flow.
    pub start: Start,
    /// True if increases and decreases shrink with the time since the last update.
    pub scale_updates: bool,
    /// The moments at which the rate is updated.
    pub update: UpdateAt,
    /// The bytes of the flow in a segment.
    pub segment: u64,
    /// The weight of a new difference between round-trip times.
    pub alpha: f64,
    /// The weight of a decrease.
    pub beta: f64,
    /// Round-trip times below this always raise the rate.
    pub t_low: Span,
    /// Round-trip times above this always lower it.
    pub t_high: Span,
    /// The round-trip time by which differences are divided.
    pub min_rtt: Span,
    /// The small increase (`delta`).
    pub ai: Step,
    /// The large increase (`N delta`).
    pub hai: Step,
    /// The count from which on increases are large.
    pub hurry_after: u32,
    /// The events that are counted for that.
    pub hurry: HurryAfter,
    /// The least rate of a flow.
    pub min_rate: Rate,
    /// The bytes that may be in flight at a rate.
    pub windowing: Windowing,
    /// The base round-trip time of windows; `None` for that of the path.
    pub base_rtt: Option<Span>,
}

declare! {
    /// The parameters of `timely`.
    pub struct TimelyParams {
        /// The law that holds between `t_low` and `t_high`. `original`: by the slope of the round-trip time alone;
        /// `patched`: by the slope and by the distance from `t_low`, so that rates and queue have a fixed point, and
        /// without large steps up.
        variant: Variant = "original" from "SIGCOMM'15 Algorithm 1; CoNEXT'16, \"Patched TIMELY\"";
        /// The rate of a new flow. `share`: line rate over one more than the flows that its host is sending already;
        /// `line`: line rate.
        start: Start = "share" from "SIGCOMM'15, as CoNEXT'16 restates it (TIMELY-1)";
        /// If true, steps up and cuts shrink with the time since the last update: by that time over `min_rtt`, if it is
        /// shorter. Else the law is the faster the faster the link.
        scale_updates: bool = "true" from "SIGCOMM'15 sec. 5, as CoNEXT'16 restates it; its authors' code (TIMELY-2)";
        /// The times of rate updates. `segment`: each time that `segment` bytes are acknowledged; `round-trip`: once
        /// per round trip.
        update: UpdateAt = "segment" from "SIGCOMM'15 sec. 4";
        /// The bytes of the flow in a segment. The paper also has 64 KB.
        segment: Bytes = "16 KB" in "1 B" to "1 GB" from "SIGCOMM'15 sec. 6";
        /// The weight of a new difference between round-trip times (`alpha`). The paper gives no value.
        alpha: f64 = "0.875" in "0" to "1" from "Zhu et al., CoNEXT'16";
        /// The weight of a decrease (`beta`). `auto`: 0.8, or 0.008 with `variant = "patched"`.
        beta: Auto<f64> = "auto" in "0" to "1" from "SIGCOMM'15 sec. 6; CoNEXT'16, \"Patched TIMELY\"";
        /// The round-trip time below which the rate always rises (`T_low`).
        t_low: Span = "50 us" in "0 s" to "1 s" from "SIGCOMM'15 sec. 6";
        /// The round-trip time above which the rate always falls (`T_high`).
        t_high: Span = "500 us" in "1 ns" to "1 s" from "SIGCOMM'15 sec. 6";
        /// The unit of differences between round-trip times.
        min_rtt: Span = "20 us" in "1 ns" to "1 s" from "Zhu et al., CoNEXT'16";
        /// The small step up (`delta`).
        ai: Rate = "10 Mbps" in "1 bps" to "1.6 Tbps" from "SIGCOMM'15 sec. 6";
        /// The large step up, which is five small ones.
        hai: Rate = "50 Mbps" in "1 bps" to "1.6 Tbps" from "SIGCOMM'15 Algorithm 1";
        /// The line rate for which `ai` and `hai` are given, which at others are scaled in proportion; 0 for no
        /// scaling.
        increments_at: Rate = "0 bps" in "0 bps" to "1.6 Tbps" from "our choice: the paper has one line rate";
        /// The number of counts of `hurry` after which steps are large.
        hurry_after: u32 = "5" in "0" to "1000" from "SIGCOMM'15 Algorithm 1";
        /// The events whose count leads to large steps. `slope`: falls of the round-trip time in a row, but never below
        /// `t_low`; `any`: increases of the rate in a row.
        hurry: HurryAfter = "slope" from "SIGCOMM'15 Algorithm 1; its authors' code";
        /// The bytes that each data packet carries for a timestamp. NICs need none; HPCC's ns-3 code has 8.
        timestamp_bytes: u32 = "0" in "0" to "1000" from "SIGCOMM'15: none";
        ..law: LawParams {
            windowing from "SIGCOMM'15: none",
        };
        ..rdma: CommonParams;
    }
}

/// The constants of HPCC's ns-3 code.
pub const PROFILES: &[Profile] = &[Profile {
    name: "hpcc-ns3",
    doc: told(
        "HPCC's ns-3 code, as its authors ran it: an update a round trip. Increments are given at 100 Gbps and \
          scaled. For its window variant set `windowing = \"rate\"` besides",
    ),
    values: &[
        ("pacing_grain", "1 ns"),
        ("acks", "first-at-hosts"),
        ("start", "line"),
        ("scale_updates", "false"),
        ("update", "round-trip"),
        ("ai", "100 Mbps"),
        ("hai", "500 Mbps"),
        ("increments_at", "100 Gbps"),
        ("hurry", "any"),
        ("timestamp_bytes", "8"),
        ("min_rate", "1 Gbps"),
    ],
}];

/// The transport `timely`.
pub type Timely = Rdma<TimelyParams>;

impl RdmaParams for TimelyParams {
    type Law = TimelyConfig;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "timely";
    const SUMMARY: &'static str = "TIMELY: the slope of the round-trip time sets the rate";
    const SOURCE: &'static str = "SIGCOMM'15";
    const CHECKED: Checked = Checked::Code(
        "The law was held against its authors' snippet, which eRPC carries, and against CoNEXT'16 (\"ECN or Delay\"), \
         which restates it; the SIGCOMM'15 text was not at hand.",
    );
    const PROFILES: &'static [Profile] = PROFILES;

    fn needs(&self) -> Needs {
        Needs {
            lossless: self.rdma.lossless,
            acks: self.rdma.acks,
            stamp: self.timestamp_bytes,
            host_flows: self.start == Start::Share,
            ..Needs::NOTHING
        }
    }

    fn settings(&self, env: &Env) -> Config {
        Config { stamp: self.timestamp_bytes, ..self.rdma.config(env) }
    }

    fn law(&self) -> TimelyConfig {
        TimelyConfig {
            variant: self.variant,
            start: self.start,
            scale_updates: self.scale_updates,
            update: self.update,
            segment: self.segment.get(),
            alpha: self.alpha,
            beta: self.beta.or(if self.variant == Variant::Patched { 0.008 } else { 0.8 }),
            t_low: self.t_low,
            t_high: self.t_high,
            min_rtt: self.min_rtt,
            ai: Step::given(self.ai, self.increments_at),
            hai: Step::given(self.hai, self.increments_at),
            hurry_after: self.hurry_after,
            hurry: self.hurry,
            min_rate: self.law.min_rate,
            windowing: self.law.windowing,
            base_rtt: self.law.base_rtt.set(),
        }
    }
}

/// The constants that the law of a flow needs all along, out of [`TimelyConfig`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Constants {
    variant: Variant,
    update: UpdateAt,
    hurry: HurryAfter,
    scale_updates: bool,
    hurry_after: u32,
    segment: u64,
    alpha: f64,
    beta: f64,
    t_low: Span,
    t_high: Span,
    min_rtt: Span,
}

/// The rate law of one TIMELY flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TimelyLaw {
    config: Constants,
    line: Rate,
    min: Rate,
    ai: Rate,
    hai: Rate,
    window: Window,
    rate: Rate,
    /// The round-trip time of the last update; `None` before the first.
    last_rtt: Option<Span>,
    /// The time of the last update.
    last_update: Time,
    /// The smoothed difference between round-trip times, in picoseconds.
    rtt_diff: f64,
    /// The events counted towards large increases ([`HurryAfter`]).
    count: u32,
    /// With [`UpdateAt::Segment`], the bytes acknowledged since the last update.
    acked: u64,
    /// With [`UpdateAt::RoundTrip`], the next update comes when more than this is acknowledged.
    update_after: u64,
}

impl BuildLaw for TimelyConfig {
    type Law = TimelyLaw;

    fn build(&self, env: &Env) -> TimelyLaw {
        let line = env.line_rate;
        let min = self.min_rate.min(line);
        let start = match self.start {
            Start::Share => Rate::bps(line.as_bps() / (u64::from(env.host_flows) + 1)).max(min),
            Start::Line => line,
        };
        TimelyLaw {
            config: Constants {
                variant: self.variant,
                update: self.update,
                hurry: self.hurry,
                scale_updates: self.scale_updates,
                hurry_after: self.hurry_after,
                segment: self.segment,
                alpha: self.alpha,
                beta: self.beta,
                t_low: self.t_low,
                t_high: self.t_high,
                min_rtt: self.min_rtt,
            },
            line,
            min,
            ai: self.ai.at(line),
            hai: self.hai.at(line),
            window: Window::new(self.windowing, line, self.base_rtt.unwrap_or(env.base_rtt)),
            rate: start,
            last_rtt: None,
            last_update: Time::ZERO,
            rtt_diff: 0.0,
            count: 0,
            acked: 0,
            update_after: 0,
        }
    }
}

impl TimelyLaw {
    /// Returns true if this acknowledgement brings an update. If so, the wait for the next begins.
    fn is_due(&mut self, ack: &AckEvent<'_>) -> bool {
        match self.config.update {
            UpdateAt::Segment => {
                self.acked += ack.acked;
                let due = self.acked > 0 && (self.last_rtt.is_none() || self.acked >= self.config.segment);
                if due {
                    self.acked = 0;
                }
                due
            }
            UpdateAt::RoundTrip => ack.snd_una > self.update_after,
        }
    }

    /// Updates the rate by Algorithm 1 of the paper or, patched, of CoNEXT'16. `scale` shrinks the update: it is 1 if
    /// at least `min_rtt` has passed since the last one.
    fn update(&mut self, rtt: Span, last: Span, scale: f64) {
        let config = &self.config;
        let new_diff = rtt.as_ps() as f64 - last.as_ps() as f64;
        self.rtt_diff = (1.0 - config.alpha) * self.rtt_diff + config.alpha * new_diff;
        let gradient = self.rtt_diff / config.min_rtt.as_ps() as f64;
        if config.hurry == HurryAfter::Slope {
            self.count = if new_diff < 0.0 { self.count.saturating_add(1) } else { 0 };
        }
        let patched = config.variant == Variant::Patched;
        if rtt < config.t_low {
            self.increase(config.hurry == HurryAfter::Any && !patched, scale);
        } else if rtt > config.t_high {
            self.decrease(1.0 - scale * config.beta * (1.0 - config.t_high.ratio(rtt)));
        } else if patched {
            // w = 0 for slopes up to -1/4, 1 from 1/4 on, a straight line in between.
            let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
            let error = rtt.ratio(config.t_low) - 1.0;
            let step = self.ai.mul_f64(scale * (1.0 - weight));
            let kept = times(self.rate, 1.0 - scale * config.beta * weight * error);
            self.rate = plus(kept, step).clamp(self.min, self.line);
        } else if gradient <= 0.0 {
            self.increase(true, scale);
        } else {
            self.decrease((1.0 - scale * config.beta * gradient).max(0.0));
        }
    }

    fn increase(&mut self, may_hurry: bool, scale: f64) {
        let step = if may_hurry && self.count >= self.config.hurry_after { self.hai } else { self.ai };
        if self.config.hurry == HurryAfter::Any {
            self.count = self.count.saturating_add(1);
        }
        let step = if scale < 1.0 { step.mul_f64(scale) } else { step };
        self.rate = plus(self.rate, step).min(self.line);
    }

    fn decrease(&mut self, factor: f64) {
        if self.config.hurry == HurryAfter::Any {
            self.count = 0;
        }
        self.rate = times(self.rate, factor).max(self.min);
    }
}

impl RateLaw for TimelyLaw {
    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window.at(self.rate)
    }

    fn on_ack(&mut self, ack: &AckEvent<'_>, now: Time) {
        if !self.is_due(ack) {
            return;
        }
        if let Some(last) = self.last_rtt {
            let elapsed = now.saturating_since(self.last_update);
            let short = self.config.scale_updates && elapsed < self.config.min_rtt;
            self.update(ack.rtt, last, if short { elapsed.ratio(self.config.min_rtt) } else { 1.0 });
        }
        self.last_update = now;
        // While the sender goes back over a loss, `snd_nxt` may be behind: then ns-3 keeps the old reference.
        if self.config.update == UpdateAt::Segment || ack.snd_nxt > self.update_after {
            self.update_after = ack.snd_nxt;
            self.last_rtt = Some(ack.rtt);
        }
    }
}

#[cfg(test)]
mod tests;
