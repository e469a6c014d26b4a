//! Tests of many threads: whatever the network and its traffic, every partition into any number of parts gives the bytes
//! of one thread, in all tables, samples and totals.
//!
//! `PROPTEST_CASES=20000 cargo test -p clearway-sim --test parallel` draws an eighth of that many random scenarios.

mod common;

use clearway_proto::{TRANSPORTS, mix};
use clearway_sim::model::*;
use clearway_sim::{Ended, Partition, Results, Simulation};
use clearway_topology::*;
use clearway_units::{Bytes, Rate, Span, Time};
use common::mixes::{model, one_in, scenarios, watched};
use common::{add, any_cut, flow, incast, network_for, quiet, ring, run, transport};
use proptest::prelude::*;
use std::sync::Arc;

/// The shortest windows of random cases, so that no case has millions of them.
const WIDTH_MIN: Span = Span::from_ns(200);

/// Runs a model with a thread for each part of a partition, which gets its part in every window or, as usual, only in
/// those with many events.
fn run_cut(model: &Model, partition: &Partition, always: bool) -> Results {
    let mut simulation = Simulation::spooled(model, partition, [None, None]).expect("the model is sound");
    if always {
        simulation.always_hand_over();
    }
    simulation.run(&mut |_| true);
    simulation.finish().expect("the books balance")
}

/// Runs a model whose threads go through blocks in turn, in steps of so many events, but for two of so many stretches of time,
/// until so many steps are done, after which blocks rest for good. After each third step a checkpoint is written, and the run goes on.
fn run_in_blocks(model: &Model, blocks: &Partition, step: u64, every: u64, steps: u64) -> Results {
    let mut simulation = Simulation::spooled(model, blocks, [None, None]).expect("the model is sound");
    simulation.take_turns_but(every);
    let mut done = 0;
    while simulation.step(step) {
        done += 1;
        if done % 3 == 0 {
            simulation.save("", &mut std::io::sink()).expect("a sink takes all");
        }
        if done == steps {
            simulation.take_turns_but(1);
        }
    }
    simulation.finish().expect("the books balance")
}

/// Asserts that two runs gave the same, to the last bit.
fn assert_same(cut: &Results, one: &Results, of: &str) {
    assert_eq!(format!("{:?}", cut.summary), format!("{:?}", one.summary), "{of}");
    for (cut, one) in [(&cut.flows, &one.flows), (&cut.ports, &one.ports), (&cut.samples, &one.samples)] {
        assert_eq!(cut.rows(), one.rows(), "{of}: rows of {}", one.name);
        for (cut, one) in cut.columns.iter().zip(&one.columns) {
            assert_eq!(format!("{:?}", cut.values), format!("{:?}", one.values), "{of}: column {}", one.name);
        }
    }
    assert_eq!(cut.hash(), one.hash(), "{of}");
}

/// Asserts that a model gives the same in one part, in parts of our making and in random parts.
fn check(model: &Model, parts: u64, seed: u64, of: &str) {
    println!("{of}: {parts} parts, seed {seed}");
    let one = run(model);
    let made = Partition::new(model, parts as usize);
    // To hand over parts in every window takes long where there are fewer processors than parts.
    let always = parts <= 3 && seed.is_multiple_of(2);
    assert_same(&run_cut(model, &made, always), &one, &format!("{of}, {} parts", made.parts()));
    if Partition::refusal(model).is_none() {
        let any = any_cut(model, parts, seed);
        assert_same(
            &run_cut(model, &any, false),
            &one,
            &format!("{of}, {} random parts of seed {seed}", any.parts()),
        );
        let step = if seed.is_multiple_of(4) { Simulation::SLICE } else { 1 + seed % 1000 };
        let (every, steps) = ([0, 3, 4, 7][seed as usize / 4 % 4], [7, 30, u64::MAX][seed as usize % 3]);
        let blocks = any_cut(model, 2 + mix(seed) % 3, mix(seed));
        let both = any.clone().divided_by(&blocks);
        assert_same(
            &run_in_blocks(model, &both, step, every, steps),
            &one,
            &format!(
                "{of}, {} random parts of seed {seed} in {:?} random blocks",
                both.parts(),
                both.blocks()
            ),
        );
        assert_same(
            &run_in_blocks(model, &any.in_blocks(), step, every, steps),
            &one,
            &format!("{of}, {parts} random blocks of seed {seed}"),
        );
    }
}

