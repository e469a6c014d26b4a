//! Priority flow control: switches that stop who sends to them before their memory is full (IEEE 802.1Qbb).
//!
//! What waits at a switch counts against the link by which it came: the port before the present one on its path. A
//! pause frame goes back over the same link, ahead of all else but behind the frame that is just leaving. It names
//! the classes to stop and those that may go on, and holds until the next frame says otherwise (real frames also
//! run out after a while and are repeated; an emulated switch never forgets).

use super::port::Port;
use super::queue::Queue;
use super::{Drop, NONE, Network, Slab, Slot};
use crate::engine::{Event, What};
use crate::model::Model;
use clearway_proto::port::pfc::{Ingress, PAUSE_WIRE, PfcMemory, headroom};
use clearway_proto::{Header, Packet};
use clearway_topology::{PortId, Topology};
use clearway_units::{Bytes, Span, Time};

/// Time between two looks at whether the network is stuck.
const WATCH: Span = Span::from_us(500);

/// Bits of [`Port::control`]: some class of the port is stopped.
pub const STOPPED: u8 = 1;
/// A pause frame waits for the port.
pub const FRAME_DUE: u8 = 2;

/// A link into a switch, at its far end: what the switch asks of the port that feeds it.
#[derive(Clone, Copy, Default, Debug)]
struct Link {
    /// Classes that shall be stopped, one bit each.
    asked: u32,
    /// What the last frame said.
    told: u32,
    /// Since when the port has been stopped, and what it was stopped before.
    since: Option<Time>,
    stopped: Span,
    longest: Span,
    /// How often it was stopped.
    pauses: u64,
    /// Whether it was stopped for longer than is sound.
    storm: bool,
}

/// What flow control did.
#[derive(Clone, Default, Debug)]
pub struct FlowControlSummary {
    /// Pause frames sent, those that only let classes go on left out.
    pub pauses: u64,
    /// Time that ports were stopped, added up over ports.
    pub stopped: Span,
    /// The longest time that a port was stopped without a break.
    pub longest: Span,
    /// Ports that were stopped without a break for longer than `pfc_storm`.
    pub storms: Vec<String>,
    /// Ports that wait for each other in a circle, so that none will ever go on, and those that wait for these.
    pub deadlock: Vec<String>,
    /// One such circle: each port waits for the next, the last for the first.
    pub circle: Vec<String>,
}

/// What a class of a stopped port waits for: the ports at the far end at which packets that came by it wait.
type Wait = (PortId, u8, Vec<u32>);

/// The flow control of all switches.
pub struct FlowControl {
    classes: usize,
    lossless: u32,
    /// Share of the free memory that a queue may hold that flow control does not protect.
    alpha: f64,
    /// By port that feeds the link, and class.
    ingress: Vec<Ingress>,
    /// By node.
    memory: Vec<PfcMemory>,
    /// By port that feeds the link.
    links: Vec<Link>,
    /// Time from the arrival of a pause frame until its port obeys.
    response: Span,
    storm: Span,
    watching: bool,
}

impl FlowControl {
    /// Nothing waits anywhere.
    pub fn new(model: &Model) -> Option<FlowControl> {
        let (pfc, shared) = (model.pfc.as_ref()?, model.switch.shared?);
        let topology = &model.topology;
        let classes = model.switch.classes.len();
        let slowest = topology.ports().iter().map(|port| port.rate).min()?;
        let mut apart = vec![0; topology.nodes().len()];
        let mut ingress = Vec::new();
        let stamps = model.traffic.iter().map(|traffic| traffic.transport.needs().stamp);
        let stamp = stamps.max().unwrap_or(0);
        for port in topology.ports() {
            let response = pfc.config.response;
            let room =
                pfc.headroom.unwrap_or(headroom(port.rate, port.delay, model.framing, stamp, response));
            let alpha = pfc.config.alpha * port.rate.as_bps_f64() / slowest.as_bps_f64();
            for &lossless in &pfc.lossless {
                let room = if lossless { room } else { Bytes::ZERO };
                let reserve = if lossless { pfc.config.reserve.get() } else { 0 };
                apart[port.to.index()] += room.get() + reserve;
                ingress.push(Ingress::new(room, alpha));
            }
        }
        let memory = |apart: &u64| PfcMemory::new(&pfc.config, shared.size, Bytes::new(*apart));
        Some(FlowControl {
            classes,
            lossless: pfc.lossless.iter().enumerate().map(|(class, &on)| u32::from(on) << class).sum(),
            alpha: shared.alpha,
            ingress,
            memory: apart.iter().map(memory).collect(),
            links: vec![Link::default(); topology.ports().len()],
            response: pfc.config.response,
            storm: pfc.storm,
            watching: false,
        })
    }

