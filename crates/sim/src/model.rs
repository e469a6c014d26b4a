//! What is simulated, with every name resolved and every default filled in: what a scenario file comes to.
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
    /// Seed of every random stream.
    pub seed: u64,
    /// When to stop at the latest; without it the run ends when every flow has.
    pub stop: Option<Time>,
    /// Hosts, switches and links.
    pub topology: Topology,
    /// How a flow's path is chosen.
    pub routing: Policy,
    /// How payload becomes frames.
    pub framing: Framing,
    /// Output ports of switches.
    pub switch: PortModel,
    /// Flow control between switches and who feeds them, if any. Needs [`PortModel::shared`] at switches.
    pub pfc: Option<Pfc>,
    /// Whether a fraction of a nanosecond in the time that a frame takes on a link is dropped, as the ns-3 code of
    /// HPCC does.
    pub whole_ns: bool,
    /// Hosts and their output ports.
    pub host: HostModel,
    /// Who sends what to whom.
    pub traffic: Vec<Traffic>,
    /// Links that fail.
    pub faults: Vec<Fault>,
    /// Random loss on links: (port, probability per packet).
    pub loss: Vec<(PortId, f64)>,
    /// What to sample.
    pub samples: Vec<Sample>,
}

impl Model {
    /// The class of *unscheduled* data (sent without a credit): the class with the lowest priority, of several the last.
    pub fn unscheduled_class(&self) -> usize {
        let classes = self.switch.classes.iter().enumerate();
        classes.max_by_key(|(_, class)| class.priority).map_or(0, |(index, _)| index)
    }
}

/// An output port's queues.
#[derive(Clone, Debug)]
pub struct PortModel {
    /// The limit of all credits together, if any transport uses them.
    pub credit: Option<CreditClass>,
    /// Classes of credits, which share that limit. Empty: there is one.
    pub credit_classes: Vec<CreditTurn>,
    /// Classes of all other packets, at least one.
    pub classes: Vec<Class>,
    /// A buffer that all ports of a switch share, with dynamic thresholds, beside the limits of the classes.
    pub shared: Option<SharedBuffer>,
    /// The mechanism that a transport brings to the ports of switches; `None` at hosts.
    pub mechanism: Option<AnyMechanismConfig>,
}

/// Credits at a port.
#[derive(Clone, Copy, Debug)]
pub struct CreditClass {
    /// Most credits that wait.
    pub queue: u32,
    /// Rate limit.
    pub shaping: CreditShaping,
    /// Share of the link that the rate limit takes for the whole; 1 as in the papers. Less leaves the rest to data
    /// without credits.
    pub share: f64,
}

impl CreditClass {
    /// Credits for the whole link.
    pub fn new(queue: u32, shaping: CreditShaping) -> CreditClass {
        CreditClass { queue, shaping, share: 1.0 }
    }
}

/// One of several classes of credits at a port: who goes first (ExpressPass '17, sec. 7, "Multiple traffic classes").
#[derive(Clone, Debug)]
pub struct CreditTurn {
    /// Its name.
    pub name: String,
    /// Classes of a lower number go first.
    pub priority: u8,
    /// Share among classes of the same priority, by credits; at least 1.
    pub weight: u32,
    /// Most credits of it that wait.
    pub queue: u32,
    /// A limit of its own, besides the common one, as a share of the link.
    pub share: Option<f64>,
}

/// A class of packets at a port.
#[derive(Clone, Debug)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Classes of a lower number go first.
    pub priority: u8,
    /// Share among classes of the same priority, by bytes (deficit round robin); at least 1.
    pub weight: u32,
    /// How much may wait.
    pub limit: Amount,
    /// Marks, if any.
    pub marking: Option<Marking>,
    /// The class that its packets join at switches, if another: such a class is one of hosts alone.
    pub at_switches: Option<usize>,
}

/// An amount of packets in a queue, counted in bytes on the wire or in packets; the first reached counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amount {
    /// Bytes on the wire.
    pub bytes: Bytes,
    /// Packets.
    pub packets: u32,
}

impl Amount {
    /// No limit.
    pub const UNLIMITED: Amount = Amount { bytes: Bytes::MAX, packets: u32::MAX };
}

/// Step marking of a class.
#[derive(Clone, Copy, Debug)]
pub struct Marking {
    /// Marking threshold `K`.
    pub threshold: Threshold,
    /// When to compare.
    pub at: MarkAt,
}

/// A marking threshold.
#[derive(Clone, Copy, Debug)]
pub enum Threshold {
    /// The same at every port: mark above this.
    Fixed(Amount),
    /// 65 full frames per 10 Gbps of the port's rate, at least 10 (the DCTCP and ExpressPass papers' K: 65 at
    /// 10 Gbps, 650 at 100 Gbps; PAC's 10 at 1 Gbps).
    ByRate,
    /// At random between two thresholds.
    Red(RedConfig),
}

/// A switch's memory under dynamic thresholds (Choudhury and Hahne, 1998): a queue may hold `alpha` times what is
/// free.
#[derive(Clone, Copy, Debug)]
pub struct SharedBuffer {
    /// Memory of one switch.
    pub size: Bytes,
    /// Share of the free memory that one queue may hold.
    pub alpha: f64,
}

