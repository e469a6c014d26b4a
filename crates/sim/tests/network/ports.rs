//! Tests of the shares, queues and utilisation of transports with a mechanism at ports, of `ideal` and of DX, against
//! their papers.

use crate::common::*;
use clearway_proto::AnyTransport;
use clearway_sim::model::*;
use clearway_sim::{Results, Values};
use clearway_topology::*;
use clearway_units::{Bytes, Rate, Span, Time};

const RATE: Rate = Rate::gbps(10);
/// The share of payload in a full frame.
const PAYLOAD: f64 = 1460.0 / 1538.0;

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// The measurements of long flows.
struct Steady {
    /// The mean payload rate of each flow in the second half of the run, in Gbps.
    gbps: Vec<f64>,
    /// The longest and the mean queue at the bottleneck over the whole run, in bytes.
    queue_max: u64,
    queue_mean: f64,
    drops: u64,
}

impl Steady {
    fn total(&self) -> f64 {
        self.gbps.iter().sum()
    }

    /// Returns Jain's fairness index of the rates.
    fn jain(&self) -> f64 {
        jain(&self.gbps)
    }
}

/// Makes a model with long flows between these pairs, each of which starts `stagger` after the one before.
fn long(
    transport: &AnyTransport,
    topology: Topology,
    pairs: &[(u32, u32)],
    stagger: Span,
    stop: Time,
) -> Model {
    let mut model = network_for(transport, topology);
    model.stop = Some(stop);
    model.switch.classes[0].limit = Amount { bytes: Bytes::new(384_500), packets: u32::MAX };
    let flows = pairs.iter().zip(0..).map(|(&(src, dst), number)| Flow {
        size: None,
        start: Time::ZERO + stagger * number,
        ..flow(src, dst, 1)
    });
    add(&mut model, transport, flows.collect());
    let every = Span::from_ps((stop - Time::ZERO).as_ps() / 20);
    model.samples = vec![Sample { name: "rate".into(), every, what: Probe::Throughput(0) }];
    model
}

fn steady(model: &Model, flows: usize) -> Steady {
    let results: Results = run(model);
    let times = results.samples.f64s("time_s");
    let (values, half) = (results.samples.f64s("value"), model.stop.unwrap().as_secs_f64() / 2.0);
    let Values::Text(ids, names) = &results.samples.column("entity").unwrap().values else { panic!("text") };
    let mut gbps = vec![0.0; flows];
    let mut counts = vec![0u32; flows];
    for ((time, value), id) in times.iter().zip(values).zip(ids) {
        if *time > half {
            let number: usize = names[*id as usize].rsplit('/').next().unwrap().parse().unwrap();
            gbps[number] += value / 1e9;
            counts[number] += 1;
        }
    }
    gbps.iter_mut().zip(counts).for_each(|(rate, count)| *rate /= count as f64);
    let most = |name: &str| results.ports.u64s(name).iter().copied().max().unwrap();
    Steady {
        gbps,
        queue_max: most("queue_max_bytes"),
        queue_mean: results.ports.f64s("queue_mean_bytes").iter().copied().fold(0.0, f64::max),
        drops: results.ports.u64s("drops_buffer").iter().sum(),
    }
}

/// Measures equal long flows over a dumbbell of 10 Gbps with a round trip of about 50 us.
fn dumbbell(name: &str, flows: u32) -> Steady {
    let topology =
        Dumbbell { pairs: flows, rate: RATE, bottleneck_rate: RATE, ..Dumbbell::default() }.build().unwrap();
    let pairs: Vec<(u32, u32)> = (0..flows).map(|pair| (pair, flows + pair)).collect();
    let model = long(&transport(name), topology, &pairs, Span::from_us(37), ms(200));
    steady(&model, flows as usize)
}

#[test]
fn four_to_32_equal_long_flows_share_a_link_fairly_and_fill_it() {
    share_a_link_fairly(&[4, 32]);
}

