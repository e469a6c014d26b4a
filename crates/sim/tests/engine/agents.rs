//! Tests of agents in the simulator: incast with PAC, ICTCP, the ACK shaper and a fixed window, as in PAC's sections II
//! and V.

use crate::common::*;
use clearway_proto::AnyTransport;
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_topology::{NodeId, Star};
use clearway_units::{Bytes, Rate, Span, Time};

/// A barrier-synchronised incast at a ToR, in which every sender opens a connection and sends in each round.
#[derive(Clone, Copy)]
struct Incast {
    senders: u32,
    /// The bytes of each sender in a round.
    bytes: u64,
    rounds: u32,
    buffer: Bytes,
    rate: Rate,
    base_rtt: Span,
}

/// The incast of PAC's simulations at 1 Gbps (Table II).
const NS2_1G: Incast = Incast {
    senders: 100,
    bytes: 64_000,
    rounds: 3,
    buffer: Bytes::new(96_000),
    rate: Rate::gbps(1),
    base_rtt: Span::from_us(120),
};

/// The time between the starts of two rounds, after which any round is over.
const ROUND: Span = Span::from_secs(60);

fn with(name: &str, settings: &[(&str, &str)]) -> AnyTransport {
    let mut transport = transport(name);
    for (key, value) in settings {
        transport.set(key, value).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    transport
}

/// The measurements of an incast.
#[derive(Debug)]
struct Outcome {
    /// The mean goodput over the rounds, in bit/s.
    goodput: f64,
    /// The share of the rounds with at least one timeout.
    timeout_ratio: f64,
}

impl Incast {
    fn run(&self, transport: &AnyTransport) -> Outcome {
        let frames = self.rate.time_to_send(Bytes::new(1538 + 84)) * 2;
        let delay = Span::from_ps((self.base_rtt - frames).as_ps() / 4);
        let topology = Star { hosts: self.senders + 1, rate: self.rate, delay }.build().unwrap();
        let mut model = network_for(transport, topology);
        model.switch.classes[0].limit = Amount { bytes: self.buffer, packets: u32::MAX };
        // The paper adds a random delay to every round trip.
        model.host.processing_delay = Delay::Uniform(Span::ZERO, Span::from_us(10));
        let round = |round| {
            let start = Time::ZERO + ROUND * round as u64;
            (1..=self.senders).map(move |src| Flow { start, ..flow(src, 0, self.bytes) })
        };
        add(&mut model, transport, (0..self.rounds).flat_map(round).collect());
        self.outcome(&run(&model))
    }

    fn outcome(&self, results: &Results) -> Outcome {
        let (starts, times) = (results.flows.f64s("start_s"), results.flows.f64s("fct_s"));
        let timeouts = results.flows.u64s("timeouts");
        let mut outcome = Outcome { goodput: 0.0, timeout_ratio: 0.0 };
        for round in 0..self.rounds {
            let start = ROUND.as_secs_f64() * round as f64;
            let flows = (0..starts.len()).filter(|&flow| (starts[flow] - start).abs() < 1e-9);
            let slowest = flows.clone().map(|flow| times[flow]).fold(0.0, f64::max);
            assert!(slowest > 0.0);
            let bits = 8.0 * self.bytes as f64 * self.senders as f64;
            outcome.goodput += bits / slowest / self.rounds as f64;
            let hit = flows.clone().any(|flow| timeouts[flow] > 0);
            outcome.timeout_ratio += hit as u32 as f64 / self.rounds as f64;
        }
        outcome
    }
}

#[test]
fn how_flows_are_cut_into_traffic_entries_changes_no_agent() {
    for (name, profile) in [("pac", "ns2-1g"), ("ictcp", "ns2"), ("ack-shaper", "ns2")] {
        let transport = with(name, &[("profile", profile)]);
        let topology = Star { hosts: 17, rate: Rate::gbps(1), delay: Span::from_us(25) }.build().unwrap();
        let flows: Vec<_> = (1..=16)
            .map(|src| Flow { start: Time::ZERO + Span::from_us(3 * src as u64), ..flow(src, 0, 64_000) })
            .collect();
        let under = |parts: &[&[Flow]]| {
            let mut model = network_for(&transport, topology.clone());
            model.switch.classes[0].limit = Amount { bytes: Bytes::new(96_000), packets: u32::MAX };
            for part in parts {
                add(&mut model, &transport, part.to_vec());
            }
            let results = run(&model);
            assert_eq!(results.summary.agents.len(), 1, "{name}: one agent at the one host that receives");
            (results.flows.f64s("fct_s").to_vec(), results.summary.agents[0].stats)
        };
        let (together, cut) = (under(&[&flows]), under(&[&flows[..5], &flows[5..]]));
        assert_eq!(together, cut, "{name}");
    }
}

#[test]
fn pac_fills_the_link_at_a_hundred_senders_where_tcp_collapses_pac_fig_13() {
    let pac = NS2_1G.run(&with("pac", &[("profile", "ns2-1g")]));
    assert!(pac.goodput > 0.8e9 && pac.timeout_ratio == 0.0, "{pac:?}");
    for name in ["newreno", "dctcp"] {
        let other = NS2_1G.run(&with(name, &[("profile", "pac-ns2"), ("handshake", "true")]));
        assert!(other.goodput < 0.2e9 && other.timeout_ratio == 1.0, "{name}: {other:?}");
    }
}

#[test]
fn pac_fills_the_link_from_20_to_400_senders_with_the_default_floor_pac_2() {
    // A floor of two base BDPs, 30 KB, gives 0.81 to 0.9e9.
    for senders in [20, 100, 400] {
        let outcome = Incast { senders, ..NS2_1G }.run(&with("pac", &[("profile", "ns2-1g")]));
        assert!(outcome.goodput > 0.93e9 && outcome.timeout_ratio == 0.0, "{senders}: {outcome:?}");
    }
}

#[test]
fn pac_works_over_every_tcp_and_without_ecn_or_with_other_corrections() {
    let cases: [&[(&str, &str)]; 5] = [
        &[("under", "cubic")],
        &[("under", "dctcp")],
        &[("ecn", "false")],
        &[("ecn", "false"), ("correction", "throughput"), ("discipline", "round-robin")],
        &[("rtt_method", "handshake"), ("blocking", "true")],
    ];
    for settings in cases {
        let transport = with("pac", &[&[("profile", "ns2-1g")], settings].concat());
        let outcome = NS2_1G.run(&transport);
        assert!(outcome.goodput > 0.75e9 && outcome.timeout_ratio == 0.0, "{settings:?}: {outcome:?}");
    }
}

#[test]
fn dctcp_and_ictcp_sustain_thirty_senders_and_collapse_at_few_more_pac_fig_13() {
    // By eq. (7), 96 KB + 15 KB divided by 2 segments are 36 to 38 senders.
    for (name, profile) in [("dctcp", "pac-ns2"), ("ictcp", "ns2")] {
        let transport = with(name, &[("profile", profile), ("handshake", "true")]);
        let outcome = |senders| Incast { senders, ..NS2_1G }.run(&transport);
        let (before, after) = (outcome(30), outcome(45));
        assert!(before.goodput > 0.9e9 && before.timeout_ratio == 0.0, "{name}: {before:?}");
        assert!(after.goodput < 0.3e9, "{name}: {after:?}");
    }
}

#[test]
fn windows_of_one_segment_collapse_beyond_72_senders_pac_equation_1() {
    // By eq. (1), 96 KB + 15 KB divided by 1538 B are 72 senders.
    let fixed = with("fixed-window", &[("profile", "pac-ns2"), ("handshake", "true")]);
    let outcome = |senders| Incast { senders, ..NS2_1G }.run(&fixed);
    let (before, after) = (outcome(62), outcome(80));
    assert!(before.goodput > 0.9e9 && before.timeout_ratio == 0.0, "{before:?}");
    assert!(after.goodput < 0.3e9 && after.timeout_ratio == 1.0, "{after:?}");
}

#[test]
fn no_fixed_rate_of_acks_both_fills_the_link_and_avoids_incast_pac_fig_3() {
    let outcome = |rate, senders| {
        let shaper = with("ack-shaper", &[("profile", "ns2"), ("acks_per_second", rate)]);
        Incast { senders, ..NS2_1G }.run(&shaper)
    };
    let slow = outcome("40000", 100);
    assert!((0.6e9..0.7e9).contains(&slow.goodput) && slow.timeout_ratio == 0.0, "{slow:?}");
    let middle = [outcome("60000", 10), outcome("60000", 50)];
    assert!(middle[0].goodput < 0.8e9 && middle[1].goodput < 0.3e9, "{middle:?}");
    let fast = outcome("80000", 50);
    assert!(fast.goodput < 0.2e9 && fast.timeout_ratio == 1.0, "{fast:?}");
}

#[test]
#[ignore = "needs minutes, for a sweep that it prints; make test-full"]
fn sweep() {
    let shake = ("handshake", "true");
    let ns2 = ("profile", "pac-ns2");
    let transports = [
        ("newreno", with("newreno", &[ns2, shake])),
        ("dctcp", with("dctcp", &[ns2, shake])),
        ("ictcp", with("ictcp", &[("profile", "ns2"), shake])),
        ("pac", with("pac", &[("profile", "ns2-1g")])),
        ("pac eq6", with("pac", &[("profile", "ns2-1g"), ("correction", "throughput")])),
        ("pac blocking", with("pac", &[("profile", "ns2-1g"), ("blocking", "true")])),
        ("pac handshake", with("pac", &[("profile", "ns2-1g"), ("rtt_method", "handshake")])),
        ("pac no ecn", with("pac", &[("profile", "ns2-1g"), ("ecn", "false")])),
        ("pac cubic", with("pac", &[("profile", "ns2-1g"), ("under", "cubic")])),
        ("pac dctcp", with("pac", &[("profile", "ns2-1g"), ("under", "dctcp")])),
        ("pac no syn", with("pac", &[("profile", "ns2-1g"), ("hold_syn_ack", "false")])),
        ("pac iw10", with("pac", &[("profile", "ns2-1g"), ("initial_window", "10")])),
        ("40k", with("ack-shaper", &[("profile", "ns2")])),
        ("60k", with("ack-shaper", &[("profile", "ns2"), ("acks_per_second", "60000")])),
        ("80k", with("ack-shaper", &[("profile", "ns2"), ("acks_per_second", "80000")])),
        ("fixed", with("fixed-window", &[ns2, shake])),
    ];
    for (name, transport) in &transports {
        for senders in [4, 10, 20, 30, 40, 50, 55, 60, 65, 70, 80, 100, 200, 400] {
            let outcome = Incast { senders, ..NS2_1G }.run(transport);
            println!(
                "{name:14} {senders:5} {:6.1} Mbps, timeouts {:.2}",
                outcome.goodput / 1e6,
                outcome.timeout_ratio
            );
        }
    }
}

/// Makes the incast as rounds of an application, which opens new connections in each round.
fn rounds(transport: &AnyTransport, workers: u32, request: u64, barrier: bool) -> Model {
    let topology = Star { hosts: workers / 2 + 1, rate: Rate::gbps(1), delay: Span::from_us(20) };
    let mut model = network_for(transport, topology.build().unwrap());
    let pattern = Pattern::Rounds(Rounds {
        client: NodeId(0),
        workers: (0..workers).map(|worker| NodeId(1 + worker % (workers / 2))).collect(),
        request: Bytes::new(request),
        response: Bytes::new(10_000),
        longer: 3,
        reconnect: true,
        rounds: 4,
        barrier,
        start: Time::ZERO,
        pause: Span::from_ms(1),
        spread: Span::ZERO,
    });
    model.traffic.push(Traffic {
        name: "incast".into(),
        transport: transport.clone(),
        class: 0,
        credit_class: 0,
        notice_class: 0,
        ack_class: 0,
        pattern,
    });
    model
}

#[test]
fn rounds_over_new_connections_open_and_close_one_per_sender_and_round() {
    for name in ["newreno", "dctcp", "pac", "ictcp", "expresspass"] {
        for (request, barrier) in [(0, true), (0, false), (200, true), (200, false)] {
            let results = run(&rounds(&transport(name), 8, request, barrier));
            let messages = if request > 0 { 2 } else { 1 };
            assert_eq!(results.summary.ended, clearway_sim::Ended::Complete, "{name}");
            assert_eq!(results.summary.flows_completed, 4 * 8 * messages, "{name}");
            let mut numbers = results.flows.u64s("flow").to_vec();
            numbers.sort_unstable();
            let every = if request > 0 { 1 } else { 2 };
            let expected: Vec<u64> = (0..64).filter(|number| every == 1 || number % 2 == 1).collect();
            assert_eq!(numbers, expected, "{name}: every connection has a number of its own");
            // The first three senders send the remainder of the division.
            let sent: u64 = results.flows.u64s("size_bytes").iter().sum();
            assert_eq!(sent, 4 * (8 * (10_000 + request) + 3), "{name}");
        }
    }
}

#[test]
fn the_summary_states_the_largest_number_of_acknowledgements_held() {
    let held = |name| run(&rounds(&transport(name), 100, 0, true)).summary.agents;
    assert!(held("dctcp").is_empty());
    let pac = held("pac");
    assert_eq!((pac.len(), pac[0].traffic.as_str(), pac[0].host.as_str()), (1, "incast", "h0"));
    // A SYN-ACK of each sender is held before any other packet of it.
    assert!((50..=1000).contains(&pac[0].stats.held_max) && pac[0].stats.held == 0, "{pac:?}");
}

#[test]
fn round_trip_times_include_the_time_for_which_pac_holds_acknowledgements() {
    let mut model = rounds(&transport("pac"), 100, 0, true);
    let Pattern::Rounds(pattern) = &mut model.traffic[0].pattern else { unreachable!() };
    pattern.response = Bytes::new(64_000);
    model.samples = vec![Sample { name: "rtt".into(), every: Span::MAX, what: Probe::Rtt(0) }];
    let results = run(&model);
    let packets: u64 = results.flows.u64s("data_packets").iter().sum();
    let rtts = results.samples.f64s("value");
    assert_eq!(
        rtts.len() as u64 + results.summary.agents[0].stats.dropped,
        packets,
        "each that was not dropped"
    );
    // At most PAC's threshold of 80 KB waits in the network, which takes 0.68 ms and a base round trip. PAC holds
    // longer.
    let longest = rtts.iter().copied().fold(0.0, f64::max);
    assert!(longest > 1.0e-3 && longest < 0.1, "{longest}");
    assert!(rtts.iter().all(|rtt| *rtt > 90e-6));
}

#[test]
fn senders_of_a_round_start_within_its_spread_in_random_order() {
    for reconnect in [true, false] {
        let mut model = rounds(&transport("newreno"), 50, 0, true);
        let Pattern::Rounds(pattern) = &mut model.traffic[0].pattern else { unreachable!() };
        (pattern.spread, pattern.reconnect) = (Span::from_ms(2), reconnect);
        let results = run(&model);
        assert_eq!(results.summary.flows_completed, 4 * 50);
        let (starts, times) = (results.flows.f64s("start_s"), results.flows.f64s("fct_s"));
        let mut orders = std::collections::BTreeSet::new();
        let mut before = 0.0;
        for round in 0..4 {
            let rows = round * 50..round * 50 + 50;
            let (first, last) = (starts[rows.start], starts[rows.end - 1]);
            // The bounds are for the least and the greatest of 50 draws from 2 ms.
            assert!(first >= before && (1.5e-3..2e-3).contains(&(last - first)), "{first} {last}");
            before = rows.clone().map(|row| starts[row] + times[row]).fold(0.0, f64::max) + 1e-3;
            let order = results.flows.u64s("flow")[rows].iter().map(|number| number / 2 % 50);
            orders.insert(order.collect::<Vec<u64>>());
        }
        assert_eq!(orders.len(), 4);
    }
}

#[test]
fn acknowledgements_that_a_agent_held_leave_in_their_own_class() {
    let shaper = transport("ack-shaper");
    let topology = Star { hosts: 4, rate: Rate::gbps(10), delay: Span::from_us(1) }.build().unwrap();
    let mut model = network_for(&shaper, topology);
    for port in [&mut model.switch, &mut model.host.port] {
        let data = &mut port.classes[0];
        data.priority = 1;
        let acks = Class { name: "acks".into(), priority: 0, ..data.clone() };
        port.classes.push(acks);
    }
    add(&mut model, &shaper, vec![flow(0, 1, 100_000)]);
    model.traffic[0].ack_class = 1;
    // Acknowledgements on their way to host 0 meet a queue of data that takes 8 ms to leave.
    add(&mut model, &transport("blast"), vec![flow(2, 0, 10_000_000), flow(3, 0, 10_000_000)]);
    let fct = run(&model).flows.f64s("fct_s")[0];
    assert!(fct < 1e-3, "{fct} s behind data");
}
