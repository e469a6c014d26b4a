//! The packets of data that hosts are expected to send each other, from the traffic entries of a model.

use crate::model::{Flow, Model, Pattern, Poisson, Rounds};
use clearway_topology::{NodeId, Topology};
use clearway_units::{Bytes, Time};

/// The largest number of listed flows of an entry whose switches are noted; of more, every n-th.
const FLOWS: usize = 1 << 18;
/// The packets that a flow takes in addition to its data: handshakes, requests and stops, about as much as one packet of
/// data and its answer.
const OPENING: f64 = 1.0;

/// The expected packets of data of a whole run.
#[derive(Debug)]
pub struct Demand {
    /// The packets that each host sends and receives.
    pub hosts: Vec<f64>,
    /// The packets between two switches to which hosts are attached, as (from, to, packets), sorted. Switches are numbered
    /// from 0, as in all of this module.
    pub pairs: Vec<(u32, u32, f64)>,
    /// The traffic between random pairs of hosts.
    pub uniform: Vec<Uniform>,
}

/// Traffic between random pairs of hosts.
#[derive(Debug)]
pub struct Uniform {
    /// The packets from each host to each other host.
    pub packets: f64,
    /// The number of these hosts at each switch.
    pub hosts_at: Vec<f64>,
}

impl Demand {
    /// Returns the demand of a model's traffic.
    pub fn new(model: &Model) -> Demand {
        let hosts = vec![0.0; model.topology.hosts()];
        let mut demand = Demand { hosts, pairs: Vec::new(), uniform: Vec::new() };
        for entry in &model.traffic {
            match &entry.pattern {
                Pattern::Flows(flows) => demand.add_listed(model, flows),
                Pattern::Messages(messages) => demand.add_listed(model, messages.list()),
                Pattern::Poisson(poisson) => demand.add_poisson(model, poisson),
                Pattern::Rounds(rounds) => demand.add_rounds(model, rounds),
            }
        }
        demand.pairs.sort_unstable_by_key(|&(from, to, _)| (from, to));
        demand.pairs.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            kept.2 += if is_same { next.2 } else { 0.0 };
            is_same
        });
        demand
    }

    /// Adds packets from one host to another; `key` chooses among several switches of a host.
    fn add(&mut self, topology: &Topology, src: NodeId, dst: NodeId, key: usize, packets: f64) {
        self.hosts[src.index()] += packets;
        self.hosts[dst.index()] += packets;
        self.add_pair(topology, src, dst, key, packets);
    }

    fn add_pair(&mut self, topology: &Topology, src: NodeId, dst: NodeId, key: usize, packets: f64) {
        let ends = [src, dst].map(|host| switch_of(topology, host, key));
        if let [Some(from), Some(to)] = ends {
            self.pairs.push((from as u32, to as u32, packets));
        }
    }

    fn add_listed(&mut self, model: &Model, flows: &[Flow]) {
        let topology = &model.topology;
        let started = |flow: &&Flow| model.stop.is_none_or(|stop| flow.start < stop);
        // Flows without a size share the links of their hosts with each other.
        let mut open = vec![0u32; topology.hosts()];
        for flow in flows.iter().filter(started).filter(|flow| flow.size.is_none()) {
            open[flow.src.index()] += 1;
            open[flow.dst.index()] += 1;
        }
        let step = flows.len().div_ceil(FLOWS).max(1);
        for (number, flow) in flows.iter().enumerate().filter(|(_, flow)| started(flow)) {
            let packets = match flow.size {
                Some(size) => packets(model, size),
                None => {
                    let crowd = open[flow.src.index()].max(open[flow.dst.index()]);
                    open_packets(model, flow) / f64::from(crowd)
                }
            };
            self.hosts[flow.src.index()] += packets;
            self.hosts[flow.dst.index()] += packets;
            if number % step == 0 {
                self.add_pair(topology, flow.src, flow.dst, number, packets * step as f64);
            }
        }
    }

    fn add_poisson(&mut self, model: &Model, poisson: &Poisson) {
        let until = poisson.stop.into_iter().chain(model.stop).min();
        let time = until.map_or(f64::INFINITY, |until| until.saturating_since(poisson.start).as_secs_f64());
        let flows = (poisson.flows as f64).min(time / poisson.mean_gap_s);
        let each = poisson.sizes.mean() / f64::from(model.framing.payload_max) + 0.5 + OPENING;
        let hosts = poisson.hosts.len() as f64;
        let mut hosts_at = vec![0.0; model.topology.switches()];
        for (number, &host) in poisson.hosts.iter().enumerate() {
            self.hosts[host.index()] += 2.0 * flows * each / hosts;
            if let Some(switch) = switch_of(&model.topology, host, number) {
                hosts_at[switch] += 1.0;
            }
        }
        let packets = flows * each / (hosts * (hosts - 1.0).max(1.0));
        self.uniform.push(Uniform { packets, hosts_at });
    }

    fn add_rounds(&mut self, model: &Model, rounds: &Rounds) {
        let times = f64::from(rounds.rounds);
        for (number, &worker) in rounds.workers.iter().enumerate() {
            let response = times * packets(model, rounds.response);
            self.add(&model.topology, worker, rounds.client, number, response);
            if rounds.request > Bytes::ZERO {
                let request = times * packets(model, rounds.request);
                self.add(&model.topology, rounds.client, worker, number, request);
            }
        }
    }
}

/// Returns the number of a switch to which a host is attached, if there is one.
fn switch_of(topology: &Topology, host: NodeId, key: usize) -> Option<usize> {
    let ports = topology.ports_of(host);
    // Hosts have lower ids than switches, so links to other hosts come first.
    let first = ports.partition_point(|&port| topology.is_host(topology.port(port).to));
    let ways = &ports[first..];
    let way = ways.get(key % ways.len().max(1))?;
    Some(topology.port(*way).to.index() - topology.hosts())
}

/// Returns the packets of a flow of a size.
fn packets(model: &Model, size: Bytes) -> f64 {
    (size.get() as f64 / f64::from(model.framing.payload_max)).ceil() + OPENING
}

/// Returns the packets of a flow without a size that has the link of its host for itself.
fn open_packets(model: &Model, flow: &Flow) -> f64 {
    let until: Option<Time> = flow.stop.into_iter().chain(model.stop).min();
    let lasts = until.map_or(1.0, |until| until.saturating_since(flow.start).as_secs_f64());
    let port = model.topology.ports_of(flow.src).first();
    let rate = port.map_or(0.0, |&port| model.topology.port(port).rate.as_bps_f64() / 8.0);
    lasts * rate / f64::from(model.framing.wire_max())
}
