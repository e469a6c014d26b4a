//! Networks of a run that goes on in other parts than those in which it was: what ports, links and switches hold comes to
//! the parts in which their nodes now lie.
//!
//! Packets get other ids, as do the agents of hosts and the mechanisms of ports, whose events follow them. The events of one
//! entity lie in one part, in which they keep their order, and no other order has a meaning.

use super::boundaries;
use super::divide::look_at_exits;
use super::drop_reason::ByReason;
use super::memory::Memory;
use super::network::Network;
use super::networks::Networks;
use super::place::node_of;
use super::slab::Slab;
use crate::engine::{Agenda, EventKind};
use crate::ids::{AgentId, FlowSlot, IdVec, TrafficId};
use clearway_topology::{NodeId, PortId, Topology};
use clearway_units::Time;
use std::mem::{swap, take};

/// What a run knows of events of which ports know nothing.
pub struct Elsewhere<'a> {
    /// The agents of the hosts of each old part, as they are numbered now.
    pub agents: &'a [IdVec<AgentId, AgentId>],
    /// The host that sends a flow.
    pub sender_of: &'a dyn Fn(FlowSlot) -> NodeId,
    /// The client of the rounds of a traffic entry.
    pub client_of: &'a dyn Fn(TrafficId) -> NodeId,
}

/// Returns whether the nodes of two networks of the same model lie in the same parts.
pub fn are_cut_alike(one: &Networks, other: &Networks) -> bool {
    one.len() == other.len() && one.part_of == other.part_of
}

/// Takes over the state of networks of the same model that are cut otherwise. Nothing has happened in these ones.
pub fn take_over(nets: &mut Networks, mut old: Networks, topology: &Topology, elsewhere: &Elsewhere<'_>) {
    // What was under way between two parts lies in an agenda then, as if they were one.
    boundaries::exchange(&mut old);
    boundaries::settle(&mut old);
    let now = old.iter().map(Network::now).max().unwrap_or(Time::ZERO);
    let before = (old.totals().launched(), packets(&old));
    // All parts have the same copies.
    nets.parts[0].paths = take(&mut old.parts[0].paths);
    nets.parts[0].paths.forget_copies();
    nets.share_paths();
    let tables = nets.parts[0].paths.tables.clone();
    nets.parts[1..].iter_mut().for_each(|net| net.paths.tables = tables.clone());
    nets.parts.iter_mut().for_each(|net| net.notified.clone_from(&old.parts[0].notified));
    let Networks { parts, part_of } = old;
    for (number, part) in parts.into_iter().enumerate() {
        let was_there = |node: NodeId| part_in(&part_of, node) == number;
        take_part(nets, *part, &elsewhere.agents[number], was_there, topology, elsewhere);
    }
    tell_rates(nets);
    nets.set_now(now);
    // Other ports lead to other parts now.
    nets.parts.iter_mut().for_each(|net| look_at_exits(net));
    debug_assert_eq!((nets.totals().launched(), packets(nets)), before, "nothing is lost or made up");
}

/// Takes over a part of other networks, the agents of whose hosts have these numbers now. `was_there` tells which nodes
/// were in it.
fn take_part(
    nets: &mut Networks,
    mut part: Network,
    agents: &IdVec<AgentId, AgentId>,
    was_there: impl Fn(NodeId) -> bool,
    topology: &Topology,
    elsewhere: &Elsewhere<'_>,
) {
    for (id, _) in part.ports.ids().zip(topology.ports()).filter(|(_, port)| was_there(port.from)) {
        nets.of_mut(id).take_port(id, &mut part);
    }
    let Network {
        agenda,
        slab,
        books,
        parked_until,
        memory,
        unseen,
        left_at,
        // Ports were taken over with what stands beside them.
        launched: _,
        ports: _,
        drops: _,
        came_besides: _,
        queues: _,
        plain: _,
        credits: _,
        nics: _,
        arbiter: _,
        losses: _,
        mechanisms: _,
        trims: _,
        // These follow from the model.
        classes: _,
        lone_class: _,
        defers: _,
        deferred_exits: _,
        next_exit: _,
        cnp_wire: _,
        adaptive: _,
        // All parts had the same copies.
        paths: _,
        notified: _,
        // A run with traces has one part in every cut.
        tap: _,
        // Nothing is under way between parts.
        exchange: _,
        // A checkpoint knows none.
        blocks: _,
    } = part;
    take_memory(nets, &memory, topology, was_there);
    take_events(nets, agenda, &slab, agents, topology, elsewhere);
    for net in &mut nets.parts {
        net.parked_until = net.parked_until.max(parked_until);
        net.left_at = net.left_at.max(left_at);
    }
    // Counts are added up over parts, so that any part may have them.
    let first = &mut nets.parts[0];
    first.books = first.books.plus(&books);
    first.unseen.take_over(unseen);
}

