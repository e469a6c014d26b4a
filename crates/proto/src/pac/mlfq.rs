//! The multi-level feedback queue (MLFQ) in which acknowledgements wait (sec. III-D).

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

use clearway_schema::choice;

choice! {
    /// The order of service within a level of priority.
    #[derive(Serialize, Deserialize)]
    pub enum Discipline {
        /// Flows are served in round robin.
        RoundRobin = "round-robin",
        /// Items are served in the order of their arrival.
        Fifo = "fifo",
    }
}

/// A multi-level feedback queue: levels of strict priority, each served in round robin over flows or in order of
/// arrival. Items of a flow keep their order.
///
/// A flow starts at level 0, which has the highest priority, and sinks as it grows. All its items are at one level.
#[derive(Debug, Serialize, Deserialize)]
pub struct Mlfq<T> {
    /// The flows with items, by level, in the order in which they are served.
    turns: Vec<VecDeque<u32>>,
    flows: BTreeMap<u32, Flow<T>>,
    /// The size, in bytes, above which a flow leaves level 0; it leaves level `n` above `demotion << n`.
    demotion: u64,
    discipline: Discipline,
    len: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct Flow<T> {
    items: VecDeque<T>,
    level: usize,
    size: u64,
}

impl<T> Flow<T> {
    fn new() -> Flow<T> {
        Flow { items: VecDeque::new(), level: 0, size: 0 }
    }
}

impl<T> Mlfq<T> {
    /// Makes an empty queue. A flow leaves level 0 when its size exceeds `demotion` bytes, level 1 at twice that, and
    /// so on.
    pub fn new(levels: usize, demotion: u64, discipline: Discipline) -> Mlfq<T> {
        let turns = (0..levels.max(1)).map(|_| VecDeque::new()).collect();
        Mlfq { turns, flows: BTreeMap::new(), demotion, discipline, len: 0 }
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the level of a flow, 0 for one that is not known.
    pub fn level(&self, flow: u32) -> usize {
        self.flows.get(&flow).map_or(0, |flow| flow.level)
    }

    /// Adds an item at the end of a flow's queue.
    pub fn push(&mut self, flow: u32, item: T) {
        let state = self.flows.entry(flow).or_insert_with(Flow::new);
        if state.items.is_empty() || self.discipline == Discipline::Fifo {
            self.turns[state.level].push_back(flow);
        }
        state.items.push_back(item);
        self.len += 1;
    }

    /// Returns the flow to be served next.
    pub fn turn(&self) -> Option<u32> {
        self.turns.iter().find_map(|turns| turns.front().copied())
    }

    /// Returns the first item of a flow.
    pub fn front(&self, flow: u32) -> Option<&T> {
        self.flows.get(&flow)?.items.front()
    }

    /// Returns the last item of a flow.
    pub fn back(&self, flow: u32) -> Option<&T> {
        self.flows.get(&flow)?.items.back()
    }

    /// Removes and returns the first item of a flow. In round robin the flow then goes to the end of its level.
    pub fn pop(&mut self, flow: u32) -> Option<T> {
        let state = self.flows.get_mut(&flow)?;
        let item = state.items.pop_front()?;
        let (level, more) = (state.level, !state.items.is_empty());
        self.leave_turn(flow, level);
        if more && self.discipline == Discipline::RoundRobin {
            self.turns[level].push_back(flow);
        }
        self.len -= 1;
        Some(item)
    }

    /// Adds bytes to a flow's size. The flow may sink to a lower level, and its items with it.
    pub fn grow(&mut self, flow: u32, bytes: u64) {
        let levels = self.turns.len();
        let state = self.flows.entry(flow).or_insert_with(Flow::new);
        state.size += bytes;
        let mut level = state.level;
        while level + 1 < levels && state.size > self.demotion << level {
            level += 1;
        }
        self.set_level(flow, level);
    }

    /// Raises a flow to level 0 and sets its size to zero, so that it sinks again as it grows.
    pub fn raise(&mut self, flow: u32) {
        self.set_level(flow, 0);
        if let Some(state) = self.flows.get_mut(&flow) {
            state.size = 0;
        }
    }

    /// Calls `edit` to reorder or remove items of a flow.
    pub fn edit(&mut self, flow: u32, edit: impl FnOnce(&mut VecDeque<T>)) {
        let Some(state) = self.flows.get_mut(&flow) else { return };
        let before = state.items.len();
        edit(&mut state.items);
        let (level, after) = (state.level, state.items.len());
        self.len = self.len - before + after;
        self.set_turns(flow, level, self.turns_of(before), self.turns_of(after));
    }

    /// Removes a flow and returns its items.
    pub fn remove(&mut self, flow: u32) -> VecDeque<T> {
        let Some(state) = self.flows.remove(&flow) else { return VecDeque::new() };
        self.set_turns(flow, state.level, self.turns_of(state.items.len()), 0);
        self.len -= state.items.len();
        state.items
    }

    fn set_level(&mut self, flow: u32, level: usize) {
        let Some(state) = self.flows.get_mut(&flow) else { return };
        let old = std::mem::replace(&mut state.level, level);
        if old != level {
            let turns = self.turns_of(self.flows[&flow].items.len());
            self.set_turns(flow, old, turns, 0);
            self.set_turns(flow, level, 0, turns);
        }
    }

    /// Returns the number of entries in `turns` of a flow with this many items: at most one in round robin, else one
    /// for each item.
    fn turns_of(&self, items: usize) -> usize {
        match self.discipline {
            Discipline::RoundRobin => items.min(1),
            Discipline::Fifo => items,
        }
    }

    /// Changes the number of a flow's entries in a level's `turns`. Entries are removed from, and added at, the end.
    fn set_turns(&mut self, flow: u32, level: usize, from: usize, to: usize) {
        let turns = &mut self.turns[level];
        for _ in to..from {
            let place = turns.iter().rposition(|&other| other == flow).expect("it has that many turns");
            turns.remove(place);
        }
        (from..to).for_each(|_| turns.push_back(flow));
    }

    /// Removes a flow's first entry from a level's `turns`.
    fn leave_turn(&mut self, flow: u32, level: usize) {
        let turns = &mut self.turns[level];
        let place = turns.iter().position(|&other| other == flow).expect("a flow with items has a turn");
        turns.remove(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drain(queue: &mut Mlfq<u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.turn().and_then(|flow| queue.pop(flow))).collect()
    }

    #[test]
    fn flows_of_a_level_are_served_in_round_robin_and_each_in_order_section_iii_d() {
        let mut queue = Mlfq::new(2, 20_000, Discipline::RoundRobin);
        for item in [10, 11, 12, 20, 30, 31] {
            queue.push(item / 10, item);
        }
        assert_eq!(drain(&mut queue), [10, 20, 30, 11, 31, 12]);
        assert!(queue.is_empty());
    }

    #[test]
    fn the_authors_code_serves_a_level_in_the_order_of_arrival() {
        let mut queue = Mlfq::new(2, 20_000, Discipline::Fifo);
        queue.grow(3, 20_001);
        for item in [30, 10, 11, 20, 12] {
            queue.push(item / 10, item);
        }
        assert_eq!(queue.turn(), Some(1));
        queue.edit(1, |items| _ = items.pop_back());
        assert_eq!(drain(&mut queue), [10, 11, 20, 30]);
    }

    #[test]
    fn small_flows_are_served_before_large_ones_section_iii_d() {
        let mut queue = Mlfq::new(2, 20_000, Discipline::RoundRobin);
        queue.grow(1, 20_001);
        queue.grow(2, 20_000);
        for item in [10, 11, 20, 21] {
            queue.push(item / 10, item);
        }
        assert_eq!((queue.level(1), queue.level(2), queue.level(3)), (1, 0, 0));
        assert_eq!(drain(&mut queue), [20, 21, 10, 11]);
    }

    #[test]
    fn the_items_of_a_flow_sink_with_it_pac_11() {
        let mut queue = Mlfq::new(2, 20_000, Discipline::RoundRobin);
        queue.push(1, 10);
        queue.push(2, 20);
        queue.grow(1, 30_000);
        queue.push(1, 11);
        assert_eq!(drain(&mut queue), [20, 10, 11]);
    }

    #[test]
    fn a_flow_sinks_level_by_level() {
        let mut queue: Mlfq<u32> = Mlfq::new(3, 10, Discipline::RoundRobin);
        queue.grow(1, 11);
        assert_eq!(queue.level(1), 1);
        queue.grow(1, 10);
        assert_eq!(queue.level(1), 2);
        queue.grow(1, 1000);
        assert_eq!(queue.level(1), 2);
    }

    #[test]
    fn a_raised_flow_goes_first_until_it_has_grown_again_section_iii_d() {
        let mut queue = Mlfq::new(2, 20_000, Discipline::RoundRobin);
        queue.grow(1, 30_000);
        queue.grow(2, 30_000);
        queue.push(2, 20);
        queue.push(1, 10);
        queue.raise(1);
        assert_eq!(queue.turn(), Some(1));
        queue.grow(1, 20_001);
        assert_eq!((queue.turn(), queue.level(1)), (Some(2), 1));
    }

    #[test]
    fn a_raised_flow_stays_at_the_top_for_as_many_bytes_as_a_new_one() {
        let mut queue: Mlfq<u32> = Mlfq::new(2, 20_000, Discipline::RoundRobin);
        queue.grow(1, 30_000);
        queue.raise(1);
        queue.grow(1, 20_000);
        assert_eq!(queue.level(1), 0, "its size counts from zero");
        queue.grow(1, 1);
        assert_eq!(queue.level(1), 1);
    }

    proptest! {
        #[test]
        fn every_item_comes_out_once_and_in_the_order_of_its_flow(
            steps in prop::collection::vec((0u32..4, 0u32..6, 1u64..30), 1..200),
            fifo in any::<bool>(),
        ) {
            let mut queue = Mlfq::new(3, 50, if fifo { Discipline::Fifo } else { Discipline::RoundRobin });
            let mut waiting: BTreeMap<u32, VecDeque<u32>> = BTreeMap::new();
            for (number, (flow, what, bytes)) in steps.into_iter().enumerate() {
                match what {
                    0 => queue.grow(flow, bytes),
                    1 => queue.raise(flow),
                    2 => {
                        if let Some(flow) = queue.turn() {
                            let expected = waiting.get_mut(&flow).and_then(VecDeque::pop_front);
                            prop_assert_eq!(queue.pop(flow), expected);
                        }
                    }
                    3 if bytes < 5 => {
                        prop_assert_eq!(queue.remove(flow), waiting.remove(&flow).unwrap_or_default());
                    }
                    _ => {
                        queue.push(flow, number as u32);
                        waiting.entry(flow).or_default().push_back(number as u32);
                    }
                }
                prop_assert_eq!(queue.len(), waiting.values().map(VecDeque::len).sum::<usize>());
                prop_assert_eq!(queue.turn().is_none(), queue.is_empty());
            }
        }
    }
}
