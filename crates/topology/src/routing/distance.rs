//! The distances in hops to the switches to which destinations are attached, computed when first needed.

use crate::graph::{NodeId, PortId, Topology};

/// The distance of a switch that is not reached, larger than any other, since a topology has fewer switches.
const UNREACHED: u16 = u16::MAX;

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
    /// The hops to a target switch in the direction of travel, by target and then by switch. A target's list is empty
    /// until it is needed.
    to_switch: Vec<Vec<u16>>,
    /// The queue of the breadth-first search, kept to reuse its memory.
    queue: Vec<NodeId>,
}

impl Distances {
    pub(super) fn new(both_ways: bool) -> Distances {
        Distances { both_ways, size: (0, 0), down: Vec::new(), to_switch: Vec::new(), queue: Vec::new() }
    }

    /// Ties the cache to a topology on the first call, and panics if a later one differs in size, since the cached
    /// distances would misroute its packets.
    fn attach(&mut self, topology: &Topology) {
        let size = (topology.nodes().len(), topology.ports().len());
        if self.size == (0, 0) {
            self.size = size;
            self.to_switch = vec![Vec::new(); topology.switches()];
        }
        assert!(self.size == size, "these routes belong to a topology of another size");
    }

    pub(super) fn set_up(&mut self, topology: &Topology, port: PortId, up: bool) {
        self.attach(topology);
        if self.is_up(port) == up {
            return;
        }
        self.down.resize(topology.ports().len(), false);
        self.down[port.index()] = !up;
        self.to_switch.iter_mut().for_each(Vec::clear);
    }

    pub(super) fn is_up(&self, port: PortId) -> bool {
        !self.down.get(port.index()).copied().unwrap_or(false)
    }

    /// Returns the memory that distances occupy, in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.to_switch.iter().map(|row| size_of::<Vec<u16>>() + row.capacity() * size_of::<u16>()).sum()
    }

    /// Returns true if packets may be routed over a port.
    fn usable(&self, port: PortId) -> bool {
        self.is_up(port) && (!self.both_ways || self.is_up(port.reverse()))
    }

    /// Computes the distances to all switches of a destination where they are missing. `next_hops` and
    /// `hops_from_host` rely on it.
    pub(super) fn prepare(&mut self, topology: &Topology, dst: NodeId) {
        self.attach(topology);
        for &port in topology.ports_to_switches(dst) {
            let target = topology.port(port).to;
            if self.to_switch[target.index() - topology.hosts()].is_empty() {
                self.search(topology, target);
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
            for &port in topology.ports_to_switches(switch) {
                let neighbour = topology.port(port).to;
                let place = neighbour.index() - hosts;
                if hops[place] == UNREACHED && self.usable(port.reverse()) {
                    hops[place] = next_hops;
                    self.queue.push(neighbour);
                }
            }
        }
        self.to_switch[target.index() - hosts] = hops;
    }

    /// Returns the hops from a switch to the host `dst`, over the nearest of the host's switches.
    fn hops_from_switch(&self, topology: &Topology, switch: NodeId, dst: NodeId) -> Option<u16> {
        let hosts = topology.hosts();
        let ways = topology.ports_to_switches(dst).iter().filter(|port| self.usable(port.reverse()));
        let hops = ways.map(|&port| {
            let target = topology.port(port).to;
            self.to_switch[target.index() - hosts][switch.index() - hosts]
        });
        hops.min().filter(|&hops| hops != UNREACHED).map(|hops| hops + 1)
    }

    /// Returns the hops from one host to another.
    pub(super) fn hops_from_host(&self, topology: &Topology, src: NodeId, dst: NodeId) -> Option<u16> {
        if topology.ports_between(src, dst).iter().any(|&port| self.usable(port)) {
            return Some(1);
        }
        let ways = topology.ports_to_switches(src).iter().filter(|&&port| self.usable(port));
        ways.filter_map(|&port| self.hops_from_switch(topology, topology.port(port).to, dst))
            .min()
            .map(|hops| hops + 1)
    }

    /// Returns the ports of `node` that lead one hop closer to `dst`, which is `left` hops away, in the order of
    /// [`Topology::ports_of`].
    pub(super) fn next_hops<'a>(
        &'a self,
        topology: &'a Topology,
        node: NodeId,
        dst: NodeId,
        left: u16,
    ) -> impl Iterator<Item = PortId> + 'a {
        let ports =
            if left == 1 { topology.ports_between(node, dst) } else { topology.ports_to_switches(node) };
        let closer = move |port: PortId| {
            left == 1 || self.hops_from_switch(topology, topology.port(port).to, dst) == Some(left - 1)
        };
        ports.iter().copied().filter(move |&port| self.usable(port) && closer(port))
    }
}
