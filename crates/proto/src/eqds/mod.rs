//! EQDS (Olteanu, Eran, Dumitrescu, Popa, Baciu, Silberstein, Nikolaidis, Handley, Raiciu, NSDI'22): senders begin on speculative
//! credit, tell receivers how much they have to send, and receiving hosts give credit to all their flows.
//!
//! | part | purpose |
//! |---|---|
//! | [`EqdsSender`] | spends speculative credit until the first answer and then pulled credit, and says how far it wants to be pulled |
//! | [`NumberedReceiver`] | acknowledges after 16 KB or where it was asked, and asks again for packets that were cut |
//! | [`EqdsAgent`] | pulls at a host for flows that repeat packets, for those that want more, and then for idle ones |
//!
//! Credit counts bytes on the wire, and pulls count quanta of 512 of them.
//!
//! # Deviations
//! - The options of a sender's own congestion control are left out.
//! - Speculative data has the class of other data: a host's NIC asks flows in turn, and no queue of speculative data forms.
//! - Each answer carries the number of the last pull, so that lost pulls are made up for.
//! - A request for pulls (RTS) has no number among the packets, and asks for one packet's credit on top of what the pull target
//!   says, in which data to be sent again is counted.
//! - A flow that has nothing in flight and no credit when its application writes begins again on speculative credit.
//! - A timeout without progress doubles the next one.

mod agent;
mod attempts;
mod moderation;
mod params;
mod sender;

pub use agent::EqdsAgent;
pub use params::EqdsParams;
pub use sender::EqdsSender;

use crate::agent::{AgentEnv, AgentScope};
use crate::endpoint::Env;
use crate::entropy::EntropyPolicy;
use crate::mechanism::NoMechanism;
use crate::needs::{Acks, BufferNeeds, Needs, TrimmingNeeds};
use crate::numbered::NumberedReceiver;
use crate::transport::{Checked, Conflict, Family, Transport};
use clearway_schema::Profile;

/// The values of EQDS in htsim. Its pacer counts packets of 4160 bytes and 38 bytes between them, and gives 4096 bytes of credit
/// in 0.99 of their time.
const HTSIM: Profile = Profile {
    name: "htsim",
    doc: "EQDS as in htsim: pulls of 4096 bytes at the pace of its default packets, and a fixed timeout.",
    values: &[
        ("pull_quanta", "8"),
        ("pull_share", "0.98555829"),
        ("rto", "150 us"),
        ("rto_queues", "6"),
        ("look_back", "10 us"),
        ("control_run", "10"),
        ("one_each", "true"),
        ("stays_idle", "true"),
        ("turns_outlast", "true"),
    ],
};

/// The transport `eqds`.
pub struct Eqds;

impl Transport for Eqds {
    type Params = EqdsParams;
    type Sender = EqdsSender;
    type Receiver = NumberedReceiver;
    type Agent = EqdsAgent;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "eqds";
    const SUMMARY: &'static str = "EQDS: speculative data first, and then credit from receiving hosts";
    const SOURCE: &'static str = "Olteanu et al., NSDI'22";
    const CHECKED: Checked = Checked::Code(
        "Rules and constants are those of htsim, its authors' simulator, and times of idle flows, \
         incasts, permutations and a ring agree with it; the paper was not at hand.",
    );
    const PROFILES: &'static [Profile] = &[HTSIM];
    const FAMILY: Family = Family::Credit;
    const AGENT: AgentScope = AgentScope::RECEIVERS;

    fn needs(params: &EqdsParams) -> Needs {
        Needs {
            acks: Acks::OwnClass,
            control_run: Some(params.control_run).filter(|&run| run > 0),
            trimming: Some(TrimmingNeeds::COIN),
            buffer: Some(BufferNeeds { trimming: params.queue, ..BufferNeeds::DEFAULT }),
            for_trimming: (params.paths == EntropyPolicy::Reps).then_some("paths = \"reps\""),
            unmoderated: (!params.oversubscribed_cc).then_some("oversubscribed_cc = true"),
            entropy: true,
            path_bytes: params.paths.bytes(params.path_values),
            ..Needs::NOTHING
        }
    }

    fn conflict(params: &EqdsParams) -> Option<Conflict> {
        params.paths.conflict("paths", params.path_values, "path_values")
    }

    fn sender(params: &EqdsParams, env: &Env) -> EqdsSender {
        EqdsSender::new(params, env)
    }

    fn receiver(params: &EqdsParams, env: &Env) -> NumberedReceiver {
        NumberedReceiver::new(env.framing, params.ack_after.get() as u32)
    }

    fn agent(params: &EqdsParams, env: &AgentEnv) -> Option<EqdsAgent> {
        Some(EqdsAgent::new(params, env))
    }
}

#[cfg(test)]
mod tests;
