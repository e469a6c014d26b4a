//! A trace after the run: its entries, and what their numbers mean.

use super::entry::{Entry, FlowSpan, Step, Traced, Whose};
use super::recorder::Taken;
use crate::ids::Id;
use crate::metrics::{Table, Values};
use crate::model::{self, Model, TraceFormat};
use clearway_proto::{Family, Framing, Header, Kind};
use clearway_topology::{Port, PortId};
use clearway_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// A trace of a run.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The name.
    pub name: String,
    /// The formats of the files that the scenario asks for.
    pub formats: Vec<TraceFormat>,
    /// The entries, in the order of their times.
    pub entries: Vec<Entry>,
    /// The number of entries beyond the limit of the trace, which were not kept.
    pub left_out: u64,
    /// The flows of which there are entries: a row for each message on connections that stay open.
    pub flows: Vec<FlowSpan>,
    pub(super) scene: Scene,
    /// The table of the entries, once it was asked for.
    table: OnceLock<Arc<Table>>,
}

/// The names and numbers of a network that the entries of a trace refer to.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    /// The ports of which there are entries, with their names.
    pub ports: BTreeMap<PortId, (String, Port)>,
    /// The names of the traffic entries, and the headers that their packets carry.
    pub traffic: Vec<(String, Family)>,
    /// The names of the hosts that send or receive, by their numbers.
    pub hosts: BTreeMap<u32, String>,
    /// The sizes of frames.
    pub framing: Framing,
}

impl Scene {
    fn new(model: &Model, entries: &[Entry]) -> Scene {
        let topology = &model.topology;
        let known = |port: PortId| (port, (topology.port_name(port), *topology.port(port)));
        let traffic = |entry: &model::Traffic| (entry.name.clone(), entry.transport.info().family);
        let flows = entries.iter().filter_map(|entry| entry.what.packet().map(|traced| traced.flow));
        let hosts = flows.flat_map(|flow| [flow.src, flow.dst]);
        Scene {
            hosts: hosts.map(|host| (host.0, topology.name(host).to_owned())).collect(),
            ports: entries.iter().map(|entry| known(entry.port)).collect(),
            traffic: model.traffic.iter().map(traffic).collect(),
            framing: model.framing,
        }
    }

    /// Returns the name of a flow, as samples have it.
    pub fn flow_name(&self, flow: Whose) -> String {
        format!("{}/{}", self.traffic[flow.traffic as usize].0, flow.number)
    }
}

/// Returns the word for a kind of packet.
pub(super) fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Data => "data",
        Kind::Syn => "syn",
        Kind::CreditRequest => "credit-request",
        Kind::CreditStop => "credit-stop",
        Kind::SynAck => "syn-ack",
        Kind::Ack => "ack",
        Kind::Credit => "credit",
        Kind::Nack => "nack",
        Kind::Cnp => "cnp",
        Kind::Pull => "pull",
        Kind::PullRequest | Kind::Probe => "pull-request",
    }
}

/// Returns the word for an event.
fn step_word(step: Step) -> &'static str {
    match step {
        Step::Waits => "enqueue",
        Step::Leaves { .. } => "transmit",
        Step::Marked => "mark",
        Step::Trimmed => "trim",
        Step::Dropped(_) => "drop",
        Step::Obeys => "pause",
    }
}

/// Returns the number of a credit: that of the credit itself, or of the one that data spends.
pub(super) fn credit_of(header: &Header) -> Option<u64> {
    match *header {
        Header::Credit { number, .. } => Some(number),
        Header::CreditData { credit, .. } => Some(credit),
        _ => None,
    }
}

/// Texts that come again and again, as a column of a table.
#[derive(Default)]
struct Words {
    values: Vec<u32>,
    texts: Vec<String>,
    known: BTreeMap<String, u32>,
}

impl Words {
    fn push(&mut self, word: &str) {
        let index = *self.known.entry(word.into()).or_insert_with(|| {
            self.texts.push(word.into());
            self.texts.len() as u32 - 1
        });
        self.values.push(index);
    }

    fn column(self) -> Values {
        Values::Text(self.values, self.texts)
    }
}

impl Trace {
    /// Returns the trace of a run of `model`.
    pub fn new(model: &Model, asked: &model::Trace, taken: Taken) -> Trace {
        let Taken { entries, left_out, mut flows } = taken;
        let scene = Scene::new(model, &entries);
        let packets = entries.iter().filter_map(|entry| entry.what.packet());
        let seen: BTreeSet<(u32, u64)> =
            packets.map(|traced| (traced.flow.traffic, traced.flow.number)).collect();
        flows.retain(|span| seen.contains(&(span.flow.traffic, span.flow.number)));
        Trace {
            name: asked.name.clone(),
            formats: asked.formats.clone(),
            entries,
            left_out,
            flows,
            scene,
            table: OnceLock::new(),
        }
    }

