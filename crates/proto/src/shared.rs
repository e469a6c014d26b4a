//! Settings and constants that the ends of many flows have in common, in memory that they share.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::any::Any;
use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;

/// The number of different values of which a thread remembers where they stand: those of one transport in a large
/// network differ by the round-trip times and rates of paths.
const REMEMBERED: usize = 32;

thread_local! {
    /// The values that this thread made or looked for last, the most recent one first.
    static NEWEST: RefCell<Vec<Arc<dyn Any + Send + Sync>>> = const { RefCell::new(Vec::new()) };
}

/// A value that never changes, in memory that equal values share if they were made by one thread, one soon after the
/// other. It takes a word, and behaves as if it were a value of its own.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Shared<T>(Arc<T>);

impl<T: PartialEq + Any + Send + Sync> Shared<T> {
    /// Returns the value, in the memory of an equal one if this thread remembers any.
    pub(crate) fn new(value: T) -> Shared<T> {
        NEWEST.with_borrow_mut(|newest| {
            let is_equal = |known: &Arc<dyn Any + Send + Sync>| (**known).downcast_ref() == Some(&value);
            match newest.iter().position(is_equal) {
                Some(at) => newest[..=at].rotate_right(1),
                None => {
                    newest.truncate(REMEMBERED - 1);
                    newest.insert(0, Arc::new(value));
                }
            }
            Shared(newest[0].clone().downcast().expect("it was just found by its type, or put there"))
        })
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de> + PartialEq + Any + Send + Sync> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shared<T>, D::Error> {
        T::deserialize(deserializer).map(Shared::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_of_one_type_share_their_memory_and_others_do_not() {
        let [first, other, again] = [1u32, 2, 1].map(Shared::new);
        assert_eq!((*first, *other, *again), (1, 2, 1));
        assert!(Arc::ptr_eq(&first.0, &again.0));
        assert_eq!(*Shared::new(1u64), 1, "a value of another type is another one");
    }

    #[test]
    fn a_value_is_right_however_many_others_came_in_between() {
        let first = Shared::new(1_000u32);
        assert!((0..100u32).all(|value| *Shared::new(value) == value));
        assert_eq!(Shared::new(1_000), first);
        assert!(NEWEST.with_borrow(|newest| newest.len() <= REMEMBERED));
    }
}
