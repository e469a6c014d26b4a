//! DX: steers its window by the queueing delay that its packets met (Lee et al., "Accurate Latency-based Congestion
//! Feedback for Datacenters", USENIX ATC'15; IEEE/ACM ToN 25(1), 2017).
//!
//! Once per round trip, in segments:
//!
//! ```text
//! W <- W + 1                  if Q = 0
//! W <- W (1 - Q / V) + 1      if Q > 0
//! ```
//!
//! `Q` is the mean queueing delay of the data acknowledged in that round trip: its one-way delay less the smallest one
//! seen. `V` is such that all flows together leave just no queue behind, the `+ 1` of each included. With the base
//! round-trip time `R` that is `Q / V = Q / (R + Q) + 1 / W`, or `W <- W R / (R + Q)`; the page `docs/protocols/dx.md`
//! derives it, and says what of the paper could not be looked up.

use super::config::TcpParams;
use super::controller::{AckEvent, CongestionEvent, Controller, Limits, Phase, RestartEvent};
use super::{Config, Ecn, Receiver, Sender};
use crate::agent::NoAgent;
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::Needs;
use crate::transport::{Checked, Transport};
use clearway_schema::{Profile, choice, declare};
use clearway_units::Span;
use serde::{Deserialize, Serialize};

choice! {
    /// The reading of `V`, which sets the depth of a decrease.
    #[derive(Serialize, Deserialize)]
    pub enum Cut {
        /// By so much that the queue just drains: `W R / (R + Q)` (DX-1).
        Drain = "drain",
        /// By what the last increase added where all flows are equal: `V = R W / (W - 1)` (DX-2).
        Increase = "increase",
    }
}

declare! {
    /// The parameters of `dx`.
    pub struct DxParams {
        /// The depth of a decrease (`V`). `drain`: to `W R / (R + Q)`, which leaves just no queue; `increase`: to `W (1
        /// - Q / V)` with `V = R W / (W - 1)`, which takes back the last increase of equal flows. The two agree where
        /// each of `N` flows has one packet waiting, and `increase` cuts deeper where more waits.
        v: Cut = "drain" from "our derivation; the form recalled from ATC'15 is `increase` (DX-2)";
        /// The mean queueing delay below which there is no queue, as hosts measure only so well. The paper's hosts tell
        /// a single full frame at 10 Gbps (1.2 us) from none.
        accuracy: Span = "1 us" in "0 s" to "1 s" from "ATC'15, abstract; the value is our choice";
        /// If true, the window doubles each round trip until a queue shows, as TCP's does. Else it grows by one segment
        /// each round trip from the start.
        slow_start: bool = "true" from "our choice: we could not look up what the paper does";
        ..tcp: TcpParams;
    }
}

/// The transport `dx`.
pub struct Dx;

impl Transport for Dx {
    type Params = DxParams;
    type Sender = Sender<DxController>;
    type Receiver = Receiver;
    type Agent = NoAgent;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "dx";
    const SUMMARY: &'static str = "DX: cuts its window in proportion to the queueing delay that it measures";
    const SOURCE: &'static str = "USENIX ATC'15";
    const CHECKED: Checked = Checked::Neither(
        "Only the abstracts of the paper and of two analyses were at hand; law, V and headroom are recollected or \
         derived here.",
    );
    const PROFILES: &'static [Profile] = super::config::PROFILES;

    fn needs(params: &DxParams) -> Needs {
        params.tcp.needs()
    }

    fn sender(params: &DxParams, env: &Env) -> Sender<DxController> {
        let config = params.tcp.config(Ecn::Off);
        Sender::new(&config, env, DxController::new(params, &config, env))
    }

    fn receiver(params: &DxParams, env: &Env) -> Receiver {
        Receiver::new(&params.tcp.config(Ecn::Off), env)
    }
}

/// The controller of DX: a window, and the delays measured for it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct DxController {
    /// The window `W`, in segments; never below one.
    w: f64,
    mss: u32,
    accuracy: Span,
    slow_start: bool,
    v: Cut,
    /// The smallest one-way delay so far.
    base: Span,
    /// The smallest round-trip time so far (`R`).
    rtt: Span,
    /// The sum of the one-way delays of this round trip, in picoseconds.
    delays: u128,
    /// The number of those delays.
    samples: u32,
    /// The byte whose acknowledgement ends this round trip.
    round_end: u64,
    /// True if the window was the limit in this round trip.
    limited: bool,
}

