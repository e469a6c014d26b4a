//! Hosts whose control frames travel in UDP datagrams.

use super::network::*;
use crate::host::Host;
use crate::wire::{Carrier, Control, Kind, MacAddr};
use clearway_units::Span;

const ROUTER: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x77]);

fn net() -> Net {
    let host = |node| {
        let config = crate::host::HostConfig { carrier: Carrier::Udp(PORT), ..config(node, "expresspass") };
        Some(Host::new(config, 7 + node as u64).unwrap())
    };
    Net::new((0..2).map(host).collect(), Way::GOOD, 1)
}

/// The last credit of the flow to port 1000 that node 1 sent.
fn last_credit(net: &Net) -> Control {
    net.nodes[1].left.iter().rev().find(|(_, control)| control.kind == Kind::Credit).unwrap().1
}

#[test]
fn flows_over_both_versions_of_ip_fill_the_link_with_credits_of_132_bytes() {
    for is_ipv6 in [false, true] {
        let mut net = net();
        let flow = if is_ipv6 { over_ipv6(key(0, 1, 1000)) } else { key(0, 1, 1000) };
        net.open_flow(flow, u64::MAX);
        net.run_for(ms(200));
        net.nodes[1].arrived.clear();
        net.run_for(Span::from_secs(1));
        let arrived = &net.nodes[1].arrived;
        // 100 Mbit/s / (8 x 1670 bytes) = 7485.0.
        assert!((7430..=7486).contains(&arrived.len()), "{}", arrived.len());
        assert!(arrived.iter().all(|(_, segment)| segment.is_scheduled()));
        assert_eq!(last_credit(&net).flow, flow, "a datagram has whole addresses");
    }
}

#[test]
fn a_credit_may_come_from_any_router_but_must_be_of_the_flow_with_its_cookie_and_session() {
    let mut net = net();
    net.open_flow(over_ipv6(key(0, 1, 1000)), u64::MAX);
    net.run_for(ms(100));
    let next = Control { number: last_credit(&net).number + 50, ..last_credit(&net) };
    let used = net.metric(0, "credits_used_total", "") + net.metric(0, "credits_wasted_total", "");
    net.inject(0, &next.to_datagram(ROUTER, mac(0), PORT));
    let now = net.metric(0, "credits_used_total", "") + net.metric(0, "credits_wasted_total", "");
    assert_eq!(now, used + 1.0);
    let after = Control { number: next.number + 1, ..next };
    for (control, to, reason) in [
        (Control { cookie: next.cookie ^ 1, ..after }, mac(0), "cookie"),
        (Control { session: 9, ..after }, mac(0), "session"),
        (Control { flow: over_ipv6(key(0, 1, 999)), ..after }, mac(0), "unknown_flow"),
        (Control { flow: key(0, 1, 1000), ..after }, mac(0), "unknown_flow"),
        (after, ROUTER, "not_ours"),
        (next, mac(0), "replayed"),
    ] {
        let before = net.metric(0, "refused_total", reason);
        net.inject(0, &control.to_datagram(ROUTER, to, PORT));
        assert_eq!(net.metric(0, "refused_total", reason), before + 1.0, "{reason}");
    }
    let mut broken = after.to_datagram(ROUTER, mac(0), PORT);
    broken[90] ^= 1;
    net.inject(0, &broken);
    assert_eq!(net.metric(0, "refused_total", "checksum"), 1.0);
    net.inject(0, &after.to_frame(mac(1), mac(0)));
    assert_eq!(net.metric(0, "refused_total", "other_type"), 1.0, "a frame straight over Ethernet");
}

#[test]
fn a_route_that_changes_is_followed_by_credits_after_a_new_request() {
    let mut net = net();
    net.open(0, 1, 1000, u64::MAX);
    net.run_for(ms(100));
    let cookie = last_credit(&net).cookie;
    // Packets of node 1 to node 0 go to another router from now on.
    let link = crate::datapath::Link { local: mac(1), peer: ROUTER };
    let ack = segment(key(1, 0, 0), ACK, 0);
    net.input(1, |host, now, actions| {
        use crate::datapath::{Datapath, Direction};
        host.handle_segment(Direction::Outgoing, &ack, link, now, actions);
    });
    let session = last_credit(&net).session + 1;
    let again = Control { session, cookie, ..request(0, 1, 1000, cookie) };
    let mut actions = crate::datapath::Actions::default();
    let now = net.now;
    crate::datapath::Datapath::handle_frame(
        net.host(1),
        &again.to_datagram(mac(0), mac(1), PORT),
        now,
        &mut actions,
    );
    assert!(!actions.frames.is_empty());
    assert!(actions.frames.iter().all(|frame| frame[..6] == ROUTER.0), "{:?}", actions.frames);
}