    fn protects(&self, slot: &Slot) -> bool {
        self.lossless >> slot.class & 1 == 1
    }

    /// Takes a packet into a switch's memory; `from` is the port that it came from. Answers whether there is room,
    /// and whether that port must be told something.
    pub fn admit(&mut self, slot: &Slot, node: u32, from: PortId, queued: u64) -> (bool, bool) {
        let (wire, protects) = (slot.packet.wire as u64, self.protects(slot));
        let memory = &mut self.memory[node as usize];
        if !protects {
            let short = (queued + wire) as f64 <= self.alpha * memory.free() as f64;
            return (short && memory.admit_lossy(wire), false);
        }
        let ingress = &mut self.ingress[from.index() * self.classes + slot.class as usize];
        let room = memory.admit(ingress, wire);
        let link = &mut self.links[from.index()];
        let bit = 1 << slot.class;
        let stops = link.asked & bit == 0 && memory.must_pause(ingress);
        link.asked |= if stops { bit } else { 0 };
        (room, stops)
    }

    /// A packet leaves a switch's memory. Answers whether the port that it came from must be told something.
    pub fn release(&mut self, slot: &Slot, node: u32, from: PortId) -> bool {
        let wire = slot.packet.wire as u64;
        let protects = self.protects(slot);
        let memory = &mut self.memory[node as usize];
        if !protects {
            memory.release_lossy(wire);
            return false;
        }
        let ingress = &mut self.ingress[from.index() * self.classes + slot.class as usize];
        memory.release(ingress, wire);
        let link = &mut self.links[from.index()];
        let bit = 1 << slot.class;
        let resumes = link.asked & bit != 0 && memory.may_resume(ingress);
        link.asked &= if resumes { !bit } else { u32::MAX };
        resumes
    }

    /// A port was stopped or let go.
    fn note(&mut self, port: u32, paused: u32, now: Time) {
        let link = &mut self.links[port as usize];
        match link.since {
            None if paused != 0 => link.since = Some(now),
            Some(since) if paused == 0 => {
                link.stopped += now - since;
                link.longest = link.longest.max(now - since);
                link.since = None;
            }
            _ => {}
        }
    }
}

impl Network {
    /// The port by which a packet that waits at a switch came.
    #[inline]
    pub(super) fn came_from(paths: &[PortId], slot: &Slot) -> PortId {
        // `route` is one past the present port. A notification that starts at a switch follows the way of its data
        // backwards, and so counts against the link by which it would have come.
        paths[slot.route as usize - 2]
    }

    /// Tells the port that feeds a link into a switch what the switch asks of it.
    #[cold]
    #[inline(never)]
    pub(super) fn tell(&mut self, from: PortId) {
        let back = from.reverse().0;
        self.ports[back as usize].control |= FRAME_DUE;
        self.ports[back as usize].settle_arrival();
        if self.is_free(back) {
            self.send_frame(back);
        } else {
            let free = self.ports[back as usize].busy_until;
            self.arm(back, free);
        }
    }

    /// Sends the pause frame that waits for a port, which is free.
    #[cold]
    #[inline(never)]
    pub(super) fn send_frame(&mut self, back: u32) {
        let link = PortId(back).reverse();
        let control = self.control.as_mut().expect("only flow control asks for frames");
        let state = &mut control.links[link.index()];
        let (stop, go) = (state.asked & !state.told, state.told & !state.asked);
        self.ports[back as usize].control &= !FRAME_DUE;
        self.ports[back as usize].settle_arrival();
        if stop | go == 0 {
            // It was taken back in the meantime, and the port is still free.
            return self.arm(back, self.now);
        }
        state.told = state.asked;
        state.pauses += u64::from(stop != 0);
        let response = control.response;
        let packet = Packet::control(Header::Pause { stop, go }, PAUSE_WIRE, self.now);
        self.books.frames[0] += 1;
        let slot =
            Slot { packet, flow: NONE, route: link.0, next: NONE, hops: 0, class: 0, class_at_host: 0 };
        let index = self.slab.insert(slot);
        let out = &mut self.ports[back as usize];
        let done = self.now + out.time_to_send(PAUSE_WIRE);
        out.busy_until = done;
        out.count(&packet);
        self.link_transmissions += 1;
        // The frame counts as in flight until the port obeys it.
        self.wheel.push(Event::new(done + out.delay + response, back, What::Pause(index)));
    }

