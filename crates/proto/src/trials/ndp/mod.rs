//! A trial of a transport in the manner of NDP (Handley, Raiciu, Agache, Voinescu, Moore, Antichi, Wójcik, SIGCOMM'17): switches
//! cut packets to their headers where queues are short of room, and receiving hosts pull the rest.
//!
//! | part | purpose |
//! |---|---|
//! | [`NdpSender`] | sends a first window unasked, and then a packet for each pull, those that were cut first |
//! | [`NdpAgent`] | pulls for all flows that arrive at a host, in turn, at the rate of its link |
//! | [`NdpReceiver`] | puts bytes in order, and answers each packet, whole or cut |
//! | [`NdpPort`] | cuts a packet of data for which there is no room, and returns a header for which there is none |
//!
//! It is no NDP: it speaks in the packets of RDMA, whose acknowledgement it also takes for pulls; where its port cuts, it is
//! always the packet that arrives; and all packets of a flow take the path that routing chooses.

mod agent;
mod port;
mod receiver;
mod sender;

pub use agent::NdpAgent;
pub use port::{NdpPort, NdpPortConfig};
pub use receiver::NdpReceiver;
pub use sender::NdpSender;

use crate::agent::{AgentEnv, AgentScope};
use crate::endpoint::Env;
use crate::needs::{Acks, BufferNeeds, Needs, TrimmingNeeds};
use crate::transport::{Checked, Family, Transport};
use clearway_schema::{Auto, choice, declare};
use clearway_units::{Bytes, Span};

declare! {
    /// The parameters of `ndp-trial`.
    pub struct NdpParams {
        /// The bytes that a sender sends before it is pulled. `auto`: what the path carries in one base round-trip time, in
        /// full packets.
        window: Auto<Bytes> = "auto" in "1 B" to "1 TB" from "our choice: one BDP";
        /// The time after which a sender that hears nothing starts again at the first byte that has not arrived.
        timeout: Span = "1 ms" in "1 us" to "1000 s" from "NDP'17 3.2.4, in outline";
        /// The size on the wire of a packet that was cut.
        header: Bytes = "84 B" in "1 B" to "1 KB" from "our choice: the smallest frame";
        /// What cuts packets: the port of this transport by its votes, or the queues of any port.
        cuts: Cuts = "votes" from "our choice";
    }
}

choice! {
    /// What cuts packets.
    pub enum Cuts {
        /// The mechanism [`NdpPort`].
        Votes = "votes",
        /// The queues of data, which the transport asks for ([`Needs::trimming`]).
        Queues = "queues",
    }
}

/// The transport `ndp-trial`.
pub struct Ndp;

impl Transport for Ndp {
    type Params = NdpParams;
    type Sender = NdpSender;
    type Receiver = NdpReceiver;
    type Agent = NdpAgent;
    type Mechanism = NdpPort;
    const IS_TRIAL: bool = true;
    const NAME: &'static str = "ndp-trial";
    const SUMMARY: &'static str = "A trial in the manner of NDP: switches trim, and receiving hosts pull";
    const SOURCE: &'static str = "Handley et al., SIGCOMM'17, in outline";
    const FAMILY: Family = Family::Rdma;
    const AGENT: AgentScope = AgentScope::RECEIVERS;
    const CHECKED: Checked = Checked::Neither("It is a trial of interfaces, and was compared with nothing.");

    fn needs(params: &NdpParams) -> Needs {
        let to = Some(params.header.get() as u32);
        let trimming = TrimmingNeeds { to, returns: Some(true), ..TrimmingNeeds::COIN };
        let queues = params.cuts == Cuts::Queues;
        Needs {
            acks: Acks::OwnClass,
            trimming: queues.then_some(trimming),
            buffer: queues.then_some(BufferNeeds::DEFAULT),
            ..Needs::NOTHING
        }
    }

    fn sender(params: &NdpParams, env: &Env) -> NdpSender {
        let bytes = params.window.or(env.path_rate.bytes_in(env.base_rtt)).get();
        let packets = bytes.div_ceil(env.framing.wire_max().into()).max(1);
        NdpSender::new(env.framing, packets, params.timeout)
    }

    fn receiver(_: &NdpParams, env: &Env) -> NdpReceiver {
        NdpReceiver::new(env.framing)
    }

    fn agent(_: &NdpParams, env: &AgentEnv) -> Option<NdpAgent> {
        Some(NdpAgent::new(env.line_rate, env.framing))
    }

    fn mechanism(params: &NdpParams) -> Option<NdpPortConfig> {
        (params.cuts == Cuts::Votes).then_some(NdpPortConfig { header: params.header })
    }
}

#[cfg(test)]
mod tests;
