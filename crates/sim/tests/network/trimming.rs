//! Queues that trim: what an incast loses, who is told, and that results are the same in any parts and after any checkpoint.

use crate::common::{add, any_cut, check, flow, network_for, run, star, transport};
use clearway_proto::AnyTransport;
use clearway_sim::model::*;
use clearway_sim::{Partition, Results, Simulation};
use clearway_topology::{LeafSpine, NodeId, Policy};
use clearway_units::{Bytes, Span, Time};

/// The time of a megabyte of payload on a line of 100 Gbps, in frames of 1538 bytes.
const MEGABYTE: f64 = 1e6 / 1460.0 * 1538.0 * 8.0 / 100e9;

/// The trial of NDP that asks for queues that trim.
fn ndp() -> AnyTransport {
    let mut ndp = transport("ndp-trial");
    ndp.set("cuts", "queues").unwrap();
    ndp
}

/// Lets queues of data hold so many full frames, the one that is being sent included, and those of headers so many packets.
fn limit(model: &mut Model, data: u32, headers: u32) {
    let [own, acks] = &mut model.switch.classes[..] else { panic!("there are two classes") };
    assert_eq!(own.trim.map(|trim| trim.headers), Some(1));
    own.limit = Amount { bytes: Bytes::new(u64::from(data) * 1538), ..Amount::UNLIMITED };
    acks.limit = Amount { packets: headers, ..Amount::UNLIMITED };
}

fn line(book: &[(&str, u64)], name: &str) -> u64 {
    book.iter().find(|(line, _)| *line == name).map_or(0, |line| line.1)
}

fn sum(results: &Results, column: &str) -> u64 {
    results.ports.u64s(column).iter().sum()
}

/// Flows of 500 kB from so many hosts to one, where queues hold eight packets.
fn incast(senders: u32, headers: u32) -> Model {
    let mut model = network_for(&ndp(), star(senders + 1));
    limit(&mut model, 8, headers);
    let begin = |src: u32| Time::ZERO + Span::from_ns(u64::from(src));
    let flows = (0..senders).map(|src| Flow { start: begin(src), ..flow(src, senders, 500_000) });
    add(&mut model, &ndp(), flows.collect());
    model
}

#[test]
fn an_incast_loses_nothing_but_payload_that_stands_in_the_books_and_keeps_its_link_busy() {
    let model = incast(16, 10_000);
    let results = run(&model);
    check(&results, &model);
    let (trims, payload) = (sum(&results, "trims"), line(&results.summary.bytes, "trimmed"));
    assert!(trims > 16 && (trims * 1400..=trims * 1460).contains(&payload), "{trims} {payload}");
    let bottleneck = results.ports.u64s("trims").iter().filter(|trims| **trims > 0).count();
    assert_eq!(bottleneck, 1, "one port is short of room");
    assert_eq!((sum(&results, "drops_buffer"), results.flows.u64s("timeouts").iter().sum::<u64>()), (0, 0));
    // Whoever was cut is sent again, once for each time.
    assert_eq!(results.flows.u64s("retransmits").iter().sum::<u64>(), trims);
    let last = results.flows.f64s("fct_s").iter().copied().fold(0.0, f64::max);
    let ideal = 16.0 * 0.5 * MEGABYTE;
    assert!((ideal..ideal * 1.03).contains(&last), "{last} s for {ideal} s");
}

#[test]
fn headers_without_room_return_to_their_senders_or_are_lost() {
    let mut model = incast(16, 12);
    let returned = run(&model);
    check(&returned, &model);
    assert_eq!(returned.flows.u64s("timeouts").iter().sum::<u64>(), 0, "senders hear of all that was cut");
    let trim = model.switch.classes[0].trim.as_mut().unwrap();
    assert!(trim.config.returns, "the trial takes packets that come back");
    trim.config.returns = false;
    let lost = run(&model);
    check(&lost, &model);
    assert!(sum(&lost, "drops_buffer") > 0 && lost.flows.u64s("timeouts").iter().sum::<u64>() > 0);
}

