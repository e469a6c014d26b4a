//! Hop distances to the switches that destinations hang on, found when first asked for.

use crate::graph::{NodeId, PortId, Topology};

/// Farther than any switch: a topology has fewer switches than this.
const UNREACHED: u16 = u16::MAX;

/// Distances between switches over links that are up. Hosts are left out: they never forward, and all hosts of a
/// switch share its distances.
#[derive(Clone, Debug)]
pub(super) struct Distances {
    /// Whether a link counts as up only if both directions are.
    both_ways: bool,
    /// Nodes and ports of the topology served; (0, 0) before the first call.
    size: (usize, usize),
    /// By port. Empty while all are up.
    down: Vec<bool>,
    /// By target switch, then by switch: hops to the target, in the direction of travel. Empty if not asked for.
    to_switch: Vec<Vec<u16>>,
    queue: Vec<NodeId>,
}

impl Distances {
    pub(super) fn new(both_ways: bool) -> Distances {
        Distances { both_ways, size: (0, 0), down: Vec::new(), to_switch: Vec::new(), queue: Vec::new() }
    }

    /// A cache filled from one network would silently misroute another.
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

    /// Memory held by distances.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.to_switch.iter().map(|row| size_of::<Vec<u16>>() + row.capacity() * size_of::<u16>()).sum()
    }

    /// Whether packets may be routed over a port.
    fn usable(&self, port: PortId) -> bool {
        self.is_up(port) && (!self.both_ways || self.is_up(port.reverse()))
    }

    /// Makes sure that distances to all switches of a destination are known; the other methods rely on it.
    pub(super) fn prepare(&mut self, topology: &Topology, dst: NodeId) {
        self.attach(topology);
        for &port in topology.ports_to_switches(dst) {
            let target = topology.port(port).to;
            if self.to_switch[target.index() - topology.hosts()].is_empty() {
                self.search(topology, target);
            }
        }
    }

    /// Breadth first from the target, against the direction of travel.
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

    /// Hops from a switch to the host `dst`: over the nearest of its switches.
    fn hops_from_switch(&self, topology: &Topology, switch: NodeId, dst: NodeId) -> Option<u16> {
        let hosts = topology.hosts();
        let ways = topology.ports_to_switches(dst).iter().filter(|port| self.usable(port.reverse()));
        let hops = ways.map(|&port| {
            let target = topology.port(port).to;
            self.to_switch[target.index() - hosts][switch.index() - hosts]
        });
        hops.min().filter(|&hops| hops != UNREACHED).map(|hops| hops + 1)
    }

    /// Hops from one host to another.
    pub(super) fn hops_from_host(&self, topology: &Topology, src: NodeId, dst: NodeId) -> Option<u16> {
        if topology.ports_between(src, dst).iter().any(|&port| self.usable(port)) {
            return Some(1);
        }
        let ways = topology.ports_to_switches(src).iter().filter(|&&port| self.usable(port));
        ways.filter_map(|&port| self.hops_from_switch(topology, topology.port(port).to, dst))
            .min()
            .map(|hops| hops + 1)
    }

    /// The ports of `node`, which is `left` hops from `dst`, that lead one hop closer, in the global order.
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
