//! Entry: packets come into the network, and from links.

use super::arrival::{hand, hand_aside};
use crate::ids::{ClassId, FlowSlot, PacketId};
use crate::net::forward;
use crate::net::network::Network;
use crate::net::paths::Way;
use crate::net::slab::Addition;
use clearway_proto::Packet;
use clearway_topology::PortId;

/// Puts a packet of a flow into the network, as [`Network::enter`], and hands it to the first port of its way.
#[inline(always)]
pub fn put_in(
    net: &mut Network,
    packet: &Packet,
    extra: Addition<'_>,
    flow: FlowSlot,
    class: ClassId,
    way: Way,
) {
    let (id, port) = net.enter(packet, extra, flow, class, way);
    hand(net, port, id);
}

/// Handles a packet that reached the end of the link of a port: at a switch it moves on. Returns whether it is at its
/// host.
#[inline(always)]
pub fn arrive(net: &mut Network, id: PacketId, over: PortId) -> bool {
    let routed = &mut net.slab[id];
    if routed.hops_left == 0 {
        return true;
    }
    let Some(port) = net.paths.ahead(routed.hop) else {
        let next = forward::next(net, id, over);
        hand_aside(net, next, id);
        return false;
    };
    routed.hop = routed.hop.next();
    routed.hops_left -= 1;
    hand(net, port, id);
    false
}
