//! Tests of the sender against the RFCs, section by section.

use super::*;
use crate::endpoint::{Sender as _, Stats};
use crate::packet::SackBlock;
use crate::rng::{Entity, Rng};
use crate::tcp::newreno::{NewRenoController, NewRenoParams};
use clearway_schema::Declared;
use clearway_units::Rate;

/// Segments of 1000 bytes.
const S: u64 = 1000;

/// A sender at a time, with all that it needs.
struct Bench {
    sender: Sender<NewRenoController>,
    now: Time,
    rng: Rng,
    stats: Stats,
}

impl Bench {
    /// A sender with `segments` to send.
    fn new(segments: u64, values: &[(&str, &str)], ecn: Ecn) -> Bench {
        let env = Env {
            established: false,
            ..Env::for_test(
                Rate::gbps(10),
                Span::from_us(100),
                Framing { payload_max: S as u32, ..Framing::ETHERNET },
            )
        };
        let mut params = NewRenoParams::default();
        values.iter().for_each(|(name, value)| params.set(name, *value).unwrap());
        let config = params.tcp.config(ecn);
        let sender = Sender::new(&config, &env, NewRenoController::new(&config, &env));
        let rng = Rng::stream(1, Entity::Sender, 1);
        let mut bench = Bench { sender, now: Time::ZERO, rng, stats: Stats::default() };
        let (sender, mut cx) = bench.parts();
        sender.write(segments * S, &mut cx);
        sender.close(&mut cx);
        bench
    }

    fn parts(&mut self) -> (&mut Sender<NewRenoController>, Cx<'_>) {
        (&mut self.sender, Cx { now: self.now, rng: &mut self.rng, stats: &mut self.stats })
    }

    fn at_us(&mut self, us: u64) -> &mut Bench {
        self.now = Time::ZERO + Span::from_us(us);
        self
    }

    /// All that may leave now, as segment numbers.
    fn sends(&mut self) -> Vec<u64> {
        self.packets().iter().map(|packet| packet.range().start / S).collect()
    }

    fn packets(&mut self) -> Vec<Packet> {
        let (sender, mut cx) = self.parts();
        std::iter::from_fn(|| sender.poll_transmit(&mut cx)).collect()
    }

    /// An acknowledgement up to segment `ack`, with ranges of segments that arrived beyond.
    fn ack(&mut self, ack: u64, flags: Flags, sack: &[(u64, u64)]) {
        let (window, echo) = (self.sender.peer_window, self.now - Span::from_us(100));
        let header = Header::Ack { ack: ack * S, window, rate: Rate::ZERO, echo };
        let packet =
            Packet::control(header, 84, Time::ZERO).with_flags(flags.with_if(!sack.is_empty(), Flags::EXTRA));
        let mut blocks = [SackBlock::default(); 3];
        for (block, (start, end)) in blocks.iter_mut().zip(sack) {
            *block = SackBlock { start: start * S, end: end * S };
        }
        let extra = Extra::Sack(blocks);
        let (sender, mut cx) = self.parts();
        sender.handle_packet(&packet, &extra, &mut cx);
    }

    fn plain_ack(&mut self, ack: u64) {
        self.ack(ack, Flags::NONE, &[]);
    }

    fn fires(&mut self) {
        self.now = self.sender.next_timeout();
        let (sender, mut cx) = self.parts();
        sender.handle_timeout(&mut cx);
    }

    fn cwnd(&self) -> u64 {
        self.sender.control().limits().cwnd / S
    }
}

#[test]
fn a_sender_is_small() {
    assert!(size_of::<Sender<NewRenoController>>() <= 256, "{}", size_of::<Sender<NewRenoController>>());
}

#[test]
fn the_pipe_leaves_out_what_arrived_and_what_is_lost_rfc_6675_section_4() {
    let mut bench = Bench::new(50, &[], Ecn::Off);
    assert_eq!(bench.sends(), (0..10).collect::<Vec<_>>());
    bench.at_us(100).ack(0, Flags::NONE, &[(1, 2)]);
    assert_eq!(bench.sender.in_flight(), 9 * S);
    assert_eq!(bench.sends(), [10], "limited transmit");
    bench.ack(0, Flags::NONE, &[(1, 3)]);
    assert_eq!(bench.sends(), [11]);
    bench.ack(0, Flags::NONE, &[(1, 4)]);
    // 12 outstanding, 3 arrived, 1 lost; window = FlightSize / 2 without the two of limited transmit.
    assert_eq!((bench.sender.in_flight(), bench.cwnd()), (8 * S, 5));
    assert_eq!(bench.sends(), [0], "the first retransmission does not wait for the window");
    assert_eq!(bench.sender.in_flight(), 9 * S);
}

