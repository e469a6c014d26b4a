//! The main loop (Algorithm 1): counts what arrives, holds acknowledgements, and releases those whose traffic fits.
//!
//! It knows nothing of the packets that it orders: an acknowledgement is an item of any type `T`, such as a packet of
//! the simulator or the number of one that a Linux netfilter queue holds. Flows are opaque numbers.

use super::in_flight::{InFlight, Trigger};
use super::ledger::Ledger;
use super::mlfq::Mlfq;
use super::phase::{Correction, FlowRtt, Phase, PhaseMeter, PhaseTest, RttMethod};
use super::threshold::Threshold;
use crate::params::Auto;
use clearway_units::{Bytes, Rate, Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Settings; the parameters of [`Pac`](super::Pac) describe them.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct PacConfig {
    pub buffer: Bytes,
    pub floor: Bytes,
    pub mss: u32,
    pub first_trigger: Bytes,
    pub lambda: f64,
    pub gain: f64,
    pub levels: u32,
    pub demotion: Bytes,
    pub blocking: bool,
    pub correction: Correction,
    pub phase_test: PhaseTest,
    pub rtt_method: RttMethod,
    pub rtt_initial: Span,
    pub stall: u32,
    pub patience: Auto<Span>,
    pub line_rate: Rate,
    pub idle_timeout: Span,
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
    aged: Time,
    dropped: VecDeque<T>,
    held_max: usize,
    /// Releases in their order: until when all that they trigger must have come.
    unanswered: VecDeque<(Time, u32, Time)>,
    /// Releases of whose answers less than a segment is missing: until when that must have come.
    answered: VecDeque<(Time, u32, Time)>,
}

impl<T> PacController<T> {
    /// Nothing in flight, nothing held.
    pub fn new(config: PacConfig) -> PacController<T> {
        PacController {
            config,
            in_flight: InFlight::new(
                if config.correction == Correction::Throughput { config.lambda } else { -1.0 },
                config.gain,
            ),
            threshold: Threshold::new(config.buffer, config.floor),
            acks: Mlfq::new(config.levels as usize, config.demotion.get()),
            flows: BTreeMap::new(),
            rtt_sum: 0,
            interval: (Time::ZERO, Time::ZERO),
            active: Time::ZERO,
            chosen: None,
            aged: Time::ZERO,
            dropped: VecDeque::new(),
            held_max: 0,
            unanswered: VecDeque::new(),
            answered: VecDeque::new(),
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
        let settled = self.with(flow, now, |flow, config| {
            if let Some(answers) = arrival.answers {
                flow.rtt.sample(now.saturating_since(answers));
            }
            let rtt = flow.rtt.rtt();
            flow.phase.arrive(arrival.payload, arrival.marked, config.phase_test, rtt, config.lambda, now);
            flow.arrived = flow.arrived.max(arrival.end);
            flow.stale |= covered && arrival.payload > 0;
            let settled = flow.ledger.arrive(arrival.payload, arrival.answers);
            (settled, {
                // Less than a segment is the growth of a window that was too little for one.
                let fraction = 1..config.mss as u64;
                arrival.answers.filter(|at| fraction.contains(&flow.ledger.rest(*at)))
            })
        });
        let (settled, rest) = settled;
        if self.config.correction == Correction::Answers {
            self.in_flight.settle(settled.absent + settled.arrived);
            self.in_flight.count(arrival.payload);
            if let Some(released) = rest {
                self.answered.push_back((now.saturating_add(self.config.rtt_initial), flow, released));
            }
        } else {
            self.in_flight.arrive(arrival.payload);
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

    /// The next acknowledgement to send back, if what it triggers fits (lines 9 to 14).
    pub fn poll_release(&mut self, now: Time) -> Option<(u32, T)> {
        let flow = self.chosen.or_else(|| self.acks.turn())?;
        let held = self.acks.front(flow).expect("a flow whose turn it is has something to send");
        let (ack, phase) = (held.ack, held.phase);
        let delay = now.saturating_since(held.since);
        let state = self.flows.get(&flow).expect("a flow with acknowledgements is known");
        let trigger = if ack.opens {
            // Asked again, it triggers what has not come of the first window.
            self.config.first_trigger.get().saturating_sub(state.ledger.outstanding())
        } else {
            let mss = self.config.mss as u64;
            Trigger {
                ack: ack.number,
                prev: state.prev_ack,
                ecn_echo: ack.ecn_echo,
                phase,
                mss,
                // What is on its way, and what has come and is not acknowledged (PAC-5).
                window: state.ledger.outstanding() + state.arrived.saturating_sub(state.prev_ack),
            }
            .bytes()
        };
        let fits = self.in_flight.bytes() + trigger <= self.threshold.bytes();
        // With nothing in flight, waiting would be for ever (PAC-2).
        if !fits && self.in_flight.bytes() > 0 {
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

    /// Acknowledgements that must not be sent any more: others say the same.
    pub fn poll_dropped(&mut self) -> Option<T> {
        self.dropped.pop_front()
    }

    /// Settles what has not come in time.
    fn expire(&mut self, now: Time) {
        for queue in [&mut self.unanswered, &mut self.answered] {
            while let Some(&(until, flow, released)) = queue.front()
                && until <= now
            {
                queue.pop_front();
                if let Some(flow) = self.flows.get_mut(&flow) {
                    self.in_flight.settle(flow.ledger.expire(released));
                }
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
        self.in_flight.close_interval(now.saturating_since(begin), alpha);
        let length = self.rtt().max(Span::from_us(1));
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
        let first =
            |queue: &VecDeque<(Time, u32, Time)>| queue.front().map_or(Time::MAX, |(until, _, _)| *until);
        self.interval.1.min(first(&self.unanswered)).min(first(&self.answered))
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
mod tests {
    use super::*;

    const CONFIG: PacConfig = PacConfig {
        buffer: Bytes::new(10_000),
        floor: Bytes::new(2000),
        mss: 1000,
        first_trigger: Bytes::new(2000),
        lambda: 0.8,
        gain: 0.125,
        levels: 2,
        demotion: Bytes::new(20_000),
        blocking: false,
        correction: Correction::Throughput,
        phase_test: PhaseTest::Falls,
        rtt_method: RttMethod::Handshake,
        rtt_initial: Span::from_us(100),
        stall: 8,
        patience: Auto::Set(Span::from_ms(1)),
        line_rate: Rate::gbps(1),
        idle_timeout: Span::from_secs(300),
    };

    /// PAC driven by a script of arrivals and acknowledgements; an item is the number that it acknowledges.
    struct Bench {
        pac: PacController<u64>,
        now: Time,
    }

    impl Bench {
        fn new(config: PacConfig) -> Bench {
            Bench { pac: PacController::new(config), now: Time::ZERO }
        }

        fn at_us(&mut self, us: u64) -> &mut Bench {
            self.now = Time::ZERO + Span::from_us(us);
            self.pac.handle_timeout(self.now);
            self
        }

        /// A segment of 1000 bytes arrives; `end` counts segments.
        fn data(&mut self, flow: u32, end: u64) -> &mut Bench {
            self.arrive(flow, end, false)
        }

        fn arrive(&mut self, flow: u32, end: u64, marked: bool) -> &mut Bench {
            let arrival = Arrival { payload: 1000, end: end * 1000, marked, answers: None };
            self.pac.handle_data(flow, &arrival, self.now);
            self
        }

        fn ack(&mut self, flow: u32, number: u64) -> &mut Bench {
            let ack = Ack { number: number * 1000, ecn_echo: false, opens: false };
            self.pac.hold(flow, ack, number, self.now);
            self
        }

        fn syn_ack(&mut self, flow: u32) -> &mut Bench {
            self.pac.hold(flow, Ack { number: 0, ecn_echo: false, opens: true }, 0, self.now);
            self
        }

        fn released(&mut self) -> Vec<(u32, u64)> {
            std::iter::from_fn(|| self.pac.poll_release(self.now)).collect()
        }

        fn dropped(&mut self) -> Vec<u64> {
            std::iter::from_fn(|| self.pac.poll_dropped()).collect()
        }
    }

    #[test]
    fn acks_leave_as_long_as_their_traffic_fits_and_wait_for_arrivals_after_algorithm_1() {
        let mut bench = Bench::new(CONFIG);
        (1..=7).for_each(|flow| _ = bench.ack(flow, 1));
        // Each triggers 1000 + 1000 in slow start; the threshold is 10,000.
        assert_eq!(bench.released(), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]);
        assert_eq!((bench.pac.in_flight(), bench.pac.held()), (10_000, 2));
        bench.at_us(10).data(1, 2);
        assert!(bench.released().is_empty(), "1000 free, 2000 needed");
        bench.data(1, 3);
        assert_eq!(bench.released(), [(6, 1)]);
        assert_eq!(bench.pac.in_flight(), 10_000);
    }

    #[test]
    fn the_previous_release_counts_not_the_previous_ack_equation_3() {
        let mut bench = Bench::new(CONFIG);
        bench.ack(1, 3);
        assert_eq!(bench.released(), [(1, 3)]);
        assert_eq!(bench.pac.in_flight(), 4000);
        bench.ack(1, 4);
        bench.released();
        assert_eq!(bench.pac.in_flight(), 4000 + 2000);
    }

    #[test]
    fn with_nothing_in_flight_an_ack_leaves_whatever_it_triggers_pac_2() {
        let mut bench = Bench::new(CONFIG);
        bench.ack(1, 50).ack(2, 1);
        assert_eq!(bench.released(), [(1, 50)]);
    }

    #[test]
    fn handshakes_wait_too_and_count_a_first_window_pac_4_and_10() {
        let mut bench = Bench::new(CONFIG);
        (1..=6).for_each(|flow| _ = bench.syn_ack(flow));
        assert_eq!(bench.released().len(), 5);
        bench.syn_ack(6);
        assert_eq!((bench.dropped(), bench.pac.held()), (vec![0], 1), "a repeated one replaces the first");
        bench.syn_ack(1);
        bench.pac.acks.raise(1);
        bench.data(2, 1).data(2, 2);
        assert_eq!(bench.released(), [(6, 0), (1, 0)], "the first window of flow 1 is counted already");
    }

    #[test]
    fn flows_take_turns_and_large_ones_wait_section_iii_d() {
        let mut bench = Bench::new(PacConfig { buffer: Bytes::new(1000), floor: Bytes::ZERO, ..CONFIG });
        (1..=21).for_each(|segment| _ = bench.data(1, segment));
        bench.ack(1, 1).ack(1, 2).ack(2, 1).ack(2, 2).ack(3, 1);
        let mut order = Vec::new();
        while bench.pac.held() > 0 {
            order.extend(bench.released());
            bench.data(9, 1).data(9, 2).data(9, 3);
        }
        assert_eq!(order, [(2, 1), (3, 1), (2, 2), (1, 1), (1, 2)]);
    }

    #[test]
    fn a_dequeued_ack_blocks_later_ones_of_higher_priority_only_if_asked_to_pac_9() {
        for blocking in [false, true] {
            let mut bench = Bench::new(PacConfig { blocking, ..CONFIG });
            (1..=21).for_each(|segment| _ = bench.data(1, segment));
            bench.ack(2, 6).ack(1, 21);
            assert_eq!(bench.released(), [(2, 6)]);
            bench.ack(3, 1);
            let expected: &[(u32, u64)] = if blocking { &[] } else { &[(3, 1)] };
            assert_eq!(bench.released(), expected);
        }
    }

    #[test]
    fn a_mark_counts_the_smaller_growth_of_congestion_avoidance_section_iii_c() {
        let mut bench = Bench::new(CONFIG);
        bench.syn_ack(1).released();
        bench.ack(1, 2).released();
        assert_eq!(bench.pac.in_flight(), 2000 + 3000);
        bench.arrive(1, 1, true).ack(1, 3);
        bench.released();
        // Outstanding: 4000, so the window grows by 1000 * 1000 / 4000.
        assert_eq!(bench.pac.in_flight(), 4000 + 1000 + 250);
    }

    #[test]
    fn marks_lower_the_threshold_at_the_end_of_the_interval_equation_2() {
        let mut bench = Bench::new(CONFIG);
        bench.at_us(1000).ack(1, 50).released();
        bench.arrive(1, 51, true).data(1, 52);
        assert_eq!(bench.pac.threshold(), 10_000);
        bench.at_us(1100).ack(2, 1);
        assert_eq!(bench.pac.threshold(), 7500);
    }

    #[test]
    fn stale_acks_are_dropped_and_the_rest_goes_first_in_slow_start_section_iii_d() {
        let mut bench = Bench::new(CONFIG);
        (1..=25).for_each(|segment| _ = bench.arrive(1, segment, true));
        bench.ack(9, 8).released();
        bench.ack(1, 23).ack(1, 24).ack(1, 24).ack(1, 25).ack(2, 1);
        assert_eq!(bench.pac.acks.level(1), 1);
        // The sender timed out and repeats what the acknowledgement held for 24 covers.
        bench.data(1, 24).ack(1, 25);
        assert_eq!(bench.dropped(), [24, 25]);
        assert_eq!(bench.pac.acks.level(1), 0);
        assert_eq!(bench.pac.flows[&1].phase.phase(), Phase::SlowStart);
        bench.pac.in_flight.clear();
        assert_eq!(bench.released(), [(2, 1)], "its traffic fits beside nothing else");
        bench.pac.in_flight.clear();
        assert_eq!(bench.released(), [(1, 23)]);
        bench.pac.in_flight.clear();
        assert_eq!(bench.released(), [(1, 24), (1, 25)]);
    }

    #[test]
    fn duplicates_without_a_retransmission_are_all_kept_pac_12() {
        let mut bench = Bench::new(CONFIG);
        bench.ack(9, 8).released();
        bench.data(1, 1).ack(1, 1).data(1, 3).ack(1, 1).data(1, 4).ack(1, 1);
        assert_eq!((bench.dropped(), bench.pac.held()), (vec![], 3));
    }

    #[test]
    fn a_fall_of_throughput_frees_what_never_came_equation_6() {
        let mut bench = Bench::new(CONFIG);
        // 100 us an interval; 10 segments arrive in each, and what is released is twice that.
        for interval in 1..=10 {
            bench.at_us(interval * 100);
            bench.pac.in_flight.settle(u64::MAX);
            bench.pac.in_flight.add(20_000);
            (0..10).for_each(|_| _ = bench.data(1, 1));
        }
        bench.at_us(1100).ack(2, 1);
        assert!(bench.released().is_empty());
        bench.at_us(1150).data(1, 1).data(1, 1);
        // Throughput falls to a fifth of what is usual.
        bench.at_us(1200);
        assert!(bench.pac.in_flight() <= 2000 + 20);
        assert_eq!(bench.released(), [(2, 1)]);
    }

    #[test]
    fn where_nothing_arrives_at_all_acks_leave_after_some_intervals() {
        let mut bench = Bench::new(CONFIG);
        bench.ack(1, 50).ack(2, 1);
        assert_eq!(bench.released(), [(1, 50)]);
        let mut intervals = 0;
        while bench.released().is_empty() {
            bench.now = bench.pac.next_timeout();
            bench.pac.handle_timeout(bench.now);
            intervals += 1;
        }
        assert_eq!(intervals, 8);
        assert_eq!(bench.pac.next_timeout(), Time::MAX, "nothing held, no timer");
    }

    #[test]
    fn the_control_interval_is_the_average_round_trip_time_section_iii_c() {
        let mut bench = Bench::new(CONFIG);
        bench.at_us(1000);
        let at = |us| Some(Time::ZERO + Span::from_us(us));
        let arrival = |rtt: u64| Arrival { payload: 1, end: 1, marked: false, answers: at(1000 - rtt) };
        bench.pac.handle_data(1, &arrival(100), bench.now);
        bench.pac.handle_data(2, &arrival(300), bench.now);
        assert_eq!(bench.pac.rtt(), Span::from_us(200));
        drop(bench.pac.finish(2));
        assert_eq!(bench.pac.rtt(), Span::from_us(100));
        drop(bench.pac.finish(1));
        assert_eq!(bench.pac.rtt(), CONFIG.rtt_initial);
    }

    #[test]
    fn a_finished_flow_hands_back_its_acks_and_what_it_would_have_sent() {
        for (correction, left) in [(Correction::Answers, 2000), (Correction::Throughput, 6000)] {
            let mut bench = Bench::new(PacConfig { correction, ..CONFIG });
            bench.ack(1, 1).ack(2, 3).released();
            assert_eq!(bench.pac.in_flight(), 6000);
            bench.ack(2, 30).ack(2, 31);
            assert!(bench.released().is_empty());
            assert_eq!(bench.pac.finish(2).collect::<Vec<_>>(), [30, 31]);
            assert_eq!((bench.pac.in_flight(), bench.pac.held(), bench.pac.flows()), (left, 0, 1));
        }
    }

    #[test]
    fn with_answers_what_earlier_releases_triggered_in_vain_is_found_out_at_once() {
        let mut bench = Bench::new(PacConfig { correction: Correction::Answers, ..CONFIG });
        bench.at_us(10).ack(1, 1).released();
        bench.at_us(20).ack(1, 2).released();
        assert_eq!(bench.pac.in_flight(), 4000);
        let answers = Some(Time::ZERO + Span::from_us(20));
        bench.at_us(120);
        bench.pac.handle_data(1, &Arrival { payload: 1000, end: 3000, marked: false, answers }, bench.now);
        assert_eq!(bench.pac.in_flight(), 1000, "nothing answered the first release");
    }

    #[test]
    fn with_answers_what_does_not_come_in_time_makes_room() {
        let mut bench = Bench::new(PacConfig { correction: Correction::Answers, ..CONFIG });
        bench.ack(1, 9).ack(2, 1);
        assert_eq!(bench.released(), [(1, 9)]);
        while bench.released().is_empty() {
            bench.now = bench.pac.next_timeout();
            bench.pac.handle_timeout(bench.now);
        }
        assert!(bench.now <= Time::ZERO + Span::from_ms(1), "the configured patience");
    }

    #[test]
    fn silent_flows_are_forgotten_after_five_minutes_section_iv_a() {
        let mut bench = Bench::new(CONFIG);
        bench.at_us(299_000_000).data(1, 1).data(2, 1);
        bench.at_us(400_000_000).data(2, 2);
        bench.at_us(600_000_000).data(3, 1);
        assert_eq!(bench.pac.flows(), 2);
    }
}
