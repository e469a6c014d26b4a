//! Links that become slower for a time: the frames that begin then take longer, and nothing else changes.

use crate::common::*;
use clearway_sim::model::*;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_sim::{Partition, Results, Simulation};
use clearway_topology::{NodeId, PortId, Star};
use clearway_units::{Bytes, Rate, Span, Time};
use std::path::Path;

const DELAY: Span = Span::from_us(1);
const FULL: Rate = Rate::gbps(10);
const FRAMES: u64 = 1_000;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A full frame's time at a rate.
fn frame(rate: Rate) -> Span {
    rate.time_to_send(Bytes::new(1538))
}

/// Three hosts at a switch, the first of which sends a thousand full frames to the second under `name`, which nothing
/// holds back.
fn one_flow(name: &str) -> Model {
    let star = Star { hosts: 3, rate: FULL, delay: DELAY }.build().unwrap();
    let transport = transport(name);
    let mut model = network_for(&transport, star);
    add(&mut model, &transport, vec![flow(0, 1, FRAMES * 1460)]);
    model
}

/// The ports of the host that sends, and of the switch towards the one that receives.
fn ports(model: &Model) -> [PortId; 2] {
    [model.topology.ports_of(NodeId(0))[0], model.topology.ports_of(NodeId(1))[0].reverse()]
}

/// The changes of a port that is slower from one time to another.
fn slower(port: PortId, rate: Rate, from: Time, until: Time) -> [Fault; 2] {
    [Fault::rate(from, port, rate), Fault::rate(until, port, FULL)]
}

/// The time at which each frame has left a port that sends `rate` from one time to another, and all else at full rate.
/// `arrivals` are the times at which the frames come there.
fn departures(arrivals: impl Iterator<Item = Time>, rate: Rate, [from, until]: [Time; 2]) -> Vec<Time> {
    let mut free = Time::ZERO;
    let depart = |arrival: Time| {
        let start = arrival.max(free);
        // At one instant frames begin before links change.
        free = start + frame(if from < start && start <= until { rate } else { FULL });
        free
    };
    arrivals.map(depart).collect()
}

/// The times at which frames reach the far end of a link after they left.
fn reach(departures: &[Time]) -> impl Iterator<Item = Time> + use<'_> {
    departures.iter().map(|&left| left + DELAY)
}

fn fct(results: &Results, row: usize) -> f64 {
    results.flows.f64s("fct_s")[row]
}

#[test]
fn a_flow_over_a_link_that_becomes_slower_takes_exactly_the_time_of_its_frames() {
    let mut model = one_flow("blast");
    let [host, switch] = ports(&model);
    let from_host = || std::iter::repeat_n(Time::ZERO, FRAMES as usize);
    // The second span begins as a frame leaves the host; the last one outlasts the flow.
    let on_a_frame = [Time::ZERO + frame(FULL) * 100, at(600)];
    for rate in [Rate::gbps(1), Rate::gbps(3), Rate::mbps(7_300), Rate::bps(999_999_937)] {
        for span in [[at(100), at(400)], on_a_frame, [at(0), at(50)], [at(1_000), at(1_000_000)]] {
            let [full, slow] = [FULL, rate].map(|rate| departures(from_host(), rate, span));
            let end = *departures(reach(&slow), FULL, span).last().unwrap() + DELAY;
            model.faults = slower(host, rate, span[0], span[1]).to_vec();
            assert_eq!(fct(&run(&model), 0), (end - Time::ZERO).as_secs_f64(), "host, {rate}, {span:?}");
            let end = *departures(reach(&full), rate, span).last().unwrap() + DELAY;
            model.faults = slower(switch, rate, span[0], span[1]).to_vec();
            assert_eq!(fct(&run(&model), 0), (end - Time::ZERO).as_secs_f64(), "switch, {rate}, {span:?}");
        }
    }
}

