//! The tables of next hops of all parts, for flows whose packets are spread over several paths. All parts share them.

use super::networks::Networks;
use super::paths::Route;
use super::tables::Spread;
use crate::ids::FlowSlot;
use clearway_topology::routing::NextHops;
use clearway_topology::{NodeId, PortId, Topology};
use std::sync::Arc;

/// Adds the route of a flow in one direction: a path or, if its packets are spread over several of which this is one, none.
pub fn lay(nets: &mut Networks, path: &[PortId], is_spread: bool) -> Route {
    if is_spread { Route::by_tables(path[0], path.len()) } else { nets.add_path(path) }
}

/// A flow begins whose packets are forwarded by tables, to which those to its hosts are added where they are missing.
pub fn open(nets: &mut Networks, topology: &Topology, flow: FlowSlot, spread: Spread) {
    lead_to(nets, topology, spread.src);
    lead_to(nets, topology, spread.dst);
    nets.parts.iter_mut().for_each(|net| net.paths.tables.open(flow, spread));
}

/// Sees to it that the tables lead to a host.
pub fn lead_to(nets: &mut Networks, topology: &Topology, host: NodeId) {
    if !nets.parts[0].paths.tables.leads_to(host) {
        change_tables(nets, |tables| tables.lead_to(topology, host));
    }
}

/// Routing notices that a link's direction failed or recovered. The tables lead nowhere until they are told of hosts anew.
pub fn notice(nets: &mut Networks, topology: &Topology, port: PortId, up: bool) {
    change_tables(nets, |tables| tables.set_up(topology, port, up));
}

/// Changes the tables, which all parts share.
fn change_tables(nets: &mut Networks, change: impl FnOnce(&mut NextHops)) {
    let mut tables = nets.parts[0].paths.tables.take();
    for other in &mut nets.parts[1..] {
        other.paths.tables.take();
    }
    change(Arc::get_mut(&mut tables).expect("no part holds the tables now"));
    nets.parts.iter_mut().for_each(|net| net.paths.tables.put(Arc::clone(&tables)));
}
