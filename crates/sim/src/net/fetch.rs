//! Fetching ahead what the events of the wheel's next buckets will need: little of it is in the first-level cache and, in
//! a large network, nothing in a core's own caches.

use super::network::Network;
use super::port::Port;
use super::slab::RoutedPacket;
use crate::engine::{CAN_FETCH, Event, EventKind, exceeds_cache, prefetch, prefetch_lines};
use crate::ids::{CreditsId, FlowSlot, Id};
use clearway_topology::PortId;

impl Network {
    /// Returns whether the ports are too large for a core's own cache, so that fetching ahead pays. Packets are not
    /// counted: the place of one that left is taken by the next one, so few places are in use at a time.
    pub fn is_large(&self) -> bool {
        exceeds_cache(self.ports.size() + self.queues.size() + self.plain.size() + self.credits.size())
    }

    /// Fetches what the next events need, after the wheel has turned to another bucket: the packets that arrive in the next
    /// bucket and, in a large network, also the ports that wake there, and what the present bucket's events need besides.
    #[inline(never)]
    pub fn look_ahead(&self, is_large: bool) {
        if !CAN_FETCH {
            return;
        }
        if is_large {
            self.agenda.each_of_next_bucket(|event| match event.arriving() {
                Some(id) => prefetch_lines(self.slab.address(id), 1),
                None => self.fetch_waking(*event),
            });
            self.agenda.bucket().iter().for_each(|event| self.fetch_behind(*event));
        } else {
            let fetch = |event: &Event| prefetch_lines(self.slab.address(event.likely_packet()), 1);
            self.agenda.each_of_next_bucket(fetch);
        }
    }

    /// Fetches the port that an event wakes, if it wakes one.
    #[inline(never)]
    fn fetch_waking(&self, event: Event) {
        if let EventKind::Wake(port) = event.kind() {
            fetch_port(&self.ports[port]);
        }
    }

    /// Returns the flow of which one end is at work in the event so many places ahead, because a packet reaches its
    /// host or a timer ends, and whether that is the receiving end; `None` if the event is another one.
    #[inline]
    pub fn works_at_end(&self, ahead: usize) -> Option<(bool, FlowSlot)> {
        let event = self.agenda.peek(ahead)?;
        let Some(id) = event.arriving() else { return event.timer_of_end() };
        let routed = &self.slab[id];
        (routed.hops_left == 0).then(|| (routed.packet.kind().is_for_receiver(), routed.flow))
    }

    /// Fetches the port to which the packet of an event goes, or the queues of the port that wakes.
    #[inline]
    fn fetch_behind(&self, event: Event) {
        match event.kind() {
            EventKind::Arrive(id) => {
                let routed = &self.slab[id];
                if routed.hops_left > 0
                    && let Some(port) = self.paths.ahead(routed.hop)
                {
                    match self.plain.len() {
                        0 => {
                            fetch_port(&self.ports[port]);
                            self.fetch_credits(port, routed);
                        }
                        _ => prefetch(&self.ports[port]),
                    }
                }
            }
            EventKind::Wake(port) => {
                let out = &self.ports[port];
                prefetch(&self.queues[out.queues]);
                if let Some(credits) = out.credits {
                    self.credits.fetch(credits);
                }
            }
            _ => {}
        }
    }

    /// Fetches the credits of a port that a credit may join: what the port itself knows of them has yet to come. Where all ports
    /// have a limit for credits, these are numbered as the ports are.
    #[inline]
    fn fetch_credits(&self, port: PortId, routed: &RoutedPacket) {
        if routed.packet.is_credit() && self.credits.len() == self.ports.len() {
            self.credits.fetch(CreditsId::from_index(port.index()));
        }
    }
}

/// Fetches both cache lines of a port.
#[inline]
fn fetch_port(port: &Port) {
    prefetch(port);
    prefetch(&port.wake_at);
}
