//! The notes of regions since the last barrier, which the run has yet to read: messages that began and that ended. A
//! view must show these messages all the same, and must not make the run read the notes early.

use super::super::live_flows::LiveFlow;
use super::super::notes::News;
use super::super::state::Simulation;
use crate::ids::{FlowSlot, Id, RecordId};
use clearway_units::Time;

/// The messages that began and ended since the last barrier, by the notes of the regions.
pub struct PendingNotes {
    /// The messages that were written, by flow; those of a flow in their order.
    written: Vec<(FlowSlot, Message)>,
    /// The times at which messages were delivered, by flow; those of a flow in their order.
    delivered: Vec<(FlowSlot, Time)>,
}

/// A message with its row.
#[derive(Clone, Copy)]
pub struct Message {
    /// The number of its row.
    pub row: u32,
    /// The size and start of the message, if the run has yet to read its note: the message then has no row yet.
    pub pending: Option<(u64, Time)>,
}

impl PendingNotes {
    /// Collects the notes that a run has yet to read.
    pub fn new(sim: &Simulation) -> PendingNotes {
        let (mut wrote, mut delivered) = (Vec::new(), Vec::new());
        for note in sim.regions.iter().flat_map(|region| &region.notes) {
            match note.news {
                News::Wrote { slot, bytes } => wrote.push((note.at, slot, bytes)),
                News::Delivered { slot, .. } => delivered.push((slot, note.at)),
                _ => {}
            }
        }
        // Rows are made in this order when the run reads the notes.
        wrote.sort_by_key(|&(at, slot, _)| (at, slot));
        let first = sim.journal.len();
        let row = |(index, (at, slot, bytes)): (usize, (Time, FlowSlot, u64))| {
            (slot, Message { row: (first + index) as u32, pending: Some((bytes, at)) })
        };
        let mut written: Vec<_> = wrote.into_iter().enumerate().map(row).collect();
        written.sort_by_key(|&(slot, _)| slot);
        delivered.sort_by_key(|&(slot, _)| slot);
        PendingNotes { written, delivered }
    }

    /// Returns the messages of a flow that the run holds for open, in their order.
    fn messages<'a>(&'a self, slot: FlowSlot, live: &'a LiveFlow) -> impl Iterator<Item = Message> + 'a {
        let recorded = live.open().map(|row| Message { row: row.index() as u32, pending: None });
        recorded.chain(of(&self.written, slot).iter().map(|(_, message)| *message))
    }

    /// Returns the message that a flow carries now or, while it carries none, the last one; `None` before the first.
    #[inline]
    pub fn current(&self, slot: FlowSlot, live: &LiveFlow) -> Option<Message> {
        let recorded = |row: RecordId| Message { row: row.index() as u32, pending: None };
        match self.under_way(slot, live) {
            Some(row) => Some(recorded(row)),
            None if self.has_none_of(slot) => live.record.map(recorded),
            None => self.current_pending(slot, live).or(live.record.map(recorded)),
        }
    }

    /// Returns the row of the first open message of a flow of which no message ended since the last barrier: the usual
    /// case.
    #[inline]
    fn under_way(&self, slot: FlowSlot, live: &LiveFlow) -> Option<RecordId> {
        live.first_open().filter(|_| of(&self.delivered, slot).is_empty())
    }

    /// Returns whether no message of a flow began or ended since the last barrier.
    #[inline]
    fn has_none_of(&self, slot: FlowSlot) -> bool {
        of(&self.written, slot).is_empty() && of(&self.delivered, slot).is_empty()
    }

    #[inline(never)]
    fn current_pending(&self, slot: FlowSlot, live: &LiveFlow) -> Option<Message> {
        let open = self.messages(slot, live).nth(of(&self.delivered, slot).len());
        open.or_else(|| self.messages(slot, live).last())
    }

    /// Returns whether a flow carries a message that is not delivered in full.
    #[inline]
    pub fn is_open(&self, slot: FlowSlot, live: &LiveFlow) -> bool {
        self.under_way(slot, live).is_some() || (!self.has_none_of(slot) && self.is_open_pending(slot, live))
    }

    #[inline(never)]
    fn is_open_pending(&self, slot: FlowSlot, live: &LiveFlow) -> bool {
        self.messages(slot, live).nth(of(&self.delivered, slot).len()).is_some()
    }

    /// Returns the time at which a message of a flow ended, if the run has yet to read the note of that.
    pub fn end_of(&self, slot: FlowSlot, live: &LiveFlow, row: u32) -> Option<Time> {
        let mut ended = of(&self.delivered, slot).iter().zip(self.messages(slot, live));
        ended.find(|(_, message)| message.row == row).map(|(&(_, at), _)| at)
    }

    /// Returns the rows that ended, each with its time, of messages that the run holds for open.
    pub fn ends(&self, sim: &Simulation) -> Vec<(RecordId, Time)> {
        let mut ends = Vec::new();
        for of_flow in self.delivered.chunk_by(|a, b| a.0 == b.0) {
            let slot = of_flow[0].0;
            let Some(live) = sim.live_flows.get(slot) else { continue };
            ends.extend(live.open().zip(of_flow).map(|(row, &(_, at))| (row, at)));
        }
        ends
    }
}

/// Returns the entries of a flow in a list that is sorted by flow. Most lists are empty.
#[inline]
fn of<T>(list: &[(FlowSlot, T)], slot: FlowSlot) -> &[(FlowSlot, T)] {
    if list.is_empty() {
        return &[];
    }
    let start = list.partition_point(|(other, _)| *other < slot);
    let len = list[start..].partition_point(|(other, _)| *other == slot);
    &list[start..start + len]
}
