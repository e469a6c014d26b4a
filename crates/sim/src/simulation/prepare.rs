//! A run before its first event.

use super::journal::Journal;
use super::router::Router;
use super::run::{SimError, Simulation};
use super::shares::Shares;
use super::source::Sources;
use crate::engine::{ENTITIES_MAX, EventKind};
use crate::hosts::Hosts;
use crate::ids::{FaultId, Id, SeriesId, TrafficId};
use crate::metrics::Sampler;
use crate::model::{Model, Probe, Sample};
use crate::net::Network;

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
        let low = &model.switch.classes[model.low_class()];
        let yields = |traffic: &crate::model::Traffic| {
            traffic.transport.needs().unscheduled_queue.is_none()
                || low.priority > model.switch.classes[traffic.class].priority
        };
        if !model.traffic.iter().all(yields) {
            return Err(SimError::Model(
                "data of low priority needs a class that yields to all others".into(),
            ));
        }
        if model.topology.ports().len() + model.topology.hosts() + 2 > ENTITIES_MAX {
            return Err(SimError::Model("the network has too many ports and hosts".into()));
        }
        let net = Network::new(model);
        let is_periodic = |sample: &Sample| !matches!(sample.what, Probe::Rtt(_));
        let mut sim = Simulation {
            fetches_ahead: net.is_large(),
            net,
            hosts: Hosts::new(model),
            router: Router::new(model),
            sources: Sources::new(model),
            journal: Journal::default(),
            shares: Shares::new(model),
            sampler: Sampler::default(),
            periodic: model.samples.iter().filter(|sample| is_periodic(sample)).count(),
            watches_rtt: !model.samples.iter().all(is_periodic),
            switches_notify: model
                .switch
                .mechanism
                .as_ref()
                .is_some_and(|mechanism| mechanism.info().sends_cnps),
            events: 0,
            ended: None,
            model: model.clone(),
        };
        for (index, traffic) in model.traffic.iter().enumerate() {
            let id = TrafficId::from_index(index);
            if let Some(at) = sim.sources.get_mut(id).next_at(&traffic.pattern) {
                sim.sources.open();
                sim.net.agenda.outside(at, EventKind::Traffic(id));
            }
        }
        for (index, fault) in model.faults.iter().enumerate() {
            sim.net.agenda.outside(fault.at, EventKind::Fault(FaultId::from_index(index)));
        }
        for (index, _) in model.samples.iter().enumerate().filter(|(_, sample)| is_periodic(sample)) {
            sim.schedule_sample(SeriesId::from_index(index));
        }
        Ok(sim)
    }

    /// Schedules the next sample of a series.
    pub(super) fn schedule_sample(&mut self, series: SeriesId) {
        let at = self.net.now() + self.model.samples[series.index()].every;
        self.net.agenda.sample(at, EventKind::Sample(series));
    }
}
