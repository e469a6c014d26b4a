//! The choice of the paths that a flow's packets take.
//!
//! Paths are the shortest ones over links that are up. The policy chooses among next hops of equal cost:
//!
//! * [`Policy::SymmetricEcmp`] serves credit-based schemes, whose data must return over the links that its credits
//!   took (ExpressPass '17, sec. 3.1). The path is walked from the host with the smaller id and reversed for the
//!   other direction, so the two directions agree on any graph. Each choice is a hash of the flow's key and the
//!   depth of the walk, modulo the number of next hops in the order of [`Topology::ports_of`], all of which are
//!   equal in both directions. A link that failed in one direction is avoided in both.
//! * [`Policy::Ecmp`] chooses for each direction independently: source, destination and the deciding switch enter
//!   the hash.
//! * [`Policy::Ns2Xpass`] is symmetric with the hash of the ExpressPass authors' ns-2 code, so that in their tree
//!   flows listed in the same order take the same paths as there.
//! * [`Policy::Spray`], [`Policy::Entropy`], [`Policy::Source`] and [`Policy::Adaptive`] return all shortest paths. Packets choose among
//!   them hop by hop, by tables that every switch has ([`NextHops`]): the paths themselves are for those who look at a flow.
//!
//! The depth enters the hash by our choice. The paper's switches hash the same fields at every tier; with the same
//! hash function at every tier that polarises: all flows that a ToR sends to aggregation switch 1 then pick the same
//! core. In trees our walk takes the paths that switches with a different hash per tier would choose hop by hop.

mod choice;
mod distance;
mod glibc;
mod next_hops;
mod spray;
#[cfg(test)]
mod tests;

use crate::graph::{NodeId, PortId, Topology};
use choice::mix;
pub use choice::{hash, pick};
use distance::Distances;
pub use next_hops::{Choices, NextHop, NextHops};
use spray::Sprayer;
pub use spray::{SPRAY_PATHS_MAX, Stages};
use thiserror::Error;

/// The policy by which packets choose among paths of equal cost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Policy {
    /// One path per flow, over the same links in both directions.
    SymmetricEcmp,
    /// One path per flow and direction, chosen independently.
    Ecmp,
    /// One path per flow, over the same links in both directions, by the hash of the ExpressPass authors' ns-2 code.
    /// The flow key must be the flow's number in its list.
    Ns2Xpass,
    /// All shortest paths, for a choice per packet, which switches make hop by hop ([`NextHops`]) by the packet's entropy: that
    /// which its end has set, else a random one.
    Spray,
    /// As [`Policy::Spray`], but packets whose end has set no entropy take one path for each direction of a flow.
    Entropy,
    /// As [`Policy::Spray`], but the entropy of a packet is the number of its path, as where the sender writes the route into the
    /// packet.
    Source,
    /// As [`Policy::Spray`], but each switch takes the next hop whose queue is short.
    Adaptive,
}

impl Policy {
    /// Returns whether packets of a flow may take any of the shortest paths.
    #[inline]
    pub const fn is_spread(self) -> bool {
        matches!(self, Policy::Spray | Policy::Entropy | Policy::Source | Policy::Adaptive)
    }
}

/// The number and length of the paths of one direction of a flow, whose ports lie one path after the other in the
/// caller's buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathSet {
    /// The number of paths.
    pub count: u32,
    /// The number of ports on each path.
    pub hops: u32,
}

impl PathSet {
    /// Returns the ports of path `index`, given the buffer that was filled.
    pub fn path<'a>(&self, ports: &'a [PortId], index: u32) -> &'a [PortId] {
        let hops = self.hops as usize;
        &ports[index as usize * hops..(index as usize + 1) * hops]
    }
}

/// The error for a pair without a path over links that are up, for a pair of a host and itself, and for nodes that
/// are not hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("no path over links that are up leads from host {} to host {}", src.0, dst.0)]
pub struct Unreachable {
    /// The source.
    pub src: NodeId,
    /// The destination.
    pub dst: NodeId,
}

/// The routing of one topology under one policy. It records failed ports, and caches the distances to each
/// destination's switches when a path to it is first asked for: two bytes for each switch and destination switch.
#[derive(Clone, Debug)]
pub struct Routes {
    policy: Policy,
    distances: Distances,
    sprayer: Sprayer,
    /// The next hops at one node of a walk, kept to reuse their memory.
    next_hops: Vec<PortId>,
}

