//! RDMA and flow control, end to end: nothing is lost where flow control works, all is delivered where it does not,
//! and a network that is stuck says so.

mod common;

use clearway_proto::AnyTransport;
use clearway_proto::port::pfc::{PfcConfig, headroom};
use clearway_sim::model::*;
use clearway_sim::{Ended, Results};
use clearway_topology::{Dumbbell, FatTree, NodeId, Star, Topology};
use clearway_units::{Bytes, Rate, Span, Time};
use common::*;
use proptest::prelude::*;

/// Transports that are made for a lossless network.
fn lossless() -> Vec<AnyTransport> {
    let all = clearway_proto::TRANSPORTS.iter().map(|info| transport(info.name));
    all.filter(|transport| transport.needs().lossless).collect()
}

fn star(hosts: u32) -> Topology {
    Star { hosts, rate: Rate::gbps(100), delay: Span::from_us(1) }.build().unwrap()
}

/// Everyone sends to the last host at once.
fn incast(transport: &AnyTransport, senders: u32, bytes: u64) -> Model {
    let mut model = network_for(transport, star(senders + 1));
    add(&mut model, transport, (0..senders).map(|src| flow(src, senders, bytes)).collect());
    model
}

fn count(results: &Results, name: &str) -> u64 {
    results.summary.packets.iter().find(|(line, _)| *line == name).expect(name).1
}

#[test]
fn a_lone_packet_takes_its_serialisation_and_delay_on_each_link_and_nothing_else() {
    let transport = transport("rocev2");
    let mut model = network_for(&transport, star(2));
    add(&mut model, &transport, vec![flow(0, 1, 1000)]);
    let results = run(&model);
    let wire = Bytes::new(1078);
    let hop = Rate::gbps(100).time_to_send(wire) + Span::from_us(1);
    assert_eq!(results.flows.f64s("fct_s"), [(hop * 2).as_secs_f64()]);
}

#[test]
fn a_lone_flow_uses_the_whole_link() {
    let transport = transport("rocev2");
    let mut model = network_for(&transport, star(2));
    add(&mut model, &transport, vec![flow(0, 1, 14_600_000)]);
    let results = run(&model);
    let frames = Rate::gbps(100).time_to_send(Bytes::new(1538 * 10_000));
    let last = Rate::gbps(100).time_to_send(Bytes::new(1538)) + Span::from_us(2);
    assert_eq!(results.flows.f64s("fct_s"), [(frames + last).as_secs_f64()]);
}

#[test]
fn a_packet_takes_four_arrivals_and_one_timer_though_a_far_timer_is_pending_besides() {
    let mut transport = transport("rocev2");
    transport.set("rto", "1 ms").unwrap();
    let mut model = network_for(&transport, star(2));
    add(&mut model, &transport, vec![flow(0, 1, 36_500_000)]);
    let results = run(&model);
    // 25,000 packets in 3 ms: a timeout scheduled anew with each would be 17,000 events more.
    let each = results.summary.events as f64 / 25_000.0;
    assert!((5.0..5.1).contains(&each), "{each} events a packet");
}

#[test]
fn flows_of_a_host_share_its_card_fairly_frame_by_frame() {
    let transport = transport("rocev2");
    let mut model = network_for(&transport, star(5));
    add(&mut model, &transport, (1..5).map(|dst| flow(0, dst, 1_460_000)).collect());
    let results = run(&model);
    let fcts = results.flows.f64s("fct_s");
    let frame = Rate::gbps(100).time_to_send(Bytes::new(1538)).as_secs_f64();
    let (first, last) = (fcts[0], fcts[3]);
    assert!((last - first - 3.0 * frame).abs() < 1e-12, "{fcts:?}");
}

#[test]
fn nothing_is_lost_in_a_255_to_1_incast_under_any_rdma_transport_with_flow_control() {
    for transport in lossless() {
        let name = transport.info().name;
        let results = run(&incast(&transport, 255, 320_000));
        let pauses = results.summary.flow_control.as_ref().map_or(0, |control| control.pauses);
        println!("{name}: {pauses} pauses, {} notices", results.summary.notices);
        assert_eq!(results.summary.ended, Ended::Complete, "{name}");
        assert_eq!(count(&results, "dropped, buffer"), 0, "{name}");
        assert_eq!(results.summary.flows_completed, 255, "{name}");
        assert_eq!(results.flows.u64s("retransmits").iter().sum::<u64>(), 0, "{name}");
    }
}

