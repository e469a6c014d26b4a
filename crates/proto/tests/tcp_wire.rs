//! Both ends of TCP flows over a virtual wire that delays, drops, reorders, queues and marks.

use clearway_proto::port::{MarkAt, StepMarker};
use clearway_proto::tcp::controller::{AckEvent, CongestionEvent, Controller, Limits, Phase, RestartEvent};
use clearway_proto::tcp::{self, Ecn, cubic::Cubic, dctcp::Dctcp, newreno::NewReno};
use clearway_proto::{
    Cx, Endpoint, Entity, Env, Extra, Flags, Framing, Kind, Packet, ParamSet, Receiver, Rng, Sender, Stats,
    Transport,
};
use clearway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What happens to packets on their way. Data passes one queue; acknowledgements only take time.
#[derive(Clone, Copy, Debug)]
struct Wire {
    /// One way.
    delay: Span,
    /// Up to this much is added at random: packets overtake each other.
    jitter: Span,
    /// Share of packets lost, in each direction.
    loss: f64,
    /// Rate of the queue; none: no queue.
    rate: Option<Rate>,
    /// Room in the queue, in bytes.
    buffer: u64,
    /// Marking threshold, in bytes.
    k: u64,
}

impl Wire {
    const IDEAL: Wire = Wire {
        delay: Span::from_us(50),
        jitter: Span::ZERO,
        loss: 0.0,
        rate: None,
        buffer: u64::MAX,
        k: u64::MAX,
    };
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Write(u64),
    Close,
    Truncate,
}

/// A flow with what a bystander sees of it.
struct Flow<S, R> {
    sender: S,
    receiver: R,
    stats: [Stats; 2],
    actions: Vec<(Time, Action)>,
    written: u64,
    /// Ranges that arrived, merged: what the receiver must deliver.
    arrived: BTreeMap<u64, u64>,
    finished_at: [Option<Time>; 2],
    /// Every data packet that was sent: when, first byte, payload, flags.
    sent: Vec<(Time, u64, u32, Flags)>,
    acks: Vec<Packet>,
}

#[derive(Clone, Copy)]
struct Arrival {
    flow: usize,
    packet: Packet,
    extra: Extra,
}

/// Decides the fate of a data packet by its flow, its first byte, and how often that was sent before.
type Fate = Box<dyn FnMut(usize, &Packet) -> bool>;

struct World<S, R> {
    now: Time,
    wire: Wire,
    rng: Rng,
    flows: Vec<Flow<S, R>>,
    arrivals: Vec<Arrival>,
    pending: BinaryHeap<Reverse<(Time, usize)>>,
    queue_free: Time,
    /// Longest queue met by a packet since `measure_from`, and the sum and count of what was met.
    queue_max: u64,
    queue_sum: u64,
    queue_met: u64,
    measure_from: Time,
    drop_if: Fate,
}

impl<S: Sender, R: Receiver> World<S, R> {
    fn new(wire: Wire, seed: u64) -> World<S, R> {
        World {
            now: Time::ZERO,
            wire,
            rng: Rng::stream(seed, Entity::Network, 0),
            flows: Vec::new(),
            arrivals: Vec::new(),
            pending: BinaryHeap::new(),
            queue_free: Time::ZERO,
            queue_max: 0,
            queue_sum: 0,
            queue_met: 0,
            measure_from: Time::ZERO,
            drop_if: Box::new(|_, _| false),
        }
    }

    fn add(&mut self, sender: S, receiver: R, mut actions: Vec<(Time, Action)>) {
        actions.reverse();
        self.flows.push(Flow {
            sender,
            receiver,
            stats: [Stats::default(); 2],
            actions,
            written: 0,
            arrived: BTreeMap::new(),
            finished_at: [None; 2],
            sent: Vec::new(),
            acks: Vec::new(),
        });
    }

    fn carry(&mut self, flow: usize, mut packet: Packet, extra: Extra) {
        let to_receiver = packet.kind.is_for_receiver();
        if self.rng.unit() < self.wire.loss || (to_receiver && (self.drop_if)(flow, &packet)) {
            return;
        }
        let mut leaves = self.now;
        if let (Some(rate), true) = (self.wire.rate, to_receiver) {
            let queued = rate.bytes_in(self.queue_free.saturating_since(self.now)).get();
            if queued + packet.wire as u64 > self.wire.buffer {
                return;
            }
            let marker = StepMarker { threshold: self.wire.k, at: MarkAt::Enqueue };
            if marker.marks(queued) && packet.flags.has(Flags::ECN_CAPABLE) {
                packet.flags.set(Flags::ECN_CE);
            }
            if self.now >= self.measure_from {
                self.queue_max = self.queue_max.max(queued);
                self.queue_sum += queued;
                self.queue_met += 1;
            }
            self.queue_free =
                self.queue_free.max(self.now) + rate.time_to_send(Bytes::new(packet.wire as u64));
            leaves = self.queue_free;
        }
        let at = leaves + self.wire.delay + self.rng.span_up_to(self.wire.jitter);
        self.pending.push(Reverse((at, self.arrivals.len())));
        self.arrivals.push(Arrival { flow, packet, extra });
    }

