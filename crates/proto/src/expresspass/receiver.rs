//! The receiving end, which sends credits and adapts their rate to the data that they release.

use super::budget::CreditBudget;
use super::feedback::{Feedback, Period, Trigger};
use super::inbox::Inbox;
use super::meter::LossMeter;
use super::pacer::{CreditPacer, PacerConfig};
use super::smoothed::smooth;
use crate::endpoint::{Cx, Endpoint, Env, Framing, Gauges, Receiver};
use crate::packet::{CreditAnswer, CreditRequest, Extra, Flags, Header, Packet};
use crate::shared::Shared;
use clearway_schema::choice;
use clearway_units::{Known, Span, Time};
use serde::{Deserialize, Serialize};

choice! {
    /// The treatment of data that arrives beyond a gap.
    #[derive(Serialize, Deserialize)]
    pub enum Recovery {
    /// The receiver keeps it, and the sender repeats lost data only.
    Selective = "selective",
    /// The receiver discards it, and the sender repeats all data from the gap on (the ns-2 code).
        GoBack = "go-back-n",
    }
}

/// The settings of a receiver.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReceiverConfig {
    /// The spacing and sizes of credits.
    pub pacer: PacerConfig,
    /// The update period; `None` for the smoothed round-trip time.
    pub period: Option<Span>,
    /// The weight of a new sample in the smoothed round-trip time.
    pub rtt_gain: f64,
    /// The number of credits by which an echo may be late before its credit counts as lost.
    pub reorder: u32,
    /// The treatment of data beyond a gap.
    pub recovery: Recovery,
    /// If true, a mark on the last data packet stops the credits (E16).
    pub stop_by_mark: bool,
    /// If set, the sender tells how much there is to send, and the receiver sends that many credits plus this share
    /// (E17 sec. 7).
    pub end_margin: Option<f64>,
}

/// The number of update periods after which a credit without an echo is lost: after the first measured round trip, and
/// before it.
const OVERDUE: (usize, usize) = (2, 4);

/// The credit that a data packet spent.
#[derive(Clone, Copy)]
struct SpentCredit {
    number: u64,
    /// The time at which the credit left this receiver.
    sent: Time,
}

/// What never changes in the life of a receiver.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Settings {
    framing: Framing,
    base_rtt: Span,
    /// The event that starts an update.
    trigger: Trigger,
    config: ReceiverConfig,
}

/// The receiving end of a credit-based transport, whose feedback control `F` sets the rate of credits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreditReceiver<F> {
    settings: Shared<Settings>,
    feedback: F,
    pacer: CreditPacer,
    meter: LossMeter,
    /// The budget of credits, if the sender tells how much there is to send.
    budget: Option<Box<CreditBudget>>,
    inbox: Inbox,
    /// The session whose credits are being sent, or were last stopped.
    session: u32,
    /// True while credits are being sent.
    sending: bool,
    srtt: Known<Span>,
    /// The time of the last update.
    updated: Time,
    /// The time of the next update by timer.
    update_at: Time,
    /// The numbers of the next credit at the last updates, the most recent first: their lowest 32 bits, since fewer
    /// credits than that leave in between.
    numbers: [u32; 4],
    /// The time at which the newest data that arrived was sent.
    newest: Time,
    /// The offset at which the flow ends, if that is known.
    end: Known<u64>,
    /// The time at which the packet was sent that is yet to be answered.
    asked: Time,
    /// True if that is a SYN.
    accept_due: bool,
    /// True if that ended the session.
    answer_due: bool,
    /// True if a request to go back must be sent.
    nack_due: bool,
}

impl<F: Feedback> CreditReceiver<F> {
    /// Makes a receiver that waits for a request.
    pub fn new(config: ReceiverConfig, feedback: F, env: &Env) -> CreditReceiver<F> {
        let (framing, base_rtt, trigger) = (env.framing, env.base_rtt, feedback.trigger());
        CreditReceiver {
            settings: Shared::new(Settings { framing, base_rtt, trigger, config }),
            feedback,
            pacer: CreditPacer::new(),
            meter: LossMeter::new(config.reorder),
            budget: config.end_margin.map(|margin| Box::new(CreditBudget::new(margin))),
            inbox: Inbox::default(),
            session: 0,
            sending: false,
            srtt: Known::NONE,
            updated: Time::ZERO,
            update_at: Time::MAX,
            numbers: [0; 4],
            newest: Time::ZERO,
            end: Known::NONE,
            asked: Time::ZERO,
            accept_due: false,
            answer_due: false,
            nack_due: false,
        }
    }

