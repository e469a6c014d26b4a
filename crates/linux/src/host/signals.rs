//! The signals of all flows on their way out: requests, stops and the answers to both, at the rate that ports let pass.
//!
//! A newer signal of a flow takes the place of an older one that still waits, for which nobody has a use any more: a request opens a
//! session anew, a stop ends it, and an answer is one to the last of them. So what waits is bounded by the number of flows, and signals
//! that are repeated because they wait here don't make others wait longer.

use crate::datapath::{Actions, Frame};
use crate::signals::SignalLimiter;
use crate::wire::{Carrier, Control, FlowKey, MacAddr};
use clearway_proto::port::CreditShaping;
use clearway_units::{Rate, Time};
use std::collections::{HashMap, VecDeque};

/// The signals that may wait. One more is dropped, and its flow repeats it.
const CAPACITY: usize = 4096;

/// The bytes on the wire that the NIC adds to a frame: check sequence, preamble and gap.
const BESIDE_FRAME: u32 = 24;

/// The signals of a flow that take each other's place: those of its sender, or the answers of its receiver.
type Name = (FlowKey, bool);

/// The queue of signals at the NIC, first in, first out.
#[derive(Debug)]
pub(super) struct SignalQueue {
    /// The Ethernet address of the NIC.
    address: MacAddr,
    carrier: Carrier,
    limiter: SignalLimiter,
    waiting: VecDeque<(Name, Frame)>,
    /// The number of each signal that waits, counted from the first one ever.
    numbers: HashMap<Name, u64>,
    /// The number of the signal that is the first to leave.
    first: u64,
    /// The number of signals that were dropped.
    pub dropped: u64,
}

impl SignalQueue {
    /// Makes the queue of the NIC with this address and rate, whose credits are limited by `shaping`.
    pub fn new(address: MacAddr, carrier: Carrier, rate: Rate, shaping: CreditShaping) -> SignalQueue {
        SignalQueue {
            address,
            carrier,
            limiter: SignalLimiter::new(rate, shaping),
            waiting: VecDeque::new(),
            numbers: HashMap::new(),
            first: 0,
            dropped: 0,
        }
    }

    /// Adds a signal of a flow of ours. Drops it if the queue is full.
    pub fn push(&mut self, control: &Control, to: MacAddr) {
        self.push_below(CAPACITY, control, to);
    }

    /// Adds an answer to somebody of whom no flow is known. Such answers fill half of the queue at most, since anybody can ask
    /// for them.
    pub fn push_to_stranger(&mut self, control: &Control, to: MacAddr) {
        self.push_below(CAPACITY / 2, control, to);
    }

    fn push_below(&mut self, capacity: usize, control: &Control, to: MacAddr) {
        let name = (control.flow, control.kind.is_for_receiver());
        let frame = control.encode(self.carrier, self.address, to);
        if let Some(number) = self.numbers.get(&name) {
            self.waiting[(number - self.first) as usize].1 = frame;
        } else if self.waiting.len() < capacity {
            self.numbers.insert(name, self.first + self.waiting.len() as u64);
            self.waiting.push_back((name, frame));
        } else {
            self.dropped += 1;
        }
    }

    fn pop(&mut self, actions: &mut Actions) {
        if let Some((name, frame)) = self.waiting.pop_front() {
            self.numbers.remove(&name);
            self.first += 1;
            actions.frames.push(frame);
        }
    }

    /// Sends the signals that may leave now.
    pub fn send(&mut self, now: Time, actions: &mut Actions) {
        while let Some((_, frame)) = self.waiting.front()
            && self.limiter.take(frame.len() as u32 + BESIDE_FRAME, now)
        {
            self.pop(actions);
        }
    }

    /// Sends all signals at once, because the datapath ends.
    pub fn send_all(&mut self, actions: &mut Actions) {
        while !self.waiting.is_empty() {
            self.pop(actions);
        }
    }

