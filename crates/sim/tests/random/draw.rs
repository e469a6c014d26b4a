//! Random choices.

use clearway_proto::{Entity, Rng};

/// The random choices of a case. Equal seeds and numbers of cases give equal choices.
pub struct Draw(Rng);

impl Draw {
    pub fn new(seed: u64, case: u64) -> Draw {
        Draw(Rng::stream(seed, Entity::Traffic, case))
    }

    /// Draws a number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// Draws a number from `low` to `high`.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high - low).saturating_add(1))
    }

    /// Returns true in so many of a hundred draws.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Draws a number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// Draws a number from `low` to `high`, each order of magnitude being as likely as another.
    pub fn scale(&mut self, low: u64, high: u64) -> u64 {
        let (least, most) = (low.max(1) as f64, high.max(1) as f64);
        let drawn = least * (most / least).powf(self.unit());
        (drawn.round() as u64).clamp(low.min(high), high)
    }

    /// Draws one of some things.
    pub fn pick<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.below(things.len() as u64) as usize]
    }
}
