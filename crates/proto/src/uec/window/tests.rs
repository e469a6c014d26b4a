use super::*;
use crate::endpoint::Framing;
use crate::uec::params::{NsccParams, WindowParams};
use crate::uec::tests::htsim;
use clearway_units::Rate;

const FRAMING: Framing = Framing { payload_max: 4086, overhead: 64, wire_min: 64 };

/// The environment of a flow across pods of the simulator's fat tree, whose links take 1 us.
fn env(gbps: u64) -> Env {
    let rtt = if gbps == 100 { 14_022_720 } else { 12_505_680 };
    Env::for_test(Rate::gbps(gbps), Span::from_ps(rtt), FRAMING)
}

fn config(params: &NsccParams, gbps: u64, is_paced: bool) -> NsccConfig {
    NsccConfig::new(&params.common, &params.window, &env(gbps), is_paced)
}

/// The window of a flow at 100 Gbps.
fn window(params: &NsccParams) -> Nscc {
    Nscc::new(config(params, 100, false), env(100).network_rtt)
}

fn theirs() -> NsccParams {
    htsim()
}

fn standard() -> NsccParams {
    NsccParams::default()
}

fn us(us: f64) -> Span {
    Span::from_secs_f64(us * 1e-6)
}

fn at(time: f64) -> Time {
    Time::ZERO + us(time)
}

/// An acknowledgement at a time, of so many bytes, with a delay.
fn heard(time: f64, new: u64, delay_us: f64, marked: bool) -> Heard {
    let rtt = env(100).network_rtt + us(delay_us);
    let sample = Some(Sample { rtt, lowers: true });
    Heard { now: at(time), new, in_flight: 100_000, sample, marked, penalty: None }
}

#[track_caller]
fn near(ours: f64, theirs: f64) {
    assert!((ours / theirs - 1.0).abs() < 1e-5, "{ours}, not {theirs}");
}

#[test]
fn the_constants_are_those_of_the_simulator_at_both_rates() {
    let columns = [
        (100, 10.51704, 262_926.0, [1.16856, 23_873.7, 716.21, 0.29214], 0.001_591_58),
        (400, 9.37926, 937_926.0, [4.16856, 85_163.7, 2_554.91, 1.04214], 0.005_677_58),
    ];
    for (gbps, target_us, maxwnd, [a, fi, eta, fi_scale], alpha) in columns {
        let config = config(&theirs(), gbps, false);
        assert_eq!(config.target_qdelay, us(target_us));
        near(config.fi / 5.0 / 4086.0, a);
        near(config.fi, fi);
        near(config.eta, eta);
        near(config.fi_scale, fi_scale);
        near(config.alpha, alpha);
        assert_eq!((config.qa_gate, config.adjust_bytes), (8.0, 33_200.0));
        assert_eq!(config.qa_threshold, Some(config.target_qdelay * 4));
        let window = Nscc::new(config, env(gbps).network_rtt);
        near(window.maxwnd(), maxwnd);
        assert_eq!(window.cwnd(), window.maxwnd());
    }
}

/// A window of so many bytes.
fn of(params: &NsccParams, cwnd: f64) -> Nscc {
    let mut window = window(params);
    (window.cwnd, window.adjusted, window.qa_end) = (cwnd, at(99.0), at(1e6));
    window
}

#[test]
fn an_unmarked_answer_below_the_target_adds_in_proportion_once_eight_packets_came() {
    let mut window = of(&theirs(), 100_000.0);
    window.on_ack(&heard(100.0, 16_600, 5.0, false));
    window.on_ack(&heard(100.1, 16_600, 5.0, false));
    assert_eq!(window.cwnd(), 100_000.0, "8 packets are not more than 8");
    window.on_ack(&heard(100.2, 4_150, 5.0, false));
    // alpha x 37350 B x (10.51704 - 5) us over the window.
    near(window.cwnd(), 100_000.0 + 0.001_591_58 * 37_350.0 * 5_517_040.0 / 100_000.0);
}

