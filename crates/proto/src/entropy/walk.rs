//! The walk over all values, and the penalties that let it skip some.

use super::feedback::{Feedback, Penalties};
use crate::rng::Rng;
use serde::{Deserialize, Serialize};

/// A walk over all values of a flow: each comes once in as many packets, in an order that is drawn anew each time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Walk {
    /// The bits above those of the values, which set the values of one flow apart from those of another.
    base: u16,
    /// The number of values.
    values: u16,
    /// The bits of the values: their number less one, where that is a power of two.
    mask: u16,
    /// The number of values that came since the order was drawn.
    at: u16,
    /// The order: the value at a place is the place with these bits turned.
    turned: u16,
}

impl Walk {
    pub(super) fn new(values: u16, rng: &mut Rng) -> Walk {
        let mask = values.next_power_of_two() - 1;
        let drawn = rng.bits();
        Walk { base: (drawn >> 16) as u16 & !mask, values, mask, at: 0, turned: drawn as u16 & mask }
    }

    /// Returns any value, each as likely.
    pub(super) fn any(&self, rng: &mut Rng) -> u16 {
        loop {
            let value = (rng.bits() >> 48) as u16 & self.mask;
            if value < self.values {
                return value;
            }
        }
    }

    /// Returns the place of an entropy among the values.
    pub(super) fn place(&self, entropy: u16) -> usize {
        usize::from(entropy & self.mask)
    }

    fn advance(&mut self, rng: &mut Rng) {
        self.at += 1;
        if self.at > self.mask {
            self.at = 0;
            self.turned = (rng.bits() >> 48) as u16 & self.mask;
        }
    }

    /// Returns the next value.
    pub(super) fn next(&mut self, rng: &mut Rng) -> u16 {
        let value = self.at ^ self.turned;
        self.advance(rng);
        self.base | value
    }

    /// Returns the next value without a penalty. Of the values that are skipped, the first pays one of its penalties.
    pub(super) fn next_without(&mut self, penalties: &mut [u8], rng: &mut Rng) -> u16 {
        let first = &mut penalties[usize::from(self.at ^ self.turned)];
        if *first > 0 {
            *first -= 1;
            // With no value free, the last one that is looked at has to do.
            for _ in 0..=penalties.len() {
                self.advance(rng);
                if penalties[usize::from(self.at ^ self.turned)] == 0 {
                    break;
                }
            }
        }
        self.next(rng)
    }
}

impl Penalties {
    /// Records what became of a packet with the value at this place.
    pub(super) fn record(self, penalties: &mut [u8], place: usize, feedback: Feedback) {
        let more = match feedback {
            Feedback::Good => return,
            Feedback::Ecn => self.ecn,
            Feedback::Nack | Feedback::Bounce => self.nack,
            Feedback::Timeout => self.timeout,
        };
        penalties[place] = penalties[place].saturating_add(more).min(self.most);
    }
}