/// Changes the delays of some links: to none, or to another one.
fn with_other_delays(model: &mut Model, seed: u64) {
    for link in 0..model.topology.links() as u32 {
        let port = PortId(2 * link);
        let rate = model.topology.port(port).rate;
        let topology = Arc::make_mut(&mut model.topology);
        match mix(seed ^ u64::from(link)) % 16 {
            0 => topology.set_link(port, rate, Span::ZERO),
            1 => topology.set_link(port, rate, Span::from_ns(300)),
            2 => topology.set_link(port, rate, Span::from_us(30)),
            _ => {}
        }
    }
}

/// Lets some links fail and most of them recover, which routing notices at once, later or never, or lets them become slower.
fn with_faults(model: &mut Model, seed: u64) {
    for number in 0..mix(seed) % 4 {
        let drawn = mix(seed ^ (number + 1));
        let port = PortId((drawn % model.topology.ports().len() as u64) as u32);
        let at = Time::ZERO + Span::from_us(drawn >> 32 & 511);
        let ports: &[PortId] = if drawn >> 20 & 1 == 0 { &[port, port.reverse()] } else { &[port] };
        for &port in ports {
            let late = [Some(0), Some(37), None][(drawn >> 54) as usize % 3];
            let fault = |at: Time, up| Fault {
                noticed: late.map(|late| at + Span::from_us(late)),
                ..Fault::at_once(at, port, up)
            };
            let (until, full) =
                (at + Span::from_us(1 + (drawn >> 42 & 4095)), model.topology.port(port).rate);
            let slower = Rate::bps(full.as_bps() / (2 + (drawn >> 12 & 15)));
            model.faults.extend(match drawn >> 24 & 3 {
                0 => [Fault::rate(at, port, slower), Fault::rate(until, port, full)],
                _ => [fault(at, false), fault(until, true)],
            });
        }
    }
    model.faults.sort_by_key(|fault| fault.at);
}

#[test]
fn a_window_that_ends_with_the_last_arrival_counts_what_ports_sent_that_are_served_late() {
    let text = "seed = 1865198151\nstop = \"200 ms\"\n[topology]\nkind = \"dumbbell\"\npairs = 3\nrate = \"10 Gbps\"\ndelay = \"985 ns\"\n\
                [transport]\nname = \"uec-nscc\"\n[[traffic]]\nkind = \"poisson\"\nsize = \"2454 B\"\nload = 0.9\nflows = 21\n";
    let model = model(text).unwrap();
    for parts in 2..=4 {
        check(&model, parts, 1, "the last flow starts while packets wait");
    }
}

#[test]
fn a_thread_goes_through_blocks_once_a_large_network_is_busy_and_gives_the_same_bytes() {
    let rate = Rate::gbps(400);
    let tree = FatTree { k: 8, rate, delay: Span::from_us(1), ..FatTree::default() };
    let nscc = transport("uec-nscc");
    let mut model = network_for(&nscc, tree.build().unwrap());
    let flows = (0..128).map(|src| flow(src, (src + 65) % 128, 1_000_000));
    add(&mut model, &nscc, flows.collect());
    model.stop = Some(Time::ZERO + Span::from_us(14));
    let one = run(&model);
    let mut blocks = Simulation::spooled(&model, &Partition::one(&model), [None, None]).unwrap();
    assert!(!blocks.takes_turns());
    blocks.run_until(Time::ZERO + Span::from_us(12), u64::MAX);
    assert_eq!(blocks.takes_turns(), cfg!(target_arch = "x86_64"));
    blocks.run(&mut |_| true);
    let mut whole = Simulation::spooled(&model, &Partition::whole(&model), [None, None]).unwrap();
    whole.run(&mut |_| true);
    assert_same(&blocks.finish().unwrap(), &one, "blocks");
    assert_same(&whole.finish().unwrap(), &one, "no blocks");
}

