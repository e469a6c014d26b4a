//! The network: output ports, links, and the packets on them.
//!
//! An uncontended packet costs one event a hop: its arrival at the next node. A contended one costs two: the port
//! wakes when the link becomes free. A port has at most one wake-up pending that counts; earlier ones that were
//! overtaken are recognised by their time.

mod books;
mod build;
mod credit_classes;
mod fetch;
mod flow_control;
mod notices;
mod paths;
mod port;
mod queue;
mod scheduler;
mod slab;
mod special;

pub use books::{Books, Drop};
pub use build::horizon;
pub use credit_classes::CreditClasses;
pub use flow_control::FlowControlSummary;
pub use paths::Route;
pub use port::{Credits, Port};
pub use slab::{NONE, Slab, Slot};

use crate::engine::{Event, What, Wheel};
use crate::model::SharedBuffer;
use crate::timer::Timer;
use clearway_proto::{AnyMechanism, Extra, Flags, Packet, Rng};
use clearway_topology::PortId;
use clearway_units::Time;
use flow_control::{FRAME_DUE, FlowControl, STOPPED};
use port::DataQueue;
use scheduler::{Order, Turns};
use std::collections::VecDeque;

/// What a host's port has besides: flows that wait for their turn to send data, by class.
pub struct Nic {
    ready: Vec<VecDeque<u32>>,
    waiting: usize,
}

/// What a port may do next.
pub enum Next {
    /// Send this packet, which was just taken from its queue.
    Send(u32),
    /// Ask a flow of this class for a packet.
    Pull(usize),
    /// Nothing now.
    Rest,
}

/// The network.
pub struct Network {
    /// The present.
    pub now: Time,
    /// What will happen.
    pub wheel: Wheel,
    /// Packets in it.
    pub slab: Slab,
    /// What went in and what became of it.
    pub books: Books,
    /// Packets put on links.
    pub link_transmissions: u64,
    /// Output ports, by [`PortId`].
    pub ports: Vec<Port>,
    /// Data queues: those of a port stand together, by class.
    pub queues: Vec<DataQueue>,
    /// Credits of ports, where there are any.
    pub credits: Vec<Credits>,
    /// Their classes, where there are several.
    pub credit_classes: Option<Box<CreditClasses>>,
    nics: Vec<Nic>,
    /// Ports' turns, where classes share a port.
    turns: Vec<Turns>,
    switch_order: Order,
    host_order: Order,
    /// The class that packets of each class are in at switches.
    at_switches: Vec<u8>,
    /// Buffers shared by the ports of a switch: use by node.
    shared: Option<SharedBuffer>,
    shared_used: Vec<u64>,
    /// Priority flow control, in whose memory packets then wait.
    control: Option<Box<FlowControl>>,
    /// Random loss by port: (probability, stream); only ports that lose.
    losses: Vec<(f64, Rng)>,
    /// What ports do besides queueing, where they do.
    mechanisms: Vec<Mechanism>,
    /// Notifications of congestion that were sent.
    pub notices: u64,
    /// Size on the wire of a notification that a switch sends.
    notice_wire: u32,
    /// Ports on paths; a [`Route`] refers to a stretch.
    paths: Vec<PortId>,
    free_paths: Vec<Vec<u32>>,
    /// Packets of each flow in the network; the top bit says that both ends are done.
    flow_packets: Vec<u32>,
    /// How many flows have had each place before the present one.
    flow_births: Vec<u32>,
    /// Flows that are done and whose last packet left the network.
    pub drained: Vec<u32>,
}

const ENDED: u32 = 1 << 31;

/// What a port does besides queueing.
struct Mechanism {
    what: AnyMechanism,
    port: u32,
    /// The wake-ups that it asked for.
    timer: Timer,
}

impl Network {
    /// Schedules an event of a host.
    #[inline]
    pub fn schedule_at_host(&mut self, host: u32, at: Time, what: What) {
        self.wheel.push(Event::new(at, self.ports.len() as u32 + host, what));
    }

