//! WebAssembly has no reader of GraphML, since everybody who opens the live page would load its code.

use crate::error::TopologyError;
use crate::graph::Topology;

/// Refuses a network in GraphML.
///
/// # Errors
/// Always returns [`TopologyError::Line`].
pub fn from_graphml(_: &str) -> Result<Topology, TopologyError> {
    let problem = "GraphML can't be read here; write the network in Clearway's own format";
    Err(TopologyError::Line { line: 1, problem: problem.into() })
}
