//! The bytes of payload that a host counts: those that left for a credit, and those that left as plain TCP, by reason.

use super::network::*;
use crate::datapath::{Datapath, HeldId};
use crate::host::{Host, HostConfig};
use crate::wire::Segment;
use clearway_units::Span;

/// The reasons for which a flow can be plain TCP.
const REASONS: [&str; 9] = [
    "unanswered",
    "silent",
    "held_too_long",
    "held_limit",
    "flow_limit",
    "no_address",
    "oversized",
    "no_place",
    "released",
];

/// Returns the bytes that host 0 sent for credits, and those that it sent as plain TCP for any reason.
fn counted(net: &mut Net) -> (f64, f64) {
    let plain = REASONS.iter().map(|reason| net.metric(0, "plain_bytes_total", reason)).sum();
    (net.metric(0, "credited_bytes_total", ""), plain)
}

/// Returns two hosts, of which the first one has these settings.
fn with(change: impl FnOnce(&mut HostConfig)) -> Net {
    let mut first = config(0, "expresspass");
    change(&mut first);
    let hosts = [first, config(1, "expresspass")];
    let seeds = [3, 4];
    let host = |(config, seed)| Some(Host::new(config, seed).unwrap());
    Net::new(hosts.into_iter().zip(seeds).map(host).collect(), Way::GOOD, 1)
}

/// Hands host 0 a segment that the kernel holds, whatever becomes of it.
fn hand_over(net: &mut Net, segment: &Segment) {
    let now = net.now;
    net.host(0).handle_held(HeldId(u32::MAX), segment, now, &mut Default::default());
}

#[test]
fn all_payload_between_hosts_that_answer_counts_as_credited_and_ends_without_payload_count_nothing() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    let at = net.open(0, 1, 1000, 0);
    net.hold(0, at, ACK, 1448);
    net.hold(0, at, ACK, 7);
    net.hold(0, at, ACK | FIN, 0);
    net.run_for(ms(20));
    assert_eq!(net.metric(0, "credits_used_total", ""), 2.0);
    assert_eq!(counted(&mut net), (1455.0, 0.0));
}

#[test]
fn payload_to_a_host_without_clearway_counts_as_plain_because_of_no_answer() {
    let mut net = Net::new(vec![Some(Host::new(config(0, "expresspass"), 3).unwrap()), None], Way::GOOD, 1);
    net.open(0, 1, 1000, 100);
    net.run_for(ms(10));
    // This flow is plain from its beginning.
    net.open(0, 1, 1001, 10);
    net.run_for(ms(10));
    assert_eq!(net.metric(0, "plain_bytes_total", "unanswered"), 110.0 * 1448.0);
    assert_eq!(counted(&mut net), (0.0, 110.0 * 1448.0));
}

#[test]
fn payload_of_a_flow_that_gave_up_counts_for_the_reason_for_which_it_gave_up() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.open(0, 1, 1000, u64::MAX);
    net.run_for(ms(100));
    net.nodes[1].host = None;
    net.run_for(ms(300));
    let sent = net.nodes[0].sources[0].sent as f64;
    let (credited, plain) = counted(&mut net);
    assert_eq!(credited, net.metric(0, "credits_used_total", "") * 1448.0);
    assert!(plain > 1000.0 * 1448.0, "{plain}: the link is idle for plain TCP");
    assert_eq!(credited + plain, sent * 1448.0);
    assert_eq!(net.metric(0, "plain_bytes_total", "silent"), plain);
    assert_eq!(
        net.metric(0, "plain_packets_total", "silent") * 1448.0,
        plain,
        "packets and bytes have the same reason"
    );
}

#[test]
fn payload_that_was_held_too_long_counts_as_such_with_what_the_flow_sends_then() {
    let mut net = with(|config| config.params.hold_max = ms(30));
    let at = net.open(0, 1, 1000, 0);
    (net.nodes[0].sources[at].small_queue, net.nodes[0].sources[at].window) = (1000, 1000);
    net.nodes[0].sources[at].left = 1000;
    net.fill(0, at);
    net.run_for(ms(200));
    let plain = net.metric(0, "plain_bytes_total", "held_too_long");
    assert!(plain > 700.0 * 1448.0, "{plain}: 30 ms are 231 credits");
    let (credited, all_plain) = counted(&mut net);
    assert_eq!((credited + plain, all_plain), (1000.0 * 1448.0, plain));
}

#[test]
fn payload_beyond_the_limit_of_held_packets_counts_by_its_own_size() {
    let mut net = with(|config| config.params.held_max = 2);
    let at = net.open(0, 1, 1000, 0);
    for payload in [100, 30, 5] {
        net.hold(0, at, ACK, payload);
    }
    net.run_for(ms(20));
    assert_eq!(net.metric(0, "plain_bytes_total", "held_limit"), 100.0, "the oldest packet left");
    assert_eq!(counted(&mut net), (35.0, 100.0));
}

#[test]
fn payload_that_never_belonged_to_a_flow_counts_for_the_reason_of_that() {
    let mut net = with(|config| config.params.flows_per_peer = 1);
    let data = |port, payload| segment(key(0, 1, port), ACK, payload);
    hand_over(&mut net, &data(1000, 9));
    assert_eq!(net.metric(0, "plain_bytes_total", "no_address"), 9.0);
    net.open(0, 1, 1001, 0);
    hand_over(&mut net, &data(1002, 20));
    assert_eq!(net.metric(0, "plain_bytes_total", "flow_limit"), 20.0);
    hand_over(&mut net, &data(1001, 1449));
    assert_eq!(net.metric(0, "plain_bytes_total", "oversized"), 1449.0);
    hand_over(&mut net, &Segment { has_place: false, ..data(1001, 300) });
    assert_eq!(net.metric(0, "plain_bytes_total", "no_place"), 300.0);
    assert_eq!(counted(&mut net), (0.0, 9.0 + 20.0 + 1449.0 + 300.0));
}

#[test]
fn payload_that_leaves_when_the_daemon_ends_counts_as_released() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    let at = net.open(0, 1, 1000, 0);
    net.hold(0, at, ACK, 11);
    net.hold(0, at, ACK, 31);
    net.hold(0, at, ACK | FIN, 0);
    net.input(0, Datapath::release_all);
    assert_eq!(net.metric(0, "plain_bytes_total", "released"), 42.0);
    assert_eq!(net.metric(0, "plain_packets_total", "released"), 2.0);
    assert_eq!(counted(&mut net), (0.0, 42.0));
}

#[test]
fn every_byte_that_leaves_is_counted_once_over_a_network_that_loses() {
    let mut net = Net::of(2, "expresspass", Way { loss: 0.3, ..Way::GOOD });
    (0..20).for_each(|flow| {
        net.open(0, 1, 1000 + flow, 50);
    });
    net.run_for(Span::from_secs(5));
    let sent: u64 = net.nodes[0].sources.iter().map(|source| source.sent).sum();
    let (credited, plain) = counted(&mut net);
    assert_eq!(sent, 1000);
    assert_eq!(credited + plain, sent as f64 * 1448.0);
}