#[test]
fn the_other_direction_keeps_its_rate_and_the_slow_one_is_busy_all_the_time() {
    let mut model = one_flow("blast");
    add(&mut model, &transport("blast"), vec![flow(1, 0, FRAMES * 1460)]);
    let before = run(&model);
    let [host, _] = ports(&model);
    let rate = Rate::gbps(1);
    model.faults = slower(host, rate, at(100), at(1_100)).to_vec();
    let results = run(&model);
    assert_eq!(fct(&results, 1), fct(&before, 1));
    let sent = departures(std::iter::repeat_n(Time::ZERO, FRAMES as usize), rate, [at(100), at(1_100)]);
    let (busy, end) = (*sent.last().unwrap() - Time::ZERO, results.summary.end - Time::ZERO);
    let utilisation = results.ports.f64s("utilisation")[host.index()];
    assert!((utilisation - busy.as_secs_f64() / end.as_secs_f64()).abs() < 1e-12, "{utilisation}");
    assert_eq!(results.ports.u64s("drops_down")[host.index()], 0, "nothing is lost");
    assert_eq!(
        results.flows.f64s("ideal_fct_s")[0],
        before.flows.f64s("ideal_fct_s")[0],
        "as if it were whole"
    );
}

#[test]
fn frames_on_a_long_link_show_when_they_left_at_the_rate_that_each_had() {
    let star = Star { hosts: 2, rate: FULL, delay: Span::from_us(100) }.build().unwrap();
    let blast = transport("blast");
    let mut model = network_for(&blast, star);
    add(&mut model, &blast, vec![flow(0, 1, FRAMES * 1460)]);
    let host = model.topology.ports_of(NodeId(0))[0];
    let span = [at(20), at(60)];
    model.faults = slower(host, Rate::gbps(1), span[0], span[1]).to_vec();
    let mut departures = departures(std::iter::repeat_n(Time::ZERO, 60), Rate::gbps(1), span);
    for parts in [1, 2] {
        let partition = Partition::new(&model, parts);
        let mut sim = Simulation::spooled(&model, &partition, [None, None]).unwrap();
        sim.run_until(at(80), u64::MAX);
        let mut shown: Vec<[Time; 2]> = sim
            .view()
            .in_flight()
            .iter()
            .filter(|frame| frame.packet.port == host)
            .map(|frame| [frame.start, frame.arrives])
            .collect();
        shown.sort_unstable();
        departures.retain(|left| *left <= at(90));
        let starts = std::iter::once(Time::ZERO).chain(departures.iter().copied());
        let expected: Vec<[Time; 2]> = starts
            .zip(&departures)
            .map(|(start, &left)| [start, left + Span::from_us(100)])
            .filter(|[start, _]| *start <= at(80))
            .collect();
        assert_eq!(shown, expected, "{parts} parts");
    }
}

#[test]
fn flow_control_holds_senders_back_from_a_slower_link_which_is_never_idle() {
    let rocev2 = transport("rocev2");
    let mut model = incast(&rocev2, 2, 8_760_000);
    let to_receiver = model.topology.ports_of(NodeId(2))[0].reverse();
    let [full, rate] = [Rate::gbps(100), Rate::gbps(8)];
    let (from, until) = (at(20), at(2_000));
    model.faults = vec![Fault::rate(from, to_receiver, rate), Fault::rate(until, to_receiver, full)];
    let results = run(&model);
    let mut free = Time::ZERO + frame(full) + DELAY;
    for _ in 0..12_000 {
        free += frame(if from < free && free <= until { rate } else { full });
    }
    let last = results.flows.f64s("fct_s").iter().copied().fold(0.0, f64::max);
    assert_eq!(last, (free + DELAY - Time::ZERO).as_secs_f64());
    assert!(results.ports.u64s("pauses").iter().sum::<u64>() > 0);
    assert_eq!(results.ports.u64s("drops_buffer").iter().sum::<u64>(), 0);
}

