//! The sending end, which sends one frame per credit.

use super::gate::{GateConfig, SenderGate, Signal, State};
use super::outbox::{Chunk, Outbox};
use super::queue::Queue;
use super::smoothed::smooth_by_eighth;
use crate::endpoint::{Cx, Endpoint, Env, Framing, Gauges, Sender};
use crate::packet::{CreditAnswer, CreditRequest, Extra, Flags, Header, Packet};
use crate::shared::Shared;
use clearway_schema::choice;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

choice! {
    /// The place in which data that a credit released waits for the link.
    #[derive(Serialize, Deserialize)]
    pub enum Release {
    /// Data waits in its flow, for the flow's turn in the round robin of the NIC.
    Turn = "turn",
    /// Data waits in the queue of the NIC, in the order in which credits arrived (the ns-2 code).
        Queue = "queue",
    }
}

/// The settings of a sender.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SenderConfig {
    /// The settings for starting and stopping credits.
    pub gate: GateConfig,
    /// If true, the SYN of a new connection carries its request.
    pub request_on_syn: bool,
    /// The time by which a frame may arrive later than newer data before it counts as lost.
    pub reorder: Span,
    /// If true, data takes part in ECN.
    pub ecn: bool,
    /// The largest number of unscheduled bytes in flight, which are sent without credits at low priority (E17 sec. 7).
    pub low_priority: u64,
    /// The place in which data that a credit released waits for the link.
    pub release: Release,
}

/// The number of round-trip times after which a frame without news counts as lost, if credits still arrive.
const SILENCE_RTTS: u64 = 3;

/// A frame that a credit released and that waits for the link.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Grant {
    session: u32,
    /// The number of the credit.
    credit: u64,
    /// The time at which the credit was sent.
    echo: Time,
    chunk: Chunk,
    /// True if no other frame waited when the credit arrived.
    empties: bool,
}

/// What never changes in the life of a sender.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Settings {
    framing: Framing,
    config: SenderConfig,
}

/// The sending end of a credit-based transport.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreditSender {
    settings: Shared<Settings>,
    /// The state towards the receiver.
    gate: SenderGate,
    outbox: Outbox,
    /// The frames that credits released and that wait for the link.
    granted: Queue<Grant>,
    srtt: Span,
    /// The latest send time that a credit has echoed.
    newest: Time,
    /// True until the receiver answers the SYN.
    handshake: bool,
    /// True once the application writes no more.
    closed: bool,
    /// The bytes that were written when the last request left.
    told: u64,
    /// True if the receiver knows the flow's end.
    end_known: bool,
}

impl CreditSender {
    /// Makes a sender without data.
    pub fn new(config: SenderConfig, env: &Env) -> CreditSender {
        CreditSender {
            settings: Shared::new(Settings { framing: env.framing, config }),
            gate: SenderGate::new(config.gate),
            outbox: Outbox::default(),
            granted: Queue::default(),
            srtt: env.base_rtt,
            newest: Time::ZERO,
            handshake: config.request_on_syn && !env.established,
            closed: false,
            told: 0,
            end_known: false,
        }
    }

    /// Returns the state of the credit session with the receiver (Fig. 7).
    pub fn state(&self) -> State {
        self.gate.state()
    }

    /// Returns the number of frames for which a credit is of use.
    fn backlog(&self) -> u64 {
        self.outbox.backlog_frames(self.settings.framing.payload_max)
    }

    /// Records the acknowledgement that a packet of the receiver carries.
    #[inline]
    fn learn(&mut self, ack: u64, echo: Time, packet: &Packet, extra: &Extra) {
        self.end_known |= packet.flags.has(Flags::LAST);
        let sack = if packet.flags.has(Flags::EXTRA) { extra.sack() } else { &[] };
        self.outbox.on_ack(ack, sack, echo, self.settings.config.reorder);
    }

    fn on_credit(&mut self, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>) {
        let Header::Credit { number, session, ack, echo } = packet.header else { return };
        if echo > self.newest {
            self.newest = echo;
            let sample = cx.now.saturating_since(echo);
            self.srtt = smooth_by_eighth(self.srtt, sample);
        }
        self.learn(ack, echo, packet, extra);
        if session == self.gate.session() {
            self.handshake = false;
        }
        let mends = self.gate.state() == State::Receiving || self.gate.config().stop_by_mark;
        if mends && self.outbox.backlog() == 0 {
            let silence = self.srtt * SILENCE_RTTS;
            if self.outbox.oldest(cx.now) > silence && self.outbox.expire(silence, cx.now) {
                cx.stats.rare_mut().timeouts += 1;
            }
        }
        let backlog = self.backlog();
        if !self.gate.on_credit(session, backlog, self.srtt, cx.now) {
            cx.stats.rare_mut().credits_wasted += 1;
            return;
        }
        self.tell_more(cx.now);
        cx.stats.credits_used += 1;
        let chunk =
            self.outbox.release(self.settings.framing.payload_max, cx.now).expect("there is a backlog");
        self.granted.all().push_back(Grant {
            session: self.gate.session(),
            credit: number,
            echo: packet.sent,
            chunk,
            empties: backlog == 1,
        });
    }

    #[cold]
    fn on_stopped(&mut self, answer: CreditAnswer, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>) {
        self.learn(answer.ack, answer.echo, packet, extra);
        let complete = self.outbox.is_acknowledged() && (!self.closed || self.end_known);
        let backlog = self.backlog();
        self.gate.on_stopped(answer.session, complete, backlog, cx.now);
    }

