use super::*;
use crate::agent::{Agent, Side};
use crate::endpoint::{Cx, Endpoint, Framing, Sender};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::testing::{Network, Operation, Pair, Wire};
use crate::{Rng, Stats};
use clearway_schema::Auto;
use clearway_units::{Rate, Span, Time};

/// Packets of 4150 bytes on the wire, as in htsim.
const FRAMING: Framing = Framing { payload_max: 4086, overhead: 64, wire_min: 64 };

fn at(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

fn params(window: u32) -> EqdsParams {
    EqdsParams { window: Auto::Set(window), ..EqdsParams::default() }
}

fn ack(psn: u32, next: u32, pull: u32) -> Packet {
    let header = Header::PulledAck { next, psn, pull, received: 0, from: psn, map: 0, held: 0, penalty: 0 };
    Packet::control(header, 64, Time::ZERO)
}

fn nack(psn: u32, pull: u32) -> Packet {
    Packet::control(Header::PulledNack { next: 0, psn, pull, received: 0 }, 64, Time::ZERO)
}

fn pull(pull: u32) -> Packet {
    Packet::control(Header::Pull { pull, leads: false }, 64, Time::ZERO)
}

/// A sender that has written packets.
struct Bench {
    sender: EqdsSender,
    rng: Rng,
    stats: Stats,
    now: Time,
}

impl Bench {
    fn new(window: u32, packets: u64) -> Bench {
        Bench::with(&params(window), packets)
    }

    fn with(params: &EqdsParams, packets: u64) -> Bench {
        let env = Env::for_test(Rate::gbps(100), Span::from_us(10), FRAMING);
        let sender = EqdsSender::new(params, &env);
        let rng = Rng::stream(1, crate::Entity::Sender, 0);
        let mut bench = Bench { sender, rng, stats: Stats::default(), now: at(0) };
        bench.operate(|sender, cx| sender.write(packets * 4086, cx));
        bench
    }

    fn operate<T>(&mut self, what: impl FnOnce(&mut EqdsSender, &mut Cx<'_>) -> T) -> T {
        what(&mut self.sender, &mut Cx { now: self.now, rng: &mut self.rng, stats: &mut self.stats })
    }

    /// Returns the packets that leave now: number, pull target, and whether it asks for an acknowledgement.
    fn leaves(&mut self) -> Vec<(u32, u32, bool)> {
        let mut left = Vec::new();
        while let Some(packet) = self.operate(|sender, cx| sender.poll_transmit(cx)) {
            let Header::PulledData { psn, target, .. } = packet.header else { panic!("{packet:?}") };
            left.push((psn, target, packet.flags.has(Flags::EMPTY)));
        }
        left
    }

    /// A packet arrives. Returns the numbers of those that leave.
    fn hear(&mut self, packet: Packet) -> Vec<u32> {
        self.operate(|sender, cx| sender.handle_packet(&packet, &Extra::None, cx));
        self.leaves().into_iter().map(|(psn, ..)| psn).collect()
    }

    /// Returns the request for pulls that leaves now, with its target.
    fn request(&mut self) -> Option<(u32, u32)> {
        match self.operate(|sender, cx| sender.poll_control(&mut Extra::None, cx))?.header {
            Header::PullRequest { psn, target, .. } => Some((psn, target)),
            other => panic!("{other:?}"),
        }
    }

    fn expire(&mut self) {
        assert!(self.sender.next_timeout() > self.now, "time goes on");
        self.now = self.sender.next_timeout();
        self.operate(|sender, cx| sender.handle_timeout(cx));
    }
}

#[test]
fn the_window_is_one_and_a_half_bdps_or_what_was_set() {
    // The values of htsim's runs: round trips of 14.02272 us at 100 Gbps, and of 12.50568 us at 400 Gbps.
    for (rate, rtt, packets) in [(100, 14_022_720, 65), (400, 12_505_680, 227)] {
        let window = EqdsParams::default().window(Rate::gbps(rate), Span::from_ps(rtt), &FRAMING);
        assert_eq!(window, packets * 4150);
    }
    assert_eq!(params(7).window(Rate::gbps(1), Span::from_us(1), &FRAMING), 7 * 4150);
}

#[test]
fn a_sender_begins_on_speculative_credit_and_wants_to_be_pulled_by_what_it_sent() {
    let mut bench = Bench::new(5, 20);
    // 4150, 8300, ... bytes in quanta of 512, rounded up.
    let expected = [(0, 9, false), (1, 17, false), (2, 25, false), (3, 33, false), (4, 41, false)];
    assert_eq!(bench.leaves(), expected);
}

#[test]
fn a_short_flow_wants_no_pull_and_asks_for_an_acknowledgement_of_its_last_packet() {
    let mut bench = Bench::new(5, 2);
    // Three packets of credit are left over: 12,450 bytes are 24.3 quanta.
    assert_eq!(bench.leaves(), [(0, 24u32.wrapping_neg(), false), (1, 24u32.wrapping_neg(), true)]);
}

#[test]
fn after_the_first_answer_a_packet_leaves_for_any_pulled_credit() {
    let mut bench = Bench::new(5, 20);
    bench.leaves();
    assert_eq!(bench.hear(ack(0, 1, 0)), []);
    assert_eq!(bench.hear(pull(8)), [5]);
    assert_eq!(bench.sender.credit().0, 4096 - 4150);
    assert_eq!(bench.hear(pull(24)), [6, 7], "8138 bytes pay for two packets");
    assert_eq!(bench.hear(pull(16)), [], "it comes late");
    assert_eq!(bench.hear(ack(1, 2, 32)), [8], "an answer carries the number of the last pull");
    bench.hear(pull(4000));
    assert_eq!(bench.leaves(), []);
    assert!(bench.sender.credit().0 <= 5 * 4150, "credit has a limit");
}

#[test]
fn speculative_credit_gives_way_once_it_can_no_longer_be_spent() {
    let mut bench = Bench::new(5, 20);
    bench.operate(|sender, cx| sender.poll_transmit(cx));
    bench.operate(|sender, cx| sender.handle_packet(&ack(0, 1, 0), &Extra::None, cx));
    assert_eq!(bench.sender.credit(), (0, 3 * 4150, false));
    for left in [2, 1, 0, 0] {
        bench.operate(|sender, cx| sender.handle_packet(&pull(0), &Extra::None, cx));
        assert_eq!(bench.sender.credit(), (0, left * 4150, false));
    }
}

#[test]
fn packets_that_were_cut_leave_first_for_pulled_credit_alone_and_ask_for_an_answer() {
    let mut bench = Bench::new(5, 20);
    bench.operate(|sender, cx| sender.poll_transmit(cx));
    bench.operate(|sender, cx| sender.poll_transmit(cx));
    assert_eq!(bench.hear(nack(1, 0)), []);
    assert_eq!(bench.hear(nack(0, 0)), []);
    bench.operate(|sender, cx| sender.handle_packet(&pull(16), &Extra::None, cx));
    let left: Vec<_> = bench.leaves().into_iter().map(|(psn, _, asks)| (psn, asks)).collect();
    assert_eq!(left, [(0, true), (1, true)]);
    assert_eq!(bench.stats.rare().retransmits, 2);
}

#[test]
fn a_sender_that_hears_nothing_asks_for_pulls_after_100_us_and_then_twice_as_long() {
    let mut bench = Bench::new(3, 10);
    bench.leaves();
    bench.expire();
    assert_eq!(
        (bench.now, bench.leaves().len()),
        (at(100_000), 0),
        "speculative credit pays for no repetition"
    );
    // What was lost and the rest fill the window.
    let (psn, target) = bench.request().unwrap();
    assert_eq!((psn, target), (u32::MAX, (3u32 * 4150).div_ceil(512)));
    assert_eq!(bench.request(), None);
    bench.expire();
    assert_eq!((bench.now, bench.request().is_some()), (at(300_000), true));
    assert_eq!(bench.hear(ack(u32::MAX, 0, 9)), [0, 1], "4608 bytes pay for two packets");
    assert_eq!(bench.stats.rare().timeouts, 1);
}

#[test]
fn a_flow_that_was_idle_begins_again_on_speculative_credit() {
    let mut bench = Bench::new(5, 2);
    bench.leaves();
    assert_eq!(bench.hear(ack(1, 2, 0)), []);
    assert!(!bench.sender.credit().2 && bench.sender.next_timeout() < Time::MAX);
    bench.operate(|sender, cx| sender.write(4086, cx));
    assert_eq!(bench.leaves().len(), 1);
    bench.operate(|sender, cx| sender.close(cx));
    assert!(matches!(bench.leaves()[..], [(3, _, true)]), "the packet that ends the flow");
    bench.hear(ack(3, 4, 0));
    assert!(bench.sender.is_finished() && bench.sender.next_timeout() == Time::MAX);
    assert_eq!(bench.sender.acknowledged(), 3 * 4086);
}

/// The agent of a host with these flows.
fn agent(flows: &[u32]) -> EqdsAgent {
    let env = AgentEnv { framing: FRAMING, ..AgentEnv::for_test(Rate::gbps(100)) };
    let mut agent = EqdsAgent::new(&params(2), &env);
    flows.iter().for_each(|&flow| agent.begin(flow, Side::Receiver, at(0)));
    agent
}

fn data(target: u32) -> Packet {
    Packet::data(Header::PulledData { offset: 0, psn: 0, pull: 0, target }, 4086, 4150, at(0))
}

/// Returns the flows and numbers of all pulls that leave, with their times in picoseconds.
fn pulls(agent: &mut EqdsAgent) -> Vec<(u64, u32, u32)> {
    let (mut now, mut pulls) = (at(0), Vec::new());
    loop {
        while let Some(sent) = agent.poll_transmit(now) {
            let Header::Pull { pull, .. } = sent.packet.header else { panic!("{sent:?}") };
            pulls.push((now.as_ps(), sent.flow, pull));
        }
        match agent.next_timeout() {
            Time::MAX => return pulls,
            next => now = next,
        }
    }
}

#[test]
fn pulls_leave_at_the_pace_of_credit_in_turn_and_flows_that_repeat_come_first() {
    let mut agent = agent(&[1, 2, 3]);
    for (flow, target) in [(1, 16), (2, 8)] {
        agent.handle_incoming(flow, data(target), &Extra::None, at(0));
    }
    agent.handle_outgoing(3, nack(0, 0), &Extra::None, at(0));
    let gap = (327_680.0 / 0.988) as u64;
    let all = pulls(&mut agent);
    assert!(all.iter().zip(0..).all(|(pull, count)| pull.0 == count * gap), "{all:?}");
    let order: Vec<_> = all.iter().map(|&(_, flow, pull)| (flow, pull)).collect();
    // A cut packet takes nine quanta: two pulls. Flows that want no more are pulled up to two packets, 16 quanta, ahead.
    assert_eq!(order, [(3, 8), (3, 16), (1, 8), (2, 8), (1, 16), (2, 16), (1, 24), (2, 24), (1, 32)]);
}

#[test]
fn a_request_is_answered_with_a_packet_of_credit_and_what_it_wants() {
    let mut agent = agent(&[1]);
    let request = Packet::control(Header::PullRequest { psn: 0, pull: 0, target: 24 }, 64, at(0));
    agent.handle_incoming(1, request, &Extra::None, at(0));
    let answer = agent.handle_outgoing(1, ack(0, 0, 0), &Extra::None, at(0)).unwrap();
    assert!(matches!(answer.header, Header::PulledAck { pull: 0, .. }));
    assert_eq!(agent.poll_transmit(at(0)).map(|sent| sent.flow), Some(1));
    assert!(pulls(&mut agent).len() >= 2);
}

#[test]
fn a_flow_that_has_arrived_is_pulled_no_more() {
    let mut agent = agent(&[1, 2]);
    for flow in [1, 2] {
        agent.handle_incoming(flow, data(80), &Extra::None, at(0));
    }
    agent.handle_outgoing(1, ack(0, 1, 0).with_flags(Flags::LAST), &Extra::None, at(0));
    assert_eq!(agent.poll_transmit(at(0)).map(|sent| sent.flow), Some(2));
    agent.forget(2);
    assert_eq!(agent.next_timeout(), Time::MAX);
    // What comes late, a copy that wants more or a request, is answered by an ACK; a pull would serve nobody.
    agent.handle_incoming(1, data(200), &Extra::None, at(0));
    let request = Packet::control(Header::PullRequest { psn: 0, pull: 0, target: 300 }, 64, at(0));
    agent.handle_incoming(1, request, &Extra::None, at(0));
    assert_eq!(agent.next_timeout(), Time::MAX);
}

#[test]
fn in_htsim_flows_take_a_turn_ahead_of_demand_for_each_that_they_asked_for_and_keep_their_turns_once_they_arrived()
 {
    let params = EqdsParams { stays_idle: true, turns_outlast: true, ..params(2) };
    let env = AgentEnv { framing: FRAMING, ..AgentEnv::for_test(Rate::gbps(100)) };
    let mut agent = EqdsAgent::new(&params, &env);
    let mut now = at(0);
    [1, 2].into_iter().for_each(|flow| agent.begin(flow, Side::Receiver, now));
    // Flow 1 asks twice, and so has two turns ahead of its demand where flow 2 has one.
    let mut left = Vec::new();
    for (flow, target) in [(1, 4), (2, 8), (1, 8)] {
        agent.handle_incoming(flow, data(target), &Extra::None, now);
        left.push(agent.poll_transmit(now).unwrap().flow);
        now = agent.next_timeout();
    }
    assert_eq!(left, [1, 2, 1]);
    // Its turns go on once it has arrived and is forgotten, before and after the first one of flow 2, and no pull leaves.
    agent.handle_outgoing(1, ack(0, 1, 0).with_flags(Flags::LAST), &Extra::None, now);
    agent.forget(1);
    agent.begin(3, Side::Receiver, now);
    let gap = (327_680.0 / 0.988) as u64;
    let start = now.as_ps();
    let all: Vec<_> = pulls(&mut agent)
        .iter()
        .map(|&(time, flow, pull)| (time.saturating_sub(start) / gap, flow, pull))
        .collect();
    assert_eq!(all, [(1, 2, 16), (3, 2, 24)]);
}

#[test]
fn whatever_is_lost_is_repaired() {
    for loss in [0.0, 0.05, 0.5] {
        let wire = Wire { loss, ..Wire::default() };
        let mut pair =
            Pair::new(Network { to_receiver: wire.clone(), to_sender: wire, ..Network::default() });
        let operations = [(at(0), Operation::Write(300_000)), (at(0), Operation::Close)];
        pair.add_typed::<Eqds>(&params(10), operations);
        pair.finish();
        assert_eq!(pair.flows[0].receiver.delivered(), 300_000);
    }
}

#[test]
fn the_ends_of_a_flow_take_little_memory_beside_their_records() {
    assert!(size_of::<EqdsSender>() <= 360, "{}", size_of::<EqdsSender>());
    assert!(size_of::<NumberedReceiver>() <= 128, "{}", size_of::<NumberedReceiver>());
}

#[test]
fn the_gauge_of_a_window_is_the_credit_that_may_be_used_now_and_never_less_than_none() {
    let mut bench = Bench::new(5, 20);
    assert_eq!(bench.sender.gauges().cwnd, 5.0 * 4150.0, "all of it is speculative");
    bench.leaves();
    assert_eq!(bench.sender.gauges().cwnd, 0.0);
    bench.hear(ack(0, 1, 0));
    bench.operate(|sender, cx| sender.handle_packet(&pull(24), &Extra::None, cx));
    assert_eq!(bench.sender.gauges().cwnd, 24.0 * 512.0);
    bench.leaves();
    assert_eq!(bench.sender.gauges().cwnd, 0.0, "three packets took 162 bytes too many");
}

#[test]
fn pulls_are_left_out_while_many_packets_arrive_cut_and_each_takes_its_time() {
    let env = AgentEnv { framing: FRAMING, ..AgentEnv::for_test(Rate::gbps(100)) };
    let mut agent = EqdsAgent::new(&EqdsParams { oversubscribed_cc: true, ..params(2) }, &env);
    agent.begin(1, Side::Receiver, at(0));
    let mut cut = data(4_000);
    cut.trim(64);
    (0..10).for_each(|_| _ = agent.handle_incoming(1, cut, &Extra::None, at(0)));
    let gap = (327_680.0 / 0.988) as u64;
    let all = pulls(&mut agent);
    assert!(all.iter().all(|(time, ..)| time % gap == 0), "a pull that is left out takes its time");
    // Each pull is left out with a probability of 0.9 for a round trip of 10 us, and none is after that.
    let slots = 10_000_000 / gap;
    let early = all.iter().filter(|(time, ..)| *time <= 10_000_000).count() as u64;
    assert!(early < slots / 3, "{early} of {slots}");
    let late = all.iter().filter(|(time, ..)| (10_000_001..=20_000_000).contains(time)).count() as u64;
    assert!(late.abs_diff(slots) <= 1, "{late} of {slots}");
}

#[test]
fn the_timeout_is_longer_by_the_time_of_full_queues() {
    // Round trips of 14.02272 us at 100 Gbps: queues of 43 packets, whose six take 85.656 us.
    let env = Env::for_test(Rate::gbps(100), Span::from_ps(14_022_720), FRAMING);
    let timeout = |rto, rto_queues, queue| EqdsParams { rto, rto_queues, queue, ..params(2) }.timeout(&env);
    let us150 = Auto::Set(Span::from_us(150));
    assert_eq!(timeout(us150, 6.0, 1.0), Span::from_ns(150_000 + 85_656));
    assert_eq!(timeout(us150, 6.0, 2.0), Span::from_ns(150_000 + 2 * 85_656));
    assert_eq!(timeout(us150, 0.0, 1.0), Span::from_us(150));
    assert_eq!(timeout(Auto::Auto, 0.0, 1.0), Span::from_us(100));
}

#[test]
fn in_htsim_an_answer_lets_one_packet_leave_and_a_cut_one_takes_two_packets_of_speculative_credit() {
    let mut bench = Bench::with(&EqdsParams { one_each: true, ..params(9) }, 20);
    assert_eq!(bench.leaves().len(), 9);
    bench.sender.grant_speculative_credit(9);
    bench.now = at(100_000);
    // Nothing was pulled yet: the attempts of the answer fail.
    assert_eq!(bench.hear(nack(0, 0)), []);
    assert_eq!(bench.sender.credit().1, 7 * 4150);
    bench.now = at(200_000);
    assert_eq!(bench.hear(pull(24)), [0], "there is credit for more, but one attempt");
    bench.now = at(200_100);
    // The first packet takes 332 ns: the flow waits in line, and sends all that it may.
    assert_eq!(bench.hear(pull(40)), [9, 10, 11, 12]);
}
