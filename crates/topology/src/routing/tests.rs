//! Tests of paths on trees, on random graphs and with failed links.

use super::*;
use crate::{Builder, Dumbbell, FatTree, OversubscribedFatTree};
use clearway_units::{Rate, Span};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn one(routes: &mut Routes, network: &Topology, src: u32, dst: u32, key: u64) -> Vec<PortId> {
    let mut path = Vec::new();
    let set = routes.paths(network, NodeId(src), NodeId(dst), key, &mut path).unwrap();
    assert_eq!((set.count, set.hops as usize), (1, path.len()));
    path
}

fn reversed(path: &[PortId]) -> Vec<PortId> {
    path.iter().rev().map(|port| port.reverse()).collect()
}

/// Returns true if the ports form a chain from `src` to `dst` through switches only.
pub(super) fn is_chain(network: &Topology, src: u32, dst: u32, path: &[PortId]) -> bool {
    let ends: Vec<_> = path.iter().map(|&port| (network.port(port).from, network.port(port).to)).collect();
    ends.windows(2).all(|pair| pair[0].1 == pair[1].0 && !network.is_host(pair[0].1))
        && ends.first().is_some_and(|first| first.0 == NodeId(src))
        && ends.last().is_some_and(|last| last.1 == NodeId(dst))
}

/// Returns the core switch of a path of six hops.
fn core(network: &Topology, path: &[PortId]) -> NodeId {
    let core = network.port(path[2]).to;
    assert_eq!(network.nodes()[core.index()].tier, 3);
    core
}

fn k8() -> Topology {
    FatTree { k: 8, ..FatTree::default() }.build().unwrap()
}

#[test]
fn ecmp_spreads_flows_evenly_over_all_cores() {
    let network = k8();
    for policy in [Policy::SymmetricEcmp, Policy::Ecmp] {
        let mut routes = Routes::new(policy);
        let mut counts = vec![0; network.nodes().len()];
        for key in 0..16_000 {
            counts[core(&network, &one(&mut routes, &network, 3, 100, key)).index()] += 1;
        }
        let counts = &counts[network.node("core0").unwrap().index()..];
        assert_eq!(counts.len(), 16);
        // 1,000 expected; five standard deviations of a binomial count are 153.
        assert!(counts.iter().all(|count| (847..1_153).contains(count)), "{policy:?}: {counts:?}");
    }
}

#[test]
fn flows_of_one_key_from_one_host_all_use_the_same_core() {
    // Only the key and the depth enter the hash, so flows with one key make the same choices whatever their pair.
    let network = k8();
    let mut routes = Routes::new(Policy::SymmetricEcmp);
    let cores: BTreeSet<NodeId> =
        (16..128).map(|dst| core(&network, &one(&mut routes, &network, 0, dst, 5))).collect();
    assert_eq!(cores.len(), 1);
}

#[test]
fn ordinary_ecmp_chooses_each_direction_on_its_own() {
    let network = k8();
    let mut routes = Routes::new(Policy::Ecmp);
    let same = (0..1_600).filter(|&key| {
        let there = one(&mut routes, &network, 0, 127, key);
        there == reversed(&one(&mut routes, &network, 127, 0, key))
    });
    let same = same.count();
    assert!((50..150).contains(&same), "one in 16 by chance, not {same} of 1,600");
}

#[test]
fn spraying_covers_every_core_once() {
    let network = k8();
    let mut out = Vec::new();
    let set = Routes::new(Policy::Spray).paths(&network, NodeId(0), NodeId(127), 0, &mut out).unwrap();
    assert_eq!((set.count, set.hops, out.len()), (16, 6, 96));
    let paths: Vec<&[PortId]> = (0..set.count).map(|index| set.path(&out, index)).collect();
    assert!(paths.iter().all(|path| is_chain(&network, 0, 127, path)));
    assert_eq!(paths.iter().map(|path| core(&network, path)).collect::<BTreeSet<_>>().len(), 16);
    assert!(paths.windows(2).all(|pair| pair[0] < pair[1]), "in the global order");
}

