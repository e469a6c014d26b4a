//! An idle network, built from a model.

use super::books::Books;
use super::credit_classes::CreditClasses;
use super::flow_control::FlowControl;
use super::port::{Credits, DataQueue, Port};
use super::scheduler::Order;
use super::slab::Slab;
use super::{Mechanism, NONE, Network, Nic};
use crate::engine::Wheel;
use crate::model::{Model, PortModel};
use crate::timer::Timer;
use clearway_proto::{Entity, Rng};
use clearway_topology::Topology;
use clearway_units::{Bytes, Span, Time};
use std::collections::VecDeque;

impl Network {
    /// An idle network.
    pub fn new(model: &Model) -> Network {
        let topology = &model.topology;
        let mut net = Network {
            now: Time::ZERO,
            wheel: Wheel::new(horizon(model)),
            slab: Slab::new(),
            books: Books::default(),
            link_transmissions: 0,
            ports: Vec::with_capacity(topology.ports().len()),
            queues: Vec::new(),
            credits: Vec::new(),
            credit_classes: CreditClasses::new(model),
            nics: Vec::new(),
            turns: Vec::new(),
            switch_order: Order::of_switches(&model.switch.classes),
            host_order: Order::new(&model.host.port.classes),
            at_switches: at_switches(model),
            // Under flow control the memory is counted by where packets came from.
            shared: model.switch.shared.filter(|_| model.pfc.is_none()),
            shared_used: vec![0; topology.nodes().len()],
            control: FlowControl::new(model).map(Box::new),
            losses: Vec::new(),
            mechanisms: Vec::new(),
            notices: 0,
            notice_wire: model.framing.wire(0),
            paths: Vec::new(),
            free_paths: Vec::new(),
            flow_packets: Vec::new(),
            flow_births: Vec::new(),
            drained: Vec::new(),
        };
        for (index, port) in topology.ports().iter().enumerate() {
            let is_host = topology.is_host(port.from);
            let kind: &PortModel = if is_host { &model.host.port } else { &model.switch };
            let order = if is_host { &net.host_order } else { &net.switch_order };
            let mut made = Port::new(port, model.framing, model.whole_ns);
            made.first_queue = net.queues.len() as u32;
            net.queues
                .extend(kind.classes.iter().map(|class| DataQueue::new(class, port.rate, model.framing)));
            for (class, queue) in net.queues[made.first_queue as usize..].iter_mut().enumerate() {
                let stream = (index as u64) << 8 | class as u64 | 1 << 63;
                queue.seed(|| Rng::stream(model.seed, Entity::Port, stream));
            }
            net.turns.push(order.turns());
            if let Some(class) = kind.credit {
                made.credits = net.credits.len() as u32;
                net.credits.push(Credits::new(class, port.rate));
                if let Some(classes) = &mut net.credit_classes {
                    classes.add_port(&kind.credit_classes, class.shaping, port.rate);
                }
            }
            if is_host {
                made.nic = net.nics.len() as u32;
                net.nics.push(Nic { ready: vec![VecDeque::new(); order.classes()], waiting: 0 });
            }
            if let Some(mechanism) = kind.mechanism.as_ref().filter(|_| !is_host) {
                let number = net.mechanisms.len() as u32;
                let (what, port) = (mechanism.build(port.rate), index as u32);
                (made.arrival_is_special, made.departure_is_special) =
                    (what.sees_arrivals(), what.sees_departures());
                made.at_arrival = if made.arrival_is_special { number } else { NONE };
                made.at_departure = if made.departure_is_special { number } else { NONE };
                net.mechanisms.push(Mechanism { what, port, timer: Timer::IDLE });
            }
            net.ports.push(made);
        }
        for &(port, probability) in &model.loss {
            let rng = Rng::stream(model.seed, Entity::Port, port.0 as u64);
            net.ports[port.index()].loss = net.losses.len() as u32;
            net.ports[port.index()].departure_is_special = true;
            net.losses.push((probability, rng));
        }
        net
    }
}

/// The class that packets of each class are in at switches.
fn at_switches(model: &Model) -> Vec<u8> {
    let classes = model.switch.classes.iter().enumerate();
    classes.map(|(index, class)| class.at_switches.unwrap_or(index) as u8).collect()
}

/// How far ahead most events lie: a full frame's way over the slowest and the longest link, and a little more.
pub fn horizon(model: &Model) -> Span {
    let frame = Bytes::new(model.framing.wire_max() as u64);
    let hop = |port: &clearway_topology::Port| port.rate.time_to_send(frame) + port.delay;
    let farthest = Topology::ports(&model.topology).iter().map(hop).max().unwrap_or(Span::from_us(1));
    farthest * 2
}
