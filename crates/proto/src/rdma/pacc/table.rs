//! PACC's flow table, which counts the bytes and packets that each pair of hosts sent through a port in this period.

use serde::{Deserialize, Serialize};

/// The counts of one pair of hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The name of the pair: PACC tells pairs apart by source and destination, not by transport ports.
    pub key: u64,
    /// The bytes on the wire in this period.
    pub bytes: u64,
    /// The packets in this period that met a queue above the threshold; the count stays at the largest value that its
    /// field holds (PACC-7).
    pub congested: u32,
}

/// A slot of the table: the entry of a pair, if one is there. It crosses no cache line.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(align(32))]
struct Slot {
    entry: Entry,
    is_taken: bool,
}

impl Slot {
    const EMPTY: Slot = Slot { entry: Entry { key: 0, bytes: 0, congested: 0 }, is_taken: false };

    #[inline]
    fn holds(&self, key: u64) -> bool {
        self.entry.key == key && self.is_taken
    }
}

/// The number of slots for each entry. The table is at most half full, so that probes are short.
const SLOTS_PER_ENTRY: usize = 2;

/// The number of entries for which a table has room before it first grows.
const ENTRIES_FIRST: usize = 8;

/// The table of one port: entries lie in slots by a hash of their names (open addressing, linear probing), so that a packet
/// touches one place. The names in the order in which they came stand beside, so that walking over the entries does not
/// depend on the hash.
///
/// It grows by doubling up to its capacity. A full table does not know further pairs: their packets are counted as
/// missed and get no notifications until the end of a period makes room.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C)]
pub struct FlowTable {
    /// The slots, a power of two of them; none before the first packet.
    slots: Box<[Slot]>,
    /// The number of bits of a hash that are not part of the slot's number.
    shift: u32,
    congested_max: u32,
    rare: Box<Rare>,
}

/// The part of a table that a packet of a pair that is known does not touch.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Rare {
    /// The names of the entries, in the order in which they came.
    keys: Vec<u64>,
    capacity: usize,
    missed: u64,
}

impl FlowTable {
    /// Returns a table with room for `capacity` pairs; counts of congested packets stay at `congested_max`.
    pub fn new(capacity: u32, congested_max: u32) -> FlowTable {
        FlowTable {
            slots: Box::default(),
            shift: u64::BITS - 1,
            congested_max,
            rare: Box::new(Rare { keys: Vec::new(), capacity: capacity as usize, missed: 0 }),
        }
    }

