//! The packets of a flow that the kernel holds until a credit comes.

use super::counters::{Counters, Plain};
use crate::datapath::{Actions, HeldId, Verdict};
use clearway_units::{Span, Time};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Held {
    id: HeldId,
    since: Time,
    /// The bytes of payload. An end of the connection without payload leaves with the packet before it.
    payload: u16,
    /// The bytes on the wire.
    wire: u32,
}

impl Held {
    fn needs_credit(&self) -> bool {
        self.payload > 0
    }
}

/// The packets of one flow that the kernel holds, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct HeldPackets {
    packets: VecDeque<Held>,
    /// The number of packets that need a credit.
    backlog: u64,
}

impl HeldPackets {
    /// Returns true if no packet is held.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns the number of packets that need a credit: those with payload.
    pub fn backlog(&self) -> u64 {
        self.backlog
    }

    /// Returns the time at which the first packet has been held for `hold_max`, or [`Time::MAX`] if none is held.
    pub fn until(&self, hold_max: Span) -> Time {
        self.packets.front().map_or(Time::MAX, |held| held.since.saturating_add(hold_max))
    }

    /// Returns the bytes on the wire of the first packet, if one is held.
    pub fn first_wire(&self) -> Option<u32> {
        self.packets.front().map(|held| held.wire)
    }

    /// Adds a packet with this many bytes of payload and on the wire, which the kernel holds from now on.
    pub fn push(&mut self, id: HeldId, payload: u16, wire: u32, now: Time, counters: &mut Counters) {
        self.packets.push_back(Held { id, since: now, payload, wire });
        counters.hold();
        self.backlog += u64::from(payload > 0);
    }

    /// Releases the first packet, and the end of the connection if that comes next. Returns the payload in bytes.
    pub fn release_first(
        &mut self,
        verdict: Verdict,
        now: Time,
        counters: &mut Counters,
        actions: &mut Actions,
    ) -> u16 {
        let (mut verdict, mut payload) = (Some(verdict), 0);
        while let Some(held) = self.packets.front().copied() {
            if held.needs_credit() && verdict.is_none() {
                break;
            }
            payload += held.payload;
            let verdict = if held.needs_credit() { verdict.take() } else { None };
            self.backlog -= u64::from(held.needs_credit());
            counters.release(now.saturating_since(held.since));
            actions.verdicts.push((held.id, verdict.unwrap_or(Verdict::Accept)));
            self.packets.pop_front();
        }
        payload
    }

    /// Releases all packets as they are, each of which counts as plain for this reason.
    pub fn release_all(&mut self, reason: Plain, now: Time, counters: &mut Counters, actions: &mut Actions) {
        while !self.is_empty() {
            let payload = self.release_first(Verdict::Accept, now, counters, actions);
            counters.plain_packet(reason, payload);
        }
    }
}
