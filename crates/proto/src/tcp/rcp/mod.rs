//! RCP: a flow sends at the rate that the ports on its path granted (Dukkipati, "Rate Control Protocol", Stanford
//! 2008).
//!
//! The port's part is [`RcpRate`]. A new flow asks with a SYN and starts, a round trip later, at the rate that flows in
//! progress have. Every data packet asks again, and every acknowledgement brings the answer. The family's [`Sender`]
//! decides which bytes to send and to repeat; there is no window.

mod port;

pub use port::{RcpConfig, RcpRate};

use super::config::TcpParams;
use super::controller::{AckEvent, CongestionEvent, Controller, Limits, RestartEvent, UNLIMITED};
use super::{Config, Ecn, Receiver, Sender};
use crate::agent::NoAgent;
use crate::endpoint::Env;
use crate::needs::Needs;
use crate::packet::Header;
use crate::transport::{Checked, Transport};
use clearway_schema::{Auto, Profile, declare};
use clearway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters of `rcp`.
    pub struct RcpParams {
        ..port: RcpConfig;
        /// If true, a flow asks for its rate with a SYN before the first byte, even over a connection that stands. Else
        /// it starts with `initial_window` spread over a round trip.
        ask_first: bool = "true" from "Dukkipati 2008; E17 sec. 6.1";
        ..tcp: TcpParams;
    }
}

/// The transport `rcp`.
pub struct Rcp;

impl Transport for Rcp {
    type Params = RcpParams;
    type Sender = Sender<RcpController>;
    type Receiver = Receiver;
    type Agent = NoAgent;
    type Mechanism = RcpRate;
    const NAME: &'static str = "rcp";
    const SUMMARY: &'static str =
        "RCP: every port has one rate for all its flows, written into their packets";
    const SOURCE: &'static str = "Dukkipati, Stanford 2008";
    const CHECKED: Checked = Checked::Code(
        "The router's law, its defaults and the host's pacing were held against the authors' ns-2 code; the thesis \
         and the IWQoS'05 paper were not at hand.",
    );
    const PROFILES: &'static [Profile] = super::config::PROFILES;

    fn needs(params: &RcpParams) -> Needs {
        let handshake = params.ask_first || params.tcp.handshake;
        Needs { handshake, first_window: None, ..params.tcp.needs() }
    }

    fn mechanism(params: &RcpParams) -> Option<RcpConfig> {
        Some(params.port)
    }

    fn sender(params: &RcpParams, env: &Env) -> Sender<RcpController> {
        let mut config = params.tcp.config(Ecn::Off);
        let mut env = *env;
        if params.ask_first {
            // The path's round trip is known, so a lost question need not wait a second.
            config.rto_initial = Auto::Set(config.rto_initial.or((env.base_rtt * 3).max(config.rto_min)));
            config.handshake = true;
            env.established = false;
        }
        Sender::new(&config, &env, RcpController::new(&config, &env))
    }

    fn receiver(params: &RcpParams, env: &Env) -> Receiver {
        Receiver::new(&params.tcp.config(Ecn::Off), env)
    }
}

/// The controller of RCP: it sends at the rate last granted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RcpController {
    rate: Rate,
    /// The rate of the host's own link, for which the flow asks.
    line_rate: Rate,
    srtt: Span,
}

impl RcpController {
    /// Returns the controller of a new flow.
    pub fn new(config: &Config, env: &Env) -> RcpController {
        let window = config.initial_window as u64 * env.framing.wire_max() as u64;
        let rate = over(window, env.base_rtt).min(env.line_rate);
        RcpController { rate, line_rate: env.line_rate, srtt: Span::ZERO }
    }

    fn grant(&mut self, rate: Rate) {
        self.rate = rate.clamp(Rate::bps(1), self.line_rate);
    }
}

/// Returns the rate at which `bytes` are sent evenly over `span`.
fn over(bytes: u64, span: Span) -> Rate {
    Rate::from_bps_f64(bytes as f64 * 8.0 / span.as_secs_f64().max(1e-9))
}

impl Controller for RcpController {
    const PACES: bool = true;

    #[inline]
    fn limits(&self) -> Limits {
        Limits { cwnd: UNLIMITED, pacing: Some(self.rate) }
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.srtt = ack.srtt;
        self.grant(ack.granted);
    }

    fn on_loss(&mut self, _: &CongestionEvent) {}

    fn on_ecn(&mut self, _: &CongestionEvent) {}

