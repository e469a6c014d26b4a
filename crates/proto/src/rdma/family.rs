//! What all RDMA transports have in common: their parameters choose settings and a law; the ends follow from these.

use super::law::BuildLaw;
use super::{Config, Receiver, Sender};
use crate::endpoint::Env;
use crate::mechanism::PortMechanism;
use crate::needs::Needs;
use crate::shim::NoShim;
use crate::transport::{Checked, Transport};
use clearway_schema::{Declared, Profile};
use std::marker::PhantomData;

/// Parameters of an RDMA transport, which is then [`Rdma`] of them.
pub trait RdmaParams: Declared + Default {
    /// What the law of a new flow is built from.
    type Law: BuildLaw;
    /// As [`Transport::Mechanism`].
    type Mechanism: PortMechanism;
    /// As [`Transport::NAME`].
    const NAME: &'static str;
    /// As [`Transport::SUMMARY`].
    const SUMMARY: &'static str;
    /// As [`Transport::SOURCE`].
    const SOURCE: &'static str;
    /// As [`Transport::CHECKED`].
    const CHECKED: Checked;
    /// As [`Transport::PROFILES`].
    const PROFILES: &'static [Profile] = &[];
    /// As [`Transport::COUNTS_NOTIFICATIONS`].
    const COUNTS_NOTIFICATIONS: bool = false;
    /// As [`Transport::needs`].
    fn needs(&self) -> Needs;
    /// As [`Transport::mechanism`].
    fn mechanism(&self) -> Option<<Self::Mechanism as PortMechanism>::Config> {
        None
    }
    /// The settings of both ends.
    fn settings(&self, env: &Env) -> Config;
    /// The law's constants.
    fn law(&self) -> Self::Law;
}

/// The transport of these parameters.
pub struct Rdma<P>(PhantomData<P>);

impl<P: RdmaParams> Transport for Rdma<P> {
    type Params = P;
    type Sender = Sender<<P::Law as BuildLaw>::Law>;
    type Receiver = Receiver;
    type Shim = NoShim;
    type Mechanism = P::Mechanism;
    const NAME: &'static str = P::NAME;
    const SUMMARY: &'static str = P::SUMMARY;
    const SOURCE: &'static str = P::SOURCE;
    const CHECKED: Checked = P::CHECKED;
    const PROFILES: &'static [Profile] = P::PROFILES;
    const COUNTS_NOTIFICATIONS: bool = P::COUNTS_NOTIFICATIONS;

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
