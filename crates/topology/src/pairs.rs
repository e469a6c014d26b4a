//! What joins a pair of hosts: the shortest paths, and how equal-cost multipath divides traffic among their ports.

use crate::graph::{NodeId, PortId, Topology};

/// The shortest paths from one host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// The number of links of a shortest path.
    pub hops: usize,
    /// The number of shortest paths; it is a floating-point number, since there may be very many.
    pub paths: f64,
    /// The ports of these paths in the order of their distance from the source, each with the share of the traffic
    /// that it carries if every switch divides equally among its next hops.
    pub shares: Vec<(PortId, f64)>,
}

impl Between {
    /// Returns the ports of one of the shortest paths, the first in the order of ports.
    pub fn one_path(&self, topology: &Topology, from: NodeId) -> Vec<PortId> {
        let (mut path, mut at) = (Vec::with_capacity(self.hops), from);
        for &(port, _) in &self.shares {
            if topology.port(port).from == at {
                path.push(port);
                at = topology.port(port).to;
            }
        }
        path
    }
}

/// Returns the distance of every node to `to` in links; `None` for nodes from which no path leads there. Hosts don't
/// forward.
fn distances(topology: &Topology, to: NodeId) -> Vec<Option<u32>> {
    let mut distance = vec![None; topology.nodes().len()];
    distance[to.index()] = Some(0);
    let (mut reached, mut next) = (vec![to], 0);
    while let Some(&node) = reached.get(next) {
        next += 1;
        if topology.is_host(node) && node != to {
            continue;
        }
        for &port in topology.ports_of(node) {
            let neighbour = topology.port(port).to;
            if distance[neighbour.index()].is_none() {
                distance[neighbour.index()] = distance[node.index()].map(|hops| hops + 1);
                reached.push(neighbour);
            }
        }
    }
    distance
}

/// Returns the shortest paths from one host to another; `None` if they are the same host or no path joins them.
pub fn between(topology: &Topology, from: NodeId, to: NodeId) -> Option<Between> {
    let distance = distances(topology, to);
    let hops = distance[from.index()]? as usize;
    if hops == 0 {
        return None;
    }
    let (mut shares, mut front) = (Vec::new(), vec![(from, 1.0, 1.0)]);
    let mut paths = 0.0;
    for left in (0..hops as u32).rev() {
        let mut next: Vec<(NodeId, f64, f64)> = Vec::new();
        for &(node, share, count) in &front {
            let leads = |port: &&PortId| distance[topology.port(**port).to.index()] == Some(left);
            let forwards = |port: &&PortId| left == 0 || !topology.is_host(topology.port(**port).to);
            let ports: Vec<PortId> =
                topology.ports_of(node).iter().filter(leads).filter(forwards).copied().collect();
            let each = share / ports.len() as f64;
            for port in ports {
                shares.push((port, each));
                let to = topology.port(port).to;
                match next.iter_mut().find(|(known, ..)| *known == to) {
                    Some((_, share, paths)) => {
                        *share += each;
                        *paths += count;
                    }
                    None => next.push((to, each, count)),
                }
            }
        }
        paths = next.iter().map(|(.., count)| count).sum();
        front = next;
    }
    Some(Between { hops, paths, shares })
}

/// Returns the two hosts that are farthest from each other among those that two searches find, and the number of links
/// between them. It is the diameter in trees and in all built-in shapes.
pub fn farthest_pair(topology: &Topology) -> (NodeId, NodeId, usize) {
    let farthest = |from: NodeId| {
        let distance = distances(topology, from);
        let far = (0..topology.hosts()).max_by_key(|&host| (distance[host], std::cmp::Reverse(host)));
        let far = far.unwrap_or(from.index());
        (NodeId::from_index(far), distance[far].unwrap_or(0) as usize)
    };
    let (far, _) = farthest(NodeId(0));
    let (other, hops) = farthest(far);
    (far, other, hops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clos3, Dumbbell, FatTree, LeafSpine};

    #[test]
    fn traffic_divides_equally_at_every_switch() {
        let network = FatTree::default().build().unwrap();
        let pair = between(&network, NodeId(0), NodeId(15)).unwrap();
        assert_eq!((pair.hops, pair.paths), (6, 4.0));
        let shares: Vec<f64> = pair.shares.iter().map(|(_, share)| *share).collect();
        assert_eq!(shares, [1.0, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 1.0]);
        let path: Vec<String> =
            pair.one_path(&network, NodeId(0)).iter().map(|&port| network.port_name(port)).collect();
        assert_eq!(path.len(), 6);
        assert!(path[0].starts_with("h0->tor0") && path[5].ends_with("->h15"), "{path:?}");
    }

    #[test]
    fn within_a_rack_there_is_one_path_and_to_oneself_none() {
        let network = LeafSpine::default().build().unwrap();
        let pair = between(&network, NodeId(0), NodeId(1)).unwrap();
        assert_eq!((pair.hops, pair.paths, pair.shares.len()), (2, 1.0, 2));
        assert_eq!(between(&network, NodeId(3), NodeId(3)), None);
    }

    #[test]
    fn the_diameter_is_that_of_the_shape() {
        for (network, hops) in [
            (Dumbbell::default().build().unwrap(), 3),
            (LeafSpine::default().build().unwrap(), 4),
            (Clos3::default().build().unwrap(), 6),
        ] {
            assert_eq!(farthest_pair(&network).2, hops);
        }
    }
}
