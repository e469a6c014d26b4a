//! What a run will take, as the answer to a request that starts none.

use crate::warnings::warnings_of;
use clearway_sim::scenario::Scenario;
use serde::Serialize;

/// The answer to a request for an estimate.
#[derive(Serialize)]
pub struct Needs {
    hosts: u64,
    switches: u64,
    links: u64,
    entries: usize,
    flows: u64,
    live_flows: u64,
    samples: u64,
    simulated_s: f64,
    bytes: u64,
    cpu_s: f64,
    warnings: Vec<String>,
}

impl Needs {
    /// Returns what the run of a scenario will take.
    pub fn new(scenario: &Scenario) -> Needs {
        let estimate = scenario.estimate();
        let whole = |number: f64| number.round() as u64;
        Needs {
            hosts: estimate.hosts,
            switches: estimate.switches,
            links: estimate.links,
            entries: estimate.traffic.len(),
            flows: whole(estimate.flows),
            live_flows: whole(estimate.live_flows),
            samples: whole(estimate.samples.iter().map(|series| series.rows).sum()),
            simulated_s: estimate.simulated_s,
            bytes: whole(estimate.memory_bytes()),
            cpu_s: estimate.cpu_s,
            warnings: warnings_of(scenario),
        }
    }
}
