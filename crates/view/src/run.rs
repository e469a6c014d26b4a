//! One run: its progress and its result.

use crate::layout::Layout;
use crate::refusal::Refusal;
use clearway_sim::scenario::Scenario;
use clearway_sim::{Ended, Simulation, Summary};
use clearway_units::Time;
use serde::Serialize;
use std::collections::BTreeMap;

/// A run that is looked at.
pub struct Run {
    scenario: Scenario,
    memory_bytes: u64,
    simulation: Option<Simulation>,
    progress: Progress,
    outcome: Option<Outcome>,
}

/// The answer to a request that lets a run go on.
#[derive(Serialize, Clone, Default)]
pub struct Progress {
    now_ps: u64,
    ended: Option<&'static str>,
    events: u64,
    link_transmissions: u64,
    flows_started: u64,
    flows_completed: u64,
}

/// The hash and the totals of a run.
#[derive(Serialize, Clone)]
pub struct Outcome {
    hash: String,
    summary: Totals,
}

#[derive(Serialize, Clone)]
struct Totals {
    ended: &'static str,
    end_ps: u64,
    events: u64,
    link_transmissions: u64,
    flows_started: u64,
    flows_completed: u64,
    cnps: u64,
    packets: BTreeMap<&'static str, u64>,
    bytes: BTreeMap<&'static str, u64>,
    credits: BTreeMap<&'static str, u64>,
    flow_control: Option<FlowControl>,
}

#[derive(Serialize, Clone)]
struct FlowControl {
    pauses: u64,
    storms: Vec<String>,
    deadlock: Vec<String>,
    circle: Vec<String>,
}

/// The number of events that a run handles before it pauses, unless the request says otherwise.
const EVENTS: u64 = 1 << 20;

impl Run {
    /// Starts the run of a scenario.
    pub fn new(scenario: Scenario) -> Result<Run, Refusal> {
        let simulation = Simulation::new(&scenario.model)?;
        let memory_bytes = scenario.estimate().memory_bytes().round() as u64;
        Ok(Run {
            scenario,
            memory_bytes,
            simulation: Some(simulation),
            progress: Progress::default(),
            outcome: None,
        })
    }

    /// The memory in bytes that the run is expected to take.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The network and the traffic.
    pub fn layout(&self) -> Layout {
        Layout::new(&self.scenario, Vec::new())
    }

    /// The scenario with all defaults filled in.
    pub fn resolved(&self) -> String {
        self.scenario.to_toml()
    }

    /// Goes on until all events up to `until` are handled, the run has ended, or so many events are handled.
    pub fn advance(&mut self, until: Option<u64>, events: Option<u64>) -> Progress {
        let Some(simulation) = self.simulation.as_mut() else { return self.progress.clone() };
        let until = until.map_or(Time::MAX, Time::from_ps);
        let most = simulation.progress().events + events.unwrap_or(EVENTS);
        let mut goes_on = true;
        while goes_on && simulation.progress().now < until && simulation.progress().events < most {
            goes_on = simulation.step(256);
        }
        let progress = simulation.progress();
        let is_complete = Some(progress.flows_completed) == progress.flows_expected;
        self.progress = Progress {
            now_ps: progress.now.as_ps(),
            ended: (!goes_on).then_some(if is_complete { "complete" } else { "stopped" }),
            events: progress.events,
            link_transmissions: progress.link_transmissions,
            flows_started: progress.flows_started,
            flows_completed: progress.flows_completed,
        };
        self.progress.clone()
    }

    /// Closes the books of the run, which must have ended.
    pub fn outcome(&mut self) -> Result<Outcome, Refusal> {
        if let Some(outcome) = &self.outcome {
            return Ok(outcome.clone());
        }
        if self.progress.ended.is_none() {
            return Err(Refusal("the run goes on; its result is there once it has ended".into()));
        }
        let Some(simulation) = self.simulation.take() else {
            return Err(Refusal("the run has no result".into()));
        };
        let results = simulation.finish()?;
        let outcome = Outcome { hash: results.hash(), summary: Totals::new(&results.summary) };
        Ok(self.outcome.insert(outcome).clone())
    }
}

impl Totals {
    fn new(summary: &Summary) -> Totals {
        let book = |lines: &[(&'static str, u64)]| lines.iter().copied().collect();
        let control = summary.flow_control.as_ref();
        Totals {
            ended: ended(summary.ended),
            end_ps: summary.end.as_ps(),
            events: summary.events,
            link_transmissions: summary.link_transmissions,
            flows_started: summary.flows_started,
            flows_completed: summary.flows_completed,
            cnps: summary.cnps,
            packets: book(&summary.packets),
            bytes: book(&summary.bytes),
            credits: book(&summary.credits),
            flow_control: control.map(|control| FlowControl {
                pauses: control.pauses,
                storms: control.storms.clone(),
                deadlock: control.deadlock.clone(),
                circle: control.circle.clone(),
            }),
        }
    }
}

/// The word for the reason of an end.
fn ended(reason: Ended) -> &'static str {
    match reason {
        Ended::Complete => "complete",
        Ended::Stopped => "stopped",
        Ended::Stalled => "stalled",
        Ended::Deadlocked => "deadlocked",
        Ended::Interrupted => "interrupted",
    }
}
