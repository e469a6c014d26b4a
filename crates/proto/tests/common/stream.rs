//! The byte stream of a flow: what the application does with it, and what of it arrived.

use std::collections::BTreeMap;

/// What an application does at the sender.
#[derive(Clone, Copy, Debug)]
pub enum Do {
    /// Hands over bytes.
    Write(u64),
    /// Ends the flow.
    Close,
    /// Takes back what was not sent and ends the flow.
    Truncate,
}

/// The model of the byte stream: ranges that arrived at the receiver.
#[derive(Default)]
pub struct Arrived(BTreeMap<u64, u64>);

impl Arrived {
    /// Bytes from `start` to `end` arrived.
    pub fn add(&mut self, start: u64, end: u64) {
        let (mut start, mut end) = (start, end);
        while let Some((&s, &e)) = self.0.range(..=end).next_back() {
            if e < start {
                break;
            }
            (start, end) = (start.min(s), end.max(e));
            self.0.remove(&s);
        }
        self.0.insert(start, end);
    }

    /// How many from the first on: what the receiver must deliver.
    pub fn prefix(&self) -> u64 {
        self.0.get(&0).copied().unwrap_or(0)
    }
}
