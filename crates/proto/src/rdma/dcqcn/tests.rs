//! Steps of the law, computed by hand.

use super::super::family::profiled;
use super::super::law::UNLIMITED;
use super::super::scale::{Step, Windowing};
use super::*;
use crate::endpoint::Framing;
use crate::rdma::law::{AckEvent, BuildLaw, RateLaw};
use crate::rdma::scale::plus;
use clearway_units::Time;
use proptest::prelude::*;

/// The paper's table of parameters, with increments as they are at any line rate.
const PAPER: DcqcnConfig = DcqcnConfig {
    reaction: Reaction::OnCnp,
    notice: Notice::Cnp,
    g: 1.0 / 256.0,
    alpha_initial: 1.0,
    alpha_from: AlphaFrom::Notification,
    alpha_period: Span::from_us(55),
    decrease_interval: Span::ZERO,
    clamp_target: true,
    increase_timer: Span::from_us(55),
    byte_counter: Some(10_000_000),
    fast_recovery: 5,
    ai: Step::Fixed(Rate::mbps(40)),
    hai: Step::Fixed(Rate::mbps(400)),
    hyper: Hyper::Growing,
    min_rate: Rate::mbps(100),
    windowing: Windowing::None,
    base_rtt: None,
};
/// peers.md 3, "DCQCN".
const NS3: DcqcnConfig = DcqcnConfig {
    reaction: Reaction::Ticks,
    notice: Notice::MarkedAck,
    alpha_period: Span::from_us(1),
    decrease_interval: Span::from_us(4),
    clamp_target: false,
    increase_timer: Span::from_us(300),
    byte_counter: None,
    fast_recovery: 1,
    ai: Step::PerLine { step: Rate::mbps(20), line: Rate::gbps(100) },
    hai: Step::PerLine { step: Rate::mbps(200), line: Rate::gbps(100) },
    hyper: Hyper::Constant,
    min_rate: Rate::gbps(1),
    ..PAPER
};

