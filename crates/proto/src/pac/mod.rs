//! PAC, proactive ACK control (Bai, Chen, Wu, Lan, Zhao, "PAC: Taming TCP Incast Congestion using Proactive ACK
//! Control"): an agent under any TCP receiver that holds each acknowledgement back until the data that it will trigger
//! fits into the network.
//!
//! | part | purpose | paper |
//! |---|---|---|
//! | [`InFlight`] | estimates the traffic in flight to this host | eq. (3) to (6) |
//! | [`Threshold`] | adapts the limit of that traffic | eq. (2) |
//! | [`Mlfq`] | orders the acknowledgements that wait | sec. III-D |
//! | [`PhaseMeter`], [`FlowRtt`] | infer a flow's phase and round-trip time | sec. III-C, IV-A |
//! | [`PacController`] | the main loop, which uses all of these | Algorithm 1 |
//! | [`PacAgent`] | connects the controller with [`Packet`]s | Fig. 4 |
//!
//! `docs/protocols/pac.md` lists what the paper leaves open and our readings of it (PAC-1 to PAC-20).

mod controller;
mod in_flight;
mod ledger;
mod mlfq;
mod phase;
mod threshold;

pub use controller::{Ack, Arrival, PacConfig, PacController};
pub use in_flight::{InFlight, Trigger};
pub use ledger::{Ledger, Settled};
pub use mlfq::{Discipline, Mlfq};
pub use phase::{Correction, FlowRtt, Phase, PhaseMeter, PhaseTest, RttMethod, SlowStartEnd, Units};
pub use threshold::Threshold;

