//! The set of packets that have arrived, by their numbers.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The most packets by which one may be ahead of the first missing one.
const AHEAD_MAX: u32 = 1 << 20;

/// The numbers of the packets that have arrived: all before one, and some behind it.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Arrived {
    /// The number of the first packet that has not arrived.
    next: u32,
    /// The packets that have arrived behind it.
    held: u32,
    /// A bit for each packet, the lowest first, from the last multiple of 64 on that is not above `next`; empty if none is held.
    words: VecDeque<u64>,
}

impl Arrived {
    /// Returns the number of the first packet that has not arrived.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Returns the number of packets that have arrived behind it.
    pub fn held(&self) -> u32 {
        self.held
    }

    /// Returns the numbers of the packets that have arrived behind it, in their order.
    pub fn behind(&self) -> impl Iterator<Item = u32> + '_ {
        let words = self.words.iter().zip(0..).map(|(&word, number): (_, u32)| (word, 64 * number));
        let bits = words
            .flat_map(|(word, at)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at + bit));
        let (start, next) = (self.start(), self.next);
        bits.map(move |at| start.wrapping_add(at)).filter(move |psn| psn.wrapping_sub(next) as i32 > 0)
    }

    /// Returns true unless the number is too far ahead to be kept.
    pub fn admits(&self, psn: u32) -> bool {
        (psn.wrapping_sub(self.next) as i32) < AHEAD_MAX as i32
    }

    /// Returns true if the packet has arrived.
    pub fn has(&self, psn: u32) -> bool {
        if (psn.wrapping_sub(self.next) as i32) < 0 {
            return true;
        }
        let at = psn.wrapping_sub(self.start());
        self.words.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Adds a packet that is [admitted](Arrived::admits). Returns false if it was there before.
    pub fn insert(&mut self, psn: u32) -> bool {
        if self.has(psn) {
            return false;
        }
        if psn == self.next && self.held == 0 {
            self.next = self.next.wrapping_add(1);
            self.words.clear();
            return true;
        }
        let at = psn.wrapping_sub(self.start());
        let word = (at / 64) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (at % 64);
        if psn == self.next {
            self.advance()
        } else {
            self.held += 1
        }
        true
    }

    /// Moves on to the next packet that has not arrived, after the one at `next` has.
    fn advance(&mut self) {
        let from = self.next;
        let mut skip = from % 64;
        let mut start = self.start();
        loop {
            let ones = self.words.front().map_or(0, |word| (word >> skip).trailing_ones());
            self.next = start.wrapping_add(skip + ones);
            if skip + ones < 64 {
                break;
            }
            self.words.pop_front();
            (start, skip) = (start.wrapping_add(64), 0);
        }
        self.held -= self.next.wrapping_sub(from) - 1;
        if self.held == 0 {
            self.words.clear();
        }
    }

    /// Returns the number to which the first bit belongs.
    fn start(&self) -> u32 {
        self.next & !63
    }

    /// Returns the first number of the map of an acknowledgement for a packet: that itself if the packet `is_here`, else the
    /// first with which the map ends at the packet, but none that has arrived for certain.
    pub fn window(&self, psn: u32, is_here: bool) -> u32 {
        if is_here {
            return psn;
        }
        let ahead = psn.wrapping_sub(self.next) as i32;
        self.next.wrapping_add(ahead.saturating_sub(63).max(1) as u32)
    }

    /// Returns the bits of the 64 packets from `from` on, those before [`Arrived::next`] left out.
    pub fn map(&self, from: u32) -> u64 {
        if self.held == 0 {
            return 0;
        }
        let at = from.wrapping_sub(self.start()) as i32;
        let (word, bit) = (at.div_euclid(64), at.rem_euclid(64));
        let of = |word: i32| {
            usize::try_from(word).ok().and_then(|word| self.words.get(word)).copied().unwrap_or(0)
        };
        let high = if bit == 0 { 0 } else { of(word + 1) << (64 - bit) };
        of(word) >> bit | high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Entity, Rng};
    use std::collections::BTreeSet;

    #[test]
    fn numbers_in_any_order_are_known_as_a_set_knows_them_also_past_32_bits() {
        let first = u32::MAX - 700;
        let mut arrived = Arrived { next: first, ..Arrived::default() };
        let mut set = BTreeSet::new();
        let mut rng = Rng::stream(1, Entity::Traffic, 0);
        let mut next = 0u32;
        while next < 1500 {
            let number = next + rng.below(150) as u32;
            assert_eq!(arrived.insert(first.wrapping_add(number)), set.insert(number), "{number}");
            next = (next..).find(|number| !set.contains(number)).unwrap();
            assert_eq!(arrived.next(), first.wrapping_add(next));
            assert_eq!(arrived.held() as usize, set.range(next..).count());
            assert!(arrived.behind().eq(set.range(next..).map(|&number| first.wrapping_add(number))));
            let from = next.saturating_sub(70) + rng.below(250) as u32;
            let map = arrived.map(first.wrapping_add(from));
            let is_set = |bit: u32| from + bit >= next && set.contains(&(from + bit));
            let expected = (0..64).filter(|&bit| is_set(bit)).fold(0u64, |map, bit| map | 1 << bit);
            // Bits of packets before the first missing one say what is known anyway.
            let known = (0..64).filter(|&bit| from + bit < next).fold(0u64, |map, bit| map | 1 << bit);
            assert_eq!(map & !known, expected, "from {from}, next {next}");
        }
    }

    #[test]
    fn a_map_begins_at_the_packet_or_ends_there() {
        let arrived = Arrived { next: 100, held: 0, words: VecDeque::new() };
        assert_eq!([90, 100, 130, 300].map(|psn| arrived.window(psn, true)), [90, 100, 130, 300]);
        assert_eq!([90, 100, 130, 300].map(|psn| arrived.window(psn, false)), [101, 101, 101, 237]);
    }

    #[test]
    fn a_number_far_ahead_is_not_admitted() {
        let arrived = Arrived::default();
        assert!(arrived.admits(0) && arrived.admits(u32::MAX) && arrived.admits(AHEAD_MAX - 1));
        assert!(!arrived.admits(AHEAD_MAX));
    }
}
