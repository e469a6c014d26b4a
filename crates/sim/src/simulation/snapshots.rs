//! What the ends of live flows have come to: both ends of a flow together, wherever their hosts are.

use super::live_flows::LiveFlow;
use super::state::Simulation;
use crate::hosts::{FlowSnapshot, Shown};
use crate::ids::{FlowSlot, Id};
use crate::metrics::FlowCounts;
use clearway_proto::Stats;

/// Returns a snapshot of a live flow.
pub fn flow_snapshot(sim: &mut Simulation, slot: FlowSlot) -> Option<FlowSnapshot> {
    let [from, to] = parts_of(sim, sim.live_flows.get(slot)?);
    let sender = Shown::of_sender(slot, &mut sim.regions[from].hosts.senders)?;
    FlowSnapshot::new(slot, sender, &mut sim.regions[to].hosts.receivers)
}

/// Returns the counts of both ends of a flow that is alive.
pub fn flow_stats(sim: &Simulation, slot: FlowSlot) -> Option<Stats> {
    let [from, to] = parts_of(sim, sim.live_flows.get(slot)?);
    let sending = sim.regions[from].hosts.senders.get(slot)?;
    Some(sending.end.stats.plus(&sim.regions[to].hosts.receivers.get(slot)?.end.stats))
}

/// Returns the parts of the network that have the sending and the receiving end of a flow.
fn parts_of(sim: &Simulation, live: &LiveFlow) -> [usize; 2] {
    [live.src, live.dst].map(|host| sim.nets.part_of(host.node()))
}

/// Returns the counts of the flows of each traffic entry so far. It must not be called once all flows are settled.
pub fn flow_counts(sim: &mut Simulation) -> Vec<FlowCounts> {
    let mut counts = sim.journal.settled.clone();
    for slot in sim.live_flows.slots() {
        let Some((flow, stats)) = flow_snapshot(sim, slot).zip(flow_stats(sim, slot)) else { continue };
        counts[flow.name.traffic.index()].add(flow.delivered, &stats);
    }
    counts
}
