//! Values of one type in an array, where those that went make room for others.

use serde::{Deserialize, Serialize};

/// Values of one type, found by their places. The place of one that was removed is used again, so that values that come
/// and go ask the allocator for nothing.
#[derive(Serialize, Deserialize)]
pub(crate) struct Shelf<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Shelf<T> {
        Shelf { values: Vec::new(), free: Vec::new() }
    }
}

impl<T> Shelf<T> {
    /// The bytes that a value takes.
    pub(crate) const BYTES: usize = size_of::<Option<T>>();

    /// Adds a value and returns its place.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.values[at as usize] = Some(value);
            return at;
        }
        self.values.push(Some(value));
        u32::try_from(self.values.len() - 1).expect("fewer than 2^32 values")
    }

    /// Removes the value of a place.
    pub(crate) fn remove(&mut self, at: u32) {
        self.values[at as usize] = None;
        self.free.push(at);
    }

    /// Takes the value of a place over from another shelf, and returns its place here.
    ///
    /// # Panics
    /// Panics if it was removed.
    pub(crate) fn take_over(&mut self, other: &mut Shelf<T>, at: u32) -> u32 {
        let value = other.values[at as usize].take().expect("a place is given up with its value");
        other.free.push(at);
        self.insert(value)
    }

    /// Returns the value of a place, to be changed.
    ///
    /// # Panics
    /// Panics if it was removed.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, at: u32) -> &mut T {
        self.values[at as usize].as_mut().expect("a place is given up with its value")
    }

    /// Returns the address of the value of a place, to be fetched ahead.
    #[inline]
    pub(crate) fn address(&self, at: u32) -> *const u8 {
        self.values.get(at as usize).map_or(std::ptr::null(), |value| std::ptr::from_ref(value).cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_value_that_was_removed_is_used_again() {
        let mut shelf = Shelf::default();
        let [first, second] = ["first", "second"].map(|value| shelf.insert(value));
        shelf.remove(first);
        assert_eq!(shelf.insert("third"), first);
        assert_eq!((*shelf.get_mut(first), *shelf.get_mut(second)), ("third", "second"));
        assert_eq!(shelf.values.len(), 2);
    }

    #[test]
    fn a_value_that_is_taken_over_leaves_its_place() {
        let (mut shelf, mut other) = (Shelf::default(), Shelf::default());
        let [first, second] = ["first", "second"].map(|value| other.insert(value));
        let place = shelf.take_over(&mut other, first);
        assert_eq!((*shelf.get_mut(place), *other.get_mut(second)), ("first", "second"));
        assert_eq!(other.insert("third"), first);
    }
}
