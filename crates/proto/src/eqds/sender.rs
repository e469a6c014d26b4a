//! The sending end.

use super::attempts::Attempts;
use super::params::{EqdsParams, QUANTUM};
use crate::endpoint::{Cx, Endpoint, Env, Framing, Gauges, Sender};
use crate::entropy::{Entropies, EntropyPolicy, Feedback, Penalties};
use crate::numbered::{Flight, Segment};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::tag::Tag;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The timeout doubles at most this many times.
const BACKOFF_MAX: u32 = 6;

/// The sending end of a flow. Credit counts bytes on the wire.
#[derive(Debug, Serialize, Deserialize)]
pub struct EqdsSender {
    framing: Framing,
    policy: EntropyPolicy,
    path_values: u16,
    /// The paths, from the first packet on.
    paths: Option<Entropies>,
    flight: Flight,
    /// The bytes that the application has written.
    written: u64,
    /// True once the application writes no more.
    closed: bool,
    /// The number of the packet that ends the flow, once it was sent.
    last: Option<u32>,
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
            framing: env.framing,
            policy: params.paths,
            path_values: params.path_values.get(),
            paths: None,
            flight: Flight::default(),
            written: 0,
            closed: false,
            last: None,
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
        self.speculative_credit = packets * i64::from(self.framing.wire_max());
    }

    /// Returns true if there is a packet that was never sent and for which there is room.
    fn has_new(&self) -> bool {
        self.flight.has_room() && (self.flight.end() < self.written || self.closed && self.last.is_none())
    }

    /// Returns true if the sender has something to send, whether it may or not.
    fn has_data(&self) -> bool {
        self.flight.lost() > 0 || self.has_new()
    }

    /// Returns true if the sender may send. Any credit pays for a packet, and speculative credit only for a new one.
    fn may_send(&self) -> bool {
        if self.attempts.as_ref().is_some_and(|attempts| !attempts.may_send()) {
            return false;
        }
        if self.flight.lost() > 0 {
            return self.pulled_credit > 0;
        }
        self.has_new() && (self.pulled_credit > 0 || self.speculates && self.speculative_credit > 0)
    }

    /// Returns the size on the wire of all that was never sent, or the window if that is less.
    fn backlog(&self) -> i64 {
        let left = self.written - self.flight.end();
        if left >= self.window as u64 {
            return self.window;
        }
        let (full, payload_max) = (left as u32 / self.framing.payload_max, self.framing.payload_max);
        let rest = left as u32 % payload_max;
        let rest_wire = if rest > 0 { self.framing.wire(rest) } else { 0 };
        (i64::from(full) * i64::from(self.framing.wire_max()) + i64::from(rest_wire)).min(self.window)
    }

    /// Returns the pull to which the sender wants to come, with so many bytes to send on top of what was never sent.
    fn next_target(&mut self, more: i64) -> u32 {
        let quantum = i64::from(QUANTUM);
        let mut wanted =
            (self.backlog() + more).min(self.window) - self.pulled_credit - self.speculative_credit;
        let before = i64::from(self.target.wrapping_sub(self.pull) as i32) * quantum;
        if !self.speculates && wanted - before < quantum && self.speculative_credit > 0 {
            // Speculative credit that can't be spent any more gives way, so that the target moves on.
            let packet = i64::from(self.framing.wire_max());
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
        let fails = self.has_data() && self.pulled_credit <= 0 && self.speculative_credit > 0;
        let failed = match &mut self.attempts {
            Some(attempts) => attempts.hear(reasons, fails, now),
            None => u8::from(fails),
        };
        self.waive(i64::from(failed) * i64::from(self.framing.wire_max()));
    }

    /// Returns true if the sender has something to send and nothing to send it for, and the receiver does not know.
    fn is_forgotten(&self) -> bool {
        let expected = self.target.wrapping_sub(self.pull) as i32;
        self.flight.is_empty()
            && self.has_data()
            && self.pulled_credit <= 0
            && expected < (self.framing.wire_max() / QUANTUM) as i32
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
        } else if self.timer == Time::MAX && (self.flight.waiting() > 0 || self.has_data()) {
            self.timer = now.saturating_add(self.timeout());
        }
    }

    fn feedback(&mut self, entropy: Option<u16>, feedback: Feedback, now: Time) {
        if let (Some(paths), Some(entropy)) = (&mut self.paths, entropy) {
            paths.feedback(entropy, feedback, now);
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
        let has_more = self.has_data() && self.pulled_credit + self.speculative_credit > 0;
        let can_pay = self.pulled_credit > 0 || self.speculates;
        if let Some(attempts) = &mut self.attempts
            && attempts.send(wire, has_more, now)
            && !can_pay
        {
            attempts.leave();
            self.waive(self.framing.wire_max().into());
        }
    }
}

