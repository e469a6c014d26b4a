//! Tests of RDMA transports in the simulator: exact times, fairness, recovery without flow control, CNPs, and the classes of
//! acknowledgements.

use crate::common::*;
use clearway_sim::model::*;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_sim::{Ended, Results, Simulation};
use clearway_topology::{Dumbbell, NodeId, Star};
use clearway_units::{Bytes, Rate, Span, Time};
use std::path::Path;

#[test]
fn a_lone_packet_takes_exactly_its_serialisation_and_delay_on_each_link() {
    let transport = transport("rocev2");
    let mut model = network_for(&transport, star(2));
    add(&mut model, &transport, vec![flow(0, 1, 1000)]);
    let results = run(&model);
    let wire = Bytes::new(1078);
    let hop = Rate::gbps(100).time_to_send(wire) + Span::from_us(1);
    assert_eq!(results.flows.f64s("fct_s"), [(hop * 2).as_secs_f64()]);
}

#[test]
fn the_acknowledged_time_is_when_the_last_acknowledgement_is_back() {
    let transport = transport("rocev2");
    let mut model = network_for(&transport, star(2));
    add(&mut model, &transport, vec![flow(0, 1, 1000)]);
    let results = run(&model);
    let hop = |wire| Rate::gbps(100).time_to_send(Bytes::new(wire)) + Span::from_us(1);
    assert_eq!(results.flows.f64s("acked_s"), [(hop(1078) * 2 + hop(84) * 2).as_secs_f64()]);
}

#[test]
fn a_transport_without_acknowledgements_has_no_acknowledged_time() {
    let transport = transport("blast");
    let mut model = network_for(&transport, star(2));
    add(&mut model, &transport, vec![flow(0, 1, 1000)]);
    let results = run(&model);
    assert!(results.flows.f64s("fct_s")[0] > 0.0 && results.flows.f64s("acked_s")[0].is_nan());
}

#[test]
fn the_acknowledged_time_of_each_message_is_after_its_last_byte_arrived() {
    let all = clearway_proto::TRANSPORTS.iter().map(|info| info.name).filter(|name| *name != "blast");
    for transport in all.map(transport) {
        let mut model = network_for(&transport, star(4));
        add(&mut model, &transport, (0..3).map(|src| flow(src, 3, 200_000)).collect());
        let rounds = Rounds {
            client: NodeId(0),
            workers: vec![NodeId(1), NodeId(2)],
            request: Bytes::new(100),
            response: Bytes::new(20_000),
            longer: 0,
            reconnect: false,
            rounds: 3,
            barrier: true,
            start: Time::ZERO,
            pause: Span::ZERO,
            spread: Span::ZERO,
        };
        let mut part = model.traffic[0].clone();
        (part.name, part.pattern) = ("rounds".into(), Pattern::Rounds(rounds));
        model.traffic.push(part);
        let results = run(&model);
        let name = transport.info().name;
        assert_eq!(results.summary.flows_completed, 3 + 2 * 2 * 3, "{name}");
        let ends = results.flows.f64s("fct_s").iter().zip(results.flows.f64s("acked_s"));
        // A run may end before the last message of a connection that stays open is acknowledged.
        let known = ends.clone().filter(|(_, acked)| !acked.is_nan()).count();
        assert!(known >= 3 + 2 * 2 * 2, "{name}: {known}");
        assert!(ends.clone().all(|(fct, acked)| acked.is_nan() || acked > fct), "{name}");
    }
}

#[test]
fn a_lone_flow_fills_its_link() {
    let transport = transport("rocev2");
    let mut model = network_for(&transport, star(2));
    add(&mut model, &transport, vec![flow(0, 1, 14_600_000)]);
    let results = run(&model);
    let frames = Rate::gbps(100).time_to_send(Bytes::new(1538 * 10_000));
    let last = Rate::gbps(100).time_to_send(Bytes::new(1538)) + Span::from_us(2);
    assert_eq!(results.flows.f64s("fct_s"), [(frames + last).as_secs_f64()]);
}

