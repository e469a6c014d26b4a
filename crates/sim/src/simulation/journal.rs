//! The rows of the table of flows while the run goes on, and the sums over all flows.

use crate::hosts::Flow;
use crate::ids::{Id, IdVec, RecordId};
use crate::metrics::{FlowCounts, Record};

/// The rows of flows and messages so far, and the sums over all flows.
#[derive(Default)]
pub struct Journal {
    /// The rows.
    pub records: IdVec<RecordId, Record>,
    /// The number of flows or messages that were delivered in full.
    pub completed: u64,
    /// The counts of the flows that are settled, by traffic entry.
    pub settled: Vec<FlowCounts>,
}

impl Journal {
    /// An empty journal of so many traffic entries.
    pub fn new(traffic: usize) -> Journal {
        Journal { settled: vec![FlowCounts::default(); traffic], ..Journal::default() }
    }

    /// The number of credits that the ends of settled flows used, and of those that they wasted.
    pub fn credits(&self) -> (u64, u64) {
        let each = self.settled.iter().map(|counts| (counts.stats.credits_used, counts.stats.credits_wasted));
        each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Adds what both ends of a flow have done since its last message was complete to the row of the current one, and
    /// all that they did to the sums of their traffic entry. Called once for each flow: when it ends, or at the end of the run.
    pub fn settle(&mut self, flow: &mut Flow) -> Option<&mut Record> {
        let (delivered, stats) = (flow.delivered(), flow.stats());
        self.settled[flow.traffic.index()].add(delivered, &stats);
        // A connection that has carried no message yet has no row.
        let record = &mut self.records[flow.record?];
        record.stats = record.stats.plus(&stats.minus(&flow.counted));
        Some(record)
    }
}
