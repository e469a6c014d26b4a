//! Packets that are spread over all shortest paths: how evenly, at what cost of memory, and what becomes of them when links
//! fail.

mod common;
#[path = "random/heap.rs"]
mod heap;

use clearway_proto::TRANSPORTS;
use clearway_sim::model::*;
use clearway_sim::{Partition, Results, Simulation};
use clearway_topology::*;
use clearway_units::{Bytes, Rate, Span, Time};
use common::*;
use std::sync::Mutex;

/// The tests of this file take turns, since one of them counts the memory of the process.
static TURN: Mutex<()> = Mutex::new(());

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn tree(k: u32) -> Topology {
    FatTree { k, ..FatTree::default() }.build().unwrap()
}

/// A network in which each host sends one flow of `bytes` to the host half of all hosts further, spread or not.
fn shifted(name: &str, topology: Topology, bytes: u64, routing: Policy) -> Model {
    let transport = transport(name);
    let mut model = network_for(&transport, topology);
    model.routing = routing;
    let hosts = model.topology.hosts() as u32;
    let flows = (0..hosts).map(|src| flow(src, (src + hosts / 2) % hosts, bytes));
    let flows = flows.collect();
    add(&mut model, &transport, flows);
    model
}

fn run_in_parts(model: &Model, partition: &Partition) -> Results {
    let mut simulation = Simulation::spooled(model, partition, [None, None]).expect("the model is sound");
    simulation.run(&mut |_| true);
    simulation.finish().expect("the books balance")
}

fn named(topology: &Topology, from: &str, to: &str) -> PortId {
    topology.port_between(topology.node(from).unwrap(), topology.node(to).unwrap()).unwrap()
}

#[test]
fn the_packets_of_one_flow_are_spread_evenly_over_all_core_switches() {
    let _turn = TURN.lock();
    let mut model = network_for(&transport("blast"), tree(8));
    model.routing = Policy::Spray;
    let packets = 8_000;
    add(&mut model, &transport("blast"), vec![flow(0, 127, packets * 1460)]);
    let results = run(&model);
    let sent = results.ports.u64s("tx_packets");
    let to_cores: Vec<f64> = model
        .topology
        .ports()
        .iter()
        .zip(sent)
        .filter(|(port, sent)| model.topology.nodes()[port.to.index()].tier == 3 && **sent > 0)
        .map(|(_, sent)| *sent as f64)
        .collect();
    assert_eq!(to_cores.len(), 16);
    let expected = packets as f64 / 16.0;
    assert_eq!(to_cores.iter().sum::<f64>(), packets as f64);
    // The chi-square statistic of 15 degrees of freedom has a mean of 15 and a standard deviation of 5.5.
    let chi2: f64 = to_cores.iter().map(|sent| (sent - expected).powi(2) / expected).sum();
    assert!((2.0..43.0).contains(&chi2), "{chi2}: {to_cores:?}");
}

#[test]
fn a_flow_whose_packets_are_spread_takes_at_most_200_bytes_more_at_any_size_of_the_network() {
    let _turn = TURN.lock();
    for k in [16, 32] {
        let peak = |routing| {
            let mut model = shifted("dctcp", tree(k), 1_000_000, routing);
            // All flows have started by then.
            model.stop = Some(Time::ZERO + Span::from_ns(1));
            heap::peak_of(|| run(&model)).1 as f64
        };
        let flows = f64::from(k * k * k / 4);
        let more = (peak(Policy::Spray) - peak(Policy::SymmetricEcmp)) / flows;
        println!("{flows} hosts: {more:.0} bytes a flow more than with symmetric-ecmp");
        assert!(more < 200.0, "{more} bytes a flow more on {flows} hosts");
    }
}

#[test]
fn where_there_is_one_path_spreading_changes_nothing_for_any_transport() {
    let _turn = TURN.lock();
    for name in TRANSPORTS.iter().map(|info| info.name) {
        let hash = |routing| {
            let mut model = shifted(name, star(6), 60_000, routing);
            model.stop = Some(at(3_000));
            // Its ends draw credits' sizes and times, pacing and processing delays.
            model.host.processing_delay = Delay::Uniform(Span::ZERO, Span::from_us(2));
            run(&model).hash()
        };
        assert_eq!(
            hash(Policy::Spray),
            hash(Policy::Ecmp),
            "{name}: an entropy is drawn where a protocol draws"
        );
    }
}

#[test]
fn any_number_of_threads_gives_the_same_with_failures_flow_control_and_notifications() {
    let _turn = TURN.lock();
    for name in ["dctcp", "expresspass", "rocev2", "dcqcn", "pacc"] {
        let mut model = shifted(name, tree(4), 300_000, Policy::Spray);
        model.stop = Some(at(20_000));
        let port = named(&model.topology, "agg0", "core0");
        let fault = |at: Time, port, up| Fault {
            scales: false,
            noticed: Some(at + Span::from_us(40)),
            ..Fault::at_once(at, port, up)
        };
        model.faults = vec![
            fault(at(50), port, false),
            fault(at(80), port.reverse(), false),
            fault(at(400), port, true),
        ];
        let one = run(&model);
        for parts in [2, 3] {
            let cut = any_cut(&model, parts, parts);
            assert_eq!(run_in_parts(&model, &cut).hash(), one.hash(), "{name} in {parts} parts");
        }
    }
}

#[test]
fn packets_are_lost_at_a_link_that_failed_until_routing_notices_it_and_go_around_it_then() {
    let _turn = TURN.lock();
    let mut model = network_for(&transport("blast"), tree(4));
    model.routing = Policy::Spray;
    add(&mut model, &transport("blast"), vec![Flow { size: None, ..flow(0, 15, 1) }]);
    model.stop = Some(at(1_000));
    let down = named(&model.topology, "agg0", "core0");
    model.faults = vec![Fault { noticed: Some(at(300)), ..Fault::at_once(at(200), down, false) }];
    let results = run(&model);
    let of = |column: &str, port: PortId| results.ports.u64s(column)[port.index()];
    let frame = Rate::gbps(10).time_to_send(Bytes::new(1538)).as_secs_f64();
    // A quarter of the packets goes there: for 200 us they cross it, and for 100 us they are lost.
    for (column, us) in [("tx_packets", 200.0), ("drops_down", 100.0)] {
        let expected = us * 1e-6 / frame / 4.0;
        let found = of(column, down) as f64;
        assert!((found - expected).abs() < 5.0 * expected.sqrt() + 6.0, "{column}: {found}, not {expected}");
    }
    let detour = named(&model.topology, "agg0", "core1");
    assert!(of("tx_packets", detour) > 5 * of("tx_packets", down), "all that agg0 gets goes there");
    assert_eq!(of("drops_down", detour), 0);
}
