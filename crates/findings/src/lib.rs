//! What runs show, in sentences that are computed from their results: who is ahead and by how much, where data waited,
//! what was lost, and what limits.
//!
//! A caller takes the [`Facts`] of each run and asks [`runs`] or [`sweep`] for sentences. The terminal, reports, Python
//! and the live page all show these. A sentence says no more than the results carry: a transport is ahead only if the
//! interval of the ratio says so, a percentile is stated of enough flows only, and completion times are not compared where
//! flows are missing from them.
//!
//! | module | purpose |
//! |---|---|
//! | `facts` | the numbers on a run of which sentences are made |
//! | `finding` | a sentence, and what it is about |
//! | `parts` | ten parts of a run's flows, in the order of their starts |
//! | `ratio` | the ratio of two means with its interval |
//! | `read` | facts from JSON |
//! | `side` | the runs of one transport as one |
//! | `one` | sentences on one run |
//! | `many` | sentences on several transports |
//! | `ahead` | the sentences on who is ahead |
//! | `sweep` | sentences on the points of a sweep |
//! | `text` | numbers and lists as people write them |
#![deny(unsafe_code)]

mod ahead;
mod facts;
mod finding;
mod many;
mod one;
mod parts;
mod ratio;
mod read;
mod side;
mod sweep;
mod text;

pub use facts::{Busiest, Drops, Endless, Facts, Flows, Group, Observed, Queue, most_at_once};
pub use finding::{Finding, Kind};
pub use parts::{PARTS, Part};
pub use ratio::{Basis, Ratio};
pub use sweep::Point;

use serde::Serialize;

/// Returns the findings on runs of one scenario: on one run alone, or on transports beside each other. Runs of the same
/// name are the seeds of one transport.
pub fn runs(facts: &[Facts]) -> Vec<Finding> {
    let sides = side::sides(facts);
    match sides.as_slice() {
        [] => Vec::new(),
        [one] => one::findings(one),
        many => many::findings(many),
    }
}

/// Returns the findings on the points of a sweep.
pub fn sweep(points: &[Point]) -> Vec<Finding> {
    sweep::findings(points)
}

/// Returns a text in JSON as a value.
///
/// # Errors
/// The text is no JSON; the message says where.
pub fn value(text: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Facts, or parts of them, in JSON.
///
/// # Errors
/// None that facts can cause: they have no keys but texts.
pub fn json(facts: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(facts).map_err(|error| error.to_string())
}

/// Returns the findings on runs whose facts are a list in JSON.
///
/// # Errors
/// The value is no list of facts; the message names the key.
pub fn runs_json(facts: &serde_json::Value) -> Result<Vec<Finding>, String> {
    read::facts(facts).map(|facts| runs(&facts))
}

/// Returns the findings on a sweep whose points are a list in JSON.
///
/// # Errors
/// The value is no list of points; the message names the key.
pub fn sweep_json(points: &serde_json::Value) -> Result<Vec<Finding>, String> {
    read::points(points).map(|points| sweep(&points))
}
