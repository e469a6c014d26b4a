//! The table of live flows, as the whole run knows them; their ends are in the regions of their hosts.

use super::detours::Detours;
use crate::hosts::FlowName;
use crate::ids::{FlowSlot, HostId, IdVec, RecordId, TrafficId};
use clearway_proto::Stats;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A flow between its start and the moment at which its last packet has left the network.
#[derive(Serialize, Deserialize)]
pub struct LiveFlow {
    /// The traffic entry of the flow.
    traffic: TrafficId,
    /// The number of the flow there.
    number: u64,
    /// The host that sends.
    pub src: HostId,
    /// The host that receives.
    pub dst: HostId,
    /// The row of the first message that is not yet delivered in full.
    undelivered: Option<RecordId>,
    /// The row of the first message of which the sending end does not know yet that all has arrived.
    unacknowledged: Option<RecordId>,
    /// The row of the current message or, while there is none, of the last one; `None` before the first.
    pub record: Option<RecordId>,
    /// The packets of the flow that entered the network unseen by its ends, less those that left it so.
    pub unseen: i32,
    /// What flows of one message do without.
    several: Option<Box<Several>>,
    /// Set while the flow is among those that may be over.
    pub is_ending: bool,
}

/// What only a flow of several messages needs.
#[derive(Default, Serialize, Deserialize)]
struct Several {
    /// The rows behind the first one that is not delivered.
    undelivered: VecDeque<RecordId>,
    /// The rows behind the first one that is not acknowledged.
    unacknowledged: VecDeque<RecordId>,
    /// The counts of both ends up to the end of the last message that is complete.
    counted: Stats,
}

impl LiveFlow {
    /// Returns a flow that has carried no message yet.
    pub fn new(name: FlowName, src: HostId, dst: HostId) -> LiveFlow {
        let FlowName { traffic, number } = name;
        LiveFlow {
            traffic,
            number,
            src,
            dst,
            undelivered: None,
            unacknowledged: None,
            record: None,
            unseen: 0,
            several: None,
            is_ending: false,
        }
    }

    /// Returns the name of the flow.
    pub fn name(&self) -> FlowName {
        FlowName { traffic: self.traffic, number: self.number }
    }

    /// Adds the row of a message. Returns whether it is the only one that is not delivered.
    pub fn push(&mut self, row: RecordId) -> bool {
        if self.unacknowledged.is_none() {
            self.unacknowledged = Some(row);
        } else {
            self.several.get_or_insert_default().unacknowledged.push_back(row);
        }
        let is_only = self.undelivered.is_none();
        if is_only {
            self.undelivered = Some(row);
        } else {
            self.several.get_or_insert_default().undelivered.push_back(row);
        }
        is_only
    }

    /// Takes the row of the first message that is not delivered, which now is.
    pub fn deliver(&mut self) -> Option<RecordId> {
        let next = self.several.as_mut().and_then(|several| several.undelivered.pop_front());
        std::mem::replace(&mut self.undelivered, next)
    }

    /// Takes the row of the first message that is not acknowledged, which now is.
    pub fn acknowledge(&mut self) -> Option<RecordId> {
        let next = self.several.as_mut().and_then(|several| several.unacknowledged.pop_front());
        std::mem::replace(&mut self.unacknowledged, next)
    }

    /// Returns the row of the first message that is not delivered.
    pub fn first_open(&self) -> Option<RecordId> {
        self.undelivered
    }

    /// Returns the rows of the messages that are not delivered, in their order.
    pub fn open(&self) -> impl Iterator<Item = RecordId> {
        let behind = self.several.iter().flat_map(|several| several.undelivered.iter().copied());
        self.undelivered.into_iter().chain(behind)
    }

    /// Returns what both ends have done since the last complete message, of all that they did.
    pub fn since_counted(&self, stats: &Stats) -> Stats {
        self.several.as_ref().map_or_else(|| stats.clone(), |several| stats.minus(&several.counted))
    }

    /// Notes that a message is complete, by when both ends had done this. Returns what they did since the one before.
    pub fn count(&mut self, stats: Stats) -> Stats {
        let since = self.since_counted(&stats);
        self.several.get_or_insert_default().counted = stats;
        since
    }
}