/// Two flows of 250 kB in opposite directions, over a link of a tenth of their hosts' rate whose queues hold two packets;
/// one has the parameters `one`, the other `other`. Returns how the run ended, if it did so within 200,000 events, what
/// was delivered, and the timeouts.
fn opposite_flows(one: &[(&str, &str)], other: &[(&str, &str)]) -> (Option<Ended>, Vec<u64>, Vec<u64>) {
    let [one, other] = [one, other].map(|parameters| {
        let mut transport = transport("rocev2");
        parameters.iter().for_each(|(key, value)| transport.set(key, value).unwrap());
        transport
    });
    let shape = Dumbbell { pairs: 1, rate: Rate::gbps(100), ..Dumbbell::default() };
    let mut model = network_for(&one, shape.build().unwrap());
    model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets: 2 };
    add(&mut model, &one, vec![flow(0, 1, 250_000)]);
    add(&mut model, &other, vec![flow(1, 0, 250_000)]);
    let mut simulation = Simulation::new(&model).unwrap();
    simulation.step(200_000);
    let ended = simulation.ended();
    simulation.interrupt();
    let flows = simulation.finish().unwrap().flows;
    (ended, flows.u64s("delivered_bytes").to_vec(), flows.u64s("timeouts").to_vec())
}

#[test]
fn opposite_flows_that_lose_each_others_acknowledgements_start_over_for_ever() {
    // After a timeout both send all that is not acknowledged at line rate. The two directions of the slow link are full
    // of data for as long as acknowledgements come, which are dropped with it. Both timers ran equally long, so the
    // next round is the same to the picosecond.
    let (ended, delivered, timeouts) = opposite_flows(&[], &[]);
    assert_eq!(
        (ended, delivered),
        (None, vec![4_380, 4_380]),
        "the three packets that a queue and its link hold"
    );
    assert!(timeouts[0] > 200 && timeouts[0] == timeouts[1], "{timeouts:?}");
    // Acknowledgements that don't share the queue of data free them, and so do receivers that keep what follows a gap,
    // and timers of unequal length.
    let own: &[_] = &[("acks", "own-class")];
    let repeat: &[_] = &[("recovery", "selective-repeat")];
    for (one, other) in [(own, own), (repeat, repeat), (&[("rto", "5 ms")], &[("rto", "7 ms")])] {
        let (ended, delivered, timeouts) = opposite_flows(one, other);
        assert_eq!(ended, Some(Ended::Complete), "{one:?} {other:?}: {delivered:?} {timeouts:?}");
    }
}

#[test]
fn the_retransmission_timer_costs_no_event_per_packet() {
    let mut transport = transport("rocev2");
    transport.set("rto", "1 ms").unwrap();
    let mut model = network_for(&transport, star(2));
    add(&mut model, &transport, vec![flow(0, 1, 36_500_000)]);
    let results = run(&model);
    // A timeout scheduled anew with each of 25,000 packets in 3 ms would be 17,000 events more.
    let each = results.summary.events as f64 / 25_000.0;
    assert!((5.0..5.1).contains(&each), "{each} events a packet");
}

#[test]
fn a_leaving_packet_is_marked_by_frames_that_arrive_at_that_instant_as_in_the_authors_code() {
    // Two trains of 20 frames meet at a port, where two frames arrive each time that one leaves. The k-th to leave,
    // from 0, leaves k + 1 frames behind, two of which have just arrived. More than 5.5 frames are left behind by 15
    // frames while frames arrive, and by 14 after that.
    let mut transport = transport("dcqcn");
    for (key, value) in [("k_min", "8459 B"), ("k_max", "8459 B"), ("k_at", "100 Gbps")] {
        transport.set(key, value).unwrap();
    }
    // The order of the sending port and those that feed it in the topology must not matter.
    for (sources, dst) in [([0, 1], 2), ([1, 2], 0), ([0, 2], 1)] {
        let mut model = network_for(&transport, star(3));
        add(&mut model, &transport, sources.map(|src| flow(src, dst, 29_200)).to_vec());
        let results = run(&model);
        assert_eq!(results.ports.u64s("marks").iter().sum::<u64>(), 29, "to host {dst}");
    }
}

