use super::*;
use crate::model::{Flow, Model, Pattern, Poisson, Rounds};
use crate::ports;
use crate::traffic::Cdf;
use clearway_proto::AnyTransport;
use clearway_topology::{
    Builder, Dumbbell, FatTree, LeafSpine, NodeId, OversubscribedFatTree, Star, Topology,
};
use clearway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use std::sync::Arc;

fn model(topology: Topology, pattern: Pattern) -> Model {
    let transport = AnyTransport::by_name("dctcp").unwrap();
    let mut model = ports::network_for(topology, [&transport]).unwrap();
    model.add_traffic("t", &transport, pattern);
    model
}

fn poisson(topology: &Topology) -> Pattern {
    Pattern::Poisson(Poisson {
        sizes: Arc::new(Cdf::fixed(Bytes::new(100_000))),
        mean_gap_s: 1e-6,
        flows: 1000,
        start: Time::ZERO,
        stop: None,
        hosts: (0..topology.hosts() as u32).map(NodeId).collect(),
    })
}

fn rounds(client: u32, workers: impl IntoIterator<Item = u32>) -> Pattern {
    Pattern::Rounds(Rounds {
        client: NodeId(client),
        workers: workers.into_iter().map(NodeId).collect(),
        request: Bytes::ZERO,
        response: Bytes::new(10_000),
        longer: 0,
        reconnect: false,
        rounds: 1,
        barrier: true,
        start: Time::ZERO,
        pause: Span::ZERO,
        spread: Span::ZERO,
    })
}

fn permutation(hosts: u32) -> Pattern {
    let flow = |src| {
        let (src, dst) = (NodeId(src), NodeId((src + hosts / 2 + 1) % hosts));
        Flow { start: Time::ZERO, src, dst, size: Some(Bytes::new(1_000_000)), stop: None }
    };
    Pattern::Flows(Arc::new((0..hosts).map(flow).collect()))
}

fn fat_tree(k: u32) -> Topology {
    FatTree { k, ..FatTree::default() }.build().unwrap()
}

fn uniform(topology: Topology) -> Model {
    let pattern = poisson(&topology);
    model(topology, pattern)
}

fn cut(model: &Model, parts: usize) -> (Partition, PartitionSummary) {
    let partition = Partition::new(model, parts);
    let summary = PartitionSummary::new(&partition, model);
    (partition, summary)
}

#[test]
fn parts_of_built_in_trees_have_even_loads() {
    let leaves = LeafSpine { leaves: 6, hosts_per_leaf: 10, ..LeafSpine::default() }.build().unwrap();
    let trees = [fat_tree(4), fat_tree(8), leaves, OversubscribedFatTree::default().build().unwrap()];
    for topology in trees {
        let hosts = topology.hosts() as u32;
        for made in [uniform(topology.clone()), model(topology.clone(), permutation(hosts))] {
            for parts in 2..=8 {
                let (partition, summary) = cut(&made, parts);
                assert_eq!(partition.parts(), parts, "{hosts} hosts");
                // Moving one host changes a part by about two thirds of a host's share.
                let host = 1.0 + (0.7 * parts as f64 / f64::from(hosts)).max(0.03);
                assert!(summary.imbalance() <= host, "{hosts} hosts, {parts} parts: {summary:?}");
            }
        }
    }
}

#[test]
fn two_halves_of_a_fat_tree_are_its_pods() {
    let made = uniform(fat_tree(8));
    let (partition, summary) = cut(&made, 2);
    for host in 0..128 {
        let tor = made.topology.port(made.topology.ports_of(NodeId(host))[0]).to;
        assert_eq!(partition.part_of(NodeId(host)), host / 64);
        assert_eq!(partition.part_of(tor), host / 64);
    }
    assert_eq!(summary.cut_links, 64, "half of the links to the 16 core switches");
    assert_eq!(summary.hosts, [64, 64]);
    assert!(summary.cut_traffic < 0.17, "{}", summary.cut_traffic);
}

#[test]
fn a_dumbbell_is_cut_in_its_middle() {
    let made = model(Dumbbell { pairs: 5, ..Dumbbell::default() }.build().unwrap(), permutation(10));
    let (_, summary) = cut(&made, 2);
    assert_eq!((summary.cut_links, summary.hosts, summary.switches), (1, vec![5, 5], vec![1, 1]));
}

#[test]
fn the_switch_of_a_star_bounds_the_number_of_parts() {
    let made = uniform(Star { hosts: 32, rate: Rate::gbps(10), delay: Span::from_us(1) }.build().unwrap());
    let (partition, summary) = cut(&made, 16);
    // A host has 3.5 for each of the star's 1 at its switch.
    assert_eq!(partition.parts(), 5);
    assert!(summary.imbalance() < 1.15, "{summary:?}");
}

