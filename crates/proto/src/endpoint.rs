//! The two ends of a flow: the traits that a transport implements, and the types that its ends are given.
//!
//! The driver of an end (the simulator, the Linux datapath, a test) follows one rule after every input
//! ([`Endpoint::handle_packet`], [`Endpoint::handle_timeout`], [`Sender::write`], ...):
//!
//! 1. It calls [`Endpoint::poll_control`] until that returns `None`, and sends each packet at once.
//! 2. If [`Sender::wants_transmit`] returns true, it lets the flow wait for its turn at the NIC, which calls
//!    [`Sender::poll_transmit`] once each time that it is the flow's turn; the transport's [`Order`](crate::Order) says
//!    whose turn it is. The same holds for [`Sender::wants_unscheduled`], whose turn comes when no other data waits.
//! 3. It calls [`Endpoint::handle_timeout`] at [`Endpoint::next_timeout`]. A call too early is harmless.
//!
//! Control packets leave at once because holding them back would hide congestion. Data waits for its turn so that a
//! fast sender does not delay its host's other flows. Where the transport has an [`Agent`](crate::Agent), packets pass
//! that of their host on the way in and out, by its own rule.

use crate::packet::{Extra, Packet};
use crate::rng::Rng;
use clearway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// The context in which an end handles an input.
pub struct Cx<'a> {
    /// The time of the input.
    pub now: Time,
    /// The end's own stream of randomness.
    pub rng: &'a mut Rng,
    /// The counters of the end.
    pub stats: &'a mut Stats,
}

/// The counters of an end. All transports share them, so that tables can compare transports. Those that stay zero in
/// most flows lie apart, and take memory once one of them does not.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Stats {
    /// The number of data packets sent, including retransmissions.
    pub data_packets: u64,
    /// The number of credits that left this end.
    pub credits_sent: u64,
    /// The number of credits that arrived at this end and released a data packet.
    pub credits_used: u64,
    rare: Option<Box<Rare>>,
}

/// The counters of an end that stay zero in most flows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Rare {
    /// The number of data packets sent with bytes that had been sent before.
    pub retransmits: u64,
    /// The number of times that a retransmission timer expired with data outstanding.
    pub timeouts: u64,
    /// The number of requests for credits and of stops that were sent again because no answer came. No data was lost then:
    /// where many flows share a link, a receiver may take longer to answer than its sender waits.
    pub repeated_signals: u64,
    /// The number of credits that arrived at this end and found no data to send.
    pub credits_wasted: u64,
    /// The bytes of data that arrived a second time.
    pub duplicate_bytes: u64,
    /// The number of notifications of congestion that this end received: CNPs and, in some transports, acknowledgements
    /// of marked data.
    pub notifications: u64,
}

impl Stats {
    /// The counters of an end that did nothing.
    pub const ZERO: Stats = Stats { data_packets: 0, credits_sent: 0, credits_used: 0, rare: None };

    /// Returns the counters that stay zero in most flows.
    #[inline]
    pub fn rare(&self) -> Rare {
        self.rare.as_deref().copied().unwrap_or_default()
    }

    /// Returns the counters that stay zero in most flows, one of which is about to rise.
    #[cold]
    pub fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Records that `bytes` of data arrived a second time.
    #[inline]
    pub fn add_duplicates(&mut self, bytes: u64) {
        if bytes > 0 {
            self.rare_mut().duplicate_bytes += bytes;
        }
    }

    /// Returns the sum of both, counter by counter.
    pub fn plus(&self, other: &Stats) -> Stats {
        self.with(other, |a, b| a + b)
    }

    /// Returns the difference from `earlier`, counter by counter.
    pub fn minus(&self, earlier: &Stats) -> Stats {
        self.with(earlier, |a, b| a - b)
    }

    fn with(&self, other: &Stats, join: impl Fn(u64, u64) -> u64) -> Stats {
        let has_rare = self.rare.is_some() || other.rare.is_some();
        let rare = has_rare.then(|| self.rare().with(other.rare(), &join));
        Stats {
            data_packets: join(self.data_packets, other.data_packets),
            credits_sent: join(self.credits_sent, other.credits_sent),
            credits_used: join(self.credits_used, other.credits_used),
            rare: rare.filter(|rare| *rare != Rare::default()).map(Box::new),
        }
    }
}

impl Rare {
    /// Returns the sum of both, counter by counter.
    #[inline]
    pub fn plus(self, other: Rare) -> Rare {
        self.with(other, |a, b| a + b)
    }

