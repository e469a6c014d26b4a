//! The rows of the table of flows while the run goes on, and the sums over all flows.

use crate::hosts::Flow;
use crate::ids::{IdVec, RecordId};
use crate::metrics::Record;

/// The rows of flows and messages so far, and the sums over all flows.
#[derive(Default)]
pub struct Journal {
    /// The rows.
    pub records: IdVec<RecordId, Record>,
    /// The number of flows or messages that were delivered in full.
    pub completed: u64,
    /// The number of credits that ends used.
    pub credits_used: u64,
    /// The number of credits that ends wasted.
    pub credits_wasted: u64,
}

impl Journal {
    /// Adds what both ends of a flow have done since its last message was complete to the row of the current one, and
    /// their credits to the sums. Called once for each flow: when it ends, or at the end of the run.
    pub fn settle(&mut self, flow: &Flow) -> Option<&mut Record> {
        let stats = flow.stats();
        self.credits_used += stats.credits_used;
        self.credits_wasted += stats.credits_wasted;
        // A connection that has carried no message yet has no row.
        let record = &mut self.records[flow.record?];
        record.stats = record.stats.plus(&stats.minus(&flow.counted));
        Some(record)
    }
}
