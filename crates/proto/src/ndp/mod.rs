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
mod params;
mod parking;
mod sender;

pub use agent::NdpAgent;
pub use params::NdpParams;
pub use sender::NdpSender;

use crate::agent::{AgentEnv, AgentScope};
use crate::endpoint::Env;
use crate::entropy::EntropyPolicy;
use crate::mechanism::NoMechanism;
use crate::needs::{Acks, BufferNeeds, Needs, TrimmingNeeds};
use crate::numbered::NumberedReceiver;
use crate::transport::{Checked, Conflict, Family, Transport};
use clearway_schema::Profile;

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
            for_trimming: (params.paths == EntropyPolicy::Reps).then_some("paths = \"reps\""),
            unmoderated: (!params.oversubscribed_cc).then_some("oversubscribed_cc = true"),
            entropy: true,
            path_bytes: params.paths.bytes(params.path_values),
            ..Needs::NOTHING
        }
    }

    fn conflict(params: &NdpParams) -> Option<Conflict> {
        params.paths.conflict("paths", params.path_values, "path_values")
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