#[test]
fn an_unmarked_answer_beyond_the_target_adds_the_fair_increase_and_eta_each_period() {
    let mut window = of(&theirs(), 100_000.0);
    window.on_ack(&heard(113.1, 4_150, 12.0, false));
    near(window.cwnd(), 100_000.0 + 23_873.7 * 4_150.0 / 100_000.0 + 716.21);
}

#[test]
fn a_window_without_delay_grows_fast_once_it_arrived_as_a_whole() {
    let mut window = of(&theirs(), 40_000.0);
    for time in [100.0, 100.1, 100.2] {
        window.on_ack(&heard(time, 16_600, 0.5, false));
    }
    // The third one passes the window: 49800 B. What came before added in proportion and is due with it.
    let proportional = 0.001_591_58 * 33_200.0 * (10_517_040.0 - 500_000.0);
    let fast = 40_000.0 + 0.292_14 * 16_600.0;
    near(window.cwnd(), fast + proportional / fast);
    window.on_ack(&heard(100.3, 4_150, 1.5, false));
    assert!(!window.is_fast && window.fast_bytes == 0.0, "a delay ends it");
}

#[test]
fn a_marked_answer_beyond_the_target_cuts_once_a_round_trip_by_the_average_delay() {
    let mut window = of(&theirs(), 200_000.0);
    window.on_ack(&heard(100.0, 4_150, 40.0, true));
    assert_eq!(window.cwnd(), 200_000.0, "the average is still below the target");
    window.average = 20e6;
    window.on_ack(&heard(100.1, 4_150, 20.0, true));
    let cut = 200_000.0 * (1.0 - 0.8 * (20.0 - 10.517_04) / 20.0);
    near(window.cwnd(), cut);
    window.on_ack(&heard(110.0, 4_150, 20.0, true));
    near(window.cwnd(), cut);
    window.average = 1e9;
    window.on_ack(&heard(114.2, 4_150, 20.0, true));
    near(window.cwnd(), cut / 2.0 + 716.21);
    window.on_ack(&heard(114.3, 4_150, 5.0, true));
    near(window.cwnd(), cut / 2.0 + 716.21);
}

#[test]
fn a_shorter_round_trip_lowers_the_base_and_the_largest_window() {
    let mut window = window(&theirs());
    let sample = Some(Sample { rtt: us(10.0), lowers: true });
    window.on_ack(&Heard { sample, ..heard(20.0, 4_150, 0.0, false) });
    assert_eq!(window.base_rtt(), us(10.0));
    near(window.maxwnd(), 187_500.0);
    near(window.cwnd(), 187_500.0);
    let request = Some(Sample { rtt: us(4.0), lowers: false });
    let delay = window.on_ack(&Heard { sample: request, ..heard(21.0, 0, 0.0, false) });
    assert_eq!((window.base_rtt(), delay), (us(10.0), None), "a pull request is no full packet");
}

#[test]
fn cut_packets_take_their_size_off_until_quick_adapt_sets_the_window_to_what_arrived() {
    let mut window = window(&theirs());
    window.on_nack(4_150, us(20.0), false, 200_000, at(20.0));
    near(window.cwnd(), 262_926.0 - 4_150.0);
    let end = window.qa_end;
    assert_eq!(end, at(20.0) + window.base_rtt() + window.config().target_qdelay);
    window.on_ack(&heard(30.0, 8_300, 5.0, true));
    window.on_nack(4_150, us(20.0), false, 150_000, end + Span::from_ps(1));
    assert_eq!(
        window.cwnd(),
        8_300.0,
        "8300 B arrived in the period, less than an eighth of the largest window"
    );
    // What was in flight then is ignored: 150 kB.
    window.on_nack(4_150, us(20.0), false, 145_850, end + us(1.0));
    assert_eq!(window.cwnd(), 8_300.0);
    window.ignored = 150_000;
    window.on_nack(4_150, us(20.0), false, 50_000, end + us(2.0));
    assert_eq!(window.cwnd(), 4_150.0, "and then packets count again");
}

#[test]
fn last_hop_cuts_leave_the_window_of_a_paced_sender_alone() {
    for (is_paced, left) in [(false, 262_926.0 - 4_150.0), (true, 262_926.0)] {
        let mut window = Nscc::new(config(&theirs(), 100, is_paced), env(100).network_rtt);
        window.on_nack(4_150, us(20.0), true, 200_000, at(20.0));
        near(window.cwnd(), left);
    }
}