proptest! {
    #![proptest_config(one_in(8))]

    #[test]
    fn any_partition_of_any_mix_gives_the_bytes_of_one_thread(
        text in scenarios(), parts in 2u64..=8, cut in any::<u64>(), trouble in 0..4u8,
    ) {
        let mut model = match model(&text) {
            Ok(model) => model,
            Err(error) => return Err(TestCaseError::reject(error)),
        };
        if trouble & 1 == 1 {
            with_other_delays(&mut model, cut);
        }
        if trouble & 2 == 2 {
            with_faults(&mut model, cut);
            // A flow may lose the way to its end for good.
            model.stop = Some(Time::ZERO + Span::from_ms(200));
        }
        if cut % 8 == 0 {
            model.stop = Some(Time::ZERO + Span::from_us(cut >> 8 & 1023));
        }
        prop_assume!(Partition::width(&model).is_none_or(|width| width >= WIDTH_MIN));
        let end = run(&model).summary.end;
        let model = if cut % 2 == 0 { watched(&model, end) } else { model };
        check(&model, parts, cut, &format!("stop {:?}, faults {:?}\n{text}", model.stop, model.faults));
    }
}

/// A fat tree of 16 hosts whose shortest delay is half a microsecond.
fn tree() -> Topology {
    let mut tree = FatTree { k: 4, rate: Rate::gbps(25), delay: Span::from_us(1), ..FatTree::default() }
        .build()
        .unwrap();
    let port = tree.ports_of(NodeId(20))[0];
    tree.set_link(port, Rate::gbps(25), Span::from_ns(500));
    tree
}

#[test]
fn every_transport_gives_the_same_bytes_with_1_to_8_threads() {
    for name in TRANSPORTS.iter().map(|info| info.name) {
        let transport = transport(name);
        let mut model = network_for(&transport, tree());
        let flows = (0..32).map(|number| Flow {
            start: Time::ZERO + Span::from_us(u64::from(number) * 2),
            ..flow(number % 16, (number * 7 + 3 + number % 16) % 16, 20_000 + 1_000 * u64::from(number))
        });
        add(&mut model, &transport, flows.filter(|flow| flow.src != flow.dst).collect());
        let rounds = Rounds {
            client: NodeId(3),
            workers: [0, 7, 12].map(NodeId).into(),
            request: Bytes::ZERO,
            response: Bytes::new(30_000),
            longer: 1,
            reconnect: false,
            rounds: 3,
            barrier: true,
            start: Time::ZERO + Span::from_us(5),
            pause: Span::ZERO,
            spread: Span::ZERO,
        };
        model.add_traffic("rounds", &transport, Pattern::Rounds(rounds));
        model.stop = Some(Time::ZERO + Span::from_ms(50));
        let model = watched(&model, Time::ZERO + Span::from_ms(1));
        for parts in [2, 3, 8] {
            check(&model, parts, 5 * parts, name);
        }
    }
}

/// Three leaves that are parts of their own, with links of very different delays to each other, and flow control.
fn with_unequal_pairs(pairs: &[(u32, u32)]) -> Model {
    let mut builder = Builder::new();
    let hosts: Vec<NodeId> = (0..9).map(|host| builder.add_host(format!("h{host}"))).collect();
    let leaves: Vec<NodeId> = (0..3).map(|leaf| builder.add_switch(format!("s{leaf}"), 0)).collect();
    let rate = Rate::gbps(10);
    for (&host, number) in hosts.iter().zip(0..) {
        builder.link(host, leaves[number % 3], rate, Span::from_ns(200));
    }
    for (a, b, ns) in [(0, 1, 10), (1, 2, 700), (0, 2, 40_000)] {
        builder.link(leaves[a], leaves[b], rate, Span::from_ns(ns));
    }
    let rocev2 = transport("rocev2");
    let mut model = network_for(&rocev2, builder.build().unwrap());
    model.switch.shared = Some(SharedBuffer { size: Bytes::new(600_000), alpha: 0.25 });
    assert!(model.pfc.is_some(), "links of rocev2 lose nothing");
    add(&mut model, &rocev2, pairs.iter().map(|&(src, dst)| flow(src, dst, 500_000)).collect());
    model.stop = Some(Time::ZERO + Span::from_ms(20));
    model
}

