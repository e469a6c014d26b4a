//! The life of a flow: it begins with its ends and paths, carries messages, and ends when both ends are done and its
//! last packet has left the network.

use super::ideal::ideal_fct;
use super::router::identity;
use super::run::Simulation;
use crate::engine::EventKind;
use crate::hosts::{Classes, End, Flow, Input};
use crate::ids::{ClassId, FlowSlot, HostId, Id, RecordId, TrafficId};
use crate::metrics::Record;
use crate::model;
use clearway_proto::{Entity, Env, Rng, ShimEnv, Stats};
use clearway_topology::{NodeId, PortId, base_rtt};
use clearway_units::{Bytes, Rate};

/// More bytes than any run sends: the size of a flow that goes on for as long as it may.
const ENDLESS: u64 = u64::MAX / 4;

/// A flow about to begin.
pub struct Start {
    /// The traffic entry.
    pub traffic: TrafficId,
    /// The number of the flow there.
    pub number: u64,
    /// The host that sends.
    pub src: NodeId,
    /// The host that receives.
    pub dst: NodeId,
    /// Set if the flow's connection stands already.
    pub established: bool,
}

impl Simulation {
    /// Begins a flow that carries one message.
    pub(super) fn start_single(&mut self, traffic: TrafficId, number: u64, flow: model::Flow) {
        let start = Start { traffic, number, src: flow.src, dst: flow.dst, established: false };
        let slot = self.open_flow(start);
        let bytes = flow.size.map_or(ENDLESS, Bytes::get);
        let record = self.write(slot, bytes, flow.size.is_some());
        if flow.size.is_none() {
            self.journal.open(record).size = None;
        }
        if let Some(stop) = flow.stop {
            self.net.agenda.outside(stop, EventKind::Stop(record));
        }
    }

    /// Begins a flow: finds its paths and makes both of its ends.
    pub(super) fn open_flow(&mut self, start: Start) -> FlowSlot {
        let Start { traffic, number, src, dst, established } = start;
        let model = &self.model;
        let topology = &model.topology;
        let key = self.router.key(traffic, number);
        let mut ports = Vec::new();
        let mut route = |from, to| {
            let set = self.router.find(topology, from, to, key, &mut ports);
            let first: Vec<PortId> = set.path(&ports, 0).to_vec();
            (self.net.paths.add(&ports, set.hops, set.count), first)
        };
        let (forward, path) = route(src, dst);
        let (backward, reverse) = route(dst, src);
        let framing = model.framing;
        let rate =
            |ports: &[PortId]| ports.iter().map(|port| topology.port(*port).rate).min().unwrap_or(Rate::ZERO);
        let (source, sink) = (HostId::of(src), HostId::of(dst));
        let [full, smallest] = [framing.wire_max(), framing.wire_min].map(|wire| Bytes::new(wire as u64));
        let env = Env {
            line_rate: topology.port(path[0]).rate,
            path_rate: rate(&path),
            base_rtt: base_rtt(topology, &path, &reverse, full, smallest),
            framing,
            established,
            host_flows: self.hosts.load(source),
        };
        let card_rate = topology.port(reverse[0]).rate;
        let entry = &model.traffic[traffic.index()];
        let transport = &entry.transport;
        let make_shim = || transport.shim(&ShimEnv { line_rate: card_rate, framing });
        let shim = self.hosts.shims.of_host(traffic, sink, make_shim);
        let stream = |entity| Rng::stream(model.seed, entity, identity(traffic, number));
        let sender = transport.sender(&env);
        let receiver = transport.receiver(&Env { line_rate: card_rate, host_flows: 0, ..env });
        let sending = End::new(stream(Entity::Sender), source, forward);
        let receiving = End::new(stream(Entity::Receiver), sink, backward);
        let classes = Classes {
            data: ClassId::from_index(entry.class),
            ack: ClassId::from_index(entry.ack_class),
            credit: ClassId::from_index(entry.credit_class),
            cnp: ClassId::from_index(entry.notice_class),
            unscheduled: ClassId::from_index(model.unscheduled_class()),
        };
        let takes_cnps = self.switches_notify && entry.transport.needs().cnps;
        let way_back = takes_cnps.then(|| self.net.paths.add_reverse(forward));
        let flow = Flow::new((sender, sending), (receiver, receiving), (traffic, number), classes);
        let slot = self.hosts.flows.insert(Flow { way_back, shim, ..flow });
        self.net.residents.open(slot, takes_cnps);
        slot
    }