    fn on_timeout(&mut self, _: &CongestionEvent) {}

    fn on_restart(&mut self, event: &RestartEvent) {
        // After a pause the rate last granted says little: a window over a round trip, until the first answer.
        if self.srtt > Span::ZERO {
            self.rate = self.rate.min(over(event.window, self.srtt)).max(Rate::bps(1));
        }
    }

    fn on_open(&mut self, rtt: Span, granted: Rate, _: Time) {
        self.srtt = rtt;
        self.grant(granted);
    }

    #[inline]
    fn data_header(&self, offset: u64) -> Header {
        Header::RcpData { offset, rate: self.line_rate, srtt: self.srtt }
    }

    fn syn_header(&self) -> Header {
        Header::RcpSyn { rate: self.line_rate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Cx, Endpoint, Framing, Sender as _, Stats};
    use crate::packet::{Extra, Packet};
    use crate::rng::{Entity, Rng};
    use crate::tcp::controller::tests::ack;

    const ENV: Env = Env::for_test(Rate::gbps(10), Span::from_us(100), Framing::ETHERNET);

    #[test]
    fn a_flow_asks_before_its_first_byte_and_then_sends_at_the_rate_granted_expresspass_17_section_6_1() {
        let mut sender = Rcp::sender(&RcpParams::default(), &ENV);
        let (mut rng, mut stats) = (Rng::stream(1, Entity::Sender, 1), Stats::default());
        let mut cx = Cx { now: Time::ZERO, rng: &mut rng, stats: &mut stats };
        let mut extra = Extra::default();
        sender.write(1_000_000, &mut cx);
        let syn = sender.poll_control(&mut extra, &mut cx).unwrap();
        assert_eq!(syn.header, Header::RcpSyn { rate: Rate::gbps(10) });
        assert!(sender.poll_transmit(&mut cx).is_none());

        let (window, echo) = (u32::MAX, Time::ZERO);
        let header = Header::SynAck { window, rate: Rate::bps(1_538_000_000), echo };
        let answer = Packet::control(header, 84, Time::ZERO);
        cx.now = Time::ZERO + Span::from_us(100);
        sender.handle_packet(&answer, &extra, &mut cx);
        let first = sender.poll_transmit(&mut cx).unwrap();
        let (rate, srtt) = (Rate::gbps(10), Span::from_us(100));
        assert_eq!(first.header, Header::RcpData { offset: 0, rate, srtt });
        assert!(sender.poll_transmit(&mut cx).is_none());
        // 1538 bytes at 1.538 Gbps: 8 us.
        assert_eq!(sender.next_timeout(), cx.now + Span::from_us(8));

        // Half way, an answer doubles the rate: half of what is left remains to be waited.
        let header = Header::Ack { ack: 0, window, rate: Rate::bps(3_076_000_000), echo };
        let answer = Packet::control(header, 84, Time::ZERO);
        cx.now += Span::from_us(4);
        sender.handle_packet(&answer, &extra, &mut cx);
        assert_eq!(sender.next_timeout(), cx.now + Span::from_us(2));
    }

    #[test]
    fn the_gains_are_those_of_the_authors_code_and_not_xcps() {
        let config = Rcp::mechanism(&RcpParams::default()).unwrap();
        assert_eq!((config.alpha, config.beta, config.gamma), (0.4, 0.4, 1.0));
    }

    #[test]
    fn loss_changes_nothing_but_the_bytes_to_be_sent() {
        let mut rcp = RcpController::new(&RcpParams::default().tcp.config(Ecn::Off), &ENV);
        rcp.on_ack(&AckEvent { granted: Rate::gbps(5), ..ack(1460) });
        let event = crate::tcp::controller::tests::congestion(100_000);
        rcp.on_loss(&event);
        rcp.on_timeout(&event);
        assert_eq!(rcp.limits(), Limits { cwnd: UNLIMITED, pacing: Some(Rate::gbps(5)) });
    }

    #[test]
    fn after_a_pause_a_window_over_a_round_trip_until_the_next_answer() {
        let mut rcp = RcpController::new(&RcpParams::default().tcp.config(Ecn::Off), &ENV);
        rcp.on_ack(&AckEvent { granted: Rate::gbps(10), ..ack(1460) });
        rcp.on_restart(&RestartEvent { now: Time::ZERO, idle: Span::from_secs(1), window: 12_500 });
        assert_eq!(rcp.limits().pacing, Some(Rate::gbps(1)));
    }
}