    /// Returns the feedback control, for reports.
    pub fn feedback(&self) -> &F {
        &self.feedback
    }

    /// Returns true while credits are being sent.
    pub fn is_sending(&self) -> bool {
        self.sending
    }

    /// Returns the smoothed round-trip time, or the base round-trip time before the first measurement.
    fn rtt(&self) -> Span {
        self.srtt.get().unwrap_or(self.settings.base_rtt)
    }

    /// Returns the update period.
    fn period(&self) -> Span {
        // With a period of zero, updates would repeat at one instant without end.
        self.settings.config.period.unwrap_or(self.rtt()).max(Span::from_ns(1))
    }

    /// Starts credits for a request of a new session.
    fn on_request(&mut self, request: CreditRequest, packet: &Packet, cx: &mut Cx<'_>) {
        let CreditRequest { session, wanted, written } = request;
        if let Some(budget) = &mut self.budget {
            budget.on_told(self.end.get().map_or(written, |end| end.min(written)));
            if budget.left() == 0 && !is_newer(self.session, session) {
                // No credit will leave that could tell the sender that all data has arrived.
                return self.stop(session, packet.sent);
            }
        }
        // A receiver with a budget stops a session by itself when all data it was told of has arrived. It can hear of
        // more data in the same session if the request that told so was lost.
        let stopped_too_early = !self.sending
            && session == self.session
            && self.budget.as_ref().is_some_and(|budget| budget.left() > 0);
        if !is_newer(session, self.session) && !stopped_too_early {
            return;
        }
        self.session = session;
        if let Some(budget) = &mut self.budget {
            if self.sending {
                // The request tells of more data, and credits continue.
                return;
            }
            budget.give_up(self.pacer.number());
        }
        self.sending = true;
        self.answer_due = false;
        self.feedback.start(wanted);
        self.pacer.start(&self.settings.config.pacer, cx.now, self.feedback.rate(), cx.rng);
        if self.settings.trigger != Trigger::Credit {
            self.meter.start(self.pacer.number());
        }
        self.meter.take_marked();
        self.numbers = [self.pacer.number() as u32; 4];
        self.updated = cx.now;
        self.update_at = match self.settings.trigger {
            Trigger::Timer => cx.now.saturating_add(self.period()),
            Trigger::Credit | Trigger::Never => Time::MAX,
        };
    }

    /// Stops the credits of a session, and answers the packet that was sent at `cause`.
    fn stop(&mut self, session: u32, cause: Time) {
        self.session = session;
        self.sending = false;
        self.pacer.stop();
        (self.asked, self.answer_due) = (cause, true);
    }

    /// Records the flow's end as the sender told it. The sender may take back unsent bytes later, so the least offset
    /// counts.
    fn end_at(&mut self, end: u64) {
        self.end = Known::some(self.end.get().map_or(end, |known| known.min(end)));
        if let Some(budget) = &mut self.budget {
            budget.on_end(end);
        }
    }

    fn on_stop(&mut self, session: u32, end: u64, packet: &Packet) {
        if packet.flags.has(Flags::LAST) {
            self.end_at(end);
        }
        if !is_newer(self.session, session) {
            self.stop(session, packet.sent);
        }
    }

    /// Records the credit that a data packet spent.
    fn on_echo(&mut self, spent: SpentCredit, marked: bool, now: Time) {
        let sample = now.saturating_since(spent.sent);
        let gain = self.settings.config.rtt_gain;
        self.srtt = Known::some(match self.srtt.get() {
            None => sample,
            Some(srtt) => smooth(srtt, sample, gain),
        });
        if self.meter.on_echo(spent.number) && marked {
            self.meter.on_mark();
        }
    }

