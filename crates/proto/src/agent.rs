//! The trait [`Agent`]: a host agent, the part of a transport that spans all of its flows at one host.
//!
//! An agent stands between the NIC of its host and the ends of flows there. A host has one agent for each transport
//! that brings one (and for each set of that transport's parameters), and the flows of all traffic entries share it.
//! An agent is the place of whatever a host decides once for many flows: a pacer of pulls or grants, a budget of bytes
//! that are asked for and have yet to arrive, the choice among messages, acknowledgements that are held back.
//!
//! | what an agent sees | method | what it may do |
//! |---|---|---|
//! | a flow begins, with its sending or its receiving end at this host | [`Agent::begin`] | remember it |
//! | the application of a sending end writes | [`Agent::handle_length`] | remember the length |
//! | a packet arrives for an end | [`Agent::handle_incoming`] | pass it on, changed or not, or consume it |
//! | an end sends a control packet | [`Agent::handle_outgoing`] | pass it on, changed or not, or hold it |
//! | a sending end puts out data | [`Agent::handle_data`] | change it |
//! | its timer expires | [`Agent::handle_timeout`] | |
//! | a flow is over at both ends | [`Agent::forget`] | drop what belongs to it |
//!
//! [`Transport::AGENT`](crate::Transport::AGENT) says which of these an agent asks for: whether hosts have one for the
//! flows that they send, for those that they receive, or for both, and whether it sees data that leaves. Nobody pays
//! for the rest.
//!
//! # The rule of the driver
//!
//! The driver of an agent (the simulator, the Linux datapath, a test) follows one rule:
//!
//! 1. When a flow begins it calls [`Agent::begin`], before any other method with the number of that flow.
//! 2. A packet that arrives for an end goes to [`Agent::handle_incoming`], and what that returns to the end. A packet
//!    that the agent consumed has arrived, but the end never sees it.
//! 3. What an end sends as control ([`Endpoint::poll_control`]) goes to [`Agent::handle_outgoing`], and what that returns
//!    leaves at once. What an end puts out as data, when it is the flow's turn at the NIC, goes to
//!    [`Agent::handle_data`] and leaves at once.
//! 4. After each input of the agent or of an end that it stands before, and when both have been asked for all that they
//!    send in answer to it, the driver calls [`Agent::poll_transmit`] until that returns `None`, and sends each packet
//!    from this host to the other end of the flow that it names. Then it sets the timer to [`Agent::next_timeout`].
//!    After [`Agent::begin`] alone it does neither.
//! 5. It calls [`Agent::handle_timeout`] at [`Agent::next_timeout`]. A call too early is harmless.
//!
//! The driver chooses a number for each flow, and may use it again after [`Agent::forget`]. A packet that comes after
//! that, late or made up, does not pass the agent.
//!
//! In return an agent names only flows that have begun and that it was not told to forget, makes no data, and has no
//! timer while it has no flows.
//!
//! [`Endpoint::poll_control`]: crate::Endpoint::poll_control

use crate::endpoint::Framing;
use crate::packet::{Extra, Packet};
use crate::rng::Rng;
use clearway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// An end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Side {
    /// The sending end.
    Sender,
    /// The receiving end.
    Receiver,
}

/// The flows and packets in which the agents of a transport take part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgentScope {
    /// True if a host has an agent for the flows that it sends.
    pub senders: bool,
    /// True if a host has an agent for the flows that it receives.
    pub receivers: bool,
    /// True if the agent sees the data that sending ends put out ([`Agent::handle_data`]).
    pub data: bool,
}

impl AgentScope {
    /// The scope of a transport without agents.
    pub const NONE: AgentScope = AgentScope { senders: false, receivers: false, data: false };
    /// The scope of agents of receiving hosts.
    pub const RECEIVERS: AgentScope = AgentScope { receivers: true, ..AgentScope::NONE };
    /// The scope of agents of sending hosts, which see the data that leaves.
    pub const SENDERS: AgentScope = AgentScope { senders: true, data: true, ..AgentScope::NONE };
    /// The scope of agents that see all flows of their host, and the data that leaves.
    pub const ALL: AgentScope = AgentScope { senders: true, receivers: true, data: true };

    /// Returns true if there are agents at all.
    pub const fn any(self) -> bool {
        self.senders || self.receivers
    }

    /// Returns true if a host has an agent for flows of which it has this end.
    pub const fn has(self, side: Side) -> bool {
        match side {
            Side::Sender => self.senders,
            Side::Receiver => self.receivers,
        }
    }
}

/// The environment of an agent.
#[derive(Clone, Debug)]
pub struct AgentEnv {
    /// The rate of the host's NIC, above zero: an agent may divide by it.
    pub line_rate: Rate,
    /// The sizes of frames.
    pub framing: Framing,
    /// The round-trip time of a full frame and its answer between the two hosts that are farthest apart, in an idle network.
    pub network_rtt: Span,
    /// The oversubscription of the way from hosts to the core of the network: 1 or more.
    pub oversubscription: f64,
    /// The agent's own stream of randomness.
    pub rng: Rng,
}

