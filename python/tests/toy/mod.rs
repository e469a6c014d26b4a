//! A toy that brings all that a transport may bring: two ends, an agent, and a port mechanism with a key in `[switch]`.
//!
//! `test_toy.py` makes it a folder of `proto` and adds its line to the registry.

use crate::endpoint::Env;
use crate::mechanism::{PortMechanism, PortState, Sees};
use crate::needs::Needs;
use crate::packet::{Extra, Flags, Kind, Packet};
use crate::agent::{Agent, AgentEnv, AgentPacket, AgentScope, AgentStats};
use crate::tcp::dctcp::DctcpController;
use crate::tcp::config::TcpParams;
use crate::tcp::{Ecn, Receiver, Sender};
use crate::transport::{Checked, Transport};
use clearway_schema::declare;
use clearway_units::{Rate, Time};
use serde::{Deserialize, Serialize};

declare! {
    /// Constants of the toy's ports.
    #[derive(PartialEq)]
    pub struct ToyConfig {
        /// Ports: one data packet of this many is marked.
        every: u32 = "100" in "1" to "1000" from "our choice";
    }
}

declare! {
    /// Parameters of `toy`.
    pub struct Params {
        ..port: ToyConfig;
        ..tcp: TcpParams;
    }
}

/// The transport.
pub struct Toy;

impl Transport for Toy {
    type Params = Params;
    type Sender = Sender<DctcpController>;
    type Receiver = Receiver;
    type Agent = ToyAgent;
    type Mechanism = ToyPort;
    const NAME: &'static str = "toy";
    const SUMMARY: &'static str = "A toy: DCTCP with an agent that counts and ports that mark regularly";
    const SOURCE: &'static str = "ourselves";
    const AGENT: AgentScope = AgentScope::RECEIVERS;
    const CHECKED: Checked = Checked::Neither("There is no paper to hold it against, and no code.");

    fn needs(_: &Params) -> Needs {
        Needs::NOTHING
    }

    fn mechanism(params: &Params) -> Option<ToyConfig> {
        Some(params.port.clone())
    }

    fn sender(params: &Params, env: &Env) -> Sender<DctcpController> {
        let config = params.tcp.config(Ecn::Exact);
        Sender::new(&config, env, DctcpController::new(0.0625, 1.0, &config, env))
    }

    fn receiver(params: &Params, env: &Env) -> Receiver {
        Receiver::new(&params.tcp.config(Ecn::Exact), env)
    }

    fn agent(_: &Params, _: &AgentEnv) -> Option<ToyAgent> {
        Some(ToyAgent { passed: 0 })
    }
}

/// An agent that lets everything pass, and counts it.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToyAgent {
    passed: u64,
}

impl Agent for ToyAgent {
    fn handle_incoming(&mut self, _: u32, packet: Packet, _: &Extra, _: Time) -> Option<Packet> {
        Some(packet)
    }

    fn handle_outgoing(&mut self, _: u32, packet: Packet, _: &Extra, _: Time) -> Option<Packet> {
        self.passed += 1;
        Some(packet)
    }

    fn poll_transmit(&mut self, _: Time) -> Option<AgentPacket> {
        None
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn forget(&mut self, _: u32) {}

    fn stats(&self) -> AgentStats {
        AgentStats { released: self.passed, ..AgentStats::default() }
    }
}

/// A port that marks one data packet of every few.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToyPort {
    every: u32,
    since: u32,
}

impl PortMechanism for ToyPort {
    type Config = ToyConfig;
    const NAME: &'static str = "regular marks";
    const PREFIX: &'static str = "toy";
    const KEYS: &'static [&'static str] = &["every"];
    const SEES_DEPARTURES: Sees = Sees::Data;

    fn new(config: &ToyConfig, _: Rate) -> ToyPort {
        ToyPort { every: config.every, since: 0 }
    }

    fn on_departure(&mut self, packet: &mut Packet, _: Option<&mut Extra>, _: PortState) {
        self.since += u32::from(packet.kind() == Kind::Data);
        if self.since >= self.every && packet.flags.has(Flags::ECN_CAPABLE) {
            packet.flags.set(Flags::ECN_CE);
            self.since = 0;
        }
    }
}
