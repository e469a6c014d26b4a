//! What became of packets where no end sees it, to be told to the flows now and then.

use crate::ids::{FlowSlot, IdVec};
use serde::{Deserialize, Serialize};

/// The packets of flows that entered a part of the network without any of their ends, less those that left it so.
#[derive(Default, Serialize, Deserialize)]
pub struct Unseen {
    /// The count of each flow since the last look.
    packets: IdVec<FlowSlot, i32>,
    /// The flows that may have a count, some of them more than once.
    flows: Vec<FlowSlot>,
}

impl Unseen {
    /// Counts packets of a flow that entered or, if they are less than none, left.
    #[inline]
    pub fn count(&mut self, flow: FlowSlot, packets: i32) {
        self.packets.cover(flow, 0);
        let count = &mut self.packets[flow];
        if *count == 0 {
            self.flows.push(flow);
        }
        *count += packets;
    }

    /// Takes over the counts of another part.
    pub fn take_over(&mut self, mut other: Unseen) {
        other.drain(|flow, packets| self.count(flow, packets));
    }

    /// Hands over the counts of all flows and begins anew.
    pub fn drain(&mut self, mut tell: impl FnMut(FlowSlot, i32)) {
        for flow in self.flows.drain(..) {
            tell(flow, std::mem::take(&mut self.packets[flow]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn the_packets_of_a_flow_are_told_once_and_counted_anew_afterwards() {
        let [first, second] = [0, 7].map(FlowSlot::from_index);
        let mut unseen = Unseen::default();
        for (flow, packets) in [(second, -1), (first, 1), (second, -1), (first, -1), (first, -1)] {
            unseen.count(flow, packets);
        }
        let told = |unseen: &mut Unseen| {
            let mut sums = [0; 2];
            unseen.drain(|flow, packets| sums[usize::from(flow == second)] += packets);
            sums
        };
        assert_eq!(told(&mut unseen), [-1, -2]);
        unseen.count(second, -1);
        assert_eq!(told(&mut unseen), [0, -1]);
    }
}
