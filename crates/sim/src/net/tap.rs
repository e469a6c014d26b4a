//! The tap: what the ports that a trace covers tell its recorder. Such ports take the slow path of arrivals and
//! departures, so a run without a trace pays nothing.

use super::drop_reason::DropReason;
use super::network::Network;
use crate::ids::{ClassSet, PacketId};
use crate::trace::{Held, Place, Recorder, Step, What};
use clearway_proto::Flags;
use clearway_topology::PortId;

impl Network {
    /// Calls a function with the recorder, with a packet as its port holds it, and with the port.
    fn with_tap(&mut self, port: PortId, id: PacketId, tell: impl FnOnce(&mut Recorder, Place, &Held<'_>)) {
        let place = self.place(port);
        let Some(recorder) = &mut self.tap else { return };
        let routed = &self.slab[id];
        let has_extra = routed.packet.flags.has(Flags::EXTRA);
        let held = Held {
            id,
            flow: routed.flow,
            packet: &routed.packet,
            extra: has_extra.then(|| *self.slab.extra(id)),
            hops_left: routed.hops_left,
            class: routed.class_at(self.ports[port].nic.is_some()),
        };
        tell(recorder, place, &held);
    }

    fn place(&self, port: PortId) -> Place {
        Place {
            at: self.now(),
            port,
            queued: self.queued_bytes(port),
            credits: self.credit_queues(port).map(|queue| queue.packets()).sum(),
        }
    }

    /// A port is handed a packet.
    #[cold]
    #[inline(never)]
    pub(super) fn tap_hand(&mut self, port: PortId, id: PacketId) {
        self.with_tap(port, id, |recorder, _, held| recorder.hand(held));
    }

    /// A port has decided what becomes of the packet that it was handed: if it neither left nor was dropped, it waits.
    #[cold]
    #[inline(never)]
    pub(super) fn tap_settle(&mut self, port: PortId, id: PacketId) {
        if self.tap.as_mut().is_some_and(|recorder| recorder.keeps_handed()) {
            self.with_tap(port, id, |recorder, place, held| recorder.note(place, held, Step::Waits));
        }
    }

    /// A packet leaves a port for the link.
    #[cold]
    #[inline(never)]
    pub(super) fn tap_departure(&mut self, port: PortId, id: PacketId) {
        let done = self.ports[port].busy_until;
        self.with_tap(port, id, |recorder, place, held| recorder.note(place, held, Step::Leaves { done }));
    }

    /// A packet is dropped at a port.
    #[cold]
    #[inline(never)]
    pub(super) fn tap_drop(&mut self, port: PortId, id: PacketId, why: DropReason) {
        self.with_tap(port, id, |recorder, place, held| recorder.note(place, held, Step::Dropped(why)));
    }

    /// A pause frame leaves a port, or a port obeys one.
    pub(super) fn tap_frame(&mut self, port: PortId, step: Step, stop: ClassSet, go: ClassSet) {
        let place = self.place(port);
        if let Some(recorder) = &mut self.tap {
            recorder.note_frame(place, step, What::Frame { stop, go });
        }
    }
}
