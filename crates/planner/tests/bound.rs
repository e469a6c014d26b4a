//! Tests of the safe bound against the simulator: no queue exceeds it, whatever the network, the delays and the
//! traffic.

#[path = "../../sim/tests/common/mod.rs"]
mod common;

use clearway_planner::buffers::{Parameters, Reading, bounds};
use clearway_proto::AnyTransport;
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_topology::*;
use clearway_units::{Rate, Span, Time};
use common::*;
use proptest::prelude::*;

fn rates() -> impl Strategy<Value = Rate> {
    prop_oneof![Just(Rate::gbps(1)), Just(Rate::gbps(10)), Just(Rate::gbps(40)), Just(Rate::gbps(100))]
}

/// Returns a network of two pods of two ToRs, with two hosts each, whose links to the cores differ from the others.
fn clos(rate: Rate, delay: Span, core_rate: Rate, core_delay: Span) -> Clos3 {
    Clos3 {
        pods: 2,
        tors_per_pod: 2,
        aggs_per_pod: 2,
        hosts_per_tor: 2,
        cores: 2,
        uplinks_per_agg: 1,
        rate,
        delay,
        agg_rate: rate,
        agg_delay: delay,
        core_rate,
        core_delay,
    }
}

/// Generates a shape with links of two rates and two delays, some of which are then changed at random.
fn topologies() -> impl Strategy<Value = Topology> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), rates(), 0u64..20_000), 0..4);
    (0..6, rates(), rates(), 0u64..8_000, 0u64..8_000, changes).prop_map(
        |(kind, rate, fast, a, b, changes)| {
            let (delay, far) = (Span::from_ns(a), Span::from_ns(b));
            let made = match kind {
                0 => Star { hosts: 6, rate, delay }.build(),
                1 => Dumbbell { pairs: 4, rate, delay, bottleneck_rate: fast, bottleneck_delay: far }.build(),
                2 => ParkingLot { bottlenecks: 3, rate, delay }.build(),
                3 => FatTree {
                    k: 4,
                    rate,
                    delay,
                    core_rate: Some(fast),
                    core_delay: Some(far),
                    ..FatTree::default()
                }
                .build(),
                4 => LeafSpine {
                    leaves: 3,
                    spines: 2,
                    hosts_per_leaf: 3,
                    rate,
                    delay,
                    uplink_rate: fast,
                    uplink_delay: far,
                }
                .build(),
                _ => clos(rate, delay, fast, far).build(),
            };
            let mut topology = made.expect("the shape is valid");
            for (which, rate, ns) in changes {
                let port = PortId::from_index(which.index(topology.ports().len()));
                topology.set_link(port, rate, Span::from_ns(ns));
            }
            topology
        },
    )
}

/// Generates flows as (source, destination, bytes, start in ns).
fn traffic() -> impl Strategy<Value = Vec<(u32, u32, u64, u64)>> {
    let one = (0u32..64, 0u32..64, prop_oneof![Just(1u64), 1u64..20_000, Just(2_000_000u64)], 0u64..100_000);
    let any = prop::collection::vec(one, 1..24);
    // Incast: all senders start to one host at one instant.
    let incast = (0u32..64, 2u32..24, prop_oneof![Just(1_000u64), Just(300_000)])
        .prop_map(|(to, senders, bytes)| (0..senders).map(|from| (to + 1 + from, to, bytes, 0)).collect());
    // Each host sends to those with the next higher numbers.
    let all = (2u32..6, 2u32..6, Just(400_000u64)).prop_map(|(hosts, near, bytes)| {
        let pairs =
            (0..hosts).flat_map(|a| (1..near).map(move |step| (a, a + step, bytes, u64::from(a) * 700)));
        pairs.collect()
    });
    prop_oneof![any, incast, all]
}

fn transports() -> impl Strategy<Value = AnyTransport> {
    let set = |name: &str, values: &[(&str, &str)]| {
        let mut made = transport(name);
        values.iter().for_each(|(key, value)| made.set(key, *value).expect("a parameter"));
        made
    };
    prop_oneof![
        Just(set("expresspass", &[("randomize_size", "false")])),
        Just(set("expresspass", &[("randomize_size", "true"), ("size_min", "76"), ("alpha", "1")])),
        Just(set(
            "expresspass",
            &[("feedback", "sigcomm17-matched"), ("alpha", "0.5"), ("credit_queue", "4")]
        )),
        Just(set("naive-credit", &[("randomize_size", "false")])),
        Just(set("naive-credit", &[("randomize_size", "false"), ("credit_queue", "16")])),
    ]
}

/// Runs the flows for at most 3 ms of simulated time. `delay` is the least host delay and its range, in ns.
fn simulate(
    transport: &AnyTransport,
    topology: Topology,
    delay: (u64, u64),
    flows: &[(u32, u32, u64, u64)],
    seed: u64,
) -> (Model, Results) {
    let mut model = network_for(transport, topology);
    model.seed = seed;
    model.stop = Some(Time::ZERO + Span::from_ms(3));
    let (least, most) = (Span::from_ns(delay.0), Span::from_ns(delay.0 + delay.1));
    model.host.processing_delay = Delay::Uniform(least, most);
    let hosts = model.topology.hosts() as u32;
    let mut flows: Vec<_> = flows.iter().filter(|(a, b, ..)| a % hosts != b % hosts).collect();
    flows.sort_by_key(|flow| flow.3);
    let made = flows.into_iter().map(|&(a, b, bytes, ns)| Flow {
        start: Time::ZERO + Span::from_ns(ns),
        ..flow(a % hosts, b % hosts, bytes)
    });
    add(&mut model, transport, made.collect());
    let results = run(&model);
    (model, results)
}

