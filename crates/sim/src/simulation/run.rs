//! A run: regions go on from barrier to barrier, between which the whole run reads what they noted.

use super::global_events::{GlobalEvent, GlobalEvents};
use super::journal::Journal;
use super::live_flows::{LiveFlow, LiveFlows};
use super::notes::{News, Note, Rtt, take_all};
use super::region::{Region, TICK};
use super::router::Router;
use super::shares::Shares;
use super::source::Sources;
use super::standstill::Standstill;
use super::threads::Threads;
use super::times::{Clock, PartTimes};
use crate::hosts::{FlowSnapshot, Shown};
use crate::ids::{FlowSlot, Id, SeriesId};
use crate::metrics::{Ended, FlowCounts, Livelock, Sampler, Window};
use crate::model::Model;
use crate::net::{Networks, boundaries};
use clearway_proto::Stats;
use clearway_units::{Span, Time, sort_by_key};
use std::sync::Arc;
use thiserror::Error;

/// The reasons for which a run has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimError {
    /// Something was lost or made up: a mistake in the simulator or in a protocol, never in the scenario.
    #[error("the books of the run do not balance, so it has no result: {0}")]
    Books(String),
    /// Rows could not be written to their file, or read from it.
    #[error("the rows of flows and samples can't be kept in a file: {0}")]
    Spool(String),
    /// The model contradicts itself.
    #[error("{0}")]
    Model(String),
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The simulated time.
    pub now: Time,
    /// The time at which the scenario stops, if it says so.
    pub stop: Option<Time>,
    /// The number of events handled.
    pub events: u64,
    /// The number of packets put on links, those included whose turn at a port is known but has yet to come.
    pub link_transmissions: u64,
    /// The number of congestion notification packets sent.
    pub cnps: u64,
    /// The number of flows or messages started.
    pub flows_started: u64,
    /// The number of flows or messages delivered in full.
    pub flows_completed: u64,
    /// The number of flows or messages that there will be, if that is known.
    pub flows_expected: Option<u64>,
}

/// A run of a model. One owned value: a process may have many.
pub struct Simulation {
    pub(super) model: Arc<Model>,
    /// The networks of all parts.
    pub(super) nets: Networks,
    /// The hosts of all parts.
    pub(super) regions: Vec<Region>,
    pub(super) threads: Threads,
    /// The pending events of the whole network.
    pub(super) global_events: GlobalEvents,
    pub(super) live_flows: LiveFlows,
    /// Flows both of whose ends may be done.
    pub(super) ending: Vec<FlowSlot>,
    pub(super) router: Router,
    pub(super) sources: Sources,
    pub(super) journal: Journal,
    pub(super) shares: Shares,
    pub(super) sampler: Sampler,
    pub(super) window: Window,
    /// The present: all events before it are handled.
    pub(super) now: Time,
    /// The time of the last event of the whole network that was handled.
    pub(super) last: Time,
    /// The number of events of the whole network that were handled.
    pub(super) global_events_handled: u64,
    /// The time between two barriers at which flows end and rows are written. It is a property of the topology, never of
    /// its partition.
    pub(super) cell: Span,
    /// The time of the last event before only looks were left: without them the run would have ended there.
    pub(super) quiet_since: Option<Time>,
    /// Set while a watch of flow control is scheduled.
    pub(super) is_watched: bool,
    /// Set if flows may be prepared before they start.
    pub(super) starts_ahead: bool,
    /// Set if mechanisms of switches send notifications to senders.
    pub(super) switches_notify: bool,
    /// The barrier up to which regions are going on, if the last step ended before it.
    pub(super) barrier: Option<Time>,
    /// The watch over the clock of the events of the whole network.
    pub(super) standstill: Standstill,
    /// What went on at one instant without end, if that ended the run.
    pub(super) livelock: Option<Livelock>,
    /// The reason for which the run ended, once it has.
    pub(super) ended: Option<Ended>,
}

impl Simulation {
    /// The number of events between two looks at whether the caller wants to stop.
    pub const SLICE: u64 = 1 << 16;

