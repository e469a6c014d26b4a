//! A run: regions go on from barrier to barrier, between which the whole run reads what they noted.

use super::global_events::GlobalEvent;
use super::life::{acknowledge, add_row, complete, retire, stop_flow};
use super::livelock::ends_livelocked;
use super::network::{apply_fault, notice_fault, start_watch, tell_shares, watch};
use super::notes::{News, Note, Rtt, take_all};
use super::prepare::schedule_sample;
use super::snapshots::{flow_counts, flow_snapshot};
use super::state::{Progress, Simulation};
use super::times::{Clock, PartTimes};
use super::traffic::{heed_end, reconnect, run_source, start_waiting_message};
use crate::engine::TICK;
use crate::ids::{Id, SeriesId};
use crate::metrics::Ended;
use crate::model::Model;
use crate::net::{boundaries, divide};
use crate::traffic::Done;
use clearway_units::Time;

/// The end of a run without a stop, some 106 days: times beyond it plus what is added to them might leave the range of [`Time`].
pub const LAST: Time = Time::from_ps(u64::MAX / 2);

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

    /// Handles about so many events: at most as many on one thread, unless that goes through blocks of a large network. Returns
    /// whether the run goes on.
    pub fn step(&mut self, events: u64) -> bool {
        self.run_until(Time::MAX, events)
    }

    /// Handles all events up to and at `time`, but only about so many of them, as [`Simulation::step`] does. Returns whether
    /// the run goes on. The sizes of steps change nothing in what happens.
    pub fn run_until(&mut self, time: Time, events: u64) -> bool {
        let enough = events_handled(self).saturating_add(events);
        while self.ended.is_none() && events_handled(self) < enough {
            let most = enough - events_handled(self);
            if !advance(self, time, most) {
                break;
            }
            if self.journal.has_failed() || self.sampler.has_failed() {
                self.interrupt();
            }
        }
        self.nets.settle(self.barrier.is_none());
        self.ended.is_none()
    }

    /// Hands parts over to their threads in all windows, also in those with so few events that one thread is faster: for
    /// tests of threads with small networks.
    #[doc(hidden)]
    pub fn always_hand_over(&mut self) {
        self.threads.always_hand_over();
    }

    /// Lets the blocks of a thread take turns however little there is to do, but in two of so many stretches of time (zero
    /// for none), in which the thread goes through all of them at once: for tests of blocks with small networks.
    #[doc(hidden)]
    pub fn take_turns_but(&mut self, every: u64) {
        divide::take_turns_but(&mut self.nets, every);
    }

    /// Returns whether the blocks of a thread take turns at present, for tests.
    #[doc(hidden)]
    pub fn takes_turns(&self) -> bool {
        self.nets.iter().any(|net| net.blocks.as_ref().is_some_and(|blocks| blocks.are_open()))
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

    /// Returns the end of the cell of the grid of barriers in which a time lies.
    pub(super) fn end_of_cell(&self, at: Time) -> Time {
        let cell = self.cell.as_ps();
        Time::from_ps((at.as_ps() / cell).saturating_add(1).saturating_mul(cell))
    }
}

/// Returns the number of events handled.
pub fn events_handled(sim: &Simulation) -> u64 {
    sim.global_events_handled + sim.regions.iter().map(|region| region.events).sum::<u64>()
}

