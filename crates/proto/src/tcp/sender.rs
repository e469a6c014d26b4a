//! The sending end: which bytes may leave, which are lost, and when to give up waiting.

use super::config::{Config, Ecn};
use super::controller::{AckEvent, CongestionEvent, Controller, Phase, RestartEvent, UNLIMITED};
use super::ranges::Ranges;
use super::rtt::Rtt;
use crate::endpoint::{Cx, Endpoint, Env, Framing, Gauges};
use crate::packet::{Extra, Flags, Kind, Packet};
use clearway_units::{Bytes, Rate, Span, Time};

/// Whether there is a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Connection {
    /// None, and nothing to open one for.
    Closed,
    /// A `SYN` has to leave.
    Opening,
    /// A `SYN` left.
    SynSent,
    /// It stands.
    Established,
}

/// What may leave next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Segment {
    start: u64,
    len: u32,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// Bytes never sent before.
    New,
    /// Bytes that are believed lost.
    Again,
    /// The highest bytes outstanding, once per recovery (RFC 6675 sec. 4, `NextSeg` rule 4).
    Rescue,
    /// No bytes: that nothing follows.
    Last,
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
#[derive(Clone, Debug)]
pub struct Sender<C> {
    control: C,

    /// Bytes that the application handed over.
    written: u64,
    /// Oldest byte not acknowledged.
    snd_una: u64,
    /// First byte never sent.
    snd_nxt: u64,
    /// Lost bytes from here on have not been sent again (`HighRxt` of RFC 6675).
    rtx_next: u64,
    /// Bytes below that are neither acknowledged nor on the scoreboard are lost.
    lost_below: u64,
    /// Recovery is over once all below is acknowledged (`recover` of RFC 6582, `RecoveryPoint` of RFC 6675).
    recover: u64,
    /// No second reaction to marks until more than this is acknowledged.
    ecn_recover: u64,
    /// `snd_nxt` when the window was last full.
    full_until: u64,
    /// Bytes that arrived out of order; stays empty without SACK.
    scoreboard: Ranges,
    /// Bytes in flight (`pipe` of RFC 6675).
    pipe: u64,
    /// Segments that left the network according to duplicate acknowledgements, without SACK (RFC 6582's inflation
    /// of the window), in bytes.
    inflation: u64,

    rtt: Rtt,
    rto_min: Span,
    /// When the retransmission timer expires.
    rto_at: Time,
    last_sent: Time,
    /// With pacing: when the next packet may leave.
    pace_at: Time,
    /// With pacing: when to wake up for it, until that happened.
    pace_timer: Time,
    /// With pacing: the pace from which `pace_at` was computed.
    pace: Rate,

    framing: Framing,
    /// The receiver takes this many bytes from `snd_una` on.
    peer_window: u32,
    /// In bytes.
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
    /// The next packet with new data says that the window was reduced (RFC 3168 sec. 6.1.2).
    cwr: bool,
    /// The first lost segment leaves whatever the window says (RFC 5681 sec. 3.2, step 3).
    force: bool,
    rescued: bool,
    /// A timeout has just been repaired without SACK: duplicate acknowledgements of `recover` may stem from the
    /// repair itself (RFC 6582 sec. 4).
    wary: bool,
}

impl<C: Controller> Sender<C> {
    /// For a new flow.
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

    /// Its controller.
    pub fn control(&self) -> &C {
        &self.control
    }

