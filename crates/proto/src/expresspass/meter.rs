//! The measurement of credit loss by gaps in the credit numbers that data packets echo (E17 sec. 3.2).

use serde::{Deserialize, Serialize};

/// The loss meter of one receiver. A credit counts as lost once the echo of a later credit is ahead of it by more than
/// the reordering that the network may cause.
///
/// The meter has a sliding window over the newest numbers, as replay protection has: a number that leaves the window
/// without an echo is a lost credit. With a window of zero every gap counts at once, which is right where all packets
/// of a flow take one path. An echo that arrives after its number left the window reduces the losses of the present
/// period.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LossMeter {
    /// The number of credits below the highest one that may still be echoed.
    reorder: u32,
    /// The first number of this series.
    first: u64,
    /// One above the highest number that was echoed or written off.
    next: u64,
    /// The window: bit `i` is 1 if number `next - 1 - i` was echoed, for the `reorder + 1` newest numbers.
    seen: u64,
    /// The number of credits whose fate became known in this period.
    sent: u32,
    /// The number of lost credits among them.
    dropped: u32,
    /// The number of echoes that arrived after their credit counted as lost, and that have not been subtracted.
    late: u32,
    /// The number of echoes in this period.
    received: u32,
    /// The number of marked ones among them.
    marked: u32,
}

/// The counts of a meter since it was last read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The number of credits that turned out to be spent or lost.
    pub sent: u64,
    /// The number of lost credits among them.
    pub dropped: u64,
    /// The number of data packets that echoed a credit of this series.
    pub received: u64,
}

impl LossMeter {
    /// Makes a meter that accepts an echo up to `reorder` numbers late, at most 62.
    pub fn new(reorder: u32) -> LossMeter {
        assert!(reorder <= 62, "the window is one machine word");
        LossMeter {
            reorder,
            first: 0,
            next: 0,
            seen: u64::MAX,
            sent: 0,
            dropped: 0,
            late: 0,
            received: 0,
            marked: 0,
        }
    }

    /// Starts a series whose first credit has number `first`. Echoes of earlier credits are ignored.
    pub fn start(&mut self, first: u64) {
        *self = LossMeter { first, next: first, ..LossMeter::new(self.reorder) };
    }

    /// Records the echo of credit `number`. Returns true if the credit belongs to this series.
    pub fn on_echo(&mut self, number: u64) -> bool {
        if number < self.first {
            return false;
        }
        add(&mut self.received, 1);
        if number >= self.next {
            self.advance(number + 1 - self.next);
            self.seen |= 1;
            return true;
        }
        let age = self.next - 1 - number;
        if age <= self.reorder as u64 {
            self.seen |= 1 << age;
        } else {
            add(&mut self.late, 1);
        }
        true
    }

    /// Records that the data of the last echo was marked.
    pub fn on_mark(&mut self) {
        add(&mut self.marked, 1);
    }

    /// Returns the number of marked echoes since it was last taken, and begins anew.
    pub fn take_marked(&mut self) -> u64 {
        std::mem::take(&mut self.marked).into()
    }

    /// Counts all credits below number `end` without an echo as lost.
    pub fn write_off(&mut self, end: u64) {
        if end > self.next {
            let width = self.reorder as u64 + 1;
            let step = end - self.next;
            add(&mut self.sent, step);
            add(&mut self.dropped, step + width - (self.seen & low_bits(width)).count_ones() as u64);
            (self.next, self.seen) = (end, u64::MAX);
        }
    }

    /// Returns the number of echoes since the meter was last read.
    pub fn received(&self) -> u64 {
        self.received.into()
    }

    /// Returns the counts and starts the next period.
    pub fn take(&mut self) -> Reading {
        // Late echoes are subtracted from the losses of this period, and the rest from those of the next.
        let good = self.late.min(self.dropped);
        let [sent, dropped, received] = [self.sent, self.dropped - good, self.received].map(u64::from);
        (self.sent, self.dropped, self.received) = (0, 0, 0);
        self.late -= good;
        Reading { sent, dropped, received }
    }

    /// Moves the window up by `step` numbers that have not been echoed. As many leave it at the other end.
    #[inline]
    fn advance(&mut self, step: u64) {
        let leaving_seen = if step == 1 { self.seen >> self.reorder & 1 } else { self.seen_among(step) };
        self.next += step;
        add(&mut self.sent, step);
        add(&mut self.dropped, step - leaving_seen);
        self.seen = if step >= 64 { 0 } else { self.seen << step };
    }

    /// Returns the number of echoes among the `count` oldest numbers of the window, which has the `reorder + 1` newest
    /// ones.
    #[inline]
    fn seen_among(&self, count: u64) -> u64 {
        let width = self.reorder as u64 + 1;
        let held = self.seen & low_bits(width);
        (held >> width.saturating_sub(count)).count_ones() as u64
    }
}

