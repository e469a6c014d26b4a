//! Flows, bytes, packets and time of a traffic entry, before it runs.

use crate::model::{Flow, Messages, Model, Pattern, Poisson, Rounds, Traffic};
use crate::traffic::Cdf;
use clearway_proto::Framing;
use clearway_topology::routing::{Policy, Routes};
use clearway_topology::{NodeId, PortId, one_way};
use clearway_units::{Bytes, Span, Time};
use std::collections::BTreeMap;

/// The largest number of flows of an entry whose paths are looked at; of more, every n-th.
const PATHS: usize = 512;
/// The number of quantiles of a distribution of sizes from which the number of packets follows.
const QUANTILES: u32 = 256;
/// The time that a flow takes as a multiple of what it would take alone.
const SLOWDOWN: f64 = 2.0;
/// The control packets of a flow under a transport with credits besides one credit a packet: requests, stops, and the
/// credits that come too late.
const CREDIT_EXTRA: f64 = 4.0;

/// The credits dropped while the flows of a crowd find their rates, for each of them and each that shares its receiver's
/// link, and at most for each: 32 in shuffles of 128 hosts under ExpressPass, and 34 in those of 256.
const CREDITS_DROPPED_AT_START: (f64, f64) = (0.25, 33.0);
/// The share of a link's credits below which a flow in a crowd does not go: 0.04 in shuffles of 64 and 256 hosts under
/// ExpressPass, 0.06 under EC4, 0.12 under ExpressPass '16. Naive credits keep the full rate.
const CREDIT_FLOOR: f64 = 0.06;

/// What a traffic entry comes to.
pub struct Load {
    /// The number of flows or messages.
    pub flows: f64,
    /// The number of flows without a size.
    pub open: u64,
    /// The number of flows alive at once.
    pub live: f64,
    /// The seconds for which flows are alive, added up.
    pub lived_s: f64,
    /// The bytes that are sent.
    pub payload: f64,
    /// The number of data packets.
    pub packets: f64,
    /// The number of packets put on links.
    pub transmissions: f64,
    /// The number of credits that receivers make and ports drop.
    pub dropped_credits: f64,
    /// The mean number of links of a path.
    pub hops: f64,
    /// The mean rate of the slowest link of a path, in bytes of payload a second.
    rate: f64,
    /// The number of flows alive at once that share the link of a receiver.
    crowd: f64,
    /// The time at which the last flow ends, in seconds.
    pub end_s: f64,
}

/// Returns what each traffic entry of a model comes to.
pub fn loads(model: &Model) -> Vec<Load> {
    let processing = &model.host.processing_delay;
    let host = Wait { mean: processing.mean_s(), longest: processing.ends().1.as_secs_f64() };
    let mut ways = Ways { model, routes: Routes::new(Policy::SymmetricEcmp), ports: Vec::new(), host };
    model.traffic.iter().map(|entry| ways.load(entry)).collect()
}

/// The round trips that a message of an entry takes besides that of its data.
#[derive(Clone, Copy)]
struct Exchanges {
    /// Those before the first byte is sent: a handshake, where a connection is opened, or a request for credits.
    first: f64,
    /// Those after the last byte was acknowledged: the stop of credits, which is answered too.
    last: f64,
}

impl Exchanges {
    fn of(entry: &Traffic) -> Exchanges {
        let needs = entry.transport.needs();
        let stands = matches!(&entry.pattern, Pattern::Rounds(rounds) if !rounds.reconnect);
        let has_credits = needs.credits.is_some();
        let has_first = has_credits || needs.handshake && !stands;
        Exchanges { first: f64::from(has_first), last: f64::from(has_credits) }
    }

    /// Returns all round trips, that of the data included.
    fn all(self) -> f64 {
        self.first + 1.0 + self.last
    }
}

/// The paths of some flows of an entry.
#[derive(Default)]
struct Sampled {
    /// The mean number of links.
    hops: f64,
    /// The mean time that a full frame takes there, in seconds.
    way_s: f64,
    /// The time that a full frame and its acknowledgement take there and back through an idle network.
    rtt: Wait,
    /// The mean rate of the slowest link of a path, in bytes of payload a second.
    rate: f64,
}

/// A time in seconds in which nothing is sent: its mean and its largest value.
#[derive(Clone, Copy, Default)]
struct Wait {
    mean: f64,
    longest: f64,
}

impl Wait {
    /// Returns this wait followed by `count` times another.
    fn and(self, count: f64, other: Wait) -> Wait {
        Wait { mean: self.mean + count * other.mean, longest: self.longest + count * other.longest }
    }
}