/// Returns the parameters of the bound that describe a model.
fn parameters(model: &Model, delay: (u64, u64), flows: usize) -> Parameters {
    let credit = model.switch.credit.expect("a transport with credits");
    Parameters {
        credit_queue: credit.queue,
        shaping: credit.shaping,
        // The least and largest credit size of all transports here; a wider range only raises the bound.
        credit_sizes: (76, 92),
        host_delay: (Span::from_ns(delay.0), Span::from_ns(delay.0 + delay.1)),
        flows: flows as u32,
        busy: Span::from_ms(3),
        ..Parameters::PAPER
    }
}

/// Returns the largest ratio of a switch's queue to its bound, with the port's name.
fn worst(model: &Model, results: &Results, parameters: &Parameters) -> (f64, String) {
    let bounds = bounds(&model.topology, parameters, Reading::Safe).expect("a tree has no cycle");
    let queues = results.ports.u64s("queue_max_bytes");
    let ports = (0..bounds.len()).filter(|&port| !model.topology.is_host(model.topology.ports()[port].from));
    let shares = ports.map(|port| {
        let bound = bounds[port].map_or(0.0, |bound| bound.bytes());
        let name = model.topology.port_name(PortId::from_index(port));
        let share = if queues[port] == 0 { 0.0 } else { queues[port] as f64 / bound };
        (share, format!("{name}: {} of {bound:.0} B", queues[port]))
    });
    shares.fold((0.0, String::new()), |most, this| if this.0 > most.0 { this } else { most })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_measured_queue_exceeds_the_safe_bound(
        topology in topologies(),
        transport in transports(),
        delay in (0u64..4_000, prop_oneof![Just(0u64), 0u64..8_000]),
        flows in traffic(),
        seed in 0u64..1000,
    ) {
        let (model, results) = simulate(&transport, topology, delay, &flows, seed);
        // Where credits have one size, the bound must hold without the term for random sizes.
        let fixed = transport.write().iter().any(|(name, value)| *name == "randomize_size" && value == "false");
        let sizes = if fixed { (84, 84) } else { (76, 92) };
        let parameters = Parameters { credit_sizes: sizes, ..parameters(&model, delay, flows.len()) };
        let (share, what) = worst(&model, &results, &parameters);
        prop_assert!(share <= 1.0, "{what}");
    }
}

/// Requests wait in the data queue, which eq. (1) does not count.
#[test]
fn the_bound_covers_the_requests_of_an_incast() {
    let star = Star { hosts: 41, rate: Rate::gbps(10), delay: Span::from_ns(100) }.build().unwrap();
    let flows: Vec<_> = (1..41).map(|from| (from, 0, 1000, 0)).collect();
    let mut transport = transport("naive-credit");
    transport.set("randomize_size", "false").unwrap();
    let (model, results) = simulate(&transport, star, (0, 0), &flows, 1);
    let parameters = Parameters { credit_sizes: (84, 84), ..parameters(&model, (0, 0), 40) };
    let (share, what) = worst(&model, &results, &parameters);
    assert!(share <= 1.0, "{what}");
    let requests = 40 * 84 / 2;
    let port = model.topology.ports_of(NodeId(0))[0].reverse();
    let queue = results.ports.u64s("queue_max_bytes")[port.index()];
    assert!(queue >= requests, "requests wait in the data queue: {queue}");
}

/// A far host has the link for itself at first. When near hosts join, the answers to its old credits still come at full
/// rate.
#[test]
fn a_far_host_fills_half_of_its_bound_and_exceeds_the_bound_of_a_near_host() {
    let star = |far: Span| {
        let mut star = Star { hosts: 10, rate: Rate::gbps(10), delay: Span::from_us(1) }.build().unwrap();
        star.set_link(star.ports_of(NodeId(9))[0], Rate::gbps(10), far);
        star
    };
    let mut transport = transport("naive-credit");
    transport.set("randomize_size", "false").unwrap();
    let mut flows = vec![(9, 0, 3_000_000, 0)];
    flows.extend((1..9).map(|near| (near, 0, 3_000_000, 1_000_000)));
    let (mut model, results) = simulate(&transport, star(Span::from_us(200)), (0, 0), &flows, 1);
    let parameters = Parameters { credit_sizes: (84, 84), ..parameters(&model, (0, 0), 9) };
    let (share, what) = worst(&model, &results, &parameters);
    assert!((0.5..=1.0).contains(&share), "{what}");
    model.topology = star(Span::from_us(1)).into();
    let (share, what) = worst(&model, &results, &parameters);
    assert!(share > 1.0, "{what}");
}

/// The property above found this case: frames that each arrived at the instant at which the port became free overtook
/// credits that had waited there for 200 us.
#[test]
fn waiting_credits_go_before_data_that_arrives_at_line_rate() {
    let (rate, delay) = (Rate::gbps(10), Span::from_ns(3_228));
    let clos = clos(rate, delay, Rate::gbps(1), Span::ZERO);
    let mut transport = transport("naive-credit");
    transport.set("randomize_size", "false").unwrap();
    transport.set("credit_queue", "16").unwrap();
    let pairs =
        (0..3).flat_map(|from| (1..5).map(move |step| (from, from + step, 400_000, u64::from(from) * 700)));
    let flows: Vec<_> = pairs.collect();
    let (model, results) = simulate(&transport, clos.build().unwrap(), (713, 0), &flows, 367);
    let parameters = Parameters { credit_sizes: (84, 84), ..parameters(&model, (713, 0), flows.len()) };
    let (share, what) = worst(&model, &results, &parameters);
    assert!(share <= 1.0, "{what}");
}
