//! Packets that are in the network, in one array, referred to by [`PacketId`].

use super::paths::HopId;
use crate::engine::prefetch_lines;
use crate::ids::{ClassId, FlowSlot, IdVec, PacketId};
use clearway_proto::{Extra, Flags, Packet};
use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// A packet on its way, with what the network notes of it: one cache line.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[repr(C, align(64))]
pub struct Parcel {
    /// The packet, as the ends of its flow see it.
    pub packet: Packet,
    /// The flow of the packet.
    pub flow: FlowSlot,
    /// The next port of the packet's path.
    pub hop: HopId,
    /// The packet behind this one in a queue.
    pub next: Option<PacketId>,
    /// The number of ports that the packet has yet to cross.
    pub hops_left: u8,
    /// The packet's class at ports of switches; of a credit, the class among credits at every port.
    pub class: ClassId,
    /// The packet's class at its host's port.
    pub class_at_host: ClassId,
}

const _: () = assert!(size_of::<Parcel>() == 64, "a packet shall be one cache line");

impl Parcel {
    /// The packet's class at a port: of a host, or of a switch.
    #[inline]
    pub fn class_at(&self, is_host: bool) -> ClassId {
        if is_host { self.class_at_host } else { self.class }
    }
}

/// The addition of a packet that enters, if the packet is flagged [`Flags::EXTRA`].
pub enum Addition<'a> {
    /// The packet's end made it.
    New(&'a Extra),
    /// It came with the packet that this one answers, and which has just been taken out. It stays in its place if this
    /// packet follows there.
    Of(PacketId),
}

/// The place of an addition. It begins a cache line, in which a port finds where to write its telemetry.
#[derive(Clone, Serialize, Deserialize)]
#[repr(align(64))]
struct Place(Extra);

/// All packets in the network.
#[derive(Default, Serialize, Deserialize)]
pub struct Slab {
    parcels: IdVec<PacketId, Parcel>,
    /// The entries that are free; the last one is used next.
    free: Vec<PacketId>,
    /// Additions that few packets carry, by packet; only as long as the highest id that ever needed one.
    extras: IdVec<PacketId, Place>,
}

impl Slab {
    /// Puts a packet in and returns its id.
    #[inline]
    pub fn insert(&mut self, parcel: Parcel) -> PacketId {
        let Some(id) = self.free.pop() else { return self.parcels.push(parcel) };
        self.parcels[id] = parcel;
        id
    }

    /// Takes a packet out.
    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// Fetches the place of the packet that is put in after so many others, unless packets leave before.
    #[inline]
    pub fn fetch_place(&self, ahead: usize) {
        if let Some(&id) = self.free.get(self.free.len().wrapping_sub(1 + ahead)) {
            prefetch_lines(self.address(id), 1);
        }
    }

    /// The address of a packet, to be fetched ahead.
    #[inline]
    pub fn address(&self, id: PacketId) -> *const u8 {
        self.parcels.address(id).cast()
    }

    /// The memory that packets take, in bytes: as many as were ever in the network at once.
    pub fn size(&self) -> usize {
        self.parcels.size()
    }

    /// Keeps the addition of a packet that is flagged [`Flags::EXTRA`].
    pub fn set_extra(&mut self, id: PacketId, from: Addition<'_>) {
        self.extras.cover(id, Place(Extra::None));
        match from {
            Addition::New(extra) => self.extras[id].0.take_over(extra),
            Addition::Of(other) if other == id => {}
            Addition::Of(other) => self.extras[id] = self.extras[other].clone(),
        }
    }

    /// The addition of a packet that is flagged [`Flags::EXTRA`], also if the packet has just been taken out.
    #[inline]
    pub fn extra(&self, id: PacketId) -> &Extra {
        &self.extras[id].0
    }

    /// As [`Slab::extra`], to be changed.
    #[inline]
    pub fn extra_mut(&mut self, id: PacketId) -> &mut Extra {
        &mut self.extras[id].0
    }

    /// A packet and its addition, if it has one, to be changed.
    pub fn get_both(&mut self, id: PacketId) -> (&mut Parcel, Option<&mut Extra>) {
        let parcel = &mut self.parcels[id];
        let extra = match parcel.packet.flags.has(Flags::EXTRA) {
            true => Some(&mut self.extras[id].0),
            false => None,
        };
        (parcel, extra)
    }

    /// The packets in the network, in no meaningful order.
    pub fn iter_live(&self) -> impl Iterator<Item = &Parcel> {
        let mut is_free: IdVec<PacketId, bool> = self.parcels.iter().map(|_| false).collect();
        self.free.iter().for_each(|&id| is_free[id] = true);
        self.parcels.iter().zip(is_free).filter(|(_, free)| !free).map(|(parcel, _)| parcel)
    }
}

impl Index<PacketId> for Slab {
    type Output = Parcel;
    #[inline]
    fn index(&self, id: PacketId) -> &Parcel {
        &self.parcels[id]
    }
}

impl IndexMut<PacketId> for Slab {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Parcel {
        &mut self.parcels[id]
    }
}

#[cfg(test)]
impl Parcel {
    /// A data packet of the first flow with `wire` bytes on the wire, which has no link ahead.
    pub fn for_test(wire: u32) -> Parcel {
        use clearway_proto::Header;
        use clearway_units::Time;
        Parcel {
            packet: Packet::data(Header::data(0), 0, wire, Time::ZERO),
            flow: crate::ids::Id::from_index(0),
            hop: HopId::default(),
            next: None,
            hops_left: 0,
            class: ClassId::FIRST,
            class_at_host: ClassId::FIRST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_packet_that_left_is_used_again_and_it_is_not_counted() {
        let mut slab = Slab::default();
        let (first, second) = (slab.insert(Parcel::for_test(1)), slab.insert(Parcel::for_test(2)));
        slab.remove(first);
        assert_eq!(slab.iter_live().map(|parcel| parcel.packet.wire).collect::<Vec<_>>(), [2]);
        assert_eq!(slab.insert(Parcel::for_test(3)), first);
        assert_eq!((slab[first].packet.wire, slab[second].packet.wire), (3, 2));
    }
}
