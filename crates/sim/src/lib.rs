//! A deterministic packet-level simulator of datacenter networks.
//!
//! [`scenario`] reads a file into a [`model::Model`]; [`Simulation`] runs it; [`Results`] are tables. A simulation is
//! one owned value without global state: a process may run many.
#![deny(unsafe_code)]

#[doc(hidden)]
pub mod bare;
mod classes;
mod engine;
mod estimate;
mod fast_paths;
mod hosts;
mod ids;
mod metrics;
pub mod model;
mod net;
mod oracle;
mod orders;
mod partition;
pub mod ports;
pub mod scenario;
mod simulation;
mod timer;
pub mod trace;
pub mod traffic;
mod warnings;

pub use estimate::{EntryEstimate, Estimate, SeriesEstimate};
pub use metrics::{
    AgentSummary, Column, Described, Ended, FlowCounts, Hashed, Livelock, Measured, Results, Rows, Spool,
    Spooled, Store, Summary, Table, Values, WindowEnd,
};
pub use net::{ByReason, DropReason};
pub use partition::{Partition, PartitionSummary};
pub use simulation::{
    BooksView, CheckpointError, ClassView, Clock, Finished, FinishedFlow, FlowState, FlowView, Flows,
    FrameKind, InFlight, Marks, PacketView, Packets, PartTimes, PortView, Progress, QueuedPacket, SeenPorts,
    SimError, Simulation, View,
};
pub use warnings::{Warning, warnings};
