//! The TCP under an agent: a controller chosen by a parameter, where the transport is the agent's.

use super::controller::{AckEvent, CongestionEvent, Controller, Limits, RestartEvent};
use super::cubic::{self, CubicController};
use super::dctcp::{self, DctcpController};
use super::newreno::NewRenoController;
use super::{Config, Ecn, Receiver, Sender};
use crate::agent::{Agent, AgentEnv, AgentScope};
use crate::endpoint::Env;
use crate::mechanism::NoMechanism;
use crate::needs::{MarkingNeeds, Needs};
use crate::packet::Header;
use crate::transport::{Checked, Transport};
use clearway_schema::{Declared, Profile, choice};
use clearway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

choice! {
    /// Which TCP runs under an agent. Its own parameters (DCTCP's `g`, CUBIC's `beta`) have their defaults.
    pub enum Under {
        /// New Reno (RFC 6582).
        NewReno = "newreno",
        /// CUBIC.
        Cubic = "cubic",
        /// DCTCP.
        Dctcp = "dctcp",
    }
}

impl Under {
    /// Returns the treatment of marks: none without `ecn`, else the one that the controller needs.
    pub fn ecn(self, ecn: bool) -> Ecn {
        match self {
            _ if !ecn => Ecn::Off,
            Under::NewReno | Under::Cubic => Ecn::Classic,
            Under::Dctcp => Ecn::Exact,
        }
    }
}

/// The parameters of a transport that is an agent over TCP, from which [`OverTcp`] makes the transport.
pub trait AgentParams: Declared + Default {
    /// The agent of a receiving host; see [`Transport::Agent`].
    type Agent: Agent;
    /// The name of the transport; see [`Transport::NAME`].
    const NAME: &'static str;
    /// A sentence on what the transport is; see [`Transport::SUMMARY`].
    const SUMMARY: &'static str;
    /// The paper that defines it; see [`Transport::SOURCE`].
    const SOURCE: &'static str;
    /// The sources that it was checked against; see [`Transport::CHECKED`].
    const CHECKED: Checked;
    /// The named sets of parameters; see [`Transport::PROFILES`].
    const PROFILES: &'static [Profile];
    /// Returns the TCP that runs under the agent.
    fn under(&self) -> Under;
    /// Returns the settings of that TCP.
    fn tcp(&self) -> Config;
    /// Returns the settings of its sending end, which an agent may change.
    fn tcp_of_sender(&self, env: &Env) -> Config {
        let _ = env;
        self.tcp()
    }
    /// Returns true if the agent controls the first window of a flow that opens a connection.
    fn holds_openings(&self) -> bool {
        false
    }
    /// Returns the agent of a receiving host.
    fn agent(&self, env: &AgentEnv) -> Self::Agent;
}

/// The transport that consists of the TCP and the agent of its parameters.
pub struct OverTcp<P>(PhantomData<P>);

impl<P: AgentParams> Transport for OverTcp<P> {
    type Params = P;
    type Sender = Sender<UnderController>;
    type Receiver = Receiver;
    type Agent = P::Agent;
    type Mechanism = NoMechanism;
    const NAME: &'static str = P::NAME;
    const SUMMARY: &'static str = P::SUMMARY;
    const SOURCE: &'static str = P::SOURCE;
    const CHECKED: Checked = P::CHECKED;
    const PROFILES: &'static [Profile] = P::PROFILES;
    const AGENT: AgentScope = AgentScope::RECEIVERS;

    fn needs(params: &P) -> Needs {
        let tcp = params.tcp();
        Needs {
            marking: (tcp.ecn != Ecn::Off).then_some(MarkingNeeds::Step),
            first_window: Some(tcp.initial_window),
            holds_openings: params.holds_openings(),
            handshake: tcp.handshake,
            ..Needs::NOTHING
        }
    }

    fn sender(params: &P, env: &Env) -> Sender<UnderController> {
        let config = params.tcp_of_sender(env);
        Sender::new(&config, env, UnderController::new(params.under(), &config, env))
    }

    fn receiver(params: &P, env: &Env) -> Receiver {
        Receiver::new(&params.tcp(), env)
    }

    fn agent(params: &P, env: &AgentEnv) -> Option<P::Agent> {
        Some(params.agent(env))
    }
}

/// The controller of the chosen TCP, which also returns timestamps: each data packet carries that of the newest
/// acknowledgement (RFC 7323 sec. 3.2, `TS.Recent`), so that an agent can measure round trips.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct UnderController {
    control: AnyController,
    ts_recent: Time,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)] // the sender that holds it is far larger
enum AnyController {
    NewReno(NewRenoController),
    Cubic(CubicController),
    Dctcp(DctcpController),
}

impl UnderController {
    /// Returns the controller of a new flow.
    pub fn new(under: Under, config: &Config, env: &Env) -> UnderController {
        let control = match under {
            Under::NewReno => AnyController::NewReno(NewRenoController::new(config, env)),
            Under::Cubic => {
                AnyController::Cubic(CubicController::new(&cubic::CubicParams::default(), config, env))
            }
            Under::Dctcp => {
                let dctcp::DctcpParams { g, alpha_initial, .. } = dctcp::DctcpParams::default();
                AnyController::Dctcp(DctcpController::new(g, alpha_initial, config, env))
            }
        };
        UnderController { control, ts_recent: Time::ZERO }
    }
}

