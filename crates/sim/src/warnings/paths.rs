//! Credits that don't return by the way of their data, and entropies that choose no path.

use crate::model::{Model, Traffic};
use clearway_topology::{Policy, between, farthest_pair};

/// Warns of credits that take other links than the data that they admit, whose queues they then don't bound
/// (ExpressPass '17, sec. 3.1).
pub fn credits(model: &Model, entry: &Traffic) -> Option<String> {
    entry.transport.needs().credits?;
    // Spraying loads all links alike, and is the paper's own alternative (sec. 8). Packets without an entropy of their own, as
    // credits and their data are, are not sprayed by entropy.
    if !matches!(model.routing, Policy::Ecmp | Policy::Entropy) {
        return None;
    }
    has_several(model).then(|| {
        format!(
            "bounds queues where data returns by the links that its credits took (ExpressPass '17, sec. 3.1), and with \
             network.routing = \"{}\" it takes others; write \"symmetric-ecmp\"",
            word(model.routing)
        )
    })
}

/// Warns of a transport that gives each packet an entropy of its own, where all packets of a flow take one path.
pub fn entropies(model: &Model, entry: &Traffic) -> Option<String> {
    if !entry.transport.needs().entropy || model.routing.is_spread() || !has_several(model) {
        return None;
    }
    let with_credits = model.traffic.iter().find(|other| other.transport.needs().credits.is_some());
    let advice = match with_credits {
        None => "write \"entropy\", or leave the key out".into(),
        Some(other) => format!("credits of {} need that, so run the two apart", other.transport.info().name),
    };
    Some(format!(
        "gives each packet an entropy value that chooses its path, and with network.routing = \"{}\" all packets of a flow \
         take one path whatever their values are; {advice}",
        word(model.routing)
    ))
}

/// Returns whether there are several shortest paths between the two hosts that are farthest from each other.
fn has_several(model: &Model) -> bool {
    let (from, to, _) = farthest_pair(&model.topology);
    between(&model.topology, from, to).is_some_and(|between| between.paths > 1.0)
}

/// Returns the word of a scenario file for a policy.
fn word(policy: Policy) -> &'static str {
    match policy {
        Policy::SymmetricEcmp => "symmetric-ecmp",
        Policy::Ecmp => "ecmp",
        Policy::Ns2Xpass => "ns2-xpass",
        Policy::Spray => "spray",
        Policy::Entropy => "entropy",
        Policy::Source => "source",
        Policy::Adaptive => "adaptive",
    }
}