#[test]
fn flow_control_stops_senders_where_nothing_else_does() {
    // 255 times 640 KB are far more than the memory of the switch.
    let results = run(&incast(&transport("rocev2"), 255, 640_000));
    let control = results.summary.flow_control.as_ref().expect("there is flow control");
    assert!(control.pauses > 255, "{control:?}");
    assert!(control.storms.is_empty() && control.deadlock.is_empty(), "{control:?}");
    assert_eq!(count(&results, "dropped, buffer"), 0);
    assert_eq!(results.ports.u64s("pauses").iter().sum::<u64>(), control.pauses);
    // The bottleneck never idles: 255 x 439 frames one after the other.
    let end = results.flows.f64s("fct_s").iter().fold(0.0f64, |a, &b| a.max(b));
    let least = Rate::gbps(100).time_to_send(Bytes::new(255 * (640_000 + 439 * 78))).as_secs_f64();
    assert!(end > least && end < least * 1.001 + 10e-6, "{end} {least}");
}

#[test]
fn a_headroom_that_counts_the_time_to_obey_a_pause_is_enough_and_one_that_does_not_is_too_small() {
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

/// How long a flow of TIMELY takes from a host that sends three other flows, a segment a round trip each, if those carry
/// so many bytes.
fn timely_beside_three(start: &str, others: u64) -> Span {
    let mut timely = transport("timely");
    timely.set("start", start).unwrap();
    let mut slow = transport("dctcp");
    slow.set("receive_window", "1460 B").unwrap();
    let mut model = network_for(&timely, star(5));
    add(&mut model, &slow, (1..4).map(|dst| flow(0, dst, others)).collect());
    let at = Time::ZERO + Span::from_us(100);
    add(&mut model, &timely, vec![Flow { start: at, ..flow(0, 4, 1_000_000) }]);
    Span::from_secs_f64(*run(&model).flows.f64s("fct_s").last().unwrap())
}

#[test]
fn a_flow_of_timely_starts_with_its_share_beside_flows_of_its_host_that_are_not_yet_delivered_timely_1() {
    let at = |gbps: u64| Rate::mbps(gbps * 1000).time_to_send(Bytes::new(1_053_450)).as_secs_f64();
    // The others take a tenth of the card.
    let near = |span: Span, seconds: f64| (span.as_secs_f64() / seconds - 1.0).abs() < 0.12;
    let beside = timely_beside_three("share", 1_460_000);
    assert!(near(beside, at(25)), "{beside}");
    assert!(near(timely_beside_three("line", 1_460_000), at(100)));
    let after = timely_beside_three("share", 1460);
    assert!(near(after, at(100)), "those of the others have been delivered: {after}");
}

#[test]
fn without_flow_control_what_is_lost_is_sent_again() {
    for transport in lossless() {
        for recovery in ["go-back-n", "selective-repeat"] {
            let mut transport = transport.clone();
            transport.set("recovery", recovery).unwrap();
            let name = transport.info().name;
            let mut model = incast(&transport, 255, 64_000);
            (model.pfc, model.switch.shared) = (None, None);
            model.switch.classes[0].limit = Amount { bytes: Bytes::new(400_000), packets: u32::MAX };
            let results = run(&model);
            assert_eq!(results.summary.flows_completed, 255, "{name} {recovery}");
            assert!(count(&results, "dropped, buffer") > 0, "{name} {recovery}");
            let delivered: u64 = results.flows.u64s("delivered_bytes").iter().sum();
            assert_eq!(delivered, 255 * 64_000, "{name} {recovery}");
        }
    }
}

#[test]
fn selective_repeat_sends_less_again_than_going_back() {
    let again = |recovery: &str| {
        let mut transport = transport("rocev2");
        transport.set("recovery", recovery).unwrap();
        let mut model = network_for(&transport, star(2));
        model.pfc = None;
        let port = |a, b| model.topology.port_between(NodeId(a), NodeId(b)).expect("a link");
        model.loss = vec![(port(0, 2), 0.01), (port(2, 1), 0.01)];
        add(&mut model, &transport, vec![flow(0, 1, 10_000_000)]);
        let results = run(&model);
        assert_eq!(results.summary.flows_completed, 1);
        results.flows.u64s("retransmits")[0]
    };
    let (back, selective) = (again("go-back-n"), again("selective-repeat"));
    // Two links lose 1 % each of 6,850 frames; going back repeats a round trip's worth for each loss.
    assert!((100..220).contains(&selective), "{selective}");
    assert!(back > 10 * selective, "{back} {selective}");
}

/// A ring of five switches with a host each; each host sends to the one two switches on.
fn ring(pfc: bool) -> Model {
    let mut text = String::from("10 5 10\n5 6 7 8 9\n");
    for at in 0..5 {
        text += &format!("{at} {} 100Gbps 0.001ms 0\n", at + 5);
        text += &format!("{} {} 100Gbps 0.001ms 0\n", at + 5, (at + 1) % 5 + 5);
    }
    let transport = transport("rocev2");
    let topology = clearway_topology::from_hpcc(&text).expect("a valid file");
    let mut model = network_for(&transport, topology);
    model.switch.shared = Some(SharedBuffer { size: Bytes::new(1_000_000), alpha: 1.0 });
    if !pfc {
        model.pfc = None;
    }
    add(&mut model, &transport, (0..5).map(|at| flow(at, (at + 2) % 5, 50_000_000)).collect());
    model
}

#[test]
fn a_ring_of_full_buffers_is_reported_as_a_deadlock_and_does_not_hang() {
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
fn a_port_that_is_stopped_for_long_is_reported_as_a_storm() {
    let mut model = incast(&transport("rocev2"), 64, 2_000_000);
    let storm = Span::from_us(100);
    model.pfc = Some(Pfc { config: PfcConfig::DEFAULT, headroom: None, lossless: vec![true], storm });
    let results = run(&model);
    let control = results.summary.flow_control.as_ref().unwrap();
    assert!(control.longest > storm && !control.storms.is_empty(), "{control:?}");
    assert!(control.deadlock.is_empty());
}

#[test]
fn a_class_that_is_stopped_does_not_stop_another() {
    // The victim's class is not protected by flow control and shares its card with a class that is stopped.
    let roce = transport("rocev2");
    let blast = transport("blast");
    let mut model = incast(&roce, 64, 2_000_000);
    let class = |name: &str| Class { name: name.into(), ..model.switch.classes[0].clone() };
    model.switch.classes = vec![class("stopped"), class("free")];
    model.host.port.classes = model.switch.classes.clone();
    model.pfc.as_mut().unwrap().lossless = vec![true, false];
    let pattern = Pattern::Flows(vec![flow(0, 1, 1_460_000)]);
    model.traffic.push(Traffic {
        name: "victim".into(),
        transport: blast,
        class: 1,
        credit_class: 0,
        notice_class: 1,
        pattern,
    });
    let results = run(&model);
    // Alternating with the other class at the worst, while that may send.
    let alone = Rate::gbps(100).time_to_send(Bytes::new(1538 * 1000)).as_secs_f64();
    let victim = *results.flows.f64s("fct_s").last().unwrap();
    assert!(victim < 2.0 * alone + 3e-6, "{victim} against {alone}");
    assert_eq!(results.summary.flows_completed, 65);
}

#[test]
fn a_flow_counts_the_notifications_that_it_hears_of() {
    let with = |name: &str, values: &[(&str, &str)]| {
        let mut transport = transport(name);
        values.iter().for_each(|(key, value)| transport.set(key, value).unwrap());
        run(&incast(&transport, 8, 2_000_000))
    };
    let heard = |results: &Results| results.flows.u64s("notices").iter().sum::<u64>();
    for name in ["dcqcn", "pacc"] {
        let results = with(name, &[]);
        assert!(heard(&results) > 0, "{name}");
        // What was sent to a flow that had ended meanwhile reaches nobody.
        assert!(heard(&results) <= results.summary.notices, "{name}");
        assert!(heard(&results) + 8 * 20 >= results.summary.notices, "{name}");
    }
    // Each marked packet is acknowledged by a packet that says so.
    let results =
        with("dcqcn", &[("notice", "marked-ack"), ("reaction", "ticks"), ("decrease_interval", "4 us")]);
    assert_eq!(heard(&results), results.ports.u64s("marks").iter().sum::<u64>());
    assert_eq!(results.summary.notices, 0);
    assert!(heard(&results) > 0);
    for name in ["timely", "hpcc", "rocev2", "dctcp"] {
        assert!(with(name, &[]).flows.column("notices").is_none(), "{name} hears of none");
    }
}

/// Memory that headrooms and reserves of the largest switch take.
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

    /// Whatever the rates, the delays, the time to obey a pause, and the little that is left beside the headrooms: nothing is lost, and in a tree,
    /// where no buffers can wait for each other in a circle, all ends.
    #[test]
    fn the_headroom_is_enough_in_any_tree(
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
