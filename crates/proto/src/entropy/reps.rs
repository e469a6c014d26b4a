//! REPS: entropy values that are known to be good are used again.

use super::feedback::Feedback;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The number of values that the ring holds.
pub const PLACES: u8 = 8;
/// The time for which a frozen ring stays so at least.
pub const FREEZE: Span = Span::from_ms(10);
/// The number of values that are drawn at random once the ring is no longer frozen.
pub const EXPLORATIONS: u8 = 16;

/// The ring of values that came back with good feedback. A timeout freezes it: the values that it holds are then used over
/// and over, since they are known to avoid whatever failed.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(super) struct Reps {
    ring: [u16; PLACES as usize],
    /// A bit for each place whose value has not been used since it came.
    fresh: u8,
    /// The number of places that hold a value, used or not.
    held: u8,
    /// The place of the next value that comes.
    head: u8,
    /// The place that is used next while the ring is frozen.
    turn: u8,
    /// The number of values that are still to be drawn at random.
    explore: u8,
    /// The time after which the ring may thaw, while it is frozen.
    frozen: Option<Time>,
}

impl Reps {
    /// Returns the value to use again, or `None` where one is to be drawn.
    pub(super) fn next(&mut self) -> Option<u16> {
        if self.explore > 0 {
            self.explore -= 1;
            return None;
        }
        let place = if self.frozen.is_some() {
            let place = (self.held > 0).then_some(self.turn)?;
            self.turn = (place + 1) % self.held;
            place
        } else {
            // Values become fresh and cease to be so in the same order, so the fresh ones are those before the head.
            let fresh = self.fresh.count_ones() as u8;
            (fresh > 0).then_some((self.head + PLACES - fresh) % PLACES)?
        };
        self.fresh &= !(1 << place);
        Some(self.ring[usize::from(place)])
    }

    /// Records what became of a packet with this value.
    pub(super) fn feedback(&mut self, entropy: u16, feedback: Feedback, now: Time) {
        if self.frozen.is_some_and(|end| now > end) {
            *self = Reps { explore: EXPLORATIONS, ..Reps::default() };
        }
        match feedback {
            Feedback::Good => {
                self.ring[usize::from(self.head)] = entropy;
                self.fresh |= 1 << self.head;
                self.held = self.held.max(self.head + 1);
                self.head = (self.head + 1) % PLACES;
            }
            Feedback::Timeout if self.frozen.is_none() && self.explore == 0 => {
                // As in uet-htsim, whichever value is the oldest.
                self.turn = 0;
                self.frozen = Some(now.saturating_add(FREEZE));
            }
            Feedback::Ecn | Feedback::Nack | Feedback::Bounce | Feedback::Timeout => {}
        }
    }
}
