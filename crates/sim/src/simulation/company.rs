//! When one thread does better alone: where others hold the processors, threads wait for each other more than they help.

use std::time::Duration;

/// A rest of a thread that waits for another one, which is longer than most waits where both have a processor.
pub const REST: Duration = Duration::from_millis(1);
/// The events that a thread handles in about half such a time: two threads get more of the processors than one does.
const LOST: u64 = 1 << 12;
/// The excess of losses after which one thread goes on alone.
const BORNE: u64 = 16 * LOST;
/// The events for which it does so at first, and at most: a tenth of a second, and some.
const ALONE: [u64; 2] = [1 << 20, 1 << 24];

/// A count of how long threads had to rest, from which follows whether they help each other: if they lose more than
/// twice the time in which they work, since each waits for one that has no processor, one of them alone is faster.
#[derive(Debug)]
pub struct Company {
    /// The events in the time that threads lost, less those that they handled.
    debt: u64,
    /// The events that one thread still handles alone.
    alone: u64,
    /// The events that it would handle alone the next time.
    next: u64,
}

impl Default for Company {
    fn default() -> Company {
        Company { debt: 0, alone: 0, next: ALONE[0] }
    }
}

impl Company {
    /// Returns whether one thread shall go through the next stretch alone.
    pub fn is_alone(&self) -> bool {
        self.alone > 0
    }

    /// Heeds a stretch with so many events and rests.
    pub fn heed(&mut self, events: u64, rests: u64) {
        if self.is_alone() {
            self.alone = self.alone.saturating_sub(events);
            return;
        }
        self.debt = (self.debt + rests * LOST).saturating_sub(events);
        if self.debt > BORNE {
            (self.debt, self.alone) = (0, self.next);
            // Where others stay, trials are rare.
            self.next = (self.next * 2).min(ALONE[1]);
        } else if self.debt == 0 {
            self.next = (self.next - events.min(self.next)).max(ALONE[0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_goes_on_alone_if_threads_rest_far_more_than_they_work_and_ever_longer_each_time() {
        let mut company = Company::default();
        let mut stretches = Vec::new();
        for _ in 0..3 {
            assert!(!company.is_alone());
            company.heed(LOST, 18);
            let mut alone = 0;
            while company.is_alone() {
                company.heed(ALONE[0], 0);
                alone += 1;
            }
            stretches.push(alone);
        }
        assert_eq!(stretches, [1, 2, 4]);
        // Many events without such a loss show that others have left.
        (0..8).for_each(|_| company.heed(ALONE[0], 0));
        company.heed(LOST, 18);
        assert_eq!(company.alone, ALONE[0]);
    }

    #[test]
    fn threads_that_work_more_than_they_rest_stay_together() {
        let mut company = Company::default();
        for _ in 0..1000 {
            company.heed(2 * LOST, 1);
            assert!(!company.is_alone());
        }
        (0..33).for_each(|_| company.heed(LOST / 2, 1));
        assert!(company.is_alone(), "they do so twice as often as is borne");
    }
}
