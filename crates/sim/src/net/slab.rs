//! Packets that are somewhere in the network, in one array, referred to by index.

use clearway_proto::{Extra, Flags, Packet};

/// No packet, no flow.
pub const NONE: u32 = u32::MAX;

/// A packet on its way: one cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Slot {
    /// What its ends see.
    pub packet: Packet,
    /// The flow that it belongs to.
    pub flow: u32,
    /// Where the next port of its path stands in [`Routes`](super::Paths).
    pub route: u32,
    /// The packet behind it in a queue; in a free slot the next free one.
    pub next: u32,
    /// Ports that it has yet to cross.
    pub hops: u8,
    /// Its class at ports of switches; of a credit, its class among credits at every port.
    pub class: u8,
    /// Its class at its host's port.
    pub class_at_host: u8,
}

const _: () = assert!(size_of::<Slot>() == 64, "a packet shall be one cache line");

/// All packets in the network.
pub struct Slab {
    slots: Vec<Slot>,
    free: u32,
    /// What few packets carry, at the same index as the packet; as long as the highest index that ever needed one.
    extras: Vec<Extra>,
}

impl Slot {
    /// Its class at a port: of a host, or of a switch.
    #[inline]
    pub fn class_at(&self, is_host: bool) -> u8 {
        if is_host { self.class_at_host } else { self.class }
    }
}

impl Slab {
    /// An empty slab.
    pub fn new() -> Slab {
        Slab { slots: Vec::new(), free: NONE, extras: Vec::new() }
    }

    /// Puts a packet in and returns its index.
    #[inline]
    pub fn insert(&mut self, slot: Slot) -> u32 {
        if self.free == NONE {
            self.slots.push(slot);
            return self.slots.len() as u32 - 1;
        }
        let index = self.free;
        let place = &mut self.slots[index as usize];
        self.free = place.next;
        *place = slot;
        index
    }

    /// Takes a packet out.
    #[inline]
    pub fn remove(&mut self, index: u32) {
        self.slots[index as usize].next = self.free;
        self.free = index;
    }

    /// A packet.
    #[inline]
    pub fn get(&self, index: u32) -> &Slot {
        &self.slots[index as usize]
    }

    /// A packet, to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut Slot {
        &mut self.slots[index as usize]
    }

    /// Keeps what a packet carries besides.
    pub fn set_extra(&mut self, index: u32, extra: Extra) {
        if self.extras.len() <= index as usize {
            self.extras.resize(index as usize + 1, Extra::default());
        }
        self.extras[index as usize] = extra;
    }

    /// What a packet carries besides; only for packets that were given something.
    pub fn extra(&self, index: u32) -> Extra {
        self.extras[index as usize]
    }

    /// A packet with what it carries besides, if anything, to be changed.
    pub fn get_both(&mut self, index: u32) -> (&mut Slot, Option<&mut Extra>) {
        let slot = &mut self.slots[index as usize];
        let has_extra = slot.packet.flags.has(Flags::EXTRA);
        (slot, self.extras.get_mut(index as usize).filter(|_| has_extra))
    }

    /// The packets in the network, in no meaningful order.
    pub fn iter_live(&self) -> impl Iterator<Item = &Slot> {
        let mut is_free = vec![false; self.slots.len()];
        let mut index = self.free;
        while index != NONE {
            is_free[index as usize] = true;
            index = self.slots[index as usize].next;
        }
        self.slots.iter().zip(is_free).filter(|(_, free)| !free).map(|(slot, _)| slot)
    }
}