use crate::agent::{Agent, AgentEnv, AgentPacket, AgentStats};
use crate::packet::{Extra, Flags, Header, Kind, Packet};
use crate::tcp;
use crate::tcp::TcpParams;
use crate::tcp::under::{AgentParams, OverTcp, Under};
use crate::transport::Checked;
use clearway_schema::{Auto, Profile, declare, told};
use clearway_units::{Bytes, Span, Time};
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters of `pac`.
    pub struct PacParams {
        /// The TCP under PAC. The paper's measurement of CPU load used `dctcp`.
        under: Under = "newreno" from "PAC sec. IV-B, V-E";
        /// If true, flows take part in ECN, so that `alpha` can be measured. The TCP under PAC then reacts to marks in
        /// its own way.
        ecn: bool = "true" from "PAC sec. III-B, V-C; PAC-20";
        /// The buffer of the switch port in front of the host, which is the initial and the largest threshold. `auto`:
        /// 80 KB up to 1 Gbps, and 37.5 KB per Gbps above, as in Tables I and II.
        buffer: Auto<Bytes> = "auto" in "1 B" to "1 TB" from "PAC Table I (80 KB at 1 Gbps), Table II (375 KB at 10 Gbps)";
        /// If true, marks move the threshold (eq. (2)); else it stays at `buffer`.
        adaptive: bool = "true" from "PAC sec. III-B; the authors' module has no eq. (2)";
        /// The least threshold. `auto`: 0.6 of `buffer`.
        floor: Auto<Bytes> = "auto" in "0 B" to "1 TB" from "our choice, swept over all figures; PAC-2";
        /// The bytes that count as traffic: payload, or those of the authors' module, which counts frames with 54 B of
        /// headers in triggers and IP packets in arrivals.
        units: Units = "payload" from "PAC sec. III-C (\"application payload\"); PAC-3";
        /// If true, triggers count the growth of the window in congestion avoidance, `MSS * MSS / window`. The authors'
        /// module does not.
        avoidance_growth: bool = "true" from "PAC eq. (3); PAC-5";
        /// The share of the usual throughput at or below which a throughput is a fall (`lambda`).
        lambda: f64 = "0.8" in "0" to "1" from "PAC sec. III-C, Table I";
        /// The weight of a new value in the exponential filters of throughput and traffic in flight.
        gain: f64 = "0.125" in "0.0001" to "1" from "our choice: the weight of TCP's smoothed RTT; PAC-8";
        /// The number of levels of priority among acknowledgements.
        levels: u32 = "2" in "1" to "16" from "PAC Table I";
        /// The size above which a flow leaves the highest level; each further level holds flows of twice the size.
        demotion: Bytes = "20 KB" in "1 B" to "1 TB" from "PAC Table I; further levels: our choice";
        /// The order of acknowledgements within a level.
        discipline: Discipline = "fifo" from "the authors' module; PAC sec. III-D says round-robin, which Fig. 11 contradicts; PAC-9";
        /// The longest time for which an acknowledgement is held, after which it leaves whatever is in flight. `auto`:
        /// no limit.
        hold_limit: Auto<Span> = "auto" in "1 us" to "1000 s" from "PAC names none; the authors' module has 10 ms; PAC-2";
        /// If true, an acknowledgement that was dequeued and waits for room blocks later ones of higher priority.
        blocking: bool = "false" from "our choice: Algorithm 1 to the letter would be true; PAC-9";
        /// If true, SYN-ACKs are held as well, and trigger a first window. Else first windows are not controlled, and
        /// more senders than fit into the buffer collapse at once.
        hold_syn_ack: bool = "true" from "PAC sec. V-E 3), which no other reading allows; PAC-4, PAC-10";
        /// The traffic that a SYN-ACK triggers. `auto`: `initial_window` segments.
        first_trigger: Auto<Bytes> = "auto" in "0 B" to "1 TB" from "our choice; PAC-4";
        /// The method of finding traffic that is in the estimate and will not arrive.
        correction: Correction = "answers" from "our choice; the paper's is throughput, eq. (6), its authors' module has line-rate; PAC-7, PAC-8";
        /// The test, besides marks, by which PAC infers the end of a flow's slow start.
        phase_test: PhaseTest = "falls" from "PAC sec. III-C; PAC-6";
        /// The number of falls of the throughput in a row that end slow start, with `phase_test = "falls"`.
        falls: u32 = "2" in "1" to "1000" from "PAC sec. III-C; the authors' module has 3; PAC-6";
        /// The size above which a flow is not in slow start.
        slow_start_limit: Bytes = "1 TB" in "1 B" to "1 TB" from "PAC names none; the authors' module has 1 MiB";
        /// The method of measuring a flow's round-trip time: once, plus the delay that PAC adds, or with every round
        /// trip from a release to its answer.
        rtt_method: RttMethod = "timestamps" from "PAC sec. IV-A, whose default is handshake; ours is argued on the page";
        /// The round-trip time of a flow before its first measurement, which is that of an idle network.
        rtt_initial: Span = "100 us" in "1 us" to "10 s" from "PAC sec. III-B, IV-B";
        /// The shortest control interval.
        interval_min: Span = "1 us" in "1 us" to "1000 s" from "PAC names none; the authors' module has 200 us";
        /// The longest control interval.
        interval_max: Span = "1000 s" in "1 us" to "1000 s" from "PAC names none; the authors' module has 1 ms";
        /// The number of control intervals without an arrival or a release after which the estimate is set to zero.
        stall: u32 = "8" in "1" to "1000000" from "our choice: no ACK is held for ever when others were lost";
        /// The time after a release by which its traffic has arrived or never will, even if no later release is
        /// answered, with `correction = "answers"`. `auto`: twice `rtt_initial`, plus 1.5 times what the line needs for
        /// the traffic in flight.
        patience: Auto<Span> = "auto" in "1 us" to "1000 s" from "our choice";
        /// The time without packets after which a flow's state is dropped.
        idle_timeout: Span = "300 s" in "1 us" to "1000000 s" from "PAC sec. IV-A";
        ..tcp: TcpParams {
            handshake = "true" from "our choice: a first window is under control only if its SYN-ACK is (`hold_syn_ack`)",
        };
    }
}

