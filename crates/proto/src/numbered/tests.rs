use super::*;
use crate::endpoint::{Cx, Endpoint, Framing, Receiver};
use crate::entropy::EntropyPolicy;
use crate::packet::{Extra, Flags, Header, Packet};
use crate::{Entity, Rng, Stats, Tag};
use clearway_units::{Span, Time};

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A flight of five packets of 100 bytes, sent one after another.
fn five() -> Flight {
    let mut flight = Flight::default();
    for number in 0..5 {
        let segment = flight.send(100, number as u16, at(number));
        assert_eq!((segment.psn, segment.offset), (number as u32, number * 100));
    }
    flight
}

#[test]
fn lost_packets_leave_again_lowest_number_first_with_their_bytes() {
    let mut flight = five();
    assert!(flight.lose(3) && flight.lose(1) && !flight.lose(1) && !flight.lose(9));
    assert_eq!((flight.waiting(), flight.lost()), (3, 2));
    let again = |psn| Segment { psn, offset: u64::from(psn) * 100, len: 100, again: true };
    assert_eq!(flight.send_lost(7, at(9)), Some(again(1)));
    assert!(flight.lose(0), "a lower number comes to be known as lost");
    assert_eq!(flight.send_lost(7, at(9)), Some(again(0)));
    assert_eq!(flight.send_lost(7, at(9)), Some(again(3)));
    assert_eq!(flight.send_lost(7, at(9)), None);
}

#[test]
fn what_arrived_without_a_gap_is_acknowledged_and_nothing_else() {
    let mut flight = five();
    assert!(flight.arrived(2) && !flight.arrived(2));
    assert_eq!((flight.acknowledged(), flight.base()), (0, 0));
    assert!(flight.arrived_below(2));
    assert_eq!((flight.acknowledged(), flight.base(), flight.waiting()), (300, 3, 2));
    assert!(flight.arrived_below(1), "an old answer is right, and no news");
    assert!(!flight.arrived_below(6), "there is no such packet");
    assert!(flight.arrived_in(2, 0b111));
    assert!(flight.is_empty());
    assert_eq!((flight.acknowledged(), flight.end(), flight.base()), (500, 500, 5));
}

#[test]
fn a_packet_that_was_lost_and_had_arrived_after_all_is_not_sent_again() {
    let mut flight = five();
    assert!(flight.lose(0) && flight.lose(4));
    assert!(flight.arrived_below(1));
    assert_eq!(flight.send_lost(0, at(9)).map(|segment| segment.psn), Some(4));
    assert_eq!((flight.lost(), flight.waiting()), (0, 4));
}

#[test]
fn packets_of_which_nothing_is_heard_expire_with_their_entropies() {
    let mut flight = five();
    assert_eq!((flight.oldest(), flight.round_trip(1, at(11))), (Some(at(0)), Some(Span::from_us(10))));
    let mut entropies = Vec::new();
    assert_eq!(flight.expire(Span::from_us(10), at(12), |entropy| entropies.push(entropy)), 3);
    assert_eq!((entropies, flight.oldest()), (vec![0, 1, 2], Some(at(3))));
    flight.send_lost(9, at(12));
    assert_eq!(flight.round_trip(0, at(20)), None, "it is not known which of the two came");
    assert_eq!(flight.expire(Span::from_us(10), at(12), |_| ()), 0);
}

#[test]
fn numbers_go_on_beyond_32_bits() {
    let mut flight = Flight::starting_at(u32::MAX);
    let psns = [0, 1, 2].map(|_| flight.send(10, 0, at(0)).psn);
    assert_eq!(psns, [u32::MAX, 0, 1]);
    assert!(flight.arrived(0) && flight.arrived_below(0));
    assert_eq!((flight.base(), flight.acknowledged()), (1, 20));
}

#[test]
fn arrivals_count_bytes_in_order_whatever_the_order_of_packets() {
    let mut arrivals = Arrivals::default();
    for (psn, delivered, held) in [(2, 0, 1), (4, 0, 2), (0, 1, 2), (1, 3, 1), (3, 5, 0)] {
        assert_eq!(arrivals.accept(psn, psn.into(), 1), Arrived::New);
        assert_eq!((arrivals.delivered(), arrivals.held()), (delivered, held), "{psn}");
        assert_eq!(arrivals.accept(psn, psn.into(), 1), Arrived::Again);
    }
    assert_eq!((arrivals.next(), arrivals.held()), (5, 0));
    assert_eq!(arrivals.accept(1_000_000, 0, 1), Arrived::Beyond);
}

