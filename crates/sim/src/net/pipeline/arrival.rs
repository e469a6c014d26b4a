//! Arrival: a port is handed a packet, which goes on the link at once or joins a queue, if that has room.

use super::admit::admit;
use super::deferred;
use super::departure::{put_on_link, transmit};
use super::rules::{AdmissionRule, UnderControl, WithoutControl};
use super::service::rearm;
use super::trim::make_room;
use super::vote::{Outcome, vote, vote_on_full};
use crate::ids::{CreditsId, Id, PacketId, PlainId};
use crate::net::credit_queue::WaitingCredit;
use crate::net::credits::Kept;
use crate::net::drop_reason::DropReason;
use crate::net::drops::drop_packet;
use crate::net::memory::Memory;
use crate::net::network::Network;
use crate::net::pause;
use crate::net::port::ControlWork;
use crate::net::slab::RoutedPacket;
use crate::net::tap;
use clearway_proto::Sees;
use clearway_topology::PortId;

/// Hands a packet to an output port. One that nothing holds back goes on the link here; the others leave this way.
#[inline(always)]
pub fn hand(net: &mut Network, port: PortId, id: PacketId) {
    let (now, out) = (net.agenda.now, &net.ports[port]);
    if let Some(plain) = out.plain {
        if out.busy_until > now {
            return wait_plainly(net, port, plain, id);
        }
        return transmit(net, port, id);
    }
    if out.special_arrivals != Sees::Nothing && out.special_arrivals.has(&net.slab[id].packet) {
        return hand_where_looked_at(net, port, id);
    }
    pass::<false>(net, port, id);
}

/// As [`hand`], for those who do so seldom.
#[inline(never)]
pub fn hand_aside(net: &mut Network, port: PortId, id: PacketId) {
    hand(net, port, id);
}

/// Hands a packet to a port that is served late: it goes on the link at once if, after all that was due before this instant, the
/// link is free and nothing waits. Else it waits: a wake-up that is due now is for packets that have left.
#[inline(always)]
pub fn hand_late(net: &mut Network, port: PortId, id: PacketId) {
    let now = net.agenda.now;
    if net.ports[port].busy_until <= now {
        deferred::settle_if_due(net, port, now);
        let out = &net.ports[port];
        if out.waiting == 0 && out.busy_until <= now {
            return deferred::send_at_once(net, port, id);
        }
    }
    join_late(net, port, id);
}

/// Puts a packet into the queue of its class at a port that is served late, whose link is busy until this instant or later. As
/// [`join`], without what such a port never has: a NIC, shared memory or flow control.
#[inline(always)]
fn join_late(net: &mut Network, port: PortId, id: PacketId) {
    let (out, routed) = (&mut net.ports[port], &mut net.slab[id]);
    let queue = net.queues.nth_mut(out.queues, routed.class.index());
    if !queue.has_room(routed.packet.wire.into()) {
        return refuse::<WithoutControl>(net, port, id);
    }
    queue.mark_joining(&mut routed.packet);
    queue.queue.push(&mut net.slab, id, net.agenda.now);
    out.waiting += 1;
    let at = out.busy_until + out.delay;
    net.arm(port, at);
}

/// As [`hand_late`], for packets that no tables forward.
#[inline(never)]
fn hand_late_aside(net: &mut Network, port: PortId, id: PacketId) {
    hand_late(net, port, id);
}

/// Hands a packet to a port that looks at it first: its link is down, flow control wants something of it, a mechanism votes, a
/// trace covers it, or the port is served late.
#[inline(never)]
fn hand_where_looked_at(net: &mut Network, port: PortId, id: PacketId) {
    if deferred::is_deferred(&net.ports[port]) {
        return hand_late_aside(net, port, id);
    }
    // Where not all packets come here, a mechanism sees this one, and nothing else does.
    let out = &net.ports[port];
    if out.special_arrivals == Sees::All && out.is_special() {
        return hand_where_special(net, port, id);
    }
    hand_as_voted::<false>(net, port, id);
}

#[inline(never)]
fn hand_where_special(net: &mut Network, port: PortId, id: PacketId) {
    let is_traced = net.ports[port].special.is_traced;
    if is_traced {
        tap::handed(net, port, id);
    }
    let out = &net.ports[port];
    if !out.up {
        drop_packet(net, port, id, DropReason::Down);
    } else {
        if out.control.has(ControlWork::FRAME_DUE) && out.is_free(net.agenda.now) {
            // The port has just become free: a packet must not overtake the pause frame that waits for that.
            pause::send_frame(net, port);
        }
        hand_as_voted::<true>(net, port, id);
    }
    if is_traced {
        tap::settled(net, port, id);
    }
}

/// Lets a port's mechanism vote on a packet, and hands the packet to where it goes then.
#[inline(always)]
fn hand_as_voted<const IS_SPECIAL: bool>(net: &mut Network, port: PortId, id: PacketId) {
    match vote(net, port, id) {
        Outcome::Kept | Outcome::Changed => pass::<IS_SPECIAL>(net, port, id),
        Outcome::Dropped => {}
        Outcome::Returns(by) => hand_aside(net, by, id),
    }
}

