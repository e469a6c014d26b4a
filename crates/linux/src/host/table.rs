//! A bounded table of flows, each with a name, a place and a timer.

use crate::wire::FlowKey;
use clearway_units::Time;
use std::collections::HashMap;

/// The place of a flow in its [`Table`]. It is used again after the flow was removed.
pub(super) type Slot = u32;

/// A mark of a flow that is not in the heap of timers.
const IDLE: u32 = u32::MAX;

/// A table of at most as many flows as it was made for.
///
/// Lookup costs one hash; a timer costs the logarithm of the number of timers that are set. Nothing is allocated while
/// the number of flows does not exceed its maximum so far.
#[derive(Debug)]
pub(super) struct Table<T> {
    slots: HashMap<FlowKey, Slot>,
    places: Vec<Place<T>>,
    free: Vec<Slot>,
    /// A binary heap of the flows whose timers are set, the earliest first.
    heap: Vec<Slot>,
    limit: usize,
}

#[derive(Debug)]
struct Place<T> {
    flow: Option<T>,
    /// The time of the timer.
    at: Time,
    /// The index in the heap, or [`IDLE`].
    index: u32,
}

impl<T> Table<T> {
    /// Makes a table of at most `limit` flows.
    pub fn new(limit: usize) -> Table<T> {
        Table { slots: HashMap::new(), places: Vec::new(), free: Vec::new(), heap: Vec::new(), limit }
    }

    /// Returns the number of flows.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the place of a flow.
    pub fn find(&self, key: &FlowKey) -> Option<Slot> {
        self.slots.get(key).copied()
    }

    /// Returns the flow at a place.
    pub fn get(&self, slot: Slot) -> Option<&T> {
        self.places.get(slot as usize)?.flow.as_ref()
    }

    /// Returns the flow at a place.
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        self.places.get_mut(slot as usize)?.flow.as_mut()
    }

    /// Adds a flow without timer. Returns `None` if the table is full or has a flow of this name.
    pub fn insert(&mut self, key: FlowKey, flow: T) -> Option<Slot> {
        if self.slots.len() >= self.limit || self.slots.contains_key(&key) {
            return None;
        }
        let place = Place { flow: Some(flow), at: Time::MAX, index: IDLE };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.places[slot as usize] = place;
                slot
            }
            None => {
                self.places.push(place);
                self.places.len() as Slot - 1
            }
        };
        self.slots.insert(key, slot);
        Some(slot)
    }

    /// Removes a flow.
    pub fn remove(&mut self, key: &FlowKey) -> Option<T> {
        let slot = self.slots.remove(key)?;
        self.set_timer(slot, Time::MAX);
        self.free.push(slot);
        self.places[slot as usize].flow.take()
    }

    /// Returns the number of places, used or free: all slots are below it.
    pub fn places(&self) -> Slot {
        self.places.len() as Slot
    }

    /// Returns all flows with their places.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        self.places.iter().enumerate().filter_map(|(slot, place)| Some((slot as Slot, place.flow.as_ref()?)))
    }

    /// Returns the earliest time of a timer, or [`Time::MAX`].
    pub fn next_timer(&self) -> Time {
        self.heap.first().map_or(Time::MAX, |slot| self.places[*slot as usize].at)
    }

    /// Returns the flow whose timer is the earliest one, if that is due.
    pub fn due(&self, now: Time) -> Option<Slot> {
        self.heap.first().copied().filter(|slot| self.places[*slot as usize].at <= now)
    }

    /// Sets the timer of a flow; [`Time::MAX`] for never.
    pub fn set_timer(&mut self, slot: Slot, at: Time) {
        let Some(place) = self.places.get_mut(slot as usize) else { return };
        if place.at == at {
            return;
        }
        place.at = at;
        let index = place.index;
        match (index, at) {
            (IDLE, _) => {
                place.index = self.heap.len() as u32;
                self.heap.push(slot);
                self.up(self.heap.len() - 1);
            }
            (index, Time::MAX) => {
                let index = index as usize;
                self.heap.swap_remove(index);
                self.places[slot as usize].index = IDLE;
                if let Some(moved) = self.heap.get(index) {
                    self.places[*moved as usize].index = index as u32;
                    self.down(index);
                    self.up(index);
                }
            }
            (index, _) => {
                self.down(index as usize);
                let index = self.places[slot as usize].index;
                self.up(index as usize);
            }
        }
    }

    fn at(&self, index: usize) -> Time {
        self.places[self.heap[index] as usize].at
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.places[self.heap[a] as usize].index = a as u32;
        self.places[self.heap[b] as usize].index = b as u32;
    }

    fn up(&mut self, mut index: usize) {
        while index > 0 {
            let parent = (index - 1) / 2;
            if self.at(parent) <= self.at(index) {
                break;
            }
            self.swap(parent, index);
            index = parent;
        }
    }

    fn down(&mut self, mut index: usize) {
        loop {
            let first = 2 * index + 1;
            if first >= self.heap.len() {
                break;
            }
            let second = first + 1;
            let child =
                if second < self.heap.len() && self.at(second) < self.at(first) { second } else { first };
            if self.at(index) <= self.at(child) {
                break;
            }
            self.swap(index, child);
            index = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    fn key(port: u16) -> FlowKey {
        let address = Ipv4Addr::new(10, 0, 0, 1).into();
        FlowKey { source: address, destination: address, source_port: port, destination_port: 1 }
    }

    #[test]
    fn a_full_table_refuses_flows_until_one_is_removed() {
        let mut table = Table::new(2);
        assert_eq!((table.insert(key(1), 'a'), table.insert(key(2), 'b')), (Some(0), Some(1)));
        assert_eq!(table.insert(key(3), 'c'), None);
        assert_eq!(table.remove(&key(1)), Some('a'));
        assert_eq!(table.insert(key(2), 'd'), None, "the name is taken");
        assert_eq!(table.insert(key(3), 'c'), Some(0), "the place is used again");
        assert_eq!((table.find(&key(3)), table.get(0), table.len()), (Some(0), Some(&'c'), 2));
    }

    proptest! {
        #[test]
        fn timers_fire_in_the_order_of_their_times(
            steps in prop::collection::vec((0u16..20, 0u64..30, 0u8..8), 1..200),
        ) {
            let mut table = Table::new(16);
            let mut model: HashMap<u16, u64> = HashMap::new();
            for (port, at, what) in steps {
                match what {
                    0 => {
                        prop_assert_eq!(table.remove(&key(port)).is_some(), model.remove(&port).is_some());
                    }
                    1 | 2 => {
                        let fits = model.len() < 16 && !model.contains_key(&port);
                        prop_assert_eq!(table.insert(key(port), port).is_some(), fits);
                        if fits {
                            model.insert(port, u64::MAX);
                        }
                    }
                    _ => {
                        if let Some(slot) = table.find(&key(port)) {
                            let at = if at == 0 { u64::MAX } else { at };
                            table.set_timer(slot, Time::from_ps(at));
                            model.insert(port, at);
                        }
                    }
                }
                let earliest = model.values().copied().min().unwrap_or(u64::MAX);
                prop_assert_eq!(table.next_timer(), Time::from_ps(earliest));
                if let Some(slot) = table.due(Time::from_ps(29)) {
                    let port = *table.get(slot).unwrap();
                    prop_assert_eq!(model[&port], earliest);
                }
            }
        }
    }
}
