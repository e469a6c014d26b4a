use super::*;
use crate::agent::AgentEnv;
use crate::packet::Flags;
use crate::transport::Transport;
use crate::uec::tests::{FRAMING, RTT, at, htsim};
use crate::uec::{BothParams, RcccParams, Uec, UecRccc};
use crate::{Entity, Rng};
use clearway_schema::Auto;
use clearway_units::Rate;

fn pacer(params: &RcccParams, flows: impl IntoIterator<Item = u32>) -> Pacer {
    let rng = Rng::stream(1, Entity::Agent, 0);
    let line_rate = Rate::gbps(100);
    let env = AgentEnv { line_rate, framing: FRAMING, network_rtt: RTT, oversubscription: 1.0, rng };
    let mut pacer = UecRccc::agent(params, &env).unwrap();
    flows.into_iter().for_each(|flow| pacer.begin(flow, Side::Receiver, Time::ZERO));
    pacer
}

impl Pacer {
    /// Lets a packet of a flow arrive that wants to have come to this pull.
    fn arrive(&mut self, flow: u32, target: u32) {
        let header = Header::PulledData { offset: 0, psn: 0, pull: 0, target };
        let packet = Packet::data(header, 4086, 4150, Time::ZERO);
        assert!(self.handle_incoming(flow, packet, &Extra::None, Time::ZERO).is_some());
    }

    /// Lets the acknowledgement leave that all of a flow has arrived.
    fn complete(&mut self, flow: u32) {
        let header =
            Header::PulledAck { next: 9, psn: 8, pull: 0, received: 0, from: 0, map: 0, held: 0, penalty: 0 };
        let ack = Packet::control(header, 64, Time::ZERO).with_flags(Flags::LAST);
        assert!(self.handle_outgoing(flow, ack, &Extra::None, Time::ZERO).is_some());
    }

    /// Returns the next pulls, when they leave: time in nanoseconds, flow, number, and whether it leads.
    fn pulls(&mut self, count: usize) -> Vec<(u64, u32, u32, bool)> {
        let one = |_| loop {
            let now = self.next_timeout();
            if now == Time::MAX {
                return None;
            }
            // The turn of a flow that has arrived ends without a pull.
            let Some(sent) = self.poll_transmit(now) else { continue };
            let Header::Pull { pull, leads } = sent.packet.header else { panic!("{sent:?}") };
            assert!(self.poll_transmit(now).is_none(), "one at a time");
            return Some((now.as_ps() / 1000, sent.flow, pull, leads));
        };
        (0..count).map_while(one).collect()
    }
}

#[test]
fn flows_take_turns_and_a_full_pull_takes_the_time_of_its_credit() {
    let mut pacer = pacer(&htsim(), [9, 4]);
    [4, 9].into_iter().for_each(|flow| pacer.arrive(flow, 100));
    // 16384 B at 99 Gbps take 1323.9 ns, 36 units 744.7.
    let expected = [(0, 4, 64, false), (1323, 9, 64, false), (2647, 4, 100, false), (3392, 9, 100, false)];
    assert_eq!(pacer.pulls(4), expected);
}

#[test]
fn a_flow_without_demand_is_granted_ahead_of_it_up_to_the_largest_window() {
    let mut pacer = pacer(&htsim(), [4]);
    pacer.arrive(4, 10);
    let pulls = pacer.pulls(100);
    // 262926 B are 1027 units: 17 pulls of 64 reach beyond.
    assert_eq!(pulls.len(), 1 + 17);
    assert_eq!((pulls[0].2, pulls[0].3), (10, false));
    assert!(pulls[1..].iter().zip(1..).all(|(pull, k)| (pull.2, pull.3) == (10 + 64 * k, true)));
    assert_eq!(pacer.next_timeout(), Time::MAX);
    pacer.arrive(4, 11);
    let before = pacer.next;
    let (_, _, number, leads) = pacer.pulls(1)[0];
    assert_eq!((number, leads), (10 + 64 * 17, false), "it has more than it asks for");
    assert_eq!(pacer.next - before, Span::from_ps(4 * 20_686), "four units, empty as it is");
}

