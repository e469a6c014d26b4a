//! The sending side of a flow: packets that the kernel holds, and the gate that asks for credits and spends them.

pub(super) mod kernel;

use super::bulk::BulkState;
use super::counters::{Plain, Refusal};
use super::held::HeldPackets;
use super::leftover::{PATIENCE, SHARED_IDLE};
use super::numbers::{Arrival, Arrivals};
use super::pace::Pace;
use super::small::{Flow, Small, small_of};
use super::surroundings::{SendCx, SendSettings};
use crate::datapath::{HeldId, Stamp, Verdict};
use crate::wire::{Control, FlowKey, Kind, MacAddr};
use clearway_proto::expresspass::{SenderGate, Signal, State};
use clearway_units::{Span, Time};

/// What is done with data of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// Data waits for credits.
    Controlled,
    /// The other host may not run Clearway: data waits until this time, which is [`Time::MAX`] while the connection is
    /// being opened.
    Probing(Time),
    /// The flow is plain TCP: data leaves at once. A request may leave from this time on.
    Plain(Time),
}

impl Mode {
    fn is_plain(self) -> bool {
        matches!(self, Mode::Plain(_))
    }
}

/// The sending side of one flow.
#[derive(Debug)]
pub(super) struct SendFlow {
    key: FlowKey,
    pub cookie: u64,
    /// The Ethernet address of the next node towards the receiver.
    pub mac: MacAddr,
    gate: SenderGate,
    mode: Mode,
    /// The reason why the flow became plain, if it did.
    plain_for: Plain,
    /// The packets that the kernel holds.
    held: HeldPackets,
    arrivals: Arrivals,
    /// True if scheduled data shall be ECN-capable.
    ecn: bool,
    rtt: Span,
    /// The session of the last request, and the time of that if it was not repeated.
    asked: (u32, Option<Time>),
    /// The time of the SYN.
    opened: Option<Time>,
    /// The number of requests or stops since the last frame of the receiver, of whatever session.
    silent: u32,
    /// The last time at which the receiver gave a sign, or at which data began to wait.
    sign: Time,
    last_credit: Time,
    /// The smoothed gap between credits.
    gap: Span,
    pace: Pace,
    /// True once the application has closed its side.
    ending: bool,
    /// What the flow knows of its small packets.
    pub small: Small,
    /// What the flow knows of its bulk data.
    pub bulk: BulkState,
    /// True if the receiver did not answer, and the host has not been told so.
    unanswered: bool,
    /// The time of the last input.
    pub used: Time,
}

impl SendFlow {
    pub fn new(
        key: FlowKey,
        cookie: u64,
        mac: MacAddr,
        mode: Mode,
        settings: &SendSettings,
        now: Time,
    ) -> SendFlow {
        SendFlow {
            key,
            cookie,
            mac,
            gate: SenderGate::new(settings.gate),
            mode,
            // A flow is plain from its beginning only if its host answered no request before.
            plain_for: Plain::Unanswered,
            held: HeldPackets::default(),
            arrivals: Arrivals::default(),
            ecn: false,
            rtt: settings.base_rtt,
            asked: (0, None),
            opened: None,
            silent: 0,
            sign: now,
            last_credit: now,
            gap: Span::ZERO,
            pace: Pace::default(),
            ending: false,
            small: Small::NONE,
            bulk: BulkState::NONE,
            unanswered: false,
            used: now,
        }
    }

