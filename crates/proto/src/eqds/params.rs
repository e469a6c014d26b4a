//! The parameters of `eqds`.

use crate::endpoint::{Env, Framing};
use crate::entropy::{EntropyPolicy, EntropyValues};
use clearway_schema::{Auto, declare};
use clearway_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

/// The bytes of a quantum of credit.
pub(super) const QUANTUM: u32 = 512;

/// The least timeout, if the scenario names none.
const RTO: Span = Span::from_us(100);

declare! {
    /// The parameters of `eqds`.
    #[derive(Serialize, Deserialize)]
    pub struct EqdsParams {
        /// The most credit that a flow has, in full packets, and its speculative credit at the start. `auto`: one and a half
        /// times the network's bandwidth-delay product.
        window: Auto<u32> = "auto" in "1" to "20000" from "our choice; htsim: 64 packets";
        /// The credit of one pull, in quanta of 512 bytes. `auto`: as many as fit into a full packet.
        pull_quanta: Auto<u32> = "auto" in "1" to "128" from "htsim: 8, for packets of 4150 bytes";
        /// The share of the link's rate at which a host gives credit.
        pull_share: f64 = "0.988" in "0.01" to "1" from "htsim's EQDS (EQDS-1)";
        /// The bytes on the wire after which a receiver acknowledges what did not ask for it.
        ack_after: Bytes = "16384 B" in "0 B" to "1 MB" from "htsim's EQDS";
        /// The way in which a sender chooses the paths of its packets.
        paths: EntropyPolicy = "bitmap" from "htsim's EQDS";
        /// The number of values that stand for paths: a power of two, or any number under `perm`, `rand` and `scored`.
        path_values: EntropyValues = "64" in "1" to "32768" from "htsim";
        /// The time after which a packet counts as lost of which nothing was heard. `auto`: 100 us, or four base round-trip
        /// times of the flow if that is longer.
        rto: Auto<Span> = "auto" in "1 us" to "60 s" from "our choice; htsim's EQDS: 150 us and six full queues (EQDS-8)";
        /// The full queues of data, of `queue` BDPs each, whose time at the rate of the host's link is added to `rto`.
        rto_queues: f64 = "0" in "0" to "1000" from "our choice; htsim's EQDS: 6 (EQDS-8)";
        /// If true, each pull that a flow asked for puts it in turn once more for a pull ahead of demand; else a flow is in turn once.
        stays_idle: bool = "false" from "our choice; htsim's EQDS: true";
        /// If true, a flow that has arrived keeps its turns for pulls, which take their time from other flows though nobody needs
        /// them.
        turns_outlast: bool = "false" from "our choice; htsim's EQDS: true";
        /// If true, receiving hosts leave out pulls where many packets of the last round trip arrived marked or cut: for networks
        /// whose core is oversubscribed.
        oversubscribed_cc: bool = "false" from "htsim's EQDS: an option";
        /// The time that it looks back. `auto`: the base round-trip time of the longest path of the network.
        look_back: Auto<Span> = "auto" in "1 ns" to "1 s" from "our choice; htsim's EQDS: 10 us (EQDS-10)";
        /// If true, an answer lets one packet leave while the NIC is idle, and two where it tells of a packet that was cut, and as many
        /// packets of speculative credit give way; else all leave that credit pays for, and one gives way.
        one_each: bool = "false" from "our choice; htsim's EQDS: true (EQDS-14)";
        /// The control packets that a host's NIC sends in a row while data waits, before a packet of data. 0: all of them go first.
        control_run: u32 = "0" in "0" to "1000" from "our choice; htsim's EQDS: 10 (EQDS-13)";
        /// The limit of data queues in switches, as a multiple of the network's bandwidth-delay product.
        queue: f64 = "1" in "0.001" to "1000" from "our choice; htsim: 35 packets";
    }
}

impl EqdsParams {
    /// Returns the window in bytes on the wire, in a network with this round-trip time of the longest path.
    pub(super) fn window(&self, rate: Rate, network_rtt: Span, framing: &Framing) -> u32 {
        let packet = u64::from(framing.wire_max());
        let bdp = rate.bytes_in(network_rtt).get().div_ceil(packet);
        let packets = self.window.or((bdp * 3).div_ceil(2).clamp(1, 20_000) as u32);
        packets.saturating_mul(packet as u32)
    }

    /// Returns the time after which a packet counts as lost of which nothing was heard.
    pub(super) fn timeout(&self, env: &Env) -> Span {
        let packet = f64::from(env.framing.wire_max());
        let bdp = (env.line_rate.bytes_in(env.network_rtt).get() as f64 / packet).ceil();
        let queue = (self.queue * bdp).ceil() * packet;
        let drain =
            env.line_rate.saturating_time_to_send(Bytes::new((self.rto_queues * queue).min(1e15) as u64));
        self.rto.or(RTO.max(env.base_rtt.saturating_mul(4))).saturating_add(drain)
    }
}
