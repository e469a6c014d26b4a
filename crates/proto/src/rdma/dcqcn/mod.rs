//! DCQCN: the receiver notifies the sender of marks, and the sender cuts its rate and recovers it by time and by bytes
//! sent. This file has the transport, `law.rs` the law (the paper's reaction point), `constants.rs` the law's
//! constants, and `params.rs` the parameters that they are made of.
//!
//! Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, sec. 3 and its eq. (1) to
//! (4); and `rdma-hw.cc` of the HPCC authors' ns-3 code ("Mellanox's version of DCQCN"), which asks only from time to
//! time whether there was a notification. PACC's hosts run the same law, and hear its switches.

mod constants;
mod law;
mod params;

pub use constants::{AlphaFrom, DcqcnConfig, Hyper, Notice, Reaction};
pub use law::DcqcnLaw;
pub use params::ReactionPointParams;

use super::config::CommonParams;
use super::scale::LawParams;
use super::{Cnp, Config, Rdma, RdmaParams};
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::{MarkingNeeds, Needs};
use crate::port::RedConfig;
use crate::transport::Checked;
use clearway_schema::{Profile, declare, told};
use clearway_units::{Bytes, Rate, Span};

declare! {
    /// The parameters of `dcqcn`.
    pub struct DcqcnParams {
        /// The time at which a CNP takes effect. `on-cnp`: at once; `ticks`: at the next tick of a clock that the
        /// flow's first CNP starts.
        reaction: Reaction = "on-cnp" from "SIGCOMM'15 sec. 3.1";
        /// The way in which the receiver echoes marks. `cnp`: by CNPs, at most one each `cnp_interval`; `marked-ack`:
        /// by a flag on the acknowledgement of each marked packet.
        notice: Notice = "cnp" from "SIGCOMM'15 sec. 3.1";
        /// The least time between two CNPs of a receiver for the same flow (`N`).
        cnp_interval: Span = "50 us" in "0 s" to "1 s" from "SIGCOMM'15 sec. 3.1";
        /// The queue of a port of rate `k_at` up to which no packet is marked (`Kmin`), in proportion at others.
        k_min: Bytes = "5 KB" in "0 B" to "1 TB" from "SIGCOMM'15";
        /// The queue of a port of rate `k_at` above which every packet is marked (`Kmax`), in proportion at others.
        k_max: Bytes = "200 KB" in "0 B" to "1 TB" from "SIGCOMM'15";
        /// The probability of a mark at `k_max`, in proportion between `k_min` and `k_max` (`Pmax`).
        p_max: f64 = "0.01" in "0" to "1" from "SIGCOMM'15";
        /// The rate of the port for which `k_min` and `k_max` are given.
        k_at: Rate = "40 Gbps" in "1 bps" to "1.6 Tbps" from "SIGCOMM'15: its testbed";
        ..hosts: ReactionPointParams;
        ..law: LawParams {
            windowing from "SIGCOMM'15: none",
        };
        ..rdma: CommonParams;
    }
}

/// The profile with the constants of HPCC's ns-3 code.
const HPCC_NS3: Profile = Profile {
    name: "hpcc-ns3",
    doc: told(
        "HPCC's ns-3 code, as its authors ran it: what the NICs of its time did. Increments are given at \
          100 Gbps and scaled. For its window variant set `windowing = \"rate\"` and `acks = \"with-data\"` besides",
    ),
    values: &[
        ("pacing_grain", "1 ns"),
        ("acks", "first-at-hosts"),
        ("reaction", "ticks"),
        ("notice", "marked-ack"),
        ("k_min", "400 KB"),
        ("k_max", "1600 KB"),
        ("p_max", "0.2"),
        ("k_at", "100 Gbps"),
        ("alpha_period", "1 us"),
        ("decrease_interval", "4 us"),
        ("clamp_target", "false"),
        ("increase_timer", "300 us"),
        ("byte_counter", "0 B"),
        ("fast_recovery", "1"),
        ("ai", "20 Mbps"),
        ("hai", "200 Mbps"),
        ("hyper", "constant"),
        ("increments_at", "100 Gbps"),
        ("min_rate", "1 Gbps"),
    ],
};

/// The profile with the defaults of NICs.
const MELLANOX: Profile = Profile {
    name: "mellanox",
    doc: told(
        "NICs as shipped, by what their firmware reports: CNPs at most every 4 us, `alpha` each microsecond, a \
          cut at most every 4 us, increases each 300 us and each 32,767 B, of 5 and 50 Mbps at any line rate. Marking is \
          the switches' matter, and stays as it is",
    ),
    values: &[
        ("reaction", "ticks"),
        ("cnp_interval", "4 us"),
        ("g", "0.0048828125"),
        ("alpha_initial", "0.9990234375"),
        ("alpha_period", "1 us"),
        ("decrease_interval", "4 us"),
        ("clamp_target", "false"),
        ("increase_timer", "300 us"),
        ("byte_counter", "32767 B"),
        ("fast_recovery", "1"),
        ("ai", "5 Mbps"),
        ("hai", "50 Mbps"),
        ("hyper", "constant"),
        ("min_rate", "1 Mbps"),
    ],
};

/// The profiles: constants of others than the paper.
pub const PROFILES: &[Profile] = &[HPCC_NS3, MELLANOX];

/// The transport `dcqcn`.
pub type Dcqcn = Rdma<DcqcnParams>;

impl RdmaParams for DcqcnParams {
    type Law = DcqcnConfig;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "dcqcn";
    const SUMMARY: &'static str =
        "DCQCN: receivers of marks notify the sender, which cuts its rate and recovers it";
    const SOURCE: &'static str = "SIGCOMM'15";
    const CHECKED: Checked = Checked::Code(
        "The constants were held against CoNEXT'16, by some of its authors, and the law against HPCC's ns-3 code; the \
         SIGCOMM'15 text was not at hand.",
    );
    const PROFILES: &'static [Profile] = PROFILES;
    const COUNTS_CNPS: bool = true;

    fn needs(&self) -> Needs {
        Needs {
            marking: Some(MarkingNeeds::Red(self.red())),
            lossless: self.rdma.lossless,
            acks: self.rdma.acks,
            cnps: self.notice == Notice::Cnp,
            ..Needs::NOTHING
        }
    }

    fn settings(&self, env: &Env) -> Config {
        let cnp = match self.notice {
            Notice::Cnp => Cnp::Packets(self.cnp_interval),
            Notice::MarkedAck => Cnp::Flag,
        };
        Config { cnp, ..self.rdma.config(env) }
    }

    fn law(&self) -> DcqcnConfig {
        self.hosts.config(self.reaction, self.notice, &self.law)
    }
}

impl DcqcnParams {
    /// Returns the marking that ports apply to this transport's data.
    pub fn red(&self) -> RedConfig {
        RedConfig {
            k_min: self.k_min,
            k_max: self.k_max.max(self.k_min),
            p_max: self.p_max,
            at_rate: self.k_at,
        }
    }
}

#[cfg(test)]
mod tests;
