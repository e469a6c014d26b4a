//! The main path: requests, credits, data, stops.

use super::network::*;
use crate::datapath::Datapath;
use crate::host::Host;
use crate::wire::{Ecn, Kind};
use clearway_units::{Span, Time};

#[test]
fn a_flow_with_naive_credits_fills_exactly_the_share_of_data_in_the_link() {
    let mut net = Net::of(2, "naive-credit", Way::GOOD);
    net.open(0, 1, 1000, u64::MAX);
    net.run_for(ms(1000));
    // 100 Mbit/s / (8 x 1622 bytes) = 7706.5 credits per second, and the first data comes after 300 us.
    let arrived = net.nodes[1].arrived.len();
    assert!((7700..=7707).contains(&arrived), "{arrived}");
    assert!(net.nodes[1].arrived.iter().all(|(_, segment)| segment.is_scheduled()));
    assert_eq!(net.metric(0, "credits_wasted_total", ""), 0.0);
    assert_eq!(net.metric(0, "silences_total", ""), 0.0);
    assert_eq!(net.metric(1, "refused_total", "credit_number"), 0.0);
}

#[test]
fn a_flow_of_expresspass_gets_the_whole_link_and_loses_no_credit() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.open(0, 1, 1000, u64::MAX);
    net.run_for(ms(1000));
    let arrived = net.nodes[1].arrived.len();
    assert!((7500..=7707).contains(&arrived), "{arrived}");
    assert_eq!(net.frames(0, Kind::Request), 1);
    assert_eq!(net.frames(1, Kind::Accept), 1);
    assert_eq!(net.frames(0, Kind::Stop), 0);
}

#[test]
fn the_first_frames_of_a_connection_come_when_they_should() {
    let mut net = Net::of(2, "naive-credit", Way::GOOD);
    net.open(0, 1, 1000, 3);
    net.run_for(ms(20));
    let at = |node: usize| -> Vec<(u64, Kind)> {
        net.nodes[node].left.iter().map(|(at, control)| (at.as_ps() / 1_000_000, control.kind)).collect()
    };
    // The SYN and its request leave at 0, data waits from 200 us on; credits are 129.76 us apart, after a jitter of 1 %.
    let sender = at(0);
    assert_eq!(sender[0], (0, Kind::Request));
    let receiver = at(1);
    assert_eq!(receiver[..2], [(100, Kind::Accept), (100, Kind::Credit)]);
    let arrived: Vec<u64> = net.nodes[1].arrived.iter().map(|(at, _)| at.as_ps() / 1_000_000).collect();
    assert_eq!(arrived.len(), 3);
    assert!((300..=302).contains(&arrived[0]), "the credit of 100 us came too early for data: {arrived:?}");
    // Three credits after the last data, 2 ms pass until the stop.
    assert_eq!(sender.len(), 2);
    assert_eq!(sender[1].1, Kind::Stop);
    let last_data = arrived[2] - 100;
    assert_eq!(sender[1].0, last_data + 2000);
    assert_eq!(receiver.last().map(|(at, kind)| (*at, *kind)), Some((sender[1].0 + 100, Kind::Stopped)));
    let wasted = net.metric(0, "credits_wasted_total", "");
    assert!((16.0..=19.0).contains(&wasted), "2.2 ms of credits and the first one: {wasted}");
}

#[test]
fn a_stopped_flow_asks_again_when_data_comes_and_ends_with_the_connection() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    let at = net.open(0, 1, 1000, 5);
    net.run_for(ms(10));
    assert_eq!((net.nodes[1].arrived.len(), net.frames(0, Kind::Stop)), (5, 1));
    net.nodes[0].sources[at].left = 5;
    net.fill(0, at);
    net.hold(0, at, ACK | FIN, 0);
    net.run_for(ms(10));
    assert_eq!(net.nodes[1].arrived.len(), 11, "the end leaves too");
    assert_eq!((net.frames(0, Kind::Request), net.frames(0, Kind::Stop)), (2, 2));
    let states = ["plain", "probing", "closed", "request_sent", "receiving", "stop_sent"];
    assert!(states.iter().all(|state| net.metric(0, "flows_sent", state) == 0.0));
}

#[test]
fn two_senders_share_the_nic_of_their_receiver() {
    let mut net = Net::of(3, "expresspass", Way::GOOD);
    net.open(0, 2, 1000, u64::MAX);
    net.open(1, 2, 1000, u64::MAX);
    net.run_for(ms(500));
    net.nodes[2].arrived.clear();
    net.run_for(ms(1000));
    let from =
        |node| net.nodes[2].arrived.iter().filter(|(_, data)| data.flow.source == address(node)).count();
    let (first, second) = (from(0), from(1));
    assert!(first + second > 7300 && first + second <= 7708, "{first} {second}");
    assert!(first.abs_diff(second) < 1200, "{first} {second}");
}

