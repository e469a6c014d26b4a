//! What the parts of a network hand over to each other: packets and pause frames that cross a link between two of them.

use super::flow_control::Frame;
use super::slab::Parcel;
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
    /// The time of the first arrival among it, if there is any.
    pub first: Option<Time>,
    /// The packets among it, in their order.
    pub parcels: Vec<Parcel>,
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
            self.items.append(&mut other.items);
            self.first = self.first.into_iter().chain(other.first.take()).min();
            self.parcels.append(&mut other.parcels);
            self.extras.append(&mut other.extras);
        }
    }
}

impl Exchange {
    /// Empty boxes between `parts` parts.
    pub fn new(parts: usize) -> Exchange {
        let boxes = || (0..parts).map(|_| Batch::default()).collect();
        Exchange { outboxes: boxes(), inboxes: boxes() }
    }

    /// The time of the first arrival that the part has yet to hear of.
    pub fn next_at(&self) -> Option<Time> {
        self.inboxes.iter().filter_map(|batch| batch.first).min()
    }

    /// The number of those arrivals.
    pub fn len(&self) -> usize {
        self.inboxes.iter().map(|batch| batch.items.len()).sum()
    }
}
