//! Tests of the main loop, driven by scripts of arrivals and acknowledgements.

use super::*;
use crate::pac::PhaseTest;

const CONFIG: PacConfig = PacConfig {
    buffer: Bytes::new(10_000),
    floor: Bytes::new(2000),
    adapts: true,
    mss: 1000,
    units: Units::Payload,
    first_trigger: Bytes::new(2000),
    avoidance_growth: true,
    gain: 0.125,
    levels: 2,
    demotion: Bytes::new(20_000),
    discipline: Discipline::RoundRobin,
    blocking: false,
    hold_limit: None,
    correction: Correction::Throughput,
    slow_start_end: SlowStartEnd { test: PhaseTest::Falls, falls: 2, lambda: 0.8, bytes: u64::MAX },
    rtt_method: RttMethod::Handshake,
    rtt_initial: Span::from_us(100),
    interval_min: Span::from_us(1),
    interval_max: Span::from_secs(1000),
    stall: 8,
    patience: Auto::Set(Span::from_ms(1)),
    patience_measured: false,
    line_rate: Rate::gbps(1),
    idle_timeout: Span::from_secs(300),
};

/// A controller under test. Its items are acknowledgement numbers.
struct Bench {
    pac: PacController<u64>,
    now: Time,
}

impl Bench {
    fn new(config: PacConfig) -> Bench {
        Bench { pac: PacController::new(config), now: Time::ZERO }
    }

    fn at_us(&mut self, us: u64) -> &mut Bench {
        self.now = Time::ZERO + Span::from_us(us);
        self.pac.handle_timeout(self.now);
        self
    }

    /// Delivers a segment of 1000 bytes; `end` counts segments.
    fn data(&mut self, flow: u32, end: u64) -> &mut Bench {
        self.arrive(flow, end, false)
    }

    fn arrive(&mut self, flow: u32, end: u64, marked: bool) -> &mut Bench {
        let arrival = Arrival { payload: 1000, end: end * 1000, marked, answers: None };
        self.pac.handle_data(flow, &arrival, self.now);
        self
    }

    /// Delivers a segment that answers the acknowledgement released at `released_us`.
    fn answer(&mut self, flow: u32, end: u64, released_us: u64) -> &mut Bench {
        let answers = Some(Time::ZERO + Span::from_us(released_us));
        let arrival = Arrival { payload: 1000, end: end * 1000, marked: false, answers };
        self.pac.handle_data(flow, &arrival, self.now);
        self
    }

    fn ack(&mut self, flow: u32, number: u64) -> &mut Bench {
        let ack = Ack { number: number * 1000, ecn_echo: false, opens: false };
        self.pac.hold(flow, ack, number, self.now);
        self
    }

    fn syn_ack(&mut self, flow: u32) -> &mut Bench {
        self.pac.hold(flow, Ack { number: 0, ecn_echo: false, opens: true }, 0, self.now);
        self
    }

    fn released(&mut self) -> Vec<(u32, u64)> {
        std::iter::from_fn(|| self.pac.poll_release(self.now)).collect()
    }

    fn dropped(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.pac.poll_dropped()).collect()
    }
}

#[test]
fn acks_leave_while_their_traffic_fits_and_then_wait_for_arrivals_algorithm_1() {
    let mut bench = Bench::new(CONFIG);
    (1..=7).for_each(|flow| _ = bench.ack(flow, 1));
    // Each acknowledgement triggers 1000 + 1000 in slow start; the threshold is 10,000.
    assert_eq!(bench.released(), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]);
    assert_eq!((bench.pac.in_flight(), bench.pac.held()), (10_000, 2));
    bench.at_us(10).data(1, 2);
    assert!(bench.released().is_empty(), "1000 free, 2000 needed");
    bench.data(1, 3);
    assert_eq!(bench.released(), [(6, 1)]);
    assert_eq!(bench.pac.in_flight(), 10_000);
}

#[test]
fn a_trigger_counts_from_the_previous_release_and_not_the_previous_ack_equation_3() {
    let mut bench = Bench::new(CONFIG);
    bench.ack(1, 3);
    assert_eq!(bench.released(), [(1, 3)]);
    assert_eq!(bench.pac.in_flight(), 4000);
    bench.ack(1, 4);
    bench.released();
    assert_eq!(bench.pac.in_flight(), 4000 + 2000);
}

