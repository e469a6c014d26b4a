//! The memory of switches in which packets wait.

use super::flow_control::FlowControl;
use crate::ids::IdVec;
use crate::model::{Model, SharedBuffer};
use clearway_topology::NodeId;
use serde::{Deserialize, Serialize};

/// The memory of switches, by the way in which queues share it.
#[derive(Serialize, Deserialize)]
pub enum Memory {
    /// Each queue has memory of its own.
    Apart,
    /// All ports of a switch share it, under dynamic thresholds.
    Shared(SharedMemory),
    /// All ports share it, and priority flow control counts what waits by the link by which it came.
    Guarded(Box<FlowControl>),
}

/// The memories of all switches, under dynamic thresholds (Choudhury and Hahne, 1998).
#[derive(Serialize, Deserialize)]
pub struct SharedMemory {
    limits: SharedBuffer,
    /// Bytes on the wire that wait at each node.
    used: IdVec<NodeId, u64>,
}

impl Memory {
    /// Returns the empty memory of a model's switches.
    pub fn new(model: &Model) -> Memory {
        if let Some(control) = FlowControl::new(model) {
            return Memory::Guarded(Box::new(control));
        }
        let nodes = model.topology.nodes().len();
        let shared = |limits| SharedMemory { limits, used: vec![0; nodes].into() };
        model.switch.shared.map(shared).map_or(Memory::Apart, Memory::Shared)
    }

    /// Returns the flow control, where there is any.
    #[inline]
    pub fn control(&self) -> Option<&FlowControl> {
        match self {
            Memory::Guarded(control) => Some(control),
            _ => None,
        }
    }

    /// Returns the flow control, to be changed, where there is any.
    pub fn control_mut(&mut self) -> Option<&mut FlowControl> {
        match self {
            Memory::Guarded(control) => Some(control),
            _ => None,
        }
    }
}

impl SharedMemory {
    /// Takes over the memory of the switches that another part of a network had and that are in this part.
    pub fn take_over(&mut self, old: &SharedMemory, was_there: impl Fn(NodeId) -> bool) {
        let SharedMemory { limits: _, used } = old;
        let moved = used.enumerate().filter(|&(node, _)| was_there(node));
        moved.for_each(|(node, used)| self.used[node] = *used);
    }

    /// Takes `wire` bytes into a switch's memory, for a queue that holds `queued` bytes. Returns false, and takes
    /// nothing, if the queue may not grow so far.
    pub fn admit(&mut self, node: NodeId, queued: u64, wire: u64) -> bool {
        let used = &mut self.used[node];
        let free = self.limits.size.get().saturating_sub(*used);
        let fits = wire <= free && (queued + wire) as f64 <= self.limits.alpha * free as f64;
        *used += if fits { wire } else { 0 };
        fits
    }

    /// Gives back the memory of `wire` bytes that left a switch.
    pub fn release(&mut self, node: NodeId, wire: u64) {
        self.used[node] -= wire;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Bytes;

    #[test]
    fn a_queue_may_hold_alpha_times_the_free_memory_and_each_switch_has_its_own() {
        let limits = SharedBuffer { size: Bytes::new(1000), alpha: 0.5 };
        let mut memory = SharedMemory { limits, used: vec![0; 2].into() };
        let [one, other] = [0, 1].map(NodeId::from_index);
        assert!(memory.admit(one, 0, 500), "half of 1000 free");
        assert!(!memory.admit(one, 0, 251), "half of 500 free");
        assert!(memory.admit(one, 0, 250) && memory.admit(other, 0, 500));
        memory.release(one, 500);
        assert!(memory.admit(one, 250, 125), "half of 750 free");
    }
}
