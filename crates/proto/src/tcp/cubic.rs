//! CUBIC: the window grows with the cube of the time since the last congestion (RFC 9438).

use super::config::TcpParams;
use super::controller::{AckEvent, CongestionEvent, Controller, Limits, Phase, RestartEvent};
use super::{Config, Ecn, Receiver, Sender};
use crate::agent::NoAgent;
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::{MarkingNeeds, Needs};
use crate::transport::{Checked, Transport};
use clearway_schema::{Profile, declare};
use clearway_units::Time;
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters of `cubic`.
    pub struct CubicParams {
        /// If true, flows take part in ECN as RFC 3168 says: marks cut the window by `beta`, once per window.
        ecn: bool = "false" from "RFC 3168; off as in the papers' baselines";
        /// The aggressiveness of growth (`C`), in segments per second cubed.
        c: f64 = "0.4" in "0.000001" to "1000000000" from "RFC 9438 sec. 5.1";
        /// The factor by which the window shrinks at congestion.
        beta: f64 = "0.7" in "0.01" to "0.99" from "RFC 9438 sec. 4.6";
        /// If true, a flow whose window shrank since the last time remembers less than the window reached, which leaves
        /// room for new flows.
        fast_convergence: bool = "true" from "RFC 9438 sec. 4.7";
        /// If true, the window grows at least as Reno's would.
        reno_friendly: bool = "true" from "RFC 9438 sec. 4.3";
        ..tcp: TcpParams;
    }
}

/// The transport `cubic`.
pub struct Cubic;

impl Transport for Cubic {
    type Params = CubicParams;
    type Sender = Sender<CubicController>;
    type Receiver = Receiver;
    type Agent = NoAgent;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "cubic";
    const SUMMARY: &'static str =
        "TCP CUBIC: the window grows with the cube of the time since the last congestion";
    const SOURCE: &'static str = "RFC 9438";
    const CHECKED: Checked =
        Checked::Paper("Held against the text of RFC 9438's last draft, section by section.");
    const PROFILES: &'static [Profile] = super::config::PROFILES;

    fn needs(params: &CubicParams) -> Needs {
        let marking = params.ecn.then_some(MarkingNeeds::Step);
        Needs { marking, ..params.tcp.needs() }
    }

    fn sender(params: &CubicParams, env: &Env) -> Sender<CubicController> {
        let config = config(params);
        Sender::new(&config, env, CubicController::new(params, &config, env))
    }

    fn receiver(params: &CubicParams, env: &Env) -> Receiver {
        Receiver::new(&config(params), env)
    }
}

fn config(params: &CubicParams) -> Config {
    params.tcp.config(if params.ecn { Ecn::Classic } else { Ecn::Off })
}

/// The controller of CUBIC. All windows are in segments, as in the RFC; times are in seconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CubicController {
    cwnd: f64,
    ssthresh: f64,
    /// The window at which it was last reduced (`w_max`).
    w_max: f64,
    /// The window before the last reduction (`cwnd_prior`).
    cwnd_prior: f64,
    /// The window that Reno would have (`W_est`).
    w_est: f64,
    /// The time from the start of the epoch until the window is `w_max` again (`K`).
    k: f64,
    /// The start of this stage of congestion avoidance, moved on by all time in which the window was not the limit;
    /// [`Time::MAX`] before the first acknowledgement.
    epoch_start: Time,
    /// The time of the last acknowledgement within the epoch.
    last_ack: Time,
    c: f64,
    beta: f64,
    mss: u32,
    /// The least window after a reduction, in segments.
    min: u32,
    fast_convergence: bool,
    reno_friendly: bool,
}

