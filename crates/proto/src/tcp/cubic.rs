//! CUBIC: the window grows with the cube of the time since the last congestion (RFC 9438).

use super::config::tcp_params;
use super::controller::{AckEvent, CongestionEvent, Controller, Limits, Phase, RestartEvent};
use super::{Config, Ecn, Receiver, Sender};
use crate::endpoint::Env;
use crate::registry::{Needs, Transport};
use clearway_units::Time;

tcp_params! {
    /// Parameters of `cubic`.
    {
        /// Take part in ECN as RFC 3168 says: marks cut the window by `beta`, once per window.
        ecn: bool = "false", "" to "", "RFC 3168; off as in the papers' baselines";
        /// Aggressiveness `C`, in segments per second cubed.
        c: f64 = "0.4", "0.000001" to "1000000000", "RFC 9438 sec. 5.1";
        /// What is left of the window after congestion.
        beta: f64 = "0.7", "0.01" to "0.99", "RFC 9438 sec. 4.6";
        /// Leave room for new flows: remember less than the window reached if it shrank since the last time.
        fast_convergence: bool = "true", "" to "", "RFC 9438 sec. 4.7";
        /// Grow at least as Reno would.
        reno_friendly: bool = "true", "" to "", "RFC 9438 sec. 4.3";
    }
}

/// The transport.
pub struct Cubic;

impl Transport for Cubic {
    type Params = Params;
    type Sender = Sender<CubicControl>;
    type Receiver = Receiver;
    const NAME: &'static str = "cubic";
    const SUMMARY: &'static str =
        "TCP CUBIC: the window grows with the cube of the time since the last congestion";
    const SOURCE: &'static str = "RFC 9438";
    const PROFILES: &'static [crate::Profile] = super::config::PROFILES;

    fn needs(params: &Params) -> Needs {
        if params.ecn { Needs::ECN } else { Needs::NOTHING }
    }

    fn sender(params: &Params, env: &Env) -> Sender<CubicControl> {
        let config = config(params);
        Sender::new(&config, env, CubicControl::new(params, &config, env))
    }

    fn receiver(params: &Params, env: &Env) -> Receiver {
        Receiver::new(&config(params), env)
    }
}

fn config(params: &Params) -> Config {
    params.config(if params.ecn { Ecn::Classic } else { Ecn::Off })
}

/// The window. All windows are in segments, as in the RFC; times are in seconds.
#[derive(Clone, Copy, Debug)]
pub struct CubicControl {
    cwnd: f64,
    ssthresh: f64,
    /// The window where it was last reduced.
    w_max: f64,
    /// The window before the last reduction (`cwnd_prior`).
    cwnd_prior: f64,
    /// What Reno's window would be (`W_est`).
    w_est: f64,
    /// Time from the start of the epoch until the window is `w_max` again (`K`).
    k: f64,
    /// Start of this stage of congestion avoidance, moved on by all time in which the window limited nothing;
    /// [`Time::MAX`] before the first acknowledgement.
    epoch_start: Time,
    /// The last acknowledgement, within an epoch.
    last_ack: Time,
    c: f64,
    beta: f64,
    mss: u32,
    /// In segments.
    min: u32,
    fast_convergence: bool,
    reno_friendly: bool,
}

impl CubicControl {
    /// For a new flow.
    pub fn new(params: &Params, config: &Config, env: &Env) -> CubicControl {
        CubicControl {
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

impl Controller for CubicControl {
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
        self.cwnd = self.meet_congestion(self.cwnd);
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

/// The cube root by Newton's method: the same bits on every platform, unlike the mathematics library's.
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
