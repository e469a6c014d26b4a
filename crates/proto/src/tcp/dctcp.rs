//! DCTCP: cuts its window by as much as the share of marked bytes says (Alizadeh et al., SIGCOMM'10; RFC 8257).

use super::config::TcpParams;
use super::controller::{AckEvent, CongestionEvent, Controller, Limits, RenoWindow, RestartEvent};
use super::{Config, Ecn, Receiver, Sender};
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::{MarkingNeeds, Needs};
use crate::shim::NoShim;
use crate::transport::{Checked, Transport};
use clearway_schema::{Profile, declare};
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters of `dctcp`.
    pub struct DctcpParams {
        /// The weight of a new measurement of marking in the moving average `alpha` (`g`). The ExpressPass papers use
        /// 0.0625 at 10 Gbps and 0.01976 at 100 Gbps.
        g: f64 = "0.0625" in "0" to "1" from "RFC 8257 sec. 4.2; SIGCOMM'10 sec. 4";
        /// The `alpha` of a new flow; 1 halves the window on the first mark.
        alpha_initial: f64 = "1" in "0" to "1" from "RFC 8257 sec. 3.3";
        /// If true, marks cut the window down to one segment, while the threshold of slow start stays at `min_cwnd` or
        /// above; KAIST's ns-3 code does so. Else `min_cwnd` holds for the window too.
        marks_to_one: bool = "false" from "E17 sec. 6: two segments; DCTCP-3";
        ..tcp: TcpParams;
    }
}

/// The transport `dctcp`.
pub struct Dctcp;

impl Transport for Dctcp {
    type Params = DctcpParams;
    type Sender = Sender<DctcpController>;
    type Receiver = Receiver;
    type Shim = NoShim;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "dctcp";
    const SUMMARY: &'static str = "DCTCP: cuts its window in proportion to the share of marked bytes";
    const SOURCE: &'static str = "RFC 8257; SIGCOMM'10";
    const CHECKED: Checked = Checked::Neither(
        "Written from knowledge of RFC 8257, whose text was not at hand; the cut and the floor of the window were \
         compared with KAIST's ns-3 code, which is not its authors'.",
    );
    const PROFILES: &'static [Profile] = super::config::PROFILES;

    fn needs(params: &DctcpParams) -> Needs {
        Needs { marking: Some(MarkingNeeds::Step), ..params.tcp.needs() }
    }

    fn sender(params: &DctcpParams, env: &Env) -> Sender<DctcpController> {
        let config = params.tcp.config(Ecn::Exact);
        let control = DctcpController::new(params.g, params.alpha_initial, &config, env);
        Sender::new(&config, env, control.marks_to_one(params.marks_to_one))
    }

    fn receiver(params: &DctcpParams, env: &Env) -> Receiver {
        Receiver::new(&params.tcp.config(Ecn::Exact), env)
    }
}

/// The controller of DCTCP: a window, and the estimate of the share of marked bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct DctcpController {
    window: RenoWindow,
    /// The share of bytes that meet a mark, as a moving average.
    alpha: f64,
    g: f64,
    /// The least window after a cut by marks, in bytes.
    floor: u64,
    /// The bytes delivered in this observation window.
    acked: u64,
    /// The bytes among them whose acknowledgement echoed a mark.
    marked: u64,
    /// The observation window ends once this byte is acknowledged.
    window_end: u64,
}

impl DctcpController {
    /// Returns the controller of a new flow, with weight `g` and `alpha_initial` as the first `alpha`.
    pub fn new(g: f64, alpha_initial: f64, config: &Config, env: &Env) -> DctcpController {
        DctcpController {
            window: RenoWindow::new(env.framing.payload_max, config.initial_window, config.min_cwnd),
            alpha: alpha_initial,
            g,
            floor: u64::from(config.min_cwnd) * u64::from(env.framing.payload_max),
            acked: 0,
            marked: 0,
            window_end: 0,
        }
    }

    /// Returns the same controller, but one whose window marks may cut to one segment if `yes`.
    pub fn marks_to_one(mut self, yes: bool) -> DctcpController {
        self.floor = if yes { u64::from(self.window.mss) } else { self.floor };
        self
    }

    /// Returns the moving average of the share of marked bytes.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }
}

