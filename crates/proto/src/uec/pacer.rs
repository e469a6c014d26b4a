//! The agent of a host: it paces the pulls of all flows that arrive there, and shares out the demand of those that leave.

use super::config::PacerConfig;
use super::credit::divide_up;
use super::rate::RateControl;
use crate::agent::{Agent, AgentPacket, AgentStats, Side};
use crate::numbered::FlowTable;
use crate::packet::{Extra, Flags, Header, Kind, Packet};
use crate::tag::Tag;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The number of entropies over which pulls take turns.
const PULL_PATHS: u16 = 128;

/// A flow that arrives at the host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
struct Flow {
    /// The pull that its sender wants to have come to.
    target: u32,
    /// The number of its last pull.
    granted: u32,
    /// True while it waits in turn for a pull that it asked for.
    is_active: bool,
    /// True while it waits in turn for a pull ahead of its demand.
    is_idle: bool,
    /// True once all of the flow has arrived, and an ACK that says so has left: it needs no pull any more.
    is_done: bool,
    /// True once the flow is forgotten while it has turns left.
    is_gone: bool,
}

impl Flow {
    /// Returns the units that it asks for; below zero if it was granted more.
    fn lacks(&self) -> i32 {
        self.target.wrapping_sub(self.granted) as i32
    }
}

/// The agent of a host.
#[derive(Debug, Serialize, Deserialize)]
pub struct Pacer {
    config: PacerConfig,
    /// The controller of the rate, where the core is oversubscribed.
    control: Option<Box<RateControl>>,
    /// The flows that arrive.
    flows: FlowTable<Flow>,
    /// The places of the flows that wait for a pull that they asked for, and of those that wait for one ahead of demand.
    active: VecDeque<u32>,
    idle: VecDeque<u32>,
    /// The time at which the next pull may leave.
    next: Time,
    pulls: u64,
}

impl Pacer {
    /// Returns the agent of a host.
    pub(super) fn new(config: PacerConfig, control: Option<RateControl>) -> Pacer {
        Pacer {
            config,
            control: control.map(Box::new),
            flows: FlowTable::default(),
            active: VecDeque::new(),
            idle: VecDeque::new(),
            next: Time::ZERO,
            pulls: 0,
        }
    }

    /// Returns the time at which the next pull may leave, or [`Time::MAX`] if no flow waits for one.
    pub fn next_pull(&self) -> Time {
        if self.active.is_empty() && self.idle.is_empty() { Time::MAX } else { self.next }
    }

    /// Returns the factor by which pulls slow down.
    pub fn rate(&self) -> f64 {
        self.control.as_ref().map_or(1.0, |control| control.rate())
    }

    /// Lets a flow wait in turn for a pull.
    fn activate(&mut self, place: u32) {
        let flow = self.flows.value(place);
        if flow.is_done && !self.config.turns_outlast {
            return;
        }
        if !std::mem::replace(&mut flow.is_active, true) {
            self.active.push_back(place);
        }
        if flow.is_idle && !self.config.stays_idle {
            flow.is_idle = false;
            self.idle.retain(|&other| other != place);
        }
    }

    /// Lets a flow wait in turn for a pull ahead of its demand: once, or in the simulator once more.
    fn rest(&mut self, place: u32) {
        let flow = self.flows.value(place);
        if flow.is_done && !self.config.turns_outlast {
            return;
        }
        let was_idle = std::mem::replace(&mut flow.is_idle, true);
        if !was_idle || self.config.stays_idle {
            self.idle.push_back(place);
        }
    }

    /// All of a flow has arrived, and its sender is being told: it waits for no pull any more, or in the simulator goes on taking
    /// its turns.
    fn finish(&mut self, place: u32) {
        self.flows.value(place).is_done = true;
        if !self.config.turns_outlast {
            self.leave(place);
        }
    }

    /// Takes a flow out of all turns.
    fn leave(&mut self, place: u32) {
        let flow = self.flows.value(place);
        let (is_active, is_idle) = (std::mem::take(&mut flow.is_active), std::mem::take(&mut flow.is_idle));
        if is_active {
            self.active.retain(|&other| other != place);
        }
        if is_idle || self.config.stays_idle {
            self.idle.retain(|&other| other != place);
        }
    }

    /// Returns true if a flow waits in turn for a pull.
    fn has_turns(&self, place: u32) -> bool {
        self.active.contains(&place) || self.idle.contains(&place)
    }

    /// Takes the demand that a packet tells.
    fn hear(&mut self, flow: u32, target: u32, asks: bool) {
        let Some(place) = self.flows.place(flow) else { return };
        let known = &mut self.flows.value(place).target;
        let rises = target.wrapping_sub(*known) as i32 > 0;
        if rises {
            *known = target;
        }
        if rises || asks {
            self.activate(place);
        }
    }