    /// Runs until the traffic is done or the scenario's stop time comes. `report` is called about every 65,536
    /// events; if it returns false the run ends there, and what was simulated so far is the result.
    pub fn run(&mut self, report: &mut dyn FnMut(&Progress) -> bool) {
        while self.step(Simulation::SLICE) {
            if !report(&self.progress()) {
                self.interrupt();
            }
        }
        report(&self.progress());
    }

    /// Handles about so many events: on one thread at most as many. Returns whether the run goes on.
    pub fn step(&mut self, events: u64) -> bool {
        self.run_until(Time::MAX, events)
    }

    /// Handles all events up to and at `time`, but only about so many of them: on one thread at most as many. Returns
    /// whether the run goes on. The sizes of steps change nothing in what happens.
    pub fn run_until(&mut self, time: Time, events: u64) -> bool {
        let enough = self.events().saturating_add(events);
        while self.ended.is_none() && self.events() < enough {
            if !self.advance(time, enough - self.events()) {
                break;
            }
            if self.journal.has_failed() || self.sampler.has_failed() {
                self.interrupt();
            }
        }
        self.ended.is_none()
    }

    /// Hands parts over to their threads in all windows, also in those with so few events that one thread is faster: for
    /// tests of threads with small networks.
    #[doc(hidden)]
    pub fn always_hand_over(&mut self) {
        self.threads.always_hand_over();
    }

    /// Times all parts in all windows that follow by a clock, which costs a few readings a window: on their threads or, if
    /// `in_turn` is set, on one thread that goes through all parts one after the other. Results don't change.
    pub fn time_parts(&mut self, clock: Clock, in_turn: bool) {
        self.threads.time(clock, in_turn);
    }

    /// Returns the times of the parts so far, if [`Simulation::time_parts`] was called.
    pub fn part_times(&self) -> Option<&PartTimes> {
        self.threads.times()
    }

    /// Returns the model of the run.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the reason for which the run ended; `None` while it goes on.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Ends the run where it is, unless it has ended: what was simulated so far is the result.
    pub fn interrupt(&mut self) {
        self.ended.get_or_insert(Ended::Interrupted);
    }

    /// Notes that the caller ended the run because it took more memory than it may.
    pub fn exhaust(&mut self) {
        if matches!(self.ended, None | Some(Ended::Interrupted)) {
            self.ended = Some(Ended::OutOfMemory);
        }
    }

    /// Returns the number of events handled.
    pub(super) fn events(&self) -> u64 {
        self.global_events_handled + self.regions.iter().map(|region| region.events).sum::<u64>()
    }

    /// Lets all regions go on to the next barrier or to `limit`, on one thread by at most so many events; or handles
    /// the next event of the whole network. Returns false if no event up to `limit` is left.
    fn advance(&mut self, limit: Time, most: u64) -> bool {
        let until = match self.barrier {
            Some(until) => until,
            None => {
                let (of_regions, global) = (self.nets.next_at(), self.global_events.next_at());
                let Some(next) = of_regions.into_iter().chain(global).min() else {
                    self.now = self.quiet_since.unwrap_or(self.before());
                    self.ended = Some(if self.is_complete() { Ended::Complete } else { Ended::Stalled });
                    return false;
                };
                if next > limit.min(self.model.stop.unwrap_or(Time::MAX)) {
                    return self.rest(limit);
                }
                if of_regions.is_none_or(|at| at > next) {
                    self.handle_global_event();
                    return true;
                }
                let limits = [global, self.model.stop].into_iter().flatten().map(|at| at + TICK);
                limits.fold(self.end_of_cell(next), Time::min)
            }
        };
        // A step that ends early leaves the barrier where it is: what happens there, and when, must not depend on steps.
        self.barrier = Some(until);
        let reached = until.min(limit.saturating_add(TICK));
        self.nets.share_paths();
        let Some(reached) = self.threads.advance(&mut self.nets, &mut self.regions, reached, most) else {
            return !self.ends_livelocked();
        };
        if reached < until && !self.regions.iter().any(Region::has_urgent_notes) {
            return self.rest(limit);
        }
        self.barrier = None;
        self.now = reached - TICK;
        self.nets.set_now(self.now);
        self.meet();
        true
    }

