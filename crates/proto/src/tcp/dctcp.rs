//! DCTCP: cuts its window by as much as the share of marked bytes says (Alizadeh et al., SIGCOMM'10; RFC 8257).

use super::config::{EXPRESSPASS16, LINUX, PAC_NS2, PAC_TESTBED, TcpParams};
use super::controller::{AckEvent, CongestionEvent, Controller, Limits, Phase, RenoWindow, RestartEvent};
use super::{Config, Ecn, Receiver, Sender};
use crate::agent::NoAgent;
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::{MarkingNeeds, Needs};
use crate::transport::{Checked, Transport};
use clearway_schema::{Profile, choice, declare, told};
use serde::{Deserialize, Serialize};

choice! {
    /// The law of the window.
    #[derive(Serialize, Deserialize)]
    pub enum Law {
        /// RFC 8257.
        Rfc8257 = "rfc8257",
        /// The class `DcTcp` of OMNeT++'s INET framework (DCTCP-4).
        Inet = "inet",
    }
}

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
        /// The law of the window. `inet`: that of the class `DcTcp` of INET, OMNeT++'s library of networks. No least
        /// window limits a cut, acknowledgements with an echo let the window grow unless they cut it, and a window may
        /// be cut several times in a round trip. `marks_to_one` then means nothing.
        law: Law = "rfc8257" from "RFC 8257; INET 4.3 to 4.7, `DcTcp.cc` (DCTCP-4)";
        ..tcp: TcpParams;
    }
}

/// The settings of INET's `DcTcp`, so far as its users do not have to set them.
const INET: Profile = Profile {
    name: "inet",
    doc: told(
        "DcTcp of INET, OMNeT++'s library: its law of the window, windows from one segment, no SACK, least timeout 1 s",
    ),
    values: &[
        ("law", "inet"),
        ("g", "0.0625"),
        ("alpha_initial", "0"),
        ("initial_window", "1"),
        ("min_cwnd", "2"),
        ("sack", "false"),
        ("delayed_ack", "false"),
        ("rto_min", "1 s"),
        ("rto_initial", "3 s"),
    ],
};

/// The transport `dctcp`.
pub struct Dctcp;

impl Transport for Dctcp {
    type Params = DctcpParams;
    type Sender = Sender<DctcpController>;
    type Receiver = Receiver;
    type Agent = NoAgent;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "dctcp";
    const SUMMARY: &'static str = "DCTCP: cuts its window in proportion to the share of marked bytes";
    const SOURCE: &'static str = "RFC 8257; SIGCOMM'10";
    const CHECKED: Checked = Checked::Neither(
        "Written from knowledge of RFC 8257, whose text was not at hand; the cut and the floor of the window were \
         compared with KAIST's ns-3 code, which is not its authors'. `law = \"inet\"` was written from INET's code.",
    );
    const PROFILES: &'static [Profile] = &[LINUX, PAC_TESTBED, PAC_NS2, EXPRESSPASS16, INET];

    fn needs(params: &DctcpParams) -> Needs {
        Needs { marking: Some(MarkingNeeds::Step), ..params.tcp.needs() }
    }

    fn sender(params: &DctcpParams, env: &Env) -> Sender<DctcpController> {
        let config = params.tcp.config(Ecn::Exact);
        let control = DctcpController::new(params.g, params.alpha_initial, &config, env);
        Sender::new(&config, env, control.marks_to_one(params.marks_to_one).with_law(params.law))
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
    /// The bytes delivered in this observation window.
    acked: u64,
    /// The bytes among them whose acknowledgement echoed a mark.
    marked: u64,
    /// The observation window ends once this byte is acknowledged.
    window_end: u64,
    cuts: Cuts,
}

/// The law by which marks cut the window, with what it remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Cuts {
    /// RFC 8257: down to `floor` bytes, once an observation window.
    Rfc8257 { floor: u64 },
    /// INET: `at` is the value of `snd_nxt` at the last cut of this observation window, `NEVER` before the first.
    Inet { at: u64 },
}

/// No cut yet in this observation window.
const NEVER: u64 = u64::MAX;

