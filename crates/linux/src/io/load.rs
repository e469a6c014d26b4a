//! The load of a loop, and the pause that it makes between two rounds while it is high.

use clearway_units::{Span, Time};

/// The time over which packets are counted.
const WINDOW: Span = Span::from_ms(1);
/// The number of packets in a window from which on the load is high.
const HIGH: u64 = 40;
/// The least time between the starts of two rounds while the load is high.
const ROUND: Span = Span::from_us(50);

/// The number of segments in a window of 1 ms from which on many pass.
const MANY_SEEN: u64 = 2;

/// The load of a loop.
///
/// A wake-up costs as much as ten packets. A loop that wakes up for each packet cannot carry 1 Gbit/s, so under high load
/// it lets some packets gather; under low load, where that would only cost time, it does not.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Load {
    /// The number of packets, of all time, when the window began.
    counted: u64,
    window_end: Time,
    is_high: bool,
    round_end: Time,
    /// The number of segments that were seen, of all time, when the window began, and the time of that.
    seen: u64,
    window_start: Time,
    many_seen: bool,
}

impl Load {
    /// Notes that a round starts, after `packets` packets of all time, of which `seen` are segments that had passed.
    pub fn start_round(&mut self, now: Time, packets: u64, seen: u64) {
        if now >= self.window_end {
            let time = now.saturating_since(self.window_start);
            self.many_seen =
                WINDOW.saturating_mul(seen.saturating_sub(self.seen)) >= time.saturating_mul(MANY_SEEN);
            (self.seen, self.window_start) = (seen, now);
            self.is_high = packets.saturating_sub(self.counted) >= HIGH;
            self.counted = packets;
            self.window_end = now.saturating_add(WINDOW);
        }
        self.round_end = now.saturating_add(ROUND);
    }

    /// Returns true if so many segments pass that a wake-up for each would cost more than it is worth.
    pub fn many_are_seen(&self) -> bool {
        self.many_seen
    }

    /// Returns the time for which the loop lets packets gather before the next round.
    pub fn pause(&self, now: Time) -> Span {
        if self.is_high { self.round_end.saturating_since(now) } else { Span::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO.saturating_add(Span::from_us(us))
    }

    #[test]
    fn rounds_are_apart_only_under_high_load() {
        let mut load = Load::default();
        load.start_round(us(0), 0, 0);
        load.start_round(us(1000), HIGH - 1, 0);
        assert_eq!(load.pause(us(1000)), Span::ZERO);
        load.start_round(us(2000), 2 * HIGH - 1, 0);
        assert_eq!(load.pause(us(2010)), Span::from_us(40));
        assert_eq!(load.pause(us(2060)), Span::ZERO);
        load.start_round(us(3000), 2 * HIGH, 0);
        assert_eq!(load.pause(us(3000)), Span::ZERO);
    }

    #[test]
    fn many_segments_pass_from_two_in_a_millisecond_on() {
        let mut load = Load::default();
        load.start_round(us(1000), 0, 0);
        for (at, seen, many) in [(2000, 1, false), (3000, 3, true), (5000, 7, true), (8000, 12, false)] {
            load.start_round(us(at), seen, seen);
            assert_eq!(load.many_are_seen(), many, "at {at} us");
        }
    }
}
