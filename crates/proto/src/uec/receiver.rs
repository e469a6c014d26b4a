//! The receiving end: it keeps account of numbered packets in any order, and acknowledges them some at a time.

use super::arrived::Arrived;
use super::config::ReceiverConfig;
use super::marks::{ASKS, OF_PROBE, OF_REPEAT};
use crate::endpoint::{self, Cx, Endpoint};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::ranges::Ranges;
use crate::shared::Shared;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// The receiving end of a flow. It has no timer: what it has not acknowledged, the sender asks for.
#[derive(Serialize, Deserialize)]
pub struct Receiver {
    config: Shared<ReceiverConfig>,
    /// The numbers of the packets that have arrived.
    arrived: Arrived,
    /// The offset of the next byte in order.
    delivered: u64,
    /// True as long as all packets that have arrived were full ones and no requests, so that the number of a packet tells which
    /// bytes it has, and the numbers that have arrived tell the bytes.
    is_regular: bool,
    /// The bytes that have arrived behind `delivered`, from the first packet on that is not regular.
    early: Ranges,
    /// The length of the flow, once known.
    length: Option<u64>,
    /// The bytes on the wire that have arrived, each packet once.
    received: u64,
    /// The bytes on the wire that have arrived since the last acknowledgement.
    unacknowledged: u64,
    /// True if a packet asked for an acknowledgement while another before it was missing.
    was_asked: bool,
    /// True once a packet has been acknowledged.
    has_begun: bool,
    answer: Option<Packet>,
}

impl Receiver {
    /// Returns the receiving end of a new flow.
    pub(super) fn new(config: ReceiverConfig) -> Receiver {
        Receiver {
            config: Shared::new(config),
            arrived: Arrived::default(),
            delivered: 0,
            is_regular: true,
            early: Ranges::default(),
            length: None,
            received: 0,
            unacknowledged: 0,
            was_asked: false,
            has_begun: false,
            answer: None,
        }
    }

    /// Handles a whole packet of data. Returns true if it is to be acknowledged now.
    fn take(&mut self, psn: u32, packet: &Packet, cx: &mut Cx<'_>) -> bool {
        let size = u64::from(packet.wire);
        self.unacknowledged += size;
        let had_gap = self.arrived.held() > 0;
        if !self.arrived.insert(psn) {
            cx.stats.add_duplicates(packet.payload().into());
            return true;
        }
        self.received += size;
        if !self.put_regular(psn, packet) {
            self.put(packet, cx);
        }
        if packet.flags.has(Flags::LAST) {
            self.length = Some(packet.range().end);
        }
        let asks = packet.flags.has(ASKS) || packet.flags.has(Flags::RETRANSMIT);
        let has_gap = self.arrived.held() > 0;
        let is_closed = had_gap && !has_gap && std::mem::take(&mut self.was_asked);
        self.was_asked |= asks && has_gap;
        let is_marked = packet.flags.has(Flags::ECN_CE);
        let is_first = !self.has_begun;
        asks || is_marked || is_first || is_closed || self.unacknowledged >= self.config.sack_threshold
    }

    /// Puts the bytes of a packet in order.
    fn put(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        let range = packet.range();
        let (start, end) = (range.start.max(self.delivered), range.end);
        if start == self.delivered && self.early.is_empty() {
            let new = end.saturating_sub(start);
            self.delivered += new;
            cx.stats.add_duplicates(u64::from(packet.payload()) - new.min(packet.payload().into()));
        } else {
            let new = if start < end { self.early.insert(start, end) } else { 0 };
            cx.stats.add_duplicates(u64::from(packet.payload()) - new);
            if let Some(through) = self.early.take_through(self.delivered) {
                self.delivered = self.delivered.max(through);
            }
        }
    }

    /// Puts the bytes of a packet in order, whose number has just been taken, as long as numbers tell the bytes. Returns false if
    /// they no longer do.
    #[inline]
    fn put_regular(&mut self, psn: u32, packet: &Packet) -> bool {
        let full = self.config.framing.payload_max;
        let is_full = packet.payload() == full && packet.range().start == u64::from(psn) * u64::from(full);
        if self.is_regular && is_full {
            self.delivered = u64::from(self.arrived.next()) * u64::from(full);
            return true;
        }
        if self.is_regular {
            self.end_regular(psn);
        }
        false
    }

