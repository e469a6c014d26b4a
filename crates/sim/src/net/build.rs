//! An idle network, built from a model.

use super::adaptive::Adaptive;
use super::admission::Admission;
use super::books::Books;
use super::credits::Credits;
use super::data_queue::DataQueue;
use super::exchange::Exchange;
use super::link::Loss;
use super::mechanisms::{Mechanism, Mechanisms};
use super::memory::Memory;
use super::network::Network;
use super::nics::{Nic, Nics};
use super::notified::Notified;
use super::paths::Paths;
use super::plain::PlainQueue;
use super::port::{Away, ControlWork, Instance, Port};
use super::scheduler::Arbiter;
use super::slab::Slab;
use super::trims::{AllTrims, Trims};
use super::unseen::Unseen;
use crate::classes::{ClassRules, Classes};
use crate::engine::Agenda;
use crate::ids::{ClassId, Id, IdVec, QueueId};
use crate::model::{Class, Model, PortModel, Traffic};
use crate::trace::Recorder;
use clearway_proto::port::{MarkAt, Trimmer};
use clearway_proto::{AnyMechanismConfig, Entity, Rng};
use clearway_topology::routing::Policy;
use clearway_topology::{NodeId, PortId};
use clearway_units::{Bytes, Rate, Span, Time};

impl Network {
    /// An idle network.
    pub fn new(model: &Model) -> Network {
        Network::build(model, |_| true)
    }

    /// An idle part of a network: the ports of the nodes that are in this part. All other ports are known, but have
    /// neither queues nor other parts.
    pub fn of_part(model: &Model, part_of: &[u32], part: u32, parts: usize) -> Network {
        let is_here = |node: NodeId| part_of[node.index()] == part;
        let mut net = Network::build(model, is_here);
        for (port, out) in model.topology.ports().iter().zip(net.ports.iter_mut()) {
            let leads_away = is_here(port.from) && !is_here(port.to);
            let to = || Away::Part(part_of[port.to.index()] as u16);
            out.special.leads_to = leads_away.then(to);
            out.settle();
        }
        net.deferred_exits = deferred_exits(&net);
        net.exchange = Some(Exchange::new(parts));
        net
    }

    fn build(model: &Model, is_here: impl Fn(NodeId) -> bool) -> Network {
        let topology = &model.topology;
        let mut net = Network {
            agenda: Agenda::new(topology.ports().len(), topology.hosts(), horizon(model, &is_here)),
            slab: Slab::default(),
            books: Books::default(),
            launched: 0,
            ports: Vec::with_capacity(topology.ports().len()).into(),
            drops: IdVec::new(),
            came_besides: IdVec::new(),
            queues: IdVec::new(),
            plain: IdVec::new(),
            credits: Credits::new(model),
            nics: Nics::new(),
            classes: ClassRules::new(model),
            parked_until: Time::ZERO,
            arbiter: Arbiter::new(model),
            lone_class: None,
            memory: Memory::new(model),
            losses: IdVec::new(),
            mechanisms: Mechanisms::new(),
            trims: AllTrims::default(),
            defers: false,
            deferred_exits: Vec::new(),
            next_exit: None,
            cnp_wire: model.framing.wire(0),
            adaptive: Adaptive::new(model),
            paths: Paths::default(),
            notified: Notified::default(),
            unseen: Unseen::default(),
            left_at: Time::ZERO,
            tap: Recorder::new(model),
            exchange: None,
            blocks: None,
        };
        net.paths.tables.keeps_paths = model.routing == Policy::Entropy;
        net.paths.tables.are_numbers = model.routing == Policy::Source;
        net.lone_class = net.arbiter.only(false).filter(|_| matches!(net.memory, Memory::Apart));
        let may_be_plain = net.may_be_plain(model);
        for (number, port) in topology.ports().iter().enumerate() {
            let id = PortId::from_index(number);
            let made = if !is_here(port.from) {
                Port::new(port, QueueId::from_index(0), model.framing, model.whole_ns)
            } else if may_be_plain[id] && !model.topology.is_host(port.from) {
                net.build_plain_port(model, id, port)
            } else {
                net.build_port(model, id, port)
            };
            net.ports.push(made);
        }
        for &(port, probability) in &model.loss {
            let rng = Rng::stream(model.seed, Entity::Port, port.0 as u64);
            net.ports[port].special.loss = Some(net.losses.push(Loss { probability, rng }));
        }
        for fault in model.faults.iter().filter(|fault| fault.is_up().is_none()) {
            net.ports[fault.port].let_rate_change(model.framing, model.whole_ns);
        }
        if let Some(recorder) = &net.tap {
            for (port, out) in net.ports.enumerate_mut() {
                out.special.is_traced = recorder.covers(port);
            }
        }
        net.let_defer(model);
        net.ports.iter_mut().for_each(Port::settle);
        net
    }

