//! An output port: queues, the limit of credits, marks, the mechanism, and the link that sends one frame at a time.

use super::frame::{Class, mark, wire};
use crate::signals::SignalLimiter;
use crate::wire::{Carrier, Ecn, Segment};
use clearway_proto::port::{CreditLimiter, CreditShaping, StepMarker};
use clearway_proto::{AnyMechanism, Flags, Header, Packet, PortState, Verdict};
use clearway_units::{Bytes, Rate, Time};
use std::collections::VecDeque;

/// The notifications that may wait at a port; PACC asks for 20 in each period at most.
const NOTIFICATIONS_MAX: usize = 64;

/// The queues of a port.
#[derive(Clone, Copy, Debug)]
pub struct PortConfig {
    /// The settings of the limit of credits.
    pub shaping: CreditShaping,
    /// The way in which the control frames of hosts travel.
    pub carrier: Carrier,
    /// The number of credits that may wait.
    pub credit_queue: u32,
    /// The number of signals that may wait.
    pub signal_queue: u32,
    /// The number of data packets that may wait.
    pub data_queue: u32,
    /// The marker of data packets that arrive.
    pub marker: Option<StepMarker>,
}

/// What became of the frames of a port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PortBooks {
    /// The frames that left.
    pub sent: u64,
    /// The bytes on the wire of these frames.
    pub sent_bytes: u64,
    /// The credits among them, and the notifications of this switch.
    pub credits_sent: u64,
    /// The credits and notifications for which there was no room.
    pub credits_dropped: u64,
    /// The signals that left.
    pub signals_sent: u64,
    /// The signals for which there was no room.
    pub signals_dropped: u64,
    /// The data packets for which there was no room.
    pub data_dropped: u64,
    /// The packets that met a long queue and have CE.
    pub marked: u64,
    /// The packets that met a long queue and take no part in ECN.
    pub not_capable: u64,
    /// The notifications that this switch made for senders behind the port.
    pub notifications: u64,
    /// The data packets that wait.
    pub waiting: u64,
    /// The most data packets that waited.
    pub waiting_max: u64,
}

/// A frame that waits, with its size on the wire.
#[derive(Debug)]
struct Waiting {
    frame: Vec<u8>,
    wire: u32,
    class: Class,
}

/// An output port.
#[derive(Debug)]
pub struct SoftPort {
    rate: Rate,
    config: PortConfig,
    limiter: CreditLimiter,
    /// The share that signals have before data, which is twice that of credits.
    signal_limiter: SignalLimiter,
    mechanism: Option<AnyMechanism>,
    notifications: VecDeque<Waiting>,
    credits: VecDeque<Waiting>,
    signals: VecDeque<Waiting>,
    data: VecDeque<Waiting>,
    data_bytes: u64,
    /// The frame that is being sent, and the time of its last bit.
    sending: Option<(Waiting, Time)>,
    /// The time up to which the port has worked; the link is free from then on, if nothing is being sent.
    clock: Time,
    pub(super) books: PortBooks,
}

impl SoftPort {
    /// Makes the port of a link of this rate.
    pub fn new(rate: Rate, config: &PortConfig, mechanism: Option<AnyMechanism>) -> SoftPort {
        SoftPort {
            rate,
            config: *config,
            limiter: CreditLimiter::new(rate, config.shaping),
            signal_limiter: SignalLimiter::new(rate, config.shaping),
            mechanism,
            notifications: VecDeque::new(),
            credits: VecDeque::new(),
            signals: VecDeque::new(),
            data: VecDeque::new(),
            data_bytes: 0,
            sending: None,
            clock: Time::ZERO,
            books: PortBooks::default(),
        }
    }

    /// Returns true if the port has a mechanism, which must know flows by name.
    pub fn notifies(&self) -> bool {
        self.mechanism.is_some()
    }

    /// Returns the frames that wait or are being sent.
    pub fn queued(&self) -> u64 {
        (self.notifications.len()
            + self.credits.len()
            + self.signals.len()
            + self.data.len()
            + usize::from(self.sending.is_some())) as u64
    }

    /// Handles a frame that shall leave by the port, which has worked up to `now`. Returns the frame if there is no room.
    pub fn arrive(
        &mut self,
        mut frame: Vec<u8>,
        class: Class,
        segment: Option<&Segment>,
        name: Option<u64>,
        now: Time,
    ) -> Option<Vec<u8>> {
        self.clock = self.clock.max(now);
        let wire = wire(&frame);
        match class {
            Class::Data => {
                self.tell(segment, name, wire, now);
                if self.data.len() >= self.config.data_queue as usize {
                    self.books.data_dropped += 1;
                    return Some(frame);
                }
                if self.config.marker.is_some_and(|marker| marker.marks(self.data_bytes)) {
                    match mark(&mut frame) {
                        true => self.books.marked += 1,
                        false => self.books.not_capable += 1,
                    }
                }
                self.data_bytes += u64::from(wire);
                self.data.push_back(Waiting { frame, wire, class });
            }
            Class::Credit | Class::Notification | Class::Signal => {
                let PortBooks { credits_dropped, signals_dropped, .. } = &mut self.books;
                let (queue, room, dropped) = match class {
                    Class::Credit => (&mut self.credits, self.config.credit_queue as usize, credits_dropped),
                    Class::Signal => (&mut self.signals, self.config.signal_queue as usize, signals_dropped),
                    _ => (&mut self.notifications, NOTIFICATIONS_MAX, credits_dropped),
                };
                if queue.len() >= room {
                    *dropped += 1;
                    return Some(frame);
                }
                queue.push_back(Waiting { frame, wire, class });
            }
        }
        // A port with an idle link sends at once, so only what has to wait counts as waiting.
        self.start(now);
        self.count_waiting();
        None
    }

