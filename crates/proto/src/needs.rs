//! The needs of a transport at the ports on the path of its packets.

use crate::port::{CreditShaping, RedConfig, TrimVictim};
use clearway_schema::choice;

/// The needs of a transport at ports, which hold unless the scenario sets something else.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Needs {
    /// The rate-limited class for credits, if the transport sends any.
    pub credits: Option<CreditNeeds>,
    /// The ECN marking of data queues, if the transport reacts to marks.
    pub marking: Option<MarkingNeeds>,
    /// The trimming of data queues, if the ends of the transport know packets that were cut to their headers. Such a transport
    /// needs acknowledgements in a class of their own ([`Acks::OwnClass`]), in which headers travel.
    pub trimming: Option<TrimmingNeeds>,
    /// The packet that a queue without room drops where it does not trim, if it may be another one than that which arrives.
    pub drop_victim: Option<TrimVictim>,
    /// A parameter with its value that is made for switches that trim, if one is set.
    pub for_trimming: Option<&'static str>,
    /// A parameter with its value that is made for switches that drop, if one is set.
    pub for_dropping: Option<&'static str>,
    /// A parameter with the value that would make receivers ask for less where the core of the network cuts packets, if they ask
    /// for packets at the rate of their links whatever is cut, and senders have no window that cut packets make smaller.
    pub unmoderated: Option<&'static str>,
    /// The limit of data queues, if the transport is made for one that follows from the network's bandwidth-delay product.
    pub buffer: Option<BufferNeeds>,
    /// True if senders choose the paths of their packets by the entropy of their tags ([`Tag::entropy`](crate::Tag::entropy)),
    /// so that packets of a flow that carry the same one take the same path.
    pub entropy: bool,
    /// The bytes that the sender of a flow keeps of its paths.
    pub path_bytes: u32,
    /// The bytes on the wire that a sender may have in flight at most, if a parameter sets them, whatever the network is like.
    pub window: Option<u64>,
    /// True if the transport needs a network without loss from full buffers, which priority flow control provides.
    pub lossless: bool,
    /// True if senders react to CNPs ([`Kind::Cnp`](crate::Kind::Cnp)). These then have a class of their own, in which
    /// they overtake data. Switches send CNPs to no other flows.
    pub cnps: bool,
    /// The class of acknowledgements: that of data or one ahead of it.
    pub acks: Acks,
    /// The number of lanes that data uses ([`Tag::lane`](crate::Tag::lane)), from 1 to 8. Where it is above 1, each lane has a
    /// class of its own at ports, and lane 0 goes first.
    pub lanes: u8,
    /// The size, in frames, of the queue of *unscheduled* data (sent without a credit), which has the lowest priority.
    /// `None` if the transport sends no such data.
    pub unscheduled_queue: Option<u32>,
    /// The number of bytes that data packets carry besides payload and the network's headers.
    pub stamp: u32,
    /// The size on the wire of the transport's smallest packet, in bytes, if the network's smallest frame
    /// ([`Framing::wire_min`](crate::Framing::wire_min)) may be larger. The ExpressPass authors' credits are so.
    pub smallest_packet: Option<u32>,
    /// True if senders need an oracle that tells them their max-min fair share ([`Sender::set_rate`]). No real network
    /// has one.
    ///
    /// [`Sender::set_rate`]: crate::Sender::set_rate
    pub oracle: bool,
    /// True if a sender asks how many flows its host sends when it begins ([`Env::host_flows`](crate::Env::host_flows)).
    pub host_flows: bool,
    /// The full frames that a sender may have in flight before it hears anything from the network. `None` if credits or
    /// the path decide that.
    pub first_window: Option<u32>,
    /// True if the transport controls the first window of a flow where the flow opens a connection, and only there.
    pub holds_openings: bool,
    /// True if a flow that opens a connection exchanges a SYN for a SYN-ACK before it sends its first byte.
    pub handshake: bool,
    /// The packets of the class of the highest priority that a host sends in a row while others wait, before it sends one of these.
    /// `None` if they all go first.
    pub control_run: Option<u32>,
}