#[test]
#[ignore = "needs minutes without optimisation; make test-full"]
fn eight_and_16_equal_long_flows_share_a_link_fairly_and_fill_it() {
    share_a_link_fairly(&[8, 16]);
}

fn share_a_link_fairly(numbers: &[u32]) {
    // The columns are: transport, least Jain index, least utilisation of the link, largest mean queue in bytes.
    let bounds = [
        // Four synchronised DCTCP flows keep the shares of slow start for a long time.
        ("dctcp", 0.80, 0.99, 110_000.0),
        // With 32 flows the least windows (two segments; one for dx) exceed the path's capacity, so there is a queue.
        ("hull", 0.99, 0.88, 70_000.0),
        ("dx", 0.99, 0.90, 35_000.0),
        ("rcp", 0.999, 0.93, 10_000.0),
        ("ideal", 0.9999, 0.995, 40_000.0),
    ];
    for (name, jain, utilisation, queue) in bounds {
        for &flows in numbers {
            let steady = dumbbell(name, flows);
            let used = steady.total() / (10.0 * PAYLOAD);
            println!(
                "{name} {flows}: Jain {:.4}, utilisation {used:.3}, queue max {} mean {:.0}, drops {}",
                steady.jain(),
                steady.queue_max,
                steady.queue_mean,
                steady.drops
            );
            assert!(steady.jain() >= jain, "{name} {flows}: Jain {}", steady.jain());
            assert!(used >= utilisation, "{name} {flows}: utilisation {used}");
            assert!(steady.queue_mean <= queue, "{name} {flows}: mean queue {}", steady.queue_mean);
        }
    }
}

#[test]
fn a_phantom_queue_keeps_a_lone_flow_at_gamma_with_hardly_any_queue() {
    for (drain, most) in [("0.95", 0.955), ("0.8", 0.805)] {
        let mut hull = transport("hull");
        hull.set("drain", drain).unwrap();
        let topology = Dumbbell { pairs: 2, rate: RATE, bottleneck_rate: RATE, ..Dumbbell::default() };
        let model = long(&hull, topology.build().unwrap(), &[(0, 2), (1, 3)], Span::from_us(37), ms(200));
        let steady = steady(&model, 2);
        let used = steady.total() / (10.0 * PAYLOAD);
        println!("hull {drain}: {used:.3}, mean queue {:.0}", steady.queue_mean);
        // No acknowledgements pass in this direction, so only data uses the link.
        assert!(used <= most && used >= most - 0.15, "{drain}: {used}");
        assert!(steady.queue_mean < 10_000.0, "{}", steady.queue_mean);
    }
}

#[test]
fn the_rates_of_ideal_are_max_min_fair_over_several_bottlenecks() {
    // In Fig. 11 (a) of ExpressPass '17, Flow 0 crosses Link 2 only and flows 1 to N cross both links.
    for flows in [1u32, 3, 7] {
        let shape = MultiBottleneck { flows, rate: RATE, ..MultiBottleneck::default() };
        let topology = shape.build().unwrap();
        let pairs: Vec<(u32, u32)> = (0..=flows).map(|flow| (flow, flows + 1 + flow)).collect();
        let steady = steady(&long(&transport("ideal"), topology, &pairs, Span::ZERO, ms(20)), pairs.len());
        let share = 10.0 * PAYLOAD / (flows + 1) as f64;
        for rate in &steady.gbps {
            assert!((rate / share - 1.0).abs() < 0.01, "{flows}: {:?}", steady.gbps);
        }
    }
    // In a parking lot the long flow and each cross flow get half of a link.
    let topology = ParkingLot { bottlenecks: 3, rate: RATE, delay: Span::from_us(4) }.build().unwrap();
    let pairs = [(0, 1), (2, 3), (4, 5), (6, 7)];
    let steady = steady(&long(&transport("ideal"), topology, &pairs, Span::ZERO, ms(20)), 4);
    for rate in &steady.gbps {
        assert!((rate / (5.0 * PAYLOAD) - 1.0).abs() < 0.01, "{:?}", steady.gbps);
    }
}