/// The table of all live flows; the slot of a flow that ended is used again.
#[derive(Default, Serialize, Deserialize)]
pub struct LiveFlows {
    slots: IdVec<FlowSlot, Option<LiveFlow>>,
    free: Vec<FlowSlot>,
    count: usize,
    /// The number of flows that each host is sending: the application wrote, and not all is delivered.
    loads: IdVec<HostId, u32>,
    /// The paths that faults took from these flows.
    pub detours: Detours,
}

impl LiveFlows {
    /// Adds a flow and returns its slot.
    pub fn insert(&mut self, live: LiveFlow) -> FlowSlot {
        self.count += 1;
        let live = Some(live);
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = live;
                slot
            }
            None => self.slots.push(live),
        }
    }

    /// Removes a flow.
    pub fn remove(&mut self, slot: FlowSlot) -> Option<LiveFlow> {
        let live = self.slots[slot].take()?;
        self.count -= 1;
        self.free.push(slot);
        self.detours.end(slot);
        Some(live)
    }

    /// Returns a flow that is alive.
    #[inline]
    pub fn get_mut(&mut self, slot: FlowSlot) -> Option<&mut LiveFlow> {
        self.slots.get_mut(slot)?.as_mut()
    }

    /// Returns a flow that is alive, to be read.
    pub fn get(&self, slot: FlowSlot) -> Option<&LiveFlow> {
        self.slots.get(slot)?.as_ref()
    }

    /// Returns the slots of flows, those included that are free.
    pub fn slots(&self) -> impl ExactSizeIterator<Item = FlowSlot> + use<> {
        self.slots.ids()
    }

    /// Returns the number of flows that are alive.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns all flows that are alive, with their slots.
    pub fn iter(&self) -> impl Iterator<Item = (FlowSlot, &LiveFlow)> {
        self.slots.enumerate().filter_map(|(slot, live)| Some((slot, live.as_ref()?)))
    }

    /// Returns the number of flows that a host is sending.
    pub fn load(&self, host: HostId) -> u32 {
        self.loads.get(host).copied().unwrap_or(0)
    }

    /// Notes that a host sends one more flow.
    pub fn add_load(&mut self, host: HostId) {
        self.loads.cover(host, 0);
        self.loads[host] += 1;
    }

    /// Notes that all that one of a host's flows had to send is delivered.
    pub fn drop_load(&mut self, host: HostId) {
        self.loads[host] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Id, TrafficId};

    fn live() -> LiveFlow {
        let name = FlowName { traffic: TrafficId::from_index(0), number: 0 };
        LiveFlow::new(name, HostId::from_index(0), HostId::from_index(1))
    }

    #[test]
    fn rows_are_delivered_and_acknowledged_in_the_order_in_which_they_came() {
        let [first, second, third] = [0, 1, 2].map(RecordId::from_index);
        let mut live = live();
        assert_eq!((live.deliver(), live.acknowledge()), (None, None));
        assert!(live.push(first) && !live.push(second));
        assert_eq!((live.deliver(), live.first_open()), (Some(first), Some(second)));
        assert!(!live.push(third));
        assert_eq!(live.open().collect::<Vec<_>>(), [second, third]);
        assert_eq!([live.deliver(), live.deliver(), live.deliver()], [Some(second), Some(third), None]);
        let known = [live.acknowledge(), live.acknowledge(), live.acknowledge(), live.acknowledge()];
        assert_eq!(known, [Some(first), Some(second), Some(third), None]);
        assert!(live.push(first), "it is the only one again");
    }

    #[test]
    fn the_slot_of_a_flow_that_ended_is_used_again() {
        let mut flows = LiveFlows::default();
        let (first, second) = (flows.insert(live()), flows.insert(live()));
        assert!(flows.remove(first).is_some() && flows.remove(first).is_none());
        assert!(flows.get_mut(first).is_none());
        let slots = |flows: &LiveFlows| flows.iter().map(|(slot, _)| slot).collect::<Vec<_>>();
        assert_eq!((flows.count(), slots(&flows)), (1, vec![second]));
        assert_eq!(flows.insert(live()), first);
        assert_eq!(slots(&flows), [first, second]);
    }
}