impl Needs {
    /// The needs of a transport that runs with drop-tail queues.
    pub const NOTHING: Needs = Needs {
        credits: None,
        marking: None,
        trimming: None,
        drop_victim: None,
        for_trimming: None,
        for_dropping: None,
        unmoderated: None,
        buffer: None,
        entropy: false,
        path_bytes: 0,
        window: None,
        lossless: false,
        cnps: false,
        acks: Acks::WithData,
        lanes: 1,
        stamp: 0,
        unscheduled_queue: None,
        smallest_packet: None,
        oracle: false,
        host_flows: false,
        first_window: None,
        holds_openings: false,
        handshake: false,
        control_run: None,
    };
    /// The needs of a transport that runs with marking above a threshold `K`.
    pub const ECN: Needs = Needs { marking: Some(MarkingNeeds::Step), ..Needs::NOTHING };
}

/// The marking that a transport needs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MarkingNeeds {
    /// Packets are marked above a threshold `K`, which the scenario sets.
    Step,
    /// Packets are marked by RED, at random between two thresholds.
    Red(RedConfig),
    /// As RED with a probability up to 1, between thresholds that follow from the network's bandwidth-delay product.
    Bdp(BdpMarking),
}

/// Marks at random between two thresholds in units of the network's bandwidth-delay product (BDP), in full frames and rounded
/// up. The BDP is that of the longest path of the network at the rate of a host's link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BdpMarking {
    /// The queue up to which no packet is marked.
    pub min: f64,
    /// The queue above which every packet is marked. In between, the probability rises from 0 to 1.
    pub max: f64,
    /// True if ports of switches that lead to hosts mark too. Where receivers pace their senders, they do not.
    pub last_hop: bool,
}

impl BdpMarking {
    /// The thresholds of Ultra Ethernet 1.0.3, sec. 3.6.17, and of its simulator: 0.2 and 0.8, at every port.
    pub const DEFAULT: BdpMarking = BdpMarking { min: 0.2, max: 0.8, last_hop: true };
}

/// The trimming that a transport needs: a port without room for a packet of data cuts one to its header.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TrimmingNeeds {
    /// The size on the wire of what is left, in bytes. `None`, or a size below it: the network's smallest frame.
    pub to: Option<u32>,
    /// The packet that is cut.
    pub victim: TrimVictim,
    /// The limit of the class of headers, as a multiple of that of data.
    pub headers: f64,
    /// The limit of data at ports of switches that lead to hosts, as a multiple of that of other ports.
    pub last_hop: f64,
    /// Whether a header for which there is no room goes back to its sender. `None` if senders of the transport know no packets
    /// that come back, so that none may.
    pub returns: Option<bool>,
}

impl TrimmingNeeds {
    /// The rule of NDP's simulator and its successors (htsim): a fair coin chooses between the packet that arrives and the newest
    /// one that waits, and the class of headers may hold twice the bytes of data.
    pub const COIN: TrimmingNeeds =
        TrimmingNeeds { to: None, victim: TrimVictim::Coin, headers: 2.0, last_hop: 1.0, returns: None };
    /// The rule of Ultra Ethernet 1.0.3 (sec. 3.6.17, 4.1): the packet that arrives is cut, beyond one BDP and at the last hop
    /// beyond 1.5, and headers are dropped beyond one.
    pub const ARRIVING: TrimmingNeeds =
        TrimmingNeeds { victim: TrimVictim::Arriving, headers: 1.0, last_hop: 1.5, ..TrimmingNeeds::COIN };
}

/// The limit of the data queues that a transport needs, in units of the network's bandwidth-delay product.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BufferNeeds {
    /// The limit where queues trim.
    pub trimming: f64,
    /// The limit where they drop.
    pub dropping: f64,
}

impl BufferNeeds {
    /// One BDP where queues trim, and five where they drop.
    pub const DEFAULT: BufferNeeds = BufferNeeds { trimming: 1.0, dropping: 5.0 };
}

/// The credit class that a transport needs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CreditNeeds {
    /// The capacity of the queue, in credits.
    pub queue: u32,
    /// The rate limit of credits.
    pub shaping: CreditShaping,
}

choice! {
    /// The class of acknowledgements.
    pub enum Acks {
        /// Acknowledgements are in the class of their data.
        WithData = "with-data",
        /// Hosts send acknowledgements ahead of data, also while data is paused; in switches they are in the class of
        /// their data. It is `ACK_HIGH_PRIO 1` of HPCC's ns-3 code, whose script sets it at hosts only.
        FirstAtHosts = "first-at-hosts",
        /// Acknowledgements have a class of their own ahead of data at every port.
        OwnClass = "own-class",
    }
}
