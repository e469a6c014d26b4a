//! The events of a pair in order of time, and the packets that they are about.

use super::network::Way;
use super::port::Travelling;
use clearway_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens in the network; a packet is named by its place in [`Events`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Event {
    /// A packet arrives at its host.
    Arrive(Way, usize),
    /// A packet has left its NIC for the port.
    ReachPort(Way, usize),
    /// The sending host's NIC may be free.
    NicFree,
    /// The port may send.
    PortFree(Way),
    /// A credit may leave.
    CreditReady,
}

/// The events to come. Those of one time happen by rank, and those of one rank in the order in which they were pushed.
#[derive(Default)]
pub(super) struct Events {
    queue: BinaryHeap<Reverse<(Time, u8, u64, Event)>>,
    pushed: u64,
    packets: Vec<Travelling>,
    /// The places in `packets` that no event names.
    free: Vec<usize>,
}

impl Events {
    /// Schedules an event with its rank among those of the same time; the lowest rank comes first.
    pub fn push(&mut self, at: Time, rank: u8, event: Event) {
        self.pushed += 1;
        self.queue.push(Reverse((at, rank, self.pushed, event)));
    }

    /// The time of the next event.
    pub fn next_time(&self) -> Option<Time> {
        self.queue.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<Event> {
        self.queue.pop().map(|Reverse((.., event))| event)
    }

    /// Stores a packet that an event will name, and returns its place.
    pub fn put(&mut self, item: Travelling) -> usize {
        let place = self.free.pop().unwrap_or(self.packets.len());
        if place == self.packets.len() {
            self.packets.push(item);
        } else {
            self.packets[place] = item;
        }
        place
    }

    /// Takes the packet from a place, which is free from then on.
    pub fn take(&mut self, place: usize) -> Travelling {
        self.free.push(place);
        self.packets[place]
    }
}
