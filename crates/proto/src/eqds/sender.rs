//! The sending end.

use super::attempts::Attempts;
use super::params::{EqdsParams, QUANTUM};
use crate::endpoint::{Cx, Endpoint, Env, Gauges, Sender};
use crate::entropy::{Entropies, Feedback, Penalties};
use crate::numbered::{Outgoing, Segment};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::tag::Tag;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The timeout doubles at most this many times.
const BACKOFF_MAX: u32 = 6;

/// The sending end of a flow. Credit counts bytes on the wire.
#[derive(Debug, Serialize, Deserialize)]
pub struct EqdsSender {
    out: Outgoing,
    /// The most credit that the flow has.
    window: i64,
    /// The credit from pulls. The last packet that it paid for may have cost more than there was.
    pulled_credit: i64,
    /// The credit that the flow gave itself.
    speculative_credit: i64,
    /// True until the first answer: speculative credit pays for packets.
    speculates: bool,
    /// The number of the last pull, in quanta.
    pull: u32,
    /// The pull to which the sender wants to come, as it said last.
    target: u32,
    rto: Span,
    backoff: u32,
    /// The least time between two requests for pulls.
    rtt: Span,
    /// The time from which on the next request may leave.
    may_ask: Time,
    /// True if the sender shall ask for pulls.
    asks: bool,
    /// The time of the last answer.
    heard: Time,
    timer: Time,
    /// The attempts to send, if each is made by itself.
    attempts: Option<Box<Attempts>>,
}

impl EqdsSender {
    pub(super) fn new(params: &EqdsParams, env: &Env) -> EqdsSender {
        let window = i64::from(params.window(env.line_rate, env.network_rtt, &env.framing));
        EqdsSender {
            out: Outgoing::new(env.framing, params.paths, params.path_values.get()),
            window,
            pulled_credit: 0,
            speculative_credit: window,
            speculates: true,
            pull: 0,
            target: 0,
            rto: params.timeout(env),
            backoff: 0,
            rtt: env.base_rtt.max(Span::from_ns(1)),
            may_ask: Time::ZERO,
            asks: false,
            heard: Time::ZERO,
            timer: Time::MAX,
            attempts: params.one_each.then(|| Box::new(Attempts::new(env.line_rate))),
        }
    }

    /// Returns the credit from pulls, and the speculative credit with whether it can be spent.
    #[cfg(test)]
    pub(super) fn credit(&self) -> (i64, i64, bool) {
        (self.pulled_credit, self.speculative_credit, self.speculates)
    }

    /// Gives the sender so many packets of speculative credit.
    #[cfg(test)]
    pub(super) fn grant_speculative_credit(&mut self, packets: i64) {
        self.speculative_credit = packets * i64::from(self.out.framing().wire_max());
    }

    /// Returns true if the sender may send. Any credit pays for a packet, and speculative credit only for a new one.
    fn may_send(&self) -> bool {
        if self.attempts.as_ref().is_some_and(|attempts| !attempts.may_send()) {
            return false;
        }
        if self.out.flight.lost() > 0 {
            return self.pulled_credit > 0;
        }
        self.out.has_new() && (self.pulled_credit > 0 || self.speculates && self.speculative_credit > 0)
    }

    /// Returns the size on the wire of all that was never sent, or the window if that is less.
    fn backlog(&self) -> i64 {
        let (left, framing) = (self.out.unsent(), self.out.framing());
        if left >= self.window as u64 {
            return self.window;
        }
        let (full, payload_max) = (left as u32 / framing.payload_max, framing.payload_max);
        let rest = left as u32 % payload_max;
        let rest_wire = if rest > 0 { framing.wire(rest) } else { 0 };
        (i64::from(full) * i64::from(framing.wire_max()) + i64::from(rest_wire)).min(self.window)
    }

