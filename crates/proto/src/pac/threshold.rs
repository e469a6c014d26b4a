//! The threshold of the traffic in flight (sec. III-B).

use clearway_units::Bytes;
use serde::{Deserialize, Serialize};

/// The threshold of the traffic in flight, which adapts to the share of marked packets (eq. (2)).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Threshold {
    /// The threshold, in bytes.
    value: f64,
    /// The largest threshold, which is the switch's buffer, in bytes.
    limit: f64,
    /// The least threshold, in bytes.
    floor: f64,
    /// The number of packets that arrived in this control interval.
    packets: u64,
    /// The number of marked packets among them.
    marked: u64,
}

impl Threshold {
    /// Makes a threshold that starts at `buffer`, the size of the switch's buffer, and moves between `floor` and
    /// `buffer`. Without `adapts` it stays at `buffer`.
    pub fn new(buffer: Bytes, floor: Bytes, adapts: bool) -> Threshold {
        let limit = buffer.get() as f64;
        let floor = if adapts { (floor.get() as f64).min(limit) } else { limit };
        Threshold { value: limit, limit, floor, packets: 0, marked: 0 }
    }

    /// Returns the threshold, in bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.value as u64
    }

    /// Counts a packet that arrived.
    #[inline]
    pub fn count(&mut self, marked: bool) {
        self.packets += 1;
        self.marked += marked as u64;
    }

    /// Ends a control interval: adapts the threshold and returns `alpha`, the share of marked packets. An interval
    /// without packets changes nothing.
    pub fn close_interval(&mut self) -> f64 {
        if self.packets == 0 {
            return 0.0;
        }
        let alpha = self.marked as f64 / self.packets as f64;
        (self.packets, self.marked) = (0, 0);
        self.value = if alpha > 0.0 {
            (self.value * (1.0 - alpha / 2.0)).max(self.floor)
        } else {
            (2.0 * self.value).min(self.limit)
        };
        alpha
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(threshold: &mut Threshold, packets: u64, marked: u64) -> f64 {
        (0..packets).for_each(|packet| threshold.count(packet < marked));
        threshold.close_interval()
    }

    #[test]
    fn marks_cut_the_threshold_by_half_their_share_and_their_absence_doubles_it_equation_2() {
        let mut threshold = Threshold::new(Bytes::new(80_000), Bytes::new(3000), true);
        assert_eq!(threshold.bytes(), 80_000, "it starts at the buffer's size");
        assert_eq!(interval(&mut threshold, 10, 5), 0.5);
        assert_eq!(threshold.bytes(), 60_000);
        interval(&mut threshold, 10, 10);
        assert_eq!(threshold.bytes(), 30_000);
        interval(&mut threshold, 10, 0);
        assert_eq!(threshold.bytes(), 60_000);
        interval(&mut threshold, 10, 0);
        assert_eq!(threshold.bytes(), 80_000, "never above the buffer's size");
    }

    #[test]
    fn the_threshold_moves_once_per_interval_and_not_per_packet_pac_1() {
        let mut threshold = Threshold::new(Bytes::new(80_000), Bytes::ZERO, true);
        (0..50).for_each(|_| threshold.count(true));
        assert_eq!(threshold.bytes(), 80_000);
        threshold.close_interval();
        assert_eq!(threshold.bytes(), 40_000);
    }

    #[test]
    fn the_threshold_never_falls_below_the_floor_pac_2() {
        let mut threshold = Threshold::new(Bytes::new(80_000), Bytes::new(3000), true);
        (0..50).for_each(|_| _ = interval(&mut threshold, 1, 1));
        assert_eq!(threshold.bytes(), 3000);
    }

    #[test]
    fn an_interval_without_packets_leaves_the_threshold() {
        let mut threshold = Threshold::new(Bytes::new(80_000), Bytes::ZERO, true);
        interval(&mut threshold, 1, 1);
        assert_eq!(threshold.close_interval(), 0.0);
        assert_eq!(threshold.bytes(), 40_000);
    }

    #[test]
    fn without_equation_2_the_threshold_stays_at_the_buffer_as_in_the_authors_code() {
        let mut threshold = Threshold::new(Bytes::new(80_000), Bytes::new(3000), false);
        (0..50).for_each(|_| _ = interval(&mut threshold, 1, 1));
        assert_eq!(threshold.bytes(), 80_000);
        assert_eq!(interval(&mut threshold, 10, 5), 0.5, "eq. (6) still needs the share of marks");
    }
}
