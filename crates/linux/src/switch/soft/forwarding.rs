//! The port behind which each Ethernet address was seen last.

use crate::wire::MacAddr;
use clearway_units::{Span, Time};
use std::collections::HashMap;

/// The addresses that a switch remembers at most. Frames to others go to all ports.
const ADDRESSES_MAX: usize = 4096;

/// The time for which the port of an address is remembered without a frame from it.
const ADDRESS_AGE: Span = Span::from_secs(300);

/// The table of addresses.
#[derive(Debug, Default)]
pub struct Forwarding {
    ports: HashMap<MacAddr, (usize, Time)>,
}

impl Forwarding {
    /// Remembers that `address` is behind `port`. A full table forgets what is old, and else learns nothing new.
    pub fn learn(&mut self, address: MacAddr, port: usize, now: Time) {
        if is_group(address) {
            return;
        }
        if let Some(known) = self.ports.get_mut(&address) {
            *known = (port, now);
            return;
        }
        if self.ports.len() >= ADDRESSES_MAX {
            self.ports.retain(|_, (_, seen)| now.saturating_since(*seen) < ADDRESS_AGE);
        }
        if self.ports.len() < ADDRESSES_MAX {
            self.ports.insert(address, (port, now));
        }
    }

    /// Returns the port behind which `address` is, if it is known and belongs to one host.
    pub fn find(&self, address: MacAddr, now: Time) -> Option<usize> {
        let &(port, seen) = self.ports.get(&address)?;
        (now.saturating_since(seen) < ADDRESS_AGE).then_some(port)
    }
}

/// Returns true for addresses of several hosts.
fn is_group(address: MacAddr) -> bool {
    address.0[0] & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_where_it_was_seen_last_and_forgotten_after_five_minutes() {
        let (mut table, start) = (Forwarding::default(), Time::ZERO);
        let address = MacAddr([2, 0, 0, 0, 0, 1]);
        assert_eq!(table.find(address, start), None);
        table.learn(address, 1, start);
        table.learn(address, 2, start);
        assert_eq!(table.find(address, start + Span::from_secs(299)), Some(2));
        assert_eq!(table.find(address, start + Span::from_secs(300)), None);
        table.learn(MacAddr([1, 0, 0, 0, 0, 1]), 1, start);
        assert_eq!(table.find(MacAddr([1, 0, 0, 0, 0, 1]), start), None, "a group is nobody's source");
    }

    #[test]
    fn a_flood_of_addresses_is_bounded_and_displaces_nobody() {
        let (mut table, start) = (Forwarding::default(), Time::ZERO);
        let address = |n: u32| {
            let [a, b, c, d] = n.to_be_bytes();
            MacAddr([2, 0, a, b, c, d])
        };
        (0..10_000).for_each(|n| table.learn(address(n), 0, start));
        assert_eq!(table.ports.len(), ADDRESSES_MAX);
        assert_eq!(table.find(address(0), start), Some(0));
    }
}
