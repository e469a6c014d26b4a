//! The progress of a run, and its results.

use super::run::{Progress, SimError, Simulation};
use crate::ids::Id;
use crate::metrics::{Ended, Results, ShimSummary, Summary, flow_table, port_table};

impl Simulation {
    /// The progress of the run so far.
    pub fn progress(&self) -> Progress {
        Progress {
            now: self.net.now(),
            stop: self.model.stop,
            events: self.events,
            link_transmissions: self.net.link_transmissions,
            flows_started: self.journal.records.len() as u64,
            flows_completed: self.journal.completed,
            flows_expected: self.model.traffic.iter().map(|traffic| traffic.pattern.expected()).sum(),
        }
    }

    /// Closes the books and hands over what was measured.
    ///
    /// # Errors
    /// If the books do not balance.
    pub fn finish(mut self) -> Result<Results, SimError> {
        let ended = self.ended.unwrap_or(Ended::Interrupted);
        let flows = self.flow_counts();
        let measured = self.window.finish(&mut self.net, flows);
        for flow in self.hosts.flows.iter_mut() {
            self.journal.settle(flow);
            // Of the messages under way the first has all that was delivered past its predecessor.
            let delivered = flow.delivered();
            if let Some(message) = flow.messages.front() {
                let record = &mut self.journal.records[message.record];
                let begin = message.end.saturating_sub(record.size.unwrap_or(message.end));
                record.delivered = delivered.saturating_sub(begin);
            }
        }
        let frames = self.net.frames_in_flight();
        let books = self.net.books.close(&self.net.slab, frames);
        let [packets, bytes, mut credits] = books.map_err(SimError::Books)?;
        let (used, wasted) = self.journal.credits();
        let arrived = self.net.books.delivered.credits;
        if arrived != used + wasted {
            return Err(SimError::Books(format!(
                "{arrived} credits arrived, but {used} were used and {wasted} wasted"
            )));
        }
        credits.extend([("used", used), ("wasted", wasted)]);
        let shims = self.hosts.shims.stats().map(|(traffic, host, stats)| ShimSummary {
            traffic: self.model.traffic[traffic.index()].name.clone(),
            host: self.model.topology.name(host.node()).to_string(),
            stats,
        });
        let ports = port_table(&self.model, &self.net, &measured);
        let summary = Summary {
            shims: shims.collect(),
            end: self.net.now(),
            ended,
            link_transmissions: self.net.link_transmissions,
            events: self.events,
            flows_started: self.journal.records.len() as u64,
            flows_completed: self.journal.completed,
            cnps: self.net.books.cnps,
            traffic: self.model.traffic.iter().map(|entry| entry.name.clone()).collect(),
            measured,
            flow_control: self.net.flow_control(&self.model.topology),
            packets,
            bytes,
            credits,
        };
        let samples = self.sampler.table(&self.model);
        Ok(Results {
            flows: flow_table(&self.model, self.journal.records.into_iter().collect()),
            ports,
            samples,
            summary,
        })
    }
}
