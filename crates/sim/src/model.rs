//! The model that a simulation runs: a scenario with every name resolved and every default filled in.
//!
//! [`crate::scenario`] makes a [`Model`] from a file; [`crate::Simulation`] runs it. Code may also build one itself.

use clearway_proto::port::pfc::PfcConfig;
use clearway_proto::port::{CreditShaping, MarkAt, RedConfig};
use clearway_proto::{AnyMechanismConfig, AnyTransport, Framing};
use clearway_topology::{NodeId, PortId, Topology, routing::Policy};
use clearway_units::{Bytes, Span, Time};
use std::sync::Arc;

/// A network, its traffic and what to observe.
#[derive(Clone, Debug)]
pub struct Model {
    /// The seed of all random streams.
    pub seed: u64,
    /// The time at which the run stops at the latest. Without it the run ends when all flows have ended.
    pub stop: Option<Time>,
    /// The hosts, switches and links.
    pub topology: Topology,
    /// The rule that chooses the path of a flow.
    pub routing: Policy,
    /// The sizes of frames by payload.
    pub framing: Framing,
    /// The output ports of switches.
    pub switch: PortModel,
    /// Priority flow control, if any. It needs [`PortModel::shared`] at switches.
    pub pfc: Option<Pfc>,
    /// If true, serialisation times are truncated to whole nanoseconds, as in the ns-3 code of HPCC.
    pub whole_ns: bool,
    /// The hosts and their network cards.
    pub host: HostModel,
    /// The traffic entries, each with its transport.
    pub traffic: Vec<Traffic>,
    /// The changes of link states.
    pub faults: Vec<Fault>,
    /// Random loss as (port, probability per packet).
    pub loss: Vec<(PortId, f64)>,
    /// The series to sample.
    pub samples: Vec<Sample>,
}

impl Model {
    /// The class of *unscheduled* data (sent without a credit): the class with the lowest priority, of several the last.
    pub fn unscheduled_class(&self) -> usize {
        let classes = self.switch.classes.iter().enumerate();
        classes.max_by_key(|(_, class)| class.priority).map_or(0, |(index, _)| index)
    }
}

/// The queues of an output port.
#[derive(Clone, Debug)]
pub struct PortModel {
    /// The limit of all credits together, if any transport uses them.
    pub credit: Option<CreditClass>,
    /// The classes of credits, which share that limit. An empty list stands for one class.
    pub credit_classes: Vec<CreditTurn>,
    /// The classes of all other packets, at least one.
    pub classes: Vec<Class>,
    /// The memory that all ports of a switch share under dynamic thresholds, beside the limits of the classes.
    pub shared: Option<SharedBuffer>,
    /// The mechanism that a transport brings to the ports of switches; `None` at hosts.
    pub mechanism: Option<AnyMechanismConfig>,
}

/// The limit of all credits at a port.
#[derive(Clone, Copy, Debug)]
pub struct CreditClass {
    /// The largest number of credits that wait.
    pub queue: u32,
    /// The rate limit.
    pub shaping: CreditShaping,
    /// The share of the link that credited data may fill; 1 in the papers. The rest is left to data without credits.
    pub share: f64,
}

impl CreditClass {
    /// Makes the limit for credited data on the whole link.
    pub fn new(queue: u32, shaping: CreditShaping) -> CreditClass {
        CreditClass { queue, shaping, share: 1.0 }
    }
}

/// One of several classes of credits at a port, which have priorities and weights (ExpressPass '17, sec. 7, "Multiple
/// traffic classes").
#[derive(Clone, Debug)]
pub struct CreditTurn {
    /// The name of the class.
    pub name: String,
    /// The priority; classes of a lower number go first.
    pub priority: u8,
    /// The weight among classes of the same priority, by credits; at least 1.
    pub weight: u32,
    /// The largest number of its credits that wait.
    pub queue: u32,
    /// The rate limit of the class alone, besides the common one, as a share of the link.
    pub share: Option<f64>,
}

