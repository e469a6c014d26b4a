//! Small packets, which leave for what credits of the same host have left over.

use super::network::*;
use crate::host::Host;
use crate::host::leftover::wire;
use crate::wire::Kind;
use clearway_units::Span;
use proptest::prelude::*;

/// Two hosts at which so many bytes may be left over.
fn net(leftover: u32) -> Net {
    net_with(leftover, false)
}

/// The same, with or without a path in the kernel.
pub fn net_with(leftover: u32, kernel_path: bool) -> Net {
    let host = |node| {
        let mut config = config(node, "expresspass");
        (config.params.leftover, config.kernel_path) = (leftover, kernel_path);
        config.credit_path = kernel_path;
        Some(Host::new(config, 7 + node as u64).unwrap())
    };
    Net::new((0..2).map(host).collect(), Way::GOOD, 1)
}

/// Opens so many connections without data, whose credits have stopped by the end.
pub fn open_idle(net: &mut Net, count: u16) -> Vec<usize> {
    let places = (0..count).map(|port| net.open(0, 1, 1000 + port, 0)).collect();
    net.run_for(ms(50));
    places
}

#[test]
fn a_small_packet_leaves_at_once_without_a_request_as_long_as_credits_have_left_enough_over() {
    let mut net = net(1538);
    let place = open_idle(&mut net, 1)[0];
    let asked = net.frames(0, Kind::Request);
    // Each takes 190 bytes on the wire, and the credits before the first stop found no packet.
    for sent in 1..=8 {
        net.hold(0, place, ACK, 100);
        assert!(net.nodes[0].held.is_empty());
        assert_eq!(net.metric(0, "leftover_packets_total", ""), f64::from(sent));
        net.run_for(ms(10));
    }
    assert_eq!(net.frames(0, Kind::Request), asked);
    // 18 bytes are left, so the ninth waits for a credit of its own.
    net.hold(0, place, ACK, 100);
    assert_eq!((net.nodes[0].held.len(), net.frames(0, Kind::Request)), (1, asked + 1));
    net.run_for(ms(10));
    assert!(net.nodes[0].held.is_empty());
    assert_eq!(net.metric(0, "credits_used_total", ""), 1.0);
    assert_eq!(net.metric(0, "credited_bytes_total", ""), 900.0);
}

#[test]
fn packets_above_half_a_frame_and_all_packets_without_leftover_spend_credits_of_their_own() {
    for (leftover, payload) in [(1538, 680), (0, 10)] {
        let mut net = net(leftover);
        let place = open_idle(&mut net, 1)[0];
        for _ in 0..5 {
            net.hold(0, place, ACK, payload);
        }
        assert_eq!(net.nodes[0].held.len(), 5);
        net.run_for(ms(10));
        assert_eq!(net.metric(0, "credits_used_total", ""), 5.0);
        assert_eq!(net.metric(0, "leftover_packets_total", ""), 0.0);
    }
}

#[test]
fn one_credit_releases_small_packets_of_several_flows_in_the_order_in_which_they_came() {
    let mut net = net(1538);
    let places = open_idle(&mut net, 8);
    // What was left over goes to seven packets of 200 bytes.
    (0..7).for_each(|_| net.hold(0, places[0], ACK, 110));
    assert!(net.nodes[0].held.is_empty());
    for place in &places {
        net.hold(0, *place, ACK, 110);
    }
    assert_eq!(net.nodes[0].held.len(), 8);
    let before = net.nodes[1].arrived.len();
    let mut left = Vec::new();
    while left.len() < 8 {
        net.run_for(Span::from_us(1));
        let held: Vec<usize> = net.nodes[0].held.values().map(|(_, place)| *place).collect();
        left.extend(
            places
                .iter()
                .copied()
                .filter(|place| !held.contains(place) && !left.contains(place))
                .collect::<Vec<_>>(),
        );
    }
    net.run_for(ms(1));
    assert_eq!(net.nodes[1].arrived.len() - before, 8 + 7);
    assert_eq!(left, places, "the flow of the first credit, and the others behind it");
    assert_eq!(
        net.metric(0, "credits_used_total", ""),
        1.0,
        "six others had room beside, and one had what was left before"
    );
}

#[test]
fn a_flow_whose_small_packets_come_often_keeps_its_credits_since_each_packet_names_one() {
    let mut net = net(1538);
    let place = open_idle(&mut net, 1)[0];
    let stops = net.frames(0, Kind::Stop);
    for _ in 0..400 {
        net.hold(0, place, ACK, 1_000 / 5);
        net.run_for(Span::from_us(300));
    }
    assert_eq!(net.frames(0, Kind::Stop), stops, "no stop in 120 ms");
    assert!(net.nodes[0].held.is_empty());
    let named = net.metric(1, "data_received_total", "");
    assert!(named > 300.0, "{named} packets named a credit");
    assert_eq!(net.metric(1, "refused_total", "credit_number"), 0.0);
    assert_eq!(net.metric(0, "requests_sent_total", ""), 2.0, "one beside the SYN, and one more");
}

