//! What credits leave over: a credit pays for a full frame, and a small packet needs a part of it.
//!
//! In the paper the rest is lost (E17), so that small requests get no more than a packet for each credit: 7,700 a second at
//! 100 Mbit/s, where plain TCP sends ten times as many. Here a sending host keeps the rest for packets to the same host, of any flow:
//! these bytes have been admitted to the same links. Packets that are larger than half a frame spend credits of their own, so that the
//! receivers of bulk flows see each of their credits come back.

use crate::wire::FlowKey;
use clearway_units::{Span, Time};
use std::collections::VecDeque;

/// The bytes of a frame on the wire besides its IP packet: Ethernet header, preamble, check sequence and gap.
const BESIDE_IP: u32 = 38;
/// The smallest frame on the wire, in bytes.
const WIRE_MIN: u32 = 84;

/// The flows to one host that ask for credits at once because a small packet waits; each credit pays for several such packets.
const ASKING: usize = 8;
/// The time after which a small packet behind these flows asks for a credit of its own.
pub(super) const PATIENCE: Span = Span::from_ms(1);

/// The time after a small packet for which its flow goes on to get credits, even if these find no packet: requests and stops take
/// more of the network, and of hosts, than the few credits of such a flow.
pub(super) const SMALL_IDLE: Span = Span::from_ms(10);
/// The time after a credit for which the receiver is taken to go on with credits to a flow whose small packets leave in the kernel. The
/// flows of one host share these: fifty of them get one each in about ten milliseconds at 100 Mbit/s.
pub(super) const SHARED_IDLE: Span = Span::from_ms(50);

/// Returns the bytes on the wire of an IP packet of this length.
pub(super) fn wire(ip_len: u16) -> u32 {
    (u32::from(ip_len) + BESIDE_IP).max(WIRE_MIN)
}

/// The bytes that credits from one other host have left over, and the flows to it that wait for some.
#[derive(Clone, Debug, Default)]
pub(super) struct Leftover {
    /// What is left over. Packets that leave in the kernel are heard of afterwards, so it may be less than nothing for a moment.
    bytes: i64,
    /// The part of it that the kernel may spend, as it was told and less what is known to have left.
    allowed: i64,
    /// True if the kernel was told to add credits of flows of small packets to it.
    takes: bool,
    /// The time until which credits without a packet are no reason to stop them, because small packets left in the kernel not long ago.
    pub stays_until: Time,
    /// The flows whose first packet that is held is small. Each stands here once.
    line: VecDeque<FlowKey>,
}

impl Leftover {
    /// Returns the bytes that are left over.
    pub fn bytes(&self) -> i64 {
        self.bytes
    }

    /// Adds what a credit left over, up to `most` bytes in all.
    pub fn add(&mut self, bytes: u32, most: u32) {
        self.bytes = self.bytes.saturating_add(bytes.into()).min(most.into());
    }

    /// Pays for a packet of `wire` bytes. Returns false if too little is left.
    pub fn take(&mut self, wire: u32) -> bool {
        let is_enough = self.bytes >= i64::from(wire);
        if is_enough {
            self.bytes -= i64::from(wire);
        }
        is_enough
    }

    /// Records that the kernel spent so many bytes, and got so many for credits, up to `most` in all.
    pub fn on_passed(&mut self, wire: u64, added: u64, most: u32, now: Time) {
        let changed = |bytes: i64| bytes.saturating_sub_unsigned(wire).saturating_add_unsigned(added);
        (self.bytes, self.allowed) = (changed(self.bytes).min(most.into()), changed(self.allowed));
        if wire > 0 {
            self.stays_until = now.saturating_add(SMALL_IDLE);
        }
    }

    /// Returns whether the kernel shall take credits of flows of small packets from now on, if it was told otherwise: not while packets
    /// wait for them here.
    pub fn new_takes(&mut self) -> Option<bool> {
        let wanted = self.line.is_empty();
        (wanted != self.takes).then(|| {
            self.takes = wanted;
            wanted
        })
    }

    /// Returns the bytes that the kernel may spend from now on, if these are others than it was told: all that is left over, or none
    /// while packets wait for it here.
    pub fn new_allowance(&mut self) -> Option<i64> {
        let wanted = if self.line.is_empty() { self.bytes } else { 0 };
        (wanted != self.allowed).then(|| {
            self.allowed = wanted;
            wanted
        })
    }

    /// Lets a flow wait behind the others.
    pub fn wait(&mut self, flow: FlowKey) {
        self.line.push_back(flow);
    }

    /// Returns the flow whose turn it is.
    pub fn first(&self) -> Option<FlowKey> {
        self.line.front().copied()
    }

    /// Returns the number of flows that wait.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// Returns true if so many flows wait that those who asked for credits bring enough for the others as well.
    pub fn is_crowded(&self) -> bool {
        self.len() > ASKING
    }

    /// Takes a flow out of the line whose small packet left by another way.
    pub fn leave(&mut self, flow: &FlowKey) {
        self.line.retain(|other| other != flow);
    }

    /// Takes the flow out of the line whose turn it was.
    pub fn pop(&mut self) {
        self.line.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ip_packet_takes_38_bytes_more_on_the_wire_and_84_at_least() {
        assert_eq!([wire(1500), wire(40), wire(46), wire(47)], [1538, 84, 84, 85]);
    }

    #[test]
    fn what_is_left_over_is_bounded_and_paid_out_once() {
        let mut leftover = Leftover::default();
        assert!(!leftover.take(84));
        leftover.add(1_400, 1_538);
        leftover.add(1_400, 1_538);
        assert_eq!(leftover.bytes(), 1_538);
        assert!(leftover.take(700) && leftover.take(800) && !leftover.take(84));
        assert_eq!(leftover.bytes(), 38);
    }

    #[test]
    fn what_the_kernel_spent_and_added_is_known_up_to_the_bound_and_the_kernel_is_told_of_what_is_beyond() {
        let mut leftover = Leftover::default();
        leftover.add(1_538, 6_152);
        assert_eq!((leftover.new_allowance(), leftover.new_allowance()), (Some(1_538), None));
        leftover.on_passed(538, 1_538, 6_152, Time::ZERO);
        assert_eq!((leftover.bytes(), leftover.new_allowance()), (2_538, None), "the kernel has as much");
        leftover.on_passed(0, 9_000, 6_152, Time::ZERO);
        assert_eq!((leftover.bytes(), leftover.new_allowance()), (6_152, Some(6_152)));
    }

    #[test]
    fn credits_alone_are_no_sign_of_small_packets() {
        let (mut leftover, now) = (Leftover::default(), Time::ZERO + Span::from_ms(1));
        leftover.on_passed(0, 1_538, 6_152, now);
        assert_eq!(leftover.stays_until, Time::ZERO);
        leftover.on_passed(84, 0, 6_152, now);
        assert_eq!(leftover.stays_until, now + SMALL_IDLE);
    }
}