#[test]
fn hosts_of_rounds_lie_in_one_part_and_overlapping_rounds_too() {
    let topology = fat_tree(4);
    let mut made = model(topology, rounds(0, [5, 9]));
    let other = made.traffic[0].clone();
    made.traffic.push(crate::model::Traffic { pattern: rounds(15, [9, 12]), ..other });
    let partition = Partition::new(&made, 4);
    assert!(partition.parts() > 1);
    let of = |host| partition.part_of(NodeId(host));
    assert!([5, 9, 15, 12].iter().all(|&host| of(host) == of(0)));
    let apart = Partition::of_parts(&made, (0..36).map(|node| u32::from(node == 12)).collect());
    assert_eq!(
        apart.unwrap_err(),
        "h0 and h12 must lie in one part: links without delay or rounds join them"
    );
}

#[test]
fn links_without_delay_are_not_cut() {
    let mut made = uniform(Dumbbell { pairs: 2, ..Dumbbell::default() }.build().unwrap());
    let middle = made.topology.port_between(NodeId(4), NodeId(5)).unwrap();
    Arc::make_mut(&mut made.topology).set_link(middle, Rate::gbps(10), Span::ZERO);
    let partition = Partition::new(&made, 3);
    assert_eq!(partition.part_of(NodeId(4)), partition.part_of(NodeId(5)));
    assert!(Partition::of_parts(&made, vec![0, 0, 1, 1, 0, 1]).is_err());
    assert!(Partition::of_parts(&made, vec![0, 0, 1, 1, 1, 1]).is_ok());
    assert!(Partition::of_parts(&made, vec![0, 0, 1]).is_err());
}

#[test]
fn parts_are_numbered_without_gaps() {
    let made = uniform(Dumbbell { pairs: 2, ..Dumbbell::default() }.build().unwrap());
    let partition = Partition::of_parts(&made, vec![7, 7, 3, 3, u32::MAX, 3]).unwrap();
    assert_eq!(partition.parts(), 3);
    let parts: Vec<u32> = (0..6).map(|node| partition.part_of(NodeId(node))).collect();
    assert_eq!(parts, [0, 0, 1, 1, 2, 1]);
}

#[test]
fn what_can_not_be_cut_says_why() {
    let still = uniform(Star { hosts: 3, rate: Rate::gbps(10), delay: Span::ZERO }.build().unwrap());
    assert_eq!(Partition::refusal(&still), Some("no link has a propagation delay"));
    assert_eq!(Partition::new(&still, 4).parts(), 1);
    let mut told = uniform(fat_tree(4));
    assert_eq!(Partition::refusal(&told), None);
    told.traffic[0].transport = AnyTransport::by_name("ideal").unwrap();
    assert!(Partition::refusal(&told).is_some_and(|reason| reason.contains("`ideal`")));
    assert!(Partition::of_parts(&told, (0..36).collect()).is_err());
}

#[test]
fn a_network_without_traffic_is_cut_by_its_ports() {
    let mut made = uniform(fat_tree(4));
    made.traffic.clear();
    assert_eq!(cut(&made, 4).0.parts(), 4);
}

#[test]
fn the_windows_are_as_wide_as_the_shortest_delay() {
    let mut made = uniform(fat_tree(4));
    let ports = [3, 4].map(|node| made.topology.ports_of(NodeId(node))[0]);
    Arc::make_mut(&mut made.topology).set_link(ports[0], Rate::gbps(10), Span::from_ns(7));
    Arc::make_mut(&mut made.topology).set_link(ports[1], Rate::gbps(10), Span::ZERO);
    assert_eq!(Partition::width(&made), Some(Span::from_ns(7)));
}

#[test]
fn short_links_are_not_cut_where_long_ones_do() {
    let mut made = uniform(fat_tree(8));
    let hosts = (0..128).map(NodeId);
    let links: Vec<_> = hosts.map(|host| made.topology.ports_of(host)[0]).collect();
    for link in links {
        Arc::make_mut(&mut made.topology).set_link(link, Rate::gbps(10), Span::from_ns(50));
    }
    // Three parts of 32 racks: those of the smallest windows are cut through a rack.
    let (partition, summary) = cut(&made, 3);
    assert_eq!(partition.lookahead(&made), Some(Span::from_us(4)), "{summary:?}");
    assert_eq!(Partition::width(&made), Some(Span::from_ns(50)));
    assert!(summary.imbalance() < 1.05, "{summary:?}");
    assert_eq!(Partition::one(&made).lookahead(&made), None);
}