/// Lets all regions go on to the next barrier or to `limit`, on one thread by at most so many events; or handles
/// the next event of the whole network. Returns false if no event up to `limit` is left.
fn advance(sim: &mut Simulation, limit: Time, most: u64) -> bool {
    let until = match sim.barrier {
        Some(until) => until,
        None => {
            let (of_regions, global) = (sim.nets.next_at(), sim.global_events.next_at());
            let Some(next) = of_regions.into_iter().chain(global).min() else {
                sim.now = sim.quiet_since.unwrap_or(before(sim));
                sim.ended = Some(if is_complete(sim) { Ended::Complete } else { Ended::Stalled });
                return false;
            };
            let stop = sim.model.stop.unwrap_or(LAST);
            if next > limit.min(stop) {
                return rest(sim, limit);
            }
            if of_regions.is_none_or(|at| at > next) {
                handle_global_event(sim);
                return true;
            }
            let limits = [global, Some(stop)].into_iter().flatten().map(|at| at + TICK);
            limits.fold(sim.end_of_cell(next), Time::min)
        }
    };
    // A step that ends early leaves the barrier where it is: what happens there, and when, must not depend on steps.
    sim.barrier = Some(until);
    let reached = until.min(limit.saturating_add(TICK));
    sim.nets.share_paths();
    let Some(reached) = sim.threads.advance(&mut sim.nets, &mut sim.regions, reached, most) else {
        return !ends_livelocked(sim);
    };
    if reached < until && !sim.regions.iter().any(|region| region.has_urgent_notes()) {
        return rest(sim, limit);
    }
    sim.barrier = None;
    sim.now = reached - TICK;
    sim.nets.set_now(sim.now);
    meet(sim);
    true
}

/// Lets time pass up to `limit`, since nothing happens until then, or up to the end of the run, if that comes first.
/// Returns false: no event up to `limit` is left.
fn rest(sim: &mut Simulation, limit: Time) -> bool {
    let stop = Some(sim.model.stop.unwrap_or(LAST)).filter(|&stop| stop <= limit);
    if stop.is_some() {
        sim.ended = Some(Ended::Stopped);
    }
    let until = stop.unwrap_or(limit);
    let present = sim.now.max(before(sim));
    if stop.is_some() || until > present {
        sim.now = until;
        sim.nets.set_now(until);
    } else {
        // Parts whose last event came earlier show the present too.
        sim.nets.set_now(present);
    }
    // All events up to `until` have been handled.
    sim.nets.settle(until >= present);
    false
}

/// Handles the next event of the whole network.
fn handle_global_event(sim: &mut Simulation) {
    let before = before(sim);
    let Some((at, event)) = sim.global_events.pop() else { return };
    sim.now = at;
    sim.nets.set_now(at);
    if !matches!(event, GlobalEvent::Traffic(_) | GlobalEvent::Message { .. } | GlobalEvent::Stop(_)) {
        sim.nets.settle(true);
    }
    match event {
        GlobalEvent::Traffic(traffic) => run_source(sim, traffic),
        GlobalEvent::Message { traffic, message } => start_waiting_message(sim, traffic, message),
        GlobalEvent::Stop(record) => stop_flow(sim, record),
        GlobalEvent::Fault(fault) => apply_fault(sim, fault),
        GlobalEvent::Noticed(fault) => notice_fault(sim, fault),
        GlobalEvent::Watch => watch(sim),
        GlobalEvent::Shares => tell_shares(sim),
        GlobalEvent::Sample(series) => sample(sim, series, before),
        GlobalEvent::Window => turn_window(sim, before),
    }
    sim.last = at;
    sim.global_events_handled += 1;
    sim.standstill.look(sim.global_events_handled, at);
    if sim.ended.is_none() && !ends_livelocked(sim) {
        meet(sim);
    }
}

/// Returns the time of the last event.
pub fn before(sim: &Simulation) -> Time {
    sim.regions.iter().map(|region| region.last).fold(sim.last, Time::max)
}

/// Hands over what regions sent each other, reads what they noted, and ends flows that are over.
pub fn meet(sim: &mut Simulation) {
    while sim.regions.iter().any(|region| !region.notes.is_empty() || !region.rtts.is_empty()) {
        read_notes(sim);
    }
    count_unseen(sim);
    for region in &mut sim.regions {
        for slot in region.hosts.finished.drain(..) {
            if let Some(live) = sim.live_flows.get_mut(slot).filter(|live| !live.is_ending) {
                live.is_ending = true;
                sim.ending.push(slot);
            }
        }
    }
    if !sim.ending.is_empty() {
        // The order in which places become free must not depend on the partition.
        sim.ending.sort();
        retire(sim);
        if is_complete(sim) {
            sim.now = sim.nets.totals().left_at().max(sim.last);
            sim.ended = Some(Ended::Complete);
        }
    }
    boundaries::exchange(&mut sim.nets);
}