    /// A packet with this number has come that is not regular: the bytes of those that came before it are told one by one.
    #[cold]
    #[inline(never)]
    fn end_regular(&mut self, psn: u32) {
        self.is_regular = false;
        let full = u64::from(self.config.framing.payload_max);
        if full == 0 {
            return;
        }
        let first = (self.delivered / full) as u32;
        for number in
            (first..self.arrived.next()).chain(self.arrived.behind()).filter(|&number| number != psn)
        {
            let start = u64::from(number) * full;
            self.early.insert(start, start + full);
        }
    }

    /// Sets the answer to a packet: an acknowledgement with these marks.
    fn acknowledge(&mut self, psn: u32, packet: &Packet, flags: Flags, now: Time) {
        (self.unacknowledged, self.has_begun) = (0, true);
        let marked = packet.flags.has(Flags::ECN_CE);
        let is_repeat = packet.flags.has(Flags::RETRANSMIT);
        let is_here = marked || is_repeat || packet.flags.has(ASKS);
        let from = self.arrived.window(psn, is_here);
        let header = Header::PulledAck {
            next: self.arrived.next(),
            psn,
            pull: 0,
            received: self.count(),
            from,
            map: self.arrived.map(from),
            held: self.arrived.held().min(u16::MAX.into()) as u16,
            penalty: self.config.no_penalty,
        };
        let flags = flags
            .with_if(marked, Flags::ECN_ECHO)
            .with_if(is_repeat, OF_REPEAT)
            .with_if(self.has_all(), Flags::LAST);
        self.reply(header, packet, flags, now);
    }

    /// Sets the answer to a packet, which travels with its entropy.
    fn reply(&mut self, header: Header, packet: &Packet, flags: Flags, now: Time) {
        let answer = Packet::control(header, self.config.framing.wire(0), now);
        self.answer = Some(answer.with_flags(flags).with_tag(packet.tag()));
    }

    /// Returns the count of received bytes, which is rounded up to its unit.
    fn count(&self) -> u32 {
        self.received.next_multiple_of(self.config.received_unit) as u32
    }

    /// Handles the header of a packet that was cut.
    fn miss(&mut self, psn: u32, packet: &Packet, now: Time) {
        if self.arrived.has(psn) {
            return self.acknowledge(psn, packet, Flags::NONE, now);
        }
        let header = Header::PulledNack { next: self.arrived.next(), psn, pull: 0, received: self.count() };
        let flags = Flags::NONE
            .with_if(packet.flags.has(Flags::LAST_HOP), Flags::LAST_HOP)
            .with_if(packet.flags.has(Flags::ECN_CE), Flags::ECN_ECHO);
        self.reply(header, packet, flags, now);
    }

    fn has_all(&self) -> bool {
        self.length.is_some_and(|length| self.delivered >= length)
    }
}

impl Endpoint for Receiver {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        match packet.header {
            Header::PulledData { psn, .. } if !self.arrived.admits(psn) => {}
            Header::PulledData { psn, .. } if packet.flags.has(Flags::TRIMMED) => {
                self.miss(psn, packet, cx.now)
            }
            Header::PulledData { psn, .. } => {
                let is_due = self.take(psn, packet, cx);
                if is_due {
                    self.acknowledge(psn, packet, Flags::NONE, cx.now);
                }
            }
            Header::PullRequest { psn, .. } if self.arrived.admits(psn) => {
                if self.arrived.insert(psn) && self.is_regular {
                    self.end_regular(psn);
                }
                self.acknowledge(psn, packet, Flags::NONE, cx.now);
            }
            Header::Probe { psn, .. } => {
                let unacknowledged = self.unacknowledged;
                self.acknowledge(psn, packet, OF_PROBE, cx.now);
                self.unacknowledged = unacknowledged;
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, _: &mut Cx<'_>) {}

    fn poll_control(&mut self, _: &mut Extra, _: &mut Cx<'_>) -> Option<Packet> {
        // Not by `take`, which copies 48 bytes also where there is no answer.
        let answer = self.answer?;
        self.answer = None;
        Some(answer)
    }

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn is_finished(&self) -> bool {
        self.has_all()
    }
}

impl endpoint::Receiver for Receiver {
    fn delivered(&self) -> u64 {
        self.delivered
    }
}

#[cfg(test)]
mod tests;
