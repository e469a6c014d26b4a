//! The receiving end of RDMA: it acknowledges each data packet, asks for missing bytes, and reports marks.

use super::config::{Cnp, Config, Recovery};
use crate::endpoint::{self, Cx, Endpoint, Env, Framing};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::ranges::Ranges;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The kind of answer to a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Ack,
    Nack,
}

/// The receiving end of an RDMA flow.
#[derive(Serialize, Deserialize)]
pub struct Receiver {
    recovery: Recovery,
    /// Go-back-N: the least time between two negative acknowledgements for the same gap.
    nack_interval: Span,
    /// The way in which the receiver reports marks.
    cnp: Cnp,
    /// The size of an acknowledgement on the wire, in bytes.
    ack_wire: u32,
    framing: Framing,
    /// The next byte expected.
    rcv_nxt: u64,
    /// The length of the flow, once known.
    end: Option<u64>,
    /// Selective repeat: bytes beyond `rcv_nxt` that arrived.
    early: Ranges,
    /// Go-back-N: the gap for which the last negative acknowledgement was sent, named by its first byte.
    nacked: Option<u64>,
    /// Go-back-N: the time from which on that gap may be reported again.
    nack_at: Time,
    /// The time from which on the next CNP may leave.
    cnp_at: Time,
    /// True if a CNP is to leave now.
    cnp_due: bool,
    /// The answer that is to leave now.
    answer: Option<Packet>,
}

impl Receiver {
    /// Returns the receiving end of a new flow.
    pub fn new(config: &Config, env: &Env) -> Receiver {
        let framing = env.framing;
        Receiver {
            recovery: config.recovery,
            nack_interval: config.nack_interval,
            cnp: config.cnp,
            ack_wire: framing.wire_min.max(framing.overhead + config.stamp_echo),
            framing,
            rcv_nxt: 0,
            end: None,
            early: Ranges::default(),
            nacked: None,
            nack_at: Time::ZERO,
            cnp_at: Time::ZERO,
            cnp_due: false,
            answer: None,
        }
    }

    /// Takes the bytes of a packet, if it may. Returns the kind of answer to send, if any.
    fn take(&mut self, start: u64, packet: &Packet, cx: &mut Cx<'_>) -> Option<Answer> {
        let end = start + packet.payload() as u64;
        let keeps = self.recovery == Recovery::SelectiveRepeat;
        if start > self.rcv_nxt {
            if !keeps {
                let again = self.nacked == Some(self.rcv_nxt) && cx.now < self.nack_at;
                if again {
                    return None;
                }
                self.nacked = Some(self.rcv_nxt);
                self.nack_at = cx.now + self.nack_interval;
                return Some(Answer::Nack);
            }
            self.learn_end(packet, end);
            let new = if start < end { self.early.insert(start, end) } else { 0 };
            cx.stats.add_duplicates(end - start - new);
            return Some(Answer::Nack);
        }
        self.learn_end(packet, end);
        let fresh = end.saturating_sub(self.rcv_nxt).min(end - start);
        cx.stats.add_duplicates(end - start - fresh);
        self.rcv_nxt = self.rcv_nxt.max(end);
        if keeps {
            // Bytes of this packet may have arrived before, out of order.
            cx.stats.add_duplicates(self.early.covered(end - fresh, end));
            if let Some(through) = self.early.take_through(self.rcv_nxt) {
                self.rcv_nxt = self.rcv_nxt.max(through);
            }
        }
        Some(Answer::Ack)
    }

    fn learn_end(&mut self, packet: &Packet, end: u64) {
        if packet.flags.has(Flags::LAST) {
            self.end = Some(end);
        }
    }

    fn has_all(&self) -> bool {
        self.end == Some(self.rcv_nxt)
    }
}

impl Endpoint for Receiver {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        let Header::Data { offset, .. } = packet.header else { return };
        let marked = packet.flags.has(Flags::ECN_CE);
        if let Cnp::Packets(interval) = self.cnp
            && marked
            && cx.now >= self.cnp_at
        {
            self.cnp_at = cx.now + interval;
            self.cnp_due = true;
        }
        let Some(answer) = self.take(offset, packet, cx) else { return };
        let (ack, len, echo) = (self.rcv_nxt, packet.payload(), packet.sent);
        let header = match answer {
            Answer::Ack => Header::RdmaAck { ack, offset, len, echo },
            Answer::Nack => Header::RdmaNack { ack, offset, len, echo },
        };
        // The telemetry that came with the data returns with its answer.
        let flags = Flags::NONE
            .with_if(marked && self.cnp == Cnp::Flag, Flags::ECN_ECHO)
            .with_if(self.has_all(), Flags::LAST)
            .with_if(packet.flags.has(Flags::TELEMETRY), Flags::EXTRA);
        self.answer = Some(Packet::control(header, self.ack_wire, cx.now).with_flags(flags));
    }

    fn handle_timeout(&mut self, _: &mut Cx<'_>) {}

    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        if std::mem::take(&mut self.cnp_due) {
            return Some(Packet::control(Header::Cnp, self.framing.wire(0), cx.now));
        }
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
        self.rcv_nxt
    }
}

#[cfg(test)]
mod tests;
