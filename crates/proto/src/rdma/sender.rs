//! The sending end of RDMA: it chooses the next packet, at the pace and within the window that a [`RateLaw`] sets.

use super::config::{Config, Recovery};
use super::law::{AckEvent, RateLaw};
use crate::endpoint::{self, Cx, Endpoint, Env, Framing, Gauges};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::ranges::Ranges;
use clearway_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// The retransmission timeout doubles at most this many times.
const BACKOFF_MAX: u32 = 6;

/// The grain of pacing at which the time between two packets is exact.
const FINEST: Span = Span::from_ps(1);

/// The sending end of an RDMA flow under the rate law `L`.
///
/// The stream, as offsets, from left to right. While the sender goes back over a loss, `snd_nxt` is below `snd_max`;
/// with selective repeat it never is, and the bytes from `rtx_next` to `rtx_end` are repeated where `scoreboard` has
/// gaps.
///
/// ```text
///   acknowledged | in flight | to be sent again | not yet sent | not yet written
///             snd_una     snd_nxt            snd_max        written
/// ```
#[derive(Serialize, Deserialize)]
pub struct Sender<L> {
    law: L,
    framing: Framing,
    recovery: Recovery,
    /// True if ports write telemetry into data packets.
    telemetry: bool,
    /// True if switches may mark data packets.
    ecn: bool,
    /// Bytes on the wire that each data packet carries besides payload and the headers of the framing.
    stamp: u32,
    /// The retransmission timeout before any backoff; `None` if there is no retransmission timer.
    rto: Option<Span>,
    /// Bytes that the application wrote so far.
    written: u64,
    /// True once the application has written all.
    closed: bool,
    /// The oldest byte that is not acknowledged.
    snd_una: u64,
    /// The next byte to send; go-back-N sets it back to `snd_una` after a loss.
    snd_nxt: u64,
    /// The first byte never sent.
    snd_max: u64,
    /// Selective repeat: bytes beyond `snd_una` that the receiver has.
    scoreboard: Ranges,
    /// Selective repeat: the next byte that may have to be sent again.
    rtx_next: u64,
    /// Selective repeat: bytes from here on are not known to be lost.
    rtx_end: u64,
    /// Selective repeat: the time at which the byte at `snd_una` was last sent again; [`Time::MAX`] if it was not.
    rtx_at: Time,
    /// True once a packet that ends the flow was sent.
    end_sent: bool,
    /// True once the receiver acknowledged the end of the flow.
    end_acked: bool,
    /// The size of the last packet on the wire, in bytes.
    last_wire: u16,
    /// The rate from which `pace_at` was computed.
    pace: Rate,
    /// The time from the last packet to the next one that follows from both: few packets need the division.
    gap: Span,
    /// The window of the law, as of the last event of which the law heard.
    window: u64,
    /// The time between two packets is rounded down to a multiple of this.
    pacing_grain: Span,
    /// The pace allows the next packet from this time on.
    pace_at: Time,
    /// The time to wake up for the next packet; [`Time::MAX`] if none waits for the pace.
    pace_timer: Time,
    /// The time at which the retransmission timer expires.
    rto_at: Time,
    /// Doublings of the retransmission timeout since the last progress.
    backoff: u32,
}

/// The next packet to send.
struct Segment {
    start: u64,
    len: u32,
    /// True if bytes of it were sent before.
    again: bool,
}

impl<L: RateLaw> Sender<L> {
    /// Returns the sending end of a new flow.
    pub fn new(config: &Config, env: &Env, law: L) -> Sender<L> {
        Sender {
            pace: law.rate(),
            window: law.window(),
            pacing_grain: config.pacing_grain.max(FINEST),
            law,
            framing: env.framing,
            recovery: config.recovery,
            telemetry: config.telemetry,
            ecn: config.cnp != super::Cnp::Never,
            stamp: config.stamp,
            rto: config.rto,
            written: 0,
            closed: false,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            scoreboard: Ranges::default(),
            rtx_next: 0,
            rtx_end: 0,
            rtx_at: Time::MAX,
            end_sent: false,
            end_acked: false,
            last_wire: 0,
            gap: Span::ZERO,
            pace_at: Time::ZERO,
            pace_timer: Time::MAX,
            rto_at: Time::MAX,
            backoff: 0,
        }
    }

