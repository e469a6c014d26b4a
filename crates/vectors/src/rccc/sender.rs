//! The credit that a sender spends, and the demand that it tells.

use crate::case::{Case, Recording, Subject, json};
use crate::setting::{FRAMING, env};
use clearway_proto::uec::config::Groups;
use clearway_proto::uec::credit::{Credit, CreditConfig};
use clearway_proto::uec::{Pacer, RcccParams, UecRccc};
use clearway_proto::{Agent, AgentEnv, Entity, Header, Packet, Rng, Transport};
use clearway_units::Time;
use serde::Serialize;

/// What a sender is told, and what it does.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Input {
    /// A packet leaves, which tells the demand.
    Send {
        /// The size of the packet.
        size_bytes: u32,
        /// The bytes that are still to be sent after it, for the first time or again.
        demand_bytes: i64,
        /// The bytes that are still to be sent after it for the first time.
        backlog_bytes: i64,
        /// The flows of the host that wait for their turn, this one among them.
        waiting_flows: u32,
    },
    /// An acknowledgement, a NACK or a pull arrived, with the number of a pull or without one.
    Heard {
        /// The number.
        pull_quanta: Option<u32>,
    },
}

/// What can be seen of a sender.
#[derive(Serialize)]
struct Output {
    credit_bytes: i64,
    may_send: bool,
    pull_quanta: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_quanta: Option<u32>,
}

#[derive(Serialize)]
struct State {
    speculates: bool,
}

#[derive(Serialize)]
struct Initial {
    kind: &'static str,
    part: &'static str,
    mtu_bytes: i64,
    quantum_bytes: u32,
    most_bytes: i64,
    sender_rate_bps: u64,
    network_rtt_ps: u64,
    maxwnd_bdp: f64,
}

struct Purse {
    credit: Credit,
    config: CreditConfig,
    params: RcccParams,
    gbps: u64,
    /// The agent of the host, which divides the demand among the flows that wait.
    host: Pacer,
}

impl Purse {
    fn new(params: &RcccParams, gbps: u64) -> Purse {
        let groups = Groups { common: &params.common, window: None, credit: Some(&params.credit) };
        let env = env(gbps);
        let config = groups.sender(&env).credit.expect("the parameters are of a transport with credit");
        let rng = Rng::stream(0, Entity::Agent, 0);
        let (line_rate, network_rtt) = (env.line_rate, env.network_rtt);
        let of_host = AgentEnv { line_rate, framing: FRAMING, network_rtt, oversubscription: 1.0, rng };
        let host = UecRccc::agent(params, &of_host).expect("RCCC has agents");
        Purse { credit: Credit::new(&config), config, params: params.clone(), gbps, host }
    }

    /// Returns the demand that a packet tells.
    fn target(&mut self, demand: i64, backlog: i64, waiting: u32) -> u32 {
        let (pull, target) = (self.credit.pull(), self.credit.target(demand, backlog, &self.config));
        let header = Header::PulledData { offset: 0, psn: 0, pull, target };
        let mut packet = Packet::data(header, FRAMING.payload_max, FRAMING.wire_max(), Time::ZERO);
        self.host.handle_data(0, &mut packet, waiting, Time::ZERO);
        match packet.header {
            Header::PulledData { target, .. } => target,
            _ => target,
        }
    }

    fn output(&self, target_quanta: Option<u32>) -> String {
        let credit = self.credit.bytes();
        json(&Output {
            credit_bytes: credit,
            may_send: credit > 0,
            pull_quanta: self.credit.pull(),
            target_quanta,
        })
    }
}

impl Subject for Purse {
    type Input = Input;

    fn initial(&self) -> String {
        let env = env(self.gbps);
        json(&Initial {
            kind: "initial",
            part: "sender",
            mtu_bytes: self.config.mtu,
            quantum_bytes: self.config.quantum,
            most_bytes: self.config.most,
            sender_rate_bps: env.line_rate.as_bps(),
            network_rtt_ps: env.network_rtt.as_ps(),
            maxwnd_bdp: self.params.common.maxwnd,
        })
    }

    fn first_output(&self) -> String {
        self.output(None)
    }

    fn step(&mut self, _: Time, input: &Input) -> (String, Option<String>) {
        let target = match *input {
            Input::Send { size_bytes, demand_bytes, backlog_bytes, waiting_flows } => {
                self.credit.spend(size_bytes);
                Some(self.target(demand_bytes, backlog_bytes, waiting_flows))
            }
            Input::Heard { pull_quanta } => {
                self.credit.stop_speculating();
                if let Some(pull) = pull_quanta {
                    self.credit.pulled(pull, &self.config);
                }
                None
            }
        };
        (self.output(target), Some(json(&State { speculates: self.credit.speculates() })))
    }
}

const MTU: u32 = 4_150;

/// A recording with a clock of its own: time has no part in the credit of a sender.
struct Script(Recording<Purse>);

impl Script {
    fn send(&mut self, size: u32, demand: i64, waiting_flows: u32) {
        let input =
            Input::Send { size_bytes: size, demand_bytes: demand, backlog_bytes: demand, waiting_flows };
        self.0.step(Time::ZERO, input);
    }