    /// Returns the pull to which the sender wants to come, with so many bytes to send on top of what was never sent.
    fn next_target(&mut self, more: i64) -> u32 {
        let quantum = i64::from(QUANTUM);
        let mut wanted =
            (self.backlog() + more).min(self.window) - self.pulled_credit - self.speculative_credit;
        let before = i64::from(self.target.wrapping_sub(self.pull) as i32) * quantum;
        if !self.speculates && wanted - before < quantum && self.speculative_credit > 0 {
            // Speculative credit that can't be spent any more gives way, so that the target moves on.
            let packet = i64::from(self.out.framing().wire_max());
            self.waive(packet);
            wanted += packet;
        }
        self.target = self.pull.wrapping_add(-(-wanted).div_euclid(quantum) as u32);
        self.target
    }

    /// Gives up speculative credit.
    fn waive(&mut self, bytes: i64) {
        self.speculative_credit = (self.speculative_credit - bytes).max(0);
    }

    /// The number of the last pull is heard.
    fn hear_pull(&mut self, number: u32) {
        let more = number.wrapping_sub(self.pull);
        if more > 0 && more <= u32::MAX / 2 {
            let credit = i64::from(more) * i64::from(QUANTUM);
            self.pulled_credit = (self.pulled_credit + credit).min(self.window);
            self.pull = number;
        }
    }

    /// Anything was heard: the sender stops speculating, and makes the best of what it may do. If it tries to send once for each
    /// reason, it has so many.
    fn go_on(&mut self, reasons: u8, now: Time) {
        self.speculates = false;
        self.heard = now;
        self.attempt(reasons, now);
        // An attempt that fails asks nobody.
        if self.attempts.is_none() && self.is_forgotten() && now >= self.may_ask {
            self.asks = true;
        }
        self.arm(now);
    }

    /// The sender tries to send. Without pulled credit, speculative credit gives way.
    fn attempt(&mut self, reasons: u8, now: Time) {
        let fails = self.out.has_data() && self.pulled_credit <= 0 && self.speculative_credit > 0;
        let failed = match &mut self.attempts {
            Some(attempts) => attempts.hear(reasons, fails, now),
            None => u8::from(fails),
        };
        self.waive(i64::from(failed) * i64::from(self.out.framing().wire_max()));
    }

    /// Returns true if the sender has something to send and nothing to send it for, and the receiver does not know.
    fn is_forgotten(&self) -> bool {
        let expected = self.target.wrapping_sub(self.pull) as i32;
        self.out.flight.is_empty()
            && self.out.has_data()
            && self.pulled_credit <= 0
            && expected < (self.out.framing().wire_max() / QUANTUM) as i32
    }

    /// Lets a flow that was idle begin again.
    fn wake(&mut self) {
        if self.is_forgotten() {
            (self.speculates, self.speculative_credit) = (true, self.window);
            self.pulled_credit = 0;
            self.attempts.iter_mut().for_each(|attempts| attempts.begin());
        }
    }

    fn timeout(&self) -> Span {
        self.rto.saturating_mul(1 << self.backoff)
    }

    /// Sees to it that the timer runs if the sender waits for anything. It may run for longer than needed.
    fn arm(&mut self, now: Time) {
        if self.is_finished() {
            (self.timer, self.asks) = (Time::MAX, false);
        } else if self.timer == Time::MAX && self.out.is_pending() {
            self.timer = now.saturating_add(self.timeout());
        }
    }

    /// Pays for a packet that leaves.
    fn spend(&mut self, wire: u32) {
        if self.pulled_credit > 0 {
            self.pulled_credit -= i64::from(wire);
        } else {
            self.waive(wire.into());
        }
    }

    /// A packet of so many bytes has left. If the flow waits in the NIC's line then, and will have no credit that pays when its turn
    /// comes, that attempt fails.
    fn attempt_next(&mut self, wire: u32, now: Time) {
        let has_more = self.out.has_data() && self.pulled_credit + self.speculative_credit > 0;
        let can_pay = self.pulled_credit > 0 || self.speculates;
        if let Some(attempts) = &mut self.attempts
            && attempts.send(wire, has_more, now)
            && !can_pay
        {
            attempts.leave();
            self.waive(self.out.framing().wire_max().into());
        }
    }
}