    /// Returns the time at which the next signal may leave, or [`Time::MAX`] if none waits.
    pub fn next_time(&self, now: Time) -> Time {
        if self.waiting.is_empty() { Time::MAX } else { self.limiter.ready_at(now) }
    }

    /// Returns the number of signals that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Kind;
    use clearway_units::Span;
    use std::net::Ipv4Addr;

    const US: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

    fn queue() -> SignalQueue {
        SignalQueue::new(US, Carrier::Ethernet, Rate::mbps(100), CreditShaping::PAPER)
    }

    fn signal(kind: Kind, port: u16, session: u32) -> Control {
        let [source, destination] = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last).into());
        let flow = FlowKey { source, destination, source_port: port, destination_port: 80 };
        Control { kind, flow, session, cookie: 0, number: 0, value: 0, mtu: 0, wants_ecn: false }
    }

    /// What left: kind, port and session.
    fn left(actions: &Actions) -> Vec<(Kind, u16, u32)> {
        let parsed = actions.frames.iter().map(|frame| Control::parse(frame).unwrap().2);
        parsed.map(|control| (control.kind, control.flow.source_port, control.session)).collect()
    }

    #[test]
    fn strangers_fill_half_of_the_queue_and_what_is_dropped_is_counted() {
        let mut queue = queue();
        let ports = 0..CAPACITY as u16;
        ports.clone().for_each(|port| queue.push_to_stranger(&signal(Kind::Stopped, port, 1), OTHER));
        assert_eq!((queue.len(), queue.dropped), (CAPACITY / 2, CAPACITY as u64 / 2));
        ports.for_each(|port| queue.push(&signal(Kind::Request, port, 1), OTHER));
        assert_eq!((queue.len(), queue.dropped), (CAPACITY, CAPACITY as u64));
    }

    #[test]
    fn signals_leave_in_their_order_at_their_rate_and_all_at_once_when_the_daemon_ends() {
        let mut queue = queue();
        let (mut actions, now) = (Actions::default(), Time::ZERO);
        (0..50).for_each(|port| queue.push(&signal(Kind::Request, port, 1), OTHER));
        queue.send(now, &mut actions);
        assert_eq!((actions.frames.len(), queue.len()), (32, 18));
        let next = queue.next_time(now);
        assert_eq!(next, now + Span::from_ns(64_880));
        queue.send(next, &mut actions);
        queue.send_all(&mut actions);
        let ports: Vec<u16> = left(&actions).iter().map(|(_, port, _)| *port).collect();
        assert_eq!(ports, (0..50).collect::<Vec<u16>>());
        assert_eq!((queue.next_time(next), queue.numbers.len()), (Time::MAX, 0));
    }

    #[test]
    fn a_newer_signal_of_a_flow_takes_the_place_of_one_that_waits_and_answers_have_places_of_their_own() {
        let mut queue = queue();
        let (mut actions, now) = (Actions::default(), Time::ZERO);
        (100..132).for_each(|port| queue.push(&signal(Kind::Request, port, 1), OTHER));
        queue.send(now, &mut actions);
        actions.clear();
        for (kind, port, session) in [
            (Kind::Stop, 1, 1),
            (Kind::Request, 2, 1),
            (Kind::Accept, 1, 7),
            (Kind::Request, 1, 2),
            (Kind::Stopped, 1, 7),
            (Kind::Request, 1, 2),
        ] {
            queue.push(&signal(kind, port, session), OTHER);
        }
        queue.send_all(&mut actions);
        assert_eq!(left(&actions), [(Kind::Request, 1, 2), (Kind::Request, 2, 1), (Kind::Stopped, 1, 7)]);
        queue.push(&signal(Kind::Stop, 1, 2), OTHER);
        queue.send_all(&mut actions);
        assert_eq!(left(&actions).last(), Some(&(Kind::Stop, 1, 2)), "the place is free again");
    }
}