#[test]
fn lost_bytes_go_before_new_ones_and_possibly_lost_ones_come_last_rfc_6675_section_4() {
    let mut bench = Bench::new(10, &[], Ecn::Off);
    bench.sends();
    // 0, 2 and 4 are lost for sure; 8 may be; 9 is unknown.
    bench.at_us(100).ack(0, Flags::NONE, &[(1, 2), (3, 4), (5, 8)]);
    assert_eq!(bench.sends(), [0, 2, 4], "window 5; 8 and 9 count as in flight");
    bench.at_us(200).ack(2, Flags::NONE, &[(3, 4), (5, 8)]);
    // 0 and 1 are done; 8, 9 and the retransmitted 2 and 4 are in flight.
    assert_eq!(bench.sends(), [9], "rescue: nothing new, nothing lost, nothing below the highest known");
    assert!(bench.packets().is_empty(), "only once");
}

#[test]
fn a_gap_below_the_highest_arrival_is_repaired_when_nothing_else_is_left_rfc_6675_section_4() {
    let mut bench = Bench::new(10, &[], Ecn::Off);
    bench.sends();
    bench.at_us(100).ack(0, Flags::NONE, &[(1, 7), (8, 9)]);
    assert_eq!(bench.sends(), [0, 7, 9], "lost; rule 3; rule 4");
}

#[test]
fn a_timeout_keeps_what_is_known_to_have_arrived_rfc_6675_section_5_1() {
    let mut bench = Bench::new(10, &[], Ecn::Off);
    bench.sends();
    bench.at_us(100).ack(0, Flags::NONE, &[(2, 4)]);
    bench.fires();
    assert_eq!((bench.cwnd(), bench.stats.rare().timeouts), (1, 1));
    assert_eq!(bench.sends(), [0]);
    bench.ack(1, Flags::NONE, &[(2, 4)]);
    assert_eq!(bench.sends(), [1, 4], "slow start, past what arrived");
}

#[test]
fn each_duplicate_in_recovery_inflates_and_a_partial_acknowledgement_deflates_rfc_6582_section_3_2() {
    let mut bench = Bench::new(50, &[("sack", "false")], Ecn::Off);
    bench.sends();
    bench.at_us(100);
    bench.plain_ack(0);
    assert_eq!(bench.sends(), [10], "limited transmit (RFC 3042)");
    bench.plain_ack(0);
    assert_eq!(bench.sends(), [11], "limited transmit (RFC 3042)");
    bench.plain_ack(0);
    assert_eq!(bench.cwnd(), 5);
    assert_eq!(bench.sends(), [0]);
    // ssthresh 5 + 3 duplicates against 12 outstanding: four more make room for none, a fifth for one.
    (0..4).for_each(|_| bench.plain_ack(0));
    assert!(bench.sends().is_empty());
    bench.plain_ack(0);
    assert_eq!(bench.sends(), [12]);
    // Up to 4: of the inflation of 8, 4 go and 1 comes back. 9 outstanding against 5 + 5.
    bench.plain_ack(4);
    assert_eq!(bench.sends(), [4, 13]);
    bench.plain_ack(13);
    assert_eq!(bench.cwnd(), 2, "min(ssthresh, max(FlightSize, SMSS) + SMSS)");
    assert_eq!(bench.sender.phase, Phase::Open);
}

#[test]
fn only_the_first_partial_acknowledgement_restarts_the_timer_rfc_6582_section_4() {
    let mut bench = Bench::new(50, &[("sack", "false")], Ecn::Off);
    bench.sends();
    bench.at_us(100);
    (0..3).for_each(|_| bench.plain_ack(0));
    bench.sends();
    bench.at_us(200).plain_ack(2);
    let first = bench.sender.next_timeout();
    assert_eq!(first, bench.now + Span::from_ms(10));
    bench.at_us(300).plain_ack(4);
    assert_eq!(bench.sender.next_timeout(), first);
}

#[test]
fn duplicates_that_a_timeouts_repair_caused_are_not_a_new_loss_rfc_6582_section_4() {
    let mut bench = Bench::new(50, &[("sack", "false")], Ecn::Off);
    bench.sends();
    bench.fires();
    assert_eq!(bench.sends(), [0]);
    bench.plain_ack(10);
    bench.sends();
    (0..4).for_each(|_| bench.plain_ack(10));
    assert_eq!(bench.sender.phase, Phase::Open);
    assert!(bench.packets().iter().all(|packet| !packet.flags.has(Flags::RETRANSMIT)));
}