impl DxController {
    /// Returns the controller of a new flow.
    pub fn new(params: &DxParams, config: &Config, env: &Env) -> DxController {
        DxController {
            w: config.initial_window as f64,
            mss: env.framing.payload_max,
            accuracy: params.accuracy,
            slow_start: params.slow_start,
            v: params.v,
            base: Span::MAX,
            rtt: Span::MAX,
            delays: 0,
            samples: 0,
            round_end: 0,
            limited: false,
        }
    }

    /// `Q`: the mean queueing delay of this round trip so far, as well as it can be measured.
    pub fn queueing(&self) -> Span {
        let mean = self.delays / self.samples.max(1) as u128;
        let mean = mean.saturating_sub(self.base.as_ps() as u128) as u64;
        if mean < self.accuracy.as_ps() { Span::ZERO } else { Span::from_ps(mean) }
    }

    fn end_round(&mut self, phase: Phase) {
        let q = self.queueing();
        if q > Span::ZERO {
            self.slow_start = false;
            self.w = match self.v {
                // W (1 - Q / V) + 1 with the V above.
                Cut::Drain => self.w * self.rtt.ratio(self.rtt + q),
                // W (1 - Q / V) with V = R W / (W - 1).
                Cut::Increase => self.w - q.ratio(self.rtt) * (self.w - 1.0),
            }
            .max(1.0);
        } else if self.limited && !self.slow_start && phase != Phase::Recovery {
            self.w += 1.0;
        }
        (self.delays, self.samples, self.limited) = (0, 0, false);
    }

    fn cut(&mut self, flight: u64) {
        self.w = (flight as f64 / self.mss as f64 / 2.0).max(1.0);
        self.slow_start = false;
    }
}

impl Controller for DxController {
    #[inline]
    fn limits(&self) -> Limits {
        Limits { cwnd: (self.w * self.mss as f64) as u64, pacing: None }
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.base = self.base.min(ack.one_way);
        self.rtt = self.rtt.min(ack.rtt);
        self.delays += ack.one_way.as_ps() as u128;
        self.samples += 1;
        self.limited |= ack.cwnd_limited;
        if ack.snd_una > self.round_end {
            self.end_round(ack.phase);
            self.round_end = ack.snd_nxt;
        }
        if self.slow_start && ack.cwnd_limited && ack.phase != Phase::Recovery {
            if ack.one_way > self.base + self.accuracy {
                self.slow_start = false;
            } else {
                self.w += (ack.acked as f64 / self.mss as f64).min(2.0);
            }
        }
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.cut(event.flight);
    }

    fn on_ecn(&mut self, _: &CongestionEvent) {}

    fn on_timeout(&mut self, _: &CongestionEvent) {
        self.w = 1.0;
        self.slow_start = false;
    }