#[test]
fn an_ack_leaves_whatever_it_triggers_if_nothing_is_in_flight_pac_2() {
    let mut bench = Bench::new(CONFIG);
    bench.ack(1, 50).ack(2, 1);
    assert_eq!(bench.released(), [(1, 50)]);
}

#[test]
fn syn_acks_are_held_too_and_trigger_a_first_window_pac_4_and_10() {
    let mut bench = Bench::new(CONFIG);
    (1..=6).for_each(|flow| _ = bench.syn_ack(flow));
    assert_eq!(bench.released().len(), 5);
    bench.syn_ack(6);
    assert_eq!((bench.dropped(), bench.pac.held()), (vec![0], 1), "a repeated one replaces the first");
    bench.syn_ack(1);
    bench.pac.acks.raise(1);
    bench.data(2, 1).data(2, 2);
    assert_eq!(bench.released(), [(6, 0), (1, 0)], "the first window of flow 1 is counted already");
}

#[test]
fn flows_are_served_in_round_robin_and_large_ones_last_section_iii_d() {
    let mut bench = Bench::new(PacConfig { buffer: Bytes::new(1000), floor: Bytes::ZERO, ..CONFIG });
    (1..=21).for_each(|segment| _ = bench.data(1, segment));
    bench.ack(1, 1).ack(1, 2).ack(2, 1).ack(2, 2).ack(3, 1);
    let mut order = Vec::new();
    while bench.pac.held() > 0 {
        order.extend(bench.released());
        bench.data(9, 1).data(9, 2).data(9, 3);
    }
    assert_eq!(order, [(2, 1), (3, 1), (2, 2), (1, 1), (1, 2)]);
}

#[test]
fn a_dequeued_ack_blocks_later_ones_of_higher_priority_only_with_blocking_pac_9() {
    for blocking in [false, true] {
        let mut bench = Bench::new(PacConfig { blocking, ..CONFIG });
        (1..=21).for_each(|segment| _ = bench.data(1, segment));
        bench.ack(2, 6).ack(1, 21);
        assert_eq!(bench.released(), [(2, 6)]);
        bench.ack(3, 1);
        let expected: &[(u32, u64)] = if blocking { &[] } else { &[(3, 1)] };
        assert_eq!(bench.released(), expected);
    }
}

#[test]
fn a_mark_counts_the_smaller_growth_of_congestion_avoidance_section_iii_c() {
    let mut bench = Bench::new(CONFIG);
    bench.syn_ack(1).released();
    bench.ack(1, 2).released();
    assert_eq!(bench.pac.in_flight(), 2000 + 3000);
    bench.arrive(1, 1, true).ack(1, 3);
    bench.released();
    // 4000 bytes are outstanding, so the window grows by 1000 * 1000 / 4000.
    assert_eq!(bench.pac.in_flight(), 4000 + 1000 + 250);
}

#[test]
fn marks_lower_the_threshold_at_the_end_of_the_interval_equation_2() {
    let mut bench = Bench::new(CONFIG);
    bench.at_us(1000).ack(1, 50).released();
    bench.arrive(1, 51, true).data(1, 52);
    assert_eq!(bench.pac.threshold(), 10_000);
    bench.at_us(1100).ack(2, 1);
    assert_eq!(bench.pac.threshold(), 7500);
}

#[test]
fn stale_acks_are_dropped_and_the_rest_goes_first_in_slow_start_section_iii_d() {
    let mut bench = Bench::new(CONFIG);
    (1..=25).for_each(|segment| _ = bench.arrive(1, segment, true));
    bench.ack(9, 8).released();
    bench.ack(1, 23).ack(1, 24).ack(1, 24).ack(1, 25).ack(2, 1);
    assert_eq!(bench.pac.acks.level(1), 1);
    // The sender timed out and repeats data that the held acknowledgement of 24 covers.
    bench.data(1, 24).ack(1, 25);
    assert_eq!(bench.dropped(), [24, 25]);
    assert_eq!(bench.pac.acks.level(1), 0);
    assert_eq!(bench.pac.flows[&1].phase.phase(), Phase::SlowStart);
    bench.pac.in_flight.clear();
    assert_eq!(bench.released(), [(2, 1)], "its traffic fits beside nothing else");
    bench.pac.in_flight.clear();
    assert_eq!(bench.released(), [(1, 23)]);
    bench.pac.in_flight.clear();
    assert_eq!(bench.released(), [(1, 24), (1, 25)]);
}