#[test]
fn the_timer_starts_with_data_restarts_with_progress_and_stops_at_the_end_rfc_6298_section_5() {
    let mut bench = Bench::new(2, &[], Ecn::Off);
    assert_eq!(bench.sender.next_timeout(), Time::MAX);
    bench.sends();
    assert_eq!(bench.sender.next_timeout(), Time::ZERO + Span::from_ms(10), "5.1");
    bench.at_us(100).plain_ack(1);
    assert_eq!(bench.sender.next_timeout(), bench.now + Span::from_ms(10), "5.3");
    bench.ack(2, Flags::LAST, &[]);
    assert_eq!(bench.sender.next_timeout(), Time::MAX, "5.2");
    assert!(bench.sender.is_finished());
}

#[test]
fn a_timer_call_too_early_is_harmless() {
    let mut bench = Bench::new(2, &[], Ecn::Off);
    bench.sends();
    bench.at_us(9_999);
    let (sender, mut cx) = bench.parts();
    sender.handle_timeout(&mut cx);
    assert_eq!(bench.stats.rare().timeouts, 0);
    assert!(bench.sends().is_empty());
}

#[test]
fn marks_are_answered_once_per_window_and_the_receiver_is_told_rfc_3168_section_6_1_2() {
    let mut bench = Bench::new(50, &[], Ecn::Classic);
    assert!(bench.packets().iter().all(|packet| packet.flags.has(Flags::ECN_CAPABLE)));
    bench.at_us(100);
    (1..=4).for_each(|ack| bench.ack(ack, Flags::ECN_ECHO, &[]));
    assert_eq!(bench.cwnd(), 5);
    (5..=10).for_each(|ack| bench.ack(ack, Flags::ECN_ECHO, &[]));
    assert_eq!(bench.cwnd(), 5, "all of that left before the reduction");
    let packets = bench.packets();
    let told: Vec<_> = packets.iter().map(|packet| packet.flags.has(Flags::CWR)).collect();
    assert_eq!(told, [true, false, false, false, false]);
    bench.at_us(200).ack(11, Flags::ECN_ECHO, &[]);
    assert_eq!(bench.cwnd(), 2, "max(5 / 2, 2)");
}

#[test]
fn what_is_sent_again_is_not_ecn_capable_but_with_dctcp_rfc_3168_section_6_1_5() {
    for (ecn, capable) in [(Ecn::Classic, false), (Ecn::Exact, true)] {
        let mut bench = Bench::new(10, &[], ecn);
        bench.sends();
        bench.fires();
        let packet = bench.packets()[0];
        assert!(packet.flags.has(Flags::RETRANSMIT));
        assert_eq!(packet.flags.has(Flags::ECN_CAPABLE), capable);
    }
}

#[test]
fn a_window_smaller_than_a_segment_lets_a_small_segment_through() {
    let mut bench = Bench::new(2, &[("receive_window", "300 B")], Ecn::Off);
    let packets = bench.packets();
    assert_eq!(packets.iter().map(|packet| packet.payload()).collect::<Vec<_>>(), [300]);
    let mut bench = Bench::new(2, &[("receive_window", "1.5 KB")], Ecn::Off);
    assert_eq!(bench.packets().len(), 1, "no silly 500 bytes (RFC 1122 sec. 4.2.3.4)");
}

#[test]
fn a_closed_window_is_probed_with_a_byte_rfc_1122_section_4_2_2_17() {
    let mut bench = Bench::new(20, &[], Ecn::Off);
    bench.sends();
    bench.sender.peer_window = 0;
    bench.at_us(100).plain_ack(10);
    let packets = bench.packets();
    assert_eq!(packets.iter().map(|packet| packet.payload()).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_retransmission_gives_a_measurement_of_its_own_rfc_6298_section_3() {
    let mut bench = Bench::new(1, &[], Ecn::Off);
    bench.sends();
    bench.fires();
    assert_eq!(bench.sends(), [0]);
    bench.at_us(10_100).ack(1, Flags::LAST, &[]);
    assert_eq!(bench.sender.srtt(), Span::from_us(100));
}

#[test]
fn the_gauges_are_the_window_the_smoothed_round_trip_and_one_window_in_each_of_these() {
    let mut bench = Bench::new(50, &[], Ecn::Off);
    let gauges = bench.sender.gauges();
    assert_eq!(gauges.cwnd, 10_000.0);
    assert!(gauges.rate.is_nan() && gauges.srtt.is_nan(), "no round trip was measured: {gauges:?}");
    bench.sends();
    bench.at_us(100).plain_ack(2);
    let gauges = bench.sender.gauges();
    assert_eq!((gauges.cwnd, gauges.srtt), (12_000.0, 100e-6));
    assert!((gauges.rate - 960e6).abs() < 1.0, "12,000 bytes in each 100 us: {gauges:?}");
}
