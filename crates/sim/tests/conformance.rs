//! Conformance tests of all transports on a matrix of conditions. In every cell each byte is delivered once and in
//! order, every flow ends, the books balance, and the network is empty at the end.
//!
//! The last test is random; `CLEARWAY_SEED=... cargo test -p clearway-sim --test conformance` repeats it.

mod common;

use clearway_proto::{AnyTransport, Entity, Rng, TRANSPORTS};
use clearway_sim::model::*;
use clearway_topology::routing::Policy;
use clearway_topology::{Dumbbell, FatTree, NodeId, PortId, Star, Topology};
use clearway_units::{Bytes, Rate, Span, Time};
use common::*;

const GBPS: Rate = Rate::gbps(10);

fn star(hosts: u32) -> Topology {
    Star { hosts, rate: GBPS, delay: Span::from_us(2) }.build().unwrap()
}

fn tree() -> Topology {
    FatTree { k: 4, rate: GBPS, delay: Span::from_us(2), ..FatTree::default() }.build().unwrap()
}

fn dumbbell(pairs: u32) -> Topology {
    Dumbbell { pairs, rate: GBPS, bottleneck_rate: GBPS, ..Dumbbell::default() }.build().unwrap()
}

fn at(us: u64, flow: Flow) -> Flow {
    Flow { start: Time::ZERO + Span::from_us(us), ..flow }
}

/// Transports with options that change how data is sent or recovered, which are rows of the matrix of their own.
const VARIANTS: [(&str, &[(&str, &str)]); 6] = [
    ("rocev2", &[("lossless", "false")]),
    ("dcqcn", &[("lossless", "false"), ("recovery", "selective-repeat")]),
    ("hpcc", &[("lossless", "false"), ("recovery", "selective-repeat")]),
    ("expresspass", &[("tell_end", "true")]),
    ("expresspass", &[("low_priority", "1")]),
    ("expresspass", &[("tell_end", "true"), ("low_priority", "2"), ("handshake", "none")]),
];

/// Returns every transport but `blast`, which does not recover lost data, and the variants.
fn transports() -> impl Iterator<Item = AnyTransport> {
    let variants = VARIANTS.iter().map(|(name, values)| {
        let mut variant = transport(name);
        values.iter().for_each(|(name, value)| variant.set(name, *value).expect("a parameter"));
        variant
    });
    let named = TRANSPORTS.iter().map(|info| info.name).filter(|name| *name != "blast").map(transport);
    named.chain(variants)
}

/// Runs a cell under every transport.
fn cell(topology: &Topology, flows: &[Flow], change: impl Fn(&mut Model)) {
    for transport in transports() {
        let mut model = network_for(&transport, topology.clone());
        if model.pfc.is_none() {
            model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets: 250 };
        }
        add(&mut model, &transport, flows.to_vec());
        change(&mut model);
        println!("{}", transport.info().name);
        check(&run(&model), &model);
    }
}

fn lossy(probability: f64) -> impl Fn(&mut Model) {
    move |model| {
        model.loss =
            (0..model.topology.ports().len() as u32).map(|port| (PortId(port), probability)).collect();
    }
}

#[test]
fn every_transport_delivers_one_byte_to_ten_megabytes_on_an_idle_path() {
    for bytes in [1, 2, 1459, 1460, 1461, 14_600, 123_457, 10_000_000] {
        cell(&star(2), &[flow(0, 1, bytes)], |_| {});
    }
}

#[test]
#[ignore = "needs minutes, for a hundred megabytes under every transport; make test-full"]
fn every_transport_delivers_a_hundred_megabytes_with_and_without_loss() {
    cell(&star(2), &[flow(0, 1, 100_000_000)], |_| {});
    cell(&star(2), &[flow(0, 1, 100_000_000)], lossy(0.001));
}

#[test]
fn every_transport_delivers_its_flows_over_one_bottleneck() {
    let flows: Vec<Flow> =
        (0..8).map(|pair| at(pair * 50, flow(pair as u32, 8 + pair as u32, 500_000))).collect();
    cell(&dumbbell(8), &flows, |_| {});
}

#[test]
fn every_transport_delivers_its_flows_in_an_incast() {
    let flows: Vec<Flow> = (1..65).map(|sender| flow(sender, 0, 40_000)).collect();
    cell(&star(65), &flows, |_| {});
}

