//! HPCC: each acknowledgement tells what the links on the way carried, and the rate follows.
//!
//! Source: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, Algorithm 1; and `rdma-hw.cc` and
//! `int-header.h` of its authors' ns-3 code. The paper sets a window `W` and sends at `W / T`; the code sets a rate `R`
//! and a window in proportion. With `W = R T` and `R_AI = W_AI / T` they are one law, kept here as a rate.
//!
//! # Deviations
//! - A port whose entry has the time of the entry before (nothing passed in between, or the entry came twice) is left
//!   out: the paper's quotient has no value there.
//! - When the list of ports changes its length (a new path), the entry is stored and nothing is concluded from it.

mod port;

pub use port::TelemetryPort;

use super::config::CommonParams;
use super::law::{AckEvent, BuildLaw, RateLaw};
use super::scale::{LawParams, Step, Window, Windowing, plus};
use super::{Config, Rdma, RdmaParams};
use crate::endpoint::Env;
use crate::mechanism::NoConstants;
use crate::needs::Needs;
use crate::packet::Hop;
use crate::transport::Checked;
use clearway_schema::{Auto, Profile, choice, declare, told};
use clearway_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};

choice! {
    /// The acknowledgements to which the law reacts.
    #[derive(Serialize, Deserialize)]
    pub enum ReactTo {
        /// Every acknowledgement, against a reference that moves once in a round trip (the paper).
        Ack = "ack",
        /// One acknowledgement in a round trip.
        RoundTrip = "round-trip",
    }
}

choice! {
    /// The resolution at which the law reads telemetry.
    #[derive(Serialize, Deserialize)]
    pub enum Telemetry {
        /// The law reads the exact values.
        Exact = "exact",
        /// The law reads them as they fit the fields of the authors' ns-3 header: time in whole nanoseconds (24 bits),
        /// bytes sent in units of 128 B (20 bits), the queue in units of 80 B; both units times the multiple of 25 Gbps
        /// that the line rate is (`INT_MULTI`). The count of bytes sent leaves the packet itself out.
        Fields = "fields",
    }
}

/// The constants of the law, under the paper's names.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct HpccConfig {
    /// The acknowledgements to which the law reacts.
    pub react: ReactTo,
    /// The target utilisation.
    pub eta: f64,
    /// The number of additive increases in a row after which even an idle link is measured anew.
    pub max_stage: u32,
    /// The additive increase.
    pub ai: Increase,
    /// The least rate of a flow.
    pub min_rate: Rate,
    /// The bytes that may be in flight at a rate.
    pub windowing: Windowing,
    /// The base round-trip time `T`, one for all flows of a network; `None` for that of the path.
    pub base_rtt: Option<Span>,
    /// The resolution at which the law reads telemetry.
    pub telemetry: Telemetry,
    /// The bytes of telemetry in each data packet.
    pub stamp: u32,
}

/// An additive increase, of the window or of the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Increase {
    /// The additive increase `W_AI` of the window.
    Window(Bytes),
    /// The additive increase `R_AI` of the rate.
    Rate(Step),
}

