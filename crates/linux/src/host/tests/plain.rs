//! Hosts without Clearway, hosts that fall silent, and hosts that are started again.

use super::network::*;
use crate::datapath::{Datapath, Direction, Link};
use crate::host::Host;
use crate::wire::Kind;
use clearway_units::Span;

fn with_plain_peer() -> Net {
    Net::new(vec![Some(Host::new(config(0, "expresspass"), 3).unwrap()), None], Way::GOOD, 1)
}

#[test]
fn data_to_a_host_without_clearway_waits_two_milliseconds_once_and_never_again() {
    let mut net = with_plain_peer();
    net.open(0, 1, 1000, 100);
    net.run_for(ms(10));
    assert_eq!(net.nodes[0].longest_hold, ms(2));
    assert_eq!(net.nodes[1].arrived.len(), 100);
    assert!(net.nodes[1].arrived.iter().all(|(_, segment)| !segment.is_scheduled()));
    net.nodes[0].longest_hold = Span::ZERO;
    net.open(0, 1, 1001, 100);
    net.run_for(ms(10));
    assert_eq!((net.nodes[0].longest_hold, net.nodes[1].arrived.len()), (Span::ZERO, 200));
    assert_eq!(net.metric(0, "peers", "plain"), 1.0);
}

#[test]
fn a_host_without_clearway_is_asked_again_after_one_second_and_then_every_ten_and_nothing_waits_for_it() {
    let mut net = with_plain_peer();
    let at = net.open(0, 1, 1000, 1);
    net.run_for(ms(100));
    let asked = net.frames(0, Kind::Request);
    net.nodes[0].longest_hold = Span::ZERO;
    for second in 1..=21usize {
        net.run_for(Span::from_secs(1));
        net.nodes[0].sources[at].left = 1;
        net.fill(0, at);
        assert_eq!(net.frames(0, Kind::Request) - asked, second.div_ceil(10), "second {second}");
    }
    assert_eq!(net.nodes[0].longest_hold, Span::ZERO);
}

#[test]
fn a_plain_flow_is_controlled_once_the_other_host_runs_clearway() {
    let mut net = with_plain_peer();
    let at = net.open(0, 1, 1000, 10);
    net.run_for(ms(100));
    net.nodes[1].host = Some(Host::new(config(1, "expresspass"), 4).unwrap());
    net.run_for(Span::from_secs(11));
    net.nodes[1].arrived.clear();
    net.nodes[0].sources[at].left = 500;
    net.fill(0, at);
    net.run_for(ms(200));
    let scheduled = net.nodes[1].arrived.iter().filter(|(_, segment)| segment.is_scheduled()).count();
    assert!(scheduled > 400, "{scheduled} of 500");
    assert_eq!(net.metric(0, "peers", "clearway"), 1.0);
}

#[test]
fn a_late_answer_makes_a_flow_controlled_that_was_plain_already() {
    let mut net = Net::of(2, "expresspass", Way { delay: ms(5), ..Way::GOOD });
    // The answer comes after 10 ms, while the handshake seems to have taken no time.
    let flow = key(0, 1, 1000);
    let (to, from) = (segment(flow, SYN, 0), segment(flow.reversed(), SYN | ACK, 0));
    net.nodes[0].sources.push(Source {
        flow,
        small_queue: 4,
        window: 300,
        left: 2000,
        queued: 0,
        flying: 0,
        sent: 0,
    });
    net.cross(0, 1, to);
    net.input(0, |host, now, actions| {
        let link = Link { local: mac(0), peer: mac(1) };
        let incoming = Direction::Incoming;
        Datapath::handle_segment(host, incoming, &from, link, now, actions);
    });
    net.fill(0, 0);
    net.run_for(ms(300));
    assert_eq!(net.metric(0, "plain_flows_total", "unanswered"), 1.0);
    assert_eq!(net.metric(0, "peers", "clearway"), 1.0);
    assert!(net.nodes[1].arrived.last().unwrap().1.is_scheduled());
}

#[test]
fn a_receiver_that_dies_makes_the_flow_plain_after_the_silence_and_six_requests() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.open(0, 1, 1000, u64::MAX);
    net.run_for(ms(100));
    net.nodes[1].host = None;
    net.run_for(ms(150));
    let longest = net.nodes[0].longest_hold;
    assert!(longest > ms(110) && longest < ms(115), "{longest}: 50 ms and 63 times 1 ms");
    assert_eq!(net.metric(0, "plain_flows_total", "silent"), 1.0);
    assert!(!net.nodes[1].arrived.last().unwrap().1.is_scheduled());
}

#[test]
fn a_host_that_ran_clearway_is_asked_again_every_second() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.open(0, 1, 1000, u64::MAX);
    net.run_for(ms(100));
    net.nodes[1].host = None;
    net.run_for(Span::from_secs(3));
    net.restart(1, "expresspass", 99);
    net.run_for(ms(1100));
    net.nodes[1].arrived.clear();
    net.run_for(ms(10));
    assert!(net.nodes[1].arrived.iter().all(|(_, segment)| segment.is_scheduled()));
    assert_eq!(net.metric(0, "plain_flows_total", "silent"), 1.0);
}