const PROFILES: &[Profile] = &[
    Profile {
        name: "testbed",
        doc: told(
            "PAC's testbed, Table I: 1 Gbps, a threshold of 80 KB at a buffer of 150 KB; Linux 2.6.38's windows, from \
              3 segments, which marks reduce to one",
        ),
        values: &[("buffer", "80 KB"), ("initial_window", "3"), ("min_cwnd", "1"), ("rto_min", "200 ms")],
    },
    Profile {
        name: "ns2-1g",
        doc: told("PAC's simulations at 1 Gbps, Table II: 96 KB, base RTT 120 us, windows from 2 segments"),
        values: &[
            ("buffer", "96 KB"),
            ("initial_window", "2"),
            ("rto_min", "200 ms"),
            ("rtt_initial", "120 us"),
        ],
    },
    Profile {
        name: "ns2-10g",
        doc: told("PAC's simulations at 10 Gbps, Table II: 375 KB, base RTT 80 us, windows from 2 segments"),
        values: &[
            ("buffer", "375 KB"),
            ("initial_window", "2"),
            ("rto_min", "200 ms"),
            ("rtt_initial", "80 us"),
        ],
    },
    PRINT,
    CODE,
];

const PRINT: Profile = Profile {
    name: "print",
    doc: told(
        "PAC to the letter: eq. (6), the printed test for the end of slow start, Algorithm 1's blocking, round-trip \
          times of handshakes, no control of first windows; with the settings of `testbed`",
    ),
    values: &[
        ("correction", "throughput"),
        ("phase_test", "falls"),
        ("discipline", "round-robin"),
        ("blocking", "true"),
        ("hold_syn_ack", "false"),
        ("rtt_method", "handshake"),
        ("buffer", "80 KB"),
        ("initial_window", "3"),
        ("min_cwnd", "1"),
        ("rto_min", "200 ms"),
    ],
};

const CODE: Profile = Profile {
    name: "code",
    doc: told(
        "What the kernel module of PAC's authors does (November 2014): no eq. (2), eq. (6) with constants, bytes on \
          the wire, no growth in congestion avoidance, no acknowledgement held beyond 10 ms",
    ),
    values: &[
        ("buffer", "81920 B"),
        ("adaptive", "false"),
        ("units", "wire"),
        ("avoidance_growth", "false"),
        ("demotion", "1048576 B"),
        ("discipline", "fifo"),
        ("hold_limit", "10 ms"),
        ("correction", "line-rate"),
        ("phase_test", "falls"),
        ("falls", "3"),
        ("slow_start_limit", "1048576 B"),
        ("rtt_initial", "200 us"),
        ("interval_min", "200 us"),
        ("interval_max", "1 ms"),
        ("stall", "1000000"),
        ("initial_window", "3"),
        ("min_cwnd", "1"),
        ("rto_min", "200 ms"),
    ],
};

impl PacParams {
    /// Returns the settings of a host's controller: every `auto` is resolved.
    pub fn pac(&self, env: &AgentEnv) -> PacConfig {
        let mss = env.framing.payload_max;
        let segments = |count: u64| Bytes::new(count * mss as u64);
        // A line carries 37.5 KB per Gbps in 300 us.
        let by_rate = env.line_rate.bytes_in(Span::from_ns(300_000));
        let auto = if env.line_rate > clearway_units::Rate::gbps(1) { by_rate } else { Bytes::new(80_000) };
        let buffer = self.buffer.or(auto);
        PacConfig {
            buffer,
            floor: self.floor.or(Bytes::new(buffer.get() / 10 * 6 + buffer.get() % 10 * 6 / 10)),
            adapts: self.adaptive,
            mss,
            units: self.units,
            first_trigger: self.first_trigger.or(segments(self.tcp.initial_window as u64)),
            avoidance_growth: self.avoidance_growth,
            gain: self.gain,
            levels: self.levels,
            demotion: self.demotion,
            discipline: self.discipline,
            blocking: self.blocking,
            hold_limit: self.hold_limit.set(),
            correction: self.correction,
            slow_start_end: SlowStartEnd {
                test: self.phase_test,
                falls: self.falls,
                lambda: self.lambda,
                bytes: self.slow_start_limit.get(),
            },
            rtt_method: self.rtt_method,
            rtt_initial: self.rtt_initial,
            interval_min: self.interval_min,
            interval_max: self.interval_max,
            stall: self.stall,
            patience: self.patience,
            patience_measured: env.network_rtt.is_zero(),
            line_rate: env.line_rate,
            idle_timeout: self.idle_timeout,
        }
    }
}

