//! Forged, replayed and malformed frames, and floods of requests.

use super::network::*;
use crate::wire::{Control, Kind, MacAddr};
use clearway_units::Span;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const EVIL: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x66]);

/// A network with a flow from 0 to 1 that runs, and the last credit of that flow.
fn running() -> (Net, Control) {
    let mut net = Net::of(3, "expresspass", Way::GOOD);
    net.open(0, 1, 1000, u64::MAX);
    net.run_for(ms(100));
    let last = net.nodes[1].left.iter().rev().find(|(_, control)| control.kind == Kind::Credit).unwrap().1;
    (net, last)
}

#[test]
fn forged_credits_are_refused_with_the_reason_and_release_nothing() {
    let (mut net, credit) = running();
    let next = Control { number: credit.number + 50, ..credit };
    let other_flow = Control { flow: key(0, 1, 1001), ..next };
    let port = Control { flow: key(0, 1, 999), ..next };
    let used = net.metric(0, "credits_used_total", "");
    for (control, from, to, reason) in [
        (Control { cookie: next.cookie ^ 1, ..next }, mac(1), mac(0), "cookie"),
        (next, EVIL, mac(0), "address"),
        (next, mac(1), EVIL, "not_ours"),
        (next, mac(0), mac(0), "not_ours"),
        (other_flow, mac(1), mac(0), "unknown_flow"),
        (port, mac(1), mac(0), "unknown_flow"),
        (Control { session: 9, ..next }, mac(1), mac(0), "session"),
        (Control { session: 0, ..next }, mac(1), mac(0), "session"),
        (Control { number: credit.number - 10, ..next }, mac(1), mac(0), "replayed"),
        (Control { kind: Kind::Cnp, ..next }, mac(1), mac(0), "kind"),
        (Control { kind: Kind::Accept, session: 7, ..next }, mac(1), mac(0), "session"),
        (Control { kind: Kind::Stopped, session: 7, ..next }, mac(1), mac(0), "session"),
    ] {
        let before = net.metric(0, "refused_total", reason);
        net.inject(0, &control.to_frame(from, to));
        assert_eq!(net.metric(0, "refused_total", reason), before + 1.0, "{reason}: {control:?}");
    }
    assert_eq!(net.metric(0, "credits_used_total", ""), used);
}

#[test]
fn malformed_frames_are_counted() {
    let (mut net, credit) = running();
    let frame = credit.to_frame(mac(1), mac(0));
    for (at, byte, reason) in [(12, 0, "other_type"), (14, 77, "version"), (15, 77, "kind")] {
        let mut frame = frame;
        frame[at] = byte;
        net.inject(0, &frame);
        assert_eq!(net.metric(0, "refused_total", reason), 1.0, "{reason}");
    }
    for len in 0..60 {
        net.inject(0, &frame[..len]);
    }
    assert_eq!(net.metric(0, "refused_total", "truncated"), 60.0);
}

#[test]
fn requests_and_stops_of_strangers_do_not_touch_a_flow() {
    let (mut net, credit) = running();
    for (kind, cookie, from, reason) in [
        (Kind::Request, credit.cookie ^ 1, mac(0), "cookie"),
        (Kind::Request, credit.cookie, EVIL, "address"),
        (Kind::Stop, credit.cookie ^ 1, mac(0), "cookie"),
        (Kind::Stop, credit.cookie, EVIL, "address"),
    ] {
        let before = net.metric(1, "refused_total", reason);
        let control = Control { kind, cookie, session: credit.session + 1, ..credit };
        net.inject(1, &control.to_frame(from, mac(1)));
        assert_eq!(net.metric(1, "refused_total", reason), before + 1.0, "{kind:?} {reason}");
    }
    net.nodes[1].arrived.clear();
    net.run_for(ms(100));
    assert!(net.nodes[1].arrived.len() > 700, "{}", net.nodes[1].arrived.len());
}

