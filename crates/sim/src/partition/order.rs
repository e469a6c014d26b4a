//! An order of nodes in which neighbours stand together: hosts behind their switch, the racks of a pod in a row.

use super::groups::Sets;
use clearway_topology::{NodeId, Topology};
use std::collections::VecDeque;

/// The most levels of a tree whose pods are kept together.
const LEVELS: u8 = 4;

/// The nodes of a network in the order in which they are cut.
#[derive(Debug)]
pub struct Order {
    /// The switches of the lowest tier, each before its hosts.
    pub racks: Vec<u32>,
    /// All other nodes, the lowest tier first.
    pub upper: Vec<u32>,
}

impl Order {
    /// Returns the order of a network. Racks are sorted by the pods to which they belong, the largest first, and within a
    /// pod by their place in a breadth-first search from one end of the network.
    pub fn new(topology: &Topology) -> Order {
        let (hosts, nodes) = (topology.hosts(), topology.nodes());
        let is_rack = |node: &usize| nodes[*node].tier <= 1;
        let top = nodes.iter().map(|node| node.tier).max().unwrap_or(0);
        let mut pods: Vec<Sets> = (1..top.min(LEVELS + 1)).map(|tier| pods_below(topology, tier)).collect();
        let places = places(topology);
        let mut switches: Vec<usize> = (hosts..nodes.len()).filter(is_rack).collect();
        switches.sort_by_cached_key(|&switch| {
            let pod: Vec<usize> = pods.iter_mut().rev().map(|pods| pods.root(switch)).collect();
            (pod, places[switch])
        });
        let (mut racks, mut upper) = (Vec::with_capacity(nodes.len()), Vec::new());
        let mut is_placed = vec![false; nodes.len()];
        for switch in switches {
            let ports = topology.ports_of(NodeId::from_index(switch));
            let neighbours = ports.iter().map(|&port| topology.port(port).to.index());
            for node in std::iter::once(switch).chain(neighbours.filter(|&node| node < hosts)) {
                if !std::mem::replace(&mut is_placed[node], true) {
                    racks.push(node as u32);
                }
            }
        }
        upper.extend((0..nodes.len() as u32).filter(|&node| !is_placed[node as usize]));
        upper.sort_by_key(|&node| nodes[node as usize].tier);
        Order { racks, upper }
    }

    /// Returns the order of the nodes `is_here` alone.
    pub fn of(&self, is_here: impl Fn(usize) -> bool) -> Order {
        let here = |nodes: &[u32]| nodes.iter().copied().filter(|&node| is_here(node as usize)).collect();
        Order { racks: here(&self.racks), upper: here(&self.upper) }
    }
}

/// Returns the sets of switches that are joined by links between switches of at most this tier.
fn pods_below(topology: &Topology, tier: u8) -> Sets {
    let nodes = topology.nodes();
    let mut sets = Sets::new(nodes.len());
    for port in topology.ports().iter().step_by(2) {
        let (from, to) = (port.from.index(), port.to.index());
        if (1..=tier).contains(&nodes[from].tier) && (1..=tier).contains(&nodes[to].tier) {
            sets.join(from, to);
        }
    }
    sets
}

/// Returns the place of each node in a breadth-first search over switches from one that lies at the edge.
fn places(topology: &Topology) -> Vec<u32> {
    let mut edge = topology.hosts();
    let mut places = Vec::new();
    for _ in 0..2 {
        let mut order = search(topology, edge);
        edge = order.last().copied().unwrap_or(edge);
        places = vec![u32::MAX; topology.nodes().len()];
        order.drain(..).zip(0..).for_each(|(node, place)| places[node] = place);
    }
    places
}

/// Returns the switches in the order of a breadth-first search.
fn search(topology: &Topology, from: usize) -> Vec<usize> {
    let mut is_reached = vec![false; topology.nodes().len()];
    let (mut order, mut queue) = (Vec::new(), VecDeque::new());
    if from < is_reached.len() {
        is_reached[from] = true;
        queue.push_back(from);
    }
    while let Some(node) = queue.pop_front() {
        order.push(node);
        for &port in topology.ports_of(NodeId::from_index(node)) {
            let to = topology.port(port).to;
            if !topology.is_host(to) && !std::mem::replace(&mut is_reached[to.index()], true) {
                queue.push_back(to.index());
            }
        }
    }
    order
}
