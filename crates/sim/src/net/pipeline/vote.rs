//! Votes: the mechanism of a port sees a packet and returns its verdict, which the port carries out. And the congestion
//! notification packets (CNPs) that mechanisms ask for: from the port that met congestion back to the sender, over the links
//! that the data took or, where packets are spread over paths, over any of them.

use crate::engine::EventKind;
use crate::ids::{ClassId, FlowSlot, MechanismId, PacketId};
use crate::net::drop_reason::DropReason;
use crate::net::forward;
use crate::net::network::Network;
use crate::net::paths::Route;
use crate::net::port::Port;
use crate::net::slab::{Addition, RoutedPacket};
use clearway_proto::{Change, Extra, Flags, Header, Packet, PortState, Reason, Verdict};
use clearway_topology::PortId;

/// What a mechanism's vote made of a packet that found its queue full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnFull {
    /// It is as it was, and there is no room for it.
    Unchanged,
    /// It is changed, and may find room now.
    Changed,
    /// The port has it no more.
    Gone,
}

/// Shows a packet that arrived at a port to the port's mechanism, if that sees it, and does as it votes. Returns whether the
/// packet goes on.
#[inline(always)]
pub fn vote(net: &mut Network, port: PortId, id: PacketId) -> bool {
    let special = &net.ports[port].special;
    let Some(mechanism) = special.mechanism.filter(|_| special.sees_arrivals.has(&net.slab[id].packet))
    else {
        return true;
    };
    let state = port_state(net, &net.ports[port]);
    let routed = &net.slab[id];
    let flow = net.notified.name(routed.flow);
    let (verdict, has_new_timeout) =
        net.mechanisms[mechanism].protocol.on_arrival(&routed.packet, flow, state);
    if has_new_timeout {
        arm_mechanism(net, mechanism);
    }
    verdict == Verdict::Keep || carry_out(net, port, mechanism, id, verdict)
}

/// Asks the mechanism of a port what becomes of a packet that found its queue full.
#[inline(never)]
pub fn vote_on_full(net: &mut Network, port: PortId, id: PacketId) -> OnFull {
    let Some(mechanism) = net.ports[port].special.mechanism else { return OnFull::Unchanged };
    let state = port_state(net, &net.ports[port]);
    match net.mechanisms[mechanism].protocol.on_full(&net.slab[id].packet, state) {
        Verdict::Keep => OnFull::Unchanged,
        verdict if carry_out(net, port, mechanism, id, verdict) => OnFull::Changed,
        _ => OnFull::Gone,
    }
}

/// Carries out a verdict. Returns whether the packet goes on at this port.
#[cold]
#[inline(never)]
fn carry_out(
    net: &mut Network,
    port: PortId,
    mechanism: MechanismId,
    id: PacketId,
    verdict: Verdict,
) -> bool {
    match verdict {
        Verdict::Keep => return true,
        Verdict::Change(how) => {
            change(net, mechanism, id, how);
            return true;
        }
        Verdict::Drop(Reason::Full) => net.drop_packet(port, id, DropReason::Buffer),
        Verdict::Drop(Reason::Vote) => net.drop_packet(port, id, DropReason::Vote),
        Verdict::Return(how) => {
            change(net, mechanism, id, how);
            give_back(net, port, id);
        }
    }
    false
}

/// Changes a packet as a mechanism has voted.
fn change(net: &mut Network, mechanism: MechanismId, id: PacketId, how: Change) {
    let routed = &mut net.slab[id];
    if how.marks && routed.packet.flags.has(Flags::ECN_CAPABLE) {
        routed.packet.flags.set(Flags::ECN_CE);
        net.mechanisms[mechanism].marks += 1;
    }
    if let Some(wire) = how.trim_to {
        net.books.trimmed.add(&routed.packet);
        routed.packet.trim(wire);
    }
    if let Some(kind) = how.class_of {
        let class = net.mechanisms[mechanism].classes.of(kind);
        routed.class = net.at_switches[class];
    }
}