    /// Returns for each port whether it is plain if it is a switch's (`plain.rs` says when).
    fn may_be_plain(&self, model: &Model) -> IdVec<PortId, bool> {
        let PortModel { credit, credit_classes: _, classes, shared: _, mechanism } = &model.switch;
        let marks_leaving =
            |class: &Class| class.marking.is_some_and(|marking| marking.at == MarkAt::Dequeue);
        let all = credit.is_none()
            && mechanism.is_none()
            && classes.iter().all(|class| class.trim.is_none())
            && matches!(self.memory, Memory::Apart)
            && self.arbiter.only(false) == Some(ClassId::FIRST)
            && !marks_leaving(&classes[0]);
        let mut plain: IdVec<PortId, bool> = vec![all; model.topology.ports().len()].into();
        model.faults.iter().for_each(|fault| plain[fault.port] = false);
        model.loss.iter().for_each(|&(port, _)| plain[port] = false);
        if let Some(recorder) = &self.tap {
            plain.enumerate_mut().for_each(|(port, plain)| *plain &= !recorder.covers(port));
        }
        plain
    }

    /// Lets ports that trim be served late, where nothing has to know when their packets leave.
    fn let_defer(&mut self, model: &Model) {
        let may_defer = matches!(self.memory, Memory::Apart)
            && model.switch.mechanism.is_none()
            && self.adaptive.is_none()
            && !self.arbiter.has_turns(false);
        for out in self.ports.iter_mut().filter(|out| may_defer && out.special.trims()) {
            let is_watched = out.special.loss.is_some() || out.special.is_traced || out.credits.is_some();
            out.special.instance = if is_watched { Instance::Trimming } else { Instance::Deferred };
        }
        for fault in model.faults.iter().filter(|_| may_defer) {
            let special = &mut self.ports[fault.port].special;
            special.instance = if special.trims() { Instance::Trimming } else { special.instance };
        }
        self.defers = self.ports.iter().any(|out| out.special.defers());
    }

    /// Returns the instance of the pipeline for a port that is not plain.
    fn instance(&self, is_host: bool, has_credits: bool) -> Instance {
        match self.memory {
            Memory::Guarded(_) if !is_host && !has_credits && !self.arbiter.has_turns(false) => {
                Instance::Guarded
            }
            _ if has_credits && self.credits.have_one_class() && (is_host || self.lone_class.is_some()) => {
                Instance::Limited
            }
            _ => Instance::General,
        }
    }

    /// A plain port, whose queue is added to the network.
    fn build_plain_port(&mut self, model: &Model, id: PortId, port: &clearway_topology::Port) -> Port {
        let queues = QueueId::from_index(self.queues.len());
        let mut made = Port::new(port, queues, model.framing, model.whole_ns);
        let admission = admission(model, &model.switch, ClassId::FIRST, id, port);
        made.plain = Some(self.plain.push(PlainQueue::new(admission)));
        made
    }

    /// A port that is not plain, whose parts are added to the network.
    fn build_port(&mut self, model: &Model, id: PortId, port: &clearway_topology::Port) -> Port {
        let is_host = model.topology.is_host(port.from);
        let kind: &PortModel = if is_host { &model.host.port } else { &model.switch };
        let queues = QueueId::from_index(self.queues.len());
        for class in (0..kind.classes.len()).map(ClassId::from_index) {
            self.queues.push(DataQueue::new(admission(model, kind, class, id, port)));
        }
        let mut made = Port::new(port, queues, model.framing, model.whole_ns);
        let stream = || Rng::stream(model.seed, Entity::Port, (id.0 as u64) << 8 | 1 << 62);
        made.credits = kind.credit.map(|limit| self.credits.add_port(limit, kind, port.rate, stream));
        made.special.instance = self.instance(is_host, made.credits.is_some());
        if is_host {
            made.nic = Some(self.nics.push(Nic::new(self.classes.count())));
            made.control.set(ControlWork::QUEUES_DATA, model.host.queues_data);
            return made;
        }
        if kind.classes.iter().any(|class| class.trim.is_some()) {
            self.trims.set(id, self.trims_of(model, id, port));
            made.special.instance = Instance::Trimming;
        }
        if let Some(mechanism) = &kind.mechanism {
            let protocol = mechanism.build(port.rate);
            made.special.sees_arrivals = protocol.sees_arrivals();
            made.special.sees_departures = protocol.sees_departures();
            made.special.mechanism =
                Some(self.mechanisms.push(Mechanism::new(protocol, id, classes_of(model, mechanism))));
        }
        made
    }

