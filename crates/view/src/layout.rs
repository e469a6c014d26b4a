//! The network and the traffic of a run, which a page lays out once.

use crate::warnings::warnings_of;
use clearway_sim::FrameKind;
use clearway_sim::model::{Model, Pattern, PortModel};
use clearway_sim::scenario::Scenario;
use clearway_topology::{NodeId, NodeKind, PortId};
use clearway_units::Bytes;
use serde::Serialize;

/// The answer to a request that opens a run.
#[derive(Serialize)]
pub struct Layout {
    name: String,
    transports: Vec<&'static str>,
    seed: u64,
    stop_ps: Option<u64>,
    flows_expected: Option<u64>,
    nodes: Vec<Node>,
    ports: Vec<Port>,
    kinds: Vec<&'static str>,
    trims: bool,
    entries: Vec<Entry>,
    estimate: Estimate,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Node {
    id: u32,
    name: String,
    alias: Option<String>,
    kind: &'static str,
    tier: u8,
}

#[derive(Serialize)]
struct Port {
    id: u32,
    name: String,
    from: u32,
    to: u32,
    rate_bps: u64,
    delay_ps: u64,
    buffer_bytes: Option<u64>,
    credit_bps: Option<u64>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    kind: &'static str,
    transport: &'static str,
}

#[derive(Serialize)]
struct Estimate {
    link_transmissions: Option<u64>,
    bytes: u64,
}

impl Layout {
    /// Returns the layout of a scenario.
    pub fn new(scenario: &Scenario) -> Layout {
        let model = &scenario.model;
        let estimate = scenario.estimate();
        let mut transports: Vec<_> = model.traffic.iter().map(|entry| entry.transport.info().name).collect();
        transports.dedup();
        Layout {
            name: scenario.name.clone(),
            transports,
            seed: model.seed,
            stop_ps: model.stop.map(|stop| stop.as_ps()),
            flows_expected: model.traffic.iter().map(|entry| entry.pattern.expected()).sum(),
            nodes: nodes(model),
            ports: ports(model),
            kinds: FrameKind::NAMES.to_vec(),
            trims: model.switch.classes.iter().any(|class| class.leaves_headers().is_some()),
            entries: model.traffic.iter().map(entry).collect(),
            estimate: Estimate {
                link_transmissions: (estimate.open_flows == 0 || model.stop.is_some())
                    .then(|| estimate.link_transmissions.round() as u64),
                bytes: estimate.memory_bytes().round() as u64,
            },
            warnings: warnings_of(scenario),
        }
    }
}

fn nodes(model: &Model) -> Vec<Node> {
    let node = |(index, node): (usize, &clearway_topology::Node)| {
        let id = NodeId::from_index(index);
        Node {
            id: id.0,
            name: node.name.clone(),
            alias: model.topology.names().alias(id),
            kind: match node.kind {
                NodeKind::Host => "host",
                NodeKind::Switch => "switch",
            },
            tier: node.tier,
        }
    };
    model.topology.nodes().iter().enumerate().map(node).collect()
}

fn ports(model: &Model) -> Vec<Port> {
    let topology = &model.topology;
    let port = |(index, port): (usize, &clearway_topology::Port)| {
        let of_host = topology.is_host(port.from);
        let queues = if of_host { &model.host.port } else { &model.switch };
        let credits = queues.credit.map(|credit| {
            let shaping = credit.shaping;
            let frame = f64::from(shaping.credit) + f64::from(shaping.data);
            port.rate.as_bps() as f64 * credit.share * f64::from(shaping.credit) / frame
        });
        Port {
            id: PortId::from_index(index).0,
            name: topology.port_name(PortId::from_index(index)),
            from: port.from.0,
            to: port.to.0,
            rate_bps: port.rate.as_bps(),
            delay_ps: port.delay.as_ps(),
            buffer_bytes: room(model, queues),
            credit_bps: credits.map(|bps| bps.round() as u64),
        }
    };
    topology.ports().iter().enumerate().map(port).collect()
}

/// Returns the bytes of data that a port can hold at most; `None` if there is no limit.
fn room(model: &Model, queues: &PortModel) -> Option<u64> {
    let frame = u64::from(model.framing.wire_max());
    let of_classes = queues.classes.iter().map(|class| {
        let packets = u64::from(class.limit.packets);
        let by_packets =
            if class.limit.packets == u32::MAX { Bytes::MAX } else { Bytes::new(packets * frame) };
        class.limit.bytes.min(by_packets).get()
    });
    let of_classes = of_classes.fold(0, u64::saturating_add);
    let shared = queues.shared.map_or(u64::MAX, |shared| shared.size.get());
    Some(of_classes.min(shared)).filter(|&bytes| bytes < Bytes::MAX.get())
}

fn entry(entry: &clearway_sim::model::Traffic) -> Entry {
    Entry {
        name: entry.name.clone(),
        kind: match entry.pattern {
            Pattern::Flows(_) => "flows",
            Pattern::Messages(_) => "messages",
            Pattern::Poisson(_) => "poisson",
            Pattern::Rounds(_) => "rounds",
        },
        transport: entry.transport.info().name,
    }
}
