//! The packets that have arrived at a receiver.

use super::SPAN;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A packet that has arrived behind one that is missing, or that is missing itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Held {
    /// The low bits of the offset of its first byte.
    offset: u32,
    /// The number of its bytes, or that of [`Held::MISSING`].
    len: u32,
}

impl Held {
    const MISSING: Held = Held { offset: 0, len: u32::MAX };
}

/// What became of a packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrived {
    /// It arrived for the first time.
    New,
    /// It had arrived before.
    Again,
    /// It is too far ahead, or was made up, and is dropped.
    Beyond,
}

/// The packets of a flow that have arrived, by number.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Arrivals {
    /// The number of the first packet that is missing.
    next: u32,
    /// The bytes of the packets before it.
    delivered: u64,
    /// The packets behind it, up to the last one that has arrived.
    ahead: VecDeque<Held>,
    /// The number of packets behind it that have arrived.
    held: u32,
}

impl Arrivals {
    /// Returns the number of the first packet that is missing.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Returns the bytes of the packets before it.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns the number of packets that have arrived behind one that is missing.
    pub fn held(&self) -> u32 {
        self.held
    }

    /// Returns true if a packet has arrived.
    pub fn has(&self, psn: u32) -> bool {
        let ahead = psn.wrapping_sub(self.next);
        match ahead {
            0 => false,
            _ if ahead > u32::MAX / 2 => true,
            _ => self.ahead.get(ahead as usize - 1).is_some_and(|&held| held != Held::MISSING),
        }
    }

    /// Records that a packet arrived with so many bytes from an offset on. One whose bytes do not follow those of the packets before
    /// it was made up.
    pub fn accept(&mut self, psn: u32, offset: u64, len: u32) -> Arrived {
        if self.has(psn) {
            return Arrived::Again;
        }
        let ahead = psn.wrapping_sub(self.next) as usize;
        if ahead > 2 * SPAN || ahead == 0 && offset != self.delivered {
            return Arrived::Beyond;
        }
        if ahead > 0 {
            if self.ahead.len() < ahead {
                self.ahead.resize(ahead, Held::MISSING);
            }
            self.ahead[ahead - 1] = Held { offset: offset as u32, len };
            self.held += 1;
            return Arrived::New;
        }
        self.pass(len);
        while let Some(held) = self.ahead.pop_front().filter(|&held| held != Held::MISSING) {
            self.held -= 1;
            if held.offset != self.delivered as u32 {
                break;
            }
            self.pass(held.len);
        }
        Arrived::New
    }

    fn pass(&mut self, len: u32) {
        self.next = self.next.wrapping_add(1);
        self.delivered += u64::from(len);
    }

    /// Returns which of the 64 packets from a number on have arrived: the lowest bit is the first of them.
    pub fn map(&self, from: u32) -> u64 {
        if self.held == 0 && !self.has(from) {
            return 0;
        }
        (0..64).filter(|&bit| self.has(from.wrapping_add(bit))).fold(0, |map, bit| map | 1 << bit)
    }
}
