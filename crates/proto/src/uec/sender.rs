//! The sending end: it numbers packets, sends what window and credit permit, and repeats what is lost.

use super::backlog::Backlog;
use super::config::SenderConfig;
use super::credit::Credit;
use super::marks::{ASKS, OF_PROBE, OF_REPEAT};
use super::params::BaseRtt;
use super::records::{Records, State, Taken};
use super::sleek::Sleek;
use super::window::{Heard, Nscc, Sample, penalty_in};
use crate::endpoint::{self, Cx, Endpoint, Gauges};
use crate::entropy::{Entropies, Feedback};
use crate::packet::{Extra, Flags, Header, Kind, Packet};
use crate::rng::Rng;
use crate::shared::Shared;
use crate::tag::Tag;
use clearway_units::{Span, Time};
use deadlines::Deadlines;
use serde::{Deserialize, Serialize};

mod deadlines;
mod recovery;

/// A probe, of which a sender has one on its way at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Probe {
    /// The number of the last probe.
    number: u32,
    /// The time at which it left, until it is answered.
    sent: Option<Time>,
    /// The size of the one that is to leave, if any.
    due: Option<u16>,
    /// True if it is as long as a full packet, whose round-trip time is that which the window knows.
    measures: bool,
    /// True if the base round-trip time has yet to be probed.
    is_wanted: bool,
}

/// The sending end of a flow.
#[derive(Serialize, Deserialize)]
pub struct Sender {
    config: Shared<SenderConfig>,
    records: Records,
    taken: Taken,
    deadlines: Deadlines,
    /// What the application has written.
    messages: Backlog,
    /// True once the application writes no more.
    closed: bool,
    /// True if the receiver has yet to be told where the flow ends, in a packet without data.
    owes_end: bool,
    /// The bytes of lost packets on the wire.
    lost_bytes: u64,
    /// The bytes of packets that are on their way, for all that is known; below zero while more arrived than that.
    in_flight: i64,
    /// The count of the bytes that the receiver has received.
    received: u32,
    window: Option<Nscc>,
    credit: Option<Credit>,
    sleek: Option<Box<Sleek>>,
    /// The values of the flow, once a packet has left.
    entropies: Option<Box<Entropies>>,
    probe: Probe,
    /// The number of the pull request that is to leave, if any.
    request: Option<u32>,
    /// The time from which on the next pull request may leave.
    request_at: Time,
    /// The time of the next timeout, or an earlier one.
    rto_at: Time,
    /// The number of requests since the receiver was last heard which were sent because nothing was on its way.
    stalls: u8,
}

impl Sender {
    /// Returns the sending end of a new flow.
    pub(super) fn new(config: SenderConfig, window: Option<Nscc>) -> Sender {
        let is_wanted = config.base_rtt == BaseRtt::Probe && window.is_some();
        Sender {
            records: Records::default(),
            taken: Taken::default(),
            deadlines: Deadlines::default(),
            messages: Backlog::default(),
            closed: false,
            owes_end: false,
            lost_bytes: 0,
            in_flight: 0,
            received: 0,
            window,
            credit: config.credit.as_ref().map(Credit::new),
            sleek: config.sleek.then(Box::default),
            entropies: None,
            probe: Probe { number: 0, sent: None, due: None, measures: false, is_wanted },
            request: None,
            request_at: Time::ZERO,
            rto_at: Time::MAX,
            stalls: 0,
            config: Shared::new(config),
        }
    }

    /// Returns the size on the wire of the packet at a place.
    fn size(&self, place: usize) -> u32 {
        self.config.framing.wire(self.records.bytes(place).1)
    }

    /// Returns the bytes on the wire that have yet to be sent for the first time.
    fn backlog(&self) -> u64 {
        let framing = self.config.framing;
        match self.messages.wire(self.records.end(), framing) {
            0 if self.owes_end => framing.wire(0).into(),
            wire => wire,
        }
    }

