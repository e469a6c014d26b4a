//! A link: the time that a frame takes to leave for it, without a division for each frame, and its random loss.

use crate::model::truncated_time;
use clearway_proto::{Framing, Rng};
use clearway_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// A link, and how the time is computed that a frame of any size takes on it: without a division, which costs more
/// than all else that is done for a frame, for nearly all frames.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Link {
    /// The rate at which the next frame is sent.
    rate: Rate,
    /// The times of the two sizes that nearly all frames have.
    full: Span,
    smallest: Span,
    full_wire: u32,
    smallest_wire: u32,
    /// Drop the fraction of a nanosecond of a frame's time, as HPCC's ns-3 code does.
    whole_ns: bool,
    /// Set if the times of frames do not follow from their bytes: they are cut to whole nanoseconds, or the rate changes.
    is_timed: bool,
    /// The time that all frames took that were put on the link.
    busy: Span,
    /// The rates that the link had before, each with the time by which the last frame at that rate has left, in order.
    earlier: Vec<(Time, Rate)>,
}

impl Link {
    /// Returns a link of `rate`.
    pub fn new(rate: Rate, framing: Framing, whole_ns: bool) -> Link {
        Link {
            rate,
            full: time_to_send(rate, framing.wire_max(), whole_ns),
            smallest: time_to_send(rate, framing.wire_min, whole_ns),
            full_wire: framing.wire_max(),
            smallest_wire: framing.wire_min,
            whole_ns,
            is_timed: whole_ns,
            busy: Span::ZERO,
            earlier: Vec::new(),
        }
    }

    /// Returns the link as one whose rate may change.
    pub fn changing(self) -> Link {
        Link { is_timed: true, ..self }
    }

    /// Frames that begin from now on are sent at another rate. Those that have begun have left by `left`.
    pub fn set_rate(&mut self, rate: Rate, left: Time) {
        debug_assert!(self.is_timed, "the times of its frames follow from their bytes");
        self.earlier.push((left, self.rate));
        self.rate = rate;
        self.full = time_to_send(rate, self.full_wire, self.whole_ns);
        self.smallest = time_to_send(rate, self.smallest_wire, self.whole_ns);
    }

    /// Returns whether the rate has changed yet.
    pub fn has_changed(&self) -> bool {
        !self.earlier.is_empty()
    }

    /// Returns the time that a frame of `wire` bytes took that has left at `done`, or leaves then: at the rate that the
    /// link had when it began.
    pub fn time_taken(&self, wire: u32, done: Time) -> Span {
        match self.earlier.iter().find(|(left, _)| done <= *left) {
            Some(&(_, rate)) => time_to_send(rate, wire, self.whole_ns),
            None => self.time_to_send(wire),
        }
    }

    /// Returns the time that a byte takes, if the times of frames follow from it.
    pub fn byte_time(&self) -> Option<ByteTime> {
        NonZeroU32::new(whole_byte(self.rate)).filter(|_| !self.is_timed).map(ByteTime)
    }

    /// A frame of `wire` bytes is put on the link. Returns the time that it takes to leave.
    pub fn start_frame(&mut self, wire: u32) -> Span {
        let time = self.time_to_send(wire);
        self.busy += time;
        time
    }

    /// Returns the time that all frames took that were put on the link, if it does not follow from their bytes.
    pub fn busy(&self) -> Option<Span> {
        self.is_timed.then_some(self.busy)
    }

    /// Returns the time that a frame of `wire` bytes takes to leave.
    pub fn time_to_send(&self, wire: u32) -> Span {
        if wire == self.full_wire {
            self.full
        } else if wire == self.smallest_wire {
            self.smallest
        } else {
            time_to_send(self.rate, wire, self.whole_ns)
        }
    }
}

/// The picoseconds that a byte takes on a link, if that is a whole number: the time of a frame follows without a division
/// or a look at the link.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ByteTime(NonZeroU32);

impl ByteTime {
    /// Returns the time that a frame of `wire` bytes takes to leave.
    #[inline]
    pub fn of_frame(self, wire: u32) -> Span {
        Span::from_ps(u64::from(wire) * u64::from(self.0.get()))
    }
}