#[cfg(test)]
impl AgentEnv {
    /// Returns the environment of a test's agent, with frames of Ethernet.
    pub(crate) fn for_test(line_rate: Rate) -> AgentEnv {
        let rng = Rng::stream(1, crate::rng::Entity::Agent, 0);
        let network_rtt = Span::from_us(10);
        AgentEnv { line_rate, framing: Framing::ETHERNET, network_rtt, oversubscription: 1.0, rng }
    }
}

/// The counters of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AgentStats {
    /// The number of packets that are held.
    pub held: u64,
    /// The largest number of packets held at a time.
    pub held_max: u64,
    /// The number of packets that were passed on, released, or made by the agent itself.
    pub released: u64,
    /// The number of packets that were dropped because others supersede them or their flow is over.
    pub dropped: u64,
}

/// A packet that an agent sends from its host to the other end of a flow.
#[derive(Clone, Copy, Debug)]
pub struct AgentPacket {
    /// The number of the flow.
    pub flow: u32,
    /// The packet. Its kind must be one that the end at this host may send
    /// ([`Kind::is_for_receiver`](crate::Kind::is_for_receiver)), and not data.
    pub packet: Packet,
    /// The fields beside it, valid only if the packet is flagged [`Flags::EXTRA`](crate::Flags::EXTRA).
    pub extra: Extra,
    /// True if the agent made the packet, false if an end did and the agent held it. A credit that an agent made is
    /// counted as sent by the end at this host, and one that was held is counted already.
    pub is_made: bool,
}

impl AgentPacket {
    /// Returns a packet of an end that was held and leaves now.
    pub const fn held(flow: u32, packet: Packet, extra: Extra) -> AgentPacket {
        AgentPacket { flow, packet, extra, is_made: false }
    }

    /// Returns a packet that the agent made.
    pub const fn made(flow: u32, packet: Packet) -> AgentPacket {
        AgentPacket { flow, packet, extra: Extra::None, is_made: true }
    }
}

/// The agent of a transport at one host. The documentation of the module says how it is driven.
pub trait Agent: std::fmt::Debug {
    /// Handles the beginning of a flow, of which this host has one end.
    fn begin(&mut self, flow: u32, side: Side, now: Time) {
        let _ = (flow, side, now);
    }

    /// Handles a change of the length of a flow that this host sends: its application has written `bytes` in all so far,
    /// or has taken back all but these, and writes no more if `is_final`.
    fn handle_length(&mut self, flow: u32, bytes: u64, is_final: bool, now: Time) {
        let _ = (flow, bytes, is_final, now);
    }

    /// Handles a packet that arrived for an end at this host, before the end sees it. [`Kind::is_for_receiver`] tells
    /// for which end it is. The packet that is returned goes to the end; `None` means that the agent consumed it.
    /// `extra` is valid only if the packet is flagged [`Flags::EXTRA`].
    ///
    /// [`Kind::is_for_receiver`]: crate::Kind::is_for_receiver
    /// [`Flags::EXTRA`]: crate::Flags::EXTRA
    fn handle_incoming(&mut self, flow: u32, packet: Packet, extra: &Extra, now: Time) -> Option<Packet>;

    /// Handles a control packet that an end at this host sends: an acknowledgement, a credit, a request, part of a
    /// handshake. The packet that is returned leaves; `None` means that the agent holds it, or has dropped it.
    fn handle_outgoing(&mut self, flow: u32, packet: Packet, extra: &Extra, now: Time) -> Option<Packet>;

    /// Handles a packet of data that a sending end at this host puts out, and which leaves now: the turn at the NIC has come
    /// to its flow, one of `waiting` flows of its class that waited for it. Only agents whose [`AgentScope::data`] is set see
    /// data.
    fn handle_data(&mut self, flow: u32, packet: &mut Packet, waiting: u32, now: Time) {
        let _ = (flow, packet, waiting, now);
    }

    /// Returns the next packet that leaves now: one that was held, or one of the agent's own.
    fn poll_transmit(&mut self, now: Time) -> Option<AgentPacket>;

    /// Handles the timer at the time of [`Agent::next_timeout`], or earlier.
    fn handle_timeout(&mut self, now: Time);

    /// Returns the time at which [`Agent::handle_timeout`] must be called, or [`Time::MAX`] for never.
    fn next_timeout(&self) -> Time;

    /// Drops the packets and the state of a flow that both of its ends have finished.
    fn forget(&mut self, flow: u32);

    /// Returns the counters.
    fn stats(&self) -> AgentStats;
}

/// The agent of transports without one. No value of this type exists.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum NoAgent {}

impl Agent for NoAgent {
    fn handle_incoming(&mut self, _: u32, _: Packet, _: &Extra, _: Time) -> Option<Packet> {
        match *self {}
    }

    fn handle_outgoing(&mut self, _: u32, _: Packet, _: &Extra, _: Time) -> Option<Packet> {
        match *self {}
    }

    fn poll_transmit(&mut self, _: Time) -> Option<AgentPacket> {
        match *self {}
    }

    fn handle_timeout(&mut self, _: Time) {
        match *self {}
    }

    fn next_timeout(&self) -> Time {
        match *self {}
    }

    fn forget(&mut self, _: u32) {
        match *self {}
    }

    fn stats(&self) -> AgentStats {
        match *self {}
    }
}
