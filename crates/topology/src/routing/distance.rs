//! The distances in hops to the switches to which destinations are attached, computed when first needed.
//!
//! Two switches that are linked to the same switches are *twins*: every third switch is equally far from both. The ToRs
//! of a pod are twins, and so are all leaves of a leaf-spine network. One search serves all twins, which at 65,536
//! hosts are 64 searches instead of 2,048.

use crate::graph::{NodeId, PortId, Topology};

/// The distance of a switch that is not reached, larger than any other, since a topology has fewer switches.
const UNREACHED: u16 = u16::MAX;
/// The distance between two twins, which is the way over a common neighbour.
const BETWEEN_TWINS: u16 = 2;

/// A switch by its number among the switches.
type Place = usize;

/// The distances between switches over links that are up. Hosts need none of their own: they never forward, and
/// all hosts of a switch share its distances.
#[derive(Clone, Debug)]
pub(super) struct Distances {
    /// If true, a link is used only if both of its directions are up.
    both_ways: bool,
    /// The numbers of nodes and ports of the topology; (0, 0) before the first call.
    size: (usize, usize),
    /// True for each port that is down, by the port's index. Empty while all are up.
    down: Vec<bool>,
    /// The first of each switch's twins, whose list in `to_switch` serves all of them.
    first_twin: Vec<u32>,
    /// The hops to a target switch in the direction of travel, by target and then by switch. A target's list is empty
    /// until it is needed.
    to_switch: Vec<Vec<u16>>,
    /// The switches from which the last destination that was prepared is reached in one hop.
    targets: Vec<Place>,
    /// The queue of the breadth-first search, kept to reuse its memory.
    queue: Vec<NodeId>,
}

/// The hops from each switch to a target switch.
#[derive(Clone, Copy)]
struct ToSwitch<'a> {
    target: Place,
    /// The first of the target's twins.
    first: Place,
    /// The hops from each switch to that twin.
    hops: &'a [u16],
}

impl ToSwitch<'_> {
    /// Returns the hops from a switch, or [`UNREACHED`].
    #[inline]
    fn hops_from(&self, switch: Place) -> u16 {
        if switch == self.target {
            0
        } else if switch == self.first {
            BETWEEN_TWINS
        } else {
            self.hops[switch]
        }
    }
}

impl Distances {
    pub(super) fn new(both_ways: bool) -> Distances {
        Distances {
            both_ways,
            size: (0, 0),
            down: Vec::new(),
            first_twin: Vec::new(),
            to_switch: Vec::new(),
            targets: Vec::new(),
            queue: Vec::new(),
        }
    }

    /// Ties the cache to a topology on the first call, and panics if a later one differs in size, since the cached
    /// distances would misroute its packets.
    fn attach(&mut self, topology: &Topology) {
        let size = (topology.nodes().len(), topology.ports().len());
        if self.size == (0, 0) {
            self.size = size;
            self.to_switch = vec![Vec::new(); topology.switches()];
            self.find_twins(topology);
        }
        assert!(self.size == size, "these routes belong to a topology of another size");
    }

    /// Finds the twins among the switches. A switch with a link that is down has none.
    fn find_twins(&mut self, topology: &Topology) {
        let hosts = topology.hosts();
        self.first_twin = (0..topology.switches() as u32).collect();
        let neighbours = |place: &u32| topology.switches_beside(NodeId::from_index(hosts + *place as usize));
        let may_have_twins = |place: &u32| {
            let ports = topology.ports_to_switches(NodeId::from_index(hosts + *place as usize));
            !ports.is_empty() && ports.iter().all(|&port| self.is_up(port) && self.is_up(port.reverse()))
        };
        let mut places: Vec<u32> = self.first_twin.iter().copied().filter(may_have_twins).collect();
        places.sort_by(|a, b| neighbours(a).cmp(neighbours(b)));
        for twins in places.chunk_by(|a, b| neighbours(a) == neighbours(b)) {
            for &place in twins {
                self.first_twin[place as usize] = twins[0];
            }
        }
    }

    pub(super) fn set_up(&mut self, topology: &Topology, port: PortId, up: bool) {
        self.attach(topology);
        if self.is_up(port) == up {
            return;
        }
        self.down.resize(topology.ports().len(), false);
        self.down[port.index()] = !up;
        self.to_switch.iter_mut().for_each(Vec::clear);
        self.find_twins(topology);
    }

    #[inline]
    pub(super) fn is_up(&self, port: PortId) -> bool {
        !self.down.get(port.index()).copied().unwrap_or(false)
    }

