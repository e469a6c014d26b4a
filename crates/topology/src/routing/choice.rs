//! The choice among next hops of equal cost, by hashes.

use crate::graph::NodeId;

/// Returns the hash by which a node picks the next hop of a packet: of the flow's key, the entropy of the packet, and a
/// salt that follows from the node. The salts keep the choices of the switches on a path independent of each other.
#[inline]
pub fn hash(flow_key: u64, entropy: u16, node: NodeId) -> u64 {
    mix(mix(u64::from(node.0)) ^ flow_key ^ u64::from(entropy) << 48)
}

/// Returns which of `count` next hops a hash picks, uniformly to within `count` / 2^32.
#[inline]
pub fn pick(hash: u64, count: usize) -> usize {
    (((hash >> 32) * count as u64) >> 32) as usize
}

/// Hashes 64 bits by one step of SplitMix64, in which every input bit affects every output bit, so that consecutive
/// keys spread as evenly as random ones.
#[inline]
pub(super) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