/// Adds to a count of one period, which no run takes to the largest number.
fn add(count: &mut u32, more: u64) {
    *count = (u64::from(*count).saturating_add(more)).min(u32::MAX.into()) as u32;
}

/// Returns a mask of the `count` lowest bits.
fn low_bits(count: u64) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(meter: &mut LossMeter, echoes: &[u64]) -> (u64, u64, u64) {
        echoes.iter().for_each(|&number| {
            meter.on_echo(number);
        });
        let reading = meter.take();
        (reading.sent, reading.dropped, reading.received)
    }

    #[test]
    fn a_gap_in_the_echoed_numbers_is_a_loss_at_once_when_paths_keep_order() {
        let mut meter = LossMeter::new(0);
        meter.start(0);
        assert_eq!(read(&mut meter, &[0, 1, 2, 5]), (6, 2, 4), "E17-5");
        assert_eq!(read(&mut meter, &[6, 7]), (2, 0, 2), "a period without gap has no loss");
        assert_eq!(read(&mut meter, &[10]), (3, 2, 1), "the gap belongs to the period of the echo after it");
    }

    #[test]
    fn marked_echoes_are_counted_until_they_are_taken() {
        let mut meter = LossMeter::new(0);
        assert_eq!(meter.take_marked(), 0);
        (0..3).for_each(|_| meter.on_mark());
        assert_eq!((meter.take_marked(), meter.take_marked()), (3, 0));
    }

    #[test]
    fn credits_lost_before_the_first_echo_count() {
        let mut meter = LossMeter::new(0);
        meter.start(100);
        assert_eq!(read(&mut meter, &[103]), (4, 3, 1));
    }

    #[test]
    fn an_echo_within_the_window_is_no_loss() {
        let mut meter = LossMeter::new(3);
        meter.start(0);
        assert_eq!(read(&mut meter, &[0, 3, 1, 2, 4, 5, 6, 7]).1, 0);
    }

    #[test]
    fn an_echo_later_than_the_window_reduces_the_count_of_losses() {
        let mut meter = LossMeter::new(0);
        meter.start(0);
        assert_eq!(read(&mut meter, &[0, 2, 1, 3]), (4, 0, 4));
        assert_eq!(read(&mut meter, &[5]), (2, 1, 1));
        assert_eq!(read(&mut meter, &[4, 6, 8]), (3, 0, 3), "the loss of 7 and the return of 4 cancel");
    }

    #[test]
    fn echoes_of_an_earlier_series_are_ignored() {
        let mut meter = LossMeter::new(0);
        meter.start(10);
        assert_eq!(read(&mut meter, &[8, 9, 10]), (1, 0, 1));
    }

    #[test]
    fn credits_written_off_are_lost_once() {
        let mut meter = LossMeter::new(0);
        meter.start(0);
        meter.write_off(4);
        assert_eq!(read(&mut meter, &[]), (4, 4, 0));
        assert_eq!(read(&mut meter, &[5, 6]), (3, 1, 2));
    }

    proptest! {
        #[test]
        fn without_reordering_every_credit_is_counted_exactly_once(
            kept in prop::collection::vec(any::<bool>(), 1..400), reorder in 0u32..63, every in 1usize..50,
        ) {
            let mut meter = LossMeter::new(reorder);
            meter.start(7);
            let (mut sent, mut dropped, mut received) = (0, 0, 0);
            let mut add = |meter: &mut LossMeter| {
                let reading = meter.take();
                sent += reading.sent;
                dropped += reading.dropped;
                received += reading.received;
            };
            for (i, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
                meter.on_echo(7 + i as u64);
                if i % every == 0 {
                    add(&mut meter);
                }
            }
            // An echo far above pushes all numbers out of the window; the 99 numbers between are lost too.
            meter.on_echo(7 + kept.len() as u64 + 99);
            add(&mut meter);
            let lost = kept.iter().filter(|kept| !**kept).count() as u64;
            prop_assert_eq!(sent, kept.len() as u64 + 100);
            let unjudged = reorder as u64;
            prop_assert_eq!(dropped, lost + 99 - unjudged.min(99));
            prop_assert_eq!(received, kept.len() as u64 - lost + 1);
        }

        #[test]
        fn a_shuffle_within_the_window_shows_no_loss(
            keys in prop::collection::vec(0u64..20, 1..400),
        ) {
            // Sorting by position plus up to 19 moves no number by more than 19.
            let mut order: Vec<(u64, u64)> =
                keys.iter().enumerate().map(|(i, key)| (i as u64 + key, i as u64)).collect();
            order.sort();
            let mut meter = LossMeter::new(20);
            meter.start(0);
            order.iter().for_each(|&(_, number)| {
                meter.on_echo(number);
            });
            prop_assert_eq!(meter.take().dropped, 0);
        }
    }
}
