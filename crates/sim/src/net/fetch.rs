//! Fetching ahead what the events of a sorted bucket will need: in a large network nothing of it is in the cache.

use super::network::Network;
use super::port::Port;
use crate::engine::{AHEAD, Event, EventKind, exceeds_cache, prefetch};
use crate::ids::FlowSlot;

impl Network {
    /// Answers whether the ports are too large for a core's own cache, so that fetching ahead pays. Packets are not
    /// counted: the place of one that left is taken by the next one, so few places are in use at a time.
    pub fn is_large(&self) -> bool {
        exceeds_cache(self.ports.size() + self.queues.size() + self.plain.size() + self.credits.size())
    }

    /// Fetches what the next events need: those of one bucket are sorted already, so that is known.
    #[inline]
    pub fn look_ahead(&self) {
        if let Some(event) = self.agenda.peek(AHEAD * 3) {
            self.fetch_first(event);
        }
        if let Some(event) = self.agenda.peek(AHEAD * 2) {
            self.fetch_second(event);
        }
        if let Some(event) = self.agenda.peek(AHEAD) {
            self.fetch_third(event);
        }
    }

    /// The flow of the packet that reaches its host in the event so many places ahead, and whether the packet is for the
    /// receiving end; `None` if that event is another one.
    #[inline]
    pub fn arrives_at_host(&self, ahead: usize) -> Option<(bool, FlowSlot)> {
        let EventKind::Arrive(id) = self.agenda.peek(ahead)?.kind() else { return None };
        let parcel = &self.slab[id];
        (parcel.hops_left == 0).then(|| (parcel.packet.kind().is_for_receiver(), parcel.flow))
    }

    /// Fetches what an event will need first: its packet or its port.
    #[inline]
    fn fetch_first(&self, event: Event) {
        match event.kind() {
            EventKind::Arrive(id) => prefetch(&self.slab[id]),
            EventKind::Wake(port) => fetch_port(&self.ports[port]),
            _ => {}
        }
    }

    /// Fetches what an event will need next: the port to which its packet goes, or the queue that its port serves.
    #[inline]
    fn fetch_second(&self, event: Event) {
        match event.kind() {
            EventKind::Arrive(id) => {
                let parcel = &self.slab[id];
                if parcel.hops_left > 0 {
                    fetch_port(&self.ports[self.paths.port(parcel.hop)]);
                }
            }
            EventKind::Wake(port) => {
                let out = &self.ports[port];
                prefetch(&self.queues[out.queues]);
                if let Some(credits) = out.credits {
                    prefetch(self.credits.place(credits));
                }
            }
            _ => {}
        }
    }

    /// Fetches what an event will need last: the queue that its packet may join, or the packet that leaves one.
    #[inline]
    fn fetch_third(&self, event: Event) {
        match event.kind() {
            EventKind::Arrive(id) => {
                let parcel = &self.slab[id];
                if parcel.hops_left > 0 {
                    let out = &self.ports[self.paths.port(parcel.hop)];
                    if let Some(plain) = out.plain {
                        prefetch(&self.plain[plain]);
                    } else if let Some(credits) = out.credits.filter(|_| parcel.packet.is_credit()) {
                        prefetch(self.credits.place(credits));
                    } else {
                        prefetch(&self.queues[out.queues]);
                    }
                }
            }
            EventKind::Wake(port) => {
                if let Some(head) = self.queues[self.ports[port].queues].queue.head() {
                    prefetch(&self.slab[head]);
                }
            }
            _ => {}
        }
    }
}

/// Fetches both cache lines of a port that a packet touches.
#[inline]
fn fetch_port(port: &Port) {
    prefetch(port);
    prefetch(&port.counted);
}
