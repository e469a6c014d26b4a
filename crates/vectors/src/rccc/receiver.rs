//! The pulls of a receiving host: one pacer for all flows that arrive there.

mod scripts;

pub use scripts::cases;

use crate::case::{Subject, json};
use crate::setting::{FRAMING, env};
use clearway_proto::uec::config::{Groups, PacerConfig};
use clearway_proto::uec::{Pacer, RcccParams, UecRccc};
use clearway_proto::{Agent, AgentEnv, Entity, Extra, Flags, Header, Packet, Rng, Side, Transport};
use clearway_schema::Auto;
use clearway_units::Time;
use serde::Serialize;

/// What a receiving host is told. Flows have numbers that the host chose.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Input {
    /// A flow begins.
    Begin { flow: u32 },
    /// A flow is over.
    End { flow: u32 },
    /// A packet of data arrived, whole or cut to its header.
    Data {
        flow: u32,
        /// The pull that its sender wants to have come to.
        target_quanta: u32,
        marked: bool,
        trimmed: bool,
        /// True if it was cut at its last hop.
        last_hop: bool,
    },
    /// A sender asks for pulls without data.
    Request {
        flow: u32,
        /// The pull that it wants to have come to.
        target_quanta: u32,
    },
    /// An acknowledgement leaves.
    Ack { flow: u32 },
    /// A NACK leaves.
    Nack { flow: u32 },
    /// A pull may leave, if it is time and a flow waits.
    Turn,
    /// The controller of an oversubscribed network decides by what arrived since it last did.
    Decide,
}

/// What can be seen of a host.
#[derive(Serialize)]
struct Output {
    /// The earliest time of the next pull, unless no flow waits for one.
    next_ps: Option<u64>,
    /// The flow that is pulled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pulls_flow: Option<u32>,
    /// The number of its pull, or the one that the answer tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pull_quanta: Option<u32>,
    /// True if the pull is ahead of demand.
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<bool>,
    /// The factor by which pulls slow down.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_ppm: Option<u64>,
}

#[derive(Serialize)]
struct Initial {
    kind: &'static str,
    part: &'static str,
    receiver_rate_bps: u64,
    network_rtt_ps: u64,
    quantum_bytes: u64,
    quantum_ps: u64,
    pull_rate: f64,
    pull_quanta: u32,
    empty_quanta: u32,
    ahead_quanta: f64,
    acks_pull: bool,
    stays_idle: bool,
    oversubscribed_cc: bool,
    min_rate: f64,
    rate_ai: f64,
    rate_md: f64,
    rate_alpha: f64,
    target_congestion: f64,
}

struct Host {
    pacer: Pacer,
    params: RcccParams,
    env: AgentEnv,
}

impl Host {
    fn new(params: &RcccParams, gbps: u64) -> Host {
        let (env, rng) = (env(gbps), Rng::stream(0, Entity::Agent, 0));
        let (line_rate, network_rtt) = (env.line_rate, env.network_rtt);
        let env = AgentEnv { line_rate, framing: FRAMING, network_rtt, oversubscription: 1.0, rng };
        let pacer = UecRccc::agent(params, &env).expect("RCCC has agents");
        Host { pacer, params: params.clone(), env }
    }

    fn output(&self) -> Output {
        let next = self.pacer.next_pull();
        let next_ps = (next != Time::MAX).then(|| next.as_ps());
        Output { next_ps, pulls_flow: None, pull_quanta: None, ahead: None, rate_ppm: None }
    }

    /// Lets an answer leave. Returns the number of the pull that it tells.
    fn answer(&mut self, flow: u32, header: Header, at: Time) -> Option<u32> {
        let packet = Packet::control(header, FRAMING.wire(0), at);
        let passed = self.pacer.handle_outgoing(flow, packet, &Extra::None, at)?;
        match passed.header {
            Header::PulledAck { pull, .. } | Header::PulledNack { pull, .. } => {
                self.params.credit.acks_pull.then_some(pull)
            }
            _ => None,
        }
    }
}

impl Subject for Host {
    type Input = Input;

    fn initial(&self) -> String {
        let credit = &self.params.credit;
        let groups = Groups { common: &self.params.common, window: None, credit: Some(credit) };
        let config = PacerConfig::new(&groups, credit, &self.env);
        json(&Initial {
            kind: "initial",
            part: "receiver",
            receiver_rate_bps: self.env.line_rate.as_bps(),
            network_rtt_ps: self.env.network_rtt.as_ps(),
            quantum_bytes: credit.quantum.get(),
            quantum_ps: config.quantum.as_ps(),
            pull_rate: credit.pull_rate,
            pull_quanta: config.pull_quanta,
            empty_quanta: config.empty_quanta,
            ahead_quanta: config.ahead,
            acks_pull: config.acks_pull,
            stays_idle: config.stays_idle,
            oversubscribed_cc: credit.oversubscribed_cc == Auto::Set(true),
            min_rate: credit.least_rate(self.env.oversubscription),
            rate_ai: credit.rate_ai,
            rate_md: credit.rate_md,
            rate_alpha: credit.rate_alpha,
            target_congestion: credit.target_congestion,
        })
    }

    fn first_output(&self) -> String {
        json(&self.output())
    }

    fn step(&mut self, at: Time, input: &Input) -> (String, Option<String>) {
        let mut pulled = None;
        let mut told = None;
        match *input {
            Input::Begin { flow } => self.pacer.begin(flow, Side::Receiver, at),
            Input::End { flow } => self.pacer.forget(flow),
            Input::Data { flow, target_quanta, marked, trimmed, last_hop } => {
                let header = Header::PulledData { offset: 0, psn: 0, pull: 0, target: target_quanta };
                let flags = Flags::NONE
                    .with_if(marked, Flags::ECN_CE)
                    .with_if(trimmed, Flags::TRIMMED)
                    .with_if(last_hop, Flags::LAST_HOP);
                let packet = Packet::data(header, FRAMING.payload_max, FRAMING.wire_max(), at);
                self.pacer.handle_incoming(flow, packet.with_flags(flags), &Extra::None, at);
            }
            Input::Request { flow, target_quanta } => {
                let header = Header::PullRequest { psn: 0, pull: 0, target: target_quanta };
                let packet = Packet::control(header, FRAMING.wire(0), at);
                self.pacer.handle_incoming(flow, packet, &Extra::None, at);
            }
            Input::Ack { flow } => {
                let (from, map, held, penalty) = (0, 0, 0, 0);
                let header =
                    Header::PulledAck { next: 0, psn: 0, pull: 0, received: 0, from, map, held, penalty };
                told = self.answer(flow, header, at);
            }
            Input::Nack { flow } => {
                let header = Header::PulledNack { next: 0, psn: 0, pull: 0, received: 0 };
                told = self.answer(flow, header, at);
            }
            Input::Turn => pulled = self.pacer.poll_transmit(at),
            Input::Decide => self.pacer.handle_timeout(at),
        }
        let mut output = self.output();
        output.pull_quanta = told;
        if let Some(sent) = pulled
            && let Header::Pull { pull, leads } = sent.packet.header
        {
            (output.pulls_flow, output.pull_quanta, output.ahead) =
                (Some(sent.flow), Some(pull), Some(leads));
        }
        output.rate_ppm = matches!(input, Input::Decide).then(|| (self.pacer.rate() * 1e6).round() as u64);
        (json(&output), None)
    }
}
