//! The lanes of data, which are its priorities.

/// The number of lanes. Lane 0 goes first.
pub const LANES: u8 = 8;
/// The first lane of data that was granted; those before it are for unscheduled data.
pub const SCHEDULED: u8 = 2;

/// Returns the lane of the message of this rank, from 0 on, among so many: the last lanes, so that the first ones stay
/// free for a message that comes to overtake.
pub fn scheduled_lane(rank: usize, active: usize) -> u8 {
    let behind = (active - 1 - rank).min((LANES - 1 - SCHEDULED) as usize) as u8;
    LANES - 1 - behind
}
