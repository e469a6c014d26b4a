//! The agent of a receiving host, which pulls.

use super::params::NdpParams;
use super::parking::{PARKED, Parking};
use crate::agent::{Agent, AgentEnv, AgentPacket, AgentStats, Side};
use crate::endpoint::Framing;
use crate::numbered::{FlowTable, pull_tag};
use crate::packet::{Extra, Flags, Header, Kind, Packet};
use clearway_units::{Bytes, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The agent of a receiving host. Each packet that arrives, whole or cut, earns its flow a pull. Flows that have earned any take
/// turns, and pulls leave a little slower than the host's link can take full packets.
#[derive(Debug, Serialize, Deserialize)]
pub struct NdpAgent {
    framing: Framing,
    /// The time between two pulls.
    gap: Span,
    /// The time at which the next pull may leave.
    next: Time,
    flows: FlowTable<Flow>,
    /// The places of flows that have earned pulls, in the order of their turns.
    turns: VecDeque<u32>,
    /// The number of pulls given.
    pulls: u64,
    /// The number of pulls that were earned, and not given because all had arrived.
    dropped: u64,
    /// The control for a network whose core is oversubscribed.
    control: Option<Box<Parking>>,
}

/// A flow that arrives at the host.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
struct Flow {
    /// The pulls that it has earned and not had.
    earned: u32,
    /// The pulls that it has had, beyond 32 bits from 0 on again.
    had: u32,
    /// True if the packet that came last earned no pull.
    parked: bool,
}

impl NdpAgent {
    pub(super) fn new(params: &NdpParams, env: &AgentEnv) -> NdpAgent {
        let packet = env.line_rate.time_to_send(Bytes::new(env.framing.wire_max().into()));
        NdpAgent {
            framing: env.framing,
            gap: Span::from_ps((packet.as_ps() as f64 / params.pull_share) as u64),
            next: Time::ZERO,
            flows: FlowTable::default(),
            turns: VecDeque::new(),
            pulls: 0,
            dropped: 0,
            control: params.oversubscribed_cc.then(|| {
                Box::new(Parking::new(
                    params.window(env.line_rate, env.network_rtt, &env.framing),
                    env.rng.clone(),
                ))
            }),
        }
    }

    /// Gives the flow whose turn it is a pull, and returns its place.
    fn give(&mut self, now: Time) -> Option<u32> {
        let place = self.turns.pop_front()?;
        let flow = self.flows.value(place);
        (flow.earned, flow.had) = (flow.earned - 1, flow.had.wrapping_add(1));
        if flow.earned > 0 {
            self.turns.push_back(place);
        }
        self.next = now.saturating_add(self.gap);
        self.pulls += 1;
        Some(place)
    }

    /// Takes from a flow what it has earned.
    fn clear(&mut self, place: u32) {
        let flow = self.flows.value(place);
        if flow.earned > 0 {
            self.dropped += u64::from(flow.earned);
            flow.earned = 0;
            self.turns.retain(|&other| other != place);
        }
    }
}

impl Agent for NdpAgent {
    fn begin(&mut self, flow: u32, _: Side, _: Time) {
        self.flows.add(flow, Flow::default());
        if let (Some(control), Some(place)) = (&mut self.control, self.flows.place(flow)) {
            control.begin(place);
        }
    }

    fn handle_incoming(&mut self, flow: u32, packet: Packet, _: &Extra, _: Time) -> Option<Packet> {
        if packet.kind() == Kind::Data
            && let Some(place) = self.flows.place(flow)
        {
            let flow = self.flows.value(place);
            let earned = match (&mut self.control, packet.header) {
                (Some(control), Header::PulledData { pull, .. }) => {
                    control.earned(place, &packet, pull, flow.had)
                }
                _ => 1,
            };
            if flow.earned == 0 && earned > 0 {
                self.turns.push_back(place);
            }
            (flow.earned, flow.parked) = (flow.earned + earned, earned == 0);
        }
        Some(packet)
    }

    fn handle_outgoing(&mut self, flow: u32, mut packet: Packet, _: &Extra, now: Time) -> Option<Packet> {
        let (Header::PulledAck { pull, .. } | Header::PulledNack { pull, .. }) = &mut packet.header else {
            return Some(packet);
        };
        let Some(place) = self.flows.place(flow) else { return Some(packet) };
        if packet.flags.has(Flags::LAST) {
            self.clear(place);
        } else if now >= self.next
            && self.turns.len() == 1
            && self.turns[0] == place
            && self.flows.value(place).earned == 1
        {
            // Nobody else waits for a pull, so the answer carries it.
            self.give(now);
        }
        let flow = self.flows.value(place);
        *pull = flow.had;
        packet.flags = packet.flags.with_if(std::mem::take(&mut flow.parked), PARKED);
        Some(packet)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<AgentPacket> {
        if now < self.next {
            return None;
        }
        let place = self.give(now)?;
        let had = self.flows.value(place).had;
        let header = Header::Pull { pull: had, leads: false };
        let packet = Packet::control(header, self.framing.wire(0), now).with_tag(pull_tag(had));
        Some(AgentPacket::made(self.flows.flow(place), packet))
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn next_timeout(&self) -> Time {
        if self.turns.is_empty() { Time::MAX } else { self.next }
    }

    fn forget(&mut self, flow: u32) {
        if let Some(place) = self.flows.place(flow) {
            self.clear(place);
            self.flows.remove(flow);
        }
    }

    fn stats(&self) -> AgentStats {
        AgentStats { released: self.pulls, dropped: self.dropped, ..AgentStats::default() }
    }
}