/// A class of packets at a port.
#[derive(Clone, Debug)]
pub struct Class {
    /// The name of the class.
    pub name: String,
    /// The priority; classes of a lower number go first.
    pub priority: u8,
    /// The weight among classes of the same priority, by bytes (deficit round robin); at least 1.
    pub weight: u32,
    /// The largest amount that waits.
    pub limit: Amount,
    /// The rule that sets ECN marks, if any.
    pub marking: Option<Marking>,
    /// The class that its packets join at switches. `None`: the same class. A class with this set is one of hosts alone.
    pub at_switches: Option<usize>,
}

/// An amount of packets in a queue, in bytes on the wire and in packets. A queue is at the limit once it reaches either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amount {
    /// The number of bytes on the wire.
    pub bytes: Bytes,
    /// The number of packets.
    pub packets: u32,
}

impl Amount {
    /// The amount that no queue reaches.
    pub const UNLIMITED: Amount = Amount { bytes: Bytes::MAX, packets: u32::MAX };
}

/// The rule by which a class sets ECN marks.
#[derive(Clone, Copy, Debug)]
pub struct Marking {
    /// The threshold that the queue is compared with.
    pub threshold: Threshold,
    /// The moment of the comparison.
    pub at: MarkAt,
}

/// A marking threshold.
#[derive(Clone, Copy, Debug)]
pub enum Threshold {
    /// A step at the same amount at every port: mark above it.
    Fixed(Amount),
    /// A step at 65 full frames per 10 Gbps of the port's rate, at least 10. These are the values of `K` in the DCTCP
    /// and ExpressPass papers (65 at 10 Gbps, 650 at 100 Gbps) and in PAC's (10 at 1 Gbps).
    ByRate,
    /// Random early detection between two thresholds.
    Red(RedConfig),
}

/// A switch's memory under dynamic thresholds (Choudhury and Hahne, 1998): a queue may hold `alpha` times what is
/// free.
#[derive(Clone, Copy, Debug)]
pub struct SharedBuffer {
    /// The memory of one switch.
    pub size: Bytes,
    /// The multiple of the free memory that one queue may hold.
    pub alpha: f64,
}

/// Priority flow control (IEEE 802.1Qbb).
#[derive(Clone, Debug)]
pub struct Pfc {
    /// The thresholds at which a switch pauses a link and lets it resume.
    pub config: PfcConfig,
    /// The memory for bytes that arrive after a link was paused, for each class of each link. `None`: by rate and delay
    /// ([`headroom`](clearway_proto::port::pfc::headroom)).
    pub headroom: Option<Bytes>,
    /// True for each class, by index, that flow control protects.
    pub lossless: Vec<bool>,
    /// The time after which a port that is paused without a break is reported as a pause storm.
    pub storm: Span,
}

/// The hosts of a network, which are all alike.
#[derive(Clone, Debug)]
pub struct HostModel {
    /// The output port of the network card.
    pub port: PortModel,
    /// The time between the arrival of a packet and its handling. Packets of one flow keep their order.
    pub processing_delay: Delay,
}

/// A distribution of delays.
#[derive(Clone, Debug)]
pub enum Delay {
    /// The same delay for every packet.
    Fixed(Span),
    /// A delay drawn uniformly between two ends.
    Uniform(Span, Span),
    /// A delay drawn by quantiles (probability, delay), which rise from probability 0 to 1 with straight lines between.
    Quantiles(Vec<(f64, Span)>),
}

/// A traffic entry: flows of one transport.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The name of the entry in tables.
    pub name: String,
    /// The transport of the flows, with its parameters.
    pub transport: AnyTransport,
    /// The class of data: an index into [`PortModel::classes`]. Credits have a class of their own.
    pub class: usize,
    /// The class of credits: an index into [`PortModel::credit_classes`], or 0 if that is empty.
    pub credit_class: usize,
    /// The class of congestion notification packets (CNPs).
    pub notice_class: usize,
    /// The class of acknowledgements.
    pub ack_class: usize,
    /// The flows and their times.
    pub pattern: Pattern,
}

