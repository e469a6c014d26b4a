//! The [`Builder`], which collects nodes and links and refuses a network that cannot work.

use crate::alias::Alias;
use crate::error::TopologyError;
use crate::graph::{Node, NodeId, NodeKind, Port, PortId, Topology};
use clearway_units::{Rate, Span};

/// The largest number of hosts: more than any network that is simulated, and well within a 32-bit id.
pub(crate) const HOSTS_MAX: u64 = 1_000_000;
/// The largest number of switches. A path visits a switch at most once, so distances in hops fit into 16 bits.
pub(crate) const SWITCHES_MAX: u64 = 65_000;
/// The largest number of links: four for each host, where a full fat tree has three.
pub(crate) const LINKS_MAX: u64 = 4_000_000;
/// The longest delay of a link. A round trip over [`SWITCHES_MAX`] such links still fits into a [`Span`].
const DELAY_MAX: Span = Span::from_secs(100);

/// A network under construction. [`build`](Builder::build) checks it and reports the first mistake made, so that
/// callers need not check every node and link that they add.
///
/// All hosts must be added before the first switch, so that the ids handed out are those of the finished network.
///
/// ```
/// use clearway_topology::Builder;
/// use clearway_units::{Rate, Span};
/// let mut builder = Builder::new();
/// let (a, b) = (builder.add_host("a"), builder.add_host("b"));
/// let switch = builder.add_switch("s", 1);
/// builder.link(a, switch, Rate::gbps(10), Span::from_us(4));
/// builder.link(switch, b, Rate::gbps(10), Span::from_us(4));
/// let network = builder.build().unwrap();
/// assert_eq!(network.port_name(network.port_between(switch, b).unwrap()), "s->b");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    nodes: Vec<Node>,
    hosts: usize,
    /// The other end of each host's link, once it has one.
    beside_hosts: Vec<Option<NodeId>>,
    ports: Vec<Port>,
    losses: Vec<f64>,
    aliases: Vec<Alias>,
    mistake: Option<TopologyError>,
}

impl Builder {
    /// Makes an empty network.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Adds a host and returns its id.
    pub fn add_host(&mut self, name: impl Into<String>) -> NodeId {
        let name = name.into();
        if self.nodes.len() > self.hosts {
            self.note(TopologyError::HostAfterSwitch(name.clone()));
        }
        self.hosts += 1;
        self.beside_hosts.push(None);
        self.add(Node { kind: NodeKind::Host, name, tier: 0 })
    }

    /// Adds a switch and returns its id. `tier` is 1 for a ToR, 2 for an aggregation and 3 for a core switch; for 0,
    /// `build` sets it to the number of hops to the nearest host.
    pub fn add_switch(&mut self, name: impl Into<String>, tier: u8) -> NodeId {
        self.add(Node { kind: NodeKind::Switch, name: name.into(), tier })
    }

    fn add(&mut self, node: Node) -> NodeId {
        if node.name.is_empty() || node.name.chars().any(|c| c.is_whitespace() || c.is_control()) {
            self.note(TopologyError::BadName(node.name.clone()));
        }
        let id = NodeId::from_index(self.nodes.len());
        self.nodes.push(node);
        id
    }

    /// Adds a link with the same rate and delay in both directions, and returns its port from `a` to `b`.
    pub fn link(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Span) -> PortId {
        self.link_with_loss(a, b, rate, delay, 0.0)
    }

    /// Adds a link that corrupts a share `loss` (0 to 1) of the packets in each direction.
    pub fn link_with_loss(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Span, loss: f64) -> PortId {
        let id = PortId::from_index(self.ports.len());
        if let Err(mistake) = self.try_link(a, b, rate, delay, loss) {
            self.note(mistake);
        }
        id
    }

    /// Adds further names of nodes, under which [`Topology::node`] finds them.
    pub fn alias(&mut self, alias: Alias) {
        self.aliases.push(alias);
    }