    /// Returns the law that sets rate and window.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// Returns the next packet that may leave as soon as the pace allows it.
    #[inline(always)]
    fn next_segment(&self) -> Option<Segment> {
        let payload_max = self.framing.payload_max as u64;
        let rtx_next = self.rtx_next.max(self.snd_una);
        if rtx_next < self.rtx_end
            && let Some((start, end)) = self.scoreboard.gap(rtx_next, self.rtx_end)
        {
            return Some(Segment { start, len: (end - start).min(payload_max) as u32, again: true });
        }
        if self.snd_nxt < self.written {
            let in_flight = self.snd_nxt - self.snd_una;
            if in_flight > 0 && in_flight >= self.window {
                return None;
            }
            let len = (self.written - self.snd_nxt).min(payload_max) as u32;
            return Some(Segment { start: self.snd_nxt, len, again: self.snd_nxt < self.snd_max });
        }
        let ends = self.closed && !self.end_sent;
        ends.then_some(Segment { start: self.written, len: 0, again: false })
    }

    /// Returns true if a packet was sent whose arrival is not known.
    fn is_outstanding(&self) -> bool {
        self.snd_una < self.snd_max || self.end_sent && !self.end_acked
    }

    /// Sets the time from the last packet to the next one, after its size or the pace changed.
    fn set_gap(&mut self) {
        let size = Bytes::new(self.last_wire as u64);
        let whole = match self.pacing_grain {
            FINEST => Span::ZERO,
            grain => self.pace.time_to_send_below(size, grain),
        };
        // Without a pause, a flow without a window would send for ever at one instant.
        self.gap = if whole.is_zero() { self.pace.time_to_send(size) } else { whole };
    }

    /// Takes over a new pace after an input, and sets the timer for a packet that waits for it.
    #[inline(always)]
    fn repace(&mut self, now: Time) {
        let pace = self.law.rate();
        if L::REPACES && pace != self.pace {
            self.pace = pace;
            let last_sent = self.pace_at - self.gap;
            self.set_gap();
            self.pace_at = last_sent + self.gap;
        }
        self.wait_for_pace(now);
    }

    /// Sets the timer for a packet that waits for the pace.
    #[inline]
    fn wait_for_pace(&mut self, now: Time) {
        self.pace_timer =
            if self.pace_at > now && self.next_segment().is_some() { self.pace_at } else { Time::MAX };
    }

    fn arm_rto(&mut self, now: Time) {
        self.rto_at = match self.rto {
            Some(rto) if self.is_outstanding() => now.saturating_add(rto.saturating_mul(1 << self.backoff)),
            _ => Time::MAX,
        };
    }

    /// Makes the sender repeat all bytes that are not known to have arrived.
    fn start_over(&mut self) {
        self.end_sent &= self.end_acked;
        match self.recovery {
            Recovery::GoBackN => self.snd_nxt = self.snd_una,
            Recovery::SelectiveRepeat => (self.rtx_next, self.rtx_end) = (self.snd_una, self.snd_max),
        }
    }