#[test]
fn a_receiver_that_is_started_again_sends_credits_after_the_silence() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.open(0, 1, 1000, u64::MAX);
    net.run_for(ms(100));
    net.restart(1, "expresspass", 99);
    net.run_for(ms(60));
    net.nodes[1].arrived.clear();
    net.run_for(ms(100));
    assert!(net.nodes[1].arrived.len() > 600, "{}", net.nodes[1].arrived.len());
    assert!(net.nodes[1].arrived.iter().all(|(_, segment)| segment.is_scheduled()));
    assert_eq!(net.metric(0, "plain_flows_total", "silent"), 0.0);
}

#[test]
fn a_sender_that_is_started_again_takes_its_flow_over() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    let at = net.open(0, 1, 1000, u64::MAX);
    net.run_for(ms(100));
    net.restart(0, "expresspass", 99);
    // The new daemon knows no address of the other host before it sees a packet: any that is sampled.
    net.cross(0, 1, segment(key(0, 1, 1000), ACK, 1448));
    net.fill(0, at);
    net.run_for(Span::from_secs(2));
    net.nodes[1].arrived.clear();
    net.run_for(ms(100));
    assert!(net.nodes[1].arrived.len() > 600, "{}", net.nodes[1].arrived.len());
    assert!(net.nodes[1].arrived.iter().all(|(_, segment)| segment.is_scheduled()));
    assert_eq!(net.metric(1, "takeovers_total", ""), 1.0);
}

#[test]
fn what_is_held_leaves_when_the_daemon_ends_and_the_receiver_hears_of_it() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.open(0, 1, 1000, 2000);
    net.run_for(ms(100));
    assert!(!net.nodes[0].held.is_empty());
    net.input(0, Datapath::release_all);
    assert!(net.nodes[0].held.is_empty());
    assert_eq!(net.frames(0, Kind::Stop), 1);
}

#[test]
fn no_packet_is_held_longer_than_the_bound_though_the_receiver_answers() {
    let mut config = config(0, "expresspass");
    config.params.hold_max = ms(30);
    let hosts = vec![
        Some(Host::new(config, 1).unwrap()),
        Some(Host::new(super::network::config(1, "expresspass"), 2).unwrap()),
    ];
    let mut net = Net::new(hosts, Way::GOOD, 1);
    let at = net.open(0, 1, 1000, 0);
    net.nodes[0].sources[at].small_queue = 1000;
    net.nodes[0].sources[at].window = 1000;
    net.nodes[0].sources[at].left = 1000;
    net.fill(0, at);
    net.run_for(ms(200));
    assert_eq!(net.nodes[1].arrived.len(), 1000);
    assert_eq!(net.nodes[0].longest_hold, ms(30));
    assert_eq!(net.metric(0, "plain_flows_total", "held_too_long"), 1.0);
}

#[test]
fn hosts_of_different_mtu_say_so_once() {
    let mut jumbo = config(1, "expresspass");
    jumbo.mtu = 9000;
    let hosts =
        vec![Some(Host::new(config(0, "expresspass"), 1).unwrap()), Some(Host::new(jumbo, 2).unwrap())];
    let mut net = Net::new(hosts, Way::GOOD, 1);
    net.open(0, 1, 1000, 100);
    net.open(0, 1, 1001, 100);
    net.run_for(ms(100));
    assert_eq!(
        (net.metric(0, "mtu_mismatches_total", ""), net.metric(1, "mtu_mismatches_total", "")),
        (1.0, 1.0)
    );
}

#[test]
fn a_receiver_whose_answers_belong_to_sessions_that_are_over_is_not_silent() {
    for kind in [Kind::Accept, Kind::Stopped] {
        let mut net = Net::of(2, "expresspass", Way::GOOD);
        let place = net.open(0, 1, 1000, 0);
        net.run_for(ms(50));
        let late = net.nodes[1].left.iter().map(|(_, control)| *control).find(|control| control.kind == kind);
        let late = late.unwrap().to_frame(mac(1), mac(0));
        net.way.loss = 1.0;
        net.hold(0, place, ACK, 1448);
        for _ in 0..40 {
            net.run_for(ms(5));
            net.inject(0, &late);
        }
        assert_eq!(net.metric(0, "plain_flows_total", "silent"), 0.0, "{kind:?}");
        assert!(net.metric(0, "refused_total", "session") >= 40.0, "{kind:?}");
        // Six repetitions, up to 64 ms apart, and it is.
        net.run_for(ms(400));
        assert_eq!(net.metric(0, "plain_flows_total", "silent"), 1.0, "{kind:?}");
    }
}