#[test]
fn data_that_names_a_credit_that_is_not_open_is_refused() {
    let (mut net, _) = running();
    let mut data = segment(key(0, 1, 1000), ACK, 1448);
    data.dscp = crate::wire::SCHEDULED;
    for id in (0..60_000).step_by(1000).map(|id: u32| id as u16) {
        data.id = id.wrapping_add(20_000);
        net.cross(0, 1, data);
    }
    data.flow = key(0, 1, 77);
    net.cross(0, 1, data);
    net.run_for(ms(1));
    assert!(net.metric(1, "refused_total", "credit_number") >= 58.0);
    assert_eq!(net.metric(1, "refused_total", "unknown_flow"), 1.0);
}

#[test]
fn credits_to_a_host_that_sends_no_data_stop_within_some_tens_of_milliseconds() {
    let mut net = Net::of(2, "naive-credit", Way::GOOD);
    net.inject(1, &request(0, 1, 1000, 5).to_frame(mac(0), mac(1)));
    net.run_for(ms(200));
    let credits: Vec<u64> = net.nodes[1]
        .left
        .iter()
        .filter(|(_, control)| control.kind == Kind::Credit)
        .map(|(at, _)| at.as_ps() / 1_000_000)
        .collect();
    assert_eq!(credits.len(), 76, "those of 4 round trips of 410 us, and 64");
    assert!(*credits.last().unwrap() < 20_000);
    assert_eq!(net.metric(1, "cut_off_total", ""), 1.0);
    assert_eq!(net.metric(1, "flows_received", "stopped"), 1.0);
}

#[test]
fn a_flood_of_requests_leaves_the_others_their_rate() {
    let (mut net, _) = running();
    net.nodes[1].arrived.clear();
    for port in 0..20_000u16 {
        net.inject(1, &request(2, 1, port, 5).to_frame(mac(2), mac(1)));
        net.run_for(us(50));
    }
    let arrived = net.nodes[1].arrived.len();
    assert!(arrived > 7706 / 2, "half of the link is the fair share of one host of two: {arrived}");
    let refused = net.metric(1, "refused_total", "flood") + net.metric(1, "refused_total", "peer_flow_limit");
    assert!(refused > 19_000.0, "{refused}");
    assert!(net.host(1).receivers.len() <= 4097);
}

#[test]
fn a_flood_from_many_addresses_is_bounded_and_forgotten() {
    let addresses: [fn(u32) -> IpAddr; 2] = [
        |at| Ipv4Addr::from(0x0b00_0000 + at).into(),
        |at| Ipv6Addr::new(0xfd00, 7, 7, 7, 7, 7, 7, at as u16).into(),
    ];
    for (address, is_ipv6) in addresses.into_iter().zip([false, true]) {
        let of_family = |flow| if is_ipv6 { over_ipv6(flow) } else { flow };
        let mut config = config(1, "expresspass");
        config.params.flows_max = 1000;
        config.params.age = Span::from_secs(1);
        let sender = crate::host::Host::new(super::network::config(0, "expresspass"), 1).unwrap();
        let hosts = vec![Some(sender), Some(crate::host::Host::new(config, 2).unwrap())];
        let mut net = Net::new(hosts, Way::GOOD, 1);
        net.open_flow(of_family(key(0, 1, 1000)), u64::MAX);
        net.run_for(ms(100));
        for at in 0..5000 {
            let mut control = request(0, 1, 1, 5);
            control.flow = of_family(control.flow);
            control.flow.source = address(at);
            net.inject(1, &control.to_frame(mac(0), mac(1)));
            net.run_for(us(20));
        }
        assert!(net.host(1).receivers.len() <= 1000);
        assert!(net.metric(1, "refused_total", "flow_limit") > 3900.0);
        net.run_for(Span::from_secs(3));
        assert_eq!(net.host(1).receivers.len(), 1, "only the flow with data is left");
        net.nodes[1].arrived.clear();
        net.run_for(ms(200));
        assert!(net.nodes[1].arrived.len() > 1400, "{}", net.nodes[1].arrived.len());
    }
}

#[test]
fn a_host_whose_address_we_know_cannot_be_impersonated_from_another_nic() {
    let mut net = Net::of(2, "expresspass", Way::GOOD);
    net.cross(1, 0, segment(key(1, 0, 9), SYN, 0));
    net.inject(1, &request(0, 1, 1000, 5).to_frame(EVIL, mac(1)));
    assert_eq!(net.metric(1, "refused_total", "address"), 1.0);
    assert_eq!(net.host(1).receivers.len(), 0);
}
