//! Fetching ahead what the events of the wheel's next buckets will need: little of it is in the first-level cache and, in
//! a large network, nothing in a core's own caches.

use super::forward;
use super::network::Network;
use super::port::Port;
use super::slab::RoutedPacket;
use crate::engine::{AHEAD, CAN_FETCH, Event, EventKind, exceeds_cache, prefetch, prefetch_lines};
use crate::ids::{CreditsId, FlowSlot, Id, QueueId};
use clearway_topology::PortId;

/// Returns whether the ports are too large for a core's own cache, so that fetching ahead pays. Packets are counted where ports
/// trim, whose senders fill queues with first windows; elsewhere the place of one that left is taken by the next one, so few
/// places are in use at a time.
pub fn is_large(net: &Network) -> bool {
    let blocks =
        net.blocks.as_ref().filter(|blocks| blocks.are_open()).map_or(1, |blocks| blocks.numbers().len());
    exceeds_cache(bytes(net) / blocks)
}

/// Returns the bytes of what events of a network need besides the ends of flows.
pub fn bytes(net: &Network) -> usize {
    let packets = if net.trims.has_any() { net.slab.size() } else { 0 };
    net.ports.size() + net.queues.size() + net.plain.size() + net.credits.size() + packets
}

/// Returns whether the first packets of queues are to be fetched ahead of the wake-up of their ports, by [`look_at_heads`].
pub fn wants_heads(net: &Network, is_large: bool) -> bool {
    is_large && net.trims.has_any()
}

/// Fetches the packets of which one leaves when the port wakes whose event is [`AHEAD`] places ahead: they came long ago.
#[inline]
pub fn look_at_heads(net: &Network) {
    let Some(EventKind::Wake(port)) = net.agenda.peek(AHEAD).map(|event| event.kind()) else { return };
    let out = &net.ports[port];
    if out.waiting > 0 {
        let heads =
            (0..net.arbiter.classes()).filter_map(|class| net.queues.nth(out.queues, class).queue.head());
        heads.for_each(|head| prefetch_lines(net.slab.address(head), 1));
    }
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
            } else if routed.hops_left > 0 && net.adaptive.is_none() {
                let port = forward::next_by_tables(net, routed, event.port()).port;
                fetch_port(&net.ports[port]);
                fetch_queue(net, port, routed);
            }
        }
        EventKind::Wake(port) => {
            let out = &net.ports[port];
            prefetch(&net.queues[out.queues]);
            if out.waiting > 0 {
                (1..net.arbiter.classes()).for_each(|class| prefetch(net.queues.nth(out.queues, class)));
            }
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

/// Fetches the queue of a port that a packet may join: what the port itself knows of it has yet to come. Where no port is plain,
/// queues are numbered as the ports are.
#[inline]
fn fetch_queue(net: &Network, port: PortId, routed: &RoutedPacket) {
    let classes = net.arbiter.classes();
    if net.queues.len() == net.ports.len() * classes {
        let queue = &net.queues[QueueId::from_index(port.index() * classes + routed.class.index())];
        prefetch(queue);
        prefetch(&queue.admission);
    }
}

/// Fetches both cache lines of a port.
#[inline]
fn fetch_port(port: &Port) {
    prefetch(port);
    prefetch(&port.wake_at);
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_proto::AnyTransport;
    use clearway_topology::Star;

    /// The network of a star whose ports have a limit for credits.
    fn network(hosts: u32) -> Network {
        let expresspass = AnyTransport::by_name("expresspass").unwrap();
        let topology = Star { hosts, ..Star::default() }.build().unwrap();
        Network::new(&crate::ports::network_for(topology, [&expresspass]).unwrap())
    }

    #[test]
    fn the_ports_of_ten_hosts_fit_into_a_cores_cache_and_those_of_five_thousand_do_not() {
        let small = network(10);
        assert!(!is_large(&small) && !wants_heads(&small, true));
        assert_eq!(is_large(&network(5_000)), CAN_FETCH);
        // Three cache lines for each port that has a limit for credits.
        assert_eq!((small.credits.len(), small.credits.size()), (20, 20 * 192));
    }
}
