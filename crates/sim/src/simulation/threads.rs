//! The threads of a run, which drive its regions up to a barrier.

use super::crew::Crew;
use super::region::{Region, Regions};
use super::seat::{Left, Piece};
use super::times::{Clock, PartTimes, Spent};
use crate::net::{Delays, Mailboxes, Network, Networks, boundaries};
use clearway_units::{Span, Time};
use std::mem::take;
use std::sync::Arc;

/// The number of expected events in a window below which one thread goes through all parts, since for threads to hear of
/// each other takes longer.
const FEW: f64 = 64.0;

/// A part of the network on its way through a stretch of windows.
struct Part {
    /// The number of the part.
    number: usize,
    /// The ports and packets of the part.
    net: Box<Network>,
    /// The hosts of the part.
    region: Box<Region>,
    /// What parts send each other.
    mail: Arc<Mailboxes>,
    /// The clock, if the run is timed.
    clock: Option<Clock>,
    /// The time that it took.
    spent: Spent,
}

impl Piece for Part {
    fn go_on(&mut self, until: Time) -> Left {
        let Part { number, net, region, mail, clock, spent } = self;
        net.collect(*number, mail);
        let now = region.go_on(net, until, *clock);
        net.post(*number, mail);
        spent.add(now);
        let is_stuck = region.stands_still();
        let next = if is_stuck { Some(region.last) } else { net.next_at() };
        Left { next: next.unwrap_or(Time::MAX), events: now.events, is_stuck }
    }

    fn prefers_one_step(&self) -> bool {
        // A block finds in the cache what it has fetched for the first frames of a step.
        self.net.blocks.as_ref().is_some_and(|blocks| blocks.are_open())
    }
}

/// The number of events that a window is expected to have. Times are in picoseconds.
#[derive(Default)]
struct Pace {
    /// The events per picosecond in the last time of a lookahead or so.
    pace: f64,
    /// The number of events to come of which that tells nothing.
    coming: f64,
    lookahead: f64,
}

impl Pace {
    /// No pace yet of parts with such a shortest delay between them.
    fn new(least: Option<Span>) -> Pace {
        Pace { lookahead: least.map_or(1.0, |least| least.as_ps() as f64), ..Pace::default() }
    }

    /// Returns the expected events of the next window, which is so wide.
    fn expected(&mut self, width: f64) -> f64 {
        self.pace * width + take(&mut self.coming)
    }

    /// A window had so many events. A short one counts little: a single event in an instant is no pace.
    fn heed(&mut self, events: u64, width: f64) {
        let weight = (width / self.lookahead).min(1.0);
        self.pace += (events as f64 / width - self.pace) * weight;
    }
}

/// The threads that drive the regions of a run.
pub struct Threads {
    /// The delays between parts, within which none hears of what another one does.
    delays: Delays,
    /// The times of what the parts have to do first.
    firsts: Vec<Time>,
    /// The times before which the parts handle their events in a window.
    ends: Vec<Time>,
    /// The threads, the calling one among them. There are none where one drives all.
    crew: Option<Crew<Part>>,
    /// The parts that go to the crew and come back.
    parts: Vec<Part>,
    mail: Arc<Mailboxes>,
    pace: Pace,
    /// The expected events of a window from which parts are handed over.
    few: f64,
    /// The clock and the times so far, if the run is timed.
    timer: Option<(Clock, PartTimes)>,
    /// The work of the parts in the last window, or stretch of windows.
    spent: Vec<Spent>,
}

impl Threads {
    /// Threads for regions with these delays between them. Where the platform has no threads, one drives all regions in
    /// turn, with the same result.
    pub fn new(delays: Delays) -> Threads {
        let regions = delays.parts();
        Threads {
            firsts: Vec::with_capacity(regions),
            ends: Vec::with_capacity(regions),
            crew: crew(&delays, Crew::<Part>::fitting(regions)),
            parts: Vec::with_capacity(regions),
            mail: Arc::new(Mailboxes::new(regions)),
            pace: Pace::new(delays.least()),
            delays,
            few: FEW,
            timer: None,
            spent: vec![Spent::default(); regions],
        }
    }

    /// Hands parts over in all windows, however few events these have, to a thread each, however few processors there are.
    pub fn always_hand_over(&mut self) {
        self.few = 0.0;
        self.crew = crew(&self.delays, self.delays.parts());
    }

    /// Notes that so many flows start within the next window or soon after.
    pub fn expect(&mut self, starts: usize) {
        self.pace.coming = starts as f64;
    }

    /// Times what follows by a clock: on the threads or, if `in_turn` is set, with one thread that goes through all parts
    /// one after the other.
    pub fn time(&mut self, clock: Clock, in_turn: bool) {
        if in_turn {
            self.crew = None;
        }
        self.timer = Some((clock, PartTimes::new(self.spent.len())));
    }

    /// Returns the times so far, if the run is timed.
    pub fn times(&self) -> Option<&PartTimes> {
        self.timer.as_ref().map(|(_, times)| times)
    }

