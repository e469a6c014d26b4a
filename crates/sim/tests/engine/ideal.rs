//! A property test of the ideal completion time: no flow beats it, in whatever network, on whatever paths, whatever fails;
//! and no link is busy for more than all of the time.
//!
//! `PROPTEST_CASES=5000 cargo test -p clearway-sim --test engine ideal:: -- --ignored` draws many cases.

use crate::common::*;
use clearway_proto::{AnyTransport, Framing, TRANSPORTS};
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_topology::routing::Policy;
use clearway_topology::*;
use clearway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Switches that form a random tree with some further links, and hosts with one link each.
fn random_network() -> impl Strategy<Value = Topology> {
    let links = (
        prop::collection::vec(any::<Index>(), 2..9),
        prop::collection::vec(any::<Index>(), 0..7),
        prop::collection::vec(any::<(Index, Index)>(), 0..10),
    );
    links.prop_map(|(hosts, tree, further)| {
        let mut builder = Builder::new();
        let nodes: Vec<NodeId> = (0..hosts.len()).map(|host| builder.add_host(format!("h{host}"))).collect();
        let switches: Vec<NodeId> =
            (0..=tree.len()).map(|switch| builder.add_switch(format!("s{switch}"), 0)).collect();
        let mut link = |a, b| {
            if a != b {
                builder.link(a, b, Rate::gbps(10), Span::from_us(1));
            }
        };
        nodes.iter().zip(&hosts).for_each(|(host, on)| link(*host, switches[on.index(switches.len())]));
        tree.iter().enumerate().for_each(|(at, below)| link(switches[at + 1], switches[below.index(at + 1)]));
        further.iter().for_each(|(a, b)| {
            link(switches[a.index(switches.len())], switches[b.index(switches.len())]);
        });
        builder.build().expect("the switches are joined")
    })
}

fn shapes() -> impl Strategy<Value = Topology> {
    let made = (0..5).prop_map(|kind| {
        match kind {
            0 => Star { hosts: 6, ..Star::default() }.build(),
            1 => FatTree { k: 4, ..FatTree::default() }.build(),
            2 => Dumbbell { pairs: 3, ..Dumbbell::default() }.build(),
            3 => LeafSpine { leaves: 3, spines: 4, hosts_per_leaf: 2, ..LeafSpine::default() }.build(),
            _ => ParkingLot { bottlenecks: 3, ..ParkingLot::default() }.build(),
        }
        .expect("the shape is valid")
    });
    prop_oneof![made, random_network()]
}

/// A network whose links have one rate and delay, or whose switches have slower links, or whose links differ at random.
fn networks() -> impl Strategy<Value = Topology> {
    let rates = select(vec![1_000u64, 2_500, 10_000, 25_000, 40_000, 56_000, 100_000, 333_333]);
    let link = (rates, prop_oneof![Just(0u64), 1u64..20_000]);
    let several = prop::collection::vec(link, 64);
    (shapes(), 0..3, several).prop_map(|(mut topology, kind, links)| {
        for port in (0..topology.ports().len() as u32).step_by(2).map(PortId) {
            let Port { from, to, .. } = *topology.port(port);
            let of_host = topology.is_host(from) || topology.is_host(to);
            let place = match kind {
                0 => 0,
                1 => usize::from(of_host),
                _ => port.link() % links.len(),
            };
            let (mbps, ns) = links[place];
            topology.set_link(port, Rate::mbps(mbps), Span::from_ns(ns));
        }
        topology
    })
}

fn framings() -> impl Strategy<Value = Framing> {
    let payload = |payload_max| Framing { payload_max, ..Framing::ETHERNET };
    let hpcc = Framing { payload_max: 1000, overhead: 48, wire_min: 60 };
    let bare = Framing { payload_max: 1000, overhead: 0, wire_min: 64 };
    select(vec![Framing::ETHERNET, Framing::NS2, hpcc, bare, payload(64), payload(536), payload(9000)])
}

/// What may go wrong in a network, and what makes its hosts slow.
#[derive(Clone, Debug)]
struct Trouble {
    loss: f64,
    buffer: u32,
    /// Links that fail and come back, as their number and both times in microseconds.
    faults: Vec<(Index, u64, u64)>,
    delay: u64,
}

fn troubles() -> impl Strategy<Value = Trouble> {
    let loss = prop_oneof![4 => Just(0.0), 1 => 0.001..0.05f64];
    let buffer = select(vec![5u32, 50, u32::MAX]);
    let faults =
        prop_oneof![Just(Vec::new()), prop::collection::vec((any::<Index>(), 0u64..300, 1u64..300), 1..6)];
    let delay = prop_oneof![3 => Just(0u64), 1 => 1u64..8];
    (loss, buffer, faults, delay).prop_map(|(loss, buffer, faults, delay)| Trouble {
        loss,
        buffer,
        faults,
        delay,
    })
}

/// The traffic of a case: a transport, flows as source, step to the destination, bytes, start and perhaps a stop in
/// microseconds, and whether another entry has rounds on connections that stand.
#[derive(Clone, Debug)]
struct Load {
    transport: AnyTransport,
    flows: Vec<(u32, u32, u64, u64, Option<u64>)>,
    has_rounds: bool,
}