#[test]
fn spraying_takes_an_even_selection_of_too_many_paths() {
    // Ten layers of four switches: 4^10 paths.
    let mut builder = Builder::new();
    let (a, b) = (builder.add_host("a"), builder.add_host("b"));
    let (rate, delay) = (Rate::gbps(10), Span::from_us(1));
    let first = builder.add_switch("first", 1);
    builder.link(a, first, rate, delay);
    let mut below = vec![first];
    for layer in 0..10 {
        let here: Vec<NodeId> = (0..4).map(|i| builder.add_switch(format!("s{layer}-{i}"), 1)).collect();
        for &lower in &below {
            for &upper in &here {
                builder.link(lower, upper, rate, delay);
            }
        }
        below = here;
    }
    let end = builder.add_switch("end", 1);
    for &last in &below {
        builder.link(last, end, rate, delay);
    }
    builder.link(end, b, rate, delay);
    let network = builder.build().unwrap();
    let mut out = Vec::new();
    let set = Routes::new(Policy::Spray).paths(&network, a, b, 0, &mut out).unwrap();
    assert_eq!((set.count, set.hops), (1_024, 13));
    let paths: BTreeSet<&[PortId]> = (0..set.count).map(|index| set.path(&out, index)).collect();
    assert_eq!(paths.len(), 1_024, "all different");
    for choice in network.ports_to_switches(first) {
        assert_eq!(paths.iter().filter(|path| path[1] == *choice).count(), 256);
    }
}

#[test]
fn spraying_works_where_paths_are_too_many_to_count() {
    let mut builder = Builder::new();
    let (a, b) = (builder.add_host("a"), builder.add_host("b"));
    let switches: Vec<NodeId> = (0..70).map(|i| builder.add_switch(format!("s{i}"), 1)).collect();
    builder.link(a, switches[0], Rate::gbps(1), Span::ZERO);
    for pair in switches.windows(2) {
        builder.link(pair[0], pair[1], Rate::gbps(1), Span::ZERO);
        builder.link(pair[0], pair[1], Rate::gbps(1), Span::ZERO);
    }
    builder.link(switches[69], b, Rate::gbps(1), Span::ZERO);
    let network = builder.build().unwrap();
    let mut out = Vec::new();
    let set = Routes::new(Policy::Spray).paths(&network, a, b, 0, &mut out).unwrap();
    let paths: BTreeSet<&[PortId]> = (0..set.count).map(|index| set.path(&out, index)).collect();
    assert_eq!((paths.len(), set.hops), (1_024, 71));
}

#[test]
fn only_symmetric_ecmp_avoids_both_directions_of_a_link_that_failed_in_one() {
    let network = OversubscribedFatTree::default().build().unwrap();
    let (tor, agg) = (network.node("tor0").unwrap(), network.node("agg0").unwrap());
    let down = network.port_between(tor, agg).unwrap();
    for policy in [Policy::SymmetricEcmp, Policy::Ecmp, Policy::Spray] {
        let mut routes = Routes::new(policy);
        routes.set_up(&network, down, false);
        assert!(!routes.is_up(down) && routes.is_up(down.reverse()));
        let (mut there, mut back) = (Vec::new(), Vec::new());
        let (mut used_there, mut used_back) = (false, false);
        for key in 0..64 {
            routes.paths(&network, NodeId(0), NodeId(191), key, &mut there).unwrap();
            routes.paths(&network, NodeId(191), NodeId(0), key, &mut back).unwrap();
            used_there |= there.contains(&down);
            used_back |= back.contains(&down.reverse());
        }
        assert!(!used_there, "{policy:?}");
        assert_eq!(used_back, policy != Policy::SymmetricEcmp, "{policy:?}");
    }
}

#[test]
fn a_link_that_comes_back_is_used_again() {
    let network = k8();
    let mut routes = Routes::new(Policy::SymmetricEcmp);
    let before = one(&mut routes, &network, 0, 127, 3);
    routes.set_up(&network, before[2], false);
    let detour = one(&mut routes, &network, 0, 127, 3);
    assert!(!detour.contains(&before[2]) && detour.len() == 6);
    routes.set_up(&network, before[2], true);
    assert_eq!(one(&mut routes, &network, 0, 127, 3), before);
}

