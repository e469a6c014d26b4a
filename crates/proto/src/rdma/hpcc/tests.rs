//! Steps of the law, computed by hand.

use super::super::family::profiled;
use super::*;
use crate::endpoint::Framing;
use proptest::prelude::*;

const LINE: Rate = Rate::gbps(100);

/// peers.md 3, "HPCC", but for the fields of its header.
const NS3: HpccConfig = HpccConfig {
    react: ReactTo::Ack,
    eta: 0.95,
    max_stage: 0,
    ai: Increase::Rate(Step::PerLine { step: Rate::mbps(40), line: LINE }),
    min_rate: Rate::gbps(1),
    windowing: Windowing::Rate,
    base_rtt: Some(Span::from_ns(12_240)),
    telemetry: Telemetry::Exact,
    stamp: 0, // Its 42 bytes are in the framing of these tests.
};
const PAPER: HpccConfig =
    HpccConfig { max_stage: 5, ai: Increase::Window(Bytes::new(80)), min_rate: Rate::mbps(1), ..NS3 };

fn law(config: HpccConfig) -> HpccLaw {
    config.build(&Env::for_test(
        LINE,
        Span::from_us(10),
        Framing { payload_max: 1000, overhead: 90, wire_min: 60 },
    ))
}

fn hop(left_ns: u64, sent: u64, queued: u64, rate: Rate) -> Hop {
    Hop { left: Time::ZERO + Span::from_ns(left_ns), sent, queued, rate }
}

fn ack(law: &mut HpccLaw, acked: u64, next: u64, hops: &[Hop]) {
    let ack = AckEvent {
        acked: 1000,
        snd_una: acked,
        snd_nxt: next,
        ecn_echo: false,
        rtt: Span::from_us(13),
        hops,
    };
    law.on_ack(&ack, Time::ZERO);
}

#[test]
fn defaults_and_profile_are_the_constants_tested_here() {
    let paper = HpccConfig { max_stage: 0, stamp: 42, min_rate: Rate::mbps(10), base_rtt: None, ..PAPER };
    assert_eq!(HpccParams::default().law(), paper);
    let ns3 = HpccConfig { stamp: 42, base_rtt: None, telemetry: Telemetry::Fields, ..NS3 };
    assert_eq!(profiled::<HpccParams>(&PROFILES[0]).law(), ns3);
}

#[test]
fn it_starts_at_line_rate_with_the_window_of_the_longest_path_peers_md_3() {
    let law = law(NS3);
    assert_eq!((law.rate(), law.window(), law.ai), (LINE, 153_000, Rate::mbps(40)));
}

#[test]
fn an_increase_of_80_bytes_a_round_trip_of_13_us_is_49_mbps() {
    let law = law(HpccConfig { base_rtt: Some(Span::from_us(13)), ..PAPER });
    assert_eq!(law.ai, Rate::bps(49_230_769));
}

#[test]
fn a_full_link_without_a_queue_lowers_the_rate_to_eta_algorithm_1() {
    let mut law = law(NS3);
    ack(&mut law, 1_000, 153_000, &[hop(0, 0, 0, LINE)]);
    assert_eq!(law.rate(), LINE, "the first entries are only stored");
    // One base round trip at line rate: u = 1, tau = T, U = 1, R = 100 / (1 / 0.95) + 0.04.
    ack(&mut law, 2_000, 153_000, &[hop(12_240, 153_000, 0, LINE)]);
    assert_eq!(law.utilisation(), 1.0);
    assert!(law.rate().as_bps().abs_diff(95_040_000_000) <= 1, "{:?}", law.rate());
    assert_eq!(law.reference, LINE, "the reference waits for the end of the round trip");
    assert!(law.window().abs_diff(145_411) <= 1);
}

