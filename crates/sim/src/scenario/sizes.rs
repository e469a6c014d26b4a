//! The sizes to which lengths of queues refer: a full frame, and the network's bandwidth-delay product.

use clearway_proto::Framing;
use clearway_topology::{NodeId, Topology, farthest_round_trip};
use clearway_units::{Bytes, Rate};
use std::cell::OnceCell;

/// The sizes of a network to which lengths of queues refer.
pub(super) struct Sizes<'a> {
    /// The bytes of a full data frame on the wire.
    pub frame: u32,
    topology: &'a Topology,
    /// The bytes of the answer to a frame.
    answer: u32,
    /// The bandwidth-delay product, which is computed when it is first asked for.
    bdp: OnceCell<u64>,
}

impl<'a> Sizes<'a> {
    /// Returns the sizes of a network whose full data frames have `frame` bytes.
    pub fn new(topology: &'a Topology, framing: Framing, frame: u32) -> Sizes<'a> {
        Sizes { frame, topology, answer: framing.wire_min, bdp: OnceCell::new() }
    }

    /// Returns the bandwidth-delay product of the network in full frames, rounded up: what a host's link carries in the round
    /// trip of a full frame and an answer between the two hosts that are farthest from each other.
    fn bdp(&self) -> u64 {
        *self.bdp.get_or_init(|| {
            let bytes = |size: u32| Bytes::new(u64::from(size));
            let trip = farthest_round_trip(self.topology, bytes(self.frame), bytes(self.answer));
            let hosts = (0..self.topology.hosts()).map(NodeId::from_index);
            let ports = hosts.flat_map(|host| self.topology.ports_of(host));
            let rate = ports.map(|&port| self.topology.port(port).rate).max().unwrap_or(Rate::ZERO);
            // Bits times picoseconds a second, so that nothing is rounded before the end.
            let bits = u128::from(trip.as_ps()) * u128::from(rate.as_bps());
            let frames = bits.div_ceil(8_000_000_000_000 * u128::from(self.frame.max(1)));
            u64::try_from(frames).unwrap_or(u64::MAX).max(1)
        })
    }

    /// Returns so many thousandths of the bandwidth-delay product in full frames, rounded up.
    pub fn frames(&self, thousandths: u64) -> u64 {
        let frames = (u128::from(self.bdp()) * u128::from(thousandths)).div_ceil(1000);
        u64::try_from(frames).unwrap_or(u64::MAX)
    }

    /// Returns the bytes of those frames.
    pub fn bytes(&self, thousandths: u64) -> Bytes {
        Bytes::new(self.frames(thousandths).saturating_mul(self.frame.into()))
    }
}

/// Returns a number in thousandths, in which products are exact.
pub(super) fn thousandths(number: f64) -> u64 {
    (number * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_topology::FatTree;
    use clearway_units::Span;

    #[test]
    fn the_bdp_of_a_tree_of_three_tiers_is_that_of_ultra_ethernets_simulator() {
        let framing = Framing { payload_max: 4086, overhead: 64, wire_min: 64 };
        for (gbps, bdp, least, most) in [(100, 43, 37_350, 145_250), (400, 151, 128_650, 502_150)] {
            let (rate, delay) = (Rate::gbps(gbps), Span::from_us(1));
            let tree = FatTree { k: 8, rate, delay, ..FatTree::default() }.build().unwrap();
            let sizes = Sizes::new(&tree, framing, framing.wire_max());
            assert_eq!((sizes.frames(1000), sizes.bytes(1000).get()), (bdp, bdp * 4150));
            let [min, max] = [0.2, 0.8].map(|share| sizes.bytes(thousandths(share)).get());
            assert_eq!((min, max), (least, most));
        }
    }
}
