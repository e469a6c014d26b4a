//! The choice of paths by senders that give each packet an [entropy](crate::Tag::entropy) of its own.
//!
//! | policy | next value | it learns from |
//! |---|---|---|
//! | [`Oblivious`](EntropyPolicy::Oblivious) | all in turn, in a random order | nothing |
//! | [`Bitmap`](EntropyPolicy::Bitmap) | as `Oblivious`, but those with a penalty pass | marks, NACKs, timeouts |
//! | [`Reps`](EntropyPolicy::Reps) | the oldest of eight that proved good, else any | good feedback, timeouts |
//! | [`RepsLegacy`](EntropyPolicy::RepsLegacy) | the oldest that proved good, else any | good feedback |
//! | [`Mixed`](EntropyPolicy::Mixed) | the oldest that proved good, else as `Bitmap` | all of it |
//! | [`Perm`](EntropyPolicy::Perm) | all in turn, each round in an order of its own | nothing |
//! | [`Rand`](EntropyPolicy::Rand) | any | nothing |
//! | [`Scored`](EntropyPolicy::Scored) | as `Perm`, but paths that lose more than others pass | ACKs, NACKs, bounces |
//!
//! A sender calls [`Entropies::next`] for each packet and [`Entropies::feedback`] for each that it hears of. It knows the value
//! of the packet that it hears of from its records, or from the answer, which travels with the same value.

mod feedback;
mod order;
mod reps;
mod values;
mod walk;

pub use feedback::{Feedback, Penalties};
pub use reps::{EXPLORATIONS as REPS_EXPLORATIONS, FREEZE as REPS_FREEZE, PLACES as REPS_PLACES};
pub use values::EntropyValues;

use crate::rng::Rng;
use crate::transport::Conflict;
use clearway_schema::choice;
use clearway_units::Time;
use order::{Permutation, Scores};
use reps::Reps;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use walk::Walk;

/// The most values that wait to be used again. A flow has fewer acknowledgements than that before it sends again.
const WAITING_MAX: usize = 4096;

choice! {
    /// The way in which a sender chooses the entropy of its packets.
    #[derive(Serialize, Deserialize)]
    pub enum EntropyPolicy {
        /// All values in turn, in an order that is drawn anew each round by turning the bits of a counter.
        Oblivious = "oblivious",
        /// As `oblivious`, but values with a penalty pass.
        Bitmap = "bitmap",
        /// The values of the last eight packets with good feedback, each once; else any value.
        Reps = "reps",
        /// Values with good feedback, each once; all in turn in the first window, and else any value.
        RepsLegacy = "reps-legacy",
        /// Values with good feedback, each once; else as `bitmap`.
        Mixed = "mixed",
        /// All values in turn, in a permutation that is drawn anew each round.
        Perm = "perm",
        /// Any value, each as likely.
        Rand = "rand",
        /// As `perm`, but values pass whose packets are lost more often than those of others.
        Scored = "scored",
    }
}

impl EntropyPolicy {
    /// Returns true if the policy turns the bits of values, or tells one value of a flow from another by them.
    fn turns_bits(self) -> bool {
        !matches!(self, EntropyPolicy::Perm | EntropyPolicy::Rand | EntropyPolicy::Scored)
    }

    /// Returns the bytes that a flow keeps of so many values.
    pub fn bytes(self, values: EntropyValues) -> u32 {
        let each = match self {
            EntropyPolicy::Oblivious | EntropyPolicy::Reps | EntropyPolicy::Rand => 0,
            EntropyPolicy::Bitmap => 1,
            EntropyPolicy::RepsLegacy | EntropyPolicy::Perm => size_of::<u16>(),
            EntropyPolicy::Mixed => 1 + size_of::<u16>(),
            EntropyPolicy::Scored => order::SCORED,
        };
        each as u32 * u32::from(values.get())
    }

    /// Returns the contradiction of a transport whose policy and number of values are parameters of these names, if they don't go
    /// together.
    pub fn conflict(
        self,
        policy: &'static str,
        values: EntropyValues,
        name: &'static str,
    ) -> Option<Conflict> {
        let number = values.get();
        let right = number.next_power_of_two().min(1 << 15);
        (self.turns_bits() && !number.is_power_of_two()).then(|| Conflict {
            keys: [name, policy],
            problems: [
                format!("{policy} = \"{self}\" needs a power of two; write one such as {right}"),
                format!(
                    "needs a power of two, and {name} is {number}; write \"perm\", \"rand\" or \"scored\""
                ),
            ],
        })
    }
}

