//! The sending end.

use super::lanes::{LANES, SCHEDULED};
use crate::endpoint::{Cx, Endpoint, Framing, Sender};
use crate::packet::{CreditRequest, Extra, Flags, Header, Packet};
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The sending end of a message.
#[derive(Debug, Serialize, Deserialize)]
pub struct HomaSender {
    framing: Framing,
    timeout: Span,
    /// The bytes from the start on that need no grant.
    unscheduled: u64,
    /// The bytes that the application has written.
    written: u64,
    /// True once the application writes no more.
    closed: bool,
    /// The offset of the next byte to send.
    snd_nxt: u64,
    /// The offset after the last byte that was ever sent.
    snd_max: u64,
    /// The offset up to which the receiving host has granted.
    granted: u64,
    /// The lane of granted data.
    lane: u32,
    /// The offset up to which all bytes are known to have arrived.
    acknowledged: u64,
    /// The announcement of the length that is due: `Some(true)` for one that is repeated.
    announces: Option<bool>,
    /// The time at which the length is announced again.
    deadline: Time,
    finished: bool,
}

impl HomaSender {
    pub(super) fn new(framing: Framing, unscheduled_packets: u64, timeout: Span) -> HomaSender {
        HomaSender {
            framing,
            timeout,
            unscheduled: unscheduled_packets.saturating_mul(u64::from(framing.payload_max)),
            written: 0,
            closed: false,
            snd_nxt: 0,
            snd_max: 0,
            granted: 0,
            lane: LANES - 1,
            acknowledged: 0,
            announces: None,
            deadline: Time::MAX,
            finished: false,
        }
    }

    /// Returns the offset up to which bytes may be sent.
    fn limit(&self) -> u64 {
        self.written.min(self.granted.max(self.unscheduled))
    }

    /// Announces the length to the receiver.
    fn announce(&mut self, now: Time) {
        self.announces = Some(false);
        self.arm(now);
    }

    /// Sets the timer, if the sender waits for something.
    fn arm(&mut self, now: Time) {
        let waits = !self.finished && (self.closed || self.acknowledged < self.written);
        self.deadline = if waits { now.saturating_add(self.timeout) } else { Time::MAX };
    }

    /// Returns the lane of data from the next byte on: short messages have the first one to themselves.
    fn next_lane(&self) -> u32 {
        match self.snd_nxt < self.unscheduled {
            true => u32::from(self.written > self.unscheduled),
            false => self.lane,
        }
    }
}

impl Endpoint for HomaSender {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        match packet.header {
            Header::Credit { number, session, .. } if number > self.granted => {
                (self.granted, self.lane) = (number, session.clamp(SCHEDULED, LANES - 1));
                cx.stats.credits_used += 1;
            }
            Header::Credit { .. } => cx.stats.rare_mut().credits_wasted += 1,
            Header::CreditNack(answer) if (self.acknowledged..self.snd_nxt).contains(&answer.ack) => {
                (self.acknowledged, self.snd_nxt) = (answer.ack, answer.ack);
            }
            Header::CreditAck(answer) if answer.ack <= self.snd_max => {
                self.acknowledged = self.acknowledged.max(answer.ack);
                self.snd_nxt = self.snd_nxt.max(answer.ack);
                let is_all = self.closed && answer.ack == self.written;
                self.finished |= is_all && packet.flags.has(Flags::LAST);
            }
            _ => return,
        }
        self.arm(cx.now);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if cx.now < self.deadline {
            return;
        }
        let rare = cx.stats.rare_mut();
        let counter = match self.acknowledged < self.snd_max {
            true => &mut rare.timeouts,
            false => &mut rare.repeated_signals,
        };
        *counter += 1;
        self.announces = Some(true);
        self.arm(cx.now);
    }

    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        let session = u32::from(self.announces.take()?);
        let wanted = self.unscheduled / u64::from(self.framing.payload_max);
        let request = CreditRequest { session, wanted, written: self.written };
        let packet = Packet::control(Header::CreditRequest(request), self.framing.wire(0), cx.now);
        Some(packet.with_flags(Flags::NONE.with_if(self.closed, Flags::LAST)))
    }

    fn next_timeout(&self) -> Time {
        self.deadline
    }

    fn is_finished(&self) -> bool {
        self.finished
    }
}

impl Sender for HomaSender {
    fn wants_transmit(&self, _: Time) -> bool {
        self.snd_nxt < self.limit()
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let left = self.limit().saturating_sub(self.snd_nxt);
        let payload = left.min(u64::from(self.framing.payload_max)) as u32;
        if payload == 0 {
            return None;
        }
        let session = self.next_lane();
        let header = Header::CreditData { offset: self.snd_nxt, session, credit: 0, echo: Time::ZERO };
        let is_again = self.snd_nxt < self.snd_max;
        self.snd_nxt += u64::from(payload);
        self.snd_max = self.snd_max.max(self.snd_nxt);
        cx.stats.data_packets += 1;
        if is_again {
            cx.stats.rare_mut().retransmits += 1;
        }
        let packet = Packet::data(header, payload, self.framing.wire(payload), cx.now);
        Some(packet.with_flags(Flags::NONE.with_if(is_again, Flags::RETRANSMIT)))
    }

    fn remaining(&self) -> u64 {
        self.written - self.snd_nxt
    }

    fn write(&mut self, bytes: u64, cx: &mut Cx<'_>) {
        self.written = self.written.saturating_add(bytes);
        self.announce(cx.now);
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        self.closed = true;
        self.announce(cx.now);
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