/// The transport `pac`: TCP with PAC at the receiving host.
pub type Pac = OverTcp<PacParams>;

impl AgentParams for PacParams {
    type Agent = PacAgent;
    const NAME: &'static str = "pac";
    const SUMMARY: &'static str =
        "PAC over TCP: the receiving host holds acknowledgements until what they trigger fits";
    const SOURCE: &'static str =
        "Bai et al., \"PAC: Taming TCP Incast Congestion using Proactive ACK Control\"";
    const CHECKED: Checked = Checked::Paper(
        "Held against the paper's text; its authors' kernel module was read for what the text leaves open.",
    );
    const PROFILES: &'static [Profile] = PROFILES;

    fn under(&self) -> Under {
        self.under
    }

    fn tcp(&self) -> tcp::Config {
        self.tcp.config(self.under.ecn(self.ecn))
    }

    fn holds_openings(&self) -> bool {
        self.hold_syn_ack && self.tcp.handshake
    }

    fn agent(&self, env: &AgentEnv) -> PacAgent {
        PacAgent::new(self, env)
    }
}

/// The agent of PAC at one host.
#[derive(Debug, Serialize, Deserialize)]
pub struct PacAgent {
    pac: PacController<(Packet, Extra)>,
    hold_syn_ack: bool,
    /// The number of acknowledgements that were passed on, held or not.
    released: u64,
    /// The number of acknowledgements that were dropped because later ones say the same.
    dropped: u64,
}

impl PacAgent {
    /// Makes the agent of a host.
    pub fn new(params: &PacParams, env: &AgentEnv) -> PacAgent {
        let pac = PacController::new(params.pac(env));
        PacAgent { pac, hold_syn_ack: params.hold_syn_ack, released: 0, dropped: 0 }
    }

    /// Returns the controller.
    pub fn controller(&self) -> &PacController<(Packet, Extra)> {
        &self.pac
    }
}

impl Agent for PacAgent {
    fn handle_incoming(&mut self, flow: u32, packet: Packet, _: &Extra, now: Time) -> Option<Packet> {
        let Header::Data { offset, echo } = packet.header else { return Some(packet) };
        let payload = packet.payload() as u64;
        let arrival = Arrival {
            payload,
            end: offset + payload,
            marked: packet.flags.has(Flags::ECN_CE),
            answers: (echo > Time::ZERO).then_some(echo),
        };
        self.pac.handle_data(flow, &arrival, now);
        Some(packet)
    }

    fn handle_outgoing(&mut self, flow: u32, packet: Packet, extra: &Extra, now: Time) -> Option<Packet> {
        let opens = packet.kind() == Kind::SynAck;
        if packet.flags.has(Flags::LAST) {
            // This stands for TCP's answer to a FIN, which is not held and acknowledges everything that is held.
            self.dropped += self.pac.finish(flow).count() as u64;
        }
        let is_held = packet.kind() == Kind::Ack || (opens && self.hold_syn_ack);
        if packet.flags.has(Flags::LAST) || !is_held {
            self.released += 1;
            return Some(packet);
        }
        let ecn_echo = packet.flags.has(Flags::ECN_ECHO);
        let number = packet.header.ack().unwrap_or(0);
        self.pac.hold(flow, Ack { number, ecn_echo, opens }, (packet, *extra), now);
        None
    }

