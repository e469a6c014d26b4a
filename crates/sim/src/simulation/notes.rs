//! What a region tells the whole of its run when both meet: rows of flows, what came to an end, what shall begin.

use crate::ids::{FlowSlot, TrafficId};
use clearway_proto::Stats;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// More bytes than any run sends: those of a flow that goes on for as long as it may.
pub const ENDLESS: u64 = u64::MAX / 4;

/// Returns the size of a message of so many bytes; `None` if the flow goes on for as long as it may.
pub fn size_of_message(bytes: u64) -> Option<u64> {
    (bytes != ENDLESS).then_some(bytes)
}

/// Something that happened in a region and concerns the whole run.
#[derive(Serialize, Deserialize)]
pub struct Note {
    /// The time at which it happened.
    pub at: Time,
    /// What happened.
    pub news: News,
}

/// The news of a note.
#[derive(Serialize, Deserialize)]
pub enum News {
    /// An application wrote a message.
    Wrote {
        /// The flow.
        slot: FlowSlot,
        /// The size of the message in bytes.
        bytes: u64,
    },
    /// The first open message of a flow was delivered in full. The counts are those of both ends so far, of flows that
    /// carry several messages.
    Delivered {
        /// The flow.
        slot: FlowSlot,
        /// The counts.
        stats: Option<Box<Stats>>,
    },
    /// The sender of a flow knows that the first message of which it did not has arrived.
    Acknowledged {
        /// The flow.
        slot: FlowSlot,
    },
    /// Rounds need a new connection to a worker.
    Connect {
        /// The traffic entry.
        traffic: TrafficId,
        /// The worker.
        worker: usize,
    },
    /// A traffic entry has started all its flows.
    SourceDone,
    /// Flow control stopped a port while no other of the region was stopped.
    Stopped,
}

impl News {
    /// Returns the flow that the news is about, if it is about one.
    pub fn slot(&self) -> Option<FlowSlot> {
        match self {
            News::Wrote { slot, .. } | News::Delivered { slot, .. } | News::Acknowledged { slot } => {
                Some(*slot)
            }
            News::Connect { .. } | News::SourceDone | News::Stopped => None,
        }
    }
}

/// A round-trip time that an acknowledgement told.
#[derive(Serialize, Deserialize)]
pub struct Rtt {
    /// The time at which it arrived.
    pub at: Time,
    /// The flow.
    pub slot: FlowSlot,
    /// The round-trip time.
    pub rtt: Span,
}

/// The number of items for which a list keeps its room once they were taken.
const KEPT: usize = 4096;

/// Moves all items of a list behind those of another one. The list gives back the room of more items than it has
/// between most barriers: flows that all start between two of them tell of it at once, and never again.
pub fn take_all<T>(from: &mut Vec<T>, to: &mut Vec<T>) {
    to.append(from);
    from.shrink_to(KEPT);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn what_happened_to_a_flow_names_it_and_what_happened_to_no_flow_names_none() {
        let slot = FlowSlot::from_index(7);
        let of_the_flow = [
            News::Wrote { slot, bytes: 1 },
            News::Delivered { slot, stats: None },
            News::Acknowledged { slot },
        ];
        assert!(of_the_flow.iter().all(|news| news.slot() == Some(slot)));
        let of_none =
            [News::Connect { traffic: TrafficId::from_index(7), worker: 7 }, News::SourceDone, News::Stopped];
        assert!(of_none.iter().all(|news| news.slot().is_none()));
    }

    #[test]
    fn a_list_keeps_room_for_a_few_items_and_gives_back_that_of_many() {
        let (mut few, mut many) = (vec![1, 2], vec![3; 10 * KEPT]);
        let (room, mut taken) = (few.capacity(), vec![0]);
        take_all(&mut few, &mut taken);
        take_all(&mut many, &mut taken);
        assert_eq!((taken.len(), &taken[..4]), (3 + 10 * KEPT, &[0, 1, 2, 3][..]));
        assert!(few.is_empty() && few.capacity() == room);
        assert!(many.is_empty() && many.capacity() < 2 * KEPT, "{}", many.capacity());
    }
}
