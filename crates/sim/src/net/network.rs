//! The network, and the way of a packet through it: it enters, arrives at ports, waits and leaves, until it reaches its
//! host or is dropped.

use super::books::Books;
use super::credits::Credits;
use super::data_queue::DataQueue;
use super::drop_reason::{ByReason, DropReason};
use super::exchange::Exchange;
use super::link::Loss;
use super::mechanisms::Mechanisms;
use super::memory::Memory;
use super::nics::{Nic, Nics};
use super::notified::Notified;
use super::paths::{Paths, Way};
use super::plain::PlainQueue;
use super::port::{ControlWork, Port};
use super::scheduler::Arbiter;
use super::slab::{Addition, RoutedPacket, Slab};
use super::unseen::Unseen;
use crate::engine::{Agenda, EventKind};
use crate::ids::{ClassId, FlowSlot, Id, IdVec, LossId, PacketId, PlainId, QueueId};
use crate::trace::Recorder;
use clearway_proto::{Flags, Packet, Sees};
use clearway_topology::PortId;
use clearway_units::Time;
use serde::{Deserialize, Serialize};

/// The next step of a port that is free.
pub enum Next {
    /// It sends this packet, which was just taken from its queue.
    Send(PacketId),
    /// It asks a flow of this class for a packet.
    Pull(ClassId),
    /// The port does nothing now.
    Rest,
}

/// The network, or a part of one: its ports and the packets that are there. Parts share no cache line, nor one that is
/// fetched along with it.
#[repr(align(128))]
#[derive(Serialize, Deserialize)]
pub struct Network {
    /// The present and the pending events.
    pub agenda: Agenda,
    /// The packets in the network.
    pub slab: Slab,
    /// The counts of what went in and what became of it.
    pub books: Books,
    /// The number of packets put on links, those included whose turn at a plain port has yet to come.
    pub launched: u64,
    /// The output ports.
    pub ports: IdVec<PortId, Port>,
    /// The number of packets dropped at each port, up to the last port that dropped any.
    pub(super) drops: IdVec<PortId, ByReason<u64>>,
    /// The packets that came to the queues of data of each port, less those that it sent, holds, or had no room for: those
    /// that waited when its link failed, less its pause frames. Up to the last port where that is not zero.
    pub(super) came_besides: IdVec<PortId, i64>,
    /// The queues of data of ports that are not plain: those of a port stand together, by class.
    pub(super) queues: IdVec<QueueId, DataQueue>,
    /// The queues of plain ports.
    pub(super) plain: IdVec<PlainId, PlainQueue>,
    /// The credits of ports.
    pub(super) credits: Credits,
    /// The NICs of hosts.
    pub nics: Nics,
    /// The latest end of a pace for which a flow was ever parked at its NIC.
    pub parked_until: Time,
    /// The turns of classes of data that share a port.
    pub(super) arbiter: Arbiter,
    /// The class of data at switches, if there is but one there, and queues share no memory.
    pub(super) lone_class: Option<ClassId>,
    /// The class at switches of packets of each class.
    pub(super) at_switches: IdVec<ClassId, ClassId>,
    /// The memory of switches.
    pub(super) memory: Memory,
    /// The random loss of links.
    pub(super) losses: IdVec<LossId, Loss>,
    /// The mechanisms at ports.
    pub(super) mechanisms: Mechanisms,
    /// The size on the wire of a notification that a switch sends.
    pub(super) cnp_wire: u32,
    /// The paths of all flows.
    pub paths: Paths,
    /// The flows that mechanisms may notify.
    pub notified: Notified,
    /// The flows of packets that were dropped, and of notifications that switches sent, since the last look.
    pub unseen: Unseen,
    /// The time at which a packet last left the network.
    pub left_at: Time,
    /// The recorder of traces, if there are any.
    pub tap: Option<Box<Recorder>>,
    /// What goes to other parts of the network and comes from there, if this is a part.
    pub exchange: Option<Exchange>,
}

impl Network {
    /// Returns the present.
    #[inline]
    pub fn now(&self) -> Time {
        self.agenda.now
    }

    /// Puts a packet of a flow into the network: the one way in, for all that hosts and switches send. Returns the
    /// packet, and the port to which the caller hands it.
    #[inline(always)]
    pub fn enter(
        &mut self,
        packet: &Packet,
        extra: Addition<'_>,
        flow: FlowSlot,
        class: ClassId,
        way: Way,
    ) -> (PacketId, PortId) {
        self.books.enter(packet);
        let has_extra = packet.flags.has(Flags::EXTRA);
        let is_credit = packet.is_credit();
        let id = self.slab.insert(RoutedPacket {
            packet: *packet,
            flow,
            hop: way.then,
            next: None,
            hops_left: way.hops - 1,
            class: if is_credit { class } else { self.at_switches[class] },
            class_at_host: class,
        });
        if has_extra {
            self.slab.set_extra(id, extra);
        }
        (id, way.port)
    }