    /// Returns the time at which the last bit of what left reaches the other end of the link; `None` if the entry is of
    /// another event.
    pub fn arrival(&self, entry: &Entry) -> Option<Time> {
        match entry.step {
            Step::Leaves { done } => Some(done + self.scene.ports[&entry.port].1.delay),
            _ => None,
        }
    }

    /// Returns the entries as a table.
    pub fn table(&self) -> &Arc<Table> {
        self.table.get_or_init(|| Arc::new(self.make_table()))
    }

    fn make_table(&self) -> Table {
        let scene = &self.scene;
        let [mut ports, mut events, mut flows, mut kinds, mut reasons] = [(); 5].map(|()| Words::default());
        let entries = || self.entries.iter();
        let packets = || entries().map(|entry| entry.what.packet());
        for (entry, packet) in entries().zip(packets()) {
            ports.push(&scene.ports[&entry.port].0);
            events.push(step_word(entry.step));
            flows.push(&packet.map_or_else(String::new, |traced| scene.flow_name(traced.flow)));
            kinds.push(packet.map_or("pause", |traced| kind_word(traced.packet.kind())));
            reasons.push(match entry.step {
                Step::Dropped(why) => why.phrase(),
                _ => "",
            });
        }
        let of_packets =
            |of: fn(&Traced) -> u64| Values::U64(packets().map(|packet| packet.map_or(0, of)).collect());
        let maybe = |of: fn(&Header) -> Option<u64>| {
            let value = |traced: &Traced| of(&traced.packet.header).map_or(f64::NAN, |v| v as f64);
            Values::F64(packets().map(|packet| packet.map_or(f64::NAN, value)).collect())
        };
        let ps = |time: Option<Time>| time.map_or(f64::NAN, Time::as_secs_f64);
        let done = |entry: &Entry| match entry.step {
            Step::Leaves { done } => Some(done),
            _ => None,
        };
        Table::new(
            "trace",
            [
                (
                    "time_s",
                    "s",
                    "when it happened",
                    Values::F64(entries().map(|e| e.at.as_secs_f64()).collect()),
                ),
                (
                    "time_ps",
                    "ps",
                    "when it happened, exactly",
                    Values::U64(entries().map(|e| e.at.as_ps()).collect()),
                ),
                ("port", "", "the output port, named by both ends of its link", ports.column()),
                (
                    "event",
                    "",
                    "enqueue (the packet joins a queue), transmit (it leaves for the link), mark (ECN CE), drop, or \
                     pause (the port obeys a pause frame)",
                    events.column(),
                ),
                ("reason", "", "why a packet was dropped; empty at other events", reasons.column()),
                (
                    "packet",
                    "",
                    "the packet's number, the same at all ports; 0 for a pause frame",
                    of_packets(|p| p.number),
                ),
                ("flow", "", "the flow, as traffic/number; empty for a pause frame", flows.column()),
                ("kind", "", "the kind of packet", kinds.column()),
                (
                    "class",
                    "",
                    "the packet's class at the port; of a credit, among credits",
                    of_packets(|p| p.class.index() as u64),
                ),
                (
                    "wire_bytes",
                    "B",
                    "the size on the wire, preamble and gap included",
                    of_packets(|p| p.packet.wire as u64),
                ),
                (
                    "payload_bytes",
                    "B",
                    "the bytes of the flow in the packet",
                    of_packets(|p| p.packet.payload() as u64),
                ),
                ("offset", "B", "the offset of the first of them in the flow", maybe(Header::offset)),
                (
                    "ack",
                    "B",
                    "the offset of the next byte that the receiver expects, if the packet tells it",
                    maybe(Header::ack),
                ),
                (
                    "credit",
                    "",
                    "the number of the credit, or of the credit that data spends",
                    maybe(credit_of),
                ),
                (
                    "queue_bytes",
                    "B",
                    "data that waits at the port afterwards",
                    Values::U64(entries().map(|e| e.queued).collect()),
                ),
                (
                    "queue_credits",
                    "",
                    "credits that wait at the port afterwards",
                    Values::U64(entries().map(|e| e.credits as u64).collect()),
                ),
                (
                    "left_s",
                    "s",
                    "when the last bit of what is transmitted has left",
                    Values::F64(entries().map(|e| ps(done(e))).collect()),
                ),
                (
                    "arrives_s",
                    "s",
                    "when it reaches the other end of the link",
                    Values::F64(entries().map(|e| ps(self.arrival(e))).collect()),
                ),
            ],
        )
    }
}
