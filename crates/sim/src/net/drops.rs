//! Packets that ports drop.

use super::drop_reason::{ByReason, DropReason};
use super::network::Network;
use super::tap;
use crate::ids::PacketId;
use clearway_topology::PortId;

/// Drops a packet at a port.
#[inline]
pub fn drop_packet(net: &mut Network, port: PortId, id: PacketId, why: DropReason) {
    net.drops.cover(port, ByReason::default());
    net.drops[port][why] += 1;
    if net.ports[port].special.is_traced {
        tap::dropped(net, port, id, why);
    }
    let routed = &net.slab[id];
    net.books.dropped[why].add(&routed.packet);
    net.unseen.count(routed.flow, -1);
    net.forget(id);
}
