//! A trial of a transport in the manner of Homa (Montazeri, Li, Alizadeh, Ousterhout, SIGCOMM'18): senders send the
//! first bytes of a message without being asked, and the rest as the receiving host grants it.
//!
//! | part | purpose |
//! |---|---|
//! | [`HomaSender`] | sends what is unscheduled or granted; the NIC asks the message with the fewest remaining bytes first |
//! | [`HomaAgent`] | grants to the messages with the fewest remaining bytes of all that arrive at a host |
//! | [`HomaReceiver`] | puts bytes in order, and says when all have arrived |
//!
//! It is no Homa: it speaks in the packets of ExpressPass, a request that announces a length and credits that grant
//! bytes; it has two lanes of unscheduled data whatever the sizes of messages are; it grants to several messages of one
//! sender at a time; and it recovers by going back, after a timeout of the sender.

mod agent;
mod lanes;
mod receiver;
mod sender;

pub use agent::HomaAgent;
pub use lanes::{LANES, SCHEDULED, scheduled_lane};
pub use receiver::HomaReceiver;
pub use sender::HomaSender;

use crate::agent::{AgentEnv, AgentScope};
use crate::endpoint::{Env, Framing};
use crate::mechanism::NoMechanism;
use crate::needs::Needs;
use crate::order::Order;
use crate::transport::{Checked, Family, Transport};
use clearway_schema::{Auto, declare};
use clearway_units::{Bytes, Span};

declare! {
    /// The parameters of `homa-trial`.
    pub struct HomaParams {
        /// The bytes at the start of a message that are sent without a grant, and those that are granted beyond what
        /// has arrived. `auto`: what the path carries in one base round-trip time, in full packets.
        unscheduled: Auto<Bytes> = "auto" in "1 B" to "1 TB" from "our choice: RTTbytes as one BDP";
        /// The number of messages to which a host grants at a time.
        overcommitment: u32 = "8" in "1" to "1000" from "our choice";
        /// The time after which a sender that hears nothing announces its message again.
        timeout: Span = "1 ms" in "1 us" to "1000 s" from "our choice";
    }
}

/// The transport `homa-trial`.
pub struct Homa;

impl Transport for Homa {
    type Params = HomaParams;
    type Sender = HomaSender;
    type Receiver = HomaReceiver;
    type Agent = HomaAgent;
    type Mechanism = NoMechanism;
    const IS_TRIAL: bool = true;
    const NAME: &'static str = "homa-trial";
    const SUMMARY: &'static str = "A trial in the manner of Homa: receivers grant to the shortest messages";
    const SOURCE: &'static str = "Montazeri et al., SIGCOMM'18, in outline";
    const FAMILY: Family = Family::Credit;
    const AGENT: AgentScope = AgentScope::RECEIVERS;
    const CHECKED: Checked = Checked::Neither("It is a trial of interfaces, and was compared with nothing.");

    fn needs(_: &HomaParams) -> Needs {
        Needs { lanes: LANES, ..Needs::NOTHING }
    }

    fn order(_: &HomaParams) -> Order {
        Order::FewestRemaining
    }

    fn sender(params: &HomaParams, env: &Env) -> HomaSender {
        let bytes = params.unscheduled.or(env.path_rate.bytes_in(env.base_rtt)).get();
        HomaSender::new(env.framing, packets(bytes, &env.framing), params.timeout)
    }

    fn receiver(_: &HomaParams, env: &Env) -> HomaReceiver {
        HomaReceiver::new(env.framing)
    }

    fn agent(params: &HomaParams, env: &AgentEnv) -> Option<HomaAgent> {
        Some(HomaAgent::new(env.framing, params.overcommitment))
    }
}

/// Returns the number of full packets that hold so many bytes, at least one.
fn packets(bytes: u64, framing: &Framing) -> u64 {
    bytes.div_ceil(u64::from(framing.payload_max)).max(1)
}

#[cfg(test)]
mod tests;