    /// Lets time pass up to `limit`, since nothing happens until then, or up to the end of the run, if that comes first.
    /// Returns false: no event up to `limit` is left.
    fn rest(&mut self, limit: Time) -> bool {
        let stop = self.model.stop.filter(|&stop| stop <= limit);
        if stop.is_some() {
            self.ended = Some(Ended::Stopped);
        }
        let until = stop.unwrap_or(limit);
        let present = self.now.max(self.before());
        if stop.is_some() || until > present {
            self.now = until;
            self.nets.set_now(until);
        } else {
            // Parts whose last event came earlier show the present too.
            self.nets.set_now(present);
        }
        false
    }

    /// Returns the end of the cell of the grid of barriers in which a time lies.
    pub(super) fn end_of_cell(&self, at: Time) -> Time {
        let cell = self.cell.as_ps();
        Time::from_ps((at.as_ps() / cell).saturating_add(1).saturating_mul(cell))
    }

    /// Handles the next event of the whole network.
    fn handle_global_event(&mut self) {
        let before = self.before();
        let Some((at, event)) = self.global_events.pop() else { return };
        self.now = at;
        self.nets.set_now(at);
        match event {
            GlobalEvent::Traffic(traffic) => self.run_source(traffic),
            GlobalEvent::Stop(record) => self.stop_flow(record),
            GlobalEvent::Fault(fault) => self.fault(fault),
            GlobalEvent::Noticed(fault) => self.notice_fault(fault),
            GlobalEvent::Watch => self.watch(),
            GlobalEvent::Shares => self.tell_shares(),
            GlobalEvent::Sample(series) => self.sample(series, before),
            GlobalEvent::Window => self.turn_window(before),
        }
        self.last = at;
        self.global_events_handled += 1;
        self.standstill.look(self.global_events_handled, at);
        if self.ended.is_none() && !self.ends_livelocked() {
            self.meet();
        }
    }

    /// Returns the time of the last event.
    pub(super) fn before(&self) -> Time {
        self.regions.iter().map(|region| region.last).fold(self.last, Time::max)
    }

    /// Hands over what regions sent each other, reads what they noted, and ends flows that are over.
    pub(super) fn meet(&mut self) {
        while self.regions.iter().any(|region| !region.notes.is_empty() || !region.rtts.is_empty()) {
            self.read_notes();
        }
        self.count_unseen();
        for region in &mut self.regions {
            for slot in region.hosts.finished.drain(..) {
                if let Some(live) = self.live_flows.get_mut(slot).filter(|live| !live.is_ending) {
                    live.is_ending = true;
                    self.ending.push(slot);
                }
            }
        }
        if !self.ending.is_empty() {
            // The order in which places become free must not depend on the partition.
            sort_by_key(&mut self.ending, |slot| *slot);
            self.retire();
            if self.is_complete() {
                self.now = self.nets.totals().left_at().max(self.last);
                self.ended = Some(Ended::Complete);
            }
        }
        boundaries::exchange(&mut self.nets);
    }

    /// Reads the notes of all regions, in the order of their times.
    fn read_notes(&mut self) {
        let mut notes: Vec<Note> = Vec::new();
        let mut rtts: Vec<Rtt> = Vec::new();
        for region in &mut self.regions {
            take_all(&mut region.notes, &mut notes);
            take_all(&mut region.rtts, &mut rtts);
        }
        // Notes of one instant and one flow keep their order; no other order may depend on the partition.
        sort_by_key(&mut notes, |note| (note.at, note.news.slot()));
        for Note { at, news } in notes {
            match news {
                News::Wrote { slot, bytes } => {
                    self.add_row(slot, bytes, at);
                }
                News::Delivered { slot, stats } => self.complete(slot, at, stats),
                News::Acknowledged { slot } => self.acknowledge(slot, at),
                News::Connect { traffic, worker } => self.reconnect(traffic, worker),
                News::SourceDone => self.sources.close(),
                News::Stopped => self.start_watch(at),
            }
        }
        // A flow has its place until the notes of its ends were read.
        let name = |slot| self.live_flows.get(slot).map(|live| live.name());
        sort_by_key(&mut rtts, |sample| (sample.at, name(sample.slot)));
        for Rtt { at, slot, rtt } in rtts {
            if let Some(name) = name(slot) {
                self.sampler.watch(&self.model, at, name, rtt);
            }
        }
    }