    /// Lets all regions handle their events before `until`. Returns the time before which all are handled, which is
    /// earlier if the whole run must read a note before; `None` if a single region has more than `most` of them, and
    /// shall be called again, or if time stands still in a region.
    pub fn advance(
        &mut self,
        nets: &mut Networks,
        regions: &mut Regions,
        until: Time,
        most: u64,
    ) -> Option<Time> {
        if let [region] = &mut regions[..] {
            return region.run(nets.part_mut(0), until, most);
        }
        // Times without any event are passed over.
        while let Some(next) = nets.next_at().filter(|&next| next < until) {
            let end = self.go_through(nets, regions, next, until);
            if regions.iter().any(|region| region.stands_still()) {
                return None;
            }
            if end == until {
                break;
            }
        }
        Some(until)
    }

    /// Lets all regions go through the next window, or with the crew to `until`. Returns the time before which all have
    /// handled their events then.
    fn go_through(&mut self, nets: &mut Networks, regions: &mut Regions, next: Time, until: Time) -> Time {
        let window = self.find_ends(nets, until);
        let width = |end: Time| (end - next).as_ps() as f64;
        let is_small = self.pace.expected(width(window)) < self.few;
        let clock = self.timer.as_ref().map(|(clock, _)| *clock);
        let start = clock.map(|clock| clock());
        let is_beside = !is_small && self.beside(nets, regions, until, clock);
        if !is_beside {
            self.in_turn(nets, regions, clock.filter(|_| !is_small));
        }
        let end = if is_beside { until } else { window };
        self.pace.heed(self.spent.iter().map(|spent| spent.events).sum(), width(end));
        if let (Some((clock, times)), Some(start)) = (&mut self.timer, start) {
            match (clock() - start, is_small) {
                (elapsed, true) => times.add_small(elapsed),
                (elapsed, false) => times.add(&self.spent, elapsed),
            }
        }
        end
    }

    /// Finds how far each part may go on in the next window: until it may hear of what any part has yet to do, but not
    /// past `until`. Returns the time before which all have handled their events then.
    fn find_ends(&mut self, nets: &Networks, until: Time) -> Time {
        let Threads { delays, firsts, ends, .. } = self;
        firsts.clear();
        firsts.extend(nets.iter().map(|net| net.next_at().unwrap_or(Time::MAX)));
        ends.clear();
        ends.extend((0..firsts.len()).map(|part| delays.heard(part, firsts).min(until)));
        ends.iter().copied().min().unwrap_or(until)
    }

    /// Lets the crew bring all regions to `until`. Returns false if there is none.
    fn beside(
        &mut self,
        nets: &mut Networks,
        regions: &mut Regions,
        until: Time,
        clock: Option<Clock>,
    ) -> bool {
        let Threads { crew, parts, mail, delays, firsts, .. } = self;
        let Some(crew) = crew.as_mut().filter(|_| !cfg!(target_family = "wasm")) else { return false };
        let pairs = nets.lend().zip(regions.drain(..)).enumerate();
        parts.extend(pairs.map(|(number, (net, region))| Part {
            number,
            net,
            region,
            mail: Arc::clone(mail),
            clock,
            spent: Spent::default(),
        }));
        crew.go_on(parts, delays, firsts, until);
        for Part { number, mut net, region, mail, clock: _, spent } in parts.drain(..) {
            net.collect(number, &mail);
            nets.take_back(net);
            regions.push(region);
            self.spent[number] = spent;
        }
        true
    }

    /// Lets one region after the other go through a window.
    fn in_turn(&mut self, nets: &mut Networks, regions: &mut [Box<Region>], clock: Option<Clock>) {
        for (part, (net, region)) in nets.parts_mut().iter_mut().zip(regions).enumerate() {
            self.spent[part] = region.go_on(net, self.ends[part], clock);
        }
        boundaries::exchange(nets);
    }
}

/// The crew for parts with these delays between them, if it has any thread beside the calling one.
fn crew(delays: &Delays, threads: usize) -> Option<Crew<Part>> {
    // Where there are never any threads, a program need not have the code for them.
    if cfg!(target_family = "wasm") || threads < 2 {
        return None;
    }
    Some(Crew::start(delays, threads)).filter(Crew::has_threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_window_counts_little_for_the_events_that_are_expected_and_starts_count_once() {
        let mut pace = Pace { lookahead: 1000.0, ..Pace::default() };
        pace.heed(3, 1.0);
        assert_eq!(pace.expected(1000.0), 3.0);
        pace.heed(500, 1000.0);
        assert_eq!((pace.expected(1000.0), pace.expected(100.0)), (500.0, 50.0));
        pace.coming = 80.0;
        assert_eq!((pace.expected(100.0), pace.expected(100.0)), (130.0, 50.0));
        // A window that is wider than a lookahead tells the whole of the pace, and no more.
        pace.heed(8000, 4000.0);
        assert_eq!(pace.expected(100.0), 200.0);
    }
}
