//! Which ports a flow's packets cross.
//!
//! Paths are the shortest over links that are up. Among equal-cost next hops:
//!
//! * [`Policy::SymmetricEcmp`] is what credit-based schemes need (ExpressPass '17, sec. 3.1): data must return
//!   over the links that its credits took. A flow's path is walked from the end with the smaller id and reversed
//!   for the other direction, so the two agree on any graph, tree or not. Each choice is a mix of the flow's key
//!   and the depth of the walk, taken modulo the number of next hops in the one global order of
//!   [`Topology::ports_of`]; nothing directional enters. A link that failed in one direction is shunned in both.
//! * [`Policy::Ecmp`] decides each direction on its own: source, destination and the deciding switch are mixed in.
//! * [`Policy::Ns2Xpass`] is symmetric too, by the hash of the ExpressPass authors' ns-2 code: in their tree, flows that
//!   are listed in the same order take the same paths as there.
//! * [`Policy::Spray`] hands out all shortest paths, for per-packet choice.
//!
//! The depth enters the mix by our choice. The paper's switches hash the same fields at every tier, which, if the
//! hash is the same too, polarises: all flows that a ToR sends to its aggregation switch 1 then pick core 1 there.
//! In trees our walk gives what switches with a hash per tier would decide hop by hop.

mod distance;
mod glibc;
mod spray;
#[cfg(test)]
mod tests;

use crate::graph::{NodeId, PortId, Topology};
use distance::Distances;
use spray::Sprayer;
use thiserror::Error;

pub use spray::SPRAY_PATHS_MAX;

/// How a flow's packets choose among equal-cost paths.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Policy {
    /// One path, the same links in both directions.
    SymmetricEcmp,
    /// One path, chosen independently in each direction.
    Ecmp,
    /// One path, the same links in both directions, by the hash of the ExpressPass authors' ns-2 code. The key is then
    /// the flow's number itself.
    Ns2Xpass,
    /// All shortest paths.
    Spray,
}

/// The paths of one direction of a flow, concatenated in the caller's buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathSet {
    /// How many paths.
    pub count: u32,
    /// Ports in each of them.
    pub hops: u32,
}

impl PathSet {
    /// The ports of path `index` within the buffer that was filled.
    pub fn path<'a>(&self, ports: &'a [PortId], index: u32) -> &'a [PortId] {
        let hops = self.hops as usize;
        &ports[index as usize * hops..(index as usize + 1) * hops]
    }
}

/// No path over links that are up. Also the answer for a host to itself, and for nodes that are not hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("no path over links that are up leads from host {} to host {}", src.0, dst.0)]
pub struct Unreachable {
    /// The source asked for.
    pub src: NodeId,
    /// The destination asked for.
    pub dst: NodeId,
}

/// Routing of one topology under one policy: which directed links are down, and a cache of distances that fills
/// as destinations are asked for (two bytes for each pair of a switch and a switch with destinations on it).
#[derive(Clone, Debug)]
pub struct Routes {
    policy: Policy,
    distances: Distances,
    sprayer: Sprayer,
}

impl Routes {
    /// All links up.
    pub fn new(policy: Policy) -> Routes {
        Routes {
            policy,
            distances: Distances::new(matches!(policy, Policy::SymmetricEcmp | Policy::Ns2Xpass)),
            sprayer: Sprayer::default(),
        }
    }

    /// The policy chosen.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Marks one direction of a link up or down, and forgets cached distances if that changes anything.
    ///
    /// # Panics
    /// If the port is not one of the topology, or an earlier call was about a topology of another size.
    pub fn set_up(&mut self, topology: &Topology, port: PortId, up: bool) {
        self.distances.set_up(topology, port, up);
    }

    /// Whether a direction of a link was not marked down.
    pub fn is_up(&self, port: PortId) -> bool {
        self.distances.is_up(port)
    }

    /// All paths that packets from `src` to `dst` may take now: one under the ECMP policies; under spraying all
    /// shortest ones in the order of [`Topology::ports_of`], or [`SPRAY_PATHS_MAX`] of them at even steps through
    /// that order. A path is the ports crossed, from the source's own to the last switch's towards `dst`. `out` is
    /// cleared first.
    ///
    /// `flow_key` stands for what switches hash. Both directions of a flow pass the same key.
    ///
    /// # Errors
    /// [`Unreachable`]; `out` is then empty.
    ///
    /// # Panics
    /// If an earlier call was about a topology of another size.
    pub fn paths(
        &mut self,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        flow_key: u64,
        out: &mut Vec<PortId>,
    ) -> Result<PathSet, Unreachable> {
        out.clear();
        let unreachable = Unreachable { src, dst };
        if src == dst || !topology.is_host(src) || !topology.is_host(dst) {
            return Err(unreachable);
        }
        let count = match self.policy {
            Policy::SymmetricEcmp | Policy::Ns2Xpass => {
                let (low, high) = (src.min(dst), src.max(dst));
                let found = if self.policy == Policy::Ns2Xpass {
                    let hash = |depth, _| glibc::hash(flow_key as u32, depth as u32 + 1, low.0, high.0);
                    self.walk(topology, low, high, out, hash)
                } else {
                    self.walk(topology, low, high, out, |depth, _| mix(mix(flow_key) ^ depth))
                };
                found.ok_or(unreachable)?;
                if src > dst {
                    out.reverse();
                    out.iter_mut().for_each(|port| *port = port.reverse());
                }
                1
            }
            Policy::Ecmp => {
                let salt = mix(mix(flow_key) ^ (u64::from(src.0) << 32 | u64::from(dst.0)));
                self.walk(topology, src, dst, out, |_, node| mix(salt ^ u64::from(node.0)))
                    .ok_or(unreachable)?;
                1
            }
            Policy::Spray => {
                self.sprayer.spray(&mut self.distances, topology, src, dst, out).ok_or(unreachable)?
            }
        };
        Ok(PathSet { count, hops: out.len() as u32 / count })
    }

    /// One shortest path, `hash(depth, node)` choosing at each node; none leaves `out` empty.
    fn walk(
        &mut self,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        out: &mut Vec<PortId>,
        hash: impl Fn(u64, NodeId) -> u64,
    ) -> Option<()> {
        self.distances.prepare(topology, dst);
        let (mut node, mut left) = (src, self.distances.hops_from_host(topology, src, dst)?);
        for depth in 0.. {
            let hops = || self.distances.next_hops(topology, node, dst, left);
            let choice = match hops().count() as u64 {
                0 => unreachable!("a node at a finite distance has a next hop"),
                1 => 0,
                several => (hash(depth, node) % several) as usize,
            };
            let port = hops().nth(choice)?;
            out.push(port);
            node = topology.port(port).to;
            if node == dst {
                break;
            }
            left -= 1;
        }
        Some(())
    }
}

/// The finaliser of SplitMix64 after its increment: every input bit reaches every output bit, so that keys which
/// count up spread as evenly as random ones.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
