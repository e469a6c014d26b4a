//! What the parts of a network hand over to each other: packets and pause frames that cross a link between two of them.

use super::flow_control::Frame;
use super::slab::RoutedPacket;
use crate::ids::{Id, PartId};
use clearway_proto::Extra;
use clearway_topology::PortId;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// Something that goes on in another part.
#[derive(Serialize, Deserialize)]
pub struct Handover {
    /// The port from which it comes.
    pub port: PortId,
    /// The time at which it arrives.
    pub at: Time,
    /// What it is.
    pub what: Crossing,
}

/// What crosses a link between parts.
#[derive(Serialize, Deserialize)]
pub enum Crossing {
    /// The next of the packets beside, with the next addition if it has one.
    Packet,
    /// A pause frame for this port.
    Frame(PortId, Frame),
}

/// What a part hands over to another one.
#[derive(Default, Serialize, Deserialize)]
pub struct Batch {
    /// What crosses, in the order in which it was sent.
    pub items: Vec<Handover>,
    /// The time of the first arrival among it, as long as it has not come to the other part.
    pub first: Option<Time>,
    /// The packets among it, in their order.
    pub packets: Vec<RoutedPacket>,
    /// The additions of those packets that have one, in their order.
    pub extras: Vec<Extra>,
}

/// What a part of a network hands over to the others, and gets from them.
#[derive(Serialize, Deserialize)]
pub struct Exchange {
    /// What is to go to each part.
    pub outboxes: Vec<Batch>,
    /// What came from each part.
    pub inboxes: Vec<Batch>,
    /// The time of the first arrival in the inboxes, if there is any.
    pub first: Option<Time>,
    /// Set if anything is in the outboxes.
    pub has_sent: bool,
}

impl Batch {
    /// Adds something that crosses.
    pub fn push(&mut self, item: Handover) {
        self.first = Some(self.first.map_or(item.at, |first| first.min(item.at)));
        self.items.push(item);
    }

    /// Takes over what is in another batch, and leaves that empty.
    pub fn take_over(&mut self, other: &mut Batch) {
        if self.items.is_empty() {
            std::mem::swap(self, other);
        } else {
            self.first = self.first.into_iter().chain(other.first).min();
            self.items.append(&mut other.items);
            self.packets.append(&mut other.packets);
            self.extras.append(&mut other.extras);
        }
        other.first = None;
    }
}

impl Exchange {
    /// Empty boxes between `parts` parts.
    pub fn new(parts: usize) -> Exchange {
        let boxes = || (0..parts).map(|_| Batch::default()).collect();
        Exchange { outboxes: boxes(), inboxes: boxes(), first: None, has_sent: false }
    }

    /// Returns the batch of what goes to a part, to which something is added.
    #[inline]
    pub fn outbox(&mut self, to: PartId) -> &mut Batch {
        self.has_sent = true;
        &mut self.outboxes[to.index()]
    }

    /// Takes over what the part `from` sent to this one, which is the part `to`.
    pub fn receive(&mut self, to: usize, from: usize, sender: &mut Exchange) {
        self.take_in(from, &mut sender.outboxes[to]);
    }

    /// Takes over a batch that the part `from` sent to this one.
    pub fn take_in(&mut self, from: usize, batch: &mut Batch) {
        if !batch.items.is_empty() {
            self.first = self.first.into_iter().chain(batch.first).min();
            self.inboxes[from].take_over(batch);
        }
    }
}
