//! A sender's attempts to send, one at a time, as the simulator of EQDS's authors makes them: an answer lets one packet leave, and not
//! all that credit pays for, unless the NIC is busy. Then the flow waits in the NIC's line, and sends from there as long as it has
//! credit. An attempt for which there is no pulled credit makes speculative credit give way by a packet.

use clearway_units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

/// The attempts of a flow.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Attempts {
    /// The rate of the NIC.
    rate: Rate,
    /// The packets that the last answer may still let leave at once.
    left: u8,
    /// True while the flow waits in the NIC's line.
    in_line: bool,
    /// The time of the last answer.
    heard: Time,
    /// The time until which the NIC is busy with a packet of the flow.
    busy_until: Time,
}

impl Attempts {
    /// Returns the attempts of a new flow behind a NIC of this rate.
    pub fn new(rate: Rate) -> Attempts {
        Attempts { rate, left: 0, in_line: false, heard: Time::ZERO, busy_until: Time::ZERO }
    }

    /// The flow begins: it joins the NIC's line.
    pub fn begin(&mut self) {
        self.in_line = true;
    }

    /// An answer makes the flow try `count` times. Returns how many of these fail for want of pulled credit, if all of them do.
    pub fn hear(&mut self, count: u8, fails: bool, now: Time) -> u8 {
        // All tries of a flow in the line are one.
        let is_idle = !self.in_line && now >= self.busy_until;
        let tries = if is_idle { count } else { 1 };
        self.heard = now;
        self.left = if fails { 0 } else { tries };
        self.in_line = !fails && !is_idle;
        if fails { tries } else { 0 }
    }

    /// Returns true if a packet may leave, as far as the attempts go.
    pub fn may_send(&self) -> bool {
        self.in_line || self.left > 0
    }

    /// A packet of so many bytes leaves. `has_more` is true if the flow has more to send, and any credit. Returns true if it waits in
    /// the NIC's line for that.
    pub fn send(&mut self, wire: u32, has_more: bool, now: Time) -> bool {
        let was_called = self.in_line || now > self.heard;
        self.busy_until = now.saturating_add(self.rate.time_to_send(Bytes::new(wire.into())));
        // Of two tries at once the second finds the NIC busy with the packet of the first.
        self.in_line = has_more && (was_called || self.left > 1);
        self.left = 0;
        self.in_line
    }

    /// The flow leaves the NIC's line.
    pub fn leave(&mut self) {
        self.in_line = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Span;

    fn ns(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    #[test]
    fn an_answer_lets_one_packet_leave_while_the_nic_is_idle_and_all_while_it_is_busy() {
        let mut attempts = Attempts::new(Rate::gbps(100));
        assert_eq!(attempts.hear(1, false, ns(1000)), 0);
        assert!(attempts.may_send());
        assert!(!attempts.send(4150, true, ns(1000)), "there is credit for more, but nobody asks");
        assert!(!attempts.may_send());
        // The packet takes 332 ns.
        assert_eq!(attempts.hear(1, false, ns(1100)), 0);
        assert!(attempts.send(4150, true, ns(1332)) && attempts.send(4150, true, ns(1664)));
        assert!(!attempts.send(4150, false, ns(1996)));
        assert!(!attempts.may_send());
    }

    #[test]
    fn a_packet_that_was_cut_makes_two_tries_of_which_the_second_waits_for_the_packet_of_the_first() {
        let mut attempts = Attempts::new(Rate::gbps(100));
        assert_eq!(attempts.hear(2, true, ns(1000)), 2, "both fail");
        assert!(!attempts.may_send());
        attempts.hear(2, false, ns(1000));
        assert!(attempts.send(4150, true, ns(1000)));
        assert_eq!(attempts.hear(2, true, ns(1100)), 1, "the flow waits in the line");
        assert!(!attempts.may_send());
    }
}
