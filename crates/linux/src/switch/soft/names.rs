//! Names of flows, by which a port mechanism says whom to notify.

use crate::wire::{FlowKey, MacAddr};
use std::collections::HashMap;

/// The flows that have names at most.
const FLOWS_MAX: usize = 4096;

/// A flow with the name that it has, and the Ethernet address of its sender.
#[derive(Clone, Copy, Debug)]
struct Named {
    name: u64,
    flow: FlowKey,
    sender: MacAddr,
}

/// The names of flows. No name is used twice: a flow that was forgotten gets another one.
#[derive(Debug, Default)]
pub struct Names {
    /// The slots of flows.
    slots: HashMap<FlowKey, usize>,
    named: Vec<Named>,
    /// The slot that the next new flow takes when all are taken: that of the flow that was named longest ago.
    next: usize,
    /// The names given so far.
    given: u64,
}

impl Names {
    /// Returns the name of a flow whose sender is at this Ethernet address.
    pub fn name(&mut self, flow: FlowKey, sender: MacAddr) -> u64 {
        if let Some(&slot) = self.slots.get(&flow) {
            self.named[slot].sender = sender;
            return self.named[slot].name;
        }
        let slot = self.next;
        self.next = (self.next + 1) % FLOWS_MAX;
        // A name is the slot, and above it the number of names given.
        let name = self.given << 16 | slot as u64;
        self.given += 1;
        let named = Named { name, flow, sender };
        match self.named.get_mut(slot) {
            Some(old) => {
                self.slots.remove(&old.flow);
                *old = named;
            }
            None => self.named.push(named),
        }
        self.slots.insert(flow, slot);
        name
    }

    /// Returns the flow of a name and the address of its sender, unless it was forgotten.
    pub fn flow(&self, name: u64) -> Option<(FlowKey, MacAddr)> {
        let named = self.named.get((name & 0xffff) as usize)?;
        (named.name == name).then_some((named.flow, named.sender))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn flow(n: u32) -> FlowKey {
        let source = Ipv4Addr::from(n).into();
        FlowKey { source, destination: Ipv4Addr::LOCALHOST.into(), source_port: 1, destination_port: 2 }
    }

    #[test]
    fn a_flow_keeps_its_name_and_a_forgotten_name_is_nobodys() {
        let (mut names, sender) = (Names::default(), MacAddr([2; 6]));
        let first = names.name(flow(0), sender);
        assert_eq!(names.name(flow(0), sender), first);
        assert_eq!(names.flow(first), Some((flow(0), sender)));
        (1..=FLOWS_MAX as u32).for_each(|n| assert_ne!(names.name(flow(n), sender), first));
        assert_eq!(names.flow(first), None, "its slot has another flow");
        assert_ne!(names.name(flow(0), sender), first);
        assert_eq!((names.slots.len(), names.named.len()), (FLOWS_MAX, FLOWS_MAX));
    }
}
