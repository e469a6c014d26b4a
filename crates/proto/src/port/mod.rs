//! The parts of all output ports that are independent of a simulator: credit limits, ECN marking and flow control.
//! Queues belong to the driver. The work of a single transport at ports is a [mechanism](crate::PortMechanism) in its
//! own folder.

mod credit_limiter;
mod ecn;
pub mod pfc;

pub use credit_limiter::{CreditDrop, CreditLimiter, CreditRoom, CreditShaping};
pub use ecn::{MarkAt, RedConfig, RedMarker, StepMarker, frames_by_rate, largest_in_buffer};