impl CubicController {
    /// Returns the controller of a new flow.
    pub fn new(params: &CubicParams, config: &Config, env: &Env) -> CubicController {
        CubicController {
            cwnd: config.initial_window as f64,
            ssthresh: f64::INFINITY,
            w_max: 0.0,
            cwnd_prior: 0.0,
            w_est: 0.0,
            k: 0.0,
            epoch_start: Time::MAX,
            last_ack: Time::ZERO,
            c: params.c,
            beta: params.beta,
            mss: env.framing.payload_max,
            min: config.min_cwnd,
            fast_convergence: params.fast_convergence,
            reno_friendly: params.reno_friendly,
        }
    }

    /// `W_cubic(t) = C (t - K)^3 + W_max` (eq. 1).
    fn w_cubic(&self, t: f64) -> f64 {
        let d = t - self.k;
        self.c * (d * d * d) + self.w_max
    }

    fn begin_epoch(&mut self, now: Time) {
        self.epoch_start = now;
        self.w_est = self.cwnd;
        if self.cwnd < self.w_max {
            // Eq. 2.
            self.k = cube_root((self.w_max - self.cwnd) / self.c);
        } else {
            // Sec. 4.8 and 4.10: after a timeout, or where no congestion was met before.
            self.k = 0.0;
            self.w_max = self.cwnd;
        }
    }

    /// Sec. 4.2 to 4.5, for `acked` segments.
    fn avoid(&mut self, now: Time, rtt: f64, acked: f64) {
        if self.epoch_start == Time::MAX {
            self.begin_epoch(now);
        }
        let t = now.saturating_since(self.epoch_start).as_secs_f64();
        let target = self.w_cubic(t + rtt).clamp(self.cwnd, 1.5 * self.cwnd);
        // Sec. 4.3: alpha_cubic until Reno would be back where it was reduced, then Reno's own.
        let alpha =
            if self.w_est < self.cwnd_prior { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) } else { 1.0 };
        self.w_est += alpha * acked / self.cwnd;
        if self.reno_friendly && self.w_cubic(t) < self.w_est {
            self.cwnd = self.w_est.max(self.cwnd);
        } else {
            self.cwnd += (target - self.cwnd) / self.cwnd * acked;
        }
    }

    /// Sec. 4.6 and 4.7; returns the new threshold.
    fn meet_congestion(&mut self, flight: f64) -> f64 {
        self.cwnd_prior = self.cwnd;
        self.w_max = if self.fast_convergence && self.cwnd < self.w_max {
            self.cwnd * (1.0 + self.beta) / 2.0
        } else {
            self.cwnd
        };
        self.epoch_start = Time::MAX;
        self.ssthresh = (flight * self.beta).max(self.min as f64);
        self.ssthresh
    }

    fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 / self.mss as f64
    }
}

impl Controller for CubicController {
    #[inline]
    fn limits(&self) -> Limits {
        // A hair more than the product, so that whole segments stay whole.
        Limits { cwnd: (self.cwnd * self.mss as f64 + 1e-6) as u64, pacing: None }
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        if !ack.cwnd_limited && self.epoch_start != Time::MAX {
            // Sec. 4.2, 5.8: t leaves out the time in which the window limited nothing.
            self.epoch_start += ack.now.saturating_since(self.last_ack);
        }
        self.last_ack = ack.now;
        if ack.acked == 0 || !ack.cwnd_limited || ack.ecn_echo || ack.phase == Phase::Recovery {
            return;
        }
        let acked = self.segments(ack.acked);
        if self.cwnd < self.ssthresh {
            // As [`RenoWindow`](super::controller::RenoWindow).
            let limit = if ack.phase == Phase::Loss { 1.0 } else { 2.0 };
            self.cwnd = (self.cwnd + acked.min(limit)).min(self.ssthresh);
        } else {
            self.avoid(ack.now, ack.srtt.as_secs_f64(), acked);
        }
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.cwnd = self.meet_congestion(self.segments(event.flight));
    }

