//! Bulk data that leaves in the kernel, for credits that the daemon does not see.

use super::network::*;
use crate::datapath::{Actions, Bulk, Datapath, Order, Released};
use crate::host::Host;
use crate::host::bulk::keep;
use crate::wire::{Control, FlowKey, Kind};
use clearway_units::{Rate, Span, Time};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// The programs in the kernel and their table, as the driver keeps it.
#[derive(Default)]
pub struct Bulks {
    flows: BTreeMap<FlowKey, Flow>,
    ended: Vec<Released>,
    /// The flows that were handed over, and taken back.
    pub begun: usize,
    pub taken_back: usize,
    /// The most credits that a flow kept.
    most: usize,
    /// True if the driver can't hand flows over.
    is_unable: bool,
    /// How often TCP must be told of the credits that are kept before it hears of them.
    deaf: u32,
    /// The questions about sockets.
    asked: u32,
    /// The credits that were taken for small packets.
    pub small: u32,
}

/// A flow that the kernel has.
struct Flow {
    bulk: Bulk,
    numbers: VecDeque<u64>,
    told: Released,
}

fn nothing(flow: FlowKey) -> Released {
    let (credits, packets, payload, wire, replayed, kept) = (0, 0, 0, 0, 0, 0);
    Released {
        flow,
        credits,
        packets,
        payload,
        wire,
        replayed,
        kept,
        last: Time::ZERO,
        highest: 0,
        used: 0,
        unsent: None,
    }
}

impl Bulks {
    /// Does what a host asks for, where `left` tells the packets in the socket of a flow. Returns the flows of which TCP was told.
    pub fn order(&mut self, actions: &Actions, left: impl Fn(&FlowKey) -> u64) -> Vec<FlowKey> {
        let mut told = Vec::new();
        for order in actions.orders.iter().filter(|_| !self.is_unable) {
            match order {
                // As long as the kernel has it.
                Order::Begin(bulk) if self.flows.contains_key(&bulk.flow) => {}
                Order::Begin(bulk) => {
                    self.begun += 1;
                    let flow = Flow { bulk: *bulk, numbers: VecDeque::new(), told: nothing(bulk.flow) };
                    self.flows.insert(bulk.flow, flow);
                }
                Order::End(flow) => {
                    self.taken_back += 1;
                    let Some(flow) = self.flows.remove(flow) else { continue };
                    self.ended.push(Released { kept: flow.numbers.len() as u32, ..flow.told });
                }
                Order::Ask(key) => {
                    self.asked += 1;
                    let Some(flow) = self.flows.get(key) else { continue };
                    let kept = flow.numbers.len() as u32;
                    let waits = if self.deaf > 0 { left(key).min(9) as u32 } else { 0 };
                    self.ended.push(Released { kept, unsent: Some(waits), ..nothing(*key) });
                    if waits > 0 {
                        self.deaf -= 1;
                        told.push(*key);
                    }
                }
                // These are the table of hosts'.
                Order::Take(_) | Order::Leave(_) => {}
            }
        }
        told
    }

    /// Returns true if the bulk data of a flow leaves in the kernel.
    pub fn is_on(&self, flow: &FlowKey) -> bool {
        self.flows.get(flow).is_some_and(|flow| !flow.bulk.is_small)
    }

    /// Takes a credit, if a flow of the kernel may have it. `holds` says that a packet of its flow is held, and `add` adds a credit of a
    /// flow of small packets to what these may spend.
    pub fn take(&mut self, credit: &Control, holds: bool, add: impl FnOnce() -> bool, now: Time) -> bool {
        let Some(flow) = self.flows.get_mut(&credit.flow) else { return false };
        let is_of = (flow.bulk.session, flow.bulk.cookie) == (credit.session, credit.cookie);
        if !is_of || holds || flow.numbers.len() >= flow.bulk.keep as usize || flow.bulk.is_small && !add() {
            return false;
        }
        let told = &mut flow.told;
        let step = credit.number.saturating_sub(told.highest);
        let age = told.highest.saturating_sub(credit.number);
        told.used = if step < 64 { told.used << step } else { 0 } | 1 << age.min(63);
        (told.highest, told.last) = (told.highest.max(credit.number), now);
        told.credits += 1;
        if flow.bulk.is_small {
            self.small += 1;
            return true;
        }
        flow.numbers.push_back(credit.number);
        self.most = self.most.max(flow.numbers.len());
        true
    }

