//! What a run measured.

mod ports;
mod record;
mod sampler;
mod table;

pub use ports::port_table;
pub use record::{Record, flow_table};
pub use sampler::Sampler;
pub use table::{Column, Table, Values};

use crate::net::FlowControlSummary;
use clearway_units::Time;

/// Everything that a run found out.
#[derive(Clone, Debug)]
pub struct Results {
    /// A row a flow or, on connections that stay open, a message.
    pub flows: Table,
    /// A row an output port.
    pub ports: Table,
    /// A row a sample of each series.
    pub samples: Table,
    /// Totals of the run.
    pub summary: Summary,
}

/// Totals of a run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Simulated time at the end.
    pub end: Time,
    /// Why the run ended.
    pub ended: Ended,
    /// Packets put on a link, data and control.
    pub link_transmissions: u64,
    /// Events handled.
    pub events: u64,
    /// Flows (messages) that started.
    pub flows_started: u64,
    /// Flows (messages) that were delivered in full.
    pub flows_completed: u64,
    /// Notifications of congestion (CNPs) sent, by receivers and by switches.
    pub notices: u64,
    /// What priority flow control did, where there is any.
    pub flow_control: Option<FlowControlSummary>,
    /// What shims held, by part of the traffic and host.
    pub shims: Vec<ShimSummary>,
    /// Packet books: (what, count), balanced.
    pub packets: Vec<(&'static str, u64)>,
    /// Payload byte books, balanced.
    pub bytes: Vec<(&'static str, u64)>,
    /// Credit books, balanced; all zero without credits.
    pub credits: Vec<(&'static str, u64)>,
}

/// What the shim of a host did for a part of the traffic.
#[derive(Clone, Debug)]
pub struct ShimSummary {
    /// Name of the part of the traffic.
    pub traffic: String,
    /// Name of the host.
    pub host: String,
    /// Counts.
    pub stats: clearway_proto::ShimStats,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// All flows were delivered and nothing was left to do.
    Complete,
    /// The scenario's stop time came.
    Stopped,
    /// Nothing was left to do, but some flows were not delivered in full: their transport does not recover.
    Stalled,
    /// Priority flow control has stopped ports in a circle, so that none of them will ever go on.
    Deadlocked,
    /// The caller asked for it: the results are of the part that was simulated.
    Interrupted,
}

impl Results {
    /// Hash of all that the simulated network did: the same for the same scenario, seed and version, whatever else
    /// was observed. So the samples, which depend on the probes, are not in it, and neither is the speed.
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        self.flows.hash_into(&mut hasher);
        self.ports.hash_into(&mut hasher);
        let books = [&self.summary.packets, &self.summary.bytes, &self.summary.credits];
        for (name, count) in books.into_iter().flatten() {
            hasher.update(name.as_bytes()).update(&count.to_le_bytes());
        }
        hasher.finalize().to_hex()[..32].to_string()
    }
}
