//! The bounds of a host, each at its edge: what is within is controlled, what is beyond passes or is refused.

use super::network::*;
use crate::datapath::Datapath;
use crate::host::{Host, HostParams};
use crate::wire::Kind;
use clearway_units::Span;

/// Returns a network of hosts that run ExpressPass, of which one has settings of its own.
fn with(count: usize, node: usize, change: impl FnOnce(&mut HostParams)) -> Net {
    let mut change = Some(change);
    let mut host = |at| {
        let mut config = config(at, "expresspass");
        if let Some(change) = change.take_if(|_| at == node) {
            change(&mut config.params);
        }
        Some(Host::new(config, 7 + at as u64).unwrap())
    };
    Net::new((0..count).map(&mut host).collect(), Way::GOOD, 1)
}

/// Returns a network whose second host does not run Clearway.
fn with_plain_peer(way: Way) -> Net {
    Net::new(vec![Some(Host::new(config(0, "expresspass"), 3).unwrap()), None], way, 1)
}

#[test]
fn held_packets_count_over_all_flows_and_beyond_their_limit_the_oldest_of_the_flow_leaves() {
    let mut net = with(3, 0, |params| (params.held_max, params.leftover) = (4, 0));
    let flows = [net.open(0, 1, 1000, 0), net.open(0, 2, 1001, 0)];
    for flow in [0, 0, 1, 1] {
        net.hold(0, flows[flow], ACK, 100);
    }
    assert_eq!(net.nodes[0].held.len(), 4);
    assert_eq!(net.metric(0, "plain_packets_total", "held_limit"), 0.0);
    for (flow, held) in [(1, [0, 1, 3, 4]), (0, [1, 3, 4, 5]), (0, [3, 4, 5, 6])] {
        net.hold(0, flows[flow], ACK, 10);
        assert_eq!(net.nodes[0].held.keys().copied().collect::<Vec<u32>>(), held);
        assert_eq!(net.metric(0, "packets_held", ""), 4.0);
    }
    assert_eq!(net.metric(0, "plain_packets_total", "held_limit"), 3.0);
    assert_eq!(net.metric(0, "plain_bytes_total", "held_limit"), 300.0);
    // The flows stay controlled: what is left leaves for credits.
    net.run_for(ms(20));
    assert_eq!(net.metric(0, "credits_used_total", ""), 4.0);
}

#[test]
fn a_flow_beyond_the_largest_number_is_plain_until_another_ends() {
    let ends: [fn(&mut HostParams); 2] = [|params| params.flows_max = 2, |params| params.flows_per_peer = 2];
    for limit in ends {
        let mut net = with(2, 0, limit);
        let first = net.open(0, 1, 1000, 10);
        net.open(0, 1, 1001, 10);
        net.run_for(ms(20));
        assert_eq!(net.metric(0, "credits_used_total", ""), 20.0);
        net.open(0, 1, 1002, 10);
        net.run_for(ms(20));
        assert_eq!(net.metric(0, "plain_packets_total", "flow_limit"), 10.0);
        assert_eq!((net.metric(0, "credits_used_total", ""), net.host(0).senders.len()), (20.0, 2));
        net.hold(0, first, ACK | FIN, 0);
        net.run_for(ms(20));
        net.open(0, 1, 1003, 10);
        net.run_for(ms(20));
        assert_eq!(net.metric(0, "plain_packets_total", "flow_limit"), 10.0);
        assert_eq!(net.metric(0, "credits_used_total", ""), 30.0);
    }
}

#[test]
fn a_host_beyond_whose_largest_number_of_flows_another_asks_refuses_until_one_is_forgotten() {
    let mut net = with(3, 1, |params| {
        (params.flows_per_peer, params.age) = (2, Span::from_secs(1));
    });
    for round in 1..=2 {
        for (from, port) in [(0, 1), (0, 2), (0, 3), (2, 1)] {
            net.inject(1, &request(from, 1, port, 5).to_frame(mac(from), mac(1)));
        }
        assert_eq!(net.host(1).receivers.len(), 3, "two of one host and one of another");
        assert_eq!(net.metric(1, "refused_total", "peer_flow_limit"), f64::from(round));
        net.run_for(Span::from_secs(3));
        assert_eq!(net.host(1).receivers.len(), 0);
    }
}

