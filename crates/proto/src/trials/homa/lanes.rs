//! The lanes of data, which are its priorities.

use crate::packet::{Header, Packet};

/// The number of lanes. Lane 0 goes first.
pub const LANES: u32 = 8;
/// The first lane of data that was granted; those before it are for unscheduled data.
pub const SCHEDULED: u32 = 2;

/// Returns the lane of a packet of data. It stands in the session of the header, which means nothing else here.
pub fn lane(packet: &Packet) -> Option<u32> {
    match packet.header {
        Header::CreditData { session, .. } => Some(session),
        _ => None,
    }
}

/// Returns the lane of the message of this rank, from 0 on, among so many: the last lanes, so that the first ones stay
/// free for a message that comes to overtake.
pub fn scheduled_lane(rank: usize, active: usize) -> u32 {
    let behind = (active - 1 - rank).min((LANES - 1 - SCHEDULED) as usize) as u32;
    LANES - 1 - behind
}