    /// What the driver owes both ends of a flow after each input.
    fn drive(&mut self, flow: usize) {
        let now = self.now;
        let mut rng = Rng::stream(0, Entity::Sender, 0);
        loop {
            let mut out = Vec::new();
            let f = &mut self.flows[flow];
            let mut extra = Extra::default();
            let mut cx = Cx { now, rng: &mut rng, stats: &mut f.stats[1] };
            while let Some(packet) = f.receiver.poll_control(&mut extra, &mut cx) {
                assert!(!packet.kind.is_for_receiver());
                f.acks.push(packet);
                out.push((packet, extra));
            }
            let mut cx = Cx { now, rng: &mut rng, stats: &mut f.stats[0] };
            while let Some(packet) = f.sender.poll_control(&mut extra, &mut cx) {
                out.push((packet, extra));
            }
            while f.sender.wants_transmit(now) {
                let packet = f.sender.poll_transmit(&mut cx).expect("wants_transmit promised it");
                assert!(packet.seq + packet.payload as u64 <= f.written, "sent what was not written");
                f.sent.push((now, packet.seq, packet.payload, packet.flags));
                out.push((packet, extra));
            }
            assert!(f.sender.poll_transmit(&mut cx).is_none(), "wants_transmit denied it");
            if out.is_empty() {
                break;
            }
            out.into_iter().for_each(|(packet, extra)| self.carry(flow, packet, extra));
        }
        let f = &mut self.flows[flow];
        for (end, finished) in [f.sender.is_finished(), f.receiver.is_finished()].into_iter().enumerate() {
            assert!(finished || f.finished_at[end].is_none(), "an end can't be unfinished again");
            if finished && f.finished_at[end].is_none() {
                f.finished_at[end] = Some(now);
            }
        }
    }

    /// Runs until nothing is left to happen or `until`; returns whether something is left.
    fn run(&mut self, until: Time) -> bool {
        let mut rng = Rng::stream(0, Entity::Receiver, 0);
        for steps in 0u64.. {
            assert!(steps < 20_000_000, "the flow does not come to an end");
            let mut at = self.pending.peek().map_or(Time::MAX, |Reverse((at, _))| *at);
            let mut who = None;
            for (index, flow) in self.flows.iter().enumerate() {
                let action = flow.actions.last().map_or(Time::MAX, |(at, _)| *at);
                for (what, time) in
                    [(0, action), (1, flow.sender.next_timeout()), (2, flow.receiver.next_timeout())]
                {
                    if time < at {
                        (at, who) = (time, Some((index, what)));
                    }
                }
            }
            if at == Time::MAX {
                return false;
            }
            if at > until {
                self.now = until;
                return true;
            }
            assert!(at >= self.now, "a timer in the past: {at} at {}", self.now);
            self.now = at;
            let now = at;
            let flow = match who {
                None => {
                    let Reverse((_, index)) = self.pending.pop().expect("peeked");
                    let Arrival { flow, packet, extra } = self.arrivals[index];
                    let f = &mut self.flows[flow];
                    if packet.kind.is_for_receiver() {
                        let mut cx = Cx { now, rng: &mut rng, stats: &mut f.stats[1] };
                        f.receiver.handle_packet(&packet, &extra, &mut cx);
                        if packet.payload > 0 {
                            arrive(&mut f.arrived, packet.seq, packet.seq + packet.payload as u64);
                        }
                        let prefix = f.arrived.get(&0).copied().unwrap_or(0);
                        assert_eq!(f.receiver.delivered(), prefix, "delivered is not what arrived in order");
                    } else {
                        let mut cx = Cx { now, rng: &mut rng, stats: &mut f.stats[0] };
                        f.sender.handle_packet(&packet, &extra, &mut cx);
                    }
                    flow
                }
                Some((flow, what)) => {
                    let f = &mut self.flows[flow];
                    let mut cx = Cx { now, rng: &mut rng, stats: &mut f.stats[(what == 2) as usize] };
                    match what {
                        // All that the application does at one time is one input.
                        0 => {
                            while f.actions.last().is_some_and(|(at, _)| *at == now) {
                                let (_, action) = f.actions.pop().expect("seen");
                                match action {
                                    Action::Write(bytes) => {
                                        f.written += bytes;
                                        f.sender.write(bytes, &mut cx);
                                    }
                                    Action::Close => f.sender.close(&mut cx),
                                    Action::Truncate => f.written = f.sender.truncate(&mut cx),
                                }
                            }
                        }
                        1 => f.sender.handle_timeout(&mut cx),
                        _ => f.receiver.handle_timeout(&mut cx),
                    }
                    flow
                }
            };
            self.drive(flow);
        }
        unreachable!()
    }