    #[inline]
    fn with(self, other: Rare, join: impl Fn(u64, u64) -> u64) -> Rare {
        Rare {
            retransmits: join(self.retransmits, other.retransmits),
            timeouts: join(self.timeouts, other.timeouts),
            repeated_signals: join(self.repeated_signals, other.repeated_signals),
            credits_wasted: join(self.credits_wasted, other.credits_wasted),
            duplicate_bytes: join(self.duplicate_bytes, other.duplicate_bytes),
            notifications: join(self.notifications, other.notifications),
        }
    }
}

/// The environment of a flow: the facts about its network that an end knows at the start.
#[derive(Clone, Copy, Debug)]
pub struct Env {
    /// The rate of this end's NIC.
    pub line_rate: Rate,
    /// The lowest rate of a link on the path, from which windows and rates start.
    pub path_rate: Rate,
    /// The round-trip time of a full frame and its answer through an idle network, without processing at hosts.
    pub base_rtt: Span,
    /// The base round-trip time between the two hosts of the network that are farthest apart.
    pub network_rtt: Span,
    /// The sizes of frames.
    pub framing: Framing,
    /// True if the connection is open already (persistent connections); else the flow opens one.
    pub established: bool,
    /// The number of flows, of any transport, that this end's host is sending when the flow starts. It tells a sender
    /// the load on its own NIC. It is 0 for a receiving end, and for a transport whose [`Needs`](crate::Needs)
    /// do not ask for it.
    pub host_flows: u32,
}

#[cfg(test)]
impl Env {
    /// Returns the environment of a test's flow, whose path has one rate and whose connection is open already.
    pub(crate) const fn for_test(rate: Rate, base_rtt: Span, framing: Framing) -> Env {
        Env {
            line_rate: rate,
            path_rate: rate,
            base_rtt,
            network_rtt: base_rtt,
            framing,
            established: true,
            host_flows: 0,
        }
    }
}

/// The sizes of packets on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Framing {
    /// The largest payload of a data packet (the MSS), in bytes.
    pub payload_max: u32,
    /// The bytes that a packet adds to its payload: headers, frame check sequence, preamble and gap.
    pub overhead: u32,
    /// The size of the smallest frame on the wire, including preamble and gap, in bytes.
    pub wire_min: u32,
}

impl Framing {
    /// Ethernet with TCP/IPv4 as in the ExpressPass papers: 1460 bytes in a frame of 1538, and frames of at least 84.
    pub const ETHERNET: Framing = Framing { payload_max: 1460, overhead: 78, wire_min: 84 };

    /// TCP/IPv4 as ns-2 counts it: 1460 bytes in a packet of 1500, acknowledgements of 40, and no Ethernet headers.
    pub const NS2: Framing = Framing { payload_max: 1460, overhead: 40, wire_min: 40 };

    /// Returns the size on the wire of a packet with `payload` bytes, in bytes.
    pub const fn wire(&self, payload: u32) -> u32 {
        let wire = payload + self.overhead;
        if wire < self.wire_min { self.wire_min } else { wire }
    }

    /// Returns the size on the wire of a full data packet, in bytes.
    pub const fn wire_max(&self) -> u32 {
        self.wire(self.payload_max)
    }

    /// Returns the share of a full frame on the wire that is payload.
    pub fn payload_share(&self) -> f64 {
        f64::from(self.payload_max) / f64::from(self.wire_max())
    }
}

/// The quantities of an end that samples record. A quantity that the transport does not have is `NaN`.
#[derive(Clone, Copy, Debug)]
pub struct Gauges {
    /// The congestion window, in bytes.
    pub cwnd: f64,
    /// The sending rate or, for a sender of credits, the rate of the data that its credits release, in bit/s.
    pub rate: f64,
    /// The smoothed round-trip time, in seconds.
    pub srtt: f64,
}

impl Gauges {
    /// The gauges of an end that has none of the quantities.
    pub const NONE: Gauges = Gauges { cwnd: f64::NAN, rate: f64::NAN, srtt: f64::NAN };
}

/// One end of a flow. The documentation of the module says how it is driven.
pub trait Endpoint {
    /// Handles a packet that arrived for this end. `extra` is valid only if the packet is flagged
    /// [`crate::Flags::EXTRA`].
    fn handle_packet(&mut self, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>);

