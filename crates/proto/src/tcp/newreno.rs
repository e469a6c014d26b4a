//! TCP New Reno: RFC 5681's congestion control, with the loss recovery of RFC 6582 (and RFC 6675) of the
//! [sender](super::Sender).

use super::config::TcpParams;
use super::controller::{AckEvent, CongestionEvent, Controller, Limits, RenoWindow, RestartEvent};
use super::{Config, Ecn, Receiver, Sender};
use crate::agent::NoAgent;
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::{MarkingNeeds, Needs};
use crate::transport::{Checked, Transport};
use clearway_schema::{Profile, declare};
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters of `newreno`.
    pub struct NewRenoParams {
        /// If true, flows take part in ECN as RFC 3168 says: marks halve the window, once per window.
        ecn: bool = "false" from "RFC 3168; off as in the papers' baselines";
        ..tcp: TcpParams;
    }
}

/// The transport `newreno`.
pub struct NewReno;

impl Transport for NewReno {
    type Params = NewRenoParams;
    type Sender = Sender<NewRenoController>;
    type Receiver = Receiver;
    type Agent = NoAgent;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "newreno";
    const SUMMARY: &'static str =
        "TCP New Reno: halves its window on loss, grows by a segment per round trip";
    const SOURCE: &'static str = "RFC 5681, RFC 6582, RFC 6675";
    const CHECKED: Checked = Checked::Neither(
        "Written from knowledge of the RFCs that it cites; their text was not held against it line by line.",
    );
    const PROFILES: &'static [Profile] = super::config::PROFILES;

    fn needs(params: &NewRenoParams) -> Needs {
        let marking = params.ecn.then_some(MarkingNeeds::Step);
        Needs { marking, ..params.tcp.needs() }
    }

    fn sender(params: &NewRenoParams, env: &Env) -> Sender<NewRenoController> {
        let config = config(params);
        Sender::new(&config, env, NewRenoController::new(&config, env))
    }

    fn receiver(params: &NewRenoParams, env: &Env) -> Receiver {
        Receiver::new(&config(params), env)
    }
}

fn config(params: &NewRenoParams) -> Config {
    params.tcp.config(if params.ecn { Ecn::Classic } else { Ecn::Off })
}

/// The controller of New Reno: additive increase and multiplicative decrease of a window.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct NewRenoController(RenoWindow);

impl NewRenoController {
    /// Returns the controller of a new flow.
    pub fn new(config: &Config, env: &Env) -> NewRenoController {
        NewRenoController(RenoWindow::new(env.framing.payload_max, config.initial_window, config.min_cwnd))
    }
}

impl Controller for NewRenoController {
    #[inline]
    fn limits(&self) -> Limits {
        Limits { cwnd: self.0.cwnd, pacing: None }
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        self.0.grow(ack);
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.0.reduce(event.flight / 2);
    }

    fn on_ecn(&mut self, _: &CongestionEvent) {
        self.0.reduce(self.0.cwnd / 2);
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        self.0.collapse(event.flight / 2, event.repeated);
    }

    fn on_recovered(&mut self, flight: u64) {
        self.0.recovered(flight);
    }

    fn on_restart(&mut self, event: &RestartEvent) {
        self.0.restart(event.window);
    }
}

#[cfg(test)]
mod tests {
    use super::super::controller::tests::congestion;
    use super::*;

    #[test]
    fn loss_halves_what_was_in_flight_and_a_mark_the_window_rfc_5681_equation_4_rfc_3168_section_6_1_2() {
        let mut reno = NewRenoController(RenoWindow::new(1000, 10, 2));
        reno.on_loss(&congestion(8000));
        assert_eq!(reno.limits().cwnd, 4000);
        let mut reno = NewRenoController(RenoWindow::new(1000, 10, 2));
        reno.on_ecn(&congestion(8000));
        assert_eq!(reno.limits().cwnd, 5000);
    }

    #[test]
    fn a_full_acknowledgement_leaves_at_most_a_segment_more_than_is_in_flight_rfc_6582_section_3_2() {
        let mut reno = NewRenoController(RenoWindow::new(1000, 20, 2));
        reno.on_loss(&congestion(20_000));
        reno.on_recovered(3000);
        assert_eq!(reno.limits().cwnd, 4000);
        reno.on_recovered(0);
        assert_eq!(reno.limits().cwnd, 2000);
        reno.on_recovered(50_000);
        assert_eq!(reno.limits().cwnd, 10_000);
    }
}
