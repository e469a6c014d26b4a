//! Departure: a packet leaves its queue and the memory, and goes on the link.

use super::rules::{MemoryRule, Rules, TurnRule};
use super::vote::show_departure;
use crate::engine::EventKind;
use crate::ids::{ClassId, Id, PacketId};
use crate::net::drop_reason::DropReason;
use crate::net::drops::drop_packet;
use crate::net::network::Network;
use crate::net::port::Special;
use crate::net::slab::RoutedPacket;
use crate::net::tap;
use clearway_proto::{Kind, Sees};
use clearway_topology::PortId;
use clearway_units::Time;

/// Takes the first packet of a class of data out of its queue, and out of the memory of its switch.
#[inline(always)]
pub fn take<R: Rules>(net: &mut Network, port: PortId, class: ClassId) -> Option<PacketId> {
    let now = net.agenda.now;
    let out = &mut net.ports[port];
    let is_host = out.nic.is_some();
    let queue = net.queues.nth_mut(out.queues, class.index());
    let id = queue.queue.head()?;
    let routed = &mut net.slab[id];
    queue.queue.pop_head(routed, now);
    queue.mark_leaving(&mut routed.packet);
    out.waiting -= 1;
    R::Turns::charge(&mut net.arbiter, port, is_host, class, routed.packet.wire.into());
    if !is_host {
        R::Memory::release(net, port, id);
    }
    Some(id)
}

/// Puts a packet on the link, which is free.
#[inline(always)]
pub fn transmit(net: &mut Network, port: PortId, id: PacketId) {
    let now = net.agenda.now;
    debug_assert!(net.ports[port].is_free(now));
    put_on_link(net, port, id, now);
}

/// As [`transmit`], for a packet that a flow of this class made because it was its turn, which is charged for it.
#[inline(always)]
pub fn transmit_pulled(net: &mut Network, port: PortId, class: ClassId, id: PacketId) {
    if net.arbiter.has_turns(true) {
        net.arbiter.charge(port, true, class, net.slab[id].packet.wire.into());
    }
    transmit(net, port, id);
}

/// Puts a packet on the link at `start`, when it is free.
#[inline(always)]
pub fn put_on_link(net: &mut Network, port: PortId, id: PacketId, start: Time) {
    let (out, packet) = (&mut net.ports[port], &net.slab[id].packet);
    let arrival = out.start_frame(packet.wire.into(), start);
    out.counted.add(packet);
    net.launched += 1;
    if out.special_departures.has(packet) {
        return launch_where_looked_at(net, port, arrival, id);
    }
    launch(net, port, arrival, id);
}

/// Schedules the arrival of a packet at the far end of a port's link: the one way over a link.
#[inline(always)]
fn launch(net: &mut Network, port: PortId, arrival: Time, id: PacketId) {
    net.agenda.at_port(port, arrival, EventKind::Arrive(id));
}

/// Sends a packet over the link of a port that has a mechanism or trims, whose link loses packets or leads to another part of
/// the network, or that a trace covers.
#[inline(never)]
fn launch_where_looked_at(net: &mut Network, port: PortId, arrival: Time, id: PacketId) {
    let out = &net.ports[port];
    if out.special_departures == Sees::All {
        return launch_rarely(net, port, arrival, id);
    }
    // Where not all packets come here they are what the mechanism sees or, where it sees none, data at a port that trims.
    match out.special.mechanism.filter(|_| out.special.sees_departures != Sees::Nothing) {
        Some(mechanism) => show_departure(net, port, mechanism, id),
        None => note_departure(net, port, id),
    }
    launch(net, port, arrival, id);
}

/// As [`launch_where_looked_at`], where all packets come here.
#[inline(never)]
fn launch_rarely(net: &mut Network, port: PortId, arrival: Time, id: PacketId) {
    let special = &net.ports[port].special;
    match special.only_leads_to_block() {
        Some(block) => launch_to_block(net, port, arrival, id, block),
        None => launch_where_anything_may_be(net, port, arrival, id),
    }
}

/// Sends a packet over a link that leads to another block and is nothing else that has to be looked at.
#[inline(always)]
fn launch_to_block(net: &mut Network, port: PortId, arrival: Time, id: PacketId, block: u16) {
    if net.ports[port].special.trims() && net.slab[id].packet.kind() == Kind::Data {
        note_departure(net, port, id);
    }
    net.schedule_at(block, port, arrival, EventKind::Arrive(id));
}

/// As [`launch_rarely`], where a mechanism, a loss, a trace or another part of the network may have to do with it.
#[inline(never)]
fn launch_where_anything_may_be(net: &mut Network, port: PortId, arrival: Time, id: PacketId) {
    let special = net.ports[port].special;
    let Special { mechanism, sees_departures, loss, is_traced, leads_to, .. } = special;
    if special.trims() && net.slab[id].packet.kind() == Kind::Data {
        note_departure(net, port, id);
    }
    if let Some(mechanism) = mechanism
        && sees_departures.has(&net.slab[id].packet)
    {
        show_departure(net, port, mechanism, id);
    }
    if (is_traced || loss.is_some()) && is_lost(net, port, id) {
        drop_packet(net, port, id, DropReason::Loss);
    } else if let Some(away) = leads_to {
        net.hand_over(away, port, arrival, id);
    } else {
        launch(net, port, arrival, id);
    }
}

/// A packet of data leaves for the link of a port that trims, which counts it against the limit of its queue until then.
#[inline(always)]
fn note_departure(net: &mut Network, port: PortId, id: PacketId) {
    let (out, RoutedPacket { packet, class, .. }) = (&net.ports[port], &net.slab[id]);
    debug_assert!(out.special.trims());
    net.queues.nth_mut(out.queues, class.index()).admission.send(packet, out.counted.packets);
}

/// A packet leaves a port whose link loses, or that a trace covers. Returns whether it is lost.
#[cold]
#[inline(never)]
fn is_lost(net: &mut Network, port: PortId, id: PacketId) -> bool {
    let special = net.ports[port].special;
    if special.is_traced {
        tap::departs(net, port, id);
    }
    special.loss.is_some_and(|loss| net.losses[loss].strikes())
}
