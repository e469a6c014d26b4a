use super::*;
use crate::agent::Agent;
use crate::endpoint::{Endpoint, Framing, Sender};
use crate::mechanism::{PortMechanism, PortState, Reason, Verdict};
use crate::packet::{Extra, Flags, Header, Kind, Packet};
use crate::{Cx, Rng, Side, Stats};
use clearway_units::{Rate, Time};

const FRAMING: Framing = Framing::ETHERNET;

fn data(offset: u64) -> Packet {
    Packet::data(Header::data(offset), 1460, 1538, Time::ZERO)
}

fn at(ns: u64) -> Time {
    Time::from_ps(ns * 1000)
}

#[test]
fn a_port_without_room_cuts_data_and_returns_a_header_and_drops_the_rest() {
    let mut port = NdpPort::new(&NdpPortConfig { header: Bytes::new(84) }, Rate::gbps(100));
    let state = PortState { now: Time::ZERO, queued: 0, sent: 0 };
    let Verdict::Change(change) = port.on_full(&data(0), state) else { panic!("it is changed") };
    assert_eq!((change.trim_to, change.class_of, change.marks), (Some(84), Some(Kind::Ack), false));
    let mut header = data(0);
    header.trim(84);
    assert!(matches!(port.on_full(&header, state), Verdict::Return(_)));
    let returned = header.with_flags(Flags::TRIMMED.with(Flags::RETURNED));
    assert_eq!(port.on_full(&returned, state), Verdict::Drop(Reason::Full));
    let ack = Packet::control(Header::Cnp, 84, Time::ZERO);
    assert_eq!(port.on_full(&ack, state), Verdict::Drop(Reason::Full));
    assert_eq!(port.on_arrival(&data(0), None, state), Verdict::Keep, "room decides");
}

#[test]
fn a_host_pulls_for_all_its_flows_in_turn_one_full_frame_apart() {
    let mut agent = NdpAgent::new(Rate::gbps(100), FRAMING);
    for flow in [7, 9] {
        agent.begin(flow, Side::Receiver, Time::ZERO);
        for _ in 0..3 {
            agent.handle_incoming(flow, data(0), &Extra::None, Time::ZERO);
        }
    }
    let mut pulls = Vec::new();
    for ns in 0..1000 {
        while let Some(pull) = agent.poll_transmit(at(ns)) {
            let Header::Ack { window, .. } = pull.packet.header else { panic!("{pull:?}") };
            pulls.push((ns, pull.flow, window));
        }
    }
    // A frame of 1,538 bytes takes 123.04 ns.
    let gaps = [0, 124, 248, 372, 496, 620];
    let flows = [(7, 1), (9, 1), (7, 2), (9, 2), (7, 3), (9, 3)];
    assert_eq!(pulls, gaps.into_iter().zip(flows).map(|(ns, (flow, n))| (ns, flow, n)).collect::<Vec<_>>());
    assert_eq!(agent.next_timeout(), Time::MAX, "nothing more is earned");
}

/// A sender with a window of two packets that has written five and sent what it may.
fn sender(stats: &mut Stats, rng: &mut Rng) -> NdpSender {
    let mut sender = NdpSender::new(FRAMING, 2, Span::from_ms(1));
    let mut cx = Cx { now: Time::ZERO, rng, stats };
    sender.write(5 * 1460, &mut cx);
    sender.close(&mut cx);
    for offset in [0, 1460] {
        assert_eq!(sender.poll_transmit(&mut cx).unwrap().range().start, offset);
    }
    assert!(!sender.wants_transmit(Time::ZERO) && sender.poll_transmit(&mut cx).is_none());
    sender
}

#[test]
fn a_sender_sends_a_packet_for_each_pull_and_those_that_were_cut_first() {
    let (mut stats, mut rng) = (Stats::default(), Rng::stream(1, crate::Entity::Sender, 0));
    let mut sender = sender(&mut stats, &mut rng);
    let mut cx = Cx { now: at(5), rng: &mut rng, stats: &mut stats };
    let mut hear = |sender: &mut NdpSender, header| {
        sender.handle_packet(&Packet::control(header, 84, Time::ZERO), &Extra::None, &mut cx);
        std::iter::from_fn(|| sender.poll_transmit(&mut cx))
            .map(|packet| packet.range().start)
            .collect::<Vec<_>>()
    };
    let pull = |window| Header::Ack { ack: 0, window, rate: Rate::ZERO, echo: Time::ZERO };
    let nack = Header::RdmaNack { ack: 0, offset: 0, len: 0, echo: Time::ZERO };
    assert_eq!(hear(&mut sender, nack), [], "it is not pulled yet");
    assert_eq!(hear(&mut sender, pull(1)), [0]);
    assert_eq!(hear(&mut sender, pull(3)), [2920, 4380], "the second pull was lost");
    assert_eq!(hear(&mut sender, pull(2)), [], "it comes late");
    let mut header = data(2920);
    header.trim(84);
    let mut hear_data = |sender: &mut NdpSender, packet: Packet| {
        sender.handle_packet(&packet, &Extra::None, &mut cx);
        std::iter::from_fn(|| sender.poll_transmit(&mut cx))
            .map(|packet| packet.range().start)
            .collect::<Vec<_>>()
    };
    let returned = header.with_flags(Flags::TRIMMED.with(Flags::RETURNED));
    assert_eq!(hear_data(&mut sender, returned), [2920], "nobody pulls for what came back");
    assert_eq!(stats.rare().retransmits, 2);
}

#[test]
fn a_sender_that_hears_nothing_starts_again_with_one_packet() {
    let (mut stats, mut rng) = (Stats::default(), Rng::stream(1, crate::Entity::Sender, 0));
    let mut sender = sender(&mut stats, &mut rng);
    let now = sender.next_timeout();
    assert_eq!(now, Time::ZERO + Span::from_ms(1));
    let mut cx = Cx { now, rng: &mut rng, stats: &mut stats };
    sender.handle_timeout(&mut cx);
    assert_eq!(sender.poll_transmit(&mut cx).unwrap().range().start, 0);
    assert!(sender.poll_transmit(&mut cx).is_none());
    assert_eq!(stats.rare().timeouts, 1);
}

#[test]
fn a_receiver_counts_the_bytes_that_come_a_second_time_and_no_others() {
    let (mut stats, mut rng) = (Stats::default(), Rng::stream(1, crate::Entity::Receiver, 0));
    let mut receiver = NdpReceiver::new(FRAMING);
    let repeated =
        [(0, 0), (2920, 0), (2920, 1460), (1460, 1460), (0, 2920), (4380, 2920)].map(|(offset, bytes)| {
            let mut cx = Cx { now: Time::ZERO, rng: &mut rng, stats: &mut stats };
            receiver.handle_packet(&data(offset), &Extra::None, &mut cx);
            (stats.rare().duplicate_bytes, bytes)
        });
    repeated.iter().for_each(|(counted, bytes)| assert_eq!(counted, bytes, "{repeated:?}"));
}
