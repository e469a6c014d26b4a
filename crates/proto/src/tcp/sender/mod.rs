//! The sending end of TCP: it decides which bytes may leave, which are lost, and when to stop waiting for an answer.

mod recovery;

use super::config::{Config, Ecn};
use super::controller::{AckEvent, CongestionEvent, Controller, Phase, RestartEvent, UNLIMITED};
use super::rtt::Rtt;
use crate::endpoint::{Cx, Endpoint, Env, Framing, Gauges};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::ranges::Ranges;
use clearway_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// The state of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Connection {
    /// There is no connection, and no data to open one for.
    Closed,
    /// A SYN is to leave.
    Opening,
    /// A SYN left, and is not answered yet.
    SynSent,
    /// The connection is established.
    Established,
}

/// The next packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Segment {
    start: u64,
    len: u32,
    kind: SegmentKind,
}

/// The reason for which a segment is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SegmentKind {
    /// The segment has bytes that were never sent before.
    New,
    /// The segment has bytes that are believed lost.
    Retransmission,
    /// The segment has the highest bytes outstanding, once per recovery (RFC 6675 sec. 4, `NextSeg` rule 4).
    Rescue,
    /// The segment is empty and tells that no bytes follow.
    End,
}

/// The sending end of a TCP flow under the controller `C`.
///
/// The stream, as offsets, from left to right:
///
/// ```text
///   acknowledged | retransmitted | lost, to be sent again | in flight | written | not yet written
///             snd_una         rtx_next               lost_below    snd_nxt   written
/// ```
///
/// Out of that, `scoreboard` holds the bytes that arrived although bytes before them did not. Without loss
/// `snd_una = rtx_next = lost_below` and the scoreboard is empty, so that every step takes constant time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sender<C> {
    control: C,

    /// The bytes that the application handed over so far.
    written: u64,
    /// The oldest byte that is not acknowledged.
    snd_una: u64,
    /// The first byte never sent.
    snd_nxt: u64,
    /// Lost bytes from here on have not been sent again (`HighRxt` of RFC 6675).
    rtx_next: u64,
    /// Bytes below this one are lost if they are neither acknowledged nor on the scoreboard.
    lost_below: u64,
    /// Recovery ends once all bytes below this one are acknowledged (`recover` of RFC 6582, `RecoveryPoint` of RFC
    /// 6675).
    recover: u64,
    /// Marks cause no second reaction until more than this is acknowledged.
    ecn_recover: u64,
    /// The value of `snd_nxt` when the window was last full.
    full_until: u64,
    /// The bytes that are known to have arrived out of order; empty without SACK.
    scoreboard: Ranges,
    /// The bytes in flight (`pipe` of RFC 6675).
    pipe: u64,
    /// Without SACK, the bytes that left the network according to duplicate acknowledgements (RFC 6582's inflation of
    /// the window).
    inflation: u64,

    rtt: Rtt,
    rto_min: Span,
    /// The time at which the retransmission timer expires.
    rto_at: Time,
    last_sent: Time,
    /// With pacing, the time from which on the next packet may leave.
    pace_at: Time,
    /// With pacing, the time to wake up for that packet; [`Time::MAX`] once that happened.
    pace_timer: Time,
    /// With pacing, the pace from which `pace_at` was computed.
    pace: Rate,

    framing: Framing,
    /// The receiver takes this many bytes from `snd_una` on.
    peer_window: u32,
    /// The window of a new flow, in bytes.
    initial_window: u32,
    dupthresh: u32,
    dupacks: u32,

    ecn: Ecn,
    phase: Phase,
    connection: Connection,
    sack: bool,
    idle_restart: bool,
    closed: bool,
    last_sent_flag: bool,
    last_acked: bool,
    /// True if the next packet with new data is to tell that the window was reduced (RFC 3168 sec. 6.1.2).
    cwr: bool,
    /// True if the first lost segment leaves at once, whatever the window (RFC 5681 sec. 3.2, step 3).
    force: bool,
    rescued: bool,
    /// True if a timeout has just been repaired without SACK, so that duplicate acknowledgements of `recover` may stem
    /// from the repair itself (RFC 6582 sec. 4).
    wary: bool,
}

