//! Tests of the options of ExpressPass sec. 7: the end of a flow told in advance, unscheduled data at low priority, and
//! hosts of different speeds.

mod common;

use clearway_proto::AnyTransport;
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_topology::{Dumbbell, NodeId, Star, Topology};
use clearway_units::{Rate, Span, Time};
use common::*;

/// The share of data frames in a link under credits: 1538 of every 1622 bytes.
const DATA_SHARE: f64 = 1538.0 / 1622.0;

fn expresspass(values: &[(&str, &str)]) -> AnyTransport {
    let mut made = transport("expresspass");
    values.iter().for_each(|(key, value)| made.set(key, value).unwrap());
    made
}

/// Makes a star whose hosts' links have these rates, in Gbps.
fn star(rates: &[u64]) -> Topology {
    let shape = Star { hosts: rates.len() as u32, rate: Rate::gbps(10), delay: Span::from_us(2) };
    let mut topology = shape.build().unwrap();
    for (host, rate) in rates.iter().enumerate() {
        let port = topology.ports_of(NodeId(host as u32))[0];
        topology.set_link(port, Rate::gbps(*rate), Span::from_us(2));
    }
    topology
}

fn endless(src: u32, dst: u32) -> Flow {
    Flow { size: None, ..flow(src, dst, 1) }
}

/// Returns the goodput of endless flows on a star in the second half of 20 ms, as a share of 10 Gbps of data on the
/// wire.
fn shares(ceiling: &str, rates: &[u64], flows: &[(u32, u32)]) -> (Vec<f64>, Results) {
    shares_of(&expresspass(&[("ceiling", ceiling)]), rates, flows)
}

fn shares_of(credits: &AnyTransport, rates: &[u64], flows: &[(u32, u32)]) -> (Vec<f64>, Results) {
    let mut model = network_for(credits, star(rates));
    add(&mut model, credits, flows.iter().map(|&(src, dst)| endless(src, dst)).collect());
    let every = Span::from_ms(10);
    model.samples.push(Sample { name: "goodput".into(), every, what: Probe::Throughput(0) });
    model.stop = Some(Time::ZERO + every * 2);
    let results = run(&model);
    let values = results.samples.f64s("value");
    let second = &values[values.len() - flows.len()..];
    (second.iter().map(|bits| bits * 1538.0 / 1460.0 / 10e9).collect(), results)
}

#[test]
fn a_flow_between_hosts_of_different_speeds_runs_at_the_speed_of_the_slower_one() {
    for (sender, receiver) in [(10, 100), (100, 10), (10, 40), (25, 100), (100, 25)] {
        let (shares, _) = shares("path", &[sender, receiver], &[(0, 1)]);
        let expected = sender.min(receiver) as f64 / 10.0 * DATA_SHARE;
        assert!((shares[0] / expected - 1.0).abs() < 0.002, "{sender} to {receiver}: {shares:?}");
    }
}

#[test]
fn few_credits_of_a_fast_receiver_to_a_slow_sender_are_wasted_or_dropped() {
    let (_, results) = shares("path", &[10, 100], &[(0, 1)]);
    let sum = |column: &str| results.flows.u64s(column).iter().sum::<u64>() as f64;
    let dropped = results.ports.u64s("drops_credit").iter().sum::<u64>() as f64 / sum("credits_sent");
    assert!(dropped < 0.005, "rates end at max_rate: {dropped}");
    assert!(sum("credits_wasted") / sum("credits_sent") < 1e-3);
    assert_eq!(results.ports.u64s("drops_buffer").iter().sum::<u64>(), 0);
}

#[test]
fn slow_senders_get_max_min_shares_of_a_fast_receiver() {
    for (senders, expected) in [(4u32, DATA_SHARE), (20, DATA_SHARE / 2.0)] {
        let rates = [vec![10; senders as usize], vec![100]].concat();
        let flows: Vec<(u32, u32)> = (0..senders).map(|sender| (sender, senders)).collect();
        let (shares, results) = shares("path", &rates, &flows);
        let mean = shares.iter().sum::<f64>() / senders as f64;
        assert!(shares.iter().all(|share| (share / mean - 1.0).abs() < 0.15), "{senders}: {shares:?}");
        assert!(mean / expected > 0.98 && mean / expected < 1.001, "{senders}: {mean} of {expected}");
        assert_eq!(results.ports.u64s("drops_buffer").iter().sum::<u64>(), 0);
    }
}

