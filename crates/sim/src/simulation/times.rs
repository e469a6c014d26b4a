//! The time that the parts of a network take between barriers, for those who ask how far threads can help.

/// A clock that the caller brings, since simulated code reads none: it answers nanoseconds since some moment.
pub type Clock = fn() -> u64;

/// The time that one part took in one window, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// The time to take in what came from other parts.
    pub intake: u64,
    /// The time to handle events.
    pub work: u64,
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
    /// The time of those windows from the hand-over of the first part to the return of the last.
    pub elapsed: u64,
    /// The number of windows with so few events that one thread went through all parts.
    pub small_windows: u64,
    /// The time of those windows.
    pub small: u64,
}

impl PartTimes {
    /// No times yet of so many parts.
    pub fn new(parts: usize) -> PartTimes {
        PartTimes { intake: vec![0; parts], work: vec![0; parts], ..PartTimes::default() }
    }

    /// Adds a window, by the time of each part and that of all.
    pub fn add(&mut self, parts: impl Iterator<Item = Spent>, elapsed: u64) {
        let mut longest = 0;
        for (part, spent) in parts.enumerate() {
            self.intake[part] += spent.intake;
            self.work[part] += spent.work;
            longest = longest.max(spent.intake + spent.work);
        }
        self.windows += 1;
        self.longest += longest;
        self.elapsed += elapsed;
    }

    /// Adds a window with few events.
    pub fn add_small(&mut self, elapsed: u64) {
        self.small_windows += 1;
        self.small += elapsed;
    }
}
