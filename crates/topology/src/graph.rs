//! The finished network: [`Topology`], an immutable graph of nodes and ports, and the ids into it.

use crate::alias::Alias;
use clearway_units::{Rate, Span};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The id of a node. Hosts have the ids `0..hosts`; the ids of switches follow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Returns the id of the node with an index in [`Topology::nodes`].
    ///
    /// # Panics
    /// Panics if the index does not fit into 32 bits, which no topology has.
    pub fn from_index(index: usize) -> NodeId {
        NodeId(u32::try_from(index).expect("a topology has fewer than 2^32 nodes"))
    }

    /// Returns the node's index in [`Topology::nodes`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The id of a port, which is one direction of a link: link `l` has the ports `2l` (a to b) and `2l + 1` (b to a).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PortId(pub u32);

impl PortId {
    /// Returns the port of the same link's other direction.
    pub const fn reverse(self) -> PortId {
        PortId(self.0 ^ 1)
    }

    /// Returns the id of the port with an index in [`Topology::ports`].
    ///
    /// # Panics
    /// Panics if the index does not fit into 32 bits, which no topology has.
    pub fn from_index(index: usize) -> PortId {
        PortId(u32::try_from(index).expect("a topology has fewer than 2^32 ports"))
    }

    /// Returns the port's index in [`Topology::ports`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the number of the link of which this is one direction.
    pub const fn link(self) -> usize {
        self.0 as usize / 2
    }
}

/// The kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NodeKind {
    /// A host starts and ends flows; it never forwards packets.
    Host,
    /// A switch forwards packets.
    Switch,
}

/// A host or a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The kind of the node.
    pub kind: NodeKind,
    /// The node's name, unique in its network, such as `h0`, `tor3` or `core1`.
    pub name: String,
    /// The node's tier: 0 for a host, 1 for a ToR, 2 for an aggregation and 3 for a core switch. Every switch of a
    /// network without tiers has 1.
    pub tier: u8,
}

/// An output port of node `from`, with one direction of the link to node `to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port {
    /// The node that sends into the link.
    pub from: NodeId,
    /// The node that receives from the link.
    pub to: NodeId,
    /// The link's rate.
    pub rate: Rate,
    /// The link's propagation delay.
    pub delay: Span,
}

/// A network that has passed every check of [`Builder::build`](crate::Builder::build): it has hosts, a path joins
/// every pair of them, names are unique and no rate is zero. Failed links are not recorded here, but in
/// [`Routes`](crate::Routes).
#[derive(Clone, Debug)]
pub struct Topology {
    nodes: Vec<Node>,
    hosts: usize,
    ports: Vec<Port>,
    /// The share of packets that each link loses, by the link's number. Empty if no link loses any, which is usual.
    losses: Vec<f64>,
    /// The start of each node's ports in `outgoing`: those of node `n` are `outgoing[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    /// The place in `outgoing` of the first of each node's ports that leads to a switch: behind those to hosts.
    switch_starts: Vec<u32>,
    outgoing: Vec<PortId>,
    /// The node to which each port of `outgoing` leads.
    neighbours: Vec<NodeId>,
    /// The ids of all nodes, sorted by name, for look-up by binary search.
    by_name: Vec<NodeId>,
    aliases: Vec<Alias>,
}

impl Topology {
    /// Makes a topology of nodes and ports that the builder has checked.
    pub(crate) fn new(
        nodes: Vec<Node>,
        hosts: usize,
        ports: Vec<Port>,
        losses: Vec<f64>,
        aliases: Vec<Alias>,
    ) -> Topology {
        let mut outgoing: Vec<PortId> = (0..ports.len()).map(PortId::from_index).collect();
        outgoing.sort_by_key(|&id| (ports[id.index()].from, ports[id.index()].to, id));
        let neighbours = outgoing.iter().map(|id| ports[id.index()].to).collect();
        let mut starts = vec![0; nodes.len() + 1];
        for port in &ports {
            starts[port.from.index() + 1] += 1;
        }
        for node in 0..nodes.len() {
            starts[node + 1] += starts[node];
        }
        let to_hosts = |range: &[u32]| {
            let mine = &outgoing[range[0] as usize..range[1] as usize];
            mine.partition_point(|id| ports[id.index()].to.index() < hosts) as u32
        };
        let switch_starts = starts.windows(2).map(|range| range[0] + to_hosts(range)).collect();
        let mut by_name: Vec<NodeId> = (0..nodes.len()).map(NodeId::from_index).collect();
        by_name.sort_by(|a, b| nodes[a.index()].name.cmp(&nodes[b.index()].name));
        Topology {
            nodes,
            hosts,
            ports,
            losses,
            starts,
            switch_starts,
            outgoing,
            neighbours,
            by_name,
            aliases,
        }
    }

