//! The sending end: which packet leaves next, at the pace and within the window of a [`RateLaw`].

use super::config::{Config, Recovery};
use super::law::{Ack, RateLaw};
use crate::endpoint::{self, Cx, Endpoint, Env, Framing, Gauges};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::ranges::Ranges;
use clearway_units::{Bytes, Rate, Span, Time};

/// Most doublings of the retransmission timeout.
const BACKOFF_MAX: u32 = 6;

/// A pace of this grain is not rounded.
const FINEST: Span = Span::from_ps(1);

/// The sending end of a flow.
pub struct Sender<L> {
    law: L,
    framing: Framing,
    recovery: Recovery,
    telemetry: bool,
    ecn: bool,
    stamp: u32,
    rto: Option<Span>,
    /// Bytes that the application wrote, and whether these are all.
    written: u64,
    closed: bool,
    /// Oldest byte not acknowledged.
    acked: u64,
    /// Next byte to send; goes back where all is repeated from a loss on.
    next: u64,
    /// First byte never sent.
    fresh: u64,
    /// Bytes beyond `acked` that arrived, where the receiver keeps them.
    kept: Ranges,
    /// Of what is missing below this, all is sent again, from `mending` on.
    mend_end: u64,
    mending: u64,
    /// When the byte at `acked` was last sent again.
    mended: Time,
    /// Whether the end of the flow has been told, and whether it is known to have arrived.
    end_told: bool,
    end_acked: bool,
    /// When the last packet left, its size, and the rate by which the next one's turn was found.
    left: Time,
    left_wire: u32,
    pace: Rate,
    grain: Span,
    /// The pace allows the next packet from then on.
    turn: Time,
    /// When to look again whether the pace allows a packet.
    pace_timer: Time,
    rto_at: Time,
    backoff: u32,
}

/// A packet to send: its bytes, and whether it was sent before.
struct Piece {
    start: u64,
    payload: u32,
    again: bool,
}

impl<L: RateLaw> Sender<L> {
    /// A sending end for a new flow.
    pub fn new(config: &Config, env: &Env, law: L) -> Sender<L> {
        Sender {
            pace: law.rate(),
            grain: config.pacing_grain.max(FINEST),
            law,
            framing: env.framing,
            recovery: config.recovery,
            telemetry: config.telemetry,
            ecn: config.cnp != super::Cnp::Never,
            stamp: config.stamp,
            rto: config.rto,
            written: 0,
            closed: false,
            acked: 0,
            next: 0,
            fresh: 0,
            kept: Ranges::default(),
            mend_end: 0,
            mending: 0,
            mended: Time::MAX,
            end_told: false,
            end_acked: false,
            left: Time::ZERO,
            left_wire: 0,
            turn: Time::ZERO,
            pace_timer: Time::MAX,
            rto_at: Time::MAX,
            backoff: 0,
        }
    }

    /// The law.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// What would be sent next, pace left aside.
    fn piece(&self) -> Option<Piece> {
        let most = self.framing.payload_max as u64;
        if let Some((start, end)) = self.kept.gap(self.mending.max(self.acked), self.mend_end) {
            return Some(Piece { start, payload: (end - start).min(most) as u32, again: true });
        }
        if self.next < self.written {
            let in_flight = self.next - self.acked;
            if in_flight > 0 && in_flight >= self.law.window() {
                return None;
            }
            let payload = (self.written - self.next).min(most) as u32;
            return Some(Piece { start: self.next, payload, again: self.next < self.fresh });
        }
        let tells_end = self.closed && !self.end_told;
        tells_end.then_some(Piece { start: self.written, payload: 0, again: false })
    }

    /// Whether anything is out whose arrival is not known.
    fn is_waiting(&self) -> bool {
        self.acked < self.fresh || self.end_told && !self.end_acked
    }

    /// When the pace allows the packet after the last one.
    fn next_turn(&self) -> Time {
        let size = Bytes::new(self.left_wire as u64);
        if self.grain == FINEST {
            return self.left + self.pace.time_to_send(size);
        }
        self.left + self.pace.time_to_send_below(size, self.grain)
    }

    /// After any input: the pace may have changed, and with it the time of the next turn.
    fn settle(&mut self, now: Time) {
        let pace = self.law.rate();
        if L::MOVES_TURN && pace != self.pace {
            self.pace = pace;
            self.turn = self.next_turn();
        }
        self.pace_timer = if self.turn > now && self.piece().is_some() { self.turn } else { Time::MAX };
    }

    fn arm_rto(&mut self, now: Time) {
        self.rto_at = match self.rto {
            Some(rto) if self.is_waiting() => now.saturating_add(rto.saturating_mul(1 << self.backoff)),
            _ => Time::MAX,
        };
    }

    /// All that is not known to have arrived is sent again.
    fn start_over(&mut self) {
        self.end_told &= self.end_acked;
        match self.recovery {
            Recovery::GoBackN => self.next = self.acked,
            Recovery::SelectiveRepeat => (self.mending, self.mend_end) = (self.acked, self.fresh),
        }
    }

