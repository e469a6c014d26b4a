//! Tests of queues against closed forms: limits, thresholds, marks, priorities, weights and failed links.

use crate::common::*;
use clearway_proto::port::MarkAt;
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_topology::{NodeId, PortId, Star, Topology};
use clearway_units::{Bytes, Rate, Span, Time};

const FRAME: u64 = 1538;

fn star(hosts: u32) -> Topology {
    Star { hosts, rate: Rate::gbps(10), delay: Span::from_us(1) }.build().unwrap()
}

/// Returns the switch's port to a host.
fn port_to(topology: &Topology, host: u32) -> PortId {
    topology.ports_of(NodeId(host))[0].reverse()
}

fn of(results: &Results, column: &str, port: PortId) -> u64 {
    results.ports.u64s(column)[port.index()]
}

/// Adds traffic of two hosts that each send `frames` to a third, at twice the rate of its link together.
fn overload(model: &mut Model, frames: u64) {
    add(model, &transport("blast"), vec![flow(0, 2, 1460 * frames), flow(1, 2, 1460 * frames)]);
}

#[test]
fn a_full_queue_drops_exactly_the_frames_that_do_not_fit() {
    let mut model = quiet(star(3));
    model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets: 10 };
    overload(&mut model, 100);
    let results = run(&model);
    let port = port_to(&model.topology, 2);
    // The port sends one frame for each two that arrive: 99 until the last two arrive, and then the ten that wait.
    assert_eq!(of(&results, "queue_max_bytes", port), 10 * FRAME);
    assert_eq!(of(&results, "tx_packets", port) + of(&results, "drops_buffer", port), 200);
    let sent = of(&results, "tx_packets", port);
    assert_eq!(sent, 109);
    assert_eq!(results.summary.ended, clearway_sim::Ended::Stalled, "blast does not recover");
}

#[test]
fn a_queue_under_dynamic_thresholds_holds_alpha_times_the_free_memory() {
    for (alpha, share) in [(1.0, 0.5), (0.5, 1.0 / 3.0), (8.0, 8.0 / 9.0)] {
        let size = 300 * FRAME;
        let mut model = quiet(star(3));
        model.switch.shared = Some(SharedBuffer { size: Bytes::new(size), alpha });
        overload(&mut model, 2000);
        let results = run(&model);
        // At the limit, q = alpha (size - q).
        let queue = of(&results, "queue_max_bytes", port_to(&model.topology, 2));
        let expected = share * size as f64;
        assert!((queue as f64 - expected).abs() <= 2.0 * FRAME as f64, "{alpha}: {queue} {expected}");
    }
}

#[test]
fn a_port_marks_exactly_the_frames_that_find_more_than_the_threshold() {
    let marks = |name: &str, at: MarkAt, frames: u64| {
        let mut model = quiet(star(3));
        let threshold = Threshold::Fixed(Amount { bytes: Bytes::new(10 * FRAME), packets: u32::MAX });
        model.switch.classes[0].marking = Some(Marking { threshold, at });
        add(&mut model, &transport(name), vec![flow(0, 2, 1460 * frames), flow(1, 2, 1460 * frames)]);
        run(&model).ports.u64s("marks").iter().sum::<u64>()
    };
    for at in [MarkAt::Enqueue, MarkAt::Dequeue] {
        // Where two windows of ten frames meet, at most ten frames wait.
        assert_eq!(marks("dctcp", at, 10), 0);
        assert!(marks("dctcp", at, 100) > 0);
        assert_eq!(marks("blast", at, 100), 0, "blast is not ECN-capable");
    }
}

#[test]
fn a_class_of_higher_priority_goes_first_and_equal_ones_share_by_weight() {
    let class = |name: &str, priority, weight| Class { weight, ..Class::new(name, priority) };
    let shares = |classes: Vec<Class>| {
        let mut model = quiet(star(3));
        model.switch.classes = classes.clone();
        model.host.port.classes = classes;
        model.stop = Some(Time::ZERO + Span::from_ms(2));
        for src in 0..2 {
            let pattern = Pattern::Flows(vec![Flow { size: None, ..flow(src, 2, 1) }].into());
            let name = src.to_string();
            model.traffic.push(Traffic {
                name,
                transport: transport("blast"),
                class: src as usize,
                credit_class: 0,
                notice_class: src as usize,
                ack_class: src as usize,
                pattern,
            });
        }
        let results = run(&model);
        let delivered = results.flows.u64s("delivered_bytes");
        delivered[0] as f64 / (delivered[0] + delivered[1]) as f64
    };
    let strict = shares(vec![class("a", 0, 1), class("b", 1, 1)]);
    assert!(strict > 0.998, "{strict}");
    let weighted = shares(vec![class("a", 0, 3), class("b", 0, 1)]);
    assert!((weighted - 0.75).abs() < 0.01, "{weighted}");
}

#[test]
fn frames_that_wait_for_a_failed_link_are_lost_and_those_on_the_wire_arrive() {
    let mut model = quiet(star(3));
    let port = port_to(&model.topology, 2);
    let down = Time::ZERO + Span::from_us(40);
    model.faults.push(Fault::at_once(down, port, false));
    overload(&mut model, 100);
    let results = run(&model);
    // The first frame arrives after two hops, and then one every 1.2304 us until the link fails.
    let frame = Rate::gbps(10).time_to_send(Bytes::new(FRAME));
    let sending = down - (Time::ZERO + frame + Span::from_us(1));
    let sent = sending.as_ps().div_ceil(frame.as_ps());
    assert_eq!(of(&results, "tx_packets", port), sent);
    assert_eq!(of(&results, "drops_down", port), 200 - sent);
    let delivered: u64 = results.flows.u64s("delivered_bytes").iter().sum();
    assert_eq!(delivered, sent * 1460, "frames on the wire arrive");
}