#[test]
fn a_request_beyond_the_allowance_of_its_host_makes_no_flow() {
    let mut net = Net::of(3, "expresspass", Way::GOOD);
    for port in 0..600 {
        net.inject(1, &request(0, 1, port, 5).to_frame(mac(0), mac(1)));
    }
    assert_eq!(net.host(1).receivers.len(), 512);
    assert_eq!(net.metric(1, "refused_total", "flood"), 88.0);
    net.inject(1, &request(2, 1, 1, 5).to_frame(mac(2), mac(1)));
    assert_eq!(net.host(1).receivers.len(), 513, "another host has an allowance of its own");
}

#[test]
fn a_request_beyond_the_allowance_of_all_hosts_makes_no_flow() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    for number in 0..4200u16 {
        let mut control = request(0, 1, number, 5);
        control.flow.source = std::net::Ipv4Addr::new(11, 0, (number / 256) as u8, number as u8).into();
        net.inject(1, &control.to_frame(mac(0), mac(1)));
    }
    assert_eq!(net.host(1).receivers.len(), 4096);
    assert_eq!(net.metric(1, "refused_total", "flood"), 104.0);
}

#[test]
fn data_to_an_unknown_host_waits_three_round_trips_of_the_handshake_where_that_is_longer() {
    for (delay, waits) in [(us(100), ms(2)), (us(400), us(2400))] {
        let mut net = with_plain_peer(Way { delay, ..Way::GOOD });
        net.open(0, 1, 1000, 10);
        net.run_for(ms(100));
        assert_eq!(net.nodes[0].longest_hold, waits);
        assert_eq!(net.nodes[1].arrived.len(), 10);
    }
}

#[test]
fn a_sender_whose_credits_come_seldom_waits_for_sixteen_of_them_before_it_asks_anew() {
    for (gap, silence) in [(ms(1), ms(50)), (ms(10), ms(160))] {
        let mut net = with_plain_peer(Way::GOOD);
        net.open(0, 1, 1000, u64::MAX);
        let asked = net.nodes[0].left[0].1;
        let from_receiver = |kind, number| {
            let control = crate::wire::Control { kind, number, ..asked };
            control.to_frame(mac(1), mac(0))
        };
        net.inject(0, &from_receiver(Kind::Accept, 0));
        for number in 0..200 {
            net.inject(0, &from_receiver(Kind::Credit, number));
            net.run_for(gap);
        }
        assert_eq!(net.metric(0, "credits_used_total", ""), 200.0);
        assert_eq!(net.metric(0, "silences_total", ""), 0.0);
        net.run_for(silence - gap - us(100));
        assert_eq!(net.metric(0, "silences_total", ""), 0.0, "{gap}");
        net.run_for(us(200));
        assert_eq!(net.metric(0, "silences_total", ""), 1.0, "{gap}");
    }
}

#[test]
fn a_receiver_stops_the_credits_of_a_sender_that_died_twenty_milliseconds_after_its_last_data() {
    let mut net = Net::of(2, "naive-credit", Way::GOOD);
    net.open(0, 1, 1000, u64::MAX);
    net.run_for(ms(100));
    net.nodes[0].host = None;
    net.run_for(ms(100));
    let scheduled = net.nodes[1].arrived.iter().rev().find(|(_, segment)| segment.is_scheduled());
    let data = scheduled.unwrap().0;
    let credits = net.nodes[1].left.iter().rev().find(|(_, control)| control.kind == Kind::Credit);
    let after = credits.unwrap().0.saturating_since(data);
    assert!(after > us(19_800) && after <= ms(20), "{after}");
    assert_eq!(net.metric(1, "cut_off_total", ""), 1.0);
    assert_eq!(net.metric(1, "flows_received", "stopped"), 1.0);
}

