//! The signals of all flows on their way out: requests, stops and the answers to both, at the rate that ports let pass.

use crate::datapath::{Actions, Frame};
use crate::signals::SignalLimiter;
use clearway_proto::port::CreditShaping;
use clearway_units::{Rate, Time};
use std::collections::VecDeque;

/// The signals that may wait. One more is dropped, and its flow repeats it.
const CAPACITY: usize = 4096;

/// The queue of signals at the NIC, first in, first out.
#[derive(Debug)]
pub(super) struct SignalQueue {
    limiter: SignalLimiter,
    waiting: VecDeque<Frame>,
    /// The number of signals that were dropped.
    pub dropped: u64,
}

impl SignalQueue {
    /// Makes the queue of a NIC of rate `rate`, whose credits are limited by `shaping`.
    pub fn new(rate: Rate, shaping: CreditShaping) -> SignalQueue {
        let limiter = SignalLimiter::new(rate, shaping);
        SignalQueue { limiter, waiting: VecDeque::new(), dropped: 0 }
    }

    /// Adds a signal of a flow of ours. Drops it if the queue is full.
    pub fn push(&mut self, frame: Frame) {
        self.push_below(CAPACITY, frame);
    }

    /// Adds an answer to somebody of whom no flow is known. Such answers fill half of the queue at most, since anybody can ask
    /// for them.
    pub fn push_to_stranger(&mut self, frame: Frame) {
        self.push_below(CAPACITY / 2, frame);
    }

    fn push_below(&mut self, capacity: usize, frame: Frame) {
        match self.waiting.len() < capacity {
            true => self.waiting.push_back(frame),
            false => self.dropped += 1,
        }
    }

    /// Sends the signals that may leave now.
    pub fn send(&mut self, now: Time, actions: &mut Actions) {
        while !self.waiting.is_empty() && self.limiter.take(now) {
            actions.frames.extend(self.waiting.pop_front());
        }
    }

    /// Sends all signals at once, because the datapath ends.
    pub fn send_all(&mut self, actions: &mut Actions) {
        actions.frames.extend(self.waiting.drain(..));
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
    use clearway_units::Span;

    #[test]
    fn strangers_fill_half_of_the_queue_and_what_is_dropped_is_counted() {
        let mut queue = SignalQueue::new(Rate::mbps(100), CreditShaping::PAPER);
        (0..CAPACITY).for_each(|_| queue.push_to_stranger([0; 60]));
        assert_eq!((queue.len(), queue.dropped), (CAPACITY / 2, CAPACITY as u64 / 2));
        (0..CAPACITY).for_each(|_| queue.push([1; 60]));
        assert_eq!((queue.len(), queue.dropped), (CAPACITY, CAPACITY as u64));
    }

    #[test]
    fn signals_leave_in_their_order_at_their_rate_and_all_at_once_when_the_daemon_ends() {
        let mut queue = SignalQueue::new(Rate::mbps(100), CreditShaping::PAPER);
        let (mut actions, now) = (Actions::default(), Time::ZERO);
        (0..50).for_each(|n| queue.push([n; 60]));
        queue.send(now, &mut actions);
        assert_eq!((actions.frames.len(), queue.len()), (32, 18));
        let next = queue.next_time(now);
        assert_eq!(next, now + Span::from_ns(64_880));
        queue.send(next, &mut actions);
        queue.send_all(&mut actions);
        let order: Vec<u8> = actions.frames.iter().map(|frame| frame[0]).collect();
        assert_eq!(order, (0..50).collect::<Vec<u8>>());
        assert_eq!(queue.next_time(next), Time::MAX);
    }
}
