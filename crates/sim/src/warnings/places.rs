//! Classes and ports of switches, and sizes as warnings name them.

use crate::model::{Model, Traffic};
use clearway_topology::{PortId, Topology};
use clearway_units::Bytes;

/// Returns a size to three digits, as warnings name those that nobody wrote.
pub fn about(size: Bytes) -> Bytes {
    let digits = size.get().checked_ilog10().unwrap_or(0);
    let unit = 10u64.pow(digits.saturating_sub(2));
    Bytes::new((size.get() + unit / 2) / unit * unit)
}

/// Returns the class that data of an entry joins at switches.
pub fn class_at_switches(model: &Model, entry: &Traffic) -> usize {
    model.switch.classes[entry.class].at_switches.unwrap_or(entry.class)
}

/// Returns the ports of switches.
pub fn switch_ports(topology: &Topology) -> impl Iterator<Item = PortId> {
    let of_switch = |port: &PortId| !topology.is_host(topology.port(*port).from);
    (0..topology.ports().len()).map(PortId::from_index).filter(of_switch)
}