#[test]
fn a_queue_counts_as_far_as_it_was_there_both_times_and_the_worst_link_counts_algorithm_1() {
    let mut law = law(NS3);
    let fast = Rate::gbps(400);
    ack(&mut law, 1_000, 153_000, &[hop(0, 0, 15_300, LINE), hop(0, 0, 0, fast)]);
    // First link: half of line rate and min(15,300; 30,600) / 153,000 = 0.1: u = 0.6.
    // Second: 400 Gbps at 3/4: u = 0.75, plus nothing, since its queue was empty before.
    let hops = [hop(6_120, 38_250, 30_600, LINE), hop(6_120, 229_500, 99_999, fast)];
    ack(&mut law, 2_000, 153_000, &hops);
    // tau = T / 2: U = (1 + 0.75) / 2.
    assert!((law.utilisation() - 0.875).abs() < 1e-12);
    // Now the queue of the second stands: 99,999 x (100 / 400) / 153,000 on top.
    let hops = [hop(18_360, 38_250, 0, LINE), hop(18_360, 229_500, 122_400, fast)];
    ack(&mut law, 3_000, 153_000, &hops);
    assert!((law.utilisation() - 99_999.0 / 4.0 / 153_000.0).abs() < 1e-12, "tau = T forgets the past");
}

#[test]
fn every_acknowledgement_is_answered_from_the_same_reference_until_the_round_trip_ends() {
    let mut law = law(NS3);
    ack(&mut law, 1_000, 153_000, &[hop(0, 0, 0, LINE)]);
    let mut sent = 0;
    for step in 1..=10 {
        sent += 153_000 * 2;
        ack(&mut law, 1_000 + step, 200_000, &[hop(12_240 * step, sent, 0, LINE)]);
        // U = 2 each time, so R = 100 / (2 / 0.95) + 0.04 each time, and not less and less.
        assert!(law.rate().as_bps().abs_diff(47_540_000_000) <= 1, "{:?}", law.rate());
    }
    ack(&mut law, 153_001, 200_000, &[hop(12_240 * 11, sent + 306_000, 0, LINE)]);
    assert_eq!(law.reference, law.rate());
    ack(&mut law, 153_002, 200_000, &[hop(12_240 * 12, sent + 612_000, 0, LINE)]);
    assert!(law.rate().as_bps().abs_diff(22_621_500_000) <= 2, "{:?}", law.rate());
}

#[test]
fn reacting_once_a_round_trip_ignores_what_comes_between() {
    let mut law = law(HpccConfig { react: ReactTo::RoundTrip, ..NS3 });
    ack(&mut law, 1_000, 153_000, &[hop(0, 0, 0, LINE)]);
    ack(&mut law, 2_000, 153_000, &[hop(12_240, 306_000, 0, LINE)]);
    assert_eq!((law.rate(), law.last[0].sent), (LINE, 0));
    ack(&mut law, 153_001, 200_000, &[hop(24_480, 612_000, 0, LINE)]);
    assert!(law.rate().as_bps().abs_diff(47_540_000_000) <= 1);
}

#[test]
fn an_idle_link_is_filled_by_steps_and_measured_anew_after_max_stage_algorithm_1() {
    let mut law = law(PAPER);
    law.reference = Rate::gbps(10);
    let mut now = 0;
    ack(&mut law, 1, 1, &[hop(now, 0, 0, LINE)]);
    for round in 1..=5 {
        now += 12_240;
        // A tenth of the link: U = 0.1.
        ack(&mut law, round + 1, round + 1, &[hop(now, 15_300 * round, 0, LINE)]);
        assert_eq!(law.rate().as_bps(), 10_000_000_000 + round * law.ai.as_bps());
    }
    now += 12_240;
    let reference = law.reference.as_bps_f64();
    ack(&mut law, 7, 7, &[hop(now, 15_300 * 6, 0, LINE)]);
    let expected = reference * 9.5 + law.ai.as_bps_f64();
    assert!((law.rate().as_bps_f64() - expected).abs() < 10.0, "{:?}, not {expected}", law.rate());
    assert_eq!(law.stage, 0);
}