declare! {
    /// The parameters of `hpcc`.
    pub struct HpccParams {
        /// The acknowledgements to which the law reacts. `ack`: all, against a reference that moves once per round
        /// trip; `round-trip`: one per round trip.
        react: ReactTo = "ack" from "SIGCOMM'19 sec. 3.2";
        /// The target utilisation of links (`eta`).
        eta: f64 = "0.95" in "0.01" to "1" from "SIGCOMM'19 sec. 5.1";
        /// The number of additive increases in a row after which even an idle link is measured anew (`maxStage`). The
        /// paper prints 5, its simulations ran 0.
        max_stage: u32 = "0" in "0" to "1000" from "its authors' results page: what the simulations ran; SIGCOMM'19 sec. 5.1: 5";
        /// The additive increase of the window in a round trip (`W_AI`).
        w_ai: Bytes = "80 B" in "1 B" to "1 GB" from "SIGCOMM'19 sec. 5.1";
        /// The additive increase of the rate. `auto`: `w_ai` in each `base_rtt`.
        ai: Auto<Rate> = "auto" in "1 bps" to "1.6 Tbps" from "SIGCOMM'19 sec. 5.1";
        /// The line rate for which `ai` is given, which at others is scaled in proportion; 0 for no scaling.
        increments_at: Rate = "0 bps" in "0 bps" to "1.6 Tbps" from "our choice";
        ..law: LawParams {
            windowing = "rate" from "SIGCOMM'19 Algorithm 1",
            /// The base round-trip time (`T`). `auto`: that of the path. HPCC's ns-3 code takes the longest of the
            /// network (12.24 us in that of 320 hosts).
            base_rtt from "our choice; the paper: one for the network",
        };
        /// The precision of the telemetry of ports. `exact`: exact values; `fields`: values rounded as in the header of
        /// HPCC's ns-3 code, in units of 128 and 80 bytes times the multiple of 25 Gbps that the line rate is.
        telemetry: Telemetry = "exact" from "our choice";
        /// The bytes that each data packet carries for telemetry, whatever its path: 2, and 8 for each of 5 ports.
        telemetry_bytes: u32 = "42" in "0" to "1000" from "SIGCOMM'19 sec. 4.1";
        /// The bytes of telemetry that an acknowledgement returns.
        telemetry_ack_bytes: u32 = "42" in "0" to "1000" from "SIGCOMM'19 sec. 4.1";
        ..rdma: CommonParams;
    }
}

/// The constants of HPCC's ns-3 code.
pub const PROFILES: &[Profile] = &[Profile {
    name: "hpcc-ns3",
    doc: told(
        "HPCC's ns-3 code, as its authors ran it: no stages, telemetry rounded to the fields of its header. The \
          increase is given at 100 Gbps and scaled; they also ran 50 Mbps. Set `base_rtt` to the longest of the network",
    ),
    values: &[
        ("pacing_grain", "1 ns"),
        ("max_stage", "0"),
        ("ai", "40 Mbps"),
        ("increments_at", "100 Gbps"),
        ("min_rate", "1 Gbps"),
        ("telemetry", "fields"),
        ("telemetry_ack_bytes", "40"),
    ],
}];

/// The transport `hpcc`.
pub type Hpcc = Rdma<HpccParams>;

impl RdmaParams for HpccParams {
    type Law = HpccConfig;
    type Mechanism = TelemetryPort;
    const NAME: &'static str = "hpcc";
    const SUMMARY: &'static str = "HPCC: switches write their load into packets, and the rate follows it";
    const SOURCE: &'static str = "SIGCOMM'19";
    const CHECKED: Checked = Checked::Code(
        "Held against its authors' ns-3 code, with which the profile `hpcc-ns3` agrees; the SIGCOMM'19 text was not \
         at hand.",
    );
    const PROFILES: &'static [Profile] = PROFILES;

    fn needs(&self) -> Needs {
        Needs {
            lossless: self.rdma.lossless,
            acks: self.rdma.acks,
            stamp: self.telemetry_bytes,
            ..Needs::NOTHING
        }
    }

    fn mechanism(&self) -> Option<NoConstants> {
        Some(NoConstants {})
    }

    fn settings(&self, env: &Env) -> Config {
        Config {
            stamp: self.telemetry_bytes,
            stamp_echo: self.telemetry_ack_bytes,
            telemetry: true,
            ..self.rdma.config(env)
        }
    }

    fn law(&self) -> HpccConfig {
        HpccConfig {
            react: self.react,
            eta: self.eta,
            max_stage: self.max_stage,
            ai: match self.ai {
                Auto::Auto => Increase::Window(self.w_ai),
                Auto::Set(ai) => Increase::Rate(Step::given(ai, self.increments_at)),
            },
            min_rate: self.law.min_rate,
            windowing: self.law.windowing,
            base_rtt: self.law.base_rtt.set(),
            telemetry: self.telemetry,
            stamp: self.telemetry_bytes,
        }
    }
}

