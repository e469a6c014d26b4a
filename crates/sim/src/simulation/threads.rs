//! The threads of a run: each drives a region up to a barrier.

use super::region::Region;
use super::times::{Clock, PartTimes, Spent};
use super::workers::{Job, Worker};
use crate::net::{Network, Networks};
use clearway_units::{Span, Time};

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

/// The threads that drive the regions of a run.
pub struct Threads {
    /// The shortest delay of a link between parts: no part hears of what another one does within this time.
    lookahead: Span,
    /// A thread for each part but the first, which the calling one drives. There are none where one drives all.
    workers: Vec<Worker<Part>>,
    /// The events per picosecond of the last window.
    pace: f64,
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
            pace: 0.0,
            few: FEW,
            timer: None,
            spent: vec![Spent::default(); regions],
        }
    }

    /// Hands parts over in all windows, however few events these have.
    pub fn always_hand_over(&mut self) {
        self.few = 0.0;
    }

    /// Times what follows by a clock: on the threads or, if `in_turn` is set, with one thread that goes through all parts
    /// one after the other.
    pub fn time(&mut self, clock: Clock, in_turn: bool) {
        if in_turn {
            self.workers.clear();
        }
        self.timer = Some((clock, PartTimes::new(self.spent.len())));
    }

    /// The times so far, if the run is timed.
    pub fn times(&self) -> Option<&PartTimes> {
        self.timer.as_ref().map(|(_, times)| times)
    }

    /// Lets all regions handle their events before `until`. Answers the time before which all are handled, which is
    /// earlier if the whole run must hear something before; `None` if a single region has more than `most` of them, and
    /// shall be called again.
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
            nets.exchange();
            if end == until {
                break;
            }
        }
        Some(until)
    }

    /// Lets all regions go through a window.
    fn go_through(&mut self, nets: &mut Networks, regions: &mut Vec<Region>, from: Time, until: Time) {
        let width = (until - from).as_ps() as f64;
        let is_small = self.pace * width < self.few;
        let clock = self.timer.as_ref().map(|(clock, _)| *clock);
        let start = clock.map(|clock| clock());
        if is_small {
            self.in_turn(nets, regions, until, None);
        } else {
            self.each(nets, regions, until, clock);
        }
        self.pace = self.spent.iter().map(|spent| spent.events).sum::<u64>() as f64 / width;
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
