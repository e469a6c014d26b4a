//! The first cut: racks in their order to parts of even load, and upper switches to the parts of their neighbours.

use super::groups::Groups;
use super::load::Load;
use super::order::Order;
use clearway_topology::{NodeId, Topology};

/// The load of a part above the mean that is accepted for a smaller cut.
const SLACK: f64 = 0.02;
/// The share of the strongest tie from which a part is as good a place as the one with that tie.
const ALIKE: f64 = 0.8;

/// The groups of a network as a graph: loads, and the packets between neighbours.
#[derive(Debug)]
pub struct Graph {
    /// The groups of the nodes that are to be cut.
    pub members: Vec<usize>,
    /// The load of each group.
    pub loads: Vec<f64>,
    /// The neighbours of each group with the packets over the links to them.
    pub ties: Vec<Vec<(u32, f64)>>,
    /// The load of the heaviest group.
    pub heaviest: f64,
    /// The load of all groups.
    pub total: f64,
}

impl Graph {
    /// Makes the graph of the groups of a network, of which only the nodes `is_here` count.
    pub fn new(topology: &Topology, groups: &Groups, load: &Load, is_here: &impl Fn(usize) -> bool) -> Graph {
        let (mut loads, mut is_member) = (vec![0.0; groups.len()], vec![false; groups.len()]);
        for (node, load) in load.nodes.iter().enumerate().filter(|(node, _)| is_here(*node)) {
            loads[groups.of(node)] += load;
            is_member[groups.of(node)] = true;
        }
        let mut ties = vec![Vec::new(); groups.len()];
        for (link, port) in topology.ports().iter().step_by(2).enumerate() {
            let [from, to] = [port.from, port.to].map(NodeId::index);
            let [own, other] = [from, to].map(|node| groups.of(node));
            if own != other && is_here(from) && is_here(to) {
                ties[own].push((other as u32, load.links[link]));
                ties[other].push((own as u32, load.links[link]));
            }
        }
        let members = (0..groups.len()).filter(|&group| is_member[group]).collect();
        let (heaviest, total) = (loads.iter().copied().fold(0.0, f64::max), loads.iter().sum());
        Graph { members, loads, ties, heaviest, total }
    }
}

/// An assignment of groups to parts.
#[derive(Debug)]
pub struct Cut {
    /// The part of each group.
    pub part_of: Vec<u32>,
    /// The load of each part.
    pub loads: Vec<f64>,
    /// The load that no part should exceed.
    pub limit: f64,
}

impl Cut {
    /// Cuts a network into so many parts.
    pub fn new(order: &Order, groups: &Groups, graph: &Graph, parts: usize) -> Cut {
        let limit = (graph.total / parts as f64 * (1.0 + SLACK)).max(graph.heaviest);
        let mut cut = Cut { part_of: vec![u32::MAX; groups.len()], loads: vec![0.0; parts], limit };
        cut.fill(&in_order(&order.racks, groups), graph);
        for group in in_order(&order.upper, groups) {
            if cut.part_of[group] == u32::MAX {
                let part = cut.best_for(group, graph);
                cut.put(group, part, graph);
            }
        }
        cut
    }

    /// Gives the parts groups in their order, each as much as is due to it of what is left.
    fn fill(&mut self, order: &[usize], graph: &Graph) {
        let mut left: f64 = order.iter().map(|&group| graph.loads[group]).sum();
        let (mut part, mut due) = (0, left / self.loads.len() as f64);
        for &group in order {
            let load = graph.loads[group];
            let held = self.loads[part];
            if held > 0.0 && held + load / 2.0 > due && part + 1 < self.loads.len() {
                left -= held;
                part += 1;
                due = left / (self.loads.len() - part) as f64;
            }
            self.put(group, part, graph);
        }
    }

    /// Returns the part to which a group has the strongest ties among those with room, the emptiest of several.
    fn best_for(&self, group: usize, graph: &Graph) -> usize {
        let ties = self.ties(group, graph);
        let with_room = |part: &usize| self.loads[*part] + graph.loads[group] <= self.limit;
        let parts = 0..self.loads.len();
        let strongest = parts.clone().filter(with_room).map(|part| ties[part]).fold(0.0, f64::max);
        let good = parts.clone().filter(with_room).filter(|&part| ties[part] >= ALIKE * strongest);
        let emptiest = |a: &usize, b: &usize| self.loads[*a].total_cmp(&self.loads[*b]);
        good.min_by(emptiest).or_else(|| parts.min_by(emptiest)).unwrap_or(0)
    }

    /// Returns the packets over the links of a group to each part.
    pub fn ties(&self, group: usize, graph: &Graph) -> Vec<f64> {
        let mut ties = vec![0.0; self.loads.len()];
        for &(other, packets) in &graph.ties[group] {
            if let Some(tie) = ties.get_mut(self.part_of[other as usize] as usize) {
                *tie += packets;
            }
        }
        ties
    }

    /// Puts a group into a part.
    pub fn put(&mut self, group: usize, part: usize, graph: &Graph) {
        if let Some(load) = self.loads.get_mut(self.part_of[group] as usize) {
            *load -= graph.loads[group];
        }
        self.loads[part] += graph.loads[group];
        self.part_of[group] = part as u32;
    }
}

/// Returns the groups of nodes in the order of their first nodes.
fn in_order(nodes: &[u32], groups: &Groups) -> Vec<usize> {
    let mut is_seen = vec![false; groups.len()];
    let of = nodes.iter().map(|&node| groups.of(node as usize));
    of.filter(|&group| !std::mem::replace(&mut is_seen[group], true)).collect()
}
