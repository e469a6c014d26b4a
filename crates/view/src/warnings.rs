//! Remarks on a scenario whose results could mislead: a signal that can't occur, a transport outside of what it was made for.

use clearway_sim::scenario::Scenario;

/// The warnings about a scenario, a sentence each; none if there is nothing to remark.
pub fn warnings_of(_scenario: &Scenario) -> Vec<String> {
    Vec::new()
}
