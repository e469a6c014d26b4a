//! The table of flows: found by their keys, numbered, bounded in all and for each peer.

use crate::wire::FlowKey;
use std::collections::HashMap;
use std::net::IpAddr;

/// A table of flows with a value each. Numbers are used again after a flow was removed.
#[derive(Debug)]
pub struct Table<T> {
    numbers: HashMap<FlowKey, u32>,
    slots: Vec<Option<(FlowKey, T)>>,
    free: Vec<u32>,
    peers: HashMap<IpAddr, u32>,
    max: usize,
    max_per_peer: u32,
}

impl<T> Table<T> {
    /// Makes a table for at most `max` flows, and at most `max_per_peer` from one source.
    pub fn new(max: u32, max_per_peer: u32) -> Table<T> {
        Table {
            numbers: HashMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            peers: HashMap::new(),
            max: max as usize,
            max_per_peer,
        }
    }

    /// Returns the number of flows in the table.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the number of a flow.
    pub fn find(&self, key: &FlowKey) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    /// Returns the value of a flow.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.as_mut().map(|(_, value)| value)
    }

    /// Adds a flow that is not in the table, and returns its number; or `None` if there is no room for it.
    pub fn insert(&mut self, key: FlowKey, value: T) -> Option<u32> {
        let of_peer = self.peers.get(&key.source).copied().unwrap_or(0);
        if self.numbers.len() >= self.max || of_peer >= self.max_per_peer {
            return None;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[number as usize] = Some((key, value));
        self.numbers.insert(key, number);
        self.peers.insert(key.source, of_peer + 1);
        Some(number)
    }

    /// Removes a flow and returns its value.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let (key, value) = self.slots.get_mut(number as usize)?.take()?;
        self.numbers.remove(&key);
        self.free.push(number);
        if let Some(of_peer) = self.peers.get_mut(&key.source) {
            *of_peer -= 1;
            if *of_peer == 0 {
                self.peers.remove(&key.source);
            }
        }
        Some(value)
    }

    /// Returns the number of slots: the numbers of all flows are below it.
    pub fn slots(&self) -> u32 {
        self.slots.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn key(peer: u8, port: u16) -> FlowKey {
        FlowKey {
            source: Ipv4Addr::new(10, 0, 0, peer).into(),
            destination: Ipv4Addr::new(10, 0, 0, 100).into(),
            source_port: port,
            destination_port: 80,
        }
    }

    #[test]
    fn a_peer_at_its_limit_leaves_room_for_others_until_the_table_is_full() {
        let mut table = Table::new(3, 2);
        assert_eq!((table.insert(key(1, 1), 'a'), table.insert(key(1, 2), 'b')), (Some(0), Some(1)));
        assert_eq!(table.insert(key(1, 3), 'c'), None);
        assert_eq!(table.insert(key(2, 1), 'd'), Some(2));
        assert_eq!(table.insert(key(3, 1), 'e'), None);
        assert_eq!((table.len(), table.slots()), (3, 3));
    }

    #[test]
    fn a_removed_flow_makes_room_and_its_number_is_used_again() {
        let mut table = Table::new(2, 1);
        table.insert(key(1, 1), 'a');
        table.insert(key(2, 1), 'b');
        assert_eq!((table.remove(0), table.remove(0), table.remove(7)), (Some('a'), None, None));
        assert_eq!((table.find(&key(1, 1)), table.find(&key(2, 1))), (None, Some(1)));
        assert_eq!((table.insert(key(1, 9), 'c'), table.find(&key(1, 9))), (Some(0), Some(0)));
        assert_eq!(table.get_mut(0), Some(&mut 'c'));
        assert!(table.remove(0).is_some() && table.remove(1).is_some());
        assert!(table.peers.is_empty(), "peers without flows are forgotten");
    }
}
