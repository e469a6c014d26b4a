//! Packets that are in the network, in one array, referred to by [`PacketId`].

use super::paths::HopId;
use crate::engine::prefetch_lines;
use crate::ids::{ClassId, FlowSlot, IdVec, PacketId};
use clearway_proto::{Extra, Flags, Packet};
use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// The number of packets between the step in which the place of one from another part is fetched and the one in which it is
/// put there.
const AHEAD: usize = 8;

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
    /// The packet behind this one in a queue; in an entry of the array that is free, the next free one.
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
    /// The first entry that is free.
    free: Option<PacketId>,
    /// Entries that are free too: of packets that went to other parts of the network, for those that come from there.
    vacated: Vec<PacketId>,
    /// Additions that few packets carry, by packet; only as long as the highest id that ever needed one.
    extras: IdVec<PacketId, Place>,
}

impl Slab {
    /// Puts a packet in and returns its id.
    #[inline(always)]
    pub fn insert(&mut self, parcel: Parcel) -> PacketId {
        let Some(id) = self.free else { return self.parcels.push(parcel) };
        let place = &mut self.parcels[id];
        self.free = place.next;
        *place = parcel;
        id
    }

    /// Takes a packet out.
    #[inline(always)]
    pub fn remove(&mut self, id: PacketId) {
        self.parcels[id].next = self.free;
        self.free = Some(id);
    }

    /// Takes a packet out that goes to another part of the network. Unlike those of the list of free entries, each of
    /// which names the next one, its place can be fetched long before it is used again.
    pub fn vacate(&mut self, id: PacketId) {
        self.vacated.push(id);
    }

    /// Puts packets in that come from other parts of the network, in the places of those that went there.
    pub fn take_in(&mut self, parcel: Parcel) -> PacketId {
        if let Some(&id) = self.vacated.get(self.vacated.len().wrapping_sub(AHEAD)) {
            prefetch_lines(self.address(id), 1);
        }
        let Some(id) = self.vacated.pop() else { return self.insert(parcel) };
        self.parcels[id] = parcel;
        id
    }

    /// Gives the places of packets that went to other parts to all packets, once those that came from there have theirs.
    pub fn release_vacated(&mut self) {
        while let Some(id) = self.vacated.pop() {
            self.remove(id);
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

    /// Keeps the addition of a packet that is flagged [`Flags::EXTRA`]: most are in their place, or are lists of telemetry
    /// that begin there anew.
    #[inline(always)]
    pub fn set_extra(&mut self, id: PacketId, from: Addition<'_>) {
        match (from, self.extras.get_mut(id)) {
            (Addition::Of(other), _) if other == id => {}
            (Addition::New(extra @ Extra::None), Some(Place(list @ Extra::Hops(_)))) => list.take_over(extra),
            (from, _) => self.bring_extra(id, from),
        }
    }

    /// Brings the addition of a packet to its place.
    #[inline(never)]
    fn bring_extra(&mut self, id: PacketId, from: Addition<'_>) {
        self.extras.cover(id, Place(Extra::None));
        match from {
            Addition::New(extra) => self.extras[id].0.take_over(extra),
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
        self.vacated.iter().for_each(|&id| is_free[id] = true);
        let mut next = self.free;
        while let Some(id) = next {
            is_free[id] = true;
            next = self.parcels[id].next;
        }
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

    #[test]
    fn a_packet_from_another_part_takes_the_place_of_one_that_went_there() {
        let mut slab = Slab::default();
        let ids: Vec<_> = (0..3).map(|wire| slab.insert(Parcel::for_test(wire))).collect();
        slab.vacate(ids[0]);
        slab.vacate(ids[1]);
        assert_eq!(slab.iter_live().map(|parcel| parcel.packet.wire).collect::<Vec<_>>(), [2]);
        assert_eq!(slab.take_in(Parcel::for_test(4)), ids[1]);
        slab.release_vacated();
        assert_eq!(slab.iter_live().map(|parcel| parcel.packet.wire).collect::<Vec<_>>(), [4, 2]);
        assert_eq!(slab.insert(Parcel::for_test(5)), ids[0], "all packets may have the places that are left");
        assert_ne!(
            slab.take_in(Parcel::for_test(6)),
            ids[0],
            "a packet finds a place where none was vacated"
        );
    }
}
