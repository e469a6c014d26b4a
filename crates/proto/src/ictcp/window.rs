//! The control law of one connection's receive window (ICTCP sec. 4.3).

use super::quota::{Half, Quota};
use clearway_schema::choice;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

choice! {
    /// The time by which the bytes since the last decision are divided to give a throughput.
    #[derive(Serialize, Deserialize)]
    pub enum Sample {
        /// The time since the last decision.
        Elapsed = "elapsed",
        /// One round-trip time, whatever the time since the last decision (PAC's authors' module). With decisions every
        /// two round trips the throughput comes out up to twice too high.
        PerRtt = "per-rtt",
    }
}

choice! {
    /// The step of a decision at which a window above the average shrinks because little bandwidth is available.
    #[derive(Serialize, Deserialize)]
    pub enum Fairness {
        /// The window shrinks after the other steps, once a slot, if the bandwidth as measured is low.
        Last = "last",
        /// The window shrinks at every decision, instead of the other steps, if the bandwidth left after grants is low.
        /// The bandwidth that it gives up can be granted to others (PAC's authors' module).
        First = "first",
    }
}

choice! {
    /// The condition that ends slow start.
    #[derive(Serialize, Deserialize)]
    pub enum SlowStartEnd {
        /// Slow start ends with the first decision that is not growth, or when the quota does not allow growth. Growth
        /// by a segment starts with the next decision (notes on the paper).
        Any = "any",
        /// Slow start ends only when the quota does not allow doubling. Growth by a segment starts with the same
        /// decision (PAC's authors' module).
        Quota = "quota",
    }
}

/// The constants of the law. The fields without a comment have the names of the parameters of [`super::IctcpParams`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Law {
    pub mss: u64,
    /// The least window, in bytes.
    pub min: u64,
    pub gamma1: f64,
    pub gamma2: f64,
    /// The number of decisions in a row with a large difference after which the window shrinks.
    pub patience: u32,
    /// The weight of the old value in the measured throughput.
    pub beta: f64,
    /// The share of the link below which available bandwidth is scarce and windows above the average shrink.
    pub scarce: f64,
    /// The number of round trips between two decisions.
    pub interval: u32,
    pub sample: Sample,
    pub fairness: Fairness,
    pub slow_start_end: SlowStartEnd,
    /// The length of a pause, in round trips, after which a connection starts anew; 0 for never.
    pub idle: u32,
}

/// The receive window of one connection. It moves by the difference between the throughput that it allows and the
/// throughput measured.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Window {
    /// The window, in bytes.
    rwnd: u64,
    /// The smoothed round-trip time, or the initial value before the first measurement.
    rtt: Span,
    /// True after the first measurement of the round-trip time.
    measured_rtt: bool,
    /// The time of the last decision.
    since: Time,
    /// The time of the last arrival.
    last: Time,
    /// The bytes that arrived since the last decision.
    bytes: u64,
    /// `b_m`, the measured throughput, in bytes per second.
    throughput: f64,
    slow_start: bool,
    /// The number of decisions in a row with a large difference.
    over: u32,
    /// The time at which the window last grew.
    grown_at: Option<Time>,
    /// The slot in which the window last shrank for fairness.
    cut_in: Option<u64>,
}

impl Window {
    /// Makes the window of a new connection: the least window, in slow start.
    pub fn new(law: &Law, rtt: Span, now: Time) -> Window {
        Window {
            rwnd: law.min,
            rtt,
            measured_rtt: false,
            since: now,
            last: now,
            bytes: 0,
            throughput: 0.0,
            slow_start: true,
            over: 0,
            grown_at: None,
            cut_in: None,
        }
    }

    /// Returns the window, in bytes.
    pub fn rwnd(&self) -> u64 {
        self.rwnd
    }

    /// Returns the smoothed round-trip time.
    pub fn rtt(&self) -> Span {
        self.rtt
    }