    /// Returns true if there is something to send for the first time.
    fn has_backlog(&self) -> bool {
        self.records.end() < self.messages.written() || self.owes_end
    }

    /// Returns true if there is something to send, whether it may leave or not.
    fn has_work(&self) -> bool {
        self.records.lost() > 0 || self.has_backlog()
    }

    /// Returns true if window and credit let the next packet leave.
    fn may_send(&self) -> bool {
        if self.credit.is_some_and(|credit| credit.bytes() <= 0) {
            return false;
        }
        let Some(window) = &self.window else { return true };
        let recovers = self.sleek.as_ref().is_some_and(|sleek| sleek.recovers());
        if recovers && self.records.lost() > 0 {
            return true;
        }
        let framing = &self.config.framing;
        let next = match self.records.first_lost() {
            _ if self.config.room_for_mtu => framing.wire_max(),
            Some(place) => self.size(place),
            None => framing.wire(self.next_payload()),
        };
        window.has_room(self.in_flight, next)
    }

    /// Returns the payload of the next new packet.
    fn next_payload(&self) -> u32 {
        self.messages.of_message(self.records.end()).min(self.config.framing.payload_max.into()) as u32
    }

    /// Returns the pull that the flow wants to have come to, and the last one.
    fn demand(&self) -> (u32, u32) {
        let (Some(credit), Some(config)) = (&self.credit, &self.config.credit) else { return (0, 0) };
        let backlog = self.backlog() as i64;
        let all = backlog + self.lost_bytes as i64;
        let all = self.window.as_ref().map_or(all, |window| all.min(window.cwnd() as i64 + config.mtu));
        (credit.target(all, backlog, config), credit.pull())
    }

    /// Returns the entropy of the next packet.
    fn entropy(&mut self, rng: &mut Rng, now: Time) -> u16 {
        let (config, window) = (&self.config, &self.window);
        let entropies = self.entropies.get_or_insert_with(|| {
            let packets = |window: &Nscc| (window.cwnd() / f64::from(config.framing.wire_max())) as u64;
            let first_window = window.as_ref().map_or(u64::MAX, packets);
            Box::new(Entropies::new(config.entropy, config.paths, rng).with_first_window(first_window))
        });
        entropies.next(rng, now)
    }

    /// Tells the choice of paths what became of a packet.
    fn feed(&mut self, entropy: Option<u16>, feedback: Feedback, now: Time) {
        if let (Some(entropies), Some(entropy)) = (&mut self.entropies, entropy) {
            entropies.feedback(entropy, feedback, now);
        }
    }

    /// Handles an acknowledgement.
    fn on_ack(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        let Header::PulledAck { next, psn, received, from, map, held, penalty, .. } = packet.header else {
            return;
        };
        let now = cx.now;
        let marked = packet.flags.has(Flags::ECN_ECHO);
        let of_probe = packet.flags.has(OF_PROBE);
        let sample = if of_probe {
            self.probe_sample(psn, now)
        } else {
            self.records.sample(psn, packet.flags.has(OF_REPEAT), now)
        };
        let more = received.wrapping_sub(self.received) as i32;
        let new = if more > 0 { more as u64 } else { 0 };
        if more > 0 {
            self.received = received;
        }
        self.in_flight -= new as i64;
        self.take(next, from, map);
        if packet.flags.has(Flags::LAST) {
            take_end(self);
        }
        self.feed(packet.tag().entropy, if marked { Feedback::Ecn } else { Feedback::Good }, now);
        let mut delay = None;
        if let Some(window) = &mut self.window {
            let penalty = penalty_in(window.config().penalty, penalty);
            delay = window.on_ack(&Heard { now, new, in_flight: self.in_flight, sample, marked, penalty });
        }
        if self.sleek.is_some() {
            // The answer to a probe that went ahead of data tells nothing of what waits.
            let tells = of_probe && !self.probe.measures;
            self.recover(held, delay.filter(|_| tells), now);
        }
    }

