//! The paths that flows had before a fault changed them, as long as the flows are alive.

use crate::ids::FlowSlot;
use crate::net::Route;
use clearway_topology::PortId;
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a flow left when its paths changed.
#[derive(Serialize, Deserialize)]
pub enum Left {
    /// One path, which is stored, since packets may still be on it.
    Path(Route),
    /// The paths among which its packets were spread, of so many ports each, one after the other. Nothing else needs them
    /// any more.
    Paths(Vec<PortId>, u32),
}

/// The paths that flows left, each with the time at which they were left. A flow whose paths never changed has none.
#[derive(Default, Serialize, Deserialize)]
pub struct Detours(BTreeMap<FlowSlot, Vec<(Time, Left)>>);

impl Detours {
    /// Notes that a flow left paths.
    pub fn leave(&mut self, slot: FlowSlot, at: Time, left: Left) {
        self.0.entry(slot).or_default().push((at, left));
    }

    /// Returns the paths that a flow left since a time, on which bytes written then may have travelled.
    pub fn since(&self, slot: FlowSlot, since: Time) -> &[(Time, Left)] {
        let Some(left) = self.0.get(&slot) else { return &[] };
        &left[left.partition_point(|&(at, _)| at < since)..]
    }

    /// A flow is over.
    pub fn end(&mut self, slot: FlowSlot) {
        self.0.remove(&slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn bytes_may_have_travelled_on_the_paths_that_were_left_since_they_were_written() {
        let (mut detours, flow) = (Detours::default(), FlowSlot::from_index(3));
        let at = |us| Time::from_ps(us);
        detours.leave(flow, at(10), Left::Path(Route::default()));
        detours.leave(flow, at(20), Left::Paths(vec![PortId(2)], 1));
        detours.leave(flow, at(30), Left::Path(Route::default()));
        let times =
            |since| detours.since(flow, at(since)).iter().map(|(at, _)| at.as_ps()).collect::<Vec<_>>();
        assert_eq!((times(0), times(20), times(31)), (vec![10, 20, 30], vec![20, 30], vec![]));
        assert!(detours.since(FlowSlot::from_index(4), at(0)).is_empty());
        detours.end(flow);
        assert!(detours.since(flow, at(0)).is_empty(), "the next flow in that place begins anew");
    }
}