impl<C: Controller> Sender<C> {
    /// Returns the sending end of a new flow under the controller `control`.
    pub fn new(config: &Config, env: &Env, control: C) -> Sender<C> {
        let mss = env.framing.payload_max;
        assert!(mss > 0, "a segment carries at least a byte");
        let established = env.established || !config.handshake;
        let rto_initial =
            config.rto_initial.or(if established { env.base_rtt * 3 } else { Span::from_secs(1) });
        Sender {
            control,
            written: 0,
            snd_una: 0,
            snd_nxt: 0,
            rtx_next: 0,
            lost_below: 0,
            recover: 0,
            ecn_recover: 0,
            full_until: 0,
            scoreboard: Ranges::default(),
            pipe: 0,
            inflation: 0,
            rtt: Rtt::new(rto_initial.max(config.rto_min)),
            rto_min: config.rto_min,
            rto_at: Time::MAX,
            last_sent: Time::ZERO,
            pace_at: Time::ZERO,
            pace_timer: Time::MAX,
            pace: Rate::ZERO,
            framing: env.framing,
            peer_window: super::receiver::window_field(config.receive_window),
            initial_window: mss.saturating_mul(config.initial_window),
            dupthresh: config.dupthresh,
            dupacks: 0,
            ecn: config.ecn,
            phase: Phase::Open,
            connection: if established { Connection::Established } else { Connection::Closed },
            sack: config.sack,
            idle_restart: config.idle_restart,
            closed: false,
            last_sent_flag: false,
            last_acked: false,
            cwr: false,
            force: false,
            rescued: false,
            wary: false,
        }
    }

    /// Returns the controller.
    pub fn control(&self) -> &C {
        &self.control
    }

    /// Returns the bytes in flight, as far as is known.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.pipe.saturating_sub(self.inflation)
    }

    /// Returns the smoothed round-trip time; zero before the first measurement.
    pub fn srtt(&self) -> Span {
        self.rtt.srtt()
    }

    #[inline]
    fn mss(&self) -> u64 {
        self.framing.payload_max as u64
    }

    /// Returns true if a packet was sent that is not acknowledged.
    #[inline]
    fn is_outstanding(&self) -> bool {
        self.snd_una < self.snd_nxt || (self.last_sent_flag && !self.last_acked)
    }

    /// Returns `FlightSize` less the bytes that limited transmit added (RFC 5681 sec. 3.2, step 2).
    fn flight(&self) -> u64 {
        (self.snd_nxt - self.snd_una).min(self.control.limits().cwnd.max(self.mss()))
    }

    fn congestion(&self, now: Time) -> CongestionEvent {
        CongestionEvent { now, flight: self.flight(), snd_nxt: self.snd_nxt, repeated: self.rtt.backoff > 0 }
    }

    /// Takes over a new pace of the controller: the rest of the wait for the next packet shrinks or grows in
    /// proportion.
    #[inline]
    fn repace(&mut self, now: Time) {
        let Some(pace) = self.control.limits().pacing.filter(|pace| *pace != self.pace) else { return };
        if !pace.is_zero() && !self.pace.is_zero() && self.pace_at > now {
            let left = (self.pace_at - now).as_ps() as u128 * self.pace.as_bps() as u128;
            let left = left.div_ceil(pace.as_bps() as u128).min(u64::MAX as u128) as u64;
            self.pace_at = now.saturating_add(Span::from_ps(left));
            self.pace_timer = self.pace_at;
        }
        self.pace = pace;
    }

    fn open(&mut self) {
        if self.connection == Connection::Closed {
            self.connection = Connection::Opening;
        }
    }

    #[cold]
    fn syn(&mut self, now: Time) -> Packet {
        self.connection = Connection::SynSent;
        self.rto_at = now.saturating_add(self.rtt.rto());
        Packet::control(self.control.syn_header(), self.framing.wire(0), now)
    }

    /// Computes the bytes in flight anew (`SetPipe` of RFC 6675 sec. 4): those not lost, and those sent again.
    #[inline]
    fn set_pipe(&mut self) {
        self.rtx_next = self.rtx_next.max(self.snd_una);
        self.lost_below = self.lost_below.max(self.snd_una);
        self.pipe = (self.snd_nxt - self.lost_below) + (self.rtx_next - self.snd_una);
        if !self.scoreboard.is_empty() {
            self.pipe -= self.scoreboard.covered(self.lost_below, self.snd_nxt)
                + self.scoreboard.covered(self.snd_una, self.rtx_next);
        }
    }

    /// Returns true if the congestion window has room for `len` bytes more. One segment may always be in flight.
    #[inline(always)]
    fn fits(&self, len: u32) -> bool {
        let in_flight = self.in_flight();
        in_flight == 0 || in_flight + len as u64 <= self.control.limits().cwnd
    }

    /// Returns the size of the largest segment that may be sent.
    #[inline(always)]
    fn segment_max(&self) -> u64 {
        self.mss().min(self.peer_window.max(1) as u64)
    }

    /// Returns the segment that may leave now (`NextSeg` of RFC 6675 sec. 4).
    #[inline(always)]
    fn next_segment(&self, now: Time) -> Option<Segment> {
        if self.connection != Connection::Established || (C::PACES && now < self.pace_at) {
            return None;
        }
        if self.rtx_next < self.lost_below || self.phase == Phase::Recovery {
            return self.next_in_recovery();
        }
        self.next_new().filter(|new| new.kind == SegmentKind::End || self.fits(new.len))
    }

    /// Returns the next segment of new bytes, whether or not the congestion window has room for it.
    #[inline(always)]
    fn next_new(&self) -> Option<Segment> {
        let (start, unsent) = (self.snd_nxt, self.written - self.snd_nxt);
        if unsent == 0 {
            let is_end = self.closed && !self.last_sent_flag;
            return is_end.then_some(Segment { start, len: 0, kind: SegmentKind::End });
        }
        let len = self.segment_max().min(unsent);
        // The right-hand side allows one segment beyond a closed window, if nothing is outstanding.
        let is_open = start + len <= self.snd_una + (self.peer_window as u64).max(len);
        is_open.then_some(Segment { start, len: len as u32, kind: SegmentKind::New })
    }
}

