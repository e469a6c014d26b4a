//! Steps of the law, computed by hand.

use super::super::family::profiled;
use super::*;
use crate::endpoint::Framing;
use proptest::prelude::*;

/// peers.md 3, "DCTCP (rate-based)".
const NS3: DctcpConfig = DctcpConfig {
    g: 0.0625,
    alpha_initial: 1.0,
    ai: Some(Rate::mbps(615)),
    min_rate: Rate::gbps(1),
    windowing: Windowing::Rate,
    base_rtt: Some(Span::from_ns(12_240)),
};

fn env() -> Env {
    Env::for_test(
        Rate::gbps(100),
        Span::from_us(10),
        Framing { payload_max: 1000, overhead: 48, wire_min: 60 },
    )
}

fn law() -> RdmaDctcpLaw {
    NS3.build(&env())
}

fn ack(law: &mut RdmaDctcpLaw, acked: u64, next: u64, marked: bool) {
    let ack = AckEvent {
        acked: 1000,
        snd_una: acked,
        snd_nxt: next,
        ecn_echo: marked,
        rtt: Span::from_us(13),
        hops: &[],
    };
    law.on_ack(&ack, Time::ZERO);
}

#[test]
fn defaults_and_profile_are_the_constants_tested_here() {
    let defaults = DctcpConfig { ai: None, min_rate: Rate::mbps(10), base_rtt: None, ..NS3 };
    assert_eq!(RdmaDctcpParams::default().law(), defaults);
    assert_eq!(profiled::<RdmaDctcpParams>(&PROFILES[0]).law(), DctcpConfig { base_rtt: None, ..NS3 });
}

#[test]
fn ports_mark_above_300_kb_at_100_gbps_as_a_packet_leaves_run_py() {
    let MarkingNeeds::Red(step) = RdmaDctcpParams::default().needs().marking.unwrap() else {
        panic!("not by size")
    };
    let marker = |gbps| crate::port::RedMarker::new(&step, Rate::gbps(gbps));
    let undrawn = || unreachable!("a step needs no draw");
    assert!(!marker(100).marks(300_000, undrawn) && marker(100).marks(300_001, undrawn));
    assert!(!marker(400).marks(1_200_000, undrawn) && marker(400).marks(1_200_001, undrawn));
}

#[test]
fn it_starts_at_line_rate_with_the_window_of_the_longest_path_peers_md_3() {
    assert_eq!((law().rate(), law().window(), law().alpha()), (Rate::gbps(100), 153_000, 1.0));
}

#[test]
fn the_step_is_a_packet_a_round_trip_615_mbps_for_1_kb_in_13_us_run_py() {
    let config = DctcpConfig { ai: None, base_rtt: Some(Span::from_us(13)), ..NS3 };
    assert_eq!(config.build(&env()).ai, Rate::bps(615_384_615));
}

#[test]
fn the_first_mark_halves_rate_and_window_and_the_next_round_trip_is_left_alone() {
    let mut law = law();
    ack(&mut law, 1_000, 100_000, true);
    assert_eq!((law.rate(), law.window()), (Rate::gbps(50), 76_500));
    for acked in 2..=100 {
        ack(&mut law, acked * 1000, 150_000, true);
        assert_eq!(law.rate(), Rate::gbps(50), "acknowledged up to 100,000: sent before the cut");
    }
    // The round trip of 101 packets, all 100 acknowledgements (and this one) marked: share 1.
    ack(&mut law, 101_000, 151_000, true);
    assert_eq!(law.alpha(), 1.0);
    assert_eq!(law.rate(), Rate::gbps(25));
}

#[test]
fn alpha_is_the_average_share_of_marks_and_cuts_by_half_of_it() {
    let mut law = law();
    law.rate = Rate::gbps(10);
    ack(&mut law, 1_000, 10_000, false);
    assert_eq!(law.rate(), Rate::mbps(10_615), "the first acknowledgement ends a round");
    for acked in 2..=10 {
        ack(&mut law, acked * 1000, 19_000, false);
    }
    // 11 = 10,000 / 1000 + 1 expected, none marked.
    ack(&mut law, 11_000, 20_000, false);
    assert_eq!((law.alpha(), law.rate()), (0.9375, Rate::mbps(11_230)));
    // The next expects (20 - 11) + 1 = 10; 3 are marked; the first of them cuts by alpha / 2.
    (12..=20).for_each(|acked| ack(&mut law, acked * 1000, 30_000, (12..15).contains(&acked)));
    assert_eq!(law.rate().as_bps(), (11.23e9 * (1.0 - 0.9375 / 2.0)) as u64);
    let rate = law.rate();
    ack(&mut law, 21_000, 30_000, false);
    assert_eq!(law.alpha(), 0.9375 * 0.9375 + 0.0625 * 0.3);
    assert_eq!(law.rate(), rate, "within a round trip of the cut nothing is added");
    let alpha = law.alpha();
    ack(&mut law, 31_000, 40_000, false);
    assert_eq!(law.rate(), plus(rate, Rate::mbps(615)));
    assert_eq!(law.alpha(), 0.9375 * alpha, "no marks in this one");
}

#[test]
fn without_marks_it_comes_back_to_line_rate() {
    let mut law = law();
    law.rate = Rate::gbps(1);
    (1..200).for_each(|round| ack(&mut law, round * 1000, round * 1000, false));
    assert_eq!(law.rate(), Rate::gbps(100), "99 Gbps at 615 Mbps a round trip: 161");
}

proptest! {
    #[test]
    fn whatever_is_marked_rate_and_alpha_stay_within_their_limits(
        acks in prop::collection::vec((0..3u64, any::<bool>(), 0..200u64), 1..400),
    ) {
        let mut law = law();
        let mut acked = 0;
        for (packets, marked, flight) in acks {
            acked += packets * 1000;
            ack(&mut law, acked, acked + flight * 1000, marked);
            prop_assert!(law.rate() >= NS3.min_rate && law.rate() <= Rate::gbps(100));
            prop_assert!((0.0..=1.0).contains(&law.alpha()));
        }
    }
}
