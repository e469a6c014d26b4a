//! Links that lead to another part: packets and pause frames leave for outboxes, and arrive from inboxes.

use super::exchange::{Batch, Crossing, Handover};
use super::flow_control::Frame;
use super::network::Network;
use super::slab::Addition;
use crate::engine::EventKind;
use crate::ids::PacketId;
use clearway_proto::Flags;
use clearway_topology::PortId;
use clearway_units::Time;

impl Network {
    fn outbox(&mut self, port: PortId) -> &mut Batch {
        let to = self.ports[port.reverse()].owner;
        let exchange = self.exchange.as_mut().expect("a link that leads away has boxes");
        let part = exchange.part_of[to.index()];
        &mut exchange.outboxes[part as usize]
    }

    /// Puts a packet into the outbox of the part to which the link of a port leads.
    #[inline(never)]
    pub(super) fn hand_over(&mut self, port: PortId, at: Time, id: PacketId) {
        let parcel = self.slab[id];
        let extra = parcel.packet.flags.has(Flags::EXTRA).then(|| *self.slab.extra(id));
        self.slab.remove(id);
        let outbox = self.outbox(port);
        outbox.push(Handover { port, at, what: Crossing::Packet(parcel) });
        outbox.extras.extend(extra);
    }

    /// Puts a pause frame for a port into the outbox of the part where the port is.
    #[inline(never)]
    pub(super) fn hand_over_frame(&mut self, back: PortId, at: Time, link: PortId, frame: Frame) {
        let item = Handover { port: back, at, what: Crossing::Frame(link, frame) };
        self.outbox(back).push(item);
    }

    /// Takes in what came from other parts.
    pub fn open_inboxes(&mut self) {
        let Some(mut exchange) = self.exchange.take() else { return };
        for batch in &mut exchange.inboxes {
            batch.first = Time::MAX;
            let mut extras = batch.extras.drain(..);
            for Handover { port, at, what } in batch.items.drain(..) {
                match what {
                    Crossing::Packet(parcel) => {
                        let has_extra = parcel.packet.flags.has(Flags::EXTRA);
                        let id = self.slab.insert(parcel);
                        if has_extra {
                            let extra = extras.next().expect("kept beside the packet");
                            self.slab.set_extra(id, Addition::New(&extra));
                        }
                        self.agenda.at_port(port, at, EventKind::Arrive(id));
                    }
                    Crossing::Frame(link, frame) => {
                        self.accept_frame(link, frame);
                        self.agenda.at_port(port, at, EventKind::Pause(link));
                    }
                }
            }
        }
        self.exchange = Some(exchange);
    }
}
