//! A shaper that lets acknowledgements leave a host at a fixed rate. It is the strawman of PAC's Fig. 3, which shows
//! that no fixed rate both avoids incast and fills the link.

use crate::agent::{Agent, AgentEnv, AgentPacket, AgentStats};
use crate::packet::{Extra, Kind, Packet};
use crate::tcp;
use crate::tcp::TcpParams;
use crate::tcp::under::{AgentParams, OverTcp, Under};
use crate::transport::Checked;
use clearway_schema::{Profile, declare, told};
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

declare! {
    /// The parameters of `ack-shaper`.
    pub struct AckShaperParams {
        /// The TCP under the shaper.
        under: Under = "newreno" from "PAC sec. IV-B";
        /// If true, flows take part in ECN in the way of the TCP under the shaper.
        ecn: bool = "false" from "our choice: PAC sec. II-D mentions no marks";
        /// The number of acknowledgements per second that leave a host. PAC also tries 60,000 and 80,000.
        acks_per_second: f64 = "40000" in "0.001" to "1000000000000" from "PAC sec. II-D, Fig. 3";
        /// If true, SYN-ACKs are shaped as well.
        shape_syn_ack: bool = "true" from "our choice, as for PAC: they trigger first windows";
        ..tcp: TcpParams {
            handshake = "true" from "our choice, as for PAC: first windows are shaped only if their SYN-ACKs are",
        };
    }
}

const PROFILES: &[Profile] = &[
    Profile {
        name: "testbed",
        doc: told("PAC's testbed, Table I"),
        values: &[("initial_window", "3"), ("rto_min", "200 ms")],
    },
    Profile {
        name: "ns2",
        doc: told("PAC's simulations, Table II"),
        values: &[("initial_window", "2"), ("rto_min", "200 ms")],
    },
];

/// The transport `ack-shaper`: TCP with the shaper at the receiving host.
pub type AckShaper = OverTcp<AckShaperParams>;

impl AgentParams for AckShaperParams {
    type Agent = AckShaperAgent;
    const NAME: &'static str = "ack-shaper";
    const SUMMARY: &'static str = "TCP whose acknowledgements leave each host at a fixed rate";
    const SOURCE: &'static str = "PAC sec. II-D, Fig. 3";
    const CHECKED: Checked = Checked::Paper(
        "PAC, sec. II-D and Fig. 3, describe it; its authors' two implementations differ from each other.",
    );
    const PROFILES: &'static [Profile] = PROFILES;

    fn under(&self) -> Under {
        self.under
    }

    fn tcp(&self) -> tcp::Config {
        self.tcp.config(self.under.ecn(self.ecn))
    }

    fn agent(&self, _: &AgentEnv) -> AckShaperAgent {
        AckShaperAgent::new(self)
    }
}

/// The agent of the shaper at one host. Acknowledgements leave in the order of their arrival, at least
/// `1 / acks_per_second` apart.
#[derive(Debug, Serialize, Deserialize)]
pub struct AckShaperAgent {
    /// The time between two acknowledgements.
    gap: Span,
    shape_syn_ack: bool,
    /// The earliest time at which the next acknowledgement may leave.
    free_at: Time,
    /// The acknowledgements that wait, with their flows.
    held: VecDeque<(u32, Packet, Extra)>,
    /// The largest number of acknowledgements that waited at a time.
    held_max: usize,
    /// The number of packets that were passed on, held or not.
    released: u64,
    /// The number of acknowledgements dropped because their flow ended.
    dropped: u64,
}

impl AckShaperAgent {
    /// Makes the agent of a host.
    pub fn new(params: &AckShaperParams) -> AckShaperAgent {
        AckShaperAgent {
            gap: Span::from_secs_f64(1.0 / params.acks_per_second),
            shape_syn_ack: params.shape_syn_ack,
            free_at: Time::ZERO,
            held: VecDeque::new(),
            held_max: 0,
            released: 0,
            dropped: 0,
        }
    }
}

impl Agent for AckShaperAgent {
    fn handle_incoming(&mut self, _: u32, packet: Packet, _: &Extra, _: Time) -> Option<Packet> {
        Some(packet)
    }

