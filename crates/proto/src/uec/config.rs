//! The settings of the ends of a flow and of agents, which follow from parameters and environment.

use super::credit::CreditConfig;
use super::params::{BaseRtt, CommonParams, CreditParams, WindowParams};
use super::window::no_penalty;
use crate::agent::AgentEnv;
use crate::endpoint::{Env, Framing};
use crate::entropy::EntropyPolicy;
use clearway_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

/// What the queues that the timeout is made for cannot explain of a round-trip time.
const RTO_LEAST: Span = Span::from_us(15);
/// The longest time that a timeout grows to.
const RTO_MAX: Span = Span::from_secs(8);
/// The full queues that the timeout is made for.
const RTO_QUEUES: u64 = 6;

/// The parameters of a transport, of which one may have no window and another no credit.
#[derive(Clone, Copy)]
pub struct Groups<'a> {
    /// Those that all have.
    pub common: &'a CommonParams,
    /// Those of the window of a sender.
    pub window: Option<&'a WindowParams>,
    /// Those of the credit of a receiver.
    pub credit: Option<&'a CreditParams>,
}

/// The settings of a sender, which flows of one rate and network have in common.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SenderConfig {
    /// The sizes of packets.
    pub framing: Framing,
    /// The way in which the sender chooses entropies.
    pub entropy: EntropyPolicy,
    /// The number of entropies.
    pub paths: u16,
    /// The base round-trip time of the longest path.
    pub network_rtt: Span,
    /// The time after which a packet counts as lost.
    pub rto: Span,
    /// True if that doubles with each retransmission.
    pub rto_doubles: bool,
    /// True if a timeout is reported with the entropy of the packet that was lost.
    pub timeout_names_path: bool,
    /// The bytes after which a receiver acknowledges without being asked.
    pub sack_threshold: f64,
    /// True if the window must have room for a full packet.
    pub room_for_mtu: bool,
    /// True if packets of a window below `sack_threshold` ask for acknowledgements.
    pub small_window_asks: bool,
    /// The base round-trip time of a flow.
    pub base_rtt: BaseRtt,
    /// True if the sender takes packets for lost by SLEEK.
    pub sleek: bool,
    /// The constants of the credit, if the receiver grants any.
    pub credit: Option<CreditConfig>,
    /// True if acknowledgements tell the number of the last pull.
    pub acks_pull: bool,
}

impl SenderConfig {
    /// Returns the time after which a packet counts as lost that was sent again so often.
    pub fn rto_after(&self, repeats: u8) -> Span {
        let doublings = if self.rto_doubles { u32::from(repeats.min(40)) } else { 0 };
        self.rto.saturating_mul(1 << doublings).min(self.rto_max())
    }

    /// Returns the longest time after which a packet counts as lost.
    pub fn rto_max(&self) -> Span {
        RTO_MAX.max(self.rto)
    }
}

impl Groups<'_> {
    /// Returns the settings of a sender.
    pub fn sender(&self, env: &Env) -> SenderConfig {
        let (framing, common) = (env.framing, self.common);
        let network_rtt = env.network_rtt.max(Span::from_ps(1));
        let credit = self.credit.map(|params| CreditConfig {
            quantum: params.quantum.get() as u32,
            most: self.most(env.line_rate, network_rtt) as i64,
            mtu: framing.wire_max().into(),
        });
        SenderConfig {
            framing,
            entropy: common.entropy,
            paths: common.paths.get(),
            network_rtt,
            rto: common.rto.or(self.auto_rto(env)),
            rto_doubles: common.rto_doubles,
            timeout_names_path: common.timeout_names_path,
            sack_threshold: common.sack_threshold.get() as f64,
            room_for_mtu: self.window.is_some_and(|window| window.room_for_mtu),
            small_window_asks: self.window.is_some_and(|window| window.small_window_asks),
            base_rtt: self.window.map_or(BaseRtt::Network, |window| window.base_rtt),
            sleek: self.window.is_some_and(|window| window.sleek),
            credit,
            acks_pull: self.credit.is_some_and(|credit| credit.acks_pull),
        }
    }

    /// Returns the settings of a receiver.
    pub fn receiver(&self, env: &Env) -> ReceiverConfig {
        ReceiverConfig {
            framing: env.framing,
            sack_threshold: self.common.sack_threshold.get(),
            received_unit: self.common.received_unit.get(),
            no_penalty: self.window.map_or(0, |window| no_penalty(window.penalty)),
        }
    }

    /// Returns the largest window of this rate, which is also the most that is granted ahead of demand: `conf_maxwnd`.
    pub fn most(&self, rate: Rate, network_rtt: Span) -> u64 {
        let mtu_free = self.common.maxwnd * network_rtt.as_ps() as f64 * (rate.as_bps_f64() / 8e12);
        mtu_free.clamp(1.0, 1e15) as u64
    }

    /// Returns the time after which a packet counts as lost. Where the path is slower than the network's longest at the rate of
    /// the host, it is as much longer.
    fn auto_rto(&self, env: &Env) -> Span {
        let mtu = u64::from(env.framing.wire_max());
        let packets = env.line_rate.bytes_in(env.network_rtt).get().div_ceil(mtu).max(1);
        let queues = RTO_QUEUES * if self.common.trimming { 1 } else { 5 };
        let rate = env.path_rate.max(Rate::bps(1));
        let drain =
            rate.saturating_time_to_send(Bytes::new(packets.saturating_mul(mtu).saturating_mul(queues)));
        RTO_LEAST.saturating_add(drain).saturating_add(env.base_rtt.saturating_sub(env.network_rtt))
    }
}

/// The settings of a receiver, which all flows have in common.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReceiverConfig {
    /// The sizes of packets.
    pub framing: Framing,
    /// The bytes after which the receiver acknowledges without being asked.
    pub sack_threshold: u64,
    /// The unit in which received bytes are counted.
    pub received_unit: u64,
    /// What an acknowledgement says that asks for no penalty.
    pub no_penalty: u8,
}

/// The settings of the pacer of pulls at a host.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PacerConfig {
    /// The sizes of packets.
    pub framing: Framing,
    /// The time of a unit of credit at the rate of pulled data. It is cut to whole picoseconds, as in the simulator: at 400 Gbps
    /// that makes pulls faster by 0.013 %.
    pub quantum: Span,
    /// The credit of a pull, in units.
    pub pull_quanta: u32,
    /// The credit whose time a pull takes that grants nothing, in units.
    pub empty_quanta: u32,
    /// The credit that may be granted ahead of demand, in units.
    pub ahead: f64,
    /// True if acknowledgements tell the number of the last pull.
    pub acks_pull: bool,
    /// True if each pull puts its flow in turn once more for a pull ahead of demand.
    pub stays_idle: bool,
    /// True if a flow that has arrived keeps its turns for pulls.
    pub turns_outlast: bool,
}

impl PacerConfig {
    /// Returns the settings at a host.
    pub fn new(groups: &Groups<'_>, params: &CreditParams, env: &AgentEnv) -> PacerConfig {
        let quantum = params.quantum.get();
        PacerConfig {
            framing: env.framing,
            quantum: Span::from_ps(
                (quantum as f64 * 8e12 / (env.line_rate.as_bps_f64() * params.pull_rate)) as u64,
            ),
            pull_quanta: params.pull_quanta,
            empty_quanta: params.empty_quanta,
            ahead: groups.most(env.line_rate, env.network_rtt) as f64 / quantum as f64,
            acks_pull: params.acks_pull,
            stays_idle: params.stays_idle,
            turns_outlast: params.turns_outlast,
        }
    }
}
