//! The parts that transports with numbered packets have in common, those whose packets may each take a path of their own and
//! whose receivers pull (NDP, EQDS).
//!
//! | part | place | purpose |
//! |---|---|---|
//! | [`Outgoing`] | sender | what the application writes, as packets, and the paths that these take |
//! | [`Flight`] | sender | the packets that are not known to have arrived, and which of them are lost |
//! | [`Arrivals`] | receiver | the packets that have arrived, and how far that is without a gap |
//! | [`NumberedReceiver`] | receiver | the receiving end: it acknowledges, and asks for what was cut |
//! | [`FlowTable`] | agent of a host | what the agent knows of each flow |
//!
//! Packets have numbers of their own, from 0 on, beside the offsets of their bytes: a number belongs to the same bytes for good,
//! whether these were sent before or after the application wrote more.

mod arrivals;
mod flight;
mod outgoing;
mod receiver;
mod table;
#[cfg(test)]
mod tests;

use crate::tag::Tag;

pub use arrivals::{Arrivals, Arrived};
pub use flight::{Flight, Segment};
pub use outgoing::Outgoing;
pub use receiver::NumberedReceiver;
pub use table::FlowTable;

/// The most packets in flight at a time, from the oldest that is not known to have arrived. A receiver drops what is farther
/// ahead than twice that, so that no number that is made up costs memory.
const SPAN: usize = 1 << 15;

/// The number of values among which the entropies of pulls go round.
const PULL_VALUES: u32 = 128;

/// Returns the tag of the pull with this number among those of its flow: pulls take paths in turn.
pub fn pull_tag(number: u32) -> Tag {
    Tag { lane: 0, entropy: Some((number % PULL_VALUES) as u16) }
}
