//! Steps of the law, computed by hand.

use super::super::family::profiled;
use super::super::law::UNLIMITED;
use super::*;
use crate::endpoint::Framing;
use proptest::prelude::*;

/// peers.md 3, "TIMELY".
const NS3: TimelyConfig = TimelyConfig {
    variant: Variant::Original,
    start: Start::Line,
    scale_updates: false,
    update: UpdateAt::RoundTrip,
    segment: 64_000,
    alpha: 0.875,
    beta: 0.8,
    t_low: Span::from_us(50),
    t_high: Span::from_us(500),
    min_rtt: Span::from_us(20),
    ai: Step::PerLine { step: Rate::mbps(100), line: Rate::gbps(100) },
    hai: Step::PerLine { step: Rate::mbps(500), line: Rate::gbps(100) },
    hurry_after: 5,
    hurry: HurryAfter::Any,
    min_rate: Rate::gbps(1),
    windowing: Windowing::None,
    base_rtt: None,
};
const PAPER: TimelyConfig = TimelyConfig {
    start: Start::Share,
    scale_updates: true,
    update: UpdateAt::Segment,
    ai: Step::Fixed(Rate::mbps(10)),
    hai: Step::Fixed(Rate::mbps(50)),
    hurry: HurryAfter::Slope,
    min_rate: Rate::mbps(10),
    ..NS3
};

const ENV: Env = Env::for_test(
    Rate::gbps(100),
    Span::from_us(10),
    Framing { payload_max: 1000, overhead: 56, wire_min: 60 },
);

fn law(config: TimelyConfig, start: Rate) -> TimelyLaw {
    let mut law = config.build(&ENV);
    assert_eq!((law.rate(), law.window()), (Rate::gbps(100), UNLIMITED));
    law.rate = start;
    law
}

/// Round-trip times in microseconds, one an update, each a `min_rtt` after the one before.
fn updates(law: &mut TimelyLaw, rtts: &[f64]) {
    for &us in rtts {
        let (acked, newly) = (law.update_after + 64_000, 64_000);
        let rtt = Span::from_secs_f64(us * 1e-6);
        let ack =
            AckEvent { acked: newly, snd_una: acked, snd_nxt: acked + 1000, ecn_echo: false, rtt, hops: &[] };
        law.on_ack(&ack, law.last_update + law.config.min_rtt);
    }
}

#[test]
fn defaults_and_profile_are_the_constants_tested_here() {
    let defaults = TimelyParams::default();
    assert_eq!(defaults.law(), TimelyConfig { segment: 16_000, ..PAPER });
    assert_eq!(profiled::<TimelyParams>(&PROFILES[0]).law(), TimelyConfig { segment: 16_000, ..NS3 });
}

#[test]
fn the_first_round_trip_is_only_measured_and_then_there_is_one_update_a_round_trip() {
    let mut law = law(NS3, Rate::gbps(10));
    let ack = |acked, next| AckEvent {
        acked: 1000,
        snd_una: acked,
        snd_nxt: next,
        ecn_echo: false,
        rtt: Span::from_us(20),
        hops: &[],
    };
    law.on_ack(&ack(1_000, 9_000), Time::ZERO);
    assert_eq!(law.rate(), Rate::gbps(10));
    for acked in 2..=9 {
        law.on_ack(&ack(acked * 1000, 9_000 + acked * 1000), Time::ZERO);
        assert_eq!(law.rate(), Rate::gbps(10), "data of the first round trip");
    }
    law.on_ack(&ack(10_000, 20_000), Time::ZERO);
    assert_eq!(law.rate(), Rate::mbps(10_100));
    law.on_ack(&ack(11_000, 21_000), Time::ZERO);
    assert_eq!(law.rate(), Rate::mbps(10_100), "not before 20,000 is exceeded");
}

#[test]
fn five_increases_of_100_mbps_are_followed_by_increases_of_500_peers_md_3() {
    let mut law = law(NS3, Rate::gbps(10));
    updates(&mut law, &[20.0; 6]);
    assert_eq!(law.rate(), Rate::mbps(10_500));
    updates(&mut law, &[20.0; 2]);
    assert_eq!(law.rate(), Rate::mbps(11_500));
}

