//! ICTCP, incast congestion control for TCP (Wu, Feng, Guo, Zhang, CoNEXT'10): an agent that limits the receive windows
//! in a host's acknowledgements so that the host's connections together fit its link.
//!
//! [`Quota`] measures the bandwidth that is left, and [`Window`] is the control law of one connection. We did not have
//! the paper itself; `docs/protocols/ictcp.md` gives the source of each part.

mod quota;
mod window;

pub use quota::{Half, Measure, Quota};
pub use window::{Fairness, Law, Sample, SlowStartEnd, Window};

use crate::agent::{Agent, AgentEnv, AgentPacket, AgentStats};
use crate::endpoint::Env;
use crate::packet::{Extra, Flags, Header, Packet};
use crate::tcp;
use crate::tcp::TcpParams;
use crate::tcp::under::{AgentParams, OverTcp, Under};
use crate::transport::Checked;
use clearway_schema::{Profile, declare, told};
use clearway_units::{Bytes, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

declare! {
    /// The parameters of `ictcp`.
    pub struct IctcpParams {
        /// The TCP under ICTCP.
        under: Under = "newreno" from "PAC sec. IV-B";
        /// If true, flows take part in ECN in the way of the TCP under ICTCP.
        ecn: bool = "false" from "CoNEXT'10: ICTCP needs nothing from switches";
        /// The share of the link that connections may fill (`alpha`).
        alpha: f64 = "0.9" in "0" to "1" from "CoNEXT'10, as quoted in notes and ns-3 code; PAC's authors' module";
        /// The relative difference of expected and measured throughput up to which a window grows (`gamma1`).
        gamma1: f64 = "0.1" in "0" to "1" from "CoNEXT'10; PAC Tables I and II";
        /// The relative difference of expected and measured throughput above which a window shrinks after `patience`
        /// round trips in a row (`gamma2`). PAC's simulations use 0.15.
        gamma2: f64 = "0.5" in "0" to "1" from "CoNEXT'10; PAC Table I";
        /// The number of round trips in a row with a large difference after which a window shrinks.
        patience: u32 = "3" in "1" to "1000" from "CoNEXT'10, as quoted in notes and ns-3 code";
        /// The least receive window, which a new connection has, in segments.
        min_window: u32 = "2" in "1" to "100000" from "CoNEXT'10; PAC Tables I and II";
        /// The weight of the old value in the measured throughput (`beta`).
        beta: f64 = "0.75" in "0" to "0.999" from "our choice: the paper's value is unknown; 0.2 in PAC's authors' module";
        /// The share of the link below which available bandwidth is scarce, so that windows above the average shrink by
        /// a segment.
        scarce: f64 = "0.2" in "0" to "1" from "PAC's authors' module";
        /// The round-trip time of a connection before its first measurement.
        rtt_initial: Span = "100 us" in "1 us" to "10 s" from "PAC sec. IV-B; PAC's authors' module";
        /// The number of round trips between two decisions on a window.
        interval: u32 = "1" in "1" to "1000" from "CoNEXT'10, as quoted in notes and ns-3 code";
        /// The time by which the bytes since the last decision are divided to give a throughput. `elapsed`: the time
        /// since that decision; `per-rtt`: one round-trip time, whatever that time.
        sample: Sample = "elapsed" from "CoNEXT'10, as quoted in notes; PAC's authors' module: per-rtt (ICTCP-1)";
        /// The step of a decision at which windows above the average shrink while bandwidth is scarce. `last`: after
        /// the other steps, once a slot, by the bandwidth as measured; `first`: at every decision and instead of the
        /// other steps, by the bandwidth left after grants.
        fairness: Fairness = "last" from "our choice; PAC's authors' module: first (ICTCP-2, ICTCP-3)";
        /// The condition that ends slow start. `any`: a decision that is not growth, or a lack of quota; `quota`: a
        /// lack of quota only, and the window then grows by a segment in the same round.
        slow_start_end: SlowStartEnd = "any" from "recollection of CoNEXT'10; PAC's authors' module: quota (ICTCP-4, ICTCP-5)";
        /// The times at which the available bandwidth is measured: the end of the first half of each slot, or of both
        /// halves.
        measure: Measure = "first-half" from "CoNEXT'10, as quoted in notes; PAC's authors' module: both-halves";
        /// The length of a pause, in round trips, after which a connection starts anew with the least window; 0 for
        /// never.
        idle: u32 = "4" in "0" to "1000000" from "our choice; PAC's authors' module: never (ICTCP-6)";
        ..tcp: TcpParams;
    }
}

const PROFILES: &[Profile] = &[
    Profile {
        name: "testbed",
        doc: told("PAC's testbed, Table I"),
        values: &[("gamma2", "0.5"), ("initial_window", "3"), ("rto_min", "200 ms")],
    },
    Profile {
        name: "ns2",
        doc: told("PAC's simulations, Table II"),
        values: &[("gamma2", "0.15"), ("initial_window", "2"), ("rto_min", "200 ms")],
    },
    Profile {
        name: "pac-code",
        doc: told("ICTCP as PAC's authors coded it for their testbed: most probably what PAC compared with"),
        values: &[
            ("gamma2", "0.5"),
            ("initial_window", "3"),
            ("rto_min", "200 ms"),
            ("beta", "0.2"),
            ("patience", "1"),
            ("interval", "2"),
            ("sample", "per-rtt"),
            ("fairness", "first"),
            ("slow_start_end", "quota"),
            ("measure", "both-halves"),
            ("idle", "0"),
        ],
    },
];

impl IctcpParams {
    fn law(&self, mss: u32) -> Law {
        Law {
            mss: mss as u64,
            min: self.min_window as u64 * mss as u64,
            gamma1: self.gamma1,
            gamma2: self.gamma2,
            patience: self.patience,
            beta: self.beta,
            scarce: self.scarce,
            interval: self.interval,
            sample: self.sample,
            fairness: self.fairness,
            slow_start_end: self.slow_start_end,
            idle: self.idle,
        }
    }
}

/// The transport `ictcp`: TCP with ICTCP at the receiving host.
pub type Ictcp = OverTcp<IctcpParams>;

impl AgentParams for IctcpParams {
    type Agent = IctcpAgent;
    const NAME: &'static str = "ictcp";
    const SUMMARY: &'static str =
        "ICTCP over TCP: the receiving host sets receive windows by the bandwidth that is left";
    const SOURCE: &'static str = "Wu et al., CoNEXT'10, by way of secondary sources";
    const CHECKED: Checked = Checked::Neither(
        "The CoNEXT'10 text was not at hand: the law follows notes by others, and the profile `pac-code` PAC's \
         authors' kernel module.",
    );
    const PROFILES: &'static [Profile] = PROFILES;

    fn under(&self) -> Under {
        self.under
    }

    fn tcp(&self) -> tcp::Config {
        self.tcp.config(self.under.ecn(self.ecn))
    }

    fn tcp_of_sender(&self, env: &Env) -> tcp::Config {
        // A sender starts with the window that the agent gives to a new connection.
        let least = Bytes::new(self.law(env.framing.payload_max).min);
        let config = self.tcp();
        tcp::Config { receive_window: config.receive_window.min(least), ..config }
    }

    fn agent(&self, env: &AgentEnv) -> IctcpAgent {
        IctcpAgent::new(self, env)
    }
}

/// The agent of ICTCP at one host. It holds no packets and needs no timer: a slot or round trip that is over ends when
/// the next packet arrives.
#[derive(Debug, Serialize, Deserialize)]
pub struct IctcpAgent {
    law: Law,
    rtt_initial: Span,
    quota: Quota,
    windows: BTreeMap<u32, Window>,
    /// The sum of all windows, in bytes.
    sum: u64,
    /// The number of packets that hosts have sent back through the agent.
    passed: u64,
}

impl IctcpAgent {
    /// Makes the agent of a host.
    pub fn new(params: &IctcpParams, env: &AgentEnv) -> IctcpAgent {
        IctcpAgent {
            law: params.law(env.framing.payload_max),
            rtt_initial: params.rtt_initial,
            quota: Quota::new(env.line_rate, params.alpha, params.rtt_initial, params.measure),
            windows: BTreeMap::new(),
            sum: 0,
            passed: 0,
        }
    }

    /// Returns the receive window of a flow, in bytes.
    pub fn window(&self, flow: u32) -> u64 {
        self.windows.get(&flow).map_or(self.law.min, Window::rwnd)
    }
}

impl Agent for IctcpAgent {
    fn handle_incoming(&mut self, flow: u32, packet: Packet, _: &Extra, now: Time) -> Option<Packet> {
        let Header::Data { echo, .. } = packet.header else { return Some(packet) };
        let sample =
            (echo > Time::ZERO && !packet.flags.has(Flags::RETRANSMIT)).then(|| now.saturating_since(echo));
        let (law, sum) = (&self.law, &mut self.sum);
        let rtt_initial = self.rtt_initial;
        let connections = self.windows.len();
        let window = self.windows.entry(flow).or_insert_with(|| {
            *sum += law.min;
            Window::new(law, rtt_initial, now)
        });
        let average = *sum as f64 / connections.max(1) as f64;
        self.quota.arrive(packet.wire as u64, window.rtt(), now);
        let before = window.rwnd();
        window.arrive(packet.payload() as u64, sample, law, &mut self.quota, average, now);
        *sum = *sum - before + window.rwnd();
        Some(packet)
    }

    fn handle_outgoing(&mut self, flow: u32, mut packet: Packet, _: &Extra, _: Time) -> Option<Packet> {
        if let Header::Ack { window, .. } | Header::SynAck { window, .. } = &mut packet.header {
            *window = (*window).min(self.window(flow).min(u32::MAX as u64) as u32);
        }
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

    fn forget(&mut self, flow: u32) {
        if let Some(window) = self.windows.remove(&flow) {
            self.sum -= window.rwnd();
        }
    }

    fn stats(&self) -> AgentStats {
        AgentStats { released: self.passed, ..AgentStats::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Rate;

    #[test]
    fn acks_advertise_the_smaller_of_the_agents_window_and_the_receivers_own() {
        let env = AgentEnv::for_test(Rate::gbps(1));
        let mut agent = IctcpAgent::new(&IctcpParams::default(), &env);
        let advertised = |agent: &mut IctcpAgent, own| {
            let header = Header::Ack { ack: 0, window: own, rate: Rate::ZERO, echo: Time::ZERO };
            let ack = Packet::control(header, 84, Time::ZERO);
            let passed = agent.handle_outgoing(1, ack, &Extra::default(), Time::ZERO);
            let Header::Ack { window, .. } = passed.expect("it holds nothing").header else {
                panic!("an ack")
            };
            window
        };
        assert_eq!(advertised(&mut agent, 1_000_000), 2920, "a new connection has two segments");
        assert_eq!(advertised(&mut agent, 1000), 1000);
        let mut now = Time::ZERO;
        for segment in 0..40u64 {
            let packet = Packet::data(Header::data(segment * 1460), 1460, 1538, now);
            assert!(agent.handle_incoming(1, packet, &Extra::None, now).is_some());
            now += Span::from_us(40);
        }
        assert!(advertised(&mut agent, 1_000_000) > 2920);
        agent.forget(1);
        assert_eq!((advertised(&mut agent, 1_000_000), agent.sum, agent.windows.len()), (2920, 0, 0));
    }
}