    /// Spends a credit of a flow for a packet, unless TCP may send none. Returns its number.
    pub fn spend(&mut self, flow: &FlowKey, is_full: bool) -> Option<u16> {
        let flow = self.flows.get_mut(flow).filter(|_| !is_full && self.deaf == 0)?;
        let number = flow.numbers.pop_front()?;
        flow.told.packets += 1;
        flow.told.payload += 1448;
        flow.told.wire += 1538;
        Some(number as u16)
    }

    /// Returns what flows did since the last tally.
    pub fn tally(&mut self) -> Vec<Released> {
        let mut all = std::mem::take(&mut self.ended);
        for flow in self.flows.values_mut().filter(|flow| flow.told.credits + flow.told.packets > 0) {
            let kept = flow.numbers.len() as u32;
            all.push(Released { kept, ..flow.told });
            let (highest, used, last) = (flow.told.highest, flow.told.used, flow.told.last);
            flow.told = Released { highest, used, last, ..nothing(flow.bulk.flow) };
        }
        all
    }
}

fn net() -> Net {
    let host = |node| {
        let mut config = config(node, "expresspass");
        (config.kernel_path, config.bulk_path) = (true, true);
        Some(Host::new(config, 7 + node as u64).unwrap())
    };
    Net::new((0..2).map(host).collect(), Way::GOOD, 1)
}

/// Packets for ever.
const MANY: u64 = 1 << 40;

#[test]
fn after_a_few_credits_bulk_data_leaves_in_the_kernel_at_the_rate_of_the_link_and_the_daemon_sees_none_of_it()
{
    let mut net = net();
    net.open(0, 1, 1000, MANY);
    net.run_for(ms(500));
    assert_eq!((net.nodes[0].bulks.begun, net.nodes[0].bulks.taken_back), (1, 0));
    let (held, sent) = (net.nodes[0].held_so_far(), net.nodes[0].sources[0].sent);
    assert!(held < 64, "{held} packets were held");
    net.run_for(ms(1_000));
    assert_eq!(net.nodes[0].held_so_far(), held);
    let packets = net.nodes[0].sources[0].sent - sent;
    assert!((7_500..7_750).contains(&packets), "{packets} packets in a second");
    assert_eq!(net.frames(0, Kind::Request), 1, "the session goes on");
    net.inject(0, &[]);
    let counted = net.metric(0, "released_packets_total", "");
    assert!(counted > 11_000.0 && counted <= net.metric(0, "credits_used_total", ""));
    let (sent, received) =
        (net.metric(1, "credits_sent_total", ""), net.metric(0, "credits_received_total", ""));
    assert!(sent - received < 16.0, "{received} of {sent} credits");
    assert_eq!(net.metric(1, "data_received_total", ""), net.nodes[1].arrived.len() as f64);
}

#[test]
fn a_flow_without_data_stops_its_credits_within_milliseconds_and_is_taken_back() {
    let mut net = net();
    net.open(0, 1, 1000, 3_000);
    net.run_for(ms(1_000));
    assert_eq!(net.nodes[1].arrived.len(), 3_000);
    assert_eq!((net.nodes[0].bulks.begun, net.nodes[0].bulks.taken_back), (1, 1));
    assert_eq!((net.frames(0, Kind::Stop), net.metric(1, "flows_received", "credited")), (1, 0.0));
    let wasted = net.metric(0, "credits_wasted_total", "");
    assert!(wasted < 50.0, "{wasted}");
    // What the kernel kept is left over for small packets, up to the bound.
    net.nodes[0].sources[0].left = 0;
    net.hold(0, 0, ACK, 100);
    assert!(net.nodes[0].held.is_empty());
}