#[test]
fn a_flat_round_trip_time_is_no_congestion_and_a_decrease_ends_the_row_of_steps() {
    let mut law = law(NS3, Rate::gbps(10));
    updates(&mut law, &[100.0; 6]);
    assert_eq!(law.rate(), Rate::mbps(10_500));
    updates(&mut law, &[104.0]);
    let rate = law.rate();
    assert!(rate < Rate::mbps(10_500));
    updates(&mut law, &[100.0]);
    assert_eq!(law.rate(), plus(rate, Rate::mbps(100)));
}

#[test]
fn in_the_paper_five_falls_in_a_row_hurry_but_never_below_t_low() {
    let mut law = law(PAPER, Rate::gbps(10));
    let falling: Vec<f64> = (0..21).map(|n| 40.0 - n as f64).collect();
    updates(&mut law, &falling);
    assert_eq!(law.rate(), Rate::mbps(10_200), "20 updates below T_low: 10 Mbps each");
    law.count = 0;
    law.last_rtt = Some(Span::from_us(70));
    updates(&mut law, &[69.0, 68.0, 67.0, 66.0]);
    assert_eq!(law.rate(), Rate::mbps(10_240), "four falls");
    updates(&mut law, &[65.0, 64.0]);
    assert_eq!(law.rate(), Rate::mbps(10_340), "the fifth and the sixth hurry");
    updates(&mut law, &[64.0]);
    assert_eq!(
        law.rate(),
        Rate::mbps(10_350),
        "a flat one does not, though the smoothed slope is below zero"
    );
}

#[test]
fn a_segment_is_an_update_however_many_acknowledgements_it_takes() {
    let mut law = law(PAPER, Rate::gbps(10));
    for acked in 1..=129 {
        let now = Time::ZERO + Span::from_us(acked);
        let acked = acked * 1000;
        let rtt = Span::from_us(20);
        let ack = AckEvent {
            acked: 1000,
            snd_una: acked,
            snd_nxt: acked + 50_000,
            ecn_echo: false,
            rtt,
            hops: &[],
        };
        law.on_ack(&ack, now);
    }
    assert_eq!(law.rate(), Rate::mbps(10_020), "the first packet measures; then two segments of 64 KB");
}

#[test]
fn above_t_high_the_rate_falls_by_the_excess_whatever_the_slope() {
    let mut law = law(NS3, Rate::gbps(10));
    updates(&mut law, &[2000.0, 1000.0]);
    // 1 - 0.8 (1 - 500 / 1000) = 0.6, though the round-trip time halved.
    assert_eq!(law.rate().as_bps(), (10e9 * (1.0 - 0.8 * 0.5)) as u64);
}

#[test]
fn between_the_thresholds_a_positive_slope_lowers_by_its_measure() {
    let mut law = law(NS3, Rate::gbps(10));
    updates(&mut law, &[100.0, 104.0]);
    // d = 0.875 x 4 us, gradient = 3.5 / 20 = 0.175, factor 1 - 0.8 x 0.175 = 0.86.
    assert!(law.rate().as_bps().abs_diff(8_600_000_000) <= 1, "{:?}", law.rate());
    updates(&mut law, &[100.0]);
    // d = 0.125 x 3.5 - 0.875 x 4 < 0: up.
    assert!(law.rate().as_bps().abs_diff(8_700_000_000) <= 1);
    updates(&mut law, &[200.0]);
    assert_eq!(law.rate(), Rate::gbps(1), "a slope of 4: down to the least rate, not below zero");
}

#[test]
fn going_back_over_a_loss_keeps_the_reference_but_moves_the_slope_as_in_ns3() {
    let mut law = law(NS3, Rate::gbps(10));
    updates(&mut law, &[100.0]);
    let (end, rtt) = (law.update_after, Span::from_us(104));
    let back = AckEvent { acked: 0, snd_una: end + 1, snd_nxt: end, ecn_echo: false, rtt, hops: &[] };
    law.on_ack(&back, Time::ZERO);
    assert_eq!(law.last_rtt, Some(Span::from_us(100)));
    assert_eq!(law.rtt_diff, 0.875 * 4e6);
}