    /// Returns the measurement of the answer to a probe, if it is the last one. A small one says nothing of the base round-trip
    /// time, which is that of full packets.
    fn probe_sample(&mut self, number: u32, now: Time) -> Option<Sample> {
        let sent = self.probe.sent.filter(|_| number == self.probe.number)?;
        self.probe.sent = None;
        let (rtt, window) = (now.saturating_since(sent), self.window.as_mut()?);
        if self.probe.measures {
            window.lower(rtt);
        }
        Some(Sample { rtt: rtt.max(window.base_rtt()), lowers: false })
    }

    /// Takes what an acknowledgement tells of arrived packets: all before `next`, and those of the map from `from` on.
    fn take(&mut self, next: u32, from: u32, map: u64) {
        let before = next.wrapping_sub(self.records.base()) as usize;
        let before = if before <= self.records.len() { before } else { 0 };
        for _ in 0..before {
            if let Some((was, payload)) = self.records.pop()
                && was != State::Flying
            {
                self.leave(was, payload);
            }
        }
        let mut map = self.taken.news(from, map);
        while map != 0 {
            let psn = from.wrapping_add(map.trailing_zeros());
            map &= map - 1;
            if let Some(place) = self.records.place(psn)
                && self.records.get(place).1 != State::Arrived
            {
                let was = self.records.arrive(place);
                if was != State::Flying {
                    self.leave(was, self.records.bytes(place).1);
                }
            }
        }
        self.records.drop_arrived();
        if self.records.flying() == 0 {
            self.in_flight = self.in_flight.min(0);
        }
    }

    /// Notes that a packet of so much payload has arrived, whose state was this. It is not called for packets on their way, as most
    /// are, of which nothing is to be noted.
    #[inline(never)]
    fn leave(&mut self, was: State, payload: u32) {
        match was {
            State::Lost => {
                let size = self.config.framing.wire(payload);
                // It was taken out of the bytes in flight when it counted as lost, and again as it arrived.
                self.in_flight += i64::from(size);
                self.lost_bytes -= u64::from(size);
            }
            State::Asking => self.request = None,
            State::Flying | State::Arrived => {}
        }
    }

    /// Records that the packet at a place is lost.
    fn lose(&mut self, place: usize) {
        let size = self.size(place);
        self.records.lose(place);
        self.in_flight -= i64::from(size);
        self.lost_bytes += u64::from(size);
    }

    /// Handles the news that a packet was cut to its header.
    fn on_nack(&mut self, packet: &Packet, psn: u32, now: Time) {
        let Some(place) = self.records.place(psn) else { return };
        let (record, state) = self.records.get(place);
        if state != State::Flying {
            return;
        }
        // The answer may be to a packet that was sent before the last one with this number.
        let rtt = if record.repeats == 0 { now.saturating_since(record.sent) } else { Span::MAX };
        let last_hop = packet.flags.has(Flags::LAST_HOP);
        let (size, in_flight) = (u64::from(self.size(place)), self.in_flight);
        if let Some(window) = &mut self.window {
            window.on_nack(size, rtt, last_hop, in_flight, now);
        }
        self.lose(place);
        let feedback = match (last_hop, packet.flags.has(Flags::ECN_ECHO)) {
            (false, _) => Feedback::Nack,
            (true, true) => Feedback::Ecn,
            (true, false) => Feedback::Good,
        };
        self.feed(packet.tag().entropy, feedback, now);
    }

    /// The receiver is heard: what was sent unasked until then was all that may be.
    fn hear(&mut self, pull: Option<u32>) {
        self.stalls = 0;
        if let (Some(credit), Some(config)) = (&mut self.credit, &self.config.credit) {
            credit.stop_speculating();
            if let Some(pull) = pull {
                credit.pulled(pull, config);
            }
        }
    }