#[test]
fn credits_go_on_for_10_ms_after_a_small_packet_and_for_2_ms_after_the_first_one_that_found_none() {
    let stopped_after = |leftover: u32| {
        let mut net = net(leftover);
        let place = open_idle(&mut net, 1)[0];
        // The ninth packet asks for credits, and the tenth leaves for what they leave over, if anything.
        (0..10).for_each(|_| net.hold(0, place, ACK, 100));
        net.run_for(ms(2));
        let stops = net.frames(0, Kind::Stop);
        net.hold(0, place, ACK, 100);
        let begin = net.now;
        while net.frames(0, Kind::Stop) == stops {
            net.run_for(Span::from_us(100));
        }
        (net.now - begin).as_ps() / 1_000_000_000
    };
    assert!((11..=14).contains(&stopped_after(1538)), "{}", stopped_after(1538));
    assert!((2..=4).contains(&stopped_after(0)), "{}", stopped_after(0));
}

#[test]
fn a_packet_after_an_idle_time_names_no_credit_of_long_ago() {
    let mut net = net(1538);
    let place = open_idle(&mut net, 1)[0];
    net.hold(0, place, ACK, 100);
    net.run_for(ms(10));
    assert_eq!(net.metric(0, "leftover_packets_total", ""), 1.0);
    assert_eq!(net.metric(1, "data_received_total", ""), 0.0);
}

#[test]
fn of_many_flows_with_small_packets_eight_ask_at_once_and_the_others_a_millisecond_later() {
    let mut net = net(1538);
    let places = open_idle(&mut net, 20);
    (0..8).for_each(|_| net.hold(0, places[0], ACK, 90));
    net.way.loss = 1.0;
    let before = net.frames(0, Kind::Request);
    places.iter().for_each(|place| net.hold(0, *place, ACK, 110));
    assert_eq!(net.frames(0, Kind::Request) - before, 8);
    net.run_for(Span::from_us(999));
    assert_eq!(net.frames(0, Kind::Request) - before, 8);
    net.run_for(Span::from_us(2));
    // Those of the first eight are repeated by then.
    assert_eq!(net.frames(0, Kind::Request) - before, 8 + 8 + 12);
}

#[test]
fn flows_that_end_while_they_wait_leave_the_line() {
    let mut net = net(1538);
    let places = open_idle(&mut net, 12);
    (0..8).for_each(|_| net.hold(0, places[0], ACK, 90));
    net.way.loss = 1.0;
    places.iter().for_each(|place| net.hold(0, *place, ACK, 110));
    let line = |net: &mut Net| net.host(0).peers.get(address(1)).unwrap().leftover.len();
    assert_eq!(line(&mut net), 12);
    for port in 0..11 {
        net.cross(0, 1, segment(key(0, 1, 1000 + port), RST, 0));
    }
    assert_eq!((line(&mut net), net.nodes[0].held.len()), (1, 1), "they hold nothing");
    net.run_for(ms(500));
    assert_eq!((line(&mut net), net.nodes[0].held.len()), (0, 0), "the last one is plain TCP");
}

#[test]
fn a_flow_that_has_become_plain_tcp_neither_waits_nor_stands_in_the_way_of_others() {
    let mut net = net(1538);
    let places = open_idle(&mut net, 2);
    (0..7).for_each(|_| net.hold(0, places[0], ACK, 110));
    net.way.loss = 1.0;
    net.hold(0, places[0], ACK, 110);
    net.run_for(ms(500));
    assert!(net.nodes[0].held.is_empty(), "six requests had no answer");
    net.way.loss = 0.0;
    net.run_for(ms(2_000));
    net.hold(0, places[1], ACK, 110);
    net.run_for(ms(500));
    net.hold(0, places[1], ACK, 110);
    net.run_for(ms(50));
    assert!(net.nodes[0].held.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_more_bytes_leave_than_credits_have_paid_for_and_no_packet_is_forgotten(
        leftover in 0u32..5_000,
        steps in prop::collection::vec((0u16..6, 1u16..1_449, 0u64..3_000), 1..150),
    ) {
        let mut net = net(leftover);
        let places = open_idle(&mut net, 6);
        let mut bytes = 0;
        for (flow, payload, us) in steps {
            bytes += u64::from(wire(payload + 52));
            net.hold(0, places[usize::from(flow)], ACK, payload);
            net.run_for(Span::from_us(us));
        }
        net.run_for(ms(100));
        prop_assert!(net.nodes[0].held.is_empty());
        let credits = net.metric(0, "credits_received_total", "");
        prop_assert!(bytes as f64 <= credits * 1538.0, "{} bytes for {} credits", bytes, credits);
        prop_assert!(net.nodes[0].longest_hold < ms(20), "{}", net.nodes[0].longest_hold);
        let plain: f64 = net.metric(0, "plain_packets_total", "silent");
        prop_assert_eq!(plain, 0.0);
    }
}