    fn on_ecn(&mut self, _: &CongestionEvent) {
        // Sec. 4.6: marks may cut the window to one segment, while the threshold has its floor of two.
        let target = self.cwnd * self.beta;
        self.meet_congestion(self.cwnd);
        self.cwnd = target.max(1.0);
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        if !event.repeated {
            self.meet_congestion(self.segments(event.flight));
        }
        // Sec. 4.8: the next epoch starts with K = 0 and W_max = cwnd.
        self.epoch_start = Time::MAX;
        self.w_max = 0.0;
        self.cwnd = 1.0;
    }

    fn on_recovered(&mut self, flight: u64) {
        self.cwnd = self.ssthresh.min(self.segments(flight).max(1.0) + 1.0);
    }

    fn on_restart(&mut self, event: &RestartEvent) {
        self.cwnd = self.cwnd.min(self.segments(event.window));
        if self.epoch_start != Time::MAX {
            self.epoch_start += event.now.saturating_since(self.last_ack);
            self.last_ack = event.now;
        }
    }
}

/// Returns the cube root by Newton's method: the same bits on every platform, unlike the mathematics library's.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // A third of the exponent: within 13 %.
    let mut y = f64::from_bits(x.to_bits() / 3 + 0x2a9f_7893_0000_0000);
    for _ in 0..5 {
        y = (2.0 * y + x / (y * y)) / 3.0;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::super::controller::tests::{ack, congestion};
    use super::*;
    use crate::endpoint::Framing;
    use clearway_units::Rate;
    use clearway_units::Span;

    const MSS: u64 = 1000;

    fn cubic(cwnd: f64) -> CubicController {
        let env = Env::for_test(
            Rate::gbps(10),
            Span::from_us(100),
            Framing { payload_max: MSS as u32, ..Framing::ETHERNET },
        );
        let params = CubicParams::default();
        CubicController { cwnd, ..CubicController::new(&params, &config(&params), &env) }
    }

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-3, "{value} instead of {expected}");
    }

    fn ack_at(ms: u64) -> AckEvent {
        AckEvent { now: Time::ZERO + Span::from_ms(ms), ..ack(MSS) }
    }

    #[test]
    fn the_cube_root_is_exact_enough() {
        for x in [1e-12, 0.3, 1.0, 8.0, 27.0, 75.0, 1e6, 1e18] {
            let y = cube_root(x);
            assert!((y * y * y / x - 1.0).abs() < 1e-14, "{x}");
        }
        assert_eq!(cube_root(0.0), 0.0);
    }

    #[test]
    fn the_window_follows_the_cubic_function_rfc_9438_section_4_2() {
        let mut cubic = cubic(100.0);
        cubic.on_loss(&congestion(100 * MSS));
        near(cubic.cwnd, 70.0);
        cubic.begin_epoch(Time::ZERO);
        // K = cbrt((100 - 70) / 0.4) = cbrt(75) = 4.21716 s.
        near(cubic.k, 4.217_163);
        near(cubic.w_cubic(0.0), 70.0);
        // 0.4 * (1 - 4.217163)^3 + 100 = 0.4 * -33.29824 + 100
        near(cubic.w_cubic(1.0), 86.680_7);
        near(cubic.w_cubic(cubic.k), 100.0);
        near(cubic.w_cubic(2.0 * cubic.k), 130.0);
    }

    #[test]
    fn an_acknowledgement_of_two_segments_counts_for_two_rfc_9438_section_4_2() {
        let mut cubic = CubicController { reno_friendly: false, ..cubic(100.0) };
        cubic.on_loss(&congestion(100 * MSS));
        cubic.avoid(Time::ZERO, 1.0, 2.0);
        // The target is W_cubic(RTT) = 86.6807, and each segment covers a 70th of the way there.
        near(cubic.cwnd, 70.0 + 2.0 * 16.680_7 / 70.0);
    }

    #[test]
    fn a_long_round_trip_reaches_the_old_window_after_k_seconds_rfc_9438_section_4_4() {
        // RTT 100 ms: Reno would need 30 / 0.53 round trips = 5.7 s to come back, CUBIC K = 4.2 s.
        let mut cubic = cubic(100.0);
        cubic.on_loss(&congestion(100 * MSS));
        let rtt = Span::from_ms(100);
        for round in 0..45u64 {
            let per_round = cubic.cwnd as u64;
            for i in 0..per_round {
                let now = Time::ZERO + Span::from_ms(100 * round) + rtt * i / per_round;
                cubic.on_ack(&AckEvent { now, rtt, srtt: rtt, ..ack(MSS) });
            }
        }
        assert!((99.0..101.5).contains(&cubic.cwnd), "{}", cubic.cwnd);
    }

    #[test]
    fn one_step_never_aims_beyond_one_and_a_half_windows_rfc_9438_section_4_2() {
        let mut cubic = cubic(10.0);
        cubic.ssthresh = 10.0;
        cubic.on_ack(&ack_at(0));
        let before = cubic.cwnd;
        cubic.on_ack(&ack_at(1_000_000));
        near(cubic.cwnd, before + 0.5);
    }

    #[test]
    fn a_short_round_trip_grows_as_reno_would_rfc_9438_section_4_3() {
        let mut cubic = cubic(20.0);
        cubic.on_loss(&congestion(20 * MSS));
        near(cubic.cwnd, 14.0);
        // alpha = 3 * (1 - 0.7) / (1 + 0.7) = 0.529412 segments per window.
        cubic.on_ack(&ack_at(0));
        near(cubic.cwnd, 14.0 + 0.529_412 / 14.0);
        cubic.w_est = 20.0;
        cubic.cwnd = 20.0;
        cubic.on_ack(&ack_at(1));
        near(cubic.cwnd, 20.0 + 1.0 / 20.0);
    }

    #[test]
    fn a_window_that_shrank_is_remembered_smaller_rfc_9438_section_4_7() {
        let mut cubic = cubic(100.0);
        cubic.on_loss(&congestion(100 * MSS));
        near(cubic.w_max, 100.0);
        cubic.cwnd = 80.0;
        cubic.on_loss(&congestion(80 * MSS));
        near(cubic.w_max, 80.0 * 0.85);
        near(cubic.cwnd, 56.0);
    }

    #[test]
    fn marks_cut_the_window_to_one_segment_and_the_threshold_to_two_rfc_9438_section_4_6() {
        let mut cubic = cubic(4.0);
        let cuts: Vec<f64> = (0..5)
            .map(|_| {
                cubic.on_ecn(&congestion(4 * MSS));
                cubic.cwnd
            })
            .collect();
        cuts.iter().zip([2.8, 1.96, 1.372, 1.0, 1.0]).for_each(|(cut, expected)| near(*cut, expected));
        near(cubic.ssthresh, 2.0);
        cubic.on_loss(&congestion(MSS));
        near(cubic.cwnd, 2.0);
    }

    #[test]
    fn after_a_timeout_the_curve_starts_at_the_window_rfc_9438_section_4_8() {
        let mut cubic = cubic(100.0);
        cubic.on_timeout(&congestion(100 * MSS));
        near(cubic.cwnd, 1.0);
        near(cubic.ssthresh, 70.0);
        cubic.cwnd = 70.0;
        cubic.begin_epoch(Time::ZERO);
        near(cubic.k, 0.0);
        near(cubic.w_max, 70.0);
    }

    #[test]
    fn time_in_which_the_window_limits_nothing_does_not_count_rfc_9438_section_4_2_and_5_8() {
        let mut busy = cubic(100.0);
        busy.on_loss(&congestion(100 * MSS));
        let mut paused = busy;
        for ms in 0..1000 {
            busy.on_ack(&ack_at(ms));
            paused.on_ack(&ack_at(ms));
        }
        for ms in 1000..9000 {
            paused.on_ack(&AckEvent { cwnd_limited: false, ..ack_at(ms) });
        }
        assert_eq!(paused.cwnd, busy.cwnd);
        busy.on_ack(&ack_at(1000));
        paused.on_ack(&ack_at(9000));
        near(paused.cwnd, busy.cwnd);
    }
}