impl Controller for DctcpController {
    #[inline]
    fn limits(&self) -> Limits {
        Limits { cwnd: self.window.cwnd, pacing: None }
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        // RFC 8257 sec. 3.3, steps 4 to 9.
        self.acked += ack.delivered;
        if ack.ecn_echo {
            self.marked += ack.delivered;
        }
        if ack.snd_una > self.window_end {
            if self.acked > 0 {
                let m = self.marked as f64 / self.acked as f64;
                self.alpha = self.alpha * (1.0 - self.g) + self.g * m;
            }
            self.window_end = ack.snd_nxt;
            self.acked = 0;
            self.marked = 0;
        }
        self.window.grow(ack);
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        // RFC 8257 sec. 3.4: as any TCP.
        self.window.reduce(event.flight / 2);
    }

    fn on_ecn(&mut self, _: &CongestionEvent) {
        // RFC 8257 sec. 3.3, step 10.
        let target = (self.window.cwnd as f64 * (1.0 - self.alpha / 2.0)) as u64;
        self.window.reduce(target);
        self.window.cwnd = target.max(self.floor);
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        self.window.collapse(event.flight / 2, event.repeated);
    }

    fn on_recovered(&mut self, flight: u64) {
        self.window.recovered(flight);
    }

    fn on_restart(&mut self, event: &RestartEvent) {
        self.window.restart(event.window);
    }
}

#[cfg(test)]
mod tests {
    use super::super::controller::tests::{ack, congestion};
    use super::*;

    fn control(alpha: f64) -> DctcpController {
        DctcpController {
            window: RenoWindow::new(1000, 20, 2),
            alpha,
            g: 0.0625,
            floor: 2000,
            acked: 0,
            marked: 0,
            window_end: 10_000,
        }
    }

    #[test]
    fn alpha_moves_once_per_window_by_the_share_of_marked_bytes_rfc_8257_section_3_3() {
        let mut dctcp = control(1.0);
        for segment in 1..=11u64 {
            let ecn_echo = segment <= 4;
            dctcp.on_ack(&AckEvent { snd_una: segment * 1000, snd_nxt: 30_000, ecn_echo, ..ack(1000) });
            if segment <= 10 {
                assert_eq!(dctcp.alpha(), 1.0, "SEG.ACK <= WindowEnd: stop processing");
            }
        }
        assert_eq!(dctcp.alpha(), 1.0 * (1.0 - 0.0625) + 0.0625 * (4.0 / 11.0));
        assert_eq!(dctcp.window_end, 30_000);
    }

    #[test]
    fn a_mark_cuts_the_window_by_half_of_alpha_rfc_8257_section_3_3() {
        let mut dctcp = control(0.5);
        dctcp.on_ecn(&congestion(20_000));
        assert_eq!(dctcp.limits().cwnd, 15_000);
        assert_eq!(dctcp.window.ssthresh, 15_000);
        let mut dctcp = control(1.0);
        dctcp.on_ecn(&congestion(20_000));
        assert_eq!(dctcp.limits().cwnd, 10_000, "full marking is halving");
    }

    #[test]
    fn loss_halves_whatever_alpha_is_rfc_8257_section_3_4() {
        let mut dctcp = control(0.0);
        dctcp.on_loss(&congestion(20_000));
        assert_eq!(dctcp.limits().cwnd, 10_000);
    }

    #[test]
    fn the_window_stays_at_two_segments_under_constant_marking_expresspass_section_6() {
        let mut dctcp = control(1.0);
        (0..20).for_each(|_| dctcp.on_ecn(&congestion(20_000)));
        assert_eq!(dctcp.limits().cwnd, 2000);
    }

    #[test]
    fn marks_cut_to_one_segment_if_asked_and_leave_the_threshold_at_two_dctcp_3() {
        let mut dctcp = control(1.0).marks_to_one(true);
        (0..20).for_each(|_| dctcp.on_ecn(&congestion(20_000)));
        assert_eq!((dctcp.limits().cwnd, dctcp.window.ssthresh), (1000, 2000));
        dctcp.on_loss(&congestion(1000));
        assert_eq!(dctcp.limits().cwnd, 2000, "after a loss, two");
    }
}