    /// Pulls for the flow at a place, whose turn it is: for one that asks, what it asks for. Returns the units granted.
    fn grant(&mut self, place: u32, leads: bool) -> u32 {
        let flow = self.flows.value(place);
        let most = self.config.pull_quanta;
        let units = if leads { most } else { flow.lacks().clamp(0, most as i32) as u32 };
        flow.granted = flow.granted.wrapping_add(units);
        if leads {
            flow.is_idle = false;
            if flow.lacks() <= 0 && f64::from(-flow.lacks()) < self.config.ahead {
                self.rest(place);
            }
        } else {
            flow.is_active = false;
            if flow.lacks() > 0 { self.activate(place) } else { self.rest(place) }
        }
        units
    }
}

impl Agent for Pacer {
    fn begin(&mut self, flow: u32, side: Side, now: Time) {
        if side == Side::Sender {
            return;
        }
        self.flows.add(flow, Flow::default());
        if let Some(control) = &mut self.control {
            control.run(true, now);
        }
    }

    fn handle_incoming(&mut self, flow: u32, packet: Packet, _: &Extra, _: Time) -> Option<Packet> {
        match packet.header {
            Header::PulledData { target, .. } => {
                if let Some(control) = &mut self.control {
                    control.count(&packet);
                }
                self.hear(flow, target, false);
            }
            Header::PullRequest { target, .. } => self.hear(flow, target, true),
            _ => {}
        }
        Some(packet)
    }

    fn handle_outgoing(&mut self, flow: u32, mut packet: Packet, _: &Extra, _: Time) -> Option<Packet> {
        if let Header::PulledAck { pull, .. } | Header::PulledNack { pull, .. } = &mut packet.header
            && let Some(place) = self.flows.place(flow)
        {
            if self.config.acks_pull {
                *pull = self.flows.value(place).granted;
            }
            if packet.kind() == Kind::Nack {
                self.activate(place);
            } else if packet.flags.has(Flags::LAST) {
                self.finish(place);
            }
        }
        Some(packet)
    }

    fn handle_data(&mut self, _: u32, packet: &mut Packet, waiting: u32, _: Time) {
        if let Header::PulledData { pull, target, .. } = &mut packet.header
            && waiting > 1
        {
            let more = i64::from(target.wrapping_sub(*pull) as i32);
            *target = pull.wrapping_add(divide_up(more, waiting.into()) as u32);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<AgentPacket> {
        if now < self.next {
            return None;
        }
        let (place, leads) = match self.active.pop_front() {
            Some(place) => (place, false),
            None => (self.idle.pop_front()?, true),
        };
        let units = self.grant(place, leads);
        let rate = self.rate();
        let paced = if units > 0 { units } else { self.config.empty_quanta };
        let gap = self.config.quantum.saturating_mul(paced.into());
        let gap = if rate < 1.0 { gap.mul_f64(1.0 / rate) } else { gap };
        self.next = now.saturating_add(gap.max(Span::from_ps(1)));
        let flow = *self.flows.value(place);
        if flow.is_done {
            // Nobody needs the pull, but it takes its time.
            if flow.is_gone && !self.has_turns(place) {
                self.flows.free(place);
            }
            return None;
        }
        let entropy = Some((self.pulls % u64::from(PULL_PATHS)) as u16);
        self.pulls += 1;
        let header = Header::Pull { pull: flow.granted, leads };
        let pull =
            Packet::control(header, self.config.framing.wire(0), now).with_tag(Tag { lane: 0, entropy });
        Some(AgentPacket::made(self.flows.flow(place), pull))
    }

    fn handle_timeout(&mut self, now: Time) {
        if let Some(control) = &mut self.control {
            control.decide(now);
        }
    }

    fn next_timeout(&self) -> Time {
        self.control.as_ref().map_or(Time::MAX, |control| control.next_timeout()).min(self.next_pull())
    }

    fn forget(&mut self, flow: u32) {
        let Some(place) = self.flows.retire(flow) else { return };
        let value = self.flows.value(place);
        value.is_gone = true;
        let may_outlast = value.is_done && self.config.turns_outlast;
        if !(may_outlast && self.has_turns(place)) {
            self.leave(place);
            self.flows.free(place);
        }
        if self.flows.is_empty()
            && let Some(control) = &mut self.control
        {
            control.run(false, Time::ZERO);
        }
    }

    fn stats(&self) -> AgentStats {
        AgentStats { released: self.pulls, ..AgentStats::default() }
    }
}

#[cfg(test)]
mod tests;
