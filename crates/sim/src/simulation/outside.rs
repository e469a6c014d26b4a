//! What happens once for the whole network, with all of its parts at hand: traffic starts, links fail, somebody looks.

use crate::ids::{FaultId, Id, RecordId, SeriesId, TrafficId};
use crate::model::Model;
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Something that happens to the whole network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Happening {
    /// A traffic entry has its next flow, or its first round, to start.
    Traffic(TrafficId),
    /// A long flow stops.
    Stop(RecordId),
    /// A link fails or recovers.
    Fault(FaultId),
    /// Flow control looks for ports that are stopped for too long.
    Watch,
    /// Flows started or ended, and so fair shares changed.
    Shares,
    /// A sample of a series is due.
    Sample(SeriesId),
    /// The window of measurement opens or closes.
    Window,
}

impl Happening {
    /// Answers whether it only looks. Such come behind all others at one instant, so that they see what it leaves
    /// behind.
    fn only_looks(self) -> bool {
        matches!(self, Happening::Sample(_) | Happening::Window)
    }

    /// The happening in words.
    pub fn told(self, model: &Model) -> String {
        match self {
            Happening::Traffic(traffic) => format!("starts of flows of {}", told_traffic(model, traffic)),
            Happening::Stop(_) => "stops of long flows".into(),
            Happening::Fault(_) => "failures of links".into(),
            Happening::Watch => "looks for ports that are stopped for too long".into(),
            Happening::Shares => "changes of fair shares".into(),
            Happening::Sample(series) => format!("samples of {}", model.samples[series.index()].name),
            Happening::Window => "the window of measurement".into(),
        }
    }
}

/// A traffic entry in words.
pub fn told_traffic(model: &Model, traffic: TrafficId) -> String {
    let entry = &model.traffic[traffic.index()];
    format!("traffic {} under {}", entry.name, entry.transport.info().name)
}

/// What will happen, in order of time; at one instant in the order in which it was scheduled. All events of ports and
/// hosts of that instant come before.
#[derive(Default, Serialize, Deserialize)]
pub struct Outside {
    pending: BTreeMap<(Time, bool, u64), Happening>,
    scheduled: u64,
    /// The number of those pending that only look.
    looks: usize,
}

impl Outside {
    /// Schedules a happening.
    pub fn push(&mut self, at: Time, happening: Happening) {
        self.scheduled += 1;
        self.looks += usize::from(happening.only_looks());
        self.pending.insert((at, happening.only_looks(), self.scheduled), happening);
    }

    /// The time of the first.
    pub fn next_at(&self) -> Option<Time> {
        self.first().map(|(at, _)| at)
    }

    /// The first, with its time.
    pub fn first(&self) -> Option<(Time, Happening)> {
        self.pending.first_key_value().map(|(key, happening)| (key.0, *happening))
    }

    /// Takes the first.
    pub fn pop(&mut self) -> Option<(Time, Happening)> {
        let ((at, ..), happening) = self.pending.pop_first()?;
        self.looks -= usize::from(happening.only_looks());
        Some((at, happening))
    }

    /// Answers whether all that is pending only looks.
    pub fn only_looks(&self) -> bool {
        self.pending.len() == self.looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn looks_come_last_at_their_instant_and_others_in_the_order_of_scheduling() {
        let mut outside = Outside::default();
        let [one, two] = [0, 1].map(TrafficId::from_index);
        let at = Time::from_ps(5);
        outside.push(Time::from_ps(9), Happening::Watch);
        outside.push(at, Happening::Window);
        outside.push(at, Happening::Traffic(two));
        outside.push(at, Happening::Traffic(one));
        assert!(!outside.only_looks());
        assert_eq!(outside.next_at(), Some(at));
        let order: Vec<_> = std::iter::from_fn(|| outside.pop()).map(|(_, happening)| happening).collect();
        let expected =
            [Happening::Traffic(two), Happening::Traffic(one), Happening::Window, Happening::Watch];
        assert_eq!(order, expected);
        outside.push(at, Happening::Window);
        assert!(outside.only_looks());
    }
}