#[test]
fn under_ideal_the_share_of_a_flow_that_ends_is_used_at_once() {
    let topology = Star { hosts: 3, rate: RATE, delay: Span::from_us(4) }.build().unwrap();
    let mut model = network_for(&transport("ideal"), topology);
    // The first flow sends 1 MB at half the rate and, after the second has ended, 1 MB at the full rate.
    add(&mut model, &transport("ideal"), vec![flow(0, 2, 2_000_000), flow(1, 2, 1_000_000)]);
    let fct = run(&model).flows.f64s("fct_s").to_vec();
    let megabyte = 1e6 * 8.0 / (10e9 * PAYLOAD);
    assert!((fct[1] / (2.0 * megabyte) - 1.0).abs() < 0.02, "{fct:?}");
    assert!((fct[0] / (3.0 * megabyte) - 1.0).abs() < 0.02, "{fct:?}");
}

/// Runs requests from one host to workers on persistent connections over a fat tree, as in ExpressPass '17, Fig. 1.
/// Returns the longest queue, in packets.
fn partition_aggregate(name: &str, workers: u32, rounds: u32) -> u64 {
    let topology =
        FatTree { k: 8, rate: RATE, delay: Span::from_us(5), ..FatTree::default() }.build().unwrap();
    let hosts = topology.hosts() as u32;
    let transport = transport(name);
    let mut model = network_for(&transport, topology);
    model.traffic.push(Traffic {
        name: "aggregate".into(),
        transport,
        class: 0,
        credit_class: 0,
        notice_class: 0,
        ack_class: 0,
        pattern: Pattern::Rounds(Rounds {
            client: NodeId(0),
            workers: (0..workers).map(|worker| NodeId(1 + worker % (hosts - 1))).collect(),
            request: Bytes::new(200),
            response: Bytes::new(1000),
            longer: 0,
            reconnect: false,
            rounds,
            barrier: false,
            start: Time::ZERO,
            pause: Span::ZERO,
            spread: Span::ZERO,
        }),
    });
    let results = run(&model);
    results.ports.u64s("queue_max_bytes").iter().max().unwrap() / 1078
}

#[test]
fn even_under_ideal_the_queue_grows_with_the_fan_in_expresspass_17_figure_1_a() {
    let queues: Vec<u64> = [32, 128, 512].map(|workers| partition_aggregate("ideal", workers, 4)).to_vec();
    println!("ideal, longest queue by fan-in 32, 128, 512: {queues:?} packets");
    assert!(queues[1] > 2 * queues[0] && queues[2] > 2 * queues[1], "{queues:?}");
    assert!(queues[2] <= 512, "no more than a packet a flow: {queues:?}");
}

#[test]
fn rcp_gives_a_new_flow_the_rate_of_the_present_flows_expresspass_17_section_6_1() {
    // 32 flows start at once at an idle port that offers each of them the whole link, so the queue overflows.
    let topology = Star { hosts: 33, rate: RATE, delay: Span::from_us(12) }.build().unwrap();
    let pairs: Vec<(u32, u32)> = (0..32).map(|host| (host, 32)).collect();
    let mut model = long(&transport("rcp"), topology, &pairs, Span::ZERO, ms(50));
    let Pattern::Flows(flows) = &mut model.traffic[0].pattern else { panic!("flows") };
    std::sync::Arc::make_mut(flows).iter_mut().for_each(|flow| flow.start = ms(5));
    let steady = steady(&model, 32);
    println!("rcp: drops {}, Jain {:.4}, {:.2} Gbps", steady.drops, steady.jain(), steady.total());
    assert!(steady.drops > 0 && steady.queue_max > 380_000);
    assert!(steady.jain() > 0.99, "{:?}", steady.gbps);
}