#[test]
fn a_report_of_a_cut_packet_and_a_request_let_a_flow_wait_for_a_pull() {
    let mut pacer = pacer(&htsim(), [4]);
    let nack = Packet::control(Header::PulledNack { next: 0, psn: 0, pull: 0, received: 0 }, 64, Time::ZERO);
    assert!(pacer.handle_outgoing(4, nack, &Extra::None, Time::ZERO).is_some());
    assert_eq!(pacer.pulls(1), [(0, 4, 0, false)]);
    pacer.forget(4);
    assert_eq!((pacer.next_timeout(), pacer.pulls(1).len()), (Time::MAX, 0));
    pacer.begin(7, Side::Receiver, Time::ZERO);
    let request = Packet::control(Header::PullRequest { psn: 0, pull: 0, target: 0 }, 64, Time::ZERO);
    pacer.handle_incoming(7, request, &Extra::None, Time::ZERO);
    assert_eq!(pacer.pulls(1)[0].1, 7);
}

#[test]
fn uec_9_each_pull_puts_its_flow_in_turn_ahead_of_demand_once_more_or_only_the_first() {
    let waiting = |params: &RcccParams| {
        let mut pacer = pacer(params, [4]);
        let waiting = [10, 20, 30, 200].map(|target| {
            pacer.arrive(4, target);
            pacer.pulls(1);
            (pacer.active.len(), pacer.idle.len())
        });
        pacer.forget(4);
        assert_eq!(pacer.next_timeout(), Time::MAX);
        waiting
    };
    assert_eq!(waiting(&htsim()), [(0, 1), (0, 2), (0, 3), (1, 3)]);
    assert_eq!(waiting(&RcccParams::default()), [(0, 1), (0, 1), (0, 1), (1, 0)]);
}

#[test]
fn a_flow_that_has_arrived_is_pulled_no_more_whatever_comes_late() {
    let mut pacer = pacer(&RcccParams::default(), [4, 9]);
    [4, 9].into_iter().for_each(|flow| pacer.arrive(flow, 1000));
    pacer.complete(4);
    assert!(pacer.pulls(50).iter().all(|&(_, flow, ..)| flow == 9));
    pacer.forget(9);
    pacer.arrive(4, 2000);
    let request = Packet::control(Header::PullRequest { psn: 0, pull: 0, target: 3000 }, 64, Time::ZERO);
    pacer.handle_incoming(4, request, &Extra::None, Time::ZERO);
    assert_eq!(pacer.next_timeout(), Time::MAX);
}

#[test]
fn in_htsim_a_flow_that_has_arrived_takes_its_turns_to_the_end_and_no_pull_leaves() {
    let mut pacer = pacer(&htsim(), [4, 9]);
    [4, 9].into_iter().for_each(|flow| pacer.arrive(flow, 100));
    pacer.complete(4);
    pacer.forget(4);
    // A pull takes 1323.9 ns, one of the last 36 units 744.7. Each turn of flow 9 comes after one of flow 4.
    let expected = [(1323, 64), (3392, 100), (5461, 164), (8108, 228)];
    let pulls: Vec<_> = pacer.pulls(4).iter().map(|&(ns, flow, pull, _)| (ns, flow, pull)).collect();
    assert_eq!(pulls, expected.map(|(ns, pull)| (ns, 9, pull)));
    assert_eq!(pacer.flows.places(), 2);
    pacer.begin(4, Side::Receiver, Time::ZERO);
    assert_eq!(pacer.flows.places(), 3, "the turns of the flow before are not those of the new one");
    // 17 pulls of 64 units ahead of demand are the most.
    assert_eq!(pacer.pulls(100).last().map(|last| (last.1, last.2)), Some((9, 100 + 17 * 64)));
    assert_eq!(pacer.next_timeout(), Time::MAX);
    pacer.begin(5, Side::Receiver, Time::ZERO);
    assert_eq!(pacer.flows.places(), 3, "its place is free again");
}

