//! The messages of a flow that one of its ends waits for.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The ends of messages, as offsets in the flow, in their order. A message is done once that many bytes of the flow are.
#[derive(Debug, Serialize, Deserialize)]
pub struct Messages {
    /// The offset after the last byte of the first message; [`u64::MAX`] if there is none.
    first: u64,
    /// Those of the messages behind it: most flows carry one message, and so have none.
    #[allow(clippy::box_collection, reason = "most flows have none, and a word is enough to say so")]
    rest: Option<Box<VecDeque<u64>>>,
}

impl Default for Messages {
    fn default() -> Messages {
        Messages { first: u64::MAX, rest: None }
    }
}

impl Messages {
    /// Adds a message that ends at an offset.
    pub fn push(&mut self, end: u64) {
        if self.first == u64::MAX {
            self.first = end;
        } else {
            self.rest.get_or_insert_default().push_back(end);
        }
    }

    /// Returns whether the first message is done when so many bytes of the flow are.
    #[inline]
    pub fn has_done(&self, bytes: u64) -> bool {
        self.first <= bytes
    }

    /// Takes the first message if it is done when so many bytes of the flow are. Returns whether it was.
    pub fn pop(&mut self, bytes: u64) -> bool {
        let is_done = self.has_done(bytes) && self.first != u64::MAX;
        if is_done {
            self.first = self.rest.as_mut().and_then(|rest| rest.pop_front()).unwrap_or(u64::MAX);
        }
        is_done
    }

    /// Returns the offset after the last byte of the first message, if there is one.
    pub fn first(&self) -> Option<u64> {
        Some(self.first).filter(|&end| end != u64::MAX)
    }

    /// Notes that the flow ends at `total` bytes, where its last message then ends as well.
    pub fn cut_to(&mut self, total: u64) {
        if self.first != u64::MAX {
            self.first = total;
        }
        self.rest.iter_mut().flat_map(|rest| rest.iter_mut()).for_each(|end| *end = total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_done_in_order_once_their_last_byte_is() {
        let mut messages = Messages::default();
        assert!(!messages.has_done(u64::MAX - 1) && !messages.pop(1000));
        messages.push(100);
        messages.push(150);
        assert_eq!(messages.first(), Some(100));
        assert!(!messages.pop(99));
        assert!(messages.has_done(150) && messages.pop(150));
        assert!(!messages.has_done(149) && messages.pop(150));
        assert!(messages.first().is_none() && !messages.pop(150));
    }

    #[test]
    fn a_flow_that_is_cut_ends_its_messages_there() {
        let mut messages = Messages::default();
        messages.cut_to(5);
        assert_eq!(messages.first(), None);
        messages.push(1000);
        messages.push(2000);
        messages.cut_to(300);
        assert!(messages.pop(300) && messages.pop(300) && !messages.pop(300));
    }
}
