//! The main loop of PAC (Algorithm 1), which counts arrivals, holds acknowledgements and releases those whose traffic
//! fits.
//!
//! An acknowledgement is an item of any type `T`, such as a packet of the simulator or the number of a packet in a
//! Linux netfilter queue. Flows are opaque numbers.

use super::in_flight::{InFlight, Trigger};
use super::ledger::Ledger;
use super::mlfq::{Discipline, Mlfq};
use super::phase::{Correction, FlowRtt, Phase, PhaseMeter, RttMethod, SlowStartEnd, Units};
use super::threshold::Threshold;
use clearway_schema::Auto;
use clearway_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// The settings of a controller. The parameters of [`Pac`](super::Pac) describe the fields.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PacConfig {
    pub buffer: Bytes,
    pub floor: Bytes,
    pub adapts: bool,
    pub mss: u32,
    pub units: Units,
    pub first_trigger: Bytes,
    pub avoidance_growth: bool,
    pub gain: f64,
    pub levels: u32,
    pub demotion: Bytes,
    pub discipline: Discipline,
    pub blocking: bool,
    pub hold_limit: Option<Span>,
    pub correction: Correction,
    pub slow_start_end: SlowStartEnd,
    pub rtt_method: RttMethod,
    pub rtt_initial: Span,
    pub interval_min: Span,
    pub interval_max: Span,
    pub stall: u32,
    pub patience: Auto<Span>,
    /// True where nobody knows the network's round-trip time beforehand. Patience that nobody has set then counts the least
    /// round trip that the flow has had, as soon as there was one, and else `rtt_initial`, and a silent line ends it. Else the
    /// line stands still while a sender answers no acknowledgement, such as one that has cut its window, or one whose program
    /// writes again only when a third of its buffer is free.
    pub patience_measured: bool,
    pub line_rate: Rate,
    pub idle_timeout: Span,
}

/// The bytes that Ethernet, IP and TCP headers add to a segment, without preamble, check sequence and gap.
const FRAME_HEADERS: u64 = 54;
/// The bytes that IP and TCP headers add to a segment.
const IP_HEADERS: u64 = 40;

impl PacConfig {
    /// Returns the bytes that the arrival of a segment with this payload takes out of the traffic in flight.
    #[inline]
    fn arriving(&self, payload: u64) -> u64 {
        match self.units {
            Units::Wire if payload > 0 => payload + IP_HEADERS,
            _ => payload,
        }
    }

    /// Returns the bytes that a trigger of this much payload adds to the traffic in flight.
    #[inline]
    fn triggered(&self, payload: u64) -> u64 {
        match self.units {
            Units::Payload => payload,
            Units::Wire => payload * (self.mss as u64 + FRAME_HEADERS) / self.mss as u64,
        }
    }
}

/// The arrival of a data packet.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The packet's payload, in bytes.
    pub payload: u64,
    /// The offset in the flow after the payload's last byte.
    pub end: u64,
    /// True if the packet is marked (CE).
    pub marked: bool,
    /// The time of release of the acknowledgement that the packet answers, if that is known.
    pub answers: Option<Time>,
}

/// The fields of an acknowledgement that PAC reads.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Ack {
    /// The acknowledgement number: the offset of the next byte expected.
    pub number: u64,
    /// True if it carries the ECN echo flag.
    pub ecn_echo: bool,
    /// True if it answers a `SYN`, and so triggers the first window.
    pub opens: bool,
}

/// An acknowledgement that is held.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Held<T> {
    ack: Ack,
    /// The sender's phase when it will receive this acknowledgement: it learns of a mark from the acknowledgements made
    /// after the mark, not from those that already wait.
    phase: Phase,
    /// The time since which the acknowledgement is held.
    since: Time,
    item: T,
}

