//! The results of a run: tables of flows, ports and samples, and the totals.

mod hash;
mod ports;
mod record;
mod rows;
mod sampler;
mod table;
mod window;

pub use hash::Hashed;
pub use ports::port_table;
pub use record::{Record, flow_table, slowdown};
pub use rows::{Rows, Spool, Store};
pub use sampler::Sampler;
pub use table::{Column, Described, Table, Values};
pub use window::{FlowCounts, Measured, Window, WindowEnd};

use crate::net::FlowControlSummary;
use crate::trace::Trace;
use crate::traffic::TierShare;
use crate::warnings::Warning;
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Results {
    /// The table of flows, with a row for each flow or, on connections that stay open, each message.
    pub flows: Table,
    /// The table of output ports, with a row for each port.
    pub ports: Table,
    /// The table of samples, with a row for each sample of each series.
    pub samples: Table,
    /// The totals of the run.
    pub summary: Summary,
    /// The traces, in the order of the scenario.
    pub traces: Vec<Trace>,
}

/// The results of a run whose flows and samples may lie in files.
pub struct Spooled {
    /// The table of flows, as in [`Results`].
    pub flows: Rows,
    /// The table of output ports.
    pub ports: Table,
    /// The table of samples.
    pub samples: Rows,
    /// The totals of the run.
    pub summary: Summary,
    /// The traces, in the order of the scenario.
    pub traces: Vec<Trace>,
}

/// The totals of a run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The simulated time at the end.
    pub end: Time,
    /// The reason for which the run ended.
    pub ended: Ended,
    /// What went on at one instant without end, if that is the reason.
    pub livelock: Option<Livelock>,
    /// The number of packets, data and control, put on a link, summed over all links.
    pub link_transmissions: u64,
    /// The number of events handled.
    pub events: u64,
    /// The number of flows (messages) that started.
    pub flows_started: u64,
    /// The number of flows (messages) that were delivered in full.
    pub flows_completed: u64,
    /// The number of CNPs sent by receivers and switches.
    pub cnps: u64,
    /// The names of the traffic entries.
    pub traffic: Vec<String>,
    /// What the scenario has that a transport is not made for.
    pub warnings: Vec<Warning>,
    /// The window of measurement, and what flows did in it.
    pub measured: Measured,
    /// The share of each tier's links that the Poisson traffic asked for; empty without such traffic.
    pub asked: Vec<TierShare>,
    /// The effects of priority flow control, if the network has it.
    pub flow_control: Option<FlowControlSummary>,
    /// The counters of agents, by traffic entry and host.
    pub agents: Vec<AgentSummary>,
    /// The books of packets, as (name of a line, count), balanced.
    pub packets: Vec<(&'static str, u64)>,
    /// The books of payload bytes, balanced.
    pub bytes: Vec<(&'static str, u64)>,
    /// The books of credits, balanced; all zero without credits.
    pub credits: Vec<(&'static str, u64)>,
}

/// The counters of the agent of one host and traffic entry.
#[derive(Clone, Debug)]
pub struct AgentSummary {
    /// The name of the first traffic entry whose flows have the agent's transport, with the same settings.
    pub traffic: String,
    /// The name of the host.
    pub host: String,
    /// The counters.
    pub stats: clearway_proto::AgentStats,
}

/// The reason for which a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ended {
    /// All flows were delivered.
    Complete,
    /// The scenario's stop time was reached.
    Stopped,
    /// No event was left, but some flows were not delivered in full, since their transport does not recover lost data.
    Stalled,
    /// Priority flow control paused ports in a cycle, so that none of them will ever resume.
    Deadlocked,
    /// Events followed each other at one instant without end; the results cover the time until then.
    Livelocked,
    /// The run took more memory than it may; the results cover the part that was simulated.
    OutOfMemory,
    /// The caller ended the run; the results cover the part that was simulated.
    Interrupted,
}

/// Events that followed each other at one instant without end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Livelock {
    /// The instant.
    pub at: Time,
    /// The event that was next when the run was ended, in words.
    pub what: String,
}

impl Ended {
    /// Returns the name of the reason in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Ended::Complete => "complete",
            Ended::Stopped => "stopped",
            Ended::Stalled => "stalled",
            Ended::Deadlocked => "deadlocked",
            Ended::Livelocked => "livelocked",
            Ended::OutOfMemory => "out of memory",
            Ended::Interrupted => "interrupted",
        }
    }

    /// Returns whether the run was ended at a point that says nothing about the network. What the last instant leaves
    /// behind then depends on that point.
    pub fn is_cut_off(self) -> bool {
        matches!(self, Ended::Livelocked | Ended::OutOfMemory | Ended::Interrupted)
    }
}

impl Results {
    /// Returns a hash of all that the simulated network did. It depends on scenario, seed and version only, and not on
    /// what was observed, so it does not cover samples.
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        self.flows.hash_into(&mut hasher);
        finish_hash(hasher, &self.ports, &self.summary)
    }
}

impl Spooled {
    /// Returns the hash of [`Results::hash`].
    ///
    /// # Errors
    /// If a file can't be read.
    pub fn hash(&mut self) -> io::Result<String> {
        let mut hasher = blake3::Hasher::new();
        self.flows.hash_into(&mut hasher)?;
        Ok(finish_hash(hasher, &self.ports, &self.summary))
    }

    /// Returns the results with all rows in memory.
    ///
    /// # Errors
    /// If a file can't be read.
    pub fn into_memory(mut self) -> io::Result<Results> {
        let [flows, samples] = [self.flows.table()?, self.samples.table()?];
        let Spooled { ports, summary, traces, .. } = self;
        Ok(Results { flows: own(flows), ports, samples: own(samples), summary, traces })
    }
}

/// Returns a table without a copy if nobody else holds it.
fn own(table: Arc<Table>) -> Table {
    Arc::try_unwrap(table).unwrap_or_else(|shared| Table::clone(&shared))
}

/// Returns a hash after ports and books.
fn finish_hash(mut hasher: blake3::Hasher, ports: &Table, summary: &Summary) -> String {
    ports.hash_into(&mut hasher);
    hash::add_books(&mut hasher, [&summary.packets, &summary.bytes, &summary.credits]);
    hasher.finalize().to_hex()[..32].to_string()
}