    /// Returns the memory that distances occupy, in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.to_switch.iter().map(|row| size_of::<Vec<u16>>() + row.capacity() * size_of::<u16>()).sum()
    }

    /// Returns true if packets may be routed over a port.
    #[inline]
    fn usable(&self, port: PortId) -> bool {
        self.down.is_empty() || self.is_up(port) && (!self.both_ways || self.is_up(port.reverse()))
    }

    /// Makes `dst` the destination of which `next_hops` and `hops_from_host` tell, and computes the distances to all of
    /// its switches where they are missing.
    pub(super) fn prepare(&mut self, topology: &Topology, dst: NodeId) {
        self.attach(topology);
        let hosts = topology.hosts();
        self.targets.clear();
        for &port in topology.ports_to_switches(dst) {
            if !self.usable(port.reverse()) {
                continue;
            }
            let target = topology.port(port).to.index() - hosts;
            self.targets.push(target);
            let first = self.first_twin[target] as usize;
            if self.to_switch[first].is_empty() {
                self.search(topology, NodeId::from_index(hosts + first));
            }
        }
    }

    /// Computes the distances to one switch by breadth-first search from it, against the direction of travel.
    fn search(&mut self, topology: &Topology, target: NodeId) {
        let hosts = topology.hosts();
        let mut hops = std::mem::take(&mut self.to_switch[target.index() - hosts]);
        hops.resize(topology.switches(), UNREACHED);
        hops[target.index() - hosts] = 0;
        self.queue.clear();
        self.queue.push(target);
        let mut head = 0;
        while let Some(&switch) = self.queue.get(head) {
            head += 1;
            let next_hops = hops[switch.index() - hosts] + 1;
            let neighbours = topology.switches_beside(switch).iter().zip(topology.ports_to_switches(switch));
            for (&neighbour, &port) in neighbours {
                let place = neighbour.index() - hosts;
                if hops[place] == UNREACHED && self.usable(port.reverse()) {
                    hops[place] = next_hops;
                    self.queue.push(neighbour);
                }
            }
        }
        self.to_switch[target.index() - hosts] = hops;
    }

    /// Returns what tells the hops from each switch to a target switch.
    #[inline]
    fn to(&self, target: Place) -> ToSwitch<'_> {
        let first = self.first_twin[target] as usize;
        ToSwitch { target, first, hops: &self.to_switch[first] }
    }

    /// Returns the hops from a switch to the destination, over the nearest of its switches, or [`UNREACHED`].
    fn hops_from_switch(&self, switch: Place) -> u16 {
        let hops = self.targets.iter().map(|&target| self.to(target).hops_from(switch));
        hops.min().unwrap_or(UNREACHED).saturating_add(1)
    }

    /// Returns the hops from one host to another, the destination.
    pub(super) fn hops_from_host(&self, topology: &Topology, src: NodeId, dst: NodeId) -> Option<u16> {
        if topology.ports_between(src, dst).iter().any(|&port| self.usable(port)) {
            return Some(1);
        }
        let ways = topology.ports_to_switches(src).iter().filter(|&&port| self.usable(port));
        let hops = ways.map(|&port| self.hops_from_switch(topology.port(port).to.index() - topology.hosts()));
        hops.min().filter(|&hops| hops != UNREACHED).map(|hops| hops + 1)
    }

    /// Returns the ports of `node` that lead one hop closer to the destination `dst`, which is `left` hops away, in the
    /// order of [`Topology::ports_of`].
    pub(super) fn next_hops<'a>(
        &'a self,
        topology: &'a Topology,
        node: NodeId,
        dst: NodeId,
        left: u16,
    ) -> impl Iterator<Item = PortId> + 'a {
        let (ports, neighbours) = if left == 1 {
            (topology.ports_between(node, dst), [].as_slice())
        } else {
            (topology.ports_to_switches(node), topology.switches_beside(node))
        };
        let hosts = topology.hosts();
        // Most hosts have one switch, of which all that is asked for each neighbour is looked up once.
        let only = if let [target] = self.targets[..] { Some(self.to(target)) } else { None };
        let closer = move |at: usize| {
            let switch = || neighbours[at].index() - hosts;
            match only {
                _ if left == 1 => true,
                Some(only) => only.hops_from(switch()).saturating_add(1) == left - 1,
                None => self.hops_from_switch(switch()) == left - 1,
            }
        };
        let each = ports.iter().copied().enumerate();
        each.filter(move |&(at, port)| self.usable(port) && closer(at)).map(|(_, port)| port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Clos3, Dumbbell, FatTree, LeafSpine, MultiBottleneck, OversubscribedFatTree, Pacc320, ParkingLot,
        Star,
    };

    fn shapes() -> Vec<Topology> {
        let trees = [2, 4, 8].map(|k| FatTree { k, ..FatTree::default() }.build());
        let leaves = [(1, 1), (2, 3), (5, 4)].map(|(leaves, spines)| {
            LeafSpine { leaves, spines, hosts_per_leaf: 2, ..LeafSpine::default() }.build()
        });
        let clos = [(1, 2, 2, 4, 2), (3, 2, 3, 2, 2), (4, 3, 2, 1, 1), (2, 1, 4, 8, 2)].map(
            |(pods, tors_per_pod, aggs_per_pod, cores, uplinks_per_agg)| {
                let hosts_per_tor = 2;
                let shape = Clos3 {
                    pods,
                    tors_per_pod,
                    aggs_per_pod,
                    cores,
                    uplinks_per_agg,
                    hosts_per_tor,
                    ..Clos3::default()
                };
                shape.build()
            },
        );
        let others = [
            OversubscribedFatTree::default().build(),
            Pacc320::default().build(),
            Dumbbell::default().build(),
            Star::default().build(),
            ParkingLot::default().build(),
            MultiBottleneck::default().build(),
        ];
        trees.into_iter().chain(leaves).chain(clos).chain(others).map(|shape| shape.unwrap()).collect()
    }

    /// Returns the hops from each switch to a host over ports that are usable, by following single links until nothing
    /// changes: a slow oracle that knows no twins.
    fn relaxed(network: &Topology, distances: &Distances, dst: NodeId) -> Vec<u16> {
        let mut hops = vec![UNREACHED; network.nodes().len()];
        hops[dst.index()] = 0;
        loop {
            let mut changed = false;
            for (index, port) in network.ports().iter().enumerate() {
                let forwards = port.to == dst || !network.is_host(port.to);
                let there = hops[port.to.index()].saturating_add(1);
                if forwards && distances.usable(PortId::from_index(index)) && there < hops[port.from.index()]
                {
                    hops[port.from.index()] = there;
                    changed = true;
                }
            }
            if !changed {
                return hops.split_off(network.hosts());
            }
        }
    }

    fn is_as_relaxed(network: &Topology, distances: &mut Distances) {
        for dst in (0..network.hosts()).step_by(network.hosts().div_ceil(40)).map(NodeId::from_index) {
            let expected = relaxed(network, distances, dst);
            distances.prepare(network, dst);
            let hops: Vec<u16> =
                (0..network.switches()).map(|place| distances.hops_from_switch(place)).collect();
            assert_eq!(hops, expected, "to {} of {}", dst.0, network.hosts());
        }
    }

    #[test]
    fn distances_of_every_shape_are_those_of_a_search_without_twins_whatever_links_are_down() {
        for (number, network) in shapes().iter().enumerate() {
            for both_ways in [false, true] {
                let mut distances = Distances::new(both_ways);
                is_as_relaxed(network, &mut distances);
                let port =
                    |index: usize| PortId::from_index((number * 97 + index * 31 + 5) % network.ports().len());
                // Four ports fail one after the other, and the first two come back.
                for (index, up) in [(0, false), (1, false), (2, false), (3, false), (0, true), (1, true)] {
                    distances.set_up(network, port(index), up);
                    is_as_relaxed(network, &mut distances);
                }
            }
        }
    }

    #[test]
    fn the_tors_of_a_pod_and_the_leaves_of_two_tiers_share_one_search() {
        let searches = |network: &Topology| {
            let mut distances = Distances::new(true);
            (0..network.hosts()).for_each(|dst| distances.prepare(network, NodeId::from_index(dst)));
            distances.to_switch.iter().filter(|list| !list.is_empty()).count()
        };
        assert_eq!(searches(&FatTree { k: 8, ..FatTree::default() }.build().unwrap()), 8, "of 32 ToRs");
        assert_eq!(searches(&OversubscribedFatTree::default().build().unwrap()), 8, "of 32 ToRs");
        assert_eq!(searches(&LeafSpine { leaves: 50, ..LeafSpine::default() }.build().unwrap()), 1);
    }

    #[test]
    fn a_switch_with_a_failed_link_has_no_twin_until_the_link_is_back() {
        let network = FatTree { k: 4, ..FatTree::default() }.build().unwrap();
        let port =
            network.port_between(network.node("tor1").unwrap(), network.node("agg0").unwrap()).unwrap();
        let mut distances = Distances::new(false);
        distances.prepare(&network, NodeId(0));
        assert_eq!(distances.first_twin[..4], [0, 0, 2, 2]);
        distances.set_up(&network, port.reverse(), false);
        assert_eq!(distances.first_twin[..4], [0, 1, 2, 2]);
        distances.set_up(&network, port.reverse(), true);
        assert_eq!(distances.first_twin[..4], [0, 0, 2, 2]);
    }
}