#[test]
fn flows_of_a_host_share_its_nic_fairly_frame_by_frame() {
    let transport = transport("rocev2");
    let mut model = network_for(&transport, star(5));
    add(&mut model, &transport, (1..5).map(|dst| flow(0, dst, 1_460_000)).collect());
    let results = run(&model);
    let fcts = results.flows.f64s("fct_s");
    let frame = Rate::gbps(100).time_to_send(Bytes::new(1538)).as_secs_f64();
    let (first, last) = (fcts[0], fcts[3]);
    assert!((last - first - 3.0 * frame).abs() < 1e-12, "{fcts:?}");
}

/// Returns the completion time of a flow of TIMELY from a host that sends three other flows of `others` bytes, at one
/// segment per round trip each.
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
fn a_flow_of_timely_starts_with_its_share_beside_active_flows_of_its_host_timely_1() {
    let at = |gbps: u64| Rate::mbps(gbps * 1000).time_to_send(Bytes::new(1_053_450)).as_secs_f64();
    // The other flows take a tenth of the NIC's rate.
    let near = |span: Span, seconds: f64| (span.as_secs_f64() / seconds - 1.0).abs() < 0.12;
    let beside = timely_beside_three("share", 1_460_000);
    assert!(near(beside, at(25)), "{beside}");
    assert!(near(timely_beside_three("line", 1_460_000), at(100)));
    let after = timely_beside_three("share", 1460);
    assert!(near(after, at(100)), "those of the others have been delivered: {after}");
}