    fn on_restart(&mut self, event: &RestartEvent) {
        self.w = self.w.min(event.window as f64 / self.mss as f64).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::controller::tests::{ack, congestion};
    use super::*;
    use crate::endpoint::Framing;
    use clearway_schema::Declared;
    use clearway_units::{Rate, Time};

    const MSS: u64 = 1460;

    fn control(w: f64) -> DxController {
        let env = Env::for_test(Rate::gbps(10), Span::from_us(100), Framing::ETHERNET);
        let mut params = DxParams::default();
        params.set("slow_start", "false").unwrap();
        let mut control = DxController::new(&params, &params.tcp.config(Ecn::Off), &env);
        control.w = w;
        control
    }

    /// A round trip whose packets all met `queue_us`; one-way 50 us and round trip 100 us without.
    fn round(control: &mut DxController, queue_us: u64) {
        let queue = Span::from_us(queue_us);
        let end = control.round_end + MSS;
        control.on_ack(&AckEvent {
            one_way: Span::from_us(50) + queue,
            rtt: Span::from_us(100) + queue,
            snd_una: end,
            snd_nxt: end,
            ..ack(MSS)
        });
    }

    #[test]
    fn without_a_queue_the_window_grows_by_a_segment_a_round_trip_atc_15() {
        let mut dx = control(20.0);
        (0..5).for_each(|_| round(&mut dx, 0));
        assert_eq!(dx.w, 25.0);
    }

    #[test]
    fn a_queue_cuts_the_window_in_proportion_atc_15() {
        let mut dx = control(20.0);
        round(&mut dx, 0);
        let before = dx.w;
        round(&mut dx, 25);
        let v = 1.0 / (1.0 / 125.0 + 1.0 / (25.0 * before));
        assert!((dx.w - (before * (1.0 - 25.0 / v) + 1.0)).abs() < 1e-9);
    }

    #[test]
    fn one_cut_takes_just_the_queue_away() {
        // N flows with W segments each fill the path and a queue of Q: N W = C (R + Q). After the cut N W = C R.
        let (c, r, q) = (0.8, 100.0, 25.0);
        let mut dx = control(c * (r + q) / 4.0);
        dx.base = Span::from_us(50);
        dx.rtt = Span::from_us(100);
        round(&mut dx, 25);
        assert!((dx.w * 4.0 - c * r).abs() < 1e-9, "{}", dx.w);
    }

    /// The window that a cut leaves of `w` segments, with a base round-trip time of 100 us.
    fn cut(v: Cut, w: f64, queue_us: u64) -> f64 {
        let mut dx = control(w);
        (dx.base, dx.rtt, dx.v) = (Span::from_us(50), Span::from_us(100), v);
        round(&mut dx, queue_us);
        dx.w
    }

    #[test]
    fn both_forms_of_v_take_one_segment_back_where_each_flow_has_one_packet_waiting_dx_2() {
        // N flows with W segments, of which N wait: Q = N D and R = N D (W - 1). Here N D = Q.
        for (w, queue_us) in [(2.0, 100), (5.0, 25), (11.0, 10), (21.0, 5)] {
            for v in [Cut::Drain, Cut::Increase] {
                assert!((cut(v, w, queue_us) - (w - 1.0)).abs() < 1e-9, "{v} {w}: {}", cut(v, w, queue_us));
            }
        }
    }

    #[test]
    fn where_more_waits_the_form_by_the_increase_cuts_deeper_dx_3() {
        let both = |w, queue_us| (cut(Cut::Drain, w, queue_us), cut(Cut::Increase, w, queue_us));
        assert_eq!(both(20.0, 25), (16.0, 15.25));
        assert_eq!(both(20.0, 100), (10.0, 1.0), "Q = R: half of the window, or one segment");
        assert_eq!(cut(Cut::Increase, 20.0, 1000), 1.0);
    }

    #[test]
    fn delays_below_the_accuracy_are_none_and_the_window_never_falls_below_a_segment() {
        let mut dx = control(20.0);
        round(&mut dx, 0);
        dx.accuracy = Span::from_us(2);
        round(&mut dx, 1);
        assert_eq!(dx.w, 22.0);
        (0..200).for_each(|_| round(&mut dx, 10_000));
        assert_eq!(dx.w, 1.0);
    }

    #[test]
    fn slow_start_ends_with_the_first_sign_of_a_queue() {
        let mut dx = control(10.0);
        dx.slow_start = true;
        round(&mut dx, 0);
        assert_eq!((dx.w, dx.slow_start), (11.0, true));
        dx.on_ack(&AckEvent { one_way: Span::from_us(53), ..ack(MSS) });
        assert_eq!((dx.w, dx.slow_start), (11.0, false));
    }

    #[test]
    fn a_loss_halves_what_is_in_flight_and_a_timeout_leaves_a_segment_and_either_ends_slow_start() {
        let starting = || DxController { slow_start: true, ..control(20.0) };
        for (segments, left) in [(12, 6.0), (1, 1.0)] {
            let mut dx = starting();
            dx.on_loss(&congestion(segments * MSS));
            assert_eq!((dx.w, dx.slow_start), (left, false));
        }
        let mut dx = starting();
        dx.on_timeout(&congestion(12 * MSS));
        assert_eq!((dx.w, dx.slow_start), (1.0, false));
        let mut dx = starting();
        dx.on_ecn(&congestion(12 * MSS));
        assert_eq!((dx.w, dx.slow_start), (20.0, true), "marks are nothing to it");
    }

    #[test]
    fn a_restart_limits_the_window_and_raises_none() {
        let restart =
            |segments| RestartEvent { now: Time::ZERO, idle: Span::from_ms(1), window: segments * MSS };
        for (segments, left) in [(10, 10.0), (30, 20.0), (0, 1.0)] {
            let mut dx = control(20.0);
            dx.on_restart(&restart(segments));
            assert_eq!(dx.w, left, "{segments}");
        }
    }
}
