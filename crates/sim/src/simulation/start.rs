//! Flows start and stop, and change their paths when links do.

use super::Simulation;
use crate::engine::What;
use crate::flows::{Classes, End, Flow, Input, Message};
use crate::metrics::Record;
use crate::model::{self, Model, Pattern, Poisson};
use crate::net::{NONE, Route};
use crate::timer::Timer;
use clearway_proto::{Entity, Env, Rng, ShimEnv, Stats, mix};
use clearway_topology::routing::{PathSet, Policy, Routes};
use clearway_topology::{NodeId, PortId, Topology, base_rtt};
use clearway_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// More than any run sends: the size of a flow that goes on for as long as it may.
const ENDLESS: u64 = u64::MAX / 4;

/// The source of a part of the traffic: what starts when.
pub enum Source {
    /// Position in a list of flows.
    Flows(usize),
    /// The next arrival of a Poisson process.
    Poisson {
        /// Sizes, times and pairs come from this stream.
        rng: Rng,
        /// Flows that arrived.
        arrived: u64,
        /// When the next one does.
        next: Time,
    },
    /// Rounds start when the application says so.
    Rounds {
        /// When it said so.
        next: Option<Time>,
    },
}

impl Pattern {
    /// How many flows or messages there will be, if that is known.
    pub fn expected(&self) -> Option<u64> {
        Some(match self {
            Pattern::Flows(flows) => flows.len() as u64,
            Pattern::Poisson(poisson) => poisson.flows,
            Pattern::Rounds(rounds) => {
                let messages = if rounds.request == Bytes::ZERO { 1 } else { 2 };
                messages * rounds.rounds as u64 * rounds.workers.len() as u64
            }
        })
    }
}

impl Source {
    /// The source of a pattern, before its first start.
    pub fn new(pattern: &Pattern, mut rng: Rng) -> Source {
        match pattern {
            Pattern::Flows(_) => Source::Flows(0),
            Pattern::Poisson(poisson) => {
                let next = poisson.start + gap(poisson, &mut rng);
                Source::Poisson { rng, arrived: 0, next }
            }
            Pattern::Rounds(rounds) => Source::Rounds { next: Some(rounds.start) },
        }
    }

    /// When it starts something next, if ever. A round's time is handed out once.
    pub fn next_at(&mut self, pattern: &Pattern) -> Option<Time> {
        match (self, pattern) {
            (Source::Flows(next), Pattern::Flows(flows)) => flows.get(*next).map(|flow| flow.start),
            (Source::Poisson { arrived, next, .. }, Pattern::Poisson(poisson)) => {
                let open = *arrived < poisson.flows && poisson.stop.is_none_or(|stop| *next <= stop);
                open.then_some(*next)
            }
            (Source::Rounds { next }, _) => next.take(),
            _ => unreachable!("a source is made from its pattern"),
        }
    }
}

fn gap(poisson: &Poisson, rng: &mut Rng) -> Span {
    Span::from_secs_f64(rng.exponential(poisson.mean_gap_s))
}

/// A flow about to start.
pub struct Start {
    /// The part of the traffic.
    pub traffic: u32,
    /// Its number there.
    pub number: u64,
    /// Who sends.
    pub src: NodeId,
    /// Who receives.
    pub dst: NodeId,
    /// Whether its connection stands already.
    pub established: bool,
}

impl Simulation {
    /// Starts what a part of the traffic has due now, and schedules its next start.
    pub(super) fn run_source(&mut self, index: u32) {
        let traffic = index as usize;
        match &self.model.traffic[traffic].pattern {
            Pattern::Flows(flows) => {
                let Source::Flows(next) = &mut self.sources[traffic] else { unreachable!() };
                let (number, flow) = (*next as u64, flows[*next]);
                *next += 1;
                self.start_single(index, number, flow);
            }
            Pattern::Poisson(poisson) => {
                let Source::Poisson { rng, arrived, next } = &mut self.sources[traffic] else {
                    unreachable!()
                };
                let size = poisson.sizes.sample(rng);
                let hosts = poisson.hosts.len() as u64;
                let src = rng.below(hosts);
                let dst = (src + 1 + rng.below(hosts - 1)) % hosts;
                let flow = model::Flow {
                    start: self.net.now,
                    src: poisson.hosts[src as usize],
                    dst: poisson.hosts[dst as usize],
                    size: Some(size),
                    stop: None,
                };
                let number = *arrived;
                *arrived += 1;
                *next = self.net.now + gap(poisson, rng);
                self.start_single(index, number, flow);
            }
            Pattern::Rounds(_) => self.start_round(index),
        }
        self.schedule_source(index);
    }

