//! The progress of a run, and its results.

use super::live_flows::LiveFlows;
use super::notes::News;
use super::run::{before, events_handled, meet};
use super::snapshots::{flow_counts, flow_snapshot, flow_stats};
use super::state::{Progress, SimError, Simulation};
use crate::hosts::FlowSnapshot;
use crate::ids::Id;
use crate::metrics::{AgentSummary, Ended, Results, Spooled, Summary, port_table};
use crate::net::boundaries;
use crate::trace::{TRACES_ARE_TAKEN, Trace};
use crate::traffic::asked;
use crate::warnings::warnings;
use clearway_proto::Stats;
use std::io;
use std::mem::take;

impl Simulation {
    /// Returns the progress of the run so far.
    pub fn progress(&self) -> Progress {
        let pending = || self.regions.iter().flat_map(|region| &region.notes);
        let wrote = pending().filter(|note| matches!(note.news, News::Wrote { .. })).count();
        let delivered = pending().filter(|note| matches!(note.news, News::Delivered { .. })).count();
        Progress {
            now: if self.ended.is_none() { self.now.max(before(self)) } else { self.now },
            stop: self.model.stop,
            events: events_handled(self),
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
        close(&mut self, false)
    }

    /// Closes the books of a run without files and hands over what was measured, as [`Simulation::finish`]. A run that
    /// goes on ends here. Views show its end as before; samples and traces are handed over once.
    ///
    /// # Errors
    /// If the books do not balance.
    pub fn results(&mut self) -> Result<Results, SimError> {
        let rows = self.journal.copy();
        self.interrupt();
        let results = close(self, true);
        self.journal = rows;
        results?.into_memory().map_err(spool)
    }
}

/// Closes the books. The flows that are alive stay if somebody looks at them afterwards.
fn close(sim: &mut Simulation, is_shown: bool) -> Result<Spooled, SimError> {
    let ended = sim.ended.unwrap_or(Ended::Interrupted);
    if ended.is_cut_off() {
        sim.now = sim.now.max(before(sim));
        sim.nets.set_now(sim.now);
        meet(sim);
    }
    sim.nets.set_now(sim.now);
    boundaries::settle(&mut sim.nets);
    let flows = flow_counts(sim);
    for slot in sim.live_flows.slots() {
        if let Some((flow, stats)) = flow_snapshot(sim, slot).zip(flow_stats(sim, slot)) {
            settle_open(sim, &flow, &stats);
        }
    }
    let events = events_handled(sim);
    let mut measured = sim.window.finish(&mut sim.nets, flows, is_shown);
    let (books, [packets, bytes, mut credits]) = sim.nets.totals().close_books().map_err(SimError::Books)?;
    let (used, wasted) = sim.journal.credits();
    let arrived = books.delivered.credits;
    if arrived != used + wasted {
        return Err(SimError::Books(format!(
            "{arrived} credits arrived, but {used} were used and {wasted} wasted"
        )));
    }
    credits.extend([("used", used), ("wasted", wasted)]);
    let mut agents: Vec<_> = sim.regions.iter().flat_map(|region| region.hosts.agents.stats()).collect();
    agents.sort_by_key(|&(traffic, host, _)| (traffic, host));
    let agents = agents.into_iter().map(|(traffic, host, stats)| AgentSummary {
        traffic: sim.model.traffic[traffic.index()].name.clone(),
        host: sim.model.topology.name(host.node()).to_string(),
        stats,
    });
    let agents = agents.collect();
    if !is_shown {
        // Tables take about as much memory as the flows that they are made from.
        sim.regions.clear();
        sim.live_flows = LiveFlows::default();
    }
    let ports = port_table(&sim.model, &sim.nets, take(&mut measured.ports));
    let summary = Summary {
        agents,
        end: sim.now,
        ended,
        livelock: sim.livelock.take(),
        link_transmissions: sim.nets.totals().link_transmissions(),
        events,
        flows_started: sim.journal.len() as u64,
        flows_completed: sim.journal.completed,
        cnps: books.cnps,
        traffic: sim.model.traffic.iter().map(|entry| entry.name.clone()).collect(),
        warnings: warnings(&sim.model),
        measured,
        asked: asked(&sim.model),
        flow_control: sim.nets.controls().summary(&sim.model.topology),
        packets,
        bytes,
        credits,
    };
    let traces = match sim.nets.part_mut(0).tap.take() {
        Some(recorder) if TRACES_ARE_TAKEN => {
            let noted = sim.model.traces.iter().zip(recorder.finish());
            noted.map(|(trace, taken)| Trace::new(&sim.model, trace, taken)).collect()
        }
        _ => Vec::new(),
    };
    let mut samples = sim.sampler.finish(&sim.model);
    let mut flows = take(&mut sim.journal).finish(&sim.model);
    match flows.take_failure().or_else(|| samples.take_failure()) {
        Some(error) => Err(spool(error)),
        None => Ok(Spooled { flows, ports, samples, summary, traces }),
    }
}

/// Adds what a flow that is alive has done so far to its row, and to that of the message under way.
fn settle_open(sim: &mut Simulation, flow: &FlowSnapshot, stats: &Stats) {
    let Some(live) = sim.live_flows.get_mut(flow.slot) else { return };
    sim.journal.settle(live, flow.delivered, stats);
    // Of the messages under way the first has all that was delivered past its predecessor.
    if let Some(row) = live.first_open() {
        let record = sim.journal.open(row);
        let end = flow.message_end.unwrap_or(0);
        let begin = end.saturating_sub(record.size.get().unwrap_or(end));
        record.delivered = flow.delivered.saturating_sub(begin);
    }
}

/// Turns an error of a file into one of the run.
fn spool(error: io::Error) -> SimError {
    SimError::Spool(error.to_string())
}
