//! Sets of bytes that arrived out of order: the sender's scoreboard and the receiver's reassembly list.

use crate::packet::SackBlock;
use serde::{Deserialize, Serialize};

/// A set of byte offsets as disjoint ranges that do not touch, in ascending order. Most flows never have any, so a word
/// is enough until something is out of order.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Ranges {
    #[allow(clippy::box_collection, reason = "most flows have none, and a word is enough to say so")]
    ranges: Option<Box<Vec<SackBlock>>>,
}

impl Ranges {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges().is_empty()
    }

    #[inline]
    fn ranges(&self) -> &[SackBlock] {
        self.ranges.as_ref().map_or(&[], |ranges| ranges)
    }

    /// Returns the offset after the highest byte in the set; zero if the set is empty.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.ranges().last().map_or(0, |range| range.end)
    }

    /// Adds `start..end` and returns the number of its bytes that are new.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> u64 {
        debug_assert!(start < end);
        let ranges = &mut **self.ranges.get_or_insert_default();
        let first = ranges.partition_point(|range| range.end < start);
        let mut merged = SackBlock { start, end };
        let mut known = 0;
        let mut past = first;
        while past < ranges.len() && ranges[past].start <= merged.end {
            let range = ranges[past];
            merged.start = merged.start.min(range.start);
            merged.end = merged.end.max(range.end);
            known += range.end - range.start;
            past += 1;
        }
        if first == past {
            ranges.insert(first, merged);
        } else {
            ranges[first] = merged;
            ranges.drain(first + 1..past);
        }
        merged.end - merged.start - known
    }

    /// Removes all bytes below `offset` and returns their number.
    pub(crate) fn remove_below(&mut self, offset: u64) -> u64 {
        let Some(ranges) = &mut self.ranges else { return 0 };
        if ranges.first().is_none_or(|range| range.start >= offset) {
            return 0;
        }
        let whole = ranges.partition_point(|range| range.end <= offset);
        let mut removed: u64 = ranges.drain(..whole).map(|range| range.end - range.start).sum();
        if let Some(cut) = ranges.first_mut().filter(|range| range.start < offset) {
            removed += offset - cut.start;
            cut.start = offset;
        }
        removed
    }

    /// Removes the range that contains `offset` or ends there, if there is one, and all ranges before it; returns its
    /// end.
    pub(crate) fn take_through(&mut self, offset: u64) -> Option<u64> {
        let ranges = self.ranges.as_mut()?;
        let taken = ranges.partition_point(|range| range.start <= offset);
        let end = ranges.get(taken.checked_sub(1)?)?.end;
        ranges.drain(..taken);
        Some(end)
    }

    /// Returns the range that contains `offset`, if any.
    pub(crate) fn containing(&self, offset: u64) -> Option<SackBlock> {
        let index = self.ranges().partition_point(|range| range.end <= offset);
        self.ranges().get(index).copied().filter(|range| range.start <= offset)
    }

    /// Returns the number of bytes of `start..end` that are in the set.
    pub(crate) fn covered(&self, start: u64, end: u64) -> u64 {
        let first = self.ranges().partition_point(|range| range.end <= start);
        self.ranges()[first..]
            .iter()
            .take_while(|range| range.start < end)
            .map(|range| range.end.min(end) - range.start.max(start))
            .sum()
    }

    /// Returns the first gap of the set within `from..limit`, if any.
    pub(crate) fn gap(&self, from: u64, limit: u64) -> Option<(u64, u64)> {
        let mut start = from;
        let first = self.ranges().partition_point(|range| range.end <= from);
        // Ranges do not touch, so after one range there is a gap.
        let mut end = limit;
        for range in self.ranges()[first..].iter().take(2) {
            if range.start <= start {
                start = range.end;
            } else {
                end = end.min(range.start);
                break;
            }
        }
        (start < end).then_some((start, end))
    }

    /// Returns the offset below which every byte outside the set counts as lost, because `dup_thresh` ranges of the set
    /// lie above it, or more than `(dup_thresh - 1) * smss` of its bytes (RFC 6675 sec. 4, `IsLost`); zero if there is
    /// none.
    pub(crate) fn lost_below(&self, dup_thresh: u32, smss: u64) -> u64 {
        let bytes_max = (dup_thresh as u64 - 1) * smss;
        let mut bytes = 0;
        for (index, range) in self.ranges().iter().rev().enumerate() {
            bytes += range.end - range.start;
            if bytes > bytes_max || index + 1 >= dup_thresh as usize {
                return range.start;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges(list: &[(u64, u64)]) -> Ranges {
        let mut ranges = Ranges::default();
        list.iter().for_each(|&(start, end)| {
            ranges.insert(start, end);
        });
        ranges
    }

    #[test]
    fn touching_ranges_become_one() {
        let mut set = ranges(&[(10, 20), (30, 40)]);
        assert_eq!(set.insert(20, 30), 10);
        assert_eq!(set.containing(15), Some(SackBlock { start: 10, end: 40 }));
        assert_eq!(set.covered(0, 100), 30);
    }

    #[test]
    fn a_byte_is_lost_once_three_ranges_or_more_than_two_segments_lie_above_it_rfc_6675_section_4() {
        assert_eq!(ranges(&[(10, 20), (30, 40)]).lost_below(3, 10), 0, "20 bytes are not more than 2 * 10");
        assert_eq!(ranges(&[(10, 20), (30, 41)]).lost_below(3, 10), 10);
        assert_eq!(ranges(&[(10, 12), (30, 32), (50, 52)]).lost_below(3, 10), 10);
        assert_eq!(ranges(&[(10, 20), (30, 60), (70, 71)]).lost_below(3, 10), 30);
    }

    #[test]
    fn gaps_are_found_from_any_point() {
        let set = ranges(&[(10, 20), (30, 40)]);
        assert_eq!(set.gap(0, 100), Some((0, 10)));
        assert_eq!(set.gap(10, 100), Some((20, 30)));
        assert_eq!(set.gap(35, 100), Some((40, 100)));
        assert_eq!(set.gap(35, 40), None);
        assert_eq!(set.gap(20, 25), Some((20, 25)));
    }

    proptest! {
        /// Against a model of one flag a byte.
        #[test]
        fn ranges_behave_as_a_set_of_bytes(
            operations in prop::collection::vec((0u8..3, 0u64..60, 1u64..12), 1..60)
        ) {
            let mut set = Ranges::default();
            let mut model = [false; 80];
            for (operation, at, len) in operations {
                match operation {
                    0 | 1 => {
                        let new = (at..at + len).filter(|&i| !model[i as usize]).count() as u64;
                        prop_assert_eq!(set.insert(at, at + len), new);
                        (at..at + len).for_each(|i| model[i as usize] = true);
                    }
                    _ => {
                        let gone = (0..at).filter(|&i| model[i as usize]).count() as u64;
                        prop_assert_eq!(set.remove_below(at), gone);
                        (0..at).for_each(|i| model[i as usize] = false);
                    }
                }
                prop_assert_eq!(set.end(), model.iter().rposition(|&b| b).map_or(0, |i| i as u64 + 1));
                let covered = (at..at + len).filter(|&i| model[i as usize]).count() as u64;
                prop_assert_eq!(set.covered(at, at + len), covered);
                prop_assert_eq!(set.containing(at).is_some(), model[at as usize]);
                let start = (at..at + len).find(|&i| !model[i as usize]);
                let end = start.map(|s| (s..at + len).find(|&i| model[i as usize]).unwrap_or(at + len));
                prop_assert_eq!(set.gap(at, at + len), start.zip(end));
            }
        }
    }
}