    /// Handles the timer at the time of [`Endpoint::next_timeout`], or earlier.
    fn handle_timeout(&mut self, cx: &mut Cx<'_>);

    /// Returns the next control packet, such as an acknowledgement, a credit or a request, which must leave at once. If
    /// the packet needs `extra`, the end fills that and flags the packet. After an input that is a packet with an
    /// [`Extra`], `extra` holds that one until the end has returned a packet that is flagged, so that an end can return
    /// what came by the flag alone; otherwise `extra` is [`Extra::None`].
    fn poll_control(&mut self, extra: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet>;

    /// Returns the time at which [`Endpoint::handle_timeout`] must be called, or [`Time::MAX`] for never. For a time
    /// that is not in the future, the driver calls [`Endpoint::handle_timeout`] in the same instant, after the present
    /// input. So an end whose timeout never advances would stop the clock.
    fn next_timeout(&self) -> Time;

    /// Returns true if this end has nothing left to do and needs nothing more from its peer. Packets may still arrive.
    fn is_finished(&self) -> bool;

    /// Returns the quantities that samples record.
    fn gauges(&self) -> Gauges {
        Gauges::NONE
    }
}

/// The sending end of a flow, which alone sends data.
pub trait Sender: Endpoint {
    /// Returns true if [`Sender::poll_transmit`] would return a packet.
    fn wants_transmit(&self, now: Time) -> bool;

    /// Returns the time at which the pace lets the next packet go, if one waits for that, and the time of the next
    /// timeout for anything else; the earlier of both is [`Endpoint::next_timeout`]. A timeout for the pace alone does
    /// nothing but let [`Sender::wants_transmit`] come true, so a driver may leave it out and see to the flow's turn by
    /// itself.
    fn next_turn(&self) -> (Time, Time) {
        (Time::MAX, self.next_timeout())
    }

    /// Returns the next data packet, for which the NIC has room now.
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet>;

    /// Returns the number of bytes that were written and that this end has yet to send, or to send again. The flow with
    /// the fewest goes first at a NIC whose order is [`Order::FewestRemaining`](crate::Order::FewestRemaining); no other
    /// one asks.
    fn remaining(&self) -> u64 {
        0
    }

    /// Returns the priority of the flow among those of its host. The flow with the lowest goes first at a NIC whose order
    /// is [`Order::ByPriority`](crate::Order::ByPriority); no other one asks.
    fn priority(&self) -> u64 {
        0
    }

    /// Returns true if [`Sender::poll_unscheduled`] would return a packet.
    fn wants_unscheduled(&self) -> bool {
        false
    }

    /// Returns the next packet of *unscheduled* data (sent without a credit), for the class of the lowest priority.
    /// Only transports whose [`Needs`](crate::Needs) ask for that class send such data.
    fn poll_unscheduled(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let _ = cx;
        None
    }

    /// Adds `bytes` that the application writes to the data to send.
    fn write(&mut self, bytes: u64, cx: &mut Cx<'_>);

    /// Closes the flow, which ends when all data is delivered. The application writes no more.
    fn close(&mut self, cx: &mut Cx<'_>);

    /// Takes back the bytes that have never been sent, and closes the flow. Returns the number of bytes that the flow
    /// then has in all.
    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64;

    /// Returns the bytes from the start of the flow that this end knows to have arrived; 0 in a transport without
    /// acknowledgements.
    fn acknowledged(&self) -> u64;

    /// Tells the flow's max-min fair share, as a rate on the wire, to transports whose [`Needs`](crate::Needs) ask for
    /// an oracle.
    fn set_rate(&mut self, rate: Rate, cx: &mut Cx<'_>) {
        let _ = (rate, cx);
    }
}

/// The receiving end of a flow.
pub trait Receiver: Endpoint {
    /// Returns the bytes that have been delivered to the application, in order and without gaps.
    fn delivered(&self) -> u64;
}

/// A generic function on a sender whose type is not known. It is compiled once per transport, so that calls inside are
/// direct.
pub trait SenderVisitor {
    /// The result of the function.
    type Output;
    /// Calls the function.
    fn visit<S: Sender>(self, sender: &mut S) -> Self::Output;
}

/// A generic function on a receiver whose type is not known, as [`SenderVisitor`].
pub trait ReceiverVisitor {
    /// The result of the function.
    type Output;
    /// Calls the function.
    fn visit<R: Receiver>(self, receiver: &mut R) -> Self::Output;
}
