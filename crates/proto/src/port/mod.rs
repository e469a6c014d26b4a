//! The parts of all output ports that are independent of a simulator: credit limits, ECN marking, trimming and flow control.
//! Queues belong to the driver. The work of a single transport at ports is a [mechanism](crate::PortMechanism) in its
//! own folder.

mod credit_limiter;
mod ecn;
pub mod pfc;
mod trim;

pub use credit_limiter::{CreditDrop, CreditLimiter, CreditRoom, CreditShaping};
pub use ecn::{MarkAt, RedConfig, RedMarker, StepMarker, frames_by_rate, largest_in_buffer};
pub use trim::{TrimConfig, TrimVictim, Trimmer};