    fn on_answer(&mut self, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>) {
        let (Header::RdmaAck { ack, offset, len, echo } | Header::RdmaNack { ack, offset, len, echo }) =
            packet.header
        else {
            return;
        };
        let newly = ack.saturating_sub(self.acked);
        self.acked += newly;
        if newly > 0 {
            // If the byte now at `acked` was sent again, then before now.
            self.mended = if self.mending > self.acked { cx.now } else { Time::MAX };
        }
        self.next = self.next.max(self.acked);
        self.kept.remove_below(self.acked);
        if packet.flags.has(Flags::LAST) {
            (self.end_told, self.end_acked) = (true, true);
        }
        if matches!(packet.header, Header::RdmaNack { .. }) {
            match self.recovery {
                Recovery::GoBackN => self.start_over(),
                Recovery::SelectiveRepeat => {
                    let (start, end) = (offset.max(self.acked), offset + len as u64);
                    if start < end {
                        self.kept.insert(start, end);
                    }
                    // What left after the repetition has overtaken it: that was lost too.
                    if self.mend_end <= self.acked || echo > self.mended {
                        (self.mending, self.mended) = (self.acked, Time::MAX);
                    }
                    self.mend_end = self.mend_end.max(self.kept.end());
                }
            }
        }
        let marked = packet.flags.has(Flags::ECN_ECHO);
        cx.stats.notices += u64::from(marked);
        let ack = Ack {
            newly,
            acked: self.acked,
            next: self.next,
            marked,
            rtt: cx.now.saturating_since(echo),
            hops: extra.hops(),
        };
        self.law.on_ack(&ack, cx.now);
        if newly > 0 || !self.is_waiting() {
            self.backoff = 0;
            self.arm_rto(cx.now);
        }
    }
}

impl<L: RateLaw> Endpoint for Sender<L> {
    fn handle_packet(&mut self, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>) {
        match packet.header {
            Header::RdmaAck { .. } | Header::RdmaNack { .. } => self.on_answer(packet, extra, cx),
            Header::Cnp => {
                cx.stats.notices += 1;
                self.law.on_cnp(cx.now);
            }
            _ => return,
        }
        self.settle(cx.now);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if cx.now >= self.law.next_timeout() {
            self.law.on_timeout(cx.now);
        }
        if cx.now >= self.rto_at {
            cx.stats.timeouts += 1;
            self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
            self.start_over();
            self.arm_rto(cx.now);
        }
        self.settle(cx.now);
    }

    fn poll_control(&mut self, _: &mut Extra, _: &mut Cx<'_>) -> Option<Packet> {
        None
    }

    fn wants_transmit(&self, now: Time) -> bool {
        self.turn <= now && self.piece().is_some()
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let piece = self.piece().filter(|_| self.turn <= cx.now)?;
        let end = piece.start + piece.payload as u64;
        let is_last = self.closed && end == self.written;
        let flags = Flags::NONE
            .with_if(self.ecn, Flags::ECN_CAPABLE)
            .with_if(is_last, Flags::LAST)
            .with_if(piece.again, Flags::RETRANSMIT)
            .with_if(self.telemetry, Flags::TELEMETRY.with(Flags::EXTRA));
        let wire = self.framing.wire(piece.payload) + self.stamp;
        let packet = Packet::data(Header::data(piece.start), piece.payload, wire, cx.now).with_flags(flags);
        self.end_told |= is_last;
        if end <= self.mend_end {
            self.mending = end;
            if piece.start == self.acked {
                self.mended = cx.now;
            }
        } else {
            self.next = end;
        }
        self.fresh = self.fresh.max(end);
        cx.stats.data_packets += 1;
        cx.stats.retransmits += piece.again as u64;
        self.law.on_sent(packet.wire, cx.now);
        (self.left, self.left_wire) = (cx.now, packet.wire);
        self.pace = self.law.rate();
        self.turn = self.next_turn();
        self.settle(cx.now);
        if self.rto_at == Time::MAX {
            self.arm_rto(cx.now);
        }
        Some(packet)
    }

    fn next_timeout(&self) -> Time {
        self.pace_timer.min(self.rto_at).min(self.law.next_timeout())
    }

    fn is_finished(&self) -> bool {
        self.end_acked && self.acked == self.written
    }

    fn gauges(&self) -> Gauges {
        let window = self.law.window();
        let cwnd = if window < super::law::UNLIMITED { window as f64 } else { f64::NAN };
        Gauges { cwnd, rate: self.law.rate().as_bps_f64(), srtt: f64::NAN }
    }
}

impl<L: RateLaw> endpoint::Sender for Sender<L> {
    fn write(&mut self, bytes: u64, cx: &mut Cx<'_>) {
        self.written += bytes;
        self.settle(cx.now);
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        self.closed = true;
        self.settle(cx.now);
    }

    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64 {
        self.written = self.fresh;
        self.closed = true;
        self.settle(cx.now);
        self.written
    }

    fn acknowledged(&self) -> u64 {
        self.acked
    }
}
