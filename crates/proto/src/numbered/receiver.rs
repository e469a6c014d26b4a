//! The receiving end of numbered packets.

use super::{Arrivals, Arrived};
use crate::endpoint::{Cx, Endpoint, Framing, Receiver};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::tag::Tag;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// An answer to a packet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Answer {
    psn: u32,
    /// The entropy of the packet, with which the answer travels.
    entropy: Option<u16>,
    kind: AnswerKind,
    marked: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum AnswerKind {
    /// The packet has arrived, or asked for an answer.
    Ack,
    /// The packet has arrived, and the map of the answer ends with it.
    AckBefore,
    /// The packet arrived cut to its header.
    Nack,
}

/// The receiving end of a flow. It acknowledges packets, and asks again for each that was cut. It leaves the number of the last
/// pull in its answers to the agent of its host.
#[derive(Debug, Serialize, Deserialize)]
pub struct NumberedReceiver {
    framing: Framing,
    arrivals: Arrivals,
    /// The number after that of the last packet of the flow, once that has arrived.
    end: Option<u32>,
    /// The bytes on the wire after which an acknowledgement is due.
    ack_after: u32,
    /// The bytes on the wire since the last acknowledgement.
    unanswered: u32,
    /// The bytes on the wire of all packets, each once.
    received: u32,
    /// True if the sender asked for an acknowledgement, and is owed another when the last gap closes.
    asked: bool,
    answer: Option<Answer>,
}

impl NumberedReceiver {
    /// Makes the receiving end of a flow which acknowledges after so many bytes on the wire: each packet at once for 0.
    pub fn new(framing: Framing, ack_after: u32) -> NumberedReceiver {
        NumberedReceiver {
            framing,
            arrivals: Arrivals::default(),
            end: None,
            ack_after,
            unanswered: 0,
            received: 0,
            asked: false,
            answer: None,
        }
    }

    /// Handles a packet of data that arrived whole. Returns the kind of answer, if one is due.
    fn accept(&mut self, psn: u32, packet: &Packet, cx: &mut Cx<'_>) -> Option<AnswerKind> {
        let wire = u32::from(packet.wire);
        let is_first = self.received == 0 && self.arrivals.next() == 0;
        self.unanswered += wire;
        match self.arrivals.accept(psn, packet.range().start, packet.payload()) {
            Arrived::Beyond => return None,
            Arrived::Again => {
                cx.stats.add_duplicates(packet.payload().into());
                return Some(AnswerKind::AckBefore);
            }
            Arrived::New => self.received = self.received.wrapping_add(wire),
        }
        if packet.flags.has(Flags::LAST) {
            self.end = Some(psn.wrapping_add(1));
        }
        let asks = packet.flags.has(Flags::EMPTY) || packet.flags.has(Flags::RETRANSMIT);
        self.asked |= asks;
        let closes = self.asked && self.arrivals.held() == 0;
        if closes {
            self.asked = false;
        }
        if asks || packet.flags.has(Flags::ECN_CE) {
            return Some(AnswerKind::Ack);
        }
        let is_due = is_first || closes || self.unanswered >= self.ack_after || self.is_finished();
        is_due.then_some(AnswerKind::AckBefore)
    }

    /// Returns the header of an answer.
    fn header(&self, answer: Answer) -> Header {
        let Answer { psn, kind, .. } = answer;
        let (next, received) = (self.arrivals.next(), self.received);
        if kind == AnswerKind::Nack {
            return Header::PulledNack { next, psn, pull: 0, received };
        }
        let from = match kind {
            AnswerKind::AckBefore if psn.wrapping_sub(next) <= u32::MAX / 2 => {
                next.wrapping_add(1).wrapping_add(psn.wrapping_sub(next).saturating_sub(64))
            }
            AnswerKind::AckBefore => next.wrapping_add(1),
            _ => psn,
        };
        let map = if self.ack_after == 0 { 0 } else { self.arrivals.map(from) };
        let held = self.arrivals.held().min(u16::MAX.into()) as u16;
        Header::PulledAck { next, psn, pull: 0, received, from, map, held, penalty: 0 }
    }
}

impl Endpoint for NumberedReceiver {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        let (psn, kind) = match packet.header {
            Header::PulledData { psn, .. } if packet.flags.has(Flags::TRIMMED) => {
                (psn, Some(if self.arrivals.has(psn) { AnswerKind::Ack } else { AnswerKind::Nack }))
            }
            Header::PulledData { psn, .. } => (psn, self.accept(psn, packet, cx)),
            Header::PullRequest { psn, .. } | Header::Probe { psn, .. } => (psn, Some(AnswerKind::Ack)),
            _ => return,
        };
        let Some(kind) = kind else { return };
        if kind != AnswerKind::Nack {
            self.unanswered = 0;
        }
        let marked = packet.flags.has(Flags::ECN_CE);
        self.answer = Some(Answer { psn, entropy: packet.tag().entropy, kind, marked });
    }

    fn handle_timeout(&mut self, _: &mut Cx<'_>) {}

    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        let answer = self.answer.take()?;
        let packet = Packet::control(self.header(answer), self.framing.wire(0), cx.now);
        let flags =
            Flags::NONE.with_if(answer.marked, Flags::ECN_ECHO).with_if(self.is_finished(), Flags::LAST);
        Some(packet.with_flags(flags).with_tag(Tag { lane: 0, entropy: answer.entropy }))
    }

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn is_finished(&self) -> bool {
        self.end == Some(self.arrivals.next())
    }
}

impl Receiver for NumberedReceiver {
    fn delivered(&self) -> u64 {
        self.arrivals.delivered()
    }
}
