//! Votes: the mechanism of a port sees a packet and returns its verdict, which the port carries out.

use crate::engine::EventKind;
use crate::ids::{MechanismId, PacketId};
use crate::net::drop_reason::DropReason;
use crate::net::drops::drop_packet;
use crate::net::forward;
use crate::net::network::Network;
use crate::net::port::Port;
use crate::net::slab::RoutedPacket;
use clearway_proto::{Change, Flags, PortState, Reason, Verdict};
use clearway_topology::PortId;

/// What became of a packet by the vote of a mechanism.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is as it was.
    Kept,
    /// It is changed.
    Changed,
    /// It was dropped.
    Dropped,
    /// It goes back to its sender, by this port.
    Returns(PortId),
}

/// Shows a packet that arrived at a port to the port's mechanism, if that sees it, and does as it votes.
#[inline(always)]
pub fn vote(net: &mut Network, port: PortId, id: PacketId) -> Outcome {
    let special = &net.ports[port].special;
    let Some(mechanism) = special.mechanism.filter(|_| special.sees_arrivals.has(&net.slab[id].packet))
    else {
        return Outcome::Kept;
    };
    let state = port_state(net, &net.ports[port]);
    let routed = &net.slab[id];
    let flow = net.notified.name(routed.flow);
    let (verdict, has_new_timeout) =
        net.mechanisms[mechanism].protocol.on_arrival(&routed.packet, flow, state);
    if has_new_timeout {
        arm_mechanism(net, mechanism);
    }
    if verdict == Verdict::Keep { Outcome::Kept } else { carry_out(net, port, mechanism, id, verdict) }
}

/// Asks the mechanism of a port what becomes of a packet that found its queue full, and does as it votes. One that is kept has
/// no room.
#[inline(never)]
pub fn vote_on_full(net: &mut Network, port: PortId, id: PacketId) -> Outcome {
    let Some(mechanism) = net.ports[port].special.mechanism else { return Outcome::Kept };
    let state = port_state(net, &net.ports[port]);
    let verdict = net.mechanisms[mechanism].protocol.on_full(&net.slab[id].packet, state);
    carry_out(net, port, mechanism, id, verdict)
}

/// Carries out a verdict.
#[cold]
#[inline(never)]
fn carry_out(
    net: &mut Network,
    port: PortId,
    mechanism: MechanismId,
    id: PacketId,
    verdict: Verdict,
) -> Outcome {
    let reason = match verdict {
        Verdict::Keep => return Outcome::Kept,
        Verdict::Change(how) => {
            change(net, mechanism, id, how);
            return Outcome::Changed;
        }
        Verdict::Return(how) => {
            change(net, mechanism, id, how);
            if let Some(by) = turn_back(net, port, id) {
                return Outcome::Returns(by);
            }
            DropReason::Vote
        }
        Verdict::Drop(Reason::Full) => DropReason::Buffer,
        Verdict::Drop(Reason::Vote) => DropReason::Vote,
    };
    drop_packet(net, port, id, reason);
    Outcome::Dropped
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
        net.mechanisms[mechanism].trims += 1;
        routed.packet.trim(wire);
    }
    if let Some(kind) = how.class_of {
        let class = net.mechanisms[mechanism].classes.of(kind);
        routed.class = net.classes.at_switches(class);
    }
}

