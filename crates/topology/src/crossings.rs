//! How often flows between random pairs of hosts cross each link: the expectation in closed form, without a draw.

use crate::graph::{NodeId, Topology};

/// The most ports of switches that are looked at. In larger networks some switches with hosts stand for all of them.
const LOOKS: usize = 30_000_000;

/// Returns how many times a flow between two different hosts crosses each link on average, in both directions together,
/// by the link's number. All ordered pairs of `hosts` are equally likely, paths are the shortest ones, and every switch
/// divides equally among its next hops, as equal-cost multipath does on average. Each direction of a link is crossed half
/// as often, since every pair comes in both orders.
///
/// In networks of many thousand hosts, flows to the hosts of some switches stand for all flows. The sum over a tier's
/// links stays exact if its switches are alike; which links are crossed, and how often links of hosts are, stays exact in
/// any case.
///
/// # Panics
/// Panics if there are fewer than two hosts.
pub fn crossings(topology: &Topology, hosts: &[NodeId]) -> Vec<f64> {
    assert!(hosts.len() >= 2, "a flow joins two hosts");
    let mut hosts_at = vec![0.0; topology.nodes().len()];
    let mut on_links = vec![0.0; topology.links()];
    for &host in hosts {
        for &port in topology.ports_of(host) {
            let neighbour = topology.port(port).to;
            hosts_at[neighbour.index()] += 1.0;
            // Each flow crosses the link of its source and that of its destination, which may be the same link.
            let ends = if topology.is_host(neighbour) { 1.0 } else { 2.0 };
            on_links[port.link()] += ends / hosts.len() as f64;
        }
    }
    let switches = (topology.hosts()..topology.nodes().len()).map(NodeId::from_index);
    let ports: usize = switches.clone().map(|switch| topology.ports_to_switches(switch).len()).sum();
    let targets: Vec<NodeId> = switches.filter(|switch| hosts_at[switch.index()] > 0.0).collect();
    let looked = (LOOKS / ports.max(1)).min(targets.len()).max(1);
    let mut walk = Walk::new(topology);
    let (mut flows, among) = (0.0, hosts.len() as f64);
    for index in 0..looked.min(targets.len()) {
        let target = targets[index * targets.len() / looked];
        flows += hosts_at[target.index()] * (among - 1.0);
        walk.lead_to(target, &hosts_at);
    }
    on_links.iter_mut().zip(&walk.links).for_each(|(sum, led)| *sum += led / flows.max(1.0));
    on_links
}

/// The flows on their way to the hosts of a switch, and the links that they crossed between switches.
struct Walk<'a> {
    topology: &'a Topology,
    /// The flows that crossed each link.
    links: Vec<f64>,
    /// The distance of each switch to the last one, if it was found yet.
    hops: Vec<Option<u32>>,
    /// The switches in the order of that distance.
    order: Vec<NodeId>,
    /// The flows that are at each switch.
    flows: Vec<f64>,
}