    /// Schedules the next start of a part of the traffic, or notes that it has none.
    pub(super) fn schedule_source(&mut self, index: u32) {
        match self.sources[index as usize].next_at(&self.model.traffic[index as usize].pattern) {
            Some(at) => self.schedule_outside(at, What::Traffic(index)),
            None if matches!(self.sources[index as usize], Source::Rounds { .. }) => {}
            None => self.sources_left -= 1,
        }
    }

    /// Starts a flow that carries one message.
    fn start_single(&mut self, traffic: u32, number: u64, flow: model::Flow) {
        let start = Start { traffic, number, src: flow.src, dst: flow.dst, established: false };
        let place = self.open_flow(start);
        let bytes = flow.size.map_or(ENDLESS, Bytes::get);
        let record = self.write(place, bytes, flow.size.is_some());
        if flow.size.is_none() {
            self.records[record as usize].size = None;
        }
        if let Some(stop) = flow.stop {
            self.schedule_outside(stop, What::Stop(record));
        }
    }

    /// Makes both ends of a flow and finds its paths.
    pub(super) fn open_flow(&mut self, start: Start) -> u32 {
        let Start { traffic, number, src, dst, established } = start;
        let model = &self.model;
        let topology = &model.topology;
        // Flows are told apart by their part of the traffic and their number there, never by their place in memory.
        let identity = mix(mix(traffic as u64) ^ number);
        let key = path_key(model, traffic, number);
        let mut ports = Vec::new();
        let mut route = |net: &mut crate::net::Network, from, to| {
            let set = find(&mut self.routes, &mut self.intact, topology, from, to, key, &mut ports);
            let first: Vec<PortId> = set.path(&ports, 0).to_vec();
            (net.add_route(&ports, set.hops, set.count), first)
        };
        let (forward, path) = route(&mut self.net, src, dst);
        let (backward, reverse) = route(&mut self.net, dst, src);
        let framing = model.framing;
        let rate =
            |ports: &[PortId]| ports.iter().map(|port| topology.port(*port).rate).min().unwrap_or(Rate::ZERO);
        let env = Env {
            line_rate: topology.port(path[0]).rate,
            path_rate: rate(&path),
            base_rtt: base_rtt(
                topology,
                &path,
                &reverse,
                Bytes::new(framing.wire_max() as u64),
                Bytes::new(framing.wire_min as u64),
            ),
            framing,
            established,
            host_flows: self.host_flows[src.index()],
        };
        let part = &model.traffic[traffic as usize];
        let transport = &part.transport;
        let end = |entity, host: NodeId, route| End {
            rng: Rng::stream(model.seed, entity, identity),
            stats: Stats::default(),
            timer: Timer::IDLE,
            handled_at: Time::ZERO,
            finished: false,
            host: host.0,
            route,
        };
        let card = ShimEnv { line_rate: topology.port(reverse[0]).rate, framing };
        let shim = self.shims.of_host(traffic, dst.0, || transport.shim(&card));
        let place = self.flows.insert(Flow {
            sender: transport.sender(&env),
            receiver: transport.receiver(&Env {
                line_rate: topology.port(reverse[0]).rate,
                host_flows: 0,
                ..env
            }),
            sending: end(Entity::Sender, src, forward),
            receiving: end(Entity::Receiver, dst, backward),
            traffic,
            number,
            classes: Classes {
                data: part.class as u8,
                ack: part.ack_class as u8,
                credit: part.credit_class as u8,
                notice: part.notice_class as u8,
                low: model.unscheduled_class() as u8,
            },
            way_back: Route::default(),
            shim,
            in_turn: false,
            low_in_turn: false,
            ended: false,
            written: 0,
            messages: VecDeque::new(),
            unacknowledged: VecDeque::new(),
            acknowledged_at: u64::MAX,
            counted: Stats::default(),
            record: NONE,
        });
        self.net.open_flow(place);
        self.find_way_back(place);
        place
    }

    /// Notes the way of a flow's data backwards, if switches send notifications.
    fn find_way_back(&mut self, place: u32) {
        if !self.switches_notify {
            return;
        }
        let flow = self.flows.get_mut(place).expect("it is alive");
        let route = flow.sending.route;
        let paths = self.net.ports_of(route).chunks(route.hops as usize);
        let back: Vec<PortId> = paths.flat_map(|path| path.iter().rev().map(|port| port.reverse())).collect();
        flow.way_back = self.net.add_route(&back, route.hops as u32, route.count);
    }