#[test]
fn a_slower_link_back_delays_pause_frames_by_more_than_the_headroom_holds() {
    let rocev2 = transport("rocev2");
    let mut model = incast(&rocev2, 2, 20_000_000);
    model.stop = Some(at(2_000));
    let lost = |model: &Model| run(model).ports.u64s("drops_buffer").iter().sum::<u64>();
    assert_eq!(lost(&model), 0);
    // An acknowledgement takes 672 us there, in which the sender sends 8.4 MB.
    let to_sender = model.topology.ports_of(NodeId(0))[0].reverse();
    model.faults = vec![Fault::rate(at(20), to_sender, Rate::mbps(1))];
    assert!(lost(&model) > 0);
}

#[test]
fn the_limit_of_credits_stays_so_data_waits_at_a_slower_link_and_shares_of_the_oracle_follow_it() {
    let queue = |name: &str, slow: bool| {
        let mut model = one_flow(name);
        let [_, switch] = ports(&model);
        if slow {
            model.faults = slower(switch, Rate::gbps(2), at(100), at(600)).to_vec();
        }
        let results = run(&model);
        check(&results, &model);
        results.ports.u64s("queue_max_bytes")[switch.index()]
    };
    assert!(queue("expresspass", false) < 2 * 1538);
    assert!(queue("expresspass", true) > 20 * 1538);
    // What is on its way when the link changes is too much; then the sender knows.
    assert!(queue("ideal", true) < 10 * 1538);
}

/// A leaf-spine network with Poisson traffic of a transport, two of whose links become slower.
fn two_slower(transport: &str) -> Model {
    let text = format!(
        "seed = 3\nstop = \"5 ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 2\n\
         [transport]\nname = \"{transport}\"\n\
         [[traffic]]\nkind = \"permutation\"\nsize = \"500 KB\"\n\
         [[fault]]\nlink = [\"leaf0\", \"spine0\"]\ndown = \"100 us\"\nup = \"900 us\"\nrate = \"3 Gbps\"\n\
         [[fault]]\nlink = [\"h3\", \"leaf1\"]\ndirection = \"backward\"\ndown = \"150 us\"\nrate = \"700 Mbps\"\n"
    );
    let read = Scenario::parse(&text, "slower", Path::new("."), &Overrides::default());
    read.unwrap_or_else(|error| panic!("{error}")).model
}

#[test]
fn slower_links_give_the_same_on_any_number_of_threads_and_after_a_checkpoint() {
    for name in ["dctcp", "expresspass", "hpcc", "dcqcn", "ideal"] {
        let model = two_slower(name);
        let whole = run(&model);
        let faultless = run(&Model { faults: Vec::new(), ..model.clone() });
        assert_ne!(whole.hash(), faultless.hash(), "{name}");
        let spooled =
            |parts| Simulation::spooled(&model, &Partition::new(&model, parts), [None, None]).unwrap();
        for (parts, next) in [(1, 2), (2, 3), (3, 1)] {
            let mut simulation = spooled(parts);
            simulation.run_until(at(500), u64::MAX);
            let mut checkpoint = Vec::new();
            simulation.save("tests", &mut checkpoint).unwrap();
            let partition = Partition::new(&model, next);
            let mut resumed =
                Simulation::resume(&model, &partition, [None, None], "tests", &checkpoint).unwrap();
            resumed.run(&mut |_| true);
            let results = resumed.finish().unwrap();
            assert_eq!(results.hash(), whole.hash(), "{name}, {parts} to {next} parts");
            simulation.run(&mut |_| true);
            assert_eq!(simulation.finish().unwrap().hash(), whole.hash(), "{name}, {parts} parts");
        }
    }
}

/// Reads a scenario of 10 Gbps whose only fault has these keys.
fn read(fault: &str) -> Result<Scenario, String> {
    let text = format!(
        "stop = \"1 ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = \"10 Gbps\"\n\
         uplink_rate = \"40 Gbps\"\n[transport]\nname = \"dctcp\"\n[[traffic]]\nkind = \"permutation\"\nsize = \"1 MB\"\n\
         [[fault]]\ndown = \"100 us\"\n{fault}"
    );
    let read = Scenario::parse(&text, "slower", Path::new("."), &Overrides::default());
    read.map_err(|error| error.to_string())
}

