//! A queue that usually holds one item.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Items, first in, first out. Only more than one of them take memory of their own.
#[derive(Debug, Serialize, Deserialize)]
pub struct Few<T> {
    first: Option<T>,
    #[allow(clippy::box_collection, reason = "most flows have none, and a word is enough to say so")]
    rest: Option<Box<VecDeque<T>>>,
}

impl<T> Default for Few<T> {
    fn default() -> Few<T> {
        Few { first: None, rest: None }
    }
}

impl<T> Few<T> {
    /// Adds an item at the end. Answers whether it is the only one.
    pub fn push(&mut self, item: T) -> bool {
        let is_only = self.first.is_none();
        if is_only {
            self.first = Some(item);
        } else {
            self.rest.get_or_insert_default().push_back(item);
        }
        is_only
    }

    /// Takes the first item.
    pub fn pop(&mut self) -> Option<T> {
        let next = self.rest.as_mut().and_then(|rest| rest.pop_front());
        std::mem::replace(&mut self.first, next)
    }

    /// The first item.
    pub fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// All items in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.rest.iter().flat_map(|rest| rest.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_leave_in_the_order_in_which_they_came() {
        let mut few = Few::default();
        assert_eq!((few.pop(), few.first()), (None, None));
        assert!(few.push(1) && !few.push(2) && !few.push(3));
        assert_eq!((few.pop(), few.first()), (Some(1), Some(&2)));
        assert!(!few.push(4));
        assert_eq!(few.iter().copied().collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!([few.pop(), few.pop(), few.pop(), few.pop()], [Some(2), Some(3), Some(4), None]);
        assert!(few.push(5), "it is the only one again");
    }
}
