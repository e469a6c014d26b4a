//! The byte stream of a flow: operations of the application on it, and the model of what of it arrived.

use clearway_units::Rate;
use std::collections::BTreeMap;
use std::ops::Range;

/// An operation of the application, or of the oracle, on the sending end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// The application hands over this many bytes.
    Write(u64),
    /// The application ends the flow.
    Close,
    /// The application takes back what was not sent, and ends the flow.
    Truncate,
    /// The oracle tells the flow its fair share of the network.
    SetRate(Rate),
}

/// The model of the stream of a flow, by which its two ends are judged: the ranges of bytes that arrived at the
/// receiver.
#[derive(Clone, Default, Debug)]
pub struct Stream {
    /// The start of each range, with its end. Ranges neither overlap nor touch.
    arrived: BTreeMap<u64, u64>,
}

impl Stream {
    /// Notes that a range of bytes arrived.
    pub fn add(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        while let Some((&before, &until)) = self.arrived.range(..=end).next_back() {
            if until < start {
                break;
            }
            (start, end) = (start.min(before), end.max(until));
            self.arrived.remove(&before);
        }
        self.arrived.insert(start, end);
    }

    /// The number of bytes from the first on that arrived without a gap: the most that the receiver may deliver.
    pub fn prefix(&self) -> u64 {
        self.arrived.get(&0).copied().unwrap_or(0)
    }
}
