//! The ports that feed a port, which are those from which its data comes on the shortest paths between all pairs of
//! hosts.

use clearway_topology::{NodeId, PortId, Topology};
use std::collections::BTreeMap;
use thiserror::Error;

/// The error for a network in which the queues of some ports wait for each other in a cycle, so that no bound of delay
/// follows from summation along paths.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "shortest paths form a cycle through {0}: each of these queues can wait for the next, so eq. (1) gives no bound; \
     remove a link, or use a tree, a Clos or a fat tree"
)]
pub struct Cycle(
    /// The names of the cycle's ports.
    pub String,
);

/// The ports of a network that carry data, with the ports that feed each.
#[derive(Clone, Debug)]
pub struct Feeds {
    /// The ports from which each port's data comes, by the port's index. Ports of hosts have none.
    from: Vec<Vec<PortId>>,
    /// All ports that carry data, each after those that feed it.
    order: Vec<PortId>,
}

impl Feeds {
    /// Finds the feeds of all ports by following the shortest paths of every pair of hosts.
    ///
    /// # Errors
    /// Returns [`Cycle`] if the data of some ports can wait for each other.
    pub fn new(topology: &Topology) -> Result<Feeds, Cycle> {
        let mut marks = Marks::new(topology);
        for (switches, hosts) in groups(topology) {
            marks.follow(topology, &switches, &hosts);
        }
        let from = marks.feeds(topology);
        let order = order(topology, &from, &marks.used)?;
        Ok(Feeds { from, order })
    }

    /// Returns the ports from which the data of `port` comes.
    pub fn of(&self, port: PortId) -> &[PortId] {
        &self.from[port.index()]
    }

    /// Returns all ports that carry data, each after those that feed it.
    pub fn order(&self) -> &[PortId] {
        &self.order
    }
}

/// Groups the hosts by the switches to which they are attached.
fn groups(topology: &Topology) -> BTreeMap<Vec<NodeId>, Vec<NodeId>> {
    let mut groups: BTreeMap<Vec<NodeId>, Vec<NodeId>> = BTreeMap::new();
    for host in (0..topology.hosts()).map(NodeId::from_index) {
        let ports = topology.ports_of(host).iter();
        let switches = ports.map(|&port| topology.port(port).to).filter(|&to| !topology.is_host(to));
        let mut switches: Vec<NodeId> = switches.collect();
        switches.dedup();
        groups.entry(switches).or_default().push(host);
    }
    groups
}

/// The ports and the ways through switches that the shortest paths followed so far have used.
struct Marks {
    /// The place of each port among those of its node.
    place: Vec<usize>,
    /// For each switch, `degree x degree` flags: the one at `i * degree + j` is true if data that comes over the link
    /// of place `i` leaves over that of place `j`.
    passes: Vec<Vec<bool>>,
    /// True for each port that carries data.
    used: Vec<bool>,
    /// The hops from each switch to the hosts of the present group, or [`FAR`].
    distance: Vec<u32>,
    /// The places of the links over which data for the present group reaches each node.
    reached: Vec<Vec<usize>>,
}

/// The distance of a switch that does not reach the present group.
const FAR: u32 = u32::MAX;

impl Marks {
    fn new(topology: &Topology) -> Marks {
        let nodes = topology.nodes().len();
        let mut place = vec![0; topology.ports().len()];
        let mut passes = vec![Vec::new(); nodes];
        for (node, passes) in passes.iter_mut().enumerate() {
            let ports = topology.ports_of(NodeId::from_index(node));
            (0..).zip(ports).for_each(|(at, port)| place[port.index()] = at);
            if node >= topology.hosts() {
                *passes = vec![false; ports.len() * ports.len()];
            }
        }
        let used = vec![false; topology.ports().len()];
        Marks { place, passes, used, distance: vec![FAR; nodes], reached: vec![Vec::new(); nodes] }
    }