/// The paths of a model's flows.
struct Ways<'a> {
    model: &'a Model,
    routes: Routes,
    ports: Vec<PortId>,
    /// The time between the arrival of a packet at a host and its handling.
    host: Wait,
}

impl Ways<'_> {
    fn load(&mut self, entry: &Traffic) -> Load {
        let load = match &entry.pattern {
            Pattern::Flows(flows) => self.listed(flows, Exchanges::of(entry)),
            Pattern::Messages(messages) => self.messages(messages, Exchanges::of(entry)),
            Pattern::Poisson(poisson) => self.poisson(poisson, Exchanges::of(entry)),
            Pattern::Rounds(rounds) => self.rounds(rounds, Exchanges::of(entry)),
        };
        let has_credits = entry.transport.needs().credits.is_some();
        let extra = if has_credits { CREDIT_EXTRA * load.flows } else { 0.0 };
        Load {
            transmissions: (2.0 * load.packets + extra) * load.hops,
            dropped_credits: if has_credits { self.dropped_credits(entry, &load) } else { 0.0 },
            ..load
        }
    }

    /// Returns the credits that are dropped where many flows share the link of a receiver: while they find their rates,
    /// and then since no flow goes below the least rate of its law.
    fn dropped_credits(&self, entry: &Traffic, load: &Load) -> f64 {
        let (each, most) = CREDITS_DROPPED_AT_START;
        let floor = if entry.transport.info().name == "naive-credit" { 1.0 } else { CREDIT_FLOOR };
        let link = load.rate / f64::from(self.model.framing.payload_max);
        load.flows * (each * load.crowd).min(most) + load.lived_s * floor * link
    }

    /// Returns the end of the run in seconds, if the scenario sets one.
    fn stop_s(&self) -> f64 {
        self.model.stop.map_or(f64::INFINITY, Time::as_secs_f64)
    }

    /// Looks at the path between two hosts; the ports are left in `self.ports`.
    fn look(&mut self, src: NodeId, dst: NodeId, key: u64, of: &mut Sampled) {
        let topology = &self.model.topology;
        if self.routes.paths(topology, src, dst, key, &mut self.ports).is_err() {
            return;
        }
        let framing = self.model.framing;
        let [full, least] = [framing.wire_max(), framing.wire_min].map(|wire| Bytes::new(u64::from(wire)));
        let there = one_way(topology, &self.ports, full).as_secs_f64();
        let rtt = there + one_way(topology, &self.ports, least).as_secs_f64();
        let slowest = self.ports.iter().map(|port| topology.port(*port).rate).min();
        of.hops += self.ports.len() as f64;
        of.way_s += there;
        of.rtt = Wait { mean: of.rtt.mean + rtt, longest: of.rtt.longest.max(rtt) };
        of.rate += slowest.map_or(0.0, |rate| rate.as_bps_f64() / 8.0) * self.model.framing.payload_share();
    }

    /// Returns the time from the sending of a packet until its acknowledgement has been handled.
    fn round_trip(&self, sampled: &Sampled) -> Wait {
        sampled.rtt.and(2.0, self.host)
    }

    /// Flows that are listed: all that start at once share the links that most of them cross.
    fn listed(&mut self, flows: &[Flow], exchanges: Exchanges) -> Load {
        let stop = self.stop_s();
        let started = &flows[..flows.partition_point(|flow| flow.start.as_secs_f64() < stop)];
        let step = started.len().div_ceil(PATHS).max(1);
        let (mut sampled, mut paths, mut busy) = (Sampled::default(), Vec::new(), BTreeMap::new());
        for (index, flow) in started.iter().enumerate().step_by(step) {
            self.look(flow.src, flow.dst, index as u64, &mut sampled);
            for &port in &self.ports {
                let crossed: &mut (f64, f64) = busy.entry(port).or_default();
                crossed.0 += step as f64;
                crossed.1 += step as f64 * flow.size.map_or(0.0, |size| size.get() as f64);
            }
            paths.push((flow, self.ports.clone()));
        }
        let looked = paths.len().max(1) as f64;
        let sampled = sampled.mean(looked);
        let scale = started.len() as f64 / looked;
        let rate_of = |port: &PortId| {
            self.model.topology.port(*port).rate.as_bps_f64() / 8.0 * self.model.framing.payload_share()
        };
        // The time in which a link carries all that is to cross it, and the share of a flow there.
        let drain = busy.iter().map(|(port, (_, bytes))| bytes / rate_of(port)).fold(0.0, f64::max);
        let first = started.first().map_or(0.0, |flow| flow.start.as_secs_f64());
        let span = started.last().map_or(0.0, |flow| flow.start.as_secs_f64()) - first;
        let trip = self.round_trip(&sampled);
        let mut load =
            Load { hops: sampled.hops, rate: sampled.rate, flows: started.len() as f64, ..Load::NONE };
        for (flow, path) in &paths {
            let start = flow.start.as_secs_f64();
            let until = flow.stop.map_or(stop, |at| at.as_secs_f64().min(stop));
            let share = path.iter().map(|port| rate_of(port) / busy[port].0).fold(f64::INFINITY, f64::min);
            let time = (until - start - exchanges.first * trip.mean).max(0.0);
            let (bytes, sending) = match flow.size {
                Some(size) => {
                    let size = size.get() as f64;
                    let queued = path.iter().map(|port| busy[port].1 / rate_of(port)).fold(0.0, f64::max);
                    // A flow has its path for itself, but for the others that can't have ended when it starts.
                    let crowd = (queued - span).max(0.0).min(size / share);
                    let lasts = crowd.max(size / sampled.rate);
                    (if lasts <= time { size } else { size * time / lasts }, lasts.min(time))
                }
                None => (share * time, time),
            };
            // What was sent last, if anything was, has to be acknowledged.
            let trips = exchanges.first + f64::from(sending > 0.0);
            let acknowledged = |trip: f64| start + sending + trips * trip;
            load.open += flow.size.is_none() as u64;
            load.payload += bytes * scale;
            load.packets += packets(self.model.framing, bytes) * scale;
            load.lived_s += (acknowledged(trip.mean).min(stop) - start) * scale;
            load.crowd += path.last().map_or(0.0, |port| busy[port].0) / looked;
            load.end_s =
                load.end_s.max((acknowledged(trip.longest) + exchanges.last * trip.longest).min(stop));
        }
        load.open = (load.open as f64 * scale) as u64;
        if drain > 0.0 {
            load.end_s = load.end_s.max((first + drain + exchanges.all() * trip.longest).min(stop));
        }
        if started.len() < flows.len() {
            // The run waits for the others until it is stopped.
            load.end_s = stop;
        }
        let mean = load.lived_s / load.flows.max(1.0);
        load.live = (load.lived_s / (span + mean).max(f64::MIN_POSITIVE)).min(load.flows);
        load.crowd *= load.live / load.flows.max(1.0);
        load
    }

    /// Messages that are listed. Those that wait for others begin once these have had their exchanges and an idle path.
    fn messages(&mut self, messages: &Messages, exchanges: Exchanges) -> Load {
        let (mut flows, triggers) = (messages.list().to_vec(), messages.triggers());
        if triggers.is_empty() {
            return self.listed(&flows, exchanges);
        }
        let step = flows.len().div_ceil(PATHS).max(1);
        let (mut sampled, looked) = (Sampled::default(), flows.len().div_ceil(step));
        for (index, flow) in flows.iter().enumerate().step_by(step) {
            self.look(flow.src, flow.dst, index as u64, &mut sampled);
        }
        let sampled = sampled.mean(looked as f64);
        let trips = (exchanges.first + 1.0) * self.round_trip(&sampled).mean;
        let lasts = |message: u32| {
            let bytes = messages.list()[message as usize].size.map_or(0.0, |size| size.get() as f64);
            Span::from_secs_f64(trips + bytes / sampled.rate)
        };
        let begins = triggers.begins(flows.iter().map(|flow| flow.start).collect(), lasts);
        flows.iter_mut().zip(begins).for_each(|(flow, begin)| flow.start = begin);
        flows.sort_by_key(|flow| flow.start);
        self.listed(&flows, exchanges)
    }

    fn poisson(&mut self, poisson: &Poisson, exchanges: Exchanges) -> Load {
        let start = poisson.start.as_secs_f64();
        let until = poisson.stop.map_or(self.stop_s(), |stop| stop.as_secs_f64().min(self.stop_s()));
        let flows = (poisson.flows as f64).min((until - start).max(0.0) / poisson.mean_gap_s);
        let (mut sampled, hosts) = (Sampled::default(), poisson.hosts.len());
        let pairs = hosts.min(PATHS / 16);
        for pair in 0..pairs {
            // Pairs at all distances: hosts that are near in number are near in most networks.
            let (src, apart) = (pair * hosts / pairs, 1 + pair * (hosts - 1) / pairs);
            self.look(poisson.hosts[src], poisson.hosts[(src + apart) % hosts], pair as u64, &mut sampled);
        }
        let sampled = sampled.mean(pairs as f64);
        let mean = poisson.sizes.mean().max(1.0);
        // Exchanges of single packets and the work of hosts take their time, however loaded the network is.
        let trip = self.round_trip(&sampled);
        let alone = Wait::default().and(exchanges.first, trip).and(2.0, self.host);
        let fct = alone.mean + SLOWDOWN * (mean / sampled.rate + sampled.rtt.mean);
        // The largest of the flows ends last.
        let largest = poisson.sizes.quantile(1.0 - 1.0 / flows.max(2.0)).get() as f64;
        let last = alone.and(exchanges.last, trip).longest
            + SLOWDOWN * (largest / sampled.rate + sampled.rtt.longest);
        let end = start + flows * poisson.mean_gap_s + last;
        Load {
            flows,
            live: (fct / poisson.mean_gap_s + 1.0).min(flows),
            crowd: fct / poisson.mean_gap_s / hosts as f64,
            rate: sampled.rate,
            lived_s: flows * fct,
            payload: flows * mean,
            packets: flows * packets_of(self.model.framing, &poisson.sizes),
            hops: sampled.hops,
            end_s: end,
            ..Load::NONE
        }
    }

    fn rounds(&mut self, rounds: &Rounds, exchanges: Exchanges) -> Load {
        let step = rounds.workers.len().div_ceil(PATHS).max(1);
        let (mut sampled, mut looked) = (Sampled::default(), 0.0_f64);
        for (index, &worker) in rounds.workers.iter().enumerate().step_by(step) {
            self.look(worker, rounds.client, index as u64, &mut sampled);
            looked += 1.0;
        }
        let sampled = sampled.mean(looked.max(1.0));
        let workers = rounds.workers.len() as f64;
        let (request, response) = (rounds.request.get() as f64, rounds.response.get() as f64);
        let asks = if request > 0.0 { 1.0 } else { 0.0 };
        let trip = self.round_trip(&sampled);
        // A message is there once its last packet has come there and been handled.
        let message = exchanges.first * trip.mean + sampled.way_s + self.host.mean;
        // All responses share the client's link.
        let round = workers * response.max(request) / sampled.rate
            + (1.0 + asks) * message
            + rounds.spread.as_secs_f64()
            + rounds.pause.as_secs_f64();
        let (start, all) = (rounds.start.as_secs_f64(), f64::from(rounds.rounds));
        let done = all.min((self.stop_s() - start).max(0.0) / round);
        let begun = done.ceil().min(all);
        // No pause follows the last round, whose responses have to be acknowledged.
        let acknowledgement = trip.longest - sampled.way_s - self.host.mean;
        let after = acknowledgement + exchanges.last * trip.longest - rounds.pause.as_secs_f64();
        let end = (start + all * round + after).min(self.stop_s());
        Load {
            flows: begun * workers * (1.0 + asks),
            live: workers * (1.0 + asks),
            crowd: workers,
            rate: sampled.rate,
            lived_s: workers * (1.0 + asks) * (end - start).max(0.0),
            payload: done * workers * (request + response),
            packets: done
                * workers
                * (packets(self.model.framing, response) + asks * packets(self.model.framing, request)),
            hops: sampled.hops,
            end_s: end,
            ..Load::NONE
        }
    }
}

