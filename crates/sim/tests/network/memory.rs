//! Tests of the memory of switches beside what shares it: links that fail, other ports, other classes.

use crate::common::*;
use clearway_proto::AnyTransport;
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_topology::{NodeId, PortId};
use clearway_units::{Bytes, Rate, Span, Time};

/// The host to which the link fails, and one to which it does not.
const CUT_OFF: u32 = 2;
const OTHER: u32 = 5;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// The switch's port to a host of a star.
fn port_to(model: &Model, host: u32) -> PortId {
    model.topology.ports_of(NodeId(host))[0].reverse()
}

/// The port of a host of a star.
fn port_of(model: &Model, host: u32) -> PortId {
    model.topology.ports_of(NodeId(host))[0]
}

fn count_at(results: &Results, column: &str, port: PortId) -> u64 {
    results.ports.u64s(column)[port.index()]
}

/// A star in which hosts 0 and 1 send to a host whose link fails after 20 us, while what waits for it fills the memory of
/// the switch, and hosts 3 and 4 send to another host when all that is long over. `first` says whether the first two send.
fn two_bursts(transport: &AnyTransport, memory: u64, first: bool) -> Model {
    let mut model = network_for(transport, star(6));
    let shared = model.switch.shared.get_or_insert(SharedBuffer { size: Bytes::ZERO, alpha: 8.0 });
    shared.size = Bytes::new(memory);
    model.stop = Some(at(2_000));
    let burst = |src, dst, us| Flow { start: at(us), ..flow(src, dst, 1_460_000) };
    if first {
        add(&mut model, transport, vec![burst(0, CUT_OFF, 0), burst(1, CUT_OFF, 0)]);
        model.faults = vec![Fault::at_once(at(20), port_to(&model, CUT_OFF), false)];
    }
    add(&mut model, transport, vec![burst(3, OTHER, 1_000), burst(4, OTHER, 1_000)]);
    model
}

#[test]
fn memory_of_what_waited_for_a_link_that_failed_is_free_for_other_ports() {
    let blast = transport("blast");
    // About 150 of 200 frames wait when the link fails, and the second burst needs all of the memory.
    let memory = 200 * 1538;
    let [alone, after] = [false, true].map(|first| run(&two_bursts(&blast, memory, first)));
    let model = two_bursts(&blast, memory, true);
    let cut_off = port_to(&model, CUT_OFF);
    assert!(count_at(&after, "queue_max_bytes", cut_off) > memory / 2);
    assert!(count_at(&after, "drops_down", cut_off) > 100);
    let other = port_to(&model, OTHER);
    for column in ["queue_max_bytes", "drops_buffer", "tx_packets"] {
        assert_eq!(count_at(&after, column, other), count_at(&alone, column, other), "{column}");
    }
    assert!(count_at(&alone, "drops_buffer", other) > 0, "the memory was full");
}

#[test]
fn memory_under_flow_control_of_what_waited_for_a_link_that_failed_is_free_for_other_ports() {
    let rocev2 = transport("rocev2");
    let memory = 1_000_000;
    let [alone, after] = [false, true].map(|first| run(&two_bursts(&rocev2, memory, first)));
    let model = two_bursts(&rocev2, memory, true);
    assert!(count_at(&after, "drops_down", port_to(&model, CUT_OFF)) > 20);
    assert!(count_at(&alone, "pauses", port_of(&model, 3)) > 0);
    for host in [3, 4] {
        let port = port_of(&model, host);
        for column in ["pauses", "tx_packets"] {
            assert_eq!(count_at(&after, column, port), count_at(&alone, column, port), "{column} of {host}");
        }
        let paused = |results: &Results| results.ports.f64s("paused_s")[port.index()];
        assert_eq!(paused(&after), paused(&alone), "{host}");
    }
    let other = port_to(&model, OTHER);
    assert_eq!(count_at(&after, "queue_max_bytes", other), count_at(&alone, "queue_max_bytes", other));
}

#[test]
fn hosts_that_are_paused_when_the_link_behind_the_switch_fails_may_go_on() {
    let rocev2 = transport("rocev2");
    let model = two_bursts(&rocev2, 1_000_000, true);
    let results = run(&model);
    for host in [0, 1] {
        let port = port_of(&model, host);
        assert!(count_at(&results, "pauses", port) > 0, "{host} was paused");
        // The link fails at 20 us, and a frame takes a microsecond and its time on the wire.
        let paused = results.ports.f64s("paused_s")[port.index()];
        assert!(paused > 0.0 && paused < 22e-6, "{host}: {paused}");
    }
}