    /// The application at a flow's source hands over a message, its last one if it closes. Returns its row.
    pub(super) fn write(&mut self, place: u32, bytes: u64, close: bool) -> u32 {
        let flow = self.flows.get_mut(place).expect("the application writes to flows that are open");
        flow.written += bytes;
        let record = self.records.len() as u32;
        let message = Message { end: flow.written, record };
        flow.messages.push_back(message);
        flow.unacknowledged.push_back(message);
        flow.await_acknowledgement();
        if flow.messages.len() == 1 {
            flow.record = record;
            self.host_flows[flow.sending.host as usize] += 1;
        }
        let path = self.net.path(flow.sending.route);
        self.records.push(Record {
            traffic: flow.traffic,
            number: flow.number,
            src: NodeId(flow.sending.host),
            dst: NodeId(flow.receiving.host),
            size: Some(bytes),
            start: self.net.now,
            end: None,
            acknowledged: None,
            ideal: ideal_fct(&self.model.topology, path, self.model.framing, bytes),
            delivered: 0,
            stats: Stats::default(),
            place,
        });
        if self.oracle.is_some() {
            self.start_share(place);
        }
        self.drive_sender(place, Input::Write { bytes, close });
        record
    }

    /// The application at a flow's source closes it.
    pub(super) fn close(&mut self, place: u32) {
        self.drive_sender(place, Input::Close);
    }

    /// A message was delivered in full.
    pub(super) fn complete(&mut self, place: u32, row: u32) {
        let flow = self.flows.get_mut(place).expect("it has just been driven");
        let stats = flow.sending.stats.plus(&flow.receiving.stats);
        let record = &mut self.records[row as usize];
        record.end = Some(self.net.now);
        record.delivered = record.size.expect("a message that is complete has a size");
        record.stats = record.stats.plus(&stats.minus(&flow.counted));
        flow.counted = stats;
        flow.record = flow.messages.front().map_or(row, |next| next.record);
        self.completed += 1;
        let (traffic, number, idle) = (flow.traffic, flow.number, flow.messages.is_empty());
        self.host_flows[flow.sending.host as usize] -= u32::from(idle);
        if idle && self.oracle.is_some() {
            self.stop_share(place);
        }
        if self.rounds[traffic as usize].is_some() {
            self.round_progress(traffic, number);
        }
    }

    /// A flow's time to stop came.
    pub(super) fn stop_flow(&mut self, row: u32) {
        let place = self.records[row as usize].place;
        if place == NONE || self.records[row as usize].end.is_some() {
            return;
        }
        let total = self.drive_sender(place, Input::Truncate);
        let record = &mut self.records[row as usize];
        record.size = Some(total);
        let Some(flow) = self.flows.get_mut(place) else { return };
        record.ideal =
            ideal_fct(&self.model.topology, self.net.path(flow.sending.route), self.model.framing, total);
        flow.written = total;
        flow.messages.iter_mut().for_each(|message| message.end = total);
        flow.unacknowledged.iter_mut().for_each(|message| message.end = total);
        flow.await_acknowledgement();
        let (delivered, acknowledged) = (flow.delivered(), flow.acknowledged());
        self.note_acknowledged(place, acknowledged);
        while let Some(row) = self.flows.pop_delivered(place, delivered) {
            self.complete(place, row);
        }
        self.note_finished(place);
    }

    /// Gives every flow the paths that it has now. Packets under way keep theirs, so its place is not used again.
    pub(super) fn reroute(&mut self) {
        let topology = &self.model.topology;
        let mut ports = Vec::new();
        for (_, flow) in self.flows.iter_mut() {
            let key = path_key(&self.model, flow.traffic, flow.number);
            let (src, dst) = (NodeId(flow.sending.host), NodeId(flow.receiving.host));
            for (end, from, to) in [(&mut flow.sending, src, dst), (&mut flow.receiving, dst, src)] {
                let set = find(&mut self.routes, &mut self.intact, topology, from, to, key, &mut ports);
                if !self.net.follows(end.route, &ports) {
                    end.route = self.net.add_route(&ports, set.hops, set.count);
                }
            }
        }
        let places: Vec<u32> = self.flows.iter_mut().map(|(place, _)| place).collect();
        places.into_iter().for_each(|place| self.find_way_back(place));
        let Some(oracle) = &self.oracle else { return };
        let sending: Vec<u32> =
            self.flows.iter_mut().map(|(place, _)| place).filter(|&place| oracle.is_active(place)).collect();
        sending.into_iter().for_each(|place| self.start_share(place));
    }
}

