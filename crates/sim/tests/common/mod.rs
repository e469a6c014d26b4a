//! The models, transports and checks that tests share.
#![allow(dead_code)]

pub mod shares;

use clearway_proto::{AnyTransport, Framing, MarkingNeeds};
use clearway_sim::model::*;
use clearway_sim::{Ended, Results, Simulation};
use clearway_topology::routing::Policy;
use clearway_topology::{NodeId, Topology};
use clearway_units::{Bytes, Span, Time};

/// Makes a model with unlimited queues and without traffic.
pub fn quiet(topology: Topology) -> Model {
    let class = Class {
        name: "data".into(),
        priority: 0,
        weight: 1,
        limit: Amount::UNLIMITED,
        marking: None,
        at_switches: None,
    };
    let port = PortModel {
        credit: None,
        credit_classes: Vec::new(),
        classes: vec![class],
        shared: None,
        mechanism: None,
    };
    Model {
        seed: 1,
        stop: None,
        topology,
        routing: Policy::SymmetricEcmp,
        framing: Framing::ETHERNET,
        pfc: None,
        whole_ns: false,
        switch: port.clone(),
        host: HostModel { port, processing_delay: Delay::Fixed(Span::ZERO) },
        traffic: Vec::new(),
        faults: Vec::new(),
        loss: Vec::new(),
        samples: Vec::new(),
    }
}

/// Makes a model without traffic whose ports have what a transport needs.
pub fn network_for(transport: &AnyTransport, topology: Topology) -> Model {
    let mut model = quiet(topology);
    let needs = transport.needs();
    if let Some(needs) = needs.credits {
        let class = CreditClass::new(needs.queue, needs.shaping);
        model.switch.credit = Some(class);
        model.host.port.credit = Some(class);
    }
    if let Some(packets) = needs.unscheduled_queue {
        let class = Class { name: "low".into(), priority: 7, ..model.switch.classes[0].clone() };
        model.host.port.classes.push(class.clone());
        let limit = Amount { packets, ..Amount::UNLIMITED };
        model.switch.classes.push(Class { limit, ..class });
    }
    model.switch.mechanism = transport.mechanism();
    use clearway_proto::port::{MarkAt, pfc::PfcConfig};
    model.switch.classes[0].marking = needs.marking.map(|marking| match marking {
        MarkingNeeds::Step => Marking { threshold: Threshold::ByRate, at: MarkAt::Enqueue },
        MarkingNeeds::Red(red) => Marking { threshold: Threshold::Red(red), at: MarkAt::Dequeue },
    });
    if needs.lossless {
        model.switch.shared = Some(SharedBuffer { size: Bytes::new(32_000_000), alpha: 1.0 });
        let (config, storm) = (PfcConfig::DEFAULT, Span::from_ms(200));
        model.pfc = Some(Pfc { config, headroom: None, lossless: vec![true], storm });
    }
    model
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
    model.traffic.push(Traffic {
        name,
        transport: transport.clone(),
        class: 0,
        credit_class: 0,
        notice_class: 0,
        ack_class: 0,
        pattern: Pattern::Flows(flows),
    });
}

/// Runs a model to the end.
pub fn run(model: &Model) -> Results {
    let mut simulation = Simulation::new(model).expect("the model is sound");
    simulation.run(&mut |_| true);
    simulation.finish().expect("the books balance")
}

/// Asserts what holds after every run of a transport that recovers lost data: each byte is delivered once and in order (a
/// receiver can't report more than it delivered, and the books balance), every flow has ended and the network is empty.
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

/// Returns Jain's fairness index of rates: 1 if all are equal, `1 / n` if one of `n` has all.
pub fn jain(rates: &[f64]) -> f64 {
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    rates.iter().sum::<f64>().powi(2) / (rates.len() as f64 * squares)
}
