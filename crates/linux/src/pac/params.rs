//! The settings of PAC at a Linux host.

use clearway_proto::pac::PacParams as Protocol;
use clearway_proto::{AgentEnv, Entity, Framing, Rng};
use clearway_schema::{Auto, declare};
use clearway_units::{Rate, Span};

/// The hold limit that `auto` stands for: the time after which a SYN is sent again.
const HOLD_LIMIT: Span = Span::from_secs(1);
/// The bytes of the headers of IP and TCP, with TCP's timestamps.
const HEADERS: u32 = 52;
/// The bytes that Ethernet adds to an IP packet: header, frame check sequence, preamble and gap.
const ETHERNET: u32 = 38;

declare! {
    /// The parameters of PAC at a Linux host: those of the simulator's PAC, without those that concern senders, and
    /// bounds of the state.
    pub struct PacParams {
        /// If true, an outgoing segment with data that follows incoming data, or begins a connection, is held as a
        /// request that triggers a first window. All outgoing data then passes through the daemon.
        hold_requests: bool = "false" from "our choice; the authors' module holds all outgoing segments";
        /// The largest number of flows that have state. The acknowledgements of further flows pass.
        max_flows: u32 = "65536" in "1" to "1000000" from "our choice";
        /// The largest number of flows from one address that have state.
        max_flows_per_peer: u32 = "4096" in "1" to "1000000" from "our choice";
        /// The largest number of SYN-ACKs that have left and were not answered with data. Beyond it SYN-ACKs pass, so that
        /// a flood of SYNs holds up nothing else.
        max_unanswered: u32 = "128" in "1" to "1000000" from "our choice: more first windows than any threshold admits";
        /// The largest number of acknowledgements held. A flow with an acknowledgement beyond that has all of its own
        /// released.
        max_held: u32 = "8192" in "1" to "65536" from "our choice";
        ..protocol: Protocol [
            buffer, adaptive, floor, units, avoidance_growth, lambda, gain, levels, demotion, discipline, hold_limit,
            blocking, hold_syn_ack, first_trigger, correction, phase_test, falls, slow_start_limit, rtt_method,
            rtt_initial, interval_min, interval_max, stall, patience, idle_timeout, initial_window,
        ] {
            /// The longest time for which an acknowledgement is held, after which it leaves whatever is in flight.
            /// `auto`: 1 s.
            hold_limit from "our choice: as long as a SYN waits for its answer; less lets many senders at a slow port overflow it, where a timeout costs one segment; the authors' module has 10 ms",
            /// The round-trip time of an idle network, and of a flow before its first measurement.
            rtt_initial = "1 ms" from "our choice: Linux's timestamps count milliseconds",
            interval_min = "500 us" from "our choice: an idle host wakes up in less",
            /// The time after a release by which its traffic has arrived or never will, even if no later release is answered,
            /// with `correction = "answers"`. `auto`: twice the least round-trip time of the flow so far, or `rtt_initial` before
            /// the first measurement, plus 1.5 times what the line needs for the traffic in flight. It ends before that when nothing has
            /// come for twice the least round-trip time and `rtt_initial`.
            patience,
            stall = "16" from "our choice: a busy host may be silent for milliseconds",
            /// The congestion window with which the senders' kernels start, in segments, of which `first_trigger` is
            /// made.
            initial_window,
        };
    }
}

/// The NIC that PAC stands in front of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacEnv {
    /// The rate at which data can arrive: that of the NIC, or of the switch port in front of it.
    pub line_rate: Rate,
    /// The largest IP packet, in bytes.
    pub mtu: u16,
}

impl PacEnv {
    /// Returns the environment of the agent in the simulator's terms.
    pub fn agent(&self) -> AgentEnv {
        let framing = Framing {
            payload_max: u32::from(self.mtu).saturating_sub(HEADERS).max(1),
            overhead: HEADERS + ETHERNET,
            wire_min: Framing::ETHERNET.wire_min,
        };
        AgentEnv {
            line_rate: self.line_rate,
            framing,
            // A host does not know it, so PAC's patience goes by what it measures.
            network_rtt: Span::ZERO,
            oversubscription: 1.0,
            rng: Rng::stream(0, Entity::Agent, 0),
        }
    }
}

impl PacParams {
    /// Returns the parameters of the protocol, with a limit to holding.
    pub(super) fn bounded(&self) -> Protocol {
        let mut protocol = self.protocol.clone();
        protocol.hold_limit = Auto::Set(protocol.hold_limit.or(HOLD_LIMIT));
        protocol
    }
}
