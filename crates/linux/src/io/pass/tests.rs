//! The daemon's side of the table, with the program of the kernel played by a function.

use super::hash::words;
use super::*;
use crate::wire::{Dscp, Ecn, FlowKey, TcpFlags};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

const SMALL: u32 = 769;

fn pass() -> Pass {
    let pass = Pass::over(Shared::anonymous(), None);
    pass.shared.table().small.store(SMALL, Relaxed);
    pass
}

fn host(number: u32) -> IpAddr {
    Ipv4Addr::from(0x0a00_0000 + number).into()
}

fn segment(to: IpAddr, port: u16) -> Segment {
    let source = if to.is_ipv4() { host(0) } else { Ipv6Addr::LOCALHOST.into() };
    Segment {
        flow: FlowKey { source, destination: to, source_port: port, destination_port: 80 },
        payload: 46,
        ip_len: 86,
        id: 0,
        has_place: true,
        dscp: Dscp(0),
        ecn: Ecn::NotCapable,
        flags: TcpFlags(16),
        ecn_echo: false,
        seq: 1,
        ack: 1,
        window: 500,
        timestamps: None,
    }
}

/// Does what the program does with a data packet of so many bytes on the wire: lets it pass, or counts it.
fn meets(pass: &Pass, segment: &Segment, wire: u32) -> bool {
    let (table, to) = (pass.shared.table(), segment.flow.destination);
    let flows = &table.flows[usize::from(flow_place(segment))];
    let version = if to.is_ipv4() { 4 } else { 6 };
    let is_of = |place: &&HostPlace| {
        let address = place.address.iter().map(|word| word.load(Relaxed));
        place.version.load(Relaxed) == version && address.eq(words(to))
    };
    let place = (0..PROBES).map(|step| &table.hosts[(first_place(to) + step) % HOSTS]).find(is_of);
    let passes = wire <= table.small.load(Relaxed)
        && flows.held.load(Relaxed) == flows.left.load(Relaxed)
        && place.is_some_and(|place| place.allowance.load(Relaxed) >= i64::from(wire));
    match place.filter(|_| passes) {
        None => {
            flows.held.fetch_add(1, Relaxed);
        }
        Some(place) => {
            place.allowance.fetch_sub(wire.into(), Relaxed);
            place.packets.fetch_add(1, Relaxed);
            place.payload.fetch_add(segment.payload.into(), Relaxed);
            place.wire.fetch_add(wire.into(), Relaxed);
            table.spent.fetch_add(1, Relaxed);
        }
    }
    passes
}

fn tally(pass: &mut Pass) -> Vec<Passed> {
    let mut all = Vec::new();
    pass.tally(|passed| all.push(passed));
    all
}

#[test]
fn packets_pass_for_the_allowance_of_their_host_and_are_told_of_once() {
    let mut pass = pass();
    let (one, two) = (segment(host(1), 1), segment(host(2), 1));
    assert!(!meets(&pass, &one, 124), "no host has an allowance");
    let six = segment(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).into(), 1);
    pass.allow(host(2), 300);
    pass.allow(six.flow.destination, 150);
    assert_eq!([124; 3].map(|wire| meets(&pass, &two, wire)), [true, true, false]);
    assert!(meets(&pass, &six, 144));
    let four = Passed { to: host(2), packets: 2, payload: 92, wire: 248, added: 0 };
    let six = Passed { to: six.flow.destination, packets: 1, payload: 46, wire: 144, added: 0 };
    assert_eq!(tally(&mut pass), [four, six]);
    assert_eq!(tally(&mut pass), []);
}

#[test]
fn an_allowance_counts_from_the_last_tally_so_that_what_left_since_is_a_part_of_it() {
    let mut pass = pass();
    let segment = segment(host(1), 1);
    pass.allow(host(1), 500);
    assert!(meets(&pass, &segment, 200));
    // The host doesn't know yet that 200 bytes are gone.
    pass.allow(host(1), 600);
    let allowance = |pass: &Pass| pass.shared.table().hosts[pass.hosts[&host(1)].at].allowance.load(Relaxed);
    assert_eq!(allowance(&pass), 400);
    tally(&mut pass);
    pass.allow(host(1), 0);
    assert_eq!(allowance(&pass), 0);
}

#[test]
fn no_packet_overtakes_one_of_its_flow_that_is_held_until_that_has_left() {
    let mut pass = pass();
    let (one, other) = (segment(host(1), 1), segment(host(1), 2));
    pass.allow(host(1), 10_000);
    assert!(!meets(&pass, &one, SMALL + 1), "a large packet is held");
    assert!(!meets(&pass, &one, 100) && meets(&pass, &other, 100), "another flow may pass");
    pass.on_held(HeldId(1), &one);
    pass.on_held(HeldId(2), &one);
    pass.on_verdict(HeldId(1));
    pass.on_verdict(HeldId(2));
    assert!(!meets(&pass, &one, 100), "the kernel has no verdict yet");
    pass.on_held(HeldId(3), &one);
    pass.on_left();
    assert!(!meets(&pass, &one, 100), "one more is held");
    pass.on_held(HeldId(4), &one);
    pass.on_verdict(HeldId(3));
    pass.on_verdict(HeldId(4));
    pass.on_left();
    assert!(meets(&pass, &one, 100));
}

