//! The agents of the two hosts of a pair, with the checks that their interface asks for.

use crate::{
    Agent, AgentEnv, AgentPacket, AgentScope, AgentStats, Entity, Env, Extra, Kind, Packet, Rng, Side,
};
use clearway_units::Time;
use std::collections::BTreeSet;

/// The most packets that an agent may send after one input.
const SENT_MAX: u32 = 10_000;

/// The agents of both hosts. Their driver calls them through this type alone, so that every rule is checked at every
/// call; a rule that an agent breaks is a panic.
#[derive(Default)]
pub(super) struct Agents {
    hosts: [Host; 2],
}

#[derive(Default)]
struct Host {
    agent: Option<Box<dyn Agent>>,
    sees_data: bool,
    /// The flows that have begun and are not over.
    flows: BTreeSet<u32>,
    /// The packets sent since the last input.
    sent: u32,
}

impl Agents {
    /// Makes the agents of a transport with this scope, where there are none yet: at hosts of this knowledge, in a network
    /// with this seed.
    pub fn provide(
        &mut self,
        scope: AgentScope,
        env: &Env,
        seed: u64,
        make: impl Fn(&AgentEnv) -> Option<Box<dyn Agent>>,
    ) {
        let &Env { line_rate, framing, network_rtt, .. } = env;
        let mut id = 0;
        for side in [Side::Sender, Side::Receiver].into_iter().filter(|side| scope.has(*side)) {
            let host = &mut self.hosts[side as usize];
            if host.agent.is_none() {
                id += 1;
                let rng = Rng::stream(seed, Entity::Agent, id);
                let made = make(&AgentEnv { line_rate, framing, network_rtt, oversubscription: 1.0, rng });
                host.agent = Some(made.expect("a transport with a scope of agents makes them"));
                host.sees_data = scope.data && side == Side::Sender;
            }
        }
    }

    /// A flow begins at both hosts.
    pub fn begin(&mut self, flow: usize, now: Time) {
        for side in [Side::Sender, Side::Receiver] {
            let host = &mut self.hosts[side as usize];
            host.flows.insert(flow as u32);
            if let Some(agent) = &mut host.agent {
                agent.begin(flow as u32, side, now);
            }
        }
    }

    /// The length of a flow changes.
    pub fn handle_length(&mut self, flow: usize, (bytes, is_final): (u64, bool), now: Time) {
        if let Some(agent) = self.input(Side::Sender, flow) {
            agent.handle_length(flow as u32, bytes, is_final, now);
        }
    }

    /// A packet arrives for an end. Returns the one that the end gets.
    pub fn handle_incoming(
        &mut self,
        side: Side,
        flow: usize,
        packet: Packet,
        extra: &Extra,
        now: Time,
    ) -> Option<Packet> {
        let Some(agent) = self.input(side, flow) else { return Some(packet) };
        let passed = agent.handle_incoming(flow as u32, packet, extra, now);
        let fits = |passed: &Packet| passed.kind().is_for_receiver() == packet.kind().is_for_receiver();
        assert!(passed.as_ref().is_none_or(fits), "an agent turns no packet back");
        passed
    }

    /// An end sends a control packet. Returns the one that leaves.
    pub fn handle_outgoing(
        &mut self,
        side: Side,
        flow: usize,
        packet: Packet,
        extra: &Extra,
        now: Time,
    ) -> Option<Packet> {
        match self.input(side, flow) {
            Some(agent) => agent.handle_outgoing(flow as u32, packet, extra, now),
            None => Some(packet),
        }
    }

    /// A sending end puts out data.
    pub fn handle_data(&mut self, flow: usize, packet: &mut Packet, now: Time) {
        if !self.hosts[Side::Sender as usize].sees_data {
            return;
        }
        if let Some(agent) = self.input(Side::Sender, flow) {
            let before = packet.range();
            agent.handle_data(flow as u32, packet, 0, now);
            assert_eq!(packet.range(), before, "an agent changes no bytes of a flow");
        }
    }

    /// Returns the next packet that the agent of a host sends now.
    pub fn poll_transmit(&mut self, side: Side, now: Time) -> Option<AgentPacket> {
        let host = &mut self.hosts[side as usize];
        let sent = host.agent.as_mut()?.poll_transmit(now)?;
        host.sent += 1;
        let AgentPacket { flow, packet, is_made, .. } = sent;
        assert!(host.sent <= SENT_MAX, "the agent does not stop sending {:?}", packet.header);
        assert!(host.flows.contains(&flow), "the agent sends {:?} of a flow that is over", packet.header);
        let is_to_receiver = packet.kind().is_for_receiver();
        assert_eq!(is_to_receiver, side == Side::Sender, "{:?} goes to the other host", packet.header);
        assert!(!is_made || packet.kind() != Kind::Data, "an agent makes no data");
        assert!(packet.sent <= now, "a packet says when it was sent");
        Some(sent)
    }

    /// The time at which the agent of a host wants to be called.
    pub fn next_timeout(&self, side: Side) -> Time {
        self.hosts[side as usize].agent.as_ref().map_or(Time::MAX, |agent| agent.next_timeout())
    }

    /// The timer of the agent of a host fires.
    pub fn handle_timeout(&mut self, side: Side, now: Time) {
        self.hosts[side as usize].sent = 0;
        let agent = &mut self.hosts[side as usize].agent;
        agent.as_mut().expect("it has a timer").handle_timeout(now);
    }

    /// A flow is over at both hosts.
    pub fn forget(&mut self, flow: usize) {
        for host in &mut self.hosts {
            host.flows.remove(&(flow as u32));
            if let Some(agent) = &mut host.agent {
                agent.forget(flow as u32);
            }
        }
    }

    /// The counters of the agent of a host.
    pub fn stats(&self, side: Side) -> Option<AgentStats> {
        self.hosts[side as usize].agent.as_ref().map(|agent| agent.stats())
    }

    /// Checks the rules that hold when all flows are over.
    pub fn check_finished(&self) {
        for Host { agent, flows, .. } in &self.hosts {
            let Some(agent) = agent else { continue };
            assert_eq!(agent.stats().held, 0, "the agent holds nothing of flows that have ended");
            let timer = agent.next_timeout();
            assert!(!flows.is_empty() || timer == Time::MAX, "an agent without flows has no timer");
        }
    }

    /// The agent of a host, which is about to get an input of a flow. Packets of a flow that is over may come late, and do
    /// not pass it.
    fn input(&mut self, side: Side, flow: usize) -> Option<&mut Box<dyn Agent>> {
        let host = &mut self.hosts[side as usize];
        host.sent = 0;
        host.agent.as_mut().filter(|_| host.flows.contains(&(flow as u32)))
    }
}
