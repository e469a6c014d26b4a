//! DCTCP as a law of the rate, as in the HPCC authors' ns-3 code (`rdma-hw.cc`, mode 8): the share of marked
//! acknowledgements of a round trip cuts the rate, and each round trip without a cut adds a step.
//!
//! It is a baseline of theirs, not what anybody runs. For the protocol see [`crate::tcp::dctcp`].

use super::config::rdma_params;
use super::law::{Ack, BuildLaw, RateLaw};
use super::scale::{Window, Windowing, plus, times};
use super::{Cnp, Config, Receiver, Sender};
use crate::endpoint::Env;
use crate::params::{Auto, Profile};
use crate::registry::{Needs, Transport};
use clearway_units::{Rate, Span, Time};

/// Constants of the law.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DctcpConfig {
    /// Weight of the share of marks of one round trip in `alpha`.
    pub g: f64,
    /// `alpha` of a new flow: 1 halves the rate on the first mark.
    pub alpha_initial: f64,
    /// Step up in each round trip without a cut; `None`: a full packet's payload in each base round-trip time.
    pub ai: Option<Rate>,
    /// The rate falls no lower.
    pub min_rate: Rate,
    /// How much may be in flight.
    pub windowing: Windowing,
    /// Base round-trip time of windows; `None`: the path's.
    pub base_rtt: Option<Span>,
}

rdma_params! {
    /// Parameters of `rdma-dctcp`.
    {
    /// Weight `g` of the share of marks of one round trip in `alpha`.
    g: f64 = "0.0625", "0.000001" to "1", "HPCC's ns-3 code; RFC 8257 sec. 4.2";
    /// `alpha` of a new flow: 1 halves the rate on the first mark.
    alpha_initial: f64 = "1", "0" to "1", "HPCC's ns-3 code";
    /// Step up in each round trip without a cut. `auto`: a full packet's payload in each `base_rtt`.
    ai: Auto<Rate> = "auto", "1 bps" to "1.6 Tbps", "HPCC's ns-3 code: 1 KB in 13 us";
    /// The rate falls no lower.
    min_rate: Rate = "10 Mbps", "1 bps" to "1.6 Tbps", "our choice";
    /// How much may be in flight: `none`: any amount; `fixed`: what line rate sends in a base round-trip time; `rate`:
    /// of that, the share that the rate has of line rate.
    windowing: Windowing = "rate", "" to "", "HPCC's ns-3 code";
    /// Base round-trip time. `auto`: that of the path. HPCC's ns-3 code takes the longest of the network (12.24 us
    /// in that of 320 hosts).
    base_rtt: Auto<Span> = "auto", "1 ns" to "1 s", "our choice";
    }
}

/// The constants of HPCC's ns-3 code.
pub const PROFILES: &[Profile] = &[Profile {
    name: "hpcc-ns3",
    doc: "HPCC's ns-3 code, as its authors ran it: 615 Mbps a round trip at any line rate. Set `base_rtt` to the \
          longest of the network",
    values: &[("pacing_grain", "1 ns"), ("ai", "615 Mbps"), ("min_rate", "1 Gbps")],
}];

/// The transport.
pub struct RdmaDctcp;

impl Transport for RdmaDctcp {
    type Params = Params;
    type Sender = Sender<RateDctcp>;
    type Receiver = Receiver;
    const NAME: &'static str = "rdma-dctcp";
    const SUMMARY: &'static str =
        "DCTCP's estimate of marks as a law of the rate, over RDMA: a baseline of HPCC's authors";
    const SOURCE: &'static str = "HPCC's ns-3 code; RFC 8257";
    const PROFILES: &'static [Profile] = PROFILES;
    const COUNTS_NOTICES: bool = true;

    fn needs(params: &Params) -> Needs {
        Needs { lossless: params.lossless, ..Needs::ECN }
    }

    fn sender(params: &Params, env: &Env) -> Sender<RateDctcp> {
        Sender::new(&params.settings(env), env, params.build(env))
    }

    fn receiver(params: &Params, env: &Env) -> Receiver {
        Receiver::new(&params.settings(env), env)
    }
}

impl Params {
    /// The settings of both ends.
    fn settings(&self, env: &Env) -> Config {
        Config { cnp: Cnp::Flag, ..self.config(env) }
    }
}

impl Params {
    /// The law's constants.
    pub fn law(&self) -> DctcpConfig {
        DctcpConfig {
            g: self.g,
            alpha_initial: self.alpha_initial,
            ai: self.ai.set(),
            min_rate: self.min_rate,
            windowing: self.windowing,
            base_rtt: self.base_rtt.set(),
        }
    }
}