    /// Returns the next frame that a credit released.
    #[inline(never)]
    fn granted(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let grant = self.granted.pop_front()?;
        self.outbox.on_sent(grant.chunk.seq, cx.now);
        let Grant { session, credit, echo, chunk, empties } = grant;
        let header = Header::CreditData { offset: chunk.seq, session, credit, echo };
        let packet = self.data(header, chunk, cx);
        Some(packet.with_flags(packet.flags.with_if(empties, Flags::EMPTY)))
    }

    /// Returns the packet that tells the receiver a signal.
    #[cold]
    fn signal(&mut self, signal: Signal, now: Time) -> Packet {
        let (session, written) = (self.gate.session(), self.outbox.written());
        let header = match signal {
            Signal::Request => {
                self.told = written;
                let request = CreditRequest { session, wanted: self.backlog(), written };
                if self.handshake { Header::CreditSyn(request) } else { Header::CreditRequest(request) }
            }
            Signal::Stop if self.closed => Header::CreditStop { session, end: written },
            Signal::Stop => Header::CreditStop { session, end: self.outbox.high() },
        };
        let tells_end = signal == Signal::Stop && self.closed;
        let flags = Flags::NONE.with_if(tells_end, Flags::LAST);
        Packet::control(header, self.settings.framing.wire_min, now).with_flags(flags)
    }

    /// Returns the data packet that carries `chunk` under the given header.
    fn data(&self, header: Header, chunk: Chunk, cx: &mut Cx<'_>) -> Packet {
        let Chunk { seq, len, again } = chunk;
        let last = self.closed && seq + len as u64 == self.outbox.written();
        let flags = Flags::NONE
            .with_if(last, Flags::LAST)
            .with_if(again, Flags::RETRANSMIT)
            .with_if(self.settings.config.ecn, Flags::ECN_CAPABLE);
        cx.stats.data_packets += 1;
        if again {
            cx.stats.rare_mut().retransmits += 1;
        }
        Packet::data(header, len, self.settings.framing.wire(len), cx.now).with_flags(flags)
    }

    /// Sends a request if more was written than the receiver was told.
    fn tell_more(&mut self, now: Time) {
        if self.gate.config().tell_end && self.outbox.written() > self.told {
            self.gate.ask_again(now);
        }
    }

    /// Sends a stop if the flow has ended and no data packet can tell the receiver so.
    fn tell_end(&mut self, cx: &mut Cx<'_>) {
        let silent = matches!(self.gate.state(), State::Closed | State::StopSent | State::RequestSent);
        if self.outbox.backlog() == 0 && silent && !self.end_known {
            self.gate.stop(cx.now);
        }
    }
}

impl Endpoint for CreditSender {
    fn handle_packet(&mut self, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>) {
        match packet.header {
            Header::Credit { .. } => self.on_credit(packet, extra, cx),
            Header::CreditAck(answer) => self.on_stopped(answer, packet, extra, cx),
            Header::CreditNack(answer) => {
                self.outbox.go_back(answer.ack);
                if self.outbox.backlog() > 0 && self.gate.state() != State::StopSent {
                    self.gate.on_data(cx.now);
                }
            }
            Header::CreditSynAck(answer) => {
                self.handshake = false;
                let backlog = self.backlog();
                self.gate.on_accept(answer.session, backlog, cx.now);
            }
            other => debug_assert!(false, "{other:?} is not for a sender of credit transports"),
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        let backlog = self.backlog();
        if self.gate.on_timer(backlog, cx.now) {
            cx.stats.rare_mut().repeated_signals += 1;
        }
    }

    #[inline]
    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.settings.config.release == Release::Queue && !self.granted.is_empty() {
            return self.granted(cx);
        }
        self.gate.take_signal().map(|signal| self.signal(signal, cx.now))
    }

    #[inline]
    fn next_timeout(&self) -> Time {
        self.gate.next_timeout()
    }

    #[inline]
    fn is_finished(&self) -> bool {
        self.closed
            && self.gate.state() == State::Closed
            && self.outbox.is_acknowledged()
            && self.granted.is_empty()
    }

    fn gauges(&self) -> Gauges {
        Gauges { srtt: self.srtt.as_secs_f64(), ..Gauges::NONE }
    }
}

impl Sender for CreditSender {
    fn wants_transmit(&self, _: Time) -> bool {
        !self.granted.is_empty()
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.granted(cx)
    }

    fn wants_unscheduled(&self) -> bool {
        // A connection that is being opened sends no data.
        self.outbox.low_in_flight() < self.settings.config.low_priority
            && self.outbox.unsent() > 0
            && !self.handshake
    }

    fn poll_unscheduled(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if !self.wants_unscheduled() {
            return None;
        }
        let chunk = self.outbox.send_low(self.settings.framing.payload_max, cx.now)?;
        let header = Header::UnscheduledData { offset: chunk.seq, session: self.gate.session() };
        Some(self.data(header, chunk, cx))
    }

    fn write(&mut self, bytes: u64, cx: &mut Cx<'_>) {
        debug_assert!(!self.closed, "a closed flow takes no more");
        self.outbox.write(bytes);
        if bytes > 0 {
            self.gate.on_data(cx.now);
            self.tell_more(cx.now);
        }
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        self.closed = true;
        self.tell_end(cx);
    }

    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64 {
        let before = self.outbox.written();
        let bytes = self.outbox.truncate();
        self.end_known &= bytes == before;
        self.close(cx);
        bytes
    }

    fn acknowledged(&self) -> u64 {
        self.outbox.acknowledged()
    }
}
