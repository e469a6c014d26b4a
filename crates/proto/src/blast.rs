//! A transport without congestion control or recovery: data leaves as fast as the NIC takes it, and dropped
//! data stays lost.
//!
//! It is a load for tests and benchmarks of networks, without acknowledgements, and not a transport for results: a flow
//! that loses a packet never ends.
//!
//! It also serves as the traffic without credits of ExpressPass '17, sec. 7 ("Presence of other traffic"): queues
//! absorb that traffic, and its receiver sends credits "which will drain the queue". In our reading the receiver
//! answers each frame that came without a credit with a credit that releases no data. At the ports on its way that
//! credit takes the place of another flow's, so that one frame less is sent there.

use crate::agent::NoAgent;
use crate::endpoint::{Cx, Endpoint, Env, Framing, Receiver, Sender};
use crate::expresspass::CreditParams;
use crate::mechanism::NoMechanism;
use crate::needs::{CreditNeeds, Needs};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::port::CreditShaping;
use crate::transport::{Checked, Family, Transport};
use clearway_schema::declare;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters of `blast`.
    pub struct BlastParams {
        /// If true, the receiver answers each frame with a credit that releases no data, so that credits of other flows
        /// make room for it.
        accounting: bool = "false" from "E17 7 (our reading)";
        ..credit: CreditParams [credit_queue, bucket] {
            /// The capacity of a port's credit queue, in credits, with `accounting`.
            credit_queue,
            /// The size of a port's token bucket, with `accounting`.
            bucket,
        };
    }
}

/// The transport `blast`.
pub struct Blast;

impl Transport for Blast {
    type Params = BlastParams;
    type Sender = BlastSender;
    type Receiver = BlastReceiver;
    type Agent = NoAgent;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "blast";
    const SUMMARY: &'static str =
        "No congestion control: line rate, no acknowledgements, no recovery (a test load)";
    const SOURCE: &'static str = "our own";
    const FAMILY: Family = Family::Credit;
    const RECOVERS: bool = false;
    const CHECKED: Checked =
        Checked::Neither("It is no published protocol: there is nothing to check it against.");

    fn needs(params: &BlastParams) -> Needs {
        let shaping = CreditShaping { bucket: params.credit.bucket.get() as u32, ..CreditShaping::PAPER };
        let credits = CreditNeeds { queue: params.credit.credit_queue, shaping };
        Needs { credits: params.accounting.then_some(credits), ..Needs::NOTHING }
    }

    fn sender(_: &BlastParams, env: &Env) -> BlastSender {
        BlastSender { framing: env.framing, written: 0, sent: 0, closed: false }
    }

    fn receiver(params: &BlastParams, env: &Env) -> BlastReceiver {
        let credit = params.accounting.then_some(env.framing.wire_min);
        BlastReceiver { delivered: 0, finished: false, credit, owed: 0, answered: 0 }
    }
}

/// The sender of `blast`.
#[derive(Serialize, Deserialize)]
pub struct BlastSender {
    framing: Framing,
    /// The bytes that the application has written.
    written: u64,
    /// The bytes that have been sent.
    sent: u64,
    /// True once the application writes no more.
    closed: bool,
}

impl Endpoint for BlastSender {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        if packet.is_credit() {
            cx.stats.rare_mut().credits_wasted += 1;
        }
    }

    fn handle_timeout(&mut self, _: &mut Cx<'_>) {}

    fn poll_control(&mut self, _: &mut Extra, _: &mut Cx<'_>) -> Option<Packet> {
        None
    }

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn is_finished(&self) -> bool {
        self.closed && self.sent == self.written
    }
}

impl Sender for BlastSender {
    fn wants_transmit(&self, _: Time) -> bool {
        self.sent < self.written
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let payload = (self.written - self.sent).min(self.framing.payload_max as u64) as u32;
        if payload == 0 {
            return None;
        }
        let packet = Packet::data(Header::data(self.sent), payload, self.framing.wire(payload), cx.now);
        self.sent += payload as u64;
        cx.stats.data_packets += 1;
        let is_last = self.closed && self.sent == self.written;
        Some(packet.with_flags(Flags::NONE.with_if(is_last, Flags::LAST)))
    }

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

    fn acknowledged(&self) -> u64 {
        0
    }
}

/// The receiver of `blast`, which counts the bytes that arrive in order.
#[derive(Serialize, Deserialize)]
pub struct BlastReceiver {
    /// The bytes that have arrived in order.
    delivered: u64,
    /// True once the last byte has arrived in order.
    finished: bool,
    /// The size of a credit in bytes, if the receiver sends credits.
    credit: Option<u32>,
    /// The number of frames that are yet to be answered with a credit.
    owed: u64,
    /// The number of credits sent.
    answered: u64,
}

impl Endpoint for BlastReceiver {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, _: &mut Cx<'_>) {
        self.owed += self.credit.is_some() as u64;
        if packet.header.offset() == Some(self.delivered) {
            self.delivered += packet.payload() as u64;
            self.finished |= packet.flags.has(Flags::LAST);
        }
    }

    fn handle_timeout(&mut self, _: &mut Cx<'_>) {}

    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        self.owed = self.owed.checked_sub(1)?;
        let header = Header::Credit { number: self.answered, session: 0, ack: 0, echo: Time::ZERO };
        let credit = Packet::control(header, self.credit?, cx.now);
        self.answered += 1;
        cx.stats.credits_sent += 1;
        Some(credit)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Stats;
    use crate::packet::Kind;
    use crate::rng::{Entity, Rng};

    #[test]
    fn each_frame_is_answered_with_one_credit_if_accounting_is_on() {
        for (credit, expected) in [(Some(84), 3), (None, 0)] {
            let mut receiver = BlastReceiver { delivered: 0, finished: false, credit, owed: 0, answered: 0 };
            let (mut rng, mut stats) = (Rng::stream(1, Entity::Receiver, 0), Stats::default());
            let mut cx = Cx { now: Time::ZERO, rng: &mut rng, stats: &mut stats };
            let mut sent = 0;
            for _ in 0..3 {
                let packet = Packet::data(Header::data(0), 1460, 1538, Time::ZERO);
                receiver.handle_packet(&packet, &Extra::default(), &mut cx);
                while let Some(packet) = receiver.poll_control(&mut Extra::default(), &mut cx) {
                    assert_eq!((packet.kind(), packet.wire), (Kind::Credit, 84));
                    sent += 1;
                }
            }
            assert_eq!((sent, stats.credits_sent), (expected, expected));
        }
    }
}