    /// Makes room for the packet count of a new flow.
    pub fn open_flow(&mut self, flow: u32) {
        if self.flow_packets.len() <= flow as usize {
            self.flow_packets.resize(flow as usize + 1, 0);
            self.flow_births.resize(flow as usize + 1, 0);
        }
        self.flow_births[flow as usize] += 1;
        debug_assert!(
            self.flow_packets[flow as usize] & !ENDED == 0,
            "a flow's place is reused with packets of it about"
        );
        self.flow_packets[flow as usize] = 0;
    }

    /// Notes that both ends of a flow are done: once none of its packets are left it shows up in `drained`.
    pub fn end_flow(&mut self, flow: u32) {
        let packets = &mut self.flow_packets[flow as usize];
        *packets |= ENDED;
        if *packets == ENDED {
            self.drained.push(flow);
        }
    }

    /// Whether a flow that ended has no packet in the network.
    pub fn is_drained(&self, flow: u32) -> bool {
        self.flow_packets[flow as usize] == ENDED
    }

    /// Puts a packet of a flow into the network; returns it, and the host's port that it goes to.
    #[inline]
    pub fn inject(
        &mut self,
        packet: Packet,
        extra: &Extra,
        flow: u32,
        class: u8,
        route: Route,
        rng: &mut Rng,
    ) -> (u32, u32) {
        self.books.sent.add(&packet);
        self.flow_packets[flow as usize] += 1;
        let choice = if route.count > 1 { rng.below(route.count as u64) as u32 } else { 0 };
        let first = route.base + choice * route.hops as u32;
        let has_extra = packet.flags.has(Flags::EXTRA);
        let is_credit = packet.is_credit();
        let there = if is_credit { class } else { self.at_switches[class as usize] };
        let slot = Slot {
            packet,
            flow,
            route: first + 1,
            next: NONE,
            hops: route.hops - 1,
            class: there,
            class_at_host: class,
        };
        let index = self.slab.insert(slot);
        if has_extra {
            self.slab.set_extra(index, *extra);
        }
        (index, self.paths[first as usize].0)
    }

    /// Takes a packet out that reached its host.
    #[inline]
    pub fn deliver(&mut self, index: u32) {
        self.books.delivered.add(&self.slab.get(index).packet);
        self.forget(index);
    }

    #[inline]
    fn forget(&mut self, index: u32) {
        let flow = self.slab.get(index).flow;
        self.slab.remove(index);
        let packets = &mut self.flow_packets[flow as usize];
        *packets -= 1;
        if *packets == ENDED {
            self.drained.push(flow);
        }
    }

    #[inline]
    fn drop_packet(&mut self, port: u32, index: u32, why: Drop) {
        self.ports[port as usize].drops[why as usize] += 1;
        self.books.dropped[why as usize].add(&self.slab.get(index).packet);
        self.forget(index);
    }

    /// A packet reached the end of its link: at a switch it moves on; at its host the answer is true.
    #[inline]
    pub fn arrive(&mut self, index: u32) -> bool {
        let slot = self.slab.get_mut(index);
        if slot.hops == 0 {
            return true;
        }
        let port = self.paths[slot.route as usize].0;
        slot.route += 1;
        slot.hops -= 1;
        self.send(port, index);
        false
    }

    /// Hands a packet to an output port.
    #[inline]
    pub fn send(&mut self, port: u32, index: u32) {
        let out = &mut self.ports[port as usize];
        if out.arrival_is_special {
            return self.send_specially(port, index);
        }
        let slot = self.slab.get(index);
        if slot.packet.is_credit() && out.credits != NONE {
            return self.send_credit(port, index);
        }
        // A wake-up due now is for a credit that may leave: it goes first, though this packet came just before.
        if out.busy_until <= self.now && out.waiting == 0 && out.wake_at != self.now {
            return self.transmit(port, index);
        }
        self.enqueue(port, index);
    }

    /// How many classes of data a port has: as many at switches as at hosts.
    fn classes(&self) -> usize {
        self.switch_order.classes()
    }

