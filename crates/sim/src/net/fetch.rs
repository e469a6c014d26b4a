//! Fetching ahead what the events of a sorted bucket will need: in a large network nothing of it is in the cache.

use super::{NONE, Network};
use crate::engine::{Event, What, prefetch};

impl Network {
    /// Whether the network is too large for a core's own cache, so that fetching ahead pays.
    pub fn is_large(&self) -> bool {
        size_of_val(&self.ports[..]) + size_of_val(&self.queues[..]) + size_of_val(&self.credits[..])
            > 1 << 20
    }

    /// Fetches what an event will need first: its packet or its port.
    #[inline]
    pub fn fetch_first(&self, event: Event) {
        match event.what() {
            What::Arrive(index) => prefetch(self.slab.get(index)),
            What::Wake(port) => {
                let out = &self.ports[port as usize];
                prefetch(out);
                prefetch(&out.tx_bytes);
            }
            _ => {}
        }
    }

    /// Fetches what it needs next: the port that its packet goes to, or the queue that its port serves.
    #[inline]
    pub fn fetch_second(&self, event: Event) {
        match event.what() {
            What::Arrive(index) => {
                let slot = self.slab.get(index);
                if slot.hops > 0 {
                    let out = &self.ports[self.paths[slot.route as usize].index()];
                    prefetch(out);
                    prefetch(&out.tx_bytes);
                }
            }
            What::Wake(port) => {
                let out = &self.ports[port as usize];
                prefetch(&self.queues[out.first_queue as usize]);
                if out.credits != NONE {
                    prefetch(&self.credits[out.credits as usize]);
                }
            }
            _ => {}
        }
    }

    /// Fetches what it needs last: the queue that its packet may join, or the packet that leaves one.
    #[inline]
    pub fn fetch_third(&self, event: Event) {
        match event.what() {
            What::Arrive(index) => {
                let slot = self.slab.get(index);
                if slot.hops > 0 {
                    let out = &self.ports[self.paths[slot.route as usize].index()];
                    if slot.packet.is_credit() && out.credits != NONE {
                        prefetch(&self.credits[out.credits as usize]);
                    } else {
                        prefetch(&self.queues[out.first_queue as usize]);
                    }
                }
            }
            What::Wake(port) => {
                let queue = &self.queues[self.ports[port as usize].first_queue as usize].queue;
                if queue.head() != NONE {
                    prefetch(self.slab.get(queue.head()));
                }
            }
            _ => {}
        }
    }
}