fn loads() -> impl Strategy<Value = Load> {
    let bytes = prop_oneof![1u64..100, 1u64..3_000, 1u64..20_000, 1u64..300_000];
    let stop = prop_oneof![5 => Just(None), 1 => (301u64..600).prop_map(Some)];
    let flow = (0u32..100, 0u32..100, bytes, prop_oneof![Just(0u64), 0u64..300], stop);
    let flows =
        prop_oneof![2 => prop::collection::vec(flow.clone(), 1), 3 => prop::collection::vec(flow, 1..12)];
    (0..TRANSPORTS.len(), flows, any::<bool>(), any::<bool>()).prop_map(
        |(index, flows, option, has_rounds)| {
            let mut transport = transport(TRANSPORTS[index].name);
            if option && transport.info().name == "expresspass" {
                transport.set("low_priority", "1").expect("a parameter of ExpressPass");
            }
            Load { transport, flows, has_rounds }
        },
    )
}

fn case(topology: Topology, policy: Policy, framing: Framing, load: &Load, trouble: &Trouble) -> Model {
    let mut model = network_for(&load.transport, topology);
    let hosts = model.topology.hosts() as u32;
    let links = model.topology.links();
    (model.routing, model.framing) = (policy, framing);
    model.seed = load.flows[0].2;
    model.stop = Some(Time::ZERO + Span::from_ms(20));
    model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets: trouble.buffer };
    model.host.processing_delay = Delay::Uniform(Span::ZERO, Span::from_us(trouble.delay));
    if trouble.loss > 0.0 {
        model.loss = (0..2 * links as u32).map(|port| (PortId(port), trouble.loss)).collect();
    }
    let at = |us| Time::ZERO + Span::from_us(us);
    let faults = trouble.faults.iter().flat_map(|&(link, down, time)| {
        let port = PortId(2 * link.index(links) as u32);
        let of = move |us, up| [port, port.reverse()].map(|port| Fault::at_once(at(us), port, up));
        [of(down, false), of(down + time, true)].concat()
    });
    model.faults = faults.collect();
    model.faults.sort_by_key(|fault| fault.at);
    let flows = load.flows.iter().map(|&(src, step, bytes, us, stop)| Flow {
        start: at(us),
        stop: stop.map(at),
        ..flow(src % hosts, (src % hosts + 1 + step % (hosts - 1)) % hosts, bytes)
    });
    let mut flows: Vec<Flow> = flows.collect();
    flows.sort_by_key(|flow| flow.start);
    add(&mut model, &load.transport, flows);
    if load.has_rounds {
        let rounds = Rounds {
            client: NodeId(0),
            workers: vec![NodeId(1), NodeId(hosts - 1), NodeId(1)],
            request: Bytes::new(200),
            response: Bytes::new(load.flows[0].2),
            longer: 1,
            reconnect: false,
            rounds: 3,
            barrier: false,
            start: at(load.flows[0].3),
            pause: Span::ZERO,
            spread: Span::ZERO,
        };
        model.add_traffic("rounds", &load.transport, Pattern::Rounds(rounds));
    }
    model
}

fn cases() -> impl Strategy<Value = Model> {
    let policies = vec![Policy::SymmetricEcmp, Policy::Ecmp, Policy::Ns2Xpass, Policy::Spray, Policy::Spray];
    let network = (networks(), select(policies), framings(), any::<bool>());
    (network, loads(), troubles(), 0u64..400).prop_map(
        |((topology, policy, framing, whole_ns), load, trouble, us)| {
            let mut model = case(topology, policy, framing, &load, &trouble);
            model.whole_ns = whole_ns;
            model.whole_ns = model.timeless_port().is_none() && whole_ns;
            let at = |us| Some(Time::ZERO + Span::from_us(us));
            model.measure = Measure { from: at(us), until: at(us + 1 + us % 40) };
            model
        },
    )
}

/// Asserts that nothing was faster than possible.
fn check(results: &Results) {
    let table = &results.flows;
    let fastest = table.f64s("slowdown").iter().copied().fold(f64::INFINITY, f64::min);
    assert!(fastest >= 1.0, "a flow took {fastest} of the shortest time: {:?}", table.f64s("slowdown"));
    let takes_time = |(ideal, bytes): (&f64, &u64)| (*ideal > 0.0) == (*bytes > 0) || ideal.is_nan();
    assert!(table.f64s("ideal_fct_s").iter().zip(table.u64s("size_bytes")).all(takes_time));
    for column in ["utilisation", "window_utilisation"] {
        let most = results.ports.f64s(column).iter().copied().fold(0.0, f64::max);
        assert!(most <= 1.0, "{column}: {most}");
    }
}

proptest! {
    #[test]
    fn no_flow_beats_its_ideal_time_and_no_link_is_busy_for_more_than_all_of_it(model in cases()) {
        check(&run(&model));
    }
}

#[test]
#[ignore = "needs minutes; make test-full"]
fn no_flow_beats_its_ideal_time_in_thousands_of_cases() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: ProptestConfig::default().cases.max(20_000),
        source_file: Some(file!()),
        ..ProptestConfig::default()
    });
    runner
        .run(&cases(), |model| {
            check(&run(&model));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_flow_without_a_size_on_several_paths_runs_until_it_is_stopped() {
    let tree = FatTree::default().build().expect("the default is valid");
    let mut model = network_for(&transport("fixed-window"), tree);
    model.routing = Policy::Spray;
    model.stop = Some(Time::ZERO + Span::from_us(200));
    add(&mut model, &transport("fixed-window"), vec![Flow { size: None, ..flow(2, 11, 0) }]);
    let results = run(&model);
    assert!(results.flows.u64s("delivered_bytes")[0] > 0, "{:?}", results.summary);
    assert!(results.flows.f64s("slowdown")[0].is_nan(), "it never completes");
}
