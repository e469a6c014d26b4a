//! Listed flows, some of which are messages of one connection.

use super::Surroundings;
use crate::model::{Flow, Messages, Pattern};
use clearway_topology::NodeId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A flow of a list that can't be what the list says.
pub struct Refusal {
    /// The place of the flow in the list.
    pub place: usize,
    /// The key or column whose value is wrong.
    pub key: &'static str,
    /// The fault, and what would be right.
    pub problem: String,
}

/// Returns the pattern of listed flows: messages if the list names a connection of any.
pub fn pattern(of: &Surroundings<'_>, listed: Vec<(Flow, Option<String>)>) -> Result<Pattern, Refusal> {
    if listed.iter().all(|(_, connection)| connection.is_none()) {
        return Ok(of.flows(listed.into_iter().map(|(flow, _)| flow).collect()));
    }
    let mut ends: BTreeMap<&str, (NodeId, NodeId)> = BTreeMap::new();
    for (place, (flow, connection)) in listed.iter().enumerate() {
        let refuse = |key, problem| Err(Refusal { place, key, problem });
        if flow.size.is_none() {
            let problem = "is missing; in a list with connections every flow is a message and needs a size";
            return refuse("size", problem.into());
        }
        if flow.stop.is_some() {
            let problem =
                "means nothing in a list with connections, whose messages are sent in full; remove it";
            return refuse("stop", problem.into());
        }
        let Some(name) = connection else { continue };
        let (src, dst) = *ends.entry(name).or_insert((flow.src, flow.dst));
        if (src, dst) != (flow.src, flow.dst) {
            let [from, to, src, dst] = [flow.src, flow.dst, src, dst].map(|host| of.topology.name(host));
            let problem = format!(
                "a flow from {from} to {to} can't be a message of {name:?}, which goes from {src} to {dst}; name another connection"
            );
            return refuse("connection", problem);
        }
    }
    Ok(Pattern::Messages(Arc::new(Messages::new(listed))))
}
