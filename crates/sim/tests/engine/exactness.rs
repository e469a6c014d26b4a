//! Tests of exactness: on idle paths the simulator agrees with the closed form to the picosecond.

use crate::common::*;
use clearway_proto::{Framing, TRANSPORTS};
use clearway_sim::model::{Probe, Sample};
use clearway_topology::{FatTree, Star};
use clearway_units::{Bytes, Rate, Span};

#[test]
fn a_frame_takes_exactly_its_serialisation_and_propagation_on_every_link() {
    for (mbps, payload) in
        [(1, 1460), (100, 1), (10_000, 1460), (56_000, 700), (400_000, 1460), (1_600_000, 6)]
    {
        let rate = Rate::mbps(mbps);
        let delay = Span::from_ns(777);
        let topology = FatTree { k: 4, rate, delay, ..FatTree::default() }.build().unwrap();
        let mut model = quiet(topology);
        add(&mut model, &transport("blast"), vec![flow(0, 15, payload)]);
        let results = run(&model);
        let wire = Bytes::new(payload.max(6) + 78);
        let expected = (rate.time_to_send(wire) + delay) * 6;
        assert_eq!(results.flows.f64s("fct_s"), [expected.as_secs_f64()], "{rate}");
        assert_eq!(results.flows.f64s("slowdown"), [1.0]);
    }
}

#[test]
fn under_every_transport_frames_without_overhead_carry_nothing_but_their_payload() {
    let (rate, delay) = (Rate::gbps(10), Span::from_us(1));
    let one_flow = |name: &str| {
        let mut model = network_for(&transport(name), Star { hosts: 2, rate, delay }.build().unwrap());
        model.framing = Framing { payload_max: 1000, overhead: 0, wire_min: 64 };
        add(&mut model, &transport(name), vec![flow(0, 1, 10_000)]);
        run(&model)
    };
    let ideal = (rate.time_to_send(Bytes::new(1000)) * 11 + delay * 2).as_secs_f64();
    for info in TRANSPORTS {
        let results = one_flow(info.name);
        assert_eq!(results.flows.u64s("delivered_bytes"), [10_000], "{}", info.name);
        assert!(results.flows.f64s("fct_s")[0] >= ideal, "{}", info.name);
    }
    let bare = one_flow("blast");
    assert_eq!(bare.flows.f64s("fct_s"), [ideal]);
    assert_eq!(bare.ports.u64s("tx_bytes").iter().sum::<u64>(), 20_000);
}

#[test]
fn frames_of_two_hosts_to_one_leave_its_port_back_to_back() {
    let rate = Rate::gbps(10);
    let topology = Star { hosts: 3, rate, delay: Span::from_us(1) }.build().unwrap();
    let mut model = quiet(topology);
    add(&mut model, &transport("blast"), vec![flow(0, 2, 1460), flow(1, 2, 1460)]);
    let results = run(&model);
    let frame = rate.time_to_send(Bytes::new(1538));
    let first = frame * 2 + Span::from_us(2);
    assert_eq!(results.flows.f64s("fct_s"), [first.as_secs_f64(), (first + frame).as_secs_f64()]);
    let queued = results.ports.u64s("queue_max_bytes").iter().max();
    assert_eq!(queued, Some(&1538));
}

#[test]
fn a_sender_measures_the_exact_round_trip_from_each_acknowledgement() {
    let rate = Rate::gbps(10);
    let delay = Span::from_us(1);
    let mut model = quiet(Star { hosts: 3, rate, delay }.build().unwrap());
    // With windows of ten segments at most one frame waits, and only in the NIC of its own host.
    add(&mut model, &transport("newreno"), vec![flow(0, 2, 9 * 1460)]);
    add(&mut model, &transport("newreno"), vec![flow(1, 0, 1460)]);
    model.samples = vec![Sample { name: "rtt".into(), every: Span::MAX, what: Probe::Rtt(0) }];
    let samples = run(&model).samples;
    let frames = rate.time_to_send(Bytes::new(1538)) + rate.time_to_send(Bytes::new(84));
    let expected = (frames * 2 + delay * 4).as_secs_f64();
    assert_eq!(samples.f64s("value"), [expected; 9], "the other traffic entry is not looked at");
    assert_eq!(samples.f64s("time_s")[0], expected, "when the acknowledgement was handled");
}
