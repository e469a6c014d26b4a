//! Tests of the tables of next hops, against the lists of paths that the same policy finds.

use super::super::choice::{hash, mix, pick};
use super::super::tests::{is_chain, random_network};
use super::*;
use crate::{Builder, Clos3, FatTree, LeafSpine, Policy, Routes};
use clearway_units::{Rate, Span};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the path of the packets of a flow that have an entropy, which switches hash.
fn walk(
    tables: &mut NextHops,
    network: &Topology,
    from: NodeId,
    to: NodeId,
    key: u64,
    entropy: u16,
) -> Vec<PortId> {
    path(tables, network, from, to, |_, at, count| pick(hash(key, entropy, at), count))
}

/// Returns the path on which switches pick next hops by a rule.
fn path(
    tables: &mut NextHops,
    network: &Topology,
    from: NodeId,
    to: NodeId,
    pick: impl Fn(&NextHops, NodeId, usize) -> usize,
) -> Vec<PortId> {
    let mut path = vec![network.ports_of(from)[0]];
    tables.lead_to(network, to);
    while network.port(path[path.len() - 1]).to != to {
        let at = network.port(path[path.len() - 1]).to;
        let next = tables.next(at, to, |count| pick(tables, at, count));
        let choices = tables.choices(at, to);
        assert!(std::iter::once(choices.first.port).chain(choices.others()).any(|port| port == next.port));
        assert_eq!(choices.first.is_last, next.is_last);
        path.push(next.port);
        assert_eq!(network.port(next.port).from, at);
        assert_eq!(next.is_last, network.port(next.port).to == to);
        assert!(path.len() <= network.nodes().len(), "a packet goes round in a circle: {path:?}");
    }
    path
}

fn count_paths(tables: &mut NextHops, network: &Topology, draws: u32) -> BTreeMap<Vec<PortId>, u32> {
    let (from, to) = (NodeId(0), NodeId(network.hosts() as u32 - 1));
    let mut counts = BTreeMap::new();
    for draw in 0..draws {
        // Entropies count up, and every 64 packets there is another flow.
        *counts
            .entry(walk(tables, network, from, to, mix(u64::from(draw / 64)), draw as u16))
            .or_default() += 1;
    }
    counts
}

