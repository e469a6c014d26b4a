//! The families of networks that the papers use, each a plain struct of parameters.
//!
//! Every shape numbers its hosts so that an experiment can name them without looking at links, and documents
//! that numbering. Rates and delays default to those of the ExpressPass authors' ns-2 scripts, 10 Gbps and
//! 4 us, unless the shape belongs to another paper.

mod clos;
mod fat_tree;
mod flat;
mod line;

pub use clos::{Clos3, LeafSpine};
pub use fat_tree::{FatTree, OversubscribedFatTree, Pacc320};
pub use flat::{Dumbbell, Star};
pub use line::{MultiBottleneck, ParkingLot};

use crate::TopologyError;
use crate::builder::{HOSTS_MAX, SWITCHES_MAX};

/// Refuses a count outside `min..=max`. Small factors also keep products of them within 64 bits.
fn within(
    shape: &'static str,
    field: &'static str,
    value: u32,
    min: u64,
    max: u64,
) -> Result<(), TopologyError> {
    if (min..=max).contains(&u64::from(value)) {
        return Ok(());
    }
    let right = format!("a number from {min} to {max}");
    Err(TopologyError::Parameter { shape, field, value: value.into(), right })
}

/// Hosts `low..low + count` of a shape whose host count is within limits.
fn hosts_within(shape: &'static str, field: &'static str, value: u32) -> Result<(), TopologyError> {
    within(shape, field, value, 1, HOSTS_MAX)
}

/// As [`hosts_within`], for switches.
fn switches_within(shape: &'static str, field: &'static str, value: u32) -> Result<(), TopologyError> {
    within(shape, field, value, 1, SWITCHES_MAX)
}
