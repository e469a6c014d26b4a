//! The parameters of `pacc`: those of DCQCN's reaction point at hosts, and those of the mechanism at ports.

use super::{PaccConfig, PaccPort};
use crate::endpoint::Env;
use crate::needs::Needs;
use crate::rdma::config::CommonParams;
use crate::rdma::dcqcn::{DcqcnConfig, Notice, Reaction, ReactionPointParams};
use crate::rdma::scale::LawParams;
use crate::rdma::{Config, Rdma, RdmaParams};
use crate::transport::Checked;
use clearway_schema::{Profile, declare, told};

declare! {
    /// The parameters of `pacc`.
    pub struct PaccParams {
        ..port: PaccConfig;
        /// The time at which a CNP takes effect at a host. `ticks`: at the next tick of a clock that the flow's first
        /// CNP starts; `on-cnp`: at once.
        reaction: Reaction = "ticks" from "HPCC's ns-3 code, PACC-22";
        ..hosts: ReactionPointParams [
            g, alpha_from, alpha_period, decrease_interval, clamp_target, increase_timer, byte_counter, fast_recovery, ai,
            hai, increments_at,
        ] {
            g from "HPCC's ns-3 code, PACC-18",
            /// The event from which on `alpha`, which begins at 1, moves. `notification`: the flow's first CNP; `start`:
            /// its first packet.
            alpha_from from "HPCC's ns-3 code, PACC-21",
            /// The time without a CNP after which `alpha` falls (`tau'`); with `ticks`, the time between moves of
            /// `alpha`.
            alpha_period = "1 us" from "PACC appendix, PACC-18",
            /// The least time between two cuts. With `on-cnp`, CNPs that come sooner are ignored; with `ticks` it is at
            /// least 100 ns.
            decrease_interval = "4 us" from "HPCC's ns-3 code, PACC-22",
            clamp_target = "false" from "HPCC's ns-3 code, PACC-22",
            /// The time between two increases (`T_i`).
            increase_timer = "300 us" from "PACC appendix, PACC-18",
            byte_counter = "0 B" from "HPCC's ns-3 code, PACC-18",
            fast_recovery = "1" from "HPCC's ns-3 code, PACC-18",
            ai = "20 Mbps" from "HPCC's ns-3 code, PACC-18",
            /// The hyper increase of the target (`R_HAI`).
            hai = "200 Mbps" from "HPCC's ns-3 code, PACC-18",
            hyper = "constant",
            increments_at = "100 Gbps" from "HPCC's ns-3 code, PACC-18",
        };
        ..law: LawParams {
            /// The least rate of a flow. HPCC's ns-3 code has 100 Mbps in its class and 1 Gbps in its script.
            min_rate = "100 Mbps" from "HPCC's ns-3 code, PACC-24",
            windowing from "PACC: none is mentioned",
            /// The base round-trip time of windows. `auto`: that of the path. HPCC's ns-3 code takes the longest of the
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
        doc: told(
            "Hosts by eq. (1) as printed: each notification cuts at once, and each cut makes the rate before it the \
              target. With notifications every 4 us a round of them leaves nothing to recover to (PACC-22)",
        ),
        values: &[
            ("reaction", "on-cnp"),
            ("decrease_interval", "0 s"),
            ("clamp_target", "true"),
            ("min_rate", "10 Mbps"),
        ],
    },
    Profile {
        name: "hpcc-ns3",
        doc: told(
            "Hosts exactly as in HPCC's ns-3 code, which the paper's simulations are built on: the default, \
              with ACKs ahead of data at hosts and a rate that falls no lower than 1 Gbps",
        ),
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
    const COUNTS_CNPS: bool = true;

    fn needs(&self) -> Needs {
        Needs { lossless: self.rdma.lossless, acks: self.rdma.acks, cnps: true, ..Needs::NOTHING }
    }

    fn mechanism(&self) -> Option<PaccConfig> {
        Some(self.port)
    }

    fn settings(&self, env: &Env) -> Config {
        self.rdma.config(env)
    }

    /// Returns the constants of the law at hosts. It hears CNPs.
    fn law(&self) -> DcqcnConfig {
        self.hosts.config(self.reaction, Notice::Cnp, &self.law)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdma::dcqcn;
    use crate::rdma::family::profiled;
    use crate::rdma::scale::Windowing;
    use clearway_schema::Declared;
    use clearway_units::{Rate, Span};

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
