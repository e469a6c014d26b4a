//! NICs: the flows of a host that wait to send a data packet, each class in the order that its transports ask for.

use crate::ids::{ClassId, FlowSlot, IdVec, NicId};
use clearway_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The flows of a host's port that have data to send, by class. A flow stands there at most once for each class. In a
/// class with an order other than [`Order::InTurn`](clearway_proto::Order::InTurn) flows stand by their keys, which the driver of the hosts asks for: the
/// lowest goes first, and flows of one key take turns.
///
/// A flow whose pace ends just before its own frame has left is *parked* here, instead of being woken for its pace when
/// the port can't send yet: it joins the others at the end of its pace, but only when somebody looks.
#[derive(Serialize, Deserialize)]
pub struct Nic {
    /// The flows of each class that may send now, the next one first.
    ready: IdVec<ClassId, VecDeque<Turn>>,
    /// The number of flows that wait, the one that is parked included.
    waiting: usize,
    parked: Option<Parked>,
}

/// A flow that waits for its turn.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Turn {
    flow: FlowSlot,
    /// The place of the flow in the order of its class; 0 in [`Order::InTurn`].
    key: u64,
}

/// A flow that joins the others of a class at the end of its pace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Parked {
    /// The end of the pace.
    pub at: Time,
    /// The flow.
    pub flow: FlowSlot,
    class: ClassId,
}

/// The NICs of all hosts' ports.
pub type Nics = IdVec<NicId, Nic>;

impl Nic {
    /// Returns a NIC with so many classes, for which no flow waits.
    pub fn new(classes: usize) -> Nic {
        Nic { ready: (0..classes).map(|_| VecDeque::new()).collect(), waiting: 0, parked: None }
    }

    /// Returns the number of flows of a class that wait for their turn.
    pub fn waiting(&self, class: ClassId) -> u32 {
        self.ready[class].len() as u32
    }

    /// Puts a flow behind all others of its class, whose flows take turns.
    #[inline(always)]
    pub fn push(&mut self, class: ClassId, flow: FlowSlot) {
        self.ready[class].push_back(Turn { flow, key: 0 });
        self.waiting += 1;
    }

    /// Puts a flow behind those of its class whose keys are not larger.
    pub fn push_by_key(&mut self, class: ClassId, flow: FlowSlot, key: u64) {
        let turns = &mut self.ready[class];
        let at = turns.partition_point(|turn| turn.key <= key);
        turns.insert(at, Turn { flow, key });
        self.waiting += 1;
    }

    /// Moves a flow that waits in a class, if it does, to where it belongs by its present key.
    pub fn rekey(&mut self, class: ClassId, flow: FlowSlot, key: u64) {
        let turns = &mut self.ready[class];
        let Some(at) = turns.iter().position(|turn| turn.flow == flow) else { return };
        if turns[at].key != key {
            turns.remove(at);
            self.waiting -= 1;
            self.push_by_key(class, flow, key);
        }
    }

    /// Parks a flow of a class in turn, whose pace ends at `at`.
    #[inline]
    pub fn park(&mut self, class: ClassId, flow: FlowSlot, at: Time) {
        debug_assert!(self.parked.is_none(), "a frame of one flow is on the link");
        self.parked = Some(Parked { at, flow, class });
        self.waiting += 1;
    }

    /// Puts the parked flow at the end of the round robin, if its pace ended before `time`.
    #[inline]
    pub fn settle_before(&mut self, time: Time) {
        if let Some(parked) = self.parked.take_if(|parked| parked.at < time) {
            self.ready[parked.class].push_back(Turn { flow: parked.flow, key: 0 });
        }
    }

    /// As [`Nic::settle_before`], but also if its pace ends at `time`.
    #[inline]
    pub fn settle_through(&mut self, time: Time) {
        self.settle_before(time + Span::from_ps(1));
    }

    /// Returns the flow that is parked.
    #[inline]
    pub fn parked(&self) -> Option<Parked> {
        self.parked
    }

    /// Takes out the flow that is parked.
    pub fn unpark(&mut self) {
        self.waiting -= usize::from(self.parked.take().is_some());
    }

    /// Takes the flow whose turn it is.
    #[inline]
    pub fn pop(&mut self, class: ClassId) -> Option<FlowSlot> {
        let turn = self.ready[class].pop_front()?;
        self.waiting -= 1;
        Some(turn.flow)
    }