impl Walk<'_> {
    fn new(topology: &Topology) -> Walk<'_> {
        let nodes = topology.nodes().len();
        let (links, hops, flows) = (vec![0.0; topology.links()], vec![None; nodes], vec![0.0; nodes]);
        Walk { topology, links, hops, order: Vec::new(), flows }
    }

    /// Leads a flow from each host at another switch to each host at this one.
    fn lead_to(&mut self, target: NodeId, hosts_at: &[f64]) {
        self.search(target);
        for &switch in &self.order[1..] {
            self.flows[switch.index()] = hosts_at[switch.index()] * hosts_at[target.index()];
        }
        for place in (1..self.order.len()).rev() {
            self.lead_from(self.order[place]);
        }
    }

    /// Finds the distances of all switches to one of them.
    fn search(&mut self, target: NodeId) {
        self.hops.fill(None);
        self.order.clear();
        self.order.push(target);
        self.hops[target.index()] = Some(0);
        let mut next = 0;
        while let Some(&switch) = self.order.get(next) {
            next += 1;
            let hops = self.hops[switch.index()].map(|hops| hops + 1);
            for &neighbour in self.topology.switches_beside(switch) {
                if self.hops[neighbour.index()].is_none() {
                    self.hops[neighbour.index()] = hops;
                    self.order.push(neighbour);
                }
            }
        }
    }

    /// Leads the flows at a switch one hop on.
    fn lead_from(&mut self, switch: NodeId) {
        let flows = self.flows[switch.index()];
        let hops = self.hops[switch.index()];
        if flows == 0.0 {
            return;
        }
        let nodes = self.topology.switches_beside(switch);
        let is_next = |node: &NodeId| self.hops[node.index()].map(|left| left + 1) == hops;
        let each = flows / nodes.iter().filter(|&node| is_next(node)).count() as f64;
        let ways = self.topology.ports_to_switches(switch).iter().zip(nodes);
        for (port, node) in ways.filter(|&(_, node)| is_next(node)) {
            self.links[port.link()] += each;
            self.flows[node.index()] += each;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Clos3, Dumbbell, FatTree, LeafSpine, OversubscribedFatTree, Star, between};
    use clearway_units::{Rate, Span};

    fn all(topology: &Topology) -> Vec<NodeId> {
        (0..topology.hosts()).map(NodeId::from_index).collect()
    }

    /// Adds up the shares of all pairs one by one.
    fn one_by_one(topology: &Topology, hosts: &[NodeId]) -> Vec<f64> {
        let mut links = vec![0.0; topology.links()];
        let pairs = (hosts.len() * (hosts.len() - 1)) as f64;
        for &from in hosts {
            for &to in hosts.iter().filter(|&&to| to != from) {
                for (port, share) in between(topology, from, to).expect("hosts are joined").shares {
                    links[port.link()] += share / pairs;
                }
            }
        }
        links
    }

    fn is_as_one_by_one(topology: &Topology, hosts: &[NodeId]) {
        let (found, expected) = (crossings(topology, hosts), one_by_one(topology, hosts));
        for (link, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() < 1e-9, "link {link}: {found} instead of {expected}");
        }
    }

    #[test]
    fn crossings_are_the_sum_of_the_shares_of_all_pairs() {
        let clos = Clos3 {
            pods: 3,
            tors_per_pod: 2,
            aggs_per_pod: 2,
            cores: 2,
            uplinks_per_agg: 2,
            ..Clos3::default()
        };
        for network in [
            Star::default().build().unwrap(),
            Dumbbell::default().build().unwrap(),
            LeafSpine::default().build().unwrap(),
            FatTree::default().build().unwrap(),
            clos.build().unwrap(),
        ] {
            is_as_one_by_one(&network, &all(&network));
            // Some of the hosts: racks with several of them, with one and with none.
            let some: Vec<NodeId> = all(&network).into_iter().filter(|host| host.0 % 3 != 1).rev().collect();
            is_as_one_by_one(&network, &some);
        }
    }

    #[test]
    fn parallel_links_share_what_their_switch_sends_and_two_hosts_may_share_a_link() {
        let (rate, delay) = (Rate::gbps(10), Span::from_us(1));
        let mut builder = Builder::new();
        let [a, b] = ["a", "b"].map(|name| builder.add_host(name));
        builder.link(a, b, rate, delay);
        assert_eq!(crossings(&builder.build().unwrap(), &[a, b]), [1.0]);

        let mut builder = Builder::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| builder.add_host(name));
        let [left, right] = ["left", "right"].map(|name| builder.add_switch(name, 1));
        for (from, to) in [(a, left), (b, left), (c, right), (left, right), (left, right), (left, right)] {
            builder.link(from, to, rate, delay);
        }
        let network = builder.build().unwrap();
        is_as_one_by_one(&network, &[a, b, c]);
        // Of the three pairs two cross, over one of three links.
        let third = 2.0 / 3.0;
        let expected = [third, third, third, third / 3.0, third / 3.0, third / 3.0];
        let crossed = crossings(&network, &[a, b, c]);
        assert!(crossed.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12));
    }

    #[test]
    fn a_flow_in_the_authors_tree_leaves_its_rack_unless_it_stays_among_its_six_hosts() {
        let network = OversubscribedFatTree::default().build().unwrap();
        let crossed = crossings(&network, &all(&network));
        let uplinks: f64 = (network.ports().iter().enumerate().step_by(2))
            .filter(|(_, port)| {
                network.nodes()[port.from.index()].tier == 1 || network.nodes()[port.to.index()].tier == 1
            })
            .filter(|(_, port)| !network.is_host(port.from) && !network.is_host(port.to))
            .map(|(index, _)| crossed[index / 2])
            .sum();
        assert!((uplinks - 2.0 * 186.0 / 191.0).abs() < 1e-9, "{uplinks}");
    }

    #[test]
    fn of_a_very_large_tree_some_destinations_stand_for_all() {
        let network = FatTree { k: 40, ..FatTree::default() }.build().unwrap();
        let hosts = all(&network);
        let crossed = crossings(&network, &hosts);
        let (mut sum, mut least) = ([0.0; 3], f64::INFINITY);
        for (link, ends) in network.ports().chunks(2).enumerate() {
            let tier = ends.iter().map(|port| network.nodes()[port.from.index()].tier).min().unwrap();
            sum[usize::from(tier)] += crossed[link];
            least = least.min(crossed[link]);
        }
        let others = hosts.len() as f64 - 1.0;
        let expected = [2.0, 2.0 * (others - 19.0) / others, 2.0 * (others - 399.0) / others];
        for (sum, expected) in sum.iter().zip(expected) {
            assert!((sum - expected).abs() < 1e-9, "{sum} instead of {expected}");
        }
        assert!(least > 0.0, "every link is crossed");
    }
}
