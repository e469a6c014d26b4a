//! How far a run has come, and what it comes to.

use super::{Progress, SimError, Simulation};
use crate::metrics::{Ended, Results, Summary, flow_table, port_table};

impl Simulation {
    /// How far the run has come.
    pub fn progress(&self) -> Progress {
        Progress {
            now: self.net.now,
            stop: self.model.stop,
            events: self.events,
            link_transmissions: self.net.link_transmissions,
            flows_started: self.records.len() as u64,
            flows_completed: self.completed,
            flows_expected: self.model.traffic.iter().map(|traffic| traffic.pattern.expected()).sum(),
        }
    }

    /// Closes the books and hands over what was measured.
    ///
    /// # Errors
    /// If the books do not balance.
    pub fn finish(mut self) -> Result<Results, SimError> {
        let ended = self.ended.unwrap_or(Ended::Interrupted);
        for (_, flow) in self.flows.iter_mut() {
            let stats = flow.sending.stats.plus(&flow.receiving.stats);
            let delivered = flow.delivered();
            self.credits_used += stats.credits_used;
            self.credits_wasted += stats.credits_wasted;
            // A connection that has carried no message yet has no row.
            let Some(record) = self.records.get_mut(flow.record as usize) else { continue };
            record.stats = record.stats.plus(&stats.minus(&flow.counted));
            // Of the messages under way the first has all that was delivered past its predecessor.
            if let Some(message) = flow.messages.front() {
                let record = &mut self.records[message.record as usize];
                let begin = message.end.saturating_sub(record.size.unwrap_or(message.end));
                record.delivered = delivered.saturating_sub(begin);
            }
        }
        let [packets, bytes, mut credits] = self.net.books.close(&self.net.slab).map_err(SimError::Books)?;
        let arrived = self.net.books.delivered.credits;
        if arrived != self.credits_used + self.credits_wasted {
            return Err(SimError::Books(format!(
                "{arrived} credits arrived, but {} were used and {} wasted",
                self.credits_used, self.credits_wasted
            )));
        }
        credits.extend([("used", self.credits_used), ("wasted", self.credits_wasted)]);
        let shims = self.shims.summary(&self.model);
        let summary = Summary {
            shims,
            end: self.net.now,
            ended,
            link_transmissions: self.net.link_transmissions,
            events: self.events,
            flows_started: self.records.len() as u64,
            flows_completed: self.completed,
            notices: self.net.notices,
            flow_control: self.net.flow_control(&self.model.topology),
            packets,
            bytes,
            credits,
        };
        let ports = port_table(&self.model, &self.net);
        let samples = self.sampler.table(&self.model);
        Ok(Results { flows: flow_table(&self.model, self.records), ports, samples, summary })
    }
}