impl<C: Controller> Endpoint for Sender<C> {
    fn handle_packet(&mut self, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>) {
        if C::PACES && self.pace_timer <= cx.now {
            self.pace_timer = Time::MAX;
        }
        match packet.header {
            Header::Ack { .. } => {
                self.handle_ack(packet, extra, cx);
                if C::PACES {
                    self.repace(cx.now);
                }
            }
            Header::SynAck { window, rate, echo } if self.connection == Connection::SynSent => {
                self.connection = Connection::Established;
                self.peer_window = window;
                self.rto_at = Time::MAX;
                if self.rtt.backoff > 0 {
                    // RFC 5681 sec. 3.1: one segment, if the SYN or its answer was lost.
                    let window = self.mss();
                    let event = RestartEvent { now: cx.now, idle: Span::ZERO, window };
                    self.control.on_restart(&event);
                }
                self.rtt.backoff = 0;
                let rtt = cx.now.saturating_since(echo);
                self.rtt.sample(rtt, self.rto_min);
                self.control.on_open(rtt, rate, packet.sent);
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if C::PACES && self.pace_timer <= cx.now {
            self.pace_timer = Time::MAX;
        }
        if cx.now < self.rto_at {
            return;
        }
        if self.connection == Connection::Established {
            self.expire(cx);
        } else {
            self.rtt.backoff = self.rtt.backoff.saturating_add(1);
            self.rto_at = Time::MAX;
            self.connection = Connection::Opening;
        }
    }

    #[inline]
    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.connection == Connection::Opening { Some(self.syn(cx.now)) } else { None }
    }

    #[inline]
    fn next_timeout(&self) -> Time {
        if C::PACES && self.pace_timer < self.rto_at && self.next_segment(Time::MAX).is_some() {
            return self.pace_timer;
        }
        self.rto_at
    }

    #[inline]
    fn is_finished(&self) -> bool {
        self.closed && self.snd_una == self.written && self.last_acked
    }

    fn gauges(&self) -> Gauges {
        let limits = self.control.limits();
        let srtt = self.rtt.srtt().as_secs_f64();
        let cwnd = if limits.cwnd < UNLIMITED { limits.cwnd as f64 } else { f64::NAN };
        let unknown = if srtt > 0.0 { cwnd * 8.0 / srtt } else { f64::NAN };
        let rate = limits.pacing.map_or(unknown, |rate| rate.as_bps_f64());
        Gauges { cwnd, rate, srtt: if srtt > 0.0 { srtt } else { f64::NAN } }
    }
}

impl<C: Controller> crate::endpoint::Sender for Sender<C> {
    #[inline]
    fn wants_transmit(&self, now: Time) -> bool {
        self.next_segment(now).is_some()
    }

