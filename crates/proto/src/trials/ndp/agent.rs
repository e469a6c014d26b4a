//! The agent of a receiving host, which pulls.

use crate::agent::{Agent, AgentPacket, AgentStats, Side};
use crate::endpoint::Framing;
use crate::packet::{Extra, Flags, Header, Packet};
use clearway_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// The agent of a receiving host. Each packet that arrives, whole or cut, earns its flow a pull; the flows that have earned
/// any take turns, and pulls leave at the rate at which the host's link takes in full packets.
#[derive(Debug, Serialize, Deserialize)]
pub struct NdpAgent {
    framing: Framing,
    /// The time between two pulls.
    gap: Span,
    /// The time at which the next pull may leave.
    next: Time,
    flows: Vec<Flow>,
    /// The place of the flow that is pulled next, if it has earned a pull.
    turn: usize,
    /// The number of pulls sent.
    pulls: u64,
}

/// A flow that arrives at the host.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Flow {
    number: u32,
    /// The pulls that it has earned and not yet had.
    earned: u64,
    /// The pulls that it has had.
    had: u32,
}

impl NdpAgent {
    pub(super) fn new(line_rate: Rate, framing: Framing) -> NdpAgent {
        let gap = line_rate.time_to_send(Bytes::new(framing.wire_max().into()));
        NdpAgent { framing, gap, next: Time::ZERO, flows: Vec::new(), turn: 0, pulls: 0 }
    }

    fn flow(&mut self, number: u32) -> Option<&mut Flow> {
        self.flows.iter_mut().find(|flow| flow.number == number)
    }
}

impl Agent for NdpAgent {
    fn begin(&mut self, flow: u32, _: Side, _: Time) {
        self.flows.push(Flow { number: flow, earned: 0, had: 0 });
    }

    fn handle_incoming(&mut self, flow: u32, packet: Packet, _: &Extra, _: Time) -> Option<Packet> {
        if let Some(flow) = self.flow(flow) {
            flow.earned += 1;
        }
        Some(packet)
    }

    fn handle_outgoing(&mut self, flow: u32, packet: Packet, _: &Extra, _: Time) -> Option<Packet> {
        if packet.flags.has(Flags::LAST)
            && let Some(flow) = self.flow(flow)
        {
            // All has arrived.
            flow.earned = 0;
        }
        Some(packet)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<AgentPacket> {
        if now < self.next {
            return None;
        }
        let places = self.flows.len();
        let at = (self.turn..self.turn + places).find(|at| self.flows[at % places].earned > 0)? % places;
        let flow = &mut self.flows[at];
        (flow.earned, flow.had) = (flow.earned - 1, flow.had.wrapping_add(1));
        (self.turn, self.next, self.pulls) = (at + 1, now + self.gap, self.pulls + 1);
        let header = Header::Ack { ack: 0, window: flow.had, rate: Rate::ZERO, echo: Time::ZERO };
        Some(AgentPacket::made(flow.number, Packet::control(header, self.framing.wire(0), now)))
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn next_timeout(&self) -> Time {
        if self.flows.iter().any(|flow| flow.earned > 0) { self.next } else { Time::MAX }
    }

    fn forget(&mut self, flow: u32) {
        self.flows.retain(|known| known.number != flow);
    }

    fn stats(&self) -> AgentStats {
        AgentStats { released: self.pulls, ..AgentStats::default() }
    }
}
