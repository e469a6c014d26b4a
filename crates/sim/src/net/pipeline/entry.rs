//! Entry: packets come into the network, and from links.

use super::arrival::{hand, hand_aside, hand_late};
use super::deferred::is_deferred;
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
        pass_on(net, id, over);
        return false;
    };
    routed.hop = routed.hop.next();
    routed.hops_left -= 1;
    hand(net, port, id);
    false
}

/// Hands a packet that tables forward, and that reached a switch over the link of a port, to the next port of its way.
#[inline(never)]
fn pass_on(net: &mut Network, id: PacketId, over: PortId) {
    let port = forward::next(net, id, over);
    if is_deferred(&net.ports[port]) {
        return hand_late(net, port, id);
    }
    hand_aside(net, port, id);
}
