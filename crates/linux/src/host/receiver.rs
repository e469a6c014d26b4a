//! The receiving side of a flow: the transport's receiver, fed with what arrives, and the fate of its credits.

use super::leftover::SMALL_IDLE;
use super::numbers::Departures;
use crate::wire::{Control, Ecn, FlowKey, MacAddr, Segment};
use clearway_proto::{CreditRequest, Cx, Extra, Flags, Header, Packet, Receiver, Rng, Stats};
use clearway_units::{Span, Time};

/// The number of credits of one session after which missing data means that none will come.
const CREDITS_WITHOUT_DATA: u32 = 16;
/// The time after which missing data means that none will come, however few credits left.
const PATIENCE: Span = Span::from_secs(1);
/// The time without data after which another sender may take a flow over: the daemon there was started again.
const TAKEOVER: Span = Span::from_ms(50);
/// The time without any sign after which a flow may come from another Ethernet address.
const MOVE: Span = Span::from_secs(1);

/// The least round-trip time that counts: less than one wake-up of a daemon takes, so data that answers a credit sooner
/// is forged, or the clock is coarse. Without a bound the rate would be updated as often as the clock ticks.
const RTT_MIN: Span = Span::from_us(20);

/// The bytes by which the header of IPv6 is longer than that of IPv4.
pub(super) const IPV6_MORE: u32 = 20;

/// The settings of all receiving sides of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveSettings {
    /// The size of a frame over IPv4 beside its payload, on the wire.
    pub overhead: u32,
    pub data_wait: Span,
    /// The number of credits for a flow that has not sent any data yet.
    pub first_credits: u32,
    /// The time for whose credits a late timer makes up.
    pub catch_up: Span,
    /// The bits of a full frame on the wire, whose rate a receiver reports.
    pub frame_bits: f64,
}

/// A control packet of the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// The request was accepted.
    Accept { session: u32 },
    /// The credits were stopped.
    Stopped { session: u32 },
    /// A credit is due.
    Credit { session: u32, number: u64 },
}

/// The receiving side of one flow.
pub(super) struct ReceiveFlow {
    key: FlowKey,
    cookie: u64,
    /// The Ethernet address of the next node towards the sender.
    mac: MacAddr,
    /// The number of the flow, which no other flow ever has.
    pub serial: u64,
    end: Box<dyn Receiver>,
    rng: Rng,
    stats: Stats,
    /// The bytes that arrived so far. TCP delivers them in order, so the receiver is told that they arrived in order.
    offset: u64,
    departures: Departures,
    /// The bytes on the wire of small packets for which no credit counts as spent yet, and their payload.
    small_wire: u64,
    small_payload: u64,
    /// The time until which the flow is one of small packets, since the last one that came was.
    small_until: Time,
    session: u32,
    /// The time of the last data, or of the last new session.
    since: Time,
    /// The number of credits that were due since then.
    due: u32,
    /// The number of credits among them that left.
    left: u32,
    rtt: Span,
    /// True once data has spent a credit.
    pub is_proven: bool,
    /// The time of the last input.
    pub used: Time,
}

impl ReceiveFlow {
    /// Makes the receiving side of the flow that `request` asks for.
    pub fn new(
        request: &Control,
        mac: MacAddr,
        serial: u64,
        end: Box<dyn Receiver>,
        rng: Rng,
        rtt: Span,
        now: Time,
    ) -> ReceiveFlow {
        ReceiveFlow {
            key: request.flow,
            cookie: request.cookie,
            mac,
            serial,
            end,
            rng,
            stats: Stats::default(),
            offset: 0,
            departures: Departures::default(),
            small_wire: 0,
            small_payload: 0,
            small_until: Time::ZERO,
            session: 0,
            since: now,
            due: 0,
            left: 0,
            rtt,
            is_proven: false,
            used: now,
        }
    }

    pub fn key(&self) -> FlowKey {
        self.key
    }

    pub fn cookie(&self) -> u64 {
        self.cookie
    }

    pub fn mac(&self) -> MacAddr {
        self.mac
    }

