//! The flows that mechanisms of ports may notify, and the way of a notification (CNP) to their senders.

use super::paths::Route;
use crate::ids::{ClassId, FlowSlot, Id, IdVec};
use serde::{Deserialize, Serialize};

/// The flows whose senders react to CNPs.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Notified {
    flows: IdVec<FlowSlot, Entry>,
}

/// What is known of the flow that has a place now.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Entry {
    /// The number of flows that have had the place so far.
    births: u32,
    /// Set once both ends of the flow are done.
    ended: bool,
    /// The reverse of the route of the flow's data, and the class of its CNPs; `None` if the sender takes no CNPs.
    back: Option<(Route, ClassId)>,
}

impl Notified {
    /// A flow starts. Its CNPs go `back`, if its sender reacts to any.
    pub fn open(&mut self, flow: FlowSlot, back: Option<(Route, ClassId)>) {
        self.flows.cover(flow, Entry::default());
        let entry = &mut self.flows[flow];
        *entry = Entry { births: entry.births + 1, ended: false, back };
    }

    /// The data of a flow takes another route from now on.
    pub fn reroute(&mut self, flow: FlowSlot, back: Route) {
        if let Some((route, _)) = self.flows.get_mut(flow).and_then(|entry| entry.back.as_mut()) {
            *route = back;
        }
    }

    /// Both ends of a flow are done: it is notified no more.
    pub fn end(&mut self, flow: FlowSlot) {
        if let Some(entry) = self.flows.get_mut(flow) {
            entry.ended = true;
        }
    }

    /// Returns the way back of a flow's CNPs, if it takes any.
    pub fn back(&self, flow: FlowSlot) -> Option<(Route, ClassId)> {
        self.flows.get(flow)?.back
    }

    /// Returns the name by which a mechanism may notify a flow; `None` if the flow's sender does not react to CNPs, so
    /// that no mechanism can ask for one. A name is never used again, though the place is.
    #[inline]
    pub fn name(&self, flow: FlowSlot) -> Option<u64> {
        let entry = self.flows.get(flow).filter(|entry| entry.back.is_some())?;
        Some((entry.births as u64) << 32 | flow.index() as u64)
    }

    /// Returns the flow of a name with the way back of its CNPs, unless it has ended.
    pub fn by_name(&self, name: u64) -> Option<(FlowSlot, Route, ClassId)> {
        let flow = FlowSlot::from_index(name as u32 as usize);
        let entry = self.flows.get(flow).filter(|entry| !entry.ended && self.name(flow) == Some(name))?;
        entry.back.map(|(route, class)| (flow, route, class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_topology::PortId;

    fn back() -> Option<(Route, ClassId)> {
        Some((Route::default(), ClassId::FIRST))
    }

    #[test]
    fn a_name_means_the_flow_that_had_the_place_and_no_other() {
        let mut notified = Notified::default();
        let flow = FlowSlot::from_index(3);
        notified.open(flow, back());
        let name = notified.name(flow).unwrap();
        assert_eq!(notified.by_name(name).map(|(flow, ..)| flow), Some(flow));
        notified.end(flow);
        assert!(notified.by_name(name).is_none());
        assert_eq!(notified.name(flow), Some(name), "packets of it may still be about");
        notified.open(flow, back());
        assert!(notified.by_name(name).is_none());
    }

    #[test]
    fn a_flow_that_takes_no_cnps_has_no_name_to_notify_it_by() {
        let mut notified = Notified::default();
        let flow = FlowSlot::from_index(0);
        assert_eq!(notified.name(flow), None);
        notified.open(flow, None);
        assert_eq!(notified.name(flow), None);
        notified.open(flow, back());
        assert!(notified.name(flow).is_some(), "the next flow in its place takes them");
    }

    #[test]
    fn a_flow_that_takes_another_route_is_notified_over_that_and_one_that_takes_no_cnps_over_none() {
        let (mut notified, flow) = (Notified::default(), FlowSlot::from_index(0));
        let other = Route::by_tables(PortId(7), 3);
        notified.reroute(flow, other);
        assert!(notified.back(flow).is_none(), "it has not begun");
        notified.open(flow, back());
        notified.reroute(flow, other);
        assert_eq!(notified.back(flow), Some((other, ClassId::FIRST)));
        notified.open(flow, None);
        notified.reroute(flow, other);
        assert!(notified.back(flow).is_none());
    }
}
