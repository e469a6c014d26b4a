//! A run before its first event.

use super::journal::Journal;
use super::router::Router;
use super::run::{SimError, Simulation};
use super::shares::Shares;
use super::source::Sources;
use crate::engine::{ENTITIES_MAX, EventKind};
use crate::hosts::Hosts;
use crate::ids::{ClassSet, FaultId, Id, SeriesId, TrafficId};
use crate::metrics::{Sampler, Spool, Window};
use crate::model::{Class, Model, Probe, Sample, Traffic};
use crate::net::Network;
use clearway_units::Time;

impl Simulation {
    /// Prepares a run.
    ///
    /// # Errors
    /// If the model contradicts itself; models made from scenario files do not.
    pub fn new(model: &Model) -> Result<Simulation, SimError> {
        Simulation::spooled(model, [None, None])
    }

    /// Prepares a run whose finished flows and samples leave memory for files of these two spools, if there are more
    /// than a part of them.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn spooled(model: &Model, spools: [Option<Box<dyn Spool>>; 2]) -> Result<Simulation, SimError> {
        let [flows, samples] = spools;
        check(model).map_err(SimError::Model)?;
        let net = Network::new(model);
        let is_periodic = |sample: &Sample| !matches!(sample.what, Probe::Rtt(_));
        let mut sim = Simulation {
            net,
            hosts: Hosts::new(model),
            router: Router::new(model),
            window: Window::new(model, Time::ZERO),
            sources: Sources::new(model),
            journal: Journal::new(model.traffic.len(), flows),
            shares: Shares::new(model),
            sampler: Sampler::new(samples),
            observers: 0,
            watches_rtt: !model.samples.iter().all(is_periodic),
            switches_notify: model
                .switch
                .mechanism
                .as_ref()
                .is_some_and(|mechanism| mechanism.info().sends_cnps),
            quiet_since: None,
            events: 0,
            ended: None,
            model: model.clone(),
        };
        let mut first_start = Time::MAX;
        for (index, traffic) in model.traffic.iter().enumerate() {
            let id = TrafficId::from_index(index);
            if let Some(at) = sim.sources.get_mut(id).next_at(&traffic.pattern) {
                first_start = first_start.min(at);
                sim.sources.open();
                sim.net.agenda.outside(at, EventKind::Traffic(id));
            }
        }
        let first_start = if first_start == Time::MAX { Time::ZERO } else { first_start };
        sim.window = Window::new(model, first_start);
        for (index, fault) in model.faults.iter().enumerate() {
            sim.net.agenda.outside(fault.at, EventKind::Fault(FaultId::from_index(index)));
        }
        for (index, _) in model.samples.iter().enumerate().filter(|(_, sample)| is_periodic(sample)) {
            sim.schedule_sample(SeriesId::from_index(index));
        }
        for at in sim.window.turns() {
            sim.observe(at, EventKind::Window);
        }
        Ok(sim)
    }

    /// Schedules the next sample of a series.
    pub(super) fn schedule_sample(&mut self, series: SeriesId) {
        let at = self.net.now() + self.model.samples[series.index()].every;
        self.observe(at, EventKind::Sample(series));
    }

    /// Schedules an event that only looks.
    fn observe(&mut self, at: Time, kind: EventKind) {
        self.observers += 1;
        self.net.agenda.sample(at, kind);
    }
}

/// Answers in what a model contradicts itself, if it does.
fn check(model: &Model) -> Result<(), String> {
    let (switch, host) = (&model.switch, &model.host.port);
    let (classes, credit_classes) = (switch.classes.len(), switch.credit_classes.len());
    let joins_none = |class: &Class| class.at_switches.is_some_and(|other| other >= classes);
    let names_none = |entry: &Traffic| entry.class >= classes || entry.ack_class >= classes;
    let last = &switch.classes[model.unscheduled_class()];
    let yields = |entry: &Traffic| {
        let is_unscheduled = entry.transport.needs().unscheduled_queue.is_some();
        !is_unscheduled || last.priority > switch.classes[entry.class].priority
    };
    let problem = if model.pfc.is_some() && switch.shared.is_none() {
        "flow control needs a buffer that the ports of a switch share"
    } else if classes != host.classes.len() {
        "switches and hosts must have the same classes"
    } else if classes > ClassSet::MOST {
        "a port can have at most 64 classes"
    } else if credit_classes != host.credit_classes.len() {
        "switches and hosts must have the same classes of credits"
    } else if model.traffic.iter().any(|entry| entry.credit_class >= credit_classes.max(1)) {
        "traffic names a class of credits that does not exist"
    } else if switch.classes.iter().any(joins_none) || model.traffic.iter().any(names_none) {
        "a class of packets is named that does not exist"
    } else if !model.traffic.iter().all(yields) {
        "unscheduled data needs a class that yields to all others"
    } else if model.timeless_port().is_some() {
        "truncation to whole nanoseconds leaves no time for the smallest frame on the fastest link"
    } else if model.topology.ports().len() + model.topology.hosts() + 2 > ENTITIES_MAX {
        "the network has too many ports and hosts"
    } else {
        return Ok(());
    };
    Err(problem.into())
}
