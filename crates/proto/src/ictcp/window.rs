//! The receive window of one connection (ICTCP sec. 4.3).

use super::quota::{Half, Quota};
use clearway_units::{Span, Time};

/// Constants of the law.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Law {
    pub mss: u64,
    /// Least window, in bytes.
    pub min: u64,
    pub gamma1: f64,
    pub gamma2: f64,
    /// Round trips in a row with a large difference before the window shrinks.
    pub patience: u32,
    /// Weight of the old value in the measured throughput.
    pub beta: f64,
    /// Share of the link below which windows above the average shrink.
    pub scarce: f64,
}

/// A receive window, moved by the difference between the throughput that it allows and the throughput measured.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The window, in bytes.
    rwnd: u64,
    rtt: Span,
    measured_rtt: bool,
    since: Time,
    last: Time,
    /// Bytes in this round trip.
    bytes: u64,
    /// `b_m`, in bytes per second.
    throughput: f64,
    slow_start: bool,
    /// Round trips in a row with a large difference.
    over: u32,
    grown_at: Option<Time>,
    cut_in: Option<u64>,
}

impl Window {
    /// A new connection: the least window, in slow start.
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

    /// The window, in bytes.
    pub fn rwnd(&self) -> u64 {
        self.rwnd
    }

    /// Smoothed round-trip time.
    pub fn rtt(&self) -> Span {
        self.rtt
    }

    /// A packet arrived. Once a round trip the window is adjusted, out of `quota`; `average` is that of all windows.
    pub fn arrive(
        &mut self,
        payload: u64,
        sample: Option<Span>,
        law: &Law,
        quota: &mut Quota,
        average: f64,
        now: Time,
    ) {
        if now.saturating_since(self.last) > self.rtt.saturating_mul(4) {
            // After a pause: as a new connection.
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
        if elapsed >= self.rtt {
            self.adjust(elapsed, law, quota, average, now);
            self.since = now;
            self.bytes = 0;
        }
        self.bytes += payload;
    }

    fn adjust(&mut self, elapsed: Span, law: &Law, quota: &mut Quota, average: f64, now: Time) {
        let rtt = self.rtt.as_secs_f64();
        let sample = self.bytes as f64 / elapsed.as_secs_f64();
        // b_m = max(b_s, beta b_m + (1 - beta) b_s); b_e = max(b_m, rwnd / RTT)
        self.throughput = sample.max(law.beta * self.throughput + (1.0 - law.beta) * sample);
        let expected = self.throughput.max(self.rwnd as f64 / rtt);
        let difference = (expected - self.throughput) / expected;
        self.over = if difference > law.gamma2 { self.over + 1 } else { 0 };
        if difference <= law.gamma1 || difference <= law.mss as f64 / self.rwnd as f64 {
            let rested =
                self.grown_at.is_none_or(|at| now.saturating_since(at) >= self.rtt.saturating_mul(2));
            if quota.half() == Half::Grow && rested {
                let step = if self.slow_start { self.rwnd } else { law.mss };
                if quota.take(step as f64 / rtt) {
                    self.rwnd += step;
                    self.grown_at = Some(now);
                } else {
                    self.slow_start = false;
                }
            }
        } else {
            self.slow_start = false;
            if self.over >= law.patience {
                self.over = 0;
                self.shrink(law);
            }
        }
        // Fairness: while little is available, once a slot, at the cost of those that have more than the average.
        if quota.is_scarce(law.scarce) && self.rwnd as f64 > average && self.cut_in != Some(quota.slots()) {
            self.cut_in = Some(quota.slots());
            self.shrink(law);
        }
    }

    /// One segment at a time, so that the window's right edge never moves back.
    fn shrink(&mut self, law: &Law) {
        self.rwnd = self.rwnd.saturating_sub(law.mss).max(law.min);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Rate;

    const LAW: Law =
        Law { mss: 1000, min: 2000, gamma1: 0.1, gamma2: 0.5, patience: 3, beta: 0.75, scarce: 0.2 };
    const RTT: Span = Span::from_us(100);

    struct Bench {
        window: Window,
        quota: Quota,
        now: Time,
        average: f64,
    }

    impl Bench {
        fn new(segments: u64) -> Bench {
            let window = Window { rwnd: segments * 1000, ..Window::new(&LAW, RTT, Time::ZERO) };
            let quota = Quota::new(Rate::gbps(1), 0.9, RTT);
            Bench { window, quota, now: Time::ZERO, average: f64::INFINITY }
        }

        /// A round trip in which `bytes` arrive, while others load the link with `others`.
        fn round(&mut self, bytes: u64, others: u64) -> u64 {
            self.quota.arrive(bytes + others, RTT, self.now);
            self.window.arrive(bytes, None, &LAW, &mut self.quota, self.average, self.now);
            self.now += RTT;
            self.quota.advance(self.now);
            self.window.arrive(0, None, &LAW, &mut self.quota, self.average, self.now);
            self.window.rwnd() / 1000
        }
    }

    #[test]
    fn a_window_that_is_used_doubles_in_slow_start_every_second_round_trip() {
        let mut bench = Bench::new(2);
        let windows: Vec<u64> = (0..5).map(|_| bench.round(bench.window.rwnd(), 0)).collect();
        assert_eq!(windows, [4, 4, 8, 8, 8], "8 segments in 100 us are 80 MB/s; 8 more do not fit");
    }

    #[test]
    fn without_quota_slow_start_ends_and_a_segment_at_a_time_follows() {
        let mut bench = Bench::new(2);
        // 10 of 11.25 KB are in use: 12.5 MB/s are available, a segment in 100 us is 10 MB/s.
        assert_eq!(bench.round(2000, 8000), 2);
        bench.round(2000, 8000);
        assert_eq!(bench.round(2000, 8000), 3);
    }

    #[test]
    fn a_window_far_above_what_is_used_shrinks_after_three_round_trips_by_one_segment() {
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
    fn no_window_is_below_the_least() {
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
}
