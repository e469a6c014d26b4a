//! The tables by which switches forward packets of flows that may take any of the shortest paths.
//!
//! The next hop of such a packet follows from its flow, its direction, its entropy and the switch; no path is stored. The
//! tables are the same in all parts of the network, which share them.

use crate::ids::{FlowSlot, IdVec};
use clearway_proto::{Packet, mix};
use clearway_topology::routing::{Choices, NextHop, NextHops, Stages, hash, pick};
use clearway_topology::{NodeId, PortId, Topology};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The tables, and the flows whose packets they forward.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Tables {
    flows: IdVec<FlowSlot, Spread>,
    /// The next hops of switches. They follow from the model and from the failures that routing has noticed, so a run that
    /// goes on from a checkpoint makes them again.
    #[serde(skip)]
    next_hops: Arc<NextHops>,
    /// Set if an entropy is the number of a path, and not one of what switches hash.
    pub are_numbers: bool,
    /// Set if a packet whose end has set no entropy keeps to one path in its direction of the flow. Else it gets a random one.
    pub keeps_paths: bool,
}

/// What forwarding must know of a flow.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Spread {
    /// The key by which the paths of the flow are chosen.
    pub key: u64,
    /// The host that sends the flow's data.
    pub src: NodeId,
    /// The host that receives it.
    pub dst: NodeId,
}

/// The entry of a place that no flow has had yet.
const NOBODY: Spread = Spread { key: 0, src: NodeId(0), dst: NodeId(0) };

impl Tables {
    /// A flow begins whose packets are forwarded by tables, which lead to both of its hosts.
    pub fn open(&mut self, flow: FlowSlot, spread: Spread) {
        debug_assert!(self.leads_to(spread.src) && self.leads_to(spread.dst));
        self.flows.cover(flow, NOBODY);
        self.flows[flow] = spread;
    }

    /// Returns whether the tables lead to a host.
    #[inline]
    pub fn leads_to(&self, host: NodeId) -> bool {
        self.next_hops.leads_to(host)
    }

    /// Returns the tables, to be changed and then put back everywhere.
    pub fn take(&mut self) -> Arc<NextHops> {
        std::mem::take(&mut self.next_hops)
    }

    /// Puts tables in the place of those that were taken.
    pub fn put(&mut self, next_hops: Arc<NextHops>) {
        self.next_hops = next_hops;
    }

    /// Returns the node at which a packet of these flows is that came over a port.
    #[inline]
    pub fn end(&self, port: PortId) -> NodeId {
        self.next_hops.end(port)
    }

    /// Returns the next hop of a packet of a flow at a switch.
    #[inline(always)]
    pub fn next(&self, at: NodeId, flow: FlowSlot, packet: &Packet) -> NextHop {
        let (to, key) = self.target(flow, packet);
        let entropy = packet.tag().entropy.unwrap_or_default();
        self.next_hops.next(at, to, |count| {
            if self.are_numbers {
                self.next_hops.digit(at, entropy, count)
            } else {
                pick(hash(key, entropy, at), count)
            }
        })
    }

    /// Returns all next hops of a packet of a flow at a switch, and a hash that differs from packet to packet.
    pub fn choices(&self, at: NodeId, flow: FlowSlot, packet: &Packet) -> (Choices<'_>, u64) {
        let (to, key) = self.target(flow, packet);
        let hash = hash(key, packet.tag().entropy.unwrap_or_default(), at);
        (self.next_hops.choices(at, to), mix(hash ^ packet.sent.as_ps()))
    }

    /// Finds the ports of all ways from one host to another: [`NextHops::stages`].
    pub fn stages(&self, topology: &Topology, src: NodeId, dst: NodeId, stages: &mut Stages) -> bool {
        self.next_hops.stages(topology, src, dst, stages)
    }

    /// Returns the host to which a packet goes, and the key of its flow.
    #[inline(always)]
    fn target(&self, flow: FlowSlot, packet: &Packet) -> (NodeId, u64) {
        let Spread { key, src, dst } = self.flows[flow];
        (if packet.is_for_receiver() { dst } else { src }, key)
    }
}
