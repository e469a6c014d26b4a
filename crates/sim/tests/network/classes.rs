//! Tests that what happens to one class of a port leaves another alone: marks, limits, memory, pauses, and failed links.

use crate::common::*;
use clearway_proto::port::MarkAt;
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_topology::{NodeId, PortId, Star};
use clearway_units::{Bytes, Rate, Span, Time};

const FRAME: u64 = 1538;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A star of links of 10 Gbps with these classes at all ports.
fn with(hosts: u32, classes: [Class; 2]) -> Model {
    let shape = Star { hosts, rate: Rate::gbps(10), delay: Span::from_us(1) };
    let mut model = quiet(shape.build().unwrap());
    model.switch.classes = classes.to_vec();
    model.host.port.classes =
        classes.map(|class| Class { limit: Amount::UNLIMITED, marking: None, ..class }).to_vec();
    model
}

/// Adds flows of a transport whose packets are all in one class.
fn send(model: &mut Model, name: &str, class: usize, flows: Vec<Flow>) {
    add(model, &transport(name), flows);
    let entry = model.traffic.last_mut().unwrap();
    (entry.class, entry.notice_class, entry.ack_class) = (class, class, class);
}

fn port_to(model: &Model, host: u32) -> PortId {
    model.topology.ports_of(NodeId(host))[0].reverse()
}

fn port_of(model: &Model, host: u32) -> PortId {
    model.topology.ports_of(NodeId(host))[0]
}

fn of(results: &Results, column: &str, port: PortId) -> u64 {
    results.ports.u64s(column)[port.index()]
}

/// Two long flows that fill a queue, and a lone one, small enough for its own to stay short, to the same host.
fn crowd() -> Vec<Flow> {
    vec![flow(0, 3, 1460 * 400), flow(1, 3, 1460 * 400)]
}

fn lone() -> Vec<Flow> {
    vec![Flow { start: at(100), ..flow(2, 3, 1460 * 10) }]
}

#[test]
fn a_long_queue_of_one_class_marks_no_packet_of_another() {
    for mark_at in [MarkAt::Enqueue, MarkAt::Dequeue] {
        for marked in [0, 1] {
            let threshold = Threshold::Fixed(Amount { bytes: Bytes::new(12 * FRAME), packets: u32::MAX });
            let mut classes = [Class::new("a", 0), Class::new("b", 0)];
            classes[marked].marking = Some(Marking { threshold, at: mark_at });
            let marks = |crowded: usize| {
                let mut model = with(4, classes.clone());
                send(&mut model, "dctcp", crowded, crowd());
                send(&mut model, "dctcp", 1 - crowded, lone());
                let results = run(&model);
                assert!(of(&results, "queue_max_bytes", port_to(&model, 3)) > 12 * FRAME);
                results.ports.u64s("marks").iter().sum::<u64>()
            };
            assert!(marks(marked) > 10, "{mark_at:?}");
            assert_eq!(marks(1 - marked), 0, "{mark_at:?}");
        }
    }
}

#[test]
fn flows_of_two_classes_share_the_nic_of_their_host_by_weight() {
    // A frame takes 1230.4 ns on each of two links, whose delays are 1 us.
    let frame = FRAME as f64 * 0.8e-9;
    let done = |frames: f64| (frames + 1.0) * frame + 2e-6;
    let mut model = with(3, [Class { weight: 3, ..Class::new("a", 0) }, Class::new("b", 0)]);
    send(&mut model, "blast", 0, vec![flow(0, 1, 1460 * 300)]);
    send(&mut model, "blast", 1, vec![flow(0, 2, 1460 * 300)]);
    let results = run(&model);
    let fct = results.flows.f64s("fct_s");
    // Three of four frames are of the first class until it ends, but for a turn; then the second has the NIC for itself.
    assert!((fct[0] - done(400.0)).abs() < 4.0 * frame, "{fct:?}");
    assert!((fct[1] - done(600.0)).abs() < 1e-9, "{fct:?}");
}

#[test]
fn a_full_queue_of_one_class_drops_no_packet_of_another() {
    for limited in [0, 1] {
        let mut classes = [Class::new("a", 0), Class::new("b", 0)];
        classes[limited].limit = Amount { bytes: Bytes::new(12 * FRAME), packets: u32::MAX };
        let lost = |crowded: usize| {
            let mut model = with(4, classes.clone());
            send(&mut model, "blast", crowded, crowd());
            send(&mut model, "blast", 1 - crowded, lone());
            let results = run(&model);
            let delivered = *results.flows.u64s("delivered_bytes").last().unwrap();
            assert_eq!(delivered, 1460 * 10, "the lone flow loses nothing");
            of(&results, "drops_buffer", port_to(&model, 3))
        };
        assert!(lost(limited) > 100);
        assert_eq!(lost(1 - limited), 0);
    }
}

