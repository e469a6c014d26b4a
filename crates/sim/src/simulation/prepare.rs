//! A run before its first event.

use super::global_events::{GlobalEvent, GlobalEvents};
use super::journal::Journal;
use super::live_flows::LiveFlows;
use super::region::{Region, Regions};
use super::rounds::RoundsState;
use super::router::Router;
use super::shares::Shares;
use super::source::Sources;
use super::standstill::Standstill;
use super::state::{SimError, Simulation};
use super::threads::Threads;
use crate::engine::ENTITIES_MAX;
use crate::ids::{ClassSet, FaultId, Id, SeriesId, TrafficId};
use crate::metrics::{Sampler, Spool, Window};
use crate::model::{Class, Model, Pattern, Probe, Sample, Traffic};
use crate::net::{Delays, Networks, divide};
use crate::partition::Partition;
use clearway_proto::{Entity, Packet, Rng};
use clearway_topology::{core_oversubscription, farthest_round_trip};
use clearway_units::{Bytes, Span, Time};
use std::sync::Arc;

/// The least time between two barriers at which flows end: few of them in the time that a packet takes.
const CELL: Span = Span::from_us(5);

impl Simulation {
    /// Prepares a run on one thread.
    ///
    /// # Errors
    /// If the model contradicts itself; models made from scenario files do not.
    pub fn new(model: &Model) -> Result<Simulation, SimError> {
        Simulation::spooled(model, &Partition::one(model), [None, None])
    }

    /// Prepares a run on as many threads as the partition has parts, whose finished flows and samples leave memory for
    /// files of these two spools, if there are more than a part of them. The results do not depend on the partition.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn spooled(
        model: &Model,
        partition: &Partition,
        spools: [Option<Box<dyn Spool>>; 2],
    ) -> Result<Simulation, SimError> {
        let [flows, samples] = spools;
        check(model).map_err(SimError::Model)?;
        let model = &Arc::new(model.clone());
        let nodes = model.topology.nodes().len();
        let part_of = (0..nodes).map(|node| partition.part_of(Id::from_index(node))).collect();
        let mut nets = Networks::new(model, part_of, partition.parts());
        divide::divide(&mut nets, model, partition.block_of(), partition.blocks());
        let shares = Shares::new(model);
        let width = Partition::width(model);
        let mut sim = Simulation {
            regions: Vec::new(),
            threads: Threads::new(Delays::new(&nets)),
            nets,
            global_events: GlobalEvents::default(),
            live_flows: LiveFlows::default(),
            ending: Vec::new(),
            router: Router::new(model),
            window: Window::new(model, Time::ZERO),
            sources: Sources::new(model),
            journal: Journal::new(model.traffic.len(), flows),
            shares,
            sampler: Sampler::new(samples),
            now: Time::ZERO,
            last: Time::ZERO,
            global_events_handled: 0,
            cell: width.map_or(CELL, |width| width * CELL.as_ps().div_ceil(width.as_ps())),
            quiet_since: None,
            is_watched: false,
            starts_ahead: false,
            switches_notify: model
                .switch
                .mechanism
                .as_ref()
                .is_some_and(|mechanism| mechanism.info().sends_cnps || mechanism.info().returns)
                || model.switch.classes.iter().any(Class::returns),
            network_rtt: network_rtt(model),
            oversubscription: core_oversubscription(&model.topology),
            barrier: None,
            standstill: Standstill::new(model),
            livelock: None,
            ended: None,
            model: Arc::clone(model),
        };
        populate(&mut sim);
        sim.starts_ahead = !is_prompt(&sim) && starts_ahead(model);
        let mut first_start = Time::MAX;
        for (index, traffic) in model.traffic.iter().enumerate() {
            let id = TrafficId::from_index(index);
            if let Pattern::Rounds(rounds) = &traffic.pattern {
                // A stream of its own, apart from those that choose pairs and sizes.
                let rng = Rng::stream(model.seed, Entity::Traffic, 2 << 32 | index as u64);
                let part = sim.nets.part_of(rounds.client);
                sim.regions[part].rounds[id] = Some(Box::new(RoundsState::new(rounds, rng)));
            }
            if let Some(at) = sim.sources.get_mut(id).next_at(&traffic.pattern) {
                first_start = first_start.min(at);
                sim.sources.open();
                sim.global_events.push(at, GlobalEvent::Traffic(id));
            }
        }
        let first_start = if first_start == Time::MAX { Time::ZERO } else { first_start };
        sim.window = Window::new(model, first_start);
        for (index, fault) in model.faults.iter().enumerate() {
            sim.global_events.push(fault.at, GlobalEvent::Fault(FaultId::from_index(index)));
        }
        for (index, _) in model.samples.iter().enumerate().filter(|(_, sample)| is_periodic(sample)) {
            schedule_sample(&mut sim, SeriesId::from_index(index));
        }
        for at in sim.window.turns() {
            sim.global_events.push(at, GlobalEvent::Window);
        }
        Ok(sim)
    }

    /// Returns the number of parts of the network, each of which has a thread.
    pub fn parts(&self) -> usize {
        self.nets.len()
    }
}

