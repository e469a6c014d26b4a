//! The clock of a loop.

use super::error::IoError;
use clearway_units::{Span, Time};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// A clock that never jumps, and counts from its start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(TimeSpec);

impl Clock {
    /// Starts a clock.
    pub fn start() -> Result<Clock, IoError> {
        clock_gettime(ClockId::CLOCK_MONOTONIC).map(Clock).map_err(IoError::socket("cannot read the clock"))
    }

    /// Returns the kernel's time at the start, in nanoseconds.
    pub fn start_ns(&self) -> u64 {
        self.0.tv_sec().max(0) as u64 * 1_000_000_000 + self.0.tv_nsec() as u64
    }

    /// Returns the kernel's time for a time of this clock, in nanoseconds.
    pub fn kernel_ns(&self, time: Time) -> u64 {
        self.start_ns().saturating_add(time.as_ps() / 1_000)
    }

    /// Returns the time since the start.
    pub fn now(&self) -> Time {
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap_or(self.0) - self.0;
        Time::ZERO
            .saturating_add(Span::from_secs(now.tv_sec().max(0) as u64) + Span::from_ns(now.tv_nsec() as u64))
    }
}

/// Returns a span in the form in which the kernel wants it, rounded up.
pub(super) fn timespec(span: Span) -> TimeSpec {
    let ns = span.as_ps().div_ceil(1_000);
    TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64)
}