    fn on_answer(&mut self, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>) {
        let (Header::RdmaAck { ack, offset, len, echo } | Header::RdmaNack { ack, offset, len, echo }) =
            packet.header
        else {
            return;
        };
        let acked = ack.saturating_sub(self.snd_una);
        self.snd_una += acked;
        if acked > 0 {
            // If the byte that is now at `snd_una` was sent again, then before now.
            self.rtx_at = if self.rtx_next > self.snd_una { cx.now } else { Time::MAX };
        }
        self.snd_nxt = self.snd_nxt.max(self.snd_una);
        self.scoreboard.remove_below(self.snd_una);
        if packet.flags.has(Flags::LAST) {
            (self.end_sent, self.end_acked) = (true, true);
        }
        if matches!(packet.header, Header::RdmaNack { .. }) {
            match self.recovery {
                Recovery::GoBackN => self.start_over(),
                Recovery::SelectiveRepeat => {
                    let (start, end) = (offset.max(self.snd_una), offset + len as u64);
                    if start < end {
                        self.scoreboard.insert(start, end);
                    }
                    // Data that left after the repetition has overtaken it, so the repetition was lost too.
                    if self.rtx_end <= self.snd_una || echo > self.rtx_at {
                        (self.rtx_next, self.rtx_at) = (self.snd_una, Time::MAX);
                    }
                    self.rtx_end = self.rtx_end.max(self.scoreboard.end());
                }
            }
        }
        let marked = packet.flags.has(Flags::ECN_ECHO);
        if marked {
            cx.stats.rare_mut().notifications += 1;
        }
        let event = AckEvent {
            acked,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            ecn_echo: marked,
            rtt: cx.now.saturating_since(echo),
            hops: extra.hops(),
        };
        self.law.on_ack(&event, cx.now);
        self.window = self.law.window();
        if acked > 0 || !self.is_outstanding() {
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
                cx.stats.rare_mut().notifications += 1;
                self.law.on_cnp(cx.now);
                self.window = self.law.window();
            }
            _ => return,
        }
        self.repace(cx.now);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if cx.now >= self.law.next_timeout() {
            self.law.on_timeout(cx.now);
            self.window = self.law.window();
        }
        if cx.now >= self.rto_at {
            cx.stats.rare_mut().timeouts += 1;
            self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
            self.start_over();
            self.arm_rto(cx.now);
        }
        self.repace(cx.now);
    }

    fn poll_control(&mut self, _: &mut Extra, _: &mut Cx<'_>) -> Option<Packet> {
        None
    }

    fn next_timeout(&self) -> Time {
        let (pace, other) = endpoint::Sender::next_turn(self);
        pace.min(other)
    }

    fn is_finished(&self) -> bool {
        self.end_acked && self.snd_una == self.written
    }

    fn gauges(&self) -> Gauges {
        let window = self.law.window();
        let cwnd = if window < super::law::UNLIMITED { window as f64 } else { f64::NAN };
        Gauges { cwnd, rate: self.law.rate().as_bps_f64(), srtt: f64::NAN }
    }
}

impl<L: RateLaw> endpoint::Sender for Sender<L> {
    fn wants_transmit(&self, now: Time) -> bool {
        self.pace_at <= now && self.next_segment().is_some()
    }

    #[inline]
    fn next_turn(&self) -> (Time, Time) {
        (self.pace_timer, self.rto_at.min(self.law.next_timeout()))
    }

    #[inline(always)]
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let segment = self.next_segment().filter(|_| self.pace_at <= cx.now)?;
        let end = segment.start + segment.len as u64;
        let is_last = self.closed && end == self.written;
        let flags = Flags::NONE
            .with_if(self.ecn, Flags::ECN_CAPABLE)
            .with_if(is_last, Flags::LAST)
            .with_if(segment.again, Flags::RETRANSMIT)
            .with_if(self.telemetry, Flags::TELEMETRY.with(Flags::EXTRA));
        let wire = self.framing.wire(segment.len) + self.stamp;
        let packet = Packet::data(Header::data(segment.start), segment.len, wire, cx.now).with_flags(flags);
        self.end_sent |= is_last;
        if end <= self.rtx_end {
            self.rtx_next = end;
            if segment.start == self.snd_una {
                self.rtx_at = cx.now;
            }
        } else {
            self.snd_nxt = end;
        }
        self.snd_max = self.snd_max.max(end);
        cx.stats.data_packets += 1;
        if segment.again {
            cx.stats.rare_mut().retransmits += 1;
        }
        self.law.on_sent(packet.wire.into(), cx.now);
        let pace = self.law.rate();
        let is_same = (pace, packet.wire) == (self.pace, self.last_wire);
        if pace != self.pace {
            self.pace = pace;
            self.window = self.law.window();
        }
        if !is_same {
            self.last_wire = packet.wire;
            self.set_gap();
        }
        self.pace_at = cx.now + self.gap;
        self.wait_for_pace(cx.now);
        if self.rto_at == Time::MAX {
            self.arm_rto(cx.now);
        }
        Some(packet)
    }

    fn write(&mut self, bytes: u64, cx: &mut Cx<'_>) {
        self.written += bytes;
        self.repace(cx.now);
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        self.closed = true;
        self.repace(cx.now);
    }

    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64 {
        self.written = self.snd_max;
        self.closed = true;
        self.repace(cx.now);
        self.written
    }

    fn acknowledged(&self) -> u64 {
        self.snd_una
    }
}

#[cfg(test)]
mod tests;