    /// As [`Nic::settle_before`], but takes the parked flow if no other one waits: the same flow as if it had joined the
    /// round robin first.
    #[inline]
    pub fn settle_or_pop(&mut self, time: Time) -> Option<(ClassId, FlowSlot)> {
        let parked = self.parked.take_if(|parked| parked.at < time)?;
        if self.waiting > 1 {
            self.ready[parked.class].push_back(Turn { flow: parked.flow, key: 0 });
            return None;
        }
        self.waiting = 0;
        Some((parked.class, parked.flow))
    }

    /// Takes a flow that ended out of the round robin.
    pub fn leave(&mut self, class: ClassId, flow: FlowSlot) {
        if self.parked.is_some_and(|parked| (parked.class, parked.flow) == (class, flow)) {
            return self.unpark();
        }
        let turns = &mut self.ready[class];
        self.waiting -= turns.len();
        turns.retain(|turn| turn.flow != flow);
        self.waiting += turns.len();
    }

    /// Returns whether a flow waits in any class.
    #[inline]
    pub fn has_any(&self) -> bool {
        self.waiting > 0
    }

    /// Returns whether a flow waits in a class.
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
        let mut nic = Nic::new(2);
        flows.iter().for_each(|&flow| nic.push(class, flow));
        nic.leave(class, flows[1]);
        assert!(nic.has(class) && !nic.has(ClassId::FIRST));
        assert_eq!([nic.pop(class), nic.pop(class), nic.pop(class)], [Some(flows[0]), Some(flows[2]), None]);
        assert!(!nic.has_any());
    }

    #[test]
    fn a_parked_flow_joins_the_others_once_its_pace_has_ended() {
        let [first, parked, last] = [0, 1, 2].map(FlowSlot::from_index);
        let (class, at) = (ClassId::FIRST, Time::from_ps(5));
        let mut nic = Nic::new(1);
        nic.park(class, parked, at);
        nic.settle_before(at);
        assert!(nic.has_any() && !nic.has(class));
        nic.push(class, first);
        nic.settle_through(at);
        nic.push(class, last);
        assert_eq!(std::array::from_fn(|_| nic.pop(class)), [Some(first), Some(parked), Some(last)]);
        assert!(!nic.has_any() && nic.parked().is_none());
    }

    #[test]
    fn a_parked_flow_is_taken_directly_if_its_pace_has_ended_and_no_other_flow_waits() {
        let (mut nic, class, [parked, other]) =
            (Nic::new(1), ClassId::FIRST, [3, 4].map(FlowSlot::from_index));
        let at = Time::from_ps;
        nic.park(class, parked, at(5));
        assert_eq!(nic.settle_or_pop(at(5)), None, "its pace has not ended");
        assert_eq!(nic.settle_or_pop(at(6)), Some((class, parked)));
        assert!(!nic.has_any() && nic.parked().is_none());
        nic.push(class, other);
        nic.park(class, parked, at(5));
        assert_eq!(nic.settle_or_pop(at(6)), None, "the other one goes first");
        assert_eq!([nic.pop(class), nic.pop(class)], [Some(other), Some(parked)]);
        assert!(!nic.has_any() && nic.parked().is_none());
    }

    #[test]
    fn a_parked_flow_that_ends_leaves_nothing_behind() {
        let mut nic = Nic::new(1);
        nic.park(ClassId::FIRST, FlowSlot::from_index(3), Time::from_ps(5));
        nic.leave(ClassId::FIRST, FlowSlot::from_index(2));
        assert!(nic.has_any(), "another flow left");
        nic.leave(ClassId::FIRST, FlowSlot::from_index(3));
        nic.settle_through(Time::from_ps(5));
        assert!(!nic.has_any() && !nic.has(ClassId::FIRST));
    }

    #[test]
    fn flows_in_an_order_go_by_their_keys_and_take_turns_among_equals() {
        let (mut nic, class) = (Nic::new(1), ClassId::FIRST);
        let flows = [0, 1, 2, 3].map(FlowSlot::from_index);
        for (flow, key) in flows.into_iter().zip([30, 20, 20, 10]) {
            nic.push_by_key(class, flow, key);
        }
        assert_eq!(nic.pop(class), Some(flows[3]));
        assert_eq!(nic.pop(class), Some(flows[1]), "it came before its equal");
        nic.push_by_key(class, flows[1], 20);
        nic.rekey(class, flows[0], 5);
        nic.rekey(class, flows[2], 20);
        nic.rekey(class, flows[3], 1);
        assert_eq!(nic.pop(class), Some(flows[0]), "it has come to need less");
        assert_eq!([nic.pop(class), nic.pop(class)], [Some(flows[2]), Some(flows[1])]);
        assert!(!nic.has_any(), "a flow that does not wait is not added by its key");
    }
}