    fn enqueue(&mut self, port: u32, index: u32) {
        if self.control.is_some() {
            return self.enqueue_under_control(port, index);
        }
        let out = &mut self.ports[port as usize];
        let slot = self.slab.get_mut(index);
        let class = slot.class_at(out.nic != NONE);
        let queue = &mut self.queues[(out.first_queue + class as u32) as usize];
        let wire = slot.packet.wire as u64;
        let mut room = queue.has_room(wire);
        if let Some(shared) = self.shared.filter(|_| out.nic == NONE) {
            let used = &mut self.shared_used[out.owner as usize];
            let free = shared.size.get().saturating_sub(*used);
            room &= wire <= free && (queue.queue.bytes() + wire) as f64 <= shared.alpha * free as f64;
            *used += if room { wire } else { 0 };
        }
        if !room {
            return self.drop_packet(port, index, Drop::Buffer);
        }
        queue.mark_joining(&mut slot.packet);
        queue.queue.push(&mut self.slab, index, self.now);
        out.waiting += 1;
        let free = out.busy_until.max(self.now);
        self.arm(port, free);
    }

    fn send_credit(&mut self, port: u32, index: u32) {
        if self.credit_classes.is_some() {
            return self.send_classed_credit(port, index);
        }
        let out = &mut self.ports[port as usize];
        let class = &mut self.credits[out.credits as usize];
        let wire = self.slab.get(index).packet.wire;
        let idle = out.busy_until <= self.now;
        if idle && class.queue.packets() == 0 && class.limiter.take(wire, self.now) {
            return self.transmit(port, index);
        }
        if !class.has_room(wire) {
            return self.drop_packet(port, index, Drop::Credit);
        }
        class.queue.push(&mut self.slab, index, self.now);
        if !idle {
            let free = out.busy_until;
            self.arm(port, free);
        } else if class.queue.packets() == 1 {
            let ready = class.limiter.ready_at(wire, self.now);
            self.arm(port, ready);
        }
    }

    /// Puts a packet on the link, which is free.
    #[inline]
    pub fn transmit(&mut self, port: u32, index: u32) {
        let out = &mut self.ports[port as usize];
        debug_assert!(out.busy_until <= self.now && out.up);
        let packet = &self.slab.get(index).packet;
        let done = self.now + out.time_to_send(packet.wire);
        out.busy_until = done;
        out.count(packet);
        self.link_transmissions += 1;
        if out.departure_is_special && self.depart_specially(port, index) {
            return self.drop_packet(port, index, Drop::Loss);
        }
        let out = &mut self.ports[port as usize];
        self.wheel.push(Event::new(done + out.delay, port, What::Arrive(index)));
    }

    /// Wakes a port at `at`, unless it wakes earlier anyway.
    #[inline]
    fn arm(&mut self, port: u32, at: Time) {
        let out = &mut self.ports[port as usize];
        if at < out.wake_at {
            out.wake_at = at;
            self.wheel.push(Event::new(at, port, What::Wake(port)));
        }
    }

    /// A wake-up came: whether it is the one that counts.
    #[inline]
    pub fn wakes(&mut self, port: u32) -> bool {
        let out = &mut self.ports[port as usize];
        let counts = out.wake_at == self.now;
        if counts {
            out.wake_at = Time::MAX;
        }
        counts
    }

    /// Whether a port could send at once.
    #[inline]
    pub fn is_free(&self, port: u32) -> bool {
        let out = &self.ports[port as usize];
        out.up && out.busy_until <= self.now
    }

