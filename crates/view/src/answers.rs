//! The answers about a run, as they stand in JSON. Numbers that a transport does not have are `null`.

use crate::facts::facts;
use clearway_findings::Facts;
use clearway_sim::model::Model;
use clearway_sim::{ClassView, Ended, FinishedFlow, FlowView, PacketView, PortView, Results, Simulation};
use clearway_topology::PortId;
use serde::Serialize;
use std::collections::BTreeMap;

/// The progress of a run.
#[derive(Serialize)]
pub struct Progress {
    now_ps: u64,
    ended: Option<&'static str>,
    events: u64,
    link_transmissions: u64,
    cnps: u64,
    flows_started: u64,
    flows_completed: u64,
}

impl Progress {
    /// Returns the progress of a simulation so far.
    pub fn new(simulation: &Simulation) -> Progress {
        let progress = simulation.progress();
        Progress {
            now_ps: progress.now.as_ps(),
            ended: simulation.ended().map(word),
            events: progress.events,
            link_transmissions: progress.link_transmissions,
            cnps: progress.cnps,
            flows_started: progress.flows_started,
            flows_completed: progress.flows_completed,
        }
    }
}

/// A port with what waits there.
#[derive(Serialize)]
pub struct Port {
    queue_bytes: u64,
    credit_queue_bytes: u64,
    by_class: Vec<Class>,
    queued: Vec<Packet>,
    drops: BTreeMap<&'static str, u64>,
    counters: Counters,
    paused: bool,
    up: bool,
    transmitting: bool,
}

#[derive(Serialize)]
struct Class {
    class: String,
    credits: bool,
    bytes: u64,
    packets: u64,
    paused: bool,
}

#[derive(Serialize)]
struct Packet {
    flow: Option<u32>,
    kind: &'static str,
    bytes: u32,
    marked: bool,
    retransmission: bool,
    trimmed: bool,
    entropy: Option<u16>,
}

#[derive(Serialize)]
struct Counters {
    sent_packets: u64,
    sent_bytes: u64,
    sent_data_bytes: u64,
    sent_credits: u64,
    marks: u64,
    trims: u64,
    pauses_sent: u64,
    pauses: u64,
    paused_ps: u64,
    cnps: u64,
}

impl Port {
    /// Returns a port of a simulation, with at most so many of the packets that wait.
    pub fn new(simulation: &Simulation, port: PortId, most: usize) -> Port {
        let view = simulation.view().port(port);
        let class = |view: ClassView<'_>| Class {
            class: view.name.to_owned(),
            credits: view.is_credit,
            bytes: view.bytes,
            packets: view.packets,
            paused: view.is_paused,
        };
        let packet = |packet: PacketView| Packet {
            flow: packet.flow,
            kind: packet.kind.name(),
            bytes: packet.wire,
            marked: packet.marks.is_marked(),
            retransmission: packet.marks.is_retransmission(),
            trimmed: packet.marks.is_trimmed(),
            entropy: packet.entropy,
        };
        Port {
            queue_bytes: view.queue_bytes,
            credit_queue_bytes: view.credit_queue_bytes,
            by_class: simulation.view().classes(port).map(class).collect(),
            queued: simulation.view().queued(port).into_iter().take(most).map(packet).collect(),
            drops: view.drops.iter().map(|(why, count)| (why.word(), count)).collect(),
            counters: Counters::new(&view),
            paused: view.is_paused,
            up: view.is_up,
            transmitting: view.is_transmitting,
        }
    }
}

impl Counters {
    fn new(view: &PortView) -> Counters {
        Counters {
            sent_packets: view.sent_packets,
            sent_bytes: view.sent_bytes,
            sent_data_bytes: view.sent_data_bytes,
            sent_credits: view.sent_credits,
            marks: view.marks,
            trims: view.trims,
            pauses_sent: view.pauses_sent,
            pauses: view.pauses,
            paused_ps: view.paused_for.as_ps(),
            cnps: view.cnps,
        }
    }
}

/// A flow.
#[derive(Serialize)]
pub struct Flow {
    flow: Option<u32>,
    entry: String,
    number: u64,
    source: u32,
    destination: u32,
    transport: &'static str,
    size_bytes: Option<u64>,
    delivered_bytes: u64,
    start_ps: u64,
    end_ps: Option<u64>,
    ideal_ps: u64,
    path: Vec<u32>,
    window_bytes: f64,
    rate_bps: f64,
    srtt_ps: f64,
    retransmits: u64,
    timeouts: u64,
    notices: u64,
    state: &'static str,
}

