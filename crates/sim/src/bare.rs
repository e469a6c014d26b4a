//! The bare forwarding loop: packets that circle on their paths, with the wheel, the slab and the ports' clocks and
//! nothing else. What it reaches bounds every simulation on this engine; `make bench` shows both.

use crate::engine::{Event, What, Wheel};
use crate::model::{Model, Pattern};
use crate::net::{NONE, Slab, Slot, horizon};
use clearway_proto::{Header, Packet, mix};
use clearway_topology::PortId;
use clearway_topology::routing::Routes;
use clearway_units::{Bytes, Rate, Span, Time};

/// The loop.
pub struct Bare {
    wheel: Wheel,
    slab: Slab,
    ports: Vec<BarePort>,
    paths: Vec<PortId>,
    /// Each packet's path: where it starts, and its length.
    loops: Vec<(u32, u8)>,
    stop: Time,
}

struct BarePort {
    busy_until: Time,
    rate: Rate,
    delay: Span,
}

impl Bare {
    /// A loop over the paths of a model's listed flows, each with as many packets on its way as fill its path.
    ///
    /// # Panics
    /// If the model has no stop time, or traffic other than lists of flows.
    pub fn new(model: &Model) -> Bare {
        let topology = &model.topology;
        let ports = topology.ports().iter().map(|port| BarePort {
            busy_until: Time::ZERO,
            rate: port.rate,
            delay: port.delay,
        });
        let mut bare = Bare {
            wheel: Wheel::new(horizon(model)),
            slab: Slab::new(),
            ports: ports.collect(),
            paths: Vec::new(),
            loops: Vec::new(),
            stop: model.stop.expect("a bare loop must be told when to stop"),
        };
        let mut routes = Routes::new(model.routing);
        let wire = model.framing.wire_max();
        let mut path = Vec::new();
        for (number, flow) in model.traffic.iter().flat_map(|traffic| match &traffic.pattern {
            Pattern::Flows(flows) => flows.iter().enumerate(),
            _ => panic!("a bare loop takes lists of flows"),
        }) {
            let key = mix(number as u64);
            routes.paths(topology, flow.src, flow.dst, key, &mut path).expect("a topology is connected");
            let base = bare.paths.len() as u32;
            bare.paths.extend_from_slice(&path);
            let frame = topology.port(path[0]).rate.time_to_send(Bytes::new(wire as u64));
            let way: Span = path.iter().map(|port| topology.port(*port).delay + frame).sum();
            for packet in 0..way.as_ps() / frame.as_ps() {
                let order = packet;
                let slot = Slot {
                    packet: Packet::data(Header::data(0), 0, wire, flow.start),
                    flow: 0,
                    route: base,
                    next: NONE,
                    hops: path.len() as u8,
                    class: 0,
                    class_at_host: 0,
                };
                let index = bare.slab.insert(slot);
                bare.loops.push((base, path.len() as u8));
                bare.wheel.push(Event::new(flow.start + frame * order, number as u32, What::Arrive(index)));
            }
        }
        bare
    }

    /// Runs to the stop time. Returns link transmissions and events.
    pub fn run(&mut self) -> (u64, u64) {
        let mut moved = 0;
        while let Some(event) = self.wheel.pop() {
            let now = event.at();
            if now > self.stop {
                break;
            }
            let What::Arrive(index) = event.what() else { unreachable!("nothing else is scheduled") };
            let slot = self.slab.get_mut(index);
            if slot.hops == 0 {
                (slot.route, slot.hops) = self.loops[index as usize];
            }
            let port = self.paths[slot.route as usize];
            slot.route += 1;
            slot.hops -= 1;
            let out = &mut self.ports[port.index()];
            out.busy_until =
                out.busy_until.max(now) + out.rate.time_to_send(Bytes::new(slot.packet.wire as u64));
            self.wheel.push(Event::new(out.busy_until + out.delay, port.0, What::Arrive(index)));
            moved += 1;
        }
        (moved, moved)
    }
}
