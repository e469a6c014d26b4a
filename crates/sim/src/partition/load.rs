//! The work that the expected packets cause at nodes and on links.
//!
//! Packets spread evenly over all shortest paths between the switches of their hosts. Every packet of data is answered
//! over the same links, by an acknowledgement or a credit.

use super::demand::Demand;
use crate::model::Model;
use clearway_proto::mix;
use clearway_topology::{NodeId, Topology};
use std::collections::BTreeMap;

/// The work of an end of a flow for a packet of data and its answer, in transmissions of a port. It was measured to be
/// 1.5 to 3: ends of TCP take the least, ends with credits the most.
const END: f64 = 2.5;
/// The most links that are looked at. In larger networks the packets of some switches stand for those of all.
const LOOKS: usize = 20_000_000;
/// The rounds in which switches are told apart by their neighbours.
const ROUNDS: usize = 3;

/// The expected work of a run, in transmissions of packets.
#[derive(Debug)]
pub struct Load {
    /// The work of each node: transmissions at its ports, and the ends of flows.
    pub nodes: Vec<f64>,
    /// The packets of data over each link, by the link's number.
    pub links: Vec<f64>,
}

impl Load {
    /// Returns the expected load of a model. Without traffic, each port counts alike.
    pub fn new(model: &Model) -> Load {
        let topology = &model.topology;
        let demand = Demand::new(model);
        let mut links = Switches::new(topology).spread(&demand);
        for (host, &packets) in demand.hosts.iter().enumerate() {
            let ports = topology.ports_of(NodeId::from_index(host));
            // A link between two hosts gets the mean of what either puts on its links.
            let share = |to| if topology.is_host(to) { 0.5 } else { 1.0 };
            for &port in ports {
                links[port.link()] += packets / ports.len() as f64 * share(topology.port(port).to);
            }
        }
        if links.iter().all(|&packets| packets == 0.0) {
            links.fill(1.0);
        }
        let mut nodes: Vec<f64> = demand.hosts.iter().map(|packets| packets * END).collect();
        nodes.resize(topology.nodes().len(), 0.0);
        for (index, port) in topology.ports().iter().enumerate() {
            nodes[port.from.index()] += links[index / 2];
        }
        Load { nodes, links }
    }
}

/// The links between switches. Switches are numbered from 0.
struct Switches<'a> {
    topology: &'a Topology,
    /// The start of each switch's links in `links`.
    starts: Vec<u32>,
    /// The other switch and the number of each link.
    links: Vec<(u32, u32)>,
}