    /// A port obeys a pause frame that arrived. Answers the port that may go on by it, if any, and whether a watch must
    /// be set up.
    pub fn pause(&mut self, index: u32) -> (Option<u32>, bool) {
        let slot = *self.slab.get(index);
        self.books.frames[1] += 1;
        self.slab.remove(index);
        let Header::Pause { stop, go } = slot.packet.header else {
            unreachable!("only pause frames get here")
        };
        let port = slot.route;
        let out = &mut self.ports[port as usize];
        let before = out.paused;
        if out.up {
            out.paused = (before | stop) & !go;
        }
        let paused = out.paused;
        self.set_stopped(port);
        let control = self.control.as_mut().expect("only flow control sends frames");
        control.note(port, paused, self.now);
        let watch = paused != 0 && !control.watching;
        control.watching |= watch;
        ((before & !paused != 0).then_some(port), watch)
    }

    /// Notes at a port whether any of its classes is stopped.
    fn set_stopped(&mut self, port: u32) {
        let out = &mut self.ports[port as usize];
        out.control = out.control & !STOPPED | if out.paused != 0 { STOPPED } else { 0 };
        out.settle_arrival();
    }

    /// Puts a packet into a queue where there is flow control.
    #[cold]
    #[inline(never)]
    pub(super) fn enqueue_under_control(&mut self, port: u32, index: u32) {
        let out = &mut self.ports[port as usize];
        let slot = self.slab.get_mut(index);
        let class = slot.class_at(out.nic != NONE);
        let queue = &mut self.queues[(out.first_queue + class as u32) as usize];
        let mut room = queue.has_room(slot.packet.wire as u64);
        let mut stopped = None;
        if room && out.nic == NONE {
            let (from, queued) = (Self::came_from(&self.paths, slot), queue.queue.bytes());
            let control = self.control.as_mut().expect("asked for where there is flow control");
            let stops;
            (room, stops) = control.admit(slot, out.owner, from, queued);
            stopped = Some(from).filter(|_| stops);
        }
        if room {
            queue.mark_joining(&mut slot.packet);
            let is_stopped = out.paused >> class & 1 == 1;
            queue.queue.push(&mut self.slab, index, self.now);
            out.waiting += 1;
            let free = out.busy_until.max(self.now);
            if !is_stopped {
                self.arm(port, free);
            }
        } else {
            self.drop_packet(port, index, Drop::Buffer);
        }
        if let Some(from) = stopped {
            self.tell(from);
        }
    }

    /// A packet leaves the memory of a switch: whoever was stopped for it may go on.
    #[cold]
    #[inline(never)]
    pub(super) fn leave_memory(&mut self, node: u32, index: u32) {
        let slot = self.slab.get(index);
        let from = Self::came_from(&self.paths, slot);
        let control = self.control.as_mut().expect("asked for where there is flow control");
        if control.release(slot, node, from) {
            self.tell(from);
        }
    }

    /// Whether a pause frame waits at a port, or a class that is not stopped has something to send.
    #[cold]
    #[inline(never)]
    pub(super) fn may_send(&self, port: u32) -> bool {
        let out = &self.ports[port as usize];
        let waits = |class: usize| {
            let queued = self.queues[out.first_queue as usize + class].queue.packets() > 0;
            queued || out.nic != NONE && !self.nics[out.nic as usize].ready[class].is_empty()
        };
        out.control & FRAME_DUE != 0
            || (0..self.classes()).any(|class| out.paused >> class & 1 == 0 && waits(class))
    }

    /// A link fails or recovers: nobody remembers what was asked over it before.
    pub(super) fn forget_pauses(&mut self, port: u32) {
        let Some(control) = &mut self.control else { return };
        for port in [PortId(port), PortId(port).reverse()] {
            control.links[port.index()].told = 0;
            control.note(port.0, 0, self.now);
            self.ports[port.index()].paused = 0;
            if control.links[port.index()].asked != 0 {
                self.ports[port.reverse().index()].control |= FRAME_DUE;
                self.ports[port.reverse().index()].settle_arrival();
            }
        }
        for port in [port, PortId(port).reverse().0] {
            self.set_stopped(port);
        }
    }

    /// Looks whether ports are stopped for too long, or for ever. Answers whether to look again, and when; `None` if
    /// nothing is stopped any more.
    pub fn watch(&mut self) -> Option<Span> {
        let control = self.control.as_mut().expect("only flow control sets up a watch");
        let (now, storm) = (self.now, control.storm);
        let mut stopped = false;
        for link in &mut control.links {
            let since = link.since.map(|since| now - since);
            stopped |= since.is_some();
            link.storm |= since.is_some_and(|span| span > storm);
        }
        control.watching = stopped;
        stopped.then_some(WATCH)
    }

