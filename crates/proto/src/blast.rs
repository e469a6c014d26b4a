//! No congestion control at all: data leaves as fast as the network card takes it, and what is dropped stays lost.
//!
//! The bare load that networks and benchmarks are measured with: constant traffic without acknowledgements.
//! Not a transport for results: it has no recovery, so a flow that loses a packet never ends.

use crate::endpoint::{Cx, Endpoint, Env, Framing, Receiver, Sender};
use crate::packet::{Extra, Flags, Kind, Packet};
use crate::registry::{Needs, Transport};
use clearway_units::Time;

crate::params! {
    /// It has none.
    pub struct Params {}
}

/// The transport.
pub struct Blast;

impl Transport for Blast {
    type Params = Params;
    type Sender = BlastSender;
    type Receiver = BlastReceiver;
    const NAME: &'static str = "blast";
    const SUMMARY: &'static str =
        "No congestion control: line rate, no acknowledgements, no recovery (a test load)";
    const SOURCE: &'static str = "our own";

    fn needs(_: &Params) -> Needs {
        Needs::NOTHING
    }

    fn sender(_: &Params, env: &Env) -> BlastSender {
        BlastSender { framing: env.framing, written: 0, sent: 0, closed: false }
    }

    fn receiver(_: &Params, _: &Env) -> BlastReceiver {
        BlastReceiver { delivered: 0, finished: false }
    }
}

/// Sends what it has.
pub struct BlastSender {
    framing: Framing,
    written: u64,
    sent: u64,
    closed: bool,
}

impl Endpoint for BlastSender {
    fn handle_packet(&mut self, _: &Packet, _: &Extra, _: &mut Cx<'_>) {}

    fn handle_timeout(&mut self, _: &mut Cx<'_>) {}

    fn poll_control(&mut self, _: &mut Extra, _: &mut Cx<'_>) -> Option<Packet> {
        None
    }

    fn wants_transmit(&self, _: Time) -> bool {
        self.sent < self.written
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let payload = (self.written - self.sent).min(self.framing.payload_max as u64) as u32;
        if payload == 0 {
            return None;
        }
        let mut packet = Packet::new(Kind::Data, self.framing.wire(payload));
        packet.seq = self.sent;
        packet.payload = payload;
        packet.sent = cx.now;
        self.sent += payload as u64;
        packet.flags = Flags::NONE.with_if(self.closed && self.sent == self.written, Flags::LAST);
        cx.stats.data_packets += 1;
        Some(packet)
    }

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn is_finished(&self) -> bool {
        self.closed && self.sent == self.written
    }
}

impl Sender for BlastSender {
    fn write(&mut self, bytes: u64, _: &mut Cx<'_>) {
        self.written += bytes;
    }

    fn close(&mut self, _: &mut Cx<'_>) {
        self.closed = true;
    }

    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64 {
        self.written = self.sent;
        self.close(cx);
        self.sent
    }
}

/// Counts what arrives in order.
pub struct BlastReceiver {
    delivered: u64,
    finished: bool,
}

impl Endpoint for BlastReceiver {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, _: &mut Cx<'_>) {
        if packet.seq == self.delivered {
            self.delivered += packet.payload as u64;
            self.finished |= packet.flags.has(Flags::LAST);
        }
    }

    fn handle_timeout(&mut self, _: &mut Cx<'_>) {}

    fn poll_control(&mut self, _: &mut Extra, _: &mut Cx<'_>) -> Option<Packet> {
        None
    }

    fn wants_transmit(&self, _: Time) -> bool {
        false
    }

    fn poll_transmit(&mut self, _: &mut Cx<'_>) -> Option<Packet> {
        None
    }

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn is_finished(&self) -> bool {
        self.finished
    }
}

impl Receiver for BlastReceiver {
    fn delivered(&self) -> u64 {
        self.delivered
    }
}
