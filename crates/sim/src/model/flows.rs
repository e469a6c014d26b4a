//! Flows that are listed, and messages that are, of which one connection may carry several.

use clearway_topology::NodeId;
use clearway_units::{Bytes, Time};
use std::collections::BTreeMap;

/// A flow of a list.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The start of the flow.
    pub start: Time,
    /// The host that sends.
    pub src: NodeId,
    /// The host that receives.
    pub dst: NodeId,
    /// The size; `None` for a flow without an end.
    pub size: Option<Bytes>,
    /// The time at which the flow stops sending, if it is stopped.
    pub stop: Option<Time>,
}

/// Messages in the order of their start. Those of a connection are sent one after another, by one flow, which opens as the first of
/// them starts and closes behind the last.
#[derive(Clone, Default, Debug)]
pub struct Messages {
    list: Vec<Flow>,
    /// The number of the connection of each message. Connections are numbered by their first messages.
    connection_of: Vec<u32>,
    /// The last message of each connection.
    last: Vec<u32>,
}

impl Messages {
    /// Returns messages in the order of their start, and else in that of the list, with the name of the connection of each. A
    /// message without a name has a connection of its own.
    pub fn new<N: Ord>(mut named: Vec<(Flow, Option<N>)>) -> Messages {
        named.sort_by_key(|(flow, _)| flow.start);
        let (mut messages, mut numbers) = (Messages::default(), BTreeMap::new());
        for (flow, name) in named {
            debug_assert!(
                flow.size.is_some() && flow.stop.is_none(),
                "a message has a size, and is sent in full"
            );
            let (place, next) = (messages.list.len() as u32, messages.last.len() as u32);
            let number = name.map_or(next, |name| *numbers.entry(name).or_insert(next));
            if number == next {
                messages.last.push(place);
            }
            messages.last[number as usize] = place;
            messages.connection_of.push(number);
            messages.list.push(flow);
        }
        messages
    }

    /// Returns the messages.
    pub fn list(&self) -> &[Flow] {
        &self.list
    }

    /// Returns the number of connections.
    pub fn connections(&self) -> usize {
        self.last.len()
    }

    /// Returns the connection that carries a message, and whether the message is its last one.
    pub fn connection(&self, message: usize) -> (usize, bool) {
        let number = self.connection_of[message] as usize;
        (number, self.last[number] as usize == message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Span;

    fn message(us: u64) -> Flow {
        let start = Time::ZERO + Span::from_us(us);
        Flow { start, src: NodeId(0), dst: NodeId(1), size: Some(Bytes::new(1000)), stop: None }
    }

    #[test]
    fn messages_are_in_the_order_of_their_start_and_connections_in_that_of_their_first_message() {
        let named =
            [(message(3), Some("b")), (message(1), Some("a")), (message(2), None), (message(3), Some("a"))];
        let messages = Messages::new(named.to_vec());
        let starts: Vec<u64> = messages.list().iter().map(|flow| flow.start.as_ps() / 1_000_000).collect();
        assert_eq!((starts, messages.connections()), (vec![1, 2, 3, 3], 3));
        let connections: Vec<(usize, bool)> = (0..4).map(|message| messages.connection(message)).collect();
        // Of two messages that start at once, the one that stands first in the list is first.
        assert_eq!(connections, [(0, false), (1, true), (2, true), (0, true)]);
    }
}
