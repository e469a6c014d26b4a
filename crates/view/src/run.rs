//! One run: its progress, what it shows between two steps, and its result.

use crate::answers::{Finished, Flow, Outcome, Port, Progress, Resolved};
use crate::frame::{Camera, Parts, QUEUED};
use crate::layout::Layout;
use crate::refusal::Refusal;
use clearway_sim::scenario::Scenario;
use clearway_sim::{FinishedFlow, Simulation};
use clearway_topology::PortId;
use clearway_units::Time;

/// The number of events that a run handles before it pauses, unless the request says otherwise.
const EVENTS: u64 = 1 << 20;
/// The most rows of finished flows in an answer.
const ROWS: usize = 1 << 14;

/// A run that is looked at.
pub struct Run {
    scenario: Scenario,
    memory_bytes: u64,
    simulation: Simulation,
    camera: Camera,
    /// The reader of the flows that finish.
    reader: clearway_sim::Finished,
    /// The flows that finished, in the order in which looks found them.
    finished: Vec<FinishedFlow>,
    outcome: Option<Outcome>,
}

impl Run {
    /// Starts the run of a scenario.
    ///
    /// # Errors
    /// The model contradicts itself.
    pub fn new(scenario: Scenario) -> Result<Run, Refusal> {
        let simulation = Simulation::new(&scenario.model)?;
        let memory_bytes = scenario.estimate().memory_bytes().round() as u64;
        Ok(Run {
            scenario,
            memory_bytes,
            simulation,
            camera: Camera::default(),
            reader: clearway_sim::Finished::default(),
            finished: Vec::new(),
            outcome: None,
        })
    }

    /// Returns the memory in bytes that the run is expected to take.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Returns the network and the traffic.
    pub fn layout(&self) -> Layout {
        Layout::new(&self.scenario)
    }

    /// Returns the scenario with all defaults filled in.
    pub fn resolved(&self) -> Resolved {
        Resolved { text: self.scenario.to_toml() }
    }

    /// Goes on until all events up to and at `until` are handled, the run has ended, or about so many events are handled.
    pub fn advance(&mut self, until: Option<u64>, events: Option<u64>) -> Progress {
        let until = until.map_or(Time::MAX, Time::from_ps);
        self.simulation.run_until(until, events.unwrap_or(EVENTS));
        Progress::new(&self.simulation)
    }

    /// Takes a frame.
    pub fn frame(&mut self, number: u32, parts: Parts) -> Vec<u8> {
        self.camera.take(number, &mut self.simulation, parts).to_vec()
    }

    /// Returns a port with what waits there.
    ///
    /// # Errors
    /// There is no such port.
    pub fn port(&self, port: u32) -> Result<Port, Refusal> {
        let ports = self.scenario.model.topology.ports().len();
        if port as usize >= ports {
            return Err(Refusal(format!("there is no port {port}; the last one is {}", ports - 1)));
        }
        Ok(Port::new(&self.simulation, PortId(port), QUEUED))
    }

    /// Returns a flow by its row, alive or over.
    ///
    /// # Errors
    /// No such flow has started.
    pub fn flow(&mut self, flow: u32) -> Result<Flow, Refusal> {
        let view = self.simulation.flows().get(flow);
        let view = view.ok_or_else(|| Refusal(format!("no flow {flow} has started")))?;
        Ok(Flow::new(&self.scenario.model, view, &self.simulation.flows().path(flow)))
    }

    /// Returns the flows that finished, from a row on.
    pub fn finished(&mut self, from: u32) -> Finished {
        self.finished.extend(self.simulation.view().finished(&mut self.reader));
        let from = (from as usize).min(self.finished.len());
        let rows = &self.finished[from..];
        let rows = &rows[..rows.len().min(ROWS)];
        Finished::new(&self.scenario.model, rows, from + rows.len())
    }

    /// Closes the books of the run, which must have ended.
    ///
    /// # Errors
    /// The run goes on, or its books do not balance.
    pub fn outcome(&mut self) -> Result<&Outcome, Refusal> {
        if self.simulation.ended().is_none() {
            return Err(Refusal("the run goes on; it has a result once it has ended".into()));
        }
        if self.outcome.is_none() {
            self.outcome = Some(Outcome::new(&self.simulation.results()?, self.scenario.model.seed));
        }
        self.outcome.as_ref().ok_or_else(|| Refusal("the run has no result".into()))
    }
}
