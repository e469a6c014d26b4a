//! The receiving end.

use crate::endpoint::{Cx, Endpoint, Framing, Receiver};
use crate::packet::{CreditAnswer, Extra, Flags, Header, Packet};
use crate::ranges::Ranges;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// The receiving end of a message. What it may be sent is a matter of its host's agent.
#[derive(Debug, Serialize, Deserialize)]
pub struct HomaReceiver {
    framing: Framing,
    /// The offset of the next byte in order.
    rcv_nxt: u64,
    /// The bytes that have arrived behind it.
    ahead: Ranges,
    /// The length that the sender has announced.
    length: u64,
    /// True if the length is final.
    is_final: bool,
    /// The answer that is due.
    answer: Option<Answer>,
}

/// An answer to the sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Answer {
    /// All that was announced has arrived.
    Complete,
    /// The sender hears too little: these bytes have arrived.
    Missing,
}

impl HomaReceiver {
    pub(super) fn new(framing: Framing) -> HomaReceiver {
        let ahead = Ranges::default();
        HomaReceiver { framing, rcv_nxt: 0, ahead, length: 0, is_final: false, answer: None }
    }
}

impl Endpoint for HomaReceiver {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        match packet.header {
            Header::CreditRequest(request) => {
                if packet.flags.has(Flags::LAST) {
                    (self.length, self.is_final) = (request.written, true);
                } else if !self.is_final {
                    self.length = self.length.max(request.written);
                }
                self.answer = (request.session > 0).then_some(Answer::Missing);
            }
            Header::CreditData { offset, .. } if packet.payload() > 0 => {
                let payload = u64::from(packet.payload());
                let start = offset.max(self.rcv_nxt);
                let end = packet.range().end;
                let new = if start < end { self.ahead.insert(start, end) } else { 0 };
                cx.stats.add_duplicates(payload - new);
                if let Some(end) = self.ahead.take_through(self.rcv_nxt) {
                    self.rcv_nxt = end;
                }
            }
            _ => return,
        }
        if self.rcv_nxt == self.length {
            self.answer = Some(Answer::Complete);
        }
    }

    fn handle_timeout(&mut self, _: &mut Cx<'_>) {}

    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        let answer = CreditAnswer { session: 0, ack: self.rcv_nxt, echo: Time::ZERO };
        let header = match self.answer.take()? {
            Answer::Complete => Header::CreditAck(answer),
            Answer::Missing => Header::CreditNack(answer),
        };
        let packet = Packet::control(header, self.framing.wire(0), cx.now);
        Some(packet.with_flags(Flags::NONE.with_if(self.is_finished(), Flags::LAST)))
    }

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn is_finished(&self) -> bool {
        self.is_final && self.rcv_nxt == self.length
    }
}

impl Receiver for HomaReceiver {
    fn delivered(&self) -> u64 {
        self.rcv_nxt
    }
}
