//! The driver of hosts: packets reach their ends, ports take turns among flows, timers wake ends and agents.

use super::agents::Agents;
use super::drive::{Input, Standing};
use super::ends::{Ends, Receiving, Sending};
use crate::engine::{AHEAD, EventKind, exceeds_cache, prefetch_lines};
use crate::ids::{AgentId, ClassId, FlowSlot, HostId, IdVec, NicId, PacketId};
use crate::model::{Delay, Model};
use crate::net::{ControlWork, Network, fetch, pipeline};
use clearway_proto::{Agent, Entity, Rng};
use clearway_topology::{PortId, Topology};
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The cache lines of an end, and of its protocol, that are fetched ahead: most of what a packet touches.
const END_LINES: usize = 4;

/// No port: a flow that is pulled from there hands its packet to the port with which its path starts.
const NOWHERE: PortId = PortId(u32::MAX);

/// The hosts of a part of the network, with the ends of flows that are there.
#[derive(Serialize, Deserialize)]
pub struct Hosts {
    /// The sending ends.
    pub senders: Ends<Sending>,
    /// The receiving ends.
    pub receivers: Ends<Receiving>,
    /// The agents of hosts.
    pub agents: Agents,
    /// The flows of ends that came to need nothing more, since the last look.
    pub finished: Vec<FlowSlot>,
    /// The randomness of the processing delays of each host.
    pub(super) rngs: IdVec<HostId, Rng>,
    /// The time between the arrival of a packet and its handling.
    pub(super) delay: Delay,
    /// The time at which the sending and the receiving end of a flow handled, or will handle, its last packet: packets of
    /// one flow keep their order. Empty where hosts handle packets at once.
    pub(super) handled_at: [IdVec<FlowSlot, Time>; 2],
}

impl Hosts {
    /// Returns the hosts of a model, yet without ends of flows.
    pub fn new(model: &Model) -> Hosts {
        let stream = |host| Rng::stream(model.seed, Entity::Host, host);
        Hosts {
            senders: Ends::default(),
            receivers: Ends::default(),
            agents: Agents::new(&model.traffic),
            finished: Vec::new(),
            rngs: (0..model.topology.hosts() as u64).map(stream).collect(),
            delay: model.host.processing_delay.clone(),
            handled_at: [IdVec::new(), IdVec::new()],
        }
    }

    /// Returns whether the ends are too large for a core's own cache, so that fetching ahead pays. Flows come and go, so
    /// this is asked again and again.
    pub fn is_large(&self) -> bool {
        exceeds_cache(self.senders.size() + self.receivers.size())
    }

    /// Fetches the ends that the next events need: those of one bucket are sorted already, so that is known.
    #[inline]
    pub fn look_ahead(&self, net: &Network) {
        if let Some((is_for_receiver, slot)) = fetch::works_at_end(net, AHEAD * 2) {
            let place =
                if is_for_receiver { self.receivers.address(slot) } else { self.senders.address(slot) };
            prefetch_lines(place, END_LINES);
        }
        if let Some((is_for_receiver, slot)) = fetch::works_at_end(net, AHEAD) {
            let place = if is_for_receiver {
                self.receivers.get(slot).map(|end| self.receivers.protocols.address(end.receiver))
            } else {
                self.senders.get(slot).map(|end| self.senders.protocols.address(end.sender))
            };
            place.into_iter().for_each(|place| prefetch_lines(place, END_LINES));
        }
    }

    /// A packet reached its host. Returns true if the host handles it at once, false if it takes time to look at it.
    #[inline]
    pub fn reach(&mut self, id: PacketId, net: &mut Network) -> bool {
        if matches!(self.delay, Delay::Fixed(Span::ZERO)) {
            return true;
        }
        let routed = &net.slab[id];
        let (flow, is_for_receiver) = (routed.flow, routed.packet.is_for_receiver());
        let end = if is_for_receiver {
            self.receivers.get(flow).map(|receiving| &receiving.end)
        } else {
            self.senders.get(flow).map(|sending| &sending.end)
        };
        let Some(host) = end.map(|end| end.host) else { return true };
        let done = net.now() + self.delay.draw(&mut self.rngs[host]);
        let handled_at = &mut self.handled_at[usize::from(is_for_receiver)];
        handled_at.cover(flow, Time::ZERO);
        handled_at[flow] = handled_at[flow].max(done);
        net.agenda.at_host(host, handled_at[flow], EventKind::Handle(id));
        false
    }

