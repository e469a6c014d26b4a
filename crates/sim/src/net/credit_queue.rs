//! A queue of credits at a port.

use super::queue::mean;
use super::slab::Slab;
use crate::ids::{Id, PacketId};
use clearway_proto::port::CreditRoom;
use clearway_units::{Time, wide_product};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The number of credits that a queue has room for in place: as many as wait at a port in the papers.
const PLACES: usize = 8;

/// A queue of credits, first in, first out, with its length over time. It keeps the sizes of the credits itself, so that a
/// port which sends one, and waits for the tokens of the next, looks at neither packet.
#[repr(C, align(64))]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreditQueue {
    /// The integral of the number of credits over time, up to `since`, in picoseconds.
    packets_area: u128,
    /// The time of the last change.
    since: Time,
    /// The room for credits that wait.
    room: CreditRoom,
    /// The credits behind those in place.
    #[expect(
        clippy::box_collection,
        reason = "a word where a list would take four, in a cache line that is full"
    )]
    behind: Option<Box<VecDeque<WaitingCredit>>>,
    packets: u32,
    packets_max: u32,
    /// The bytes on the wire of all credits that wait.
    bytes: u32,
    /// The place of the first credit.
    first: u8,
    /// The first credits that wait, in turn from `first` on.
    places: [WaitingCredit; PLACES],
}

const _: () = assert!(size_of::<CreditQueue>() == 128, "a queue of credits shall be two cache lines");

/// A credit that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WaitingCredit {
    /// The packet.
    pub id: PacketId,
    /// Its size on the wire in bytes.
    pub wire: u32,
}

impl CreditQueue {
    /// Returns an empty queue with this room.
    pub fn new(room: CreditRoom) -> CreditQueue {
        let free = WaitingCredit { id: PacketId::from_index(0), wire: 0 };
        CreditQueue {
            packets_area: 0,
            since: Time::ZERO,
            room,
            behind: None,
            packets: 0,
            packets_max: 0,
            bytes: 0,
            first: 0,
            places: [free; PLACES],
        }
    }

