//! TIMELY: steers by the slope of the round-trip time.
//!
//! Source: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, Algorithm 1; its
//! authors' code as eRPC carries it (for the count of falls); and `rdma-hw.cc` of the HPCC authors' ns-3 code, which
//! differs in when it updates and in when it hurries.
//!
//! # Deviation
//! - The paper measures from the start of a segment to the completion of its last byte, less what the segment takes at
//!   line rate. Here packets are paced one by one, so a measurement is that of the packet whose acknowledgement
//!   completes the segment. What this one packet takes at line rate is not subtracted (0.1 us at 100 Gbps).

use super::config::rdma_params;
use super::law::{Ack, BuildLaw, RateLaw};
use super::scale::{Step, Window, Windowing, plus, times};
use super::{Config, Receiver, Sender};
use crate::endpoint::Env;
use crate::params::{Auto, Profile};
use crate::registry::{Needs, Transport};
use clearway_units::{Bytes, Rate, Span, Time};

crate::choice! {
    /// When the rate is updated.
    pub enum UpdateAt {
        /// Each time that a segment's worth of bytes is acknowledged (the paper).
        Segment = "segment",
        /// Once in a round trip: when data sent after the last update is acknowledged (HPCC's ns-3 code).
        RoundTrip = "round-trip",
    }
}

crate::choice! {
    /// What leads to large steps up.
    pub enum HurryAfter {
        /// Updates in a row, this one included, whose round-trip time is below that of the update before. Below `t_low`
        /// the step is always the small one (the paper; the count is that of its authors' code).
        Slope = "slope",
        /// Steps up in a row before this one, for whatever reason, and all may be large (HPCC's ns-3 code).
        Any = "any",
    }
}

/// Constants of the law, by the paper's names.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimelyConfig {
    /// When the rate is updated.
    pub update: UpdateAt,
    /// Bytes of the flow in a segment.
    pub segment: u64,
    /// Weight of a new difference between round-trip times.
    pub alpha: f64,
    /// Weight of a decrease.
    pub beta: f64,
    /// Round-trip times below this always raise the rate.
    pub t_low: Span,
    /// Round-trip times above this always lower it.
    pub t_high: Span,
    /// What differences are measured in.
    pub min_rtt: Span,
    /// The small step up (`delta`).
    pub ai: Step,
    /// The large step up (`N delta`).
    pub hai: Step,
    /// How many it takes for large steps.
    pub hurry_after: u32,
    /// What is counted for that.
    pub hurry: HurryAfter,
    /// The rate falls no lower.
    pub min_rate: Rate,
    /// How much may be in flight.
    pub windowing: Windowing,
    /// Base round-trip time of windows; `None`: the path's.
    pub base_rtt: Option<Span>,
}

rdma_params! {
    /// Parameters of `timely`.
    {
    /// When the rate is updated. `segment`: each time that `segment` bytes are acknowledged; `round-trip`: once in a
    /// round trip.
    update: UpdateAt = "segment", "" to "", "SIGCOMM'15 sec. 4";
    /// Bytes of the flow in a segment. The paper also has 64 KB.
    segment: Bytes = "16 KB", "1 B" to "1 GB", "SIGCOMM'15 sec. 6";
    /// Weight `alpha` of a new difference between round-trip times. The paper gives no value.
    alpha: f64 = "0.875", "0" to "1", "Zhu et al., CoNEXT'16";
    /// Weight `beta` of a decrease.
    beta: f64 = "0.8", "0" to "1", "SIGCOMM'15 sec. 6";
    /// Round-trip times below this always raise the rate (`T_low`).
    t_low: Span = "50 us", "0 s" to "1 s", "SIGCOMM'15 sec. 6";
    /// Round-trip times above this always lower the rate (`T_high`).
    t_high: Span = "500 us", "1 ns" to "1 s", "SIGCOMM'15 sec. 6";
    /// What differences between round-trip times are measured in.
    min_rtt: Span = "20 us", "1 ns" to "1 s", "Zhu et al., CoNEXT'16";
    /// The small step up (`delta`).
    ai: Rate = "10 Mbps", "1 bps" to "1.6 Tbps", "SIGCOMM'15 sec. 6";
    /// The large step up: five small ones.
    hai: Rate = "50 Mbps", "1 bps" to "1.6 Tbps", "SIGCOMM'15 Algorithm 1";
    /// Line rate for which `ai` and `hai` are given: at others they are scaled in proportion. 0: they hold at any.
    increments_at: Rate = "0 bps", "" to "1.6 Tbps", "our choice: the paper has one line rate";
    /// How many of what `hurry` counts it takes for large steps.
    hurry_after: u32 = "5", "0" to "1000", "SIGCOMM'15 Algorithm 1";
    /// What leads to large steps. `slope`: falls of the round-trip time in a row, but never below `t_low`; `any`: steps
    /// up in a row.
    hurry: HurryAfter = "slope", "" to "", "SIGCOMM'15 Algorithm 1; its authors' code";
    /// Bytes that each data packet carries for a timestamp. Network cards need none; HPCC's ns-3 code has 8.
    timestamp_bytes: u32 = "0", "0" to "1000", "SIGCOMM'15: none";
    /// The rate falls no lower.
    min_rate: Rate = "10 Mbps", "1 bps" to "1.6 Tbps", "our choice: the paper leaves it open";
    /// How much may be in flight: `none`: any amount; `fixed`: what line rate sends in a base round-trip time; `rate`:
    /// of that, the share that the rate has of line rate.
    windowing: Windowing = "none", "" to "", "SIGCOMM'15: none";
    /// Base round-trip time of windows. `auto`: that of the path. HPCC's ns-3 code takes the longest of the network (12.24 us
    /// in that of 320 hosts).
    base_rtt: Auto<Span> = "auto", "1 ns" to "1 s", "our choice";
    }
}