/// Flows between two leaves, most of them to one host, with short queues.
fn leaves(routing: Policy, memory: Option<u64>) -> Model {
    let tree = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 4, ..LeafSpine::default() };
    let mut model = network_for(&ndp(), tree.build().unwrap());
    limit(&mut model, 8, 10_000);
    model.routing = routing;
    model.switch.shared = memory.map(|size| SharedBuffer { size: Bytes::new(size), alpha: 0.2 });
    let to = |src: u32| [(7, 150_000u64), ((src + 3) % 7, 9_000)];
    let flows = (0..7).flat_map(|src| to(src).map(|(dst, bytes)| flow(src, dst, bytes + u64::from(src))));
    add(&mut model, &ndp(), flows.collect());
    model
}

/// Runs a model in parts, broken off after so many events, saved, and gone on with in other parts.
fn in_parts(model: &Model, partition: &Partition, saved: Option<(u64, &Partition)>) -> Results {
    let mut simulation = Simulation::spooled(model, partition, [None, None]).unwrap();
    if let Some((events, other)) = saved {
        simulation.step(events);
        let mut bytes = Vec::new();
        simulation.save("tests", &mut bytes).unwrap();
        simulation = Simulation::resume(model, other, [None, None], "tests", &bytes).unwrap();
    }
    simulation.run(&mut |_| true);
    simulation.finish().unwrap()
}

#[test]
fn trimming_is_the_same_in_any_parts_and_after_any_checkpoint_whatever_routing_and_memory() {
    for (routing, memory) in [
        (Policy::SymmetricEcmp, Some(60_000)),
        (Policy::Entropy, None),
        (Policy::Adaptive, None),
        (Policy::Adaptive, Some(60_000)),
    ] {
        let model = leaves(routing, memory);
        let one = run(&model);
        check(&one, &model);
        assert!(sum(&one, "trims") > 10, "{routing:?}");
        let cuts = [Partition::new(&model, 2), any_cut(&model, 4, 2), any_cut(&model, 3, 7)];
        for (index, cut) in cuts.iter().enumerate() {
            for saved in [None, Some((3_000, &cuts[(index + 1) % 3]))] {
                let other = in_parts(&model, cut, saved);
                assert_eq!(other.hash(), one.hash(), "{routing:?} {memory:?} {index} {}", saved.is_some());
                assert_eq!(format!("{:?}", other.summary), format!("{:?}", one.summary));
            }
        }
    }
}

#[test]
fn books_balance_where_links_fail_and_lose_while_queues_trim() {
    for routing in [Policy::SymmetricEcmp, Policy::Adaptive] {
        let mut model = leaves(routing, None);
        let (leaf, spine) = (model.topology.node("leaf0").unwrap(), model.topology.node("spine0").unwrap());
        let up = model.topology.port_between(leaf, spine).unwrap();
        let at = |us| Time::ZERO + Span::from_us(us);
        model.faults = [(20, false), (60, true), (80, false), (400, true)]
            .into_iter()
            .flat_map(|(us, is_up)| [up, up.reverse()].map(|port| Fault::at_once(at(us), port, is_up)))
            .collect();
        model.loss = vec![(up.reverse(), 0.05)];
        let results = run(&model);
        check(&results, &model);
        assert!(sum(&results, "trims") > 0 && sum(&results, "drops_loss") > 0);
    }
}

