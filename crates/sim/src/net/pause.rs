//! Priority flow control at ports: frames leave and are obeyed, packets wait in memory that is counted.

use super::drop_reason::DropReason;
use super::flow_control::{FlowControl, Frame};
use super::network::Network;
use super::paths::Paths;
use super::port::ControlWork;
use super::slab::RoutedPacket;
use crate::engine::EventKind;
use crate::fast_paths::tests_forbid;
use crate::ids::{ClassId, ClassSet, Id, PacketId};
use crate::trace::Step;
use clearway_proto::port::pfc::PAUSE_WIRE;
use clearway_topology::PortId;

/// Returns the port by which a packet that waits at a switch came. A notification that starts at a switch follows the
/// way of its data backwards, and so counts against the link by which it would have come.
#[inline]
fn came_from(paths: &Paths, routed: &RoutedPacket) -> PortId {
    paths.came_from(routed.hop)
}

impl Network {
    fn control(&mut self) -> &mut FlowControl {
        self.memory.control_mut().expect("asked for where there is flow control")
    }

    /// Notes at a port whether it has this work of flow control.
    fn set_work(&mut self, port: PortId, work: ControlWork, is_due: bool) {
        self.ports[port].control.set(work, is_due);
        self.ports[port].settle();
    }

    /// Tells the port that feeds a link into a switch what the switch asks of it: at once, when the link back to it is
    /// free, or when it works again.
    #[cold]
    #[inline(never)]
    fn tell(&mut self, from: PortId) {
        let back = from.reverse();
        self.set_work(back, ControlWork::FRAME_DUE, true);
        let out = &self.ports[back];
        if out.is_free(self.now()) {
            self.send_frame(back);
        } else if out.up {
            self.arm(back, out.busy_until);
        }
    }

    /// Sends the pause frame that waits for a port, which is free.
    #[cold]
    #[inline(never)]
    pub(super) fn send_frame(&mut self, back: PortId) {
        let (now, link) = (self.now(), back.reverse());
        self.set_work(back, ControlWork::FRAME_DUE, false);
        let Some(frame) = self.control().send_frame(link) else {
            // What the frame would have asked for was taken back in the meantime, and the port is still free.
            return self.arm(back, now);
        };
        self.books.frames.0 += 1;
        self.launched += 1;
        let out = &mut self.ports[back];
        let arrival = out.start_frame(PAUSE_WIRE, now);
        out.counted.add_frame(PAUSE_WIRE);
        self.came_besides.cover(back, 0);
        self.came_besides[back] -= 1;
        let out = &self.ports[back];
        if out.special.is_traced {
            let done = out.busy_until;
            self.tap_frame(back, Step::Leaves { done }, frame.stop, frame.go);
        }
        // The frame counts as in flight until the port obeys it.
        let obeyed = arrival + self.control().response();
        if let Some(part) = self.ports[back].special.leads_to {
            self.control().withdraw_frame(link);
            return self.hand_over_frame(part, back, obeyed, link, frame);
        }
        self.agenda.at_port(back, obeyed, EventKind::Pause(link));
    }

    /// A port obeys the first of the pause frames on the way to it. Returns whether a class of it may go on by that,
    /// and whether a watch must be set up.
    pub fn obey_frame(&mut self, port: PortId) -> (bool, bool) {
        let now = self.now();
        let frame = self.control().take_frame(port);
        self.books.frames.1 += 1;
        let out = &mut self.ports[port];
        let before = out.paused;
        if out.up {
            out.paused = before.or(frame.stop).without(frame.go);
        }
        let paused = out.paused;
        self.set_work(port, ControlWork::STOPPED, !paused.is_empty());
        if self.ports[port].special.is_traced {
            self.tap_frame(port, Step::Obeys, frame.stop, frame.go);
        }
        let control = self.control();
        control.note(port, paused, now);
        (!before.without(paused).is_empty(), !paused.is_empty() && control.starts_watch())
    }