#[test]
fn under_dynamic_thresholds_the_queue_of_each_class_counts_for_itself() {
    // With n full queues and alpha 1, each holds q = size - n q.
    for (crowds, parts) in [(1, 2), (2, 3)] {
        let size = 300 * FRAME;
        let mut model = with(6, [Class::new("a", 0), Class::new("b", 0)]);
        model.switch.shared = Some(SharedBuffer { size: Bytes::new(size), alpha: 1.0 });
        for class in 0..crowds {
            let from = |src| Flow { start: at(0), ..flow(src, 5, 1460 * 2000) };
            let first = 2 * class as u32;
            send(&mut model, "blast", class, vec![from(first), from(first + 1)]);
        }
        let results = run(&model);
        let queue = of(&results, "queue_max_bytes", port_to(&model, 5));
        // While it fills, one class may be some frames ahead of another.
        assert!(queue.abs_diff(size / parts) <= 3 * FRAME, "{crowds}: {queue} of {}", size / parts);
    }
}

#[test]
fn all_classes_of_a_link_that_fails_lose_what_waits_and_give_its_memory_back() {
    let make = |first: bool| {
        let mut model = with(8, [Class::new("a", 0), Class::new("b", 1)]);
        model.switch.shared = Some(SharedBuffer { size: Bytes::new(300 * FRAME), alpha: 8.0 });
        let burst = |src, dst, us| Flow { start: at(us), ..flow(src, dst, 1460 * 200) };
        if first {
            send(&mut model, "blast", 0, vec![burst(0, 6, 0), burst(1, 6, 0)]);
            send(&mut model, "blast", 1, vec![burst(2, 6, 0)]);
            let port = port_to(&model, 6);
            model.faults = vec![Fault::at_once(at(100), port, false), Fault::at_once(at(900), port, true)];
        }
        send(&mut model, "blast", 0, vec![burst(3, 7, 1_000), burst(4, 7, 1_000)]);
        send(&mut model, "blast", 1, vec![burst(5, 7, 1_000)]);
        model
    };
    let [alone, after] = [false, true].map(|first| run(&make(first)));
    let model = make(true);
    let (failed, other) = (port_to(&model, 6), port_to(&model, 7));
    assert_eq!(
        of(&after, "tx_packets", failed)
            + of(&after, "drops_down", failed)
            + of(&after, "drops_buffer", failed),
        600,
        "nothing is left, and nothing leaves when the link works again"
    );
    assert_eq!(count(&after, "in flight"), 0);
    // The lower class gets nothing before the link fails, so all that it sent is lost.
    let delivered = after.flows.u64s("delivered_bytes");
    assert_eq!(delivered[2], 0, "{delivered:?}");
    for column in ["queue_max_bytes", "drops_buffer", "tx_packets"] {
        assert_eq!(of(&after, column, other), of(&alone, column, other), "{column}");
    }
    assert!(of(&alone, "drops_buffer", other) > 0, "the memory was full");
}

#[test]
fn a_protected_class_that_is_paused_does_not_pause_another_protected_one() {
    let rocev2 = transport("rocev2");
    let model = |victim_in: usize| {
        let mut model = network_for(&rocev2, star(5));
        let named = |name: &str| Class { name: name.into(), ..model.switch.classes[0].clone() };
        model.switch.classes = vec![named("a"), named("b")];
        model.host.port.classes = model.switch.classes.clone();
        model.pfc.as_mut().unwrap().lossless = vec![true, true];
        let pfc = model.pfc.as_ref().unwrap().config;
        let room = clearway_proto::port::pfc::headroom(
            Rate::gbps(100),
            Span::from_us(1),
            model.framing,
            0,
            pfc.response,
        );
        let apart = 5 * 2 * (room.get() + pfc.reserve.get());
        model.switch.shared = Some(SharedBuffer { size: Bytes::new(apart + 200_000), alpha: 1.0 });
        // Three hosts crowd a fourth in class 0. The first of them sends to a fifth, whose link is idle, as well.
        let crowd: Vec<Flow> = (0..3).map(|src| flow(src, 3, 2_000_000)).collect();
        send(&mut model, "rocev2", 0, crowd);
        send(&mut model, "rocev2", victim_in, vec![flow(0, 4, 1_000_000)]);
        model
    };
    let [paused, free] = [0, 1].map(|class| {
        let results = run(&model(class));
        assert_eq!(results.summary.flows_completed, 4);
        assert!(of(&results, "pauses", port_of(&model(class), 0)) > 0);
        *results.flows.f64s("fct_s").last().unwrap()
    });
    // In a class of its own it shares the link of its host with a flow that has a third of another link.
    let alone = Rate::gbps(100).time_to_send(Bytes::new(1538 * 685)).as_secs_f64();
    assert!(free < 2.0 * alone + 5e-6, "{free} against {alone}");
    assert!(paused > 1.3 * free, "{paused} against {free}: in the class that is paused it waits");
}
