//! The state of a run: all that it has come to.

use super::global_events::GlobalEvents;
use super::journal::Journal;
use super::live_flows::LiveFlows;
use super::region::Regions;
use super::router::Router;
use super::shares::Shares;
use super::source::Sources;
use super::standstill::Standstill;
use super::threads::Threads;
use crate::ids::FlowSlot;
use crate::metrics::{Ended, Livelock, Sampler, Window};
use crate::model::Model;
use crate::net::Networks;
use clearway_units::{Span, Time};
use std::sync::Arc;
use thiserror::Error;

/// The reasons for which a run has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimError {
    /// Something was lost or made up: a mistake in the simulator or in a protocol, never in the scenario.
    #[error("the books of the run do not balance, so it has no result: {0}")]
    Books(String),
    /// Rows could not be written to their file, or read from it.
    #[error("the rows of flows and samples can't be kept in a file: {0}")]
    Spool(String),
    /// The model contradicts itself.
    #[error("{0}")]
    Model(String),
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The simulated time.
    pub now: Time,
    /// The time at which the scenario stops, if it says so.
    pub stop: Option<Time>,
    /// The number of events handled.
    pub events: u64,
    /// The number of packets put on links, those included whose turn at a port is known but has yet to come.
    pub link_transmissions: u64,
    /// The number of congestion notification packets sent.
    pub cnps: u64,
    /// The number of flows or messages started.
    pub flows_started: u64,
    /// The number of flows or messages delivered in full.
    pub flows_completed: u64,
    /// The number of flows or messages that there will be, if that is known.
    pub flows_expected: Option<u64>,
}

/// A run of a model. One owned value: a process may have many.
pub struct Simulation {
    pub(super) model: Arc<Model>,
    /// The networks of all parts.
    pub(super) nets: Networks,
    /// The hosts of all parts.
    pub(super) regions: Regions,
    pub(super) threads: Threads,
    /// The pending events of the whole network.
    pub(super) global_events: GlobalEvents,
    pub(super) live_flows: LiveFlows,
    /// Flows both of whose ends may be done.
    pub(super) ending: Vec<FlowSlot>,
    pub(super) router: Router,
    pub(super) sources: Sources,
    pub(super) journal: Journal,
    pub(super) shares: Shares,
    pub(super) sampler: Sampler,
    pub(super) window: Window,
    /// The present: all events before it are handled.
    pub(super) now: Time,
    /// The time of the last event of the whole network that was handled.
    pub(super) last: Time,
    /// The number of events of the whole network that were handled.
    pub(super) global_events_handled: u64,
    /// The time between two barriers at which flows end and rows are written. It is a property of the topology, never of
    /// its partition.
    pub(super) cell: Span,
    /// The time of the last event before only looks were left: without them the run would have ended there.
    pub(super) quiet_since: Option<Time>,
    /// Set while a watch of flow control is scheduled.
    pub(super) is_watched: bool,
    /// Set if flows may be prepared before they start.
    pub(super) starts_ahead: bool,
    /// Set if mechanisms of switches send notifications to senders.
    pub(super) switches_notify: bool,
    /// The base round-trip time between the two hosts that are farthest apart.
    pub(super) network_rtt: Span,
    /// The oversubscription of the way from hosts to the core.
    pub(super) oversubscription: f64,
    /// The barrier up to which regions are going on, if the last step ended before it.
    pub(super) barrier: Option<Time>,
    /// The watch over the clock of the events of the whole network.
    pub(super) standstill: Standstill,
    /// What went on at one instant without end, if that ended the run.
    pub(super) livelock: Option<Livelock>,
    /// The reason for which the run ended, once it has.
    pub(super) ended: Option<Ended>,
}
