//! The construction of the three transports, whose parameters say which of window and credit they have.

use super::config::{Groups, PacerConfig};
use super::pacer::Pacer;
use super::params::{
    BOTH_PROFILES, BaseRtt, BothParams, CreditParams, NSCC_PROFILES, NsccParams, RCCC_PROFILES, RcccParams,
};
use super::rate::RateControl;
use super::receiver::Receiver;
use super::sender::Sender;
use super::window::{Nscc, NsccConfig};
use crate::agent::{AgentEnv, AgentScope};
use crate::endpoint::Env;
use crate::entropy::EntropyPolicy;
use crate::mechanism::NoMechanism;
use crate::needs::{Acks, BdpMarking, BufferNeeds, MarkingNeeds, Needs, TrimmingNeeds};
use crate::transport::{Checked, Conflict, Family, Transport};
use clearway_schema::{Auto, Declared, Profile};
use clearway_units::{Bytes, Span};
use std::marker::PhantomData;

/// The parameters of a transport of Ultra Ethernet, from which [`Uec`] makes the transport.
pub trait Mode: Declared + Default {
    /// The name of the transport; see [`Transport::NAME`].
    const NAME: &'static str;
    /// A sentence on what the transport is; see [`Transport::SUMMARY`].
    const SUMMARY: &'static str;
    /// The named sets of parameters; see [`Transport::PROFILES`].
    const PROFILES: &'static [Profile];
    /// The scope of its agents; see [`Transport::AGENT`].
    const AGENT: AgentScope;
    /// Returns the parameters by what they are of.
    fn groups(&self) -> Groups<'_>;
}

impl Mode for NsccParams {
    const NAME: &'static str = "uec-nscc";
    const SUMMARY: &'static str =
        "Ultra Ethernet's NSCC: a sender's window by marks and delays, a path for each packet";
    const PROFILES: &'static [Profile] = NSCC_PROFILES;
    const AGENT: AgentScope = AgentScope::NONE;

    fn groups(&self) -> Groups<'_> {
        Groups { common: &self.common, window: Some(&self.window), credit: None }
    }
}

impl Mode for RcccParams {
    const NAME: &'static str = "uec-rccc";
    const SUMMARY: &'static str =
        "Ultra Ethernet's RCCC: a receiver's credit by paced pulls, a path for each packet";
    const PROFILES: &'static [Profile] = RCCC_PROFILES;
    const AGENT: AgentScope = AgentScope::ALL;

    fn groups(&self) -> Groups<'_> {
        Groups { common: &self.common, window: None, credit: Some(&self.credit) }
    }
}

impl Mode for BothParams {
    const NAME: &'static str = "uec";
    const SUMMARY: &'static str =
        "Ultra Ethernet with both: NSCC's window and RCCC's credit, a path for each packet";
    const PROFILES: &'static [Profile] = BOTH_PROFILES;
    const AGENT: AgentScope = AgentScope::ALL;

    fn groups(&self) -> Groups<'_> {
        Groups { common: &self.common, window: Some(&self.window), credit: Some(&self.credit) }
    }
}

/// The transport of Ultra Ethernet whose parameters are `M`.
pub struct Uec<M>(PhantomData<M>);

impl<M: Mode> Transport for Uec<M> {
    type Params = M;
    type Sender = Sender;
    type Receiver = Receiver;
    type Agent = Pacer;
    type Mechanism = NoMechanism;
    const NAME: &'static str = M::NAME;
    const SUMMARY: &'static str = M::SUMMARY;
    const SOURCE: &'static str = "Ultra Ethernet Specification 1.0.3, sec. 3.6; uet-htsim 40ccb05";
    const CHECKED: Checked = Checked::Code(
        "Under the profile `htsim`, completion times of idle flows and their pulls are those of the consortium's simulator (uet-htsim \
         40ccb05), and mean times of incasts, permutations, an all-to-all, a ring, an oversubscribed core, a slow link and incasts \
         under SLEEK are as its averages over seeds, within about 1 %. The specification was read in part, at second hand.",
    );
    const PROFILES: &'static [Profile] = M::PROFILES;
    const AGENT: AgentScope = M::AGENT;
    const FAMILY: Family = Family::Credit;

    fn needs(params: &M) -> Needs {
        needs(params.groups())
    }

    fn conflict(params: &M) -> Option<Conflict> {
        let common = params.groups().common;
        let (min, max) = (common.ecn_min, common.ecn_max);
        let conflict = common.entropy.conflict("entropy", common.paths, "paths");
        conflict.or_else(|| {
            (min > max).then(|| Conflict {
                keys: ["ecn_min", "ecn_max"],
                problems: [
                    format!(
                        "is above ecn_max, {max}; marks begin at ecn_min, so write less here or more there"
                    ),
                    format!("is below ecn_min, {min}; marks begin there, so write more here or less there"),
                ],
            })
        })
    }

    fn sender(params: &M, env: &Env) -> Sender {
        let groups = params.groups();
        let window = groups.window.map(|window| {
            let config = NsccConfig::new(groups.common, window, env, groups.credit.is_some());
            let of_path = window.base_rtt == BaseRtt::Path;
            let base_rtt = if of_path { env.base_rtt } else { env.network_rtt };
            Nscc::new(config, base_rtt.max(Span::from_ps(1)))
        });
        Sender::new(groups.sender(env), window)
    }

    fn receiver(params: &M, env: &Env) -> Receiver {
        Receiver::new(params.groups().receiver(env))
    }

    fn agent(params: &M, env: &AgentEnv) -> Option<Pacer> {
        let groups = params.groups();
        let credit = groups.credit?;
        let is_narrow = groups.window.is_none() && env.oversubscription > 1.0;
        let control = credit.oversubscribed_cc.or(is_narrow).then(|| RateControl::new(credit, env));
        Some(Pacer::new(PacerConfig::new(&groups, credit, env), control))
    }
}

/// Returns what the packets of a transport need at ports. Acknowledgements, pulls and requests go ahead of data.
fn needs(Groups { common, window, credit }: Groups<'_>) -> Needs {
    let trimming = TrimmingNeeds {
        victim: common.trim_victim,
        headers: common.trim_headers,
        last_hop: common.trim_last_hop,
        ..TrimmingNeeds::ARRIVING
    };
    let is_off = |credit: &CreditParams| credit.oversubscribed_cc == Auto::Set(false);
    let is_unmoderated = window.is_none() && credit.is_some_and(is_off);
    let marking = BdpMarking { min: common.ecn_min, max: common.ecn_max, last_hop: credit.is_none() };
    Needs {
        marking: Some(MarkingNeeds::Bdp(marking)),
        trimming: common.trimming.then_some(trimming),
        drop_victim: (!common.trimming).then_some(common.trim_victim),
        // The consortium's simulator ends where that policy meets a timeout without trimming.
        for_trimming: (common.entropy == EntropyPolicy::Reps).then_some("entropy = \"reps\""),
        for_dropping: window.is_some_and(|window| window.sleek).then_some("sleek = true"),
        unmoderated: is_unmoderated.then_some("oversubscribed_cc = true"),
        buffer: Some(BufferNeeds::DEFAULT),
        entropy: true,
        path_bytes: common.entropy.bytes(common.paths),
        window: window.and_then(|window| window.cwnd.set()).map(Bytes::get),
        acks: Acks::OwnClass,
        control_run: Some(common.control_run).filter(|&run| run > 0),
        ..Needs::NOTHING
    }
}
