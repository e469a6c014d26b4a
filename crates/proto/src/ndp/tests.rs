use super::parking::PARKED;
use super::*;
use crate::agent::{Agent, Side};
use crate::endpoint::{Cx, Endpoint, Framing, Sender};
use crate::packet::{Extra, Flags, Header, Packet};
use crate::testing::{Network, Operation, Pair, Wire};
use crate::{Rng, Stats};
use clearway_schema::Auto;
use clearway_units::{Rate, Span, Time};

const FRAMING: Framing = Framing::ETHERNET;

fn at(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

fn params(window: u32) -> NdpParams {
    NdpParams { window: Auto::Set(window), ..NdpParams::default() }
}

fn data(psn: u32) -> Packet {
    let header = Header::PulledData { offset: u64::from(psn) * 1460, psn, pull: 0, target: 0 };
    Packet::data(header, 1460, 1538, Time::ZERO)
}

fn ack(psn: u32, next: u32, pull: u32) -> Packet {
    let header = Header::PulledAck { next, psn, pull, received: 0, from: psn, map: 0, held: 0, penalty: 0 };
    Packet::control(header, 84, Time::ZERO)
}

fn nack(psn: u32, pull: u32) -> Packet {
    Packet::control(Header::PulledNack { next: 0, psn, pull, received: 0 }, 84, Time::ZERO)
}

fn pull(pull: u32) -> Packet {
    Packet::control(Header::Pull { pull, leads: false }, 84, Time::ZERO)
}

fn returned(psn: u32) -> Packet {
    let mut header = data(psn);
    header.trim(84);
    header.with_flags(Flags::TRIMMED.with(Flags::RETURNED))
}

/// A sender that has written packets, closed, and sent its first window.
struct Bench {
    sender: NdpSender,
    rng: Rng,
    stats: Stats,
    now: Time,
}

impl Bench {
    fn new(params: &NdpParams, packets: u64) -> Bench {
        let env = Env::for_test(Rate::gbps(100), Span::from_us(10), FRAMING);
        let sender = NdpSender::new(params, &env);
        let mut bench = Bench {
            sender,
            rng: Rng::stream(1, crate::Entity::Sender, 0),
            stats: Stats::default(),
            now: at(0),
        };
        let mut cx = Cx { now: at(0), rng: &mut bench.rng, stats: &mut bench.stats };
        bench.sender.write(packets * 1460, &mut cx);
        bench.sender.close(&mut cx);
        bench
    }

    /// Returns the numbers of the packets that leave now.
    fn leaves(&mut self) -> Vec<u32> {
        let mut cx = Cx { now: self.now, rng: &mut self.rng, stats: &mut self.stats };
        let number = |packet: Packet| match packet.header {
            Header::PulledData { psn, .. } => psn,
            other => panic!("{other:?}"),
        };
        std::iter::from_fn(|| self.sender.poll_transmit(&mut cx)).map(number).collect()
    }

    fn hear(&mut self, packet: Packet) -> Vec<u32> {
        let mut cx = Cx { now: self.now, rng: &mut self.rng, stats: &mut self.stats };
        self.sender.handle_packet(&packet, &Extra::None, &mut cx);
        self.leaves()
    }

    /// The timer expires. Returns the question that leaves.
    fn expire(&mut self) -> Option<Header> {
        let next = self.sender.next_timeout();
        assert!(next > self.now, "time goes on");
        self.now = next;
        let mut cx = Cx { now: self.now, rng: &mut self.rng, stats: &mut self.stats };
        self.sender.handle_timeout(&mut cx);
        self.sender.poll_control(&mut Extra::None, &mut cx).map(|packet| packet.header)
    }
}

#[test]
fn the_first_window_is_what_the_path_carries_in_a_round_trip_or_what_was_set() {
    // 10 us at 100 Gbps are 125,000 bytes: 81.3 frames.
    assert_eq!(Bench::new(&NdpParams::default(), 1000).leaves().len(), 82);
    assert_eq!(Bench::new(&params(15), 1000).leaves(), (0..15).collect::<Vec<_>>());
}

#[test]
fn a_sender_sends_a_packet_for_each_pull_and_those_that_were_cut_first() {
    let mut bench = Bench::new(&params(4), 10);
    assert_eq!(bench.leaves(), [0, 1, 2, 3]);
    assert_eq!(bench.hear(nack(2, 0)), [], "it is not pulled yet");
    assert_eq!(bench.hear(nack(1, 1)), [1], "the answer carries a pull");
    assert_eq!(bench.hear(ack(0, 1, 3)), [2, 4], "the pull before was lost");
    assert_eq!(bench.hear(pull(2)), [], "it comes late");
    assert_eq!(bench.hear(pull(4)), [5]);
    assert_eq!(bench.stats.rare().retransmits, 2);
}

#[test]
fn what_a_short_flow_leaves_of_its_first_window_is_for_new_packets_alone() {
    let mut bench = Bench::new(&params(10), 3);
    assert_eq!(bench.leaves(), [0, 1, 2]);
    assert_eq!(bench.hear(nack(1, 0)), [], "a packet that is sent again takes a pull");
    assert_eq!(bench.hear(pull(1)), [1]);
    // An application that goes on finds the rest of the window.
    let env = Env::for_test(Rate::gbps(100), Span::from_us(10), FRAMING);
    bench.sender = NdpSender::new(&params(4), &env);
    for written in [1, 7] {
        let mut cx = Cx { now: at(0), rng: &mut bench.rng, stats: &mut bench.stats };
        bench.sender.write(written * 1460, &mut cx);
        assert_eq!(bench.leaves().len() as u64, written.min(3));
    }
}

#[test]
fn the_acknowledgement_of_all_completes_the_flow() {
    let mut bench = Bench::new(&params(4), 3);
    assert_eq!(bench.leaves(), [0, 1, 2]);
    assert!(bench.hear(ack(2, 0, 1)).is_empty() && bench.sender.acknowledged() == 0);
    assert!(bench.hear(ack(1, 3, 2)).is_empty() && bench.sender.acknowledged() == 3 * 1460);
    assert!(bench.sender.is_finished() && bench.sender.next_timeout() == Time::MAX);
}

#[test]
fn a_packet_that_came_back_waits_for_a_pull_if_others_fare_no_better() {
    let mut bench = Bench::new(&params(8), 20);
    bench.leaves();
    for psn in 0..3 {
        bench.hear(nack(psn, 0));
    }
    assert_eq!(bench.hear(returned(3)), [], "all paths look bad");
    assert_eq!(bench.hear(pull(1)), [0]);
}

#[test]
fn a_packet_that_came_back_leaves_at_once_if_others_arrived_or_if_no_pull_will_come() {
    let mut bench = Bench::new(&params(8), 20);
    bench.leaves();
    assert_eq!(bench.hear(ack(0, 1, 0)), []);
    assert_eq!(bench.hear(returned(3)), [3], "its path was at fault");
    let mut bench = Bench::new(&params(1), 20);
    bench.leaves();
    assert_eq!(bench.hear(returned(0)), [0], "nobody pulls for it");
}

#[test]
fn packets_of_which_nothing_is_heard_leave_again_after_ten_round_trips_and_then_twice_as_many() {
    let mut bench = Bench::new(&params(3), 10);
    bench.leaves();
    assert_eq!(bench.expire(), None);
    assert_eq!((bench.now, bench.leaves()), (at(100_000), vec![0, 1, 2]));
    bench.expire();
    assert_eq!((bench.now, bench.leaves()), (at(300_000), vec![0, 1, 2]));
    assert_eq!(bench.stats.rare().timeouts, 2);
}

#[test]
fn a_sender_that_hears_no_pull_asks_for_the_number_of_the_last_one_and_then_sends_unasked() {
    let mut bench = Bench::new(&params(2), 10);
    bench.leaves();
    bench.now = at(50_000);
    assert!(bench.hear(nack(0, 0)).is_empty() && bench.hear(nack(1, 0)).is_empty());
    let asked: Vec<bool> = (0..5).map(|_| bench.expire().is_some()).collect();
    assert_eq!(asked, [false, true, true, true, false], "the first timer began before the answers");
    assert_eq!(bench.leaves(), [0]);
    assert_eq!(bench.stats.rare().repeated_signals, 3);
}

#[test]
fn a_flow_that_is_closed_after_its_last_byte_ends_with_a_packet_without_bytes() {
    let env = Env::for_test(Rate::gbps(100), Span::from_us(10), FRAMING);
    let mut sender = NdpSender::new(&params(4), &env);
    let (mut rng, mut stats) = (Rng::stream(1, crate::Entity::Sender, 0), Stats::default());
    let mut cx = Cx { now: at(0), rng: &mut rng, stats: &mut stats };
    sender.write(100, &mut cx);
    let first = sender.poll_transmit(&mut cx).unwrap();
    sender.close(&mut cx);
    let last = sender.poll_transmit(&mut cx).unwrap();
    assert!(!first.flags.has(Flags::LAST) && last.flags.has(Flags::LAST));
    assert_eq!((first.payload(), last.payload(), last.range().start), (100, 0, 100));
}

#[test]
fn packets_are_full_sized_where_they_are_in_htsim() {
    for (full_frames, wire) in [(false, 178), (true, 1538)] {
        let env = Env::for_test(Rate::gbps(100), Span::from_us(10), FRAMING);
        let mut sender = NdpSender::new(&NdpParams { full_frames, ..params(4) }, &env);
        let (mut rng, mut stats) = (Rng::stream(1, crate::Entity::Sender, 0), Stats::default());
        let mut cx = Cx { now: at(0), rng: &mut rng, stats: &mut stats };
        sender.write(100, &mut cx);
        assert_eq!(sender.poll_transmit(&mut cx).unwrap().wire, wire);
    }
}

#[test]
fn a_host_pulls_for_all_its_flows_in_turn_a_little_slower_than_its_link() {
    let mut agent = NdpAgent::new(&NdpParams::default(), &AgentEnv::for_test(Rate::gbps(100)));
    for flow in [7, 9] {
        agent.begin(flow, Side::Receiver, at(0));
        for psn in 0..3 {
            agent.handle_incoming(flow, data(psn), &Extra::None, at(0));
        }
    }
    let mut pulls = Vec::new();
    let mut now = at(0);
    loop {
        while let Some(sent) = agent.poll_transmit(now) {
            let Header::Pull { pull, .. } = sent.packet.header else { panic!("{sent:?}") };
            pulls.push((now.as_ps(), sent.flow, pull));
        }
        match agent.next_timeout() {
            Time::MAX => break,
            next => now = next,
        }
    }
    // A frame of 1,538 bytes takes 123.04 ns.
    let gap = (123_040.0 / 0.99) as u64;
    let flows = [(7, 1), (9, 1), (7, 2), (9, 2), (7, 3), (9, 3)];
    let expected: Vec<_> = (0..).zip(flows).map(|(at, (flow, number))| (at * gap, flow, number)).collect();
    assert_eq!(pulls, expected);
}

#[test]
fn an_answer_carries_the_pull_that_its_packet_earned_if_nobody_waits() {
    let mut agent = NdpAgent::new(&NdpParams::default(), &AgentEnv::for_test(Rate::gbps(100)));
    agent.begin(1, Side::Receiver, at(0));
    let mut arrive = |psn, now| {
        agent.handle_incoming(1, data(psn), &Extra::None, now);
        let answer = agent.handle_outgoing(1, ack(psn, psn + 1, 0), &Extra::None, now).unwrap();
        let Header::PulledAck { pull, .. } = answer.header else { panic!("{answer:?}") };
        (pull, agent.poll_transmit(now).is_some(), agent.next_timeout())
    };
    assert_eq!(arrive(0, at(1_000)), (1, false, Time::MAX));
    assert_eq!(arrive(1, at(1_001)).0, 1, "the last pull was just now");
    assert_eq!(arrive(2, at(2_000)).0, 1, "another pull is due first");
}

#[test]
fn the_pulls_of_a_flow_that_has_arrived_are_dropped() {
    let mut agent = NdpAgent::new(&NdpParams::default(), &AgentEnv::for_test(Rate::gbps(100)));
    for flow in [1, 2] {
        agent.begin(flow, Side::Receiver, at(0));
        (0..4).for_each(|psn| _ = agent.handle_incoming(flow, data(psn), &Extra::None, at(0)));
    }
    agent.handle_outgoing(1, ack(3, 4, 0).with_flags(Flags::LAST), &Extra::None, at(0));
    assert_eq!(agent.poll_transmit(at(0)).map(|sent| sent.flow), Some(2));
    agent.forget(2);
    assert_eq!((agent.next_timeout(), agent.stats().dropped), (Time::MAX, 7));
}

#[test]
fn whatever_is_lost_is_repaired() {
    for loss in [0.0, 0.05, 0.5] {
        let wire = Wire { loss, ..Wire::default() };
        let mut pair =
            Pair::new(Network { to_receiver: wire.clone(), to_sender: wire, ..Network::default() });
        let operations = [(at(0), Operation::Write(300_000)), (at(0), Operation::Close)];
        pair.add_typed::<Ndp>(&params(10), operations);
        pair.finish();
        assert_eq!(pair.flows[0].receiver.delivered(), 300_000);
    }
}

#[test]
fn the_ends_of_a_flow_take_little_memory_beside_their_records() {
    assert!(size_of::<NdpSender>() <= 352, "{}", size_of::<NdpSender>());
    assert!(size_of::<NumberedReceiver>() <= 128, "{}", size_of::<NumberedReceiver>());
}

#[test]
fn the_gauges_have_a_smoothed_round_trip_once_one_was_measured_and_nothing_else() {
    let mut bench = Bench::new(&params(4), 10);
    assert!(bench.sender.gauges().srtt.is_nan());
    bench.leaves();
    bench.now = at(12_000);
    bench.hear(ack(0, 1, 1));
    let gauges = bench.sender.gauges();
    assert_eq!(gauges.srtt, 12e-6);
    assert!(gauges.cwnd.is_nan() && gauges.rate.is_nan(), "{gauges:?}");
}

#[test]
fn a_pull_is_parked_for_a_packet_that_the_core_cut_and_its_sender_expects_none() {
    let params = NdpParams { oversubscribed_cc: true, ..params(10) };
    let mut agent = NdpAgent::new(&params, &AgentEnv::for_test(Rate::gbps(100)));
    agent.begin(1, Side::Receiver, at(0));
    let mut cut = data(0);
    cut.trim(84);
    // An answer carries the pull that its packet earned, as nobody else waits for one. All left before that pull.
    for (ns, last_hop, expected) in
        [(0, true, (1, false)), (1_000, false, (1, true)), (2_000, false, (1, true))]
    {
        let flags = cut.flags.with_if(last_hop, Flags::LAST_HOP);
        agent.handle_incoming(1, cut.with_flags(flags), &Extra::None, at(ns));
        let answer = agent.handle_outgoing(1, nack(0, 0), &Extra::None, at(ns)).unwrap();
        let Header::PulledNack { pull, .. } = answer.header else { panic!("{answer:?}") };
        assert_eq!((pull, answer.flags.has(PARKED)), expected, "at {ns} ns");
        assert_eq!(agent.next_timeout(), Time::MAX);
    }
    // Two packets were cut, and a single pull came. The packet that it let go comes back, and is sent again at once: no other pull
    // is to be expected.
    let mut bench = Bench::new(&NdpParams { window: Auto::Set(2), ..params }, 2);
    assert_eq!(bench.leaves(), [0, 1]);
    for psn in [0, 1] {
        assert_eq!(bench.hear(nack(psn, 0).with_flags(PARKED)), Vec::<u32>::new());
    }
    assert_eq!(bench.hear(pull(1)), [0]);
    assert_eq!(bench.hear(returned(0)), [0]);
}

#[test]
fn whatever_is_lost_is_repaired_where_pulls_are_parked() {
    let wire = Wire { loss: 0.05, ..Wire::default() };
    let mut pair = Pair::new(Network { to_receiver: wire.clone(), to_sender: wire, ..Network::default() });
    let operations = [(at(0), Operation::Write(300_000)), (at(0), Operation::Close)];
    pair.add_typed::<Ndp>(&NdpParams { oversubscribed_cc: true, ..params(10) }, operations);
    pair.finish();
    assert_eq!(pair.flows[0].receiver.delivered(), 300_000);
}