#[test]
fn lost_packets_are_sent_again_without_flow_control() {
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
fn selective_repeat_retransmits_less_than_go_back_n() {
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
    // Two links lose 1 % each of 6,850 frames, and going back repeats the data of a round trip for each loss.
    assert!((100..220).contains(&selective), "{selective}");
    assert!(back > 10 * selective, "{back} {selective}");
}

#[test]
fn cnps_wait_in_the_class_of_their_own_and_not_among_data() {
    // The receiver sends data too, so CNPs (of the receiver in DCQCN, of the switch in PACC) find links busy. Their class has
    // room for none, and data has no limit.
    for name in ["dcqcn", "pacc"] {
        let mut model = incast(&transport(name), 8, 2_000_000);
        add(&mut model, &transport("rocev2"), vec![flow(8, 0, 2_000_000)]);
        let class = model.traffic[0].notice_class;
        for port in [&mut model.host.port, &mut model.switch] {
            assert_eq!(port.classes[class].name, "notices");
            port.classes[class].limit = Amount { bytes: Bytes::ZERO, packets: 0 };
        }
        let results = run(&model);
        let (sent, dropped) = (results.summary.cnps, results.ports.u64s("drops_buffer").iter().sum::<u64>());
        assert!((1..=sent).contains(&dropped), "{name}: {dropped} of {sent}");
        assert_eq!(results.flows.u64s("retransmits").iter().sum::<u64>(), 0, "{name}");
    }
}

#[test]
fn a_flow_counts_the_cnps_that_it_receives() {
    let with = |name: &str, values: &[(&str, &str)]| {
        let mut transport = transport(name);
        values.iter().for_each(|(key, value)| transport.set(key, value).unwrap());
        run(&incast(&transport, 8, 2_000_000))
    };
    let heard = |results: &Results| results.flows.u64s("notices").iter().sum::<u64>();
    for name in ["dcqcn", "pacc"] {
        let results = with(name, &[]);
        assert!(heard(&results) > 0, "{name}");
        // A CNP to a flow that has ended meanwhile reaches no sender.
        assert!(heard(&results) <= results.summary.cnps, "{name}");
        assert!(heard(&results) + 8 * 20 >= results.summary.cnps, "{name}");
    }
    // Each marked packet is acknowledged by a packet that echoes the mark.
    let results =
        with("dcqcn", &[("notice", "marked-ack"), ("reaction", "ticks"), ("decrease_interval", "4 us")]);
    assert_eq!(heard(&results), results.ports.u64s("marks").iter().sum::<u64>());
    assert_eq!(results.summary.cnps, 0);
    assert!(heard(&results) > 0);
    for name in ["timely", "hpcc", "rocev2", "dctcp"] {
        assert!(with(name, &[]).flows.column("notices").is_none(), "{name} hears of none");
    }
}

/// Sends single packets from h11 to h0 every 3 us, while up to eight hosts (h0 among them if `h0_sends`) send 2 MB each
/// to `busy`. Returns the times from each packet's arrival to its acknowledgement, in seconds and sorted, and the
/// results.
fn ack_times(acks: &str, busy: &str, h0_sends: bool) -> (Vec<f64>, Results) {
    let watched = (0..8).map(|number| 50 + 3 * number);
    let watched: Vec<String> = watched
        .map(|us| format!("{{ src = \"h11\", dst = \"h0\", size = \"1000 B\", start = \"{us} us\" }}"))
        .collect();
    let senders: Vec<String> = (u32::from(!h0_sends)..8).map(|host| format!("\"h{host}\"")).collect();
    let text = format!(
        r#"
        stop = "400 us"
        [topology]
        kind = "star"
        hosts = 12
        rate = "100 Gbps"
        delay = "1 us"
        [switch]
        shared_buffer = "2 MB"
        [transport]
        name = "rocev2"
        acks = "{acks}"
        [[traffic]]
        name = "watched"
        kind = "flows"
        list = [{}]
        [[traffic]]
        kind = "incast"
        receiver = "{busy}"
        senders = [{}]
        size = "2 MB"
        "#,
        watched.join(", "),
        senders.join(", ")
    );
    let scenario = Scenario::parse(&text, "acks", Path::new("."), &Overrides::default());
    let results = run(&scenario.unwrap_or_else(|error| panic!("{error}")).model);
    let starts = results.flows.f64s("start_s").iter();
    let ends = results.flows.f64s("fct_s").iter().zip(results.flows.f64s("acked_s"));
    let watched = starts.zip(ends).filter(|(start, _)| **start >= 50e-6);
    let mut times: Vec<f64> = watched.map(|(_, (fct, acked))| acked - fct).collect();
    assert_eq!(times.len(), 8);
    times.sort_by(f64::total_cmp);
    (times, results)
}

/// Returns the range of times of an acknowledgement that does not wait: from that in an idle network to that with a
/// frame on each of its links.
fn idle_ack_times() -> std::ops::Range<f64> {
    let time = |wire| Rate::gbps(100).time_to_send(Bytes::new(wire)).as_secs_f64();
    let idle = 2.0 * (time(84) + 1e-6);
    idle - 1e-12..idle + 2.0 * time(1538) + 1e-12
}

/// Returns true if an acknowledgement waits for long; otherwise asserts that none waits at all.
fn waits(times: &[f64]) -> bool {
    let waits = times[7] > 10e-6;
    assert!(waits || times.iter().all(|time| idle_ack_times().contains(time)), "{times:?}");
    waits
}

#[test]
fn acknowledgements_wait_behind_data_in_switches_unless_they_have_a_class_of_their_own() {
    for (acks, expected) in [("with-data", true), ("first-at-hosts", true), ("own-class", false)] {
        let (times, results) = ack_times(acks, "h11", false);
        assert_eq!(waits(&times), expected, "{acks}: {times:?}");
        assert_eq!(results.ports.u64s("drops_buffer").iter().sum::<u64>(), 0, "{acks}");
    }
}

#[test]
fn acknowledgements_wait_at_a_paused_host_unless_they_have_another_class_there() {
    for (acks, expected) in [("with-data", true), ("first-at-hosts", false), ("own-class", false)] {
        let (times, results) = ack_times(acks, "h10", true);
        assert_eq!(waits(&times), expected, "{acks}: {times:?}");
        assert!(results.ports.u64s("pauses").iter().sum::<u64>() > 0, "the incast stops its senders");
        assert_eq!(results.ports.u64s("drops_buffer").iter().sum::<u64>(), 0, "{acks}");
    }
}

#[test]
fn classes_of_credits_are_not_counted_among_classes_that_merge_at_switches() {
    let text = r#"
        [topology]
        kind = "star"
        hosts = 6
        rate = "100 Gbps"
        delay = "1 us"
        [[switch.credit_class]]
        name = "first"
        [[switch.credit_class]]
        name = "second"
        [[switch.credit_class]]
        name = "third"
        [[traffic]]
        transport = { name = "dcqcn", profile = "hpcc-ns3" }
        kind = "incast"
        senders = ["h1", "h2", "h3"]
        size = "1 MB"
        [[traffic]]
        transport = "expresspass"
        credit_class = "second"
        kind = "incast"
        senders = ["h4"]
        size = "1 MB"
        [[traffic]]
        transport = "expresspass"
        credit_class = "third"
        kind = "incast"
        senders = ["h5"]
        size = "1 MB"
        "#;
    let scenario = Scenario::parse(text, "classes", Path::new("."), &Overrides::default());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.model.switch.classes[1].at_switches, Some(0));
    let results = run(&scenario.model);
    assert_eq!(results.summary.flows_completed, 5);
}