    /// What a free port does next: a credit if the limit allows, else data by class.
    #[inline]
    pub fn next(&mut self, port: u32) -> Next {
        let out = &mut self.ports[port as usize];
        if out.control & FRAME_DUE != 0 {
            self.send_frame(port);
            return Next::Rest;
        }
        if out.credits != NONE {
            let class = &mut self.credits[out.credits as usize];
            let head = class.queue.head();
            if head != NONE && class.limiter.take(self.slab.get(head).packet.wire, self.now) {
                return Next::Send(class.queue.pop(&self.slab, self.now));
            }
            if self.credit_classes.is_some()
                && let Some(index) = self.next_classed_credit(port)
            {
                return Next::Send(index);
            }
        }
        let out = &mut self.ports[port as usize];
        let pullable = out.nic != NONE && self.nics[out.nic as usize].waiting > 0;
        if out.waiting == 0 && !pullable {
            return Next::Rest;
        }
        let first = out.first_queue as usize;
        let order = if out.nic == NONE { &self.switch_order } else { &self.host_order };
        let class = if let Some(only) = order.only() {
            if out.control & STOPPED != 0 {
                return Next::Rest;
            }
            only
        } else {
            let (queues, nics) = (&self.queues, &self.nics);
            let has = |class: usize| {
                let waits = queues[first + class].queue.packets() > 0
                    || pullable && !nics[out.nic as usize].ready[class].is_empty();
                waits && out.paused >> class & 1 == 0
            };
            match order.pick(&mut self.turns[port as usize], has) {
                Some(class) => class,
                // What waits is stopped.
                None => return Next::Rest,
            }
        };
        let queue = &mut self.queues[first + class];
        let index = queue.queue.pop(&self.slab, self.now);
        if index == NONE {
            return Next::Pull(class);
        }
        out.waiting -= 1;
        let packet = &mut self.slab.get_mut(index).packet;
        queue.mark_leaving(packet);
        order.charge(&mut self.turns[port as usize], class, packet.wire);
        if self.shared.is_some() && out.nic == NONE {
            self.shared_used[out.owner as usize] -= packet.wire as u64;
        }
        if out.nic == NONE && self.control.is_some() {
            let owner = out.owner;
            self.leave_memory(owner, index);
        }
        Next::Send(index)
    }

    /// Charges a packet that a flow made for its turn.
    #[inline]
    pub fn charge_pull(&mut self, port: u32, class: usize, wire: u32) {
        self.host_order.charge(&mut self.turns[port as usize], class, wire);
    }

    /// Puts a flow at the end of its port's round robin.
    #[inline]
    pub fn push_ready(&mut self, port: u32, class: u8, flow: u32) {
        let nic = &mut self.nics[self.ports[port as usize].nic as usize];
        nic.ready[class as usize].push_back(flow);
        nic.waiting += 1;
    }

    /// Takes the flow whose turn it is.
    #[inline]
    pub fn pop_ready(&mut self, port: u32, class: usize) -> Option<u32> {
        let nic = &mut self.nics[self.ports[port as usize].nic as usize];
        let flow = nic.ready[class].pop_front()?;
        nic.waiting -= 1;
        Some(flow)
    }

    /// Takes a flow that ended out of the round robin of its host's ports.
    pub fn leave_turn(&mut self, ports: &[PortId], class: u8, flow: u32) {
        for port in ports {
            let nic = &mut self.nics[self.ports[port.index()].nic as usize];
            let ready = &mut nic.ready[class as usize];
            nic.waiting -= ready.len();
            ready.retain(|&waiting| waiting != flow);
            nic.waiting += ready.len();
        }
    }

    /// Schedules a port's next wake-up after it did something, if anything waits.
    #[inline]
    pub fn rearm(&mut self, port: u32) {
        let out = &self.ports[port as usize];
        if !out.up {
            return;
        }
        let free = out.busy_until.max(self.now);
        if out.control != 0 {
            if self.may_send(port) {
                return self.arm(port, free);
            }
        } else if out.waiting > 0 || out.nic != NONE && self.nics[out.nic as usize].waiting > 0 {
            return self.arm(port, free);
        }
        if out.credits != NONE {
            let class = &mut self.credits[out.credits as usize];
            let head = class.queue.head();
            if head != NONE {
                let ready = class.limiter.ready_at(self.slab.get(head).packet.wire, self.now);
                self.arm(port, free.max(ready));
            } else if self.credit_classes.is_some() {
                let ready = self.classed_credit_ready(port).unwrap_or(Time::MAX);
                self.arm(port, free.max(ready));
            }
        }
    }
}