#[test]
fn a_host_whose_own_link_fails_while_it_is_paused_goes_on_when_it_works_again() {
    let rocev2 = transport("rocev2");
    let mut model = incast(&rocev2, 3, 1_460_000);
    model.switch.shared.as_mut().unwrap().size = Bytes::new(600_000);
    let up = port_of(&model, 0);
    let whole = run(&model);
    let first = whole.ports.f64s("paused_s")[up.index()];
    assert!(first > 100e-6, "it is paused for most of the time: {first}");
    cut(&mut model, 0, at(60), at(200));
    let results = run(&model);
    assert_eq!(results.summary.flows_completed, 3);
    assert_eq!(count(&results, "dropped, buffer"), 0);
    let control = results.summary.flow_control.as_ref().unwrap();
    assert!(control.storms.is_empty() && control.deadlock.is_empty(), "{control:?}");
    // What it sends takes as long as before, and it lost 140 us at most, besides the time that its sender waits for an
    // answer to what was lost.
    assert!(results.summary.end < whole.summary.end + Span::from_ms(5), "{}", results.summary.end);
}

/// Both directions of a host's link fail at one time and work again at another.
fn cut(model: &mut Model, host: u32, from: Time, until: Time) {
    let ends = [port_of(model, host), port_to(model, host)];
    let fault = |at, up| ends.map(|port| Fault::at_once(at, port, up));
    model.faults = [fault(from, false), fault(until, true)].concat();
}

#[test]
fn a_host_whose_pause_was_lost_with_its_link_is_told_again() {
    let rocev2 = transport("rocev2");
    let mut lost = 0;
    // A pause frame is under way for a microsecond, so one of these failures meets the first one.
    for half in 5..50 {
        let mut model = incast(&rocev2, 3, 600_000);
        // What comes before a second pause is obeyed fits, and no more.
        let (room, reserve) = (60_000, model.pfc.as_ref().unwrap().config.reserve.get());
        model.pfc.as_mut().unwrap().headroom = Some(Bytes::new(room));
        model.switch.shared.as_mut().unwrap().size = Bytes::new(4 * (room + reserve) + 300_000);
        let from = Time::ZERO + Span::from_ns(500) * half;
        cut(&mut model, 0, from, from + Span::from_ns(1_200));
        let results = run(&model);
        assert_eq!(count(&results, "dropped, buffer"), 0, "the link fails at {from}");
        assert_eq!(results.summary.flows_completed, 3, "the link fails at {from}");
        lost += count(&results, "dropped, link down");
    }
    assert!(lost > 0);
}

#[test]
fn a_class_that_is_paused_when_its_link_fails_goes_on_when_it_works_again() {
    // The link is down until all that the switch holds has left, so nobody tells the host that it may go on.
    let rocev2 = transport("rocev2");
    let mut model = incast(&rocev2, 3, 1_460_000);
    let class = |name: &str| Class { name: name.into(), ..model.switch.classes[0].clone() };
    model.switch.classes = vec![class("stopped"), class("free")];
    model.host.port.classes = model.switch.classes.clone();
    model.pfc.as_mut().unwrap().lossless = vec![true, false];
    model.switch.shared.as_mut().unwrap().size = Bytes::new(600_000);
    model.stop = Some(at(20_000));
    // It is paused for two thirds of the time.
    for step in 0..20 {
        cut(&mut model, 0, at(60) + Span::from_ns(700) * step, at(600));
        let results = run(&model);
        assert!(count_at(&results, "pauses", port_of(&model, 0)) > 0);
        assert_eq!(results.summary.flows_completed, 3, "{step}");
    }
}

#[test]
fn a_host_is_not_paused_while_its_link_is_down() {
    let rocev2 = transport("rocev2");
    let mut model = incast(&rocev2, 3, 1_460_000);
    model.switch.shared.as_mut().unwrap().size = Bytes::new(600_000);
    let stopped = |model: &Model, us| {
        let results = run(&Model { stop: Some(at(us)), ..model.clone() });
        results.ports.f64s("paused_s")[port_of(model, 0).index()]
    };
    let before: Vec<f64> = (60..80).map(|us| stopped(&model, us)).collect();
    let mut was_paused = 0;
    for (us, before) in (60..80).zip(before) {
        cut(&mut model, 0, at(us), at(1_000));
        let after = stopped(&model, 900);
        assert!((after - before).abs() < 1e-9, "the link fails at {us} us: {after} {before}");
        was_paused += u32::from(stopped(&model, us) > 0.0);
        model.faults.clear();
    }
    assert!(was_paused > 0);
}

