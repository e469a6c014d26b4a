//! The models, transports and checks that tests share.
#![allow(dead_code)]

pub mod mixes;
pub mod shares;

use clearway_proto::{AnyTransport, mix};
use clearway_sim::model::*;
use clearway_sim::{Ended, Partition, Results, Simulation, ports};
use clearway_topology::{NodeId, Star, Topology};
use clearway_units::{Bytes, Rate, Span, Time};

/// Makes a model with unlimited queues and without traffic.
pub fn quiet(topology: Topology) -> Model {
    ports::network_for(topology, []).expect("nothing is asked for")
}

/// Makes a model without traffic whose ports have what a transport needs.
pub fn network_for(transport: &AnyTransport, topology: Topology) -> Model {
    ports::network_for(topology, [transport]).expect("one transport agrees with itself")
}

/// Returns the transport of a name with its default parameters.
pub fn transport(name: &str) -> AnyTransport {
    AnyTransport::by_name(name).unwrap_or_else(|| panic!("no transport {name}"))
}

/// Returns a credit-based transport whose credits all have 84 bytes, for tests of exact results.
pub fn even_credits(name: &str) -> AnyTransport {
    let mut made = transport(name);
    made.set("randomize_size", "false").expect("a transport with credits");
    made
}

/// Returns a flow that starts at time zero.
pub fn flow(src: u32, dst: u32, bytes: u64) -> Flow {
    Flow { start: Time::ZERO, src: NodeId(src), dst: NodeId(dst), size: Some(Bytes::new(bytes)), stop: None }
}

/// Adds flows of a transport to a model.
pub fn add(model: &mut Model, transport: &AnyTransport, flows: Vec<Flow>) {
    let name = format!("traffic{}", model.traffic.len());
    model.add_traffic(name, transport, Pattern::Flows(flows.into()));
}

/// Runs a model to the end.
pub fn run(model: &Model) -> Results {
    let mut simulation = Simulation::new(model).expect("the model is sound");
    simulation.run(&mut |_| true);
    simulation.finish().expect("the books balance")
}

/// Runs a model to the end, which it must reach before it has handled so many events. One that never ends is told with its model
/// that way, which a time limit would not do.
pub fn run_within(model: &Model, events: u64) -> Results {
    let mut simulation = Simulation::new(model).expect("the model is sound");
    simulation.run(&mut |progress| progress.events < events);
    let results = simulation.finish().expect("the books balance");
    assert_ne!(
        results.summary.ended,
        Ended::Interrupted,
        "{} goes on for ever: {:?}",
        model.traffic[0].transport.info().name,
        model.traffic
    );
    results
}

/// Returns a partition that is drawn at random, but for the nodes that must lie together. It may have fewer parts.
pub fn any_cut(model: &Model, parts: u64, seed: u64) -> Partition {
    let nodes = model.topology.nodes().len();
    let mut part_of: Vec<u32> = (0..nodes).map(|node| (mix(seed ^ node as u64) % parts) as u32).collect();
    let mut together: Vec<(usize, usize)> = Vec::new();
    let still = model.topology.ports().iter().filter(|port| port.delay.is_zero());
    together.extend(still.map(|port| (port.from.index(), port.to.index())));
    for entry in &model.traffic {
        if let Pattern::Rounds(rounds) = &entry.pattern {
            together.extend(rounds.workers.iter().map(|worker| (worker.index(), rounds.client.index())));
        }
    }
    while let Some(&(a, b)) = together.iter().find(|&&(a, b)| part_of[a] != part_of[b]) {
        let part = part_of[a].min(part_of[b]);
        (part_of[a], part_of[b]) = (part, part);
    }
    Partition::of_parts(model, part_of).expect("what belongs together lies in one part")
}

/// Asserts what holds after every run of a transport that recovers lost data: each byte is delivered once and in order
/// (a receiver can't report more than it delivered, and the books balance), every flow has ended and the network is
/// empty.
pub fn check(results: &Results, model: &Model) {
    assert_eq!(
        results.summary.ended,
        Ended::Complete,
        "{:?} {:?}",
        results.summary,
        results.flows.column("transport")
    );
    assert_eq!(results.summary.flows_completed, results.summary.flows_started);
    assert_eq!(results.flows.u64s("delivered_bytes"), results.flows.u64s("size_bytes"));
    // A flow that starts on a detour may finish on a shorter path, and a small last frame that is sprayed may overtake.
    let fastest = results.flows.f64s("slowdown").iter().copied().fold(f64::INFINITY, f64::min);
    let may_overtake = !model.faults.is_empty() || model.routing.is_spread();
    assert!(fastest >= 1.0 || may_overtake, "faster than the wire: {fastest}");
    let in_flight =
        |book: &[(&str, u64)]| book.iter().find(|(name, _)| *name == "in flight").expect("a line").1;
    assert_eq!(
        in_flight(&results.summary.packets),
        0,
        "a flow ends when its last packet has left the network"
    );
}

/// Returns Jain's fairness index of rates: 1 if all are equal, `1 / n` if one of `n` has all.
pub fn jain(rates: &[f64]) -> f64 {
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    rates.iter().sum::<f64>().powi(2) / (rates.len() as f64 * squares)
}

/// Returns the transports that need a lossless network.
pub fn lossless() -> Vec<AnyTransport> {
    let all = clearway_proto::TRANSPORTS.iter().map(|info| transport(info.name));
    all.filter(|transport| transport.needs().lossless).collect()
}

/// Makes a star of 100 Gbps links of 1 us.
pub fn star(hosts: u32) -> Topology {
    Star { hosts, rate: Rate::gbps(100), delay: Span::from_us(1) }.build().unwrap()
}

/// Makes an incast: all other hosts send to the last host at once.
pub fn incast(transport: &AnyTransport, senders: u32, bytes: u64) -> Model {
    let mut model = network_for(transport, star(senders + 1));
    add(&mut model, transport, (0..senders).map(|src| flow(src, senders, bytes)).collect());
    model
}

/// Makes a ring of five switches with one host each, where each host sends to the host two switches further.
pub fn ring(pfc: bool) -> Model {
    let mut text = String::from("10 5 10\n5 6 7 8 9\n");
    for at in 0..5 {
        text += &format!("{at} {} 100Gbps 0.001ms 0\n", at + 5);
        text += &format!("{} {} 100Gbps 0.001ms 0\n", at + 5, (at + 1) % 5 + 5);
    }
    let transport = transport("rocev2");
    let topology = clearway_topology::from_hpcc(&text).expect("a valid file");
    let mut model = network_for(&transport, topology);
    model.switch.shared = Some(SharedBuffer { size: Bytes::new(1_000_000), alpha: 1.0 });
    if !pfc {
        model.pfc = None;
    }
    add(&mut model, &transport, (0..5).map(|at| flow(at, (at + 2) % 5, 50_000_000)).collect());
    model
}

/// Returns a line of a run's books of packets.
pub fn count(results: &Results, name: &str) -> u64 {
    results.summary.packets.iter().find(|(line, _)| *line == name).expect(name).1
}
