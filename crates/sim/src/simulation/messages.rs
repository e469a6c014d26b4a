//! The progress of a list of messages.

use crate::ids::{FlowSlot, RecordId};
use crate::model::Messages;
use crate::traffic::{Done, Wait};
use clearway_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The progress of the messages of a traffic entry.
#[derive(Serialize, Deserialize)]
pub struct MessagesState {
    /// The number of messages with a time of their own that began.
    next: usize,
    /// The number of all messages that have yet to begin.
    left: usize,
    connections: Vec<Connection>,
    /// How often each trigger was pulled.
    times: Vec<u32>,
    /// The messages that began and for which others wait, by their rows, until their senders know that they have arrived.
    awaited: BTreeMap<RecordId, u32>,
}

/// A connection that carries messages.
#[derive(Clone, Serialize, Deserialize)]
struct Connection {
    /// The flow, once it was opened and until its last message began.
    flow: Option<FlowSlot>,
    /// The number of messages that have yet to begin.
    left: u32,
}

impl MessagesState {
    /// Returns the state before the first message.
    pub fn new(messages: &Messages) -> MessagesState {
        let connection = |&left: &u32| Connection { flow: None, left };
        MessagesState {
            next: 0,
            left: messages.list().len(),
            connections: messages.connections().iter().map(connection).collect(),
            times: vec![0; messages.triggers().len()],
            awaited: BTreeMap::new(),
        }
    }

    /// Returns the time of the next message that has one of its own.
    pub fn next_at(&self, messages: &Messages) -> Option<Time> {
        messages.timed().get(self.next).map(|message| message.start)
    }

    /// Takes the next message that has a time of its own, which there must be.
    pub fn take_next(&mut self) -> u32 {
        self.next += 1;
        self.next as u32 - 1
    }

    /// Returns whether messages have yet to begin.
    pub fn waits(&self) -> bool {
        self.left > 0
    }

    /// Returns the flow of a connection, if it was opened.
    pub fn flow(&self, connection: usize) -> Option<FlowSlot> {
        self.connections[connection].flow
    }

    /// Notes that the next message of a connection begins on a flow. Returns whether it is the last one.
    pub fn begin(&mut self, connection: usize, flow: FlowSlot) -> bool {
        self.left -= 1;
        let connection = &mut self.connections[connection];
        connection.left -= 1;
        let is_last = connection.left == 0;
        connection.flow = (!is_last).then_some(flow);
        is_last
    }

    /// Notes the row of a message for which others wait.
    pub fn watch(&mut self, row: RecordId, message: u32) {
        self.awaited.insert(row, message);
    }

    /// The message of a row is done. Returns those that begin thereupon, each after its pause.
    pub fn finish(&mut self, row: RecordId, done: Done, messages: &Messages) -> Vec<Wait> {
        let found = match done {
            Done::Delivered => self.awaited.get(&row).copied(),
            Done::Acknowledged => self.awaited.remove(&row),
        };
        let (triggers, mut begin) = (messages.triggers(), Vec::new());
        for trigger in found.into_iter().flat_map(|message| triggers.pulled_by(message, done)) {
            self.times[trigger] += 1;
            begin.extend_from_slice(triggers.beginning(trigger, self.times[trigger]));
        }
        begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::model::Flow;
    use crate::traffic::{Fires, Pull, Triggers};
    use clearway_topology::NodeId;
    use clearway_units::{Bytes, Span};

    fn message(us: u64) -> Flow {
        let start = Time::ZERO + Span::from_us(us);
        Flow { start, src: NodeId(0), dst: NodeId(1), size: Some(Bytes::new(1)), stop: None }
    }

    /// Two messages at 1 and 2 us on connections of their own, and one on that of the first that begins once both are there.
    fn messages() -> Messages {
        let named = vec![(message(1), Some(1)), (message(2), None), (message(0), Some(1))];
        let waits = vec![Wait { trigger: 0, message: 2, pause: Span::ZERO }];
        let pulls = [0, 1].map(|message| Pull { message, done: Done::Delivered, trigger: 0 });
        Messages::new(named, Triggers::new(vec![Fires::All(2)], waits, pulls.into()))
    }

    #[test]
    fn a_connection_closes_with_the_message_that_begins_last_whenever_that_is() {
        let (messages, slot) = (messages(), FlowSlot::from_index(3));
        let mut state = MessagesState::new(&messages);
        assert_eq!((state.take_next(), state.begin(0, slot), state.flow(0)), (0, false, Some(slot)));
        assert_eq!((state.take_next(), state.begin(1, slot), state.flow(1)), (1, true, None));
        assert_eq!((state.next_at(&messages), state.waits()), (None, true));
        assert_eq!((state.begin(0, slot), state.flow(0), state.waits()), (true, None, false));
    }

    #[test]
    fn a_message_begins_once_all_have_arrived_for_which_it_waits_and_only_once() {
        let messages = messages();
        let mut state = MessagesState::new(&messages);
        let rows = [7, 4].map(RecordId::from_index);
        (0..2).for_each(|message| state.watch(rows[message as usize], message));
        assert!(state.finish(rows[0], Done::Delivered, &messages).is_empty());
        assert!(state.finish(rows[0], Done::Acknowledged, &messages).is_empty(), "it waits for arrivals");
        let begin = state.finish(rows[1], Done::Delivered, &messages);
        assert_eq!(begin.iter().map(|wait| wait.message).collect::<Vec<_>>(), [2]);
        assert!(state.finish(rows[1], Done::Acknowledged, &messages).is_empty());
        assert!(state.finish(RecordId::from_index(9), Done::Delivered, &messages).is_empty());
    }
}