/// The constants of HPCC's ns-3 code.
pub const PROFILES: &[Profile] = &[Profile {
    name: "hpcc-ns3",
    doc: "HPCC's ns-3 code, as its authors ran it: an update a round trip. Increments are given at 100 Gbps and \
          scaled. For its window variant set `windowing = \"rate\"` besides",
    values: &[
        ("pacing_grain", "1 ns"),
        ("update", "round-trip"),
        ("ai", "100 Mbps"),
        ("hai", "500 Mbps"),
        ("increments_at", "100 Gbps"),
        ("hurry", "any"),
        ("timestamp_bytes", "8"),
        ("min_rate", "1 Gbps"),
    ],
}];

/// The transport.
pub struct TimelyTransport;

impl Transport for TimelyTransport {
    type Params = Params;
    type Sender = Sender<Timely>;
    type Receiver = Receiver;
    const NAME: &'static str = "timely";
    const SUMMARY: &'static str = "TIMELY: the slope of the round-trip time sets the rate";
    const SOURCE: &'static str = "SIGCOMM'15";
    const PROFILES: &'static [Profile] = PROFILES;

    fn needs(params: &Params) -> Needs {
        Needs { lossless: params.lossless, ..Needs::NOTHING }
    }

    fn sender(params: &Params, env: &Env) -> Sender<Timely> {
        Sender::new(&params.settings(env), env, params.build(env))
    }

    fn receiver(params: &Params, env: &Env) -> Receiver {
        Receiver::new(&params.settings(env), env)
    }
}

impl Params {
    /// The settings of both ends.
    fn settings(&self, env: &Env) -> Config {
        Config { stamp: self.timestamp_bytes, ..self.config(env) }
    }
}

impl Params {
    /// The law's constants.
    pub fn law(&self) -> TimelyConfig {
        TimelyConfig {
            update: self.update,
            segment: self.segment.get(),
            alpha: self.alpha,
            beta: self.beta,
            t_low: self.t_low,
            t_high: self.t_high,
            min_rtt: self.min_rtt,
            ai: Step::given(self.ai, self.increments_at),
            hai: Step::given(self.hai, self.increments_at),
            hurry_after: self.hurry_after,
            hurry: self.hurry,
            min_rate: self.min_rate,
            windowing: self.windowing,
            base_rtt: self.base_rtt.set(),
        }
    }
}

impl BuildLaw for Params {
    type Law = Timely;

    fn build(&self, env: &Env) -> Timely {
        self.law().build(env)
    }
}

/// The law of one flow.
#[derive(Clone, Debug)]
pub struct Timely {
    config: TimelyConfig,
    line: Rate,
    min: Rate,
    ai: Rate,
    hai: Rate,
    window: Window,
    rate: Rate,
    /// Round-trip time of the last update; `None` before the first.
    last_rtt: Option<Span>,
    /// Smoothed difference between round-trip times, in picoseconds.
    rtt_diff: f64,
    /// What leads to large steps, counted.
    count: u32,
    /// Segment: bytes acknowledged since the last update.
    acked: u64,
    /// Round trip: the next update comes when more than this is acknowledged.
    update_after: u64,
}

impl BuildLaw for TimelyConfig {
    type Law = Timely;

    fn build(&self, env: &Env) -> Timely {
        let line = env.line_rate;
        Timely {
            config: *self,
            line,
            min: self.min_rate.min(line),
            ai: self.ai.at(line),
            hai: self.hai.at(line),
            window: Window::new(self.windowing, line, self.base_rtt.unwrap_or(env.base_rtt)),
            rate: line,
            last_rtt: None,
            rtt_diff: 0.0,
            count: 0,
            acked: 0,
            update_after: 0,
        }
    }
}

impl Timely {
    /// Whether this acknowledgement brings an update. If so, the wait for the next begins.
    fn is_due(&mut self, ack: &Ack<'_>) -> bool {
        match self.config.update {
            UpdateAt::Segment => {
                self.acked += ack.newly;
                let due = self.acked > 0 && (self.last_rtt.is_none() || self.acked >= self.config.segment);
                if due {
                    self.acked = 0;
                }
                due
            }
            UpdateAt::RoundTrip => ack.acked > self.update_after,
        }
    }