#[test]
fn a_receiver_makes_up_for_two_milliseconds_of_credits_when_its_timer_is_later_than_that() {
    // A credit of the whole NIC comes every 129.76 us.
    for (late, made) in [(us(1000), 7..=9), (ms(15), 15..=17)] {
        let mut net = Net::of(2, "naive-credit", Way::GOOD);
        net.open(0, 1, 1000, u64::MAX);
        net.run_for(ms(100));
        let count = |net: &mut Net| {
            let of = ["credits_sent_total", "credits_queued", "credits_limited_total"];
            of.iter().map(|name| net.metric(1, name, "")).sum::<f64>()
        };
        let before = count(&mut net);
        net.now += late;
        net.input(1, Datapath::handle_timeout);
        let more = (count(&mut net) - before) as u64;
        assert!(made.contains(&more), "{more} after {late}");
    }
}

#[test]
fn a_flow_is_forgotten_at_its_age_and_not_before() {
    let mut net = with(2, 0, |params| params.age = Span::from_secs(5));
    net.open(0, 1, 1000, 5);
    net.run_for(ms(4900));
    assert_eq!(net.host(0).senders.len(), 1);
    // Each flow is looked at about once a second.
    net.run_for(ms(1500));
    assert_eq!(net.host(0).senders.len(), 0);
    assert_eq!(net.metric(0, "flows_aged_total", ""), 1.0);
    assert_eq!(net.host(1).receivers.len(), 1, "the age is 60 s there");
}

#[test]
fn packets_that_would_wait_too_long_for_their_credits_are_dropped_and_the_others_leave_in_time() {
    // A credit of the whole NIC comes every 129.76 us, so 770 of them take 100 ms.
    for (wait_max, kept) in
        [(ms(100), 700..=790), (ms(20), 130..=170), (ms(1), 16..=20), (Span::ZERO, 2000..=2004)]
    {
        let mut net = with(2, 0, |params| params.wait_max = wait_max);
        let flow = net.open(0, 1, 1000, 400);
        net.run_for(ms(40));
        for _ in 0..2000 {
            net.hold(0, flow, ACK, 1448);
        }
        let (held, dropped) = (net.nodes[0].held.len(), net.metric(0, "packets_dropped_total", ""));
        // What ends the connection is never dropped, with or without data.
        net.hold(0, flow, FIN | ACK, 100);
        net.hold(0, flow, FIN | ACK, 0);
        assert_eq!(net.nodes[0].held.len(), held + 2);
        assert!(kept.contains(&held), "{held} with {wait_max}");
        assert_eq!(dropped, 2000.0 - (held - 4) as f64);
        net.nodes[0].longest_hold = Span::ZERO;
        net.run_for(ms(400));
        let longest = net.nodes[0].longest_hold;
        assert!(
            wait_max.is_zero() || longest <= wait_max.max(ms(3)).mul_f64(1.1),
            "{longest} with {wait_max}"
        );
        assert!(net.nodes[0].held.is_empty());
        let left = net.metric(0, "credits_used_total", "");
        // An end without data leaves with the packet before it.
        assert_eq!(
            left,
            net.nodes[0].sources[flow].sent as f64 - dropped - 1.0,
            "nothing left without a credit"
        );
    }
}

#[test]
fn packets_of_a_flow_wait_while_the_pace_of_its_credits_is_unknown() {
    let mut net = with(2, 0, |params| params.wait_max = us(1));
    let flow = net.open(0, 1, 1000, 4);
    for _ in 0..100 {
        net.hold(0, flow, ACK, 1448);
    }
    net.run_for(ms(100));
    assert_eq!(net.metric(0, "packets_dropped_total", ""), 0.0);
    assert_eq!(net.metric(0, "credits_used_total", ""), 104.0);
}