/// Reads the notes of all regions, in the order of their times.
fn read_notes(sim: &mut Simulation) {
    let mut notes: Vec<Note> = Vec::new();
    let mut rtts: Vec<Rtt> = Vec::new();
    for region in &mut sim.regions {
        take_all(&mut region.notes, &mut notes);
        take_all(&mut region.rtts, &mut rtts);
    }
    // Notes of one instant and one flow keep their order; no other order may depend on the partition.
    notes.sort_by_key(|note| (note.at, note.news.slot()));
    for Note { at, news } in notes {
        match news {
            News::Wrote { slot, bytes } => {
                add_row(sim, slot, bytes, at);
            }
            News::Delivered { slot, stats } => {
                let (traffic, row) = complete(sim, slot, at, stats);
                heed_end(sim, traffic, row, Done::Delivered);
            }
            News::Acknowledged { slot } => {
                if let Some((traffic, row)) = acknowledge(sim, slot, at) {
                    heed_end(sim, traffic, row, Done::Acknowledged);
                }
            }
            News::Connect { traffic, worker } => reconnect(sim, traffic, worker),
            News::SourceDone => sim.sources.close(),
            News::Stopped => start_watch(sim, at),
        }
    }
    // A flow has its place until the notes of its ends were read.
    let name = |slot| sim.live_flows.get(slot).map(|live| live.name());
    rtts.sort_by_key(|sample| (sample.at, name(sample.slot)));
    for Rtt { at, slot, rtt } in rtts {
        if let Some(name) = name(slot) {
            sim.sampler.watch(&sim.model, at, name, rtt);
        }
    }
}

/// Counts the packets of flows that entered or left the network without any of their ends.
fn count_unseen(sim: &mut Simulation) {
    for net in sim.nets.parts_mut() {
        net.unseen.drain(|slot, packets| {
            if let Some(live) = sim.live_flows.get_mut(slot) {
                live.unseen += packets;
            }
        });
    }
}

/// Returns whether nothing will happen any more that a result could show.
fn is_complete(sim: &Simulation) -> bool {
    sim.live_flows.count() == 0 && sim.sources.all_done()
}

fn sample(sim: &mut Simulation, series: SeriesId, before: Time) {
    let traffic = sim.model.samples[series.index()].what.traffic();
    let mut flows = Vec::new();
    if let Some(traffic) = traffic {
        for slot in sim.live_flows.slots() {
            let shown = sim.live_flows.get(slot).is_some_and(|live| live.name().traffic.index() == traffic);
            flows.extend(shown.then(|| flow_snapshot(sim, slot)).flatten());
        }
    }
    sim.sampler.sample(series, &sim.model, &sim.nets, &flows);
    if goes_on(sim, before) {
        schedule_sample(sim, series);
    }
}

/// The window of measurement opens or closes.
fn turn_window(sim: &mut Simulation, before: Time) {
    if goes_on(sim, before) {
        let flows = flow_counts(sim);
        sim.window.turn(&mut sim.nets, flows);
    }
}

/// Notes that a global event came that only reads the state, after an event at `before`. Returns whether anything
/// else is to come: if not, the run is over, and was so before the first such event that found it so.
fn goes_on(sim: &mut Simulation, before: Time) -> bool {
    let goes_on = !sim.global_events.only_looks() || sim.nets.next_at().is_some();
    if !goes_on && sim.quiet_since.is_none() {
        sim.quiet_since = Some(before);
    }
    goes_on
}
