//! Small packets that leave in the kernel, without being held.

use super::network::*;
use super::small::{net_with, open_idle};
use crate::datapath::{Actions, Datapath, Direction, Link, Order, Passed, Small};
use crate::host::Host;
use crate::host::leftover::wire;
use crate::host::sender::SendFlow;
use crate::wire::Kind;
use clearway_proto::expresspass::State;
use clearway_units::Span;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The program in the kernel and its table, as the driver keeps it.
#[derive(Default)]
pub struct Kernel {
    hosts: BTreeMap<IpAddr, Place>,
}

/// What is kept of one host.
#[derive(Clone, Copy, Default)]
struct Place {
    /// The bytes that the program may spend.
    allowance: i64,
    /// The same as the driver knows it, after the last tally.
    known: i64,
    /// What left since the last tally: packets, payload, bytes on the wire.
    passed: [u64; 3],
    /// True if credits of flows of small packets add to it here, and what they added since the last tally.
    takes: bool,
    added: u64,
}

impl Kernel {
    /// Sets the allowances that a host asks for.
    pub fn allow(&mut self, actions: &Actions) {
        for (to, bytes) in &actions.allowances {
            let place = self.hosts.entry(*to).or_default();
            place.allowance += bytes - place.known;
            place.known = *bytes;
        }
        for order in &actions.orders {
            let (to, takes) = match order {
                Order::Take(to) => (to, true),
                Order::Leave(to) => (to, false),
                _ => continue,
            };
            self.hosts.entry(*to).or_default().takes = takes;
        }
    }

    /// Adds a credit to what packets to a host may spend, up to `most` bytes. Returns false if the daemon wants it.
    pub fn add(&mut self, to: IpAddr, most: u32) -> bool {
        let Some(place) = self.hosts.get_mut(&to).filter(|place| place.takes) else { return false };
        let more = (i64::from(most) - place.allowance).clamp(0, 1538);
        place.allowance += more;
        place.added += more as u64;
        true
    }

