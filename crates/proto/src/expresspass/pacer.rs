//! The pacer of credits, which sets the time, number and size of the next credit (E17 sec. 3.1).

use crate::rng::Rng;
use clearway_schema::choice;
use clearway_units::{Known, Span, Time};
use serde::{Deserialize, Serialize};

choice! {
    /// The reference of a credit's jitter.
    #[derive(Serialize, Deserialize)]
    pub enum JitterAround {
        /// Jitter is added to a schedule of even gaps, so that it never accumulates and the rate is exact.
        Schedule = "schedule",
        /// Jitter is added to each gap, so that gaps are independent and the phase drifts (the ns-2 code).
        Gap = "gap",
    }
}

/// The settings of a pacer.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PacerConfig {
    /// The jitter as a share of the gap. It is uniform in `[0, jitter]` around a schedule, and in `[-jitter, jitter]`
    /// around a gap.
    pub jitter: f64,
    /// The reference of the jitter.
    pub around: JitterAround,
    /// The least size of a credit on the wire, in bytes. Sizes are drawn uniformly from `size_min..=size_max`.
    pub size_min: u32,
    /// The largest size of a credit on the wire, in bytes.
    pub size_max: u32,
}

/// The number and size of a credit that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreditSlot {
    /// The credit's number.
    pub number: u64,
    /// The credit's size on the wire, in bytes.
    pub wire: u32,
}

/// The pacer of one receiver, which spaces credits by `1 / rate`, with jitter so that flows do not run in lockstep.
///
/// Numbers rise by one with each credit, also after a stop, so that an old echo is never mistaken for a new one. A
/// timer that fires late makes up for at most one gap, since more would be a burst. The settings are the caller's, since
/// many flows have the same ones.
///
/// ```
/// use clearway_proto::expresspass::{CreditPacer, JitterAround, PacerConfig};
/// use clearway_proto::{Entity, Rng};
/// use clearway_units::{Span, Time};
///
/// let config =
///     PacerConfig { jitter: 0.0, around: JitterAround::Schedule, size_min: 84, size_max: 84 };
/// let mut rng = Rng::stream(1, Entity::Receiver, 0);
/// let mut pacer = CreditPacer::new();
/// pacer.start(&config, Time::ZERO, 1e6, &mut rng);
/// assert_eq!(pacer.send(&config, Time::ZERO, &mut rng).number, 0);
/// assert_eq!(pacer.due(), Time::ZERO + Span::from_us(1));
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreditPacer {
    /// The number of the next credit.
    number: u64,
    /// The time between two credits, or [`Span::MAX`] at rate zero.
    gap: Span,
    /// The scheduled time of the last credit since the start, before jitter.
    last: Known<Time>,
    /// The scheduled time of the next credit, before jitter; [`Time::MAX`] while stopped.
    next: Time,
    /// The jitter of the next credit, as a share of the gap.
    offset: f64,
    /// The time at which the next credit leaves.
    due: Time,
}

impl Default for CreditPacer {
    fn default() -> CreditPacer {
        CreditPacer::new()
    }
}

impl CreditPacer {
    /// Makes a pacer that is stopped.
    pub fn new() -> CreditPacer {
        CreditPacer {
            number: 0,
            gap: Span::MAX,
            last: Known::NONE,
            next: Time::MAX,
            offset: 0.0,
            due: Time::MAX,
        }
    }

    /// Starts at `rate` credits per second. The first credit is due at once, plus its jitter around a schedule. Around
    /// a gap it has no jitter, since no gap precedes it.
    pub fn start(&mut self, config: &PacerConfig, now: Time, rate: f64, rng: &mut Rng) {
        (self.gap, self.last, self.next) = (gap(rate), Known::NONE, now);
        match config.around {
            JitterAround::Schedule => self.draw_offset(config, rng),
            JitterAround::Gap => self.offset = 0.0,
        }
        self.schedule();
    }

    /// Changes the rate. The next credit is due one new gap after the last one, or now if that is past.
    pub fn set_rate(&mut self, now: Time, rate: f64) {
        let gap = gap(rate);
        if gap == self.gap {
            return;
        }
        self.gap = gap;
        if let Some(last) = self.last.get() {
            self.next = last.saturating_add(gap).max(now);
        }
        self.schedule();
    }