#[test]
fn a_fault_with_a_rate_is_two_changes_of_each_direction_that_routing_never_notices() {
    let scenario = read("link = [\"h0\", \"leaf0\"]\nrate = \"1 Gbps\"\nup = \"200 us\"\n").unwrap();
    let faults: Vec<_> =
        scenario.model.faults.iter().map(|fault| (fault.at, fault.change, fault.noticed)).collect();
    let change = |us, gbps| (at(us), LinkChange::Rate(Rate::gbps(gbps)), None);
    assert_eq!(faults, [change(100, 1), change(100, 1), change(200, 10), change(200, 10)]);
    assert!(
        scenario.to_toml().contains("rate = \"1 Gbps\"\nqueues = \"kept\"\nnoticed = \"never\"\n"),
        "{}",
        scenario.to_toml()
    );
    let one = read("link = [\"h0\", \"leaf0\"]\nrate = \"1 Gbps\"\ndirection = \"backward\"").unwrap().model;
    let port = one.topology.ports_of(NodeId(0))[0].reverse();
    assert_eq!(one.faults.iter().map(|fault| fault.port).collect::<Vec<_>>(), [port]);
    let switch = read("switch = \"spine0\"\nrate = \"39 Gbps\"\nnoticed = \"never\"").unwrap().model;
    assert_eq!(switch.faults.len(), 4);
}

#[test]
fn a_rate_that_makes_no_link_slower_and_keys_that_mean_nothing_beside_it_are_refused() {
    let refused = |fault: &str| read(fault).unwrap_err();
    for (fault, says) in [
        (
            "link = [\"h0\", \"leaf0\"]\nrate = \"10 Gbps\"",
            "slower:17: fault.0.rate = \"10 Gbps\": must be below the rate of h0->tor0, 10 Gbps; write less",
        ),
        (
            "switch = \"leaf1\"\nrate = \"20 Gbps\"",
            "fault.0.rate = \"20 Gbps\": must be below the rate of tor1->h2, 10 Gbps; write less",
        ),
        ("link = [\"h0\", \"leaf0\"]\nrate = \"0 bps\"", "fault.0.rate = \"0 bps\": "),
        (
            "link = [\"h0\", \"leaf0\"]\nrate = \"1 Gbps\"\nnoticed = \"10 us\"",
            "slower:18: fault.0.noticed = \"10 us\": means nothing beside rate, since routing takes no notice",
        ),
        (
            "link = [\"h0\", \"leaf0\"]\nqueues = \"scaled\"",
            "slower:17: fault.0.queues = \"scaled\": means nothing without rate, since a link that is down has no queue",
        ),
        (
            "link = [\"h0\", \"leaf0\"]\nrate = \"1 Gbps\"\nqueues = \"scaled\"",
            "slower:18: fault.0.queues = \"scaled\": \"scaled\" means a link that is slow throughout the run; write down = \"0 s\"",
        ),
        (
            "link = [\"h0\", \"leaf0\"]\nrate = \"1 Gbps\"\nup = \"300 us\"\n[[fault]]\nlink = [\"leaf0\", \"h0\"]\ndown = \"200 us\"",
            "fault.1.down = \"200 us\": another fault of the link lasts at that time",
        ),
    ] {
        assert!(refused(fault).contains(says), "{}", refused(fault));
    }
}

#[test]
fn the_queue_of_a_link_that_is_slow_throughout_holds_a_share_of_what_others_do_if_it_is_scaled() {
    // The host sends at full rate into a link of a quarter of it, whose queue fills.
    let fullest = |scales: bool| {
        let mut model = one_flow("blast");
        let [_, to_receiver] = ports(&model);
        model.switch.classes[0].limit = Amount { bytes: Bytes::new(80_000), packets: u32::MAX };
        let slow = Rate::bps(FULL.as_bps() / 4);
        model.faults = vec![Fault { scales, ..Fault::rate(Time::ZERO, to_receiver, slow) }];
        run(&model).ports.u64s("queue_max_bytes")[to_receiver.index()]
    };
    // 80,000 bytes are 52 frames, and a quarter of them 13.
    assert_eq!([false, true].map(fullest), [52 * 1538, 13 * 1538]);
}