    /// Lets a probe leave of so many bytes on the wire.
    fn probe(&mut self, wire: u32) {
        self.probe.due = Some(wire as u16);
        self.probe.measures = wire > self.config.framing.wire(0);
    }
}

impl Endpoint for Sender {
    fn handle_packet(&mut self, packet: &Packet, _: &Extra, cx: &mut Cx<'_>) {
        let acks_pull = self.config.acks_pull;
        match packet.header {
            Header::PulledAck { pull, .. } => {
                self.on_ack(packet, cx);
                self.hear(acks_pull.then_some(pull));
            }
            Header::PulledNack { psn, pull, .. } => {
                self.on_nack(packet, psn, cx.now);
                self.hear(acks_pull.then_some(pull));
            }
            Header::Pull { pull, .. } => self.hear(Some(pull)),
            _ => return,
        }
        if self.probe.is_wanted && !matches!(packet.header, Header::Pull { .. }) {
            self.probe.is_wanted = false;
            if self.records.end() < self.messages.written() {
                self.probe(self.config.framing.wire_max());
            }
        }
        self.arm(cx.now);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if cx.now >= self.rto_at {
            if self.records.awaits() {
                self.expire(cx);
            } else if self.has_work() && !self.may_send() {
                self.stalls = self.stalls.saturating_add(1);
                (self.request_at, self.rto_at) = (cx.now, Time::MAX);
                self.ask(cx);
            }
            self.arm(cx.now);
        }
        if let (Some(sleek), Some(window)) = (&mut self.sleek, &self.window)
            && sleek.is_due(window, cx.now)
        {
            self.probe(self.config.framing.wire(0));
        }
    }

    fn poll_control(&mut self, _: &mut Extra, cx: &mut Cx<'_>) -> Option<Packet> {
        let (header, wire, entropy) = if let Some(psn) = self.request.take() {
            let (target, pull) = self.demand();
            let entropy = self.records.get(self.records.place(psn)?).0.entropy;
            (Header::PullRequest { psn, pull, target }, self.config.framing.wire(0), entropy)
        } else {
            let wire = self.probe.due.take()?;
            (self.probe.number, self.probe.sent) = (self.probe.number.wrapping_add(1), Some(cx.now));
            // SLEEK's probe waits in the queues of data. The one that measures a path without queues goes ahead of them.
            let header = Header::Probe { psn: self.probe.number, with_data: !self.probe.measures };
            (header, u32::from(wire), self.entropy(cx.rng, cx.now))
        };
        let packet = Packet::control(header, wire, cx.now);
        let flags = Flags::NONE.with_if(packet.kind() == Kind::Probe, Flags::ECN_CAPABLE);
        Some(packet.with_flags(flags).with_tag(Tag { lane: 0, entropy: Some(entropy) }))
    }

    fn next_timeout(&self) -> Time {
        self.sleek.as_ref().map_or(Time::MAX, |sleek| sleek.next_timeout()).min(self.rto_at)
    }

    fn is_finished(&self) -> bool {
        self.closed
            && !self.owes_end
            && self.records.is_empty()
            && self.records.end() == self.messages.written()
    }

    fn gauges(&self) -> Gauges {
        let cwnd = self.window.as_ref().map_or(f64::NAN, Nscc::cwnd);
        Gauges { cwnd, ..Gauges::NONE }
    }
}