    /// Marks all shortest paths to the hosts of a group, which are attached to `switches`.
    fn follow(&mut self, topology: &Topology, switches: &[NodeId], group: &[NodeId]) {
        let queue = self.measure(topology, switches);
        self.seed(topology, group);
        for &node in queue.iter().rev() {
            let arrivals = std::mem::take(&mut self.reached[node.index()]);
            if arrivals.is_empty() {
                continue;
            }
            let distance = self.distance[node.index()];
            let degree = topology.ports_of(node).len();
            for (out, &port) in topology.ports_of(node).iter().enumerate() {
                let to = topology.port(port).to;
                let leads = if distance == 1 {
                    group.binary_search(&to).is_ok()
                } else {
                    self.distance[to.index()] == distance - 1
                };
                let others = arrivals.iter().filter(|&&came| came != out);
                if !leads || others.clone().next().is_none() {
                    continue;
                }
                self.used[port.index()] = true;
                others.for_each(|&came| self.passes[node.index()][came * degree + out] = true);
                if distance > 1 {
                    self.reached[to.index()].push(self.place[port.reverse().index()]);
                }
            }
        }
    }

    /// Computes the distances of switches to the group's hosts, and returns the switches that reach them, the nearest
    /// first.
    fn measure(&mut self, topology: &Topology, switches: &[NodeId]) -> Vec<NodeId> {
        self.distance.fill(FAR);
        switches.iter().for_each(|switch| self.distance[switch.index()] = 1);
        let mut queue = switches.to_vec();
        let mut next = 0;
        while let Some(&node) = queue.get(next) {
            next += 1;
            for &port in topology.ports_of(node) {
                let to = topology.port(port).to;
                if !topology.is_host(to) && self.distance[to.index()] == FAR {
                    self.distance[to.index()] = self.distance[node.index()] + 1;
                    queue.push(to);
                }
            }
        }
        queue
    }

    /// Marks the ports of all hosts that lead to their switches nearest to the group.
    fn seed(&mut self, topology: &Topology, group: &[NodeId]) {
        for host in (0..topology.hosts()).map(NodeId::from_index) {
            if group == [host] {
                continue;
            }
            let ports = topology.ports_of(host).iter().copied();
            let near = |port: PortId| self.distance[topology.port(port).to.index()];
            let least = ports.clone().map(near).min().unwrap_or(FAR);
            if least == FAR {
                continue;
            }
            for port in ports.filter(|&port| near(port) == least).collect::<Vec<_>>() {
                self.used[port.index()] = true;
                let to = topology.port(port).to;
                self.reached[to.index()].push(self.place[port.reverse().index()]);
            }
        }
    }

    /// Returns the ports that feed each port.
    fn feeds(&self, topology: &Topology) -> Vec<Vec<PortId>> {
        let mut feeds = vec![Vec::new(); topology.ports().len()];
        for node in topology.hosts()..topology.nodes().len() {
            let ports = topology.ports_of(NodeId::from_index(node));
            for (pair, _) in self.passes[node].iter().enumerate().filter(|(_, passes)| **passes) {
                feeds[ports[pair % ports.len()].index()].push(ports[pair / ports.len()].reverse());
            }
        }
        feeds
    }
}

