//! What lives at a switch's or a host's output port, without the port: queues belong to whoever drives these.

mod credit_limiter;
mod ecn;

pub use credit_limiter::{CreditLimiter, CreditShaping};
pub use ecn::{MarkAt, StepMarker};