    /// Puts a packet into a queue where there is flow control.
    #[inline(never)]
    pub(super) fn enqueue_under_control(&mut self, port: PortId, id: PacketId) {
        let now = self.now();
        let out = &mut self.ports[port];
        let routed = &mut self.slab[id];
        let class = routed.class_at(out.nic.is_some());
        let queue = self.queues.nth_mut(out.queues, class.index());
        let mut has_room = queue.has_room(routed.packet.wire as u64);
        let mut stopped = None;
        if has_room && out.nic.is_none() {
            let from = came_from(&self.paths, routed);
            let control = self.memory.control_mut().expect("asked for where there is flow control");
            let stops;
            (has_room, stops) = control.admit(routed, out.owner, from, queue.queue.bytes());
            stopped = Some(from).filter(|_| stops);
        }
        if has_room {
            queue.mark_joining(&mut routed.packet);
            queue.queue.push(&mut self.slab, id, now);
            out.waiting += 1;
            let free = out.busy_until.max(now);
            if !out.paused.has(class) {
                self.arm(port, free);
            }
        } else {
            queue.queue.turn_away();
            self.drop_packet(port, id, DropReason::Buffer);
        }
        if let Some(from) = stopped {
            self.tell(from);
        }
    }

    /// As [`Network::use_switch_port`], where there is flow control, nothing else is asked of the port and classes share no
    /// turns: one fast path through what [`Network::next`], [`Network::transmit`] and [`Network::rearm`] do. Returns
    /// whether it took that path.
    #[inline(never)]
    pub(super) fn use_under_control(&mut self, port: PortId) -> bool {
        let (now, out) = (self.now(), &mut self.ports[port]);
        let is_usual = out.is_free(now)
            && out.control.is_empty()
            && out.waiting > 0
            && out.credits.is_none()
            && !tests_forbid();
        let waits = |class: ClassId| self.queues.nth(out.queues, class.index()).queue.packets() > 0;
        let Some(class) = self.arbiter.first(false, waits).filter(|_| is_usual) else { return false };
        let queue = self.queues.nth_mut(out.queues, class.index());
        let id = queue.queue.pop(&self.slab, now).expect("a packet of the class waits");
        out.waiting -= 1;
        let routed = &mut self.slab[id];
        queue.mark_leaving(&mut routed.packet);
        let from = came_from(&self.paths, routed);
        let control = self.memory.control_mut().expect("asked for where there is flow control");
        if control.release(routed, out.owner, from) {
            self.tell(from);
        }
        self.transmit(port, id);
        let out = &self.ports[port];
        if out.waiting > 0 {
            self.arm(port, out.busy_until);
        }
        true
    }

    /// A packet leaves the memory of the switch of a port: the port from which it came may go on if it was stopped.
    #[inline(never)]
    pub(super) fn leave_memory(&mut self, port: PortId, id: PacketId) {
        let routed = &self.slab[id];
        let from = came_from(&self.paths, routed);
        let control = self.memory.control_mut().expect("asked for where there is flow control");
        if control.release(routed, self.ports[port].owner, from) {
            self.tell(from);
        }
    }

    /// Returns whether a pause frame waits at a port, or a class that is not stopped has something to send.
    #[inline(never)]
    pub(super) fn may_send(&self, port: PortId) -> bool {
        let out = &self.ports[port];
        let waits = |class: ClassId| {
            let queued = self.queues.nth(out.queues, class.index()).queue.packets() > 0;
            queued || out.nic.is_some_and(|nic| self.nics[nic].has(class))
        };
        let mut classes = (0..self.arbiter.classes()).map(ClassId::from_index);
        out.control.has(ControlWork::FRAME_DUE) || classes.any(|class| !out.paused.has(class) && waits(class))
    }

    /// A link fails or recovers: both of its ends forget what was asked over it before.
    pub(super) fn forget_pauses(&mut self, port: PortId) {
        let now = self.now();
        let Some(control) = self.memory.control_mut() else { return };
        let ends = [port, port.reverse()];
        let must_be_told = ends.map(|end| control.forget(end, now));
        for (end, must_be_told) in ends.into_iter().zip(must_be_told) {
            self.ports[end].paused = ClassSet::EMPTY;
            self.set_work(end, ControlWork::STOPPED, false);
            if must_be_told {
                self.set_work(end.reverse(), ControlWork::FRAME_DUE, true);
            }
        }
    }

    /// Returns whether a packet of a class waits at a port that came over the link of another one.
    pub(super) fn holds_from(&self, port: PortId, class: ClassId, from: PortId) -> bool {
        let queue = &self.queues.nth(self.ports[port].queues, class.index()).queue;
        queue.iter(&self.slab).any(|routed| came_from(&self.paths, routed) == from)
    }

    /// A pause frame for a port came from another part of the network.
    pub(super) fn accept_frame(&mut self, port: PortId, frame: Frame) {
        self.control().accept_frame(port, frame);
    }
}