    /// Returns all nodes, the hosts first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns all ports, two for each link.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Returns the port of an id.
    #[inline]
    pub fn port(&self, port: PortId) -> &Port {
        &self.ports[port.index()]
    }

    /// Returns the number of hosts, whose ids are `0..hosts`.
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// Returns the number of switches, whose ids are `hosts..`.
    pub fn switches(&self) -> usize {
        self.nodes.len() - self.hosts
    }

    /// Returns the number of links, which have two ports each.
    pub fn links(&self) -> usize {
        self.ports.len() / 2
    }

    /// Returns true if the node is a host.
    #[inline]
    pub fn is_host(&self, node: NodeId) -> bool {
        node.index() < self.hosts
    }

    /// Returns a node's ports in the order that all nodes must share for deterministic ECMP: by the neighbour's id,
    /// then by port. Hosts have the lower ids, so a switch's ports to hosts come first.
    #[inline]
    pub fn ports_of(&self, node: NodeId) -> &[PortId] {
        &self.outgoing[self.range_of(node)]
    }

    /// Returns the places of a node's ports in `outgoing`.
    #[inline]
    fn range_of(&self, node: NodeId) -> Range<usize> {
        self.starts[node.index()] as usize..self.starts[node.index() + 1] as usize
    }

    /// Returns the nodes to which a node's ports lead, in the order of [`Topology::ports_of`].
    #[inline]
    fn neighbours_of(&self, node: NodeId) -> &[NodeId] {
        &self.neighbours[self.range_of(node)]
    }

    /// Returns the places in `outgoing` of a node's ports that lead to switches.
    #[inline]
    fn range_to_switches(&self, node: NodeId) -> Range<usize> {
        self.switch_starts[node.index()] as usize..self.starts[node.index() + 1] as usize
    }

    /// Returns the ports of a node that lead to switches.
    #[inline]
    pub(crate) fn ports_to_switches(&self, node: NodeId) -> &[PortId] {
        &self.outgoing[self.range_to_switches(node)]
    }

    /// Returns the switches to which a node's ports lead, in the order of [`Topology::ports_to_switches`].
    #[inline]
    pub(crate) fn switches_beside(&self, node: NodeId) -> &[NodeId] {
        &self.neighbours[self.range_to_switches(node)]
    }

    /// Returns the ports of `a` that lead to `b`: several if parallel links join the two.
    pub(crate) fn ports_between(&self, a: NodeId, b: NodeId) -> &[PortId] {
        if self.is_host(b) && self.switch_starts[a.index()] == self.starts[a.index()] {
            return &[];
        }
        let neighbours = self.neighbours_of(a);
        let first = neighbours.partition_point(|&neighbour| neighbour < b);
        let count = neighbours[first..].iter().take_while(|&&neighbour| neighbour == b).count();
        &self.ports_of(a)[first..first + count]
    }

    /// Returns the node of a name, such as `h0` or `tor3`, or of another name that the shape gives it, such as `leaf3`.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        match self.by_name.binary_search_by(|id| self.nodes[id.index()].name.as_str().cmp(name)) {
            Ok(place) => Some(self.by_name[place]),
            Err(_) => self.aliases.iter().find_map(|alias| alias.find(name)).map(NodeId),
        }
    }

    /// Returns the further names of nodes.
    pub(crate) fn aliases(&self) -> &[Alias] {
        &self.aliases
    }

    /// Returns the name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node.index()].name
    }

    /// Returns the port of `a` towards its neighbour `b`, the first one if several links join them.
    pub fn port_between(&self, a: NodeId, b: NodeId) -> Option<PortId> {
        if a.index() >= self.nodes.len() {
            return None;
        }
        self.ports_between(a, b).first().copied()
    }

    /// Returns the name of a port, such as `tor0->h3`. The ports of parallel links share a name.
    pub fn port_name(&self, port: PortId) -> String {
        let Port { from, to, .. } = *self.port(port);
        format!("{}->{}", self.name(from), self.name(to))
    }

    /// Changes the rate and delay of a link in both directions, for networks that differ from a shape in some links.
    ///
    /// # Panics
    /// Panics if the rate is zero.
    pub fn set_link(&mut self, port: PortId, rate: Rate, delay: Span) {
        assert!(rate > Rate::ZERO, "a link carries something");
        for port in [port, port.reverse()] {
            let port = &mut self.ports[port.index()];
            (port.rate, port.delay) = (rate, delay);
        }
    }

    /// Returns the share of packets that a link corrupts in each direction, from 0 to 1. It is 0 unless a file sets it.
    pub fn loss(&self, port: PortId) -> f64 {
        self.losses.get(port.link()).copied().unwrap_or(0.0)
    }
}