/// Takes over the memory of the switches of a part.
fn take_memory(nets: &mut Networks, old: &Memory, topology: &Topology, was_there: impl Fn(NodeId) -> bool) {
    for (number, net) in nets.parts.iter_mut().enumerate() {
        let is_here = |node: NodeId| part_in(&nets.part_of, node) == number;
        match (&mut net.memory, old) {
            (Memory::Apart, Memory::Apart) => {}
            (Memory::Shared(own), Memory::Shared(old)) => {
                own.take_over(old, |node| was_there(node) && is_here(node));
            }
            (Memory::Guarded(own), Memory::Guarded(old)) => {
                own.take_over(old, topology, &was_there, is_here);
            }
            _ => unreachable!("all parts of a model share memory in one way"),
        }
    }
}

/// Takes over the events of a part, and the packets in its slab that are on links or at hosts.
fn take_events(
    nets: &mut Networks,
    mut agenda: Agenda,
    slab: &Slab,
    agents: &IdVec<AgentId, AgentId>,
    topology: &Topology,
    elsewhere: &Elsewhere<'_>,
) {
    while let Some(event) = agenda.pop_before(Time::MAX) {
        let node = node_of(&event, &agenda, topology, elsewhere.sender_of, elsewhere.client_of);
        let part = nets.part_of(node);
        let net = &mut nets.parts[part];
        let kind = match event.kind() {
            EventKind::Arrive(id) => EventKind::Arrive(net.slab.bring(slab, id)),
            EventKind::Handle(id) => EventKind::Handle(net.slab.bring(slab, id)),
            EventKind::AgentTimer(agent) => EventKind::AgentTimer(agents[agent]),
            EventKind::MechanismTimer(_) => {
                let mechanism = net.ports[event.port()].special.mechanism;
                EventKind::MechanismTimer(mechanism.expect("the port has one in every cut"))
            }
            kind @ (EventKind::Wake(_)
            | EventKind::Pause(_)
            | EventKind::SenderTimer(_)
            | EventKind::ReceiverTimer(_)
            | EventKind::Traffic(_)
            | EventKind::Start(_)) => kind,
        };
        net.agenda.take_over(event.with_kind(kind));
    }
}

/// Tells all parts which rates the links of others have had.
fn tell_rates(nets: &mut Networks) {
    for id in nets.ports() {
        let owner = nets.part_of(nets.parts[0].ports[id].owner);
        let (before, rest) = nets.parts.split_at_mut(owner);
        let Some((own, after)) = rest.split_first_mut() else { continue };
        before.iter_mut().chain(after).for_each(|net| net.ports[id].take_over_rates(&own.ports[id]));
    }
}

/// Returns the number of packets in the network.
fn packets(nets: &Networks) -> usize {
    nets.parts.iter().map(|net| net.slab.iter_live().count()).sum()
}

impl Network {
    /// Takes over a port of this part, and the packets that wait there, from the part of another cut that had it. Where its
    /// queues and other parts are found is told by both parts' own ports.
    fn take_port(&mut self, port: PortId, old: &mut Network) {
        let classes = self.arbiter.classes();
        let (own, was) = (&mut self.ports[port], &mut old.ports[port]);
        own.take_over(was);
        self.launched += own.counted.packets;
        if let Some((own, was)) = own.plain.zip(was.plain) {
            swap(&mut self.plain[own], &mut old.plain[was]);
        } else {
            let queues = self.queues.range_mut(own.queues, classes);
            for (own, was) in queues.iter_mut().zip(old.queues.range_mut(was.queues, classes)) {
                swap(own, was);
                own.queue.bring(&old.slab, &mut self.slab);
            }
        }
        if let Some((own, was)) = own.credits.zip(was.credits) {
            self.credits.take_over(own, (&mut old.credits, was), &old.slab, &mut self.slab);
        }
        if let Some((own, was)) = own.nic.zip(was.nic) {
            swap(&mut self.nics[own], &mut old.nics[was]);
        }
        if let Some((own, was)) = own.special.loss.zip(was.special.loss) {
            swap(&mut self.losses[own], &mut old.losses[was]);
        }
        if let Some((own, was)) = own.special.mechanism.zip(was.special.mechanism) {
            swap(&mut self.mechanisms[own], &mut old.mechanisms[was]);
        }
        self.trims.take_over(port, &mut old.trims);
        self.arbiter.take_over(port, &mut old.arbiter);
        if let Some(drops) = old.drops.get(port) {
            self.drops.cover(port, ByReason::default());
            self.drops[port] = *drops;
        }
        if let Some(&besides) = old.came_besides.get(port) {
            self.came_besides.cover(port, 0);
            self.came_besides[port] = besides;
        }
    }
}

/// Returns the part of a node by a list of those of all nodes, which is empty if there is one part.
fn part_in(part_of: &[u32], node: NodeId) -> usize {
    part_of.get(node.index()).map_or(0, |&part| part as usize)
}
