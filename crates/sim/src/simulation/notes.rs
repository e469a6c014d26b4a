//! What a region tells the whole of its run when both meet: rows of flows, what came to an end, what shall begin.

use crate::ids::{FlowSlot, TrafficId};
use clearway_proto::Stats;
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// More bytes than any run sends: those of a flow that goes on for as long as it may.
pub const ENDLESS: u64 = u64::MAX / 4;

/// The size of a message of so many bytes; `None` if the flow goes on for as long as it may.
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
    /// The flow that the news is about, if it is about one.
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
