//! Traffic (stub until the scenario branch lands).
mod cdf;
pub use cdf::Cdf;