#[test]
fn a_packet_whose_bytes_do_not_follow_those_before_it_is_dropped() {
    let mut arrivals = Arrivals::default();
    assert_eq!(arrivals.accept(0, 5, 1), Arrived::Beyond);
    assert_eq!(arrivals.accept(1, 7, 1), Arrived::New, "what is before it is not known yet");
    assert_eq!(arrivals.accept(0, 0, 1), Arrived::New);
    assert_eq!((arrivals.next(), arrivals.delivered(), arrivals.held()), (1, 1, 0));
}

#[test]
fn the_map_tells_which_packets_are_held() {
    let mut arrivals = Arrivals::default();
    for psn in [2, 3, 5, 70] {
        arrivals.accept(psn, psn.into(), 1);
    }
    assert_eq!(arrivals.map(1), 0b10110);
    assert_eq!(arrivals.map(7), 1 << 63);
    arrivals.accept(0, 0, 1);
    assert_eq!(arrivals.map(0), 0b101101);
}

#[test]
fn flows_are_found_by_number_and_by_place_and_places_are_used_again() {
    let mut table = FlowTable::default();
    for flow in [7, 3, 9] {
        table.add(flow, flow * 10);
    }
    assert_eq!([7, 3, 9, 8].map(|flow| table.place(flow)), [Some(0), Some(1), Some(2), None]);
    assert_eq!((table.remove(3), table.remove(3)), (Some(1), None));
    table.add(4, 40);
    assert_eq!((table.place(4), table.flow(1), *table.value(1)), (Some(1), 4, 40));
}

#[test]
fn pulls_take_paths_in_turn() {
    assert_eq!([0, 1, 127, 128].map(|number| pull_tag(number).entropy), [0, 1, 127, 0].map(Some));
}

struct Bench {
    receiver: NumberedReceiver,
    rng: Rng,
    stats: Stats,
}

impl Bench {
    fn new(ack_after: u32) -> Bench {
        let receiver = NumberedReceiver::new(Framing::ETHERNET, ack_after);
        Bench { receiver, rng: Rng::stream(1, Entity::Receiver, 0), stats: Stats::default() }
    }

    /// A packet arrives. Returns the answer.
    fn hear(&mut self, psn: u32, flags: Flags) -> Option<Packet> {
        let header = Header::PulledData { offset: u64::from(psn) * 1460, psn, pull: 0, target: 0 };
        let mut packet = Packet::data(header, 1460, 1538, at(0)).with_flags(flags);
        packet = packet.with_tag(Tag { lane: 0, entropy: Some(psn as u16) });
        if flags.has(Flags::TRIMMED) {
            packet.trim(84);
        }
        let mut cx = Cx { now: at(1), rng: &mut self.rng, stats: &mut self.stats };
        self.receiver.handle_packet(&packet, &Extra::None, &mut cx);
        self.receiver.poll_control(&mut Extra::None, &mut cx)
    }

    /// Packets arrive. Returns those that were answered.
    fn answered(&mut self, psns: impl IntoIterator<Item = u32>) -> Vec<u32> {
        psns.into_iter().filter(|&psn| self.hear(psn, Flags::NONE).is_some()).collect()
    }
}

#[test]
fn each_packet_is_answered_with_its_entropy_or_after_so_many_bytes() {
    let mut bench = Bench::new(0);
    for psn in 0..3 {
        let answer = bench.hear(psn, Flags::NONE).unwrap();
        assert_eq!(answer.tag().entropy, Some(psn as u16));
        let Header::PulledAck { next, psn: of, .. } = answer.header else { panic!("{answer:?}") };
        assert_eq!((next, of), (psn + 1, psn));
    }
    // Eleven frames of 1538 bytes are more than 16,384 bytes.
    let mut bench = Bench::new(16_384);
    assert_eq!(bench.answered(0..30), [0, 11, 22]);
}

#[test]
fn a_request_a_mark_a_duplicate_and_the_end_are_answered_at_once() {
    let mut bench = Bench::new(16_384);
    assert_eq!(bench.answered([0, 1]), [0]);
    assert!(bench.hear(2, Flags::EMPTY).is_some());
    assert!(bench.hear(3, Flags::ECN_CE).unwrap().flags.has(Flags::ECN_ECHO));
    assert_eq!(bench.answered([4, 3, 5]), [3]);
    let end = bench.hear(6, Flags::LAST).unwrap();
    assert!(end.flags.has(Flags::LAST) && bench.receiver.is_finished());
    assert_eq!(bench.receiver.delivered(), 7 * 1460);
    assert_eq!(bench.stats.rare().duplicate_bytes, 1460);
}

