//! The model of a simulation, in which every name is resolved and every default filled in.
//!
//! [`crate::scenario`] makes a [`Model`] from a scenario file, and [`crate::Simulation`] runs it. Code can also build
//! one directly.

mod flows;
mod port;

pub use flows::{Flow, Messages};
pub use port::{
    Amount, Class, CreditClass, CreditTurn, LastHop, Marking, Pfc, PortModel, SharedBuffer, Threshold, Trim,
    by_rate,
};

use clearway_proto::port::pfc::PAUSE_WIRE;
use clearway_proto::{AnyTransport, Framing};
use clearway_topology::{NodeId, PortId, Topology, routing::Policy};
use clearway_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A network with its traffic and its samples.
#[derive(Clone, Debug)]
pub struct Model {
    /// The seed of all random streams.
    pub seed: u64,
    /// The latest end of the run. With `None`, the run ends when all flows have ended.
    pub stop: Option<Time>,
    /// The hosts, switches and links.
    pub topology: Arc<Topology>,
    /// The policy by which a flow's path is chosen.
    pub routing: Policy,
    /// The sizes of frames.
    pub framing: Framing,
    /// The output ports of switches.
    pub switch: PortModel,
    /// The flow control of links into switches, if any. It needs [`PortModel::shared`] at switches.
    pub pfc: Option<Pfc>,
    /// If true, serialisation times are truncated to whole nanoseconds, as in HPCC's ns-3 code.
    pub whole_ns: bool,
    /// The hosts and their output ports.
    pub host: HostModel,
    /// The traffic entries.
    pub traffic: Vec<Traffic>,
    /// The links that fail, become slower, and recover, in the order of the times.
    pub faults: Vec<Fault>,
    /// The links with random loss, as (port, probability per packet).
    pub loss: Vec<(PortId, f64)>,
    /// The window of measurement.
    pub measure: Measure,
    /// The series to sample.
    pub samples: Vec<Sample>,
    /// The traces to take.
    pub traces: Vec<Trace>,
}

/// The window of time over which ports and credits are measured.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Measure {
    /// The start of the window. `None` for the start of the first flow.
    pub from: Option<Time>,
    /// The end of the window. `None` for the start of the last flow of Poisson traffic or, without such traffic, for the
    /// end of the run.
    pub until: Option<Time>,
}

impl Model {
    /// Returns the size on the wire of the smallest packet or pause frame that may cross a link, in bytes.
    pub fn smallest_frame(&self) -> u32 {
        let pause = self.pfc.is_some().then_some(PAUSE_WIRE);
        let of_transports = self.traffic.iter().filter_map(|entry| entry.transport.needs().smallest_packet);
        of_transports.chain(pause).fold(self.framing.wire_min, u32::min)
    }

    /// Returns the size on the wire of the largest packet, in bytes.
    pub fn largest_frame(&self) -> u32 {
        let stamps = self.traffic.iter().map(|entry| entry.transport.needs().stamp);
        self.framing.wire_max() + stamps.max().unwrap_or(0)
    }

    /// Returns a port whose link is so fast that truncation to whole nanoseconds leaves no time for the smallest frame,
    /// if the model truncates and there is such a port.
    pub fn timeless_port(&self) -> Option<PortId> {
        let frame = Bytes::new(u64::from(self.smallest_frame()));
        let ports = self.topology.ports().iter().enumerate();
        let (index, port) = ports.rev().max_by_key(|(_, port)| port.rate).filter(|_| self.whole_ns)?;
        (truncated_time(port.rate, frame) == Span::ZERO).then(|| PortId::from_index(index))
    }

    /// Returns the class of data of lane 1, and the number of lanes from there on that transports use and that have classes, which
    /// stand together and are named `lane-1` and so on.
    pub fn lanes(&self) -> (usize, u8) {
        let wanted = self.traffic.iter().map(|entry| entry.transport.needs().lanes).max().unwrap_or(1);
        let classes = &self.switch.classes;
        let Some(first) = classes.iter().position(|class| class.name == "lane-1") else { return (0, 0) };
        let stands = |lane: &u8| {
            let class = classes.get(first + *lane as usize - 1);
            class.is_some_and(|class| class.name == format!("lane-{lane}"))
        };
        (first, (1..wanted).take_while(stands).count() as u8)
    }

