//! The agent of a receiving host, which gives credit.

use super::moderation::Moderation;
use super::params::{EqdsParams, QUANTUM};
use crate::agent::{Agent, AgentEnv, AgentPacket, AgentStats, Side};
use crate::endpoint::Framing;
use crate::numbered::{FlowTable, pull_tag};
use crate::packet::{Extra, Flags, Header, Packet};
use clearway_units::{Bytes, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The lists of flows that take turns, the most urgent first.
const LISTS: usize = 3;
/// The list of flows that have to repeat packets.
const AGAIN: usize = 0;
/// The list of flows that want more than they were given.
const ACTIVE: usize = 1;
/// The list of flows that were given all they want, and may be given more while nobody else wants any.
const IDLE: usize = 2;

/// The agent of a receiving host. It gives credit to one flow at a time, a little slower than its link takes data.
#[derive(Debug, Serialize, Deserialize)]
pub struct EqdsAgent {
    framing: Framing,
    /// The quanta of a pull.
    quanta: u32,
    /// The quanta of a full packet, rounded up.
    packet: u32,
    /// The quanta that a flow is given beyond what it wants.
    lead_max: u32,
    /// The time between two pulls.
    gap: Span,
    /// The time at which the next pull may leave.
    next: Time,
    flows: FlowTable<Flow>,
    /// The places of the flows of each list.
    lists: [VecDeque<u32>; LISTS],
    /// The number of pulls given.
    pulls: u64,
    /// True if each pull that a flow asked for puts it in turn once more for one that it did not.
    stays_idle: bool,
    /// True if flows that have arrived keep their turns.
    turns_outlast: bool,
    /// The control for a network whose core is oversubscribed.
    control: Option<Box<Moderation>>,
}

/// A flow that arrives at the host. Pulls count quanta, beyond 32 bits from 0 on again.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
struct Flow {
    /// The last pull.
    given: u32,
    /// The pull that the sender wants to have come to.
    target: u32,
    /// The quanta that packets to be repeated take.
    again: u32,
    /// The lists in which the flow is.
    is_in: [bool; LISTS],
    /// True once all of the flow has arrived, and an ACK that says so has left: it needs no pull any more.
    is_done: bool,
    /// True once the flow is forgotten while it has turns left.
    is_gone: bool,
}

impl Flow {
    /// Returns the quanta that the sender wants and was not given: fewer than none if it was given more.
    fn wants(&self) -> i32 {
        self.target.wrapping_sub(self.given) as i32
    }
}

impl EqdsAgent {
    pub(super) fn new(params: &EqdsParams, env: &AgentEnv) -> EqdsAgent {
        let packet = env.framing.wire_max();
        let quanta = params.pull_quanta.or((packet / QUANTUM).max(1));
        let time = env.line_rate.time_to_send(Bytes::new(u64::from(quanta) * u64::from(QUANTUM)));
        EqdsAgent {
            framing: env.framing,
            quanta,
            packet: packet.div_ceil(QUANTUM),
            lead_max: params.window(env.line_rate, env.network_rtt, &env.framing) / QUANTUM,
            gap: Span::from_ps((time.as_ps() as f64 / params.pull_share) as u64),
            next: Time::ZERO,
            flows: FlowTable::default(),
            lists: Default::default(),
            pulls: 0,
            stays_idle: params.stays_idle,
            turns_outlast: params.turns_outlast,
            control: params
                .oversubscribed_cc
                .then(|| Box::new(Moderation::new(params.look_back.or(env.network_rtt), env.rng.clone()))),
        }
    }

    /// Puts a flow that is not done, or keeps its turns, at the end of a list, if it is not in it or may be there more than once.
    fn list(&mut self, list: usize, place: u32) {
        let (may_repeat, may_wait) = (self.stays_idle && list == IDLE, self.turns_outlast);
        let flow = self.flows.value(place);
        if flow.is_done && !may_wait {
            return;
        }
        if !std::mem::replace(&mut flow.is_in[list], true) || may_repeat {
            self.lists[list].push_back(place);
        }
    }

    /// Takes a flow out of all lists.
    fn unlist(&mut self, place: u32) {
        let flow = self.flows.value(place);
        (flow.again, flow.target) = (0, flow.given);
        let is_in = std::mem::take(&mut flow.is_in);
        for (number, list) in self.lists.iter_mut().enumerate() {
            if is_in[number] || self.stays_idle && number == IDLE {
                list.retain(|&other| other != place);
            }
        }
    }

    /// Returns true if a flow has a turn in any list.
    fn has_turns(&self, place: u32) -> bool {
        self.lists.iter().any(|list| list.contains(&place))
    }

    /// A sender says how far it wants to be pulled.
    fn want(&mut self, place: u32, target: u32) {
        let flow = self.flows.value(place);
        let more = target.wrapping_sub(flow.target);
        if more == 0 || more > u32::MAX / 2 {
            return;
        }
        flow.target = target;
        if flow.again == 0 {
            self.list(ACTIVE, place);
        }
    }

    /// A sender has to repeat packets of so many quanta.
    fn want_again(&mut self, place: u32, quanta: u32) {
        let flow = self.flows.value(place);
        flow.again = flow.again.saturating_add(quanta);
        self.list(AGAIN, place);
    }

    /// Takes the flow whose turn it is in a list, and returns its place.
    fn take_turn(&mut self, list: usize) -> Option<u32> {
        let place = self.lists[list].pop_front()?;
        self.flows.value(place).is_in[list] = false;
        Some(place)
    }

    /// Gives a flow a pull, and puts it into the list that it is in afterwards.
    fn give(&mut self, list: usize, place: u32) {
        let (quanta, lead_max) = (self.quanta, self.lead_max);
        let flow = self.flows.value(place);
        flow.given = flow.given.wrapping_add(quanta);
        flow.again = flow.again.saturating_sub(quanta);
        let (again, wants) = (flow.again, flow.wants());
        match list {
            AGAIN if again > 0 => self.list(AGAIN, place),
            AGAIN | ACTIVE if wants > 0 => self.list(ACTIVE, place),
            ACTIVE => self.list(IDLE, place),
            IDLE if wants <= 0 && wants.unsigned_abs() < lead_max => self.list(IDLE, place),
            _ => {}
        }
    }
}

impl Agent for EqdsAgent {
    fn begin(&mut self, flow: u32, _: Side, _: Time) {
        self.flows.add(flow, Flow::default());
    }

    fn handle_incoming(&mut self, flow: u32, packet: Packet, _: &Extra, now: Time) -> Option<Packet> {
        let Some(place) = self.flows.place(flow) else { return Some(packet) };
        if let Some(control) = &mut self.control
            && matches!(packet.header, Header::PulledData { .. })
        {
            control.count(packet.flags.has(Flags::ECN_CE) || packet.flags.has(Flags::TRIMMED), now);
        }
        match packet.header {
            Header::PulledData { target, .. } => self.want(place, target),
            Header::PullRequest { target, .. } => {
                self.want(place, target);
                self.want_again(place, self.packet);
                self.list(ACTIVE, place);
            }
            _ => {}
        }
        Some(packet)
    }

    fn handle_outgoing(&mut self, flow: u32, mut packet: Packet, _: &Extra, _: Time) -> Option<Packet> {
        let Some(place) = self.flows.place(flow) else { return Some(packet) };
        match &mut packet.header {
            Header::PulledAck { pull, .. } => {
                if packet.flags.has(Flags::LAST) {
                    self.flows.value(place).is_done = true;
                    if !self.turns_outlast {
                        self.unlist(place);
                    }
                }
                *pull = self.flows.value(place).given;
            }
            Header::PulledNack { pull, .. } => {
                *pull = self.flows.value(place).given;
                self.want_again(place, self.packet);
            }
            _ => {}
        }
        Some(packet)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<AgentPacket> {
        if now < self.next {
            return None;
        }
        let list = self.lists.iter().position(|list| !list.is_empty())?;
        self.next = now.saturating_add(self.gap);
        if let Some(control) = &mut self.control
            && control.leaves_out(now)
        {
            return None;
        }
        let place = self.take_turn(list)?;
        self.give(list, place);
        let Flow { given, is_done, is_gone, .. } = *self.flows.value(place);
        if is_done {
            // Nobody needs the pull, but it takes its time.
            if is_gone && !self.has_turns(place) {
                self.flows.free(place);
            }
            return None;
        }
        self.pulls += 1;
        let header = Header::Pull { pull: given, leads: list == IDLE };
        let packet =
            Packet::control(header, self.framing.wire(0), now).with_tag(pull_tag(given / self.quanta));
        Some(AgentPacket::made(self.flows.flow(place), packet))
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn next_timeout(&self) -> Time {
        if self.lists.iter().all(VecDeque::is_empty) { Time::MAX } else { self.next }
    }

    fn forget(&mut self, flow: u32) {
        let Some(place) = self.flows.retire(flow) else { return };
        let value = self.flows.value(place);
        value.is_gone = true;
        let may_outlast = value.is_done && self.turns_outlast;
        if !(may_outlast && self.has_turns(place)) {
            self.unlist(place);
            self.flows.free(place);
        }
    }

    fn stats(&self) -> AgentStats {
        AgentStats { released: self.pulls, ..AgentStats::default() }
    }
}