impl Endpoint for EqdsSender {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        let (now, entropy) = (cx.now, packet.tag().entropy);
        let mut reasons = 1;
        match packet.header {
            Header::PulledAck { next, psn, pull, from, map, .. } => {
                let base = self.out.flight.base();
                let mut is_news = self.out.flight.arrived(psn);
                is_news |= self.out.flight.arrived_in(from, map);
                self.out.flight.arrived_below(next);
                if is_news || self.out.flight.base() != base {
                    self.backoff = 0;
                }
                let marked = packet.flags.has(Flags::ECN_ECHO);
                self.out.feedback(entropy, if marked { Feedback::Ecn } else { Feedback::Good }, now);
                self.hear_pull(pull);
            }
            Header::PulledNack { psn, pull, .. } => {
                if self.out.flight.lose(psn) {
                    self.out.feedback(entropy, Feedback::Nack, now);
                    self.backoff = 0;
                    reasons = 2;
                }
                self.hear_pull(pull);
            }
            Header::Pull { pull, .. } => self.hear_pull(pull),
            _ => return,
        }
        self.go_on(reasons, now);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now;
        if now < self.timer {
            return;
        }
        let after = self.timeout();
        let lost = self.out.expire(after, now);
        if lost > 0 {
            cx.stats.rare_mut().timeouts += 1;
        }
        if lost > 0 && self.attempts.is_some() {
            self.attempt(1, now);
        }
        let waits = self.out.has_data() && !self.may_send();
        let is_silent = self.out.flight.waiting() == 0 && self.heard.saturating_add(after) <= now;
        if waits && (lost > 0 || is_silent) && now >= self.may_ask {
            self.asks = true;
        }
        if lost > 0 || waits && is_silent {
            self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
        }
        self.timer = self.out.expires_at(self.timeout(), now);
    }

    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        if !std::mem::take(&mut self.asks) {
            return None;
        }
        self.may_ask = cx.now.saturating_add(self.rtt);
        let lost = i64::from(self.out.flight.lost()) * i64::from(self.out.framing().wire_max());
        let target = self.next_target(lost);
        Some(self.out.request(self.pull, target, cx))
    }

    fn next_timeout(&self) -> Time {
        self.timer
    }

    fn is_finished(&self) -> bool {
        self.out.is_finished()
    }

    fn gauges(&self) -> Gauges {
        let credit = self.pulled_credit + if self.speculates { self.speculative_credit } else { 0 };
        Gauges { cwnd: credit.max(0) as f64, ..Gauges::NONE }
    }
}

impl Sender for EqdsSender {
    fn wants_transmit(&self, _: Time) -> bool {
        self.may_send()
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if !self.may_send() {
            return None;
        }
        let (window, full) = (self.window, i64::from(self.out.framing().wire_max()));
        let begin = |paths: Entropies| {
            paths.with_penalties(Penalties::EQDS).with_first_window((window / full) as u64)
        };
        let (segment, entropy) = self.out.send(true, begin, cx);
        let Segment { psn, offset, len, again } = segment;
        let wire = self.out.framing().wire(len);
        self.spend(wire);
        self.arm(cx.now);
        let target = self.next_target(0);
        self.attempt_next(wire, cx.now);
        let asks = again || self.pulled_credit < 0 || !self.out.has_new();
        let header = Header::PulledData { offset, psn, pull: self.pull, target };
        let flags = self.out.flags(&segment).with_if(asks, Flags::EMPTY);
        let packet = Packet::data(header, len, wire, cx.now).with_flags(flags);
        Some(packet.with_tag(Tag { lane: 0, entropy: Some(entropy) }))
    }

    fn remaining(&self) -> u64 {
        self.out.remaining()
    }

    fn write(&mut self, bytes: u64, cx: &mut Cx<'_>) {
        self.out.write(bytes);
        self.wake();
        self.arm(cx.now);
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        self.out.close();
        self.wake();
        self.arm(cx.now);
    }

    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64 {
        let bytes = self.out.truncate();
        self.close(cx);
        bytes
    }

    fn acknowledged(&self) -> u64 {
        self.out.flight.acknowledged()
    }
}