    /// Returns the class of *unscheduled* data (sent without a credit): the last of the classes with the lowest
    /// priority.
    pub fn unscheduled_class(&self) -> usize {
        let classes = self.switch.classes.iter().enumerate();
        classes.max_by_key(|(_, class)| class.priority).map_or(0, |(index, _)| index)
    }
}

/// Returns the time that a frame takes on a link where [`Model::whole_ns`] is set.
pub fn truncated_time(rate: Rate, frame: Bytes) -> Span {
    rate.time_to_send_below(frame, Span::from_ns(1))
}

/// The hosts of a model.
#[derive(Clone, Debug)]
pub struct HostModel {
    /// The output port of the NIC.
    pub port: PortModel,
    /// If true, flows put data into the queues of that port as soon as they may send it, as in ns-2. Else data waits at
    /// its flow, and the flows of a host take turns.
    pub queues_data: bool,
    /// The packets of the class of the highest priority that the port sends in a row while others wait, before it sends one of
    /// these. `None` if they all go first. Where classes take turns by weight, it means nothing.
    pub control_run: Option<u32>,
    /// The time between the arrival of a packet and its handling. Packets of one flow keep their order.
    pub processing_delay: Delay,
}

/// A distribution of delays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Delay {
    /// A constant delay.
    Fixed(Span),
    /// A delay that is uniform between two bounds.
    Uniform(Span, Span),
    /// A distribution given by rising quantiles (probability, delay) from 0 to 1, linear in between.
    Quantiles(Vec<(f64, Span)>),
}

/// A traffic entry: flows of one transport that follow one pattern.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The name of the entry in tables.
    pub name: String,
    /// The transport of the flows, with its parameters.
    pub transport: AnyTransport,
    /// The class of packets other than credits, as an index into [`PortModel::classes`].
    pub class: usize,
    /// The class of credits, as an index into [`PortModel::credit_classes`]; 0 if there are none.
    pub credit_class: usize,
    /// The class of CNPs, as an index into [`PortModel::classes`].
    pub notice_class: usize,
    /// The class of acknowledgements, as an index into [`PortModel::classes`].
    pub ack_class: usize,
    /// The pattern of the flows.
    pub pattern: Pattern,
}

impl Traffic {
    /// Returns the reason for which flows of the entry are opened in the instant in which others end, if they are.
    pub fn opens_at_ends(&self) -> Option<&'static str> {
        match &self.pattern {
            Pattern::Rounds(rounds) if rounds.reconnect => {
                Some("rounds open new connections in the instant in which the last ones end")
            }
            Pattern::Messages(messages) if !messages.triggers().is_empty() => {
                Some("flows begin in the instant in which those end for which they wait")
            }
            _ => None,
        }
    }

    /// Returns the entry in words, with its transport.
    pub fn told(&self) -> String {
        format!("traffic {} under {}", self.name, self.transport.info().name)
    }
}

/// The pattern of a traffic entry's flows.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Flows that are listed, in the order of their start.
    Flows(Arc<Vec<Flow>>),
    /// Messages that are listed, of which one connection may carry several.
    Messages(Arc<Messages>),
    /// Flows between random pairs of hosts that arrive by a Poisson process.
    Poisson(Poisson),
    /// Rounds of requests and responses.
    Rounds(Rounds),
}

/// Flows that arrive by a Poisson process.
#[derive(Clone, Debug)]
pub struct Poisson {
    /// The distribution of flow sizes.
    pub sizes: Arc<crate::traffic::Cdf>,
    /// The mean time between two arrivals in the whole network, in seconds.
    pub mean_gap_s: f64,
    /// The number of flows.
    pub flows: u64,
    /// The time at which the process starts.
    pub start: Time,
    /// The time after which no flows arrive, if there is one.
    pub stop: Option<Time>,
    /// The hosts over which source and destination are uniform; the two always differ.
    pub hosts: Vec<NodeId>,
}

