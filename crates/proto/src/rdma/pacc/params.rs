//! The parameters of `pacc`: those of DCQCN's reaction point at hosts, and those of the mechanism at ports.

use super::{PaccConfig, PaccPort};
use crate::endpoint::Env;
use crate::needs::Needs;
use crate::rdma::config::CommonParams;
use crate::rdma::dcqcn::{AlphaFrom, DcqcnConfig, Hyper, Notice, Reaction};
use crate::rdma::scale::{LawParams, Step};
use crate::rdma::{Config, Rdma, RdmaParams};
use crate::transport::Checked;
use clearway_schema::{Profile, declare};
use clearway_units::{Bytes, Rate, Span};

declare! {
    /// The parameters of `pacc`.
    pub struct PaccParams {
        ..port: PaccConfig;
        /// Hosts, as in `dcqcn`: when a notification takes effect. `ticks`: at the next tick of a clock that the flow's
        /// first notification starts; `on-cnp`: at once.
        reaction: Reaction = "ticks" from "HPCC's ns-3 code, PACC-22";
        /// Hosts, as in `dcqcn`: weight `g` of one notification, or of one period without, in `alpha`.
        g: f64 = "0.00390625" in "0.000001" to "1" from "HPCC's ns-3 code, PACC-18";
        /// Hosts, as in `dcqcn`: from when on `alpha`, which begins at 1, moves.
        alpha_from: AlphaFrom = "notification" from "HPCC's ns-3 code, PACC-21";
        /// Hosts, as in `dcqcn`: time without a notification after which `alpha` falls (`tau'`).
        alpha_period: Span = "1 us" in "1 ns" to "1 s" from "PACC appendix, PACC-18";
        /// Hosts, as in `dcqcn`: least time between two cuts. With `ticks` it must be more than zero.
        decrease_interval: Span = "4 us" in "0 s" to "1 s" from "HPCC's ns-3 code, PACC-22";
        /// Hosts, as in `dcqcn`: whether each cut makes the old rate the target. Else a cut that follows a cut leaves
        /// the target where it was.
        clamp_target: bool = "false" from "HPCC's ns-3 code, PACC-22";
        /// Hosts, as in `dcqcn`: time between increases (`T_i`).
        increase_timer: Span = "300 us" in "1 ns" to "1 s" from "PACC appendix, PACC-18";
        /// Hosts, as in `dcqcn`: bytes on the wire between increases; 0: time alone counts.
        byte_counter: Bytes = "0 B" in "0 B" to "1 TB" from "HPCC's ns-3 code, PACC-18";
        /// Hosts, as in `dcqcn`: increases of fast recovery, before the target rises.
        fast_recovery: u32 = "1" in "0" to "1000" from "HPCC's ns-3 code, PACC-18";
        /// Hosts, as in `dcqcn`: additive increase of the target.
        ai: Rate = "20 Mbps" in "1 bps" to "1.6 Tbps" from "HPCC's ns-3 code, PACC-18";
        /// Hosts, as in `dcqcn`: hyper increase of the target.
        hai: Rate = "200 Mbps" in "1 bps" to "1.6 Tbps" from "HPCC's ns-3 code, PACC-18";
        /// Hosts: line rate for which `ai` and `hai` are given: at others they are scaled in proportion. 0: they hold
        /// at any.
        increments_at: Rate = "100 Gbps" in "" to "1.6 Tbps" from "HPCC's ns-3 code, PACC-18";
        ..law: LawParams {
            /// Hosts: the rate falls no lower. HPCC's ns-3 code has 100 Mbps in its class and 1 Gbps in its script.
            min_rate = "100 Mbps" from "HPCC's ns-3 code, PACC-24",
            /// Hosts, as in `dcqcn`: how much may be in flight: `none`: any amount; `fixed`: what line rate sends in a
            /// base round-trip time; `rate`: of that, the share that the rate has of line rate.
            windowing from "PACC: none is mentioned",
            /// Base round-trip time of windows. `auto`: that of the path. HPCC's ns-3 code takes the longest of the
            /// network (12.96 us in the paper's tree).
            base_rtt,
        };
        ..rdma: CommonParams;
    }
}