impl Endpoint for EqdsSender {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        let (now, entropy) = (cx.now, packet.tag().entropy);
        let mut reasons = 1;
        match packet.header {
            Header::PulledAck { next, psn, pull, from, map, .. } => {
                let base = self.flight.base();
                let mut is_news = self.flight.arrived(psn);
                is_news |= self.flight.arrived_in(from, map);
                self.flight.arrived_below(next);
                if is_news || self.flight.base() != base {
                    self.backoff = 0;
                }
                let marked = packet.flags.has(Flags::ECN_ECHO);
                self.feedback(entropy, if marked { Feedback::Ecn } else { Feedback::Good }, now);
                self.hear_pull(pull);
            }
            Header::PulledNack { psn, pull, .. } => {
                if self.flight.lose(psn) {
                    self.feedback(entropy, Feedback::Nack, now);
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
        let (after, paths) = (self.timeout(), &mut self.paths);
        let lost = self.flight.expire(after, now, |entropy| {
            paths.iter_mut().for_each(|paths| paths.feedback(entropy, Feedback::Timeout, now));
        });
        if lost > 0 {
            cx.stats.rare_mut().timeouts += 1;
        }
        if lost > 0 && self.attempts.is_some() {
            self.attempt(1, now);
        }
        let waits = self.has_data() && !self.may_send();
        let is_silent = self.flight.waiting() == 0 && self.heard.saturating_add(after) <= now;
        if waits && (lost > 0 || is_silent) && now >= self.may_ask {
            self.asks = true;
        }
        if lost > 0 || waits && is_silent {
            self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
        }
        self.timer = match self.flight.oldest() {
            Some(oldest) => oldest.saturating_add(self.timeout()),
            None if self.has_data() => now.saturating_add(self.timeout()),
            None => Time::MAX,
        };
    }

    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        if !std::mem::take(&mut self.asks) {
            return None;
        }
        cx.stats.rare_mut().repeated_signals += 1;
        self.may_ask = cx.now.saturating_add(self.rtt);
        let lost = i64::from(self.flight.lost()) * i64::from(self.framing.wire_max());
        let target = self.next_target(lost);
        // The number of a packet that has arrived: the request has none of its own.
        let psn = self.flight.base().wrapping_sub(1);
        let header = Header::PullRequest { psn, pull: self.pull, target };
        let entropy = self.paths.as_mut().map(|paths| paths.next(cx.rng, cx.now));
        Some(Packet::control(header, self.framing.wire(0), cx.now).with_tag(Tag { lane: 0, entropy }))
    }

    fn next_timeout(&self) -> Time {
        self.timer
    }

    fn is_finished(&self) -> bool {
        self.last.is_some() && self.flight.is_empty()
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
        let paths = self.paths.get_or_insert_with(|| {
            let packets = self.window / i64::from(self.framing.wire_max());
            let paths = Entropies::new(self.policy, self.path_values, cx.rng);
            paths.with_penalties(Penalties::EQDS).with_first_window(packets as u64)
        });
        let entropy = paths.next(cx.rng, cx.now);
        let Segment { psn, offset, len, again } = match self.flight.send_lost(entropy, cx.now) {
            Some(segment) => segment,
            None => {
                let left = self.written - self.flight.end();
                self.flight.send(left.min(self.framing.payload_max.into()) as u32, entropy, cx.now)
            }
        };
        if !again && self.closed && self.flight.end() == self.written {
            self.last = Some(psn);
        }
        let (wire, repeats) = (self.framing.wire(len), again && len > 0);
        self.spend(wire);
        cx.stats.data_packets += 1;
        if repeats {
            cx.stats.rare_mut().retransmits += 1;
        }
        self.arm(cx.now);
        let target = self.next_target(0);
        self.attempt_next(wire, cx.now);
        let asks = again || self.pulled_credit < 0 || !self.has_new();
        let header = Header::PulledData { offset, psn, pull: self.pull, target };
        let flags = Flags::NONE
            .with_if(self.last == Some(psn), Flags::LAST)
            .with_if(asks, Flags::EMPTY)
            .with_if(repeats, Flags::RETRANSMIT);
        let packet = Packet::data(header, len, wire, cx.now).with_flags(flags);
        Some(packet.with_tag(Tag { lane: 0, entropy: Some(entropy) }))
    }

    fn remaining(&self) -> u64 {
        self.written - self.flight.acknowledged()
    }

    fn write(&mut self, bytes: u64, cx: &mut Cx<'_>) {
        self.written += bytes;
        self.wake();
        self.arm(cx.now);
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        self.closed = true;
        self.wake();
        self.arm(cx.now);
    }

    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64 {
        self.written = self.flight.end();
        self.close(cx);
        self.written
    }

    fn acknowledged(&self) -> u64 {
        self.flight.acknowledged()
    }
}