    /// Runs to the end, and checks that all arrived and that both ends know.
    fn finish(&mut self) {
        let left = self.run(Time::ZERO + Span::from_secs(24 * 3600));
        assert!(!left, "not finished after a day");
        for flow in &self.flows {
            assert_eq!(flow.receiver.delivered(), flow.written);
            assert!(flow.sender.is_finished(), "the sender");
            assert!(flow.receiver.is_finished(), "the receiver");
            assert_eq!(flow.sender.next_timeout(), Time::MAX);
            assert_eq!(flow.receiver.next_timeout(), Time::MAX);
        }
    }
}

fn arrive(arrived: &mut BTreeMap<u64, u64>, mut start: u64, mut end: u64) {
    while let Some((&s, &e)) = arrived.range(..=end).next_back().filter(|(_, e)| **e >= start) {
        arrived.remove(&s);
        start = start.min(s);
        end = end.max(e);
    }
    arrived.insert(start, end);
}

const MSS: u64 = 1460;

fn env() -> Env {
    Env {
        line_rate: Rate::gbps(10),
        path_rate: Rate::gbps(10),
        base_rtt: Span::from_us(100),
        framing: Framing::ETHERNET,
        established: false,
    }
}

fn params<T: Transport>(values: &[(&str, &str)]) -> T::Params {
    let mut params = T::Params::default();
    values.iter().for_each(|(name, value)| params.set(name, value).unwrap_or_else(|e| panic!("{e}")));
    params
}

fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

type WorldOf<T> = World<<T as Transport>::Sender, <T as Transport>::Receiver>;

fn world<T: Transport>(
    values: &[(&str, &str)],
    wire: Wire,
    seed: u64,
    flows: &[Vec<(Time, Action)>],
) -> WorldOf<T> {
    let params = params::<T>(values);
    let mut world = World::new(wire, seed);
    for actions in flows {
        world.add(T::sender(&params, &env()), T::receiver(&params, &env()), actions.clone());
    }
    world
}

fn one_write(bytes: u64) -> Vec<(Time, Action)> {
    vec![(Time::ZERO, Action::Write(bytes)), (Time::ZERO, Action::Close)]
}

/// A world with one flow of `bytes`, whose data packets number `drops` (from 0, in order of sending) are lost.
fn with_drops<T: Transport>(values: &[(&str, &str)], bytes: u64, drops: &'static [usize]) -> WorldOf<T> {
    let mut world = world::<T>(values, Wire::IDEAL, 1, &[one_write(bytes)]);
    let mut count = 0;
    world.drop_if = Box::new(move |_, packet| {
        count += (packet.kind == Kind::Data) as usize;
        packet.kind == Kind::Data && drops.contains(&(count - 1))
    });
    world
}

// ---------------------------------------------------------------------------------------------------------------
// Loss-free: rates and times as computed.

#[test]
fn slow_start_doubles_every_round_trip_rfc_5681_section_3_1() {
    let mut world = world::<NewReno>(&[("initial_window", "2")], Wire::IDEAL, 1, &[one_write(62 * MSS)]);
    world.finish();
    // 2 + 4 + 8 + 16 + 32 segments in five round trips.
    for round in 0..5 {
        let sent = world.flows[0].sent.iter().filter(|(at, ..)| *at == at_us(100 * round)).count();
        assert_eq!(sent, 2 << round, "round {round}");
    }
    assert_eq!(world.flows[0].finished_at, [Some(at_us(500)), Some(at_us(450))]);
    assert_eq!(world.flows[0].stats[0].data_packets, 62);
    assert_eq!(world.flows[0].stats[0].retransmits, 0);
}

#[test]
fn goodput_is_the_receive_window_over_the_round_trip_time() {
    let window = 20 * MSS;
    let values = [("receive_window", "29.2 KB"), ("initial_window", "20")];
    let mut world = world::<Cubic>(&values, Wire::IDEAL, 1, &[one_write(50 * window)]);
    world.finish();
    assert_eq!(world.flows[0].finished_at[1], Some(at_us(49 * 100 + 50)));
}

