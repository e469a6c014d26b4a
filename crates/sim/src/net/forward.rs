//! Packets that switches forward by tables, hop by hop.

use super::adaptive::{Adaptive, DOWN, HASHED_BELOW};
use super::network::Network;
use super::paths::{HopId, Route, Way};
use super::slab::RoutedPacket;
use crate::ids::{FlowSlot, Id, PacketId};
use clearway_proto::{Packet, Tag, mix};
use clearway_topology::routing::{NextHop, pick};
use clearway_topology::{NodeId, PortId};

/// Returns the next port of a packet that reached a switch over the link of a port, and notes that it goes there.
#[inline(always)]
pub fn next(net: &mut Network, id: PacketId, over: PortId) -> PortId {
    let routed = &net.slab[id];
    let next = match &net.adaptive {
        None => next_by_tables(net, routed, over),
        Some(adaptive) => next_adaptively(net, adaptive, net.paths.tables.end(over), routed),
    };
    let routed = &mut net.slab[id];
    routed.hop = HopId::over(over);
    // Routing may have changed under way, and made the way longer.
    routed.hops_left = if next.is_last { 0 } else { (routed.hops_left - 1).max(1) };
    next.port
}

/// Returns the next hop of a packet that reached a switch over the link of a port, by the tables alone.
#[inline(always)]
pub fn next_by_tables(net: &Network, routed: &RoutedPacket, over: PortId) -> NextHop {
    let tables = &net.paths.tables;
    tables.next(tables.end(over), routed.flow, &routed.packet)
}

/// Returns the next hop of a packet at a switch that routes adaptively: one of those with the shortest queues.
#[inline(never)]
fn next_adaptively(net: &Network, adaptive: &Adaptive, at: NodeId, routed: &RoutedPacket) -> NextHop {
    if routed.packet.wire < HASHED_BELOW {
        return net.paths.tables.next(at, routed.flow, &routed.packet);
    }
    let (choices, hash) = net.paths.tables.choices(at, routed.flow, &routed.packet);
    if choices.others().next().is_none() {
        return choices.first;
    }
    let ports = || std::iter::once(choices.first.port).chain(choices.others());
    let level = |port| level(net, adaptive, port, routed);
    let least = ports().map(level).min().unwrap_or(0);
    let best = || ports().filter(|port| level(*port) == least);
    let port = best().nth(pick(hash, best().count())).unwrap_or(choices.first.port);
    NextHop { port, ..choices.first }
}

/// Returns the level of the queue of a packet's class at a port, with the frame that is being sent there, which counts as one of
/// the packet's size.
fn level(net: &Network, adaptive: &Adaptive, port: PortId, routed: &RoutedPacket) -> usize {
    let (now, out) = (net.agenda.now, &net.ports[port]);
    if !out.up {
        return DOWN;
    }
    let waiting = match out.plain {
        Some(plain) => net.plain[plain].bytes(now),
        None => net.queues.nth(out.queues, routed.class.index()).queue.bytes(),
    };
    let being_sent = if out.busy_until > now { routed.packet.wire.into() } else { 0 };
    adaptive.level(routed.class, waiting + being_sent)
}

/// Returns the way of a packet from the switch of a port back to the sender of a flow whose data the port sends; `back` is the
/// route from the flow's receiver. On a stored path it leads over the links that the data took, and there is none if the flow has
/// been given another path since. By tables it is any of the shortest, so that the packet gets an entropy; `number` tells
/// the packets apart that the port sends back.
pub fn way_back(
    net: &Network,
    packet: &mut Packet,
    port: PortId,
    flow: FlowSlot,
    back: Route,
    number: u64,
) -> Option<Way> {
    // On the way back the reverse of `port` leads to its switch; what follows leads on to the sender.
    let over = port.reverse();
    if !back.is_by_tables() {
        return net.paths.behind(back, over);
    }
    let entropy = (mix(mix(u64::from(port.0)) ^ number) >> 48) as u16;
    *packet = packet.with_tag(Tag { entropy: Some(entropy), ..packet.tag() });
    let next = net.paths.tables.next(net.ports[port].owner, flow, packet);
    // How far it is from the middle of a way is not known. It is less than from the end.
    let hops = if next.is_last { 1 } else { back.hops().max(2) };
    Some(Way { port: next.port, then: HopId::over(over), hops })
}