fn law(config: DcqcnConfig) -> DcqcnLaw {
    config.build(&Env::for_test(
        Rate::gbps(100),
        Span::from_us(10),
        Framing { payload_max: 1000, overhead: 48, wire_min: 60 },
    ))
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn marked(law: &mut DcqcnLaw, now: Time) {
    law.on_ack(
        &AckEvent {
            acked: 1000,
            snd_una: 1000,
            snd_nxt: 2000,
            ecn_echo: true,
            rtt: Span::from_us(10),
            hops: &[],
        },
        now,
    );
}

/// Runs the law's own timers up to `until`.
fn run(law: &mut DcqcnLaw, until: Time) {
    while law.next_timeout() <= until {
        let now = law.next_timeout();
        law.on_timeout(now);
        assert!(law.next_timeout() > now, "time must go on");
    }
}

#[test]
fn defaults_are_the_papers_and_the_profile_is_hpccs_code() {
    let defaults = DcqcnConfig { min_rate: Rate::mbps(100), ..DcqcnParams::default().law() };
    assert_eq!(defaults, PAPER, "the tests here have another least rate");
    assert_eq!(profiled::<DcqcnParams>(&PROFILES[0]).law(), NS3);
}

#[test]
fn a_notification_cuts_by_half_of_alpha_and_then_alpha_rises_eq_1() {
    let mut law = law(PAPER);
    assert_eq!((law.rate(), law.window(), law.next_timeout()), (Rate::gbps(100), UNLIMITED, Time::MAX));
    law.on_cnp(at(10));
    assert_eq!((law.rate(), law.target()), (Rate::gbps(50), Rate::gbps(100)));
    assert_eq!(law.alpha(), 1.0, "(1 - g) 1 + g");
    // Two periods without: alpha falls twice, then the next cut.
    law.on_cnp(at(10 + 120));
    let alpha = (255.0f64 / 256.0).powi(2);
    // Increases at 65 and 120 us: fast recovery, half of the way to 100 Gbps each.
    assert_eq!(law.target(), Rate::mbps(87_500));
    assert_eq!(law.rate().as_bps(), (87.5e9 * (1.0 - alpha / 2.0)) as u64);
    assert_eq!(law.alpha(), (255.0 / 256.0) * alpha + 1.0 / 256.0);
}

#[test]
fn a_growing_hyper_increase_adds_its_step_once_then_twice_and_halves_both_periods_dcqcn_3() {
    let mut law = law(DcqcnConfig { byte_counter: Some(1_000), ..PAPER });
    law.on_cnp(at(0));
    law.on_cnp(at(0));
    let target = law.target();
    // Five steps of either kind: fast recovery, as the greater count says, then additive for those by bytes.
    run(&mut law, at(275));
    for _ in 0..5 {
        law.on_sent(1_000, at(275));
    }
    assert_eq!(law.target(), plus(target, Rate::mbps(40 * 5)));
    // Both have five behind them: the first hyper step, by time, adds R_HAI; the next may come after half of T.
    run(&mut law, at(330));
    assert_eq!(law.target(), plus(target, Rate::mbps(200 + 400)));
    assert_eq!(law.next_timeout(), at(330) + Span::from_ns(27_500));
    // The lesser count, that of bytes, is still five: again R_HAI, and then half of B suffices.
    law.on_sent(1_000, at(331));
    assert_eq!(law.target(), plus(target, Rate::mbps(200 + 800)));
    law.on_sent(500, at(332));
    assert_eq!(law.target(), plus(target, Rate::mbps(200 + 800 + 800)), "six of both: i = 2");
}

#[test]
fn recovery_is_fast_five_times_then_additive_then_hyper_once_both_counters_are_past_five() {
    let mut law = law(DcqcnConfig { byte_counter: Some(1_000), hyper: Hyper::Constant, ..PAPER });
    law.on_cnp(at(0));
    let mut rate = 50e9f64;
    for step in 1..=5 {
        run(&mut law, at(55 * step));
        rate = (rate + 100e9) / 2.0;
        assert_eq!(law.rate().as_bps_f64(), rate);
    }
    // The target is line rate here: cut again, so that it can rise.
    law.on_cnp(at(280));
    let target = law.target();
    run(&mut law, at(280 + 55 * 5));
    assert_eq!(law.target(), target, "fast recovery leaves the target");
    run(&mut law, at(280 + 55 * 6));
    assert_eq!(law.target(), plus(target, Rate::mbps(40)), "the sixth adds R_AI");
    // Time is far; bytes have 0 increases behind them: additive until they have more than 5 as well.
    for _ in 0..6 {
        law.on_sent(1_000, at(280 + 55 * 6 + 1));
    }
    assert_eq!(law.target(), plus(target, Rate::mbps(40 * 7)));
    law.on_sent(1_000, at(280 + 55 * 6 + 1));
    assert_eq!(law.target(), plus(target, Rate::mbps(40 * 7 + 400)), "now both are past five: R_HAI");
}

#[test]
fn notifications_within_the_decrease_interval_are_not_heard() {
    let mut law = law(DcqcnConfig { decrease_interval: Span::from_us(50), ..PAPER });
    law.on_cnp(at(0));
    law.on_cnp(at(49));
    assert_eq!(law.rate(), Rate::gbps(50));
    law.on_cnp(at(50));
    assert_eq!(law.rate(), Rate::gbps(25));
}

#[test]
fn ns3_cuts_at_the_first_tick_after_the_first_notification_and_every_4_us_peers_md_3() {
    let mut law = law(NS3);
    law.on_cnp(at(1));
    assert_eq!(law.next_timeout(), Time::MAX, "it listens to acknowledgements");
    marked(&mut law, at(10));
    assert_eq!((law.rate(), law.next_timeout()), (Rate::gbps(100), at(14) + Span::from_ns(1)));
    run(&mut law, at(15));
    // alpha moved at 11, 12, 13 and 14 us, without a further notification.
    let g = 1.0 / 256.0f64;
    let alpha = (0..4).fold(1.0, |alpha, _| (1.0 - g) * alpha);
    assert_eq!(law.rate().as_bps(), (100e9 * (1.0 - alpha / 2.0)) as u64);
    assert_eq!(law.target(), Rate::gbps(100));
    // Nothing at 18; a notification at 19.5 counts for alpha at 20, and for the cut at 22.
    let rate = law.rate();
    marked(&mut law, at(19) + Span::from_ns(500));
    assert_eq!(law.next_timeout(), at(22) + Span::from_ns(1));
    run(&mut law, at(23));
    let alpha = (0..5).fold(alpha, |alpha, _| (1.0 - g) * alpha); // 15 to 19
    let alpha = (1.0 - g) * alpha + g; // 20
    let alpha = (0..2).fold(alpha, |alpha, _| (1.0 - g) * alpha); // 21, 22
    assert_eq!(law.alpha(), alpha);
    assert_eq!(law.rate().as_bps(), (rate.as_bps_f64() * (1.0 - alpha / 2.0)) as u64);
    assert_eq!(law.target(), Rate::gbps(100), "CLAMP_TARGET_RATE 0: no increase since the last cut");
}

#[test]
fn ns3_recovers_by_one_fast_step_one_additive_and_hyper_steps_300_us_apart_peers_md_3() {
    let mut law = law(NS3);
    marked(&mut law, at(0));
    run(&mut law, at(5));
    let cut_at = at(4) + Span::from_ns(1);
    let first = law.rate().as_bps();
    run(&mut law, cut_at + Span::from_us(300));
    let fast = first / 2 + 50_000_000_000;
    assert_eq!(law.rate().as_bps(), fast);
    // Now a cut takes the target along; after it one fast step, then 20 Mb/s, then 200 Mb/s each.
    marked(&mut law, at(305));
    run(&mut law, at(309));
    assert_eq!(law.target().as_bps(), fast);
    let cut_at = law.next_timeout() - Span::from_us(300);
    run(&mut law, cut_at + Span::from_us(300));
    assert_eq!(law.target().as_bps(), fast);
    run(&mut law, cut_at + Span::from_us(600));
    assert_eq!(law.target().as_bps(), fast + 20_000_000);
    run(&mut law, cut_at + Span::from_us(900));
    assert_eq!(law.target().as_bps(), fast + 220_000_000);
}

#[test]
fn an_increase_of_the_least_rate_is_no_step_to_nothing() {
    for least in [1, 3, 1_000_001] {
        let slow = DcqcnConfig { min_rate: Rate::bps(least), ..PAPER };
        let mut law = law(slow);
        // A cut each microsecond, which halves the rate, until it is the least one.
        (0..200).for_each(|us| law.on_cnp(at(us)));
        assert_eq!((law.rate(), law.target()), (Rate::bps(least), Rate::bps(least)));
        // Fast recovery moves half of the way from the rate to an equal target.
        law.on_timeout(at(200 + 55));
        assert_eq!(law.rate(), Rate::bps(least));
    }
}

#[test]
fn where_an_increase_and_a_cut_fall_together_the_increase_comes_first_as_in_ns3() {
    let mut law = law(NS3);
    marked(&mut law, at(0));
    run(&mut law, at(5));
    let first = law.rate().as_bps();
    // The increase is due 300 us after the cut, and so is the 75th look for a cut.
    marked(&mut law, at(303));
    assert_eq!(law.next_timeout(), at(304) + Span::from_ns(1));
    run(&mut law, at(305));
    let risen = first / 2 + 50_000_000_000;
    assert_eq!(law.target().as_bps(), risen);
    assert!(law.rate().as_bps() < risen);
}

#[test]
fn bytes_of_several_packets_make_an_increase() {
    let mut law = law(DcqcnConfig { byte_counter: Some(2_500), ..PAPER });
    law.on_sent(5_000, at(0));
    law.on_cnp(at(1));
    (0..2).for_each(|_| law.on_sent(1_000, at(2)));
    assert_eq!(law.rate(), Rate::gbps(50), "what was sent before the cut does not count");
    law.on_sent(1_000, at(2));
    assert_eq!(law.rate(), Rate::gbps(75));
    law.on_sent(2_000, at(2));
    assert_eq!(law.rate(), Rate::gbps(75), "the counter starts again from 2,500");
}

#[test]
fn a_rate_left_alone_comes_back_to_line_rate_and_then_needs_no_timer() {
    for config in [PAPER, NS3] {
        let mut law = law(config);
        for us in 0..100 {
            marked(&mut law, at(us * 10));
            law.on_cnp(at(us * 10));
        }
        run(&mut law, at(1_010));
        assert!(law.rate() < Rate::gbps(2));
        run(&mut law, at(1_000_000));
        assert!(law.rate().as_bps() + 2 >= 100_000_000_000, "{:?}", law.rate());
        assert_eq!(law.next_timeout(), Time::MAX, "an idle flow costs no events");
    }
}

#[test]
fn alpha_forgets_after_a_long_silence_at_no_cost_but_its_ticks_keep_their_phase() {
    let mut law = law(NS3);
    marked(&mut law, at(0));
    run(&mut law, at(10));
    marked(&mut law, Time::ZERO + Span::from_ns(60_000_000_500));
    assert_eq!(law.alpha(), 0.0);
    assert_eq!(law.alpha_at, at(60_000_001));
    assert_eq!(law.next_timeout(), at(60_000_004) + Span::from_ns(1), "15 million intervals of 4 us later");
}

#[test]
fn with_alpha_from_the_start_a_flow_never_notified_is_cut_little() {
    let mut law = law(DcqcnConfig { alpha_from: AlphaFrom::Start, alpha_period: Span::from_us(1), ..PAPER });
    law.on_sent(1_048, at(0));
    law.on_sent(1_048, at(100));
    law.on_cnp(at(600));
    // 600 periods of 1 us without a notification: alpha = (255/256)^600.
    let alpha = (255.0_f64 / 256.0).powi(600);
    let expected = 100e9 * (1.0 - alpha / 2.0);
    assert!((law.rate().as_bps_f64() - expected).abs() < 1e3, "{:?}", law.rate());
    assert!((alpha - 0.0955).abs() < 1e-4);
    assert!((law.alpha() - (alpha * 255.0 / 256.0 + 1.0 / 256.0)).abs() < 1e-12);
}

proptest! {
    #[test]
    fn whatever_comes_the_rate_stays_between_its_limits_and_time_goes_on(
        inputs in prop::collection::vec((0..4u8, 0..2_000_000u64), 1..400), paper in any::<bool>(),
    ) {
        let config = if paper { PAPER } else { NS3 };
        let mut law = law(config);
        let mut now = Time::ZERO;
        for (input, ns) in inputs {
            now += Span::from_ns(ns / 10);
            match input {
                0 => marked(&mut law, now),
                1 => law.on_cnp(now),
                2 => law.on_sent(1_048, now),
                _ => run(&mut law, now),
            }
            prop_assert!(law.rate() >= config.min_rate && law.rate() <= Rate::gbps(100), "{law:?}");
            prop_assert!(law.target() >= law.rate() && law.target() <= Rate::gbps(100), "{law:?}");
            prop_assert!((0.0..=1.0).contains(&law.alpha()));
        }
    }
}