    #[inline]
    fn on_data(
        &mut self,
        offset: u64,
        session: u32,
        spent: Option<SpentCredit>,
        packet: &Packet,
        cx: &mut Cx<'_>,
    ) {
        if let Some(spent) = spent {
            self.on_echo(spent, packet.flags.has(Flags::ECN_CE), cx.now);
        }
        self.newest = self.newest.max(packet.sent);
        let end = offset + packet.payload() as u64;
        if packet.flags.has(Flags::LAST) {
            self.end_at(end);
        }
        if self.settings.config.recovery == Recovery::GoBack && offset > self.inbox.next() {
            // One request per round trip is enough, since all data on its way is discarded too.
            self.nack_due |= self.inbox.discard(self.rtt(), cx.now);
            return;
        }
        let before = self.inbox.next();
        let repeated = self.inbox.insert(offset, packet.payload());
        cx.stats.add_duplicates(repeated);
        if let Some(budget) = &mut self.budget {
            let echoed = spent.map(|credit| credit.number);
            budget.on_data(echoed, packet.payload() as u64 - repeated);
        }
        if self.inbox.next() > before {
            self.inbox.on_progress();
        }
        let stop_by_mark = self.settings.config.stop_by_mark;
        let marked = stop_by_mark && packet.flags.has(Flags::EMPTY);
        if marked && self.inbox.next() >= end && !is_newer(self.session, session) {
            self.stop(session, packet.sent);
        } else if stop_by_mark && self.sending && self.end.get() == Some(self.inbox.next()) {
            // The last gap was closed after the marked packet.
            self.stop(self.session, packet.sent);
        }
    }

    /// Ends the update period and sets the new rate.
    #[inline(never)]
    fn update(&mut self, now: Time) {
        let span = now.saturating_since(self.updated);
        if self.meter.received() == 0 && self.feedback.rate() * span.as_secs_f64() >= 1.0 {
            let patience = if self.srtt.get().is_some() { OVERDUE.0 } else { OVERDUE.1 };
            let next = self.pacer.number();
            let since = (next as u32).wrapping_sub(self.numbers[patience - 1]);
            self.meter.write_off(next - u64::from(since));
        }
        let reading = self.meter.take();
        self.feedback.update(&Period {
            sent: reading.sent,
            dropped: reading.dropped,
            received: reading.received,
            marked: self.meter.take_marked(),
            span,
            rtt: self.rtt(),
        });
        self.numbers.rotate_right(1);
        self.numbers[0] = self.pacer.number() as u32;
        self.updated = now;
        if self.update_at != Time::MAX {
            self.update_at = now.saturating_add(self.period());
        }
        match self.settings.trigger {
            Trigger::Credit => self.pacer.set_rate_after_next(self.feedback.rate()),
            Trigger::Timer | Trigger::Never => self.pacer.set_rate(now, self.feedback.rate()),
        }
    }

    /// Returns the next answer to a SYN, a stop or data, of which one is due.
    #[cold]
    fn next_answer(&mut self, extra: &mut Extra, now: Time) -> Packet {
        let wire = self.settings.framing.wire_min;
        if std::mem::take(&mut self.accept_due) {
            return self.packet(Header::CreditSynAck(self.answer(self.asked)), wire, now);
        }
        if std::mem::take(&mut self.answer_due) {
            let mut ack = self.packet(Header::CreditAck(self.answer(self.asked)), wire, now);
            self.add_sack(&mut ack, extra);
            return ack;
        }
        self.nack_due = false;
        self.packet(Header::CreditNack(self.answer(self.newest)), wire, now)
    }

    /// Returns the credit that is due, if it is allowed.
    #[inline(never)]
    fn next_credit(&mut self, extra: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        if !self.is_allowed() {
            return None;
        }
        if self.settings.trigger == Trigger::Credit
            && self.meter.received() > 0
            && cx.now >= self.updated.saturating_add(self.period())
        {
            self.update(cx.now);
        }
        let slot = self.pacer.send(&self.settings.config.pacer, cx.now, cx.rng);
        cx.stats.credits_sent += 1;
        if let Some(budget) = &mut self.budget {
            budget.on_credit(cx.now);
        }
        let CreditAnswer { session, ack, echo } = self.answer(self.newest);
        let mut credit =
            self.packet(Header::Credit { number: slot.number, session, ack, echo }, slot.wire, cx.now);
        self.add_sack(&mut credit, extra);
        Some(credit)
    }

    /// Returns true if the budget allows the next credit.
    fn is_allowed(&self) -> bool {
        let (next, payload_max) = (self.pacer.number(), self.settings.framing.payload_max);
        self.budget.as_ref().is_none_or(|budget| budget.allows(next, payload_max))
    }