    /// Adds a link or returns the mistake at once, for readers of files, which name the line of a mistake.
    ///
    /// # Errors
    /// The link joins a node with itself or with one that does not exist, it is the second one of a host, or its rate,
    /// delay or loss is impossible.
    pub fn try_link(
        &mut self,
        a: NodeId,
        b: NodeId,
        rate: Rate,
        delay: Span,
        loss: f64,
    ) -> Result<(), TopologyError> {
        let name = |id: NodeId| match self.nodes.get(id.index()) {
            Some(node) => Ok(node.name.clone()),
            None => Err(TopologyError::UnknownNode(id.0)),
        };
        let (from, to) = (name(a)?, name(b)?);
        if a == b {
            return Err(TopologyError::SelfLink(from));
        }
        if rate.is_zero() {
            return Err(TopologyError::ZeroRate { a: from, b: to, rate });
        }
        if delay > DELAY_MAX {
            return Err(TopologyError::LongDelay { a: from, b: to, delay });
        }
        if !(0.0..=1.0).contains(&loss) {
            return Err(TopologyError::BadLoss { a: from, b: to, loss });
        }
        for (host, other) in [(a, b), (b, a)] {
            let Some(beside) = self.beside_hosts.get_mut(host.index()) else { continue };
            if let Some(first) = beside.replace(other) {
                let [host, first, second] =
                    [host, first, other].map(|id| self.nodes[id.index()].name.clone());
                return Err(TopologyError::SecondLink { host, first, second });
            }
        }
        self.ports.push(Port { from: a, to: b, rate, delay });
        self.ports.push(Port { from: b, to: a, rate, delay });
        if loss > 0.0 || !self.losses.is_empty() {
            self.losses.resize(self.ports.len() / 2 - 1, 0.0);
            self.losses.push(loss);
        }
        Ok(())
    }

    fn note(&mut self, mistake: TopologyError) {
        self.mistake.get_or_insert(mistake);
    }

    /// Returns the finished network. A switch without links is allowed: it is idle, not wrong.
    ///
    /// # Errors
    /// The first mistake made, a limit exceeded, a name used twice, no hosts, or two hosts that nothing joins.
    pub fn build(self) -> Result<Topology, TopologyError> {
        if let Some(mistake) = self.mistake {
            return Err(mistake);
        }
        if self.hosts == 0 {
            return Err(TopologyError::NoHosts);
        }
        let count = |number: usize| u64::try_from(number).expect("a size in memory fits into 64 bits");
        at_most("hosts", count(self.hosts), HOSTS_MAX)?;
        at_most("switches", count(self.nodes.len() - self.hosts), SWITCHES_MAX)?;
        at_most("links", count(self.ports.len() / 2), LINKS_MAX)?;
        let mut names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(TopologyError::DuplicateName(pair[0].into()));
        }
        let mut nodes = self.nodes;
        if nodes[self.hosts..].iter().any(|node| node.tier == 0) {
            infer_tiers(&mut nodes, self.hosts, &self.ports);
        }
        let topology = Topology::new(nodes, self.hosts, self.ports, self.losses, self.aliases);
        check_reach(&topology)?;
        Ok(topology)
    }
}

/// Returns an error if `count` exceeds `limit`.
pub(crate) fn at_most(what: &'static str, count: u64, limit: u64) -> Result<(), TopologyError> {
    if count > limit { Err(TopologyError::TooMany { what, count, limit }) } else { Ok(()) }
}

/// Sets the tier of every switch that has none to its distance to the nearest host in hops, or 1 if it reaches none.
fn infer_tiers(nodes: &mut [Node], hosts: usize, ports: &[Port]) {
    let mut neighbours = vec![Vec::new(); nodes.len()];
    for port in ports {
        neighbours[port.from.index()].push(port.to.index());
    }
    let mut distance: Vec<Option<u8>> = vec![None; nodes.len()];
    distance[..hosts].fill(Some(0));
    let mut queue: Vec<usize> = (0..hosts).collect();
    let mut head = 0;
    while let Some(&node) = queue.get(head) {
        head += 1;
        for &next in &neighbours[node] {
            if distance[next].is_none() {
                distance[next] = distance[node].map(|hops| hops.saturating_add(1));
                queue.push(next);
            }
        }
    }
    for (node, hops) in nodes.iter_mut().zip(distance).skip(hosts) {
        if node.tier == 0 {
            node.tier = hops.unwrap_or(1);
        }
    }
}

