//! The trait [`Transport`], which ties a kind of sender to a kind of receiver, with their parameters, agent and port
//! mechanism.

use crate::agent::{Agent, AgentEnv, AgentScope};
use crate::endpoint::{Env, Receiver, Sender};
use crate::mechanism::{MechanismInfo, PortMechanism};
use crate::needs::Needs;
use crate::order::Order;
use clearway_schema::{Declared, Error, Members, Profile, Spec, Value, set_field, suggestion, told};

/// A transport: a kind of sender and a kind of receiver, with their parameters.
pub trait Transport {
    /// The parameters.
    type Params: Declared + Default;
    /// The sending end.
    type Sender: Sender;
    /// The receiving end.
    type Receiver: Receiver;
    /// The agent of a host; [`NoAgent`](crate::NoAgent) for a transport without one.
    type Agent: Agent;
    /// The mechanism at the ports of switches; [`NoMechanism`](crate::NoMechanism) for a transport without one.
    type Mechanism: PortMechanism;
    /// The name in scenario files.
    const NAME: &'static str;
    /// A summary of the transport in a sentence.
    const SUMMARY: &'static str;
    /// The paper or RFC that defines the transport.
    const SOURCE: &'static str;
    /// The paper or code against which the transport was checked.
    const CHECKED: Checked;
    /// Named sets of parameters.
    const PROFILES: &'static [Profile] = &[];
    /// True if senders count the notifications of congestion that they receive ([`Rare::notifications`](crate::Rare::notifications)).
    const COUNTS_CNPS: bool = false;
    /// The flows and packets in which agents of hosts take part. A transport whose [`Transport::Agent`] is not
    /// [`NoAgent`](crate::NoAgent) overrides this.
    const AGENT: AgentScope = AgentScope::NONE;
    /// True for a trial of the interfaces, which is in no list for users.
    const IS_TRIAL: bool = false;
    /// The headers that packets carry on the wire.
    const FAMILY: Family = Family::Tcp;
    /// True if what is lost is sent again, however often it is lost.
    const RECOVERS: bool = true;
    /// Returns the queues, marks and classes that the packets need at the ports on their path.
    fn needs(params: &Self::Params) -> Needs;
    /// Returns two parameters that contradict each other, if any do.
    fn conflict(_: &Self::Params) -> Option<Conflict> {
        None
    }
    /// Returns the order in which a host's NIC asks flows of the transport for data.
    fn order(_: &Self::Params) -> Order {
        Order::InTurn
    }
    /// Makes the sending end of a new flow.
    fn sender(params: &Self::Params, env: &Env) -> Self::Sender;
    /// Makes the receiving end of a new flow.
    fn receiver(params: &Self::Params, env: &Env) -> Self::Receiver;
    /// Makes the agent of a host with flows of the transport. A transport whose [`Transport::Agent`] is not [`NoAgent`]
    /// overrides this, and [`Transport::AGENT`].
    ///
    /// [`NoAgent`]: crate::NoAgent
    fn agent(_: &Self::Params, _: &AgentEnv) -> Option<Self::Agent> {
        None
    }
    /// Returns the configuration of the mechanism at the ports of switches. A transport whose [`Transport::Mechanism`]
    /// is not [`NoMechanism`] overrides this.
    ///
    /// [`NoMechanism`]: crate::NoMechanism
    fn mechanism(_: &Self::Params) -> Option<<Self::Mechanism as PortMechanism>::Config> {
        None
    }
}

/// Two parameters of a transport that contradict each other. What is wrong is said of the one that was set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The names of the parameters.
    pub keys: [&'static str; 2],
    /// What is wrong with each, and what would be right.
    pub problems: [String; 2],
}

/// The evidence against which a transport was checked, with a sentence on what was compared and what was not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checked {
    /// The transport was checked against the text of the paper or RFC that defines it.
    Paper(&'static str),
    /// The transport was checked against code of its authors, or of the authors of the paper that is reproduced.
    Code(&'static str),
    /// The transport was checked against text and code.
    PaperAndCode(&'static str),
    /// Neither text nor code was available.
    Neither(&'static str),
}

impl Checked {
    /// Returns the kind of evidence: "paper", "code", "paper and code" or "neither".
    pub const fn against(&self) -> &'static str {
        match self {
            Checked::Paper(_) => "paper",
            Checked::Code(_) => "code",
            Checked::PaperAndCode(_) => "paper and code",
            Checked::Neither(_) => "neither",
        }
    }

    /// Returns the same evidence, without its sentence where nobody can read it.
    pub(crate) const fn told(self) -> Checked {
        match self {
            Checked::Paper(how) => Checked::Paper(told(how)),
            Checked::Code(how) => Checked::Code(told(how)),
            Checked::PaperAndCode(how) => Checked::PaperAndCode(told(how)),
            Checked::Neither(how) => Checked::Neither(told(how)),
        }
    }

    /// Returns the sentence on what was compared and what was not.
    pub const fn how(&self) -> &'static str {
        match self {
            Checked::Paper(how) | Checked::Code(how) | Checked::PaperAndCode(how) | Checked::Neither(how) => {
                how
            }
        }
    }
}

/// The headers that packets of a transport carry on the wire. A [`Packet`](crate::Packet) has the fields; a trace, or a
/// real host, needs to know in which protocol's format they are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// TCP over IPv4.
    Tcp,
    /// RoCEv2: InfiniBand's transport headers over UDP and IPv4.
    Rdma,
    /// The project's own header over Ethernet, for credits and the data that they schedule, and for raw streams.
    Credit,
}

/// The information on a transport that `clearway list transports` shows.
#[derive(Clone, Copy, Debug)]
pub struct TransportInfo {
    /// The name in scenario files.
    pub name: &'static str,
    /// A summary of the transport in a sentence.
    pub summary: &'static str,
    /// The paper or RFC that defines the transport.
    pub source: &'static str,
    /// The evidence against which the transport was checked.
    pub checked: Checked,
    /// True if what is lost is sent again, however often it is lost.
    pub recovers: bool,
    /// The parameters.
    pub params: &'static [Spec],
    /// Named sets of parameters.
    pub profiles: &'static [Profile],
    /// True if flows count the notifications of congestion that they receive.
    pub counts_cnps: bool,
    /// The headers that packets carry on the wire.
    pub family: Family,
    /// The mechanism at the ports of switches; one without keys if the transport has none.
    pub mechanism: MechanismInfo,
    /// True for a trial of the interfaces, which is in no list for users.
    pub is_trial: bool,
}

/// Sets one parameter of a transport. The name `profile` sets all parameters of a profile, so it must be set before
/// others.
pub(crate) fn set_param(
    params: &mut dyn Members,
    info: &'static TransportInfo,
    name: &str,
    value: &Value,
) -> Result<(), Error> {
    if name != "profile" {
        return set_field(params, info.params, name, value);
    }
    let named = info.profiles.iter().find(|profile| Some(profile.name) == value.text());
    let profile = named.ok_or_else(|| Error::Value {
        name: "profile",
        value: value.show(),
        problem: match info.profiles {
            [] => "this transport has no profiles".into(),
            profiles => {
                let names: Vec<&str> = profiles.iter().map(|profile| profile.name).collect();
                let hint = suggestion(value.text().unwrap_or(""), names.iter().copied());
                format!("write one of {}{hint}", names.join(", "))
            }
        },
    })?;
    profile.values.iter().try_for_each(|(name, value)| set_param(params, info, name, &Value::from(*value)))
}