/// The paper's text, and the code that the paper built on.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "print",
        doc: "Hosts by eq. (1) as printed: each notification cuts at once, and each cut makes the rate before it the \
              target. With notifications every 4 us a round of them leaves nothing to recover to (PACC-22)",
        values: &[
            ("reaction", "on-cnp"),
            ("decrease_interval", "0 s"),
            ("clamp_target", "true"),
            ("min_rate", "10 Mbps"),
        ],
    },
    Profile {
        name: "hpcc-ns3",
        doc: "Hosts exactly as in HPCC's ns-3 code, which the paper's simulations are built on: the default, \
              with ACKs ahead of data at hosts and a rate that falls no lower than 1 Gbps",
        values: &[("pacing_grain", "1 ns"), ("acks", "first-at-hosts"), ("min_rate", "1 Gbps")],
    },
];

/// The transport `pacc`.
pub type Pacc = Rdma<PaccParams>;

impl RdmaParams for PaccParams {
    type Law = DcqcnConfig;
    type Mechanism = PaccPort;
    const NAME: &'static str = "pacc";
    const SUMMARY: &'static str =
        "PACC: switches count who fills their queues, and notify DCQCN's senders themselves";
    const SOURCE: &'static str = "INFOCOM'22";
    const CHECKED: Checked = Checked::Paper("Held against the INFOCOM'22 text; its code is not public.");
    const PROFILES: &'static [Profile] = PROFILES;
    const COUNTS_NOTIFICATIONS: bool = true;

    fn needs(&self) -> Needs {
        Needs { lossless: self.rdma.lossless, acks: self.rdma.acks, cnps: true, ..Needs::NOTHING }
    }

    fn mechanism(&self) -> Option<PaccConfig> {
        Some(self.port)
    }

    fn settings(&self, env: &Env) -> Config {
        self.rdma.config(env)
    }

    /// The constants of the law at hosts. It hears CNPs.
    fn law(&self) -> DcqcnConfig {
        DcqcnConfig {
            reaction: self.reaction,
            notice: Notice::Cnp,
            g: self.g,
            alpha_initial: 1.0,
            alpha_from: self.alpha_from,
            alpha_period: self.alpha_period,
            decrease_interval: self.decrease_interval,
            clamp_target: self.clamp_target,
            increase_timer: self.increase_timer,
            byte_counter: Some(self.byte_counter.get()).filter(|bytes| *bytes > 0),
            fast_recovery: self.fast_recovery,
            ai: Step::given(self.ai, self.increments_at),
            hai: Step::given(self.hai, self.increments_at),
            hyper: Hyper::Constant,
            min_rate: self.law.min_rate,
            windowing: self.law.windowing,
            base_rtt: self.law.base_rtt.set(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdma::dcqcn;
    use crate::rdma::family::profiled;
    use crate::rdma::scale::Windowing;
    use clearway_schema::Declared;

    fn profile(profiles: &'static [Profile], name: &str) -> &'static Profile {
        profiles.iter().find(|profile| profile.name == name).expect("a profile")
    }

    #[test]
    fn hosts_are_those_of_hpccs_ns3_code_but_for_the_least_rate_pacc_18_and_22() {
        let dcqcn: dcqcn::DcqcnParams = profiled(profile(dcqcn::PROFILES, "hpcc-ns3"));
        let ns3 = DcqcnConfig { notice: Notice::Cnp, ..dcqcn.law() };
        assert_eq!(profiled::<PaccParams>(profile(PROFILES, "hpcc-ns3")).law(), ns3);
        assert_eq!(PaccParams::default().law(), DcqcnConfig { min_rate: Rate::mbps(100), ..ns3 });
    }

    #[test]
    fn the_print_cuts_at_once_and_takes_the_target_along_eq_1() {
        let print: PaccParams = profiled(profile(PROFILES, "print"));
        let expected = DcqcnConfig {
            reaction: Reaction::OnCnp,
            decrease_interval: Span::ZERO,
            clamp_target: true,
            min_rate: Rate::mbps(10),
            ..PaccParams::default().law()
        };
        assert_eq!(print.law(), expected);
    }

    #[test]
    fn windows_are_offered_as_other_laws_have_them() {
        let mut params = PaccParams::default();
        assert_eq!(params.law().windowing, Windowing::None);
        params.set("windowing", "rate").unwrap();
        params.set("base_rtt", "12.96 us").unwrap();
        let law = params.law();
        assert_eq!((law.windowing, law.base_rtt), (Windowing::Rate, Some(Span::from_ns(12_960))));
    }
}