#[test]
fn a_handshake_costs_a_round_trip() {
    let mut world = world::<Dctcp>(&[("handshake", "true")], Wire::IDEAL, 1, &[one_write(MSS)]);
    world.finish();
    assert_eq!(world.flows[0].finished_at[1], Some(at_us(150)));
}

#[test]
fn delayed_acknowledgements_come_for_every_second_segment_rfc_5681_section_4_2() {
    let mut world = world::<NewReno>(&[("delayed_ack", "true")], Wire::IDEAL, 1, &[one_write(10 * MSS)]);
    world.finish();
    assert_eq!(world.flows[0].acks.len(), 5);
}

#[test]
fn a_lone_segment_is_acknowledged_after_the_delay_rfc_1122_section_4_2_3_2() {
    let mut actions = one_write(MSS);
    actions[1].0 = at_us(20_000);
    let mut world = world::<NewReno>(&[("delayed_ack", "true")], Wire::IDEAL, 1, &[actions]);
    world.run(at_us(10_000));
    assert_eq!(world.flows[0].acks.len(), 1);
    assert_eq!(world.flows[0].acks[0].sent, at_us(50 + 1000));
    world.finish();
}

#[test]
fn a_flow_that_is_closed_later_ends_by_an_empty_packet() {
    let mut actions = one_write(3 * MSS);
    actions[1].0 = at_us(1000);
    let mut world = world::<NewReno>(&[], Wire::IDEAL, 1, &[actions]);
    world.finish();
    assert_eq!(world.flows[0].finished_at, [Some(at_us(1100)), Some(at_us(1050))]);
    assert_eq!(world.flows[0].stats[0].data_packets, 4);
}

#[test]
fn a_window_that_the_application_does_not_fill_does_not_grow_rfc_7661() {
    let actions: Vec<_> = (0..1000).map(|i| (at_us(200 * i), Action::Write(MSS))).collect();
    let mut newreno = world::<NewReno>(&[], Wire::IDEAL, 1, std::slice::from_ref(&actions));
    newreno.run(at_us(300_000));
    assert_eq!(newreno.flows[0].sender.gauges().cwnd, 10.0 * MSS as f64);
    let mut cubic = world::<Cubic>(&[], Wire::IDEAL, 1, &[actions]);
    cubic.run(at_us(300_000));
    assert_eq!(cubic.flows[0].sender.gauges().cwnd, 10.0 * MSS as f64);
}

#[test]
fn after_a_long_pause_the_window_starts_again_rfc_5681_section_4_1() {
    let actions = vec![
        (Time::ZERO, Action::Write(70 * MSS)),
        (at_us(100_000), Action::Write(70 * MSS)),
        (at_us(100_000), Action::Close),
    ];
    let burst = |idle_restart| {
        let mut world =
            world::<Dctcp>(&[("idle_restart", idle_restart)], Wire::IDEAL, 1, std::slice::from_ref(&actions));
        world.finish();
        world.flows[0].sent.iter().filter(|(at, ..)| *at == at_us(100_000)).count()
    };
    assert_eq!(burst("true"), 10);
    assert_eq!(burst("false"), 70);
}

#[test]
fn what_was_not_sent_can_be_taken_back() {
    let actions = vec![(Time::ZERO, Action::Write(1000 * MSS)), (at_us(120), Action::Truncate)];
    let mut world = world::<NewReno>(&[], Wire::IDEAL, 1, &[actions]);
    world.finish();
    assert_eq!(world.flows[0].receiver.delivered(), 30 * MSS, "10, then 20 segments");
}

#[test]
fn a_flow_without_a_byte_ends_too() {
    let actions = vec![(Time::ZERO, Action::Write(1000)), (Time::ZERO, Action::Truncate)];
    let mut handshake = world::<NewReno>(&[("handshake", "true")], Wire::IDEAL, 1, &[actions]);
    handshake.finish();
    assert_eq!(handshake.flows[0].receiver.delivered(), 0);
    world::<NewReno>(&[], Wire::IDEAL, 1, &[vec![(Time::ZERO, Action::Close)]]).finish();
}

// ---------------------------------------------------------------------------------------------------------------
// Recovery.

#[test]
fn one_loss_is_repaired_without_a_timeout_rfc_5681_section_3_2() {
    for sack in ["true", "false"] {
        let mut world = with_drops::<NewReno>(&[("sack", sack)], 100 * MSS, &[12]);
        world.finish();
        let flow = &world.flows[0];
        assert_eq!((flow.stats[0].timeouts, flow.stats[0].retransmits), (0, 1), "sack {sack}");
        assert_eq!(flow.stats[1].duplicate_bytes, 0);
    }
}