impl DctcpController {
    /// Returns the controller of a new flow, with weight `g` and `alpha_initial` as the first `alpha`.
    pub fn new(g: f64, alpha_initial: f64, config: &Config, env: &Env) -> DctcpController {
        DctcpController {
            window: RenoWindow::new(env.framing.payload_max, config.initial_window, config.min_cwnd),
            alpha: alpha_initial,
            g,
            acked: 0,
            marked: 0,
            window_end: 0,
            cuts: Cuts::Rfc8257 { floor: u64::from(config.min_cwnd) * u64::from(env.framing.payload_max) },
        }
    }

    /// Returns the same controller under INET's law if `law` is that.
    pub fn with_law(mut self, law: Law) -> DctcpController {
        if law == Law::Inet {
            self.cuts = Cuts::Inet { at: NEVER };
        }
        self
    }

    /// Returns the same controller, but one whose window marks may cut to one segment if `yes`. INET's law has no least
    /// window.
    pub fn marks_to_one(mut self, yes: bool) -> DctcpController {
        if let (true, Cuts::Rfc8257 { floor }) = (yes, &mut self.cuts) {
            *floor = u64::from(self.window.mss);
        }
        self
    }

    /// Returns the moving average of the share of marked bytes.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Counts what an acknowledgement says of marks (RFC 8257 sec. 3.3, steps 4 to 8). Returns whether an observation
    /// window ended.
    #[inline]
    fn observe(&mut self, ack: &AckEvent, delivered: u64) -> bool {
        self.acked += delivered;
        if ack.ecn_echo {
            self.marked += delivered;
        }
        let has_ended = ack.snd_una > self.window_end;
        if has_ended {
            if self.acked > 0 {
                let m = self.marked as f64 / self.acked as f64;
                self.alpha = self.alpha * (1.0 - self.g) + self.g * m;
            }
            self.window_end = ack.snd_nxt;
            self.acked = 0;
            self.marked = 0;
        }
        has_ended
    }

    /// Returns what counts as in flight at a loss: INET takes the window.
    fn flight(&self, event: &CongestionEvent) -> u64 {
        match self.cuts {
            Cuts::Rfc8257 { .. } => event.flight,
            Cuts::Inet { .. } => self.window.cwnd,
        }
    }

    /// Returns the window after a mark.
    fn cut(&self) -> u64 {
        (self.window.cwnd as f64 * (1.0 - self.alpha / 2.0)) as u64
    }

    /// `DcTcp::receivedDataAck` of INET, which last cut when `cut_at` was `snd_nxt`; returns when it did so now. Its flag
    /// `sndCwr` forbids a second cut, and falls with the next segment that is sent (`TcpConnection::sendSegment`) as well
    /// as at the end of an observation window.
    #[inline(always)]
    fn on_ack_of_inet(&mut self, ack: &AckEvent, mut cut_at: u64) -> u64 {
        if ack.acked == 0 {
            return cut_at;
        }
        if self.observe(ack, ack.acked) {
            cut_at = NEVER;
        }
        if ack.phase == Phase::Recovery {
            return cut_at;
        }
        let (mss, window) = (u64::from(self.window.mss), self.window.cwnd);
        if self.marked > 0 && cut_at != ack.snd_nxt {
            self.window.cwnd = self.cut();
            self.window.ssthresh = (3 * self.window.cwnd / 4).max(2 * mss);
            return ack.snd_nxt;
        }
        self.window.cwnd += if window < self.window.ssthresh { mss } else { (mss * mss / window).max(1) };
        cut_at
    }
}

impl Controller for DctcpController {
    #[inline]
    fn limits(&self) -> Limits {
        Limits { cwnd: self.window.cwnd, pacing: None }
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Cuts::Inet { at } = self.cuts {
            self.cuts = Cuts::Inet { at: self.on_ack_of_inet(ack, at) };
            return;
        }
        self.observe(ack, ack.delivered);
        // RFC 8257 sec. 3.3, step 9.
        self.window.grow(ack);
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        // RFC 8257 sec. 3.4: as any TCP.
        self.window.reduce(self.flight(event) / 2);
    }

    fn on_ecn(&mut self, _: &CongestionEvent) {
        // INET cuts where it hears of bytes that are acknowledged.
        let Cuts::Rfc8257 { floor } = self.cuts else { return };
        // RFC 8257 sec. 3.3, step 10.
        let target = self.cut();
        self.window.reduce(target);
        self.window.cwnd = target.max(floor);
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        let repeated = event.repeated && matches!(self.cuts, Cuts::Rfc8257 { .. });
        self.window.collapse(self.flight(event) / 2, repeated);
    }