impl endpoint::Sender for Sender {
    fn wants_transmit(&self, _: Time) -> bool {
        self.has_work() && self.may_send()
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if !self.wants_transmit(cx.now) {
            return None;
        }
        let (now, framing) = (cx.now, self.config.framing);
        let entropy = self.entropy(cx.rng, now);
        let lost = self.records.first_lost();
        let (psn, (offset, payload), repeats) = match lost {
            Some(place) => {
                self.records.repeat(place, entropy, now);
                self.deadlines.begin_again(place, &self.records, &self.config);
                let repeats = self.records.get(place).0.repeats;
                (self.records.psn(place), self.records.bytes(place), repeats)
            }
            None => {
                let (offset, payload) = (self.records.end(), self.next_payload());
                let psn = self.records.push(payload, entropy, State::Flying, now);
                self.messages.send(self.records.end(), framing);
                (psn, (offset, payload), 0)
            }
        };
        let wire = framing.wire(payload);
        let is_again = lost.is_some();
        let is_last = self.closed && offset + u64::from(payload) == self.messages.written();
        self.owes_end &= !is_last || is_again;
        self.lost_bytes -= if is_again { wire.into() } else { 0 };
        self.in_flight += i64::from(wire);
        if let Some(credit) = &mut self.credit {
            credit.spend(wire);
        }
        let deadline = now.saturating_add(self.config.rto_after(repeats));
        self.rto_at = self.rto_at.min(deadline);
        let asks = is_again || self.asks(wire);
        let (target, pull) = self.demand();
        cx.stats.data_packets += 1;
        if is_again {
            cx.stats.rare_mut().retransmits += 1;
        }
        let flags = Flags::ECN_CAPABLE
            .with_if(is_again, Flags::RETRANSMIT)
            .with_if(is_last, Flags::LAST)
            .with_if(asks, ASKS);
        let packet = Packet::data(Header::PulledData { offset, psn, pull, target }, payload, wire, now);
        Some(packet.with_flags(flags).with_tag(Tag { lane: 0, entropy: Some(entropy) }))
    }

    fn remaining(&self) -> u64 {
        self.messages.written() - self.records.end() + self.lost_bytes
    }

    fn write(&mut self, bytes: u64, cx: &mut Cx<'_>) {
        self.messages.write(bytes, self.records.end(), self.config.framing);
        self.wake(cx);
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        self.closed = true;
        self.owes_end = self.records.end() == self.messages.written();
        self.wake(cx);
    }

    fn truncate(&mut self, cx: &mut Cx<'_>) -> u64 {
        self.messages.cut(self.records.end());
        self.close(cx);
        self.messages.written()
    }

    fn acknowledged(&self) -> u64 {
        self.records.acknowledged()
    }
}

impl Sender {
    /// Returns true if the packet of this size that leaves asks for an acknowledgement at once, since none may follow it.
    fn asks(&self, size: u32) -> bool {
        let has_room = |window: &Nscc| {
            let needs = self.in_flight as f64 + f64::from(size);
            let is_small = self.config.small_window_asks && window.cwnd() < self.config.sack_threshold;
            needs < window.cwnd() && !is_small
        };
        !self.has_backlog()
            || self.credit.is_some_and(|credit| credit.bytes() <= 0)
            || !self.window.as_ref().is_none_or(has_room)
    }

    /// The application has more to send. If no credit is left of earlier data and nothing is on its way, the sender asks.
    fn wake(&mut self, cx: &mut Cx<'_>) {
        if self.has_work() && !self.may_send() && !self.records.awaits() {
            self.ask(cx);
        }
        self.arm(cx.now);
    }
}

/// The receiver has all of the flow, and knows where it ends: a packet without data that was to tell it the end need not leave, or is
/// repeated no more. A repeated packet with data may have told it, and the receiver pulls for a flow no longer that has all.
fn take_end(sender: &mut Sender) {
    sender.owes_end = false;
    for place in (0..sender.records.len()).rev() {
        let (payload, size) = (sender.records.bytes(place).1, sender.size(place));
        match sender.records.get(place).1 {
            State::Lost if payload == 0 => sender.lost_bytes -= u64::from(size),
            State::Flying if payload == 0 => sender.in_flight -= i64::from(size),
            _ => continue,
        }
        sender.records.arrive(place);
    }
    sender.records.drop_arrived();
}

#[cfg(test)]
mod tests;
