//! The boundaries between the parts of a network: packets and pause frames that leave a part wait in its outboxes until
//! all parts have come to the same time, and change places then.

use super::exchange::{Batch, Crossing, Exchange, Handover};
use super::flow_control::Frame;
use super::mailboxes::Mailboxes;
use super::network::Network;
use super::networks::Networks;
use super::pause;
use super::port::Away;
use super::slab::Addition;
use crate::engine::{Event, EventKind};
use crate::ids::{Id, PacketId, PartId};
use clearway_proto::Flags;
use clearway_topology::PortId;
use clearway_units::Time;

/// Hands over what parts have sent each other. The boxes only change places; each part opens its own.
pub fn exchange(nets: &mut Networks) {
    for from in 0..nets.parts.len() {
        let has_sent = |exchange: &mut Exchange| std::mem::take(&mut exchange.has_sent);
        if !nets.parts[from].exchange.as_mut().is_some_and(has_sent) {
            continue;
        }
        for to in (0..nets.parts.len()).filter(|&to| to != from) {
            let Ok([from_part, to_part]) = nets.parts.get_disjoint_mut([from, to]) else { continue };
            if let (Some(sender), Some(receiver)) = (&mut from_part.exchange, &mut to_part.exchange) {
                receiver.receive(to, from, sender);
            }
        }
    }
}

/// Takes in what parts have handed over and not yet taken in, after the last event of a run.
pub fn settle(nets: &mut Networks) {
    nets.parts.iter_mut().for_each(|net| net.open_inboxes());
}

impl Network {
    /// Schedules an event of a port at another block.
    #[inline(never)]
    pub(super) fn schedule_at(&mut self, block: u16, port: PortId, at: Time, kind: EventKind) {
        let event = Event::new(at, port.0, kind);
        match &mut self.blocks {
            Some(blocks) if blocks.are_open() => blocks.schedule(block, event),
            _ => self.agenda.take_over(event),
        }
    }

    fn outbox(&mut self, part: PartId) -> &mut Batch {
        let exchange = self.exchange.as_mut().expect("a link that leads away has boxes");
        exchange.outbox(part)
    }

    /// Sends a packet over the link of a port that leads elsewhere: to another block, or into the outbox of another part.
    #[inline(never)]
    pub(super) fn hand_over(&mut self, away: Away, port: PortId, at: Time, id: PacketId) {
        let part = match away {
            Away::Part(part) => PartId::from_index(part.into()),
            Away::Block(block) => return self.schedule_at(block, port, at, EventKind::Arrive(id)),
        };
        let routed = self.slab[id];
        let extra = routed.packet.flags.has(Flags::EXTRA).then(|| *self.slab.extra(id));
        self.slab.vacate(id);
        let outbox = self.outbox(part);
        outbox.push(Handover { port, at, what: Crossing::Packet });
        outbox.packets.push(routed);
        outbox.extras.extend(extra);
    }

    /// Sends a pause frame for a port elsewhere: to another block, or into the outbox of another part.
    #[inline(never)]
    pub(super) fn hand_over_frame(&mut self, away: Away, back: PortId, at: Time, link: PortId, frame: Frame) {
        let part = match away {
            Away::Part(part) => PartId::from_index(part.into()),
            Away::Block(block) => return self.schedule_at(block, back, at, EventKind::Pause(link)),
        };
        pause::withdraw_frame(self, link);
        let item = Handover { port: back, at, what: Crossing::Frame(link, frame) };
        self.outbox(part).push(item);
    }

    /// Posts what this part, which has this number, sent to others while all go on.
    pub fn post(&mut self, number: usize, mail: &Mailboxes) {
        if let Some(exchange) = &mut self.exchange {
            mail.post(number, exchange);
        }
    }

    /// Collects what others have posted for this part, which has this number.
    pub fn collect(&mut self, number: usize, mail: &Mailboxes) {
        if let Some(exchange) = &mut self.exchange {
            mail.collect(number, exchange);
        }
    }

    /// Takes in what came from other parts.
    pub fn open_inboxes(&mut self) {
        if self.exchange.as_ref().is_none_or(|exchange| exchange.first.is_none()) {
            return self.slab.release_vacated();
        }
        let Some(mut exchange) = self.exchange.take() else { return };
        exchange.first = None;
        for batch in &mut exchange.inboxes {
            let (mut packets, mut extras) = (batch.packets.drain(..), batch.extras.drain(..));
            for Handover { port, at, what } in batch.items.drain(..) {
                match what {
                    Crossing::Packet => {
                        let routed = packets.next().expect("kept beside the item");
                        let has_extra = routed.packet.flags.has(Flags::EXTRA);
                        let id = self.slab.take_in(routed);
                        if has_extra {
                            let extra = extras.next().expect("kept beside the packet");
                            self.slab.set_extra(id, Addition::New(&extra));
                        }
                        self.agenda.at_port(port, at, EventKind::Arrive(id));
                    }
                    Crossing::Frame(link, frame) => {
                        pause::accept_frame(self, link, frame);
                        self.agenda.at_port(port, at, EventKind::Pause(link));
                    }
                }
            }
        }
        self.exchange = Some(exchange);
        self.slab.release_vacated();
    }
}
