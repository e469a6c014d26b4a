//! A run before its first event.

use super::rounds::RoundsState;
use super::shims::Shims;
use super::start::Source;
use super::{SimError, Simulation};
use crate::engine::{ENTITIES_MAX, What};
use crate::flows::Flows;
use crate::metrics::Sampler;
use crate::model::{Model, Pattern, Probe, Sample};
use crate::net::Network;
use crate::oracle::Oracle;
use clearway_proto::{Entity, Rng};
use clearway_topology::routing::{Policy, Routes};
use clearway_units::Time;

impl Simulation {
    /// Prepares a run.
    ///
    /// # Errors
    /// If the model contradicts itself; models made from scenario files do not.
    pub fn new(model: &Model) -> Result<Simulation, SimError> {
        if model.pfc.is_some() && model.switch.shared.is_none() {
            return Err(SimError::Model(
                "flow control needs a buffer that the ports of a switch share".into(),
            ));
        }
        if model.switch.classes.len() != model.host.port.classes.len() {
            return Err(SimError::Model("switches and hosts must have the same classes".into()));
        }
        let credit_classes = model.switch.credit_classes.len();
        if credit_classes != model.host.port.credit_classes.len() {
            return Err(SimError::Model("switches and hosts must have the same classes of credits".into()));
        }
        if model.traffic.iter().any(|part| part.credit_class >= credit_classes.max(1)) {
            return Err(SimError::Model("traffic names a class of credits that does not exist".into()));
        }
        let classes = model.switch.classes.len();
        let joins = |class: &crate::model::Class| class.at_switches.is_some_and(|other| other >= classes);
        if model.switch.classes.iter().any(joins)
            || model.traffic.iter().any(|part| part.ack_class >= classes)
        {
            return Err(SimError::Model("a class of packets is named that does not exist".into()));
        }
        let low = &model.switch.classes[model.unscheduled_class()];
        let yields = |traffic: &crate::model::Traffic| {
            traffic.transport.needs().unscheduled_queue.is_none()
                || low.priority > model.switch.classes[traffic.class].priority
        };
        if !model.traffic.iter().all(yields) {
            return Err(SimError::Model(
                "data of low priority needs a class that yields to all others".into(),
            ));
        }
        let hosts = model.topology.hosts() as u64;
        if model.topology.ports().len() + model.topology.hosts() + 2 > ENTITIES_MAX {
            return Err(SimError::Model("the network has too many ports and hosts".into()));
        }
        let net = Network::new(model);
        let mut sim = Simulation {
            fetches_ahead: net.is_large(),
            net,
            flows: Flows::default(),
            shims: Shims::default(),
            routes: Routes::new(model.routing),
            intact: Routes::new(Policy::SymmetricEcmp),
            sources: Vec::new(),
            sources_left: 0,
            rounds: Vec::new(),
            records: Vec::new(),
            completed: 0,
            host_rngs: (0..hosts).map(|host| Rng::stream(model.seed, Entity::Host, host)).collect(),
            host_flows: vec![0; hosts as usize],
            sampler: Sampler::default(),
            periodic: 0,
            watches_rtt: model.samples.iter().any(|sample| matches!(sample.what, Probe::Rtt(_))),
            oracle: None,
            switches_notify: model.switch.mechanism.as_ref().is_some_and(|mechanism| mechanism.sends_cnps()),
            told: model.traffic.iter().map(|traffic| traffic.transport.needs().oracle).collect(),
            events: 0,
            ended: None,
            credits_used: 0,
            credits_wasted: 0,
            model: model.clone(),
        };
        if sim.told.contains(&true) {
            sim.oracle = Some(Oracle::new(model.topology.ports().iter().map(|port| port.rate)));
        }
        for (index, traffic) in model.traffic.iter().enumerate() {
            let rng = Rng::stream(model.seed, Entity::Traffic, index as u64);
            sim.rounds.push(match &traffic.pattern {
                Pattern::Rounds(rounds) => {
                    // A stream of its own, apart from those that choose pairs and sizes.
                    let rng = Rng::stream(model.seed, Entity::Traffic, 2 << 32 | index as u64);
                    Some(RoundsState::new(rounds, rng))
                }
                _ => None,
            });
            let mut source = Source::new(&traffic.pattern, rng);
            if let Some(at) = source.next_at(&traffic.pattern) {
                sim.sources_left += 1;
                sim.schedule_outside(at, What::Traffic(index as u32));
            }
            sim.sources.push(source);
        }
        for (index, fault) in model.faults.iter().enumerate() {
            sim.schedule_outside(fault.at, What::Fault(index as u32));
        }
        let periodic = |sample: &&Sample| !matches!(sample.what, Probe::Rtt(_));
        sim.periodic = model.samples.iter().filter(periodic).count();
        for (index, sample) in model.samples.iter().enumerate().filter(|(_, sample)| periodic(sample)) {
            sim.schedule_outside(Time::ZERO + sample.every, What::Sample(index as u32));
        }
        Ok(sim)
    }
}
