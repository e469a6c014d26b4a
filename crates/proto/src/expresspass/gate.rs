//! The sender's state machine, which asks for credits, stops them and decides which credit releases data (E17 Fig. 7).

use crate::shared::Shared;
use clearway_units::{Known, Span, Time};
use serde::{Deserialize, Serialize};

/// The state of a sender towards its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum State {
    /// No data waits and no credits arrive.
    Closed,
    /// The sender has asked for credits, and none has arrived.
    RequestSent,
    /// Credits arrive.
    Receiving,
    /// The sender has told the receiver to stop, and has no answer yet.
    StopSent,
}

/// A message of a sender to its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Signal {
    /// The request for credits.
    Request,
    /// The request to send no more credits.
    Stop,
}

/// The settings of a [`SenderGate`], which asks a receiver for credits and stops them.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct GateConfig {
    /// The time without data after which the sender stops the credits.
    pub idle: Span,
    /// The time without an answer after which a request or a stop is repeated.
    pub retry: Span,
    /// If true, `retry` doubles with each repetition.
    pub backs_off: bool,
    /// If true, a mark on the last data packet stops the credits (E16), and no stop is sent for that.
    pub stop_by_mark: bool,
    /// If true, the sender stops the credits as soon as those of one round trip cover the data left (the ns-2 code).
    /// The round trip is the time from the last request to its first credit. If too few credits arrive after the stop,
    /// the sender asks again two such round trips later.
    pub early_stop: bool,
    /// If true, requests tell the receiver how much there is to send, and the receiver stops by itself when all of that
    /// has arrived.
    pub tell_end: bool,
}

/// The largest number of doublings of `retry`.
const BACKOFF_MAX: u8 = 6;

/// The state machine of one sender.
///
/// Every request opens a *session* with a number of its own. The receiver writes the number into credits, and ignores
/// requests and stops of earlier sessions. So signals can be lost, repeated and reordered without starting or ending
/// the credits of another session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SenderGate {
    config: Shared<GateConfig>,
    state: State,
    /// The number of the present session.
    session: u32,
    /// The time at which [`SenderGate::on_timer`] must be called.
    timer: Time,
    /// The number of repetitions of the last signal, up to the largest number.
    attempts: u8,
    /// True if the last signal was answered, though the answer did not complete it.
    answered: bool,
    /// The signal that must leave now.
    pending: Option<Signal>,
    /// The time of the last stop.
    stopped_at: Time,
    /// The measurements for the early stop, if there is one.
    early: Option<Box<Early>>,
}

/// The measurements from which a sender decides to stop the credits early.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Early {
    /// The time at which the last request left.
    asked_at: Time,
    /// The time from a request to its first credit, for the last request that had one.
    first_rtt: Known<Span>,
    /// True if the first credit of the last request is still to come, even if the receiver has accepted the request.
    awaits_first: bool,
    /// The time of the last comparison of credits with the data left.
    window_start: Time,
    /// The number of credits since that comparison, in every state.
    window_credits: u64,
}

impl SenderGate {
    /// Makes a gate in state [`State::Closed`].
    pub fn new(config: GateConfig) -> SenderGate {
        SenderGate {
            config: Shared::new(config),
            state: State::Closed,
            session: 0,
            timer: Time::MAX,
            attempts: 0,
            answered: false,
            pending: None,
            stopped_at: Time::ZERO,
            early: config.early_stop.then(|| {
                Box::new(Early {
                    asked_at: Time::ZERO,
                    first_rtt: Known::NONE,
                    awaits_first: false,
                    window_start: Time::ZERO,
                    window_credits: 0,
                })
            }),
        }
    }

    /// Returns the settings.
    pub fn config(&self) -> &GateConfig {
        &self.config
    }

    /// Returns the state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the number of the present session.
    pub fn session(&self) -> u32 {
        self.session
    }

    /// Returns the time at which [`SenderGate::on_timer`] must be called, or [`Time::MAX`] for never.
    pub fn next_timeout(&self) -> Time {
        self.timer
    }

    /// Removes and returns the signal that must leave now.
    pub fn take_signal(&mut self) -> Option<Signal> {
        self.pending.take()
    }

    /// Reacts to new data where there was none: asks for credits, unless they already arrive.
    pub fn on_data(&mut self, now: Time) {
        match self.state {
            State::Closed | State::StopSent => {
                self.session = self.session.wrapping_add(1);
                (self.state, self.attempts) = (State::RequestSent, 0);
                self.signal(Signal::Request, now);
            }
            State::Receiving => self.timer = self.patience(now),
            State::RequestSent => {}
        }
    }

    /// Puts the stop of credits off for another idle time, if credits arrive: data left that the gate doesn't know of.
    pub fn stay(&mut self, now: Time) {
        if self.state == State::Receiving {
            self.timer = now.saturating_add(self.config.idle);
        }
    }

    /// Sends a request that tells of more data, if credits arrive.
    pub fn ask_again(&mut self, now: Time) {
        if self.state == State::Receiving {
            self.session = self.session.wrapping_add(1);
            (self.state, self.attempts) = (State::RequestSent, 0);
            self.signal(Signal::Request, now);
        }
    }

