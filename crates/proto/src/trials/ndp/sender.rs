//! The sending end.

use crate::endpoint::{Cx, Endpoint, Framing, Sender};
use crate::packet::{Extra, Flags, Header, Packet};
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The sending end of a flow.
#[derive(Debug, Serialize, Deserialize)]
pub struct NdpSender {
    framing: Framing,
    timeout: Span,
    /// The packets that may be sent now.
    budget: u64,
    /// The number of the last pull.
    pulled: u32,
    /// The bytes that the application has written.
    written: u64,
    /// True once the application writes no more.
    closed: bool,
    /// The offset of the next byte to send.
    snd_nxt: u64,
    /// The offset after the last byte that was ever sent.
    snd_max: u64,
    /// The offsets of packets that were cut or returned, and are sent again first.
    cut: VecDeque<u64>,
    /// The offset up to which all bytes are known to have arrived.
    acknowledged: u64,
    /// True if the receiver has yet to be told where the flow ends.
    owes_end: bool,
    /// The time at which the sender starts again.
    deadline: Time,
    finished: bool,
}

impl NdpSender {
    pub(super) fn new(framing: Framing, window: u64, timeout: Span) -> NdpSender {
        NdpSender {
            framing,
            timeout,
            budget: window,
            pulled: 0,
            written: 0,
            closed: false,
            snd_nxt: 0,
            snd_max: 0,
            cut: VecDeque::new(),
            acknowledged: 0,
            owes_end: false,
            deadline: Time::MAX,
            finished: false,
        }
    }

    /// Sets the timer, if the sender waits for something.
    fn arm(&mut self, now: Time) {
        let waits = !self.finished && (self.closed || self.acknowledged < self.written);
        self.deadline = if waits { now.saturating_add(self.timeout) } else { Time::MAX };
    }
}

impl Endpoint for NdpSender {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        match packet.header {
            Header::Ack { window: number, .. } => {
                // Pulls that were lost count with the next one; one that comes late counts for nothing.
                let more = number.wrapping_sub(self.pulled);
                if more < u32::MAX / 2 {
                    (self.budget, self.pulled) = (self.budget + u64::from(more), number);
                }
            }
            Header::RdmaAck { ack, .. } => {
                self.acknowledged = self.acknowledged.max(ack);
                self.snd_nxt = self.snd_nxt.max(self.acknowledged);
                self.finished |= packet.flags.has(Flags::LAST);
            }
            Header::RdmaNack { offset, .. } => self.cut.push_back(offset),
            Header::Data { offset, .. } if packet.flags.has(Flags::RETURNED) => {
                // No receiver has heard of the packet, so none pulls for it.
                self.cut.push_back(offset);
                self.budget += 1;
            }
            _ => return,
        }
        self.arm(cx.now);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if cx.now < self.deadline {
            return;
        }
        cx.stats.rare_mut().timeouts += 1;
        self.cut.clear();
        self.snd_nxt = self.acknowledged;
        self.owes_end = self.closed;
        self.budget = self.budget.max(1);
        self.arm(cx.now);
    }

    fn poll_control(&mut self, _: &mut Extra, _: &mut Cx<'_>) -> Option<Packet> {
        None
    }

    fn next_timeout(&self) -> Time {
        self.deadline
    }

    fn is_finished(&self) -> bool {
        self.finished
    }
}

impl Sender for NdpSender {
    fn wants_transmit(&self, _: Time) -> bool {
        let has_data = !self.cut.is_empty() || self.snd_nxt < self.written || self.owes_end;
        has_data && self.budget > 0 && !self.finished
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if !self.wants_transmit(cx.now) {
            return None;
        }
        let offset = self.cut.pop_front().unwrap_or(self.snd_nxt);
        let payload = (self.written - offset).min(self.framing.payload_max.into());
        let end = offset + payload;
        let is_again = offset < self.snd_max;
        let is_last = self.closed && end == self.written;
        (self.snd_nxt, self.snd_max) = (self.snd_nxt.max(end), self.snd_max.max(end));
        (self.budget, self.owes_end) = (self.budget - 1, self.owes_end && !is_last);
        cx.stats.data_packets += 1;
        if is_again {
            cx.stats.rare_mut().retransmits += 1;
        }
        self.arm(cx.now);
        let flags = Flags::NONE.with_if(is_last, Flags::LAST).with_if(is_again, Flags::RETRANSMIT);
        let wire = self.framing.wire(payload as u32);
        Some(Packet::data(Header::data(offset), payload as u32, wire, cx.now).with_flags(flags))
    }

    fn write(&mut self, bytes: u64, _: &mut Cx<'_>) {
        self.written += bytes;
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        (self.closed, self.owes_end) = (true, true);
        self.arm(cx.now);
    }

    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64 {
        self.written = self.snd_max;
        self.close(cx);
        self.written
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
}