/// Turns a packet back to its sender, over the links by which it came or, where packets are spread over paths, over any. Returns
/// the port by which it goes; `None` if its flow has been given another path since.
pub(super) fn turn_back(net: &mut Network, port: PortId, id: PacketId) -> Option<PortId> {
    let RoutedPacket { flow, mut packet, .. } = net.slab[id];
    packet.flags.set(Flags::RETURNED);
    let number = packet.header.offset().unwrap_or_default();
    let back = net.notified.back(flow);
    let way = back.and_then(|(back, _)| forward::way_back(net, &mut packet, port, flow, back, number));
    let way = way?;
    let routed = &mut net.slab[id];
    routed.packet = packet;
    (routed.hop, routed.hops_left) = (way.then, way.hops - 1);
    Some(way.port)
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

/// Sees to it that a mechanism is woken when it wants to be.
#[inline(never)]
pub fn arm_mechanism(net: &mut Network, mechanism: MechanismId) {
    let now = net.agenda.now;
    let at_work = &mut net.mechanisms[mechanism];
    if let Some(at) = at_work.arm(now) {
        net.agenda.at_port(at_work.port, at, EventKind::MechanismTimer(mechanism));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ClassId;
    use crate::ids::Id;
    use crate::model::Pattern;
    use clearway_proto::{AnyTransport, Kind};
    use clearway_topology::Star;

    /// A network whose switches have a mechanism, with a port that has it.
    fn network() -> (Network, PortId, MechanismId) {
        let pacc = AnyTransport::by_name("pacc").unwrap();
        let mut model = crate::ports::network_for(Star::default().build().unwrap(), [&pacc]).unwrap();
        model.add_traffic("a", &pacc, Pattern::Flows(Vec::new().into()));
        let net = Network::new(&model);
        let has = |port: &PortId| net.ports[*port].special.mechanism.is_some();
        let port = (0..net.ports.len()).map(PortId::from_index).find(has).unwrap();
        let mechanism = net.ports[port].special.mechanism.unwrap();
        (net, port, mechanism)
    }

    /// What becomes of a packet of data of 1,000 bytes on the wire by a verdict; the packet is there unless it was dropped.
    fn verdict(net: &mut Network, port: PortId, verdict: Verdict, flags: Flags) -> (Outcome, PacketId) {
        let mechanism = net.ports[port].special.mechanism.unwrap();
        let mut routed = RoutedPacket::for_test(1_000);
        routed.packet.flags.set(flags);
        let id = net.slab.insert(routed);
        (carry_out(net, port, mechanism, id, verdict), id)
    }

    #[test]
    fn a_packet_that_a_mechanism_drops_counts_under_the_reason_that_it_gives() {
        let (mut net, port, _) = network();
        for (reason, counted) in [(Reason::Full, DropReason::Buffer), (Reason::Vote, DropReason::Vote)] {
            let (outcome, _) = verdict(&mut net, port, Verdict::Drop(reason), Flags::NONE);
            assert_eq!((outcome, net.look(port).drops()[counted]), (Outcome::Dropped, 1));
            assert_eq!(net.books.dropped[counted].packets, 1);
        }
        assert_eq!(net.look(port).drops().losses(), 2);
    }

    #[test]
    fn a_vote_marks_only_packets_that_may_carry_marks_and_counts_these() {
        let (mut net, port, _) = network();
        let marks = Verdict::Change(Change { marks: true, ..Change::default() });
        for (flags, marked, count) in [(Flags::NONE, false, 0), (Flags::ECN_CAPABLE, true, 1)] {
            let (outcome, id) = verdict(&mut net, port, marks, flags);
            assert_eq!(outcome, Outcome::Changed);
            assert_eq!(net.slab[id].packet.flags.has(Flags::ECN_CE), marked);
            assert_eq!(net.look(port).marks(), count);
        }
    }

    #[test]
    fn a_packet_that_is_trimmed_stands_in_the_books_and_in_the_class_of_the_kind_that_was_named() {
        let (mut net, port, mechanism) = network();
        let (ack, cnp) = (ClassId::from_index(0), ClassId::from_index(1));
        net.mechanisms[mechanism].classes.ack = ack;
        net.mechanisms[mechanism].classes.cnp = cnp;
        for (kind, class) in [(Kind::Cnp, cnp), (Kind::Ack, ack)] {
            let how = Change { trim_to: Some(84), class_of: Some(kind), ..Change::default() };
            let (outcome, id) = verdict(&mut net, port, Verdict::Change(how), Flags::NONE);
            let routed = &net.slab[id];
            assert_eq!((outcome, routed.packet.wire, routed.class), (Outcome::Changed, 84, class));
            assert!(routed.packet.flags.has(Flags::TRIMMED));
        }
        assert_eq!((net.books.trimmed.packets, net.look(port).trims()), (2, 2));
    }

    #[test]
    fn a_packet_whose_flow_has_no_way_back_is_dropped_in_place_of_being_returned() {
        let (mut net, port, _) = network();
        let (outcome, _) = verdict(&mut net, port, Verdict::Return(Change::default()), Flags::NONE);
        assert_eq!((outcome, net.look(port).drops()[DropReason::Vote]), (Outcome::Dropped, 1));
    }
}