/// Returns the queue at the fixed point of DCQCN's fluid model (Zhu et al., CoNEXT'16), at which the rates of `flows`
/// flows at 40 Gbps neither grow nor shrink, in bytes. With packets of 1,000 B, `p^3 = R_AI N^2 / (tau' C^2) (1/B +
/// N/(T C))^2`.
fn dcqcn_queue(flows: f64) -> f64 {
    let (rate, step, bytes) = (40e9 / 8e3, 40e6 / 8e3, 10e6 / 1e3);
    let (timer, alpha) = (55e-6, 55e-6);
    let p = (step * flows.powi(2) / (alpha * rate * rate) * (1.0 / bytes + flows / (timer * rate)).powi(2))
        .cbrt();
    5e3 + p / 0.01 * 195e3
}

#[test]
fn dcqcns_mean_queue_is_that_of_its_fluid_model_within_a_factor_of_two() {
    for flows in [2, 4, 10] {
        let transport = transport("dcqcn");
        let star = Star { hosts: flows + 1, rate: Rate::gbps(40), delay: Span::from_us(1) }.build().unwrap();
        let mut model = network_for(&transport, star);
        add(&mut model, &transport, (0..flows).map(|src| flow(src, flows, 1_000_000_000)).collect());
        model.stop = Some(Time::ZERO + Span::from_ms(60));
        let port = model.topology.ports().iter().position(|port| port.to == NodeId(flows)).unwrap();
        let what = Probe::Queue(vec![clearway_topology::PortId(port as u32)]);
        model.samples = vec![Sample { name: "queue".into(), every: Span::from_us(10), what }];
        let results = run(&model);
        // The first third of the run is left out, as flows start at line rate.
        let queue = results.samples.f64s("value");
        let queue = &queue[queue.len() / 3..];
        let (mean, fluid) = (queue.iter().sum::<f64>() / queue.len() as f64, dcqcn_queue(flows.into()));
        println!("{flows} flows: {mean:.0} B, the fluid model {fluid:.0} B");
        assert!((0.5..2.0).contains(&(mean / fluid)), "{flows} flows: {mean} B, the fluid model {fluid} B");
    }
}