#[test]
fn a_class_that_trims_stands_beside_one_that_flow_control_keeps_from_loss() {
    let text = "[topology]\nkind = \"star\"\nhosts = 9\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n[switch]\npfc = true\nshared_buffer = \"1 MB\"\n\
        [[switch.class]]\nname = \"short\"\nlossless = false\nbuffer = \"8 packets\"\npriority = 1\n\
        [[switch.class]]\nname = \"first\"\nlossless = false\n\
        [[switch.class]]\nname = \"rdma\"\npriority = 1\n\
        [[traffic]]\nkind = \"incast\"\nname = \"cut\"\nsenders = 8\nsize = \"200 KB\"\nclass = \"short\"\nack_class = \"first\"\n\
        transport = { name = \"ndp-trial\", cuts = \"queues\" }\n\
        [[traffic]]\nkind = \"incast\"\nname = \"paused\"\nsenders = 8\nsize = \"2 MB\"\nclass = \"rdma\"\nnotice_class = \"first\"\n\
        transport = \"rocev2\"\n";
    let read = clearway_sim::scenario::Scenario::parse(
        text,
        "x.toml",
        std::path::Path::new("."),
        &clearway_sim::scenario::Overrides::default(),
    );
    let model = read.unwrap_or_else(|error| panic!("{error}")).model;
    let results = run(&model);
    check(&results, &model);
    assert!(sum(&results, "trims") > 100 && sum(&results, "pauses") > 0);
    assert_eq!(sum(&results, "drops_buffer"), 0);
    let cut = in_parts(&model, &any_cut(&model, 3, 1), None);
    assert_eq!(cut.hash(), results.hash());
}

#[test]
fn packets_without_an_entropy_keep_to_one_path_and_adaptive_switches_fill_all_and_no_link_that_is_down() {
    let used = |routing: Policy, down: bool| {
        let tree = LeafSpine { leaves: 2, spines: 4, hosts_per_leaf: 4, ..LeafSpine::default() };
        let mut model = network_for(&ndp(), tree.build().unwrap());
        limit(&mut model, 30, 10_000);
        model.routing = routing;
        add(&mut model, &ndp(), (0..4).map(|src| flow(src, src + 4, 1_000_000)).collect());
        let leaf = model.topology.node("leaf0").unwrap();
        let is_up = |node: &NodeId| !model.topology.is_host(*node);
        let ups = model.topology.ports_of(leaf).iter().copied();
        let ups: Vec<_> = ups.filter(|port| is_up(&model.topology.port(*port).to)).collect();
        if down {
            let change = LinkChange::Down;
            model.faults = vec![Fault { at: Time::ZERO, port: ups[1], change, noticed: None, scales: false }];
        }
        let results = run(&model);
        check(&results, &model);
        let sent: Vec<u64> =
            ups.iter().map(|port| results.ports.u64s("tx_data_bytes")[port.index()]).collect();
        (sent, sum(&results, "trims"), sum(&results, "drops_down"))
    };
    let (of_flows, _, _) = used(Policy::Entropy, false);
    assert!(of_flows.iter().all(|bytes| bytes % 1_000_000 < 100_000), "whole flows: {of_flows:?}");
    let (adaptive, trims, _) = used(Policy::Adaptive, false);
    let (sprayed, by_chance, _) = used(Policy::Spray, false);
    assert!(adaptive.iter().all(|bytes| (900_000..1_100_000).contains(bytes)), "{adaptive:?}");
    assert!(trims <= by_chance, "{trims} {by_chance} {sprayed:?}");
    let (adaptive, _, lost) = used(Policy::Adaptive, true);
    assert_eq!((adaptive[1], lost), (0, 0), "routing knows of nothing, but the switch sees its own link");
}

#[test]
fn headers_that_share_the_link_with_data_by_weight_arrive_later_than_ahead_of_it_and_nothing_is_lost() {
    let ahead = run(&incast(16, 10_000));
    let mut model = incast(16, 10_000);
    for port in [&mut model.switch, &mut model.host.port] {
        port.classes.iter_mut().for_each(|class| class.priority = 0);
        port.classes[0].weight = 30;
    }
    let by_weight = run(&model);
    check(&by_weight, &model);
    assert!(sum(&by_weight, "trims") > 16);
    assert_eq!((sum(&by_weight, "drops_buffer"), by_weight.summary.flows_completed), (0, 16));
    let last = |results: &Results| results.flows.f64s("fct_s").iter().copied().fold(0.0, f64::max);
    assert!(last(&by_weight) > last(&ahead), "{} {}", last(&by_weight), last(&ahead));
}