impl BuildLaw for Params {
    type Law = RateDctcp;

    fn build(&self, env: &Env) -> RateDctcp {
        self.law().build(env)
    }
}

/// The law of one flow.
#[derive(Clone, Debug)]
pub struct RateDctcp {
    config: DctcpConfig,
    line: Rate,
    min: Rate,
    ai: Rate,
    window: Window,
    payload_max: u64,
    rate: Rate,
    alpha: f64,
    /// Marked acknowledgements since `alpha` moved.
    marked: u64,
    /// Packets whose acknowledgements are expected in this round trip.
    batch: u64,
    /// A round trip ends when more than this is acknowledged; `None` before the first acknowledgement.
    round_end: Option<u64>,
    /// After a cut there is neither another nor an increase until more than this is acknowledged.
    cut_end: Option<u64>,
}

impl BuildLaw for DctcpConfig {
    type Law = RateDctcp;

    fn build(&self, env: &Env) -> RateDctcp {
        let line = env.line_rate;
        let base_rtt = self.base_rtt.unwrap_or(env.base_rtt);
        let payload_max = env.framing.payload_max as u64;
        let one_packet = || Rate::from_bps_f64(payload_max as f64 * 8.0 / base_rtt.as_secs_f64());
        RateDctcp {
            config: *self,
            line,
            min: self.min_rate.min(line),
            ai: self.ai.unwrap_or_else(one_packet),
            window: Window::new(self.windowing, line, base_rtt),
            payload_max,
            rate: line,
            alpha: self.alpha_initial,
            marked: 0,
            batch: 0,
            round_end: None,
            cut_end: None,
        }
    }
}

impl RateDctcp {
    /// The moving average of the share of marked acknowledgements.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Whether this acknowledgement ends a round trip. If so, `alpha` moves.
    fn ends_round(&mut self, ack: &Ack<'_>) -> bool {
        let Some(end) = self.round_end else {
            // The first round trip ends with its first acknowledgement, and its marks count for the next.
            if ack.acked == 0 {
                return false;
            }
            self.round_end = Some(ack.next);
            self.batch = ack.next / self.payload_max + 1;
            return true;
        };
        if ack.acked <= end {
            return false;
        }
        let share = (self.marked as f64 / self.batch as f64).min(1.0);
        self.alpha = (1.0 - self.config.g) * self.alpha + self.config.g * share;
        self.marked = 0;
        self.round_end = Some(ack.next);
        self.batch = ack.next.saturating_sub(ack.acked) / self.payload_max + 1;
        true
    }
}

impl RateLaw for RateDctcp {
    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window.at(self.rate)
    }

    fn on_ack(&mut self, ack: &Ack<'_>, _: Time) {
        self.marked += ack.marked as u64;
        let round = self.ends_round(ack);
        if self.cut_end.is_some_and(|end| ack.acked > end) {
            self.cut_end = None;
        }
        if ack.marked && self.cut_end.is_none() {
            self.rate = times(self.rate, 1.0 - self.alpha / 2.0).max(self.min);
            self.cut_end = Some(ack.next);
        }
        if round && self.cut_end.is_none() {
            self.rate = plus(self.rate, self.ai).min(self.line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParamSet;
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
        Env {
            line_rate: Rate::gbps(100),
            path_rate: Rate::gbps(100),
            base_rtt: Span::from_us(10),
            framing: Framing { payload_max: 1000, overhead: 48, wire_min: 60 },
            established: true,
        }
    }

    fn law() -> RateDctcp {
        NS3.build(&env())
    }

    fn ack(law: &mut RateDctcp, acked: u64, next: u64, marked: bool) {
        let ack = Ack { newly: 1000, acked, next, marked, rtt: Span::from_us(13), hops: &[] };
        law.on_ack(&ack, Time::ZERO);
    }

    /// Parameters under a profile.
    fn profiled(profile: &Profile) -> Params {
        let mut params = Params::default();
        profile.values.iter().for_each(|(name, value)| params.set(name, value).unwrap());
        params
    }

    #[test]
    fn defaults_and_profile_are_the_constants_tested_here() {
        let defaults = DctcpConfig { ai: None, min_rate: Rate::mbps(10), base_rtt: None, ..NS3 };
        assert_eq!(Params::default().law(), defaults);
        assert_eq!(profiled(&PROFILES[0]).law(), DctcpConfig { base_rtt: None, ..NS3 });
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
}