/// Rounds in which one client sends a request to each of many workers, and each of them answers.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// The host that sends requests and receives responses.
    pub client: NodeId,
    /// The hosts that respond. A host that is listed several times has as many connections.
    pub workers: Vec<NodeId>,
    /// The size of a request. With zero there are no requests, and workers respond at the start of a round.
    pub request: Bytes,
    /// The size of a response.
    pub response: Bytes,
    /// The number of workers, counted from the first, whose responses have one byte more, so that a total that does not
    /// divide evenly is met.
    pub longer: u32,
    /// If true, every round opens new connections, with the transport's handshake; else connections stay open from the
    /// first round to the last.
    pub reconnect: bool,
    /// The number of rounds.
    pub rounds: u32,
    /// If true, a round starts when all responses of the round before have arrived; else each worker gets its next
    /// request as soon as its own response has arrived.
    pub barrier: bool,
    /// The start of the first round.
    pub start: Time,
    /// The pause between the end of a round and the start of the next.
    pub pause: Span,
    /// The largest random delay of each worker's request after the start of a round.
    pub spread: Span,
}

/// A change of a link's state.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The time of the change.
    pub at: Time,
    /// The direction of the link that changes. A change of both directions is two faults.
    pub port: PortId,
    /// The state of the link from then on.
    pub change: LinkChange,
    /// The time from which routing knows of it; `None` if it never does. Routing takes no notice of a link's rate.
    pub noticed: Option<Time>,
    /// True if the limits of the port's queues and its thresholds of marks are those of the rate that the link has from the start.
    pub scales: bool,
}

/// The state of one direction of a link after a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkChange {
    /// The link is down: what waits for it, and what is handed to it, is lost.
    Down,
    /// The link is up again after it was down.
    Up,
    /// The link sends the frames that begin from now on at this rate, which is not zero and at most the rate that the
    /// topology gives it. Whatever is configured by the rate of a port stays as it is: thresholds of marks (unless the fault
    /// [scales](Fault::scales) them) and of flow control, the limit of credits, the rate that mechanisms and telemetry know.
    Rate(Rate),
}

impl Fault {
    /// Returns a failure or a recovery that routing knows of at once.
    pub const fn at_once(at: Time, port: PortId, up: bool) -> Fault {
        let change = if up { LinkChange::Up } else { LinkChange::Down };
        Fault { at, port, change, noticed: Some(at), scales: false }
    }

    /// Returns a change of a link's rate.
    pub const fn rate(at: Time, port: PortId, rate: Rate) -> Fault {
        Fault { at, port, change: LinkChange::Rate(rate), noticed: None, scales: false }
    }

    /// Returns the rate for which the queues of a port are configured, if it is not that of the topology.
    pub fn configured(&self, port: PortId) -> Option<Rate> {
        match self.change {
            LinkChange::Rate(rate) if self.scales && self.port == port => Some(rate),
            _ => None,
        }
    }

    /// Returns true if the link is up after the change, false if it is down; `None` if only its rate changes.
    pub const fn is_up(&self) -> Option<bool> {
        match self.change {
            LinkChange::Down => Some(false),
            LinkChange::Up => Some(true),
            LinkChange::Rate(_) => None,
        }
    }
}

/// A sampled series.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The name of the series in the results.
    pub name: String,
    /// The time between samples. [`Probe::Rtt`] ignores it, since each acknowledgement gives a sample.
    pub every: Span,
    /// The quantity to sample.
    pub what: Probe,
}