    fn poll_transmit(&mut self, now: Time) -> Option<AgentPacket> {
        while self.pac.poll_dropped().is_some() {
            self.dropped += 1;
        }
        let (flow, (mut packet, extra)) = self.pac.poll_release(now)?;
        packet.sent = now;
        self.released += 1;
        Some(AgentPacket::held(flow, packet, extra))
    }

    fn handle_timeout(&mut self, now: Time) {
        self.pac.handle_timeout(now);
    }

    fn next_timeout(&self) -> Time {
        self.pac.next_timeout()
    }

    fn forget(&mut self, flow: u32) {
        self.dropped += self.pac.finish(flow).count() as u64;
    }

    fn stats(&self) -> AgentStats {
        AgentStats {
            held: self.pac.held() as u64,
            held_max: self.pac.held_max() as u64,
            released: self.released,
            dropped: self.dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_schema::Declared;
    use clearway_units::Rate;

    fn env(rate: Rate) -> AgentEnv {
        AgentEnv::for_test(rate)
    }

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn data(segment: u64) -> Packet {
        Packet::data(Header::data((segment - 1) * 1460), 1460, 1538, Time::ZERO)
    }

    fn ack(segments: u64) -> Packet {
        let header = Header::Ack { ack: segments * 1460, window: 0, rate: Rate::ZERO, echo: Time::ZERO };
        Packet::control(header, 84, Time::ZERO)
    }

    #[test]
    fn the_default_buffer_is_that_of_tables_i_and_ii() {
        let params = PacParams::default();
        assert_eq!(params.pac(&env(Rate::gbps(1))).buffer, Bytes::new(80_000));
        assert_eq!(params.pac(&env(Rate::gbps(10))).buffer, Bytes::new(375_000));
        let mut params = PacParams::default();
        params.set("buffer", "96 KB").unwrap();
        assert_eq!(params.pac(&env(Rate::gbps(10))).buffer, Bytes::new(96_000));
    }

    #[test]
    fn the_default_floor_of_the_threshold_is_six_tenths_of_the_buffer_pac_2() {
        let mut params = PacParams::default();
        assert_eq!(params.pac(&env(Rate::gbps(1))).floor, Bytes::new(48_000));
        params.set("buffer", "96 KB").unwrap();
        assert_eq!(params.pac(&env(Rate::gbps(1))).floor, Bytes::new(57_600));
        params.set("floor", "25 KB").unwrap();
        assert_eq!(params.pac(&env(Rate::gbps(1))).floor, Bytes::new(25_000));
    }

    fn with_profile(name: &str) -> PacParams {
        let mut params = PacParams::default();
        let profile = PROFILES.iter().find(|profile| profile.name == name).unwrap();
        profile.values.iter().for_each(|(name, value)| params.set(name, *value).unwrap());
        params
    }

    #[test]
    fn the_testbeds_kernel_lets_a_mark_reduce_a_window_to_one_segment() {
        assert_eq!(with_profile("testbed").tcp().min_cwnd, 1);
        assert_eq!(with_profile("ns2-1g").tcp().min_cwnd, 2);
    }

    #[test]
    fn the_code_profile_has_the_settings_of_the_authors_kernel_module() {
        let config = with_profile("code").pac(&env(Rate::gbps(1)));
        assert_eq!((config.buffer, config.adapts), (Bytes::new(80 * 1024), false));
        assert_eq!((config.units, config.avoidance_growth), (Units::Wire, false));
        assert_eq!((config.discipline, config.demotion), (Discipline::Fifo, Bytes::new(1 << 20)));
        assert_eq!((config.correction, config.hold_limit), (Correction::LineRate, Some(Span::from_ms(10))));
        let end = config.slow_start_end;
        assert_eq!((end.test, end.falls, end.lambda, end.bytes), (PhaseTest::Falls, 3, 0.8, 1 << 20));
        assert_eq!((config.interval_min, config.interval_max), (Span::from_us(200), Span::from_ms(1)));
        assert_eq!(config.first_trigger, Bytes::new(3 * 1460));
    }

    #[test]
    fn a_agent_holds_acks_in_a_script_without_a_simulator_and_stamps_them_as_they_leave() {
        let mut params = PacParams::default();
        params.set("buffer", "6 KB").unwrap();
        let mut agent = PacAgent::new(&params, &env(Rate::gbps(1)));
        let mut released = Vec::new();
        for flow in 1..=3 {
            assert!(agent.handle_incoming(flow, data(1), &Extra::None, us(10)).is_some());
            assert!(agent.handle_outgoing(flow, ack(1), &Extra::default(), us(10)).is_none());
        }
        let mut poll = |agent: &mut PacAgent, now| {
            while let Some(AgentPacket { flow, packet, .. }) = agent.poll_transmit(now) {
                assert_eq!(packet.sent, now);
                released.push((flow, packet.header.ack().unwrap()));
            }
            released.clone()
        };
        // Each acknowledgement triggers two segments, 2920 bytes.
        assert_eq!(poll(&mut agent, us(10)), [(1, 1460), (2, 1460)]);
        assert_eq!(agent.next_timeout(), us(110), "an interval of the initial RTT");
        let mut answer = data(2);
        answer.header = Header::Data { offset: 1460, echo: us(10) };
        agent.handle_incoming(1, answer, &Extra::None, us(60));
        agent.handle_incoming(2, answer, &Extra::None, us(60));
        assert_eq!(poll(&mut agent, us(60)), [(1, 1460), (2, 1460), (3, 1460)]);
        assert_eq!(agent.next_timeout(), Time::MAX);
        assert_eq!(agent.stats(), AgentStats { held: 0, held_max: 3, released: 3, dropped: 0 });
    }

    #[test]
    fn a_syn_ack_is_held_only_if_asked_to_pac_10() {
        let mut params = PacParams::default();
        params.set("hold_syn_ack", "false").unwrap();
        let mut agent = PacAgent::new(&params, &env(Rate::gbps(1)));
        let header = Header::SynAck { window: 0, rate: Rate::ZERO, echo: Time::ZERO };
        let syn_ack = Packet::control(header, 84, Time::ZERO);
        assert!(agent.handle_outgoing(1, syn_ack, &Extra::default(), us(1)).is_some());
        let mut agent = PacAgent::new(&PacParams::default(), &env(Rate::gbps(1)));
        assert!(agent.handle_outgoing(1, syn_ack, &Extra::default(), us(1)).is_none());
    }

    #[test]
    fn the_last_ack_passes_and_the_held_acks_of_its_flow_are_dropped_section_iv_a() {
        let mut agent = PacAgent::new(&PacParams::default(), &env(Rate::gbps(1)));
        assert!(agent.handle_outgoing(1, ack(1), &Extra::default(), us(1)).is_none());
        let mut last = ack(2);
        last.flags.set(Flags::LAST);
        assert!(agent.handle_outgoing(1, last, &Extra::default(), us(2)).is_some());
        assert!(agent.poll_transmit(us(2)).is_none());
        assert_eq!(agent.controller().flows(), 0);
    }

    #[test]
    fn a_forgotten_flow_leaves_no_state_and_no_held_acks() {
        let mut agent = PacAgent::new(&PacParams::default(), &env(Rate::gbps(1)));
        agent.handle_incoming(1, data(1), &Extra::None, us(1));
        assert!(agent.handle_outgoing(1, ack(1), &Extra::default(), us(1)).is_none());
        agent.forget(1);
        assert!(agent.poll_transmit(us(2)).is_none());
        assert_eq!((agent.controller().flows(), agent.stats().held, agent.next_timeout()), (0, 0, Time::MAX));
    }
}
