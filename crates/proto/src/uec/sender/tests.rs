use super::*;
use crate::Kind;
use crate::endpoint::Sender as _;
use crate::entropy::{EntropyPolicy, EntropyValues};
use crate::rng::Entity;
use crate::transport::Transport;
use crate::uec::params::{BothParams, NsccParams, RcccParams};
use crate::uec::tests::{Alone, RTT, at, env, htsim};
use crate::uec::{Mode, OfMode};

fn sender<M: Mode>(params: &M, bytes: u64) -> Alone<Sender> {
    let mut sender = Alone::new(OfMode::<M>::sender(params, &env()));
    sender.call(|end, cx| {
        end.write(bytes, cx);
        end.close(cx);
    });
    sender
}

impl Alone<Sender> {
    /// Lets the sender send what it may now.
    fn send(&mut self) -> Vec<Packet> {
        std::iter::from_fn(|| self.call(|end, cx| end.poll_transmit(cx))).collect()
    }

    /// Lets the news arrive that all before `next` has, and so many bytes.
    fn ack(&mut self, next: u32, received: u32) {
        self.answer(ack(next, next.wrapping_sub(1), received));
    }

    fn answer(&mut self, header: Header) {
        self.hear(Packet::control(header, 64, self.now));
    }
}

fn ack(next: u32, psn: u32, received: u32) -> Header {
    Header::PulledAck { next, psn, pull: 0, received, from: psn, map: 0, held: 0, penalty: 255 }
}

fn nack(psn: u32) -> Header {
    Header::PulledNack { next: 0, psn, pull: 0, received: 0 }
}

fn psn(packet: &Packet) -> u32 {
    let Header::PulledData { psn, .. } = packet.header else { panic!("{packet:?}") };
    psn
}

fn psns(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(psn).collect()
}

/// The pull that a packet says the sender wants to have come to, from the last one on.
fn demand(packet: &Packet) -> i32 {
    let Header::PulledData { pull, target, .. } = packet.header else { panic!("{packet:?}") };
    target.wrapping_sub(pull) as i32
}

#[test]
fn a_window_sends_what_it_has_room_for_and_asks_with_its_last_packet() {
    let mut sender = sender::<NsccParams>(&htsim(), 10_000_000);
    let packets = sender.send();
    assert_eq!(psns(&packets), (0..63).collect::<Vec<_>>(), "63 of 4150 bytes in a window of 262926");
    let asking: Vec<_> = packets.iter().filter(|packet| packet.flags.has(ASKS)).map(psn).collect();
    assert_eq!(asking, [62]);
    assert!(packets.iter().all(|packet| packet.flags.has(Flags::ECN_CAPABLE) && packet.wire == 4150));
    sender.now = at(20.0);
    sender.ack(4, 16_600);
    assert_eq!(sender.send().len(), 4);
}

#[test]
fn every_value_of_the_entropy_comes_once_in_as_many_packets() {
    let mut sender = sender::<RcccParams>(&htsim(), 10_000_000);
    let packets = sender.send();
    let mut values: Vec<_> =
        packets.iter().take(64).map(|packet| packet.tag().entropy.unwrap() % 64).collect();
    values.sort_unstable();
    assert_eq!(values, (0..64).collect::<Vec<_>>());
}

#[test]
fn a_short_flow_ends_with_a_short_packet_that_asks() {
    let mut sender = sender::<BothParams>(&htsim(), 5000);
    let packets = sender.send();
    assert_eq!(packets.iter().map(|packet| packet.wire).collect::<Vec<_>>(), [4150, 978]);
    assert!(packets[1].flags.has(ASKS) && packets[1].flags.has(Flags::LAST));
    // It has credit for 262926 bytes, wants 4150 of them while data is left, and then less than it has.
    assert_eq!([demand(&packets[0]), demand(&packets[1])], [17, -(257_798 / 256)]);
    sender.ack(2, 5128);
    assert!(sender.end.is_finished() && sender.end.next_timeout() == Time::MAX);
    assert_eq!(sender.end.acknowledged(), 5000);
}

#[test]
fn credit_beyond_the_first_round_trip_is_pulled() {
    let mut sender = sender::<RcccParams>(&htsim(), 10_000_000);
    assert_eq!(sender.send().len(), 64, "any credit lets a whole packet leave");
    sender.now = at(14.0);
    sender.ack(1, 4150);
    assert!(sender.send().is_empty());
    sender.answer(Header::Pull { pull: 64, leads: false });
    let packets = sender.send();
    // 262926 - 64 x 4150 = -2674 bytes of debt, and 16384 of credit.
    assert_eq!(packets.len(), 4);
    assert!(packets[3].flags.has(ASKS));
    assert_eq!(demand(&packets[3]), (262_926 + 2_890i32).div_euclid(256) + 1);
    sender.answer(Header::Pull { pull: 64, leads: false });
    sender.answer(Header::Pull { pull: 63, leads: false });
    assert!(sender.send().is_empty());
}