#[test]
fn data_of_ec4_is_ecn_capable_and_marks_lower_its_rate() {
    let run = |marks| {
        let mut net = Net::of(2, "ec4", Way { marks, ..Way::GOOD });
        net.open(0, 1, 1000, u64::MAX);
        net.run_for(ms(500));
        assert!(net.nodes[1].arrived.iter().all(|(_, segment)| segment.ecn != Ecn::NotCapable));
        net.nodes[1].arrived.len()
    };
    let (without, with) = (run(0.0), run(0.5));
    assert!(without > 3500, "{without}");
    assert!(with < without * 3 / 4, "{with} of {without}");
}

#[test]
fn a_receiver_and_a_sender_of_different_transports_agree_on_what_the_receiver_runs() {
    let hosts = [("expresspass", 0), ("ec4", 1)]
        .map(|(transport, node)| Some(Host::new(config(node, transport), node as u64).unwrap()));
    let mut net = Net::new(hosts.into(), Way::GOOD, 1);
    net.open(0, 1, 1000, 100);
    net.run_for(ms(100));
    assert_eq!(net.nodes[1].arrived.len(), 100);
    assert!(net.nodes[1].arrived.iter().all(|(_, segment)| segment.ecn == Ecn::Capable0));
}

#[test]
fn timers_that_fire_a_millisecond_late_cost_no_throughput() {
    let mut net = Net::of(2, "naive-credit", Way::GOOD);
    net.open(0, 1, 1000, u64::MAX);
    net.nodes[0].sources[0].small_queue = 30;
    net.late = ms(1);
    net.run_for(ms(1000));
    let arrived = net.nodes[1].arrived.len();
    assert!((7600..=7717).contains(&arrived), "{arrived}");
}

#[test]
fn a_clock_that_jumps_gives_no_burst() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.open(0, 1, 1000, u64::MAX);
    net.run_for(ms(200));
    let before = (net.nodes[0].left.len(), net.nodes[1].left.len());
    net.now += Span::from_secs(3600);
    let now = net.now;
    for node in 0..2 {
        net.input(node, Datapath::handle_timeout);
    }
    assert_eq!(net.now, now);
    assert!(net.nodes[0].left.len() - before.0 <= 1, "no flood of requests");
    assert!(net.nodes[1].left.len() - before.1 <= 2, "the bucket holds two credits");
    assert_eq!(net.metric(0, "plain_flows_total", "held_too_long"), 0.0);
    assert_eq!(net.metric(1, "clock_jumps_total", ""), 1.0);
    let arrived = net.nodes[1].arrived.len();
    net.run_for(ms(100));
    assert!(net.nodes[1].arrived.len() > arrived + 600, "the flow goes on");
}

#[test]
fn an_incast_of_35_flows_fills_the_nic_fairly_with_a_short_queue_though_timers_are_late() {
    let mut net = Net::of(8, "expresspass", Way { spread: us(100), ..Way::GOOD });
    net.late = us(60);
    for port in 1000..1005 {
        (0..7).for_each(|host| {
            net.open(host, 7, port, u64::MAX);
        });
    }
    net.run_for(ms(500));
    net.nodes[7].arrived.clear();
    net.run_for(ms(1000));
    let arrived = &net.nodes[7].arrived;
    assert!((7600..=7710).contains(&arrived.len()), "{}", arrived.len());
    assert!(arrived.iter().all(|(_, segment)| segment.is_scheduled()));
    let counts: Vec<f64> = (0..7)
        .map(|host| arrived.iter().filter(|(_, data)| data.flow.source == address(host)).count() as f64)
        .collect();
    assert!(counts.iter().all(|count| (count / 1101.0 - 1.0).abs() < 0.2), "{counts:?}");
    // The queue of a port of 100 Mbit/s, at which a frame of 1538 bytes takes 123.04 us.
    let (mut queue, mut longest, mut last) = (0.0f64, 0.0f64, arrived[0].0);
    for (at, _) in arrived {
        queue = (queue - at.saturating_since(last).as_us_f64() / 123.04).max(0.0) + 1.0;
        (longest, last) = (longest.max(queue), *at);
    }
    assert!(longest < 8.0, "{longest}");
}

#[test]
fn an_idle_host_has_no_timer() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    assert_eq!(Datapath::next_timeout(net.host(0)), Time::MAX);
    let at = net.open(0, 1, 1000, 5);
    net.hold(0, at, ACK | FIN, 0);
    net.run_for(Span::from_secs(70));
    for node in 0..2 {
        assert_eq!(Datapath::next_timeout(net.host(node)), Time::MAX, "node {node}");
    }
}