/// What chooses a flow's paths: a mix of the seed, its part of the traffic and its number there; the number alone where it
/// shall be the one that the ExpressPass authors' ns-2 code hashes.
fn path_key(model: &Model, traffic: u32, number: u64) -> u64 {
    match model.routing {
        Policy::Ns2Xpass => number + ((traffic as u64) << 24),
        _ => mix(model.seed ^ mix(mix(traffic as u64) ^ number)),
    }
}

/// The paths from one host to another, now; or, while there are none, those that there would be with all links up.
fn find(
    routes: &mut Routes,
    intact: &mut Routes,
    topology: &Topology,
    from: NodeId,
    to: NodeId,
    key: u64,
    ports: &mut Vec<PortId>,
) -> PathSet {
    routes
        .paths(topology, from, to, key, ports)
        .or_else(|_| intact.paths(topology, from, to, key, ports))
        .expect("a topology is connected")
}

/// How long `bytes` take from the application's call until the last one arrives, alone and sent back to back: the
/// last frame follows the full ones before it through every port of `path`.
fn ideal_fct(topology: &Topology, path: &[PortId], framing: clearway_proto::Framing, bytes: u64) -> Span {
    let full = framing.payload_max as u64;
    let before = bytes.div_ceil(full).saturating_sub(1);
    let last = Bytes::new(framing.wire((bytes - before * full) as u32) as u64);
    let frame = Bytes::new(framing.wire_max() as u64);
    // When the last full frame, and then the last frame, has left each port.
    let (mut ahead, mut slowest, mut done) = (Span::ZERO, Span::ZERO, Span::ZERO);
    for port in path {
        let port = topology.port(*port);
        let time = port.rate.time_to_send(frame);
        slowest = slowest.max(time);
        let train = slowest.saturating_mul(before.saturating_sub(1));
        let gone = if before > 0 { (ahead + time).saturating_add(train) } else { Span::ZERO };
        done = done.max(gone).saturating_add(port.rate.time_to_send(last) + port.delay);
        // Only the first full frame's way adds up; the others follow at the pace of the slowest port.
        ahead += time + port.delay;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_proto::Framing;
    use clearway_topology::Dumbbell;

    /// The same, frame by frame.
    fn step_by_step(topology: &Topology, path: &[PortId], framing: Framing, bytes: u64) -> Span {
        let full = framing.payload_max as u64;
        let mut free = vec![Span::ZERO; path.len()];
        let (mut left, mut arrived) = (bytes, Span::ZERO);
        while left > 0 {
            let payload = left.min(full);
            left -= payload;
            let wire = Bytes::new(framing.wire(payload as u32) as u64);
            arrived = Span::ZERO;
            for (port, free) in path.iter().zip(&mut free) {
                let port = topology.port(*port);
                *free = arrived.max(*free) + port.rate.time_to_send(wire);
                arrived = *free + port.delay;
            }
        }
        arrived
    }

    #[test]
    fn the_ideal_time_is_that_of_frames_followed_one_by_one() {
        for (edge, middle) in [(10, 10), (10, 40), (40, 10)] {
            let topology = Dumbbell {
                rate: Rate::gbps(edge),
                bottleneck_rate: Rate::gbps(middle),
                ..Dumbbell::default()
            };
            let topology = topology.build().unwrap();
            let mut routes = Routes::new(Policy::SymmetricEcmp);
            let mut ports = Vec::new();
            let last = NodeId(topology.hosts() as u32 - 1);
            routes.paths(&topology, NodeId(0), last, 1, &mut ports).unwrap();
            for bytes in [1, 1459, 1460, 1461, 2920, 3000, 14_600, 1_000_001] {
                let ideal = ideal_fct(&topology, &ports, Framing::ETHERNET, bytes);
                assert_eq!(
                    ideal,
                    step_by_step(&topology, &ports, Framing::ETHERNET, bytes),
                    "{edge} {middle} {bytes}"
                );
            }
        }
    }

    #[test]
    fn an_endless_source_of_flows_hands_out_its_times_in_order() {
        let flow = |us| model::Flow {
            start: Time::ZERO + Span::from_us(us),
            src: NodeId(0),
            dst: NodeId(1),
            size: None,
            stop: None,
        };
        let pattern = Pattern::Flows(vec![flow(1), flow(5)]);
        let mut source = Source::new(&pattern, Rng::stream(0, Entity::Traffic, 0));
        assert_eq!(source.next_at(&pattern), Some(Time::ZERO + Span::from_us(1)));
    }
}