    /// Lets a port, of a host or a switch, send what it can at once, and sees to it that it wakes for the rest.
    #[inline]
    pub fn use_any_port(&mut self, port: PortId, net: &mut Network) {
        match net.ports[port].nic {
            None => pipeline::use_switch_port(net, port),
            Some(_) => self.use_port(port, net),
        }
    }

    /// Lets a host's port send what it can at once, and sees to it that it wakes for the rest.
    pub fn use_port(&mut self, port: PortId, net: &mut Network) {
        let Some(nic) = pipeline::nic_alone(net, port) else { return self.use_port_in_turn(port, net) };
        if let Some((class, slot)) = pipeline::turn_alone(net, nic)
            && !self.pull_from(slot, port, nic, class, net)
        {
            self.pull(port, nic, class, net);
        }
        pipeline::rearm_for_flows(net, port, nic);
    }

    /// As [`Hosts::use_port`], where other packets than those of flows may wait, or the port may not be used.
    #[inline(never)]
    fn use_port_in_turn(&mut self, port: PortId, net: &mut Network) {
        if net.ports[port].is_free(net.now())
            && let Some(class) = pipeline::send_next(net, port)
        {
            let nic = net.ports[port].nic.expect("a port that has flows has a NIC");
            self.pull(port, nic, class, net);
        }
        pipeline::rearm(net, port);
    }

    /// Asks the flows of a class in turn for a packet, until one has it.
    #[inline(always)]
    fn pull(&mut self, port: PortId, nic: NicId, class: ClassId, net: &mut Network) {
        while let Some(slot) = net.nics[nic].pop(class) {
            if self.pull_from(slot, port, nic, class, net) {
                return;
            }
        }
    }

    /// Asks a flow, whose turn it is, for a packet. Returns whether the port sends one. Not inlined, since it holds the code
    /// of all transports.
    #[inline(never)]
    fn pull_from(
        &mut self,
        slot: FlowSlot,
        port: PortId,
        nic: NicId,
        class: ClassId,
        net: &mut Network,
    ) -> bool {
        let (sending, protocols) =
            self.senders.with_protocols(slot).expect("a flow leaves the round robin before it ends");
        debug_assert!(
            port == NOWHERE || sending.end.host.node() == net.ports[port].owner,
            "a flow in another host's turn"
        );
        let agents = &mut self.agents;
        let Some(pulled) = sending.pull(protocols, slot, class, net, agents) else { return false };
        if pulled.more {
            self.senders.wait(slot, nic, class, net);
        } else if let Some(at) = pulled.parks_until {
            net.nics[nic].park(class, slot, at);
            net.parked_until = net.parked_until.max(at);
        }
        if pulled.has_finished {
            self.finished.push(slot);
        }
        if pulled.port != port {
            // The path starts at another port of a host that has several, or the packet waits in a queue.
            pipeline::hand_aside(net, pulled.port, pulled.id);
        } else {
            pipeline::transmit_pulled(net, port, class, pulled.id);
        }
        ask_agent_that_sees(self, slot, net);
        pulled.port == port
    }

    /// Drives a sending end. Returns its state, unless the flow is over or its agent consumed the packet.
    #[inline]
    pub fn drive_sender(&mut self, slot: FlowSlot, input: Input<'_>, net: &mut Network) -> Option<Standing> {
        match self.agents.of_sender(slot) {
            None => drive_sender_by(self, slot, None, input, net),
            Some(agent) => drive_sender_behind_agent(self, slot, agent, input, net),
        }
    }

    /// A flow takes its turn at a port, which is at once if nothing else is to be sent there.
    #[inline(always)]
    fn take_turn(&mut self, port: PortId, class: ClassId, slot: FlowSlot, net: &mut Network) {
        let now = net.now();
        let nic = net.nic(port);
        nic.settle_before(now);
        let has_any = nic.has_any();
        match pipeline::nic_alone(net, port).filter(|_| !has_any) {
            None => self.wait_for_turn(port, class, slot, net),
            Some(nic) if self.pull_from(slot, port, nic, class, net) => {
                pipeline::rearm_for_flows(net, port, nic);
            }
            Some(_) => self.use_port(port, net),
        }
    }