#[test]
fn flows_between_hosts_of_different_speeds_are_unfair_under_the_printed_law() {
    // By max-min, four senders of 10 Gbps send at their full rate, and two of 40 Gbps share the rest of 100 Gbps.
    let flows: Vec<(u32, u32)> = (0..6).map(|sender| (sender, 6)).collect();
    for ceiling in ["own-link", "path"] {
        let under = |law| {
            let credits = expresspass(&[("ceiling", ceiling), ("feedback", law)]);
            let (shares, results) = shares_of(&credits, &[10, 10, 10, 10, 40, 40, 100], &flows);
            assert_eq!(results.ports.u64s("drops_buffer").iter().sum::<u64>(), 0, "but nothing is lost");
            shares
        };
        let printed = under("sigcomm17-printed");
        assert!(printed[..4].iter().all(|share| *share < 0.75 * DATA_SHARE), "{ceiling}: {printed:?}");
        let default = under("sigcomm17");
        assert!(default[..4].iter().all(|share| *share > 0.85 * DATA_SHARE), "{ceiling}: {default:?}");
    }
}

#[test]
fn unscheduled_data_on_an_idle_path_arrives_without_waiting_for_credits() {
    for bytes in [1, 1_460, 14_600, 60_000] {
        let time = |values: &[(&str, &str)]| {
            let credits = expresspass(&[&[("handshake", "none")], values].concat());
            let mut model = network_for(&credits, star(&[10, 10]));
            add(&mut model, &credits, vec![flow(0, 1, bytes)]);
            run(&model).flows.f64s("slowdown")[0]
        };
        // The request of 84 bytes leaves before the data.
        let limit = if bytes < 10_000 { 1.05 } else { 1.01 };
        let fast = time(&[("low_priority", "10")]);
        assert!((1.0..limit).contains(&fast), "{bytes}: {fast}");
        assert!(time(&[]) > 1.4, "a credit takes a round trip");
    }
}

#[test]
fn flows_with_credits_are_not_slowed_down_by_unscheduled_data() {
    // Four flows with credits run alone, and then beside unscheduled data that fills the bottleneck four times over.
    let mean = |beside: bool| {
        let plain = expresspass(&[]);
        let dumbbell = Dumbbell { pairs: 8, ..Dumbbell::default() };
        let mut model = network_for(&expresspass(&[("low_priority", "1")]), dumbbell.build().unwrap());
        add(&mut model, &plain, (0..4).map(|pair| flow(pair, 8 + pair, 2_000_000)).collect());
        if beside {
            let stop = Some(Time::ZERO + Span::from_ms(10));
            add(
                &mut model,
                &transport("blast"),
                (4..8).map(|pair| Flow { stop, ..endless(pair, 8 + pair) }).collect(),
            );
            model.traffic[1].class = model.unscheduled_class();
        }
        let results = run(&model);
        let lost = results.ports.u64s("drops_buffer").iter().sum::<u64>();
        (results.flows.f64s("fct_s")[..4].iter().sum::<f64>() / 4.0, lost)
    };
    let ((alone, none), (beside, lost)) = (mean(false), mean(true));
    assert_eq!(none, 0);
    assert!(lost > 10_000, "what yields is what is lost: {lost}");
    assert!(beside < alone * 1.02, "{alone} s alone, {beside} s beside it");
}

#[test]
fn lost_unscheduled_data_is_sent_again_with_credits() {
    let credits = expresspass(&[("low_priority", "1"), ("tell_end", "true")]);
    let mut model = network_for(&credits, star(&[10; 33]));
    add(&mut model, &credits, (1..33).map(|sender| flow(sender, 0, 100_000)).collect());
    let results = run(&model);
    check(&results, &model);
    let sum = |column: &str| results.flows.u64s(column).iter().sum::<u64>();
    let lost = results.ports.u64s("drops_buffer").iter().sum::<u64>();
    assert!(lost > 100, "thirty-two senders meet at one port: {lost}");
    assert!(sum("retransmits") >= lost, "{lost}");
    // At most one credit leaves for each frame, besides those of the margin.
    assert!(sum("credits_used") <= 32 * 69);
}