    /// Tells the mechanism of a data packet that arrives.
    fn tell(&mut self, segment: Option<&Segment>, name: Option<u64>, wire: u32, now: Time) {
        let state = self.state(now);
        let Some(mechanism) = &mut self.mechanism else { return };
        let payload = segment.map_or(0, |segment| u32::from(segment.payload));
        let capable = segment.is_some_and(|segment| segment.ecn != Ecn::NotCapable);
        let flags = Flags::NONE.with_if(capable, Flags::ECN_CAPABLE);
        let packet = Packet::data(Header::data(0), payload, wire, now).with_flags(flags);
        if mechanism.sees_arrivals().has(&packet) {
            let (verdict, _) = mechanism.on_arrival(&packet, name, state);
            debug_assert_eq!(verdict, Verdict::Keep, "no mechanism of a soft switch changes packets");
        }
    }

    fn state(&self, now: Time) -> PortState {
        PortState { now, queued: self.data_bytes, sent: self.books.sent_bytes }
    }

    /// Works up to `until`, and hands each frame that leaves to `out` with the time of its last bit.
    pub fn run(&mut self, until: Time, out: &mut impl FnMut(Time, Vec<u8>)) {
        loop {
            if let Some((_, done)) = &self.sending {
                if *done > until {
                    return;
                }
                self.clock = *done;
            }
            if let Some((waiting, done)) = self.sending.take() {
                self.books.sent += 1;
                self.books.sent_bytes += u64::from(waiting.wire);
                match waiting.class {
                    Class::Credit | Class::Notification => self.books.credits_sent += 1,
                    Class::Signal => self.books.signals_sent += 1,
                    Class::Data => {}
                }
                out(done, waiting.frame);
            }
            if !self.start(until) {
                self.count_waiting();
                return;
            }
        }
    }

    /// Starts the next frame, if there is one that may leave by `until` and the link is free. Returns false if not.
    fn start(&mut self, until: Time) -> bool {
        if self.sending.is_some() {
            return false;
        }
        let limited = self.notifications.front().or(self.credits.front()).map(|waiting| waiting.wire);
        let ready = limited.map(|wire| self.limiter.ready_at(wire, self.clock));
        let next = match ready {
            Some(ready) if ready <= self.clock => {
                self.limiter.take(limited.unwrap_or(0), self.clock);
                self.notifications.pop_front().or_else(|| self.credits.pop_front())
            }
            _ if self.signals_first() => self.signals.pop_front(),
            _ if !self.data.is_empty() => self.data.pop_front(),
            // Nobody else wants the link.
            _ if !self.signals.is_empty() => self.signals.pop_front(),
            Some(ready) if ready <= until => {
                // The link is idle until the bucket has a credit's tokens.
                self.clock = ready;
                return self.start(until);
            }
            _ => None,
        };
        let Some(next) = next else { return false };
        if next.class == Class::Data {
            self.data_bytes -= u64::from(next.wire);
        }
        let done = self.clock + self.rate.time_to_send(Bytes::new(u64::from(next.wire)));
        self.sending = Some((next, done));
        true
    }

    /// Takes the tokens of the first signal, if one waits. Returns false if there are too few, so that data goes before it.
    fn signals_first(&mut self) -> bool {
        self.signals.front().is_some_and(|first| self.signal_limiter.take(first.wire, self.clock))
    }

    fn count_waiting(&mut self) {
        self.books.waiting = self.data.len() as u64;
        self.books.waiting_max = self.books.waiting_max.max(self.books.waiting);
    }

    /// Returns the time at which the next frame leaves, or a credit has its tokens.
    pub fn next_departure(&self) -> Time {
        if let Some((_, done)) = &self.sending {
            return *done;
        }
        let limited = self.notifications.front().or(self.credits.front());
        // A copy is asked, since asking refills the bucket.
        let mut limiter = self.limiter;
        limited.map_or(Time::MAX, |waiting| limiter.ready_at(waiting.wire, self.clock))
    }

    /// Returns the time of the mechanism's timer.
    pub fn next_wake(&self) -> Time {
        self.mechanism.as_ref().map_or(Time::MAX, AnyMechanism::next_timeout)
    }

    /// Calls the mechanism's timer, if it is due.
    pub fn wake(&mut self, now: Time) {
        let state = self.state(now);
        if let Some(mechanism) = self.mechanism.as_mut().filter(|mechanism| mechanism.next_timeout() <= now) {
            mechanism.on_timeout(state);
        }
    }

    /// Returns the name of the flow whose sender shall be notified next.
    pub fn poll_notification(&mut self, now: Time) -> Option<u64> {
        self.mechanism.as_mut()?.poll_cnp(now)
    }
}
