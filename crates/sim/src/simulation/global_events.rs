//! Events of the whole network, which are handled while all regions stand at a barrier: traffic starts, links fail,
//! samples are taken.

use crate::ids::{FaultId, Id, RecordId, SeriesId, TrafficId};
use crate::model::Model;
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An event of the whole network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum GlobalEvent {
    /// A traffic entry has its next flow, or its first round, to start.
    Traffic(TrafficId),
    /// A message begins that waited for others.
    Message {
        /// Its traffic entry.
        traffic: TrafficId,
        /// The message.
        message: u32,
    },
    /// A long flow stops.
    Stop(RecordId),
    /// A link fails, recovers, or changes its rate.
    Fault(FaultId),
    /// Flow control looks for ports that are stopped for too long.
    Watch,
    /// Flows started or ended, and so fair shares changed.
    Shares,
    /// A sample of a series is due.
    Sample(SeriesId),
    /// The window of measurement opens or closes.
    Window,
    /// Routing notices that a link failed or recovered.
    Noticed(FaultId),
}

impl GlobalEvent {
    /// Returns whether the event only reads the state. Such events come behind all others at one instant, so that they
    /// see what it leaves behind.
    fn only_looks(self) -> bool {
        matches!(self, GlobalEvent::Sample(_) | GlobalEvent::Window)
    }

    /// Returns the event in words.
    pub fn told(self, model: &Model) -> String {
        match self {
            GlobalEvent::Traffic(traffic) | GlobalEvent::Message { traffic, .. } => {
                format!("starts of flows of {}", model.traffic[traffic.index()].told())
            }
            GlobalEvent::Stop(_) => "stops of long flows".into(),
            GlobalEvent::Fault(_) => "failures of links".into(),
            GlobalEvent::Watch => "looks for ports that are stopped for too long".into(),
            GlobalEvent::Shares => "changes of fair shares".into(),
            GlobalEvent::Sample(series) => format!("samples of {}", model.samples[series.index()].name),
            GlobalEvent::Window => "the window of measurement".into(),
            GlobalEvent::Noticed(_) => "failures of links that routing notices".into(),
        }
    }
}

/// The pending events of the whole network, in order of time; at one instant in the order in which they were scheduled.
/// All events of ports and hosts of that instant come before them.
#[derive(Default, Serialize, Deserialize)]
pub struct GlobalEvents {
    pending: BTreeMap<(Time, bool, u64), GlobalEvent>,
    scheduled: u64,
    /// The number of pending events that only read the state.
    looks: usize,
}

impl GlobalEvents {
    /// Schedules an event.
    pub fn push(&mut self, at: Time, event: GlobalEvent) {
        self.scheduled += 1;
        self.looks += usize::from(event.only_looks());
        self.pending.insert((at, event.only_looks(), self.scheduled), event);
    }

    /// Returns the time of the first pending event.
    pub fn next_at(&self) -> Option<Time> {
        self.first().map(|(at, _)| at)
    }

    /// Returns the first pending event, with its time.
    pub fn first(&self) -> Option<(Time, GlobalEvent)> {
        self.pending.first_key_value().map(|(key, event)| (key.0, *event))
    }

    /// Takes the first pending event out.
    pub fn pop(&mut self) -> Option<(Time, GlobalEvent)> {
        let ((at, ..), event) = self.pending.pop_first()?;
        self.looks -= usize::from(event.only_looks());
        Some((at, event))
    }

    /// Returns whether an event is pending.
    pub fn has(&self, event: GlobalEvent) -> bool {
        self.pending.values().any(|pending| *pending == event)
    }

    /// Returns whether all pending events only read the state.
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
        let mut events = GlobalEvents::default();
        let [one, two] = [0, 1].map(TrafficId::from_index);
        let at = Time::from_ps(5);
        events.push(Time::from_ps(9), GlobalEvent::Watch);
        events.push(at, GlobalEvent::Window);
        events.push(at, GlobalEvent::Traffic(two));
        events.push(at, GlobalEvent::Traffic(one));
        assert!(!events.only_looks());
        assert_eq!(events.next_at(), Some(at));
        let order: Vec<_> = std::iter::from_fn(|| events.pop()).map(|(_, event)| event).collect();
        let expected =
            [GlobalEvent::Traffic(two), GlobalEvent::Traffic(one), GlobalEvent::Window, GlobalEvent::Watch];
        assert_eq!(order, expected);
        events.push(at, GlobalEvent::Window);
        assert!(events.only_looks());
    }

    #[test]
    fn an_event_is_pending_from_when_it_is_scheduled_until_it_is_taken_out() {
        let mut events = GlobalEvents::default();
        let [fault, other] = [0, 1].map(|index| GlobalEvent::Fault(FaultId::from_index(index)));
        assert!(!events.has(fault));
        events.push(Time::from_ps(5), fault);
        assert!(events.has(fault) && !events.has(other), "another one of its kind is not it");
        events.push(Time::from_ps(6), other);
        assert_eq!(events.pop(), Some((Time::from_ps(5), fault)));
        assert!(!events.has(fault) && events.has(other));
    }
}
