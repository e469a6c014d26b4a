//! Fetching ahead what the events of the wheel's next buckets will need: little of it is in the first-level cache and, in
//! a large network, nothing in a core's own caches.

use super::network::Network;
use super::port::Port;
use super::slab::RoutedPacket;
use crate::engine::{CAN_FETCH, Event, EventKind, exceeds_cache, prefetch, prefetch_lines};
use crate::ids::{CreditsId, FlowSlot, Id};
use clearway_topology::PortId;

/// Returns whether the ports are too large for a core's own cache, so that fetching ahead pays. Packets are not
/// counted: the place of one that left is taken by the next one, so few places are in use at a time.
pub fn is_large(net: &Network) -> bool {
    exceeds_cache(net.ports.size() + net.queues.size() + net.plain.size() + net.credits.size())
}

/// Fetches what the next events need, after the wheel has turned to another bucket: the packets that arrive in the next
/// bucket and, in a large network, also the ports that wake there, and what the present bucket's events need besides.
#[inline(never)]
pub fn look_ahead(net: &Network, is_large: bool) {
    if !CAN_FETCH {
        return;
    }
    if is_large {
        net.agenda.each_of_next_bucket(|event| match event.arriving() {
            Some(id) => prefetch_lines(net.slab.address(id), 1),
            None => fetch_waking(net, *event),
        });
        net.agenda.bucket().iter().for_each(|event| fetch_behind(net, *event));
    } else {
        let fetch = |event: &Event| prefetch_lines(net.slab.address(event.likely_packet()), 1);
        net.agenda.each_of_next_bucket(fetch);
    }
}

/// Fetches the port that an event wakes, if it wakes one.
#[inline(never)]
fn fetch_waking(net: &Network, event: Event) {
    if let EventKind::Wake(port) = event.kind() {
        fetch_port(&net.ports[port]);
    }
}

/// Returns the flow of which one end is at work in the event so many places ahead, because a packet reaches its
/// host or a timer ends, and whether that is the receiving end; `None` if the event is another one.
#[inline]
pub fn works_at_end(net: &Network, ahead: usize) -> Option<(bool, FlowSlot)> {
    let event = net.agenda.peek(ahead)?;
    let Some(id) = event.arriving() else { return event.timer_of_end() };
    let routed = &net.slab[id];
    (routed.hops_left == 0).then(|| (routed.packet.is_for_receiver(), routed.flow))
}

/// Fetches the port to which the packet of an event goes, or the queues of the port that wakes.
#[inline]
fn fetch_behind(net: &Network, event: Event) {
    match event.kind() {
        EventKind::Arrive(id) => {
            let routed = &net.slab[id];
            if routed.hops_left > 0
                && let Some(port) = net.paths.ahead(routed.hop)
            {
                match net.plain.len() {
                    0 => {
                        fetch_port(&net.ports[port]);
                        fetch_credits(net, port, routed);
                    }
                    _ => prefetch(&net.ports[port]),
                }
            }
        }
        EventKind::Wake(port) => {
            let out = &net.ports[port];
            prefetch(&net.queues[out.queues]);
            if let Some(credits) = out.credits {
                net.credits.fetch(credits);
            }
        }
        _ => {}
    }
}

/// Fetches the credits of a port that a credit may join: what the port itself knows of them has yet to come. Where all ports
/// have a limit for credits, these are numbered as the ports are.
#[inline]
fn fetch_credits(net: &Network, port: PortId, routed: &RoutedPacket) {
    if routed.packet.is_credit() && net.credits.len() == net.ports.len() {
        net.credits.fetch(CreditsId::from_index(port.index()));
    }
}

/// Fetches both cache lines of a port.
#[inline]
fn fetch_port(port: &Port) {
    prefetch(port);
    prefetch(&port.wake_at);
}