/// Sends a packet back to its sender, over the links by which it came or, where packets are spread over paths, over any. It is
/// dropped if its flow has been given another path since.
fn give_back(net: &mut Network, port: PortId, id: PacketId) {
    let RoutedPacket { flow, mut packet, .. } = net.slab[id];
    packet.flags.set(Flags::RETURNED);
    let number = packet.header.offset().unwrap_or_default();
    let back = net.notified.back(flow);
    let way = back.and_then(|(back, _)| forward::way_back(net, &mut packet, port, flow, back, number));
    let Some(way) = way else { return net.drop_packet(port, id, DropReason::Vote) };
    let routed = &mut net.slab[id];
    routed.packet = packet;
    (routed.hop, routed.hops_left) = (way.then, way.hops - 1);
    super::arrival::hand_aside(net, way.port, id);
}

/// Shows a packet that leaves a port to the port's mechanism.
#[inline(always)]
pub fn show_departure(net: &mut Network, port: PortId, mechanism: MechanismId, id: PacketId) {
    let state = port_state(net, &net.ports[port]);
    let (routed, extra) = net.slab.get_both(id);
    net.mechanisms[mechanism].protocol.on_departure(&mut routed.packet, extra, state);
}

/// Returns a port, as its mechanism sees it. A port with a mechanism is not plain.
#[inline]
pub fn port_state(net: &Network, out: &Port) -> PortState {
    let queued = if out.waiting == 0 { 0 } else { bytes_waiting(net, out) };
    PortState { now: net.agenda.now, queued, sent: out.counted.bytes }
}

/// Returns the bytes that wait in all classes of data of a port. Kept apart, since most packets find nothing that waits.
#[inline(never)]
fn bytes_waiting(net: &Network, out: &Port) -> u64 {
    net.queues.range(out.queues, net.arbiter.classes()).iter().map(|queue| queue.queue.bytes()).sum()
}

#[inline(never)]
fn arm_mechanism(net: &mut Network, mechanism: MechanismId) {
    let now = net.agenda.now;
    let at_work = &mut net.mechanisms[mechanism];
    if let Some(at) = at_work.arm(now) {
        net.agenda.at_port(at_work.port, at, EventKind::MechanismTimer(mechanism));
    }
}

/// The timer of a mechanism came: it may notify senders. Flows that ended are passed over.
pub fn wake_mechanism(net: &mut Network, mechanism: MechanismId) {
    let now = net.agenda.now;
    let port = net.mechanisms[mechanism].port;
    let state = port_state(net, &net.ports[port]);
    let at_work = &mut net.mechanisms[mechanism];
    if at_work.is_due(now) {
        at_work.protocol.on_timeout(state);
    }
    while let Some(name) = net.mechanisms[mechanism].protocol.poll_cnp(now) {
        if let Some((flow, back, class)) = net.notified.by_name(name) {
            let number = net.mechanisms[mechanism].cnps;
            let is_sent = send_cnp(net, port, number, flow, back, class);
            net.mechanisms[mechanism].cnps += u64::from(is_sent);
        }
    }
    arm_mechanism(net, mechanism);
}

/// Sends notification number `number` of a port of a switch to the sender of a flow; `back` is the reverse of the route of the
/// flow's data. Returns false, and sends nothing, if the flow has been given another path since.
fn send_cnp(
    net: &mut Network,
    port: PortId,
    number: u64,
    flow: FlowSlot,
    back: Route,
    class: ClassId,
) -> bool {
    let mut packet = Packet::control(Header::Cnp, net.cnp_wire, net.agenda.now);
    let Some(way) = forward::way_back(net, &mut packet, port, flow, back, number) else { return false };
    net.unseen.count(flow, 1);
    net.put_in(&packet, Addition::New(&Extra::None), flow, class, way);
    true
}
