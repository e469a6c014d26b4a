//! Packets that are in the network, in one array, referred to by [`PacketId`].

use super::paths::HopId;
use crate::engine::prefetch_lines;
use crate::ids::{ClassId, FlowSlot, Id, IdVec, PacketId};
use clearway_proto::{Extra, Flags, Header, Packet};
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// The number of packets between the step in which the place of one from another part is fetched and the one in which it is
/// put there.
const AHEAD: usize = 8;

/// A packet in the network, with its flow and the rest of its route: one cache line.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[repr(C, align(64))]
pub struct RoutedPacket {
    /// The packet, as the ends of its flow see it.
    pub packet: Packet,
    /// The flow of the packet.
    pub flow: FlowSlot,
    /// Where the packet is on its way.
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

const _: () = assert!(size_of::<RoutedPacket>() == 64, "a packet shall be one cache line");

impl RoutedPacket {
    /// Returns the packet's class at a port: of a host, or of a switch.
    #[inline]
    pub fn class_at(&self, is_host: bool) -> ClassId {
        if is_host { self.class_at_host } else { self.class }
    }

    /// Returns what stands in an entry into which no packet was put yet.
    fn unused() -> RoutedPacket {
        RoutedPacket {
            packet: Packet::control(Header::Cnp, 0, Time::ZERO),
            flow: FlowSlot::from_index(0),
            hop: HopId::default(),
            next: None,
            hops_left: 0,
            class: ClassId::FIRST,
            class_at_host: ClassId::FIRST,
        }
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

/// The number of entries in a block, all of which have places for additions, or none.
const BLOCK: usize = 64;

/// The two kinds of entries. An entry keeps its kind: packets with an addition and packets without have entries of their own.
const KINDS: usize = 2;

/// Returns the kind of entry that a packet needs: 1 with a place for an addition, 0 without.
#[inline(always)]
fn kind_of(packet: &Packet) -> usize {
    usize::from(packet.flags.has(Flags::EXTRA))
}

/// All packets in the network.
#[derive(Default, Serialize, Deserialize)]
pub struct Slab {
    packets: IdVec<PacketId, RoutedPacket>,
    /// The first entry of each kind that is free.
    free: [Option<PacketId>; KINDS],
    /// Entries that are free too: of packets that went to other parts of the network, for those that come from there.
    vacated: [Vec<PacketId>; KINDS],
    /// The places of additions, block by block: many times larger than packets, and few packets carry any.
    places: Vec<Place>,
    /// By blocks of entries, the number to be added to that of an entry to find its place. Sums wrap; for blocks without
    /// places the number means nothing.
    to_place: Vec<u32>,
}

impl Slab {
    /// Puts a packet in and returns its id.
    #[inline(always)]
    pub fn insert(&mut self, routed: RoutedPacket) -> PacketId {
        let kind = kind_of(&routed.packet);
        let id = self.free[kind].unwrap_or_else(|| self.grow(kind));
        let entry = &mut self.packets[id];
        self.free[kind] = entry.next;
        *entry = routed;
        id
    }

    /// Adds free entries of a kind, of which there are none. Returns the first one.
    #[inline(never)]
    fn grow(&mut self, kind: usize) -> PacketId {
        if kind == 0 {
            return self.packets.push(RoutedPacket::unused());
        }
        // What is left of the last block has no places.
        while !self.packets.len().is_multiple_of(BLOCK) {
            let id = self.packets.push(RoutedPacket::unused());
            self.remove_of(0, id);
        }
        let shift = (self.places.len() as u32).wrapping_sub(self.packets.len() as u32);
        self.to_place.resize(self.packets.len() / BLOCK, 0);
        self.to_place.push(shift);
        self.places.resize(self.places.len() + BLOCK, Place(Extra::None));
        let added: Vec<_> = (0..BLOCK).map(|_| self.packets.push(RoutedPacket::unused())).collect();
        added.iter().rev().for_each(|&id| self.remove_of(kind, id));
        added[0]
    }

    /// Takes a packet out.
    #[inline(always)]
    pub fn remove(&mut self, id: PacketId) {
        self.remove_of(kind_of(&self.packets[id].packet), id);
    }

    #[inline(always)]
    fn remove_of(&mut self, kind: usize, id: PacketId) {
        self.packets[id].next = self.free[kind];
        self.free[kind] = Some(id);
    }

    /// Takes a packet out that goes to another part of the network. Unlike those of the list of free entries, each of
    /// which names the next one, its place can be fetched long before it is used again.
    pub fn vacate(&mut self, id: PacketId) {
        self.vacated[kind_of(&self.packets[id].packet)].push(id);
    }

    /// Puts packets in that come from other parts of the network, in the places of those that went there.
    pub fn take_in(&mut self, routed: RoutedPacket) -> PacketId {
        let vacated = &mut self.vacated[kind_of(&routed.packet)];
        let ahead = vacated.get(vacated.len().wrapping_sub(AHEAD));
        if let Some(&id) = ahead {
            prefetch_lines(self.packets.address(id).cast(), 1);
        }
        let Some(id) = vacated.pop() else { return self.insert(routed) };
        self.packets[id] = routed;
        id
    }

    /// Brings over a packet that is in another slab, with its addition if it has one, and returns its id here.
    pub fn bring(&mut self, from: &Slab, id: PacketId) -> PacketId {
        let routed = from.packets[id];
        let own = self.insert(routed);
        if routed.packet.flags.has(Flags::EXTRA) {
            self.set_extra(own, Addition::New(from.extra(id)));
        }
        own
    }

    /// Gives the places of packets that went to other parts to all packets, once those that came from there have theirs.
    pub fn release_vacated(&mut self) {
        for kind in 0..KINDS {
            while let Some(id) = self.vacated[kind].pop() {
                self.remove_of(kind, id);
            }
        }
    }

    /// Returns the address of a packet, to be fetched ahead.
    #[inline]
    pub fn address(&self, id: PacketId) -> *const u8 {
        self.packets.address(id).cast()
    }

    /// Returns the memory that packets take, in bytes: as many as were ever in the network at once.
    pub fn size(&self) -> usize {
        self.packets.size()
    }

    /// Returns the number of the place of an entry that has one.
    #[inline(always)]
    fn place(&self, id: PacketId) -> usize {
        (id.index() as u32).wrapping_add(self.to_place[id.index() / BLOCK]) as usize
    }

    /// Keeps the addition of a packet that is flagged [`Flags::EXTRA`]: most are in their place, or are lists of telemetry
    /// that begin there anew.
    #[inline(always)]
    pub fn set_extra(&mut self, id: PacketId, from: Addition<'_>) {
        let place = self.place(id);
        match (from, &mut self.places[place].0) {
            (Addition::Of(other), _) if other == id => {}
            (Addition::Of(other), _) => self.bring_extra(place, other),
            (Addition::New(extra @ Extra::None), list @ Extra::Hops(_)) => list.take_over(extra),
            (Addition::New(extra), own) => take_over_aside(own, extra),
        }
    }

    /// Brings the addition of another packet to its place.
    #[inline(never)]
    fn bring_extra(&mut self, place: usize, other: PacketId) {
        self.places[place] = self.places[self.place(other)].clone();
    }

    /// Returns the addition of a packet that is flagged [`Flags::EXTRA`], also if the packet has just been taken out.
    #[inline(always)]
    pub fn extra(&self, id: PacketId) -> &Extra {
        &self.places[self.place(id)].0
    }

    /// As [`Slab::extra`], to be changed.
    #[inline]
    pub fn extra_mut(&mut self, id: PacketId) -> &mut Extra {
        let place = self.place(id);
        &mut self.places[place].0
    }

    /// Returns a packet and its addition, if it has one, to be changed.
    pub fn get_both(&mut self, id: PacketId) -> (&mut RoutedPacket, Option<&mut Extra>) {
        let has_extra = self.packets[id].packet.flags.has(Flags::EXTRA);
        let place = if has_extra { Some(self.place(id)) } else { None };
        let extra = place.map(|place| &mut self.places[place].0);
        (&mut self.packets[id], extra)
    }

    /// Returns the packets in the network, in no meaningful order.
    pub fn iter_live(&self) -> impl Iterator<Item = &RoutedPacket> {
        let mut is_free: IdVec<PacketId, bool> = self.packets.iter().map(|_| false).collect();
        self.vacated.iter().flatten().for_each(|&id| is_free[id] = true);
        for mut next in self.free {
            while let Some(id) = next {
                is_free[id] = true;
                next = self.packets[id].next;
            }
        }
        self.packets.iter().zip(is_free).filter(|(_, free)| !free).map(|(routed, _)| routed)
    }
}

/// As [`Extra::take_over`], for those who do so seldom.
#[inline(never)]
fn take_over_aside(own: &mut Extra, extra: &Extra) {
    own.take_over(extra);
}

impl Index<PacketId> for Slab {
    type Output = RoutedPacket;
    #[inline]
    fn index(&self, id: PacketId) -> &RoutedPacket {
        &self.packets[id]
    }
}

impl IndexMut<PacketId> for Slab {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut RoutedPacket {
        &mut self.packets[id]
    }
}

#[cfg(test)]
impl RoutedPacket {
    /// Returns a data packet of the first flow with `wire` bytes on the wire, which has no link ahead.
    pub fn for_test(wire: u32) -> RoutedPacket {
        RoutedPacket { packet: Packet::data(Header::data(0), 0, wire, Time::ZERO), ..RoutedPacket::unused() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_packet_that_left_is_used_again_and_it_is_not_counted() {
        let mut slab = Slab::default();
        let (first, second) =
            (slab.insert(RoutedPacket::for_test(1)), slab.insert(RoutedPacket::for_test(2)));
        slab.remove(first);
        assert_eq!(slab.iter_live().map(|routed| routed.packet.wire).collect::<Vec<_>>(), [2]);
        assert_eq!(slab.insert(RoutedPacket::for_test(3)), first);
        assert_eq!((slab[first].packet.wire, slab[second].packet.wire), (3, 2));
    }

    fn with_addition(wire: u32) -> RoutedPacket {
        let routed = RoutedPacket::for_test(wire);
        RoutedPacket { packet: routed.packet.with_flags(Flags::EXTRA), ..routed }
    }

    fn sack(end: u64) -> Extra {
        Extra::Sack([clearway_proto::SackBlock { start: 0, end }; 3])
    }

    #[test]
    fn only_packets_with_additions_take_room_for_them_however_many_others_there_are() {
        let mut slab = Slab::default();
        let many: Vec<_> = (0..10_000).map(|wire| slab.insert(RoutedPacket::for_test(wire))).collect();
        for round in 0..1000 {
            let ids: Vec<_> = (0..BLOCK as u64).map(|_| slab.insert(with_addition(1))).collect();
            ids.iter().zip(0..).for_each(|(&id, n)| slab.set_extra(id, Addition::New(&sack(round + n))));
            ids.iter().zip(0..).for_each(|(&id, n)| assert_eq!(slab.extra(id).sack()[2].end, round + n));
            ids.into_iter().for_each(|id| slab.remove(id));
            let other = slab.insert(RoutedPacket::for_test(7));
            assert!(slab.get_both(other).1.is_none());
        }
        assert_eq!(slab.places.len(), BLOCK, "as many as were carried at once");
        assert_eq!(slab.iter_live().count(), 11_000, "entries in between are free");
        many.iter().zip(0..).for_each(|(&id, wire)| assert_eq!(slab[id].packet.wire, wire));
    }

    #[test]
    fn an_addition_goes_over_from_a_packet_that_has_just_left_to_the_one_that_answers_it() {
        let mut slab = Slab::default();
        let (data, other) = (slab.insert(with_addition(1)), slab.insert(with_addition(2)));
        slab.set_extra(data, Addition::New(&sack(3)));
        slab.remove(data);
        assert_eq!(slab.extra(data).sack()[0].end, 3);
        slab.insert(RoutedPacket::for_test(4));
        let answer = slab.insert(with_addition(5));
        slab.set_extra(answer, Addition::Of(data));
        assert_eq!(
            answer, data,
            "whatever else was sent in between, it has the place of the one that it answers"
        );
        slab.set_extra(other, Addition::Of(data));
        assert_eq!([answer, other].map(|id| slab.extra(id).sack()[0].end), [3, 3]);
        assert!(slab.get_both(other).1.is_some());
    }

    #[test]
    fn a_packet_is_brought_over_with_its_addition_and_stays_what_it_was() {
        let (mut old, mut new) = (Slab::default(), Slab::default());
        let (plain, with) = (old.insert(RoutedPacket::for_test(1)), old.insert(with_addition(2)));
        old.set_extra(with, Addition::New(&sack(7)));
        new.insert(RoutedPacket::for_test(3));
        let [plain, with] = [plain, with].map(|id| new.bring(&old, id));
        assert_eq!((new[plain].packet.wire, new[with].packet.wire), (1, 2));
        assert_eq!(new.extra(with).sack()[0].end, 7);
        assert_eq!(new.iter_live().count(), 3);
    }

    #[test]
    fn a_packet_from_another_part_takes_the_place_of_one_that_went_there() {
        let mut slab = Slab::default();
        let ids: Vec<_> = (0..3).map(|wire| slab.insert(RoutedPacket::for_test(wire))).collect();
        slab.vacate(ids[0]);
        slab.vacate(ids[1]);
        assert_eq!(slab.iter_live().map(|routed| routed.packet.wire).collect::<Vec<_>>(), [2]);
        assert_eq!(slab.take_in(RoutedPacket::for_test(4)), ids[1]);
        slab.release_vacated();
        assert_eq!(slab.iter_live().map(|routed| routed.packet.wire).collect::<Vec<_>>(), [4, 2]);
        assert_eq!(
            slab.insert(RoutedPacket::for_test(5)),
            ids[0],
            "all packets may have the places that are left"
        );
        assert_ne!(
            slab.take_in(RoutedPacket::for_test(6)),
            ids[0],
            "a packet finds a place where none was vacated"
        );
        let with = slab.insert(with_addition(7));
        slab.vacate(with);
        assert_ne!(
            slab.take_in(RoutedPacket::for_test(8)),
            with,
            "a place for an addition is for a packet that has one"
        );
        assert_eq!(slab.take_in(with_addition(9)), with);
    }
}