    fn handle_outgoing(&mut self, flow: u32, packet: Packet, extra: &Extra, _: Time) -> Option<Packet> {
        let kind = packet.kind();
        if kind == Kind::Ack || (kind == Kind::SynAck && self.shape_syn_ack) {
            self.held.push_back((flow, packet, *extra));
            self.held_max = self.held_max.max(self.held.len());
            return None;
        }
        self.released += 1;
        Some(packet)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<AgentPacket> {
        if now < self.free_at {
            return None;
        }
        let (flow, mut packet, extra) = self.held.pop_front()?;
        packet.sent = now;
        self.released += 1;
        self.free_at = now.saturating_add(self.gap);
        Some(AgentPacket::held(flow, packet, extra))
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn next_timeout(&self) -> Time {
        if self.held.is_empty() { Time::MAX } else { self.free_at }
    }

    fn forget(&mut self, flow: u32) {
        let before = self.held.len();
        self.held.retain(|(other, _, _)| *other != flow);
        self.dropped += (before - self.held.len()) as u64;
    }

    fn stats(&self) -> AgentStats {
        AgentStats {
            held: self.held.len() as u64,
            held_max: self.held_max as u64,
            released: self.released,
            dropped: self.dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;
    use clearway_units::Rate;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn ack(number: u64) -> Packet {
        let header = Header::Ack { ack: number, window: 0, rate: Rate::ZERO, echo: Time::ZERO };
        Packet::control(header, 84, Time::ZERO)
    }

    #[test]
    fn acks_leave_one_by_one_at_the_fixed_rate_in_their_order_pac_section_ii_d() {
        let mut agent = AckShaperAgent::new(&AckShaperParams::default());
        for number in 1..=3 {
            assert!(agent.handle_outgoing(number as u32, ack(number), &Extra::default(), us(7)).is_none());
        }
        let mut left = Vec::new();
        let mut now = us(7);
        loop {
            while let Some(AgentPacket { flow, packet, .. }) = agent.poll_transmit(now) {
                assert_eq!(packet.header.ack(), Some(flow as u64));
                left.push((flow, now.saturating_since(us(7))));
            }
            if agent.next_timeout() == Time::MAX {
                break;
            }
            now = agent.next_timeout();
        }
        // At 40,000 a second acknowledgements are 25 us apart.
        assert_eq!(left, [(1, Span::ZERO), (2, Span::from_us(25)), (3, Span::from_us(50))]);
    }

    #[test]
    fn the_answer_to_a_syn_waits_with_the_acks_only_if_it_is_to_be_shaped() {
        for shape_syn_ack in [true, false] {
            let mut agent =
                AckShaperAgent::new(&AckShaperParams { shape_syn_ack, ..AckShaperParams::default() });
            let header = Header::SynAck { window: 0, rate: Rate::ZERO, echo: Time::ZERO };
            let answer = Packet::control(header, 84, Time::ZERO);
            let passed = agent.handle_outgoing(1, answer, &Extra::default(), us(0));
            assert_eq!((passed.is_none(), agent.stats().held), (shape_syn_ack, shape_syn_ack as u64));
            assert!(
                agent.handle_outgoing(1, ack(1), &Extra::default(), us(0)).is_none(),
                "an ACK always waits"
            );
        }
    }

    #[test]
    fn acks_after_a_pause_do_not_leave_in_a_burst() {
        let mut agent = AckShaperAgent::new(&AckShaperParams::default());
        for number in 1..=2 {
            agent.handle_outgoing(1, ack(number), &Extra::default(), us(1000));
        }
        assert!(agent.poll_transmit(us(1000)).is_some());
        assert!(agent.poll_transmit(us(1000)).is_none());
        assert_eq!(agent.next_timeout(), us(1025));
    }

    #[test]
    fn the_acks_of_a_forgotten_flow_are_dropped() {
        let mut agent = AckShaperAgent::new(&AckShaperParams::default());
        for flow in [1, 2, 1] {
            agent.handle_outgoing(flow, ack(1), &Extra::default(), us(0));
        }
        agent.forget(1);
        assert_eq!(agent.poll_transmit(us(0)).map(|sent| sent.flow), Some(2));
        assert_eq!((agent.next_timeout(), agent.stats().dropped), (Time::MAX, 2));
    }
}
