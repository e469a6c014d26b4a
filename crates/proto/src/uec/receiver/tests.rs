use super::*;
use crate::rng::{Entity, Rng};
use crate::tag::Tag;
use crate::transport::Transport;
use crate::uec::tests::{Alone, env, htsim};
use crate::uec::{NsccParams, UecNscc};

fn receiver(params: &NsccParams) -> Alone<Receiver> {
    Alone::new(UecNscc::receiver(params, &env()))
}

/// A full packet with this number, whose entropy is that number too.
fn data(psn: u32) -> Packet {
    let header = Header::PulledData { offset: u64::from(psn) * 4086, psn, pull: 0, target: 0 };
    let packet = Packet::data(header, 4086, 4150, Time::ZERO);
    packet.with_tag(Tag { lane: 0, entropy: Some(psn as u16) })
}

fn flagged(psn: u32, flags: Flags) -> Packet {
    data(psn).with_flags(flags)
}

/// The fields of the only answer: its kind, `next`, `psn`, `received`, `from`, `map` and `held`.
#[track_caller]
fn ack(answers: &[Packet]) -> (u32, u32, u32, u32, u64, u16) {
    let [answer] = answers else { panic!("{answers:?}") };
    let Header::PulledAck { next, psn, received, from, map, held, .. } = answer.header else {
        panic!("{answer:?}")
    };
    assert_eq!(answer.tag().entropy, Some(psn as u16), "it travels with the entropy of the packet");
    (next, psn, received, from, map, held)
}

#[test]
fn the_first_packet_is_acknowledged_and_then_one_in_four() {
    let mut receiver = receiver(&htsim());
    let answered: Vec<_> = (0..13).filter(|&psn| !receiver.hear(data(psn)).is_empty()).collect();
    assert_eq!(answered, [0, 4, 8, 12]);
    assert_eq!(ack(&receiver.hear(flagged(13, ASKS))), (14, 13, 14 * 4150, 13, 0, 0));
}

#[test]
fn marks_repeats_and_duplicates_are_answered_at_once() {
    let mut receiver = receiver(&htsim());
    receiver.hear(data(0));
    let marked = receiver.hear(flagged(1, Flags::ECN_CE));
    assert!(marked[0].flags.has(Flags::ECN_ECHO) && !marked[0].flags.has(OF_REPEAT));
    assert!(receiver.hear(data(2)).is_empty());
    let repeat = receiver.hear(flagged(3, Flags::RETRANSMIT));
    assert!(repeat[0].flags.has(OF_REPEAT));
    assert_eq!(ack(&receiver.hear(data(2))), (4, 2, 4 * 4150, 5, 0, 0));
    assert_eq!(receiver.stats.rare().duplicate_bytes, 4086);
    assert_eq!(receiver.end.delivered, 4 * 4086);
}

#[test]
fn the_map_of_an_acknowledgement_tells_what_came_out_of_order() {
    let mut receiver = receiver(&htsim());
    receiver.hear(data(0));
    for psn in [2, 3, 5] {
        assert!(receiver.hear(data(psn)).is_empty());
    }
    assert_eq!(ack(&receiver.hear(data(7))), (1, 7, 5 * 4150, 2, 0b10_1011, 4));
    assert_eq!(ack(&receiver.hear(flagged(9, ASKS))), (1, 9, 6 * 4150, 9, 1, 5));
    assert!(receiver.hear(data(8)).is_empty() && receiver.hear(data(1)).is_empty());
    assert_eq!(receiver.end.delivered, 4 * 4086);
    assert!(receiver.hear(data(4)).is_empty());
    let closed = receiver.hear(data(6));
    assert_eq!(ack(&closed), (10, 6, 10 * 4150, 11, 0, 0), "the last hole closed, and a packet had asked");
}

#[test]
fn a_packet_that_was_cut_is_reported_at_once_and_counts_for_nothing() {
    let mut receiver = receiver(&htsim());
    let mut cut = flagged(0, Flags::ECN_CE.with(Flags::LAST_HOP));
    cut.trim(64);
    let answers = receiver.hear(cut);
    let Header::PulledNack { next: 0, psn: 0, received: 0, .. } = answers[0].header else { panic!() };
    assert!(answers[0].flags.has(Flags::LAST_HOP) && answers[0].flags.has(Flags::ECN_ECHO));
    assert_eq!(answers[0].tag().entropy, Some(0));
    receiver.hear(data(0));
    assert_eq!(ack(&receiver.hear(cut)).0, 1, "the packet itself had come meanwhile");
}

