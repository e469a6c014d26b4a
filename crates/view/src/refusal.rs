//! The refusal of a request, in one line.

use clearway_sim::SimError;
use clearway_sim::scenario::ScenarioError;

/// The reason why a request is not met, in one line.
#[derive(Debug)]
pub struct Refusal(pub String);

impl From<ScenarioError> for Refusal {
    fn from(error: ScenarioError) -> Refusal {
        Refusal(error.to_string())
    }
}

impl From<SimError> for Refusal {
    fn from(error: SimError) -> Refusal {
        Refusal(error.to_string())
    }
}