    /// Records the arrival of a packet, which measured the round-trip time `sample` if it is given. Every `interval`
    /// round trips the window is adjusted; it grows out of `quota`. `average` is the average of the host's windows, in
    /// bytes.
    pub fn arrive(
        &mut self,
        payload: u64,
        sample: Option<Span>,
        law: &Law,
        quota: &mut Quota,
        average: f64,
        now: Time,
    ) {
        let idle = self.rtt.saturating_mul(u64::from(law.idle));
        if law.idle > 0 && now.saturating_since(self.last) > idle {
            // After a pause the connection starts as a new one.
            let (rtt, measured_rtt) = (self.rtt, self.measured_rtt);
            *self = Window { measured_rtt, ..Window::new(law, rtt, now) };
        } else if let Some(sample) = sample {
            self.rtt = if self.measured_rtt {
                Span::from_ps(self.rtt.as_ps() - self.rtt.as_ps() / 8 + sample.as_ps() / 8)
            } else {
                sample
            };
            self.rtt = self.rtt.max(Span::from_ns(1));
            self.measured_rtt = true;
        }
        self.last = now;
        let elapsed = now.saturating_since(self.since);
        if elapsed >= self.rtt.saturating_mul(u64::from(law.interval)) {
            self.adjust(elapsed, law, quota, average, now);
            self.since = now;
            self.bytes = 0;
        }
        self.bytes += payload;
    }

    /// Decides on the window, `elapsed` after the last decision.
    fn adjust(&mut self, elapsed: Span, law: &Law, quota: &mut Quota, average: f64, now: Time) {
        let rtt = self.rtt.as_secs_f64();
        let over = match law.sample {
            Sample::Elapsed => elapsed.as_secs_f64(),
            Sample::PerRtt => rtt,
        };
        let sample = self.bytes as f64 / over;
        // b_m = max(b_s, beta b_m + (1 - beta) b_s); b_e = max(b_m, rwnd / RTT)
        self.throughput = sample.max(law.beta * self.throughput + (1.0 - law.beta) * sample);
        let expected = self.throughput.max(self.rwnd as f64 / rtt);
        let difference = (expected - self.throughput) / expected;
        if law.fairness == Fairness::First && self.yields_first(law, quota, average, rtt) {
            return;
        }
        self.over = if difference > law.gamma2 { self.over + 1 } else { 0 };
        if difference <= law.gamma1 || difference <= law.mss as f64 / self.rwnd as f64 {
            let rested =
                self.grown_at.is_none_or(|at| now.saturating_since(at) >= self.rtt.saturating_mul(2));
            if quota.half() == Half::Grow && rested {
                self.grow(law, quota, rtt, now);
            }
        } else {
            if law.slow_start_end == SlowStartEnd::Any {
                self.slow_start = false;
            }
            if self.over >= law.patience {
                self.over = 0;
                self.shrink(law);
            }
        }
        // Fairness: while bandwidth is scarce, a window above the average shrinks once a slot.
        let fair = law.fairness == Fairness::Last && quota.is_scarce(law.scarce);
        if fair && self.rwnd as f64 > average && self.cut_in != Some(quota.slots()) {
            self.cut_in = Some(quota.slots());
            self.shrink(law);
        }
    }

    /// Lets the window grow if the quota allows: it doubles in slow start, else it grows by a segment.
    fn grow(&mut self, law: &Law, quota: &mut Quota, rtt: f64, now: Time) {
        let mut step = if self.slow_start { self.rwnd } else { law.mss };
        let mut granted = quota.take(step as f64 / rtt);
        if !granted && self.slow_start {
            self.slow_start = false;
            if law.slow_start_end == SlowStartEnd::Quota {
                step = law.mss;
                granted = quota.take(step as f64 / rtt);
            }
        }
        if granted {
            self.rwnd += step;
            self.grown_at = Some(now);
        }
    }

    /// Shrinks the window by a segment, which goes back to the quota, if it is above the average and little bandwidth
    /// is left. Returns true if it did.
    fn yields_first(&mut self, law: &Law, quota: &mut Quota, average: f64, rtt: f64) -> bool {
        let yields = quota.is_left_scarce(law.scarce) && self.rwnd as f64 > average && self.rwnd > law.min;
        if yields {
            self.shrink(law);
            quota.give_back(law.mss as f64 / rtt);
        }
        yields
    }

    /// Shrinks the window by one segment. It is one at a time so that the window's right edge never moves back.
    fn shrink(&mut self, law: &Law) {
        self.rwnd = self.rwnd.saturating_sub(law.mss).max(law.min);
    }
}

#[cfg(test)]
mod tests {
    use super::super::quota::Measure;
    use super::*;
    use clearway_units::Rate;

