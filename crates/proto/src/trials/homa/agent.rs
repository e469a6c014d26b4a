//! The agent of a receiving host, which grants.

use super::lanes::{LANES, scheduled_lane};
use crate::agent::{Agent, AgentPacket, AgentStats, Side};
use crate::endpoint::Framing;
use crate::packet::{Extra, Flags, Header, Packet};
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// The agent of a receiving host. It grants to the messages with the fewest bytes to come, of all senders, and lets
/// each have one window of granted bytes that have not arrived.
#[derive(Debug, Serialize, Deserialize)]
pub struct HomaAgent {
    framing: Framing,
    /// The number of messages that are granted to at a time.
    overcommitment: usize,
    /// The messages under way to this host, the oldest first.
    messages: Vec<Message>,
    /// The messages that need grants, by their places, kept so that no packet asks for memory.
    needy: Vec<usize>,
    /// The number of grants sent.
    grants: u64,
}

/// A message under way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Message {
    flow: u32,
    /// The bytes in all, as far as they were announced.
    length: u64,
    /// The bytes that may be granted beyond those that have arrived.
    window: u64,
    /// The offset after the highest byte that has arrived.
    received: u64,
    /// The offset up to which bytes are granted, or need no grant.
    granted: u64,
    /// The lane of granted data.
    lane: u8,
    /// True if a grant is due.
    is_due: bool,
}

impl Message {
    fn remaining(&self) -> u64 {
        self.length.saturating_sub(self.received)
    }
}

impl HomaAgent {
    pub(super) fn new(framing: Framing, overcommitment: u32) -> HomaAgent {
        let overcommitment = overcommitment as usize;
        HomaAgent { framing, overcommitment, messages: Vec::new(), needy: Vec::new(), grants: 0 }
    }

    /// Grants to the messages whose turn it is. The place of one that needs no more grants is free for the next.
    fn grant(&mut self) {
        while self.grant_once() {}
    }

    /// Grants to the messages whose turn it is. Returns true if one of them needs no more grants since.
    fn grant_once(&mut self) -> bool {
        let HomaAgent { messages, needy, overcommitment, .. } = self;
        needy.clear();
        needy.extend((0..messages.len()).filter(|&at| messages[at].granted < messages[at].length));
        needy.sort_unstable_by_key(|&at| (messages[at].remaining(), at));
        needy.truncate(*overcommitment);
        let mut has_room = false;
        for (rank, &at) in needy.iter().enumerate() {
            let message = &mut messages[at];
            let target = message.received.saturating_add(message.window).min(message.length);
            if target > message.granted {
                message.granted = target;
                message.lane = scheduled_lane(rank, needy.len());
                message.is_due = true;
                has_room |= target == message.length;
            }
        }
        has_room
    }
}

impl Agent for HomaAgent {
    fn begin(&mut self, flow: u32, _: Side, _: Time) {
        let lane = LANES - 1;
        self.messages.push(Message {
            flow,
            length: 0,
            window: 0,
            received: 0,
            granted: 0,
            lane,
            is_due: false,
        });
    }

    fn handle_incoming(&mut self, flow: u32, packet: Packet, _: &Extra, _: Time) -> Option<Packet> {
        let Some(message) = self.messages.iter_mut().find(|message| message.flow == flow) else {
            return Some(packet);
        };
        match packet.header {
            Header::CreditRequest(request) => {
                let is_final = packet.flags.has(Flags::LAST);
                message.length = if is_final { request.written } else { message.length.max(request.written) };
                message.window = request.wanted.saturating_mul(u64::from(self.framing.payload_max));
                // A grant may have been lost with what it would have released.
                message.is_due |= request.session > 0 && message.granted > message.window;
                message.granted = message.granted.max(message.window);
            }
            Header::CreditData { .. } => message.received = message.received.max(packet.range().end),
            _ => return Some(packet),
        }
        self.grant();
        Some(packet)
    }

    fn handle_outgoing(&mut self, _: u32, packet: Packet, _: &Extra, _: Time) -> Option<Packet> {
        Some(packet)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<AgentPacket> {
        let message = self.messages.iter_mut().find(|message| message.is_due)?;
        message.is_due = false;
        self.grants += 1;
        let (number, session) = (message.granted, message.lane.into());
        let header = Header::Credit { number, session, ack: 0, echo: Time::ZERO };
        Some(AgentPacket::made(message.flow, Packet::control(header, self.framing.wire(0), now)))
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn forget(&mut self, flow: u32) {
        self.messages.retain(|message| message.flow != flow);
        self.grant();
    }

    fn stats(&self) -> AgentStats {
        AgentStats { released: self.grants, ..AgentStats::default() }
    }
}
