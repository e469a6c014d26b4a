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

/// The number of slots for each entry. The table is at most half full, so that probes are short.
const SLOTS_PER_ENTRY: usize = 2;

/// The number of entries for which a table has room before it first grows.
const ENTRIES_FIRST: usize = 32;

const EMPTY: u32 = u32::MAX;

/// The table of one port. Entries lie in the order in which they came, so that walking over them does not depend on the
/// hash; slots beside them say where each is (open addressing, linear probing).
///
/// It grows by doubling up to its capacity. A full table does not know further pairs: their packets are counted as
/// missed and get no notifications until the end of a period makes room.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowTable {
    entries: Vec<Entry>,
    slots: Vec<u32>,
    capacity: usize,
    congested_max: u32,
    missed: u64,
}

/// Spreads keys over slots (the finaliser of MurmurHash3).
fn spread(key: u64) -> usize {
    let key = (key ^ key >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let key = (key ^ key >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (key ^ key >> 33) as usize
}

impl FlowTable {
    /// Returns a table with room for `capacity` pairs; counts of congested packets stay at `congested_max`.
    pub fn new(capacity: u32, congested_max: u32) -> FlowTable {
        FlowTable {
            entries: Vec::new(),
            slots: Vec::new(),
            capacity: capacity as usize,
            congested_max,
            missed: 0,
        }
    }

    /// Counts a packet of `wire` bytes that passes.
    #[inline]
    pub fn count(&mut self, key: u64, wire: u32, is_congested: bool) {
        let Some(index) = self.find_or_insert(key) else {
            self.missed += 1;
            return;
        };
        let entry = &mut self.entries[index];
        entry.bytes += wire as u64;
        if is_congested && entry.congested < self.congested_max {
            entry.congested += 1;
        }
    }

    #[inline]
    fn find_or_insert(&mut self, key: u64) -> Option<usize> {
        if self.slots.is_empty() && !self.grow() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut slot = spread(key) & mask;
        loop {
            let index = self.slots[slot];
            if index == EMPTY {
                break;
            }
            if self.entries[index as usize].key == key {
                return Some(index as usize);
            }
            slot = (slot + 1) & mask;
        }
        if self.entries.len() == self.capacity {
            return None;
        }
        if self.entries.len() * SLOTS_PER_ENTRY == self.slots.len() {
            self.grow();
            return self.find_or_insert(key);
        }
        self.slots[slot] = self.entries.len() as u32;
        self.entries.push(Entry { key, bytes: 0, congested: 0 });
        Some(self.entries.len() - 1)
    }

    /// Doubles the room, within the capacity. Returns true if there is room then.
    #[cold]
    fn grow(&mut self) -> bool {
        if self.capacity == 0 {
            return false;
        }
        let slots = (self.slots.len() * 2).max(ENTRIES_FIRST * SLOTS_PER_ENTRY);
        self.slots = vec![EMPTY; slots];
        self.entries.reserve(slots / SLOTS_PER_ENTRY - self.entries.len());
        self.place();
        true
    }

    /// Enters all entries into the slots, which are empty.
    fn place(&mut self) {
        let mask = self.slots.len() - 1;
        for (index, entry) in self.entries.iter().enumerate() {
            let mut slot = spread(entry.key) & mask;
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = index as u32;
        }
    }

    /// Returns the entries, in the order in which they came.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Ends a period: entries with fewer bytes than `bytes_min` are deleted, the others begin anew (Algorithm 1, line
    /// 33).
    pub fn end_period(&mut self, bytes_min: u64) {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.bytes >= bytes_min);
        for entry in &mut self.entries {
            (entry.bytes, entry.congested) = (0, 0);
        }
        if self.entries.len() < before {
            self.slots.fill(EMPTY);
            self.place();
        }
    }

    /// Returns the number of packets of pairs for which the full table had no room.
    pub fn missed(&self) -> u64 {
        self.missed
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
