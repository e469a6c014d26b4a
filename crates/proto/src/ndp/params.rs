//! The parameters of `ndp`.

use crate::endpoint::Framing;
use crate::entropy::{EntropyPolicy, EntropyValues};
use clearway_schema::{Auto, declare};
use clearway_units::{Rate, Span};
use serde::{Deserialize, Serialize};

declare! {
    /// The parameters of `ndp`.
    #[derive(Serialize, Deserialize)]
    pub struct NdpParams {
        /// The full packets that a sender sends before it is pulled. `auto`: what the path carries in one base round-trip time,
        /// rounded up.
        window: Auto<u32> = "auto" in "1" to "30000" from "NDP'17 3.1: one BDP; htsim: 15 packets";
        /// The share of the link's rate at which a host pulls full packets.
        pull_share: f64 = "0.99" in "0.01" to "1" from "htsim's NDP";
        /// The way in which a sender chooses the paths of its packets.
        paths: EntropyPolicy = "perm" from "NDP'17 3.1.1: a permutation of all paths";
        /// The number of values that stand for paths: a power of two, or any number under `perm`, `rand` and `scored`.
        path_values: EntropyValues = "64" in "1" to "32768" from "htsim";
        /// The least time after which a packet counts as lost of which nothing was heard. `auto`: ten base round-trip times.
        rto_min: Auto<Span> = "auto" in "1 us" to "60 s" from "our choice (NDP-3); htsim has no timeouts";
        /// If true, each packet of data has the size of a full one on the wire, however few bytes it carries.
        full_frames: bool = "false" from "our choice (NDP-5)";
        /// If true, receiving hosts park pulls for packets that the core cut or marked: for networks whose core is oversubscribed.
        oversubscribed_cc: bool = "false" from "htsim's NDP: an option";
        /// The limit of data queues in switches, as a multiple of the network's bandwidth-delay product.
        queue: f64 = "1" in "0.001" to "1000" from "our choice; NDP'17 3.1: 8 packets, htsim: 15";
        /// If true, a header for which a queue has no room goes back to its sender.
        returns: bool = "true" from "NDP'17 3.2.4";
    }
}

impl NdpParams {
    /// Returns the packets of a first window: what a path of this rate carries in a round-trip time.
    pub(super) fn window(&self, rate: Rate, rtt: Span, framing: &Framing) -> u32 {
        let packets = rate.bytes_in(rtt).get().div_ceil(framing.wire_max().into());
        self.window.or(packets.clamp(1, 30_000) as u32)
    }
}
