//! A queue of one flow that takes little while nothing was in it yet.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A queue that takes a word until something is put in, since most flows of a busy host wait for their first credit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Queue<T>(
    #[allow(clippy::box_collection, reason = "a word is enough to say that nothing was in it yet")]
    Option<Box<VecDeque<T>>>,
);

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue(None)
    }
}

impl<T> Queue<T> {
    /// Returns all that is in the queue, to be changed.
    #[inline]
    pub(super) fn all(&mut self) -> &mut VecDeque<T> {
        // Many flows are short, or send one frame at a time.
        self.0.get_or_insert_with(|| Box::new(VecDeque::with_capacity(1)))
    }

    /// Returns true if nothing is in the queue.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.front().is_none()
    }

    /// Returns the number of items.
    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |items| items.len())
    }

    /// Returns the first item.
    #[inline]
    pub(super) fn front(&self) -> Option<&T> {
        self.0.as_ref()?.front()
    }

    /// Returns the last item, to be changed.
    #[inline]
    pub(super) fn back_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()?.back_mut()
    }

    /// Removes and returns the first item.
    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<T> {
        self.0.as_mut()?.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_takes_a_word_and_keeps_the_order_of_its_items() {
        let mut queue = Queue::default();
        assert_eq!(size_of_val(&queue), size_of::<usize>());
        assert_eq!((queue.is_empty(), queue.len(), queue.front()), (true, 0, None));
        assert_eq!(queue.pop_front(), None);
        queue.all().extend([1, 2, 3]);
        *queue.back_mut().unwrap() = 4;
        assert_eq!((queue.len(), queue.front()), (3, Some(&1)));
        assert_eq!([queue.pop_front(), queue.pop_front(), queue.pop_front()], [Some(1), Some(2), Some(4)]);
        assert!(queue.is_empty());
    }
}
