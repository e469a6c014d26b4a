//! Tests of a trial in the manner of Homa in the simulator, which show what agents and orders of NICs are for.

mod common;

use clearway_proto::AnyTransport;
use clearway_sim::model::*;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_sim::{Partition, Results, Simulation};
use clearway_topology::{LeafSpine, PortId, Star};
use clearway_units::{Rate, Span, Time};
use common::{add, any_cut, check, flow, network_for, run, star, transport};
use std::path::Path;

/// The time of a megabyte of payload on a line of 100 Gbps, in frames of 1538 bytes.
const MEGABYTE: f64 = 1e6 / 1460.0 * 1538.0 * 8.0 / 100e9;

fn homa(settings: &[(&str, &str)]) -> AnyTransport {
    let mut homa = transport("homa-trial");
    settings.iter().for_each(|(key, value)| homa.set(key, *value).unwrap());
    homa
}

/// The completion times of flows in the order of their numbers, in seconds.
fn times(results: &Results) -> Vec<f64> {
    let (numbers, times) = (results.flows.u64s("flow"), results.flows.f64s("fct_s"));
    let mut rows: Vec<(u64, f64)> = numbers.iter().copied().zip(times.iter().copied()).collect();
    rows.sort_by_key(|row| row.0);
    rows.into_iter().map(|row| row.1).collect()
}

/// Messages of three, two and one megabyte from three hosts to one.
fn three_to_one(transport: &AnyTransport) -> Results {
    let mut model = network_for(transport, star(4));
    add(&mut model, transport, (0..3).map(|src| flow(src, 3, (3 - u64::from(src)) * 1_000_000)).collect());
    let results = run(&model);
    check(&results, &model);
    results
}

#[test]
fn a_host_that_grants_to_one_message_at_a_time_lets_the_shortest_of_all_senders_finish_first() {
    let results = three_to_one(&homa(&[("overcommitment", "1")]));
    // Shortest first: after one, three and six megabytes. Before the grants count, each sender sends a BDP unasked.
    for (time, megabytes) in times(&results).into_iter().zip([6.0, 3.0, 1.0]) {
        let ideal = megabytes * MEGABYTE;
        assert!((ideal..ideal * 1.02 + 20e-6).contains(&time), "{time} s for {ideal} s");
    }
    // A NIC that takes turns and senders that share evenly: all but the longest message take far longer.
    let fair = times(&three_to_one(&transport("dctcp")));
    assert!(fair[2] > 2.0 * MEGABYTE, "{fair:?}");
}

#[test]
fn what_waits_at_a_receiver_is_bounded_by_the_grants_of_its_one_agent() {
    let queue = |overcommitment: &str| {
        let ports =
            three_to_one(&homa(&[("overcommitment", overcommitment), ("unscheduled", "29200 B")])).ports;
        ports.u64s("queue_max_bytes").iter().copied().max().unwrap()
    };
    // Each of three messages has one window under way: what no grant asked for, or what a grant did.
    let window = 20 * 1538;
    let (one, three) = (queue("1"), queue("3"));
    assert!(one <= 3 * window && three <= 3 * window, "{one} and {three} bytes");
    assert!(one > window, "all three send their first window at once: {one} bytes");
}

#[test]
fn a_short_message_overtakes_a_long_one_at_the_nic_of_its_host() {
    let homa = homa(&[]);
    let mut model = network_for(&homa, star(3));
    let short = Flow { start: Time::ZERO + Span::from_us(20), ..flow(0, 2, 1_000_000) };
    add(&mut model, &homa, vec![flow(0, 1, 10_000_000), short]);
    let results = run(&model);
    check(&results, &model);
    let times = times(&results);
    assert!(times[1] < MEGABYTE * 1.05 + 10e-6, "{times:?}: as if it were alone");
    assert!(times[0] < 11.0 * MEGABYTE * 1.02 + 10e-6, "{times:?}: the line is never idle");
}

#[test]
fn a_short_message_overtakes_granted_data_in_the_queues_of_switches() {
    // Long messages of three hosts build a queue at the port to the fourth; a short one of a fifth joins it.
    let short_after = |homa: &AnyTransport| {
        let mut model = network_for(homa, star(5));
        let short = Flow { start: Time::ZERO + Span::from_us(60), ..flow(4, 3, 3_000) };
        let long = |src| flow(src, 3, 1_000_000);
        add(&mut model, homa, vec![long(0), long(1), long(2), short]);
        let results = run(&model);
        check(&results, &model);
        times(&results)[3]
    };
    let by_lanes = short_after(&homa(&[]));
    // Three frames of its own and one of the others, over links of 1 us and less.
    assert!(by_lanes < 10e-6, "{by_lanes} s");
    let tcp = short_after(&transport("dctcp"));
    assert!(tcp > 2.0 * by_lanes, "it waits for what came before: {tcp} s instead of {by_lanes} s");
}

