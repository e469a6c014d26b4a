//! The order in which the NIC of a pair's sending host asks flows for data.

use super::flow::Flow;
use crate::Order;
use clearway_units::Time;

/// Whose turn it is at the NIC of the sending host.
pub(super) struct Turns {
    /// The order in which the NIC asks flows.
    pub order: Order,
    /// The flow whose turn it is, of those that are equal in the order.
    turn: usize,
}

impl Turns {
    /// The turns at a NIC that asks its flows one after the other, until a transport names another order.
    pub fn new() -> Turns {
        Turns { order: Order::InTurn, turn: 0 }
    }

    /// The flow that the NIC asks next, which wants to send data; it has had its turn then. Flows that are equal in the
    /// order take turns.
    pub fn next(&mut self, flows: &mut [Flow], now: Time) -> Option<usize> {
        let (count, turn) = (flows.len(), self.turn);
        let in_turn = (0..count).map(|behind| (turn + behind) % count);
        let mut first = None;
        for number in in_turn {
            let sender = &mut flows[number].sender;
            sender.begin(now);
            if !sender.wants_data() {
                continue;
            }
            let key = sender.key(self.order);
            if first.is_none_or(|(_, least)| key < least) {
                first = Some((number, key));
            }
            if self.order == Order::InTurn {
                break;
            }
        }
        let (number, _) = first?;
        self.turn = number + 1;
        Some(number)
    }
}