/// Two updates with these round-trip times in microseconds, so long after each other; the rate after them.
fn after(config: TimelyConfig, start: Rate, gap: Span, rtts: [f64; 2]) -> Rate {
    let mut law = law(config, start);
    for (number, us) in rtts.into_iter().enumerate() {
        let rtt = Span::from_secs_f64(us * 1e-6);
        let ack =
            AckEvent { acked: 64_000, snd_una: 64_000, snd_nxt: 65_000, ecn_echo: false, rtt, hops: &[] };
        law.on_ack(&ack, Time::ZERO + gap * number as u64);
    }
    law.rate()
}

#[test]
fn steps_and_cuts_shrink_with_the_time_since_the_last_update_timely_2() {
    let start = Rate::gbps(10);
    // A step up of 10 Mbps; a cut by 1 - 0.8 x 0.175 = 0.86; and one by 1 - 0.8 (1 - 500 / 1000) = 0.6.
    let cases = [([20.0, 20.0], 10e6), ([100.0, 104.0], -1.4e9), ([1000.0, 1000.0], -4e9)];
    for (rtts, whole) in cases {
        for (gap_us, share) in [(20, 1.0), (5, 0.25), (500, 1.0)] {
            let rate = after(PAPER, start, Span::from_us(gap_us), rtts);
            let moved = rate.as_bps_f64() - start.as_bps_f64();
            assert!((moved - share * whole).abs() <= 2.0, "{rtts:?} after {gap_us} us: {moved}");
        }
        let config = TimelyConfig { scale_updates: false, ..PAPER };
        let moved = after(config, start, Span::from_us(5), rtts).as_bps_f64() - start.as_bps_f64();
        assert!((moved - whole).abs() <= 2.0, "unscaled: {moved}");
    }
}

#[test]
fn below_t_low_the_rate_climbs_by_delta_each_min_rtt_however_fast_segments_follow_timely_2() {
    // 1 ms at 100 Gbps: a segment of 16 KB each 1.3 us, or each 13 us as at 10 Gbps: 10 Mbps x 1000 / 20 both times.
    for gap_ns in [1300, 13_000] {
        let mut law = law(TimelyConfig { segment: 16_000, ..PAPER }, Rate::gbps(10));
        for number in 0..=1_000_000 / gap_ns {
            let acked = (number + 1) * 16_000;
            let ack = AckEvent {
                acked: 16_000,
                snd_una: acked,
                snd_nxt: acked,
                ecn_echo: false,
                rtt: Span::from_us(20),
                hops: &[],
            };
            law.on_ack(&ack, Time::ZERO + Span::from_ns(gap_ns) * number);
        }
        let climbed = law.rate().as_bps_f64() - 10e9;
        assert!((climbed / 500e6 - 1.0).abs() < 0.02, "{climbed}");
    }
}

#[test]
fn a_flow_starts_with_its_share_of_the_nic_beside_those_that_its_host_sends_already_timely_1() {
    let start = |config: TimelyConfig, host_flows| config.build(&Env { host_flows, ..ENV }).rate();
    assert_eq!(start(PAPER, 0), Rate::gbps(100));
    assert_eq!(start(PAPER, 3), Rate::gbps(25));
    assert_eq!(start(PAPER, 1_000_000), PAPER.min_rate);
    assert_eq!(start(NS3, 3), Rate::gbps(100));
}