#[test]
fn pairs_of_parts_with_very_different_delays_give_the_bytes_of_one_thread() {
    // Some pairs have no traffic at all, and some only pause frames and acknowledgements.
    let of_pairs: [&[(u32, u32)]; 3] =
        [&[(0, 1), (3, 1), (6, 4), (1, 2), (4, 2)], &[(0, 1), (3, 1), (6, 1), (4, 7)], &[(2, 5), (8, 5)]];
    let mut pauses = 0;
    for (pairs, number) in of_pairs.iter().zip(0..) {
        let mut model = with_unequal_pairs(pairs);
        let stays = model.clone();
        let between = model.topology.port_between(NodeId(9), NodeId(10)).unwrap();
        let at = |us| Time::ZERO + Span::from_us(us);
        model.faults = vec![
            Fault::rate(at(60), between, Rate::gbps(3)),
            Fault::at_once(at(150), between, false),
            Fault::at_once(at(400), between, true),
        ];
        for model in [stays, model] {
            let part_of = (0..12).map(|node| if node < 9 { node % 3 } else { node - 9 }).collect();
            let partition = Partition::of_parts(&model, part_of).unwrap();
            let one = run(&model);
            pauses += one.summary.flow_control.as_ref().map_or(0, |control| control.pauses);
            for always in [false, true] {
                assert_same(&run_cut(&model, &partition, always), &one, &format!("pairs {number}, {always}"));
            }
        }
    }
    assert!(pauses > 0, "pause frames cross between parts");
}

#[test]
fn parts_that_meet_seldom_go_through_fewer_windows_than_the_shortest_delay_would_give() {
    // Nothing leaves the two leaves between which the delay is long.
    let model = with_unequal_pairs(&[(1, 4), (2, 5)]);
    let part_of = |apart: bool| {
        (0..12)
            .map(|node| if node < 9 { node % 3 } else { node - 9 })
            .map(|part| if apart && part == 0 { 1 } else { part })
            .collect()
    };
    let windows = |apart| {
        let partition = Partition::of_parts(&model, part_of(apart)).unwrap();
        let mut simulation = Simulation::spooled(&model, &partition, [None, None]).unwrap();
        simulation.time_parts(|| 0, true);
        simulation.run(&mut |_| true);
        let times = simulation.part_times().expect("they are timed").clone();
        assert_eq!(simulation.finish().unwrap().hash(), run(&model).hash());
        times.windows + times.small_windows
    };
    // The part with the short links to another one has no events, so the way there and back bounds the others.
    let (three, two) = (windows(false), windows(true));
    assert!(three > two, "{three} windows in three parts, {two} in two");
    let end = run(&model).summary.end.as_ps() / Span::from_ns(10).as_ps();
    assert!(three < end / 3, "{three} windows, {end} times the shortest delay");
}

#[test]
fn a_deadlock_is_found_in_the_same_instant() {
    let model = ring(true);
    assert_eq!(run(&model).summary.ended, Ended::Deadlocked);
    for parts in 2..=4 {
        check(&model, parts, parts, "ring");
    }
}

#[test]
fn an_empty_network_and_empty_windows_take_no_time() {
    let empty = quiet(tree());
    check(&empty, 4, 1, "empty");
    let transport = transport("dctcp");
    let mut seldom = network_for(&transport, tree());
    // A hundred million windows lie between two flows.
    let late = |number: u64| Flow { start: Time::ZERO + Span::from_secs(50 * number), ..flow(0, 15, 5_000) };
    add(&mut seldom, &transport, (0..4).map(late).collect());
    check(&seldom, 3, 2, "seldom");
}