/// A trace: the packets to note at ports, event by event.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The name of the trace in the results.
    pub name: String,
    /// The ports that the trace covers.
    pub ports: Vec<PortId>,
    /// The flows whose packets are noted; `None` for all.
    pub flows: Option<Vec<FlowRange>>,
    /// The time of the first event that is noted.
    pub from: Time,
    /// The time of the last event that is noted; `None` for the end of the run.
    pub until: Option<Time>,
    /// The largest number of events that are kept. Later ones are counted, and left out.
    pub limit: u64,
    /// The files that are written of the trace.
    pub formats: Vec<TraceFormat>,
}

/// Flows of a traffic entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FlowRange {
    /// The index of the traffic entry in [`Model::traffic`].
    pub traffic: usize,
    /// The numbers of the flows.
    pub numbers: std::ops::RangeInclusive<u64>,
}

/// A format of files of traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceFormat {
    /// pcapng, which Wireshark and tshark read.
    Pcapng,
    /// A trace of Perfetto.
    Perfetto,
}

/// A quantity that is sampled. The index of a traffic entry is its index in [`Model::traffic`].
#[derive(Clone, Debug)]
pub enum Probe {
    /// The rate of in-order delivery since the last sample, in bit/s, for each flow of a traffic entry.
    Throughput(usize),
    /// The congestion window, rate and smoothed RTT of each live flow of a traffic entry.
    Sender(usize),
    /// The round-trip time that a sender measures with each acknowledgement, for the flows of a traffic entry.
    Rtt(usize),
    /// The bytes of data that wait at each of these ports.
    Queue(Vec<PortId>),
    /// The number of credits that wait at each of these ports.
    CreditQueue(Vec<PortId>),
    /// The rate at which bytes left each of these ports since the last sample, in bit/s.
    PortRate(Vec<PortId>),
    /// The congestion window of each live flow of a traffic entry.
    Window(usize),
    /// The rate at which each sender of a traffic entry paces its data, in bit/s.
    SendingRate(usize),
    /// The credits that each receiver of a traffic entry sent per second since the last sample, and the rate of data that
    /// its feedback law allows now.
    CreditRate(usize),
    /// The packets that each sender of a traffic entry repeated since the last sample, and the expiries of its timer.
    Losses(usize),
    /// The notifications of congestion that each sender of a traffic entry heard of since the last sample.
    Notices(usize),
    /// The packets that each of these ports dropped since the last sample, by reason.
    Drops(Vec<PortId>),
    /// The packets that each of these ports marked since the last sample.
    Marks(Vec<PortId>),
    /// The packets that each of these ports cut to their headers since the last sample.
    Trims(Vec<PortId>),
    /// The credits that each of these ports dropped by the credit limit since the last sample.
    CreditDrops(Vec<PortId>),
    /// The number of times that flow control stopped a class of each of these ports since the last sample, and the time
    /// for which any was stopped.
    Pauses(Vec<PortId>),
}

impl Probe {
    /// Returns the traffic entry whose flows the probe looks at, if it looks at flows.
    pub fn traffic(&self) -> Option<usize> {
        match self {
            Probe::Throughput(entry)
            | Probe::Sender(entry)
            | Probe::Rtt(entry)
            | Probe::Window(entry)
            | Probe::SendingRate(entry)
            | Probe::CreditRate(entry)
            | Probe::Losses(entry)
            | Probe::Notices(entry) => Some(*entry),
            _ => None,
        }
    }

    /// Returns the ports that the probe looks at, if it looks at ports.
    pub fn ports(&self) -> Option<&[PortId]> {
        match self {
            Probe::Queue(ports)
            | Probe::CreditQueue(ports)
            | Probe::PortRate(ports)
            | Probe::Drops(ports)
            | Probe::Marks(ports)
            | Probe::Trims(ports)
            | Probe::CreditDrops(ports)
            | Probe::Pauses(ports) => Some(ports),
            _ => None,
        }
    }

    /// Returns the most rows that a sample has for each flow or port.
    pub fn rows(&self) -> u64 {
        match self {
            Probe::Sender(_) | Probe::Drops(_) => 3,
            Probe::CreditRate(_) | Probe::Losses(_) | Probe::Pauses(_) => 2,
            _ => 1,
        }
    }
}