#[test]
fn packets_that_were_cut_go_first_the_lowest_before_others_and_ask() {
    let mut sender = sender::<NsccParams>(&htsim(), 10_000_000);
    sender.send();
    sender.now = at(20.0);
    for psn in [7, 3, 5, 7, 99] {
        sender.answer(nack(psn));
    }
    assert!(sender.send().is_empty(), "the window fell by as much");
    sender.now = at(21.0);
    sender.answer(ack(1, 0, 10 * 4150));
    let packets = sender.send();
    assert_eq!(psns(&packets)[..3], [3, 5, 7]);
    assert!(packets[..3].iter().all(|packet| packet.flags.has(ASKS.with(Flags::RETRANSMIT))));
}

#[test]
fn what_arrived_after_it_counted_as_lost_leaves_the_bytes_in_flight_as_they_are() {
    let mut sender = sender::<NsccParams>(&htsim(), 10_000_000);
    sender.send();
    let before = sender.end.in_flight;
    sender.now = at(20.0);
    sender.answer(nack(0));
    assert_eq!((sender.end.in_flight, sender.end.lost_bytes), (before - 4150, 4150));
    sender.ack(1, 4150);
    assert_eq!((sender.end.in_flight, sender.end.lost_bytes), (before - 4150, 0));
}

#[test]
fn a_packet_of_which_nothing_is_heard_is_sent_again_after_100_us() {
    let mut sender = sender::<NsccParams>(&htsim(), 4086);
    sender.send();
    let rto = sender.end.next_timeout() - Time::ZERO;
    assert_eq!(rto, Span::from_ps(100_656_000), "15 us and six queues of 43 packets");
    assert!(sender.fire().is_empty());
    assert_eq!((psns(&sender.send()), sender.stats.rare().timeouts), (vec![0], 1));
    assert_eq!(sender.end.next_timeout(), sender.now + rto, "it does not double");
}

#[test]
fn a_timeout_without_credit_asks_for_pulls_once_a_round_trip() {
    let mut sender = sender::<RcccParams>(&htsim(), 10_000_000);
    sender.send();
    let requests = sender.fire();
    let [Header::PullRequest { psn: 64, target, pull: 0 }] =
        requests.iter().map(|packet| packet.header).collect::<Vec<_>>()[..]
    else {
        panic!("{requests:?}")
    };
    assert!(target > 1000, "it wants all that it may: {target}");
    assert!(requests[0].kind() == Kind::PullRequest && requests[0].wire == 64);
    sender.answer(ack(0, 64, 0));
    assert!(sender.send().is_empty());
    sender.answer(Header::Pull { pull: 64, leads: false });
    assert_eq!(psns(&sender.send())[0], 0);
}

#[test]
fn a_sender_whose_pull_was_lost_asks_though_nothing_is_on_its_way() {
    let mut sender = sender::<RcccParams>(&htsim(), 1_000_000);
    sender.send();
    sender.now = at(20.0);
    sender.ack(64, 64 * 4150);
    assert!(sender.send().is_empty() && sender.control().is_empty());
    let requests = sender.fire();
    assert_eq!(requests.len(), 1);
    assert_eq!(sender.now, at(20.0) + Span::from_ps(4 * 100_656_000));
    let again = sender.fire();
    assert_eq!(again[0].header, requests[0].header, "and again if that is lost");
}

#[test]
fn ue_12_a_timeout_is_reported_with_the_packets_own_entropy_or_with_0() {
    // The place among two values of the packet that got lost, and of the one that repeats it: one with a penalty passes.
    let places = |params: &NsccParams, seed| {
        let mut params = params.clone();
        params.common.entropy = EntropyPolicy::Bitmap;
        params.common.paths = EntropyValues::new(2).unwrap();
        let mut sender = Alone::new(OfMode::<NsccParams>::sender(&params, &env()));
        sender.rng = Rng::stream(seed, Entity::Sender, 0);
        sender.call(|end, cx| end.write(4086, cx));
        let place = |packets: &[Packet]| packets[0].tag().entropy.unwrap() % 2;
        let lost = place(&sender.send());
        sender.fire();
        (lost, place(&sender.send()))
    };
    let repeats = |params: &NsccParams| {
        let mut of_place_1 = (0..64).map(|seed| places(params, seed)).filter(|&(lost, _)| lost == 1);
        let first = of_place_1.next().unwrap().1;
        assert!(of_place_1.all(|(_, repeat)| repeat == first));
        first
    };
    assert_eq!((repeats(&htsim()), repeats(&NsccParams::default())), (1, 0));
}