#[test]
fn a_session_goes_on_while_the_window_of_tcp_keeps_bytes_in_the_socket_and_tcp_hears_of_the_credits() {
    let mut net = net();
    net.open(0, 1, 1000, MANY);
    net.run_for(ms(200));
    for deaf in 1..=3 {
        let asked = net.nodes[0].bulks.asked;
        net.nodes[0].bulks.deaf = deaf;
        let sent = net.nodes[0].sources[0].sent;
        net.run_for(ms(50));
        assert_eq!((net.nodes[0].bulks.deaf, net.nodes[0].bulks.asked - asked), (0, deaf));
        assert_eq!(net.nodes[0].bulks.taken_back, 0);
        assert!(net.nodes[0].sources[0].sent > sent + 250, "TCP stood still for a few milliseconds");
    }
    assert_eq!((net.frames(0, Kind::Request), net.frames(0, Kind::Stop)), (1, 0));
}

#[test]
fn an_idle_socket_stops_its_credits_as_soon_as_tcp_says_that_it_is_empty() {
    let mut net = net();
    net.open(0, 1, 1000, 3_000);
    while net.nodes[1].arrived.len() < 3_000 {
        net.run_for(us(100));
    }
    let last = net.now;
    while net.frames(0, Kind::Stop) == 0 {
        net.run_for(us(100));
    }
    // The idle time, and the next input by which the daemon hears of the answer.
    assert!(net.now - last < ms(3), "{}", net.now - last);
    assert_eq!((net.nodes[0].bulks.asked, net.frames(0, Kind::Stop)), (1, 1));
    let wasted = net.metric(0, "credits_wasted_total", "");
    // Those of the idle time of 2 ms, those on their way, and those that were kept.
    assert!(wasted < 30.0, "{wasted}");
}

#[test]
fn a_window_that_stays_closed_whatever_tcp_is_told_ends_the_session_before_the_receiver_does() {
    let mut net = net();
    net.open(0, 1, 1000, MANY);
    net.run_for(ms(200));
    net.nodes[0].bulks.deaf = u32::MAX;
    let took = (1..30).find(|_| {
        net.run_for(ms(1));
        net.nodes[0].bulks.taken_back == 1
    });
    assert!(took.is_some_and(|took| (10..=14).contains(&took)), "{took:?} ms");
    assert_eq!((net.frames(0, Kind::Stop), net.metric(1, "cut_off_total", "")), (1, 0.0));
}

#[test]
fn data_after_an_idle_time_asks_for_credits_and_leaves_in_the_kernel_again() {
    let mut net = net();
    let at = net.open(0, 1, 1000, 1_000);
    for round in 1..=5 {
        net.run_for(ms(400));
        assert_eq!(net.nodes[1].arrived.len(), round * 1_000);
        assert_eq!(net.nodes[0].bulks.taken_back, round);
        net.nodes[0].sources[at].left = 1_000;
        net.fill(0, at);
    }
    assert!(net.nodes[0].longest_hold < ms(20), "{}", net.nodes[0].longest_hold);
}

#[test]
fn a_few_packets_now_and_then_never_leave_the_daemon() {
    let mut net = net();
    let at = net.open(0, 1, 1000, 0);
    for _ in 0..50 {
        net.nodes[0].sources[at].left = 8;
        net.fill(0, at);
        net.run_for(ms(20));
    }
    assert_eq!((net.nodes[0].bulks.begun, net.nodes[1].arrived.len()), (0, 400));
}

#[test]
fn a_receiver_that_falls_silent_is_asked_anew_although_the_daemon_knows_of_no_data_that_waits() {
    let mut net = net();
    net.open(0, 1, 1000, MANY);
    net.run_for(ms(200));
    net.way.loss = 1.0;
    net.run_for(ms(70));
    assert_eq!(net.metric(0, "silences_total", ""), 1.0);
    assert_eq!(net.nodes[0].bulks.taken_back, 1, "TCP sees its window again");
    net.run_for(ms(400));
    assert_eq!(net.metric(0, "plain_flows_total", "silent"), 1.0);
    net.way.loss = 0.0;
    net.run_for(ms(2_000));
    assert!(net.nodes[0].bulks.begun >= 2, "credits flow again");
}

