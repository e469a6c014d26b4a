//! Models that tests start from.
#![allow(dead_code)]

pub mod shares;

use clearway_proto::AnyTransport;
use clearway_sim::model::*;
use clearway_sim::{Ended, Results, Simulation, ports};
use clearway_topology::routing::Policy;
use clearway_topology::{NodeId, Topology};
use clearway_units::{Bytes, Time};

/// A network of unlimited queues without traffic.
pub fn quiet(topology: Topology) -> Model {
    ports::network_for(topology, []).expect("nothing is asked for")
}

/// A network without traffic whose ports have what a transport needs.
pub fn network_for(transport: &AnyTransport, topology: Topology) -> Model {
    ports::network_for(topology, [transport]).expect("one transport agrees with itself")
}

/// A transport with its defaults.
pub fn transport(name: &str) -> AnyTransport {
    AnyTransport::by_name(name).unwrap_or_else(|| panic!("no transport {name}"))
}

/// The same whose credits all have 84 bytes, for what must come out exactly.
pub fn even_credits(name: &str) -> AnyTransport {
    let mut made = transport(name);
    made.set("randomize_size", "false").expect("a transport with credits");
    made
}

/// A flow that starts at zero.
pub fn flow(src: u32, dst: u32, bytes: u64) -> Flow {
    Flow { start: Time::ZERO, src: NodeId(src), dst: NodeId(dst), size: Some(Bytes::new(bytes)), stop: None }
}

/// Adds flows of a transport.
pub fn add(model: &mut Model, transport: &AnyTransport, flows: Vec<Flow>) {
    let name = format!("traffic{}", model.traffic.len());
    model.add_traffic(name, transport, Pattern::Flows(flows));
}

/// Runs to the end.
pub fn run(model: &Model) -> Results {
    let mut simulation = Simulation::new(model).expect("the model is sound");
    simulation.run(&mut |_| true);
    simulation.finish().expect("the books balance")
}

/// What holds after every run of a transport that recovers: each byte delivered once and in order (a receiver can't say
/// that it delivered more than it did, and the books balance), every flow ended, nothing left in the network.
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
    // A flow that starts on a detour may finish on a shorter way, and a small last frame that is sprayed may overtake.
    let fastest = results.flows.f64s("slowdown").iter().copied().fold(f64::INFINITY, f64::min);
    let may_overtake = !model.faults.is_empty() || model.routing == Policy::Spray;
    assert!(fastest >= 1.0 || may_overtake, "faster than the wire: {fastest}");
    let in_flight =
        |book: &[(&str, u64)]| book.iter().find(|(name, _)| *name == "in flight").expect("a line").1;
    assert_eq!(
        in_flight(&results.summary.packets),
        0,
        "a flow ends when its last packet has left the network"
    );
}
