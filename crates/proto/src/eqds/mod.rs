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
//! - The options of a sender's own congestion control, and the receiver's against oversubscribed networks, are left out.
//! - Speculative data has the class of other data: a host's NIC asks flows in turn, and no queue of speculative data forms.
//! - Each answer carries the number of the last pull, so that lost pulls are made up for.
//! - A request for pulls (RTS) has no number among the packets, and asks for one packet's credit on top of what the pull target
//!   says, in which data to be sent again is counted.
//! - A flow that has nothing in flight and no credit when its application writes begins again on speculative credit.
//! - A timeout without progress doubles the next one.

mod agent;
mod sender;

pub use agent::EqdsAgent;
pub use sender::EqdsSender;

use crate::agent::{AgentEnv, AgentScope};
use crate::endpoint::{Env, Framing};
use crate::entropy::{EntropyPolicy, EntropyValues};
use crate::mechanism::NoMechanism;
use crate::needs::{Acks, BufferNeeds, Needs, TrimmingNeeds};
use crate::numbered::NumberedReceiver;
use crate::transport::{Checked, Family, Transport};
use clearway_schema::{Auto, Profile, declare};
use clearway_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

/// The bytes of a quantum of credit.
const QUANTUM: u32 = 512;

declare! {
    /// The parameters of `eqds`.
    #[derive(Serialize, Deserialize)]
    pub struct EqdsParams {
        /// The most credit that a flow has, in full packets, and its speculative credit at the start. `auto`: one and a half
        /// times the network's bandwidth-delay product.
        window: Auto<u32> = "auto" in "1" to "20000" from "our choice; htsim: 64 packets";
        /// The credit of one pull, in quanta of 512 bytes. `auto`: as many as fit into a full packet.
        pull_quanta: Auto<u32> = "auto" in "1" to "128" from "htsim: 8, for packets of 4150 bytes";
        /// The share of the link's rate at which a host gives credit.
        pull_share: f64 = "0.988" in "0.01" to "1" from "htsim's EQDS (EQDS-1)";
        /// The bytes on the wire after which a receiver acknowledges what did not ask for it.
        ack_after: Bytes = "16384 B" in "0 B" to "1 MB" from "htsim's EQDS";
        /// The way in which a sender chooses the paths of its packets.
        paths: EntropyPolicy = "bitmap" from "htsim's EQDS";
        /// The number of values that stand for paths, a power of two.
        path_values: EntropyValues = "64" in "1" to "32768" from "htsim";
        /// The time after which a packet counts as lost of which nothing was heard. `auto`: 100 us, or four base round-trip
        /// times of the flow if that is longer.
        rto: Auto<Span> = "auto" in "1 us" to "60 s" from "htsim's EQDS: 100 us";
        /// The limit of data queues in switches, as a multiple of the network's bandwidth-delay product.
        queue: f64 = "1" in "0.001" to "1000" from "our choice; htsim: 35 packets";
    }
}

impl EqdsParams {
    /// Returns the window in bytes on the wire, in a network with this round-trip time of the longest path.
    fn window(&self, rate: Rate, network_rtt: Span, framing: &Framing) -> u32 {
        let packet = u64::from(framing.wire_max());
        let bdp = rate.bytes_in(network_rtt).get().div_ceil(packet);
        let packets = self.window.or((bdp * 3).div_ceil(2).clamp(1, 20_000) as u32);
        packets.saturating_mul(packet as u32)
    }
}

/// The values of EQDS in htsim. Its pacer counts packets of 4160 bytes and 38 bytes between them, and gives 4096 bytes of credit
/// in 0.99 of their time.
const HTSIM: Profile = Profile {
    name: "htsim",
    doc: "EQDS as in htsim: pulls of 4096 bytes at the pace of its default packets, and a fixed timeout.",
    values: &[("pull_quanta", "8"), ("pull_share", "0.98555829"), ("rto", "100 us")],
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
         incasts and a permutation agree with it; the paper was not at hand.",
    );
    const PROFILES: &'static [Profile] = &[HTSIM];
    const FAMILY: Family = Family::Credit;
    const AGENT: AgentScope = AgentScope::RECEIVERS;

    fn needs(params: &EqdsParams) -> Needs {
        Needs {
            acks: Acks::OwnClass,
            trimming: Some(TrimmingNeeds::COIN),
            buffer: Some(BufferNeeds { trimming: params.queue, ..BufferNeeds::DEFAULT }),
            entropy: true,
            ..Needs::NOTHING
        }
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
