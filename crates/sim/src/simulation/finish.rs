//! The progress of a run, and its results.

use super::live_flows::LiveFlows;
use super::notes::News;
use super::run::{Progress, SimError, Simulation};
use crate::hosts::FlowSnapshot;
use crate::ids::Id;
use crate::metrics::{Ended, Results, ShimSummary, Spooled, Summary, port_table};
use crate::net::boundaries;
use crate::trace::{TRACES_ARE_TAKEN, Trace};
use crate::traffic::asked;
use crate::warnings::warnings;
use clearway_proto::Stats;
use clearway_units::sort_by_key;
use std::io;
use std::mem::take;

impl Simulation {
    /// Returns the progress of the run so far.
    pub fn progress(&self) -> Progress {
        let pending = || self.regions.iter().flat_map(|region| &region.notes);
        let wrote = pending().filter(|note| matches!(note.news, News::Wrote { .. })).count();
        let delivered = pending().filter(|note| matches!(note.news, News::Delivered { .. })).count();
        Progress {
            now: if self.ended.is_none() { self.now.max(self.before()) } else { self.now },
            stop: self.model.stop,
            events: self.events(),
            link_transmissions: self.nets.totals().launched(),
            cnps: self.nets.totals().cnps(),
            flows_started: (self.journal.len() + wrote) as u64,
            flows_completed: self.journal.completed + delivered as u64,
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
        self.close(false)
    }

    /// Closes the books of a run without files and hands over what was measured, as [`Simulation::finish`]. A run that
    /// goes on ends here. Views show its end as before; samples and traces are handed over once.
    ///
    /// # Errors
    /// If the books do not balance.
    pub fn results(&mut self) -> Result<Results, SimError> {
        let rows = self.journal.copy();
        self.interrupt();
        let results = self.close(true);
        self.journal = rows;
        results?.into_memory().map_err(spool)
    }

    /// Closes the books. The flows that are alive stay if somebody looks at them afterwards.
    fn close(&mut self, is_shown: bool) -> Result<Spooled, SimError> {
        let ended = self.ended.unwrap_or(Ended::Interrupted);
        if ended.is_cut_off() {
            self.now = self.now.max(self.before());
            self.nets.set_now(self.now);
            self.meet();
        }
        self.nets.set_now(self.now);
        boundaries::settle(&mut self.nets);
        let flows = self.flow_counts();
        for slot in self.live_flows.slots() {
            if let Some((flow, stats)) = self.flow_snapshot(slot).zip(self.stats(slot)) {
                self.settle_open(&flow, &stats);
            }
        }
        let events = self.events();
        let mut measured = self.window.finish(&mut self.nets, flows, is_shown);
        let (books, [packets, bytes, mut credits]) =
            self.nets.totals().close_books().map_err(SimError::Books)?;
        let (used, wasted) = self.journal.credits();
        let arrived = books.delivered.credits;
        if arrived != used + wasted {
            return Err(SimError::Books(format!(
                "{arrived} credits arrived, but {used} were used and {wasted} wasted"
            )));
        }
        credits.extend([("used", used), ("wasted", wasted)]);
        let mut shims: Vec<_> = self.regions.iter().flat_map(|region| region.hosts.shims.stats()).collect();
        sort_by_key(&mut shims, |&(traffic, host, _)| (traffic, host));
        let shims = shims.into_iter().map(|(traffic, host, stats)| ShimSummary {
            traffic: self.model.traffic[traffic.index()].name.clone(),
            host: self.model.topology.name(host.node()).to_string(),
            stats,
        });
        let shims = shims.collect();
        if !is_shown {
            // Tables take about as much memory as the flows that they are made from.
            self.regions.clear();
            self.live_flows = LiveFlows::default();
        }
        let ports = port_table(&self.model, &self.nets, take(&mut measured.ports));
        let summary = Summary {
            shims,
            end: self.now,
            ended,
            livelock: self.livelock.take(),
            link_transmissions: self.nets.totals().link_transmissions(),
            events,
            flows_started: self.journal.len() as u64,
            flows_completed: self.journal.completed,
            cnps: books.cnps,
            traffic: self.model.traffic.iter().map(|entry| entry.name.clone()).collect(),
            warnings: warnings(&self.model),
            measured,
            asked: asked(&self.model),
            flow_control: self.nets.controls().summary(&self.model.topology),
            packets,
            bytes,
            credits,
        };
        let traces = match self.nets.part_mut(0).tap.take() {
            Some(recorder) if TRACES_ARE_TAKEN => {
                let noted = self.model.traces.iter().zip(recorder.finish());
                noted.map(|(trace, taken)| Trace::new(&self.model, trace, taken)).collect()
            }
            _ => Vec::new(),
        };
        let mut samples = self.sampler.finish(&self.model);
        let mut flows = take(&mut self.journal).finish(&self.model);
        match flows.take_failure().or_else(|| samples.take_failure()) {
            Some(error) => Err(spool(error)),
            None => Ok(Spooled { flows, ports, samples, summary, traces }),
        }
    }

    /// Adds what a flow that is alive has done so far to its row, and to that of the message under way.
    fn settle_open(&mut self, flow: &FlowSnapshot, stats: &Stats) {
        let Some(live) = self.live_flows.get_mut(flow.slot) else { return };
        self.journal.settle(live, flow.delivered, stats);
        // Of the messages under way the first has all that was delivered past its predecessor.
        if let Some(row) = live.first_open() {
            let record = self.journal.open(row);
            let end = flow.message_end.unwrap_or(0);
            let begin = end.saturating_sub(record.size.get().unwrap_or(end));
            record.delivered = flow.delivered.saturating_sub(begin);
        }
    }
}

/// Turns an error of a file into one of the run.
fn spool(error: io::Error) -> SimError {
    SimError::Spool(error.to_string())
}