macro_rules! forward {
    ($self:ident, $control:ident => $call:expr) => {
        match &mut $self.control {
            AnyController::NewReno($control) => $call,
            AnyController::Cubic($control) => $call,
            AnyController::Dctcp($control) => $call,
        }
    };
}

impl Controller for UnderController {
    #[inline]
    fn limits(&self) -> Limits {
        match &self.control {
            AnyController::NewReno(control) => control.limits(),
            AnyController::Cubic(control) => control.limits(),
            AnyController::Dctcp(control) => control.limits(),
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        // The acknowledgement left one way after the data that it acknowledges, whose round trip ends now.
        let age = ack.rtt.saturating_sub(ack.one_way).as_ps();
        self.ts_recent = self.ts_recent.max(Time::from_ps(ack.now.as_ps().saturating_sub(age)));
        forward!(self, control => control.on_ack(ack))
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        forward!(self, control => control.on_loss(event))
    }

    fn on_ecn(&mut self, event: &CongestionEvent) {
        forward!(self, control => control.on_ecn(event))
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        forward!(self, control => control.on_timeout(event))
    }

    fn on_recovered(&mut self, flight: u64) {
        forward!(self, control => control.on_recovered(flight))
    }

    fn on_restart(&mut self, event: &RestartEvent) {
        forward!(self, control => control.on_restart(event))
    }

    fn on_open(&mut self, _: Span, _: Rate, sent: Time) {
        self.ts_recent = sent;
    }

    #[inline]
    fn data_header(&self, offset: u64) -> Header {
        Header::Data { offset, echo: self.ts_recent }
    }
}

#[cfg(test)]
mod tests {
    use super::super::controller::tests::ack;
    use super::*;
    use crate::endpoint::Framing;

    #[test]
    fn data_returns_when_the_newest_acknowledgement_left_rfc_7323_section_3_2() {
        let us = |us| Time::ZERO + Span::from_us(us);
        let env = Env::for_test(Rate::gbps(1), Span::from_us(100), Framing::ETHERNET);
        let config = super::super::newreno::NewRenoParams::default().tcp.config(Ecn::Off);
        let mut control = UnderController::new(Under::NewReno, &config, &env);
        let data = |echo| Header::Data { offset: 1460, echo };
        control.on_open(Span::from_us(100), Rate::ZERO, us(60));
        assert_eq!(control.data_header(1460), data(us(60)));
        // Data left at 100, was acknowledged at 170, and the acknowledgement arrived at 200.
        let event =
            AckEvent { now: us(200), rtt: Span::from_us(100), one_way: Span::from_us(70), ..ack(1460) };
        control.on_ack(&event);
        assert_eq!(control.data_header(1460), data(us(170)));
        control.on_ack(&AckEvent { one_way: Span::from_us(20), ..event });
        assert_eq!(
            control.data_header(1460),
            data(us(170)),
            "an older one that was overtaken changes nothing"
        );
    }

    /// Shows a controller what happens to a flow. Returns its window after each event.
    fn windows(mut control: impl Controller) -> Vec<u64> {
        let event = |segments: u64| CongestionEvent {
            now: Time::ZERO + Span::from_us(200),
            flight: segments * 1460,
            snd_nxt: segments * 1460,
            repeated: false,
        };
        let restart = |segments: u64| RestartEvent {
            now: Time::ZERO + Span::from_ms(2),
            idle: Span::from_ms(1),
            window: segments * 1460,
        };
        let mut seen = Vec::new();
        for step in 0..9 {
            match step {
                0 | 2 => (0..40).for_each(|_| control.on_ack(&ack(1460))),
                1 => control.on_loss(&event(30)),
                3 => control.on_recovered(20 * 1460),
                4 => control.on_ecn(&event(20)),
                5 => control.on_restart(&restart(5)),
                6 => control.on_timeout(&event(20)),
                _ => control.on_ack(&AckEvent { snd_una: 90 * 1460, snd_nxt: 99 * 1460, ..ack(1460) }),
            }
            seen.push(control.limits().cwnd);
        }
        seen
    }

    #[test]
    fn the_tcp_under_an_agent_hears_all_that_it_hears_alone() {
        let env = Env::for_test(Rate::gbps(1), Span::from_us(100), Framing::ETHERNET);
        let config = super::super::newreno::NewRenoParams::default().tcp.config(Ecn::Classic);
        let under = |which| windows(UnderController::new(which, &config, &env));
        let newreno = windows(NewRenoController::new(&config, &env));
        assert_eq!(under(Under::NewReno), newreno);
        assert_eq!(
            under(Under::Cubic),
            windows(CubicController::new(&cubic::CubicParams::default(), &config, &env))
        );
        let dctcp::DctcpParams { g, alpha_initial, .. } = dctcp::DctcpParams::default();
        assert_eq!(under(Under::Dctcp), windows(DctcpController::new(g, alpha_initial, &config, &env)));
        // Loss, restart and timeout, each of which a controller that does not hear of it would pass without a cut.
        for step in [1, 5, 6] {
            assert!(newreno[step] < newreno[step - 1], "{newreno:?}");
        }
    }
}