#[test]
fn a_longer_way_round_is_found_when_the_short_one_fails() {
    let mut builder = Builder::new();
    let (a, b) = (builder.add_host("a"), builder.add_host("b"));
    let switches: Vec<NodeId> = ["x", "y", "z"].into_iter().map(|name| builder.add_switch(name, 1)).collect();
    let (rate, delay) = (Rate::gbps(10), Span::from_us(1));
    builder.link(a, switches[0], rate, delay);
    builder.link(b, switches[1], rate, delay);
    let short = builder.link(switches[0], switches[1], rate, delay);
    builder.link(switches[0], switches[2], rate, delay);
    builder.link(switches[2], switches[1], rate, delay);
    let network = builder.build().unwrap();
    let mut routes = Routes::new(Policy::SymmetricEcmp);
    assert_eq!(one(&mut routes, &network, 0, 1, 0).len(), 3);
    routes.set_up(&network, short.reverse(), false);
    assert_eq!(one(&mut routes, &network, 0, 1, 0).len(), 4);
}

#[test]
fn a_pair_without_a_path_is_an_error_that_names_the_pair() {
    let network = Dumbbell::default().build().unwrap();
    let trunk = network.port_between(network.node("s0").unwrap(), network.node("s1").unwrap()).unwrap();
    let mut out = vec![PortId(0)];
    for policy in [Policy::SymmetricEcmp, Policy::Ecmp, Policy::Spray] {
        let mut routes = Routes::new(policy);
        routes.set_up(&network, trunk, false);
        let error = routes.paths(&network, NodeId(0), NodeId(3), 1, &mut out).unwrap_err();
        assert_eq!(error.to_string(), "no path over links that are up leads from host 0 to host 3");
        assert!(out.is_empty());
        let back = routes.paths(&network, NodeId(3), NodeId(0), 1, &mut out);
        assert_eq!(back.is_ok(), policy != Policy::SymmetricEcmp);
        assert!(routes.paths(&network, NodeId(0), NodeId(1), 1, &mut out).is_ok(), "before the trunk");
        for (src, dst) in [(0, 0), (0, 4), (4, 0), (0, 999)] {
            assert!(routes.paths(&network, NodeId(src), NodeId(dst), 1, &mut out).is_err());
        }
        let own = network.ports_of(NodeId(0))[0];
        routes.set_up(&network, own, false);
        assert!(routes.paths(&network, NodeId(0), NodeId(1), 1, &mut out).is_err(), "its only link is down");
    }
}

#[test]
#[should_panic(expected = "another size")]
fn routes_refuse_a_second_topology() {
    let mut routes = Routes::new(Policy::Ecmp);
    one(&mut routes, &k8(), 0, 1, 0);
    one(&mut routes, &Dumbbell::default().build().unwrap(), 0, 1, 0);
}

#[test]
fn a_tree_of_8192_hosts_keeps_its_distances_in_120_kb() {
    let network = FatTree { k: 32, ..FatTree::default() }.build().unwrap();
    let mut routes = Routes::new(Policy::SymmetricEcmp);
    for dst in 0..8_192u32 {
        let src = (dst + 4_096) % 8_192;
        assert_eq!(one(&mut routes, &network, src, dst, dst.into()).len(), 6);
    }
    assert!(routes.distances.bytes() < 120_000, "{}", routes.distances.bytes());
}

/// Generates a random network: the switches form a random tree with some extra, possibly parallel, links, and each
/// host is attached to one of them.
pub(super) fn random_network() -> impl Strategy<Value = Topology> {
    let shape = (2usize..7, 1usize..9);
    let links = (
        prop::collection::vec(any::<prop::sample::Index>(), 7),
        prop::collection::vec(any::<prop::sample::Index>(), 9),
        prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..12),
    );
    (shape, links).prop_map(|((hosts, switches), (host_links, tree, extra))| {
        let mut builder = Builder::new();
        let hosts: Vec<NodeId> = (0..hosts).map(|host| builder.add_host(format!("h{host}"))).collect();
        let switches: Vec<NodeId> =
            (0..switches).map(|switch| builder.add_switch(format!("s{switch}"), 0)).collect();
        let mut link = |a, b| {
            if a != b {
                builder.link(a, b, Rate::gbps(10), Span::from_us(1));
            }
        };
        for (host, on) in hosts.iter().zip(&host_links) {
            link(*host, switches[on.index(switches.len())]);
        }
        for place in 1..switches.len() {
            link(switches[place], switches[tree[place].index(place)]);
        }
        for (a, b) in &extra {
            link(switches[a.index(switches.len())], switches[b.index(switches.len())]);
        }
        builder.build().unwrap()
    })
}

