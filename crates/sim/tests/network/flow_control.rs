//! Tests of priority flow control in the simulator: no packet is lost with it, deadlocks and storms are reported, and a class
//! without it goes on.

use crate::common::*;
use clearway_proto::port::pfc::{PfcConfig, headroom};
use clearway_sim::Ended;
use clearway_sim::model::*;
use clearway_topology::{Dumbbell, FatTree, PortId, Star};
use clearway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

#[test]
fn no_packet_is_lost_in_a_255_to_1_incast_with_flow_control_under_any_rdma_transport() {
    for transport in lossless() {
        let name = transport.info().name;
        let results = run(&incast(&transport, 255, 320_000));
        let pauses = results.summary.flow_control.as_ref().map_or(0, |control| control.pauses);
        println!("{name}: {pauses} pauses, {} CNPs", results.summary.cnps);
        assert_eq!(results.summary.ended, Ended::Complete, "{name}");
        assert_eq!(count(&results, "dropped, buffer"), 0, "{name}");
        assert_eq!(results.summary.flows_completed, 255, "{name}");
        assert_eq!(results.flows.u64s("retransmits").iter().sum::<u64>(), 0, "{name}");
    }
}

#[test]
fn flow_control_alone_keeps_an_incast_lossless_and_its_bottleneck_busy() {
    // The 255 times 640 KB are far more than the memory of the switch.
    let results = run(&incast(&transport("rocev2"), 255, 640_000));
    let control = results.summary.flow_control.as_ref().expect("there is flow control");
    assert!(control.pauses > 255, "{control:?}");
    assert!(control.storms.is_empty() && control.deadlock.is_empty(), "{control:?}");
    assert_eq!(count(&results, "dropped, buffer"), 0);
    assert_eq!(results.ports.u64s("pauses").iter().sum::<u64>(), control.pauses);
    // The bottleneck never idles, so the last flow ends after 255 x 439 frames back to back.
    let end = results.flows.f64s("fct_s").iter().fold(0.0f64, |a, &b| a.max(b));
    let least = Rate::gbps(100).time_to_send(Bytes::new(255 * (640_000 + 439 * 78))).as_secs_f64();
    assert!(end > least && end < least * 1.001 + 10e-6, "{end} {least}");
}

#[test]
fn the_headroom_must_count_the_time_to_obey_a_pause() {
    let lost = |counted: Span| {
        let transport = transport("rocev2");
        let mut model = incast(&transport, 16, 1_000_000);
        let room = headroom(Rate::gbps(100), Span::from_us(1), model.framing, 0, counted);
        let pfc = model.pfc.as_mut().unwrap();
        pfc.config.response = Span::from_us(5);
        pfc.headroom = Some(room);
        let apart = 32 * (room.get() + pfc.config.reserve.get());
        model.switch.shared = Some(SharedBuffer { size: Bytes::new(apart + 1_000_000), alpha: 1.0 });
        count(&run(&model), "dropped, buffer")
    };
    assert_eq!(lost(Span::from_us(5)), 0);
    assert!(lost(Span::ZERO) > 0);
}

#[test]
fn a_ring_of_full_buffers_ends_the_run_as_a_deadlock() {
    let model = ring(true);
    let mut sim = clearway_sim::Simulation::new(&model).unwrap();
    sim.run(&mut |_| true);
    let results = sim.finish().unwrap();
    assert_eq!(results.summary.ended, Ended::Deadlocked);
    let control = results.summary.flow_control.expect("there is flow control");
    assert_eq!(control.deadlock.len(), 5 + 5, "links of the ring, and the hosts behind: {control:?}");
    assert_eq!(
        run(&ring(false)).summary.flows_completed,
        5,
        "without flow control the ring drops, and goes on"
    );
}

#[test]
fn a_port_that_is_paused_for_long_is_reported_as_a_storm() {
    let mut model = incast(&transport("rocev2"), 64, 2_000_000);
    let storm = Span::from_us(100);
    model.pfc = Some(Pfc { config: PfcConfig::DEFAULT, headroom: None, lossless: vec![true], storm });
    let results = run(&model);
    let control = results.summary.flow_control.as_ref().unwrap();
    assert!(control.longest > storm && !control.storms.is_empty(), "{control:?}");
    assert!(control.deadlock.is_empty());
}

