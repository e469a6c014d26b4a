//! Transports: a kind of sender and a kind of receiver that belong together, with what they bring along.

use crate::endpoint::{Env, Receiver, Sender};
use crate::mechanism::{MechanismInfo, PortMechanism};
use crate::needs::Needs;
use crate::shim::{Shim, ShimEnv};
use clearway_schema::{Declared, Error, Profile, Spec, Value};

/// A transport: a kind of sender and a kind of receiver that belong together, with their parameters.
pub trait Transport {
    /// The parameters that a scenario may set.
    type Params: Declared + Default;
    /// The sending end of a flow.
    type Sender: Sender;
    /// The receiving end of a flow.
    type Receiver: Receiver;
    /// The shim at hosts that receive flows; [`NoShim`](crate::NoShim) for a transport without one.
    type Shim: Shim;
    /// The mechanism at the ports of switches; [`NoMechanism`](crate::NoMechanism) for a transport without one.
    type Mechanism: PortMechanism;
    /// The name, as in scenario files.
    const NAME: &'static str;
    /// One sentence that says what the transport is.
    const SUMMARY: &'static str;
    /// The paper or RFC that defines the transport.
    const SOURCE: &'static str;
    /// The reference that the transport was checked against, with a sentence on what that covers.
    const CHECKED: Checked;
    /// Named sets of parameters.
    const PROFILES: &'static [Profile] = &[];
    /// True if senders count the congestion notifications that reach them ([`Stats::notifications`]).
    ///
    /// [`Stats::notifications`]: crate::Stats::notifications
    const COUNTS_NOTIFICATIONS: bool = false;
    /// The queues, marks and classes that packets of the transport need at the ports on their way.
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

/// The kind of reference that a transport was checked against, with a sentence that says what was read and what was not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checked {
    /// The text of the paper or RFC that defines it.
    Paper(&'static str),
    /// Code of the transport's authors, or of the authors of the paper that it is reproduced from.
    Code(&'static str),
    /// The text and code.
    PaperAndCode(&'static str),
    /// No reference: neither text nor code was at hand.
    Neither(&'static str),
}

impl Checked {
    /// The kind of reference in words: "paper", "code", "paper and code" or "neither".
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

/// The facts of a transport that `clearway list transports` shows.
#[derive(Clone, Copy, Debug)]
pub struct TransportInfo {
    /// As [`Transport::NAME`].
    pub name: &'static str,
    /// As [`Transport::SUMMARY`].
    pub summary: &'static str,
    /// As [`Transport::SOURCE`].
    pub source: &'static str,
    /// As [`Transport::CHECKED`].
    pub checked: Checked,
    /// The parameters, in the order of their declaration.
    pub params: &'static [Spec],
    /// As [`Transport::PROFILES`].
    pub profiles: &'static [Profile],
    /// As [`Transport::COUNTS_NOTIFICATIONS`].
    pub counts_notifications: bool,
    /// The mechanism at the ports of switches; [`NoMechanism`](crate::NoMechanism), without keys, if there is none.
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