    /// Counts a packet of `wire` bytes that passes.
    #[inline]
    pub fn count(&mut self, key: u64, wire: u32, is_congested: bool) {
        let mut at = self.home(key);
        while let Some(slot) = self.slots.get_mut(at) {
            if slot.holds(key) {
                slot.entry.bytes += wire as u64;
                if is_congested && slot.entry.congested < self.congested_max {
                    slot.entry.congested += 1;
                }
                return;
            }
            if !slot.is_taken {
                break;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.enter(key, wire, is_congested);
    }

    /// Returns the slot in which a search for a name begins: the upper bits of a product, which depend on all bits of
    /// the name.
    #[inline]
    fn home(&self, key: u64) -> usize {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        (key.wrapping_mul(ODD) >> self.shift) as usize
    }

    /// Counts the first packet of a pair, if there is room for it.
    #[inline(never)]
    fn enter(&mut self, key: u64, wire: u32, is_congested: bool) {
        let entries = self.rare.keys.len();
        if entries == self.rare.capacity {
            self.rare.missed += 1;
            return;
        }
        if entries * SLOTS_PER_ENTRY == self.slots.len() {
            self.grow();
        }
        self.rare.keys.push(key);
        let congested = u32::from(is_congested).min(self.congested_max);
        self.place(Entry { key, bytes: wire as u64, congested });
    }

    /// Doubles the room.
    #[cold]
    fn grow(&mut self) {
        let entries = self.entries();
        let slots = (self.slots.len() * 2).max(ENTRIES_FIRST * SLOTS_PER_ENTRY);
        self.slots = vec![Slot::EMPTY; slots].into();
        self.shift = u64::BITS - slots.trailing_zeros();
        entries.into_iter().for_each(|entry| self.place(entry));
    }

    /// Puts the entry of a pair that has none into a slot.
    fn place(&mut self, entry: Entry) {
        let at = self.search(entry.key);
        self.slots[at] = Slot { entry, is_taken: true };
    }

    /// Returns the slot of a name, or the empty one that it would take.
    fn search(&self, key: u64) -> usize {
        let mut at = self.home(key);
        while self.slots[at].is_taken && self.slots[at].entry.key != key {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// Returns the entries, in the order in which they came.
    pub fn entries(&self) -> Vec<Entry> {
        self.rare.keys.iter().map(|&key| self.slots[self.search(key)].entry).collect()
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.rare.keys.is_empty()
    }

    /// Ends a period: entries with fewer bytes than `bytes_min` are deleted, the others begin anew (Algorithm 1, line
    /// 33).
    pub fn end_period(&mut self, bytes_min: u64) {
        let stays = |slot: &Slot| slot.entry.bytes >= bytes_min;
        let has_gone = self.slots.iter().any(|slot| slot.is_taken && !stays(slot));
        if has_gone {
            let mut keys = std::mem::take(&mut self.rare.keys);
            keys.retain(|&key| stays(&self.slots[self.search(key)]));
            self.slots.fill(Slot::EMPTY);
            keys.iter().for_each(|&key| self.place(Entry { key, bytes: 0, congested: 0 }));
            self.rare.keys = keys;
        } else {
            self.slots.iter_mut().for_each(|slot| (slot.entry.bytes, slot.entry.congested) = (0, 0));
        }
    }

    /// Returns the number of packets of pairs for which the full table had no room.
    pub fn missed(&self) -> u64 {
        self.rare.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_add_up_and_those_that_sent_little_age_out_at_the_end_of_a_period() {
        let mut table = FlowTable::new(16, 255);
        for _ in 0..4 {
            table.count(7, 1048, true);
        }
        table.count(9, 3_999, false);
        assert_eq!(
            table.entries(),
            [Entry { key: 7, bytes: 4_192, congested: 4 }, Entry { key: 9, bytes: 3_999, congested: 0 }]
        );
        table.end_period(4_000);
        assert_eq!(table.entries(), [Entry { key: 7, bytes: 0, congested: 0 }]);
        table.end_period(4_000);
        assert!(table.entries().is_empty(), "a silent pair goes in the next period");
    }

    #[test]
    fn the_count_of_congested_packets_saturates_pacc_7() {
        let mut table = FlowTable::new(16, 255);
        (0..300).for_each(|_| table.count(7, 1048, true));
        assert_eq!(table.entries()[0].congested, 255);
        assert_eq!(table.entries()[0].bytes, 300 * 1048);
    }

    #[test]
    fn a_full_table_knows_no_further_pairs_until_a_period_makes_room() {
        let mut table = FlowTable::new(100, 255);
        (0..150).for_each(|key| table.count(key, 5_000, true));
        assert_eq!((table.entries().len(), table.missed()), (100, 50));
        (0..50).for_each(|key| table.count(key, 5_000, true));
        assert_eq!(table.missed(), 50, "those it knows it counts");
        table.end_period(10_000);
        assert_eq!(table.entries().len(), 50);
        table.count(1_000, 1, false);
        assert_eq!((table.entries().len(), table.missed()), (51, 50));
        let mut none = FlowTable::new(0, 255);
        none.count(1, 1, true);
        assert_eq!(none.missed(), 1);
    }

    #[test]
    fn entries_come_in_the_order_of_their_first_packets_whatever_their_names_also_after_some_are_gone() {
        let mut table = FlowTable::new(1_000, 255);
        let names: Vec<u64> = (0..100).rev().map(|key| key * key).collect();
        let keys = |table: &FlowTable| table.entries().iter().map(|entry| entry.key).collect::<Vec<_>>();
        names.iter().for_each(|&key| table.count(key, 1_000 + key as u32 % 3, false));
        assert_eq!(keys(&table), names, "the table has grown four times");
        table.end_period(1_001);
        let left: Vec<u64> = names.into_iter().filter(|key| key % 3 > 0).collect();
        assert_eq!(keys(&table), left);
        table.count(0, 1, false);
        assert_eq!(keys(&table).last(), Some(&0), "it comes anew");
    }

    proptest! {
        #[test]
        fn it_counts_as_a_map_would(
            packets in prop::collection::vec((0..200u64, 1..2_000u32, any::<bool>()), 1..2_000), ends in 1..300usize,
        ) {
            let mut table = FlowTable::new(1_000, 1_000_000);
            let mut model = std::collections::BTreeMap::<u64, (u64, u32)>::new();
            for (number, (key, wire, congested)) in packets.into_iter().enumerate() {
                table.count(key << 40, wire, congested);
                let entry = model.entry(key << 40).or_default();
                *entry = (entry.0 + wire as u64, entry.1 + congested as u32);
                if number % ends == ends - 1 {
                    table.end_period(3_000);
                    model.retain(|_, entry| entry.0 >= 3_000);
                    model.values_mut().for_each(|entry| *entry = (0, 0));
                }
            }
            let mut entries: Vec<_> = table.entries().iter().map(|e| (e.key, (e.bytes, e.congested))).collect();
            entries.sort();
            prop_assert_eq!(entries, model.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(table.missed(), 0);
        }
    }
}
