//! NDP (Handley, Raiciu, Agache, Voinescu, Moore, Antichi, Wójcik, SIGCOMM'17): senders begin at line rate, switches cut packets
//! to their headers where queues are short of room, and receiving hosts pull the rest at the rate of their links.
//!
//! | part | purpose |
//! |---|---|
//! | [`NdpSender`] | sends a first window unasked, and then a packet for each pull, those that were cut first |
//! | [`NumberedReceiver`] | answers each packet at once, whole or cut, and puts bytes in order |
//! | [`NdpAgent`] | pulls for all flows that arrive at a host, in turn, a little slower than its link |
//!
//! # Deviations
//! - Pulls that go ahead of what the sender needs are not saved for later beyond a window, and each answer carries the number of
//!   the last pull, so that a lost pull costs nothing once any answer arrives.
//! - A sender that waits for a pull and hears nothing for a timeout asks for the number of the last one, with a packet that has
//!   no number of its own.

mod agent;
mod sender;

pub use agent::NdpAgent;
pub use sender::NdpSender;

use crate::agent::{AgentEnv, AgentScope};
use crate::endpoint::Env;
use crate::entropy::{EntropyPolicy, EntropyValues};
use crate::mechanism::NoMechanism;
use crate::needs::{Acks, BufferNeeds, Needs, TrimmingNeeds};
use crate::numbered::NumberedReceiver;
use crate::transport::{Checked, Family, Transport};
use clearway_schema::{Auto, Profile, declare};
use clearway_units::Span;
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters of `ndp`.
    #[derive(Serialize, Deserialize)]
    pub struct NdpParams {
        /// The full packets that a sender sends before it is pulled. `auto`: what the path carries in one base round-trip time,
        /// rounded up.
        window: Auto<u32> = "auto" in "1" to "30000" from "NDP'17 3.1: one BDP; htsim: 15 packets";
        /// The share of the link's rate at which a host pulls full packets.
        pull_share: f64 = "0.99" in "0.01" to "1" from "htsim's NDP";
        /// The way in which a sender chooses the paths of its packets.
        paths: EntropyPolicy = "perm" from "NDP'17 3.1.1: a permutation of all paths";
        /// The number of values that stand for paths, a power of two.
        path_values: EntropyValues = "64" in "1" to "32768" from "htsim";
        /// The least time after which a packet counts as lost of which nothing was heard. `auto`: ten base round-trip times.
        rto_min: Auto<Span> = "auto" in "1 us" to "60 s" from "our choice (NDP-3); htsim has no timeouts";
        /// If true, each packet of data has the size of a full one on the wire, however few bytes it carries.
        full_frames: bool = "false" from "our choice (NDP-5)";
        /// The limit of data queues in switches, as a multiple of the network's bandwidth-delay product.
        queue: f64 = "1" in "0.001" to "1000" from "our choice; NDP'17 3.1: 8 packets, htsim: 15";
        /// If true, a header for which a queue has no room goes back to its sender.
        returns: bool = "true" from "NDP'17 3.2.4";
    }
}

/// The values of NDP in htsim, the simulator of its authors, apart from window and queue, which its users choose.
const HTSIM: Profile = Profile {
    name: "htsim",
    doc: "NDP as in htsim: all packets are full-sized, and headers without room are dropped.",
    values: &[("full_frames", "true"), ("returns", "false")],
};

/// The transport `ndp`.
pub struct Ndp;

impl Transport for Ndp {
    type Params = NdpParams;
    type Sender = NdpSender;
    type Receiver = NumberedReceiver;
    type Agent = NdpAgent;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "ndp";
    const SUMMARY: &'static str = "NDP: switches trim packets to headers, and receiving hosts pull";
    const SOURCE: &'static str = "Handley et al., SIGCOMM'17";
    const CHECKED: Checked = Checked::Code(
        "Rules and constants are those of htsim, the authors' simulator, and times of idle flows and of \
         incasts agree with it; the paper was not at hand.",
    );
    const PROFILES: &'static [Profile] = &[HTSIM];
    const FAMILY: Family = Family::Credit;
    const AGENT: AgentScope = AgentScope::RECEIVERS;

    fn needs(params: &NdpParams) -> Needs {
        Needs {
            acks: Acks::OwnClass,
            trimming: Some(TrimmingNeeds { returns: Some(params.returns), ..TrimmingNeeds::COIN }),
            buffer: Some(BufferNeeds { trimming: params.queue, ..BufferNeeds::DEFAULT }),
            entropy: true,
            ..Needs::NOTHING
        }
    }

    fn sender(params: &NdpParams, env: &Env) -> NdpSender {
        NdpSender::new(params, env)
    }

    fn receiver(_: &NdpParams, env: &Env) -> NumberedReceiver {
        NumberedReceiver::new(env.framing, 0)
    }

    fn agent(params: &NdpParams, env: &AgentEnv) -> Option<NdpAgent> {
        Some(NdpAgent::new(params, env))
    }
}

#[cfg(test)]
mod tests;
