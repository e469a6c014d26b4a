//! The receiver's record of the bytes that have arrived.

use crate::packet::SackBlock;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The record of a receive buffer: offsets of the bytes that have arrived, without the bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Inbox {
    /// The offset of the next byte expected.
    next: u64,
    /// What is known of data beyond `next`, once there has been any: in most flows there is none.
    early: Option<Box<Early>>,
}

/// The record of the bytes beyond a gap.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Early {
    /// The ranges that arrived, in order and with gaps between them.
    ranges: Vec<SackBlock>,
    /// The offset of the most recent arrival out of order.
    recent: u64,
    /// The index of the range that was last reported besides the most recent one.
    turn: usize,
    /// The earliest time of the next request to go back, where data beyond a gap is discarded.
    nack_at: Time,
}

impl Inbox {
    /// Returns the number of bytes that arrived without gaps, which is the offset of the next byte expected.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns true if data beyond a gap has arrived.
    #[inline]
    pub fn has_gaps(&self) -> bool {
        self.early.as_ref().is_some_and(|early| !early.ranges.is_empty())
    }

    /// Records the arrival of `len` bytes from offset `seq` on. Returns how many of them had arrived before.
    #[inline]
    pub fn insert(&mut self, seq: u64, len: u32) -> u64 {
        if seq == self.next && !self.has_gaps() {
            self.next = seq + len as u64;
            return 0;
        }
        self.insert_out_of_order(seq, len)
    }

    #[cold]
    fn insert_out_of_order(&mut self, seq: u64, len: u32) -> u64 {
        let (len, end) = (len as u64, seq + len as u64);
        let before = self.held();
        let Early { ranges, recent, .. } = &mut **self.early.get_or_insert_default();
        if seq > self.next {
            *recent = seq;
        }
        // All ranges that touch seq..end are merged with it.
        let from = ranges.partition_point(|range| range.end < seq);
        let to = ranges.partition_point(|range| range.start <= end);
        let start = ranges.get(from).filter(|_| from < to).map_or(seq, |range| range.start.min(seq));
        let end = if from < to { ranges[to - 1].end.max(end) } else { end };
        if start <= self.next {
            ranges.drain(..to);
            self.next = self.next.max(end);
        } else {
            ranges.splice(from..to, [SackBlock { start, end }]);
        }
        len - (self.held() - before)
    }

    /// Returns up to three ranges beyond gaps for a selective acknowledgement: the most recent one first, then the
    /// others in turn, so that a sender that remembers them learns all of them.
    pub fn sack(&mut self) -> [SackBlock; 3] {
        let mut blocks = [SackBlock::default(); 3];
        let Some(early) = self.early.as_mut().filter(|early| !early.ranges.is_empty()) else { return blocks };
        let count = early.ranges.len();
        let recent = early.ranges.partition_point(|range| range.end <= early.recent).min(count - 1);
        blocks[0] = early.ranges[recent];
        let mut named = 1;
        for _ in 0..count.min(3) {
            early.turn = (early.turn + 1) % count;
            if early.turn != recent && named < 3 {
                blocks[named] = early.ranges[early.turn];
                named += 1;
            }
        }
        blocks
    }

    /// Discards data beyond a gap. Returns true if the sender must be asked to go back: at most once in each `pause`, until
    /// the gap is closed.
    #[cold]
    pub fn discard(&mut self, pause: Span, now: Time) -> bool {
        let early = self.early.get_or_insert_default();
        let asks = now >= early.nack_at;
        if asks {
            early.nack_at = now + pause;
        }
        asks
    }

    /// Records that data arrived without a gap, so that the next gap is another one.
    #[inline]
    pub fn on_progress(&mut self) {
        if let Some(early) = &mut self.early {
            early.nack_at = Time::ZERO;
        }
    }

    /// Returns the number of bytes that have arrived.
    fn held(&self) -> u64 {
        let ranges = self.early.iter().flat_map(|early| &early.ranges);
        self.next + ranges.map(|range| range.end - range.start).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn data_in_order_counts_as_delivered_at_once() {
        let mut inbox = Inbox::default();
        assert_eq!((inbox.insert(0, 100), inbox.next()), (0, 100));
        assert_eq!((inbox.insert(50, 100), inbox.next()), (50, 150), "half of it was there");
    }

    #[test]
    fn data_beyond_a_gap_waits_and_is_reported_most_recent_first() {
        let mut inbox = Inbox::default();
        for seq in [200, 400, 600, 800] {
            inbox.insert(seq, 100);
        }
        assert_eq!((inbox.next(), inbox.sack()[0]), (0, SackBlock { start: 800, end: 900 }));
        let mut named: Vec<u64> = (0..4).flat_map(|_| inbox.sack().map(|block| block.start)).collect();
        named.sort();
        named.dedup();
        assert_eq!(named, [200, 400, 600, 800]);
        inbox.insert(0, 200);
        assert_eq!(inbox.next(), 300);
    }

    #[test]
    fn the_sender_is_asked_to_go_back_once_a_round_trip_until_the_gap_is_closed() {
        let (mut inbox, us) = (Inbox::default(), |us| Time::ZERO + Span::from_us(us));
        let asks = [10, 15, 20, 25].map(|at| inbox.discard(Span::from_us(10), us(at)));
        assert_eq!(asks, [true, false, true, false]);
        inbox.insert(0, 100);
        inbox.on_progress();
        assert!(inbox.discard(Span::from_us(10), us(26)), "this gap is another one");
        assert!(!inbox.has_gaps(), "nothing of it was kept");
    }

    proptest! {
        #[test]
        fn the_record_agrees_with_a_bitmap_of_all_bytes(frames in prop::collection::vec((0u64..300, 1u32..40), 1..80)) {
            let (mut inbox, mut bitmap) = (Inbox::default(), [false; 400]);
            for (seq, len) in frames {
                let slots = &mut bitmap[seq as usize..seq as usize + len as usize];
                let known = slots.iter().filter(|slot| **slot).count() as u64;
                slots.fill(true);
                prop_assert_eq!(inbox.insert(seq, len), known);
                let next = bitmap.iter().position(|slot| !slot).unwrap() as u64;
                prop_assert_eq!(inbox.next(), next);
                for block in inbox.sack().iter().filter(|block| block.end > block.start) {
                    prop_assert!(block.start > next);
                    prop_assert!(bitmap[block.start as usize..block.end as usize].iter().all(|slot| *slot));
                    prop_assert!(!bitmap[block.end as usize] && !bitmap[block.start as usize - 1]);
                }
            }
        }
    }

    #[test]
    fn a_frame_without_bytes_beyond_a_gap_is_named_and_harms_nothing() {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.insert(200, 0), 0);
        let SackBlock { start, end } = inbox.sack()[0];
        assert_eq!((start, end, inbox.next()), (200, 200, 0));
        assert_eq!((inbox.insert(0, 300), inbox.next(), inbox.has_gaps()), (0, 300, false));
    }
}