/// Returns the used ports, each after those that feed it.
fn order(topology: &Topology, from: &[Vec<PortId>], used: &[bool]) -> Result<Vec<PortId>, Cycle> {
    let ports = || (0..used.len()).map(PortId::from_index).filter(|port| used[port.index()]);
    let mut missing: Vec<usize> = from.iter().map(Vec::len).collect();
    let mut feeds: Vec<Vec<PortId>> = vec![Vec::new(); used.len()];
    for port in ports() {
        from[port.index()].iter().for_each(|feed| feeds[feed.index()].push(port));
    }
    let mut order: Vec<PortId> = ports().filter(|port| missing[port.index()] == 0).collect();
    let mut next = 0;
    while let Some(&port) = order.get(next) {
        next += 1;
        for &after in &feeds[port.index()] {
            missing[after.index()] -= 1;
            if missing[after.index()] == 0 {
                order.push(after);
            }
        }
    }
    if order.len() == ports().count() {
        return Ok(order);
    }
    // Following the feeds of ports that are not in the order must come back to a port seen before.
    let stuck = |port: &PortId| missing[port.index()] > 0;
    let mut way = vec![ports().find(stuck).expect("some port is left over")];
    loop {
        let last = *way.last().expect("it has a first");
        let before =
            *from[last.index()].iter().find(|port| stuck(port)).expect("what it misses is stuck too");
        if let Some(start) = way.iter().position(|&port| port == before) {
            let names: Vec<String> =
                way[start..].iter().rev().map(|&port| topology.port_name(port)).collect();
            return Err(Cycle(names.join(", ")));
        }
        way.push(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_topology::{Builder, FatTree, LeafSpine, Policy, Routes};
    use clearway_units::{Rate, Span};

    fn port(topology: &Topology, name: &str) -> PortId {
        let (from, to) = name.split_once("->").unwrap();
        let node = |name| topology.node(name).unwrap();
        topology.port_between(node(from), node(to)).unwrap()
    }

    fn names(topology: &Topology, feeds: &Feeds, of: &str) -> Vec<String> {
        feeds.of(port(topology, of)).iter().map(|&port| topology.port_name(port)).collect()
    }

    #[test]
    fn uplinks_are_fed_by_hosts_and_downlinks_by_hosts_and_spines() {
        let network =
            LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, ..LeafSpine::default() }.build().unwrap();
        let feeds = Feeds::new(&network).unwrap();
        let leaf = network.name(network.port(network.ports_of(NodeId(0))[0]).to).to_string();
        let spine =
            network.name(network.port(*network.ports_of(network.node(&leaf).unwrap()).last().unwrap()).to);
        assert_eq!(
            names(&network, &feeds, &format!("{leaf}->{spine}")),
            [format!("h0->{leaf}"), format!("h1->{leaf}")]
        );
        assert_eq!(names(&network, &feeds, &format!("{leaf}->h0")).len(), 3, "the other host and two spines");
    }

    #[test]
    fn the_feeds_are_exactly_the_consecutive_ports_of_routed_paths() {
        for network in [
            FatTree { k: 4, ..FatTree::default() }.build().unwrap(),
            LeafSpine { leaves: 3, spines: 2, hosts_per_leaf: 2, ..LeafSpine::default() }.build().unwrap(),
        ] {
            let feeds = Feeds::new(&network).unwrap();
            let mut routes = Routes::new(Policy::SymmetricEcmp);
            let (mut pairs, mut path) = (std::collections::BTreeSet::new(), Vec::new());
            let hosts = network.hosts() as u32;
            for key in 0..40 {
                for (a, b) in (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b))).filter(|(a, b)| a != b)
                {
                    path.clear();
                    routes.paths(&network, NodeId(a), NodeId(b), key, &mut path).unwrap();
                    pairs.extend(path.windows(2).map(|pair| (pair[0], pair[1])));
                }
            }
            let known: usize =
                (0..network.ports().len()).map(|port| feeds.of(PortId::from_index(port)).len()).sum();
            assert!(pairs.iter().all(|(before, after)| feeds.of(*after).contains(before)));
            assert_eq!(pairs.len(), known, "and none is invented");
        }
    }

    #[test]
    fn a_ring_of_switches_has_no_bound_and_the_error_names_its_ports() {
        let mut builder = Builder::new();
        let hosts: Vec<NodeId> = (0..5).map(|host| builder.add_host(format!("h{host}"))).collect();
        let switches: Vec<NodeId> =
            (0..5).map(|switch| builder.add_switch(format!("s{switch}"), 1)).collect();
        for at in 0..5 {
            builder.link(hosts[at], switches[at], Rate::gbps(10), Span::from_us(1));
            builder.link(switches[at], switches[(at + 1) % 5], Rate::gbps(10), Span::from_us(1));
        }
        let error = Feeds::new(&builder.build().unwrap()).unwrap_err().to_string();
        assert!(error.contains("s0->s") && error.contains("no bound"), "{error}");
    }
}
