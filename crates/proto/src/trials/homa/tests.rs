//! The trial by itself and between two hosts.

use super::*;
use crate::agent::{Agent, Side};
use crate::endpoint::{Cx, Endpoint, Stats};
use crate::packet::{CreditRequest, Extra, Flags, Header, Packet};
use crate::rng::{Entity, Rng};
use crate::testing::{Network, Operation, Pair, Way, Wire};
use clearway_units::Time;

const MSS: u64 = 1460;

fn announce(agent: &mut HomaAgent, flow: u32, segments: u64) {
    agent.begin(flow, Side::Receiver, Time::ZERO);
    let request = CreditRequest { session: 0, wanted: 2, written: segments * MSS };
    let packet = Packet::control(Header::CreditRequest(request), 84, Time::ZERO).with_flags(Flags::LAST);
    assert!(agent.handle_incoming(flow, packet, &Extra::None, Time::ZERO).is_some(), "the end sees it too");
}

fn arrive(agent: &mut HomaAgent, flow: u32, segment: u64) {
    let header = Header::CreditData { offset: (segment - 1) * MSS, session: 1, credit: 0, echo: Time::ZERO };
    let packet = Packet::data(header, MSS as u32, 1538, Time::ZERO);
    assert!(agent.handle_incoming(flow, packet, &Extra::None, Time::ZERO).is_some());
}

/// The grants that leave now: flow, segments and lane.
fn grants(agent: &mut HomaAgent) -> Vec<(u32, u64, u32)> {
    std::iter::from_fn(|| agent.poll_transmit(Time::ZERO))
        .map(|sent| match sent.packet.header {
            Header::Credit { number, session, .. } => (sent.flow, number / MSS, session),
            other => panic!("an agent that grants sent {other:?}"),
        })
        .collect()
}

#[test]
fn a_host_grants_to_the_message_with_the_fewest_bytes_to_come_of_all_its_senders() {
    let mut agent = HomaAgent::new(Framing::ETHERNET, 1);
    announce(&mut agent, 1, 10);
    announce(&mut agent, 2, 4);
    announce(&mut agent, 3, 2);
    assert_eq!(grants(&mut agent), [], "the first two segments need none");
    arrive(&mut agent, 1, 1);
    assert_eq!(grants(&mut agent), [], "flow 2 is shorter");
    arrive(&mut agent, 2, 1);
    arrive(&mut agent, 2, 2);
    assert_eq!(grants(&mut agent), [(1, 3, 7), (2, 4, 7)], "all of flow 2 is granted, so flow 1 is next");
}

#[test]
fn as_many_messages_as_overcommitment_says_have_grants_and_the_shortest_has_the_first_lane_of_them() {
    let mut agent = HomaAgent::new(Framing::ETHERNET, 2);
    [(1, 30), (2, 20), (3, 10)].into_iter().for_each(|(flow, segments)| announce(&mut agent, flow, segments));
    [1, 2, 3].into_iter().for_each(|flow| arrive(&mut agent, flow, 1));
    assert_eq!(grants(&mut agent), [(2, 3, 7), (3, 3, 6)]);
    agent.forget(3);
    assert_eq!(grants(&mut agent), [(1, 3, 7)], "the place of a message that is over is free");
}

#[test]
fn the_first_lanes_of_granted_data_stay_free_for_a_message_that_overtakes() {
    assert_eq!([0, 1, 2].map(|rank| scheduled_lane(rank, 3)), [5, 6, 7]);
    assert_eq!(scheduled_lane(0, 20), SCHEDULED);
}

/// Two hosts with messages of so many bytes that start at once.
fn run(sizes: &[u64], wire: Wire) -> Pair {
    let mut pair = Pair::new(Network::of(wire));
    pair.log = true;
    for &size in sizes {
        let operations = [(Time::ZERO, Operation::Write(size)), (Time::ZERO, Operation::Close)];
        pair.add_typed::<Homa>(&HomaParams::default(), operations);
    }
    pair.finish();
    pair
}

#[test]
fn the_nic_sends_the_message_with_the_fewest_bytes_left_first() {
    let alone = run(&[100_000], Wire::default()).flows[0].delivered_at;
    let pair = run(&[1_000_000, 100_000], Wire::default());
    let [long, short] = [0, 1].map(|flow| pair.flows[flow].delivered_at);
    // One frame of the long message may be on the wire, and its announcement.
    assert!(short <= alone + Span::from_us(2), "{short} instead of {alone}");
    let all = run(&[1_100_000], Wire::default()).flows[0].delivered_at;
    assert!(long <= all + Span::from_us(20), "the line is never idle: {long} instead of {all}");
}

#[test]
fn each_packet_is_in_the_lane_of_its_kind() {
    let pair = run(&[1_000_000, 3_000], Wire::default());
    let lanes = |flow: usize| {
        let mut lanes: Vec<u8> = pair.flows[flow].data_sent().map(|it| it.packet.lane()).collect();
        lanes.dedup();
        lanes
    };
    assert_eq!((lanes(0), lanes(1)), (vec![1, 7], vec![0]));
}

#[test]
fn messages_arrive_although_data_announcements_grants_and_answers_are_lost() {
    let pair = run(&[300_000, 40_000, 1], Wire { loss: 0.1, ..Wire::default() });
    assert!(pair.flows[0].sender.stats().rare().timeouts > 0);
    let granted = pair.flows[0].left(Way::ToSender).filter(|it| it.packet.is_credit()).count();
    assert!(granted > 0 && pair.agent_stats(Side::Receiver).is_some_and(|stats| stats.released > 0));
}

#[test]
fn a_receiver_is_finished_once_all_bytes_up_to_an_end_that_is_final_have_arrived() {
    let mut stats = Stats::default();
    let mut rng = Rng::stream(1, Entity::Receiver, 0);
    let mut cx = Cx { now: Time::ZERO, rng: &mut rng, stats: &mut stats };
    let mut receiver = HomaReceiver::new(Framing::ETHERNET);
    let request = |segments, flags| {
        let request = CreditRequest { session: 0, wanted: 2, written: segments * MSS };
        Packet::control(Header::CreditRequest(request), 84, Time::ZERO).with_flags(flags)
    };
    let segment = |index| {
        let header = Header::CreditData { offset: index * MSS, session: 1, credit: 0, echo: Time::ZERO };
        Packet::data(header, MSS as u32, 1538, Time::ZERO)
    };
    let mut hear = |packet: Packet| {
        receiver.handle_packet(&packet, &Extra::None, &mut cx);
        let answer = receiver.poll_control(&mut Extra::None, &mut cx);
        (receiver.is_finished(), answer.is_some_and(|packet| packet.flags.has(Flags::LAST)))
    };
    assert_eq!(hear(request(1, Flags::NONE)), (false, false));
    assert_eq!(hear(segment(0)), (false, false), "more may be written");
    assert_eq!(hear(request(2, Flags::LAST)), (false, false));
    assert_eq!(hear(segment(1)), (true, true));
}