    /// Puts a packet of a flow into the network, as [`Network::enter`], and hands it to the first port of its way.
    #[inline(always)]
    pub fn put_in(&mut self, packet: &Packet, extra: Addition<'_>, flow: FlowSlot, class: ClassId, way: Way) {
        let (id, port) = self.enter(packet, extra, flow, class, way);
        self.send(port, id);
    }

    /// Takes a packet out that reached its host.
    #[inline]
    pub fn deliver(&mut self, id: PacketId) {
        self.books.delivered.add(&self.slab[id].packet);
        self.forget(id);
    }

    #[inline]
    fn forget(&mut self, id: PacketId) {
        self.slab.remove(id);
        self.left_at = self.agenda.now;
    }

    /// Drops a packet at a port.
    #[inline]
    pub(super) fn drop_packet(&mut self, port: PortId, id: PacketId, why: DropReason) {
        self.drops.cover(port, ByReason::default());
        self.drops[port][why] += 1;
        if self.ports[port].special.is_traced {
            self.tap_drop(port, id, why);
        }
        let routed = &self.slab[id];
        self.books.dropped[why].add(&routed.packet);
        self.unseen.count(routed.flow, -1);
        self.forget(id);
    }

    /// Handles a packet that reached the end of the link of a port: at a switch it moves on. Returns whether it is at its
    /// host.
    #[inline(always)]
    pub fn arrive(&mut self, id: PacketId, over: PortId) -> bool {
        let routed = &mut self.slab[id];
        if routed.hops_left == 0 {
            return true;
        }
        let Some(port) = self.paths.ahead(routed.hop) else {
            self.forward(id, over);
            return false;
        };
        routed.hop = routed.hop.next();
        routed.hops_left -= 1;
        self.send(port, id);
        false
    }

    /// Hands a packet to an output port. One that nothing holds back goes on the link here; the others leave this way.
    #[inline(always)]
    fn send(&mut self, port: PortId, id: PacketId) {
        let (now, out) = (self.now(), &self.ports[port]);
        if let Some(plain) = out.plain {
            if out.busy_until > now {
                return self.wait_plainly(port, plain, id);
            }
        } else if out.special_arrivals != Sees::Nothing && out.special_arrivals.has(&self.slab[id].packet) {
            return self.send_past_look(port, id);
        } else if let Some(credits) = out.credits
            && self.slab[id].packet.is_credit()
        {
            return self.send_credit(port, credits, id);
        } else if !out.sends_at_once(now) {
            return self.enqueue(port, id);
        }
        self.transmit(port, id);
    }

    /// As [`Network::send`], for those who do so seldom.
    #[inline(never)]
    pub fn send_aside(&mut self, port: PortId, id: PacketId) {
        self.send(port, id);
    }

    /// Hands a packet to a port that looks at it first.
    #[inline(never)]
    fn send_past_look(&mut self, port: PortId, id: PacketId) {
        let out = &self.ports[port];
        if out.is_special() {
            return self.send_specially(port, id);
        }
        let mechanism = out.special.mechanism.expect("a mechanism sees packets");
        self.meet_mechanism(port, mechanism, id);
        match self.ports[port].credits {
            Some(credits) if self.slab[id].packet.is_credit() => self.send_credit(port, credits, id),
            _ if self.ports[port].sends_at_once(self.now()) => self.transmit(port, id),
            _ => self.enqueue(port, id),
        }
    }

    /// Hands a packet to a plain port that is busy: it leaves when all that came before it has left.
    #[inline(never)]
    fn wait_plainly(&mut self, port: PortId, plain: PlainId, id: PacketId) {
        let now = self.now();
        let out = &self.ports[port];
        let start = out.busy_until;
        if !self.plain[plain].join(&mut self.slab[id].packet, now, start) {
            return self.drop_packet(port, id, DropReason::Buffer);
        }
        self.put_on_link(port, id, start);
    }

    /// Puts a packet of data into the queue of its class, if that has room.
    pub(super) fn enqueue(&mut self, port: PortId, id: PacketId) {
        if let Memory::Guarded(_) = self.memory {
            return self.enqueue_under_control(port, id);
        }
        let now = self.now();
        let out = &mut self.ports[port];
        let is_host = out.nic.is_some();
        let routed = &mut self.slab[id];
        let queue = self.queues.nth_mut(out.queues, routed.class_at(is_host).index());
        let wire = routed.packet.wire as u64;
        let mut has_room = queue.has_room(wire);
        if let Memory::Shared(memory) = &mut self.memory
            && has_room
            && !is_host
        {
            has_room = memory.admit(out.owner, queue.queue.bytes(), wire);
        }
        if !has_room {
            queue.queue.turn_away();
            return self.drop_packet(port, id, DropReason::Buffer);
        }
        queue.mark_joining(&mut routed.packet);
        queue.queue.push(&mut self.slab, id, now);
        out.waiting += 1;
        let free = out.busy_until.max(now);
        self.arm(port, free);
    }

