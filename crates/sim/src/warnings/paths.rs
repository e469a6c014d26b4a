//! Credits that don't return by the way of their data.

use crate::model::{Model, Traffic};
use clearway_topology::{Policy, between, farthest_pair};

/// Warns of credits that take other links than the data that they admit, whose queues they then don't bound
/// (ExpressPass '17, sec. 3.1).
pub fn credits(model: &Model, entry: &Traffic) -> Option<String> {
    entry.transport.needs().credits?;
    // Spraying loads all links alike, and is the paper's own alternative (sec. 8).
    if model.routing != Policy::Ecmp {
        return None;
    }
    let (from, to, _) = farthest_pair(&model.topology);
    let several = between(&model.topology, from, to).is_some_and(|between| between.paths > 1.0);
    several.then(|| {
        String::from(
            "bounds queues where data returns by the links that its credits took (ExpressPass '17, sec. 3.1), and with \
             network.routing = \"ecmp\" it takes others; write \"symmetric-ecmp\"",
        )
    })
}