#[test]
fn ue_13_a_window_has_room_for_the_packet_or_for_a_full_one() {
    let packets = |params: &NsccParams| {
        let mut params = params.clone();
        params.window.cwnd = clearway_schema::Auto::Set(clearway_units::Bytes::new(5000));
        sender(&params, 4086 + 500).send().len()
    };
    assert_eq!((packets(&htsim()), packets(&NsccParams::default())), (2, 1));
}

#[test]
fn ue_14_packets_of_a_small_window_ask_or_do_not() {
    let asking = |params: &NsccParams| {
        let mut params = params.clone();
        params.window.cwnd = clearway_schema::Auto::Set(clearway_units::Bytes::new(16_000));
        sender(&params, 1_000_000)
            .send()
            .iter()
            .filter(|packet| packet.flags.has(ASKS))
            .map(psn)
            .collect::<Vec<_>>()
    };
    assert_eq!((asking(&htsim()), asking(&NsccParams::default())), (vec![2], vec![0, 1, 2]));
}

#[test]
fn ue_16_a_long_flow_probes_its_base_round_trip_time_after_its_first_answer_or_does_not() {
    let probe = |params: &NsccParams, bytes| {
        let mut sender = sender(params, bytes);
        sender.send();
        sender.now = at(14.5);
        let probes = sender.hear(Packet::control(ack(1, 0, 4150), 64, sender.now));
        sender.now = at(24.5);
        for probe in &probes {
            let Header::Probe { psn, .. } = probe.header else { panic!("{probe:?}") };
            assert_eq!(probe.wire, 4150, "as long as a packet whose round trip it measures");
            let answer = Packet::control(ack(1, psn, 4150), 64, sender.now);
            sender.hear(answer.with_flags(OF_PROBE));
        }
        (probes.len(), sender.end.window.as_ref().unwrap().base_rtt())
    };
    assert_eq!(probe(&htsim(), 1_000_000), (0, RTT));
    assert_eq!(probe(&NsccParams::default(), 1_000_000), (1, Span::from_us(10)));
    assert_eq!(probe(&NsccParams::default(), 100_000), (0, RTT), "it is shorter than its first window");
}

#[test]
fn the_timeout_of_the_specification_doubles_with_each_retransmission() {
    let mut sender = sender(&NsccParams::default(), 4086);
    sender.send();
    let rto = sender.end.next_timeout() - Time::ZERO;
    for doublings in 1..5 {
        sender.fire();
        sender.send();
        assert_eq!(sender.end.next_timeout() - sender.now, rto * (1 << doublings));
    }
    let long = (0..20).map(|_| {
        sender.fire();
        sender.send();
        sender.end.next_timeout() - sender.now
    });
    assert_eq!(long.last(), Some(Span::from_secs(8)));
}

#[test]
fn sleek_sends_again_what_many_later_packets_passed() {
    let mut params = htsim::<NsccParams>();
    params.window.sleek = true;
    let mut sender = sender(&params, 10_000_000);
    sender.send();
    sender.now = at(20.0);
    let held = |held: u16| Header::PulledAck {
        next: 1,
        psn: 62,
        pull: 0,
        received: 4150 * (1 + u32::from(held)),
        from: 2,
        map: u64::MAX >> (64 - held),
        held,
        penalty: 255,
    };
    sender.answer(held(50));
    assert!(psns(&sender.send()).iter().all(|&psn| psn > 62), "the threshold is the largest window");
    params.window.cwnd = clearway_schema::Auto::Set(clearway_units::Bytes::new(30_000));
    let mut sender = self::sender(&params, 10_000_000);
    assert_eq!(sender.send().len(), 7);
    sender.now = at(20.0);
    // A mark without delay leaves the window as it is.
    let tell = |sender: &mut Alone<Sender>, count| {
        let marked = Packet::control(held(count), 64, sender.now).with_flags(Flags::ECN_ECHO);
        sender.hear(marked);
    };
    tell(&mut sender, 5);
    assert!(psns(&sender.send())[0] > 6, "the threshold is 11.01 packets");
    // Parts of a packet do not count.
    tell(&mut sender, 11);
    assert_eq!(psns(&sender.send())[0], 1);
}