#[test]
fn new_reno_repairs_one_loss_per_round_trip_rfc_6582_section_3_2() {
    let drops = &[30, 32, 34];
    let mut world = with_drops::<NewReno>(&[("sack", "false")], 300 * MSS, drops);
    world.finish();
    let flow = &world.flows[0];
    assert_eq!((flow.stats[0].timeouts, flow.stats[0].retransmits), (0, 3));
    let again: Vec<_> = flow.sent.iter().filter(|(.., flags)| flags.has(Flags::RETRANSMIT)).collect();
    assert_eq!(again.iter().map(|(_, seq, ..)| seq / MSS).collect::<Vec<_>>(), [30, 32, 34]);
    assert_eq!(again[1].0, again[0].0 + Span::from_us(100));
    assert_eq!(again[2].0, again[1].0 + Span::from_us(100));
}

#[test]
fn selective_acknowledgements_repair_many_losses_in_one_round_trip_rfc_6675_section_5() {
    let drops = &[30, 32, 34, 36, 38];
    let mut world = with_drops::<NewReno>(&[], 300 * MSS, drops);
    world.finish();
    let flow = &world.flows[0];
    assert_eq!((flow.stats[0].timeouts, flow.stats[0].retransmits), (0, 5));
    let again: Vec<_> = flow.sent.iter().filter(|(.., flags)| flags.has(Flags::RETRANSMIT)).collect();
    assert!(again[4].0 <= again[0].0 + Span::from_us(100));
}

#[test]
fn the_first_two_duplicates_release_new_data_rfc_3042() {
    for sack in ["true", "false"] {
        // Four segments, the first lost: three duplicates only come because two new segments left.
        let values = [("initial_window", "3"), ("sack", sack)];
        let mut world = with_drops::<NewReno>(&values, 20 * MSS, &[0]);
        world.finish();
        assert_eq!(world.flows[0].stats[0].timeouts, 0, "sack {sack}");
    }
}

#[test]
fn a_lost_tail_waits_for_the_timer_rfc_6298_section_5() {
    let mut world = with_drops::<NewReno>(&[], 10 * MSS, &[9]);
    world.finish();
    let flow = &world.flows[0];
    assert_eq!((flow.stats[0].timeouts, flow.stats[0].retransmits), (1, 1));
    // The timer was restarted by the last acknowledgement, at 100 us.
    assert_eq!(flow.finished_at[1], Some(at_us(100 + 10_000 + 50)));
}

#[test]
fn each_timeout_doubles_the_next_rfc_6298_section_5_5() {
    let mut world = with_drops::<NewReno>(&[], MSS, &[0, 1, 2]);
    world.finish();
    let times: Vec<_> = world.flows[0].sent.iter().map(|(at, ..)| *at).collect();
    assert_eq!(times, [at_us(0), at_us(10_000), at_us(30_000), at_us(70_000)]);
}

