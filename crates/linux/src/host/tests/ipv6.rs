//! Flows over IPv6, alone and beside those over IPv4.

use super::network::*;
use crate::wire::{Control, FlowKey, Kind, MacAddr, SCHEDULED};
use clearway_units::Span;
use std::net::Ipv6Addr;

const EVIL: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x66]);

fn key6(from: usize, to: usize, port: u16) -> FlowKey {
    over_ipv6(key(from, to, port))
}

/// A network with a flow over IPv6 from 0 to 1 that runs, and the last credit of that flow as its frame has it.
fn running() -> (Net, Control) {
    let mut net = Net::of(3, "expresspass", Way::GOOD);
    net.open_flow(key6(0, 1, 1000), u64::MAX);
    net.run_for(ms(100));
    let last = net.nodes[1].left.iter().rev().find(|(_, control)| control.kind == Kind::Credit).unwrap().1;
    (net, last)
}

#[test]
fn a_flow_over_ipv6_fills_the_link_with_scheduled_data_and_credits_of_60_bytes() {
    let (mut net, credit) = running();
    assert_eq!(credit.flow, key6(0, 1, 1000).in_credits());
    assert_eq!(credit.to_frame(mac(1), mac(0)).len(), 60);
    net.nodes[1].arrived.clear();
    net.run_for(Span::from_secs(1));
    let arrived = &net.nodes[1].arrived;
    // A credit and its frame take 1622 bytes of the link.
    assert!((7650..=7710).contains(&arrived.len()), "{}", arrived.len());
    assert!(arrived.iter().all(|(_, segment)| segment.dscp == SCHEDULED && segment.flow == key6(0, 1, 1000)));
    assert_eq!(net.metric(0, "plain_packets_total", "unanswered"), 0.0);
}

#[test]
fn requests_and_answers_over_ipv6_have_both_addresses_whole() {
    let (net, _) = running();
    for (node, kind) in [(0, Kind::Request), (1, Kind::Accept)] {
        let sent = net.nodes[node].left.iter().find(|(_, control)| control.kind == kind).unwrap().1;
        assert_eq!(sent.flow, key6(0, 1, 1000), "{kind:?}");
    }
}

#[test]
fn flows_over_both_versions_share_the_link_as_two_flows_over_one_do() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.open(0, 1, 1000, u64::MAX);
    net.open_flow(key6(0, 1, 1000), u64::MAX);
    net.run_for(ms(300));
    net.nodes[1].arrived.clear();
    net.run_for(Span::from_secs(1));
    let six = net.nodes[1].arrived.iter().filter(|(_, segment)| segment.flow.is_ipv6()).count() as f64;
    let all = net.nodes[1].arrived.len() as f64;
    assert!((0.4..0.6).contains(&(six / all)) && all > 7600.0, "{six} of {all}");
    assert_eq!(net.metric(0, "refused_total", "unknown_flow"), 0.0);
}

#[test]
fn forged_credits_over_ipv6_are_refused_and_release_nothing() {
    let (mut net, credit) = running();
    let next = Control { number: credit.number + 50, ..credit };
    let with = |change: fn(&mut FlowKey)| {
        let mut control = next;
        change(&mut control.flow);
        control
    };
    let used = net.metric(0, "credits_used_total", "");
    for (control, from, to, reason) in [
        // A credit over IPv6 names its flow by the cookie, so one with another cookie is of no flow.
        (Control { cookie: next.cookie ^ 1, ..next }, mac(1), mac(0), "unknown_flow"),
        (next, EVIL, mac(0), "address"),
        (next, mac(1), EVIL, "not_ours"),
        (next, mac(0), mac(0), "not_ours"),
        (with(|flow| flow.source_port += 1), mac(1), mac(0), "unknown_flow"),
        (with(|flow| flow.destination_port += 1), mac(1), mac(0), "unknown_flow"),
        (with(|flow| flow.source = Ipv6Addr::LOCALHOST.into()), mac(1), mac(0), "unknown_flow"),
        (with(|flow| flow.destination = Ipv6Addr::LOCALHOST.into()), mac(1), mac(0), "unknown_flow"),
        // The cookie of a flow over IPv6 in a frame of IPv4.
        (Control { flow: key(0, 1, 1000), ..next }, mac(1), mac(0), "unknown_flow"),
        (Control { session: 9, ..next }, mac(1), mac(0), "session"),
        (Control { number: credit.number - 10, ..next }, mac(1), mac(0), "replayed"),
        (Control { kind: Kind::Accept, flow: key6(0, 1, 1000), cookie: 1, ..next }, mac(1), mac(0), "cookie"),
        (Control { kind: Kind::Cnp, flow: key6(0, 1, 1000), ..next }, mac(1), mac(0), "kind"),
    ] {
        let before = net.metric(0, "refused_total", reason);
        net.inject(0, &control.to_frame(from, to));
        assert_eq!(net.metric(0, "refused_total", reason), before + 1.0, "{reason}: {control:?}");
    }
    assert_eq!(net.metric(0, "credits_used_total", ""), used);
    let frame = Control { kind: Kind::Stopped, flow: key6(0, 1, 1000), ..next }.to_frame(mac(1), mac(0));
    net.inject(0, &frame[..60]);
    assert_eq!(net.metric(0, "refused_total", "truncated"), 1.0);
}

#[test]
fn the_index_of_cookies_has_the_flows_over_ipv6_that_are_sent_and_no_others() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.open(0, 1, 1000, 10);
    for port in 0..20 {
        net.open_flow(key6(0, 1, 2000 + port), 10);
    }
    assert_eq!((net.host(0).senders.len(), net.host(0).cookies.len()), (21, 20));
    net.run_for(ms(100));
    for at in 0..21 {
        net.hold(0, at, FIN | ACK, 0);
    }
    net.run_for(Span::from_secs(61 * 2));
    assert_eq!((net.host(0).senders.len(), net.host(0).cookies.len()), (0, 0));
}

#[test]
fn data_over_ipv6_whose_urgent_pointer_is_taken_leaves_as_plain_tcp() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.open_flow(key6(0, 1, 1000), 0);
    let mut data = segment(key6(0, 1, 1000), ACK, 100);
    data.has_place = false;
    let mut verdicts = crate::datapath::Actions::default();
    let now = net.now;
    let host = net.host(0);
    crate::datapath::Datapath::handle_held(host, crate::datapath::HeldId(7), &data, now, &mut verdicts);
    assert_eq!(verdicts.verdicts, [(crate::datapath::HeldId(7), crate::datapath::Verdict::Accept)]);
    assert_eq!(net.metric(0, "plain_packets_total", "no_place"), 1.0);
}