#[test]
fn every_transport_delivers_its_flows_over_many_hops_in_both_directions() {
    let there = (0..8).map(|host| flow(host, 15 - host, 200_000));
    let back = (0..8).map(|host| flow(15 - host, host, 150_000));
    cell(&tree(), &there.chain(back).collect::<Vec<_>>(), |_| {});
}

#[test]
fn every_transport_recovers_from_random_loss_of_up_to_five_percent() {
    for probability in [0.001, 0.01, 0.05] {
        let flows = [flow(0, 3, 300_000), flow(1, 3, 100_000), flow(3, 2, 1), flow(2, 0, 30_000)];
        cell(&star(4), &flows, lossy(probability));
    }
}

#[test]
fn every_transport_delivers_its_flows_despite_reordering_by_spraying() {
    let flows: Vec<Flow> = (0..8).map(|host| flow(host, 15 - host, 400_000)).collect();
    cell(&tree(), &flows, |model| {
        model.routing = Policy::Spray;
        model.host.processing_delay = Delay::Uniform(Span::ZERO, Span::from_us(3));
    });
}

#[test]
fn processing_delays_never_reorder_the_packets_of_a_flow() {
    for name in ["newreno", "rocev2"] {
        let transport = transport(name);
        let mut model = network_for(&transport, star(2));
        // The longest delay is sixteen frames long, so that packets would overtake each other.
        model.host.processing_delay = Delay::Uniform(Span::ZERO, Span::from_us(20));
        add(&mut model, &transport, vec![flow(0, 1, 1_000_000)]);
        let results = run(&model);
        assert_eq!(results.flows.u64s("retransmits"), [0], "{name}");
        check(&results, &model);
    }
}

#[test]
fn every_transport_recovers_when_links_fail_and_come_back() {
    let flows: Vec<Flow> = (0..8).map(|host| flow(host, 15 - host, 400_000)).collect();
    let us = |us| Time::ZERO + Span::from_us(us);
    cell(&tree(), &flows, |model| {
        let topology = &model.topology;
        let node = |name: &str| topology.node(name).expect(name);
        let link = topology.port_between(node("agg0"), node("core0")).expect("a link");
        let own = topology.ports_of(NodeId(3))[0];
        let both = |port: PortId, at, up| [port, port.reverse()].map(|port| Fault::at_once(at, port, up));
        model.faults =
            [both(link, us(100), false), both(own, us(200), false), both(own, us(3_000), true)].concat();
        // One link fails in one direction only.
        let port = topology.port_between(node("tor2"), node("agg2")).expect("a link");
        model.faults.push(Fault::at_once(us(150), port, false));
        model.faults.push(Fault::at_once(us(5_000), link, true));
        model.faults.push(Fault::at_once(us(5_000), link.reverse(), true));
        model.faults.sort_by_key(|fault| fault.at);
    });
}

#[test]
fn every_transport_delivers_its_flows_with_buffers_of_one_or_two_frames() {
    for packets in [1, 2] {
        let flows: Vec<Flow> = (1..9).map(|sender| flow(sender, 0, 60_000)).collect();
        cell(&star(9), &flows, |model| {
            model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets };
        });
    }
}

#[test]
fn every_transport_delivers_its_flows_under_random_conditions() {
    #[allow(clippy::disallowed_methods, reason = "the seed of a test, printed, may come from outside")]
    let seed = std::env::var("CLEARWAY_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| {
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970");
        since.as_nanos() as u64
    });
    println!("CLEARWAY_SEED={seed}");
    let mut rng = Rng::stream(seed, Entity::Traffic, 0);
    let mut flows: Vec<Flow> = (0..24)
        .map(|_| {
            let src = rng.below(16) as u32;
            let dst = (src + 1 + rng.below(15) as u32) % 16;
            let scale = 1 + rng.below(20);
            let bytes = 1 + rng.below(1 << scale);
            at(rng.below(2_000), flow(src, dst, bytes))
        })
        .collect();
    flows.sort_by_key(|flow| flow.start);
    let (probability, packets) = (rng.below(4) as f64 * 0.01, 1 + rng.below(100) as u32);
    let policy = [Policy::SymmetricEcmp, Policy::Ecmp, Policy::Spray][rng.below(3) as usize];
    let spread = Span::from_us(rng.below(8));
    cell(&tree(), &flows, |model| {
        model.seed = seed;
        model.routing = policy;
        model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets };
        model.host.processing_delay = Delay::Uniform(Span::ZERO, spread);
        if probability > 0.0 {
            lossy(probability)(model);
        }
    });
}
