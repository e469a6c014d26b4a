//! A property test of plain ports, at which the departure of a packet is known when it arrives: a network of them does
//! to the byte what one does whose ports wake for every packet that waited.

use crate::common::mixes::one_in;
use crate::common::*;
use clearway_proto::port::{MarkAt, RedConfig};
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_topology::*;
use clearway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

/// Flows as (source, step to the destination, bytes, start in nanoseconds).
type Flows = Vec<(u32, u32, u64, u64)>;

fn topologies() -> impl Strategy<Value = Topology> {
    let rate = prop_oneof![Just(Rate::gbps(10)), Just(Rate::gbps(100)), Just(Rate::gbps(300))];
    (0..4, rate, 0u64..5).prop_map(|(kind, rate, us)| {
        let delay = Span::from_us(us);
        let made = match kind {
            0 => Star { hosts: 6, rate, delay }.build(),
            1 => FatTree { k: 4, rate, delay, ..FatTree::default() }.build(),
            2 => Dumbbell { pairs: 4, rate, delay, ..Dumbbell::default() }.build(),
            _ => ParkingLot { bottlenecks: 3, rate, delay }.build(),
        };
        made.expect("the shape is valid")
    })
}

/// A marking other than the transport's: none, at a short queue as packets join or leave, or at random.
fn markings() -> impl Strategy<Value = Option<Marking>> {
    let step =
        |at| Marking { threshold: Threshold::Fixed(Amount { bytes: Bytes::new(9_000), packets: 4 }), at };
    let red = RedConfig { k_min: Bytes::new(3_000), k_max: Bytes::new(60_000), ..RedConfig::DEFAULT };
    let red = Marking { threshold: Threshold::Red(red), at: MarkAt::Enqueue };
    prop_oneof![
        Just(None),
        Just(Some(step(MarkAt::Enqueue))),
        Just(Some(step(MarkAt::Dequeue))),
        Just(Some(red))
    ]
}

fn case(name: &str, topology: &Topology, flows: &Flows, marking: Option<Marking>, packets: u32) -> Model {
    let transport = transport(name);
    let mut model = network_for(&transport, topology.clone());
    let hosts = model.topology.hosts() as u32;
    model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets };
    model.switch.classes[0].marking = marking.or(model.switch.classes[0].marking);
    let mut list: Vec<Flow> = flows
        .iter()
        .map(|&(src, step, bytes, ns)| Flow {
            start: Time::ZERO + Span::from_ns(ns),
            ..flow(src % hosts, (src + 1 + step % (hosts - 1)) % hosts, bytes)
        })
        .collect();
    list.sort_by_key(|flow| flow.start);
    add(&mut model, &transport, list);
    look(&mut model, Span::from_us(3));
    model
}

/// Samples all ports of a model.
fn look(model: &mut Model, every: Span) {
    let ports: Vec<PortId> = (0..model.topology.ports().len() as u32).map(PortId).collect();
    let probes = [Probe::Queue(ports.clone()), Probe::PortRate(ports.clone()), Probe::Marks(ports)];
    model.samples = probes.map(|what| Sample { name: "look".into(), every, what }).to_vec();
}

/// Returns the model with all ports covered by a trace that keeps nothing, so that none is plain.
fn woken(model: &Model) -> Model {
    let ports = (0..model.topology.ports().len() as u32).map(PortId).collect();
    let trace = Trace {
        name: "all".into(),
        ports,
        flows: None,
        from: Time::ZERO,
        until: Some(Time::ZERO),
        limit: 0,
        formats: Vec::new(),
    };
    Model { traces: vec![trace], ..model.clone() }
}

/// All that a run shows, but for the number of its events.
fn shown(results: &Results) -> String {
    let summary = &results.summary;
    let books = (&summary.packets, &summary.bytes, &summary.credits, summary.link_transmissions, summary.end);
    format!("{} {:?} {books:?} {:?} {:?}", results.hash(), summary.ended, results.ports, results.samples)
}

proptest! {
    #![proptest_config(one_in(8))]
    #[test]
    fn a_network_of_plain_ports_does_what_one_does_whose_ports_wake(
        topology in topologies(),
        flows in prop::collection::vec((0u32..100, 0u32..100, 1u64..200_000, 0u64..20_000), 2..12),
        (marking, packets) in (markings(), prop_oneof![Just(3u32), Just(40), Just(u32::MAX)]),
        stop in prop_oneof![Just(None), (1_000u64..100_000).prop_map(Some)],
        window in (0u64..40_000, 0u64..40_000),
    ) {
        for name in ["dctcp", "cubic", "naive-credit", "blast"] {
            let mut model = case(name, &topology, &flows, marking, packets);
            let ns = |ns| Time::ZERO + Span::from_ns(ns);
            model.stop = stop.map(ns);
            model.measure = Measure { from: Some(ns(window.0)), until: Some(ns(window.0 + window.1 + 1)) };
            let (plain, other) = (run(&model), run(&woken(&model)));
            prop_assert_eq!(shown(&plain), shown(&other), "{}", name);
            prop_assert!(plain.summary.events <= other.summary.events);
        }
    }
}

#[test]
fn a_packet_that_waits_at_a_plain_port_costs_no_event_of_its_own() {
    let blast = transport("blast");
    let model = incast(&blast, 4, 146_000);
    let (plain, other) = (run(&model), run(&woken(&model)));
    // 400 frames come to a port in the time of 100, so 300 of them wait at the least.
    assert!(plain.summary.events + 300 <= other.summary.events);
    assert_eq!(shown(&plain), shown(&other));
}

#[test]
fn whoever_looks_in_the_instant_in_which_a_frame_starts_sees_that_it_has_started() {
    let blast = transport("blast");
    let mut model = incast(&blast, 4, 146_000);
    // The first frames reach the switch after a frame's time and the delay, and one starts each frame's time from then.
    let frame = Span::from_ps(123_040);
    let instant = frame + Span::from_us(1) + frame * 10;
    look(&mut model, instant);
    for stop in [instant, instant + Span::from_ps(1)] {
        model.stop = Some(Time::ZERO + stop);
        let (plain, other) = (run(&model), run(&woken(&model)));
        assert_eq!(shown(&plain), shown(&other));
    }
}
