//! A value that may not be known yet, in no more room than itself.

use crate::{Span, Time};
use serde::{Deserialize, Serialize};

/// A value that may not be known yet. The largest value of its type, which no run reaches, stands for that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Known<T>(T);

/// A type with a largest value.
pub trait Bounded: Copy + PartialEq {
    /// The largest value.
    const MAX: Self;
}

impl Bounded for u64 {
    const MAX: u64 = u64::MAX;
}

impl Bounded for Time {
    const MAX: Time = Time::MAX;
}

impl Bounded for Span {
    const MAX: Span = Span::MAX;
}

impl<T: Bounded> Known<T> {
    /// A value that is not known yet.
    pub const NONE: Known<T> = Known(T::MAX);

    /// Returns a value that is known.
    #[inline]
    pub fn some(value: T) -> Known<T> {
        Known(value)
    }

    /// Returns the value, if it is known.
    #[inline]
    pub fn get(self) -> Option<T> {
        (self.0 != T::MAX).then_some(self.0)
    }
}

impl<T: Bounded> From<Option<T>> for Known<T> {
    fn from(value: Option<T>) -> Known<T> {
        value.map_or(Known::NONE, Known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_may_be_unknown_takes_no_more_room_than_itself_and_comes_back() {
        assert_eq!(size_of::<Known<u64>>(), size_of::<u64>());
        for value in [None, Some(0), Some(u64::MAX - 1)] {
            assert_eq!(Known::from(value).get(), value);
        }
    }
}