/// Returns the picoseconds that a byte takes at `rate`, if that is a whole number below 2^32; else 0.
fn whole_byte(rate: Rate) -> u32 {
    const PS_TIMES_BITS: u64 = 8_000_000_000_000;
    match rate.as_bps() {
        0 => 0,
        bps if !PS_TIMES_BITS.is_multiple_of(bps) => 0,
        bps => u32::try_from(PS_TIMES_BITS / bps).unwrap_or(0),
    }
}

/// Returns the time that `wire` bytes take at `rate`.
fn time_to_send(rate: Rate, wire: u32, whole_ns: bool) -> Span {
    let size = Bytes::new(wire as u64);
    if whole_ns { truncated_time(rate, size) } else { rate.time_to_send(size) }
}

/// Random loss on a link, packet by packet.
#[derive(Serialize, Deserialize)]
pub struct Loss {
    /// The probability with which a packet is lost.
    pub probability: f64,
    /// The randomness of the link.
    pub rng: Rng,
}

impl Loss {
    /// Draws whether a packet is lost.
    pub fn strikes(&mut self) -> bool {
        self.rng.unit() < self.probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_of_picoseconds_a_byte_gives_the_time_that_a_division_gives() {
        let rates = [1, 10, 25, 40, 56, 100, 200, 300, 400, 1_600].map(Rate::gbps);
        for rate in rates.into_iter().chain([Rate::mbps(1), Rate::mbps(333)]) {
            for whole_ns in [false, true] {
                let link = Link::new(rate, Framing::ETHERNET, whole_ns);
                for wire in 1..=1538 {
                    let exact = time_to_send(rate, wire, whole_ns);
                    assert_eq!(link.time_to_send(wire), exact, "{rate}, {wire} B");
                    let by_bytes = link.byte_time().map(|byte| byte.of_frame(wire));
                    assert!(by_bytes.is_none_or(|time| time == exact), "{rate}, {wire} B, {by_bytes:?}");
                }
            }
        }
        assert_eq!([10, 100, 400].map(|gbps| whole_byte(Rate::gbps(gbps))), [800, 80, 20]);
        assert_eq!(whole_byte(Rate::gbps(300)), 0, "26 2/3 ps a byte");
        assert_eq!(whole_byte(Rate::bps(1_000)), 0, "8 ms a byte");
    }

    #[test]
    fn the_time_in_which_a_link_is_busy_is_counted_where_it_does_not_follow_from_bytes() {
        for (whole_ns, busy) in [(false, None), (true, Some(Span::from_ns(123 + 6 + 9)))] {
            let mut link = Link::new(Rate::gbps(100), Framing::ETHERNET, whole_ns);
            for wire in [1538, 84, 120] {
                link.start_frame(wire);
            }
            assert_eq!(link.busy(), busy, "123.04, 6.72 and 9.6 ns");
            assert_eq!(link.byte_time().is_none(), whole_ns);
        }
    }

    #[test]
    fn a_link_that_becomes_slower_sends_the_next_frame_at_the_new_rate_and_counts_the_time_of_each() {
        let at = |ns| Time::ZERO + Span::from_ns(ns);
        let mut link = Link::new(Rate::gbps(100), Framing::ETHERNET, false).changing();
        assert!(link.byte_time().is_none() && !link.has_changed());
        assert_eq!(link.start_frame(125), Span::from_ns(10));
        link.set_rate(Rate::gbps(10), at(30));
        assert_eq!(link.start_frame(125), Span::from_ns(100));
        assert_eq!(link.start_frame(1538), Span::from_ps(1_230_400), "the time of a full frame is another");
        assert_eq!(link.start_frame(84), Span::from_ps(67_200), "that of the smallest, too");
        link.set_rate(Rate::gbps(100), at(2_000));
        assert_eq!(link.start_frame(125), Span::from_ns(10));
        assert_eq!(link.busy(), Some(Span::from_ps(120_000 + 1_230_400 + 67_200)));
        let taken = [30, 31, 2_000, 2_001].map(|done| link.time_taken(125, at(done)));
        assert_eq!(taken, [10, 100, 100, 10].map(Span::from_ns));
    }
}
