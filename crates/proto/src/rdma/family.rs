//! The construction of RDMA transports: their parameters choose settings and a law, from which both ends are made.

use super::law::BuildLaw;
use super::{Config, Receiver, Sender};
use crate::agent::NoAgent;
use crate::endpoint::Env;
use crate::mechanism::PortMechanism;
use crate::needs::Needs;
use crate::transport::{Checked, Family, Transport};
use clearway_schema::{Declared, Profile};
use std::marker::PhantomData;

/// The parameters of an RDMA transport, from which [`Rdma`] makes the transport.
pub trait RdmaParams: Declared + Default {
    /// The constants from which the law of a new flow is built.
    type Law: BuildLaw;
    /// The mechanism at ports; see [`Transport::Mechanism`].
    type Mechanism: PortMechanism;
    /// The name of the transport; see [`Transport::NAME`].
    const NAME: &'static str;
    /// A sentence on what the transport is; see [`Transport::SUMMARY`].
    const SUMMARY: &'static str;
    /// The paper that defines it; see [`Transport::SOURCE`].
    const SOURCE: &'static str;
    /// The sources that it was checked against; see [`Transport::CHECKED`].
    const CHECKED: Checked;
    /// The named sets of parameters; see [`Transport::PROFILES`].
    const PROFILES: &'static [Profile] = &[];
    /// True if senders count CNPs; see [`Transport::COUNTS_CNPS`].
    const COUNTS_CNPS: bool = false;
    /// Returns the needs of its packets; see [`Transport::needs`].
    fn needs(&self) -> Needs;
    /// Returns the settings of the mechanism at ports; see [`Transport::mechanism`].
    fn mechanism(&self) -> Option<<Self::Mechanism as PortMechanism>::Config> {
        None
    }
    /// Returns the settings of both ends.
    fn settings(&self, env: &Env) -> Config;
    /// Returns the constants of the law.
    fn law(&self) -> Self::Law;
}

/// The transport whose ends and law the parameters `P` choose.
pub struct Rdma<P>(PhantomData<P>);

impl<P: RdmaParams> Transport for Rdma<P> {
    type Params = P;
    type Sender = Sender<<P::Law as BuildLaw>::Law>;
    type Receiver = Receiver;
    type Agent = NoAgent;
    type Mechanism = P::Mechanism;
    const NAME: &'static str = P::NAME;
    const SUMMARY: &'static str = P::SUMMARY;
    const SOURCE: &'static str = P::SOURCE;
    const CHECKED: Checked = P::CHECKED;
    const PROFILES: &'static [Profile] = P::PROFILES;
    const COUNTS_CNPS: bool = P::COUNTS_CNPS;
    const FAMILY: Family = Family::Rdma;

    fn needs(params: &P) -> Needs {
        params.needs()
    }

    fn mechanism(params: &P) -> Option<<P::Mechanism as PortMechanism>::Config> {
        params.mechanism()
    }

    fn sender(params: &P, env: &Env) -> Self::Sender {
        Sender::new(&params.settings(env), env, params.law().build(env))
    }

    fn receiver(params: &P, env: &Env) -> Receiver {
        Receiver::new(&params.settings(env), env)
    }
}

/// Parameters under a profile.
#[cfg(test)]
pub(crate) fn profiled<P: Declared + Default>(profile: &Profile) -> P {
    let mut params = P::default();
    profile.values.iter().for_each(|(name, value)| params.set(name, *value).unwrap());
    params
}
