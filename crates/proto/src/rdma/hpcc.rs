//! HPCC: each acknowledgement tells what the links on the way carried, and the rate follows.
//!
//! Source: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, Algorithm 1; and `rdma-hw.cc` and
//! `int-header.h` of its authors' ns-3 code. The paper sets a window `W` and sends at `W / T`; the code sets a rate `R`
//! and a window in proportion. With `W = R T` and `R_AI = W_AI / T` they are one law, kept here as a rate.
//!
//! # Deviations
//! - A port whose entry has the time of the entry before (nothing passed in between, or the entry came twice) is left
//!   out: the paper's quotient has no value there.
//! - When the list of ports changes its length (a new path), the entry is stored and nothing is concluded from it.

use super::law::{Ack, BuildLaw, RateLaw};
use super::scale::{Step, Window, Windowing, plus};
use crate::endpoint::Env;
use crate::packet::{HOPS_MAX, Hop};
use clearway_units::{Bytes, Rate, Span, Time};

crate::choice! {
    /// What the law reacts to.
    pub enum ReactTo {
        /// Every acknowledgement, against a reference that moves once in a round trip (the paper).
        Ack = "ack",
        /// One acknowledgement in a round trip.
        RoundTrip = "round-trip",
    }
}

crate::choice! {
    /// How finely the law reads what ports wrote.
    pub enum Telemetry {
        /// As it was.
        Exact = "exact",
        /// As it fits the fields of the authors' ns-3 header: time in whole nanoseconds (24 bits), bytes sent in units
        /// of 128 B (20 bits), the queue in units of 80 B; both units times the multiple of 25 Gbps that the line
        /// rate is (`INT_MULTI`). The count of bytes sent leaves the packet itself out.
        Fields = "fields",
    }
}

/// Constants of the law, by the paper's names.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HpccConfig {
    /// What the law reacts to.
    pub react: ReactTo,
    /// Target utilisation.
    pub eta: f64,
    /// Additive increases in a row after which even an idle link is measured anew.
    pub max_stage: u32,
    /// Additive increase.
    pub ai: Increase,
    /// The rate falls no lower.
    pub min_rate: Rate,
    /// How much may be in flight.
    pub windowing: Windowing,
    /// Base round-trip time `T`, the same for all flows of a network; `None`: the path's.
    pub base_rtt: Option<Span>,
    /// How finely the law reads telemetry.
    pub telemetry: Telemetry,
}

/// An additive increase, of the window or of the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Increase {
    /// `W_AI`: of the window.
    Window(Bytes),
    /// `R_AI`: of the rate.
    Rate(Step),
}

/// Line rate for which the units of the ns-3 header are 128 and 80 bytes.
const FIELDS_LINE: u64 = 25_000_000_000;

/// The law of one flow.
#[derive(Clone, Debug)]
pub struct Hpcc {
    config: HpccConfig,
    line: Rate,
    min: Rate,
    ai: Rate,
    window: Window,
    /// `T`, in picoseconds.
    base_rtt: f64,
    units: Option<Units>,
    rate: Rate,
    /// The reference: `W^c / T`.
    reference: Rate,
    /// `U`: normalised bytes in flight, smoothed.
    u: f64,
    stage: u32,
    /// The reference moves when more than this is acknowledged; `None` before the first acknowledgement.
    update_after: Option<u64>,
    last: [Hop; HOPS_MAX],
    hops: usize,
}

/// Units of the ns-3 header.
#[derive(Clone, Copy, Debug)]
struct Units {
    bytes: u64,
    queue: u64,
    /// A full data packet, which the count of bytes sent leaves out.
    own: u64,
}

impl BuildLaw for HpccConfig {
    type Law = Hpcc;

    fn build(&self, env: &Env) -> Hpcc {
        let line = env.line_rate;
        let base_rtt = self.base_rtt.unwrap_or(env.base_rtt).max(Span::from_ps(1));
        let ai = match self.ai {
            Increase::Rate(step) => step.at(line),
            Increase::Window(bytes) => Rate::from_bps_f64(bytes.get() as f64 * 8.0 / base_rtt.as_secs_f64()),
        };
        let multi = (line.as_bps() / FIELDS_LINE).max(1);
        let own = env.framing.wire_max() as u64;
        Hpcc {
            config: *self,
            line,
            min: self.min_rate.min(line),
            ai,
            window: Window::new(self.windowing, line, base_rtt),
            base_rtt: base_rtt.as_ps() as f64,
            units: (self.telemetry == Telemetry::Fields).then_some(Units {
                bytes: 128 * multi,
                queue: 80 * multi,
                own,
            }),
            rate: line,
            reference: line,
            u: 1.0,
            stage: 0,
            update_after: None,
            last: [Hop::default(); HOPS_MAX],
            hops: 0,
        }
    }
}

impl Units {
    /// A hop as the header holds it. Wrapping is left to the differences, which are the same.
    fn read(self, hop: &Hop) -> Hop {
        Hop {
            left: Time::from_ps(hop.left.as_ps() / 1000 * 1000),
            sent: hop.sent.saturating_sub(self.own) / self.bytes * self.bytes,
            queued: hop.queued / self.queue * self.queue,
            rate: hop.rate,
        }
    }