#[test]
fn duplicates_without_a_retransmission_are_all_kept_pac_12() {
    let mut bench = Bench::new(CONFIG);
    bench.ack(9, 8).released();
    bench.data(1, 1).ack(1, 1).data(1, 3).ack(1, 1).data(1, 4).ack(1, 1);
    assert_eq!((bench.dropped(), bench.pac.held()), (vec![], 3));
}

#[test]
fn a_fall_of_throughput_makes_room_for_traffic_that_never_arrived_equation_6() {
    let mut bench = Bench::new(CONFIG);
    // In each interval of 100 us 10 segments arrive, and releases trigger twice as much.
    for interval in 1..=10 {
        bench.at_us(interval * 100);
        bench.pac.in_flight.settle(u64::MAX);
        bench.pac.in_flight.add(20_000);
        (0..10).for_each(|_| _ = bench.data(1, 1));
    }
    bench.at_us(1100).ack(2, 1);
    assert!(bench.released().is_empty());
    bench.at_us(1150).data(1, 1).data(1, 1);
    // The throughput falls to a fifth of the usual one.
    bench.at_us(1200);
    assert!(bench.pac.in_flight() <= 2000 + 20);
    assert_eq!(bench.released(), [(2, 1)]);
}

#[test]
fn held_acks_leave_after_some_intervals_without_any_arrival() {
    let mut bench = Bench::new(CONFIG);
    bench.ack(1, 50).ack(2, 1);
    assert_eq!(bench.released(), [(1, 50)]);
    let mut intervals = 0;
    while bench.released().is_empty() {
        bench.now = bench.pac.next_timeout();
        bench.pac.handle_timeout(bench.now);
        intervals += 1;
    }
    assert_eq!(intervals, 8);
    assert_eq!(bench.pac.next_timeout(), Time::MAX, "nothing held, no timer");
}

#[test]
fn the_control_interval_is_the_average_round_trip_time_section_iii_c() {
    let mut bench = Bench::new(CONFIG);
    bench.at_us(700).ack(2, 0).released();
    bench.at_us(900).ack(1, 0).released();
    bench.at_us(1000);
    bench.answer(1, 1, 900).answer(2, 1, 700);
    assert_eq!(bench.pac.rtt(), Span::from_us(200));
    drop(bench.pac.finish(2));
    assert_eq!(bench.pac.rtt(), Span::from_us(100));
    drop(bench.pac.finish(1));
    assert_eq!(bench.pac.rtt(), CONFIG.rtt_initial);
}

#[test]
fn data_after_a_pause_does_not_measure_a_round_trip() {
    let rtt_method = RttMethod::Timestamps;
    let mut bench = Bench::new(PacConfig { correction: Correction::Answers, rtt_method, ..CONFIG });
    bench.at_us(1000).ack(1, 1).released();
    bench.at_us(1150).answer(1, 2, 1000).answer(1, 3, 1000);
    assert_eq!(bench.pac.rtt(), Span::from_us(150));
    // All that was triggered has arrived. A second later the application sends again, with the same timestamp.
    bench.at_us(1_001_000).answer(1, 4, 1000);
    assert_eq!(bench.pac.rtt(), Span::from_us(150));
}

#[test]
fn a_finished_flow_returns_its_acks_and_with_answers_its_traffic_is_settled() {
    for (correction, left) in [(Correction::Answers, 2000), (Correction::Throughput, 6000)] {
        let mut bench = Bench::new(PacConfig { correction, ..CONFIG });
        bench.ack(1, 1).ack(2, 3).released();
        assert_eq!(bench.pac.in_flight(), 6000);
        bench.ack(2, 30).ack(2, 31);
        assert!(bench.released().is_empty());
        assert_eq!(bench.pac.finish(2).collect::<Vec<_>>(), [30, 31]);
        assert_eq!((bench.pac.in_flight(), bench.pac.held(), bench.pac.flows()), (left, 0, 1));
    }
}

#[test]
fn with_answers_an_answer_settles_earlier_releases_at_once() {
    let mut bench = Bench::new(PacConfig { correction: Correction::Answers, ..CONFIG });
    bench.at_us(10).ack(1, 1).released();
    bench.at_us(20).ack(1, 2).released();
    assert_eq!(bench.pac.in_flight(), 4000);
    let answers = Some(Time::ZERO + Span::from_us(20));
    bench.at_us(120);
    bench.pac.handle_data(1, &Arrival { payload: 1000, end: 3000, marked: false, answers }, bench.now);
    assert_eq!(bench.pac.in_flight(), 1000, "nothing answered the first release");
}