/// Returns an error unless every host reaches every other. A host has one link, so what the first one reaches is all that
/// any of them reaches.
fn check_reach(topology: &Topology) -> Result<(), TopologyError> {
    let hosts = topology.hosts();
    let mut reached = vec![false; topology.nodes().len()];
    reached[0] = true;
    flood(topology, &mut vec![NodeId(0)], &mut reached);
    if let Some(other) = reached[..hosts].iter().position(|&there| !there) {
        let name = |host| topology.name(NodeId::from_index(host)).to_string();
        return Err(TopologyError::Disconnected { a: name(0), b: name(other) });
    }
    Ok(())
}

/// Marks every node that the nodes on the stack reach without passing through a host.
fn flood(topology: &Topology, stack: &mut Vec<NodeId>, reached: &mut [bool]) {
    while let Some(node) = stack.pop() {
        reached[node.index()] = true;
        for &port in topology.ports_of(node) {
            let next = topology.port(port).to;
            if !reached[next.index()] {
                reached[next.index()] = true;
                if !topology.is_host(next) {
                    stack.push(next);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate::gbps(10);
    const DELAY: Span = Span::from_us(4);

    fn message(builder: Builder) -> String {
        builder.build().unwrap_err().to_string()
    }

    fn pair() -> (Builder, NodeId, NodeId, NodeId) {
        let mut builder = Builder::new();
        let (a, b) = (builder.add_host("a"), builder.add_host("b"));
        let switch = builder.add_switch("s", 1);
        builder.link(a, switch, RATE, DELAY);
        (builder, a, b, switch)
    }

    #[test]
    fn a_network_without_hosts_is_refused() {
        assert_eq!(message(Builder::new()), "the network has no hosts; add at least one");
    }

    #[test]
    fn two_hosts_without_a_path_are_refused_by_name() {
        let (builder, ..) = pair();
        assert_eq!(
            message(builder),
            "no path joins hosts \"a\" and \"b\"; link their switches (hosts do not forward)"
        );
    }

    #[test]
    fn hosts_whose_switches_nothing_joins_are_refused_and_an_idle_switch_is_not() {
        let (mut builder, _, b, switch) = pair();
        let far = builder.add_switch("t", 1);
        let mut apart = builder.clone();
        apart.link(b, far, RATE, DELAY);
        assert!(message(apart).starts_with("no path joins hosts \"a\" and \"b\""));
        builder.link(b, switch, RATE, DELAY);
        assert!(builder.build().is_ok());
    }

    #[test]
    fn a_host_with_two_links_is_refused_whatever_they_join_it_with() {
        let (mut builder, _, b, switch) = pair();
        let far = builder.add_switch("t", 1);
        builder.link(far, switch, RATE, DELAY);
        let refused = |links: &[(NodeId, NodeId)]| {
            let mut builder = builder.clone();
            links.iter().for_each(|&(a, b)| _ = builder.link(a, b, RATE, DELAY));
            message(builder)
        };
        let right = "a host has one link, so leave one of them out";
        let to_two = format!("host \"b\" has a second link, to \"t\" besides the one to \"s\"; {right}");
        assert_eq!(refused(&[(b, switch), (b, far)]), to_two);
        assert_eq!(refused(&[(switch, b), (far, b)]), to_two);
        assert_eq!(refused(&[(b, switch), (switch, b)]), to_two.replace("\"t\"", "\"s\""), "side by side");
        let to_host = format!("host \"a\" has a second link, to \"b\" besides the one to \"s\"; {right}");
        assert_eq!(refused(&[(b, NodeId(0))]), to_host);
    }

    #[test]
    fn two_hosts_may_be_linked_without_a_switch() {
        let mut builder = Builder::new();
        let (a, b) = (builder.add_host("a"), builder.add_host("b"));
        builder.link(a, b, RATE, DELAY);
        assert_eq!(builder.build().unwrap().ports().len(), 2);
    }

    #[test]
    fn bad_links_are_refused_with_what_would_be_right() {
        type Link = fn(&mut Builder, NodeId, NodeId);
        let cases: [(&str, Link); 5] = [
            ("\"s\" is linked to itself", |builder, _, s| _ = builder.link(s, s, RATE, DELAY)),
            ("the link b - s has a rate of 0 ", |builder, b, s| _ = builder.link(b, s, Rate::ZERO, DELAY)),
            ("the link b - s has a delay of 101 s", |builder, b, s| {
                builder.link(b, s, RATE, Span::from_secs(101));
            }),
            ("the link b - s has an error rate of NaN", |builder, b, s| {
                builder.link_with_loss(b, s, RATE, DELAY, f64::NAN);
            }),
            ("a link ends at node 9", |builder, b, _| _ = builder.link(b, NodeId(9), RATE, DELAY)),
        ];
        for (expected, link) in cases {
            let (mut builder, _, b, switch) = pair();
            link(&mut builder, b, switch);
            builder.link(b, switch, RATE, DELAY);
            let message = message(builder);
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn a_name_used_twice_or_with_a_space_is_refused() {
        let (mut builder, _, b, switch) = pair();
        builder.link(b, switch, RATE, DELAY);
        let mut twice = builder.clone();
        twice.add_switch("a", 2);
        assert!(message(twice).starts_with("two nodes are named \"a\""));
        builder.add_switch("top of rack", 2);
        assert!(message(builder).starts_with("\"top of rack\" cannot name a node"));
    }

    #[test]
    fn a_host_after_a_switch_is_refused() {
        let (mut builder, ..) = pair();
        builder.add_host("late");
        assert!(message(builder).starts_with("host \"late\" was added after a switch"));
    }

    #[test]
    fn the_tier_of_a_switch_without_one_is_its_distance_to_the_nearest_host() {
        let mut builder = Builder::new();
        let host = builder.add_host("h");
        let (low, high) = (builder.add_switch("low", 0), builder.add_switch("high", 0));
        builder.link(host, low, RATE, DELAY);
        builder.link(low, high, RATE, DELAY);
        let tiers: Vec<u8> = builder.build().unwrap().nodes().iter().map(|node| node.tier).collect();
        assert_eq!(tiers, [0, 1, 2]);
    }

    #[test]
    fn a_link_loses_the_same_share_of_packets_in_both_directions() {
        let (mut builder, _, b, switch) = pair();
        let port = builder.link_with_loss(b, switch, RATE, DELAY, 0.001);
        let network = builder.build().unwrap();
        assert_eq!((network.loss(port), network.loss(port.reverse())), (0.001, 0.001));
        assert_eq!(network.loss(PortId(0)), 0.0);
    }

    #[test]
    fn ports_and_nodes_are_found_by_name_and_by_neighbour() {
        let (mut builder, a, b, switch) = pair();
        let far = builder.add_switch("t", 2);
        builder.link(b, switch, RATE, DELAY);
        builder.link(switch, far, RATE, DELAY);
        builder.link(switch, far, RATE, DELAY);
        let network = builder.build().unwrap();
        assert_eq!((network.node("s"), network.node("b"), network.node("u")), (Some(switch), Some(b), None));
        assert_eq!(network.ports_of(switch), [PortId(1), PortId(3), PortId(4), PortId(6)]);
        assert_eq!(network.port_between(switch, far), Some(PortId(4)), "the first of two parallel links");
        assert_eq!(network.port_between(a, b), None);
        assert_eq!(network.port_name(PortId(1)), "s->a");
    }
}