    const LAW: Law = Law {
        mss: 1000,
        min: 2000,
        gamma1: 0.1,
        gamma2: 0.5,
        patience: 3,
        beta: 0.75,
        scarce: 0.2,
        interval: 1,
        sample: Sample::Elapsed,
        fairness: Fairness::Last,
        slow_start_end: SlowStartEnd::Any,
        idle: 4,
    };
    /// The law of PAC's authors' module.
    const CODE: Law = Law {
        patience: 1,
        beta: 0.2,
        interval: 2,
        sample: Sample::PerRtt,
        fairness: Fairness::First,
        slow_start_end: SlowStartEnd::Quota,
        idle: 0,
        ..LAW
    };
    const RTT: Span = Span::from_us(100);

    struct Bench {
        law: Law,
        window: Window,
        quota: Quota,
        now: Time,
        average: f64,
    }

    impl Bench {
        fn new(segments: u64) -> Bench {
            Bench::under(LAW, segments)
        }

        fn under(law: Law, segments: u64) -> Bench {
            let window = Window { rwnd: segments * 1000, ..Window::new(&law, RTT, Time::ZERO) };
            let quota = Quota::new(Rate::gbps(1), 0.9, RTT, Measure::FirstHalf);
            Bench { law, window, quota, now: Time::ZERO, average: f64::INFINITY }
        }

        /// Decides on `bytes` that arrived within `elapsed`, in a second half with `left` segments per round-trip time
        /// left. Returns the window in segments, and the bandwidth left afterwards in segments per round-trip time.
        fn decide(&mut self, bytes: u64, elapsed: Span, left: u64) -> (u64, u64) {
            let per_rtt = 1000.0 / RTT.as_secs_f64();
            let alpha = left as f64 * per_rtt / 125e6;
            self.quota = Quota::new(Rate::gbps(1), alpha, RTT, Measure::FirstHalf);
            self.quota.advance(Time::ZERO + RTT);
            self.window.bytes = bytes;
            self.window.adjust(elapsed, &self.law, &mut self.quota, self.average, Time::ZERO + RTT * 10);
            let spare = (0..).take_while(|_| self.quota.take(per_rtt * 0.999)).count();
            (self.window.rwnd() / 1000, spare as u64)
        }

        /// Runs a round trip in which `bytes` of the connection and `others` of others arrive. Returns the window in
        /// segments.
        fn round(&mut self, bytes: u64, others: u64) -> u64 {
            self.quota.arrive(bytes + others, RTT, self.now);
            self.window.arrive(bytes, None, &self.law, &mut self.quota, self.average, self.now);
            self.now += RTT;
            self.quota.advance(self.now);
            self.window.arrive(0, None, &self.law, &mut self.quota, self.average, self.now);
            self.window.rwnd() / 1000
        }
    }

    #[test]
    fn in_slow_start_a_used_window_doubles_every_second_round_trip() {
        let mut bench = Bench::new(2);
        let windows: Vec<u64> = (0..5).map(|_| bench.round(bench.window.rwnd(), 0)).collect();
        assert_eq!(windows, [4, 4, 8, 8, 8], "8 segments in 100 us are 80 MB/s; 8 more do not fit");
    }

    #[test]
    fn slow_start_ends_without_quota_and_growth_by_segments_follows() {
        let mut bench = Bench::new(2);
        // 10 of 11.25 KB are in use, so 12.5 MB/s are available; a segment in 100 us is 10 MB/s.
        assert_eq!(bench.round(2000, 8000), 2);
        bench.round(2000, 8000);
        assert_eq!(bench.round(2000, 8000), 3);
    }

    #[test]
    fn a_window_far_above_its_use_shrinks_by_one_segment_every_three_round_trips() {
        let mut bench = Bench::new(10);
        let windows: Vec<u64> = (0..7).map(|_| bench.round(2000, 0)).collect();
        assert_eq!(windows, [10, 10, 9, 9, 9, 8, 8]);
    }

    #[test]
    fn a_difference_between_the_gammas_leaves_the_window() {
        let mut bench = Bench::new(10);
        let windows: Vec<u64> = (0..6).map(|_| bench.round(7000, 0)).collect();
        assert_eq!(windows, [10; 6]);
    }

    #[test]
    fn a_difference_below_one_segment_lets_the_window_grow() {
        let mut bench = Bench::new(4);
        assert_eq!(bench.round(3000, 0), 8, "0.25 is more than gamma1, but it is one segment of four");
    }

    #[test]
    fn a_window_never_shrinks_below_the_least() {
        let mut bench = Bench::new(2);
        assert!((0..20).all(|_| bench.round(100, 0) == 2));
    }