    /// Counts the packets of flows that entered or left the network without any of their ends.
    fn count_unseen(&mut self) {
        for net in self.nets.parts_mut() {
            net.unseen.drain(|slot, packets| {
                if let Some(live) = self.live_flows.get_mut(slot) {
                    live.unseen += packets;
                }
            });
        }
    }

    /// Returns whether nothing will happen any more that a result could show.
    fn is_complete(&self) -> bool {
        self.live_flows.count() == 0 && self.sources.all_done()
    }

    fn sample(&mut self, series: SeriesId, before: Time) {
        let traffic = self.model.samples[series.index()].what.traffic();
        let mut flows = Vec::new();
        if let Some(traffic) = traffic {
            for slot in self.live_flows.slots() {
                let shown =
                    self.live_flows.get(slot).is_some_and(|live| live.name().traffic.index() == traffic);
                flows.extend(shown.then(|| self.flow_snapshot(slot)).flatten());
            }
        }
        self.sampler.sample(series, &self.model, &self.nets, &flows);
        if self.goes_on(before) {
            self.schedule_sample(series);
        }
    }

    /// The window of measurement opens or closes.
    fn turn_window(&mut self, before: Time) {
        if self.goes_on(before) {
            let flows = self.flow_counts();
            self.window.turn(&mut self.nets, flows);
        }
    }

    /// Notes that a global event came that only reads the state, after an event at `before`. Returns whether anything
    /// else is to come: if not, the run is over, and was so before the first such event that found it so.
    fn goes_on(&mut self, before: Time) -> bool {
        let goes_on = !self.global_events.only_looks() || self.nets.next_at().is_some();
        if !goes_on && self.quiet_since.is_none() {
            self.quiet_since = Some(before);
        }
        goes_on
    }

    /// Returns a snapshot of a live flow.
    pub(super) fn flow_snapshot(&mut self, slot: FlowSlot) -> Option<FlowSnapshot> {
        let [from, to] = self.parts_of(self.live_flows.get(slot)?);
        let sender = Shown::of_sender(slot, &mut self.regions[from].hosts.senders)?;
        FlowSnapshot::new(slot, sender, &mut self.regions[to].hosts.receivers)
    }

    /// Returns the counts of both ends of a flow that is alive.
    pub(super) fn stats(&self, slot: FlowSlot) -> Option<Stats> {
        let [from, to] = self.parts_of(self.live_flows.get(slot)?);
        let sending = self.regions[from].hosts.senders.get(slot)?;
        Some(sending.end.stats.plus(&self.regions[to].hosts.receivers.get(slot)?.end.stats))
    }

    /// Returns the parts of the network that have the sending and the receiving end of a flow.
    fn parts_of(&self, live: &LiveFlow) -> [usize; 2] {
        [live.src, live.dst].map(|host| self.nets.part_of(host.node()))
    }

    /// Returns the counts of the flows of each traffic entry so far. It must not be called once all flows are settled.
    pub(super) fn flow_counts(&mut self) -> Vec<FlowCounts> {
        let mut counts = self.journal.settled.clone();
        for slot in self.live_flows.slots() {
            let Some((flow, stats)) = self.flow_snapshot(slot).zip(self.stats(slot)) else { continue };
            counts[flow.name.traffic.index()].add(flow.delivered, &stats);
        }
        counts
    }
}
