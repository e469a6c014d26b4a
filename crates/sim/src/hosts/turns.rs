//! The places of flows among those that wait at a host's NIC for their turn to send data: where the order of the class puts
//! them.

use super::ends::{Ends, Sending};
use crate::ids::{ClassId, FlowSlot, NicId};
use crate::net::Network;
use clearway_proto::Order;
use clearway_topology::PortId;

impl Ends<Sending> {
    /// Lets a flow wait for its turn in a class of a NIC, where the order of the class puts it.
    #[inline(always)]
    pub fn wait(&mut self, slot: FlowSlot, nic: NicId, class: ClassId, net: &mut Network) {
        match net.classes.order(class) {
            Order::InTurn => net.nics[nic].push(class, slot),
            order => {
                let key = self.key(slot, order);
                net.nics[nic].push_by_key(class, slot, key);
            }
        }
    }

    /// Moves a flow that waits for its turn to where its class puts it after an input.
    #[inline(always)]
    pub fn reorder(&mut self, slot: FlowSlot, port: PortId, class: ClassId, net: &mut Network) {
        let order = net.classes.order(class);
        if order != Order::InTurn {
            let key = self.key(slot, order);
            net.nic(port).rekey(class, slot, key);
        }
    }

    /// Returns the key of a flow in an order.
    #[cold]
    #[inline(never)]
    fn key(&mut self, slot: FlowSlot, order: Order) -> u64 {
        let (sending, protocols) = self.with_protocols(slot).expect("a flow leaves its NIC before it ends");
        sending.key(protocols, order)
    }
}
