//! NDP's choice of paths: permutations of all values, of which those with many losses may be left out.

use super::feedback::Feedback;
use crate::rng::Rng;
use serde::{Deserialize, Serialize};

/// The number of times that a path must have been heard of before it may be called bad.
const HEARD: u32 = 100;

/// A permutation of all values, which is drawn anew when each has come once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Permutation {
    values: Box<[u16]>,
    at: u16,
}

impl Permutation {
    pub(super) fn new(values: u16, rng: &mut Rng) -> Permutation {
        let mut order = Permutation { values: (0..values).collect(), at: 0 };
        order.draw(rng);
        order
    }

    /// Draws a permutation, each as likely (Fisher and Yates).
    fn draw(&mut self, rng: &mut Rng) {
        for last in (1..self.values.len()).rev() {
            self.values.swap(last, rng.below(last as u64 + 1) as usize);
        }
        self.at = 0;
    }

    /// Returns the next value.
    pub(super) fn next(&mut self, rng: &mut Rng) -> u16 {
        if usize::from(self.at) == self.values.len() {
            self.draw(rng);
        }
        self.at += 1;
        self.values[usize::from(self.at - 1)]
    }
}

/// The bytes of a value: its place in the permutation, and what is known of its path.
pub(super) const SCORED: usize = size_of::<u16>() + size_of::<Path>();

/// What is known of the path of a value.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
struct Path {
    acks: u32,
    nacks: u32,
    /// The number of times that its turn is to pass.
    avoid: u32,
}

impl Path {
    /// Returns true if packets of the path are lost often, and more often than those of all paths together.
    fn is_bad(self, all: Path) -> bool {
        let (acks, nacks) = (u64::from(self.acks), u64::from(self.nacks));
        let is_known = acks + nacks > HEARD.into();
        let is_lossy = nacks * 10 > acks * 3;
        is_known
            && is_lossy
            && u128::from(nacks * 4) * u128::from(all.acks) > u128::from(acks * 5) * u128::from(all.nacks)
    }
}

/// Permutations in which paths with more losses than others pass.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Scores {
    order: Permutation,
    paths: Box<[Path]>,
    /// The counts of all paths together.
    all: Path,
}

impl Scores {
    pub(super) fn new(values: u16, rng: &mut Rng) -> Scores {
        let paths = vec![Path::default(); values.into()].into_boxed_slice();
        Scores { order: Permutation::new(values, rng), paths, all: Path::default() }
    }

    /// Returns the next value whose turn does not pass. With none, after two rounds, the next one has to do.
    pub(super) fn next(&mut self, rng: &mut Rng) -> u16 {
        for _ in 0..2 * self.paths.len() {
            let value = self.order.next(rng);
            let path = &mut self.paths[usize::from(value)];
            if path.avoid == 0 {
                return value;
            }
            path.avoid -= 1;
        }
        self.order.next(rng)
    }

    /// Records what became of a packet with this value.
    pub(super) fn feedback(&mut self, entropy: u16, feedback: Feedback) {
        let (acks, nacks) = match feedback {
            Feedback::Good | Feedback::Ecn => (1, 0),
            Feedback::Nack | Feedback::Timeout => (0, 1),
            Feedback::Bounce => (0, 3),
        };
        let path = &mut self.paths[usize::from(entropy) % self.order.values.len()];
        for counts in [path, &mut self.all] {
            counts.acks = counts.acks.saturating_add(acks);
            counts.nacks = counts.nacks.saturating_add(nacks);
        }
        let path = &mut self.paths[usize::from(entropy) % self.order.values.len()];
        path.avoid =
            if path.is_bad(self.all) { path.avoid.saturating_add(1) } else { path.avoid.saturating_sub(1) };
    }
}
