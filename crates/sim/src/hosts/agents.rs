//! Agents: what stands between the ends of flows at a host and its NIC, one for each transport that has one. Traffic
//! entries whose transports have the same settings share it: how a scenario is cut into entries changes no protocol.
//! The driver calls them by the rule of [`clearway_proto::Agent`].

use super::drive::Input;
use super::ends::End;
use crate::ids::{AgentId, FlowSlot, HostId, Id, IdVec, TrafficId};
use crate::model::Traffic;
use crate::net::Network;
use crate::timer::Timer;
use clearway_proto::{Agent, AgentStats, AnyAgent, Extra, Flags, Packet, Side};
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The agents of all hosts and transports.
#[derive(Serialize, Deserialize)]
pub struct Agents {
    /// For each traffic entry the first one whose transport is the same, with the same settings.
    firsts: IdVec<TrafficId, TrafficId>,
    agents: IdVec<AgentId, HostAgent>,
    /// The agent of each transport at each host, by the first traffic entry of the transport.
    known: BTreeMap<(TrafficId, HostId), AgentId>,
    /// The agents of the sending ends of flows, up to the last flow that has one. Most runs have none.
    senders: IdVec<FlowSlot, Option<AgentId>>,
    /// Whether any agent sees the data that ends send.
    pub(super) see_data: bool,
}

/// An agent at its host.
#[derive(Serialize, Deserialize)]
pub struct HostAgent {
    /// The protocol's part of it.
    pub agent: AnyAgent,
    /// The host.
    pub host: HostId,
    timer: Timer,
}

impl HostAgent {
    /// Sees to it that the agent is woken when it wants to be. Returns the time for which the caller must schedule an
    /// event, if any.
    #[must_use = "without the event, the agent is never woken"]
    pub fn arm(&mut self, now: Time) -> Option<Time> {
        self.timer.arm(self.agent.next_timeout(), now)
    }

    /// A timer event of the agent came. Returns whether it is the one that counts.
    pub fn wake(&mut self, now: Time) -> bool {
        let counts = self.timer.fires(now);
        if counts && self.agent.next_timeout() <= now {
            self.agent.handle_timeout(now);
        }
        counts
    }
}

impl HostAgent {
    /// Shows an input of an end, of whose flow `written` bytes are written, to the agent. Returns what the end gets of it;
    /// `None` if the agent consumed the packet. The packet that the agent passes on is put into `passed`.
    #[inline(never)]
    pub fn show<'a>(
        &mut self,
        end: &mut End,
        slot: FlowSlot,
        written: u64,
        input: Input<'a>,
        passed: &'a mut Option<Packet>,
        net: &Network,
    ) -> Option<Input<'a>> {
        let (flow, now, agent) = (slot.to_bits(), net.now(), &mut self.agent);
        match input {
            Input::Packet(packet, id) => {
                let extra = if packet.flags.has(Flags::EXTRA) { net.slab.extra(id) } else { &Extra::None };
                *passed = agent.handle_incoming(flow, *packet, extra, now);
                if passed.is_none() {
                    end.in_network -= 1;
                }
                return passed.as_ref().map(|packet| Input::Packet(packet, id));
            }
            Input::Write { close, .. } => agent.handle_length(flow, written, close, now),
            Input::Close => agent.handle_length(flow, written, true, now),
            Input::Timer | Input::Truncate | Input::Share(_) => {}
        }
        Some(input)
    }
}

impl Agents {
    /// No agents yet, for this traffic.
    pub fn new(traffic: &[Traffic]) -> Agents {
        let told = |entry: &Traffic| (entry.transport.info().name, entry.transport.write());
        let told: Vec<_> = traffic.iter().map(told).collect();
        let first = |one| told.iter().position(|other| other == one).expect("an entry is equal to itself");
        let firsts = told.iter().map(|one| TrafficId::from_index(first(one))).collect();
        Agents {
            firsts,
            agents: IdVec::new(),
            known: BTreeMap::new(),
            senders: IdVec::new(),
            see_data: false,
        }
    }

    /// Returns the agent of a host for a traffic entry, which `make` makes when the first flow needs it; `None` for a
    /// transport without one. `make` gets the number of the agent among all of the run, for its randomness.
    pub fn of_host(
        &mut self,
        traffic: TrafficId,
        host: HostId,
        make: impl FnOnce(u64) -> Option<AnyAgent>,
    ) -> Option<AgentId> {
        let first = self.firsts[traffic];
        if let Some(&id) = self.known.get(&(first, host)) {
            return Some(id);
        }
        let number = (first.index() as u64) << 32 | host.index() as u64;
        Some(self.add(first, HostAgent { agent: make(number)?, host, timer: Timer::IDLE }))
    }

    /// Adds the agent of a host, of the transport whose first traffic entry is this one.
    pub fn add(&mut self, traffic: TrafficId, agent: HostAgent) -> AgentId {
        let host = agent.host;
        self.see_data |= agent.agent.sees_data();
        let id = self.agents.push(agent);
        self.known.insert((traffic, host), id);
        id
    }