/// Makes the regions of the networks' parts, yet without flows, and the threads that drive them.
fn populate(sim: &mut Simulation) {
    sim.regions = regions_for(sim, sim.nets.len());
    sim.threads = Threads::new(Delays::new(&sim.nets));
}

/// Regions of so many parts, yet without flows.
pub fn regions_for(sim: &Simulation, parts: usize) -> Regions {
    let watches_rtt = !sim.model.samples.iter().all(is_periodic);
    let region = |_| Box::new(Region::new(&sim.model, watches_rtt, is_prompt(sim)));
    (0..parts).map(region).collect()
}

/// Returns whether the notes of regions must be read as soon as a flow ends.
fn is_prompt(sim: &Simulation) -> bool {
    sim.shares.any() || sim.model.traffic.iter().any(|entry| entry.opens_at_ends().is_some())
}

/// Schedules the next sample of a series.
pub fn schedule_sample(sim: &mut Simulation, series: SeriesId) {
    let at = sim.now + sim.model.samples[series.index()].every;
    sim.global_events.push(at, GlobalEvent::Sample(series));
}

/// Returns whether a sample is taken at intervals.
fn is_periodic(sample: &Sample) -> bool {
    !matches!(sample.what, Probe::Rtt(_))
}

/// Returns the base round-trip time between the two hosts that are farthest apart.
fn network_rtt(model: &Model) -> Span {
    let [full, smallest] =
        [model.framing.wire_max(), model.framing.wire_min].map(|wire| Bytes::new(u64::from(wire)));
    farthest_round_trip(&model.topology, full, smallest)
}

/// Returns whether flows of a model may be prepared before they start. Places of flows are then used again later than
/// without that, so nothing may show the order of these: traces, samples of flows, and agents, which serve flows in that
/// order. Nor may a transport ask how many flows its host sends.
fn starts_ahead(model: &Model) -> bool {
    let is_free =
        |entry: &Traffic| !entry.transport.needs().host_flows && !entry.transport.agent_scope().any();
    let samples_flows = model.samples.iter().any(|sample| sample.what.traffic().is_some());
    model.traces.is_empty() && !samples_flows && model.traffic.iter().all(is_free)
}

/// Returns what in a model contradicts the rest of it, if anything does.
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
    } else if Model::at_odds(&model.traffic.iter().collect::<Vec<_>>()).is_some() {
        "transports whose data shares a class ask for different orders of a host's flows"
    } else if model.framing.wire_max() > Packet::WIRE_MAX {
        "a full frame has more than 65,535 bytes"
    } else if model.timeless_port().is_some() {
        "truncation to whole nanoseconds leaves no time for the smallest frame on the fastest link"
    } else if model.topology.ports().len() + model.topology.hosts() + 2 > ENTITIES_MAX {
        "the network has too many ports and hosts"
    } else {
        return Ok(());
    };
    Err(problem.into())
}