#[test]
fn a_new_path_and_a_repeated_entry_conclude_nothing() {
    let mut law = law(NS3);
    ack(&mut law, 1_000, 153_000, &[hop(0, 0, 0, LINE)]);
    ack(&mut law, 2_000, 153_000, &[hop(10, 500_000, 0, LINE), hop(10, 0, 0, LINE)]);
    ack(&mut law, 3_000, 153_000, &[hop(10, 500_000, 0, LINE), hop(10, 0, 0, LINE)]);
    ack(&mut law, 4_000, 153_000, &[]);
    assert_eq!((law.utilisation(), law.rate()), (1.0, LINE));
}

#[test]
fn fields_round_down_to_units_of_512_and_320_bytes_at_100_gbps_and_wrap_int_header_h() {
    let law = law(HpccConfig { telemetry: Telemetry::Fields, ..NS3 });
    let units = law.units.unwrap();
    assert_eq!((units.bytes, units.queue, units.own), (512, 320, 1090));
    let read = units.read(&Hop { left: Time::from_ps(83_999), sent: 1_090 + 1_023, queued: 639, rate: LINE });
    assert_eq!((read.left, read.sent, read.queued), (83, 1, 320));
    let (time, bytes) = units.wrap((1 << 24) + 5, (1 << 20) + 7);
    assert_eq!((time, bytes), (Span::from_ns(5), 7 * 512));
}

#[test]
fn after_a_pause_of_17_ms_the_fields_have_wrapped_and_the_law_is_none_the_wiser() {
    let mut law = law(HpccConfig { telemetry: Telemetry::Fields, ..NS3 });
    ack(&mut law, 1_000, 153_000, &[hop(0, 1_090, 0, LINE)]);
    ack(&mut law, 2_000, 153_000, &[hop((1 << 24) + 12_240, 1_090 + 300 * 512, 0, LINE)]);
    assert!((law.utilisation() - 300.0 * 512.0 / 153_000.0).abs() < 1e-12);
}

#[test]
fn going_back_over_a_loss_does_not_bring_the_next_move_of_the_reference_forward() {
    let mut law = law(NS3);
    ack(&mut law, 1_000, 153_000, &[hop(0, 0, 0, LINE)]);
    ack(&mut law, 153_001, 20_000, &[hop(12_240, 306_000, 0, LINE)]);
    let reference = law.reference;
    ack(&mut law, 153_000, 30_000, &[hop(24_480, 612_000, 0, LINE)]);
    assert_eq!(law.reference, reference);
}

#[test]
fn a_steady_flow_of_its_own_settles_at_eta_of_the_link() {
    for telemetry in [Telemetry::Exact, Telemetry::Fields] {
        let mut law = law(HpccConfig { telemetry, ..NS3 });
        let (mut ps, mut sent) = (0u64, 0u64);
        for packet in 1..=40_000u64 {
            ps += LINE.as_bps() * 87_200 / law.rate().as_bps();
            sent += 1_090;
            let hop = Hop { left: Time::from_ps(ps), sent, queued: 0, rate: LINE };
            let next = packet * 1000 + law.window();
            ack(&mut law, packet * 1000, next, &[hop]);
        }
        let share = law.rate().as_bps_f64() / LINE.as_bps_f64();
        assert!((0.94..0.96).contains(&share), "{telemetry}: {share}");
    }
}

proptest! {
    #[test]
    fn whatever_ports_write_the_rate_stays_between_its_limits(
        acks in prop::collection::vec((0..30_000u64, 0..400_000u64, 0..2_000_000u64, 0..3u64), 1..300),
        paper in any::<bool>(), fields in any::<bool>(),
    ) {
        let telemetry = if fields { Telemetry::Fields } else { Telemetry::Exact };
        let config = HpccConfig { telemetry, ..if paper { PAPER } else { NS3 } };
        let mut law = law(config);
        let (mut now, mut total, mut acked) = (0, 0, 0);
        for (ns, sent, queued, packets) in acks {
            (now, total, acked) = (now + ns, total + sent, acked + packets * 1000);
            ack(&mut law, acked, acked + 20_000, &[hop(now, total, queued, LINE)]);
            prop_assert!(law.rate() >= config.min_rate && law.rate() <= LINE, "{law:?}");
            prop_assert!(law.utilisation().is_finite());
        }
    }
}
