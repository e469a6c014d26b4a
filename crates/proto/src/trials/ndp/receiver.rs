//! The receiving end.

use crate::endpoint::{Cx, Endpoint, Framing, Receiver};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::ranges::Ranges;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// The receiving end of a flow: it acknowledges each packet that arrives whole, and asks again for each that was cut.
#[derive(Debug, Serialize, Deserialize)]
pub struct NdpReceiver {
    framing: Framing,
    /// The offset of the next byte in order.
    rcv_nxt: u64,
    /// The bytes that have arrived behind it.
    ahead: Ranges,
    /// The length of the flow, once its last byte has arrived.
    length: Option<u64>,
    /// The answer that is due.
    answer: Option<Header>,
}

impl NdpReceiver {
    pub(super) fn new(framing: Framing) -> NdpReceiver {
        NdpReceiver { framing, rcv_nxt: 0, ahead: Ranges::default(), length: None, answer: None }
    }
}

impl Endpoint for NdpReceiver {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        let Header::Data { offset, .. } = packet.header else { return };
        let (len, echo) = (packet.payload(), packet.sent);
        if packet.flags.has(Flags::TRIMMED) {
            self.answer = Some(Header::RdmaNack { ack: self.rcv_nxt, offset, len, echo });
            return;
        }
        let (start, end) = (offset.max(self.rcv_nxt), packet.range().end);
        let new = if start < end { self.ahead.insert(start, end) } else { 0 };
        cx.stats.add_duplicates(u64::from(len) - new);
        if let Some(end) = self.ahead.take_through(self.rcv_nxt) {
            self.rcv_nxt = end;
        }
        if packet.flags.has(Flags::LAST) {
            self.length = Some(end);
        }
        self.answer = Some(Header::RdmaAck { ack: self.rcv_nxt, offset, len, echo });
    }

    fn handle_timeout(&mut self, _: &mut Cx<'_>) {}

    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = Packet::control(self.answer.take()?, self.framing.wire(0), cx.now);
        Some(packet.with_flags(Flags::NONE.with_if(self.is_finished(), Flags::LAST)))
    }

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn is_finished(&self) -> bool {
        self.length == Some(self.rcv_nxt)
    }
}

impl Receiver for NdpReceiver {
    fn delivered(&self) -> u64 {
        self.rcv_nxt
    }
}
