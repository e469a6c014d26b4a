//! The hosts of a run that goes on in other parts than those in which it was.

use super::driver::Hosts;
use crate::ids::{AgentId, FlowSlot, HostId, IdVec};
use clearway_units::Time;
use std::mem::swap;

impl Hosts {
    /// Hands all that the hosts of a part have over to those of the parts of another cut. `was_here` tells which hosts were
    /// in the part, and `part_of` in which one a host is now. Returns the new ids of the agents.
    pub fn hand_over(
        self,
        to: &mut [&mut Hosts],
        was_here: impl Fn(HostId) -> bool,
        part_of: impl Fn(HostId) -> usize,
    ) -> IdVec<AgentId, AgentId> {
        let Hosts { senders, receivers, agents, finished, mut rngs, delay: _, handled_at } = self;
        let of_senders = agents.of_senders();
        let ids = agents.hand_over(|traffic, agent| to[part_of(agent.host)].agents.add(traffic, agent));
        let (senders, mut protocols) = senders.into_parts();
        for (slot, mut sending) in senders {
            let to = &mut to[part_of(sending.end.host)];
            sending.sender = to.senders.protocols.take_over(&mut protocols, sending.sender);
            let agent = of_senders.get(slot).copied().flatten();
            to.agents.set_of_sender(slot, agent.map(|agent| ids[agent]));
            to.senders.insert(slot, sending);
            keep_time(&mut to.handled_at[0], &handled_at[0], slot);
        }
        let (receivers, mut protocols) = receivers.into_parts();
        for (slot, mut receiving) in receivers {
            let to = &mut to[part_of(receiving.end.host)];
            receiving.receiver = to.receivers.protocols.take_over(&mut protocols, receiving.receiver);
            receiving.agent = receiving.agent.map(|agent| ids[agent]);
            to.receivers.insert(slot, receiving);
            keep_time(&mut to.handled_at[1], &handled_at[1], slot);
        }
        for host in rngs.ids().filter(|&host| was_here(host)) {
            swap(&mut to[part_of(host)].rngs[host], &mut rngs[host]);
        }
        // The whole run reads of flows in the order of their slots, whichever part noted them.
        to[0].finished.extend(finished);
        ids
    }
}

/// Keeps the time at which an end handled, or will handle, its last packet, if any took time. That of a flow that is over
/// has passed, and so means nothing to the next one in its place.
fn keep_time(own: &mut IdVec<FlowSlot, Time>, old: &IdVec<FlowSlot, Time>, slot: FlowSlot) {
    if let Some(&at) = old.get(slot) {
        own.cover(slot, Time::ZERO);
        own[slot] = at;
    }
}
