//! How many credits a host sends to another one whose small packets leave for what credits have left over.
//!
//! Such packets spend a small part of a credit each, and the sender keeps no more than its bound. Further credits would be lost, and
//! each of them wakes a daemon at both ends. The feedback control can't tell: it takes small packets for the return of credits, or
//! lost credits for a congested network. So the receiver counts the bytes for which it sent credits and the bytes that came, and holds
//! back all but a trickle of credits while the sender must have as much as it keeps.

use clearway_units::{Span, Time};

/// The time between two credits of the trickle. They reach a flow of which a large packet waits.
const TRICKLE: Span = Span::from_ms(1);

/// The credits for the flows of one other host.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Trickle {
    /// The bytes on the wire that credits pay for, less those that came since, up to a bound.
    unspent: u64,
    /// The time from which a credit may leave although nothing was spent.
    at: Time,
}

impl Trickle {
    /// Records that a credit leaves, which pays for `frame` bytes. The other host keeps no more than `kept` bytes.
    pub fn on_credit(&mut self, frame: u32, kept: u32) {
        self.unspent = (self.unspent + u64::from(frame)).min(kept.into());
    }

    /// Records that so many bytes came.
    pub fn on_data(&mut self, wire: u64) {
        self.unspent = self.unspent.saturating_sub(wire);
    }

    /// Returns true if the other host has room for all that a credit pays for, or has spent half of what it keeps, after `others` more
    /// that are about to leave.
    pub fn has_room(&self, frame: u32, kept: u32, others: u32) -> bool {
        let unspent = self.unspent + u64::from(frame) * u64::from(others);
        unspent <= kept.saturating_sub(frame).max(kept / 2).into()
    }

    /// Returns the time from which a credit may leave although nothing was spent.
    pub fn next_at(&self) -> Time {
        self.at
    }

    /// Returns true if a credit may leave to a flow of small packets after `others`: because the other host has room for it, or as a part
    /// of the trickle.
    pub fn may_leave(&mut self, frame: u32, kept: u32, others: u32, now: Time) -> bool {
        let may = self.has_room(frame, kept, others) || now >= self.at;
        if may {
            self.at = now.saturating_add(TRICKLE);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// The credits that leave while a packet of 100 bytes comes in each of so many microseconds.
    fn credits(kept: u32, packets: u64) -> u64 {
        let (mut trickle, mut credits) = (Trickle::default(), 0);
        for number in 0..packets {
            if trickle.may_leave(1538, kept, 0, at(number)) {
                trickle.on_credit(1538, kept);
                credits += 1;
            }
            trickle.on_data(100);
        }
        credits
    }

    #[test]
    fn each_credit_pays_for_a_frame_of_small_packets_where_that_is_kept() {
        assert_eq!(credits(6152, 1_538), 100 + 3, "1,538 packets of 100 bytes, and three frames in reserve");
    }

    #[test]
    fn half_of_each_credit_is_lost_where_a_single_frame_is_kept_since_the_next_comes_in_time_only_so() {
        let credits = credits(1538, 1_538);
        assert!((190..=200).contains(&credits), "{credits}");
    }

    #[test]
    fn one_credit_a_millisecond_leaves_although_nothing_was_spent() {
        let mut trickle = Trickle { unspent: 1538, at: Time::ZERO };
        let left = (0..10_000).filter(|us| trickle.may_leave(1538, 1538, 0, at(*us))).count();
        assert_eq!(left, 10);
    }

    #[test]
    fn there_is_room_for_a_credit_once_a_frame_is_spent_or_half_of_what_is_kept() {
        for (kept, spent, has_room) in
            [(6152, 1537, false), (6152, 1538, true), (2000, 999, false), (2000, 1000, true)]
        {
            let mut trickle = Trickle { unspent: kept.into(), at: Time::ZERO };
            trickle.on_data(spent);
            assert_eq!(trickle.has_room(1538, kept, 0), has_room, "{spent} of {kept}");
        }
        let mut trickle = Trickle::default();
        assert!(trickle.may_leave(1538, 1538, 0, at(7)));
        assert_eq!(trickle.next_at(), at(1_007), "one in each millisecond leaves anyway");
    }

    #[test]
    fn credits_that_are_about_to_leave_together_take_no_more_than_the_room() {
        let mut trickle = Trickle { unspent: 1_000, at: at(1_000) };
        let left = (0..9).take_while(|others| trickle.may_leave(1538, 6152, *others, at(0))).count();
        assert_eq!(left, 3, "5,152 bytes are spent");
    }

    #[test]
    fn credits_beyond_what_the_other_host_keeps_do_not_count() {
        let mut trickle = Trickle::default();
        (0..100).for_each(|_| trickle.on_credit(1538, 3076));
        assert_eq!(trickle.unspent, 3076);
    }
}