proptest! {
    #[test]
    fn both_directions_of_a_flow_take_the_same_links_on_any_graph(
        network in random_network(),
        key in any::<u64>(),
        failed in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut routes = Routes::new(Policy::SymmetricEcmp);
        for index in failed {
            routes.set_up(&network, PortId(index.index(network.ports().len()) as u32), false);
        }
        let (mut there, mut back) = (Vec::new(), Vec::new());
        let hosts = network.hosts() as u32;
        for (src, dst) in (0..hosts).flat_map(|src| (0..src).map(move |dst| (src, dst))) {
            let forward = routes.paths(&network, NodeId(src), NodeId(dst), key, &mut there);
            let backward = routes.paths(&network, NodeId(dst), NodeId(src), key, &mut back);
            prop_assert_eq!(forward.is_ok(), backward.is_ok());
            prop_assert_eq!(&there, &reversed(&back));
            prop_assert!(there.iter().chain(&back).all(|&port| routes.is_up(port)));
            if forward.is_ok() {
                prop_assert!(is_chain(&network, src, dst, &there));
            }
        }
    }

    #[test]
    fn every_policy_takes_shortest_paths_over_links_that_are_up(
        network in random_network(),
        key in any::<u64>(),
        failed in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut ecmp = Routes::new(Policy::Ecmp);
        let mut spray = Routes::new(Policy::Spray);
        for index in failed {
            let port = PortId(index.index(network.ports().len()) as u32);
            ecmp.set_up(&network, port, false);
            spray.set_up(&network, port, false);
        }
        let (mut path, mut all, mut stages) = (Vec::new(), Vec::new(), Stages::default());
        let hosts = network.hosts() as u32;
        for (src, dst) in (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))) {
            let expected = shortest(&network, &spray, src, dst);
            let set = spray.paths(&network, NodeId(src), NodeId(dst), key, &mut all).ok();
            prop_assert_eq!(set.map(|set| (set.count.into(), set.hops)), expected);
            let single = ecmp.paths(&network, NodeId(src), NodeId(dst), key, &mut path).ok();
            prop_assert_eq!(single.map(|set| set.hops), set.map(|set| set.hops));
            prop_assert_eq!(spray.stages(&network, NodeId(src), NodeId(dst), &mut stages).is_ok(), set.is_some());
            let Some(set) = set else { continue };
            let crossed = |hop| (0..set.count).map(|index| set.path(&all, index)[hop]).collect::<BTreeSet<_>>();
            prop_assert_eq!(stages.iter().count(), set.hops as usize);
            for (hop, ports) in stages.iter().enumerate().filter(|_| set.count < SPRAY_PATHS_MAX) {
                prop_assert_eq!(ports.iter().copied().collect::<BTreeSet<_>>(), crossed(hop));
                prop_assert_eq!(ports.len(), crossed(hop).len(), "a port stands there once");
            }
            let paths: BTreeSet<&[PortId]> = (0..set.count).map(|index| set.path(&all, index)).collect();
            prop_assert_eq!(paths.len(), set.count as usize);
            prop_assert!(paths.contains(&path[..]), "ECMP takes one of the sprayed paths");
            for path in paths {
                prop_assert!(is_chain(&network, src, dst, path));
                prop_assert!(path.iter().all(|&port| spray.is_up(port)));
            }
        }
    }
}

/// Returns the number and length of the shortest paths by counting walks of growing length: a slow oracle that
/// shares no code with the routing.
fn shortest(network: &Topology, routes: &Routes, src: u32, dst: u32) -> Option<(u64, u32)> {
    if src == dst {
        return None;
    }
    let mut walks = vec![0u64; network.nodes().len()];
    walks[src as usize] = 1;
    for hops in 1..=network.nodes().len() as u32 {
        let mut next = vec![0u64; walks.len()];
        for (index, port) in network.ports().iter().enumerate() {
            let starts_here = !network.is_host(port.from) || (hops == 1 && port.from == NodeId(src));
            if starts_here && routes.is_up(PortId(index as u32)) {
                next[port.to.index()] = next[port.to.index()].saturating_add(walks[port.from.index()]);
            }
        }
        if next[dst as usize] > 0 {
            return Some((next[dst as usize].min(SPRAY_PATHS_MAX.into()), hops));
        }
        walks = next;
    }
    None
}