impl Flow {
    /// Returns a flow that takes a path.
    pub fn new(model: &Model, view: FlowView, path: &[PortId]) -> Flow {
        let entry = &model.traffic[view.traffic];
        Flow {
            flow: view.row,
            entry: entry.name.clone(),
            number: view.number,
            source: view.source.0,
            destination: view.destination.0,
            transport: entry.transport.info().name,
            size_bytes: view.size,
            delivered_bytes: view.delivered,
            start_ps: view.start.as_ps(),
            end_ps: view.end.map(|end| end.as_ps()),
            ideal_ps: view.ideal.as_ps(),
            path: path.iter().map(|port| port.0).collect(),
            window_bytes: view.window,
            rate_bps: view.rate,
            srtt_ps: view.srtt * 1e12,
            retransmits: view.retransmits,
            timeouts: view.timeouts,
            notices: view.notifications,
            state: view.state.name(),
        }
    }
}

/// Flows that finished.
#[derive(Serialize)]
pub struct Finished {
    rows: Vec<FinishedRow>,
    next: usize,
}

#[derive(Serialize)]
struct FinishedRow {
    flow: u32,
    entry: String,
    number: u64,
    source: u32,
    destination: u32,
    size_bytes: u64,
    start_ps: u64,
    fct_ps: u64,
    ideal_ps: u64,
    slowdown: f64,
}

impl Finished {
    /// Rows, and the number of the row from which to ask on.
    pub fn new(model: &Model, rows: &[FinishedFlow], next: usize) -> Finished {
        let row = |flow: &FinishedFlow| FinishedRow {
            flow: flow.row,
            entry: model.traffic[flow.traffic].name.clone(),
            number: flow.number,
            source: flow.source.0,
            destination: flow.destination.0,
            size_bytes: flow.size,
            start_ps: flow.start.as_ps(),
            fct_ps: flow.fct().as_ps(),
            ideal_ps: flow.ideal.as_ps(),
            slowdown: flow.slowdown(),
        };
        Finished { rows: rows.iter().map(row).collect(), next }
    }
}

/// The scenario with all defaults filled in.
#[derive(Serialize)]
pub struct Resolved {
    /// The scenario in TOML.
    pub text: String,
}

/// The hash and the totals of a run.
#[derive(Serialize)]
pub struct Outcome {
    hash: String,
    summary: Totals,
    /// What the operation `findings` makes sentences of.
    facts: Facts,
}

type Book = BTreeMap<&'static str, u64>;

#[derive(Serialize)]
struct Totals {
    ended: &'static str,
    end_ps: u64,
    events: u64,
    link_transmissions: u64,
    flows_started: u64,
    flows_completed: u64,
    cnps: u64,
    measure: Option<Window>,
    packets: Book,
    bytes: Book,
    credits: Book,
    flow_control: Option<FlowControl>,
    livelock: Option<Livelock>,
}

/// The window of measurement, where the scenario sets it: flows count that start in it.
#[derive(Serialize)]
struct Window {
    from_ps: u64,
    until_ps: u64,
}

/// The time at which a run stood still, and what went on there.
#[derive(Serialize)]
struct Livelock {
    at_ps: u64,
    what: String,
}

#[derive(Serialize)]
struct FlowControl {
    pauses: u64,
    storms: Vec<String>,
    deadlock: Vec<String>,
    circle: Vec<String>,
}

impl Outcome {
    /// Returns the outcome of a run whose books balance.
    pub fn new(results: &Results, seed: u64) -> Outcome {
        let summary = &results.summary;
        let book = |lines: &[(&'static str, u64)]| lines.iter().copied().collect();
        let control = summary.flow_control.as_ref();
        let summary = Totals {
            ended: word(summary.ended),
            end_ps: summary.end.as_ps(),
            events: summary.events,
            link_transmissions: summary.link_transmissions,
            flows_started: summary.flows_started,
            flows_completed: summary.flows_completed,
            cnps: summary.cnps,
            measure: Some(&summary.measured)
                .filter(|window| window.is_set)
                .map(|window| Window { from_ps: window.from.as_ps(), until_ps: window.until.as_ps() }),
            packets: book(&summary.packets),
            bytes: book(&summary.bytes),
            credits: book(&summary.credits),
            flow_control: control.map(|control| FlowControl {
                pauses: control.pauses,
                storms: control.storms.clone(),
                deadlock: control.deadlock.clone(),
                circle: control.circle.clone(),
            }),
            livelock: summary
                .livelock
                .as_ref()
                .map(|livelock| Livelock { at_ps: livelock.at.as_ps(), what: livelock.what.clone() }),
        };
        Outcome { hash: results.hash(), facts: facts(results, seed, summary.ended), summary }
    }
}

/// Returns the word for the reason of an end.
fn word(reason: Ended) -> &'static str {
    match reason {
        Ended::Complete => "complete",
        Ended::Stopped => "stopped",
        Ended::Stalled => "stalled",
        Ended::Deadlocked => "deadlocked",
        Ended::Livelocked => "livelocked",
        Ended::OutOfMemory => "out of memory",
        Ended::Interrupted => "interrupted",
    }
}