#[test]
fn a_lost_window_is_repaired_in_slow_start_rfc_5681_section_3_1() {
    let mut world = with_drops::<NewReno>(&[], 10 * MSS, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    world.finish();
    let flow = &world.flows[0];
    assert_eq!((flow.stats[0].timeouts, flow.stats[0].retransmits), (1, 10));
    let count = |us| flow.sent.iter().filter(|(at, ..)| *at == at_us(us)).count();
    assert_eq!([count(10_000), count(10_100), count(10_200)], [1, 2, 4]);
}

#[test]
fn a_lost_syn_is_sent_again_after_a_second_and_costs_the_initial_window_rfc_6298_rfc_5681_section_3_1() {
    let mut world = world::<NewReno>(&[("handshake", "true")], Wire::IDEAL, 1, &[one_write(10 * MSS)]);
    let mut syns = 0;
    world.drop_if = Box::new(move |_, packet| {
        syns += (packet.kind == Kind::Syn) as u32;
        packet.kind == Kind::Syn && syns == 1
    });
    world.finish();
    let flow = &world.flows[0];
    assert_eq!(flow.sent[0].0, at_us(1_000_100));
    assert_eq!(flow.sent.iter().filter(|(at, ..)| *at == at_us(1_000_100)).count(), 1);
    assert_eq!(flow.stats[0].timeouts, 0, "no data was outstanding");
}

#[test]
fn a_higher_threshold_bears_more_reordering_rfc_6675_section_2() {
    let wire = Wire { jitter: Span::from_us(20), ..Wire::IDEAL };
    let retransmits = |dupthresh| {
        let values = [("dupthresh", dupthresh)];
        let mut world = world::<NewReno>(&values, wire, 3, &[one_write(1000 * MSS)]);
        world.finish();
        (world.flows[0].stats[0].retransmits, world.now)
    };
    let (three, slow) = retransmits("3");
    let (many, fast) = retransmits("1000");
    assert!(three > 0 && many == 0, "{three}, {many}");
    assert!(fast < slow);
}

#[test]
fn an_old_segment_is_still_answered_by_a_finished_receiver() {
    let mut world = world::<NewReno>(&[], Wire::IDEAL, 1, &[one_write(1000)]);
    world.wire.loss = 0.0;
    world.finish();
    let flow = &mut world.flows[0];
    let mut packet = Packet::new(Kind::Data, 1078);
    packet.payload = 1000;
    packet.flags.set(Flags::LAST);
    let mut rng = Rng::stream(0, Entity::Receiver, 0);
    let mut cx = Cx { now: at_us(5000), rng: &mut rng, stats: &mut flow.stats[1] };
    flow.receiver.handle_packet(&packet, &Extra::default(), &mut cx);
    let ack = flow.receiver.poll_control(&mut Extra::default(), &mut cx).expect("an answer");
    assert_eq!(ack.ack, 1000);
    assert!(ack.flags.has(Flags::LAST));
    assert!(flow.receiver.is_finished());
    assert_eq!(flow.stats[1].duplicate_bytes, 1000);
}

#[test]
fn goodput_under_random_loss_is_that_of_the_square_root_formula_mathis_1997() {
    for p in [0.0005, 0.002, 0.005] {
        let actions = [vec![(Time::ZERO, Action::Write(1_000_000_000))]];
        let mut world = world::<NewReno>(&[], Wire::IDEAL, 1, &actions);
        let mut rng = Rng::stream(5, Entity::Port, 0);
        world.drop_if = Box::new(move |_, _| rng.unit() < p);
        world.run(at_us(1_000_000));
        let window = world.flows[0].receiver.delivered() as f64 / MSS as f64 / 10_000.0;
        let formula = (1.5 / p).sqrt();
        assert!((window / formula - 1.0).abs() < 0.15, "{window} segments instead of {formula} at {p}");
    }
}

#[test]
fn selective_acknowledgements_pay_under_random_loss() {
    for loss in [0.03, 0.1] {
        let total = |sack| -> f64 {
            let times = (1..20).map(|seed| {
                let wire = Wire { loss, ..Wire::IDEAL };
                let mut world = world::<NewReno>(&[("sack", sack)], wire, seed, &[one_write(3_000_000)]);
                world.finish();
                world.now.as_secs_f64()
            });
            times.sum()
        };
        assert!(total("true") < total("false"), "at {loss}");
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Marks.

/// A bottleneck of 10 Gbps with a base round trip of 100 us.
const BOTTLENECK: Wire = Wire { rate: Some(Rate::gbps(10)), buffer: 400_000, k: 65 * 1538, ..Wire::IDEAL };

#[test]
fn dctcp_keeps_the_queue_near_k_and_the_link_busy_sigcomm_2010_section_3_3() {
    let flows = 2;
    let actions = vec![vec![(Time::ZERO, Action::Write(1_000_000_000))]; flows];
    let mut world = world::<Dctcp>(&[], BOTTLENECK, 1, &actions);
    world.run(at_us(20_000));
    let before: u64 = world.flows.iter().map(|f| f.receiver.delivered()).sum();
    (world.measure_from, world.queue_max) = (world.now, 0);
    world.run(at_us(70_000));
    let after: u64 = world.flows.iter().map(|f| f.receiver.delivered()).sum();
    let goodput = (after - before) as f64 * 8.0 / 0.05;
    assert!(goodput > 0.98 * 10e9 * 1460.0 / 1538.0, "{goodput:e}");
    // The most: K + N, and what slow reaction adds within a round trip; the mean: about K.
    let (max, mean) = (world.queue_max / 1538, world.queue_sum / world.queue_met / 1538);
    assert!((50..=80).contains(&mean), "mean {mean} packets");
    assert!(max <= 90, "max {max} packets");
    assert!(world.flows.iter().all(|f| f.stats[0].retransmits == 0));
}

#[test]
fn reno_with_ecn_loses_nothing_and_is_cut_once_per_window_rfc_3168_section_6_1() {
    let actions = vec![vec![(Time::ZERO, Action::Write(1_000_000_000))]];
    let mut world = world::<NewReno>(&[("ecn", "true"), ("initial_window", "100")], BOTTLENECK, 1, &actions);
    world.run(at_us(50_000));
    let flow = &world.flows[0];
    assert_eq!(flow.stats[0].retransmits, 0);
    let reductions = flow.sent.iter().filter(|(.., flags)| flags.has(Flags::CWR)).count();
    // A sawtooth from half of (BDP + K) = 146 packets upwards takes some 70 round trips of at least 100 us.
    assert!((2..=10).contains(&reductions), "{reductions}");
    let bdp = 10e9 / 8.0 * 100e-6;
    assert!(flow.sender.gauges().cwnd > 0.4 * bdp, "{}", flow.sender.gauges().cwnd);
}

#[test]
fn dctcp_echoes_marks_exactly_with_delayed_acknowledgements_rfc_8257_section_3_2() {
    let params = params::<Dctcp>(&[("delayed_ack", "true")]);
    let mut receiver = Dctcp::receiver(&params, &env());
    let mut rng = Rng::stream(0, Entity::Receiver, 0);
    let mut stats = Stats::default();
    let mut acks = Vec::new();
    for (index, marked) in [false, false, false, true, true, true, false, false].into_iter().enumerate() {
        let mut cx = Cx { now: at_us(index as u64), rng: &mut rng, stats: &mut stats };
        let mut packet = Packet::new(Kind::Data, 1538);
        packet.seq = index as u64;
        packet.payload = 1;
        packet.flags = Flags::ECN_CAPABLE.with_if(marked, Flags::ECN_CE);
        receiver.handle_packet(&packet, &Extra::default(), &mut cx);
        while let Some(ack) = receiver.poll_control(&mut Extra::default(), &mut cx) {
            acks.push((index, ack.ack, ack.flags.has(Flags::ECN_ECHO)));
        }
    }
    // (at packet, acknowledges, echo): 0 1 | 2, at once when 3 is marked | 3 4 | 5, at once when 6 is not | 6 7.
    assert_eq!(acks, [(1, 2, false), (3, 3, false), (4, 5, true), (6, 6, true), (7, 8, false)]);
}

#[test]
fn a_classic_receiver_echoes_until_it_hears_of_the_reduction_rfc_3168_section_6_1_3() {
    let params = params::<NewReno>(&[("ecn", "true")]);
    let mut receiver = NewReno::receiver(&params, &env());
    let mut rng = Rng::stream(0, Entity::Receiver, 0);
    let mut stats = Stats::default();
    let flags = [Flags::NONE, Flags::ECN_CE, Flags::NONE, Flags::NONE, Flags::CWR, Flags::NONE];
    let mut echoes = Vec::new();
    for (index, flags) in flags.into_iter().enumerate() {
        let mut cx = Cx { now: at_us(index as u64), rng: &mut rng, stats: &mut stats };
        let mut packet = Packet::new(Kind::Data, 1538);
        packet.seq = index as u64;
        packet.payload = 1;
        packet.flags = flags;
        receiver.handle_packet(&packet, &Extra::default(), &mut cx);
        let ack = receiver.poll_control(&mut Extra::default(), &mut cx).expect("every packet is answered");
        echoes.push(ack.flags.has(Flags::ECN_ECHO));
    }
    assert_eq!(echoes, [false, true, true, true, false, false]);
}

// ---------------------------------------------------------------------------------------------------------------
// Pacing.

/// A wide window at a steady pace.
struct Steady(Rate);

impl Controller for Steady {
    const PACES: bool = true;
    fn limits(&self) -> Limits {
        Limits { cwnd: 1 << 30, pacing: Some(self.0) }
    }
    fn on_ack(&mut self, ack: &AckEvent) {
        assert_eq!(ack.phase, Phase::Open);
    }
    fn on_loss(&mut self, _: &CongestionEvent) {}
    fn on_ecn(&mut self, _: &CongestionEvent) {}
    fn on_timeout(&mut self, _: &CongestionEvent) {}
    fn on_restart(&mut self, _: &RestartEvent) {}
}

#[test]
fn a_paced_sender_spaces_its_packets_evenly() {
    let config = params::<NewReno>(&[]).config(Ecn::Off);
    let rate = Rate::gbps(1);
    let mut world = World::new(Wire::IDEAL, 1);
    let sender = tcp::Sender::new(&config, &env(), Steady(rate));
    world.add(sender, tcp::Receiver::new(&config, &env()), one_write(100 * MSS));
    world.finish();
    let gap = rate.time_to_send(Bytes::new(1538));
    let times: Vec<_> = world.flows[0].sent.iter().map(|(at, ..)| *at).collect();
    assert_eq!(times.len(), 100);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == gap));
}

// ---------------------------------------------------------------------------------------------------------------
// Anything goes.

#[derive(Clone, Debug)]
struct Case {
    loss: f64,
    jitter_us: u64,
    writes: Vec<(u64, u64)>,
    close_us: u64,
    truncate: bool,
    window: u64,
    sack: bool,
    delayed_ack: bool,
    handshake: bool,
    ecn: bool,
    bottleneck: bool,
    dupthresh: u32,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let writes = prop::collection::vec(
        (
            prop_oneof![0u64..3000, 0u64..200_000],
            prop_oneof![1u64..3000, 1u64..200_000, Just(1460), Just(14_600)],
        ),
        1..5,
    );
    let network = (
        prop_oneof![Just(0.0), 0.0..0.05, 0.0..0.3],
        prop_oneof![Just(0u64), 1u64..20, 1u64..400],
        prop_oneof![Just(1_000_000_000u64), 1u64..5000, 1u64..100_000],
        any::<bool>(),
    );
    let options = (any::<[bool; 5]>(), 1u32..8, 0u64..5000, any::<u64>());
    (writes, network, options).prop_map(
        |(writes, (loss, jitter_us, window, bottleneck), (flags, dupthresh, close_us, seed))| Case {
            loss,
            jitter_us,
            // Few bytes through a tiny window: each takes a round trip.
            writes: writes.into_iter().map(|(at, size)| (at, size.min(window * 200))).collect(),
            close_us,
            truncate: flags[0] && seed % 4 == 0,
            window,
            sack: flags[1],
            delayed_ack: flags[2],
            handshake: flags[3],
            ecn: flags[4],
            bottleneck,
            dupthresh,
            seed,
        },
    )
}

fn survives<T: Transport>(case: &Case, own: &[(&str, &str)]) {
    let mut values = vec![
        ("receive_window", format!("{} B", case.window)),
        ("sack", case.sack.to_string()),
        ("delayed_ack", case.delayed_ack.to_string()),
        ("handshake", case.handshake.to_string()),
        ("dupthresh", case.dupthresh.to_string()),
    ];
    values.extend(own.iter().map(|(name, value)| (*name, value.to_string())));
    let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut actions: Vec<_> =
        case.writes.iter().map(|(at, bytes)| (at_us(*at), Action::Write(*bytes))).collect();
    actions.sort_by_key(|(at, _)| *at);
    let last = actions.last().expect("at least one write").0;
    let end = if case.truncate { Action::Truncate } else { Action::Close };
    actions.push((last + Span::from_us(case.close_us), end));
    let wire = Wire {
        loss: case.loss,
        jitter: Span::from_us(case.jitter_us),
        rate: case.bottleneck.then_some(Rate::gbps(1)),
        buffer: 30_000,
        k: 15_000,
        ..Wire::IDEAL
    };
    let mut world = world::<T>(&values, wire, case.seed, &[actions]);
    world.finish();
    let flow = &world.flows[0];
    if case.loss == 0.0 && case.jitter_us == 0 && !case.bottleneck {
        assert_eq!(flow.stats[0].retransmits, 0);
        assert_eq!(flow.stats[1].duplicate_bytes, 0);
    }
    // New bytes leave once and in order; all that is sent again says so.
    let mut next = 0;
    for (_, seq, payload, flags) in &flow.sent {
        if flags.has(Flags::RETRANSMIT) {
            assert!(seq + *payload as u64 <= next);
        } else {
            assert_eq!(*seq, next);
            next += *payload as u64;
        }
    }
    assert_eq!(next, flow.written);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_byte_arrives_once_and_in_order_whatever_the_wire_does(case in case()) {
        let ecn = if case.ecn { "true" } else { "false" };
        survives::<NewReno>(&case, &[("ecn", ecn)]);
        survives::<Cubic>(&case, &[("ecn", ecn)]);
        survives::<Dctcp>(&case, &[]);
    }
}

#[test]
fn ten_megabytes_arrive_through_heavy_loss() {
    for (seed, sack) in [(1, "true"), (2, "false")] {
        for loss in [0.01, 0.1, 0.3] {
            let wire = Wire { loss, jitter: Span::from_us(5), ..Wire::IDEAL };
            let mut world = world::<NewReno>(&[("sack", sack)], wire, seed, &[one_write(10_000_000)]);
            world.finish();
            let sent = world.flows[0].stats[0].data_packets as f64;
            assert!(sent < 10_000_000.0 / 1460.0 / (1.0 - loss) * 1.8);
        }
    }
}