    /// Differences of times and of bytes sent, as fields of 24 and 20 bits show them.
    fn wrap(self, time: Span, bytes: u64) -> (Span, u64) {
        let ns = (time.as_ps() / 1000) & 0xff_ffff;
        (Span::from_ns(ns), ((bytes / self.bytes) & 0xf_ffff) * self.bytes)
    }
}

impl Hpcc {
    /// `U`, the smoothed estimate of the most loaded link: 1 is a full link without a queue.
    pub fn utilisation(&self) -> f64 {
        self.u
    }

    /// Keeps what the ports wrote. Answers whether they are the ports of the entry before.
    fn store(&mut self, hops: &[Hop]) -> bool {
        let same = hops.len() == self.hops;
        self.hops = hops.len();
        for (last, hop) in self.last.iter_mut().zip(hops) {
            *last = self.units.map_or(*hop, |units| units.read(hop));
        }
        same
    }

    /// `MeasureInflight` of Algorithm 1; stores the entries. Answers false if nothing could be concluded.
    fn measure(&mut self, hops: &[Hop]) -> bool {
        let before = self.last;
        if !self.store(hops) {
            return false;
        }
        let mut most: Option<(f64, f64)> = None;
        for (hop, old) in self.last[..self.hops].iter().zip(&before) {
            let (tau, sent) = (hop.left.saturating_since(old.left), hop.sent.saturating_sub(old.sent));
            let (tau, sent) = self.units.map_or((tau, sent), |units| units.wrap(tau, sent));
            if tau.is_zero() || hop.rate.is_zero() {
                continue;
            }
            let link = hop.rate.as_bps_f64();
            let sending = sent as f64 * 8.0 / tau.as_secs_f64() / link;
            // qlen / (B T), by the window at line rate: W = R_max T.
            let queue = hop.queued.min(old.queued) as f64;
            let waiting = queue * self.line.as_bps_f64() / link / self.window.full() as f64;
            let u = sending + waiting;
            if most.is_none_or(|(top, _)| u > top) {
                most = Some((u, tau.as_ps() as f64));
            }
        }
        let Some((u, tau)) = most else { return false };
        let tau = tau.min(self.base_rtt);
        self.u = (self.u * (self.base_rtt - tau) + u * tau) / self.base_rtt;
        true
    }

    /// `ComputeWind` of Algorithm 1, for rates.
    fn compute(&mut self, moves_reference: bool) {
        let c = self.u / self.config.eta;
        let multiplies = c >= 1.0 || self.stage >= self.config.max_stage;
        // An idle link (c = 0) gives an infinite rate, which the cast and the clamp bring to line rate.
        let kept =
            if multiplies { Rate::bps((self.reference.as_bps_f64() / c) as u64) } else { self.reference };
        self.rate = plus(kept, self.ai).clamp(self.min, self.line);
        if moves_reference {
            self.stage = if multiplies { 0 } else { self.stage + 1 };
            self.reference = self.rate;
        }
    }
}

impl RateLaw for Hpcc {
    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window.at(self.rate)
    }

    fn on_ack(&mut self, ack: &Ack<'_>, _: Time) {
        if ack.hops.is_empty() {
            return;
        }
        let Some(after) = self.update_after else {
            if ack.acked > 0 {
                self.store(ack.hops);
                self.update_after = Some(ack.next);
            }
            return;
        };
        let is_update = ack.acked > after;
        if !is_update && self.config.react == ReactTo::RoundTrip {
            return;
        }
        if self.measure(ack.hops) {
            self.compute(is_update);
        }
        if is_update {
            self.update_after = Some(ack.next.max(after));
        }
    }
}

#[cfg(test)]
mod tests {
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
    };
    const PAPER: HpccConfig =
        HpccConfig { max_stage: 5, ai: Increase::Window(Bytes::new(80)), min_rate: Rate::mbps(1), ..NS3 };

    fn law(config: HpccConfig) -> Hpcc {
        config.build(&Env {
            line_rate: LINE,
            path_rate: LINE,
            base_rtt: Span::from_us(10),
            framing: Framing { payload_max: 1000, overhead: 90, wire_min: 60 },
            established: true,
        })
    }

    fn hop(left_ns: u64, sent: u64, queued: u64, rate: Rate) -> Hop {
        Hop { left: Time::ZERO + Span::from_ns(left_ns), sent, queued, rate }
    }

    fn ack(law: &mut Hpcc, acked: u64, next: u64, hops: &[Hop]) {
        let ack = Ack { newly: 1000, acked, next, marked: false, rtt: Span::from_us(13), hops };
        law.on_ack(&ack, Time::ZERO);
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
        let read =
            units.read(&Hop { left: Time::from_ps(83_999), sent: 1_090 + 1_023, queued: 639, rate: LINE });
        assert_eq!((read.left.as_ps(), read.sent, read.queued), (83_000, 512, 320));
        let (time, bytes) = units.wrap(Span::from_ns((1 << 24) + 5), 512 * ((1 << 20) + 7));
        assert_eq!((time, bytes), (Span::from_ns(5), 7 * 512));
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
}
