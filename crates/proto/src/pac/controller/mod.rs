//! The main loop (Algorithm 1): counts what arrives, holds acknowledgements, and releases those whose traffic fits.
//!
//! It knows nothing of the packets that it orders: an acknowledgement is an item of any type `T`, such as a packet of
//! the simulator or the number of one that a Linux netfilter queue holds. Flows are opaque numbers.

use super::in_flight::{InFlight, Trigger};
use super::ledger::Ledger;
use super::mlfq::{Discipline, Mlfq};
use super::phase::{Correction, FlowRtt, Phase, PhaseMeter, RttMethod, SlowStartEnd, Units};
use super::threshold::Threshold;
use clearway_schema::Auto;
use clearway_units::{Bytes, Rate, Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Settings; the parameters of [`Pac`](super::Pac) describe them.
#[derive(Clone, Copy, Debug)]
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
    pub line_rate: Rate,
    pub idle_timeout: Span,
}

/// What a frame adds to a segment without preamble, check sequence and gap, and what of it is IP and TCP.
const FRAME_HEADERS: u64 = 54;
const IP_HEADERS: u64 = 40;

impl PacConfig {
    /// What a segment with this payload takes out of the traffic in flight.
    #[inline]
    fn arriving(&self, payload: u64) -> u64 {
        match self.units {
            Units::Wire if payload > 0 => payload + IP_HEADERS,
            _ => payload,
        }
    }

    /// What is added for a trigger of so much payload.
    #[inline]
    fn triggered(&self, payload: u64) -> u64 {
        match self.units {
            Units::Payload => payload,
            Units::Wire => payload * (self.mss as u64 + FRAME_HEADERS) / self.mss as u64,
        }
    }
}

/// A packet of data arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Bytes of the flow in it.
    pub payload: u64,
    /// Offset after the last of them.
    pub end: u64,
    /// Whether it is marked (CE).
    pub marked: bool,
    /// When the acknowledgement was released that it answers, if that is known.
    pub answers: Option<Time>,
}

/// What of an acknowledgement matters.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The next byte expected.
    pub number: u64,
    /// Whether it carries the ECN echo flag.
    pub ecn_echo: bool,
    /// Whether it answers a `SYN`, and so triggers the first window.
    pub opens: bool,
}

#[derive(Clone, Copy, Debug)]
struct Held<T> {
    ack: Ack,
    /// Phase in which the sender will be when it gets this one: it learns of a mark from the acknowledgements that
    /// follow it, not from those that wait already.
    phase: Phase,
    since: Time,
    item: T,
}

#[derive(Debug)]
struct Flow {
    /// Acknowledgement number of the last release.
    prev_ack: u64,
    phase: PhaseMeter,
    rtt: FlowRtt,
    /// What was triggered and has not arrived.
    ledger: Ledger,
    /// Offset after the last byte that arrived.
    arrived: u64,
    /// A retransmission arrived of what an acknowledgement still held says has arrived.
    stale: bool,
    seen: Time,
}

/// PAC at one host.
#[derive(Debug)]
pub struct PacController<T> {
    config: PacConfig,
    in_flight: InFlight,
    threshold: Threshold,
    acks: Mlfq<Held<T>>,
    flows: BTreeMap<u32, Flow>,
    /// Sum of the flows' round-trip times, in ps.
    rtt_sum: u64,
    /// The control interval.
    interval: (Time, Time),
    /// Last release or arrival.
    active: Time,
    /// Where a flow was dequeued and waits for room (PAC-9).
    chosen: Option<u32>,
    /// With a limit to holding: when the flow of an acknowledgement must not wait any more, in the order in which they
    /// were held, those that have left included.
    limits: VecDeque<(Time, u32)>,
    aged: Time,
    dropped: VecDeque<T>,
    held_max: usize,
    /// Releases in their order: until when all that they trigger must have come.
    unanswered: VecDeque<(Time, u32, Time)>,
    /// The latest release that was answered.
    answered: Time,
}