    /// Ports that are stopped for ever: all that a port's own packets wait for, where they went, is a port that is
    /// stopped for ever itself. In order of ports.
    fn deadlocked(&self) -> Vec<Wait> {
        let Some(control) = &self.control else { return Vec::new() };
        let mut waits: Vec<Wait> = Vec::new();
        for (index, out) in self.ports.iter().enumerate().filter(|(_, out)| out.paused != 0) {
            let link = PortId(index as u32);
            let switch = self.ports[link.reverse().index()].owner;
            // Where nothing is asked any more, the frame that lets the port go on is under way.
            let stopped = out.paused & control.links[index].asked;
            for class in (0..control.classes as u8).filter(|class| stopped >> class & 1 == 1) {
                let here = |port: &&Port| port.owner == switch;
                let holds = |port: &Port| {
                    let queue = &self.queues[port.first_queue as usize + class as usize].queue;
                    queued(&self.slab, queue).any(|slot| Self::came_from(&self.paths, slot) == link)
                };
                let ports = self.ports.iter().enumerate();
                let at = ports.filter(|(_, port)| here(port) && holds(port)).map(|(port, _)| port as u32);
                waits.push((link, class, at.collect()));
            }
        }
        loop {
            let stuck = |port: u32, class: u8, waits: &[Wait]| {
                waits.iter().any(|(other, its, _)| other.0 == port && *its == class)
            };
            let keeps =
                |(_, class, at): &Wait| !at.is_empty() && at.iter().all(|&port| stuck(port, *class, &waits));
            let kept: Vec<bool> = waits.iter().map(keeps).collect();
            if kept.iter().all(|&kept| kept) {
                return waits;
            }
            let mut kept = kept.into_iter();
            waits.retain(|_| kept.next().unwrap_or(false));
        }
    }

    /// Whether ports wait for each other in a circle. A look at all of them, so only where one has waited for long.
    pub fn is_deadlocked(&self) -> bool {
        let Some(control) = &self.control else { return false };
        let long = control.links.iter().any(|link| link.since.is_some_and(|since| self.now - since >= WATCH));
        long && !self.deadlocked().is_empty()
    }

    /// What flow control did so far at each port: how often it was stopped, and for how long.
    pub fn stopped(&self, port: u32) -> Option<(u64, Span)> {
        let link = self.control.as_ref()?.links[port as usize];
        Some((link.pauses, link.stopped + link.since.map_or(Span::ZERO, |since| self.now - since)))
    }

    /// What flow control did so far in all.
    pub fn flow_control(&self, topology: &Topology) -> Option<FlowControlSummary> {
        let control = self.control.as_ref()?;
        let waits = self.deadlocked();
        let names = |ports: Vec<PortId>| ports.into_iter().map(|port| topology.port_name(port)).collect();
        let mut stuck: Vec<PortId> = waits.iter().map(|(port, _, _)| *port).collect();
        stuck.dedup();
        let (deadlock, circle) = (names(stuck), names(circle(&waits)));
        let mut sum = FlowControlSummary { deadlock, circle, ..FlowControlSummary::default() };
        for (port, link) in control.links.iter().enumerate() {
            let open = link.since.map_or(Span::ZERO, |since| self.now - since);
            sum.pauses += link.pauses;
            sum.stopped += link.stopped + open;
            sum.longest = sum.longest.max(link.longest).max(open);
            if link.storm || link.longest.max(open) > control.storm {
                sum.storms.push(topology.port_name(PortId(port as u32)));
            }
        }
        Some(sum)
    }
}

/// A circle among ports that are stopped for ever: from any of them on, whatever it waits for leads into one.
fn circle(waits: &[Wait]) -> Vec<PortId> {
    let Some((first, class, _)) = waits.first() else { return Vec::new() };
    let mut path = vec![*first];
    loop {
        let next = waits.iter().find(|(port, its, _)| Some(port) == path.last() && its == class);
        let Some(&next) = next.and_then(|(_, _, at)| at.first()) else { return Vec::new() };
        if let Some(begin) = path.iter().position(|port| port.0 == next) {
            return path.split_off(begin);
        }
        path.push(PortId(next));
    }
}

/// The packets in a queue.
fn queued<'a>(slab: &'a Slab, queue: &Queue) -> impl Iterator<Item = &'a Slot> {
    let mut index = queue.head();
    std::iter::from_fn(move || {
        let slot = (index != NONE).then(|| slab.get(index))?;
        index = slot.next;
        Some(slot)
    })
}