    /// Reacts to a credit of `session` while `backlog` frames wait. Returns true if it releases a frame; else it is
    /// wasted.
    pub fn on_credit(&mut self, session: u32, backlog: u64, rtt: Span, now: Time) -> bool {
        if let Some(early) = &mut self.early {
            early.window_credits += 1;
            if session == self.session && std::mem::take(&mut early.awaits_first) {
                early.first_rtt = Known::some(now.saturating_since(early.asked_at));
                early.window_start = now;
            }
        }
        if session == self.session && self.state == State::RequestSent {
            self.receive(now);
        }
        if backlog == 0 {
            self.on_useless_credit(rtt, now);
            return false;
        }
        match self.state {
            // After a stop by a mark or an early stop, credits on their way are spent. The timer stays.
            State::StopSent if self.config.early_stop || self.config.stop_by_mark => {}
            State::StopSent | State::Closed => self.on_data(now),
            State::RequestSent | State::Receiving => {}
        }
        match (self.state, backlog - 1) {
            (State::Receiving | State::RequestSent, 0) if self.config.stop_by_mark => {
                self.state = State::StopSent;
                self.arm_retry(now);
            }
            (State::Receiving, 0) if self.config.idle.is_zero() => self.stop(now),
            (State::Receiving, 0) => self.timer = now.saturating_add(self.config.idle),
            (State::Receiving, left) => {
                self.timer = self.patience(now);
                if self.early.is_some() {
                    self.consider_early_stop(left, now);
                }
            }
            _ => {}
        }
        true
    }

    /// Reacts to the receiver's acceptance of the request of `session`.
    pub fn on_accept(&mut self, session: u32, backlog: u64, now: Time) {
        if session == self.session && self.state == State::RequestSent {
            self.receive(now);
            if backlog == 0 {
                self.timer = now.saturating_add(self.config.idle);
            }
        }
    }

    /// Reacts to the receiver's answer that it stopped `session`, or that all data it was told of has arrived.
    /// `complete` is true if the receiver has all data that was sent and knows of the flow's end, if there is one. Else
    /// `backlog` frames are known to be missing.
    pub fn on_stopped(&mut self, session: u32, complete: bool, backlog: u64, now: Time) {
        let asked = self.config.tell_end && self.state == State::RequestSent;
        if session != self.session || self.state != State::StopSent && !asked {
            return;
        }
        if complete {
            (self.state, self.timer, self.pending) = (State::Closed, Time::MAX, None);
        } else if backlog > 0 && (asked || !self.config.early_stop) {
            self.state = State::StopSent;
            self.on_data(now);
        }
        // Otherwise credits or data may still be on their way, and the timer asks again.
        self.answered = true;
    }

    /// Sends a stop in any state, because the flow ends and no data packet can tell so.
    pub fn stop(&mut self, now: Time) {
        self.attempts = 0;
        self.state = State::StopSent;
        self.signal(Signal::Stop, now);
    }

    /// Handles the timer of [`SenderGate::next_timeout`]. Returns true if a signal was not answered.
    pub fn on_timer(&mut self, backlog: u64, now: Time) -> bool {
        if now < self.timer {
            return false;
        }
        let unanswered = self.state != State::Receiving && !self.answered;
        match self.state {
            State::Closed => self.timer = Time::MAX,
            State::Receiving if backlog > 0 && self.config.tell_end => self.ask_again(now),
            State::Receiving => self.stop(now),
            State::RequestSent if backlog == 0 => self.stop(now),
            State::RequestSent => self.signal_again(Signal::Request, now),
            State::StopSent if backlog > 0 => self.on_data(now),
            State::StopSent => self.signal_again(Signal::Stop, now),
        }
        unanswered
    }

    /// Returns the time by which credits must arrive while there is data. A receiver that does not know the end sends
    /// them until it is told to stop, so the time is then unlimited.
    fn patience(&self, now: Time) -> Time {
        if self.config.tell_end { now.saturating_add(self.config.retry) } else { Time::MAX }
    }

    /// Enters [`State::Receiving`].
    fn receive(&mut self, now: Time) {
        (self.state, self.timer) = (State::Receiving, self.patience(now));
        (self.attempts, self.pending) = (0, None);
    }

    /// Reacts to a credit for which there is no data.
    fn on_useless_credit(&mut self, rtt: Span, now: Time) {
        match self.state {
            State::Receiving => self.timer = self.timer.min(now.saturating_add(self.config.idle)),
            // Credits that left before the stop arrived have come within a round trip, so this one left after it.
            State::StopSent if now > self.stopped_at.saturating_add(rtt * 2) => {
                self.stopped_at = now;
                self.pending = Some(Signal::Stop);
            }
            _ => {}
        }
    }

    /// Stops the credits if those of the last round trip cover the `left` frames that wait.
    fn consider_early_stop(&mut self, left: u64, now: Time) {
        let Some(early) = &mut self.early else { return };
        // A credit of another session may arrive before the first one of this session.
        let Some(rtt) = early.first_rtt.get() else { return };
        if now < early.window_start.saturating_add(rtt) {
            return;
        }
        let credits = std::mem::take(&mut early.window_credits);
        early.window_start = now;
        if credits >= left {
            self.stop(now);
        }
    }

    /// Queues a signal and sets the timer for its repetition.
    fn signal(&mut self, signal: Signal, now: Time) {
        self.pending = Some(signal);
        if let Some(early) = self.early.as_mut().filter(|_| signal == Signal::Request) {
            (early.asked_at, early.awaits_first) = (now, true);
        }
        self.arm_retry(now);
    }

    fn signal_again(&mut self, signal: Signal, now: Time) {
        self.attempts = self.attempts.saturating_add(1);
        self.signal(signal, now);
    }

    /// Sets the timer for the repetition of the last signal.
    fn arm_retry(&mut self, now: Time) {
        (self.stopped_at, self.answered) = (now, false);
        let first_rtt = self.early.as_ref().and_then(|early| early.first_rtt.get());
        let retry = match first_rtt {
            Some(rtt) if self.state == State::StopSent => rtt * 2,
            _ => self.config.retry,
        };
        let doublings = if self.config.backs_off { self.attempts.min(BACKOFF_MAX) } else { 0 };
        self.timer = now.saturating_add(retry * (1 << doublings));
    }
}

#[cfg(test)]
mod tests;