    #[inline(always)]
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let now = cx.now;
        let mut segment = self.next_segment(now)?;
        if segment.kind == SegmentKind::New && self.snd_una == self.snd_nxt && self.idle_restart {
            let idle = now.saturating_since(self.last_sent);
            if idle > self.rtt.rto() && self.snd_nxt > 0 {
                let window = self.initial_window as u64;
                self.control.on_restart(&RestartEvent { now, idle, window });
                segment = self.next_segment(now)?;
            }
        }
        let Segment { start, len, kind } = segment;
        let end = start + len as u64;
        let mut packet = Packet::data(self.control.data_header(start), len, self.framing.wire(len), now);
        match kind {
            SegmentKind::New => {
                self.snd_nxt = end;
                self.pipe += len as u64;
                packet.flags.set(Flags::NONE.with_if(self.ecn != Ecn::Off, Flags::ECN_CAPABLE));
                packet.flags.set(Flags::NONE.with_if(self.cwr, Flags::CWR));
                self.cwr = false;
            }
            SegmentKind::Retransmission => {
                self.rtx_next = end;
                self.pipe += len as u64;
                self.force = false;
            }
            SegmentKind::Rescue => self.rescued = true,
            SegmentKind::End => {}
        }
        if matches!(kind, SegmentKind::Retransmission | SegmentKind::Rescue) {
            packet.flags.set(Flags::RETRANSMIT);
            // RFC 3168 sec. 6.1.5 forbids it for others; DCTCP as in Linux.
            packet.flags.set(Flags::NONE.with_if(self.ecn == Ecn::Exact, Flags::ECN_CAPABLE));
            cx.stats.rare_mut().retransmits += 1;
        }
        if self.closed && end == self.written {
            packet.flags.set(Flags::LAST);
            self.last_sent_flag = true;
        }
        cx.stats.data_packets += 1;

        let limits = self.control.limits();
        if self.in_flight() + self.mss() > limits.cwnd {
            self.full_until = self.snd_nxt;
        }
        self.last_sent = now;
        if self.rto_at == Time::MAX {
            self.rto_at = now.saturating_add(self.rtt.rto());
        }
        if C::PACES
            && let Some(rate) = limits.pacing.filter(|rate| !rate.is_zero())
        {
            let gap = rate.time_to_send(Bytes::new(packet.wire as u64));
            self.pace_at = self.pace_at.max(now).saturating_add(gap);
            self.pace_timer = self.pace_at;
            self.pace = rate;
        }
        Some(packet)
    }

    fn write(&mut self, bytes: u64, _: &mut Cx<'_>) {
        debug_assert!(!self.closed, "written after the end");
        self.written += bytes;
        self.open();
    }

    fn close(&mut self, _: &mut Cx<'_>) {
        self.closed = true;
        self.open();
    }

    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64 {
        self.written = self.snd_nxt;
        self.close(cx);
        self.written
    }

    fn acknowledged(&self) -> u64 {
        self.snd_una
    }

    fn set_rate(&mut self, rate: Rate, cx: &mut Cx<'_>) {
        self.control.set_rate(rate);
        if C::PACES {
            self.repace(cx.now);
        }
    }
}

#[cfg(test)]
mod tests;
