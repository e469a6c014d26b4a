//! The checks of parameters that shapes share.

use crate::builder::{HOSTS_MAX, SWITCHES_MAX};
use crate::error::TopologyError;

/// Returns an error if a count is outside `min..=max`. The bounds keep products of counts within 64 bits.
pub(super) fn within(
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

/// Returns an error unless a number of hosts is from 1 to [`HOSTS_MAX`].
pub(super) fn hosts_within(
    shape: &'static str,
    field: &'static str,
    value: u32,
) -> Result<(), TopologyError> {
    within(shape, field, value, 1, HOSTS_MAX)
}

/// Returns an error unless a number of switches is from 1 to [`SWITCHES_MAX`].
pub(super) fn switches_within(
    shape: &'static str,
    field: &'static str,
    value: u32,
) -> Result<(), TopologyError> {
    within(shape, field, value, 1, SWITCHES_MAX)
}
