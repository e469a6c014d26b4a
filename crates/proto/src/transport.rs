//! Transports: a kind of sender and a kind of receiver that belong together, with what they bring along.

use crate::endpoint::{Env, Receiver, Sender};
use crate::mechanism::{MechanismInfo, PortMechanism};
use crate::needs::Needs;
use crate::shim::{Shim, ShimEnv};
use clearway_schema::{Declared, Error, Profile, Spec, Value};

/// A transport: a kind of sender and a kind of receiver that belong together, with their parameters.
pub trait Transport {
    /// Its parameters.
    type Params: Declared + Default;
    /// Its sending end.
    type Sender: Sender;
    /// Its receiving end.
    type Receiver: Receiver;
    /// The shim of its receiving hosts; [`NoShim`](crate::NoShim) for a transport without one.
    type Shim: Shim;
    /// The mechanism at the ports of switches; [`NoMechanism`](crate::NoMechanism) for a transport without one.
    type Mechanism: PortMechanism;
    /// Its name, as in scenario files.
    const NAME: &'static str;
    /// What it is, in a sentence.
    const SUMMARY: &'static str;
    /// Paper or RFC that defines it.
    const SOURCE: &'static str;
    /// What it was checked against, with a sentence on what that covers.
    const CHECKED: Checked;
    /// Named sets of parameters.
    const PROFILES: &'static [Profile] = &[];
    /// Whether its senders count the notifications of congestion that they hear of ([`Stats::notices`]).
    ///
    /// [`Stats::notices`]: crate::Stats::notices
    const COUNTS_NOTICES: bool = false;
    /// Queues, marks and classes that its packets need at the ports on their way.
    fn needs(params: &Self::Params) -> Needs;
    /// A sending end for a new flow.
    fn sender(params: &Self::Params, env: &Env) -> Self::Sender;
    /// A receiving end for a new flow.
    fn receiver(params: &Self::Params, env: &Env) -> Self::Receiver;
    /// The shim of a host that receives flows of the transport. A transport whose [`Transport::Shim`] is not [`NoShim`]
    /// overrides this.
    ///
    /// [`NoShim`]: crate::NoShim
    fn shim(_: &Self::Params, _: &ShimEnv) -> Option<Self::Shim> {
        None
    }
    /// The configuration of the mechanism at the ports of switches. A transport whose [`Transport::Mechanism`] is not
    /// [`NoMechanism`] overrides this.
    ///
    /// [`NoMechanism`]: crate::NoMechanism
    fn mechanism(_: &Self::Params) -> Option<<Self::Mechanism as PortMechanism>::Config> {
        None
    }
}

/// What a transport was checked against, each with a sentence that says what was read and what was not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checked {
    /// The text of the paper or RFC that defines it.
    Paper(&'static str),
    /// Code of its authors, or of the authors of the paper that it is reproduced from.
    Code(&'static str),
    /// Both.
    PaperAndCode(&'static str),
    /// Neither was at hand.
    Neither(&'static str),
}

impl Checked {
    /// What it was checked against: "paper", "code", "paper and code" or "neither".
    pub const fn against(&self) -> &'static str {
        match self {
            Checked::Paper(_) => "paper",
            Checked::Code(_) => "code",
            Checked::PaperAndCode(_) => "paper and code",
            Checked::Neither(_) => "neither",
        }
    }

    /// The sentence that says what was read and what was not.
    pub const fn how(&self) -> &'static str {
        match self {
            Checked::Paper(how) | Checked::Code(how) | Checked::PaperAndCode(how) | Checked::Neither(how) => {
                how
            }
        }
    }
}

/// What `clearway list transports` shows of a transport.
#[derive(Clone, Copy, Debug)]
pub struct TransportInfo {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub summary: &'static str,
    /// Paper or RFC that defines it.
    pub source: &'static str,
    /// What it was checked against.
    pub checked: Checked,
    /// Its parameters.
    pub params: &'static [Spec],
    /// Its named sets of parameters.
    pub profiles: &'static [Profile],
    /// Whether its flows count the notifications of congestion that they hear of.
    pub counts_notices: bool,
    /// Its mechanism at the ports of switches; one without keys where it brings none.
    pub mechanism: MechanismInfo,
}

/// Sets one parameter. `profile` sets several, so it comes first.
pub(crate) fn set_param<T: Transport>(
    params: &mut T::Params,
    name: &str,
    value: &Value,
) -> Result<(), Error> {
    if name != "profile" {
        return params.set(name, value);
    }
    let named = T::PROFILES.iter().find(|profile| Some(profile.name) == value.text());
    let profile = named.ok_or_else(|| Error::Value {
        name: "profile",
        value: value.show(),
        problem: match T::PROFILES {
            [] => "this transport has no profiles".into(),
            profiles => {
                format!("write one of {}", profiles.iter().map(|p| p.name).collect::<Vec<_>>().join(", "))
            }
        },
    })?;
    profile.values.iter().try_for_each(|(name, value)| set_param::<T>(params, name, &Value::from(*value)))
}