#[test]
fn packets_that_are_held_leave_before_the_kernel_takes_another_credit() {
    let mut net = net();
    let at = net.open(0, 1, 1000, MANY);
    net.run_for(ms(200));
    net.inject(0, &[]);
    let released = net.metric(0, "released_packets_total", "");
    // TCP repeats a packet, for which no credit is left.
    net.hold(0, at, ACK, 1448);
    let held = net.nodes[0].held.len();
    assert_eq!(held, 1);
    net.run_for(ms(1));
    assert!(net.nodes[0].held.is_empty(), "the next credit was its own");
    net.run_for(ms(50));
    net.inject(0, &[]);
    assert!(net.metric(0, "released_packets_total", "") > released + 300.0);
    assert_eq!(net.nodes[0].bulks.taken_back, 0);
}

#[test]
fn a_flow_that_ends_or_a_nic_that_goes_down_takes_the_flow_back() {
    for ends in [true, false] {
        let mut net = net();
        let at = net.open(0, 1, 1000, MANY);
        net.run_for(ms(200));
        assert!(net.nodes[0].bulks.is_on(&key(0, 1, 1000)));
        if ends {
            net.nodes[0].sources[at].left = 0;
            net.hold(0, at, ACK | FIN, 0);
        } else {
            net.input(0, |host, now, actions| host.release_all(now, actions));
        }
        assert!(!net.nodes[0].bulks.is_on(&key(0, 1, 1000)));
    }
}

#[test]
fn a_flow_that_is_forgotten_is_taken_back() {
    let mut net = net();
    net.open(0, 1, 1000, MANY);
    net.run_for(ms(200));
    // The kernel keeps a credit, none comes any more, and TCP has no data.
    net.nodes[0].sources[0].left = 0;
    net.nodes[1].host = None;
    let released = Released { kept: 1, credits: 1, ..nothing(key(0, 1, 1000)) };
    net.input(0, |host, now, actions| {
        host.handle_released(&Released { last: now, ..released }, now, actions);
    });
    net.run_for(Span::from_secs(70));
    assert!(!net.nodes[0].bulks.is_on(&key(0, 1, 1000)));
    assert_eq!(net.host(0).senders.len(), 0);
}

#[test]
fn a_driver_that_cannot_hand_a_flow_over_leaves_it_as_it_was() {
    let mut net = net();
    net.nodes[0].bulks.is_unable = true;
    let at = net.open(0, 1, 1000, 3_000);
    net.run_for(ms(1_000));
    assert_eq!(net.nodes[1].arrived.len(), 3_000);
    assert_eq!(net.frames(0, Kind::Stop), 1, "and credits stop as before");
    net.nodes[0].sources[at].left = 3_000;
    net.fill(0, at);
    net.run_for(ms(1_000));
    assert_eq!(net.nodes[1].arrived.len(), 6_000);
}

#[test]
fn a_credit_that_the_kernel_took_is_refused_if_it_comes_again_after_the_flow_was_taken_back() {
    let mut net = net();
    net.open(0, 1, 1000, 3_000);
    net.run_for(ms(350));
    assert!(net.nodes[0].bulks.is_on(&key(0, 1, 1000)));
    let left = &net.nodes[1].left;
    let credits: Vec<Control> =
        left.iter().map(|(_, control)| *control).filter(|control| control.kind == Kind::Credit).collect();
    let old = credits[credits.len() - 10];
    net.input(0, |host, now, actions| host.release_all(now, actions));
    net.inject(0, &[]);
    let before = net.metric(0, "refused_total", "replayed") + net.metric(0, "refused_total", "session");
    net.inject(0, &old.to_frame(mac(1), mac(0)));
    let after = net.metric(0, "refused_total", "replayed") + net.metric(0, "refused_total", "session");
    assert_eq!(after, before + 1.0);
}