    /// Changes the rate from the gap after the next credit on. The next credit leaves when it was due.
    pub fn set_rate_after_next(&mut self, rate: f64) {
        self.gap = gap(rate);
    }

    /// Stops: no credit is due until the next start.
    pub fn stop(&mut self) {
        (self.last, self.next) = (Known::NONE, Time::MAX);
        (self.offset, self.due) = (0.0, Time::MAX);
    }

    /// Returns the time at which the next credit leaves, or [`Time::MAX`] while stopped or at rate zero.
    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Returns the number of the next credit.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the credit that is due and schedules the next one.
    #[inline]
    pub fn send(&mut self, config: &PacerConfig, now: Time, rng: &mut Rng) -> CreditSlot {
        debug_assert!(now >= self.due, "a credit before its time");
        let slot = match config.around {
            JitterAround::Schedule => {
                self.next.max(Time::from_ps(now.as_ps().saturating_sub(self.gap.as_ps())))
            }
            JitterAround::Gap => now,
        };
        self.last = Known::some(slot);
        self.next = slot.saturating_add(self.gap);
        self.draw_offset(config, rng);
        self.schedule();
        let spread = (config.size_max - config.size_min) as u64;
        let extra = if spread == 0 { 0 } else { rng.below(spread + 1) as u32 };
        let credit = CreditSlot { number: self.number, wire: config.size_min + extra };
        self.number += 1;
        credit
    }

    /// Draws the jitter of the next credit.
    #[inline(always)]
    fn draw_offset(&mut self, config: &PacerConfig, rng: &mut Rng) {
        let PacerConfig { jitter, around, .. } = *config;
        self.offset = match around {
            _ if jitter == 0.0 => 0.0,
            JitterAround::Schedule => jitter * rng.unit(),
            JitterAround::Gap => jitter * (2.0 * rng.unit() - 1.0),
        };
    }

    /// Sets the time of the next credit from its scheduled time and its jitter.
    fn schedule(&mut self) {
        if self.gap == Span::MAX {
            self.due = Time::MAX;
            return;
        }
        let shift = self.gap.mul_f64(self.offset.abs());
        self.due = if self.offset < 0.0 { self.next - shift } else { self.next.saturating_add(shift) };
    }
}