    /// Lets a packet of so many bytes of payload and on the wire leave, if its host has an allowance for it.
    pub fn pass(&mut self, to: IpAddr, payload: u16, wire: u32) -> bool {
        let Some(place) = self.hosts.get_mut(&to) else { return false };
        let passes = place.allowance >= i64::from(wire);
        if passes {
            place.allowance -= i64::from(wire);
            let more = [1, u64::from(payload), u64::from(wire)];
            place.passed.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        passes
    }

    /// Returns what left since the last tally.
    pub fn tally(&mut self) -> Vec<Passed> {
        let left = self.hosts.iter_mut().filter(|(_, place)| place.passed[0] > 0 || place.added > 0);
        left.map(|(to, place)| {
            let [packets, payload, wire] = std::mem::take(&mut place.passed);
            let added = std::mem::take(&mut place.added);
            place.known += added as i64 - wire as i64;
            Passed { to: *to, packets, payload, wire, added }
        })
        .collect()
    }

    /// Returns the bytes that packets to a host may spend.
    pub fn allowance(&self, to: usize) -> i64 {
        self.hosts.get(&address(to)).map_or(0, |place| place.allowance)
    }
}

/// Two hosts at which so many bytes may be left over, with a path in the kernel.
fn net(leftover: u32) -> Net {
    net_with(leftover, true)
}

/// Sends a small packet each `gap` for `span`.
fn send_often(net: &mut Net, place: usize, payload: u16, gap: Span, span: Span) {
    let end = net.now + span;
    while net.now < end {
        net.hold(0, place, ACK, payload);
        net.run_for(gap);
    }
}

#[test]
fn the_kernel_may_spend_what_credits_left_over_and_nothing_while_a_packet_waits_for_that() {
    let mut net = net(1538);
    let places = open_idle(&mut net, 2);
    assert_eq!(net.nodes[0].kernel.allowance(1), 1538);
    (0..8).for_each(|_| net.hold(0, places[0], ACK, 100));
    assert_eq!(net.nodes[0].kernel.allowance(1), 1538 - 8 * 190);
    assert_eq!(net.nodes[0].held_so_far(), 0, "the kernel let them leave");
    // The ninth finds 18 bytes, and waits for a credit. What is left is its own from now on.
    net.hold(0, places[0], ACK, 100);
    assert_eq!((net.nodes[0].held.len(), net.nodes[0].kernel.allowance(1)), (1, 0));
    net.hold(0, places[1], ACK, 10);
    assert_eq!(net.nodes[0].held.len(), 2, "a later one does not overtake it by what comes in");
    net.run_for(ms(50));
    assert!(net.nodes[0].held.is_empty());
    assert_eq!(net.nodes[0].kernel.allowance(1), 1538);
    assert_eq!(net.metric(0, "passed_packets_total", ""), 8.0);
    assert_eq!(net.metric(0, "credited_bytes_total", ""), 910.0, "all of it counts as under credits");
}

#[test]
fn a_host_without_a_path_in_the_kernel_asks_for_no_allowance_and_one_without_leftover_has_none() {
    let mut held = net(0);
    open_idle(&mut held, 1);
    assert_eq!(held.nodes[0].kernel.allowance(1), 0);
    let mut plain = Net::of(2, "expresspass", Way::GOOD);
    open_idle(&mut plain, 1);
    assert!(plain.nodes[0].kernel.hosts.is_empty());
}

#[test]
fn credits_go_on_while_small_packets_leave_in_the_kernel_so_that_none_is_held() {
    let mut net = net(1538);
    let place = open_idle(&mut net, 1)[0];
    // The first packets use up what was left over, and one asks for credits.
    send_often(&mut net, place, 100, us(100), ms(20));
    let (held, asked) = (net.nodes[0].held_so_far(), net.frames(0, Kind::Request));
    send_often(&mut net, place, 100, us(100), ms(500));
    assert_eq!(net.frames(0, Kind::Request), asked, "no session ended");
    let more = net.nodes[0].held_so_far() - held;
    assert!(more <= 50, "{more} of 5,000 packets were held");
    let stops = net.frames(0, Kind::Stop);
    net.run_for(ms(20));
    assert_eq!(net.frames(0, Kind::Stop), stops + 1, "the credits end 10 ms after the last packet");
}

#[test]
fn credits_for_small_packets_are_about_as_many_as_their_bytes_need() {
    let mut net = net(6152);
    let place = open_idle(&mut net, 1)[0];
    send_often(&mut net, place, 100, us(100), ms(100));
    let before = net.metric(1, "credits_sent_total", "");
    send_often(&mut net, place, 100, us(100), ms(1_000));
    let credits = net.metric(1, "credits_sent_total", "") - before;
    // 10,000 packets of 190 bytes need 1,236 credits. A link carries 7,700, and one in each millisecond is the trickle.
    assert!((1_230.0..1_500.0).contains(&credits), "{credits}");
    assert!(net.metric(1, "credits_spared_total", "") > 100.0);
}

#[test]
fn the_kernel_takes_the_credits_of_small_packets_that_leave_there_and_the_daemon_those_for_which_one_waits() {
    let mut net = net(1538);
    let place = open_idle(&mut net, 1)[0];
    send_often(&mut net, place, 100, us(100), ms(20));
    let (taken, came) = (net.nodes[0].bulks.small, net.metric(0, "credits_received_total", ""));
    send_often(&mut net, place, 100, us(100), ms(100));
    net.inject(0, &[]);
    let taken = f64::from(net.nodes[0].bulks.small - taken);
    let came = net.metric(0, "credits_received_total", "") - came;
    assert!(taken > 100.0 && came >= taken && came - taken <= 30.0, "{taken} of {came}");
    assert!(net.metric(0, "credits_wasted_total", "") >= taken, "they found no packet");
    // A large packet waits for a credit of its own, which the kernel leaves alone.
    let taken = net.nodes[0].bulks.small;
    net.hold(0, place, ACK, 1448);
    net.run_for(ms(3));
    assert_eq!((net.nodes[0].held.len(), net.metric(0, "credits_used_total", "") > 0.0), (0, true));
    send_often(&mut net, place, 100, us(100), ms(20));
    assert!(net.nodes[0].bulks.small > taken, "and takes the next ones");
    let sessions = net.nodes[0].bulks.begun;
    net.run_for(ms(100));
    assert_eq!(
        (net.nodes[0].bulks.begun, net.nodes[0].bulks.taken_back),
        (sessions, sessions),
        "the session ended"
    );
}

#[test]
fn no_credit_adds_to_an_allowance_while_a_packet_of_another_flow_waits_in_line() {
    let mut net = net(1538);
    let places = open_idle(&mut net, 2);
    send_often(&mut net, places[0], 100, us(100), ms(20));
    net.inject(0, &[]);
    while net.nodes[0].kernel.pass(address(1), 10, 84) {}
    net.hold(0, places[1], ACK, 400);
    assert_eq!(net.nodes[0].held.len(), 1);
    let to = address(1);
    assert!(!net.nodes[0].kernel.add(to, 1538), "the daemon wants each credit");
    net.run_for(ms(20));
    assert!(net.nodes[0].held.is_empty() && net.nodes[0].kernel.add(to, 1538));
}

#[test]
fn a_packet_that_waits_leaves_for_a_credit_that_the_kernel_took_before_it_was_told_not_to() {
    let mut net = net(1538);
    let place = open_idle(&mut net, 1)[0];
    net.way.loss = 1.0;
    while net.nodes[0].kernel.pass(address(1), 10, 84) {}
    net.hold(0, place, ACK, 400);
    assert_eq!(net.nodes[0].held.len(), 1);
    let passed = Passed { to: address(1), packets: 0, payload: 0, wire: 0, added: 1538 };
    net.input(0, |host, now, actions| host.handle_passed(&passed, now, actions));
    assert!(net.nodes[0].held.is_empty());
}

#[test]
fn a_flow_of_small_packets_that_sends_bulk_data_is_handed_over_anew() {
    let mut net = net(6152);
    let mut config = config(0, "expresspass");
    (config.kernel_path, config.bulk_path, config.credit_path) = (true, true, true);
    net.nodes[0].host = Some(Host::new(config, 7).unwrap());
    let place = open_idle(&mut net, 1)[0];
    send_often(&mut net, place, 100, us(100), ms(20));
    // A credit has come just now, so that the flow does not ask anew and keeps its session.
    let small = net.nodes[0].bulks.small;
    assert!(small > 0);
    while net.nodes[0].bulks.small == small {
        send_often(&mut net, place, 100, us(100), us(100));
    }
    let (begun, asked) = (net.nodes[0].bulks.begun, net.frames(0, Kind::Request));
    net.nodes[0].sources[place].left = 2_000;
    net.fill(0, place);
    net.run_for(ms(100));
    assert_eq!(
        (net.frames(0, Kind::Request), net.nodes[0].bulks.begun),
        (asked, begun + 1),
        "in the same session"
    );
    net.run_for(ms(1_000));
    assert_eq!(net.nodes[0].sources[place].left, 0);
    assert!(net.metric(0, "released_packets_total", "") > 1_500.0, "which left in the kernel");
}

#[test]
fn of_many_flows_without_a_credit_for_2_ms_some_ask_anew_at_once_and_the_others_a_millisecond_later() {
    let mut net = net(1538);
    let places = open_idle(&mut net, 14);
    // Each has a session for a large packet, and keeps it while small ones leave.
    places.iter().for_each(|place| net.hold(0, *place, ACK, 1448));
    for _ in 0..100 {
        places.iter().for_each(|place| net.hold(0, *place, ACK, 100));
        net.run_for(us(300));
    }
    net.run_for(ms(1));
    assert!(net.nodes[0].held.is_empty());
    let states = net.host(0).senders.iter().map(|(_, flow)| flow.state());
    assert_eq!(states.filter(|state| *state == State::Receiving).count(), 14);
    net.way.loss = 1.0;
    net.run_for(ms(3));
    net.inject(0, &[]);
    while net.nodes[0].kernel.pass(address(1), 10, 84) {}
    let first =
        |flow: &&SendFlow| places[..8].iter().any(|place| key(0, 1, 1000 + *place as u16) == flow.key());
    let seldom = |net: &mut Net| -> Vec<bool> {
        let flows = net.host(0).senders.iter().map(|(_, flow)| flow).filter(|flow| flow.small.is_seldom);
        flows.map(|flow| first(&flow)).collect()
    };
    let seldom = seldom(&mut net);
    let (soon, all) = (seldom.iter().filter(|is_first| **is_first).count(), seldom.len());
    assert!(soon >= 3 && all > soon, "{seldom:?}");
    let asked = net.frames(0, Kind::Request);
    places.iter().for_each(|place| net.hold(0, *place, ACK, 400));
    assert_eq!(net.frames(0, Kind::Request) - asked, soon, "while eight or fewer wait");
    net.run_for(us(1_100));
    assert!(net.frames(0, Kind::Request) - asked >= all);
}

#[test]
fn a_large_packet_asks_anew_after_4_ms_without_a_credit_where_the_kernel_took_the_last_one() {
    let mut net = net(1538);
    let place = open_idle(&mut net, 1)[0];
    send_often(&mut net, place, 100, us(100), ms(20));
    // This packet leaves by a credit, so that credits are not seldom.
    while net.nodes[0].kernel.pass(address(1), 10, 84) {}
    net.hold(0, place, ACK, 400);
    while !net.nodes[0].held.is_empty() {
        net.run_for(us(10));
    }
    // The kernel takes the next one, of which the daemon hears.
    let (small, start) = (net.nodes[0].bulks.small, net.now);
    while net.nodes[0].bulks.small == small {
        send_often(&mut net, place, 100, us(100), us(100));
    }
    assert!(net.now < start + ms(2), "the flow's timer has not run out");
    net.inject(0, &[]);
    net.way.loss = 1.0;
    let asked = net.frames(0, Kind::Request);
    net.hold(0, place, ACK, 1448);
    net.run_for(us(3_500));
    assert_eq!(net.frames(0, Kind::Request), asked);
    net.run_for(ms(1));
    assert_eq!(net.frames(0, Kind::Request), asked + 1);
}

#[test]
fn small_packets_that_were_counted_count_as_if_each_one_had_been_seen() {
    let ends = [false, true].map(|is_counted| {
        let mut net = net(6152);
        let place = open_idle(&mut net, 1)[0];
        send_often(&mut net, place, 100, us(100), ms(20));
        let flow = net.nodes[0].sources[place].flow;
        net.nodes[0].host = None;
        for round in 1..40 {
            net.run_for(us(500));
            if is_counted {
                let small = Small { flow, packets: round, payload: 100 * round, wire: 190 * round };
                net.input(1, |host, now, actions| host.handle_small(&small, now, actions));
            } else {
                for _ in 0..round {
                    let (segment, link) = (segment(flow, ACK, 100), Link { local: mac(1), peer: mac(0) });
                    net.input(1, |host, now, actions| {
                        host.handle_segment(Direction::Incoming, &segment, link, now, actions);
                    });
                }
            }
        }
        net.metric(1, "credits_sent_total", "")
    });
    // Packets that come one by one are each a chance for a credit that is due, so a few more leave.
    assert!(ends[0] > 80.0 && (ends[0] - ends[1]).abs() <= 4.0, "{ends:?}");
}

#[test]
fn a_flow_keeps_its_session_for_50_ms_after_a_credit_while_small_packets_of_others_leave() {
    let mut net = net(6152);
    let places = open_idle(&mut net, 2);
    places.iter().for_each(|place| send_often(&mut net, *place, 100, us(100), ms(20)));
    let state = |net: &mut Net| {
        let flow = net.nodes[0].sources[places[0]].flow;
        let slot = net.host(0).senders.find(&flow).expect("it is known");
        net.host(0).senders.get(slot).expect("it is there").state()
    };
    assert_eq!(state(&mut net), State::Receiving);
    // From now on the other flow alone has credits: those of the first are lost.
    net.nodes[1].host.as_mut().expect("it runs").remove_receiver(&key(0, 1, 1000));
    send_often(&mut net, places[1], 100, us(100), ms(40));
    assert_eq!(state(&mut net), State::Receiving);
    send_often(&mut net, places[1], 100, us(100), ms(20));
    assert_ne!(state(&mut net), State::Receiving);
}

#[test]
fn flows_of_small_packets_share_the_timer_of_the_trickle() {
    let mut net = net(6152);
    let places = open_idle(&mut net, 5);
    for place in places {
        send_often(&mut net, place, 100, us(100), ms(20));
    }
    // All five get credits now, for which five timers would fire each 650 us or oftener. What they keep is not spent.
    let (before, start) = (net.metric(1, "credits_spared_total", ""), net.now);
    let mut timers = 0;
    while net.now < start + ms(5) {
        let due = net.nodes[1].host.as_ref().unwrap().next_timeout();
        timers += u32::from(due > net.now);
        net.run_for(due.saturating_since(net.now).max(us(1)).min(ms(1)));
    }
    assert!((4..=12).contains(&timers), "{timers}");
    assert!(net.metric(1, "credits_spared_total", "") - before < 60.0);
}

#[test]
fn a_host_is_patient_unless_a_packet_is_held_or_a_large_one_came_or_was_asked_for_in_the_last_5_ms() {
    let mut net = net(1538);
    let is_patient = |net: &Net, node: usize| net.nodes[node].host.as_ref().unwrap().is_patient(net.now);
    let place = open_idle(&mut net, 1)[0];
    net.run_for(ms(10));
    assert!(is_patient(&net, 0) && is_patient(&net, 1));
    // Small packets leave for what is left over, and nobody waits.
    send_often(&mut net, place, 100, us(500), ms(3));
    assert!(is_patient(&net, 0) && is_patient(&net, 1));
    net.hold(0, place, ACK, 1448);
    assert!(!is_patient(&net, 0), "it waits for its credit");
    net.run_for(ms(3));
    assert!(net.nodes[0].held.is_empty() && is_patient(&net, 0));
    assert!(!is_patient(&net, 1), "it came just now");
    net.run_for(ms(5));
    assert!(is_patient(&net, 1));
    // Without leftover each small packet spends a credit too, and the next one waits for what it tells.
    let mut net = net_with(0, false);
    let place = open_idle(&mut net, 1)[0];
    net.run_for(ms(10));
    assert!(is_patient(&net, 1));
    net.hold(0, place, ACK, 100);
    net.run_for(ms(3));
    assert!(net.nodes[0].held.is_empty() && !is_patient(&net, 1));
}

#[test]
fn a_large_packet_behind_small_ones_waits_for_a_credit_of_the_trickle_at_most() {
    let mut net = net(1538);
    let place = open_idle(&mut net, 1)[0];
    for _ in 0..20 {
        send_often(&mut net, place, 100, us(100), ms(20));
        net.hold(0, place, ACK, 1448);
        assert_eq!(net.nodes[0].held.len(), 1, "it needs a credit of its own");
        net.run_for(ms(3));
        assert!(net.nodes[0].held.is_empty());
    }
    assert!(net.nodes[0].longest_hold < ms(3), "{}", net.nodes[0].longest_hold);
}

#[test]
fn a_large_packet_asks_anew_at_once_if_no_credit_came_for_2_ms_and_else_after_4_ms_without_one() {
    // What is left over lasts for 3 ms.
    for (lost, at_once) in [(us(2_500), true), (Span::ZERO, false)] {
        let mut net = net(6152);
        let place = open_idle(&mut net, 1)[0];
        send_often(&mut net, place, 100, us(100), ms(50));
        let credits = net.metric(0, "credits_received_total", "");
        while net.metric(0, "credits_received_total", "") == credits {
            send_often(&mut net, place, 100, us(100), us(100));
        }
        net.way.loss = 1.0;
        send_often(&mut net, place, 100, us(100), lost);
        let asked = net.frames(0, Kind::Request);
        net.hold(0, place, ACK, 1448);
        assert_eq!(net.frames(0, Kind::Request) - asked, usize::from(at_once));
        net.run_for(ms(6));
        assert!(net.frames(0, Kind::Request) > asked, "it does not wait for 50 ms as bulk data does");
    }
}

#[test]
fn small_packets_without_a_credit_keep_no_flow_alive_that_never_spent_one() {
    let mut net = net(1538);
    let stranger = request(0, 1, 9, 77);
    net.nodes[0].host = None;
    net.inject(1, &stranger.encode(config(1, "expresspass").carrier, mac(0), mac(1)));
    for _ in 0..1_000 {
        net.cross(0, 1, segment(key(0, 1, 9), ACK, 100));
        net.run_for(us(100));
    }
    assert_eq!(net.metric(1, "flows_received", "credited"), 0.0);
    let first = config(1, "expresspass").first_credits();
    assert!(net.metric(1, "credits_sent_total", "") <= f64::from(first));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_more_bytes_leave_than_credits_have_paid_for_whatever_the_kernel_tells_late(
        leftover in 0u32..5_000,
        late in 0.0f64..0.9,
        steps in prop::collection::vec((0u16..6, 1u16..1_449, 0u64..3_000), 1..150),
    ) {
        let mut net = net(leftover);
        let places = open_idle(&mut net, 6);
        net.tally_late = late;
        let mut bytes = 0;
        for (flow, payload, us) in steps {
            bytes += u64::from(wire(payload + 52));
            net.hold(0, places[usize::from(flow)], ACK, payload);
            net.run_for(Span::from_us(us));
        }
        net.tally_late = 0.0;
        net.run_for(ms(100));
        prop_assert!(net.nodes[0].held.is_empty());
        let credits = net.metric(0, "credits_received_total", "");
        // What the kernel let pass and had not told of yet may be spent twice, and is made up for later.
        prop_assert!(bytes as f64 <= credits * 1538.0 + f64::from(leftover), "{} bytes for {} credits", bytes, credits);
        prop_assert!(net.nodes[0].kernel.allowance(1) <= i64::from(leftover));
        prop_assert!(net.nodes[0].longest_hold < ms(20), "{}", net.nodes[0].longest_hold);
        prop_assert_eq!(net.metric(0, "plain_packets_total", "silent"), 0.0);
    }
}