#[test]
fn requests_take_a_number_and_probes_none() {
    let mut receiver = receiver(&htsim());
    let control =
        |header| Packet::control(header, 64, Time::ZERO).with_tag(Tag { lane: 0, entropy: Some(0) });
    let answers = receiver.hear(control(Header::PullRequest { psn: 0, pull: 0, target: 0 }));
    assert_eq!(ack(&answers).0, 1);
    let answers = receiver.hear(control(Header::Probe { psn: 0, with_data: true }));
    assert!(answers[0].flags.has(OF_PROBE));
    assert_eq!(ack(&answers).0, 1);
    assert_eq!(ack(&receiver.hear(flagged(1, ASKS))).0, 2);
}

#[test]
fn the_flow_has_arrived_when_all_before_its_last_byte_has() {
    let mut receiver = receiver(&htsim());
    receiver.hear(data(0));
    receiver.hear(flagged(2, Flags::LAST.with(ASKS)));
    assert!(!receiver.end.is_finished());
    let last = receiver.hear(data(1));
    assert!(receiver.end.is_finished() && last[0].flags.has(Flags::LAST));
}

/// The packets of a flow: the offset and the size of each, of which some are requests without data.
fn packets(count: u64, rng: &mut Rng) -> Vec<(u64, u32, bool)> {
    let irregular = rng.below(3) * rng.below(4);
    let mut end = 0;
    let packet = |_| {
        let is_request = rng.below(60) < irregular;
        let payload = match rng.below(40) < irregular {
            _ if is_request => 0,
            true => 1 + rng.below(4086) as u32,
            false => 4086,
        };
        end += u64::from(payload);
        (end - u64::from(payload), payload, is_request)
    };
    (0..count).map(packet).collect()
}

#[test]
fn bytes_are_delivered_in_order_and_counted_once_whatever_the_order_and_the_sizes_of_packets() {
    let mut rng = Rng::stream(1, Entity::Traffic, 0);
    for _ in 0..300 {
        let packets = packets(1 + rng.below(90), &mut rng);
        let mut receiver = receiver(&htsim());
        let (mut arrived, mut again) = (vec![false; packets.len()], 0);
        for _ in 0..3 * packets.len() {
            let psn = rng.below(packets.len() as u64) as usize;
            let (offset, payload, is_request) = packets[psn];
            let header = Header::PulledData { offset, psn: psn as u32, pull: 0, target: 0 };
            let request = Header::PullRequest { psn: psn as u32, pull: 0, target: 0 };
            receiver.hear(match is_request {
                true => Packet::control(request, 64, Time::ZERO),
                false => Packet::data(header, payload, payload + 64, Time::ZERO),
            });
            again += if arrived[psn] { u64::from(payload) } else { 0 };
            arrived[psn] = true;
            let missing = packets.iter().zip(&arrived).find(|((_, payload, _), has)| !**has && *payload > 0);
            let end = packets.last().map_or(0, |(offset, payload, _)| offset + u64::from(*payload));
            assert_eq!(receiver.end.delivered, missing.map_or(end, |((offset, ..), _)| *offset));
            assert_eq!(receiver.stats.rare().duplicate_bytes, again);
        }
    }
}

#[test]
fn ue_15_received_bytes_are_counted_exactly_or_in_units_of_256() {
    let received = |params: &NsccParams| {
        let mut receiver = receiver(params);
        receiver.hear(data(0));
        ack(&receiver.hear(flagged(1, ASKS))).2
    };
    assert_eq!(received(&htsim()), 8300);
    assert_eq!(received(&NsccParams::default()), 33 * 256);
}

#[test]
fn ue_4_no_penalty_is_0_or_255() {
    let penalty = |params: &NsccParams| {
        let answer = receiver(params).hear(data(0))[0].header;
        let Header::PulledAck { penalty, .. } = answer else { panic!("{answer:?}") };
        penalty
    };
    assert_eq!((penalty(&htsim()), penalty(&NsccParams::default())), (255, 0));
}
