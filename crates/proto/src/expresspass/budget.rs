//! The budget of credits of a receiver that knows how much data is to come (E17 sec. 7: "if the end of the flow can be
//! reliably estimated in advance").
//!
//! Requests state how many bytes the application has written. The bytes that have not arrived need a number of frames,
//! of which the outstanding credits (neither spent nor known to be lost) pay for as many. The receiver may send credits
//! for the rest, and a margin for credits that get lost.

use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The budget of credits of one receiver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreditBudget {
    /// The number of credits beyond the frames left, as a share of these.
    margin: f64,
    /// The bytes that the sender has written, as far as the receiver knows.
    written: u64,
    /// The bytes that have arrived.
    arrived: u64,
    /// One above the highest credit number that was echoed or given up.
    answered: u64,
    /// The time at which the last credit left.
    sent: Time,
}

impl CreditBudget {
    /// Makes a budget without data.
    pub fn new(margin: f64) -> CreditBudget {
        CreditBudget { margin, written: 0, arrived: 0, answered: 0, sent: Time::ZERO }
    }

    /// Records that the sender has written `written` bytes in all.
    pub fn on_told(&mut self, written: u64) {
        self.written = self.written.max(written);
    }

    /// Records that the flow ends at offset `end`, since the sender took bytes back.
    pub fn on_end(&mut self, end: u64) {
        self.written = self.written.min(end);
    }

    /// Records the arrival of data with `bytes` new bytes, and the number of the credit that it spent, if it spent one.
    pub fn on_data(&mut self, echoed: Option<u64>, bytes: u64) {
        self.answered = echoed.map_or(self.answered, |number| self.answered.max(number + 1));
        self.arrived += bytes;
    }

    /// Records that a credit leaves.
    pub fn on_credit(&mut self, now: Time) {
        self.sent = now;
    }

    /// Returns true if credit number `next` may leave, where a frame carries `payload_max` bytes.
    pub fn allows(&self, next: u64, payload_max: u32) -> bool {
        let frames = self.left().div_ceil(payload_max as u64);
        let open = next.saturating_sub(self.answered);
        // The first comparison decides nearly all cases without floating point.
        open < frames || open < frames.saturating_add((frames as f64 * self.margin).ceil() as u64)
    }

    /// Returns the time at which outstanding credits count as lost: `patience` after the last credit, or never if no
    /// data is left.
    pub fn gives_up_at(&self, patience: Span) -> Time {
        if self.left() == 0 { Time::MAX } else { self.sent.saturating_add(patience) }
    }

    /// Records that all credits below number `next` are spent or lost.
    pub fn give_up(&mut self, next: u64) {
        self.answered = next;
    }

    /// Returns the bytes that have been written and have not arrived.
    pub fn left(&self) -> u64 {
        self.written.saturating_sub(self.arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Returns the number of credits from number `next` on that may leave at once.
    fn sends(budget: &CreditBudget, next: u64) -> u64 {
        (next..).take_while(|&number| budget.allows(number, 100)).count() as u64
    }

    #[test]
    fn one_credit_per_frame_left_may_leave_and_the_margin_rounded_up() {
        for (margin, credits) in [(0.0, 10), (0.1, 11), (0.11, 12), (1.0, 20)] {
            let mut budget = CreditBudget::new(margin);
            assert_eq!(sends(&budget, 0), 0, "nothing was told");
            budget.on_told(901);
            assert_eq!(sends(&budget, 0), credits);
        }
    }

    #[test]
    fn an_echo_makes_room_for_the_credits_lost_before_it() {
        let mut budget = CreditBudget::new(0.0);
        budget.on_told(1_000);
        assert_eq!(sends(&budget, 0), 10);
        budget.on_data(Some(0), 100);
        assert_eq!(sends(&budget, 10), 0, "nine are under way for nine frames");
        budget.on_data(Some(4), 100);
        assert_eq!(sends(&budget, 10), 3, "three of them got lost");
    }

    #[test]
    fn credits_without_an_echo_are_replaced_while_data_is_left() {
        let mut budget = CreditBudget::new(0.0);
        budget.on_told(200);
        budget.on_credit(us(5));
        assert_eq!(sends(&budget, 2), 0);
        assert_eq!(budget.gives_up_at(Span::from_us(20)), us(25));
        budget.give_up(2);
        assert_eq!(sends(&budget, 2), 2);
        budget.on_data(Some(3), 200);
        assert_eq!((sends(&budget, 4), budget.gives_up_at(Span::from_us(20))), (0, Time::MAX));
    }

    #[test]
    fn more_data_raises_the_budget_and_a_truncated_flow_lowers_it() {
        let mut budget = CreditBudget::new(0.0);
        budget.on_told(200);
        budget.on_told(500);
        budget.on_told(300);
        assert_eq!(sends(&budget, 0), 5, "an old request is no step back");
        budget.on_end(100);
        assert_eq!(sends(&budget, 0), 1);
    }
}
