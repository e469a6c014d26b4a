//! The bindings that tell of a scenario's network: its nodes and links, and the paths of a pair of hosts.

use crate::scenario::Scenario;
use clearway_topology::{NodeId, PortId, Topology, between, farthest_pair, one_way};
use clearway_units::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A dict that is returned to Python.
type Answer<'py> = Bound<'py, PyDict>;

/// Returns the nodes and links of a scenario's network as columns, the names in short, and its totals.
#[pyfunction]
pub fn network<'py>(py: Python<'py>, scenario: &Scenario) -> PyResult<Answer<'py>> {
    let topology = &scenario.model().topology;
    let dict = PyDict::new(py);
    let nodes = topology.nodes();
    dict.set_item("hosts", topology.hosts())?;
    dict.set_item("names", nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>())?;
    dict.set_item("tiers", nodes.iter().map(|node| u32::from(node.tier)).collect::<Vec<_>>())?;
    let links = || topology.ports().iter().step_by(2);
    dict.set_item("a", links().map(|port| port.from.0).collect::<Vec<_>>())?;
    dict.set_item("b", links().map(|port| port.to.0).collect::<Vec<_>>())?;
    dict.set_item("rate_bps", links().map(|port| port.rate.as_bps()).collect::<Vec<_>>())?;
    dict.set_item("delay_ps", links().map(|port| port.delay.as_ps()).collect::<Vec<_>>())?;
    let losses = (0..topology.links()).map(|link| topology.loss(PortId::from_index(2 * link)));
    dict.set_item("loss", losses.collect::<Vec<_>>())?;
    dict.set_item("host_names", topology.names().hosts())?;
    dict.set_item("switch_names", topology.names().switches())?;
    dict.set_item("oversubscription", topology.oversubscription())?;
    let (from, to, hops) = farthest_pair(topology);
    dict.set_item("farthest", (from.0, to.0, hops))?;
    Ok(dict)
}

/// Returns the node of a name, or of another name that the shape gives it.
#[pyfunction]
pub fn node(scenario: &Scenario, name: &str) -> PyResult<u32> {
    let topology = &scenario.model().topology;
    let found = topology.node(name).map(|node| node.0);
    found.ok_or_else(|| PyValueError::new_err(topology.names().no_node(name)))
}

/// Returns the shortest paths between two hosts, each by its number: hops, number of paths, the ports with their shares
/// of the traffic (port `2l` is link `l` from its first end), and the delays of an idle path in seconds.
#[pyfunction]
pub fn paths<'py>(py: Python<'py>, scenario: &Scenario, src: u32, dst: u32) -> PyResult<Answer<'py>> {
    let model = scenario.model();
    let topology = &model.topology;
    let hosts = topology.hosts();
    let is_host = |host: u32| (host as usize) < hosts;
    let found = if is_host(src) && is_host(dst) { between(topology, NodeId(src), NodeId(dst)) } else { None };
    let Some(found) = found else {
        return Err(PyValueError::new_err("no path; name two different hosts"));
    };
    let path = found.one_path(topology, NodeId(src));
    let back: Vec<PortId> = path.iter().rev().map(|port| port.reverse()).collect();
    let bytes = |size: u32| Bytes::new(u64::from(size));
    let data = one_way(topology, &path, bytes(model.framing.wire_max()));
    let dict = PyDict::new(py);
    dict.set_item("hops", found.hops)?;
    dict.set_item("paths", found.paths)?;
    dict.set_item("ports", found.shares.iter().map(|(port, share)| (port.0, *share)).collect::<Vec<_>>())?;
    dict.set_item("one_way_s", data.as_secs_f64())?;
    dict.set_item("rtt_s", (data + one_way(topology, &back, bytes(model.framing.wire_min))).as_secs_f64())?;
    dict.set_item("rates_bps", rates(topology, &path))?;
    dict.set_item("delay_ps", path.iter().map(|&port| topology.port(port).delay.as_ps()).sum::<u64>())?;
    dict.set_item("frame", (model.framing.payload_max, model.framing.overhead))?;
    Ok(dict)
}

fn rates(topology: &Topology, path: &[PortId]) -> Vec<u64> {
    path.iter().map(|&port| topology.port(port).rate.as_bps()).collect()
}
