//! Flows that are listed, and messages that are, of which one connection may carry several.

use crate::traffic::Triggers;
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

/// Messages: those that start at a time in the order of their starts, and behind them those that begin once others are done.
/// Those of a connection are sent one after another, by one flow, which opens as the first of them begins and closes behind the
/// one that begins last.
#[derive(Clone, Default, Debug)]
pub struct Messages {
    list: Vec<Flow>,
    /// The number of messages that start at a time.
    timed: usize,
    /// The number of the connection of each message. Connections are numbered by their first messages.
    connection_of: Vec<u32>,
    /// The number of messages of each connection.
    sizes: Vec<u32>,
    triggers: Triggers,
}

impl Messages {
    /// Returns messages in the order of their start, and else in that of the list, with the name of the connection of each. A
    /// message without a name has a connection of its own. Triggers name messages by their places in the list; the start of
    /// a message that waits for one means nothing, and is zero in the result.
    pub fn new<N: Ord>(named: Vec<(Flow, Option<N>)>, triggers: Triggers) -> Messages {
        let mut waits = vec![false; named.len()];
        triggers.waits().iter().for_each(|wait| waits[wait.message as usize] = true);
        let timed = waits.iter().filter(|&&waits| !waits).count();
        let mut order: Vec<(usize, (Flow, Option<N>))> = named.into_iter().enumerate().collect();
        order.sort_by_key(|(place, (flow, _))| match waits[*place] {
            true => (true, Time::ZERO),
            false => (false, flow.start),
        });
        let mut place = vec![0; order.len()];
        let (mut messages, mut numbers) = (Messages { timed, ..Messages::default() }, BTreeMap::new());
        for (now, (before, (mut flow, name))) in order.into_iter().enumerate() {
            debug_assert!(
                flow.size.is_some() && flow.stop.is_none(),
                "a message has a size, and is sent in full"
            );
            place[before] = now as u32;
            if now >= timed {
                flow.start = Time::ZERO;
            }
            let next = messages.sizes.len() as u32;
            let number = name.map_or(next, |name| *numbers.entry(name).or_insert(next));
            if number == next {
                messages.sizes.push(0);
            }
            messages.sizes[number as usize] += 1;
            messages.connection_of.push(number);
            messages.list.push(flow);
        }
        messages.triggers = triggers.moved(&place);
        messages
    }

    /// Returns the messages.
    pub fn list(&self) -> &[Flow] {
        &self.list
    }

    /// Returns the messages that start at a time.
    pub fn timed(&self) -> &[Flow] {
        &self.list[..self.timed]
    }

    /// Returns the number of messages of each connection.
    pub fn connections(&self) -> &[u32] {
        &self.sizes
    }

    /// Returns the connection that carries a message.
    pub fn connection(&self, message: usize) -> usize {
        self.connection_of[message] as usize
    }

    /// Returns the triggers for which messages wait.
    pub fn triggers(&self) -> &Triggers {
        &self.triggers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{Done, Fires, Pull, Wait};
    use clearway_units::Span;

    fn message(us: u64) -> Flow {
        let start = Time::ZERO + Span::from_us(us);
        Flow { start, src: NodeId(0), dst: NodeId(1), size: Some(Bytes::new(1000)), stop: None }
    }

    fn starts(messages: &Messages) -> Vec<u64> {
        messages.list().iter().map(|flow| flow.start.as_ps() / 1_000_000).collect()
    }

    #[test]
    fn messages_are_in_the_order_of_their_start_and_connections_in_that_of_their_first_message() {
        let named =
            [(message(3), Some("b")), (message(1), Some("a")), (message(2), None), (message(3), Some("a"))];
        let messages = Messages::new(named.to_vec(), Triggers::default());
        assert_eq!((starts(&messages), messages.connections()), (vec![1, 2, 3, 3], &[2, 1, 1][..]));
        // Of two messages that start at once, the one that stands first in the list is first.
        assert_eq!([0, 1, 2, 3].map(|message| messages.connection(message)), [0, 1, 2, 0]);
    }

    #[test]
    fn messages_that_wait_for_others_stand_behind_all_and_their_triggers_find_them() {
        let named = [message(9), message(0), message(5)].map(|flow| (flow, None::<u32>));
        // The second one begins once the first is there.
        let waits = vec![Wait { trigger: 0, message: 1, pause: Span::ZERO }];
        let pulls = vec![Pull { message: 0, done: Done::Delivered, trigger: 0 }];
        let messages = Messages::new(named.to_vec(), Triggers::new(vec![Fires::All(1)], waits, pulls));
        assert_eq!((starts(&messages), messages.timed().len()), (vec![5, 9, 0], 2));
        assert_eq!(messages.triggers().pulled_by(1, Done::Delivered).collect::<Vec<_>>(), [0]);
        assert_eq!(messages.triggers().waits()[0].message, 2);
    }
}