impl<T> PacController<T> {
    /// Nothing in flight, nothing held.
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
        }
    }

    /// The estimate of the traffic in flight, in bytes.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.bytes()
    }

    /// The threshold, in bytes.
    pub fn threshold(&self) -> u64 {
        self.threshold.bytes()
    }

    /// Acknowledgements held.
    pub fn held(&self) -> usize {
        self.acks.len()
    }

    /// The most acknowledgements held at a time.
    pub fn held_max(&self) -> usize {
        self.held_max
    }

    /// Flows that are known.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The average of the flows' round-trip times: the control interval.
    pub fn rtt(&self) -> Span {
        match self.flows.len() as u64 {
            0 => self.config.rtt_initial,
            flows => Span::from_ps(self.rtt_sum / flows),
        }
    }

    /// Runs `act` on a flow, which is made if it is new, and keeps the sum of round-trip times.
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

    /// A packet of data arrived (Algorithm 1, lines 5 to 7).
    pub fn handle_data(&mut self, flow: u32, arrival: &Arrival, now: Time) {
        self.handle_timeout(now);
        self.active = now;
        self.threshold.count(arrival.marked);
        self.acks.grow(flow, arrival.payload);
        let covered =
            self.acks.back(flow).is_some_and(|held| !held.ack.opens && arrival.end <= held.ack.number);
        let length = self.config.arriving(arrival.payload);
        let settled = self.with(flow, now, |flow, config| {
            // What answers nothing that is awaited, such as data after a pause, tells no round trip.
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

    /// Takes an acknowledgement into the queue (line 8). It leaves through [`PacController::poll_release`], at once
    /// if there is room.
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

    /// Keeps what is in order: acknowledgements whose numbers rise above what was released, and of each number the
    /// newest, which knows of the most arrivals.
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

    /// The next acknowledgement to send back, if what it triggers fits (lines 9 to 14) or it has waited too long.
    pub fn poll_release(&mut self, now: Time) -> Option<(u32, T)> {
        let overdue = self.overdue(now);
        let flow = overdue.or(self.chosen).or_else(|| self.acks.turn())?;
        let held = self.acks.front(flow).expect("a flow whose turn it is has something to send");
        let (ack, phase) = (held.ack, held.phase);
        let delay = now.saturating_since(held.since);
        let trigger = self.trigger(flow, ack, phase);
        let fits = self.in_flight.bytes() + trigger <= self.threshold.bytes();
        // With nothing in flight, waiting would be for ever (PAC-2).
        if !fits && self.in_flight.bytes() > 0 && overdue.is_none() {
            self.chosen = self.config.blocking.then_some(flow);
            return None;
        }
        self.chosen = None;
        self.in_flight.add(trigger);
        self.active = now;
        if self.config.correction == Correction::Answers {
            // Twice an idle round trip, and half as much again as the line needs for what is ahead.
            let ahead = self.config.line_rate.time_to_send(Bytes::new(self.in_flight.bytes() * 3 / 2));
            let patience = self.config.patience.or(self.config.rtt_initial * 2 + ahead);
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

    /// What an acknowledgement of a flow adds to the traffic in flight.
    fn trigger(&self, flow: u32, ack: Ack, phase: Phase) -> u64 {
        let state = self.flows.get(&flow).expect("a flow with acknowledgements is known");
        if ack.opens {
            // Asked again, it triggers what has not come of the first window.
            let first = self.config.triggered(self.config.first_trigger.get());
            return first.saturating_sub(state.ledger.outstanding());
        }
        // What is on its way, and what has come and is not acknowledged (PAC-5).
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

    /// A flow whose first acknowledgement has waited for as long as any may.
    fn overdue(&mut self, now: Time) -> Option<u32> {
        let limit = self.config.hold_limit?;
        while let Some(&(at, flow)) = self.limits.front().filter(|(at, _)| *at <= now) {
            // What was held then may have left; what waits now may have come later.
            if self.acks.front(flow).is_some_and(|held| held.since.saturating_add(limit) <= at) {
                return Some(flow);
            }
            self.limits.pop_front();
        }
        None
    }

    /// Acknowledgements that must not be sent any more: others say the same.
    pub fn poll_dropped(&mut self) -> Option<T> {
        self.dropped.pop_front()
    }

    /// Settles what will not come: data of flows to one host waits in one queue, so once a release is answered, those
    /// of a base round trip before it, of whatever flow, are too. Where nothing is answered, patience ends some time.
    fn expire(&mut self, now: Time) {
        while let Some(&(until, flow, released)) = self.unanswered.front()
            && (until <= now || released.saturating_add(self.config.rtt_initial) < self.answered)
        {
            self.unanswered.pop_front();
            if let Some(flow) = self.flows.get_mut(&flow) {
                self.in_flight
                    .settle(flow.ledger.expire(released, self.config.triggered(self.config.mss as u64)));
            }
        }
    }

    /// Settles what has not come in time, and ends the control interval if it is over.
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

    /// When [`PacController::handle_timeout`] is due. Without acknowledgements to release there is no hurry.
    pub fn next_timeout(&self) -> Time {
        if self.acks.is_empty() {
            return Time::MAX;
        }
        let unanswered = self.unanswered.front().map_or(Time::MAX, |(until, _, _)| *until);
        let limit = self.limits.front().map_or(Time::MAX, |(at, _)| *at);
        self.interval.1.min(unanswered).min(limit)
    }

    /// A flow ended (`FIN` or `RST` was seen): its state goes. Returns what was held of it, in order.
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

    /// Forgets flows of which nothing was seen for long and nothing is held (sec. IV-A).
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