    /// Bytes in flight, as far as is known.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.pipe.saturating_sub(self.inflation)
    }

    /// Smoothed round-trip time; zero before the first measurement.
    pub fn srtt(&self) -> Span {
        self.rtt.srtt()
    }

    #[inline]
    fn mss(&self) -> u64 {
        self.framing.payload_max as u64
    }

    /// Whether something was sent that is not acknowledged.
    #[inline]
    fn is_outstanding(&self) -> bool {
        self.snd_una < self.snd_nxt || (self.last_sent_flag && !self.last_acked)
    }

    /// `FlightSize` without what limited transmit added (RFC 5681 sec. 3.2, step 2).
    fn flight(&self) -> u64 {
        (self.snd_nxt - self.snd_una).min(self.control.limits().cwnd.max(self.mss()))
    }

    fn congestion(&self, now: Time) -> CongestionEvent {
        CongestionEvent { now, flight: self.flight(), snd_nxt: self.snd_nxt, repeated: self.rtt.backoff > 0 }
    }

    /// The controller's pace may have changed: what is left of the wait for the next packet shrinks or grows with it.
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

    /// Sums up again what is in flight (`SetPipe` of RFC 6675 sec. 4): what is not lost, and what was sent again.
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

    /// What may leave now (`NextSeg` of RFC 6675 sec. 4).
    #[inline]
    fn next_segment(&self, now: Time) -> Option<Segment> {
        if self.connection != Connection::Established || (C::PACES && now < self.pace_at) {
            return None;
        }
        let cwnd = self.control.limits().cwnd;
        let in_flight = self.in_flight();
        let fits = |len: u64| in_flight == 0 || in_flight + len <= cwnd;
        let segment = |start, len: u64, what| Some(Segment { start, len: len as u32, what });
        let mss = self.mss().min(self.peer_window.max(1) as u64);

        // Rule 1: what is lost.
        if self.rtx_next < self.lost_below
            && let Some((start, end)) = self.scoreboard.gap(self.rtx_next, self.lost_below)
        {
            let len = mss.min(end - start);
            return if self.force || fits(len) { segment(start, len, What::Again) } else { None };
        }
        // Rule 2: what is new.
        let unsent = self.written - self.snd_nxt;
        if unsent > 0 {
            let len = mss.min(unsent);
            if self.snd_nxt + len <= self.snd_una + (self.peer_window as u64).max(len) {
                // The right-hand side allows one segment beyond a closed window, if nothing is outstanding.
                return if fits(len) { segment(self.snd_nxt, len, What::New) } else { None };
            }
        } else if self.closed && !self.last_sent_flag {
            return segment(self.snd_nxt, 0, What::Last);
        }
        // Rules 3 and 4: what may be lost, while there is nothing better to do.
        if self.phase == Phase::Recovery && self.sack && !self.scoreboard.is_empty() {
            let sacked_end = self.scoreboard.end();
            if let Some((start, end)) = self.scoreboard.gap(self.rtx_next, sacked_end) {
                let len = mss.min(end - start);
                return if fits(len) { segment(start, len, What::Again) } else { None };
            }
            if !self.rescued && sacked_end < self.snd_nxt {
                let len = mss.min(self.snd_nxt - sacked_end);
                return if fits(len) { segment(self.snd_nxt - len, len, What::Rescue) } else { None };
            }
        }
        None
    }

    fn handle_ack(&mut self, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>) {
        let now = cx.now;
        let ack = packet.ack;
        debug_assert!(ack <= self.snd_nxt, "acknowledgement of bytes never sent");
        if ack > self.snd_nxt {
            return;
        }
        let rtt = now.saturating_since(packet.echo);
        self.rtt.sample(rtt, self.rto_min);
        let una_before = self.snd_una;
        let acked = ack.saturating_sub(una_before);
        let in_flight = self.in_flight();
        let mut delivered = acked;
        if ack >= una_before {
            self.snd_una = ack;
            self.peer_window = packet.window;
        }
        if acked > 0 && !self.scoreboard.is_empty() {
            delivered -= self.scoreboard.remove_below(ack);
        }
        let mut sacked = 0;
        if self.sack && packet.flags.has(Flags::EXTRA) {
            for block in &extra.sack {
                let (start, end) = (block.start.max(self.snd_una), block.end.min(self.snd_nxt));
                if start < end {
                    sacked += self.scoreboard.insert(start, end);
                }
            }
            delivered += sacked;
        }
        if packet.flags.has(Flags::LAST) {
            self.last_acked = true;
            self.last_sent_flag = true;
        }

        let echo = self.ecn != Ecn::Off && packet.flags.has(Flags::ECN_ECHO);
        self.control.on_ack(&AckEvent {
            now,
            acked,
            delivered,
            rtt,
            srtt: self.rtt.srtt(),
            one_way: packet.sent.saturating_since(packet.echo),
            stamp: packet.seq,
            ecn_echo: echo,
            in_flight,
            cwnd_limited: una_before < self.full_until,
            phase: self.phase,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
        });

        let mut restart_timer = acked > 0;
        if acked > 0 {
            self.dupacks = 0;
            self.rtt.backoff = 0;
            if self.phase == Phase::Open {
                self.inflation = 0;
            } else if self.snd_una >= self.recover {
                self.leave_recovery();
            } else if self.phase == Phase::Recovery && !self.sack {
                restart_timer = self.partial_ack(acked);
            }
        } else if ack == self.snd_una && self.snd_una < self.snd_nxt && (sacked > 0 || !self.sack) {
            self.dupacks += 1;
            // Limited transmit (RFC 3042) before recovery, inflation (RFC 6582 sec. 3.2, step 2) within.
            let limited = self.phase == Phase::Open && self.dupacks <= self.dupthresh;
            if !self.sack && (limited || self.phase == Phase::Recovery) {
                self.inflation += self.mss();
            }
        }
        if !self.scoreboard.is_empty() {
            self.lost_below = self.lost_below.max(self.scoreboard.lost_below(self.dupthresh, self.mss()));
        }
        self.set_pipe();
        if self.phase == Phase::Open && self.snd_una < self.snd_nxt {
            let suspicious = self.dupacks >= self.dupthresh || self.lost_below > self.snd_una;
            if suspicious && !(self.wary && self.snd_una == self.recover) {
                self.enter_recovery(now);
            }
        }
        if echo && self.phase == Phase::Open && self.snd_una > self.ecn_recover {
            self.control.on_ecn(&self.congestion(now));
            self.reduced();
        }

        if !self.is_outstanding() {
            self.rto_at = Time::MAX;
        } else if restart_timer {
            self.rto_at = now.saturating_add(self.rtt.rto());
        }
    }

    /// The window was reduced: marks of data sent so far are answered by that, and the receiver is to hear of it.
    fn reduced(&mut self) {
        self.ecn_recover = self.snd_nxt;
        self.cwr = self.ecn == Ecn::Classic;
    }

    /// Fast retransmit (RFC 6582 sec. 3.2, step 2; RFC 6675 sec. 5, step 4).
    fn enter_recovery(&mut self, now: Time) {
        self.control.on_loss(&self.congestion(now));
        self.reduced();
        self.phase = Phase::Recovery;
        self.recover = self.snd_nxt;
        self.rescued = false;
        self.wary = false;
        self.rtx_next = self.snd_una;
        self.lose_first_segment();
    }

    /// Takes the first segment outstanding for lost and sends it again at once.
    fn lose_first_segment(&mut self) {
        let limit = (self.snd_una + self.mss()).min(self.snd_nxt);
        self.lost_below = self.lost_below.max(limit);
        self.force = true;
        self.set_pipe();
    }

    /// Progress within recovery without SACK: the next segment is lost too (RFC 6582 sec. 3.2, step 3). Returns
    /// whether to restart the timer: only the first time, so that many losses end in a timeout ("impatient").
    fn partial_ack(&mut self, acked: u64) -> bool {
        let mss = self.mss();
        self.inflation = self.inflation.saturating_sub(acked);
        if acked >= mss {
            self.inflation += mss;
        }
        self.rtx_next = self.snd_una;
        self.lose_first_segment();
        !std::mem::replace(&mut self.rescued, true)
    }

    fn leave_recovery(&mut self) {
        if self.phase == Phase::Loss {
            self.wary = !self.sack;
        } else if !self.sack {
            self.control.on_recovered(self.snd_nxt - self.snd_una);
        }
        self.phase = Phase::Open;
        self.force = false;
        self.inflation = 0;
        self.rtx_next = self.snd_una;
        self.lost_below = self.snd_una;
    }

    /// RFC 6298 sec. 5.4 to 5.7, RFC 5681 sec. 3.1, RFC 6675 sec. 5.1.
    fn expire(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now;
        if self.snd_una < self.snd_nxt {
            cx.stats.timeouts += 1;
            self.control.on_timeout(&self.congestion(now));
            self.reduced();
            self.phase = Phase::Loss;
            self.recover = self.snd_nxt;
            self.dupacks = 0;
            self.inflation = 0;
            self.force = false;
            self.rtx_next = self.snd_una;
            // All that is not on the scoreboard counts as lost. The receiver never drops what it reported, so the
            // scoreboard stays (RFC 6675 sec. 5.1).
            self.lost_below = self.snd_nxt;
            self.set_pipe();
        }
        self.last_sent_flag &= self.last_acked;
        self.rtt.backoff = self.rtt.backoff.saturating_add(1);
        self.rto_at = now.saturating_add(self.rtt.rto());
    }
}