    /// Puts a packet on the link, which is free.
    #[inline(always)]
    pub fn transmit(&mut self, port: PortId, id: PacketId) {
        let now = self.now();
        debug_assert!(self.ports[port].is_free(now));
        self.put_on_link(port, id, now);
    }

    /// Puts a packet on the link at `start`, when it is free.
    #[inline(always)]
    fn put_on_link(&mut self, port: PortId, id: PacketId, start: Time) {
        let (out, packet) = (&mut self.ports[port], &self.slab[id].packet);
        let arrival = out.start_frame(packet.wire.into(), start);
        out.counted.add(packet);
        self.launched += 1;
        if out.special_departures.has(packet) {
            return self.launch_specially(port, arrival, id);
        }
        self.launch(port, arrival, id);
    }

    /// Schedules the arrival of a packet at the far end of a port's link: the one way over a link.
    #[inline(always)]
    pub(super) fn launch(&mut self, port: PortId, arrival: Time, id: PacketId) {
        self.agenda.at_port(port, arrival, EventKind::Arrive(id));
    }

    /// Wakes a port at `at`, unless it wakes earlier anyway.
    #[inline(always)]
    pub(super) fn arm(&mut self, port: PortId, at: Time) {
        let out = &mut self.ports[port];
        if at < out.wake_at {
            out.wake_at = at;
            self.agenda.at_port(port, at, EventKind::Wake(port));
        }
    }

    /// Decides what a free port does next: a credit if the limit allows, else data by class.
    #[inline(always)]
    pub fn next(&mut self, port: PortId) -> Next {
        let now = self.now();
        let out = &self.ports[port];
        if out.control.has(ControlWork::FRAME_DUE) {
            self.send_frame(port);
            return Next::Rest;
        }
        if let Some(credits) = out.credits
            && let Some(credit) = self.credits.next(credits, now)
        {
            return Next::Send(credit);
        }
        let out = &mut self.ports[port];
        let is_host = out.nic.is_some();
        let nic = out.nic.map(|nic| {
            self.nics[nic].settle_before(now);
            &self.nics[nic]
        });
        if out.waiting == 0 && !nic.is_some_and(Nic::has_any) {
            return Next::Rest;
        }
        let class = if let Some(only) = self.arbiter.only(is_host) {
            if out.control.has(ControlWork::STOPPED) {
                return Next::Rest;
            }
            only
        } else {
            let (queues, first, paused, waits) = (&self.queues, out.queues, out.paused, out.waiting > 0);
            let has = |class: ClassId| {
                let queued = waits && queues.nth(first, class.index()).queue.packets() > 0;
                (queued || nic.is_some_and(|nic| nic.has(class))) && !paused.has(class)
            };
            match self.arbiter.pick(port, is_host, has) {
                Some(class) => class,
                // What waits is stopped.
                None => return Next::Rest,
            }
        };
        if out.waiting == 0 {
            return Next::Pull(class);
        }
        let queue = self.queues.nth_mut(out.queues, class.index());
        let Some(id) = queue.queue.pop(&self.slab, now) else { return Next::Pull(class) };
        out.waiting -= 1;
        let packet = &mut self.slab[id].packet;
        queue.mark_leaving(packet);
        self.arbiter.charge(port, is_host, class, packet.wire.into());
        if !is_host {
            match &mut self.memory {
                Memory::Apart => {}
                Memory::Shared(memory) => memory.release(out.owner, packet.wire as u64),
                Memory::Guarded(_) => self.leave_memory(port, id),
            }
        }
        Next::Send(id)
    }

    /// Returns the queues of data by class, at a port that is not plain.
    pub(super) fn data_queues(&self, port: PortId) -> &[DataQueue] {
        self.queues.range(self.ports[port].queues, self.arbiter.classes())
    }

    /// Schedules a port's next wake-up after it did something, if anything waits.
    #[inline]
    pub fn rearm(&mut self, port: PortId) {
        let now = self.now();
        let out = &self.ports[port];
        if !out.up {
            return;
        }
        let free = out.busy_until.max(now);
        if !out.control.is_empty() {
            if self.may_send(port) {
                return self.arm(port, free);
            }
        } else if out.waiting > 0 || out.nic.is_some_and(|nic| self.nics[nic].has_any()) {
            return self.arm(port, free);
        }
        if let Some(credits) = out.credits
            && let Some(ready) = self.credits.ready_at(credits, now)
        {
            self.arm(port, free.max(ready));
        }
    }
}