    /// The trimming of a port of a switch, some of whose classes trim, by one rule.
    fn trims_of(&self, model: &Model, id: PortId, port: &clearway_topology::Port) -> Trims {
        let classes: Vec<Class> =
            model.switch.classes.iter().map(|class| class_at(model, class, id, port)).collect();
        let trim = classes.iter().find_map(|class| class.trim).expect("some class trims");
        let rng = Rng::stream(model.seed, Entity::Port, (id.0 as u64) << 8 | 1 << 61);
        let trimmer = Trimmer::new(trim.config, model.topology.is_host(port.to), rng);
        Trims::new(trimmer, &classes, |headers| self.classes.at_switches(ClassId::from_index(headers)))
    }
}

/// The ports of a part that lead elsewhere and may be served late.
pub(super) fn deferred_exits(net: &Network) -> Vec<PortId> {
    let ports = net.ports.enumerate();
    let exits = ports.filter(|(_, out)| out.special.defers() && out.special.leads_to.is_some());
    exits.map(|(port, _)| port).collect()
}

/// A class at a port: those of switches may be others where the port leads to a host, and queues of a link that is slow throughout
/// the run are shorter.
fn class_at(model: &Model, class: &Class, id: PortId, port: &clearway_topology::Port) -> Class {
    let is_last_hop = !model.topology.is_host(port.from) && model.topology.is_host(port.to);
    let class = if is_last_hop { class.at_last_hop() } else { class.clone() };
    let configured = configured_rate(model, id, port);
    if configured < port.rate {
        class.scaled(configured.as_bps_f64() / port.rate.as_bps_f64())
    } else {
        class
    }
}

/// The rate for which the queues of a port are configured.
fn configured_rate(model: &Model, id: PortId, port: &clearway_topology::Port) -> Rate {
    model.faults.iter().find_map(|fault| fault.configured(id)).unwrap_or(port.rate)
}

/// The classes of the packets of the transport that brings a mechanism: of the first entry of traffic that does.
fn classes_of(model: &Model, mechanism: &AnyMechanismConfig) -> Classes {
    let brings = |entry: &&Traffic| entry.transport.mechanism().as_ref() == Some(mechanism);
    let entry = model.traffic.iter().find(brings);
    entry.map_or(Classes::ONE, |entry| Classes::new(model, entry))
}

/// The rules of a class at a port, which marks at random with a stream of its own.
fn admission(
    model: &Model,
    kind: &PortModel,
    class: ClassId,
    id: PortId,
    port: &clearway_topology::Port,
) -> Admission {
    let here = class_at(model, &kind.classes[class.index()], id, port);
    let mut rules = Admission::new(&here, configured_rate(model, id, port), model.framing);
    if here.trim.is_some() {
        rules.set_apart(model.largest_frame().into());
    }
    let stream = (id.0 as u64) << 8 | class.index() as u64 | 1 << 63;
    rules.seed(|| Rng::stream(model.seed, Entity::Port, stream));
    rules
}

/// A span ahead in which most events of the ports `is_here` lie: twice a full frame's way over the slowest and the longest
/// link.
pub fn horizon(model: &Model, is_here: impl Fn(NodeId) -> bool) -> Span {
    let frame = Bytes::new(model.framing.wire_max() as u64);
    let ports = model.topology.ports().iter().filter(|port| is_here(port.from));
    let farthest = ports.map(|port| port.rate.time_to_send(frame) + port.delay).max();
    farthest.unwrap_or(Span::from_us(1)) * 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_topology::Star;

    #[test]
    fn the_horizon_is_twice_a_full_frames_way_over_a_link() {
        let model = crate::ports::network_for(Star::default().build().unwrap(), []).unwrap();
        // 1,538 B take 1.2304 us at 10 Gbit/s, and then 4 us; a part without ports has a horizon too.
        assert_eq!(horizon(&model, |_| true), Span::from_ps(2 * (1_230_400 + 4_000_000)));
        assert_eq!(horizon(&model, |_| false), Span::from_us(2));
    }
}