/// Sends a packet on, or keeps it, at a port that is not plain; at one that is special, a class may be stopped.
#[inline(always)]
fn pass<const IS_SPECIAL: bool>(net: &mut Network, port: PortId, id: PacketId) {
    let (out, routed) = (&net.ports[port], &net.slab[id]);
    if let Some(credits) = out.credits
        && routed.packet.is_credit()
    {
        return hand_credit(net, port, credits, id);
    }
    let is_stopped = IS_SPECIAL && out.paused.has(routed.class_at(out.nic.is_some()));
    if out.sends_at_once(net.agenda.now) && !is_stopped {
        return transmit(net, port, id);
    }
    join(net, port, id);
}

/// Hands a packet to a plain port that is busy: it leaves when all that came before it has left.
#[inline(never)]
fn wait_plainly(net: &mut Network, port: PortId, plain: PlainId, id: PacketId) {
    let (now, start) = (net.agenda.now, net.ports[port].busy_until);
    if !net.plain[plain].join(&mut net.slab[id].packet, now, start) {
        return drop_packet(net, port, id, DropReason::Buffer);
    }
    put_on_link(net, port, id, start);
}

/// Puts a packet of data into the queue of its class, if that has room.
#[inline(always)]
pub fn join(net: &mut Network, port: PortId, id: PacketId) {
    match net.memory {
        Memory::Guarded(_) => join_memory::<UnderControl>(net, port, id),
        _ => join_memory::<WithoutControl>(net, port, id),
    }
}

#[inline(never)]
fn join_memory<M: AdmissionRule>(net: &mut Network, port: PortId, id: PacketId) {
    let admitted = admit::<M>(net, port, id);
    if !admitted.has_room {
        refuse::<M>(net, port, id);
    }
    if M::PAUSES
        && let Some(from) = admitted.stops
    {
        pause::tell(net, from);
    }
}

/// There is no room for a packet. A port that trims may cut it, or another one in its place. Else the port's mechanism has a
/// second vote, and a packet that it changes is tried once more.
#[inline(never)]
fn refuse<M: AdmissionRule>(net: &mut Network, port: PortId, id: PacketId) {
    if net.ports[port].special.trims() {
        let trimmed = make_room::<M>(net, port, id);
        trimmed.back.into_iter().flatten().for_each(|(by, id)| hand_aside(net, by, id));
        if trimmed.is_settled {
            return;
        }
    }
    match vote_on_full(net, port, id) {
        Outcome::Dropped => return,
        Outcome::Returns(by) => return hand_aside(net, by, id),
        Outcome::Kept => {}
        Outcome::Changed => {
            let admitted = admit::<M>(net, port, id);
            if let Some(from) = admitted.stops {
                pause::tell(net, from);
            }
            if admitted.has_room {
                return;
            }
        }
    }
    let (out, routed) = (&net.ports[port], &net.slab[id]);
    let class = routed.class_at(out.nic.is_some());
    net.queues.nth_mut(out.queues, class.index()).queue.turn_away();
    drop_packet(net, port, id, DropReason::Buffer);
}

/// Hands a credit to a port that has a limit for credits.
#[inline(never)]
fn hand_credit(net: &mut Network, port: PortId, credits: CreditsId, id: PacketId) {
    let now = net.agenda.now;
    let wire = net.slab[id].packet.wire.into();
    if net.ports[port].busy_until <= now && net.credits.passes(credits, wire, now) {
        return transmit(net, port, id);
    }
    keep_credit(net, port, credits, id);
}

/// Hands a credit to a port that can't send it at once, as far as that is known without a look at several classes.
#[inline(always)]
fn keep_credit(net: &mut Network, port: PortId, credits: CreditsId, id: PacketId) {
    let busy_until = net.ports[port].busy_until;
    let RoutedPacket { packet, class, .. } = &net.slab[id];
    let credit = WaitingCredit { id, wire: packet.wire.into() };
    match net.credits.keep(credits, *class, credit, busy_until, net.agenda.now) {
        Kept::WakeAt(at) => net.arm(port, at),
        Kept::Sleep => {}
        Kept::Ask => use_credits(net, port, credits),
        Kept::Full => drop_packet(net, port, id, DropReason::Credit),
        Kept::InPlaceOf(other) => {
            drop_packet(net, port, other, DropReason::Credit);
            // If it was the first, another one is now, whose turn may come sooner.
            rearm(net, port);
        }
    }
}

/// Sends the credit whose turn it is at a port with several classes of them, if the limits let it pass, or sees to it that
/// the port wakes for it.
#[cold]
fn use_credits(net: &mut Network, port: PortId, credits: CreditsId) {
    let now = net.agenda.now;
    if net.ports[port].busy_until <= now
        && let Some(credit) = net.credits.next(credits, now)
    {
        return transmit(net, port, credit.id);
    }
    rearm(net, port);
}