    /// A flow has unscheduled data: it waits for its turn in the class that yields to all others.
    #[inline(never)]
    fn want_unscheduled(&mut self, slot: FlowSlot, net: &mut Network) {
        let Some(sending) = self.senders.get_mut(slot).filter(|sending| !sending.end.unscheduled_in_turn)
        else {
            return;
        };
        sending.end.unscheduled_in_turn = true;
        let (port, class) = (net.paths.first_port(sending.end.route), sending.end.classes.unscheduled);
        self.wait_for_turn(port, class, slot, net);
    }

    /// A flow joins the round robin of a class at a port, which may serve it at once.
    #[inline]
    fn wait_for_turn(&mut self, port: PortId, class: ClassId, slot: FlowSlot, net: &mut Network) {
        let nic = net.ports[port].nic.expect("a host's port has a NIC");
        if net.ports[port].control.has(ControlWork::QUEUES_DATA) {
            return self.fill(nic, class, slot, net);
        }
        let now = net.now();
        net.nics[nic].settle_before(now);
        self.senders.wait(slot, nic, class, net);
        self.use_port(port, net);
    }

    /// A flow puts all that it may send now into the queue of its host's port. Windows, credits and paces bound that.
    #[cold]
    #[inline(never)]
    fn fill(&mut self, nic: NicId, class: ClassId, slot: FlowSlot, net: &mut Network) {
        self.senders.wait(slot, nic, class, net);
        self.pull(NOWHERE, nic, class, net);
    }

    /// Drives a receiving end. Returns its state, unless the flow is over, its timer was overtaken, or its agent consumed
    /// the packet.
    #[inline]
    pub fn drive_receiver(
        &mut self,
        slot: FlowSlot,
        input: Input<'_>,
        net: &mut Network,
    ) -> Option<Standing> {
        let (receiving, protocols) = self.receivers.with_protocols(slot)?;
        if matches!(input, Input::Timer) && !receiving.end.timer.fires(net.now()) {
            return None;
        }
        let standing = match receiving.agent {
            None => receiving.drive(protocols, slot, input, net, None),
            Some(agent) => self.drive_behind_agent(slot, agent, input, net)?,
        };
        if standing.has_finished {
            self.finished.push(slot);
        }
        Some(standing)
    }

    /// A timer event of a sending end came. Returns whether the end must be driven.
    #[inline]
    pub fn sender_wakes(&mut self, slot: FlowSlot, net: &mut Network) -> bool {
        let wakes = self.senders.get_mut(slot).is_some_and(|sending| sending.end.timer.fires(net.now()));
        if !wakes {
            self.meet_mark(slot, net);
        }
        wakes
    }

    /// Removes the sending end of a flow that is over at both ends and in the network: its agent and its host's ports forget
    /// it.
    pub fn remove_sender(
        &mut self,
        slot: FlowSlot,
        net: &mut Network,
        topology: &Topology,
    ) -> Option<Sending> {
        let agent = self.agents.of_sender(slot);
        self.forget_at(agent, slot, net);
        self.agents.set_of_sender(slot, None);
        let sending = self.senders.remove(slot)?;
        // The last wish of an end may have been to send something that has arrived in the meantime.
        let turns = [
            (sending.end.in_turn, sending.end.classes.data),
            (sending.end.unscheduled_in_turn, sending.end.classes.unscheduled),
        ];
        for (_, class) in turns.into_iter().filter(|(waits, _)| *waits) {
            let ports = topology.ports_of(sending.end.host.node());
            ports.iter().for_each(|&port| net.nic(port).leave(class, slot));
        }
        Some(sending)
    }

    /// Removes the receiving end of a flow that is over at both ends and in the network: its agent forgets it.
    pub fn remove_receiver(&mut self, slot: FlowSlot, net: &mut Network) -> Option<Receiving> {
        let agent = self.receivers.get(slot)?.agent;
        self.forget_at(agent, slot, net);
        self.receivers.remove(slot)
    }
}