    fn heard(&mut self, pull_quanta: Option<u32>) {
        self.0.step(Time::ZERO, Input::Heard { pull_quanta });
    }
}

/// Returns the cases of the sender.
pub fn cases(params: &RcccParams, seed: u64) -> Vec<Case> {
    let mut cases = of_credit(params);
    cases.extend(of_demand(params));
    cases.push(drawn(params, seed));
    cases
}

/// Records a case.
fn case(params: &RcccParams, name: &str, about: &str, gbps: u64, script: fn(&mut Script)) -> Case {
    let mut inputs = Script(Recording::new(name, about, Purse::new(params, gbps)));
    script(&mut inputs);
    inputs.0.done()
}

/// Cases of what is spent and granted.
fn of_credit(params: &RcccParams) -> Vec<Case> {
    let case = |name, about, gbps, script| case(params, name, about, gbps, script);
    vec![
        case(
            "sender-of-one-window",
            "A flow that fits the first credit asks for a packet at a time at most.",
            100,
            |s| {
                (1..6).rev().for_each(|left| s.send(MTU, left * 4_150, 1));
                s.send(1_000, 0, 1);
                s.heard(Some(17));
                s.heard(Some(64));
            },
        ),
        case(
            "sender-of-a-long-flow",
            "The first credit is spent; what is left of it is gone when the receiver is heard.",
            100,
            |s| {
                (0..60).for_each(|k| s.send(MTU, 1_000_000 - k * 4_150, 1));
                s.heard(None);
                s.send(MTU, 700_000, 1);
                s.heard(Some(64));
                (0..4).for_each(|k| s.send(MTU, 600_000 - k * 4_150, 1));
                s.heard(Some(128));
            },
        ),
        case(
            "sender-in-debt",
            "The last packet may leave with any credit above zero: the debt stays when speculating ends.",
            100,
            |s| {
                (0..64).for_each(|_| s.send(MTU, 500_000, 1));
                s.heard(None);
                s.heard(Some(10));
                s.heard(Some(20));
            },
        ),
    ]
}

/// Cases of late pulls, and of what a sender asks for.
fn of_demand(params: &RcccParams) -> Vec<Case> {
    let case = |name, about, gbps, script| case(params, name, about, gbps, script);
    vec![
        case(
            "late-pulls",
            "Pulls that come late or twice count for nothing, and credit has a limit.",
            400,
            |s| {
                s.heard(Some(64));
                [64, 63, 0, 4_294_962_360, 128, 100_000].into_iter().for_each(|pull| s.heard(Some(pull)));
                s.send(MTU, 8_300, 1);
            },
        ),
        case("pulls-wrap", "The numbers of pulls go on from 0 after 32 bits.", 100, |s| {
            [2_147_483_647, 4_294_967_290, 4].into_iter().for_each(|pull| {
                s.heard(Some(pull));
                s.send(MTU, 4_150, 1);
            });
            (0..70).for_each(|_| s.send(MTU, 10_000_000, 1));
            s.heard(Some(100));
        }),
        case(
            "target-below-the-pull",
            "A sender with more credit than it needs wants to have come to less.",
            100,
            |s| {
                s.heard(Some(512));
                [8_300, 4_150, 1, 0].into_iter().for_each(|demand| s.send(MTU, demand, 1));
            },
        ),
        case("waiting-flows", "Where several flows of a host wait, each asks for its share.", 100, |s| {
            s.heard(Some(64));
            [1, 2, 3, 7, 100].into_iter().for_each(|waiting| s.send(MTU, 200_000, waiting));
            s.heard(Some(1_024));
            [1, 2, 3, 7, 100].into_iter().for_each(|waiting| s.send(MTU, 0, waiting));
        }),
    ]
}

/// Returns a drawn sequence.
fn drawn(params: &RcccParams, seed: u64) -> Case {
    let mut inputs = Script(Recording::new(
        "sender-drawn",
        "A drawn sequence of a sender at 100 Gbps.",
        Purse::new(params, 100),
    ));
    let mut rng = Rng::stream(seed, Entity::Traffic, 100);
    let (mut demand, mut pull) = (3_000_000i64, 0u32);
    for step in 0..400 {
        if inputs.0.subject.credit.bytes() > 0 && demand > 0 && rng.below(3) > 0 {
            let size = demand.min(i64::from(MTU)) as u32;
            demand -= i64::from(size);
            let backlog_bytes = demand - rng.below(demand as u64 / 4 + 1) as i64;
            let waiting_flows = 1 + rng.below(3) as u32;
            let input = Input::Send { size_bytes: size, demand_bytes: demand, backlog_bytes, waiting_flows };
            inputs.0.step(Time::ZERO, input);
        } else if step > 20 {
            pull += rng.below(80) as u32;
            let told = pull.wrapping_sub(if rng.below(8) == 0 { 40 } else { 0 });
            inputs.heard((rng.below(4) > 0).then_some(told));
        }
    }
    inputs.0.done()
}
