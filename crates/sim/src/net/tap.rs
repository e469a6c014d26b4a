//! The tap: what the ports that a trace covers tell its recorder. Such ports take the slow path of arrivals and
//! departures, so a run without a trace pays nothing.

use super::drop_reason::DropReason;
use super::network::Network;
use crate::ids::{ClassSet, PacketId};
use crate::trace::{Held, Place, Recorder, Step, What};
use clearway_proto::Flags;
use clearway_topology::PortId;

/// Calls a function with the recorder, with a packet as its port holds it, and with the port.
fn with_tap(
    net: &mut Network,
    port: PortId,
    id: PacketId,
    tell: impl FnOnce(&mut Recorder, Place, &Held<'_>),
) {
    let place = place(net, port);
    let Some(recorder) = &mut net.tap else { return };
    let routed = &net.slab[id];
    let has_extra = routed.packet.flags.has(Flags::EXTRA);
    let held = Held {
        id,
        flow: routed.flow,
        packet: &routed.packet,
        extra: has_extra.then(|| *net.slab.extra(id)),
        hops_left: routed.hops_left,
        class: routed.class_at(net.ports[port].nic.is_some()),
    };
    tell(recorder, place, &held);
}

fn place(net: &Network, port: PortId) -> Place {
    Place {
        at: net.now(),
        port,
        queued: net.look(port).queued_bytes(),
        credits: net.look(port).credit_queues().map(|queue| queue.packets()).sum(),
    }
}

/// A port is handed a packet.
#[cold]
#[inline(never)]
pub(super) fn handed(net: &mut Network, port: PortId, id: PacketId) {
    with_tap(net, port, id, |recorder, _, held| recorder.hand(held));
}

/// A port has decided what becomes of the packet that it was handed: if it neither left nor was dropped, it waits.
#[cold]
#[inline(never)]
pub(super) fn settled(net: &mut Network, port: PortId, id: PacketId) {
    if net.tap.as_mut().is_some_and(|recorder| recorder.keeps_handed()) {
        with_tap(net, port, id, |recorder, place, held| recorder.note(place, held, Step::Waits));
    }
}

/// A packet leaves a port for the link.
#[cold]
#[inline(never)]
pub(super) fn departs(net: &mut Network, port: PortId, id: PacketId) {
    let done = net.ports[port].busy_until;
    with_tap(net, port, id, |recorder, place, held| recorder.note(place, held, Step::Leaves { done }));
}

/// A port cut a packet to its header.
#[cold]
#[inline(never)]
pub(super) fn trimmed(net: &mut Network, port: PortId, id: PacketId) {
    with_tap(net, port, id, |recorder, place, held| recorder.note_trimmed(place, held));
}

/// A packet is dropped at a port.
#[cold]
#[inline(never)]
pub(super) fn dropped(net: &mut Network, port: PortId, id: PacketId, why: DropReason) {
    with_tap(net, port, id, |recorder, place, held| recorder.note(place, held, Step::Dropped(why)));
}

/// A pause frame leaves a port, or a port obeys one.
pub(super) fn frame(net: &mut Network, port: PortId, step: Step, stop: ClassSet, go: ClassSet) {
    let place = place(net, port);
    if let Some(recorder) = &mut net.tap {
        recorder.note_frame(place, step, What::Frame { stop, go });
    }
}
