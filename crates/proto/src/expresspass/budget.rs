//! How many credits a receiver still sends that was told how much there is to come (E17 sec. 7: "if the end of the
//! flow can be reliably estimated in advance").
//!
//! Requests say how many bytes the application has written. What of them has not arrived takes so many frames, and the
//! credits whose fate is open pay for as many. The rest, and a margin for credits that get lost, may still be sent.

use clearway_units::{Span, Time};

/// The credits that a receiver may still send.
#[derive(Clone, Debug)]
pub struct CreditBudget {
    /// Credits beyond what is left, as a share of it.
    margin: f64,
    /// Bytes that the sender has written, as far as the receiver was told.
    written: u64,
    /// Bytes of these that arrived.
    arrived: u64,
    /// One above the highest number echoed or given up.
    answered: u64,
    /// When the last credit left.
    sent: Time,
}

impl CreditBudget {
    /// A budget of nothing.
    pub fn new(margin: f64) -> CreditBudget {
        CreditBudget { margin, written: 0, arrived: 0, answered: 0, sent: Time::ZERO }
    }

    /// The sender has written so many bytes in all.
    pub fn on_told(&mut self, written: u64) {
        self.written = self.written.max(written);
    }

    /// The flow ends there: the sender took bytes back.
    pub fn on_end(&mut self, end: u64) {
        self.written = self.written.min(end);
    }

    /// Data arrived that echoes that credit, if it spent one; `bytes` of it are new.
    pub fn on_data(&mut self, echoed: Option<u64>, bytes: u64) {
        self.answered = echoed.map_or(self.answered, |number| self.answered.max(number + 1));
        self.arrived += bytes;
    }

    /// A credit left.
    pub fn on_credit(&mut self, now: Time) {
        self.sent = now;
    }

    /// Whether credit `next` may leave, where a frame carries `payload_max` bytes.
    pub fn allows(&self, next: u64, payload_max: u32) -> bool {
        let frames = self.left().div_ceil(payload_max as u64);
        let open = next.saturating_sub(self.answered);
        // The comparison by whole frames settles nearly all cases.
        open < frames || open < frames.saturating_add((frames as f64 * self.margin).ceil() as u64)
    }

    /// When the credits whose fate is open count as lost: `patience` after the last of them; never if nothing is left.
    pub fn gives_up_at(&self, patience: Span) -> Time {
        if self.left() == 0 { Time::MAX } else { self.sent.saturating_add(patience) }
    }

    /// All credits below `next` are spent or lost.
    pub fn give_up(&mut self, next: u64) {
        self.answered = next;
    }

    /// Bytes that were told of and have not arrived.
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

    /// How many credits from `next` on leave at once.
    fn sends(budget: &CreditBudget, next: u64) -> u64 {
        (next..).take_while(|&number| budget.allows(number, 100)).count() as u64
    }

    #[test]
    fn as_many_credits_leave_as_frames_are_left_and_the_margin_rounded_up() {
        for (margin, credits) in [(0.0, 10), (0.1, 11), (0.11, 12), (1.0, 20)] {
            let mut budget = CreditBudget::new(margin);
            assert_eq!(sends(&budget, 0), 0, "nothing was told");
            budget.on_told(901);
            assert_eq!(sends(&budget, 0), credits);
        }
    }

    #[test]
    fn an_echo_of_the_last_credit_opens_room_for_what_was_lost_before_it() {
        let mut budget = CreditBudget::new(0.0);
        budget.on_told(1_000);
        assert_eq!(sends(&budget, 0), 10);
        budget.on_data(Some(0), 100);
        assert_eq!(sends(&budget, 10), 0, "nine are under way for nine frames");
        budget.on_data(Some(4), 100);
        assert_eq!(sends(&budget, 10), 3, "three of them got lost");
    }

    #[test]
    fn credits_of_which_nothing_is_heard_are_sent_again_while_something_is_left() {
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
    fn more_data_raises_the_budget_and_an_early_end_lowers_it() {
        let mut budget = CreditBudget::new(0.0);
        budget.on_told(200);
        budget.on_told(500);
        budget.on_told(300);
        assert_eq!(sends(&budget, 0), 5, "an old request is no step back");
        budget.on_end(100);
        assert_eq!(sends(&budget, 0), 1);
    }
}