    /// Returns the number of credits that wait.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Returns the bytes on the wire that wait.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes.into()
    }

    /// Returns the most credits that ever waited.
    pub fn packets_max(&self) -> u32 {
        self.packets_max
    }

    /// Returns the integral of the credits that waited over the time from the start to `now`, in picoseconds.
    #[inline]
    pub fn packets_area(&self, now: Time) -> u128 {
        self.packets_area + wide_product(self.packets.into(), (now - self.since).as_ps())
    }

    /// Returns the number of credits that waited, averaged over the time from the start to `now`.
    pub fn packets_mean(&self, now: Time) -> f64 {
        mean(self.packets_area(now), now)
    }

    /// Starts the maximum anew from what waits now. Returns the one so far.
    pub fn restart_maximum(&mut self) -> u32 {
        std::mem::replace(&mut self.packets_max, self.packets)
    }

    /// Raises the maximum to that of an earlier time.
    pub fn raise_maximum(&mut self, before: u32) {
        self.packets_max = self.packets_max.max(before);
    }

    /// Returns the first credit, if any waits.
    #[inline(always)]
    pub fn head(&self) -> Option<WaitingCredit> {
        (self.packets > 0).then(|| *self.place(0))
    }

    /// Adds a credit at the end, if the queue has room for it. Returns whether it has.
    #[inline(always)]
    pub fn push(&mut self, credit: WaitingCredit, now: Time) -> bool {
        let has_room = self.room.admits(self.packets, self.bytes(), credit.wire);
        if has_room {
            self.account(now);
            match self.packets as usize {
                before @ ..PLACES => self.places[(usize::from(self.first) + before) % PLACES] = credit,
                _ => self.push_behind(credit),
            }
            self.bytes += credit.wire;
            self.packets += 1;
            self.packets_max = self.packets_max.max(self.packets);
        }
        has_room
    }

    #[cold]
    fn push_behind(&mut self, credit: WaitingCredit) {
        self.behind.get_or_insert_default().push_back(credit);
    }

    /// Takes the first credit, if any waits.
    #[inline(always)]
    pub fn pop(&mut self, now: Time) -> Option<WaitingCredit> {
        let credit = self.head()?;
        self.account(now);
        self.bytes -= credit.wire;
        self.packets -= 1;
        if self.packets as usize >= PLACES {
            self.move_up();
        }
        self.first = (self.first + 1) % PLACES as u8;
        Some(credit)
    }

    /// Gives the place of the first credit, which leaves, to the first one behind.
    #[cold]
    fn move_up(&mut self) {
        let next = self.behind.as_mut().and_then(|behind| behind.pop_front());
        self.places[usize::from(self.first)] = next.expect("more credits wait than have a place");
    }

    /// Puts a credit at the end in place of the one at `place`, counted from the first, if there is one and the queue has
    /// room for the exchange. Returns the one that it replaces.
    pub fn replace(&mut self, place: u32, credit: WaitingCredit) -> Option<PacketId> {
        if place >= self.packets {
            return None;
        }
        let replaced = *self.at(place as usize);
        let bytes = self.bytes - replaced.wire;
        if !self.room.admits(self.packets - 1, bytes.into(), credit.wire) {
            return None;
        }
        let last = self.packets as usize - 1;
        for number in place as usize..last {
            *self.at_mut(number) = *self.at(number + 1);
        }
        *self.at_mut(last) = credit;
        self.bytes = bytes + credit.wire;
        Some(replaced.id)
    }

    /// Returns the credit at a place, counted from the first.
    fn at(&self, number: usize) -> &WaitingCredit {
        match &self.behind {
            Some(behind) if number >= PLACES => &behind[number - PLACES],
            _ => self.place(number),
        }
    }

    fn at_mut(&mut self, number: usize) -> &mut WaitingCredit {
        match &mut self.behind {
            Some(behind) if number >= PLACES => &mut behind[number - PLACES],
            _ => &mut self.places[(usize::from(self.first) + number) % PLACES],
        }
    }

    /// Takes all credits.
    pub fn drain(&mut self, now: Time) -> impl Iterator<Item = PacketId> {
        std::iter::from_fn(move || self.pop(now)).map(|credit| credit.id)
    }

    /// Brings the credits that wait over from one slab to another.
    pub fn bring(&mut self, from: &Slab, to: &mut Slab) {
        for number in 0..PLACES.min(self.packets as usize) {
            let credit = &mut self.places[(usize::from(self.first) + number) % PLACES];
            credit.id = to.bring(from, credit.id);
        }
        let behind = self.behind.iter_mut().flat_map(|behind| behind.iter_mut());
        behind.for_each(|credit| credit.id = to.bring(from, credit.id));
    }

    /// Returns the credits that wait, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = PacketId> {
        let in_place = (0..PLACES.min(self.packets as usize)).map(|number| self.place(number));
        in_place.chain(self.behind.iter().flat_map(|behind| behind.iter())).map(|credit| credit.id)
    }

    #[inline(always)]
    fn place(&self, number: usize) -> &WaitingCredit {
        &self.places[(usize::from(self.first) + number) % PLACES]
    }

    #[inline(always)]
    fn account(&mut self, now: Time) {
        self.packets_area = self.packets_area(now);
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::super::slab::RoutedPacket;
    use super::*;
    use clearway_proto::port::CreditShaping;
    use proptest::prelude::*;

    fn credit(number: usize, wire: u32) -> WaitingCredit {
        WaitingCredit { id: PacketId::from_index(number), wire }
    }

    fn ps(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn credits_leave_in_the_order_of_their_arrival_and_the_integral_counts_them_over_time() {
        let mut queue = CreditQueue::new(CreditShaping::PAPER.room(8));
        assert!(queue.push(credit(3, 84), ps(10)) && queue.push(credit(1, 92), ps(20)));
        assert_eq!((queue.packets(), queue.bytes(), queue.head()), (2, 176, Some(credit(3, 84))));
        assert_eq!(queue.pop(ps(50)), Some(credit(3, 84)));
        assert_eq!((queue.packets(), queue.bytes()), (1, 92));
        // 10 ps of one credit, 30 of two, 20 of one.
        assert_eq!(queue.packets_area(ps(70)), 90);
        assert_eq!(queue.pop(ps(70)), Some(credit(1, 92)));
        assert_eq!((queue.pop(ps(90)), queue.packets_area(ps(90))), (None, 90));
    }

    #[test]
    fn a_full_queue_takes_nothing_and_its_maximum_starts_anew_and_rises_again() {
        let mut queue = CreditQueue::new(CreditShaping::PAPER.room(2));
        assert!(queue.push(credit(0, 84), ps(0)) && queue.push(credit(1, 84), ps(0)));
        assert!(!queue.push(credit(2, 84), ps(0)));
        assert_eq!((queue.packets(), queue.bytes(), queue.packets_max()), (2, 168, 2));
        queue.pop(ps(1));
        assert_eq!((queue.restart_maximum(), queue.packets_max()), (2, 1));
        queue.raise_maximum(2);
        assert_eq!(queue.packets_max(), 2);
    }

    #[test]
    fn a_queue_for_so_many_bytes_asks_for_the_size_of_a_credit() {
        let has_room = |queue_in_bytes, wire| {
            let room = CreditShaping { queue_in_bytes, ..CreditShaping::PAPER }.room(1);
            CreditQueue::new(room).push(credit(0, wire), ps(0))
        };
        assert!(has_room(true, 84) && !has_room(true, 85), "room for one credit of 84 B");
        assert!(has_room(false, 92));
    }

    #[test]
    fn a_credit_may_take_the_place_of_any_that_waits_and_then_stands_at_the_end() {
        let mut queue = CreditQueue::new(CreditShaping::PAPER.room(12));
        // The first place is another one than that of the first credit, and more credits wait than have places.
        (0..3)
            .for_each(|number| assert!(queue.push(credit(number, 84), ps(0)) && queue.pop(ps(0)).is_some()));
        (0..12).for_each(|number| assert!(queue.push(credit(number, 80 + number as u32), ps(0))));
        assert_eq!(queue.replace(12, credit(12, 92)), None, "no credit waits there");
        for (place, replaced) in [(0, 0), (6, 7), (10, 12), (11, 14)] {
            let next = 12 + [0, 6, 10, 11].iter().position(|&at| at == place).unwrap();
            let before = queue.bytes();
            assert_eq!(queue.replace(place, credit(next, 92)), Some(PacketId::from_index(replaced)));
            let wire = if replaced < 12 { 80 + replaced as u64 } else { 92 };
            assert_eq!((queue.packets(), queue.bytes()), (12, before + 92 - wire));
        }
        let left: Vec<usize> = queue.iter().map(|id| id.index()).collect();
        assert_eq!(left, [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 13, 15]);
    }

    #[test]
    fn a_queue_in_bytes_exchanges_a_credit_only_for_one_that_fits() {
        let room = CreditShaping { queue_in_bytes: true, ..CreditShaping::PAPER }.room(2);
        let mut queue = CreditQueue::new(room);
        assert!(queue.push(credit(0, 76), ps(0)) && queue.push(credit(1, 92), ps(0)));
        assert_eq!(queue.replace(0, credit(2, 77)), None, "168 bytes are full");
        assert_eq!(queue.replace(1, credit(2, 77)), Some(PacketId::from_index(1)));
    }

    #[test]
    fn credits_that_are_brought_to_another_slab_wait_there_in_their_order() {
        let (mut old, mut new) = (Slab::default(), Slab::default());
        let mut queue = CreditQueue::new(CreditShaping::PAPER.room(32));
        for wire in 80..100 {
            let id = old.insert(RoutedPacket::for_test(wire));
            assert!(queue.push(WaitingCredit { id, wire }, ps(0)));
        }
        // The first place is another one than that of the first credit, and more credits wait than have places.
        assert_eq!((0..5).filter_map(|_| queue.pop(ps(1))).map(|credit| credit.wire).last(), Some(84));
        new.insert(RoutedPacket::for_test(7));
        queue.bring(&old, &mut new);
        let wires: Vec<u16> = queue.iter().map(|id| new[id].packet.wire).collect();
        assert_eq!(wires, (85..100).collect::<Vec<_>>());
    }

    proptest! {
        /// The places in the queue, and those behind them, are told by more credits than the former and by turns of them.
        #[test]
        fn credits_keep_their_order_however_many_wait(joins in prop::collection::vec(any::<bool>(), 1..200), room in 1u32..40) {
            let (mut queue, mut model) = (CreditQueue::new(CreditShaping::PAPER.room(room)), VecDeque::new());
            let mut area = 0;
            for (number, joins) in joins.into_iter().enumerate() {
                area += model.len() as u128;
                let now = ps(number as u64 + 1);
                if joins {
                    let credit = credit(number, 84 + number as u32 % 9);
                    let has_room = model.len() < room as usize;
                    prop_assert_eq!(queue.push(credit, now), has_room);
                    model.extend(has_room.then_some(credit));
                } else {
                    prop_assert_eq!(queue.pop(now), model.pop_front());
                }
                prop_assert!(queue.iter().eq(model.iter().map(|credit| credit.id)));
                let bytes: u64 = model.iter().map(|credit| u64::from(credit.wire)).sum();
                prop_assert_eq!((queue.packets() as usize, queue.bytes()), (model.len(), bytes));
                prop_assert_eq!((queue.head(), queue.packets_area(now)), (model.front().copied(), area));
            }
            let left: Vec<_> = model.into_iter().map(|credit| credit.id).collect();
            prop_assert_eq!(queue.drain(ps(1_000)).collect::<Vec<_>>(), left);
            prop_assert_eq!((queue.packets(), queue.bytes()), (0, 0));
        }
    }
}