/// The state of a flow to this host.
#[derive(Debug, Serialize, Deserialize)]
struct Flow {
    /// The highest acknowledgement number released.
    prev_ack: u64,
    phase: PhaseMeter,
    rtt: FlowRtt,
    /// The traffic that was triggered and has not arrived.
    ledger: Ledger,
    /// The offset after the last byte that arrived.
    arrived: u64,
    /// True if a retransmission arrived of data that an acknowledgement still held covers: the sender has timed out.
    stale: bool,
    /// The time of the flow's last packet in either direction.
    seen: Time,
}

/// The controller of PAC at one host.
#[derive(Debug, Serialize, Deserialize)]
pub struct PacController<T> {
    config: PacConfig,
    in_flight: InFlight,
    threshold: Threshold,
    acks: Mlfq<Held<T>>,
    flows: BTreeMap<u32, Flow>,
    /// The sum of the flows' round-trip times, in ps.
    rtt_sum: u64,
    /// The start and the end of the present control interval.
    interval: (Time, Time),
    /// The time of the last release or arrival.
    active: Time,
    /// The flow whose acknowledgement was dequeued and waits for room (PAC-9).
    chosen: Option<u32>,
    /// The latest time of release of each acknowledgement, with its flow, if holding has a limit. Entries are in the
    /// order in which acknowledgements were held, and remain when those leave earlier.
    limits: VecDeque<(Time, u32)>,
    /// The time at which idle flows were last looked for.
    aged: Time,
    /// The acknowledgements that must not be sent, for [`PacController::poll_dropped`].
    dropped: VecDeque<T>,
    /// The most acknowledgements held at a time.
    held_max: usize,
    /// The releases that were not settled, in order: the time by which their traffic must have arrived, the flow, and
    /// the time of the release.
    unanswered: VecDeque<(Time, u32, Time)>,
    /// The time of the latest release that was answered.
    answered: Time,
    /// The time of the latest arrival.
    arrived: Time,
}

impl<T> PacController<T> {
    /// Makes a controller with nothing in flight and nothing held.
    pub fn new(config: PacConfig) -> PacController<T> {
        PacController {
            config,
            in_flight: InFlight::new(
                config.correction,
                config.slow_start_end.lambda,
                config.gain,
                config.line_rate,
            ),
            threshold: Threshold::new(config.buffer, config.floor, config.adapts),
            acks: Mlfq::new(config.levels as usize, config.demotion.get(), config.discipline),
            flows: BTreeMap::new(),
            rtt_sum: 0,
            interval: (Time::ZERO, Time::ZERO),
            active: Time::ZERO,
            chosen: None,
            limits: VecDeque::new(),
            aged: Time::ZERO,
            dropped: VecDeque::new(),
            held_max: 0,
            unanswered: VecDeque::new(),
            answered: Time::ZERO,
            arrived: Time::ZERO,
        }
    }