/// Returns the gap between credits at `rate`, or [`Span::MAX`] at zero, where no credit leaves.
fn gap(rate: f64) -> Span {
    if rate > 0.0 { Span::from_secs_f64(1.0 / rate) } else { Span::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Entity;

    const EVEN: PacerConfig =
        PacerConfig { jitter: 0.0, around: JitterAround::Schedule, size_min: 84, size_max: 84 };

    fn rng() -> Rng {
        Rng::stream(1, Entity::Receiver, 0)
    }

    fn run(config: PacerConfig, rate: f64, count: usize) -> Vec<(Time, CreditSlot)> {
        let (mut pacer, mut rng) = (CreditPacer::new(), rng());
        pacer.start(&config, Time::ZERO, rate, &mut rng);
        (0..count).map(|_| (pacer.due(), pacer.send(&config, pacer.due(), &mut rng))).collect()
    }

    #[test]
    fn credits_leave_one_gap_apart_and_are_numbered_from_zero() {
        let sent = run(EVEN, 1e6, 4);
        let expected: Vec<_> = (0..4).map(|i| (Time::from_ps(i * 1_000_000), i)).collect();
        assert_eq!(sent.iter().map(|(at, slot)| (*at, slot.number)).collect::<Vec<_>>(), expected);
        assert!(sent.iter().all(|(_, slot)| slot.wire == 84));
    }

    #[test]
    fn jitter_around_a_schedule_stays_within_j_gaps_and_never_adds_up() {
        // E17-10.
        let sent = run(PacerConfig { jitter: 0.08, ..EVEN }, 1e6, 10_000);
        let mut late = 0;
        for (i, (at, _)) in sent.iter().enumerate() {
            let slot = i as u64 * 1_000_000;
            assert!((slot..=slot + 80_000).contains(&at.as_ps()), "credit {i} at {at}");
            late += (at.as_ps() - slot > 40_000) as u32;
        }
        assert!((4_500..5_500).contains(&late), "uniform: {late} in the upper half");
    }

    #[test]
    fn jitter_around_the_gap_is_symmetric_as_in_the_ns2_code() {
        let sent = run(PacerConfig { jitter: 0.1, around: JitterAround::Gap, ..EVEN }, 1e6, 10_000);
        let gaps: Vec<u64> = sent.windows(2).map(|pair| (pair[1].0 - pair[0].0).as_ps()).collect();
        assert!(gaps.iter().all(|gap| (900_000..=1_100_000).contains(gap)));
        let mean = gaps.iter().sum::<u64>() / gaps.len() as u64;
        assert!((998_000..1_002_000).contains(&mean), "{mean}");
    }

    #[test]
    fn around_a_gap_the_first_credit_leaves_at_once() {
        let config = PacerConfig { jitter: 0.1, around: JitterAround::Gap, ..EVEN };
        let mut rng = rng();
        for start in 0..20 {
            let (mut pacer, at) = (CreditPacer::new(), Time::ZERO + Span::from_us(start));
            pacer.start(&config, at, 1e4, &mut rng);
            assert_eq!(pacer.due(), at, "a gap of 100 us, whose jitter could be 10 us");
        }
    }

    #[test]
    fn a_rate_from_the_next_gap_on_does_not_move_the_next_credit() {
        let (mut pacer, mut rng) = (CreditPacer::new(), rng());
        let us = |us| Time::ZERO + Span::from_us(us);
        pacer.start(&EVEN, us(0), 1e5, &mut rng);
        pacer.send(&EVEN, us(0), &mut rng);
        pacer.set_rate_after_next(1e6);
        assert_eq!(pacer.due(), us(10));
        pacer.send(&EVEN, us(10), &mut rng);
        assert_eq!(pacer.due(), us(11));
    }

    #[test]
    fn sizes_are_uniform_from_84_to_92() {
        let mut counts = [0u32; 9];
        let sent = run(PacerConfig { size_max: 92, ..EVEN }, 1e6, 9_000);
        sent.iter().for_each(|(_, slot)| counts[slot.wire as usize - 84] += 1);
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_higher_rate_counts_from_the_last_credit_and_causes_no_burst() {
        let (mut pacer, mut rng) = (CreditPacer::new(), rng());
        let us = |us| Time::ZERO + Span::from_us(us);
        pacer.start(&EVEN, us(0), 1e4, &mut rng);
        pacer.send(&EVEN, us(0), &mut rng);
        assert_eq!(pacer.due(), us(100));
        pacer.set_rate(us(10), 5e4);
        assert_eq!(pacer.due(), us(20));
        pacer.set_rate(us(15), 1e6);
        assert_eq!(pacer.due(), us(15), "the new gap is past already");
        pacer.send(&EVEN, us(15), &mut rng);
        assert_eq!(pacer.due(), us(16), "and what was missed is not made up for");
    }

    #[test]
    fn a_late_timer_makes_up_for_one_gap_only() {
        let (mut pacer, mut rng) = (CreditPacer::new(), rng());
        let us = |us| Time::ZERO + Span::from_us(us);
        pacer.start(&EVEN, us(0), 1e6, &mut rng);
        pacer.send(&EVEN, us(50), &mut rng);
        assert_eq!(pacer.due(), us(50));
        pacer.send(&EVEN, us(50), &mut rng);
        assert_eq!(pacer.due(), us(51));
    }

    #[test]
    fn at_rate_zero_and_after_a_stop_no_credit_is_due() {
        let (mut pacer, mut rng) = (CreditPacer::new(), rng());
        pacer.start(&EVEN, Time::ZERO, 1e6, &mut rng);
        pacer.set_rate(Time::ZERO, 0.0);
        assert_eq!(pacer.due(), Time::MAX);
        pacer.set_rate(Time::ZERO, 1e6);
        assert_eq!(pacer.due(), Time::ZERO);
        pacer.stop();
        pacer.set_rate(Time::ZERO, 2e6);
        assert_eq!(pacer.due(), Time::MAX);
    }

    #[test]
    fn numbers_continue_after_a_stop() {
        let (mut pacer, mut rng) = (CreditPacer::new(), rng());
        pacer.start(&EVEN, Time::ZERO, 1e6, &mut rng);
        pacer.send(&EVEN, Time::ZERO, &mut rng);
        pacer.stop();
        pacer.start(&EVEN, Time::ZERO, 1e6, &mut rng);
        assert_eq!(pacer.send(&EVEN, Time::ZERO, &mut rng).number, 1);
    }
}
