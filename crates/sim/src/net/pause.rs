//! Priority flow control at ports: frames leave and are obeyed, packets wait in memory that is counted.

use super::flow_control::{FlowControl, Frame};
use super::network::Network;
use super::paths::Paths;
use super::port::ControlWork;
use super::slab::RoutedPacket;
use super::tap;
use crate::engine::EventKind;
use crate::ids::{ClassId, ClassSet, Id, PacketId};
use crate::trace::Step;
use clearway_proto::port::pfc::PAUSE_WIRE;
use clearway_topology::PortId;

/// Returns the port by which a packet that waits at a switch came. A notification that starts at a switch follows the
/// way of its data backwards, and so counts against the link by which it would have come.
#[inline]
pub(super) fn came_from(paths: &Paths, routed: &RoutedPacket) -> PortId {
    paths.came_from(routed.hop)
}

fn control(net: &mut Network) -> &mut FlowControl {
    net.memory.control_mut().expect("asked for where there is flow control")
}

/// Notes at a port whether it has this work of flow control.
fn set_work(net: &mut Network, port: PortId, work: ControlWork, is_due: bool) {
    net.ports[port].control.set(work, is_due);
    net.ports[port].settle();
}

/// Tells the port that feeds a link into a switch what the switch asks of it: at once, when the link back to it is
/// free, or when it works again.
#[cold]
#[inline(never)]
pub(super) fn tell(net: &mut Network, from: PortId) {
    let back = from.reverse();
    set_work(net, back, ControlWork::FRAME_DUE, true);
    let out = &net.ports[back];
    if out.is_free(net.now()) {
        send_frame(net, back);
    } else if out.up {
        net.arm(back, out.busy_until);
    }
}

/// Sends the pause frame that waits for a port, which is free.
#[cold]
#[inline(never)]
pub(super) fn send_frame(net: &mut Network, back: PortId) {
    let (now, link) = (net.now(), back.reverse());
    set_work(net, back, ControlWork::FRAME_DUE, false);
    let Some(frame) = control(net).send_frame(link) else {
        // What the frame would have asked for was taken back in the meantime, and the port is still free.
        return net.arm(back, now);
    };
    net.books.frames.0 += 1;
    net.launched += 1;
    let out = &mut net.ports[back];
    let arrival = out.start_frame(PAUSE_WIRE, now);
    out.counted.add_frame(PAUSE_WIRE);
    net.came_besides.cover(back, 0);
    net.came_besides[back] -= 1;
    let out = &net.ports[back];
    if out.special.is_traced {
        let done = out.busy_until;
        tap::frame(net, back, Step::Leaves { done }, frame.stop, frame.go);
    }
    // The frame counts as in flight until the port obeys it.
    let obeyed = arrival + control(net).response();
    if let Some(away) = net.ports[back].special.leads_to {
        return net.hand_over_frame(away, back, obeyed, link, frame);
    }
    net.agenda.at_port(back, obeyed, EventKind::Pause(link));
}

/// A port obeys the first of the pause frames on the way to it. Returns whether a class of it may go on by that,
/// and whether a watch must be set up.
pub fn obey_frame(net: &mut Network, port: PortId) -> (bool, bool) {
    let now = net.now();
    let frame = control(net).take_frame(port);
    net.books.frames.1 += 1;
    let out = &mut net.ports[port];
    let before = out.paused;
    if out.up {
        out.paused = before.or(frame.stop).without(frame.go);
    }
    let paused = out.paused;
    set_work(net, port, ControlWork::STOPPED, !paused.is_empty());
    if net.ports[port].special.is_traced {
        tap::frame(net, port, Step::Obeys, frame.stop, frame.go);
    }
    let control = control(net);
    control.note(port, paused, now);
    (!before.without(paused).is_empty(), !paused.is_empty() && control.starts_watch())
}

/// A packet leaves the memory of the switch of a port: the port from which it came may go on if it was stopped.
#[inline(never)]
pub(super) fn leave_memory(net: &mut Network, port: PortId, id: PacketId) {
    let routed = &net.slab[id];
    let from = came_from(&net.paths, routed);
    let control = net.memory.control_mut().expect("asked for where there is flow control");
    if control.release(routed, net.ports[port].owner, from) {
        tell(net, from);
    }
}

/// Returns whether a pause frame waits at a port, or a class that is not stopped has something to send.
#[inline(never)]
pub(super) fn may_send(net: &Network, port: PortId) -> bool {
    let out = &net.ports[port];
    let waits = |class: ClassId| {
        let queued = net.queues.nth(out.queues, class.index()).queue.packets() > 0;
        queued || out.nic.is_some_and(|nic| net.nics[nic].has(class))
    };
    let mut classes = (0..net.arbiter.classes()).map(ClassId::from_index);
    out.control.has(ControlWork::FRAME_DUE) || classes.any(|class| !out.paused.has(class) && waits(class))
}

/// A link fails or recovers: both of its ends forget what was asked over it before.
pub(super) fn forget_pauses(net: &mut Network, port: PortId) {
    let now = net.now();
    let Some(control) = net.memory.control_mut() else { return };
    let ends = [port, port.reverse()];
    let must_be_told = ends.map(|end| control.forget(end, now));
    for (end, must_be_told) in ends.into_iter().zip(must_be_told) {
        net.ports[end].paused = ClassSet::EMPTY;
        set_work(net, end, ControlWork::STOPPED, false);
        if must_be_told {
            set_work(net, end.reverse(), ControlWork::FRAME_DUE, true);
        }
    }
}

/// Returns whether a packet of a class waits at a port that came over the link of another one.
pub(super) fn holds_from(net: &Network, port: PortId, class: ClassId, from: PortId) -> bool {
    let queue = &net.queues.nth(net.ports[port].queues, class.index()).queue;
    queue.iter(&net.slab).any(|routed| came_from(&net.paths, routed) == from)
}

/// A pause frame goes to another part of the network.
pub(super) fn withdraw_frame(net: &mut Network, link: PortId) {
    control(net).withdraw_frame(link);
}

/// A pause frame for a port came from another part of the network.
pub(super) fn accept_frame(net: &mut Network, port: PortId, frame: Frame) {
    control(net).accept_frame(port, frame);
}
