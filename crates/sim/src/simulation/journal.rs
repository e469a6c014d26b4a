//! The rows of the table of flows while the run goes on, and the sums over all flows.
//!
//! Rows begin in the order of their starts. Where rows have a spool, the oldest leave memory in parts; those of them that
//! may still change, since their flows live, stay beside and are written to their places at the end.

use super::live_flows::LiveFlow;
use crate::ids::{Id, RecordId};
use crate::metrics::{FlowCounts, Record, Rows, Spool, flow_table};
use crate::model::Model;
use clearway_proto::Stats;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// The rows of flows and messages so far, and the sums over all flows.
#[derive(Default, Serialize, Deserialize)]
pub struct Journal {
    /// The rows that have not left memory, in the order of their ids.
    recent: VecDeque<Record>,
    /// The number of rows that have left memory, which is the index of the first that has not.
    gone: usize,
    /// The number of recent rows at which the oldest leave.
    leave_at: usize,
    /// The rows among those that left which may still change.
    late: BTreeMap<RecordId, Late>,
    rows: Rows,
    /// The number of flows or messages that were delivered in full.
    pub completed: u64,
    /// The counts of the flows that are settled, by traffic entry.
    pub settled: Vec<FlowCounts>,
}

/// A row that may still change when its part leaves memory.
#[derive(Serialize, Deserialize)]
struct Late {
    record: Record,
    /// The part of the row, and its index there.
    place: (usize, usize),
}

impl Journal {
    /// Returns an empty journal of so many traffic entries, whose oldest rows leave memory if there is a spool.
    pub fn new(traffic: usize, spool: Option<Box<dyn Spool>>) -> Journal {
        let rows = spool.map(Rows::spooled).unwrap_or_default();
        let settled = vec![FlowCounts::default(); traffic];
        Journal { leave_at: rows.part_rows().saturating_mul(2), rows, settled, ..Journal::default() }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.gone + self.recent.len()
    }

    /// Returns whether rows were lost, since the file failed.
    pub fn has_failed(&self) -> bool {
        self.rows.has_failed()
    }

    /// Waits until the disk has the rows that left memory.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn sync(&mut self) -> io::Result<()> {
        self.rows.sync()
    }

    /// Takes the spool out, for the journal of a checkpoint that takes the place of this one.
    pub fn take_spool(&mut self) -> Option<Box<dyn Spool>> {
        self.rows.take_spool()
    }

    /// Gives the journal of a checkpoint its spool.
    ///
    /// # Errors
    /// If rows left memory, and their file is not there.
    pub fn attach(&mut self, model: &Model, spool: Option<Box<dyn Spool>>) -> io::Result<()> {
        self.rows.attach(spool, || flow_table(model, Vec::new()))
    }

    /// Adds a row.
    pub fn push(&mut self, model: &Model, record: Record) -> RecordId {
        if self.recent.len() >= self.leave_at {
            self.hand_out(model);
        }
        self.recent.push_back(record);
        RecordId::from_index(self.len() - 1)
    }

    /// Returns a row, unless it left memory as one that can't change any more.
    pub fn get_mut(&mut self, id: RecordId) -> Option<&mut Record> {
        match id.index().checked_sub(self.gone) {
            Some(at) => self.recent.get_mut(at),
            None => self.late.get_mut(&id).map(|late| &mut late.record),
        }
    }

    /// Returns a row, to be read, unless it left memory as one that can't change any more.
    pub fn get(&self, id: RecordId) -> Option<&Record> {
        match id.index().checked_sub(self.gone) {
            Some(at) => self.recent.get(at),
            None => self.late.get(&id).map(|late| &late.record),
        }
    }

    /// Returns the row of a flow that lives.
    pub fn open(&mut self, id: RecordId) -> &mut Record {
        self.get_mut(id).expect("the row of a flow that lives may change")
    }

    /// Notes that a row is no longer that of its flow's current message: it changes until the message is acknowledged.
    pub fn release(&mut self, id: RecordId) {
        if let Some(record) = self.get_mut(id).filter(|record| record.acknowledged.get().is_some()) {
            record.flow = None;
        }
    }

    /// Returns the number of credits that the ends of settled flows used, and of those that they wasted.
    pub fn credits(&self) -> (u64, u64) {
        let each =
            self.settled.iter().map(|counts| (counts.stats.credits_used, counts.stats.rare().credits_wasted));
        each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Adds what both ends of a flow have done since its last message was complete to the row of the current one, and
    /// all that they did to the sums of their traffic entry. Called once for each flow: when it ends, or at the end of the run.
    pub fn settle(&mut self, live: &LiveFlow, delivered: u64, stats: &Stats) -> Option<&mut Record> {
        self.settled[live.name().traffic.index()].add(delivered, stats);
        // A connection that has carried no message yet has no row.
        let record = self.open(live.record?);
        record.add(&live.since_counted(stats));
        Some(record)
    }

    /// Returns a copy of a journal all of whose rows are in memory.
    pub fn copy(&self) -> Journal {
        let (recent, settled) = (self.recent.clone(), self.settled.clone());
        Journal { recent, settled, leave_at: self.leave_at, completed: self.completed, ..Journal::default() }
    }

    /// Returns the table of flows.
    pub fn finish(mut self, model: &Model) -> Rows {
        let recent: Vec<Record> = std::mem::take(&mut self.recent).into();
        // A part ends where the next row starts later, so its rows are before those of the next.
        if !recent.is_empty() || self.rows.parts() == 0 {
            self.rows.finish(flow_table(model, recent));
        }
        let mut late: Vec<Late> = self.late.into_values().collect();
        late.sort_by_key(|late| late.place);
        for part in late.chunk_by(|a, b| a.place.0 == b.place.0) {
            let indices: Vec<usize> = part.iter().map(|late| late.place.1).collect();
            let records: Vec<Record> = part.iter().map(|late| late.record.clone()).collect();
            self.rows.replace(part[0].place.0, &indices, &flow_table(model, records));
        }
        self.rows
    }

    /// Hands the oldest rows out of memory.
    fn hand_out(&mut self, model: &Model) {
        let (part, rows) = (self.rows.parts(), self.rows.part_rows());
        // Rows of one start stay together, since their order is by entry and number.
        let starts = |at: usize| self.recent[at].start != self.recent[at - 1].start;
        let Some(cut) = (rows..self.recent.len()).find(|&at| starts(at)) else {
            self.leave_at = self.recent.len() + rows;
            return;
        };
        self.leave_at = rows.saturating_mul(2);
        let mut leaving: Vec<(RecordId, Record)> =
            (self.gone..).map(RecordId::from_index).zip(self.recent.drain(..cut)).collect();
        self.gone += cut;
        leaving.sort_by_key(|(_, record)| record.order());
        for (at, (id, record)) in leaving.iter().enumerate().filter(|(_, (_, record))| record.flow.is_some())
        {
            self.late.insert(*id, Late { record: record.clone(), place: (part, at) });
        }
        self.rows.push(flow_table(model, leaving.into_iter().map(|(_, record)| record).collect()));
    }
}