#[test]
fn packets_that_a_failed_link_lost_count_among_those_that_came_to_a_port() {
    // The n-th frame that waits found n - 1 of them, and the first of all found the port idle.
    let blast = transport("blast");
    let mut model = two_bursts(&blast, 1_000_000, true);
    model.traffic.pop();
    let port = port_to(&model, CUT_OFF);
    let queued = |model: &Model| run(model).ports.f64s("queue_mean_arrivals_bytes")[port.index()];
    let lost = queued(&model);
    // Those that came before the link failed found the same if it did not.
    model.stop = Some(at(20));
    model.faults.clear();
    let all = queued(&model);
    assert!(all > 10_000.0 && (lost - all).abs() <= 2.0 * 1538.0, "{lost} {all}");
}

#[test]
fn pause_frames_do_not_count_among_the_packets_that_came_to_a_port() {
    // Two hosts crowd a third. When that is over, the third is paused many times, by frames over the same port.
    let blast = transport("blast");
    let make = |is_paused: bool| {
        let mut model = network_for(&transport("rocev2"), star(6));
        model.switch.shared.as_mut().unwrap().size = Bytes::new(600_000);
        add(&mut model, &blast, vec![flow(4, 0, 146_000), flow(5, 0, 146_000)]);
        if is_paused {
            let late = |src| Flow { start: at(100), ..flow(src, 3, 1_460_000) };
            add(&mut model, &blast, (0..3).map(late).collect());
        }
        model
    };
    let [alone, paused] = [false, true].map(|is_paused| run(&make(is_paused)));
    let model = make(true);
    assert!(count_at(&paused, "pauses", port_of(&model, 0)) > 10);
    let port = port_to(&model, 0).index();
    let met = |results: &Results| results.ports.f64s("queue_mean_arrivals_bytes")[port];
    assert!(met(&alone) > 10_000.0);
    assert_eq!(met(&paused), met(&alone));
}

#[test]
fn two_ports_of_a_switch_that_fail_give_back_the_memory_of_each_once() {
    // Ports to two hosts fill together, and fail one after the other: then a third one has all the memory.
    let blast = transport("blast");
    let memory = 200 * 1538;
    let make = |first: bool| {
        let mut model = network_for(&blast, star(9));
        model.switch.shared = Some(SharedBuffer { size: Bytes::new(memory), alpha: 8.0 });
        let burst = |src, dst, us| Flow { start: at(us), ..flow(src, dst, 1_460_000) };
        if first {
            add(&mut model, &blast, vec![burst(0, 6, 0), burst(1, 6, 0), burst(2, 7, 0), burst(3, 7, 0)]);
            let fault = |us, host| Fault::at_once(at(us), port_to(&model, host), false);
            model.faults = vec![fault(15, 6), fault(17, 7)];
        }
        add(&mut model, &blast, vec![burst(4, 8, 1_000), burst(5, 8, 1_000)]);
        model
    };
    let [alone, after] = [false, true].map(|first| run(&make(first)));
    let model = make(true);
    assert!([6, 7].iter().all(|&host| count_at(&after, "drops_down", port_to(&model, host)) > 100));
    let third = port_to(&model, 8);
    for column in ["queue_max_bytes", "drops_buffer", "tx_packets"] {
        assert_eq!(count_at(&after, column, third), count_at(&alone, column, third), "{column}");
    }
}

#[test]
fn a_switch_has_memory_of_its_own_however_full_another_is() {
    // The first switch's port to the second is full all the time, and so is that of the second to its host.
    let blast = transport("blast");
    let rate = Rate::gbps(100);
    let topology = clearway_topology::Dumbbell {
        pairs: 3,
        rate,
        bottleneck_rate: rate,
        delay: Span::from_us(1),
        bottleneck_delay: Span::from_us(1),
    };
    let mut model = network_for(&blast, topology.build().unwrap());
    let size = 100 * 1538;
    model.switch.shared = Some(SharedBuffer { size: Bytes::new(size), alpha: 1.0 });
    model.stop = Some(at(100));
    // Two hosts on the left send to the right, and one on the right sends to the same host there.
    add(&mut model, &blast, vec![flow(0, 3, 1_460_000), flow(1, 3, 1_460_000), flow(4, 3, 1_460_000)]);
    let results = run(&model);
    let longest = results.ports.u64s("queue_max_bytes");
    let full: Vec<u64> = longest.iter().copied().filter(|&bytes| bytes > 10 * 1538).collect();
    assert_eq!(full.len(), 2, "{longest:?}");
    assert!(
        full.iter().all(|&bytes| bytes.abs_diff(size / 2) <= 2 * 1538),
        "half of its own memory: {full:?}"
    );
}