#[test]
fn packets_that_never_came_are_given_up_at_the_second_look_unless_others_came_between() {
    let mut pass = pass();
    let lost = segment(host(1), 1);
    pass.allow(host(1), 10_000);
    assert!(!meets(&pass, &lost, 1_000), "the queue was full, so nobody hears of it");
    pass.look();
    assert!(!meets(&pass, &lost, 100), "it may be on its way, and so may this one");
    pass.look();
    assert!(!meets(&pass, &lost, 100));
    pass.look();
    pass.look();
    assert!(meets(&pass, &lost, 100));
    // What is held here is not astray, however long it takes.
    assert!(!meets(&pass, &lost, 1_000));
    pass.on_held(HeldId(1), &lost);
    (0..5).for_each(|_| pass.look());
    assert!(!meets(&pass, &lost, 100));
}

#[test]
fn a_host_takes_the_place_of_one_that_has_nothing_to_spend_and_none_where_all_have() {
    let mut pass = pass();
    // Hosts whose first place is the same one.
    let mut same = (1..).map(host).filter(|to| first_place(*to) == first_place(host(1)));
    let hosts: Vec<IpAddr> = same.by_ref().take(PROBES + 1).collect();
    hosts[..PROBES].iter().for_each(|to| pass.allow(*to, 200));
    let last = segment(hosts[PROBES], 1);
    pass.allow(hosts[PROBES], 200);
    assert!(!meets(&pass, &last, 100), "there is no place");
    pass.allow(hosts[2], 0);
    pass.allow(hosts[PROBES], 200);
    pass.look();
    pass.look();
    assert!(meets(&pass, &last, 100));
    assert!(!meets(&pass, &segment(hosts[2], 7), 100) && meets(&pass, &segment(hosts[1], 8), 100));
    assert_eq!(tally(&mut pass).len(), 2);
}

#[test]
fn a_host_that_gets_the_place_of_another_one_takes_no_credits_there_before_it_is_told_to() {
    let mut pass = pass();
    let mut same = (1..).map(host).filter(|to| first_place(*to) == first_place(host(1)));
    let hosts: Vec<IpAddr> = same.by_ref().take(PROBES + 1).collect();
    hosts[..PROBES].iter().for_each(|to| pass.order(&[Order::Take(*to)], 0));
    let takes = |pass: &Pass, to: &IpAddr| {
        pass.hosts.get(to).map(|place| pass.shared.table().hosts[place.at].takes.load(Relaxed))
    };
    assert_eq!([0, 1, 2, 3].map(|at| takes(&pass, &hosts[at])), [Some(1); 4]);
    let last = hosts[PROBES];
    pass.allow(last, 200);
    assert_eq!(takes(&pass, &last), Some(0));
    pass.order(&[Order::Take(last)], 0);
    assert_eq!(takes(&pass, &last), Some(1));
    pass.order(&[Order::Leave(last)], 0);
    assert_eq!(takes(&pass, &last), Some(0));
}

proptest! {
    #[test]
    fn what_passes_is_never_more_than_was_allowed_and_tallies_tell_all_of_it(
        steps in prop::collection::vec((0u32..8, 0u32..3, 84u32..1_538), 1..300),
    ) {
        let mut pass = pass();
        let (mut spent, mut told, mut given) = ([0i64; 8], [0i64; 8], [0i64; 8]);
        for (to, what, wire) in steps {
            let at = to as usize;
            match what {
                0 => {
                    for passed in tally(&mut pass) {
                        let to = (0..8).find(|number| host(*number) == passed.to).unwrap() as usize;
                        told[to] += passed.wire as i64;
                    }
                }
                1 => {
                    // The host's account is what it has been told of.
                    given[at] = given[at].max(told[at] + i64::from(wire));
                    pass.allow(host(to), wire.into());
                }
                _ => spent[at] += i64::from(wire) * i64::from(meets(&pass, &segment(host(to), 1), wire)),
            }
            prop_assert!(spent[at] <= given[at], "{} of {}", spent[at], given[at]);
        }
        for passed in tally(&mut pass) {
            let to = (0..8).find(|number| host(*number) == passed.to).unwrap() as usize;
            told[to] += passed.wire as i64;
        }
        prop_assert_eq!(told, spent);
    }
}
