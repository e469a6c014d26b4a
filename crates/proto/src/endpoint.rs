//! The two ends of a flow: the traits that a transport implements, and the context that its ends are given.
//!
//! Whoever drives an end (the simulator, the Linux datapath, a test) follows one rule after every input
//! ([`Endpoint::handle_packet`], [`Endpoint::handle_timeout`], [`Sender::write`], ...):
//!
//! 1. [`Endpoint::poll_control`] until it returns `None`, sending each packet at once;
//! 2. if a sender's [`Sender::wants_transmit`], put the flow in the network card's round robin, which calls
//!    [`Sender::poll_transmit`] once each time that it is the flow's turn; likewise with
//!    [`Sender::wants_unscheduled`], whose turn comes when nothing else waits;
//! 3. call [`Endpoint::handle_timeout`] at [`Endpoint::next_timeout`]. A call too early is harmless.
//!
//! Control packets leave at once because holding them back would hide congestion; data waits for its turn so
//! that a fast sender does not bury its host's other flows.

use crate::packet::{Extra, Packet};
use crate::rng::Rng;
use clearway_units::{Rate, Span, Time};

/// The context of an end while it handles an input.
pub struct Cx<'a> {
    /// The time of the input.
    pub now: Time,
    /// The end's own stream of randomness.
    pub rng: &'a mut Rng,
    /// The counters of the end.
    pub stats: &'a mut Stats,
}

/// Counters of an end that all transports share, so that tables can compare them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Data packets sent, retransmissions included.
    pub data_packets: u64,
    /// Data packets that carried bytes sent before.
    pub retransmits: u64,
    /// Number of times that a retransmission timer expired with data outstanding.
    pub timeouts: u64,
    /// Credits that left this end.
    pub credits_sent: u64,
    /// Credits that arrived at this end and released a data packet.
    pub credits_used: u64,
    /// Credits that arrived at this end and found nothing to send.
    pub credits_wasted: u64,
    /// Bytes of data that arrived a second time.
    pub duplicate_bytes: u64,
    /// Congestion notifications that reached this end: CNPs and, in transports that react to them, acknowledgements of
    /// marked data.
    pub notifications: u64,
}

macro_rules! each_counter {
    ($($name:ident),+) => {
        impl Stats {
            /// The sum of both, counter by counter.
            pub fn plus(&self, other: &Stats) -> Stats {
                Stats { $($name: self.$name + other.$name),+ }
            }

            /// The difference to `earlier`, counter by counter.
            pub fn minus(&self, earlier: &Stats) -> Stats {
                Stats { $($name: self.$name - earlier.$name),+ }
            }
        }
    };
}
each_counter!(
    data_packets,
    retransmits,
    timeouts,
    credits_sent,
    credits_used,
    credits_wasted,
    duplicate_bytes,
    notifications
);

/// Where a flow runs: what an end may know of its network when it starts.
#[derive(Clone, Copy, Debug)]
pub struct Env {
    /// Rate of this end's own network card.
    pub line_rate: Rate,
    /// Lowest rate of a link on the path, for windows and rates that start from it.
    pub path_rate: Rate,
    /// Round-trip time of a full frame and its answer through an idle network, host processing left out.
    pub base_rtt: Span,
    /// How payload becomes frames.
    pub framing: Framing,
    /// True if the connection is already open (persistent connections); otherwise the flow opens one.
    pub established: bool,
    /// Flows of any transport that this end's host is already sending as the flow starts, of which data is not yet
    /// delivered: what the host knows of the load on its own network card. 0 for a receiving end.
    pub host_flows: u32,
}

/// How payload becomes bytes on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// Most payload that a data packet carries (the MSS), in bytes.
    pub payload_max: u32,
    /// The bytes that a packet adds to its payload: headers, frame check sequence, preamble and gap.
    pub overhead: u32,
    /// Size of the smallest frame on the wire, preamble and gap included, in bytes.
    pub wire_min: u32,
}

impl Framing {
    /// Ethernet with TCP/IPv4 as in the ExpressPass papers: 1460 bytes in a frame of 1538, at least 84.
    pub const ETHERNET: Framing = Framing { payload_max: 1460, overhead: 78, wire_min: 84 };

    /// TCP/IPv4 as ns-2 counts it: 1460 bytes in a packet of 1500, an acknowledgement of 40, nothing for Ethernet.
    pub const NS2: Framing = Framing { payload_max: 1460, overhead: 40, wire_min: 40 };