impl Sampled {
    /// Turns sums over so many paths into means.
    fn mean(self, paths: f64) -> Sampled {
        Sampled {
            hops: self.hops / paths,
            way_s: self.way_s / paths,
            rtt: Wait { mean: self.rtt.mean / paths, ..self.rtt },
            rate: (self.rate / paths).max(1.0),
        }
    }
}

impl Load {
    /// The load of an entry that starts nothing.
    const NONE: Load = Load {
        flows: 0.0,
        open: 0,
        live: 0.0,
        lived_s: 0.0,
        payload: 0.0,
        packets: 0.0,
        transmissions: 0.0,
        dropped_credits: 0.0,
        hops: 0.0,
        rate: 0.0,
        crowd: 0.0,
        end_s: 0.0,
    };
}

/// Returns the number of packets of a flow of so many bytes.
fn packets(framing: Framing, bytes: f64) -> f64 {
    (bytes / f64::from(framing.payload_max)).ceil()
}

/// Returns the mean number of packets of flows of these sizes: those that are full, and the one that is not.
fn packets_of(framing: Framing, sizes: &Cdf) -> f64 {
    let quantile = |index: u32| sizes.quantile((f64::from(index) + 0.5) / f64::from(QUANTILES)).get() as f64;
    let full = f64::from(framing.payload_max);
    let rest: f64 =
        (0..QUANTILES).map(|index| packets(framing, quantile(index)) - quantile(index) / full).sum();
    sizes.mean() / full + rest / f64::from(QUANTILES)
}