    #[test]
    fn while_bandwidth_is_scarce_windows_above_the_average_shrink_once_a_slot() {
        let mut bench = Bench::new(10);
        bench.average = 5000.0;
        let windows: Vec<u64> = (0..4).map(|_| bench.round(10_000, 2000)).collect();
        assert_eq!(windows, [9, 8, 8, 7]);
    }

    #[test]
    fn after_a_pause_a_connection_starts_anew() {
        let mut bench = Bench::new(2);
        (0..3).for_each(|_| _ = bench.round(bench.window.rwnd(), 0));
        assert_eq!(bench.window.rwnd(), 8000);
        bench.round(1000, 0);
        bench.now += RTT * 5;
        bench.round(1000, 0);
        assert!(bench.window.rwnd() <= 4000);
    }

    #[test]
    fn as_coded_bytes_of_two_round_trips_count_as_one_so_that_a_half_used_window_grows_ictcp_1() {
        // Of 10 segments a little less than 5 are in use: 9.5 arrive in two round trips.
        let grown = |law| Bench::under(law, 10).decide(9500, RTT * 2, 12).0;
        assert_eq!(grown(CODE), 20);
        assert_eq!(
            grown(Law { sample: Sample::Elapsed, ..CODE }),
            9,
            "a difference of half: shrinks at once"
        );
    }

    #[test]
    fn as_coded_a_decision_comes_every_second_round_trip() {
        let mut bench = Bench::under(CODE, 2);
        let mut decided_at = || {
            bench.round(2000, 0);
            bench.window.since.saturating_since(Time::ZERO).as_ps() / RTT.as_ps()
        };
        assert_eq!([(); 5].map(|()| decided_at()), [0, 2, 2, 4, 4]);
    }

    #[test]
    fn as_coded_fairness_goes_by_what_is_left_comes_first_and_gives_the_segment_back_ictcp_2_and_3() {
        // A fifth of the link is 2.5 segments per round trip.
        let decide = |law, segments, average, left| {
            let mut bench = Bench::under(law, segments);
            bench.average = average;
            bench.window.slow_start = false;
            bench.decide(20_000, RTT * 2, left)
        };
        assert_eq!(decide(CODE, 10, 5000.0, 2), (9, 3), "no growth besides, and one segment more for others");
        assert_eq!(decide(CODE, 10, 10_000.0, 2), (11, 1), "not above the average: it grows");
        assert_eq!(decide(CODE, 10, 5000.0, 4), (11, 3), "enough is left: it grows");
        assert_eq!(decide(CODE, 2, 1000.0, 2), (3, 1), "the least window gives nothing");
        let last = Law { fairness: Fairness::Last, ..CODE };
        assert_eq!(decide(last, 10, 5000.0, 2), (10, 1), "one round grows and shrinks");
    }

    #[test]
    fn as_coded_slow_start_ends_with_the_quota_and_a_segment_follows_in_the_same_round_ictcp_4() {
        assert_eq!(
            Bench::under(CODE, 4).decide(4000, RTT * 2, 5),
            (8, 1),
            "doubled, for 4 segments a round trip"
        );
        assert_eq!(Bench::under(CODE, 4).decide(4000, RTT * 2, 3), (5, 2));
        let notes = Law { slow_start_end: SlowStartEnd::Any, ..CODE };
        assert_eq!(Bench::under(notes, 4).decide(4000, RTT * 2, 3), (4, 3));
    }

    #[test]
    fn as_coded_a_large_difference_shrinks_at_once_and_does_not_end_slow_start_ictcp_5() {
        let after = |law| {
            let mut bench = Bench::under(law, 10);
            (bench.decide(1000, RTT * 2, 12).0, bench.window.slow_start)
        };
        assert_eq!(after(CODE), (9, true));
        assert_eq!(after(Law { slow_start_end: SlowStartEnd::Any, patience: 3, ..CODE }), (10, false));
    }

    #[test]
    fn as_coded_a_pause_changes_nothing_ictcp_6() {
        let after = |law| {
            let mut bench = Bench::under(law, 8);
            bench.window.arrive(0, None, &law, &mut bench.quota, f64::INFINITY, Time::ZERO + RTT);
            bench.window.arrive(0, None, &law, &mut bench.quota, f64::INFINITY, Time::ZERO + RTT * 50);
            bench.window.rwnd()
        };
        assert_eq!(after(Law { idle: 4, patience: 100, ..CODE }), 2000);
        assert_eq!(after(Law { patience: 100, ..CODE }), 8000);
    }
}