impl Routes {
    /// Makes the routing of a topology whose links are all up.
    pub fn new(policy: Policy) -> Routes {
        Routes {
            policy,
            distances: Distances::new(matches!(policy, Policy::SymmetricEcmp | Policy::Ns2Xpass)),
            sprayer: Sprayer::default(),
            next_hops: Vec::new(),
        }
    }

    /// Returns the policy.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Marks one direction of a link as up or down. A change clears the cached distances.
    ///
    /// # Panics
    /// Panics if the port is not one of the topology, or if an earlier call had a topology of another size.
    pub fn set_up(&mut self, topology: &Topology, port: PortId, up: bool) {
        self.distances.set_up(topology, port, up);
    }

    /// Returns false if this direction of a link was marked as down.
    pub fn is_up(&self, port: PortId) -> bool {
        self.distances.is_up(port)
    }

    /// Finds the paths that packets from `src` to `dst` may take, and writes their ports to `out`, which is cleared
    /// first. A path lists the ports crossed, from the source's own port to the last switch's port towards `dst`.
    ///
    /// The ECMP policies give one path. Spraying gives all shortest paths in the order of [`Topology::ports_of`], or
    /// [`SPRAY_PATHS_MAX`] of them at even steps through that order.
    ///
    /// `flow_key` stands for the header fields that switches hash. Both directions of a flow have the same key.
    ///
    /// # Errors
    /// Returns [`Unreachable`] if there is no path; `out` is then empty.
    ///
    /// # Panics
    /// Panics if an earlier call had a topology of another size.
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
            Policy::Spray | Policy::Entropy | Policy::Source | Policy::Adaptive => {
                self.sprayer.spray(&mut self.distances, topology, src, dst, out).ok_or(unreachable)?
            }
        };
        Ok(PathSet { count, hops: out.len() as u32 / count })
    }

    /// Finds one of the paths of [`Routes::paths`], with the same ports first: the only one or, of all shortest paths, the
    /// first in the order of [`Topology::ports_of`].
    ///
    /// # Errors
    /// As [`Routes::paths`].
    ///
    /// # Panics
    /// As [`Routes::paths`].
    pub fn first_path(
        &mut self,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        flow_key: u64,
        out: &mut Vec<PortId>,
    ) -> Result<(), Unreachable> {
        if !self.policy.is_spread() || src == dst || !topology.is_host(src) || !topology.is_host(dst) {
            return self.paths(topology, src, dst, flow_key, out).map(|_| ());
        }
        out.clear();
        self.walk(topology, src, dst, out, |_, _| 0).ok_or(Unreachable { src, dst })
    }

    /// Finds the ports that packets from `src` to `dst` may cross if they take all shortest paths, each with the share of the
    /// packets that crosses it when every node divides them evenly among its next hops, and writes them to `out`, which is
    /// cleared first, in the order of their distance from the source.
    ///
    /// # Errors
    /// As [`Routes::paths`].
    ///
    /// # Panics
    /// As [`Routes::paths`].
    pub fn shares(
        &mut self,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        out: &mut Vec<(PortId, f64)>,
    ) -> Result<(), Unreachable> {
        out.clear();
        let unreachable = Unreachable { src, dst };
        if src == dst || !topology.is_host(src) || !topology.is_host(dst) {
            return Err(unreachable);
        }
        self.sprayer.shares(&mut self.distances, topology, src, dst, out).ok_or(unreachable)
    }

    /// Finds the ports that packets from `src` to `dst` may cross if they take all shortest paths, each of them once, and writes
    /// them to `stages`, which is cleared first.
    ///
    /// # Errors
    /// As [`Routes::paths`].
    ///
    /// # Panics
    /// As [`Routes::paths`].
    pub fn stages(
        &mut self,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        stages: &mut Stages,
    ) -> Result<(), Unreachable> {
        stages.begin(topology.nodes().len());
        let unreachable = Unreachable { src, dst };
        if src == dst || !topology.is_host(src) || !topology.is_host(dst) {
            return Err(unreachable);
        }
        self.sprayer.stages(&mut self.distances, topology, src, dst, stages).ok_or(unreachable)
    }

    /// Appends one shortest path to `out`. `hash(depth, node)` chooses the next hop at each node. Returns `None`, with
    /// `out` unchanged, if there is no path.
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
            self.next_hops.clear();
            self.next_hops.extend(self.distances.next_hops(topology, node, dst, left));
            let port = match self.next_hops[..] {
                [] => unreachable!("a node at a finite distance has a next hop"),
                [only] => only,
                ref several => several[(hash(depth, node) % several.len() as u64) as usize],
            };
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