#[test]
fn a_run_is_interrupted_in_many_parts_too() {
    let model = incast(&transport("dctcp"), 6, 10_000_000);
    let partition = Partition::of_parts(&model, (0..8).map(|node| node % 3).collect()).unwrap();
    let mut simulation = Simulation::spooled(&model, &partition, [None, None]).unwrap();
    simulation.run(&mut |_| false);
    let results = simulation.finish().expect("the books balance");
    assert_eq!(results.summary.ended, Ended::Interrupted);
    assert!(results.summary.end < run(&model).summary.end);
}

#[test]
fn flows_that_start_in_one_cell_of_time_start_in_their_parts_without_a_window_for_each() {
    let transport = transport("dctcp");
    let mut model = network_for(&transport, tree());
    let flows = (0..200).map(|number| {
        let start = Time::ZERO + Span::from_ns(5 * u64::from(number));
        Flow { start, ..flow(number % 16, (number + 5) % 16, 1_000) }
    });
    add(&mut model, &transport, flows.collect());
    let partition = Partition::new(&model, 4);
    let mut simulation = Simulation::spooled(&model, &partition, [None, None]).unwrap();
    simulation.time_parts(|| 0, true);
    simulation.run_until(Time::ZERO + Span::from_us(1), u64::MAX);
    let times = simulation.part_times().expect("they are timed").clone();
    simulation.run(&mut |_| true);
    assert_same(&simulation.finish().unwrap(), &run(&model), "starts");
    // One window has all starts but the first, and is expected to have many events.
    assert_eq!((times.windows, times.small_windows), (1, 0), "{times:?}");
}

#[test]
fn timed_parts_have_the_same_events_in_turn_and_beside_each_other() {
    let model = incast(&transport("dctcp"), 6, 1_000_000);
    let partition = Partition::of_parts(&model, (0..8).map(|node| node % 3).collect()).unwrap();
    let timed = |in_turn| {
        let mut simulation = Simulation::spooled(&model, &partition, [None, None]).unwrap();
        simulation.always_hand_over();
        simulation.time_parts(|| 0, in_turn);
        simulation.run(&mut |_| true);
        let times = simulation.part_times().expect("they are timed").clone();
        (times, simulation.finish().expect("the books balance"))
    };
    let (beside, one) = (timed(false), run(&model));
    let in_turn = timed(true);
    assert_eq!((beside.1.hash(), in_turn.1.hash()), (one.hash(), one.hash()));
    assert_eq!(beside.0.events, in_turn.0.events);
    assert!(beside.0.windows < in_turn.0.windows, "threads go through many windows before they come back");
    for times in [&beside.0, &in_turn.0] {
        let (events, most) = (times.events.iter().sum::<u64>(), times.most_events);
        assert!(most < events && events < 3 * most, "{times:?}");
        // The first start of a flow is no event of a part; the others, in the same instant, are.
        assert_eq!(events + 1, one.summary.events);
        assert_eq!((times.small_windows, times.handovers.len() as u64), (0, times.windows));
    }
}

#[test]
fn flows_that_stop_before_a_packet_follows_their_new_paths_stop_the_same_on_several_threads() {
    let shape = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 4, ..LeafSpine::default() };
    // Packets are under way for so long that nothing happens between the fault and the stop.
    let tree = LeafSpine { delay: Span::from_ms(100), ..shape }.build().expect("a valid shape");
    let newreno = transport("newreno");
    let at = |ms| Time::ZERO + Span::from_ms(ms);
    let mut model = network_for(&newreno, tree);
    let flows = (0..8).map(|host| Flow { stop: Some(at(20)), ..flow(host, (host + 4) % 8, 1_000_000) });
    add(&mut model, &newreno, flows.collect());
    let is_uplink = |port: &&Port| !model.topology.is_host(port.from) && !model.topology.is_host(port.to);
    let uplink = model.topology.ports().iter().position(|port| is_uplink(&port)).expect("there are uplinks");
    let port = PortId(uplink as u32);
    model.faults = [port, port.reverse()].map(|port| Fault::at_once(at(10), port, false)).to_vec();
    for parts in 2..=4 {
        check(&model, parts, 2 * parts, "a stop after a fault");
    }
}