/// Spends all that is left over for the other host, hands the first host what a flow did, and returns what is left over then.
fn left_over(net: &mut Net, released: Released) -> i64 {
    while net.nodes[0].kernel.pass(address(1), 10, 84) {}
    net.inject(0, &[]);
    let before = net.nodes[0].kernel.allowance(1);
    net.input(0, |host, now, actions| {
        host.handle_released(&Released { last: now, ..released }, now, actions)
    });
    net.nodes[0].kernel.allowance(1) - before
}

#[test]
fn what_packets_in_the_kernel_do_not_use_of_their_credits_is_left_over_for_small_packets() {
    let mut net = net();
    net.open(0, 1, 1000, MANY);
    net.run_for(ms(200));
    let released =
        Released { credits: 2, packets: 2, payload: 2_000, wire: 2_200, ..nothing(key(0, 1, 1000)) };
    assert_eq!(left_over(&mut net, released), 2 * 1538 - 2_200);
    assert_eq!(left_over(&mut net, Released { wire: 2 * 1538, ..released }), 0);
}

#[test]
fn credits_that_a_flow_kept_until_it_was_taken_back_are_left_over_and_count_as_wasted() {
    let mut net = net();
    net.open(0, 1, 1000, MANY);
    net.run_for(ms(200));
    net.input(0, |host, now, actions| host.release_all(now, actions));
    net.inject(0, &[]);
    let before = net.metric(0, "credits_wasted_total", "");
    let released = Released { kept: 2, ..nothing(key(0, 1, 1000)) };
    assert_eq!(left_over(&mut net, released), 2 * 1538);
    assert_eq!(net.metric(0, "credits_wasted_total", ""), before + 2.0);
}

#[test]
fn the_kernel_keeps_four_credits_of_what_may_be_left_over_and_those_of_100_us() {
    let kept = |rate: Rate, leftover: u32| {
        let mut config = config(0, "expresspass");
        (config.rate, config.params.leftover) = (rate, leftover);
        keep(&Host::new(config, 1).unwrap().send)
    };
    assert_eq!(kept(Rate::mbps(100), 6152), 4 + 1);
    assert_eq!(kept(Rate::mbps(1_000), 6152), 4 + 9);
    assert_eq!(kept(Rate::mbps(100), 12304), 4 + 1, "of what is left over, four frames");
    assert_eq!(kept(Rate::mbps(1), 0), 1, "one at least");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn packets_that_name_a_credit_are_never_more_than_credits_and_none_is_held_for_long(
        loss in 0.0f64..0.2,
        late in 0.0f64..0.9,
        seed in any::<u64>(),
        bursts in prop::collection::vec((1u64..400, 0u64..60_000), 1..12),
    ) {
        let mut net = net();
        net.way = Way { loss, spread: us(30), ..Way::GOOD };
        net.tally_late = late;
        net.nodes[0].host = Some(Host::new(
            { let mut config = config(0, "expresspass"); (config.kernel_path, config.bulk_path) = (true, true); config },
            seed,
        ).unwrap());
        let at = net.open(0, 1, 1000, 0);
        for (packets, us) in bursts {
            net.nodes[0].sources[at].left += packets;
            net.fill(0, at);
            net.run_for(Span::from_us(us));
        }
        net.tally_late = 0.0;
        net.way.loss = 0.0;
        net.run_for(ms(3_000));
        prop_assert_eq!(net.nodes[0].sources[at].left, 0, "nothing stays in the socket");
        prop_assert!(net.nodes[0].held.is_empty());
        let (used, sent) = (net.metric(0, "credits_used_total", ""), net.metric(1, "credits_sent_total", ""));
        prop_assert!(used <= sent, "{} of {}", used, sent);
        prop_assert!(net.nodes[0].bulks.most <= 5);
    }
}