#[test]
fn with_answers_an_answer_of_one_flow_settles_older_releases_of_others() {
    // With a patience of a second, no release expires in this test.
    let patience = Auto::Set(Span::from_secs(1));
    let mut bench = Bench::new(PacConfig { correction: Correction::Answers, patience, ..CONFIG });
    bench.at_us(10).ack(1, 1).released();
    bench.at_us(110).ack(2, 1).released();
    bench.at_us(210).ack(3, 1).released();
    bench.at_us(300).answer(2, 2, 110);
    assert_eq!(bench.pac.in_flight(), 6000 - 1000, "flow 1's answer may have taken a longer path");
    bench.at_us(310).answer(3, 2, 210);
    assert_eq!(bench.pac.in_flight(), 6000 - 2000 - 2000, "a base round trip later it has not");
}

#[test]
fn with_answers_a_release_without_an_answer_is_settled_in_time() {
    let mut bench = Bench::new(PacConfig { correction: Correction::Answers, ..CONFIG });
    bench.ack(1, 9).ack(2, 1);
    assert_eq!(bench.released(), [(1, 9)]);
    while bench.released().is_empty() {
        bench.now = bench.pac.next_timeout();
        bench.pac.handle_timeout(bench.now);
    }
    assert!(bench.now <= Time::ZERO + Span::from_ms(1), "the configured patience");
}

#[test]
fn patience_of_itself_counts_the_least_round_trip_of_a_flow_only_if_told_to_and_only_where_one_was_measured()
{
    for (patience_measured, round_trip) in [(false, 100), (true, 40)] {
        let (correction, patience, rtt_method) = (Correction::Answers, Auto::Auto, RttMethod::Timestamps);
        let mut bench =
            Bench::new(PacConfig { correction, patience, patience_measured, rtt_method, ..CONFIG });
        bench.at_us(10).ack(1, 1).released();
        // The second round trip is longer, and with it the smoothed one.
        bench.at_us(50).answer(1, 2, 10).at_us(200).answer(1, 3, 10);
        for (at, flow, number, round_trip) in [(1000, 1, 3, round_trip), (2000, 2, 2, 100)] {
            bench.at_us(at).ack(flow, number).released();
            // The line needs 24 us for the traffic of the release.
            assert_eq!(bench.pac.in_flight(), 3000);
            let until = at + 2 * round_trip + 36;
            assert_eq!(bench.at_us(until - 1).pac.in_flight(), 3000);
            assert_eq!(bench.at_us(until).pac.in_flight(), 0, "flow {flow}, measured: {patience_measured}");
        }
    }
}

#[test]
fn silent_flows_are_forgotten_after_five_minutes_section_iv_a() {
    let mut bench = Bench::new(CONFIG);
    bench.at_us(299_000_000).data(1, 1).data(2, 1);
    bench.at_us(400_000_000).data(2, 2);
    bench.at_us(600_000_000).data(3, 1);
    assert_eq!(bench.pac.flows(), 2);
}

/// The settings of the authors' module with a threshold of 10,000 B.
const CODE: PacConfig = PacConfig {
    adapts: false,
    units: Units::Wire,
    avoidance_growth: false,
    discipline: Discipline::Fifo,
    hold_limit: Some(Span::from_ms(10)),
    correction: Correction::LineRate,
    slow_start_end: SlowStartEnd { test: PhaseTest::Falls, falls: 3, lambda: 0.8, bytes: 1 << 20 },
    rtt_method: RttMethod::Timestamps,
    interval_min: Span::from_us(200),
    interval_max: Span::from_ms(1),
    stall: 1_000_000,
    ..CONFIG
};

#[test]
fn the_authors_code_counts_frames_up_and_ip_packets_down_pac_3() {
    let mut bench = Bench::new(CODE);
    bench.ack(1, 1).released();
    assert_eq!(bench.pac.in_flight(), 2 * 1054, "1000 freed and 1000 of growth, each with 54 B of headers");
    bench.data(1, 2);
    assert_eq!(bench.pac.in_flight(), 2 * 1054 - 1040);
    bench.syn_ack(2).released();
    assert_eq!(bench.pac.in_flight(), 2 * 1054 - 1040 + 2 * 1054, "a first window of 2000");
}

#[test]
fn the_authors_code_counts_no_growth_after_a_mark_pac_5() {
    let mut bench = Bench::new(CODE);
    bench.syn_ack(1).released();
    bench.arrive(1, 1, true).arrive(1, 2, true).ack(1, 2);
    let before = bench.pac.in_flight();
    bench.released();
    assert_eq!(bench.pac.in_flight(), before + 2 * 1054);
}

