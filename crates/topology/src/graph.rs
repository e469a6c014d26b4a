//! The finished graph.

use clearway_units::{Rate, Span};
use std::ops::Range;

/// A node: hosts are 0 to `hosts`, then come the switches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The place in [`Topology::nodes`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One direction of a link: link `l` has the ports `2l` (a to b) and `2l + 1` (b to a).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PortId(pub u32);

impl PortId {
    /// The other direction of the same link.
    pub const fn reverse(self) -> PortId {
        PortId(self.0 ^ 1)
    }

    /// The place in [`Topology::ports`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The link of which this is one direction.
    pub const fn link(self) -> usize {
        self.0 as usize / 2
    }
}

/// What a node does with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NodeKind {
    /// Starts and ends flows; never forwards.
    Host,
    /// Forwards.
    Switch,
}

/// A host or a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Host or switch.
    pub kind: NodeKind,
    /// Unique in its network: `h0`, `tor3`, `core1`.
    pub name: String,
    /// 0 for a host, 1 ToR, 2 aggregation, 3 core; 1 for every switch of a flat network.
    pub tier: u8,
}

/// One direction of a link, with the queue that feeds it at `from`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port {
    /// Who sends into it.
    pub from: NodeId,
    /// Who receives from it.
    pub to: NodeId,
    /// How fast bits enter.
    pub rate: Rate,
    /// How long a bit travels.
    pub delay: Span,
}

/// A network that passed every check of [`Builder::build`](crate::Builder::build): it has hosts, every pair of
/// them is joined, names are unique, no rate is zero. It does not change; failures live in
/// [`Routes`](crate::Routes).
#[derive(Clone, Debug)]
pub struct Topology {
    nodes: Vec<Node>,
    hosts: usize,
    ports: Vec<Port>,
    /// Per link; empty when no link loses packets, which is the rule.
    losses: Vec<f64>,
    /// Outgoing ports of node `n` are `outgoing[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    outgoing: Vec<PortId>,
    /// Node ids in the order of their names. A sorted list needs no hashing and is the same on every run.
    by_name: Vec<NodeId>,
}

impl Topology {
    /// Indexes what the builder checked.
    pub(crate) fn new(nodes: Vec<Node>, hosts: usize, ports: Vec<Port>, losses: Vec<f64>) -> Topology {
        let mut outgoing: Vec<PortId> = (0..ports.len() as u32).map(PortId).collect();
        outgoing.sort_unstable_by_key(|&id| (ports[id.index()].from, ports[id.index()].to, id));
        let mut starts = vec![0; nodes.len() + 1];
        for port in &ports {
            starts[port.from.index() + 1] += 1;
        }
        for node in 0..nodes.len() {
            starts[node + 1] += starts[node];
        }
        let mut by_name: Vec<NodeId> = (0..nodes.len() as u32).map(NodeId).collect();
        by_name.sort_unstable_by(|a, b| nodes[a.index()].name.cmp(&nodes[b.index()].name));
        Topology { nodes, hosts, ports, losses, starts, outgoing, by_name }
    }

    /// Hosts, then switches.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Both directions of every link.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// One direction of a link.
    #[inline]
    pub fn port(&self, port: PortId) -> &Port {
        &self.ports[port.index()]
    }

    /// How many hosts there are; their ids are `0..hosts`.
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// How many switches there are; their ids are `hosts..`.
    pub fn switches(&self) -> usize {
        self.nodes.len() - self.hosts
    }

    /// How many links there are, of two ports each.
    pub fn links(&self) -> usize {
        self.ports.len() / 2
    }

    /// Whether the node is a host.
    #[inline]
    pub fn is_host(&self, node: NodeId) -> bool {
        node.index() < self.hosts
    }

    /// Outgoing ports in the one global order that deterministic ECMP needs: by the neighbour's id, then by
    /// port. Hosts have the lower ids, so a switch's ports to hosts come first.
    #[inline]
    pub fn ports_of(&self, node: NodeId) -> &[PortId] {
        &self.outgoing[self.starts[node.index()] as usize..self.starts[node.index() + 1] as usize]
    }

    /// The outgoing ports that lead to switches.
    pub(crate) fn ports_to_switches(&self, node: NodeId) -> &[PortId] {
        let ports = self.ports_of(node);
        &ports[ports.partition_point(|&port| self.is_host(self.port(port).to))..]
    }

    /// The outgoing ports of `a` that lead to `b`: more than one if links are parallel.
    pub(crate) fn ports_between(&self, a: NodeId, b: NodeId) -> &[PortId] {
        let ports = self.ports_of(a);
        let Range { start, end } = ports.partition_point(|&port| self.port(port).to < b)
            ..ports.partition_point(|&port| self.port(port).to <= b);
        &ports[start..end]
    }

    /// The node of a name: `h0`, `tor3`.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let place =
            self.by_name.binary_search_by(|id| self.nodes[id.index()].name.as_str().cmp(name)).ok()?;
        Some(self.by_name[place])
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node.index()].name
    }

    /// The port of `a` towards its neighbour `b`; the first one if several links join them.
    pub fn port_between(&self, a: NodeId, b: NodeId) -> Option<PortId> {
        if a.index() >= self.nodes.len() {
            return None;
        }
        self.ports_between(a, b).first().copied()
    }

    /// What people call a port: `tor0->h3`. Parallel links share a name.
    pub fn port_name(&self, port: PortId) -> String {
        let Port { from, to, .. } = *self.port(port);
        format!("{}->{}", self.name(from), self.name(to))
    }

    /// Changes a link, in both directions: for networks that are like a shape but for some links.
    ///
    /// # Panics
    /// At a rate of zero, which no other network has either.
    pub fn set_link(&mut self, port: PortId, rate: Rate, delay: Span) {
        assert!(rate > Rate::ZERO, "a link carries something");
        for port in [port, port.reverse()] {
            let port = &mut self.ports[port.index()];
            (port.rate, port.delay) = (rate, delay);
        }
    }

    /// The share of packets that the link corrupts, 0 unless a file says otherwise; equal in both directions.
    pub fn loss(&self, port: PortId) -> f64 {
        self.losses.get(port.link()).copied().unwrap_or(0.0)
    }

    /// The oversubscription of the first tier: over all switches of tier 1 that have uplinks, the capacity of
    /// the links to their hosts divided by that of the links to higher tiers. 3 for the 192-host tree of
    /// ExpressPass; below 1 if uplinks abound; 1 when no such switch has uplinks, as in flat networks.
    ///
    /// It is a ratio of sums, not the worst switch's, because load is defined by the sum.
    pub fn oversubscription(&self) -> f64 {
        let (mut down, mut up) = (0u128, 0u128);
        for (index, node) in self.nodes.iter().enumerate().skip(self.hosts) {
            if node.tier != 1 {
                continue;
            }
            let (mut to_hosts, mut to_higher) = (0u128, 0u128);
            for &port in self.ports_of(NodeId(index as u32)) {
                let Port { to, rate, .. } = *self.port(port);
                match self.nodes[to.index()].tier {
                    0 => to_hosts += u128::from(rate.as_bps()),
                    1 => {}
                    _ => to_higher += u128::from(rate.as_bps()),
                }
            }
            if to_higher > 0 {
                down += to_hosts;
                up += to_higher;
            }
        }
        if up == 0 { 1.0 } else { down as f64 / up as f64 }
    }
}
