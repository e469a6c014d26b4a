//! What the output ports of all switches and hosts have: limits of credits, marks, flow control. Queues belong to whoever
//! drives these. What a single transport has ports do is a [mechanism](crate::PortMechanism) in its own folder.

mod credit_limiter;
mod ecn;
pub mod pfc;

pub use credit_limiter::{CreditLimiter, CreditRoom, CreditShaping};
pub use ecn::{MarkAt, RedConfig, RedMarker, StepMarker, frames_by_rate};
