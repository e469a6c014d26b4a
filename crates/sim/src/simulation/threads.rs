//! The threads of a run: each drives a region up to a barrier.

use super::region::Region;
use super::times::{Clock, PartTimes, Spent};
use super::workers::{Job, Worker};
use crate::net::{Network, Networks, boundaries};
use clearway_units::{Span, Time};
use std::mem::take;

/// The number of expected events in a window below which one thread goes through all parts, since to hand them over takes
/// longer.
const FEW: f64 = 64.0;

/// A part of the network on its way to a thread or back.
struct Part {
    /// The ports and packets of the part.
    net: Network,
    /// The hosts of the part.
    region: Region,
    /// The time before which events are handled.
    until: Time,
    /// The clock, if the run is timed.
    clock: Option<Clock>,
    /// The time that it took.
    spent: Spent,
}

impl Job for Part {
    fn run(&mut self) {
        self.spent = self.region.go_on(&mut self.net, self.until, self.clock);
    }

    fn looks(&self) -> u64 {
        // An event takes some five looks.
        self.spent.events
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
    /// Returns the expected events of the next window, which is so wide.
    fn expected(&mut self, width: f64) -> f64 {
        self.pace * width + take(&mut self.coming)
    }

    /// A window had so many events. A short one counts little: a single event in an instant is no pace.
    fn heed(&mut self, events: u64, width: f64) {
        self.pace += (events as f64 - self.pace * width) / self.lookahead;
    }
}

/// The threads that drive the regions of a run.
pub struct Threads {
    /// The shortest delay of a link between parts: no part hears of what another one does within this time.
    lookahead: Span,
    /// A thread for each part but the first, which the calling one drives. There are none where one drives all.
    workers: Vec<Worker<Part>>,
    pace: Pace,
    /// The expected events of a window from which its parts are handed over.
    few: f64,
    /// The clock and the times so far, if the run is timed.
    timer: Option<(Clock, PartTimes)>,
    /// The work of the parts in the last window.
    spent: Vec<Spent>,
}

impl Threads {
    /// Threads for so many regions, between which no link has a shorter delay than `lookahead`. Where the platform has no
    /// threads, one drives all regions in turn, with the same result.
    pub fn new(regions: usize, lookahead: Span) -> Threads {
        Threads {
            lookahead,
            workers: Worker::start(regions - 1),
            pace: Pace { lookahead: lookahead.as_ps() as f64, ..Pace::default() },
            few: FEW,
            timer: None,
            spent: vec![Spent::default(); regions],
        }
    }

    /// Hands parts over in all windows, however few events these have.
    pub fn always_hand_over(&mut self) {
        self.few = 0.0;
    }

    /// Notes that so many flows start within the next window or soon after.
    pub fn expect(&mut self, starts: usize) {
        self.pace.coming = starts as f64;
    }

    /// Times what follows by a clock: on the threads or, if `in_turn` is set, with one thread that goes through all parts
    /// one after the other.
    pub fn time(&mut self, clock: Clock, in_turn: bool) {
        if in_turn {
            self.workers.clear();
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
        regions: &mut Vec<Region>,
        until: Time,
        most: u64,
    ) -> Option<Time> {
        if let [region] = &mut regions[..] {
            return region.run(nets.part_mut(0), until, most);
        }
        // Times without any event are passed over.
        while let Some(next) = nets.next_at().filter(|&next| next < until) {
            let end = until.min(next + self.lookahead);
            self.go_through(nets, regions, next, end);
            boundaries::exchange(nets);
            if regions.iter().any(Region::stands_still) {
                return None;
            }
            if end == until {
                break;
            }
        }
        Some(until)
    }

    /// Lets all regions go through a window.
    fn go_through(&mut self, nets: &mut Networks, regions: &mut Vec<Region>, from: Time, until: Time) {
        let width = (until - from).as_ps() as f64;
        let is_small = self.pace.expected(width) < self.few;
        let clock = self.timer.as_ref().map(|(clock, _)| *clock);
        let start = clock.map(|clock| clock());
        if is_small {
            self.in_turn(nets, regions, until, None);
        } else {
            self.each(nets, regions, until, clock);
        }
        self.pace.heed(self.spent.iter().map(|spent| spent.events).sum(), width);
        if let (Some((clock, times)), Some(start)) = (&mut self.timer, start) {
            match (clock() - start, is_small) {
                (elapsed, true) => times.add_small(elapsed),
                (elapsed, false) => times.add(&self.spent, elapsed),
            }
        }
    }

    /// Lets each region go on in its thread.
    fn each(&mut self, nets: &mut Networks, regions: &mut Vec<Region>, until: Time, clock: Option<Clock>) {
        // Where there are never any threads, a program need not have the code for them.
        if cfg!(target_family = "wasm") || self.workers.is_empty() {
            return self.in_turn(nets, regions, until, clock);
        }
        let parts = nets.lend().zip(regions.drain(1..));
        for (worker, (net, region)) in self.workers.iter().zip(parts) {
            worker.send(Part { net, region, until, clock, spent: Spent::default() });
        }
        self.spent[0] = regions[0].go_on(nets.part_mut(0), until, clock);
        self.workers.iter_mut().for_each(Worker::help);
        let looks = self.spent[0].events;
        for (worker, spent) in self.workers.iter_mut().zip(&mut self.spent[1..]) {
            let part = worker.receive(looks);
            nets.take_back(part.net);
            regions.push(part.region);
            *spent = part.spent;
        }
    }

    /// Lets one region after the other go on.
    fn in_turn(&mut self, nets: &mut Networks, regions: &mut [Region], until: Time, clock: Option<Clock>) {
        for (part, (net, region)) in nets.parts_mut().iter_mut().zip(regions).enumerate() {
            self.spent[part] = region.go_on(net, until, clock);
        }
    }
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
    }
}
