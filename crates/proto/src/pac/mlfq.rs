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
///
/// Each flow knows its own places among the turns, so that nothing here goes over those of other flows, however many
/// wait.
#[derive(Debug, Serialize, Deserialize)]
pub struct Mlfq<T> {
    turns: Turns,
    flows: BTreeMap<u32, Flow<T>>,
    /// The size, in bytes, above which a flow leaves level 0; it leaves level `n` above `demotion << n`.
    demotion: u64,
    len: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct Flow<T> {
    items: VecDeque<T>,
    /// The numbers of its turns, in ascending order.
    turns: VecDeque<u64>,
    level: usize,
    size: u64,
}

impl<T> Flow<T> {
    fn new() -> Flow<T> {
        Flow { items: VecDeque::new(), turns: VecDeque::new(), level: 0, size: 0 }
    }
}

/// The order in which flows are served.
#[derive(Debug, Serialize, Deserialize)]
struct Turns {
    /// The flows with items, by level and by the numbers of their turns, the least of which is served first.
    levels: Vec<BTreeMap<u64, u32>>,
    /// The number of the next turn.
    next: u64,
    discipline: Discipline,
}

impl Turns {
    /// Gives a flow the turns that its items need at its level: at most one in round robin, else one for each item.
    /// Turns are taken from its end, and come behind all others.
    fn set<T>(&mut self, flow: u32, state: &mut Flow<T>) {
        let level = &mut self.levels[state.level];
        let count = match self.discipline {
            Discipline::RoundRobin => state.items.len().min(1),
            Discipline::Fifo => state.items.len(),
        };
        while state.turns.len() < count {
            level.insert(self.next, flow);
            state.turns.push_back(self.next);
            self.next += 1;
        }
        for turn in state.turns.drain(count..) {
            level.remove(&turn);
        }
    }

    /// Takes all turns of a flow at its level.
    fn take<T>(&mut self, state: &mut Flow<T>) {
        for turn in state.turns.drain(..) {
            self.levels[state.level].remove(&turn);
        }
    }
}

impl<T> Mlfq<T> {
    /// Makes an empty queue. A flow leaves level 0 when its size exceeds `demotion` bytes, level 1 at twice that, and
    /// so on.
    pub fn new(levels: usize, demotion: u64, discipline: Discipline) -> Mlfq<T> {
        let levels = (0..levels.max(1)).map(|_| BTreeMap::new()).collect();
        Mlfq { turns: Turns { levels, next: 0, discipline }, flows: BTreeMap::new(), demotion, len: 0 }
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
        state.items.push_back(item);
        self.len += 1;
        self.turns.set(flow, state);
    }

    /// Returns the flow to be served next.
    pub fn turn(&self) -> Option<u32> {
        self.turns.levels.iter().find_map(|level| level.first_key_value().map(|(_, flow)| *flow))
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
        let turn = state.turns.pop_front().expect("a flow with items has a turn");
        self.turns.levels[state.level].remove(&turn);
        self.len -= 1;
        self.turns.set(flow, state);
        Some(item)
    }

    /// Adds bytes to a flow's size. The flow may sink to a lower level, and its items with it.
    pub fn grow(&mut self, flow: u32, bytes: u64) {
        let levels = self.turns.levels.len();
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
        self.len = self.len - before + state.items.len();
        self.turns.set(flow, state);
    }

    /// Removes a flow and returns its items.
    pub fn remove(&mut self, flow: u32) -> VecDeque<T> {
        let Some(mut state) = self.flows.remove(&flow) else { return VecDeque::new() };
        self.turns.take(&mut state);
        self.len -= state.items.len();
        state.items
    }