/// As [`Hosts::drive_sender`], where it is known whether an agent stands before the end: code without one is short.
#[inline(always)]
fn drive_sender_by(
    hosts: &mut Hosts,
    slot: FlowSlot,
    id: Option<AgentId>,
    input: Input<'_>,
    net: &mut Network,
) -> Option<Standing> {
    let (sending, protocols) = hosts.senders.with_protocols(slot)?;
    if !input.is_of_host() {
        let now = net.now();
        net.nic(net.paths.first_port(sending.end.route)).settle_through(now);
    }
    let mut passed = None;
    let mut agent = id.map(|id| hosts.agents.get_mut(id));
    let input = match &mut agent {
        None => Some(input),
        Some(agent) => agent.show(&mut sending.end, slot, sending.written, input, &mut passed, net),
    };
    let Some(input) = input else {
        hosts.ask_agent(id?, net);
        return None;
    };
    let is_cut = matches!(input, Input::Truncate);
    let standing = sending.drive(protocols, slot, input, net, agent.as_mut().map(|host| &mut host.agent));
    if let Some(host) = agent.filter(|_| is_cut) {
        host.agent.handle_length(slot.to_bits(), standing.total, true, net.now());
    }
    if standing.wants_transmit {
        let (port, class) = (net.paths.first_port(sending.end.route), sending.end.classes.data);
        if sending.end.in_turn {
            hosts.senders.reorder(slot, port, class, net);
        } else {
            sending.end.in_turn = true;
            hosts.take_turn(port, class, slot, net);
        }
    }
    if standing.wants_unscheduled {
        hosts.want_unscheduled(slot, net);
    }
    if standing.has_finished {
        hosts.finished.push(slot);
    }
    if let Some(id) = id {
        hosts.ask_agent(id, net);
    }
    Some(standing)
}

/// Drives the sending end of a flow that has an agent.
#[inline(never)]
fn drive_sender_behind_agent(
    hosts: &mut Hosts,
    slot: FlowSlot,
    id: AgentId,
    input: Input<'_>,
    net: &mut Network,
) -> Option<Standing> {
    drive_sender_by(hosts, slot, Some(id), input, net)
}

/// Asks the agent that sees the data of a flow, if there is one, after a packet passed.
#[inline(always)]
fn ask_agent_that_sees(hosts: &mut Hosts, slot: FlowSlot, net: &mut Network) {
    if let Some(id) = hosts.agents.that_sees(slot) {
        hosts.ask_agent(id, net);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::Classes;
    use crate::engine::CAN_FETCH;
    use crate::hosts::{End, FlowName};
    use crate::ids::{Id, TrafficId};
    use crate::net::Route;
    use crate::ports::network_for;
    use clearway_proto::{AnyTransport, Env, Framing, SmallRng};
    use clearway_topology::Star;
    use clearway_units::Rate;

    #[test]
    fn the_ends_of_a_hundred_flows_fit_into_a_cores_cache_and_those_of_ten_thousand_do_not() {
        let transport = AnyTransport::by_name("blast").unwrap();
        let model = network_for(Star::default().build().unwrap(), [&transport]).unwrap();
        let (rate, rtt) = (Rate::gbps(10), Span::from_us(1));
        let env = Env {
            line_rate: rate,
            path_rate: rate,
            base_rtt: rtt,
            network_rtt: rtt,
            framing: Framing::ETHERNET,
            established: true,
            host_flows: 0,
        };
        let mut hosts = Hosts::new(&model);
        for number in 0..10_000 {
            let slot = FlowSlot::from_index(number);
            let streams = || (Rng::stream(1, Entity::Sender, 0), SmallRng::stream(1, Entity::SenderPath, 0));
            let end = || End::new(streams(), HostId::from_index(0), Route::default(), Classes::ONE);
            let sender = hosts.senders.protocols.open(&transport, &env);
            hosts.senders.insert(slot, Sending::new(sender, end()));
            let receiver = hosts.receivers.protocols.open(&transport, &env);
            let name = FlowName { traffic: TrafficId::from_index(0), number: number as u64 };
            hosts.receivers.insert(slot, Receiving::new(receiver, end(), name, None));
            if number == 99 {
                assert!(!hosts.is_large());
            }
        }
        assert_eq!(hosts.is_large(), CAN_FETCH);
    }
}
