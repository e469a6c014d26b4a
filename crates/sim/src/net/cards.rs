//! Network cards: the flows of a host that wait for their turn to send a data packet.

use crate::ids::{CardId, ClassId, FlowSlot, IdVec};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The round robin of a host's port: flows with data to send, by class. A flow stands in it at most once for each
/// class.
#[derive(Serialize, Deserialize)]
pub struct Card {
    ready: IdVec<ClassId, VecDeque<FlowSlot>>,
    waiting: usize,
}

/// The cards of all hosts' ports.
pub type Cards = IdVec<CardId, Card>;

impl Card {
    /// A card with so many classes, for which no flow waits.
    pub fn new(classes: usize) -> Card {
        Card { ready: vec![VecDeque::new(); classes].into(), waiting: 0 }
    }

    /// Puts a flow at the end of the round robin.
    #[inline]
    pub fn push(&mut self, class: ClassId, flow: FlowSlot) {
        self.ready[class].push_back(flow);
        self.waiting += 1;
    }

    /// Takes the flow whose turn it is.
    #[inline]
    pub fn pop(&mut self, class: ClassId) -> Option<FlowSlot> {
        let flow = self.ready[class].pop_front()?;
        self.waiting -= 1;
        Some(flow)
    }

    /// Takes a flow that ended out of the round robin.
    pub fn leave(&mut self, class: ClassId, flow: FlowSlot) {
        let ready = &mut self.ready[class];
        self.waiting -= ready.len();
        ready.retain(|&waiting| waiting != flow);
        self.waiting += ready.len();
    }

    /// Answers whether a flow waits in any class.
    #[inline]
    pub fn has_any(&self) -> bool {
        self.waiting > 0
    }

    /// Answers whether a flow waits in a class.
    #[inline]
    pub fn has(&self, class: ClassId) -> bool {
        !self.ready[class].is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn flows_take_turns_and_one_that_leaves_is_passed_over() {
        let flows = [0, 1, 2].map(FlowSlot::from_index);
        let class = ClassId::from_index(1);
        let mut card = Card::new(2);
        flows.iter().for_each(|&flow| card.push(class, flow));
        card.leave(class, flows[1]);
        assert!(card.has(class) && !card.has(ClassId::FIRST));
        assert_eq!(
            [card.pop(class), card.pop(class), card.pop(class)],
            [Some(flows[0]), Some(flows[2]), None]
        );
        assert!(!card.has_any());
    }
}
