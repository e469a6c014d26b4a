//! DCTCP as a law of the rate, as in the HPCC authors' ns-3 code (`rdma-hw.cc`, mode 8): the share of marked
//! acknowledgements of a round trip cuts the rate, and each round trip without a cut adds a step.
//!
//! It is a baseline of theirs, not what anybody runs. For the protocol see [`crate::tcp::dctcp`].

use super::config::CommonParams;
use super::law::{AckEvent, BuildLaw, RateLaw};
use super::scale::{LawParams, Window, Windowing, plus, times};
use super::{Cnp, Config, Rdma, RdmaParams};
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::{MarkingNeeds, Needs};
use crate::port::RedConfig;
use crate::transport::Checked;
use clearway_schema::{Auto, Profile, declare, told};
use clearway_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// The constants of the law.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DctcpConfig {
    /// The weight of the share of marks of one round trip in `alpha`.
    pub g: f64,
    /// The `alpha` of a new flow: 1 halves the rate on the first mark.
    pub alpha_initial: f64,
    /// The increase of the rate in each round trip without a cut; `None` for a full packet's payload in each base
    /// round-trip time.
    pub ai: Option<Rate>,
    /// The least rate of a flow.
    pub min_rate: Rate,
    /// The bytes that may be in flight at a rate.
    pub windowing: Windowing,
    /// The base round-trip time of windows; `None` for that of the path.
    pub base_rtt: Option<Span>,
}

declare! {
    /// The parameters of `rdma-dctcp`.
    pub struct RdmaDctcpParams {
        /// The marking threshold of a port of rate `k_at` (`K`), in proportion at others, compared as a packet leaves.
        k: Bytes = "300 KB" in "0 B" to "1 TB" from "HPCC's ns-3 code: 30 KB for each 10 Gbps";
        /// The rate of the port for which `k` is given.
        k_at: Rate = "100 Gbps" in "1 bps" to "1.6 Tbps" from "HPCC's ns-3 code";
        /// The weight of the share of marks of one round trip in `alpha` (`g`).
        g: f64 = "0.0625" in "0.000001" to "1" from "HPCC's ns-3 code; RFC 8257 sec. 4.2";
        /// The `alpha` of a new flow; 1 halves the rate on the first mark.
        alpha_initial: f64 = "1" in "0" to "1" from "HPCC's ns-3 code";
        /// The step up in each round trip without a cut. `auto`: a full packet's payload in each `base_rtt`.
        ai: Auto<Rate> = "auto" in "1 bps" to "1.6 Tbps" from "HPCC's ns-3 code: 1 KB in 13 us";
        ..law: LawParams {
            min_rate from "our choice",
            windowing = "rate" from "HPCC's ns-3 code",
            /// The base round-trip time. `auto`: that of the path. HPCC's ns-3 code takes the longest of the network
            /// (12.24 us in that of 320 hosts).
            base_rtt,
        };
        ..rdma: CommonParams;
    }
}

/// The constants of HPCC's ns-3 code.
pub const PROFILES: &[Profile] = &[Profile {
    name: "hpcc-ns3",
    doc: told(
        "HPCC's ns-3 code, as its authors ran it: 615 Mbps a round trip at any line rate. Set `base_rtt` to the \
          longest of the network",
    ),
    values: &[("pacing_grain", "1 ns"), ("ai", "615 Mbps"), ("min_rate", "1 Gbps")],
}];

/// The transport `rdma-dctcp`.
pub type RdmaDctcp = Rdma<RdmaDctcpParams>;

impl RdmaParams for RdmaDctcpParams {
    type Law = DctcpConfig;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "rdma-dctcp";
    const SUMMARY: &'static str =
        "DCTCP's estimate of marks as a law of the rate, over RDMA: a baseline of HPCC's authors";
    const SOURCE: &'static str = "HPCC's ns-3 code; RFC 8257";
    const CHECKED: Checked = Checked::Code("Held against HPCC's ns-3 code, where it comes from.");
    const PROFILES: &'static [Profile] = PROFILES;
    const COUNTS_CNPS: bool = true;