#[test]
fn the_authors_code_holds_no_ack_beyond_ten_milliseconds_pac_2() {
    let mut bench = Bench::new(CODE);
    bench.at_us(10).ack(2, 5).at_us(500).ack(3, 5).ack(2, 6);
    assert_eq!(bench.pac.next_timeout(), Time::ZERO + Span::from_us(700), "the end of an interval");
    // However often the throughput lowers the estimate, there is never room.
    let mut at = |us| {
        bench.at_us(us).pac.in_flight.add(1 << 40);
        bench.released()
    };
    assert!((510..10_010).step_by(100).all(|us| at(us).is_empty()));
    assert_eq!(at(10_009), []);
    assert_eq!(at(10_010), [(2, 5)], "10 ms after it came");
    assert_eq!(at(10_500), [(3, 5), (2, 6)]);
    assert_eq!(bench.pac.next_timeout(), Time::MAX);
}

#[test]
fn a_limit_to_holding_wakes_the_host_in_time_pac_2() {
    let mut bench = Bench::new(PacConfig { hold_limit: Some(Span::from_us(50)), ..CODE });
    bench.at_us(10).ack(2, 5);
    assert_eq!(bench.pac.next_timeout(), Time::ZERO + Span::from_us(60));
}

#[test]
fn the_authors_code_bounds_the_control_interval() {
    for (released, interval) in [(999_950, 200), (999_400, 600), (900_000, 1000)] {
        let mut bench = Bench::new(CODE);
        bench.at_us(released).ack(1, 1).released();
        bench.at_us(1_000_000).answer(1, 2, released);
        bench.at_us(2_000_000).ack(1, 9).ack(1, 30);
        bench.released();
        assert_eq!(bench.pac.interval.1, bench.now + Span::from_us(interval));
    }
}

/// Settings of a host, at a line on which the traffic of a release takes far longer than a round trip.
const AT_A_HOST: PacConfig = PacConfig {
    correction: Correction::Answers,
    rtt_method: RttMethod::Timestamps,
    patience: Auto::Auto,
    patience_measured: true,
    line_rate: Rate::mbps(10),
    ..CONFIG
};

#[test]
fn at_a_host_a_line_that_is_silent_for_two_idle_round_trips_and_an_initial_one_brings_nothing_any_more() {
    for (config, is_settled) in [
        (AT_A_HOST, true),
        (PacConfig { patience_measured: false, ..AT_A_HOST }, false),
        (PacConfig { patience: Auto::Set(Span::from_ms(3)), ..AT_A_HOST }, false),
    ] {
        let mut bench = Bench::new(config);
        bench.at_us(10).ack(1, 1).released();
        bench.at_us(50).answer(1, 2, 10).answer(1, 3, 10);
        bench.at_us(1000).ack(1, 3).ack(2, 9).released();
        assert_eq!((bench.pac.in_flight(), bench.pac.held()), (3000, 1));
        // Data of any flow ends a silence, whenever the host looks.
        bench.now = Time::ZERO + Span::from_us(1250);
        bench.data(3, 1);
        let until = 1250 + 2 * 40 + 100;
        assert_eq!(bench.at_us(until - 1).pac.in_flight(), 3000);
        assert_eq!(bench.at_us(until).pac.in_flight(), if is_settled { 0 } else { 3000 });
        // Longer than two initial round trips and one more, and less than any patience.
        assert_eq!(bench.at_us(until + 270).pac.in_flight(), if is_settled { 0 } else { 3000 });
    }
}

#[test]
fn at_a_host_a_silence_that_began_before_a_release_counts_from_the_release() {
    let mut bench = Bench::new(AT_A_HOST);
    bench.at_us(1000).ack(1, 1).released();
    assert_eq!(bench.at_us(1299).pac.in_flight(), 2000, "two and one of 100 us");
    assert_eq!(bench.at_us(1300).pac.in_flight(), 0);
}

#[test]
fn at_a_host_what_waits_is_looked_at_when_the_silence_has_lasted_long_enough() {
    let interval_min = Span::from_ms(50);
    let mut bench = Bench::new(PacConfig { interval_min, ..AT_A_HOST });
    bench.ack(1, 9).ack(2, 1);
    assert_eq!(bench.released(), [(1, 9)]);
    assert_eq!(bench.pac.next_timeout(), Time::ZERO + Span::from_us(300));
}