impl Switches<'_> {
    fn new(topology: &Topology) -> Switches<'_> {
        let (hosts, mut starts, mut links) = (topology.hosts(), vec![0], Vec::new());
        for switch in hosts..topology.nodes().len() {
            for &port in topology.ports_of(NodeId::from_index(switch)) {
                let to = topology.port(port).to;
                if !topology.is_host(to) {
                    links.push(((to.index() - hosts) as u32, port.link() as u32));
                }
            }
            starts.push(links.len() as u32);
        }
        Switches { topology, starts, links }
    }

    fn links_of(&self, switch: usize) -> &[(u32, u32)] {
        &self.links[self.starts[switch] as usize..self.starts[switch + 1] as usize]
    }

    /// Returns the packets over each link between switches.
    fn spread(&self, demand: &Demand) -> Vec<f64> {
        let count = self.topology.switches();
        let mut sent = vec![0.0; count];
        demand.pairs.iter().for_each(|&(from, _, packets)| sent[from as usize] += packets);
        for uniform in &demand.uniform {
            let hosts: f64 = uniform.hosts_at.iter().sum();
            sent.iter_mut()
                .zip(&uniform.hosts_at)
                .for_each(|(sent, at)| *sent += at * hosts * uniform.packets);
        }
        let sources: Vec<usize> = (0..count).filter(|&switch| sent[switch] > 0.0).collect();
        let looked = (LOOKS / (2 * self.links.len().max(1))).clamp(1, sources.len().max(1));
        let mut search = Search::new(count);
        let (mut links, mut seen) = (vec![0.0; self.topology.links()], 0.0);
        for index in 0..looked.min(sources.len()) {
            let from = sources[index * sources.len() / looked];
            seen += sent[from];
            self.spread_from(from, demand, &mut search, &mut links);
        }
        if looked < sources.len() {
            let scale = sent.iter().sum::<f64>() / seen;
            links.iter_mut().for_each(|packets| *packets *= scale);
            self.even_out(&sent, &mut links);
        }
        links
    }

    /// Adds the packets from the hosts of one switch.
    fn spread_from(&self, from: usize, demand: &Demand, search: &mut Search, links: &mut [f64]) {
        search.run(self, from);
        let first = demand.pairs.partition_point(|pair| (pair.0 as usize) < from);
        for &(_, to, packets) in demand.pairs[first..].iter().take_while(|pair| pair.0 as usize == from) {
            search.packets[to as usize] += packets;
        }
        for uniform in demand.uniform.iter().filter(|uniform| uniform.hosts_at[from] > 0.0) {
            let each = uniform.packets * uniform.hosts_at[from];
            search.packets.iter_mut().zip(&uniform.hosts_at).for_each(|(packets, at)| *packets += at * each);
        }
        for &switch in search.order.iter().skip(1).rev() {
            let switch = switch as usize;
            let packets = std::mem::take(&mut search.packets[switch]);
            if packets == 0.0 {
                continue;
            }
            let hops = search.hops[switch];
            let nearer = |&&(to, _): &&(u32, u32)| search.hops[to as usize] + 1 == hops;
            let share = packets / self.links_of(switch).iter().filter(nearer).count() as f64;
            for &(to, link) in self.links_of(switch).iter().filter(nearer) {
                links[link as usize] += share;
                search.packets[to as usize] += share;
            }
        }
        // Packets to hosts of this switch are there already; switches without hosts may be out of reach.
        search.packets[from] = 0.0;
        if search.order.len() < search.packets.len() {
            search.packets.fill(0.0);
        }
    }

    /// Gives links that the network can't tell apart the same packets, since only some sources were looked at.
    fn even_out(&self, sent: &[f64], links: &mut [f64]) {
        let mean = sent.iter().sum::<f64>() / sent.iter().filter(|&&sent| sent > 0.0).count() as f64;
        let nodes = &self.topology.nodes()[self.topology.hosts()..];
        let start = |(node, sent): (&clearway_topology::Node, &f64)| {
            mix(u64::from(node.tier) << 32 | (2.0 * sent / mean).round().min(64.0) as u64)
        };
        let mut kinds: Vec<u64> = nodes.iter().zip(sent).map(start).collect();
        for _ in 0..ROUNDS {
            let around = |switch: usize| {
                let of = |sum: u64, &(to, _): &(u32, u32)| sum.wrapping_add(mix(kinds[to as usize]));
                mix(self.links_of(switch).iter().fold(kinds[switch], of))
            };
            kinds = (0..kinds.len()).map(around).collect();
        }
        let mut sums: BTreeMap<(u64, u64), (f64, f64)> = BTreeMap::new();
        let mut alike = Vec::new();
        for (from, &kind) in kinds.iter().enumerate() {
            for &(to, link) in self.links_of(from).iter().filter(|&&(to, _)| from < to as usize) {
                let other = kinds[to as usize];
                let key = (kind.min(other), kind.max(other));
                let sum = sums.entry(key).or_default();
                *sum = (sum.0 + links[link as usize], sum.1 + 1.0);
                alike.push((link, key));
            }
        }
        alike.into_iter().for_each(|(link, key)| links[link as usize] = sums[&key].0 / sums[&key].1);
    }
}

/// A breadth-first search over switches, whose memory serves many.
struct Search {
    hops: Vec<u32>,
    /// The switches in the order in which they were reached.
    order: Vec<u32>,
    /// The packets that are still to be led back to the start.
    packets: Vec<f64>,
}

impl Search {
    fn new(count: usize) -> Search {
        Search { hops: vec![u32::MAX; count], order: Vec::new(), packets: vec![0.0; count] }
    }

    fn run(&mut self, switches: &Switches<'_>, from: usize) {
        self.hops.fill(u32::MAX - 1);
        self.order.clear();
        self.order.push(from as u32);
        self.hops[from] = 0;
        let mut head = 0;
        while let Some(&switch) = self.order.get(head) {
            head += 1;
            let hops = self.hops[switch as usize] + 1;
            for &(to, _) in switches.links_of(switch as usize) {
                if self.hops[to as usize] > hops {
                    self.hops[to as usize] = hops;
                    self.order.push(to);
                }
            }
        }
    }
}
