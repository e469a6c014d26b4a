//! Tests of which credits a full queue drops: that no flow is locked out where they drop at random, and where a drop-tail
//! queue does lock flows out.

use crate::common::*;
use clearway_proto::AnyTransport;
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_topology::{Dumbbell, MultiBottleneck, NodeId, ParkingLot};
use clearway_units::{Rate, Span, Time};

/// The share of data frames in a link under credits: 1538 of every 1622 bytes.
const DATA_SHARE: f64 = 1538.0 / 1622.0;

/// Returns a credit-based transport without jitter, whose credits all have 84 bytes, with a rule for a full queue.
fn even(name: &str, drop: &str) -> AnyTransport {
    let mut made = transport(name);
    made.set("jitter", "0").unwrap();
    made.set("credit_drop", drop).unwrap();
    // The transport of HotNets 2016 has credits of one size anyway.
    let _ = made.set("randomize_size", "false");
    made
}

fn endless((src, dst): (NodeId, NodeId), after: Span) -> Flow {
    Flow { start: Time::ZERO + after, src, dst, size: None, stop: None }
}

/// Returns the use of the least used link of a parking lot of so many bottlenecks, as a share of what data can take.
fn least_used(transport: &AnyTransport, bottlenecks: u32) -> f64 {
    let lot = ParkingLot { bottlenecks, rate: Rate::gbps(10), delay: Span::from_us(4) };
    let mut model = network_for(transport, lot.build().unwrap());
    let mut flows = vec![endless((lot.long_sender(), lot.long_receiver()), Span::ZERO)];
    flows.extend(
        (0..bottlenecks).map(|link| endless((lot.cross_sender(link), lot.cross_receiver(link)), Span::ZERO)),
    );
    add(&mut model, transport, flows);
    model.stop = Some(Time::ZERO + Span::from_ms(40));
    for link in 0..bottlenecks {
        let what = Probe::PortRate(vec![lot.bottleneck(link)]);
        model.samples.push(Sample { name: "rate".into(), every: Span::from_ms(20), what });
    }
    let results = run(&model);
    let rates = &results.samples.f64s("value")[bottlenecks as usize..];
    rates.iter().copied().fold(f64::INFINITY, f64::min) / 10e9 / DATA_SHARE
}

/// Returns the bytes of each flow of a network in 20 ms, the first of which meets all others on a second link.
fn several_bottlenecks(transport: &AnyTransport, others: u32) -> Vec<u64> {
    let shape = MultiBottleneck {
        flows: others,
        shared_sender: false,
        rate: Rate::gbps(10),
        delay: Span::from_us(4),
    };
    let mut model = network_for(transport, shape.build().unwrap());
    let ends = |flow| (shape.sender(flow), shape.receiver(flow));
    let flows = (0..=others).map(|flow| endless(ends(flow), Span::from_us(7) * u64::from(flow))).collect();
    add(&mut model, transport, flows);
    delivered(model)
}

/// Returns the bytes of each of so many flows over one link in 20 ms.
fn one_link(transport: &AnyTransport, pairs: u32) -> Vec<u64> {
    let shape =
        Dumbbell { pairs, rate: Rate::gbps(10), bottleneck_rate: Rate::gbps(10), ..Dumbbell::default() };
    let mut model = network_for(transport, shape.build().unwrap());
    let flows = (0..pairs)
        .map(|pair| endless((NodeId(pair), NodeId(pairs + pair)), Span::from_us(7) * u64::from(pair)));
    add(&mut model, transport, flows.collect());
    delivered(model)
}

fn delivered(mut model: Model) -> Vec<u64> {
    model.stop = Some(Time::ZERO + Span::from_ms(20));
    let results: Results = run(&model);
    results.flows.u64s("delivered_bytes").to_vec()
}

#[test]
fn where_credits_drop_at_random_the_long_flow_of_a_parking_lot_keeps_its_part_of_what_arrives() {
    for bottlenecks in [1, 2, 3, 6] {
        let used = least_used(&even("naive-credit", "random"), bottlenecks);
        // The long flow keeps 1 / (N + 1) of the last link, and half of the first is the cross flow's. Where the arriving
        // credit drops, it keeps half of what comes at each link, 2^-N at last.
        let (fluid, halved) = match bottlenecks {
            1 => (1.0, 1.0),
            n => (0.5 + 1.0 / f64::from(n + 1), 0.5 + 0.5_f64.powi(n as i32)),
        };
        assert!((used - fluid).abs() < 0.05, "{bottlenecks} bottlenecks: {used} for {fluid}");
        assert!(
            bottlenecks == 1 || used > (fluid + halved) / 2.0,
            "{bottlenecks} bottlenecks: {used}, {halved}"
        );
    }
}

#[test]
fn no_flow_is_locked_out_where_credits_drop_at_random() {
    for name in ["naive-credit", "expresspass-hotnets16", "expresspass"] {
        for flows in [2, 16, 64] {
            // Without jitter and with credits of one size, nothing else is drawn.
            let even = even(name, "random");
            for bytes in [several_bottlenecks(&even, flows), one_link(&even, flows)] {
                // Shares may be far apart without feedback, but each flow has some.
                assert!(bytes.iter().all(|&bytes| bytes > 0), "{name}, {flows} flows: {bytes:?}");
            }
        }
    }
}

#[test]
fn where_the_arriving_credit_drops_even_credits_of_one_size_lock_a_flow_out_for_ever() {
    // Two streams of credits, each as fast as the limit, meet at a full queue: the place that a credit leaves is taken by the
    // one that comes next, which is the same flow's each time.
    let naive = even("naive-credit", "tail");
    let bytes = one_link(&naive, 2);
    assert!(bytes[0].max(bytes[1]) > 1_000 * bytes[0].min(bytes[1]), "{bytes:?}");
}

#[test]
fn random_sizes_of_credits_keep_all_flows_going_at_a_drop_tail_queue() {
    for name in ["naive-credit", "expresspass"] {
        for flows in [2, 16] {
            for bytes in [several_bottlenecks(&transport(name), flows), one_link(&transport(name), flows)] {
                let mean = bytes.iter().sum::<u64>() / bytes.len() as u64;
                assert!(bytes.iter().all(|bytes| bytes * 10 > mean), "{name}, {flows} flows: {bytes:?}");
            }
        }
    }
}
