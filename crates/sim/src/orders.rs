//! The orders in which the NICs of a model's hosts serve flows, by class of packets.

use crate::model::{Model, Traffic};
use clearway_proto::Order;

impl Model {
    /// Returns the order in which a host's NIC asks flows for data, by class of packets: that of the transports whose
    /// data is there. They agree in a model that [`Simulation::new`](crate::Simulation::new) accepts.
    pub fn orders(&self) -> Vec<Order> {
        let mut orders = vec![Order::InTurn; self.switch.classes.len()];
        for entry in &self.traffic {
            orders[entry.class] = entry.transport.order();
        }
        orders
    }

    /// Returns the first two traffic entries whose data is in one class, and whose transports ask for different orders
    /// of a host's flows.
    pub fn at_odds(traffic: &[&Traffic]) -> Option<(usize, usize)> {
        let order = |entry: &Traffic| entry.transport.order();
        let first = |entry: &Traffic| traffic.iter().position(|other| other.class == entry.class);
        let pairs = traffic.iter().enumerate().filter_map(|(at, entry)| Some((first(entry)?, at)));
        pairs.into_iter().find(|&(first, at)| order(traffic[first]) != order(traffic[at]))
    }
}