/// Flows of patched TIMELY that start at these rates, in Mbps, share a link of 10 Gbps as fluids, with an update each
/// `min_rtt` and no other delay than that of the queue. Their rates in bit/s and the queue in bytes after so many
/// updates.
fn patched_fluid(start_mbps: &[u64], updates: usize) -> (Vec<f64>, f64) {
    let config = TimelyConfig { variant: Variant::Patched, beta: 0.008, ..PAPER };
    let link = Rate::gbps(10);
    let mut flows: Vec<TimelyLaw> = start_mbps.iter().map(|&mbps| law(config, Rate::mbps(mbps))).collect();
    flows.iter_mut().for_each(|flow| flow.line = link);
    let (mut queue, step) = (link.bytes_in(config.t_low).get() as f64, config.min_rtt.as_secs_f64());
    for number in 1..=updates as u64 {
        let rtt = Span::from_secs_f64(queue * 8.0 / link.as_bps_f64());
        for flow in &mut flows {
            let acked = number * 64_000;
            let ack =
                AckEvent { acked: 64_000, snd_una: acked, snd_nxt: acked, ecn_echo: false, rtt, hops: &[] };
            flow.on_ack(&ack, Time::ZERO + config.min_rtt * number);
        }
        let sent: f64 = flows.iter().map(|flow| flow.rate().as_bps_f64()).sum();
        queue = (queue + (sent - link.as_bps_f64()) * step / 8.0).max(0.0);
    }
    (flows.iter().map(|flow| flow.rate().as_bps_f64()).collect(), queue)
}

#[test]
fn patched_the_queue_settles_at_the_fixed_point_of_conext_16() {
    // q* = q' + N delta q' / (beta C) with q' = C T_low = 62.5 KB: 78 KB, 141 KB, 375 KB.
    for (flows, expected) in [(2, 78_125.0), (10, 140_625.0), (40, 375_000.0)] {
        let (_, queue) = patched_fluid(&vec![10_000 / flows; flows as usize], 20_000);
        assert!((queue / expected - 1.0).abs() < 0.01, "{flows} flows: {queue} bytes instead of {expected}");
    }
}

#[test]
fn patched_two_flows_from_7_and_3_gbps_converge_conext_16() {
    let gap = |updates| {
        let (rates, _) = patched_fluid(&[7000, 3000], updates);
        (rates[0] - rates[1]).abs()
    };
    let gaps: Vec<f64> = [0, 2000, 4000, 20_000].into_iter().map(gap).collect();
    assert_eq!(gaps[0], 4e9);
    assert!(gaps[1] < 0.5 * gaps[0] && gaps[2] < 0.5 * gaps[1] && gaps[3] < 1e7, "{gaps:?}");
}

#[test]
fn patched_slope_and_distance_weigh_in_by_the_formula_of_conext_16() {
    let config = TimelyConfig { variant: Variant::Patched, beta: 0.008, ..PAPER };
    let moved = |rtts| after(config, Rate::gbps(10), Span::from_us(20), rtts).as_bps_f64() - 10e9;
    // Flat at 100 us: w = 1/2, error 1. Up by 40 us: w = 1, error 1.4. Down by 40 us: w = 0.
    assert!((moved([100.0, 100.0]) - (5e6 - 0.008 * 0.5 * 10e9)).abs() <= 2.0);
    assert!((moved([80.0, 120.0]) + 0.008 * 1.4 * 10e9).abs() <= 2.0);
    assert!((moved([120.0, 80.0]) - 10e6).abs() <= 2.0);
    assert!((moved([20.0, 20.0]) - 10e6).abs() <= 2.0);
}

proptest! {
    #[test]
    fn whatever_is_measured_the_rate_stays_between_its_limits(
        rtts in prop::collection::vec(0.001..3000.0f64, 1..300), paper in any::<bool>(),
    ) {
        let config = if paper { PAPER } else { NS3 };
        let mut law = law(config, Rate::gbps(100));
        for rtt in rtts {
            updates(&mut law, &[rtt]);
            prop_assert!(law.rate() >= config.min_rate && law.rate() <= Rate::gbps(100));
        }
    }

    #[test]
    fn low_round_trips_bring_any_rate_back_to_line_rate(start in 1_000_000_000..100_000_000_000u64) {
        let mut law = law(NS3, Rate::bps(start));
        updates(&mut law, &[20.0; 250]);
        prop_assert_eq!(law.rate(), Rate::gbps(100));
    }
}