    /// Returns true while credits are sent.
    pub fn is_sending(&self) -> bool {
        self.end.next_timeout() != Time::MAX
    }

    /// Returns true if `session` would start credits anew.
    pub fn is_new_session(&self, session: u32) -> bool {
        session.wrapping_sub(self.session) as i32 > 0
    }

    /// Returns true if the flow is idle, so that a sender that was started again may take it over.
    pub fn may_be_taken_over(&self, now: Time) -> bool {
        !self.is_sending() || now.saturating_since(self.since) >= TAKEOVER
    }

    /// Returns true if frames may come from `mac`.
    pub fn may_come_from(&self, mac: MacAddr, now: Time) -> bool {
        self.mac == mac || now.saturating_since(self.used) >= MOVE
    }

    /// Handles a request.
    pub fn on_request(&mut self, control: &Control, from: MacAddr, now: Time) {
        (self.used, self.mac) = (now, from);
        if self.is_new_session(control.session) {
            self.session = control.session;
            (self.since, self.due, self.left) = (now, 0, 0);
            self.small_until = Time::ZERO;
        }
        let request = CreditRequest { session: control.session, wanted: control.number, written: 0 };
        self.feed(Packet::control(Header::CreditSyn(request), 84, now), now);
    }

    /// Handles a stop.
    pub fn on_stop(&mut self, session: u32, now: Time) {
        self.used = now;
        let stop = Header::CreditStop { session, end: self.offset };
        self.feed(Packet::control(stop, 84, now), now);
    }

    /// Handles data that names the credit that it spends. Returns false if that credit is not open.
    pub fn on_data(&mut self, segment: &Segment, settings: &ReceiveSettings, now: Time) -> bool {
        let Some((credit, echo)) = self.departures.spend(segment.id) else { return false };
        (self.used, self.since, self.due, self.left) = (now, now, 0, 0);
        self.small_until = Time::ZERO;
        let echo = echo.min(Time::from_ps(now.as_ps().saturating_sub(RTT_MIN.as_ps())));
        self.rtt = (self.rtt * 7 + now.saturating_since(echo)) / 8;
        let (offset, payload) = (self.offset, u32::from(segment.payload));
        self.offset = offset.saturating_add(u64::from(payload));
        let header = Header::CreditData { offset, session: self.session, credit, echo };
        let flags = Flags::NONE.with_if(segment.ecn == Ecn::Marked, Flags::ECN_CE);
        let overhead = settings.overhead + if self.key.is_ipv6() { IPV6_MORE } else { 0 };
        let packet = Packet::data(header, payload, payload + overhead, now).with_flags(flags);
        self.feed(packet, now);
        true
    }

    /// Handles small packets without the number of a credit, of so many bytes on the wire and of payload. For each `frame` of them the
    /// newest credit counts as spent, one round-trip time ago: how long a credit waited for the application says nothing of the network.
    pub fn on_small_data(&mut self, wire: u64, frame: u32, payload: u64, now: Time) {
        (self.used, self.since, self.due, self.left) = (now, now, 0, 0);
        self.small_until = now.saturating_add(SMALL_IDLE);
        self.small_wire = self.small_wire.saturating_add(wire);
        self.small_payload = self.small_payload.saturating_add(payload);
        while self.small_wire >= u64::from(frame) {
            self.small_wire -= u64::from(frame);
            let payload = self.small_payload.min(frame.into()) as u32;
            self.small_payload -= u64::from(payload);
            let Some((credit, left)) = self.departures.spend_newest() else {
                // No credit is open for the rest either.
                self.small_wire %= u64::from(frame);
                return;
            };
            let echo = left.max(Time::from_ps(now.as_ps().saturating_sub(self.rtt.as_ps())));
            let offset = self.offset;
            self.offset = offset.saturating_add(u64::from(payload));
            let header = Header::CreditData { offset, session: self.session, credit, echo };
            self.feed(Packet::data(header, payload, frame, now), now);
        }
    }

