//! The progress of a run, and its results.

use super::run::{Progress, SimError, Simulation};
use crate::ids::Id;
use crate::metrics::{Ended, Results, ShimSummary, Spooled, Summary, port_table};
use crate::trace::Trace;
use std::io;

impl Simulation {
    /// The progress of the run so far.
    pub fn progress(&self) -> Progress {
        Progress {
            now: self.net.now(),
            stop: self.model.stop,
            events: self.events,
            link_transmissions: self.net.launched,
            flows_started: self.journal.len() as u64,
            flows_completed: self.journal.completed,
            flows_expected: self.model.traffic.iter().map(|traffic| traffic.pattern.expected()).sum(),
        }
    }

    /// Closes the books and hands over what was measured.
    ///
    /// # Errors
    /// If the books do not balance.
    pub fn finish(self) -> Result<Results, SimError> {
        self.finish_spooled()?.into_memory().map_err(spool)
    }

    /// Closes the books and hands over what was measured, of which flows and samples may lie in files.
    ///
    /// # Errors
    /// If the books do not balance, or a file failed.
    pub fn finish_spooled(mut self) -> Result<Spooled, SimError> {
        let ended = self.ended.unwrap_or(Ended::Interrupted);
        let flows = self.flow_counts();
        let measured = self.window.finish(&mut self.net, flows);
        for flow in self.hosts.flows.iter_mut() {
            self.journal.settle(flow);
            // Of the messages under way the first has all that was delivered past its predecessor.
            let delivered = flow.delivered();
            if let Some(message) = flow.messages.front() {
                let record = self.journal.open(message.record);
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
            link_transmissions: self.net.link_transmissions(),
            events: self.events,
            flows_started: self.journal.len() as u64,
            flows_completed: self.journal.completed,
            cnps: self.net.books.cnps,
            traffic: self.model.traffic.iter().map(|entry| entry.name.clone()).collect(),
            measured,
            flow_control: self.net.flow_control(&self.model.topology),
            packets,
            bytes,
            credits,
        };
        let noted = self.net.tap.take().map(|recorder| recorder.finish()).unwrap_or_default();
        let asked = self.model.traces.iter();
        let traces = asked.zip(noted).map(|(trace, taken)| Trace::new(&self.model, trace, taken)).collect();
        let mut samples = self.sampler.finish(&self.model);
        let mut flows = self.journal.finish(&self.model);
        match flows.take_failure().or_else(|| samples.take_failure()) {
            Some(error) => Err(spool(error)),
            None => Ok(Spooled { flows, ports, samples, summary, traces }),
        }
    }
}

/// Turns an error of a file into one of the run.
fn spool(error: io::Error) -> SimError {
    SimError::Spool(error.to_string())
}