    fn on_recovered(&mut self, flight: u64) {
        match self.cuts {
            Cuts::Rfc8257 { .. } => self.window.recovered(flight),
            Cuts::Inet { .. } => self.window.cwnd = self.window.ssthresh,
        }
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
            acked: 0,
            marked: 0,
            window_end: 10_000,
            cuts: Cuts::Rfc8257 { floor: 2000 },
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

    /// A controller under INET's law, and an acknowledgement of the segment that ends at `una`, where `nxt` was sent.
    fn inet(alpha: f64, cwnd: u64) -> DctcpController {
        let mut dctcp = control(alpha).with_law(Law::Inet);
        (dctcp.window.cwnd, dctcp.window.ssthresh) = (cwnd, 2000);
        dctcp
    }

    fn acks(una: u64, nxt: u64, ecn_echo: bool) -> AckEvent {
        AckEvent { snd_una: una, snd_nxt: nxt, ecn_echo, ..ack(1000) }
    }

    #[test]
    fn inet_cuts_below_two_segments_and_leaves_three_quarters_or_two_segments_as_threshold_dctcp_4() {
        let mut dctcp = inet(1.0, 2500);
        dctcp.on_ack(&acks(9000, 11_000, true));
        assert_eq!((dctcp.limits().cwnd, dctcp.window.ssthresh), (1250, 2000));
        dctcp.on_ecn(&congestion(2000));
        assert_eq!(dctcp.limits().cwnd, 1250, "the acknowledgement has cut it already");
        let mut dctcp = inet(0.5, 16_000);
        dctcp.on_ack(&acks(5000, 20_000, true));
        assert_eq!((dctcp.limits().cwnd, dctcp.window.ssthresh), (12_000, 9000));
    }

    #[test]
    fn inet_stays_inet_whether_marks_may_cut_to_one_segment_is_said_before_or_after_dctcp_4() {
        for dctcp in [control(1.0).marks_to_one(true).with_law(Law::Inet), inet(1.0, 2500).marks_to_one(true)]
        {
            assert_eq!(dctcp.cuts, Cuts::Inet { at: NEVER });
        }
    }

    #[test]
    fn inet_grows_on_marks_until_it_has_sent_a_segment_and_then_cuts_again_dctcp_4() {
        let mut dctcp = inet(1.0, 8000);
        dctcp.on_ack(&acks(1000, 9000, true));
        assert_eq!(dctcp.limits().cwnd, 4000);
        dctcp.on_ack(&acks(2000, 9000, true));
        assert_eq!(dctcp.limits().cwnd, 4250, "congestion avoidance: 1000 x 1000 / 4000");
        dctcp.on_ack(&acks(3000, 10_000, false));
        assert_eq!(dctcp.limits().cwnd, 2125, "a segment left in between, and the window has marks");
    }

    #[test]
    fn inet_never_cuts_at_the_end_of_an_observation_window_and_so_never_with_one_segment_in_flight_dctcp_4() {
        let mut dctcp = inet(1.0, 1000);
        for segment in 11..15 {
            dctcp.on_ack(&acks(segment * 1000, segment * 1000, true));
        }
        // Twice by a segment up to the threshold, then 1000 x 1000 / 2000 and / 2500... as slow start and avoidance say.
        assert_eq!(dctcp.limits().cwnd, 1000 + 1000 + 500 + 400 + 344);
        assert_eq!(dctcp.alpha(), 1.0);
    }

    #[test]
    fn inet_takes_the_window_for_what_is_in_flight_when_a_segment_is_lost_dctcp_4() {
        let mut dctcp = inet(0.0, 10_000);
        dctcp.on_loss(&congestion(2000));
        assert_eq!(dctcp.limits().cwnd, 5000);
        dctcp.on_recovered(0);
        assert_eq!(dctcp.limits().cwnd, 5000);
        dctcp.on_timeout(&congestion(2000));
        assert_eq!((dctcp.limits().cwnd, dctcp.window.ssthresh), (1000, 2500));
    }
}