#[test]
fn acknowledgements_tell_the_last_pull_or_do_not() {
    let told = |params: &RcccParams| {
        let mut pacer = pacer(params, [4]);
        pacer.arrive(4, 10);
        pacer.pulls(1);
        let header =
            Header::PulledAck { next: 0, psn: 0, pull: 0, received: 0, from: 0, map: 0, held: 0, penalty: 0 };
        let ack = Packet::control(header, 64, Time::ZERO);
        let passed = pacer.handle_outgoing(4, ack, &Extra::None, Time::ZERO).unwrap();
        let Header::PulledAck { pull, .. } = passed.header else { panic!("{passed:?}") };
        pull
    };
    assert_eq!((told(&htsim()), told(&RcccParams::default())), (0, 10));
}

#[test]
fn the_demand_of_a_host_is_divided_among_the_flows_that_wait() {
    let mut pacer = pacer(&htsim(), []);
    let mut divided = |more: i32, waiting| {
        let header =
            Header::PulledData { offset: 0, psn: 0, pull: 7, target: 7u32.wrapping_add_signed(more) };
        let mut packet = Packet::data(header, 4086, 4150, Time::ZERO);
        pacer.handle_data(4, &mut packet, waiting, Time::ZERO);
        let Header::PulledData { target, .. } = packet.header else { panic!("{packet:?}") };
        target.wrapping_sub(7) as i32
    };
    let expected = [(100, 0, 100), (100, 1, 100), (100, 3, 34), (-100, 3, -33), (-1, 1, -1)];
    for (more, waiting, left) in expected {
        assert_eq!(divided(more, waiting), left, "{more} over {waiting}");
    }
}

#[test]
fn receivers_slow_their_pulls_down_by_the_topology_where_senders_have_no_window() {
    let least = |params: &RcccParams, oversubscription| {
        let env = AgentEnv { oversubscription, ..AgentEnv::for_test(Rate::gbps(100)) };
        let pacer = UecRccc::agent(params, &env).unwrap();
        pacer.control.map(|control| control.least())
    };
    let mut params = RcccParams::default();
    assert_eq!(
        [1.0, 1.5, 4.0, 1000.0].map(|times| least(&params, times)),
        [None, Some(0.6), Some(0.225), Some(0.01)]
    );
    params.credit.oversubscribed_cc = Auto::Set(true);
    assert_eq!(least(&params, 1.0), Some(0.01));
    params.credit.min_rate = Auto::Set(0.5);
    assert_eq!(least(&params, 4.0), Some(0.5));
    params.credit.oversubscribed_cc = Auto::Set(false);
    assert_eq!(least(&params, 4.0), None);
    let env = AgentEnv { oversubscription: 4.0, ..AgentEnv::for_test(Rate::gbps(100)) };
    assert!(Uec::agent(&BothParams::default(), &env).unwrap().control.is_none());
}

#[test]
fn pulls_slow_down_by_the_controller_where_the_core_is_oversubscribed() {
    let mut params = RcccParams::default();
    params.credit.oversubscribed_cc = Auto::Set(true);
    let mut pacer = pacer(&params, [4]);
    assert!(pacer.next_timeout() < at(30.0), "it decides while there are flows");
    let header = Header::PulledData { offset: 0, psn: 0, pull: 0, target: 640 };
    for flags in [Flags::TRIMMED, Flags::NONE] {
        let packet = Packet::data(header, 0, 64, Time::ZERO).with_flags(flags);
        pacer.handle_incoming(4, packet, &Extra::None, Time::ZERO);
    }
    let decision = pacer.control.as_ref().unwrap().next_timeout();
    pacer.handle_timeout(decision);
    pacer.poll_transmit(decision).unwrap();
    assert_eq!(pacer.next - decision, Span::from_ps(2 * 64 * 20_686));
    pacer.forget(4);
    assert_eq!(pacer.next_timeout(), Time::MAX);
}
