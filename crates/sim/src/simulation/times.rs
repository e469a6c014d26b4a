//! The time that the parts of a network take between barriers, for those who ask how far threads can help.

/// A clock that the caller brings, since simulated code reads none: it returns nanoseconds since some moment.
pub type Clock = fn() -> u64;

/// The work of one part in one window; times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// The time to take in what came from other parts.
    pub intake: u64,
    /// The time to handle events.
    pub work: u64,
    /// The number of events.
    pub events: u64,
}

impl Spent {
    /// Adds what the part did next.
    pub fn add(&mut self, next: Spent) {
        self.intake += next.intake;
        self.work += next.work;
        self.events += next.events;
    }
}

/// The times of a run in several parts, in nanoseconds. All that is not in a window is done by one thread: the notes of
/// regions, starts and ends of flows, samples, and the exchange of boxes.
#[derive(Clone, Debug, Default)]
pub struct PartTimes {
    /// The number of windows that each part went through on a thread of its own.
    pub windows: u64,
    /// The time in which each part took in what came from others, in those windows.
    pub intake: Vec<u64>,
    /// The time in which each part handled its events, in those windows.
    pub work: Vec<u64>,
    /// The sum over those windows of the time of the part that took longest.
    pub longest: u64,
    /// The number of events that each part handled in those windows. Unlike times it is the same in each run.
    pub events: Vec<u64>,
    /// The sum over those windows of the events of the part that had the most.
    pub most_events: u64,
    /// For each of those windows, its time from the hand-over of the first part to the return of the last, without the
    /// time of the part that took longest: what it costs to hand parts over.
    pub handovers: Vec<u64>,
    /// The number of windows with so few events that one thread went through all parts.
    pub small_windows: u64,
    /// The time of those windows.
    pub small: u64,
}

impl PartTimes {
    /// No times yet of so many parts.
    pub fn new(parts: usize) -> PartTimes {
        let zeros = || vec![0; parts];
        PartTimes { intake: zeros(), work: zeros(), events: zeros(), ..PartTimes::default() }
    }

    /// Adds a window, by what each part took and the time of all.
    pub fn add(&mut self, parts: &[Spent], elapsed: u64) {
        for (part, spent) in parts.iter().enumerate() {
            self.intake[part] += spent.intake;
            self.work[part] += spent.work;
            self.events[part] += spent.events;
        }
        let longest = parts.iter().map(|spent| spent.intake + spent.work).max().unwrap_or(0);
        self.windows += 1;
        self.longest += longest;
        self.most_events += parts.iter().map(|spent| spent.events).max().unwrap_or(0);
        self.handovers.push(elapsed.saturating_sub(longest));
    }

    /// Adds a window with few events.
    pub fn add_small(&mut self, elapsed: u64) {
        self.small_windows += 1;
        self.small += elapsed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_takes_as_long_as_the_part_that_takes_longest() {
        let mut times = PartTimes::new(2);
        let spent = |intake, work, events| Spent { intake, work, events };
        times.add(&[spent(1, 5, 50), spent(0, 4, 60)], 9);
        times.add(&[spent(2, 3, 20), spent(1, 7, 30)], 8);
        times.add_small(4);
        assert_eq!((times.windows, times.small_windows, times.small), (2, 1, 4));
        assert_eq!((times.intake, times.work, times.events), (vec![3, 1], vec![8, 11], vec![70, 90]));
        assert_eq!((times.longest, times.most_events, times.handovers), (6 + 8, 60 + 30, vec![3, 0]));
    }
}
