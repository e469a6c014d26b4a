//! The ports of hosts, behind each of which stands a NIC with the flows that wait for their turn.

use super::network::Network;
use super::nics::Nic;
use crate::fast_paths::tests_forbid;
use crate::ids::{ClassId, FlowSlot, NicId};
use clearway_topology::PortId;

impl Network {
    /// Returns the NIC of a host's port, if the port may do nothing now but ask its flows, of which none takes a turn
    /// that must be counted: it is free, nothing waits there but flows, if any do, and nothing is asked of it.
    #[inline(always)]
    pub fn nic_alone(&self, port: PortId) -> Option<NicId> {
        let out = &self.ports[port];
        let is_alone = out.is_free(self.now())
            && out.control.is_empty()
            && out.waiting == 0
            && out.credits.is_none_or(|credits| self.credits.has_none(credits))
            && !self.arbiter.has_turns(true)
            && !tests_forbid();
        out.nic.filter(|_| is_alone)
    }

    /// Takes the flow whose turn it is at a port, of which [`Network::nic_alone`] returned the NIC.
    #[inline(always)]
    pub fn turn_alone(&mut self, nic: NicId) -> Option<(ClassId, FlowSlot)> {
        let now = self.agenda.now;
        let nic = &mut self.nics[nic];
        if let Some(parked) = nic.pop_parked(now) {
            return Some(parked);
        }
        nic.settle_before(now);
        let class = self.arbiter.first(true, |class| nic.has(class))?;
        Some((class, nic.pop(class)?))
    }

    /// Charges a packet that a flow made for its turn.
    #[inline(always)]
    pub fn charge_pull(&mut self, port: PortId, class: ClassId, wire: u32) {
        self.arbiter.charge(port, true, class, wire);
    }

    /// Returns the NIC behind a host's port.
    #[inline(always)]
    pub fn nic(&mut self, port: PortId) -> &mut Nic {
        &mut self.nics[self.ports[port].nic.expect("a host's port has a NIC")]
    }

    /// As [`Network::rearm`] at a host's port with this NIC, where nothing waits but flows, if any do.
    #[inline(always)]
    pub fn rearm_for_flows(&mut self, port: PortId, nic: NicId) {
        if self.nics[nic].has_any() {
            self.arm(port, self.ports[port].busy_until.max(self.now()));
        }
    }
}