#[test]
fn sleek_probes_a_path_that_is_silent_and_repeats_what_is_missing_if_there_is_no_queue() {
    let mut params = htsim::<NsccParams>();
    params.window.sleek = true;
    let mut sender = sender(&params, 40_860);
    sender.send();
    sender.now = at(20.0);
    sender.ack(8, 8 * 4150);
    assert_eq!(sender.end.next_timeout(), sender.now + RTT + Span::from_ps(10_517_040));
    let probes = sender.fire();
    let [Packet { header: Header::Probe { psn, with_data: true }, wire: 64, .. }] = probes[..] else {
        panic!("{probes:?}")
    };
    assert!(
        probes[0].kind() == Kind::Probe && probes[0].flags.has(Flags::ECN_CAPABLE),
        "it is as data in queues"
    );
    sender.now += RTT;
    let answer = Packet::control(ack(8, psn, 8 * 4150), 64, sender.now);
    sender.hear(answer.with_flags(OF_PROBE));
    assert_eq!(psns(&sender.send()), [8, 9]);
}

#[test]
fn the_answer_to_a_probe_of_the_base_round_trip_time_does_not_let_sleek_repeat_what_waits() {
    let mut params = NsccParams::default();
    params.window.sleek = true;
    let mut sender = sender(&params, 1_000_000);
    sender.send();
    sender.now = at(14.5);
    let probes = sender.hear(Packet::control(ack(1, 0, 4150), 64, sender.now));
    let [Packet { header: Header::Probe { psn, with_data: false }, wire: 4150, .. }] = probes[..] else {
        panic!("{probes:?}")
    };
    sender.send();
    sender.now = at(28.5);
    sender.hear(Packet::control(ack(1, psn, 4150), 64, sender.now).with_flags(OF_PROBE));
    let is_again = |packet: &Packet| packet.flags.has(Flags::RETRANSMIT);
    assert!(!sender.send().iter().any(is_again), "nothing is lost for all that is known");
}

#[test]
fn what_sleek_sent_again_and_was_lost_again_is_repeated_from_the_first_such_packet_on() {
    let mut params = htsim::<NsccParams>();
    params.window.sleek = true;
    let mut sender = sender(&params, 40_860);
    sender.send();
    sender.now = at(20.0);
    sender.ack(6, 6 * 4150);
    let psn = match sender.fire()[..] {
        [Packet { header: Header::Probe { psn, .. }, .. }] => psn,
        ref other => panic!("{other:?}"),
    };
    sender.now += RTT;
    sender.hear(Packet::control(ack(6, psn, 6 * 4150), 64, sender.now).with_flags(OF_PROBE));
    assert_eq!(psns(&sender.send()), [6, 7, 8, 9]);
    let again = sender.now;
    while sender.now < again + Span::from_us(101) {
        sender.fire();
        assert_eq!(psns(&sender.send()), [0; 0], "recovery waits for an answer");
    }
    sender.ack(7, 7 * 4150);
    assert_eq!(psns(&sender.send()), [7, 8, 9]);
}

#[test]
fn the_gauge_of_a_window_is_that_of_a_sender_with_one() {
    let by_window = sender::<NsccParams>(&htsim(), 10_000_000);
    assert_eq!(by_window.end.gauges().cwnd, 262_926.0);
    assert!(sender::<RcccParams>(&htsim(), 10_000_000).end.gauges().cwnd.is_nan());
}

#[test]
fn a_value_is_used_again_once_a_first_window_of_packets_has_taken_others_in_turn() {
    let mut params: NsccParams = htsim();
    params.common.entropy = EntropyPolicy::RepsLegacy;
    params.common.paths = EntropyValues::new(256).unwrap();
    let mut sender = sender::<NsccParams>(&params, 10_000_000);
    let first = sender.send();
    assert_eq!(first.len(), 63, "the window is far shorter than the list of values");
    sender.now = at(14.0);
    // An acknowledgement carries the value of the packet that it acknowledges.
    sender.hear(Packet::control(ack(1, 0, 4150), 64, sender.now).with_tag(first[0].tag()));
    let next = sender.send();
    assert_eq!((next.len(), next[0].tag()), (1, first[0].tag()), "that of the packet that proved good");
}

#[test]
fn a_flow_without_end_wants_a_window_however_much_larger_frames_are_than_their_payload() {
    let mut env = env();
    (env.framing.payload_max, env.framing.wire_min) = (64, 500);
    let mut sender = Alone::new(OfMode::<BothParams>::sender(&BothParams::default(), &env));
    sender.call(|end, cx| end.write(1 << 62, cx));
    let packets = sender.send();
    assert!(demand(&packets[0]) > 0, "{:?}", packets[0]);
}