/// Returns any network: switches in a random tree with further links, and hosts at random switches.
fn any_network() -> impl Strategy<Value = Topology> {
    let link = (any::<u16>(), any::<u16>(), 0u64..3);
    let links = prop::collection::vec(link, 0..12);
    (2usize..24, 1usize..10, links, any::<u64>()).prop_map(|(hosts, switches, links, seed)| {
        let at = |number: usize| clearway_proto::mix(seed ^ number as u64) as usize;
        let mut builder = Builder::new();
        (0..hosts).for_each(|host| _ = builder.add_host(format!("h{host}")));
        (0..switches).for_each(|switch| _ = builder.add_switch(format!("s{switch}"), (at(switch) % 3) as u8));
        let node = |switch| NodeId((hosts + switch) as u32);
        let delay = |number| Span::from_ns(at(number) as u64 % 3 * 500);
        let rate = Rate::gbps(10);
        for host in 0..hosts {
            builder.link(NodeId(host as u32), node(at(host) % switches), rate, delay(host));
        }
        for switch in 1..switches {
            builder.link(node(switch), node(at(99 + switch) % switch), rate, delay(99 + switch));
        }
        for (a, b, ns) in links {
            let (a, b) = (a as usize % switches, b as usize % switches);
            if a != b {
                builder.link(node(a), node(b), rate, Span::from_ns(ns * 700));
            }
        }
        builder.build().unwrap()
    })
}

proptest! {
    #[test]
    fn any_network_and_traffic_gives_a_valid_partition(
        topology in any_network(), parts in 1usize..10, client in any::<u32>(), kind in 0..4,
    ) {
        let hosts = topology.hosts() as u32;
        let pattern = match kind {
            0 => poisson(&topology),
            1 => permutation(hosts),
            2 => rounds(client % hosts, (0..hosts / 2).filter(|&worker| worker != client % hosts)),
            _ => Pattern::Flows(Arc::default()),
        };
        let made = model(topology, pattern);
        let partition = Partition::new(&made, parts);
        prop_assert!((1..=parts).contains(&partition.parts()));
        let part_of: Vec<u32> = (0..made.topology.nodes().len()).map(|node| partition.part_of(NodeId::from_index(node))).collect();
        let same = Partition::of_parts(&made, part_of);
        prop_assert_eq!(same.as_ref(), Ok(&partition));
        let summary = PartitionSummary::new(&partition, &made);
        prop_assert!((summary.loads.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{:?}", summary);
        prop_assert!((0.0..=1.0).contains(&summary.cut_traffic), "{:?}", summary);
    }
}

fn tree(k: u32, gbps: u64, ns: u64, transport: &str) -> Model {
    let tree = FatTree { k, rate: Rate::gbps(gbps), delay: Span::from_ns(ns), ..FatTree::default() };
    let transport = AnyTransport::by_name(transport).unwrap();
    ports::network_for(tree.build().unwrap(), [&transport]).unwrap()
}

fn blocks(k: u32, gbps: u64, ns: u64, transport: &str) -> usize {
    let model = tree(k, gbps, ns, transport);
    let (one, whole) = (Partition::one(&model), Partition::whole(&model));
    assert_eq!((one.parts(), whole.parts(), whole.blocks()), (1, 1, &[1][..]));
    one.blocks()[0]
}

#[test]
fn a_thread_goes_through_blocks_where_links_carry_several_frames_in_a_window_and_ports_hold_queues() {
    // The trees of 128 and of 1,024 hosts have 768 and 6,144 ports.
    assert_eq!((blocks(8, 100, 1000, "uec-nscc"), blocks(16, 100, 1000, "expresspass")), (2, 16));
    // Of 100 Gbps, a frame of 1,538 bytes takes 123 ns.
    assert_eq!((blocks(16, 100, 247, "expresspass"), blocks(16, 100, 246, "expresspass")), (16, 1));
    assert_eq!(blocks(16, 100, 0, "expresspass"), 1, "links without delay give no window");
    assert_eq!(blocks(16, 100, 1000, "dctcp"), 1, "what leaves a plain port is known at once");
    assert_eq!(blocks(8, 100, 1000, "expresspass"), 1, "768 ports fit into the cache");
    assert_eq!(blocks(4, 100, 1000, "uec-nscc"), 1, "a small network fits into the cache");
}

#[test]
fn each_part_is_divided_into_blocks_of_nodes_that_lie_in_it() {
    let model = tree(16, 100, 1000, "uec-nscc");
    for parts in [2, 3] {
        let partition = Partition::new(&model, parts);
        // 6,144 ports in all, and 384 for each block.
        assert_eq!(partition.blocks(), if parts == 2 { &[8, 8][..] } else { &[5, 5, 5] });
        for (part, &blocks) in partition.blocks().iter().enumerate() {
            let nodes = (0..model.topology.nodes().len()).map(NodeId::from_index);
            let here = nodes.filter(|&node| partition.part_of(node) as usize == part);
            let mut counts = vec![0; blocks];
            here.for_each(|node| counts[partition.block_of()[node.index()] as usize] += 1);
            let mean = counts.iter().sum::<usize>() / blocks;
            assert!(counts.iter().all(|count| (mean / 2..mean * 2).contains(count)), "{counts:?}");
        }
    }
    // Each part has fewer than 2,048 ports, from which credits make a network large.
    assert_eq!(Partition::new(&tree(16, 100, 1000, "expresspass"), 4).blocks(), [1; 4]);
}