    fn set_level(&mut self, flow: u32, level: usize) {
        let Some(state) = self.flows.get_mut(&flow) else { return };
        if state.level != level {
            self.turns.take(state);
            state.level = level;
            self.turns.set(flow, state);
        }
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

    /// A queue that goes over all turns of a level to find those of a flow, which says what the other one shall do.
    struct Plain {
        turns: Vec<Vec<u32>>,
        items: BTreeMap<u32, VecDeque<u32>>,
        places: BTreeMap<u32, (usize, u64)>,
        demotion: u64,
        fifo: bool,
    }

    impl Plain {
        fn place(&self, flow: u32) -> (usize, u64) {
            self.places.get(&flow).copied().unwrap_or_default()
        }

        /// Takes turns of a flow from the end of its level, or adds some there, until it has as many as it needs.
        fn set_turns(&mut self, flow: u32, all: usize) {
            let needed = if self.fifo { all } else { all.min(1) };
            let turns = &mut self.turns[self.places.get(&flow).map_or(0, |place| place.0)];
            while turns.iter().filter(|other| **other == flow).count() > needed {
                turns.remove(turns.iter().rposition(|other| *other == flow).unwrap());
            }
            while turns.iter().filter(|other| **other == flow).count() < needed {
                turns.push(flow);
            }
        }

        fn edit(&mut self, flow: u32, edit: impl FnOnce(&mut VecDeque<u32>)) {
            let items = self.items.entry(flow).or_default();
            edit(items);
            let all = items.len();
            self.set_turns(flow, all);
        }

        fn pop(&mut self, flow: u32) -> Option<u32> {
            let item = self.items.get_mut(&flow)?.pop_front()?;
            let turns = &mut self.turns[self.places.get(&flow).map_or(0, |place| place.0)];
            turns.remove(turns.iter().position(|other| *other == flow).unwrap());
            self.edit(flow, |_| ());
            Some(item)
        }

        fn place_at(&mut self, flow: u32, level: usize, size: u64) {
            if self.place(flow).0 != level {
                self.set_turns(flow, 0);
            }
            self.places.insert(flow, (level, size));
            self.edit(flow, |_| ());
        }

        fn grow(&mut self, flow: u32, bytes: u64) {
            let (mut level, size) = self.place(flow);
            while level + 1 < self.turns.len() && size + bytes > self.demotion << level {
                level += 1;
            }
            self.place_at(flow, level, size + bytes);
        }

        fn remove(&mut self, flow: u32) -> VecDeque<u32> {
            self.set_turns(flow, 0);
            self.places.remove(&flow);
            self.items.remove(&flow).unwrap_or_default()
        }
    }

    proptest! {
        #[test]
        fn flows_are_served_in_the_order_of_a_queue_that_goes_over_all_turns(
            steps in prop::collection::vec((0u32..5, 0u32..12, 0u64..40), 1..300),
            levels in 1usize..4,
            fifo in any::<bool>(),
        ) {
            let discipline = if fifo { Discipline::Fifo } else { Discipline::RoundRobin };
            let mut queue = Mlfq::new(levels, 50, discipline);
            let (turns, items, places) = (vec![Vec::new(); levels], BTreeMap::new(), BTreeMap::new());
            let mut plain = Plain { turns, items, places, demotion: 50, fifo };
            for (number, (flow, act, bytes)) in steps.into_iter().enumerate() {
                let item = number as u32;
                let edit = |items: &mut VecDeque<u32>| match bytes % 4 {
                    0 => items.truncate(items.len() / 2),
                    1 => _ = items.pop_front(),
                    2 => items.push_front(item),
                    _ => items.make_contiguous().reverse(),
                };
                match act {
                    0 => {
                        queue.grow(flow, bytes);
                        plain.grow(flow, bytes);
                    }
                    1 => {
                        queue.raise(flow);
                        plain.place_at(flow, 0, 0);
                    }
                    2 => prop_assert_eq!(queue.pop(flow), plain.pop(flow)),
                    3 | 4 => {
                        let flow = queue.turn().unwrap_or(flow);
                        prop_assert_eq!(queue.pop(flow), plain.pop(flow));
                    }
                    5 if bytes < 10 => prop_assert_eq!(queue.remove(flow), plain.remove(flow)),
                    6 if queue.flows.contains_key(&flow) => {
                        queue.edit(flow, edit);
                        plain.edit(flow, edit);
                    }
                    _ => {
                        queue.push(flow, item);
                        plain.edit(flow, |items| items.push_back(item));
                    }
                }
                let served = plain.turns.iter().flatten().copied();
                prop_assert_eq!(queue.turn(), served.clone().next());
                let order = queue.turns.levels.iter().flat_map(BTreeMap::values).copied();
                prop_assert!(order.eq(served), "the same flows wait in the same order");
                prop_assert_eq!(queue.len(), plain.items.values().map(VecDeque::len).sum::<usize>());
            }
        }

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
