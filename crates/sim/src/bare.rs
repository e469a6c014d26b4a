//! The bare forwarding loop: packets that circle on their paths, with the wheel, the slab and the ports' clocks and
//! nothing else. Its speed bounds that of every simulation on this engine; `make bench` shows both.

use crate::engine::{AHEAD, Agenda, EventKind, exceeds_cache, prefetch};
use crate::ids::{ClassId, FlowSlot, Id, IdVec, PacketId};
use crate::model::{Model, Pattern};
use crate::net::{Paths, RoutedPacket, Slab, Way, horizon};
use clearway_proto::{Header, Packet, mix};
use clearway_topology::PortId;
use clearway_topology::routing::Routes;
use clearway_units::{Bytes, Rate, Span, Time};

/// The loop.
pub struct Bare {
    agenda: Agenda,
    slab: Slab,
    ports: IdVec<PortId, BarePort>,
    paths: Paths,
    /// The path of each packet.
    loops: IdVec<PacketId, Way>,
    stop: Time,
}

struct BarePort {
    busy_until: Time,
    rate: Rate,
    delay: Span,
}

impl Bare {
    /// Returns a loop over the paths of a model's listed flows, each with as many packets on its way as fill its path.
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
            agenda: Agenda::new(topology.ports().len(), topology.hosts(), horizon(model, |_| true)),
            slab: Slab::default(),
            ports: ports.collect(),
            paths: Paths::default(),
            loops: IdVec::new(),
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
            routes.first_path(topology, flow.src, flow.dst, key, &mut path).expect("a topology is connected");
            let way = bare.paths.add(&path);
            let way = bare.paths.way(way);
            let frame = topology.port(path[0]).rate.time_to_send(Bytes::new(wire as u64));
            let span: Span = path.iter().map(|port| topology.port(*port).delay + frame).sum();
            for order in 0..span.as_ps() / frame.as_ps() {
                let id = bare.slab.insert(RoutedPacket {
                    packet: Packet::data(Header::data(0), 0, wire, flow.start),
                    flow: FlowSlot::from_index(0),
                    hop: way.then.back(1),
                    next: None,
                    hops_left: way.hops,
                    class: ClassId::FIRST,
                    class_at_host: ClassId::FIRST,
                });
                bare.loops.push(way);
                bare.agenda.at_port(path[0], flow.start + frame * order, EventKind::Arrive(id));
            }
        }
        bare
    }

    /// Runs to the stop time. Returns link transmissions and events.
    pub fn run(&mut self) -> (u64, u64) {
        let fetches_ahead = exceeds_cache(self.slab.size() + self.ports.size());
        let mut moved = 0;
        while let Some(event) = self.agenda.pop_before(Time::MAX) {
            let now = event.at();
            if now > self.stop {
                break;
            }
            if fetches_ahead {
                self.look_ahead();
            }
            let EventKind::Arrive(id) = event.kind() else { unreachable!("nothing else is scheduled") };
            let routed = &mut self.slab[id];
            if routed.hops_left == 0 {
                (routed.hop, routed.hops_left) = (self.loops[id].then.back(1), self.loops[id].hops);
            }
            let port = self.paths.port(routed.hop);
            routed.hop = routed.hop.next();
            routed.hops_left -= 1;
            let out = &mut self.ports[port];
            out.busy_until =
                out.busy_until.max(now) + out.rate.time_to_send(Bytes::new(routed.packet.wire as u64));
            self.agenda.at_port(port, out.busy_until + out.delay, EventKind::Arrive(id));
            moved += 1;
        }
        (moved, moved)
    }

    /// Fetches what the next events need, as the simulator does: first the packet, then the port.
    #[inline]
    fn look_ahead(&self) {
        let packet = |ahead| match self.agenda.peek(ahead)?.kind() {
            EventKind::Arrive(id) => Some(id),
            _ => None,
        };
        if let Some(id) = packet(AHEAD * 2) {
            prefetch(&self.slab[id]);
            prefetch(&self.loops[id]);
        }
        if let Some(routed) = packet(AHEAD).map(|id| &self.slab[id]).filter(|routed| routed.hops_left > 0) {
            prefetch(&self.ports[self.paths.port(routed.hop)]);
        }
    }
}