    /// Returns the estimate of the traffic in flight, in bytes.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.bytes()
    }

    /// Returns the threshold, in bytes.
    pub fn threshold(&self) -> u64 {
        self.threshold.bytes()
    }

    /// Returns the number of acknowledgements held.
    pub fn held(&self) -> usize {
        self.acks.len()
    }

    /// Returns the largest number of acknowledgements held at a time.
    pub fn held_max(&self) -> usize {
        self.held_max
    }

    /// Returns the number of flows that have state here.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Returns the average of the flows' round-trip times, which is the length of the control interval.
    pub fn rtt(&self) -> Span {
        match self.flows.len() as u64 {
            0 => self.config.rtt_initial,
            flows => Span::from_ps(self.rtt_sum / flows),
        }
    }

    /// Calls `act` with a flow, which is made if it is new, and updates the sum of round-trip times.
    fn with<R>(&mut self, flow: u32, now: Time, act: impl FnOnce(&mut Flow, &PacConfig) -> R) -> R {
        let config = &self.config;
        let sum = &mut self.rtt_sum;
        let flow = self.flows.entry(flow).or_insert_with(|| {
            let rtt = FlowRtt::new(config.rtt_method, config.rtt_initial);
            *sum += rtt.rtt().as_ps();
            Flow {
                prev_ack: 0,
                phase: PhaseMeter::new(now),
                rtt,
                ledger: Ledger::default(),
                arrived: 0,
                stale: false,
                seen: now,
            }
        });
        let before = flow.rtt.rtt().as_ps();
        flow.seen = now;
        let result = act(flow, config);
        self.rtt_sum = self.rtt_sum - before + flow.rtt.rtt().as_ps();
        result
    }

    /// Records the arrival of a data packet (Algorithm 1, lines 5 to 7).
    pub fn handle_data(&mut self, flow: u32, arrival: &Arrival, now: Time) {
        self.arrived = now;
        self.handle_timeout(now);
        self.active = now;
        self.threshold.count(arrival.marked);
        self.acks.grow(flow, arrival.payload);
        let covered =
            self.acks.back(flow).is_some_and(|held| !held.ack.opens && arrival.end <= held.ack.number);
        let length = self.config.arriving(arrival.payload);
        let settled = self.with(flow, now, |flow, config| {
            // Data that answers no release that is awaited, such as data after a pause, does not measure a round trip.
            if let Some(answers) = arrival.answers.filter(|at| flow.ledger.awaits(*at)) {
                flow.rtt.sample(now.saturating_since(answers));
            }
            let rtt = flow.rtt.rtt();
            flow.phase.arrive(arrival.payload, arrival.marked, &config.slow_start_end, rtt, now);
            flow.arrived = flow.arrived.max(arrival.end);
            flow.stale |= covered && arrival.payload > 0;
            flow.ledger.arrive(length, arrival.answers, config.triggered(config.mss as u64))
        });
        if self.config.correction == Correction::Answers {
            self.in_flight.settle(settled.absent + settled.arrived);
            self.in_flight.count(length, arrival.marked);
            self.answered = self.answered.max(arrival.answers.unwrap_or(Time::ZERO));
            self.expire(now);
        } else {
            self.in_flight.arrive(length, arrival.marked);
        }
        if now.saturating_since(self.aged).saturating_mul(8) >= self.config.idle_timeout {
            self.age(now);
        }
    }

    /// Puts an acknowledgement into the queue (line 8). [`PacController::poll_release`] returns it when there is room,
    /// perhaps at once.
    pub fn hold(&mut self, flow: u32, ack: Ack, item: T, now: Time) {
        self.handle_timeout(now);
        let (stale, phase) = self.with(flow, now, |flow, _| {
            let stale = std::mem::take(&mut flow.stale);
            if stale {
                flow.phase.restart(now);
            }
            (stale, flow.phase.phase())
        });
        let again = ack.opens && self.acks.front(flow).is_some_and(|held| held.ack.opens);
        self.acks.push(flow, Held { ack, phase, since: now, item });
        if let Some(limit) = self.config.hold_limit {
            self.limits.push_back((now.saturating_add(limit), flow));
        }
        if stale || again {
            self.drop_superseded(flow);
        }
        if stale {
            self.acks.edit(flow, |items| items.iter_mut().for_each(|held| held.phase = phase));
            self.acks.raise(flow);
        }
        self.held_max = self.held_max.max(self.acks.len());
    }

    /// Drops the acknowledgements of a flow that others supersede: those with a lower number than one before them, and
    /// all but the newest of each number.
    fn drop_superseded(&mut self, flow: u32) {
        let dropped = &mut self.dropped;
        self.acks.edit(flow, |items| {
            let mut kept: VecDeque<Held<T>> = VecDeque::with_capacity(items.len());
            for held in items.drain(..) {
                match kept.back_mut() {
                    Some(last) if held.ack.number == last.ack.number => {
                        dropped.push_back(std::mem::replace(last, held).item);
                    }
                    Some(last) if held.ack.number < last.ack.number => dropped.push_back(held.item),
                    _ => kept.push_back(held),
                }
            }
            *items = kept;
        });
    }

    /// Returns the next acknowledgement to send, if its traffic fits (lines 9 to 14) or it has reached the limit to
    /// holding.
    pub fn poll_release(&mut self, now: Time) -> Option<(u32, T)> {
        let overdue = self.overdue(now);
        let flow = overdue.or(self.chosen).or_else(|| self.acks.turn())?;
        let held = self.acks.front(flow).expect("a flow whose turn it is has something to send");
        let (ack, phase) = (held.ack, held.phase);
        let delay = now.saturating_since(held.since);
        let trigger = self.trigger(flow, ack, phase);
        let fits = self.in_flight.bytes() + trigger <= self.threshold.bytes();
        // With nothing in flight, waiting would never end (PAC-2).
        if !fits && self.in_flight.bytes() > 0 && overdue.is_none() {
            self.chosen = self.config.blocking.then_some(flow);
            return None;
        }
        self.chosen = None;
        self.in_flight.add(trigger);
        self.active = now;
        if self.config.correction == Correction::Answers {
            // The default is two idle round trips and 1.5 times what the line needs for the traffic in flight.
            let ahead = self.config.line_rate.time_to_send(Bytes::new(self.in_flight.bytes() * 3 / 2));
            let patience = self.config.patience.or(self.idle_rtt(flow) * 2 + ahead);
            let until = self.unanswered.back().map_or(Time::ZERO, |(until, _, _)| *until);
            self.unanswered.push_back((until.max(now.saturating_add(patience)), flow, now));
        }
        self.with(flow, now, |flow, _| {
            flow.prev_ack = flow.prev_ack.max(ack.number);
            flow.ledger.release(trigger, now);
            flow.rtt.held(delay);
        });
        Some((flow, self.acks.pop(flow).expect("it has just been looked at").item))
    }

    /// Returns the round-trip time of a flow in an idle network.
    fn idle_rtt(&self, flow: u32) -> Span {
        let measured = if self.config.patience_measured { self.flows.get(&flow) } else { None };
        measured.and_then(|flow| flow.rtt.least()).unwrap_or(self.config.rtt_initial)
    }

    /// Returns the time from which on nothing of a release is on its way, if the line stays silent until then. Data of all flows
    /// waits in one queue in front of the host, and a queue that is not empty keeps the line busy. So a line that has been
    /// silent for two idle round trips has nothing left to bring that was released before. One `rtt_initial` more, since
    /// measured round trips are as coarse as timestamps.
    fn silent(&self, flow: u32, released: Time) -> Time {
        if !self.config.patience_measured || self.config.patience.set().is_some() {
            return Time::MAX;
        }
        let silence = self.idle_rtt(flow) * 2 + self.config.rtt_initial;
        self.arrived.max(released).saturating_add(silence)
    }

    /// Returns the bytes that an acknowledgement of a flow adds to the traffic in flight.
    fn trigger(&self, flow: u32, ack: Ack, phase: Phase) -> u64 {
        let state = self.flows.get(&flow).expect("a flow with acknowledgements is known");
        if ack.opens {
            // A repeated SYN-ACK triggers what has not arrived of the first window.
            let first = self.config.triggered(self.config.first_trigger.get());
            return first.saturating_sub(state.ledger.outstanding());
        }
        // The sender's window: the data in flight, and the data that arrived and is not acknowledged (PAC-5).
        let window = state.ledger.outstanding() + state.arrived.saturating_sub(state.prev_ack);
        let trigger = Trigger {
            ack: ack.number,
            prev: state.prev_ack,
            ecn_echo: ack.ecn_echo,
            phase,
            mss: self.config.mss as u64,
            window: self.config.avoidance_growth.then_some(window),
        }
        .bytes();
        let trigger = self.config.triggered(trigger);
        if self.config.correction == Correction::Answers { state.ledger.expected(trigger) } else { trigger }
    }

    /// Returns a flow whose first acknowledgement has been held up to the limit.
    fn overdue(&mut self, now: Time) -> Option<u32> {
        let limit = self.config.hold_limit?;
        while let Some(&(at, flow)) = self.limits.front().filter(|(at, _)| *at <= now) {
            // The acknowledgement of this entry may have left, and the one that waits now may have come later.
            if self.acks.front(flow).is_some_and(|held| held.since.saturating_add(limit) <= at) {
                return Some(flow);
            }
            self.limits.pop_front();
        }
        None
    }

    /// Returns the next acknowledgement that must not be sent, since others supersede it.
    pub fn poll_dropped(&mut self) -> Option<T> {
        self.dropped.pop_front()
    }

    /// Settles traffic that will not arrive. Data of all flows to one host waits in one queue, so once a release is
    /// answered, so are those of any flow that left a base round trip or more before it. A release without an answer is
    /// settled when its patience ends.
    fn expire(&mut self, now: Time) {
        while let Some(&(until, flow, released)) = self.unanswered.front()
            && (until.min(self.silent(flow, released)) <= now
                || released.saturating_add(self.config.rtt_initial) < self.answered)
        {
            self.unanswered.pop_front();
            if let Some(flow) = self.flows.get_mut(&flow) {
                self.in_flight
                    .settle(flow.ledger.expire(released, self.config.triggered(self.config.mss as u64)));
            }
        }
    }

    /// Settles traffic that has not arrived in time, and ends the control interval if it is over.
    pub fn handle_timeout(&mut self, now: Time) {
        self.expire(now);
        let (begin, end) = self.interval;
        if now < end {
            return;
        }
        let alpha = self.threshold.close_interval();
        self.in_flight.close_interval(now.saturating_since(begin), alpha, self.threshold.bytes());
        let length = self.rtt().min(self.config.interval_max).max(self.config.interval_min);
        if now.saturating_since(self.active) >= length.saturating_mul(self.config.stall as u64) {
            self.in_flight.clear();
        }
        self.interval = (now, now.saturating_add(length));
    }

    /// Returns the time at which [`PacController::handle_timeout`] is due: never, while no acknowledgement is held.
    pub fn next_timeout(&self) -> Time {
        if self.acks.is_empty() {
            return Time::MAX;
        }
        let unanswered = self.unanswered.front();
        let unanswered =
            unanswered.map_or(Time::MAX, |(until, flow, at)| self.silent(*flow, *at).min(*until));
        let limit = self.limits.front().map_or(Time::MAX, |(at, _)| *at);
        self.interval.1.min(unanswered).min(limit)
    }

    /// Removes the state of a flow that has ended (`FIN` or `RST`). Returns its held items in order.
    pub fn finish(&mut self, flow: u32) -> impl Iterator<Item = T> + use<T> {
        if let Some(state) = self.flows.remove(&flow) {
            self.rtt_sum -= state.rtt.rtt().as_ps();
            if self.config.correction == Correction::Answers {
                self.in_flight.settle(state.ledger.outstanding());
            }
        }
        if self.chosen == Some(flow) {
            self.chosen = None;
        }
        self.acks.remove(flow).into_iter().map(|held| held.item)
    }

    /// Removes the flows that have been idle for `idle_timeout` and of which nothing is held (sec. IV-A).
    fn age(&mut self, now: Time) {
        self.aged = now;
        let limit = self.config.idle_timeout;
        let idle = |(flow, state): (&u32, &Flow)| {
            (now.saturating_since(state.seen) >= limit && self.acks.front(*flow).is_none()).then_some(*flow)
        };
        let idle: Vec<u32> = self.flows.iter().filter_map(idle).collect();
        idle.into_iter().for_each(|flow| drop(self.finish(flow)));
    }
}

#[cfg(test)]
mod tests;