/// Asserts that all paths were taken equally often, as far as chance allows: by the chi-square statistic of the counts,
/// whose mean is the number of paths less 1, within five standard deviations.
fn assert_even(counts: &BTreeMap<Vec<PortId>, u32>, paths: usize, draws: u32) {
    assert_eq!(counts.len(), paths);
    let expected = f64::from(draws) / paths as f64;
    let chi2: f64 = counts.values().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    let freedom = paths as f64 - 1.0;
    assert!((chi2 - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "{chi2} of {freedom}");
}

#[test]
fn packets_are_spread_evenly_over_all_paths_of_a_fat_tree() {
    for (k, paths) in [(4, 4), (8, 16), (16, 64)] {
        let network = FatTree { k, ..FatTree::default() }.build().unwrap();
        let draws = 200 * paths as u32;
        assert_even(&count_paths(&mut NextHops::default(), &network, draws), paths, draws);
    }
}

/// Five aggregation switches in a pod, with three uplinks each.
fn five_by_three() -> Clos3 {
    Clos3 {
        pods: 3,
        tors_per_pod: 2,
        aggs_per_pod: 5,
        cores: 15,
        uplinks_per_agg: 3,
        hosts_per_tor: 2,
        ..Clos3::default()
    }
}

#[test]
fn packets_are_spread_evenly_where_switches_have_numbers_of_uplinks_that_are_no_powers_of_two() {
    let network = five_by_three().build().unwrap();
    assert_even(&count_paths(&mut NextHops::default(), &network, 6_000), 15, 6_000);
}

#[test]
fn the_numbers_of_paths_lead_over_each_path_of_a_clos_network_once() {
    let leaves = LeafSpine { leaves: 3, spines: 7, hosts_per_leaf: 2, ..LeafSpine::default() };
    // The network, a host of the first one's pod but not of its ToR, and the paths to it and to the last host.
    let cases = [
        (FatTree { k: 4, ..FatTree::default() }.build(), 2, 2, 4),
        (FatTree { k: 8, ..FatTree::default() }.build(), 4, 4, 16),
        (five_by_three().build(), 2, 5, 15),
        (leaves.build(), 2, 7, 7),
    ];
    for (network, near, few, many) in cases {
        let network = network.unwrap();
        let mut tables = NextHops::default();
        for (to, paths) in [(near, few), (network.hosts() as u32 - 1, many), (1, 1)] {
            let of_number = |number| {
                let digit = |tables: &NextHops, at, count| tables.digit(at, number, count);
                path(&mut tables, &network, NodeId(0), NodeId(to), digit)
            };
            let taken: Vec<_> = (0..2 * paths).map(of_number).collect();
            let distinct: BTreeSet<_> = taken[..usize::from(paths)].iter().collect();
            assert_eq!(distinct.len(), usize::from(paths), "to {to} over {paths}");
            assert_eq!(taken[..usize::from(paths)], taken[usize::from(paths)..], "then they come again");
        }
    }
}

#[test]
fn every_switch_divides_packets_evenly_among_its_next_hops_though_paths_then_differ() {
    // From x, one way leads over y, behind which there are three; the other leads over z, behind which there is one.
    let mut builder = Builder::new();
    let (a, b) = (builder.add_host("a"), builder.add_host("b"));
    let [x, y, z, end] = ["x", "y", "z", "end"].map(|name| builder.add_switch(name, 1));
    let mut link = |from, to| builder.link(from, to, Rate::gbps(10), Span::from_us(1));
    link(a, x);
    let over_y = link(x, y);
    link(x, z);
    for _ in 0..3 {
        link(y, end);
    }
    link(z, end);
    link(end, b);
    let network = builder.build().unwrap();
    let counts = count_paths(&mut NextHops::default(), &network, 6_000);
    assert_eq!(counts.len(), 4);
    for (path, count) in counts {
        let expected: u32 = if path.contains(&over_y) { 1_000 } else { 3_000 };
        // Five standard deviations of a binomial count.
        assert!(count.abs_diff(expected) < 5 * expected.isqrt(), "{path:?}: {count}");
    }
    let mut shares = Vec::new();
    Routes::new(Policy::Spray).shares(&network, a, b, &mut shares).unwrap();
    let of = |share: f64| shares.iter().filter(|(_, other)| (other - share).abs() < 1e-12).count();
    assert_eq!((shares.len(), of(1.0), of(0.5), of(1.0 / 6.0)), (8, 2, 3, 3), "{shares:?}");
}

#[test]
fn consecutive_entropies_spread_as_independent_draws_do() {
    // 64 packets over 4 or 16 next hops: a binomial count has a variance of 64 (1 - 1/n) / n.
    for (ports, variance) in [(4, 12.0), (16, 3.75)] {
        let (mut sum, trials) = (0.0, 4_000);
        for trial in 0..trials {
            let (key, node) = (mix(trial), NodeId((trial % 77) as u32));
            let mut counts = vec![0u32; ports];
            (0..64).for_each(|entropy| counts[pick(hash(key, entropy, node), ports)] += 1);
            let mean = 64.0 / ports as f64;
            sum += counts.iter().map(|&count| (f64::from(count) - mean).powi(2)).sum::<f64>() / ports as f64;
        }
        let found = sum / trials as f64;
        assert!((found / variance - 1.0).abs() < 0.05, "{found} instead of {variance}");
    }
}

#[test]
fn two_switches_on_a_path_choose_independently_of_each_other() {
    let mut counts = [[0u32; 4]; 4];
    for packet in 0..16_000u64 {
        let choice = |node| pick(hash(mix(packet / 16), packet as u16, NodeId(node)), 4);
        counts[choice(200)][choice(201)] += 1;
    }
    // 1,000 expected; five standard deviations are 153.
    assert!(counts.as_flattened().iter().all(|count| (847..1_153).contains(count)), "{counts:?}");
}

#[test]
fn packets_of_one_flow_and_entropy_take_one_path() {
    let network = FatTree { k: 8, ..FatTree::default() }.build().unwrap();
    let mut tables = NextHops::default();
    let mut path = |key, entropy| walk(&mut tables, &network, NodeId(0), NodeId(127), key, entropy);
    assert_eq!(path(3, 9), path(3, 9));
    let others: BTreeSet<_> = (0..64).map(|entropy| path(3, entropy)).collect();
    assert!(others.len() > 12, "of 16 paths");
}

#[test]
fn tables_of_8192_hosts_take_less_than_100_bytes_a_host() {
    let network = FatTree { k: 32, ..FatTree::default() }.build().unwrap();
    let mut tables = NextHops::default();
    (0..8_192).for_each(|host| tables.lead_to(&network, NodeId(host)));
    assert_eq!(tables.rows.len(), 32, "the ToRs of a pod share a row");
    assert!(tables.bytes() < 100 * 8_192, "{}", tables.bytes());
    assert_eq!(walk(&mut tables, &network, NodeId(0), NodeId(8_191), 1, 1).len(), 6);
}

#[test]
fn a_host_that_is_cut_off_leaves_the_ways_to_its_neighbours_as_they_are() {
    let network = FatTree { k: 4, ..FatTree::default() }.build().unwrap();
    let node = |name: &str| network.node(name).unwrap();
    let mut tables = NextHops::default();
    let up = network.port_between(node("agg0"), node("tor0")).unwrap();
    tables.set_up(&network, network.ports_of(NodeId(0))[0].reverse(), false);
    tables.set_up(&network, up, false);
    for to in [NodeId(0), NodeId(1)] {
        for entropy in 0..64 {
            assert!(!walk(&mut tables, &network, NodeId(15), to, 5, entropy).contains(&up), "{}", to.0);
        }
    }
    tables.set_up(&network, up, true);
    assert!(!tables.leads_to(NodeId(1)), "a change clears the tables");
    let paths: BTreeSet<_> =
        (0..64).map(|entropy| walk(&mut tables, &network, NodeId(15), NodeId(1), 5, entropy)).collect();
    assert_eq!(paths.len(), 4, "the link is used again");
}

proptest! {
    #[test]
    fn packets_take_the_shortest_paths_over_links_that_are_up_and_all_of_them(
        network in random_network(),
        key in any::<u64>(),
        failed in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let (mut routes, mut tables) = (Routes::new(Policy::Spray), NextHops::default());
        let mut intact = Routes::new(Policy::Spray);
        for index in failed {
            let port = PortId(index.index(network.ports().len()) as u32);
            routes.set_up(&network, port, false);
            tables.set_up(&network, port, false);
        }
        let mut ports = Vec::new();
        let (mut by_tables, mut by_routes) = (Stages::default(), Stages::default());
        let hosts = network.hosts() as u32;
        for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))).filter(|(a, b)| a != b) {
            let (from, to) = (NodeId(from), NodeId(to));
            let set = routes.paths(&network, from, to, key, &mut ports);
            let is_cut_off = set.is_err();
            let set = set.or_else(|_| intact.paths(&network, from, to, key, &mut ports)).unwrap();
            let paths: BTreeSet<Vec<PortId>> = (0..set.count).map(|index| set.path(&ports, index).to_vec()).collect();
            tables.lead_to(&network, to);
            let has_one_link = |host| network.ports_of(host).len() == 1;
            prop_assert_eq!(tables.stages(&network, from, to, &mut by_tables), has_one_link(from) && has_one_link(to));
            if !is_cut_off {
                routes.stages(&network, from, to, &mut by_routes).unwrap();
                let sets = |stages: &Stages| stages.iter().map(|ports| ports.iter().copied().collect()).collect();
                let (found, expected): (Vec<BTreeSet<_>>, Vec<BTreeSet<_>>) = (sets(&by_tables), sets(&by_routes));
                prop_assert_eq!(found, expected);
                let count = |stages: &Stages| stages.iter().flatten().count();
                prop_assert_eq!(count(&by_tables), count(&by_routes), "each port stands there once");
            }
            let mut first = Vec::new();
            if routes.first_path(&network, from, to, key, &mut first).is_ok() {
                prop_assert_eq!(&first[..], set.path(&ports, 0));
            }
            if set.count > 32 {
                continue;
            }
            let mut taken = BTreeSet::new();
            for entropy in 0..1_024 {
                let path = walk(&mut tables, &network, from, to, key, entropy);
                prop_assert!(is_chain(&network, from.0, to.0, &path));
                taken.insert(path);
            }
            if is_cut_off {
                // On a part of its way the packet may follow links that are up.
                continue;
            }
            prop_assert!(taken.is_subset(&paths));
            prop_assert!(paths.len() > 8 || taken == paths, "{} of {}", taken.len(), paths.len());
        }
    }
}