    /// The application at a flow's source hands over a message, its last one if it closes. Answers the message's row.
    pub(super) fn write(&mut self, slot: FlowSlot, bytes: u64, close: bool) -> RecordId {
        let flow = self.hosts.flows.get_mut(slot).expect("the application writes to flows that are open");
        let path = self.net.paths.first(flow.sending.route);
        let row = Record {
            traffic: flow.traffic,
            number: flow.number,
            src: flow.sending.host.node(),
            dst: flow.receiving.host.node(),
            size: Some(bytes),
            start: self.net.now(),
            end: None,
            acknowledged: None,
            ideal: ideal_fct(&self.model.topology, path, self.model.framing, bytes),
            delivered: 0,
            stats: Stats::default(),
            flow: Some(slot),
        };
        let record = self.journal.push(&self.model, row);
        flow.add_message(bytes, record);
        self.shares.start(slot, flow, &self.net.paths, &mut self.net.agenda);
        if flow.messages.len() == 1 {
            if let Some(last) = flow.record.replace(record) {
                self.journal.release(last);
            }
            let host = flow.sending.host;
            self.hosts.add_load(host);
        }
        self.drive_sender(slot, Input::Write { bytes, close });
        record
    }

    /// The application at a flow's source closes it.
    pub(super) fn close(&mut self, slot: FlowSlot) {
        self.drive_sender(slot, Input::Close);
    }

    /// Bytes of a flow were delivered: its messages that lie within them are complete.
    #[inline(never)]
    pub(super) fn note_delivered(&mut self, slot: FlowSlot, bytes: u64) {
        while let Some(record) = self.hosts.flows.pop_delivered(slot, bytes) {
            self.complete(slot, record);
        }
    }

    /// A message was delivered in full.
    fn complete(&mut self, slot: FlowSlot, row: RecordId) {
        let flow = self.hosts.flows.get_mut(slot).expect("it has just been driven");
        let stats = flow.stats();
        let record = self.journal.open(row);
        record.end = Some(self.net.now());
        record.delivered = record.size.expect("a message that is complete has a size");
        record.stats = record.stats.plus(&stats.minus(&flow.counted));
        flow.counted = stats;
        if let Some(next) = flow.messages.front() {
            flow.record = Some(next.record);
            self.journal.release(row);
        }
        self.journal.completed += 1;
        let (traffic, number, host) = (flow.traffic, flow.number, flow.sending.host);
        if flow.messages.is_empty() {
            self.hosts.drop_load(host);
            self.shares.stop(slot, &mut self.net.agenda);
        }
        if self.sources.has_rounds(traffic) {
            self.round_progress(traffic, number);
        }
    }

    /// A flow's time to stop came: its application takes back what was not sent.
    pub(super) fn stop_flow(&mut self, row: RecordId) {
        let live = self.journal.get_mut(row).filter(|record| record.end.is_none());
        let Some(slot) = live.and_then(|record| record.flow) else { return };
        let total = self.drive_sender(slot, Input::Truncate);
        let record = self.journal.open(row);
        record.size = Some(total);
        let Some(flow) = self.hosts.flows.get_mut(slot) else { return };
        let path = self.net.paths.first(flow.sending.route);
        record.ideal = ideal_fct(&self.model.topology, path, self.model.framing, total);
        flow.cut_to(total);
        let (delivered, acknowledged) = (flow.delivered(), flow.acknowledged());
        self.note_acknowledged(slot, acknowledged);
        self.note_delivered(slot, delivered);
        self.hosts.note_finished(slot, &mut self.net);
    }

    /// Ends flows whose ends are done and whose last packet has left the network.
    pub(super) fn retire(&mut self) {
        while let Some(slot) = self.net.residents.next_drained() {
            self.shares.stop(slot, &mut self.net.agenda);
            let Some(mut flow) = self.hosts.remove(slot, &mut self.net, &self.model.topology) else {
                continue;
            };
            if let Some(record) = self.journal.settle(&mut flow) {
                record.flow = None;
            }
        }
    }
}
