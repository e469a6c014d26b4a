//! The lanes of data.

/// The number of lanes. Lane 0 goes first.
pub const LANES: u8 = 8;
/// The first lane of data that was granted; those before it are for unscheduled data.
pub const SCHEDULED: u8 = 2;
