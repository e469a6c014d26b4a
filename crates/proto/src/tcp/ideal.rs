//! The hypothetical ideal rate control of ExpressPass '17, sec. 2 and Fig. 1 (a): every sender knows its exact fair
//! share at every instant and paces its packets perfectly; nobody coordinates phases between flows.
//!
//! Whoever drives the sender tells it the share, [`Sender::set_rate`](crate::Sender::set_rate); the simulator computes
//! max-min fairness whenever a flow starts or ends. A change of the rate changes the wait for the next packet at once,
//! in proportion to what is left of it. Loss is repaired as in TCP, and changes no rate.

use super::config::TcpParams;
use super::controller::{AckEvent, CongestionEvent, Controller, Limits, RestartEvent, UNLIMITED};
use super::{Ecn, Receiver, Sender};
use crate::agent::NoAgent;
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::Needs;
use crate::transport::{Checked, Transport};
use clearway_schema::declare;
use clearway_units::Rate;
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters of `ideal`.
    pub struct IdealParams {
        ..tcp: TcpParams;
    }
}

/// The transport `ideal`.
pub struct Ideal;

impl Transport for Ideal {
    type Params = IdealParams;
    type Sender = Sender<IdealController>;
    type Receiver = Receiver;
    type Agent = NoAgent;
    type Mechanism = NoMechanism;
    const NAME: &'static str = "ideal";
    const SUMMARY: &'static str =
        "Every sender knows its max-min fair share at every instant and paces perfectly";
    const SOURCE: &'static str = "ExpressPass, SIGCOMM'17, sec. 2, Fig. 1 (a)";
    const CHECKED: Checked = Checked::Paper(
        "ExpressPass '17, sec. 2, says what the ideal rate control does; max-min shares are checked by closed forms.",
    );

    fn needs(params: &IdealParams) -> Needs {
        Needs { oracle: true, first_window: None, ..params.tcp.needs() }
    }

    fn sender(params: &IdealParams, env: &Env) -> Sender<IdealController> {
        Sender::new(&params.tcp.config(Ecn::Off), env, IdealController { rate: env.path_rate })
    }

    fn receiver(params: &IdealParams, env: &Env) -> Receiver {
        Receiver::new(&params.tcp.config(Ecn::Off), env)
    }
}

/// The controller of the ideal rate control: the flow's fair share, as the oracle tells it. Until the oracle does, at
/// the instant of the start, it is the rate of the whole path.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct IdealController {
    rate: Rate,
}

impl Controller for IdealController {
    const PACES: bool = true;

    #[inline]
    fn limits(&self) -> Limits {
        Limits { cwnd: UNLIMITED, pacing: Some(self.rate) }
    }

    fn on_ack(&mut self, _: &AckEvent) {}

    fn on_loss(&mut self, _: &CongestionEvent) {}

    fn on_ecn(&mut self, _: &CongestionEvent) {}

    fn on_timeout(&mut self, _: &CongestionEvent) {}

    fn on_restart(&mut self, _: &RestartEvent) {}

    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate.max(Rate::bps(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Cx, Endpoint, Framing, Sender as _, Stats};
    use crate::rng::{Entity, Rng};
    use clearway_units::Span;
    use clearway_units::Time;

    #[test]
    fn a_flow_that_is_paced_from_its_start_has_no_first_window_to_be_warned_of() {
        let params = IdealParams::default();
        assert!(params.tcp.needs().first_window.is_some());
        assert_eq!(Ideal::needs(&params).first_window, None);
    }

    #[test]
    fn a_change_of_the_share_changes_the_wait_for_the_next_packet_at_once() {
        let env = Env::for_test(Rate::mbps(12_304), Span::from_us(100), Framing::ETHERNET);
        let mut sender = Ideal::sender(&IdealParams::default(), &env);
        let (mut rng, mut stats) = (Rng::stream(1, Entity::Sender, 1), Stats::default());
        let mut cx = Cx { now: Time::ZERO, rng: &mut rng, stats: &mut stats };
        sender.write(1_000_000, &mut cx);
        assert!(sender.poll_transmit(&mut cx).is_some());
        let at = |ns| Time::ZERO + Span::from_ns(ns);
        assert_eq!(sender.next_timeout(), at(1000), "1538 bytes at 12.304 Gbps");
        sender.set_rate(Rate::mbps(1_538), &mut cx);
        assert_eq!(sender.next_timeout(), at(8000));
        cx.now = at(4000);
        sender.set_rate(Rate::mbps(12_304), &mut cx);
        assert_eq!(sender.next_timeout(), at(4500));
        cx.now = at(4500);
        sender.handle_timeout(&mut cx);
        assert!(sender.poll_transmit(&mut cx).is_some() && sender.poll_transmit(&mut cx).is_none());
    }

    #[test]
    fn the_gauge_of_the_rate_is_the_share_and_a_flow_without_a_window_shows_none() {
        let env = Env::for_test(Rate::mbps(12_304), Span::from_us(100), Framing::ETHERNET);
        let mut sender = Ideal::sender(&IdealParams::default(), &env);
        let (mut rng, mut stats) = (Rng::stream(1, Entity::Sender, 1), Stats::default());
        let mut cx = Cx { now: Time::ZERO, rng: &mut rng, stats: &mut stats };
        sender.write(1_000_000, &mut cx);
        sender.set_rate(Rate::mbps(1_538), &mut cx);
        let gauges = sender.gauges();
        assert_eq!(gauges.rate, 1_538e6);
        assert!(gauges.cwnd.is_nan(), "{gauges:?}");
    }
}