/// The line rate, in bit/s, for which the units of the ns-3 header are 128 and 80 bytes.
const FIELDS_LINE: u64 = 25_000_000_000;

/// The rate law of one HPCC flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HpccLaw {
    react: ReactTo,
    eta: f64,
    max_stage: u32,
    line: Rate,
    min: Rate,
    ai: Rate,
    window: Window,
    /// The base round-trip time `T`, in picoseconds.
    base_rtt: f64,
    units: Option<Units>,
    rate: Rate,
    /// The reference rate, `W^c / T`.
    reference: Rate,
    /// The smoothed estimate `U` of the bytes in flight, as a share of the bandwidth-delay product.
    u: f64,
    stage: u32,
    /// The reference moves when more than this is acknowledged; `None` before the first acknowledgement.
    update_after: Option<u64>,
    /// The telemetry of the last acknowledgement, as the law reads it; boxed, so that the ends of flows under other
    /// laws are no larger for it.
    last: Box<[Reading]>,
}

/// The entry of a port in telemetry, as the law reads it: exact, or in the units of the ns-3 header's fields.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Reading {
    /// The time at which the packet left, in picoseconds or in nanoseconds.
    left: u64,
    /// The bytes sent, or as many units of [`Units::bytes`].
    sent: u64,
    /// The bytes that wait.
    queued: u64,
}

/// The units of the ns-3 header's fields.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Units {
    /// The unit of the count of bytes sent.
    bytes: u64,
    /// The unit of the queue, in bytes.
    queue: u64,
    /// The size of a full data packet on the wire, which the count of bytes sent leaves out.
    own: u64,
}

impl BuildLaw for HpccConfig {
    type Law = HpccLaw;

    fn build(&self, env: &Env) -> HpccLaw {
        let line = env.line_rate;
        let base_rtt = self.base_rtt.unwrap_or(env.base_rtt).max(Span::from_ps(1));
        let ai = match self.ai {
            Increase::Rate(step) => step.at(line),
            Increase::Window(bytes) => Rate::from_bps_f64(bytes.get() as f64 * 8.0 / base_rtt.as_secs_f64()),
        };
        let multi = (line.as_bps() / FIELDS_LINE).max(1);
        let own = (env.framing.wire_max() + self.stamp) as u64;
        HpccLaw {
            react: self.react,
            eta: self.eta,
            max_stage: self.max_stage,
            line,
            min: self.min_rate.min(line),
            ai,
            window: Window::new(self.windowing, line, base_rtt),
            base_rtt: base_rtt.as_ps() as f64,
            units: (self.telemetry == Telemetry::Fields).then_some(Units {
                bytes: 128 * multi,
                queue: 80 * multi,
                own,
            }),
            rate: line,
            reference: line,
            u: 1.0,
            stage: 0,
            update_after: None,
            last: Box::default(),
        }
    }
}

/// The picoseconds of a second.
const PS_PER_S: f64 = 1e12;

/// Returns a number below 2^63 as a float, which takes one instruction; from the whole range of 64 bits it takes
/// several.
#[inline]
fn float(number: u64) -> f64 {
    number as i64 as f64
}

impl Units {
    /// Returns a hop as the header holds it. Wrapping is left to the differences, which are the same.
    #[inline]
    fn read(self, hop: &Hop) -> Reading {
        Reading {
            left: hop.left.as_ps() / 1000,
            sent: hop.sent.saturating_sub(self.own) / self.bytes,
            queued: if hop.queued < self.queue { 0 } else { hop.queued / self.queue * self.queue },
        }
    }