    fn needs(&self) -> Needs {
        Needs {
            marking: Some(MarkingNeeds::Red(self.step())),
            lossless: self.rdma.lossless,
            acks: self.rdma.acks,
            ..Needs::NOTHING
        }
    }

    fn settings(&self, env: &Env) -> Config {
        Config { cnp: Cnp::Flag, ..self.rdma.config(env) }
    }

    fn law(&self) -> DctcpConfig {
        DctcpConfig {
            g: self.g,
            alpha_initial: self.alpha_initial,
            ai: self.ai.set(),
            min_rate: self.law.min_rate,
            windowing: self.law.windowing,
            base_rtt: self.law.base_rtt.set(),
        }
    }
}

impl RdmaDctcpParams {
    /// Returns marking by a step at `K`: at random between two equal thresholds.
    fn step(&self) -> RedConfig {
        RedConfig { k_min: self.k, k_max: self.k, p_max: 1.0, at_rate: self.k_at }
    }
}

/// The rate law of one flow under DCTCP over RDMA.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RdmaDctcpLaw {
    /// The weight of a round trip's marks in `alpha`.
    g: f64,
    line: Rate,
    min: Rate,
    ai: Rate,
    window: Window,
    payload_max: u64,
    rate: Rate,
    alpha: f64,
    /// The marked acknowledgements since `alpha` moved.
    marked: u64,
    /// The number of packets whose acknowledgements are expected in this round trip.
    batch: u64,
    /// The round trip ends when more than this is acknowledged; `None` before the first acknowledgement.
    round_end: Option<u64>,
    /// After a cut there is neither another nor an increase until more than this is acknowledged.
    cut_end: Option<u64>,
}

impl BuildLaw for DctcpConfig {
    type Law = RdmaDctcpLaw;

    fn build(&self, env: &Env) -> RdmaDctcpLaw {
        let line = env.line_rate;
        let base_rtt = self.base_rtt.unwrap_or(env.base_rtt);
        let payload_max = env.framing.payload_max as u64;
        let one_packet = || Rate::from_bps_f64(payload_max as f64 * 8.0 / base_rtt.as_secs_f64());
        RdmaDctcpLaw {
            g: self.g,
            line,
            min: self.min_rate.min(line),
            ai: self.ai.unwrap_or_else(one_packet),
            window: Window::new(self.windowing, line, base_rtt),
            payload_max,
            rate: line,
            alpha: self.alpha_initial,
            marked: 0,
            batch: 0,
            round_end: None,
            cut_end: None,
        }
    }
}

impl RdmaDctcpLaw {
    /// Returns the moving average of the share of marked acknowledgements (`alpha`).
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Returns true if this acknowledgement ends a round trip. If so, `alpha` moves.
    fn ends_round(&mut self, ack: &AckEvent<'_>) -> bool {
        let Some(end) = self.round_end else {
            // The first round trip ends with its first acknowledgement, and its marks count for the next.
            if ack.snd_una == 0 {
                return false;
            }
            self.round_end = Some(ack.snd_nxt);
            self.batch = ack.snd_nxt / self.payload_max + 1;
            return true;
        };
        if ack.snd_una <= end {
            return false;
        }
        let share = (self.marked as f64 / self.batch as f64).min(1.0);
        self.alpha = (1.0 - self.g) * self.alpha + self.g * share;
        self.marked = 0;
        self.round_end = Some(ack.snd_nxt);
        self.batch = ack.snd_nxt.saturating_sub(ack.snd_una) / self.payload_max + 1;
        true
    }
}

impl RateLaw for RdmaDctcpLaw {
    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window.at(self.rate)
    }

    fn on_ack(&mut self, ack: &AckEvent<'_>, _: Time) {
        self.marked += ack.ecn_echo as u64;
        let round = self.ends_round(ack);
        if self.cut_end.is_some_and(|end| ack.snd_una > end) {
            self.cut_end = None;
        }
        if ack.ecn_echo && self.cut_end.is_none() {
            self.rate = times(self.rate, 1.0 - self.alpha / 2.0).max(self.min);
            self.cut_end = Some(ack.snd_nxt);
        }
        if round && self.cut_end.is_none() {
            self.rate = plus(self.rate, self.ai).min(self.line);
        }
    }
}

#[cfg(test)]
mod tests;