impl<C: Controller> Endpoint for Sender<C> {
    fn handle_packet(&mut self, packet: &Packet, extra: &Extra, cx: &mut Cx<'_>) {
        if C::PACES && self.pace_timer <= cx.now {
            self.pace_timer = Time::MAX;
        }
        match packet.kind {
            Kind::Ack => {
                self.handle_ack(packet, extra, cx);
                if C::PACES {
                    self.repace(cx.now);
                }
            }
            Kind::SynAck if self.connection == Connection::SynSent => {
                self.connection = Connection::Established;
                self.peer_window = packet.window;
                self.rto_at = Time::MAX;
                if self.rtt.backoff > 0 {
                    // RFC 5681 sec. 3.1: one segment, if the SYN or its answer was lost.
                    let window = self.mss();
                    let event = RestartEvent { now: cx.now, idle: Span::ZERO, window };
                    self.control.on_restart(&event);
                }
                self.rtt.backoff = 0;
                let rtt = cx.now.saturating_since(packet.echo);
                self.rtt.sample(rtt, self.rto_min);
                self.control.on_open(rtt, packet.seq);
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

    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.connection != Connection::Opening {
            return None;
        }
        self.connection = Connection::SynSent;
        self.rto_at = cx.now.saturating_add(self.rtt.rto());
        let mut packet = Packet::new(Kind::Syn, self.framing.wire(0));
        packet.sent = cx.now;
        self.control.stamp(&mut packet);
        Some(packet)
    }

    #[inline]
    fn wants_transmit(&self, now: Time) -> bool {
        self.next_segment(now).is_some()
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let now = cx.now;
        let mut segment = self.next_segment(now)?;
        if segment.what == What::New && self.snd_una == self.snd_nxt && self.idle_restart {
            let idle = now.saturating_since(self.last_sent);
            if idle > self.rtt.rto() && self.snd_nxt > 0 {
                let window = self.initial_window as u64;
                self.control.on_restart(&RestartEvent { now, idle, window });
                segment = self.next_segment(now)?;
            }
        }
        let Segment { start, len, what } = segment;
        let end = start + len as u64;
        let mut packet = Packet::new(Kind::Data, self.framing.wire(len));
        packet.seq = start;
        packet.payload = len;
        packet.sent = now;
        self.control.stamp(&mut packet);
        match what {
            What::New => {
                self.snd_nxt = end;
                self.pipe += len as u64;
                packet.flags.set(Flags::NONE.with_if(self.ecn != Ecn::Off, Flags::ECN_CAPABLE));
                packet.flags.set(Flags::NONE.with_if(self.cwr, Flags::CWR));
                self.cwr = false;
            }
            What::Again => {
                self.rtx_next = end;
                self.pipe += len as u64;
                self.force = false;
            }
            What::Rescue => self.rescued = true,
            What::Last => {}
        }
        if matches!(what, What::Again | What::Rescue) {
            packet.flags.set(Flags::RETRANSMIT);
            // RFC 3168 sec. 6.1.5 forbids it for others; DCTCP as in Linux.
            packet.flags.set(Flags::NONE.with_if(self.ecn == Ecn::Exact, Flags::ECN_CAPABLE));
            cx.stats.retransmits += 1;
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

    #[inline]
    fn next_timeout(&self) -> Time {
        if C::PACES && self.pace_timer < self.rto_at && self.next_segment(Time::MAX).is_some() {
            return self.pace_timer;
        }
        self.rto_at
    }

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

    fn set_rate(&mut self, rate: Rate, cx: &mut Cx<'_>) {
        self.control.set_rate(rate);
        if C::PACES {
            self.repace(cx.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::newreno::{Params, Reno};
    use super::*;
    use crate::endpoint::{Sender as _, Stats};
    use crate::packet::SackBlock;
    use crate::params::ParamSet;
    use crate::rng::{Entity, Rng};
    use clearway_units::Rate;

    /// Segments of 1000 bytes.
    const S: u64 = 1000;

    /// A sender at a time, with all that it needs.
    struct Bench {
        sender: Sender<Reno>,
        now: Time,
        rng: Rng,
        stats: Stats,
    }

    impl Bench {
        /// A sender with `segments` to send.
        fn new(segments: u64, values: &[(&str, &str)], ecn: Ecn) -> Bench {
            let env = Env {
                line_rate: Rate::gbps(10),
                path_rate: Rate::gbps(10),
                base_rtt: Span::from_us(100),
                framing: Framing { payload_max: S as u32, ..Framing::ETHERNET },
                established: false,
            };
            let mut params = Params::default();
            values.iter().for_each(|(name, value)| params.set(name, value).unwrap());
            let config = params.config(ecn);
            let sender = Sender::new(&config, &env, Reno::new(&config, &env));
            let rng = Rng::stream(1, Entity::Sender, 1);
            let mut bench = Bench { sender, now: Time::ZERO, rng, stats: Stats::default() };
            let (sender, mut cx) = bench.parts();
            sender.write(segments * S, &mut cx);
            sender.close(&mut cx);
            bench
        }

        fn parts(&mut self) -> (&mut Sender<Reno>, Cx<'_>) {
            (&mut self.sender, Cx { now: self.now, rng: &mut self.rng, stats: &mut self.stats })
        }

        fn at_us(&mut self, us: u64) -> &mut Bench {
            self.now = Time::ZERO + Span::from_us(us);
            self
        }

        /// All that may leave now, as segment numbers.
        fn sends(&mut self) -> Vec<u64> {
            self.packets().iter().map(|packet| packet.seq / S).collect()
        }

        fn packets(&mut self) -> Vec<Packet> {
            let (sender, mut cx) = self.parts();
            std::iter::from_fn(|| sender.poll_transmit(&mut cx)).collect()
        }

        /// An acknowledgement up to segment `ack`, with ranges of segments that arrived beyond.
        fn ack(&mut self, ack: u64, flags: Flags, sack: &[(u64, u64)]) {
            let mut packet = Packet::new(Kind::Ack, 84);
            packet.ack = ack * S;
            packet.window = self.sender.peer_window;
            packet.echo = self.now - Span::from_us(100);
            packet.flags = flags.with_if(!sack.is_empty(), Flags::EXTRA);
            let mut extra = Extra::default();
            for (block, (start, end)) in extra.sack.iter_mut().zip(sack) {
                *block = SackBlock { start: start * S, end: end * S };
            }
            let (sender, mut cx) = self.parts();
            sender.handle_packet(&packet, &extra, &mut cx);
        }

        fn plain_ack(&mut self, ack: u64) {
            self.ack(ack, Flags::NONE, &[]);
        }

        fn fires(&mut self) {
            self.now = self.sender.next_timeout();
            let (sender, mut cx) = self.parts();
            sender.handle_timeout(&mut cx);
        }

        fn cwnd(&self) -> u64 {
            self.sender.control().limits().cwnd / S
        }
    }

    #[test]
    fn a_sender_is_small() {
        assert!(size_of::<Sender<Reno>>() <= 256, "{}", size_of::<Sender<Reno>>());
    }

    #[test]
    fn the_pipe_leaves_out_what_arrived_and_what_is_lost_rfc_6675_section_4() {
        let mut bench = Bench::new(50, &[], Ecn::Off);
        assert_eq!(bench.sends(), (0..10).collect::<Vec<_>>());
        bench.at_us(100).ack(0, Flags::NONE, &[(1, 2)]);
        assert_eq!(bench.sender.in_flight(), 9 * S);
        assert_eq!(bench.sends(), [10], "limited transmit");
        bench.ack(0, Flags::NONE, &[(1, 3)]);
        assert_eq!(bench.sends(), [11]);
        bench.ack(0, Flags::NONE, &[(1, 4)]);
        // 12 outstanding, 3 arrived, 1 lost; window = FlightSize / 2 without the two of limited transmit.
        assert_eq!((bench.sender.in_flight(), bench.cwnd()), (8 * S, 5));
        assert_eq!(bench.sends(), [0], "the first retransmission does not wait for the window");
        assert_eq!(bench.sender.in_flight(), 9 * S);
    }

    #[test]
    fn lost_bytes_go_before_new_ones_and_possibly_lost_ones_come_last_rfc_6675_section_4() {
        let mut bench = Bench::new(10, &[], Ecn::Off);
        bench.sends();
        // 0, 2 and 4 are lost for sure; 8 may be; 9 is unknown.
        bench.at_us(100).ack(0, Flags::NONE, &[(1, 2), (3, 4), (5, 8)]);
        assert_eq!(bench.sends(), [0, 2, 4], "window 5; 8 and 9 count as in flight");
        bench.at_us(200).ack(2, Flags::NONE, &[(3, 4), (5, 8)]);
        // 0 and 1 are done; 8, 9 and the retransmitted 2 and 4 are in flight.
        assert_eq!(bench.sends(), [9], "rescue: nothing new, nothing lost, nothing below the highest known");
        assert!(bench.packets().is_empty(), "only once");
    }

    #[test]
    fn a_gap_below_the_highest_arrival_is_repaired_when_nothing_else_is_left_rfc_6675_section_4() {
        let mut bench = Bench::new(10, &[], Ecn::Off);
        bench.sends();
        bench.at_us(100).ack(0, Flags::NONE, &[(1, 7), (8, 9)]);
        assert_eq!(bench.sends(), [0, 7, 9], "lost; rule 3; rule 4");
    }

    #[test]
    fn a_timeout_keeps_what_is_known_to_have_arrived_rfc_6675_section_5_1() {
        let mut bench = Bench::new(10, &[], Ecn::Off);
        bench.sends();
        bench.at_us(100).ack(0, Flags::NONE, &[(2, 4)]);
        bench.fires();
        assert_eq!((bench.cwnd(), bench.stats.timeouts), (1, 1));
        assert_eq!(bench.sends(), [0]);
        bench.ack(1, Flags::NONE, &[(2, 4)]);
        assert_eq!(bench.sends(), [1, 4], "slow start, past what arrived");
    }

    #[test]
    fn each_duplicate_in_recovery_inflates_and_a_partial_acknowledgement_deflates_rfc_6582_section_3_2() {
        let mut bench = Bench::new(50, &[("sack", "false")], Ecn::Off);
        bench.sends();
        bench.at_us(100);
        bench.plain_ack(0);
        assert_eq!(bench.sends(), [10], "limited transmit (RFC 3042)");
        bench.plain_ack(0);
        assert_eq!(bench.sends(), [11], "limited transmit (RFC 3042)");
        bench.plain_ack(0);
        assert_eq!(bench.cwnd(), 5);
        assert_eq!(bench.sends(), [0]);
        // ssthresh 5 + 3 duplicates against 12 outstanding: four more make room for none, a fifth for one.
        (0..4).for_each(|_| bench.plain_ack(0));
        assert!(bench.sends().is_empty());
        bench.plain_ack(0);
        assert_eq!(bench.sends(), [12]);
        // Up to 4: of the inflation of 8, 4 go and 1 comes back. 9 outstanding against 5 + 5.
        bench.plain_ack(4);
        assert_eq!(bench.sends(), [4, 13]);
        bench.plain_ack(13);
        assert_eq!(bench.cwnd(), 2, "min(ssthresh, max(FlightSize, SMSS) + SMSS)");
        assert_eq!(bench.sender.phase, Phase::Open);
    }

    #[test]
    fn only_the_first_partial_acknowledgement_restarts_the_timer_rfc_6582_section_4() {
        let mut bench = Bench::new(50, &[("sack", "false")], Ecn::Off);
        bench.sends();
        bench.at_us(100);
        (0..3).for_each(|_| bench.plain_ack(0));
        bench.sends();
        bench.at_us(200).plain_ack(2);
        let first = bench.sender.next_timeout();
        assert_eq!(first, bench.now + Span::from_ms(10));
        bench.at_us(300).plain_ack(4);
        assert_eq!(bench.sender.next_timeout(), first);
    }

    #[test]
    fn duplicates_that_a_timeouts_repair_caused_are_not_a_new_loss_rfc_6582_section_4() {
        let mut bench = Bench::new(50, &[("sack", "false")], Ecn::Off);
        bench.sends();
        bench.fires();
        assert_eq!(bench.sends(), [0]);
        bench.plain_ack(10);
        bench.sends();
        (0..4).for_each(|_| bench.plain_ack(10));
        assert_eq!(bench.sender.phase, Phase::Open);
        assert!(bench.packets().iter().all(|packet| !packet.flags.has(Flags::RETRANSMIT)));
    }

    #[test]
    fn the_timer_starts_with_data_restarts_with_progress_and_stops_at_the_end_rfc_6298_section_5() {
        let mut bench = Bench::new(2, &[], Ecn::Off);
        assert_eq!(bench.sender.next_timeout(), Time::MAX);
        bench.sends();
        assert_eq!(bench.sender.next_timeout(), Time::ZERO + Span::from_ms(10), "5.1");
        bench.at_us(100).plain_ack(1);
        assert_eq!(bench.sender.next_timeout(), bench.now + Span::from_ms(10), "5.3");
        bench.ack(2, Flags::LAST, &[]);
        assert_eq!(bench.sender.next_timeout(), Time::MAX, "5.2");
        assert!(bench.sender.is_finished());
    }

    #[test]
    fn a_timer_call_too_early_is_harmless() {
        let mut bench = Bench::new(2, &[], Ecn::Off);
        bench.sends();
        bench.at_us(9_999);
        let (sender, mut cx) = bench.parts();
        sender.handle_timeout(&mut cx);
        assert_eq!(bench.stats.timeouts, 0);
        assert!(bench.sends().is_empty());
    }

    #[test]
    fn marks_are_answered_once_per_window_and_the_receiver_is_told_rfc_3168_section_6_1_2() {
        let mut bench = Bench::new(50, &[], Ecn::Classic);
        assert!(bench.packets().iter().all(|packet| packet.flags.has(Flags::ECN_CAPABLE)));
        bench.at_us(100);
        (1..=4).for_each(|ack| bench.ack(ack, Flags::ECN_ECHO, &[]));
        assert_eq!(bench.cwnd(), 5);
        (5..=10).for_each(|ack| bench.ack(ack, Flags::ECN_ECHO, &[]));
        assert_eq!(bench.cwnd(), 5, "all of that left before the reduction");
        let packets = bench.packets();
        let told: Vec<_> = packets.iter().map(|packet| packet.flags.has(Flags::CWR)).collect();
        assert_eq!(told, [true, false, false, false, false]);
        bench.at_us(200).ack(11, Flags::ECN_ECHO, &[]);
        assert_eq!(bench.cwnd(), 2, "max(5 / 2, 2)");
    }

    #[test]
    fn what_is_sent_again_is_not_ecn_capable_but_with_dctcp_rfc_3168_section_6_1_5() {
        for (ecn, capable) in [(Ecn::Classic, false), (Ecn::Exact, true)] {
            let mut bench = Bench::new(10, &[], ecn);
            bench.sends();
            bench.fires();
            let packet = bench.packets()[0];
            assert!(packet.flags.has(Flags::RETRANSMIT));
            assert_eq!(packet.flags.has(Flags::ECN_CAPABLE), capable);
        }
    }

    #[test]
    fn a_window_smaller_than_a_segment_lets_a_small_segment_through() {
        let mut bench = Bench::new(2, &[("receive_window", "300 B")], Ecn::Off);
        let packets = bench.packets();
        assert_eq!(packets.iter().map(|packet| packet.payload).collect::<Vec<_>>(), [300]);
        let mut bench = Bench::new(2, &[("receive_window", "1.5 KB")], Ecn::Off);
        assert_eq!(bench.packets().len(), 1, "no silly 500 bytes (RFC 1122 sec. 4.2.3.4)");
    }

    #[test]
    fn a_closed_window_is_probed_with_a_byte_rfc_1122_section_4_2_2_17() {
        let mut bench = Bench::new(20, &[], Ecn::Off);
        bench.sends();
        bench.sender.peer_window = 0;
        bench.at_us(100).plain_ack(10);
        let packets = bench.packets();
        assert_eq!(packets.iter().map(|packet| packet.payload).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_retransmission_gives_a_measurement_of_its_own_rfc_6298_section_3() {
        let mut bench = Bench::new(1, &[], Ecn::Off);
        bench.sends();
        bench.fires();
        assert_eq!(bench.sends(), [0]);
        bench.at_us(10_100).ack(1, Flags::LAST, &[]);
        assert_eq!(bench.sender.srtt(), Span::from_us(100));
    }
}