/// Runs the same on windows of both profiles. Returns the simulator's window and the specification's.
fn both(run: impl Fn(&mut Nscc)) -> [Nscc; 2] {
    [theirs(), standard()].map(|params| {
        let mut window = of(&params, 100_000.0);
        run(&mut window);
        window
    })
}

#[test]
fn ue_1_gains_are_scaled_by_the_whole_packet_or_by_its_payload() {
    let [theirs, ours] = [theirs(), standard()].map(|params| config(&params, 100, false));
    for (theirs, ours) in [(theirs.alpha, ours.alpha), (theirs.fi, ours.fi), (theirs.eta, ours.eta)] {
        near(ours / theirs, 4150.0 / 4086.0);
    }
    assert_eq!(theirs.fi_scale, ours.fi_scale);
}

#[test]
fn ue_3_an_answer_without_a_sample_acts_with_the_average_delay_or_counts_bytes_alone() {
    let [theirs, ours] = both(|window| {
        window.on_ack(&Heard { sample: None, ..heard(120.0, 50_000, 0.0, false) });
    });
    assert!(theirs.cwnd() > 100_000.0);
    assert_eq!((ours.cwnd(), ours.received, ours.achieved), (100_000.0, 50_000.0, 50_000));
}

#[test]
fn ue_4_a_penalty_is_taken_back_or_stays() {
    // Half of what arrived, in the units of each, with a small window in flight.
    let fine =
        |penalty, in_flight| Heard { penalty, in_flight, sample: None, ..heard(100.0, 4_000, 20.0, true) };
    let [mut theirs, mut ours] = [of(&theirs(), 100_000.0), of(&standard(), 100_000.0)];
    theirs.on_ack(&fine(Some(127), 50_000));
    near(theirs.cwnd(), 100_000.0 - 4_000.0 * (1.0 - 127.0 / 255.0));
    ours.on_ack(&fine(Some(64), 50_000));
    assert_eq!(ours.cwnd(), 50_000.0 - 2_000.0);
    ours.on_ack(&fine(Some(127), 50_000));
    assert_eq!(ours.cwnd(), 48_000.0 - 127.0 * 4_000.0 / 128.0);
    let before = theirs.cwnd();
    for window in [&mut theirs, &mut ours] {
        window.on_ack(&fine(None, 50_000));
    }
    assert_eq!(ours.cwnd(), 100_000.0, "the first answer without one brings the window back");
    assert!(theirs.cwnd() <= before);
}

#[test]
fn ue_4_no_increase_comes_with_a_penalty_in_the_specification() {
    let fine = Heard { penalty: Some(1), in_flight: 200_000, ..heard(120.0, 50_000, 5.0, false) };
    let [theirs, ours] = both(|window| {
        window.on_ack(&fine);
    });
    near(ours.cwnd(), 100_000.0 - 50_000.0 / 128.0);
    assert!(theirs.increase == 0.0 && theirs.adjusted == at(120.0), "increases came into force");
}

#[test]
fn ue_5_the_average_is_over_a_round_trip_or_over_samples_without_outliers() {
    let [theirs, ours] = both(|window| {
        window.sampled = at(93.0);
        window.on_ack(&heard(100.0, 4_150, 20.0, true));
    });
    near(theirs.average, 0.0125 * 20e6);
    near(ours.average, 20e6 * 7.0 / 14.022_72);
    let [theirs, ours] = both(|window| {
        window.on_ack(&heard(100.0, 4_150, 20.0, false));
    });
    near(theirs.average, 0.0125 * 0.25 * 14_022_720.0);
    near(ours.average, 20e6);
}

#[test]
fn ue_6_a_period_of_quick_adapt_is_over_at_its_end_or_just_after() {
    let [theirs, ours] = both(|window| {
        window.qa_end = at(100.0);
        window.on_nack(4_150, us(20.0), false, 100_000, at(100.0));
    });
    assert_eq!((theirs.cwnd(), ours.cwnd()), (95_850.0, 4_150.0));
}