/// Priority flow control (IEEE 802.1Qbb).
#[derive(Clone, Debug)]
pub struct Pfc {
    /// When to stop and to go on.
    pub config: PfcConfig,
    /// Memory for what arrives after a link was stopped, for each class of each link. `None`: by rate and delay
    /// ([`headroom`](clearway_proto::port::pfc::headroom)).
    pub headroom: Option<Bytes>,
    /// Which classes it protects, by index.
    pub lossless: Vec<bool>,
    /// A port that is stopped for longer without a break is reported.
    pub storm: Span,
}

/// A host.
#[derive(Clone, Debug)]
pub struct HostModel {
    /// Its network card's output port.
    pub port: PortModel,
    /// Time between the arrival of a packet and its handling. Packets of one flow keep their order.
    pub processing_delay: Delay,
}

/// A distribution of delays.
#[derive(Clone, Debug)]
pub enum Delay {
    /// Always the same; zero by default.
    Fixed(Span),
    /// Uniform between two ends.
    Uniform(Span, Span),
    /// Quantiles (probability, delay), rising, from 0 to 1, with straight lines between.
    Quantiles(Vec<(f64, Span)>),
}

/// A part of the traffic.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Its name, for tables.
    pub name: String,
    /// The transport of its flows, parameters set.
    pub transport: AnyTransport,
    /// The class of its packets: an index into [`PortModel::classes`]. Credits have a class of their own.
    pub class: usize,
    /// The class of its credits: an index into [`PortModel::credit_classes`]; 0 where there are none.
    pub credit_class: usize,
    /// The class of its notifications of congestion.
    pub notice_class: usize,
    /// The class of its acknowledgements.
    pub ack_class: usize,
    /// What it sends.
    pub pattern: Pattern,
}

/// What a part of the traffic sends.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Flows known in advance, in order of their start.
    Flows(Vec<Flow>),
    /// Flows that arrive by a Poisson process between random pairs.
    Poisson(Poisson),
    /// Rounds of requests and responses.
    Rounds(Rounds),
}

/// One flow.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// When it starts.
    pub start: Time,
    /// Who sends.
    pub src: NodeId,
    /// Who receives.
    pub dst: NodeId,
    /// How much; `None` for as long as it may.
    pub size: Option<Bytes>,
    /// When it sends no more, if ever.
    pub stop: Option<Time>,
}

/// Poisson arrivals.
#[derive(Clone, Debug)]
pub struct Poisson {
    /// Flow sizes.
    pub sizes: Arc<crate::traffic::Cdf>,
    /// Mean time between two arrivals, over all hosts, in seconds.
    pub mean_gap_s: f64,
    /// How many flows arrive.
    pub flows: u64,
    /// First arrival process time.
    pub start: Time,
    /// No arrivals after this.
    pub stop: Option<Time>,
    /// Hosts that send and receive; source and destination differ and are uniform over these.
    pub hosts: Vec<NodeId>,
}

/// Barrier-synchronised or free-running rounds: one client asks many workers, each answers.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// Who asks and collects.
    pub client: NodeId,
    /// Who answers; a host may stand here several times, each is a connection of its own.
    pub workers: Vec<NodeId>,
    /// Size of a request; zero: workers start by themselves at once.
    pub request: Bytes,
    /// Size of a response.
    pub response: Bytes,
    /// So many of the first workers answer with a byte more: what is left of a total that does not divide.
    pub longer: u32,
    /// Whether every round opens connections of its own, with whatever handshake the transport has; else they stay
    /// open from the first round to the last and count as established.
    pub reconnect: bool,
    /// How many rounds.
    pub rounds: u32,
    /// Whether a round starts only when all responses of the last have arrived; else each worker is asked again as
    /// soon as its own has.
    pub barrier: bool,
    /// When the first round starts.
    pub start: Time,
    /// Pause between the end of a round and the next.
    pub pause: Span,
    /// When a round starts, each worker is asked later by a random time up to this.
    pub spread: Span,
}

/// A change of a link's state.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// Which direction; both directions are two faults.
    pub port: PortId,
    /// Up again, or down.
    pub up: bool,
}

/// A sampled series.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its name in the results.
    pub name: String,
    /// Time between samples. [`Probe::Rtt`] does not heed it: acknowledgements say when.
    pub every: Span,
    /// What to sample.
    pub what: Probe,
}

/// What a series shows.
#[derive(Clone, Debug)]
pub enum Probe {
    /// Bits per second delivered in order since the last sample, a series for each flow of a part of the traffic
    /// (index into [`Model::traffic`]).
    Throughput(usize),
    /// Congestion window, rate and smoothed RTT of each live flow of a part of the traffic.
    Sender(usize),
    /// The round-trip time that each acknowledgement of a part of the traffic tells its sender.
    Rtt(usize),
    /// Bytes of data waiting at each of these ports.
    Queue(Vec<PortId>),
    /// Credits waiting at each of these ports.
    CreditQueue(Vec<PortId>),
    /// Bits per second that left each of these ports since the last sample.
    PortRate(Vec<PortId>),
}