    /// Differences of times in nanoseconds, and of bytes sent in these units, as fields of 24 and 20 bits show them.
    #[inline]
    fn wrap(self, ns: u64, units: u64) -> (Span, u64) {
        (Span::from_ns(ns & 0xff_ffff), (units & 0xf_ffff) * self.bytes)
    }
}

impl HpccLaw {
    /// `U`, the smoothed estimate of the most loaded link: 1 is a full link without a queue.
    pub fn utilisation(&self) -> f64 {
        self.u
    }

    /// Returns an entry as the law reads it.
    #[inline]
    fn read(units: Option<Units>, hop: &Hop) -> Reading {
        match units {
            Some(units) => units.read(hop),
            None => Reading { left: hop.left.as_ps(), sent: hop.sent, queued: hop.queued },
        }
    }

    /// Keeps what the ports wrote.
    fn store(&mut self, hops: &[Hop]) {
        self.last = hops.iter().map(|hop| HpccLaw::read(self.units, hop)).collect();
    }

    /// `MeasureInflight` of Algorithm 1; stores the entries. Returns false if nothing could be concluded.
    fn measure(&mut self, hops: &[Hop]) -> bool {
        if hops.len() != self.last.len() {
            self.store(hops);
            return false;
        }
        // No link has a negative load.
        let mut most = (-1.0, Span::ZERO);
        for (hop, last) in hops.iter().zip(&mut self.last) {
            let new = HpccLaw::read(self.units, hop);
            let old = std::mem::replace(last, new);
            let (time, sent) = (new.left.saturating_sub(old.left), new.sent.saturating_sub(old.sent));
            let (tau, sent) = match self.units {
                Some(units) => units.wrap(time, sent),
                None => (Span::from_ps(time), sent),
            };
            if tau.is_zero() || hop.rate.is_zero() {
                continue;
            }
            let link = float(hop.rate.as_bps());
            let sending = float(sent) * 8.0 / (float(tau.as_ps()) / PS_PER_S) / link;
            // qlen / (B T), by the window at line rate: W = R_max T. Most ports have no queue, and no divisions then.
            let waiting = match new.queued.min(old.queued) {
                0 => 0.0,
                queue => float(queue) * float(self.line.as_bps()) / link / float(self.window.full()),
            };
            let u = sending + waiting;
            if u > most.0 {
                most = (u, tau);
            }
        }
        let (u, tau) = most;
        if u < 0.0 {
            return false;
        }
        let tau = float(tau.as_ps()).min(self.base_rtt);
        self.u = (self.u * (self.base_rtt - tau) + u * tau) / self.base_rtt;
        true
    }

    /// `ComputeWind` of Algorithm 1, for rates.
    fn compute(&mut self, moves_reference: bool) {
        let c = self.u / self.eta;
        let multiplies = c >= 1.0 || self.stage >= self.max_stage;
        // An idle link (c = 0) gives an infinite rate, which the cast and the clamp bring to line rate.
        let kept =
            if multiplies { Rate::bps((self.reference.as_bps_f64() / c) as u64) } else { self.reference };
        self.rate = plus(kept, self.ai).clamp(self.min, self.line);
        if moves_reference {
            self.stage = if multiplies { 0 } else { self.stage + 1 };
            self.reference = self.rate;
        }
    }
}

impl RateLaw for HpccLaw {
    const REPACES: bool = true;

    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window.at(self.rate)
    }

    fn on_ack(&mut self, ack: &AckEvent<'_>, _: Time) {
        if ack.hops.is_empty() {
            return;
        }
        let Some(after) = self.update_after else {
            if ack.snd_una > 0 {
                self.store(ack.hops);
                self.update_after = Some(ack.snd_nxt);
            }
            return;
        };
        let is_update = ack.snd_una > after;
        if !is_update && self.react == ReactTo::RoundTrip {
            return;
        }
        if self.measure(ack.hops) {
            self.compute(is_update);
        }
        if is_update {
            self.update_after = Some(ack.snd_nxt.max(after));
        }
    }
}

#[cfg(test)]
mod tests;