#[test]
fn ue_7_delay_alone_sets_off_quick_adapt_always_or_without_trimming_only() {
    let late = |params: &NsccParams| {
        let mut window = of(params, 100_000.0);
        window.qa_end = at(90.0);
        window.on_ack(&heard(100.0, 4_150, 80.0, true));
        window.cwnd()
    };
    let mut untrimmed = standard();
    untrimmed.common.trimming = false;
    assert_eq!(untrimmed.window.target_qdelay.or(Span::ZERO), Span::ZERO, "it follows from trimming");
    assert_eq!([late(&theirs()), late(&untrimmed)], [4_150.0; 2]);
    assert!(late(&standard()) > 40_000.0);
    assert_eq!(config(&untrimmed, 100, false).target_qdelay, env(100).network_rtt);
}

#[test]
fn ue_8_increases_come_into_force_at_the_period_or_after_it_and_only_they_are_held() {
    let period = |window: &mut Nscc| {
        window.adjusted = at(100.0);
        window.on_ack(&heard(114.022_72, 4_150, 12.0, false));
    };
    let [theirs, ours] = both(period);
    assert_eq!(theirs.cwnd(), 100_000.0);
    assert!(ours.cwnd() > 100_000.0);
    let [theirs, ours] = both(|window| {
        window.cwnd = 300_000.0;
        window.on_ack(&heard(100.0, 4_150, 5.0, true));
    });
    near(theirs.cwnd(), 262_926.0);
    assert_eq!(ours.cwnd(), 300_000.0);
}

#[test]
fn ue_9_a_cut_packet_leaves_the_bytes_in_flight_after_quick_adapt_or_before() {
    let [theirs, ours] = both(|window| {
        window.qa_end = at(90.0);
        window.on_nack(4_150, us(20.0), false, 100_000, at(100.0));
    });
    assert_eq!((theirs.to_ignore, ours.to_ignore), (100_000, 95_850));
}

#[test]
fn ue_10_a_last_hop_cut_sets_off_quick_adapt_of_a_paced_sender_or_does_not() {
    let run = |params: &NsccParams| {
        let mut window = Nscc::new(config(params, 100, true), env(100).network_rtt);
        window.qa_end = at(90.0);
        window.on_nack(4_150, us(20.0), true, 100_000, at(100.0));
        assert_eq!(window.ignored, if window.to_ignore > 0 { 0 } else { 4_150 });
        window.cwnd()
    };
    assert_eq!(run(&theirs()), 4_150.0);
    near(run(&standard()), 262_926.0);
}

#[test]
fn ue_12_a_packet_that_timed_out_counts_as_ignored_or_does_not() {
    let [theirs, ours] = both(|window| window.on_timeout(4_150));
    assert_eq!((theirs.ignored, ours.ignored), (0, 4_150));
    assert_eq!((theirs.cwnd(), ours.cwnd()), (95_850.0, 95_850.0));
}

#[test]
fn ue_19_increases_are_counted_in_32_bits_or_in_as_many_as_they_need() {
    // 4 x 4086 B x a x b for 49,800 bytes is above 2^32 at 400 Gbps where the round trip takes 24.5 us.
    let increase = |params: &NsccParams| {
        let env = Env::for_test(Rate::gbps(400), Span::from_ns(24_500), FRAMING);
        let config = NsccConfig::new(&params.common, &params.window, &env, false);
        let mut window = Nscc::new(config, env.network_rtt);
        (window.cwnd, window.adjusted, window.qa_end) = (1e6, at(99.0), at(1e6));
        let sample = Some(Sample { rtt: env.network_rtt + us(1.5), lowers: true });
        let heard = Heard { now: at(100.0), new: 33_200, in_flight: 0, sample, marked: false, penalty: None };
        window.on_ack(&heard);
        window.increase
    };
    let exact = NsccParams { window: WindowParams { increase_wraps: false, ..theirs().window }, ..theirs() };
    let whole = increase(&exact);
    assert!(whole > 4_294_967_296.0, "{whole}");
    assert_eq!(increase(&theirs()), whole - 4_294_967_296.0);
}