/// The flows of a traffic entry.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Flows known in advance, in order of their start.
    Flows(Vec<Flow>),
    /// Flows that arrive by a Poisson process between random pairs.
    Poisson(Poisson),
    /// Rounds of requests and responses.
    Rounds(Rounds),
}

/// A flow that is known before the run.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The time at which the flow starts.
    pub start: Time,
    /// The host that sends.
    pub src: NodeId,
    /// The host that receives.
    pub dst: NodeId,
    /// The size of the flow; `None` for a flow that sends until it is stopped.
    pub size: Option<Bytes>,
    /// The time at which the application stops, if ever.
    pub stop: Option<Time>,
}

/// Flows that arrive by a Poisson process.
#[derive(Clone, Debug)]
pub struct Poisson {
    /// The distribution of flow sizes.
    pub sizes: Arc<crate::traffic::Cdf>,
    /// The mean time between two arrivals, over all hosts, in seconds.
    pub mean_gap_s: f64,
    /// The number of flows.
    pub flows: u64,
    /// The time at which arrivals begin.
    pub start: Time,
    /// The time after which no flow arrives.
    pub stop: Option<Time>,
    /// The hosts between which flows run. Sender and receiver differ and are uniform over these.
    pub hosts: Vec<NodeId>,
}

/// Rounds in which one client asks many workers and each answers, as in incast.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// The host that asks and collects the answers.
    pub client: NodeId,
    /// The hosts that answer. A host that stands here several times has a connection for each.
    pub workers: Vec<NodeId>,
    /// The size of a request. Zero: workers start by themselves at once.
    pub request: Bytes,
    /// The size of a response.
    pub response: Bytes,
    /// The number of first workers that answer with one byte more, since a total need not divide evenly.
    pub longer: u32,
    /// If true, every round opens new connections, with the handshake of the transport; else connections stay open from
    /// the first round to the last and count as established.
    pub reconnect: bool,
    /// The number of rounds.
    pub rounds: u32,
    /// If true, a round starts only when all responses of the last have arrived; else each worker is asked again as soon as
    /// its own response has.
    pub barrier: bool,
    /// The time at which the first round starts.
    pub start: Time,
    /// The pause between the end of a round and the start of the next.
    pub pause: Span,
    /// The largest delay after which a worker is asked in a round. Each delay is drawn uniformly from zero on.
    pub spread: Span,
}

/// A change of a link's state.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The time of the change.
    pub at: Time,
    /// The port whose direction of the link changes; a link that fails in both directions is two faults.
    pub port: PortId,
    /// True if the link comes up, false if it goes down.
    pub up: bool,
}

/// A sampled series.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The name of the series in the results.
    pub name: String,
    /// The time between samples. [`Probe::Rtt`] ignores it, since each acknowledgement is a sample.
    pub every: Span,
    /// The quantity.
    pub what: Probe,
}

/// The quantity that a series shows.
#[derive(Clone, Debug)]
pub enum Probe {
    /// Bits per second delivered in order since the last sample, a series for each flow of a traffic entry (an index into
    /// [`Model::traffic`]).
    Throughput(usize),
    /// The congestion window, rate and smoothed RTT of each live flow of a traffic entry.
    Sender(usize),
    /// The round-trip time that each acknowledgement of a traffic entry tells its sender.
    Rtt(usize),
    /// Bytes of data waiting at each of these ports.
    Queue(Vec<PortId>),
    /// Credits waiting at each of these ports.
    CreditQueue(Vec<PortId>),
    /// Bits per second that left each of these ports since the last sample.
    PortRate(Vec<PortId>),
}
