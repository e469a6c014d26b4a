//! The packets of each flow that are in the network: a flow's place must not be used again while one is about.

use crate::ids::{FlowSlot, Id, IdVec};
use serde::{Deserialize, Serialize};

/// A bit of a flow's count: both of its ends are done.
const ENDED: u32 = 1 << 31;

/// The number of packets in the network, by flow.
#[derive(Default, Serialize, Deserialize)]
pub struct Residents {
    /// Packets of each flow; the bit [`ENDED`] is set once both ends are done.
    packets: IdVec<FlowSlot, u32>,
    /// The number of flows that have had each place so far.
    births: IdVec<FlowSlot, u32>,
    /// True for each flow whose sender reacts to CNPs.
    takes_cnps: IdVec<FlowSlot, bool>,
    /// Flows that ended and whose last packet has left.
    drained: Vec<FlowSlot>,
}

impl Residents {
    /// A flow starts, and has no packet yet. `takes_cnps` says whether its sender reacts to CNPs.
    pub fn open(&mut self, flow: FlowSlot, takes_cnps: bool) {
        self.packets.cover(flow, 0);
        self.births.cover(flow, 0);
        self.births[flow] += 1;
        self.takes_cnps.cover(flow, false);
        self.takes_cnps[flow] = takes_cnps;
        let packets = &mut self.packets[flow];
        debug_assert!(matches!(*packets, 0 | ENDED), "a flow's place is used again with packets of it about");
        *packets = 0;
    }

    /// Both ends of a flow are done: once its last packet has left, [`Residents::next_drained`] names it.
    pub fn end(&mut self, flow: FlowSlot) {
        self.packets[flow] |= ENDED;
        self.note(flow);
    }

    /// A packet enters the network.
    #[inline]
    pub fn enter(&mut self, flow: FlowSlot) {
        self.packets[flow] += 1;
    }

    /// A packet leaves the network.
    #[inline]
    pub fn leave(&mut self, flow: FlowSlot) {
        self.packets[flow] -= 1;
        self.note(flow);
    }

    #[inline]
    fn note(&mut self, flow: FlowSlot) {
        if self.packets[flow] == ENDED {
            self.drained.push(flow);
        }
    }

    /// Answers whether some flow may be named by [`Residents::next_drained`].
    #[inline]
    pub fn any_drained(&self) -> bool {
        !self.drained.is_empty()
    }

    /// A flow that ended and has no packet in the network. It may be named twice, since its last packet may have made
    /// an end send another one.
    pub fn next_drained(&mut self) -> Option<FlowSlot> {
        while let Some(flow) = self.drained.pop() {
            if self.packets[flow] == ENDED {
                return Some(flow);
            }
        }
        None
    }

    /// The name of the flow that has a place now. A name is never used again, though the place is.
    fn name_of(&self, flow: FlowSlot) -> u64 {
        (self.births[flow] as u64) << 32 | flow.index() as u64
    }

    /// The name by which a mechanism may notify a flow; `None` if the flow's sender does not react to CNPs, so that no
    /// mechanism can ask for one.
    #[inline]
    pub fn notified_name(&self, flow: FlowSlot) -> Option<u64> {
        self.takes_cnps[flow].then(|| self.name_of(flow))
    }

    /// The flow of a name, unless it has ended.
    pub fn by_name(&self, name: u64) -> Option<FlowSlot> {
        let flow = FlowSlot::from_index(name as u32 as usize);
        (self.name_of(flow) == name && self.packets[flow] & ENDED == 0).then_some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_drained_when_its_last_packet_has_left_after_both_ends_are_done() {
        let mut residents = Residents::default();
        let flow = FlowSlot::from_index(3);
        residents.open(flow, true);
        residents.enter(flow);
        residents.enter(flow);
        residents.leave(flow);
        residents.end(flow);
        assert!(!residents.any_drained());
        residents.leave(flow);
        assert_eq!((residents.next_drained(), residents.next_drained()), (Some(flow), None));
    }

    #[test]
    fn a_flow_whose_last_packet_made_an_end_answer_is_not_drained() {
        let mut residents = Residents::default();
        let flow = FlowSlot::from_index(0);
        residents.open(flow, true);
        residents.end(flow);
        residents.enter(flow);
        assert!(residents.any_drained());
        assert_eq!(residents.next_drained(), None);
    }

    #[test]
    fn a_name_means_the_flow_that_had_the_place_and_no_other() {
        let mut residents = Residents::default();
        let flow = FlowSlot::from_index(0);
        residents.open(flow, true);
        let name = residents.notified_name(flow).unwrap();
        assert_eq!(residents.by_name(name), Some(flow));
        residents.end(flow);
        assert_eq!(residents.by_name(name), None);
        residents.open(flow, true);
        assert_eq!(residents.by_name(name), None);
    }

    #[test]
    fn a_flow_that_takes_no_cnps_has_no_name_to_notify_it_by() {
        let mut residents = Residents::default();
        let flow = FlowSlot::from_index(0);
        residents.open(flow, false);
        assert_eq!(residents.notified_name(flow), None);
        residents.end(flow);
        residents.open(flow, true);
        assert!(residents.notified_name(flow).is_some(), "the next flow in its place takes them");
    }
}
