//! Admission: a packet is classified, and joins the queue of its class if that and the memory have room.

use super::deferred::wake_for_queues;
use super::rules::{AdmissionRule, Admitted};
use crate::ids::{Id, PacketId};
use crate::net::data_queue::DataQueue;
use crate::net::network::Network;
use clearway_topology::PortId;

/// Classifies, admits, marks and queues a packet. It leaves no trace of one for which there is no room.
#[inline(always)]
pub(super) fn admit<M: AdmissionRule>(net: &mut Network, port: PortId, id: PacketId) -> Admitted {
    admit_if::<M>(net, port, id, DataQueue::has_room)
}

/// As [`admit`], where `has_room` says whether the queue of its class has room for so many bytes.
#[inline(always)]
pub(super) fn admit_if<M: AdmissionRule>(
    net: &mut Network,
    port: PortId,
    id: PacketId,
    has_room: impl FnOnce(&DataQueue, u64) -> bool,
) -> Admitted {
    let now = net.agenda.now;
    let (out, routed) = (&mut net.ports[port], &mut net.slab[id]);
    let class = routed.class_at(out.nic.is_some());
    let queue = net.queues.nth_mut(out.queues, class.index());
    let mut admitted = Admitted::plainly(has_room(queue, routed.packet.wire.into()));
    if admitted.has_room && out.nic.is_none() {
        admitted = M::admit(&mut net.memory, &net.paths, routed, out.owner, queue.queue.bytes());
    }
    if admitted.has_room {
        queue.mark_joining(&mut routed.packet);
        queue.queue.push(&mut net.slab, id, now);
        out.waiting += 1;
        let free = out.busy_until.max(now);
        if !M::PAUSES || !out.paused.has(class) {
            wake_for_queues(net, port, free);
        }
    }
    admitted
}
