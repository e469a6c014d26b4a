//! The output port of a switch between the hosts of a pair: a queue that marks and drops, the limit on credits, and the
//! mechanism that a transport brings.

use super::network::PortConfig;
use crate::port::{CreditLimiter, CreditRoom, MarkAt, StepMarker};
use crate::{AnyMechanism, Change, CreditNeeds, Extra, Flags, Packet, PortState, Verdict};
use clearway_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// A packet on its way, with the number of its flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Travelling {
    pub flow: usize,
    pub packet: Packet,
    pub extra: Extra,
    /// The time by which it will be late on the wire.
    pub late: Span,
}

/// The queue that packets met on their arrival at a port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueSeen {
    /// The packets that arrived.
    pub packets: u64,
    /// The packets that found no room.
    pub dropped: u64,
    /// The longest queue that an arriving packet found, in bytes.
    pub max: u64,
    /// The sum, over arriving packets, of the queues that they found, in bytes.
    pub sum: u64,
}

impl QueueSeen {
    /// The mean queue that packets met, in bytes.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.packets as f64
    }
}

/// The queue for data of the port.
pub(super) struct Port {
    config: PortConfig,
    waiting: VecDeque<Travelling>,
    queued: u64,
    sent: u64,
    free_at: Time,
    pub mechanism: Option<AnyMechanism>,
    pub seen: QueueSeen,
}

impl Port {
    pub fn new(config: PortConfig) -> Port {
        Port {
            config,
            waiting: VecDeque::new(),
            queued: 0,
            sent: 0,
            free_at: Time::ZERO,
            mechanism: None,
            seen: QueueSeen::default(),
        }
    }

    pub fn rate(&self) -> Rate {
        self.config.rate
    }

    pub fn state(&self, now: Time) -> PortState {
        PortState { now, queued: self.queued, sent: self.sent }
    }

    /// A packet arrives: it joins the queue, or is dropped.
    pub fn arrive(&mut self, mut item: Travelling, now: Time) {
        let state = self.state(now);
        self.seen.packets += 1;
        self.seen.max = self.seen.max.max(self.queued);
        self.seen.sum += self.queued;
        if let Some(mechanism) =
            self.mechanism.as_mut().filter(|mechanism| mechanism.sees_arrivals().has(&item.packet))
        {
            let (verdict, _) = mechanism.on_arrival(&item.packet, Some(item.flow as u64), state);
            if !carry_out(verdict, &mut item.packet) {
                self.seen.dropped += 1;
                return;
            }
        }
        let mut has_room = self.queued + item.packet.wire as u64 <= self.config.buffer;
        if let Some(mechanism) = self.mechanism.as_mut().filter(|_| !has_room) {
            let verdict = mechanism.on_full(&item.packet, state);
            // Notices of what was cut have priority at real ports, and always find room here.
            has_room = verdict != Verdict::Keep && carry_out(verdict, &mut item.packet);
        }
        if !has_room {
            self.seen.dropped += 1;
            return;
        }
        let marker = StepMarker { threshold: self.config.mark_above, at: MarkAt::Enqueue };
        if marker.marks(self.queued) && item.packet.flags.has(Flags::ECN_CAPABLE) {
            item.packet.flags.set(Flags::ECN_CE);
        }
        self.queued += item.packet.wire as u64;
        self.waiting.push_back(item);
    }

    /// The packet that leaves now, and the time at which its last bit has left; `None` if the link is busy or nothing
    /// waits.
    pub fn depart(&mut self, now: Time) -> Option<(Travelling, Time)> {
        if now < self.free_at {
            return None;
        }
        let mut item = self.waiting.pop_front()?;
        self.queued -= item.packet.wire as u64;
        self.sent += item.packet.wire as u64;
        self.free_at = now + self.config.rate.time_to_send(Bytes::new(item.packet.wire as u64));
        let state = self.state(now);
        let sees = |mechanism: &&mut AnyMechanism| mechanism.sees_departures().has(&item.packet);
        if let Some(mechanism) = self.mechanism.as_mut().filter(sees) {
            let extra = item.packet.flags.has(Flags::EXTRA).then_some(&mut item.extra);
            mechanism.on_departure(&mut item.packet, extra, state);
        }
        Some((item, self.free_at))
    }
}

/// Changes a packet as a mechanism has voted. Returns whether it goes on: a port of a pair returns none, and drops it instead.
fn carry_out(verdict: Verdict, packet: &mut Packet) -> bool {
    match verdict {
        Verdict::Keep => true,
        Verdict::Drop(_) | Verdict::Return(_) => false,
        Verdict::Change(Change { marks, trim_to, class_of: _ }) => {
            if marks && packet.flags.has(Flags::ECN_CAPABLE) {
                packet.flags.set(Flags::ECN_CE);
            }
            trim_to.into_iter().for_each(|wire| packet.trim(wire));
            true
        }
    }
}

/// The queue for credits of the port that the receiver's NIC leads to, with its limit on their rate.
pub(super) struct Credits {
    limiter: CreditLimiter,
    room: CreditRoom,
    waiting: VecDeque<Travelling>,
    bytes: u64,
    pub dropped: u64,
    /// The time of the newest event that wakes the queue.
    pub wakes_at: Time,
}

impl Credits {
    pub fn new(rate: Rate, needs: CreditNeeds) -> Credits {
        Credits {
            limiter: CreditLimiter::new(rate, needs.shaping),
            room: needs.shaping.room(needs.queue),
            waiting: VecDeque::new(),
            bytes: 0,
            dropped: 0,
            wakes_at: Time::ZERO,
        }
    }

    /// A credit joins the queue, or is dropped.
    pub fn arrive(&mut self, credit: Travelling) {
        if self.room.admits(self.waiting.len() as u32, self.bytes, credit.packet.wire.into()) {
            self.bytes += credit.packet.wire as u64;
            self.waiting.push_back(credit);
        } else {
            self.dropped += 1;
        }
    }

    /// The credit that leaves now, or else the time at which the first one may.
    pub fn depart(&mut self, now: Time) -> Result<Travelling, Time> {
        let Some(first) = self.waiting.front() else { return Err(Time::MAX) };
        let wire = u32::from(first.packet.wire);
        if !self.limiter.take(wire, now) {
            return Err(self.limiter.ready_at(wire, now));
        }
        self.bytes -= wire as u64;
        Ok(self.waiting.pop_front().expect("just seen"))
    }
}