#[test]
fn a_request_is_answered_again_when_the_last_gap_closes() {
    let mut bench = Bench::new(16_384);
    bench.hear(0, Flags::NONE);
    let answer = bench.hear(3, Flags::EMPTY).unwrap();
    let Header::PulledAck { next, from, map, held, .. } = answer.header else { panic!("{answer:?}") };
    assert_eq!((next, from, map, held), (1, 3, 1, 1));
    assert_eq!(bench.answered([1, 2]), [2]);
}

#[test]
fn a_header_is_answered_with_a_nack_unless_its_packet_had_arrived() {
    let mut bench = Bench::new(0);
    let nack = bench.hear(0, Flags::TRIMMED).unwrap();
    assert!(matches!(nack.header, Header::PulledNack { next: 0, psn: 0, .. }));
    bench.hear(0, Flags::NONE);
    let ack = bench.hear(0, Flags::TRIMMED).unwrap();
    assert!(matches!(ack.header, Header::PulledAck { next: 1, psn: 0, .. }));
}

#[test]
fn the_place_of_a_flow_that_was_retired_is_its_own_until_it_is_free() {
    let mut table = FlowTable::default();
    table.add(7, 'a');
    assert_eq!((table.retire(7), table.place(7), table.retire(7)), (Some(0), None, None));
    table.add(8, 'b');
    assert_eq!((*table.value(0), table.place(8)), ('a', Some(1)));
    table.free(0);
    table.add(9, 'c');
    assert_eq!((*table.value(0), table.place(9)), ('c', Some(0)));
}

/// A flow over eight paths, of which those with bad feedback are passed over, with these bytes written and no more to come.
fn outgoing(bytes: u64) -> Outgoing {
    let mut outgoing = Outgoing::new(Framing::ETHERNET, EntropyPolicy::Bitmap, 8);
    outgoing.write(bytes);
    outgoing.close();
    outgoing
}

#[test]
fn a_packet_that_is_sent_again_repeats_data_unless_it_has_none() {
    for (bytes, repeats) in [(100, 1), (0, 0)] {
        let (mut outgoing, mut rng) = (outgoing(bytes), Rng::stream(1, Entity::Sender, 0));
        let mut stats = Stats::default();
        let mut cx = Cx { now: at(0), rng: &mut rng, stats: &mut stats };
        let (first, _) = outgoing.send(true, |paths| paths, &mut cx);
        assert_eq!(outgoing.flags(&first), Flags::LAST);
        assert!(outgoing.flight.lose(0) && outgoing.has_data() && !outgoing.has_new());
        let (again, _) = outgoing.send(true, |paths| paths, &mut cx);
        assert_eq!(again, Segment { again: true, ..first });
        assert_eq!(outgoing.flags(&again).has(Flags::RETRANSMIT), bytes > 0);
        assert!(outgoing.flags(&again).has(Flags::LAST));
        assert_eq!((stats.data_packets, stats.rare().retransmits), (2, repeats));
        assert!(outgoing.flight.arrived(0) && outgoing.is_finished());
    }
}

#[test]
fn the_path_of_a_packet_of_which_nothing_is_heard_is_passed_over_then() {
    let (mut outgoing, mut rng) = (outgoing(100_000), Rng::stream(1, Entity::Sender, 0));
    let mut stats = Stats::default();
    let mut cx = Cx { now: at(0), rng: &mut rng, stats: &mut stats };
    let (_, silent) = outgoing.send(true, |paths| paths, &mut cx);
    assert_eq!(outgoing.expires_at(Span::from_us(9), at(0)), at(9));
    assert_eq!(outgoing.expire(Span::from_us(9), at(9)), 1);
    cx.now = at(9);
    // The rest of the first round over all values, and the second one.
    let mut next: Vec<u16> = (0..14).map(|_| outgoing.send(false, |paths| paths, &mut cx).1).collect();
    next.sort_unstable();
    let (pairs, rest) = next.as_chunks::<2>();
    assert!(rest.is_empty() && pairs.iter().all(|[one, other]| one == other && *one != silent), "{next:?}");
    next.dedup();
    assert_eq!(next.len(), 7, "all others are taken twice");
}