    /// Handles a packet of the sender that carries no data.
    #[cold]
    fn on_signal(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        match packet.header {
            Header::CreditSyn(request) => {
                (self.asked, self.accept_due) = (packet.sent, true);
                self.on_request(request, packet, cx);
            }
            Header::CreditRequest(request) => self.on_request(request, packet, cx),
            Header::CreditStop { session, end } => self.on_stop(session, end, packet),
            other => debug_assert!(false, "{other:?} is not for a receiver of credit transports"),
        }
    }

    /// Counts credits without an answer as lost if they are overdue and the budget allows no other.
    #[inline(never)]
    fn give_up_overdue(&mut self, now: Time) {
        if self.sending && !self.is_allowed() && now >= self.gives_up_at() {
            let next = self.pacer.number();
            self.budget.as_mut().expect("without a budget all is allowed").give_up(next);
        }
    }

    /// Returns the time of the next credit, or of giving up those without an answer, where there is a budget.
    #[inline(never)]
    fn next_within_budget(&self) -> Time {
        if self.is_allowed() { self.pacer.due() } else { self.gives_up_at() }
    }

    /// Returns the time at which credits without an answer are given up, so that others may take their place: a round
    /// trip after the last one, and some time for queues. If that is too early, a few more credits are sent.
    fn gives_up_at(&self) -> Time {
        self.budget
            .as_ref()
            .map_or(Time::MAX, |budget| budget.gives_up_at(self.rtt() + self.settings.base_rtt / 4))
    }

    /// Returns the fields that every packet of this receiver has. `echo` is the time at which the answered packet was
    /// sent.
    fn answer(&self, echo: Time) -> CreditAnswer {
        CreditAnswer { session: self.session, ack: self.inbox.next(), echo }
    }

    fn packet(&self, header: Header, wire: u32, now: Time) -> Packet {
        let flags = Flags::NONE.with_if(self.end.get().is_some(), Flags::LAST);
        Packet::control(header, wire, now).with_flags(flags)
    }

    fn add_sack(&mut self, packet: &mut Packet, extra: &mut Extra) {
        if self.inbox.has_gaps() {
            *extra = Extra::Sack(self.inbox.sack());
            packet.flags.set(Flags::EXTRA);
        }
    }
}

/// Returns true if session `a` is newer than session `b`, where numbers wrap around at 32 bits.
fn is_newer(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl<F: Feedback> Endpoint for CreditReceiver<F> {
    #[inline]
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        let (offset, session, spent) = match packet.header {
            Header::CreditData { offset, session, credit, echo } => {
                (offset, session, Some(SpentCredit { number: credit, sent: echo }))
            }
            Header::UnscheduledData { offset, session } => (offset, session, None),
            _ => return self.on_signal(packet, cx),
        };
        self.on_data(offset, session, spent, packet, cx);
    }

    #[inline]
    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.sending && cx.now >= self.update_at {
            self.update(cx.now);
        }
        if self.budget.is_some() {
            self.give_up_overdue(cx.now);
        }
    }

    #[inline]
    fn poll_control(&mut self, extra: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.accept_due | self.answer_due | self.nack_due {
            return Some(self.next_answer(extra, cx.now));
        }
        if self.pacer.due() <= cx.now { self.next_credit(extra, cx) } else { None }
    }

    #[inline]
    fn next_timeout(&self) -> Time {
        if !self.sending {
            return Time::MAX;
        }
        let credit = if self.budget.is_some() { self.next_within_budget() } else { self.pacer.due() };
        credit.min(self.update_at)
    }

    #[inline]
    fn is_finished(&self) -> bool {
        !self.sending && self.end.get() == Some(self.inbox.next())
    }

    fn gauges(&self) -> Gauges {
        let rate = if self.sending { self.feedback.rate() } else { 0.0 };
        Gauges {
            rate: rate * self.settings.framing.wire_max() as f64 * 8.0,
            srtt: self.rtt().as_secs_f64(),
            ..Gauges::NONE
        }
    }
}

impl<F: Feedback> Receiver for CreditReceiver<F> {
    fn delivered(&self) -> u64 {
        self.inbox.next()
    }
}

#[cfg(test)]
mod tests;