#[test]
fn lanes_have_classes_of_their_own_in_the_order_of_their_numbers() {
    let model = network_for(&homa(&[]), star(2));
    let classes: Vec<_> =
        model.switch.classes.iter().map(|class| (class.name.as_str(), class.priority)).collect();
    assert_eq!(classes[..3], [("data", 0), ("lane-1", 1), ("lane-2", 2)]);
    assert_eq!(classes.len(), 8);
    let plain = network_for(&transport("dctcp"), star(2));
    assert_eq!(plain.switch.classes.len(), 1);
}

#[test]
fn how_messages_are_cut_into_traffic_entries_changes_no_agent() {
    let homa = homa(&[("overcommitment", "2")]);
    let flows: Vec<Flow> = (0..8).map(|src| flow(src, 8, 200_000 + 50_000 * u64::from(src))).collect();
    let under = |parts: &[&[Flow]]| {
        let mut model = network_for(&homa, star(9));
        parts.iter().for_each(|part| add(&mut model, &homa, part.to_vec()));
        let results = run(&model);
        assert_eq!(results.summary.agents.len(), 1, "one agent, at the host that receives");
        (results.flows.f64s("fct_s").to_vec(), results.summary.agents[0].stats)
    };
    assert_eq!(under(&[&flows]), under(&[&flows[..3], &flows[3..]]));
}

#[test]
fn agents_lie_in_the_parts_of_their_hosts_and_lost_packets_come_again() {
    let homa = homa(&[("timeout", "200 us")]);
    let tree = LeafSpine { leaves: 2, hosts_per_leaf: 4, ..LeafSpine::default() };
    let mut model = network_for(&homa, tree.build().unwrap());
    let flows = (0..8).flat_map(|src| {
        [(3, 150_000u64), (5, 9_000)]
            .map(|(ahead, bytes)| flow(src, (src + ahead) % 8, bytes + u64::from(src)))
    });
    add(&mut model, &homa, flows.collect());
    model.loss =
        (0..model.topology.ports().len() as u32).step_by(3).map(|port| (PortId(port), 0.01)).collect();
    let one = run(&model);
    check(&one, &model);
    assert!(one.flows.u64s("timeouts").iter().sum::<u64>() > 0);
    for (parts, seed) in [(2, 1), (4, 2)] {
        let partition =
            if seed == 1 { Partition::new(&model, parts) } else { any_cut(&model, parts as u64, seed) };
        let mut cut = Simulation::spooled(&model, &partition, [None, None]).unwrap();
        cut.run(&mut |_| true);
        let cut = cut.finish().unwrap();
        assert_eq!(format!("{:?}", cut.summary), format!("{:?}", one.summary));
        assert_eq!(cut.hash(), one.hash());
    }
}

fn refusal(lines: &str) -> String {
    let text = format!(
        "topology = {{ kind = \"star\", hosts = 4 }}\n\
         [[traffic]]\nname = \"a\"\nkind = \"incast\"\nsize = \"10 KB\"\ntransport = \"dctcp\"\n\
         [[traffic]]\nname = \"b\"\nkind = \"incast\"\nsize = \"10 KB\"\ntransport = \"homa-trial\"\n{lines}"
    );
    let scenario = Scenario::parse(&text, "orders.toml", Path::new("."), &Overrides::default());
    scenario.err().map_or(String::new(), |error| error.to_string())
}

#[test]
fn transports_that_share_a_class_must_agree_on_the_order_of_flows_and_a_host_queue_has_none() {
    let shared = refusal("");
    assert!(
        shared.starts_with("orders.toml:7: traffic.b: ")
            && shared.contains("homa-trial serves a host's flows fewest remaining bytes first")
            && shared.contains("dctcp serves a host's flows in turn"),
        "{shared}"
    );
    let classes = "class = \"y\"\n[[switch.class]]\nname = \"x\"\n[[switch.class]]\nname = \"y\"\n";
    assert_eq!(refusal(classes), "");
    let queue = refusal(&format!("{classes}[host]\nqueue = \"100 KB\"\n"));
    assert!(queue.contains("host.queue") && queue.contains("traffic \"b\""), "{queue}");
}

#[test]
fn a_message_of_another_rate_of_line_has_its_own_window() {
    let homa = homa(&[]);
    let topology = Star { hosts: 2, rate: Rate::gbps(10), delay: Span::from_us(5) };
    let mut model = network_for(&homa, topology.build().unwrap());
    add(&mut model, &homa, vec![flow(0, 1, 10_000_000)]);
    let results = run(&model);
    let ideal = 100.0 * MEGABYTE;
    assert!(times(&results)[0] < ideal * 1.01 + 50e-6, "a window of a BDP keeps the line busy");
}