/// The entropy values of a flow's sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entropies {
    walk: Walk,
    penalties: Penalties,
    state: State,
}

/// What a policy remembers beside the walk.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum State {
    Oblivious,
    Rand,
    Bitmap(Box<[u8]>),
    Reps(Reps),
    RepsLegacy { waiting: VecDeque<u16>, walked: u16, first_window: u16 },
    Mixed { waiting: VecDeque<u16>, penalties: Box<[u8]> },
    Perm(Permutation),
    Scored(Box<Scores>),
}

impl Entropies {
    /// Returns the values of a new flow, `values` of them. Where the policy needs a power of two, another number is rounded down to
    /// one: [`EntropyPolicy::conflict`] refuses it.
    pub fn new(policy: EntropyPolicy, values: u16, rng: &mut Rng) -> Entropies {
        let values = values.clamp(1, 1 << 15);
        let values = if policy.turns_bits() { 1 << values.ilog2() } else { values };
        let walk = Walk::new(values, rng);
        let none = || vec![0; values.into()].into_boxed_slice();
        let state = match policy {
            EntropyPolicy::Oblivious => State::Oblivious,
            EntropyPolicy::Rand => State::Rand,
            EntropyPolicy::Bitmap => State::Bitmap(none()),
            EntropyPolicy::Reps => State::Reps(Reps::default()),
            EntropyPolicy::RepsLegacy => {
                State::RepsLegacy { waiting: VecDeque::new(), walked: 0, first_window: values }
            }
            EntropyPolicy::Mixed => State::Mixed { waiting: VecDeque::new(), penalties: none() },
            EntropyPolicy::Perm => State::Perm(Permutation::new(values, rng)),
            EntropyPolicy::Scored => State::Scored(Box::new(Scores::new(values, rng))),
        };
        Entropies { walk, penalties: Penalties::UEC, state }
    }

    /// Returns the values with other penalties than [`Penalties::UEC`].
    pub fn with_penalties(self, penalties: Penalties) -> Entropies {
        Entropies { penalties, ..self }
    }

    /// Returns the values of a flow whose first window has this many packets: [`EntropyPolicy::RepsLegacy`] takes all values
    /// in turn for that long, or for as many packets as there are values.
    pub fn with_first_window(mut self, packets: u64) -> Entropies {
        if let State::RepsLegacy { first_window, .. } = &mut self.state {
            *first_window = packets.min((*first_window).into()) as u16;
        }
        self
    }

    /// Returns the entropy of the next packet.
    pub fn next(&mut self, rng: &mut Rng, _: Time) -> u16 {
        let walk = &mut self.walk;
        match &mut self.state {
            State::Oblivious => walk.next(rng),
            State::Rand => walk.any(rng),
            State::Bitmap(penalties) => walk.next_without(penalties, rng),
            State::Reps(reps) => reps.next().unwrap_or_else(|| walk.any(rng)),
            State::RepsLegacy { walked, first_window, .. } if *walked < *first_window => {
                *walked += 1;
                walk.place(*walked) as u16
            }
            State::RepsLegacy { waiting, .. } => waiting.pop_front().unwrap_or_else(|| walk.any(rng)),
            State::Mixed { waiting, penalties } => {
                waiting.pop_front().unwrap_or_else(|| walk.next_without(penalties, rng))
            }
            State::Perm(order) => order.next(rng),
            State::Scored(scores) => scores.next(rng),
        }
    }

    /// Records what became of a packet with this entropy.
    pub fn feedback(&mut self, entropy: u16, feedback: Feedback, now: Time) {
        let place = self.walk.place(entropy);
        match &mut self.state {
            State::Oblivious | State::Rand | State::Perm(_) => {}
            State::Bitmap(penalties) => self.penalties.record(penalties, place, feedback),
            State::Reps(reps) => reps.feedback(entropy, feedback, now),
            State::RepsLegacy { waiting, .. } => recycle(waiting, entropy, feedback),
            State::Mixed { waiting, penalties } => {
                recycle(waiting, entropy, feedback);
                self.penalties.record(penalties, place, feedback);
            }
            State::Scored(scores) => scores.feedback(entropy, feedback),
        }
    }
}

/// Lets a value wait to be used again if it proved good.
fn recycle(waiting: &mut VecDeque<u16>, entropy: u16, feedback: Feedback) {
    if feedback == Feedback::Good && waiting.len() < WAITING_MAX {
        waiting.push_back(entropy);
    }
}

#[cfg(test)]
mod tests;