    /// Handles the timer at the time of [`ReceiveFlow::next_timer`], or earlier. Returns true if the credits were
    /// stopped because no data comes.
    pub fn on_timer(&mut self, settings: &ReceiveSettings, now: Time) -> bool {
        if self.is_sending() && now >= self.gives_up_at(settings) {
            let stop = Header::CreditStop { session: self.session, end: self.offset };
            self.feed(Packet::control(stop, 84, now), now);
            // Nobody waits for the answer.
            let _ = self.next_packet(now);
            return true;
        }
        if !self.is_paused(settings) {
            let (end, mut cx) = self.parts(now);
            end.handle_timeout(&mut cx);
        }
        false
    }

    /// Returns the time at which [`ReceiveFlow::on_timer`] must be called, or [`Time::MAX`] for never.
    pub fn next_timer(&self, settings: &ReceiveSettings) -> Time {
        match self.end.next_timeout() {
            Time::MAX => Time::MAX,
            _ if self.is_paused(settings) => self.gives_up_at(settings),
            next => next.min(self.gives_up_at(settings)),
        }
    }

    /// Returns the time from which credits may be made up for, if the timer fires late, and the gap between them. The
    /// pacer makes up for one gap at most, since in the simulator no timer is late.
    pub fn late_since(&self, settings: &ReceiveSettings, now: Time) -> (Time, Span) {
        let due = self.end.next_timeout();
        if due >= now {
            return (now, Span::ZERO);
        }
        let earliest = Time::from_ps(now.as_ps().saturating_sub(settings.catch_up.as_ps()));
        let rate = self.end.gauges().rate / settings.frame_bits;
        // A gap of zero would not advance.
        (due.max(earliest), Span::from_secs_f64(1.0 / rate.max(1.0)).max(Span::from_ns(1)))
    }

    /// Returns the next control packet that is due.
    pub fn poll(&mut self, settings: &ReceiveSettings, now: Time) -> Option<Answer> {
        // Answers come first, so at most one credit too many is taken, and dropped.
        let answer = match self.next_packet(now)?.header {
            Header::CreditSynAck(answer) => Answer::Accept { session: answer.session },
            Header::CreditAck(answer) => Answer::Stopped { session: answer.session },
            Header::Credit { number, session, .. } => {
                self.departures.add(number);
                self.due = self.due.saturating_add(1);
                if self.due > settings.first_credits && !self.is_proven {
                    return None;
                }
                Answer::Credit { session, number }
            }
            _ => return None,
        };
        Some(answer)
    }

    /// Returns true if a credit of this session may still leave.
    pub fn wants(&self, session: u32) -> bool {
        session == self.session && self.is_sending()
    }

    /// Returns true if the last packet of the flow was a small one that named no credit, not long ago.
    pub fn is_small(&self, now: Time) -> bool {
        now < self.small_until
    }

    /// Records that a credit leaves.
    pub fn on_departure(&mut self, number: u64, now: Time) {
        self.left = self.left.saturating_add(1);
        self.departures.leave(number, now);
    }

    /// Returns true if the flow has got its first credits and has not sent data.
    fn is_paused(&self, settings: &ReceiveSettings) -> bool {
        !self.is_proven && self.due >= settings.first_credits
    }

    /// Returns the time at which missing data means that none will come.
    fn gives_up_at(&self, settings: &ReceiveSettings) -> Time {
        let wait = settings.data_wait.max(self.rtt * 8);
        let is_enough = self.left >= CREDITS_WITHOUT_DATA || self.is_paused(settings);
        self.since.saturating_add(if is_enough { wait } else { wait.max(PATIENCE) })
    }

    fn next_packet(&mut self, now: Time) -> Option<Packet> {
        let (end, mut cx) = self.parts(now);
        end.poll_control(&mut Extra::None, &mut cx)
    }

    fn feed(&mut self, packet: Packet, now: Time) {
        let (end, mut cx) = self.parts(now);
        end.handle_packet(&packet, &Extra::None, &mut cx);
    }

    fn parts(&mut self, now: Time) -> (&mut dyn Receiver, Cx<'_>) {
        (self.end.as_mut(), Cx { now, rng: &mut self.rng, stats: &mut self.stats })
    }
}