    /// Returns the agent of the sending end of a flow, if it has one.
    #[inline]
    pub fn of_sender(&self, slot: FlowSlot) -> Option<AgentId> {
        *self.senders.get(slot)?
    }

    /// Returns the agent of the sending end of a flow that sees the flow's data, if there is one.
    #[inline]
    pub fn that_sees(&self, slot: FlowSlot) -> Option<AgentId> {
        if !self.see_data {
            return None;
        }
        self.of_sender(slot).filter(|&id| self.agents[id].agent.sees_data())
    }

    /// Shows a packet of data on its way to the NIC, where its flow is one of `waiting` of its class, to the agent that sees it.
    #[cold]
    #[inline(never)]
    pub fn show_data(&mut self, slot: FlowSlot, packet: &mut Packet, waiting: u32, now: Time) {
        if let Some(id) = self.that_sees(slot) {
            self.agents[id].agent.handle_data(slot.to_bits(), packet, waiting, now);
        }
    }

    /// Returns the agents of all sending ends.
    pub fn of_senders(&self) -> IdVec<FlowSlot, Option<AgentId>> {
        self.senders.clone()
    }

    /// Sets the agent of the sending end of a flow.
    pub fn set_of_sender(&mut self, slot: FlowSlot, agent: Option<AgentId>) {
        if agent.is_some() {
            self.senders.cover(slot, None);
        }
        if let Some(place) = self.senders.get_mut(slot) {
            *place = agent;
        }
    }

    /// Tells an agent that a flow begins, of which its host has this end.
    pub fn begin(&mut self, agent: Option<AgentId>, slot: FlowSlot, side: Side, now: Time) {
        if let Some(id) = agent {
            self.agents[id].agent.begin(slot.to_bits(), side, now);
        }
    }

    /// Hands over all agents with the first traffic entries of their transports. Returns the ids that `give` returns, by
    /// those here.
    pub fn hand_over(self, mut give: impl FnMut(TrafficId, HostAgent) -> AgentId) -> IdVec<AgentId, AgentId> {
        let Agents { agents, known, .. } = self;
        let mut traffic: Vec<(AgentId, TrafficId)> =
            known.into_iter().map(|((traffic, _), id)| (id, traffic)).collect();
        traffic.sort_by_key(|&(id, _)| id);
        traffic.into_iter().zip(agents).map(|((_, traffic), agent)| give(traffic, agent)).collect()
    }

    /// Returns an agent.
    pub fn get_mut(&mut self, id: AgentId) -> &mut HostAgent {
        &mut self.agents[id]
    }

    /// Returns the counts of all agents, by the first traffic entry of the transport and by host.
    pub fn stats(&self) -> impl Iterator<Item = (TrafficId, HostId, AgentStats)> {
        self.known.iter().map(|(&(traffic, host), &id)| (traffic, host, self.agents[id].agent.stats()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Pattern;
    use clearway_proto::{AgentEnv, AnyTransport, Entity, Framing, Rng};
    use clearway_units::{Rate, Span};
    use std::sync::Arc;

    /// An entry without flows.
    fn entry(transport: &AnyTransport) -> Traffic {
        Traffic {
            name: "any".into(),
            transport: transport.clone(),
            class: 0,
            credit_class: 0,
            notice_class: 0,
            ack_class: 0,
            pattern: Pattern::Flows(Arc::new(Vec::new())),
        }
    }

    #[test]
    fn a_host_has_one_agent_for_each_transport_that_wants_one_however_many_entries_use_it() {
        let shaper = AnyTransport::by_name("ack-shaper").unwrap();
        let mut slower = shaper.clone();
        slower.set("acks_per_second", "20000").unwrap();
        let traffic = [&shaper, &slower, &shaper].map(entry);
        let env = |number| {
            let rng = Rng::stream(1, Entity::Agent, number);
            AgentEnv {
                line_rate: Rate::gbps(10),
                framing: Framing::ETHERNET,
                network_rtt: Span::from_us(10),
                oversubscription: 1.0,
                rng,
            }
        };
        let mut agents = Agents::new(&traffic);
        let mut agent = |number: usize, host| {
            let (id, host) = (TrafficId::from_index(number), HostId::from_index(host));
            agents.of_host(id, host, |id| traffic[number].transport.agent(&env(id)))
        };
        let first = agent(0, 0);
        assert!(first.is_some());
        assert_eq!(agent(0, 0), first);
        assert_eq!(agent(2, 0), first, "the same transport with the same settings");
        assert!(agent(0, 1) != first && agent(1, 0) != first);
        assert_eq!(agent(2, 1), agent(0, 1));
        let hosts: Vec<_> =
            agents.stats().map(|(traffic, host, _)| (traffic.index(), host.index())).collect();
        assert_eq!(hosts, [(0, 0), (0, 1), (1, 0)]);
    }

    #[test]
    fn a_transport_without_a_agent_has_none() {
        let mut agents = Agents::new(&[entry(&AnyTransport::by_name("dctcp").unwrap())]);
        assert_eq!(agents.of_host(TrafficId::from_index(0), HostId::from_index(0), |_| None), None);
    }
}