#[test]
fn a_host_is_told_nothing_over_a_link_that_is_down() {
    // The link to the first sender fails, and that from it does not, so that the switch goes on to count what comes.
    let mut model = incast(&transport("rocev2"), 16, 200_000);
    model.switch.shared.as_mut().unwrap().size = Bytes::new(1_500_000);
    let fault = |us, up| Fault::at_once(Time::ZERO + Span::from_us(us), PortId(1), up);
    model.faults = vec![fault(1, false), fault(600, true)];
    model.stop = Some(Time::ZERO + Span::from_us(400));
    let results = run(&model);
    assert_eq!(results.summary.ended, Ended::Stopped);
    assert!(results.ports.u64s("pauses")[2] > 0, "other senders are told");
    assert_eq!(results.ports.u64s("pauses")[0], 0, "the first one is not");
}

#[test]
fn a_paused_class_does_not_stop_another_class() {
    // The victim's class has no flow control and shares its NIC with a class that is paused.
    let roce = transport("rocev2");
    let blast = transport("blast");
    let mut model = incast(&roce, 64, 2_000_000);
    let class = |name: &str| Class { name: name.into(), ..model.switch.classes[0].clone() };
    model.switch.classes = vec![class("stopped"), class("free")];
    model.host.port.classes = model.switch.classes.clone();
    model.pfc.as_mut().unwrap().lossless = vec![true, false];
    let pattern = Pattern::Flows(vec![flow(0, 1, 1_460_000)].into());
    model.traffic.push(Traffic {
        name: "victim".into(),
        transport: blast,
        class: 1,
        credit_class: 0,
        notice_class: 1,
        ack_class: 1,
        pattern,
    });
    let results = run(&model);
    // At worst the victim alternates with the other class while that may send.
    let alone = Rate::gbps(100).time_to_send(Bytes::new(1538 * 1000)).as_secs_f64();
    let victim = *results.flows.f64s("fct_s").last().unwrap();
    assert!(victim < 2.0 * alone + 3e-6, "{victim} against {alone}");
    assert_eq!(results.summary.flows_completed, 65);
}

/// Returns the memory that headrooms and reserves take at the switch where they take most, in bytes.
fn apart(model: &Model, response: Span) -> u64 {
    let mut apart = vec![0; model.topology.nodes().len()];
    for port in model.topology.ports() {
        let room = headroom(port.rate, port.delay, model.framing, 42, response).get();
        apart[port.to.index()] += room + PfcConfig::DEFAULT.reserve.get();
    }
    apart[model.topology.hosts()..].iter().copied().max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// No packet is lost at any rate, delay, response time and size of shared memory. All flows end, since buffers
    /// cannot wait for each other in a cycle in a tree.
    #[test]
    fn the_headroom_prevents_loss_in_any_tree(
        (shape, rate, delay_ns) in (0..3, prop::sample::select(vec![1u64, 10, 25, 100, 400]), 0u64..20_000),
        (shared, seed, name) in (1000u64..200_000, any::<u64>(), 0usize..6),
        response_ns in prop_oneof![Just(0u64), 0u64..20_000],
        pairs in prop::collection::vec((0u32..16, 0u32..16, 1u64..400_000, 0u64..50), 1..24),
    ) {
        let (rate, delay) = (Rate::gbps(rate), Span::from_ns(delay_ns));
        let topology = match shape {
            0 => Star { hosts: 16, rate, delay }.build(),
            1 => Dumbbell { pairs: 8, rate, delay, bottleneck_rate: rate, bottleneck_delay: delay }.build(),
            _ => FatTree { k: 4, rate, delay, ..FatTree::default() }.build(),
        }.unwrap();
        let all = lossless();
        let transport = &all[name % all.len()];
        let mut model = network_for(transport, topology);
        model.seed = seed;
        let response = Span::from_ns(response_ns);
        model.pfc.as_mut().unwrap().config.response = response;
        let size = Bytes::new(apart(&model, response) + shared);
        model.switch.shared = Some(SharedBuffer { size, alpha: 1.0 });
        let flows = pairs.into_iter().filter(|(src, dst, ..)| src != dst).map(|(src, dst, bytes, us)| Flow {
            start: Time::ZERO + Span::from_us(us),
            ..flow(src, dst, bytes)
        });
        let mut flows: Vec<Flow> = flows.collect();
        flows.sort_by_key(|flow| flow.start);
        let count = flows.len() as u64;
        add(&mut model, transport, flows);
        let results = run(&model);
        prop_assert_eq!(results.ports.u64s("drops_buffer").iter().sum::<u64>(), 0, "{}", transport.info().name);
        prop_assert_eq!(results.summary.flows_completed, count);
    }
}