    pub fn key(&self) -> FlowKey {
        self.key
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn state(&self) -> State {
        self.gate.state()
    }

    /// Returns true if the flow has ended, and can be removed.
    pub fn is_over(&self) -> bool {
        self.ending && self.held.is_empty() && (self.mode.is_plain() || self.gate.state() == State::Closed)
    }

    /// Returns true, once, if the other host did not answer, so that the flow has become plain TCP.
    pub fn take_unanswered(&mut self) -> bool {
        std::mem::take(&mut self.unanswered)
    }

    /// Returns true if a packet of the flow is held.
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Asks for credits beside the SYN of the connection, or lets a plain flow ask again.
    pub fn ask(&mut self, cx: &mut SendCx<'_>) {
        self.used = cx.now;
        self.ending = false;
        match self.gate.state() {
            State::Receiving => self.gate.ask_again(cx.now),
            // The timer does not run while the flow is plain, so it is past, and the request is repeated.
            State::RequestSent => {
                self.gate.on_timer(self.held.backlog().max(1), cx.now);
            }
            State::Closed | State::StopSent => self.gate.on_data(cx.now),
        }
        if let Mode::Plain(ask_at) = &mut self.mode {
            *ask_at = cx.now.saturating_add(cx.settings.ask_again / 10);
        }
        self.settle(cx);
    }

    /// Records the SYN of the connection.
    pub fn on_syn(&mut self, now: Time) {
        self.opened = Some(now);
    }

    /// Records that the connection is open, or nearly so. The time since the SYN tells how long an answer to the
    /// request may take.
    pub fn on_open(&mut self, cx: &mut SendCx<'_>) {
        if let Mode::Probing(until) = &mut self.mode {
            let rtt = self.opened.map_or(cx.settings.base_rtt, |opened| cx.now.saturating_since(opened));
            let wait = cx.settings.unknown_wait.max(rtt.mul_f64(cx.settings.unknown_rtts));
            *until = (*until).min(cx.now.saturating_add(wait));
        }
    }

    /// Takes a packet of so many bytes on the wire that the kernel holds. The flow must not be plain.
    pub fn hold(&mut self, id: HeldId, payload: u16, wire: u32, is_end: bool, cx: &mut SendCx<'_>) {
        let is_data = payload > 0;
        self.used = cx.now;
        self.ending |= is_end;
        if !is_data && self.held.is_empty() {
            cx.actions.verdicts.push((id, Verdict::Accept));
            self.settle(cx);
            return;
        }
        if is_data && !is_end && is_too_slow(self, cx.settings) {
            cx.actions.verdicts.push((id, Verdict::Drop));
            cx.counters.dropped += 1;
            return;
        }
        self.small.is_last = wire <= cx.settings.frame / 2;
        self.held.push(id, payload, wire, cx.now, cx.counters);
        with_small(self, cx, Small::ask);
        if self.held.is_empty() {
            self.settle(cx);
            return;
        }
        if cx.counters.held_now > cx.settings.held_max {
            let payload = self.held.release_first(Verdict::Accept, cx.now, cx.counters, cx.actions);
            cx.counters.plain_packet(Plain::HeldLimit, payload);
        }
        if self.held.backlog() == 1 && is_data {
            self.sign = cx.now;
        }
        if self.mode == Mode::Probing(Time::MAX) {
            // The connection was open before this daemon was.
            self.on_open(cx);
        }
        if self.held.backlog() > 0 {
            if self.held.backlog() == 1 && is_forgotten(self, cx) {
                if self.small.in_line && cx.leftover.is_crowded() {
                    self.small.ask_at = self.small.ask_at.min(cx.now.saturating_add(PATIENCE));
                } else {
                    self.gate.ask_again(cx.now);
                }
            }
            with_small(self, cx, Small::ask_for_credits);
        }
        self.settle(cx)
    }

    /// Lets a packet of a plain flow leave at once.
    pub fn pass(&mut self, id: HeldId, payload: u16, is_end: bool, cx: &mut SendCx<'_>) {
        self.used = cx.now;
        self.ending |= is_end;
        cx.actions.verdicts.push((id, Verdict::Accept));
        cx.counters.plain_packet(self.plain_for, payload);
        self.settle(cx);
    }

    /// Ends the flow, once what is held has left.
    pub fn end(&mut self, cx: &mut SendCx<'_>) {
        self.ending = true;
        self.settle(cx)
    }

    /// Says why a frame of the receiver must be refused, if it must.
    pub fn refuses(&self, control: &Control, from: MacAddr) -> Option<Refusal> {
        if control.cookie != self.cookie {
            Some(Refusal::Cookie)
        } else if from != self.mac {
            Some(Refusal::Address)
        } else {
            None
        }
    }

    /// Handles the answer to a request.
    pub fn on_accept(&mut self, control: &Control, cx: &mut SendCx<'_>) -> Result<(), Refusal> {
        // Whoever answers late is not silent.
        self.silent = 0;
        if control.session != self.gate.session() || self.gate.state() == State::Closed {
            return Err(Refusal::Session);
        }
        if let (session, Some(asked)) = self.asked
            && session == control.session
        {
            self.rtt = cx.now.saturating_since(asked);
            self.asked.1 = None;
        }
        self.ecn = control.wants_ecn;
        self.on_sign(cx.now);
        self.gate.on_accept(control.session, self.held.backlog(), cx.now);
        self.settle(cx);
        Ok(())
    }

    /// Handles a credit.
    pub fn on_credit(&mut self, control: &Control, cx: &mut SendCx<'_>) -> Result<(), Refusal> {
        match self.arrivals.record(control.session, control.number, self.gate.session()) {
            Arrival::New => {}
            Arrival::Replayed => return Err(Refusal::Replayed),
            Arrival::OldSession => return Err(Refusal::Session),
        }
        cx.counters.credits_received += 1;
        self.used = cx.now;
        if self.mode == Mode::Controlled || control.session == self.gate.session() {
            self.on_sign(cx.now);
        }
        self.gap = (self.gap * 7 + cx.now.saturating_since(self.last_credit)) / 8;
        self.last_credit = cx.now;
        self.pace.on_credit(control.session, cx.now);
        let is_kept = is_kept(self, cx);
        if !is_kept && self.gate.on_credit(control.session, self.held.backlog(), self.rtt, cx.now) {
            // An end of the connection never stands first, since it leaves with the packet before it.
            let stamp = Stamp { id: control.number as u16, ecn: self.ecn };
            let wire = self.held.first_wire().unwrap_or(cx.settings.frame);
            let payload = self.held.release_first(Verdict::Stamped(stamp), cx.now, cx.counters, cx.actions);
            cx.counters.credited_packet(payload);
            self.small.is_seldom = false;
            cx.leftover.add(cx.settings.frame.saturating_sub(wire), cx.settings.leftover);
            if cx.settings.bulk && wire > cx.settings.frame / 2 && self.bulk.on_used(control.session) {
                self.hand_over(false, cx);
            }
        } else {
            cx.counters.credits_wasted += 1;
            self.small.kept = Some((control.session, control.number));
            cx.leftover.add(cx.settings.frame, cx.settings.leftover);
            if is_kept {
                self.gate.stay(cx.now);
                self.small.is_seldom = true;
                if cx.settings.takes && self.bulk.is_free() && control.session == self.gate.session() {
                    self.hand_over(true, cx);
                }
            }
        }
        self.settle(cx);
        Ok(())
    }

    /// Handles the answer to a stop.
    pub fn on_stopped(&mut self, control: &Control, cx: &mut SendCx<'_>) -> Result<(), Refusal> {
        self.silent = 0;
        if control.session != self.gate.session() {
            return Err(Refusal::Session);
        }
        self.on_sign(cx.now);
        self.gate.on_stopped(control.session, self.held.backlog() == 0, self.held.backlog(), cx.now);
        self.settle(cx);
        Ok(())
    }

    /// Handles the timer at the time of [`SendFlow::next_timer`], or earlier.
    pub fn on_timer(&mut self, cx: &mut SendCx<'_>) {
        match self.mode {
            Mode::Plain(_) => return self.settle(cx),
            Mode::Probing(until) if cx.now >= until => return self.give_up(Plain::Unanswered, cx),
            _ if self.held.until(cx.settings.hold_max) <= cx.now => {
                // The receiver answers, so nothing is learned about it.
                self.give_up(Plain::HeldTooLong, cx);
                self.unanswered = false;
                return;
            }
            _ => {}
        }
        if is_kept(self, cx) && cx.now >= self.gate.next_timeout() {
            self.gate.stay(cx.now);
            self.small.is_seldom = true;
        }
        if cx.now >= self.gate.next_timeout() && self.bulk.goes_on(cx.settings.gate.idle, cx.now) {
            self.gate.on_data(cx.now);
        }
        let receives = self.gate.state() == State::Receiving;
        if receives && cx.now >= self.gate.next_timeout() && self.bulk.asks(self.key, cx) {
            self.gate.stay(cx.now);
        }
        if cx.now >= self.small.ask_at {
            self.small.ask_at = Time::MAX;
            if self.held.backlog() > 0 {
                match is_forgotten(self, cx) {
                    true => self.gate.ask_again(cx.now),
                    false => self.gate.on_data(cx.now),
                }
            }
        }
        if cx.now >= self.silent_at(cx.settings) {
            cx.counters.silences += 1;
            self.sign = cx.now;
            self.gate.ask_again(cx.now);
        } else if cx.now >= self.gate.next_timeout() {
            self.silent += u32::from(self.gate.on_timer(self.held.backlog(), cx.now));
            if self.silent >= cx.settings.unanswered {
                let is_known = self.mode == Mode::Controlled;
                return self.give_up(if is_known { Plain::Silent } else { Plain::Unanswered }, cx);
            }
        }
        self.settle(cx)
    }

    /// Returns the time at which [`SendFlow::on_timer`] must be called, or [`Time::MAX`] for never.
    pub fn next_timer(&self, settings: &SendSettings) -> Time {
        let until = match self.mode {
            Mode::Plain(_) => return Time::MAX,
            Mode::Probing(until) => until,
            Mode::Controlled => Time::MAX,
        };
        until
            .min(self.held.until(settings.hold_max))
            .min(self.gate.next_timeout())
            .min(self.silent_at(settings))
            .min(self.small.ask_at)
    }

    /// Lets all packets that are held leave as they are, and stops the credits.
    pub fn release_all(&mut self, cx: &mut SendCx<'_>) {
        self.held.release_all(Plain::Released, cx.now, cx.counters, cx.actions);
        if matches!(self.gate.state(), State::Receiving | State::RequestSent) {
            self.gate.stop(cx.now);
        }
        self.settle(cx);
    }

    /// Returns the time at which the receiver has been silent for too long while data waits.
    fn silent_at(&self, settings: &SendSettings) -> Time {
        let waits = self.held.backlog() > 0 || self.bulk.may_wait();
        if self.gate.state() != State::Receiving || !waits {
            return Time::MAX;
        }
        let silence = match self.small.is_seldom {
            true => settings.gate.idle * 2,
            false => settings.silence.max(self.gap * 16),
        };
        self.sign.saturating_add(silence.max(self.rtt * 4))
    }

    /// Records a valid frame of the receiver.
    fn on_sign(&mut self, now: Time) {
        (self.mode, self.silent, self.sign) = (Mode::Controlled, 0, now);
    }

    /// Makes the flow plain TCP.
    fn give_up(&mut self, reason: Plain, cx: &mut SendCx<'_>) {
        cx.counters.plain_flow(reason);
        self.held.release_all(reason, cx.now, cx.counters, cx.actions);
        self.mode = Mode::Plain(cx.now.saturating_add(cx.settings.ask_again / 10));
        (self.plain_for, self.silent, self.unanswered) = (reason, 0, true);
    }

    /// Sends the signal that is due.
    fn settle(&mut self, cx: &mut SendCx<'_>) {
        let has_credits = matches!(self.gate.state(), State::Receiving | State::RequestSent);
        if self.ending && self.held.is_empty() && has_credits && !self.mode.is_plain() {
            self.gate.stop(cx.now);
        }
        if let Some(signal) = self.gate.take_signal() {
            send_signal(self, signal, cx);
        }
        let receives = self.gate.state() == State::Receiving && self.mode == Mode::Controlled;
        self.bulk.check(self.key, receives.then_some(self.gate.session()), cx);
    }
}

/// Sends a signal of a flow.
fn send_signal(flow: &mut SendFlow, signal: Signal, cx: &mut SendCx<'_>) {
    let session = flow.gate.session();
    let blank = Control {
        kind: Kind::Stop,
        flow: flow.key,
        session,
        cookie: flow.cookie,
        number: 0,
        value: 0,
        mtu: 0,
        wants_ecn: false,
    };
    let control = match signal {
        Signal::Request => {
            cx.counters.requests_sent += 1;
            flow.asked = (session, (flow.asked.0 != session).then_some(cx.now));
            let SendSettings { rate, mtu, .. } = *cx.settings;
            let (number, value) = (flow.held.backlog(), rate.as_bps());
            Control { kind: Kind::Request, number, value, mtu, ..blank }
        }
        Signal::Stop => {
            cx.counters.stops_sent += 1;
            blank
        }
    };
    cx.signals.push(&control, flow.mac);
}

/// Returns true if a credit without a packet is no reason to stop them, because small packets left not long ago.
fn is_kept(flow: &SendFlow, cx: &SendCx<'_>) -> bool {
    // Those that left in the kernel may have been of other flows, to which the receiver goes on to send credits.
    let is_alive = cx.now < flow.last_credit.saturating_add(SHARED_IDLE);
    let passed = if flow.small.is_last && is_alive { cx.leftover.stays_until } else { Time::ZERO };
    let until = flow.small.stays_until.max(passed);
    flow.held.backlog() == 0 && cx.now < until && flow.gate.state() == State::Receiving
}

/// Returns true if the receiver may send no more credits to a flow of small packets that has a session.
fn is_forgotten(flow: &SendFlow, cx: &SendCx<'_>) -> bool {
    let is_late = cx.now >= flow.last_credit.saturating_add(cx.settings.gate.idle);
    is_late && flow.small.is_seldom && flow.gate.state() == State::Receiving
}

/// Returns true if one more packet of a flow would wait for its credit for too long.
fn is_too_slow(flow: &SendFlow, settings: &SendSettings) -> bool {
    let is_bounded = flow.gate.state() == State::Receiving && !settings.wait_max.is_zero();
    is_bounded && flow.pace.is_too_slow(flow.held.backlog(), settings.wait_max)
}

/// Lets the first packet of a flow leave for what credits have left over, since it is the flow's turn.
pub(super) fn take_turn(flow: &mut SendFlow, cx: &mut SendCx<'_>) {
    with_small(flow, cx, Small::take_turn);
    flow.settle(cx);
}

/// Returns the bytes on the wire of the small packet that stands first in a flow, if one does.
pub(super) fn first_small(flow: &SendFlow, settings: &SendSettings) -> Option<u32> {
    small_of(&flow.held, flow.mode == Mode::Controlled, settings)
}

/// Runs `input` on what a flow knows of its small packets.
fn with_small(
    flow: &mut SendFlow,
    cx: &mut SendCx<'_>,
    input: impl FnOnce(&mut Small, &mut Flow<'_>, &mut SendCx<'_>),
) {
    let SendFlow { key, held, gate, ecn, mode, small, .. } = flow;
    let is_controlled = *mode == Mode::Controlled;
    input(small, &mut Flow { key: *key, held, gate, ecn: *ecn, is_controlled }, cx);
}
