//! The flows that finished since the last look.

use super::pending_notes::PendingNotes;
use super::view::View;
use crate::ids::{Id, RecordId};
use crate::metrics::slowdown;
use clearway_topology::NodeId;
use clearway_units::{Span, Time};

/// A reader of the rows of flows that finish. A viewer keeps it from look to look.
#[derive(Clone, Default, Debug)]
pub struct Finished {
    /// The rows that had started at the last look and had not finished.
    open: Vec<u32>,
    /// The number of rows that had started at the last look.
    seen: u32,
}

/// A flow or message that was delivered in full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FinishedFlow {
    /// The number of its row: rows are counted in the order in which flows and messages start.
    pub row: u32,
    /// The index of its traffic entry.
    pub traffic: usize,
    /// Its number in the traffic entry.
    pub number: u64,
    /// The host that sent.
    pub source: NodeId,
    /// The host that received.
    pub destination: NodeId,
    /// Its size in bytes.
    pub size: u64,
    /// The time at which the application handed the bytes over.
    pub start: Time,
    /// The time at which the last byte was delivered.
    pub end: Time,
    /// The shortest time that the bytes would take alone; zero if there are none.
    pub ideal: Span,
}

impl FinishedFlow {
    /// Returns the flow completion time.
    pub fn fct(&self) -> Span {
        self.end - self.start
    }

    /// Returns the flow completion time over the ideal one.
    pub fn slowdown(&self) -> f64 {
        slowdown(self.fct(), self.ideal)
    }
}

impl View<'_> {
    /// Returns the flows and messages that were delivered in full since the last look of a reader, in the order in which
    /// they ended. Rows that left memory for a file are passed over.
    pub fn finished(self, reader: &mut Finished) -> Vec<FinishedFlow> {
        let rows = self.sim.journal.len() as u32;
        reader.open.extend(reader.seen..rows);
        reader.seen = rows;
        let mut pending = PendingNotes::new(self.sim).ends(self.sim);
        pending.sort_by_key(|&(row, _)| row);
        let mut finished = Vec::new();
        reader.open.retain(|&row| {
            let id = RecordId::from_index(row as usize);
            let Some(record) = self.sim.journal.get(id) else { return false };
            let ended = pending.binary_search_by_key(&id, |&(row, _)| row).ok().map(|at| pending[at].1);
            let Some(end) = record.end.get().or(ended) else { return true };
            finished.push(FinishedFlow {
                row,
                traffic: record.traffic.index(),
                number: record.number,
                source: record.src,
                destination: record.dst,
                size: record.bytes(),
                start: record.start,
                end,
                ideal: record.ideal,
            });
            false
        });
        finished.sort_by_key(|flow| (flow.end, flow.row));
        finished
    }
}
