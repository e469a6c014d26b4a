//! The flows that are alive, as the whole run knows them; their ends are in the regions of their hosts.

use super::few::Few;
use crate::hosts::FlowName;
use crate::ids::{FlowSlot, HostId, IdVec, RecordId};
use clearway_proto::Stats;
use serde::{Deserialize, Serialize};

/// A flow between its start and the moment at which its last packet has left the network.
#[derive(Serialize, Deserialize)]
pub struct Live {
    /// The name of the flow.
    pub name: FlowName,
    /// The host that sends.
    pub src: HostId,
    /// The host that receives.
    pub dst: HostId,
    /// The rows of messages that are not yet delivered in full.
    pub open: Few<RecordId>,
    /// The rows of messages of which the sending end does not know yet that all has arrived.
    pub unacknowledged: Few<RecordId>,
    /// The row of the current message or, while there is none, of the last one; `None` before the first.
    pub record: Option<RecordId>,
    /// The counts of both ends up to the end of the last message that is complete, of flows with several.
    pub counted: Option<Box<Stats>>,
    /// The packets of the flow that entered the network unseen by its ends, less those that left it so.
    pub unseen: i32,
    /// Set while the flow is among those that may be over.
    pub is_ending: bool,
}

impl Live {
    /// A flow that has carried no message yet.
    pub fn new(name: FlowName, src: HostId, dst: HostId) -> Live {
        Live {
            name,
            src,
            dst,
            open: Few::default(),
            unacknowledged: Few::default(),
            record: None,
            counted: None,
            unseen: 0,
            is_ending: false,
        }
    }
}

impl Live {
    /// What both ends have done since the last message that is complete, of all that they did.
    pub fn since_counted(&self, stats: &Stats) -> Stats {
        self.counted.as_ref().map_or(*stats, |counted| stats.minus(counted))
    }
}

/// All flows that are alive; the place of one that ended is used again.
#[derive(Default, Serialize, Deserialize)]
pub struct Lives {
    places: IdVec<FlowSlot, Option<Live>>,
    free: Vec<FlowSlot>,
    count: usize,
    /// The number of flows that each host is sending: the application wrote, and not all is delivered.
    loads: IdVec<HostId, u32>,
}

impl Lives {
    /// Adds a flow and returns its place.
    pub fn insert(&mut self, live: Live) -> FlowSlot {
        self.count += 1;
        let live = Some(live);
        match self.free.pop() {
            Some(slot) => {
                self.places[slot] = live;
                slot
            }
            None => self.places.push(live),
        }
    }

    /// Removes a flow.
    pub fn remove(&mut self, slot: FlowSlot) -> Option<Live> {
        let live = self.places[slot].take()?;
        self.count -= 1;
        self.free.push(slot);
        Some(live)
    }

    /// A flow that is alive.
    #[inline]
    pub fn get_mut(&mut self, slot: FlowSlot) -> Option<&mut Live> {
        self.places.get_mut(slot)?.as_mut()
    }

    /// A flow that is alive, to be read.
    pub fn get(&self, slot: FlowSlot) -> Option<&Live> {
        self.places.get(slot)?.as_ref()
    }

    /// The places of flows, those included that are free.
    pub fn slots(&self) -> impl ExactSizeIterator<Item = FlowSlot> + use<> {
        self.places.ids()
    }

    /// The number of flows that are alive.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All flows that are alive, with their places.
    pub fn iter(&self) -> impl Iterator<Item = (FlowSlot, &Live)> {
        self.places.enumerate().filter_map(|(slot, live)| Some((slot, live.as_ref()?)))
    }

    /// The number of flows that a host is sending.
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

    #[test]
    fn the_place_of_a_flow_that_ended_is_used_again() {
        let live = || {
            let name = FlowName { traffic: TrafficId::from_index(0), number: 0 };
            Live::new(name, HostId::from_index(0), HostId::from_index(1))
        };
        let mut lives = Lives::default();
        let (first, second) = (lives.insert(live()), lives.insert(live()));
        assert!(lives.remove(first).is_some() && lives.remove(first).is_none());
        assert!(lives.get_mut(first).is_none());
        let slots = |lives: &Lives| lives.iter().map(|(slot, _)| slot).collect::<Vec<_>>();
        assert_eq!((lives.count(), slots(&lives)), (1, vec![second]));
        assert_eq!(lives.insert(live()), first);
        assert_eq!(slots(&lives), [first, second]);
    }
}
