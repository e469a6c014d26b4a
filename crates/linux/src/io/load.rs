//! The load of a loop, and the pause that it makes between two rounds while it is high.

use clearway_units::{Span, Time};

/// The time over which packets are counted.
const WINDOW: Span = Span::from_ms(1);
/// The number of packets in a window from which on the load is high.
const HIGH: u64 = 40;
/// The least time between the starts of two rounds while the load is high.
const ROUND: Span = Span::from_us(50);

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
}

impl Load {
    /// Notes that a round starts, after `packets` packets of all time.
    pub fn start_round(&mut self, now: Time, packets: u64) {
        if now >= self.window_end {
            self.is_high = packets.saturating_sub(self.counted) >= HIGH;
            self.counted = packets;
            self.window_end = now.saturating_add(WINDOW);
        }
        self.round_end = now.saturating_add(ROUND);
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
        load.start_round(us(0), 0);
        load.start_round(us(1000), HIGH - 1);
        assert_eq!(load.pause(us(1000)), Span::ZERO);
        load.start_round(us(2000), 2 * HIGH - 1);
        assert_eq!(load.pause(us(2010)), Span::from_us(40));
        assert_eq!(load.pause(us(2060)), Span::ZERO);
        load.start_round(us(3000), 2 * HIGH);
        assert_eq!(load.pause(us(3000)), Span::ZERO);
    }
}