    /// Size on the wire of a packet with `payload` bytes.
    pub const fn wire(&self, payload: u32) -> u32 {
        let wire = payload + self.overhead;
        if wire < self.wire_min { self.wire_min } else { wire }
    }

    /// Size on the wire of a full data packet.
    pub const fn wire_max(&self) -> u32 {
        self.wire(self.payload_max)
    }
}

/// The quantities of an end that sampled series show. `NaN` where the transport has no such quantity.
#[derive(Clone, Copy, Debug)]
pub struct Gauges {
    /// Congestion window, in bytes.
    pub cwnd: f64,
    /// Sending rate or, for a credit sender, the data rate that its credits ask for, in bit/s.
    pub rate: f64,
    /// Smoothed round-trip time, in seconds.
    pub srtt: f64,
}

impl Gauges {
    /// The gauges of an end that has none of these quantities.
    pub const NONE: Gauges = Gauges { cwnd: f64::NAN, rate: f64::NAN, srtt: f64::NAN };
}

/// One end of a flow. The module's page says how it is driven.
pub trait Endpoint {
    /// A packet for this end arrived. `extra` means something only if the packet is flagged
    /// [`crate::Flags::EXTRA`].
    fn handle_packet(&mut self, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>);

    /// The time of [`Endpoint::next_timeout`] came, or an earlier one.
    fn handle_timeout(&mut self, cx: &mut Cx<'_>);

    /// The next packet that must leave now: acknowledgements, credits, requests. Fills `extra` and flags the
    /// packet if it needs one.
    fn poll_control(&mut self, extra: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet>;

    /// The time at which this end wants [`Endpoint::handle_timeout`]; [`Time::MAX`] for never. A time that is not in the future means at
    /// once: the driver then calls [`Endpoint::handle_timeout`] without letting time pass, but not before the input at
    /// hand is dealt with. So an end whose timeout never moves on stops the clock.
    fn next_timeout(&self) -> Time;

    /// True if this end has nothing left to do and needs nothing more from its peer. It must still bear packets.
    fn is_finished(&self) -> bool;

    /// The quantities that sampled series show.
    fn gauges(&self) -> Gauges {
        Gauges::NONE
    }
}

/// The sending end. It alone sends data.
pub trait Sender: Endpoint {
    /// True if [`Sender::poll_transmit`] would return a packet.
    fn wants_transmit(&self, now: Time) -> bool;

    /// The next data packet; the network card has room for it now.
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet>;

    /// True if [`Sender::poll_unscheduled`] would return a packet.
    fn wants_unscheduled(&self) -> bool {
        false
    }

    /// The next packet of *unscheduled* data (sent without a credit), for the class that yields to all others. Only
    /// transports whose [`Needs`](crate::Needs) ask for that class send any.
    fn poll_unscheduled(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let _ = cx;
        None
    }

    /// The application hands over `bytes` more.
    fn write(&mut self, bytes: u64, cx: &mut Cx<'_>);

    /// The application will write no more: once all is delivered the flow ends.
    fn close(&mut self, cx: &mut Cx<'_>);

    /// The application takes back what was not yet sent for the first time, and closes. Returns how many bytes
    /// the flow then has in all.
    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64;

    /// Bytes from the start of the flow that this end knows to have arrived. 0 in a transport that never learns.
    fn acknowledged(&self) -> u64;

    /// The flow's max-min fair share is `rate` from now on, in bytes on the wire. Only transports whose
    /// [`Needs`](crate::Needs) ask for an oracle hear of it.
    fn set_rate(&mut self, rate: Rate, cx: &mut Cx<'_>) {
        let _ = (rate, cx);
    }
}

/// The receiving end. It sends control packets alone.
pub trait Receiver: Endpoint {
    /// Bytes handed to the application so far: without gaps and in order.
    fn delivered(&self) -> u64;
}

/// Code to be run on the sender inside an [`AnySender`](crate::AnySender). The compiler makes one instance per transport,
/// and a single jump chooses among them.
pub trait SenderVisitor {
    /// The result of the code.
    type Output;
    /// The code.
    fn visit<S: Sender>(self, sender: &mut S) -> Self::Output;
}

/// Code to be run on the receiver inside an [`AnyReceiver`](crate::AnyReceiver), as [`SenderVisitor`] on a sender.
pub trait ReceiverVisitor {
    /// The result of the code.
    type Output;
    /// The code.
    fn visit<R: Receiver>(self, receiver: &mut R) -> Self::Output;
}