    /// Algorithm 1.
    fn update(&mut self, rtt: Span, last: Span) {
        let config = &self.config;
        let new_diff = rtt.as_ps() as f64 - last.as_ps() as f64;
        self.rtt_diff = (1.0 - config.alpha) * self.rtt_diff + config.alpha * new_diff;
        let gradient = self.rtt_diff / config.min_rtt.as_ps() as f64;
        if config.hurry == HurryAfter::Slope {
            self.count = if new_diff < 0.0 { self.count.saturating_add(1) } else { 0 };
        }
        if rtt < config.t_low {
            self.increase(config.hurry == HurryAfter::Any);
        } else if rtt > config.t_high {
            self.decrease(1.0 - config.beta * (1.0 - config.t_high.ratio(rtt)));
        } else if gradient <= 0.0 {
            self.increase(true);
        } else {
            self.decrease((1.0 - config.beta * gradient).max(0.0));
        }
    }

    fn increase(&mut self, may_hurry: bool) {
        let step = if may_hurry && self.count >= self.config.hurry_after { self.hai } else { self.ai };
        if self.config.hurry == HurryAfter::Any {
            self.count = self.count.saturating_add(1);
        }
        self.rate = plus(self.rate, step).min(self.line);
    }

    fn decrease(&mut self, factor: f64) {
        if self.config.hurry == HurryAfter::Any {
            self.count = 0;
        }
        self.rate = times(self.rate, factor).max(self.min);
    }
}

impl RateLaw for Timely {
    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window.at(self.rate)
    }

    fn on_ack(&mut self, ack: &Ack<'_>, _: Time) {
        if !self.is_due(ack) {
            return;
        }
        if let Some(last) = self.last_rtt {
            self.update(ack.rtt, last);
        }
        // While the sender goes back over a loss, `next` may be behind: then ns-3 keeps the old reference.
        if self.config.update == UpdateAt::Segment || ack.next > self.update_after {
            self.update_after = ack.next;
            self.last_rtt = Some(ack.rtt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::UNLIMITED;
    use super::*;
    use crate::ParamSet;
    use crate::endpoint::Framing;
    use proptest::prelude::*;

    /// peers.md 3, "TIMELY".
    const NS3: TimelyConfig = TimelyConfig {
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
        update: UpdateAt::Segment,
        ai: Step::Fixed(Rate::mbps(10)),
        hai: Step::Fixed(Rate::mbps(50)),
        hurry: HurryAfter::Slope,
        min_rate: Rate::mbps(10),
        ..NS3
    };

    fn law(config: TimelyConfig, start: Rate) -> Timely {
        let mut law = config.build(&Env {
            line_rate: Rate::gbps(100),
            path_rate: Rate::gbps(100),
            base_rtt: Span::from_us(10),
            framing: Framing { payload_max: 1000, overhead: 56, wire_min: 60 },
            established: true,
        });
        assert_eq!((law.rate(), law.window()), (Rate::gbps(100), UNLIMITED));
        law.rate = start;
        law
    }

    /// Round-trip times in microseconds, one an update.
    fn updates(law: &mut Timely, rtts: &[f64]) {
        for &us in rtts {
            let (acked, newly) = (law.update_after + 64_000, 64_000);
            let rtt = Span::from_secs_f64(us * 1e-6);
            let ack = Ack { newly, acked, next: acked + 1000, marked: false, rtt, hops: &[] };
            law.on_ack(&ack, Time::ZERO);
        }
    }

    /// Parameters under a profile.
    fn profiled(profile: &Profile) -> Params {
        let mut params = Params::default();
        profile.values.iter().for_each(|(name, value)| params.set(name, value).unwrap());
        params
    }

    #[test]
    fn defaults_and_profile_are_the_constants_tested_here() {
        let defaults = Params::default();
        assert_eq!(defaults.law(), TimelyConfig { segment: 16_000, ..PAPER });
        assert_eq!(profiled(&PROFILES[0]).law(), TimelyConfig { segment: 16_000, ..NS3 });
    }

    #[test]
    fn the_first_round_trip_is_only_measured_and_then_there_is_one_update_a_round_trip() {
        let mut law = law(NS3, Rate::gbps(10));
        let ack =
            |acked, next| Ack { newly: 1000, acked, next, marked: false, rtt: Span::from_us(20), hops: &[] };
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
            let acked = acked * 1000;
            let rtt = Span::from_us(20);
            let ack = Ack { newly: 1000, acked, next: acked + 50_000, marked: false, rtt, hops: &[] };
            law.on_ack(&ack, Time::ZERO);
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
        let back = Ack { newly: 0, acked: end + 1, next: end, marked: false, rtt, hops: &[] };
        law.on_ack(&back, Time::ZERO);
        assert_eq!(law.last_rtt, Some(Span::from_us(100)));
        assert_eq!(law.rtt_diff, 0.875 * 4e6);
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
}
