//! The network in memory: hosts, the kernels' queues, and links that delay, lose, reorder and repeat.

use super::bulk::Bulks;
use super::kernel::Kernel;
use crate::datapath::{Actions, Datapath, Direction, Frame, HeldId, Link, Verdict};
use crate::host::leftover::wire;
use crate::host::{Host, HostConfig, HostParams};
use crate::wire::{Carrier, Control, Dscp, Ecn, FlowKey, Kind, MacAddr, SCHEDULED, Segment, TcpFlags};
use clearway_proto::{Entity, Rng};
use clearway_units::{Rate, Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;

/// The UDP port of hosts whose control frames travel so.
pub const PORT: NonZeroU16 = NonZeroU16::new(1021).unwrap();
pub const ACK: u8 = 16;
pub const SYN: u8 = 2;
pub const FIN: u8 = 1;
pub const RST: u8 = 4;

pub fn ms(ms: u64) -> Span {
    Span::from_ms(ms)
}

pub fn us(us: u64) -> Span {
    Span::from_us(us)
}

pub fn address(node: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, node as u8 + 1).into()
}

/// Returns the node that an address belongs to.
pub fn node_of(address: IpAddr) -> usize {
    match address {
        IpAddr::V4(address) => usize::from(address.octets()[3]) - 1,
        IpAddr::V6(address) => usize::from(address.octets()[15]) - 1,
    }
}

pub fn mac(node: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, node as u8 + 1])
}

pub fn key(from: usize, to: usize, port: u16) -> FlowKey {
    FlowKey { source: address(from), destination: address(to), source_port: port, destination_port: 5201 }
}

/// Returns the same flow over IPv6.
pub fn over_ipv6(flow: FlowKey) -> FlowKey {
    let address = |address| Ipv6Addr::new(0xfd00, 1, 2, 3, 4, 5, 6, node_of(address) as u16 + 1).into();
    FlowKey { source: address(flow.source), destination: address(flow.destination), ..flow }
}

pub fn segment(flow: FlowKey, flags: u8, payload: u16) -> Segment {
    Segment {
        flow,
        payload,
        ip_len: payload + if flow.is_ipv6() { 72 } else { 52 },
        id: 0,
        dscp: Dscp(0),
        ecn: Ecn::NotCapable,
        flags: TcpFlags(flags),
        ecn_echo: false,
        seq: 0,
        ack: 0,
        window: 0,
        timestamps: None,
        has_place: true,
    }
}

/// Returns a request for credits for a flow, in its first session.
pub fn request(from: usize, to: usize, port: u16, cookie: u64) -> Control {
    Control {
        kind: Kind::Request,
        flow: key(from, to, port),
        session: 1,
        cookie,
        number: 1,
        value: 100_000_000,
        mtu: 1500,
        wants_ecn: false,
    }
}

pub fn config(node: usize, transport: &str) -> HostConfig {
    HostConfig {
        address: mac(node),
        rate: Rate::mbps(100),
        mtu: 1500,
        carrier: Carrier::Ethernet,
        kernel_path: false,
        bulk_path: false,
        credit_path: false,
        transport: HostConfig::transport(transport).unwrap(),
        params: HostParams::default(),
    }
}

/// The treatment of everything that crosses the network.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub delay: Span,
    /// The largest delay on top, which reorders.
    pub spread: Span,
    pub loss: f64,
    pub repeat: f64,
    /// The share of data that is marked.
    pub marks: f64,
}

impl Way {
    pub const GOOD: Way =
        Way { delay: Span::from_us(100), spread: Span::ZERO, loss: 0.0, repeat: 0.0, marks: 0.0 };
}

/// An application that writes without end, over a TCP with a constant window.
#[derive(Clone, Debug)]
pub struct Source {
    pub flow: FlowKey,
    /// The largest number of packets in the kernel's queue (TCP small queues).
    pub small_queue: u64,
    /// The largest number of packets in the queue and in flight.
    pub window: u64,
    /// The number of packets still to send.
    pub left: u64,
    pub queued: u64,
    pub flying: u64,
    pub sent: u64,
}

impl Node {
    /// Returns the number of packets that the kernel ever held.
    pub fn held_so_far(&self) -> u32 {
        self.next_id
    }
}

impl Source {
    /// Returns the payload of a full packet.
    pub fn payload(&self) -> u16 {
        if self.flow.is_ipv6() { 1428 } else { 1448 }
    }
}

enum Event {
    Frame(usize, Frame),
    Segment(usize, Segment),
    Acked(usize, usize),
}

pub struct Node {
    /// `None` for a host without Clearway.
    pub host: Option<Host>,
    pub sources: Vec<Source>,
    /// The packets that the kernel holds, with the time since when and the source.
    pub held: BTreeMap<u32, (Time, usize)>,
    next_id: u32,
    pub kernel: Kernel,
    /// The flows whose bulk data leaves in the kernel.
    pub bulks: Bulks,
    /// The data that arrived, with the time.
    pub arrived: Vec<(Time, Segment)>,
    /// The control frames that left, with the time.
    pub left: Vec<(Time, Control)>,
    pub longest_hold: Span,
}

pub struct Net {
    pub now: Time,
    pub nodes: Vec<Node>,
    pub way: Way,
    /// The time by which all timers fire late.
    pub late: Span,
    /// The share of inputs before which a host is not told what left in the kernel.
    pub tally_late: f64,
    events: BTreeMap<u64, Event>,
    order: BinaryHeap<Reverse<(Time, u64)>>,
    count: u64,
    rng: Rng,
}

impl Net {
    pub fn new(hosts: Vec<Option<Host>>, way: Way, seed: u64) -> Net {
        let node = |host| Node {
            host,
            sources: Vec::new(),
            held: BTreeMap::new(),
            next_id: 0,
            kernel: Kernel::default(),
            bulks: Bulks::default(),
            arrived: Vec::new(),
            left: Vec::new(),
            longest_hold: Span::ZERO,
        };
        Net {
            now: Time::ZERO,
            nodes: hosts.into_iter().map(node).collect(),
            way,
            late: Span::ZERO,
            tally_late: 0.0,
            events: BTreeMap::new(),
            order: BinaryHeap::new(),
            count: 0,
            rng: Rng::stream(seed, Entity::Network, 0),
        }
    }

    /// Returns a network of `count` hosts that run `transport`.
    pub fn of(count: usize, transport: &str, way: Way) -> Net {
        let host = |node| Some(Host::new(config(node, transport), 7 + node as u64).unwrap());
        Net::new((0..count).map(host).collect(), way, 1)
    }

    pub fn host(&mut self, node: usize) -> &mut Host {
        self.nodes[node].host.as_mut().expect("the node runs Clearway")
    }

    /// Opens a connection from `from` to `to` that sends `packets` packets, and returns the place of its source.
    pub fn open(&mut self, from: usize, to: usize, port: u16, packets: u64) -> usize {
        self.open_flow(key(from, to, port), packets)
    }

    /// Opens the connection of a flow that sends `packets` packets, and returns the place of its source.
    pub fn open_flow(&mut self, flow: FlowKey, packets: u64) -> usize {
        let [from, to] = [flow.source, flow.destination].map(node_of);
        let source =
            Source { flow, small_queue: 4, window: 40, left: packets, queued: 0, flying: 0, sent: 0 };
        self.nodes[from].sources.push(source);
        self.cross(from, to, segment(flow, SYN, 0));
        self.run_for(self.way.delay);
        self.cross(to, from, segment(flow.reversed(), SYN | ACK, 0));
        self.run_for(self.way.delay);
        let at = self.nodes[from].sources.len() - 1;
        self.fill(from, at);
        at
    }

    /// Sends a segment that is not held.
    pub fn cross(&mut self, from: usize, to: usize, segment: Segment) {
        let link = Link { local: mac(from), peer: mac(to) };
        self.input(from, |host, now, actions| {
            host.handle_segment(Direction::Outgoing, &segment, link, now, actions);
        });
        self.post(Event::Segment(to, segment));
    }

    /// Lets the kernel hold a packet of source `at`.
    pub fn hold(&mut self, node: usize, at: usize, flags: u8, payload: u16) {
        let now = self.now;
        let place = &mut self.nodes[node];
        let segment = segment(place.sources[at].flow, flags, payload);
        let (to, wire) = (segment.flow.destination, wire(segment.ip_len));
        let is_behind = place.held.values().any(|(_, other)| *other == at);
        if !is_behind && flags == ACK && wire <= 1538 / 2 && place.kernel.pass(to, payload, wire) {
            place.sources[at].sent += 1;
            return self.post(Event::Segment(node_of(to), segment));
        }
        let id = place.next_id;
        place.next_id += 1;
        place.held.insert(id, (now, at));
        place.sources[at].queued += 1;
        self.input(node, |host, now, actions| host.handle_held(HeldId(id), &segment, now, actions));
    }

    /// Lets TCP hand the kernel what its limits allow.
    pub fn fill(&mut self, node: usize, at: usize) {
        loop {
            let source = &mut self.nodes[node].sources[at];
            let (flow, is_full) = (source.flow, source.flying >= source.window);
            if source.left > 0 && self.nodes[node].bulks.is_on(&flow) {
                // TCP keeps the rest.
                let number = self.nodes[node].bulks.spend(&flow, is_full);
                let Some(id) = number else { return };
                self.leave(node, at, id);
                continue;
            }
            let source = &self.nodes[node].sources[at];
            let is_full =
                source.queued >= source.small_queue || source.queued + source.flying >= source.window;
            if is_full || source.left == 0 {
                return;
            }
            self.nodes[node].sources[at].left -= 1;
            let payload = self.nodes[node].sources[at].payload();
            self.hold(node, at, ACK, payload);
        }
    }

    /// Sends a packet of source `at` that spends a credit in the kernel.
    fn leave(&mut self, node: usize, at: usize, id: u16) {
        let source = &mut self.nodes[node].sources[at];
        source.left -= 1;
        source.flying += 1;
        source.sent += 1;
        let mut segment = segment(source.flow, ACK, source.payload());
        (segment.dscp, segment.id) = (SCHEDULED, id);
        self.post(Event::Segment(node_of(segment.flow.destination), segment));
        self.schedule(self.way.delay * 2, Event::Acked(node, at));
    }

    /// Hands a credit to the kernel of a node, if that takes it.
    fn is_taken(&mut self, node: usize, frame: &[u8]) -> bool {
        let Ok((_, _, control)) = Control::parse(frame) else { return false };
        let place = &mut self.nodes[node];
        let Some(at) = place.sources.iter().position(|source| source.flow == control.flow) else {
            return false;
        };
        let holds = place.held.values().any(|(_, other)| *other == at);
        let most = place.host.as_ref().map_or(0, |host| host.config.params.leftover);
        let (kernel, to) = (&mut place.kernel, control.flow.destination);
        let takes = control.kind == Kind::Credit
            && place.bulks.take(&control, holds, || kernel.add(to, most), self.now);
        if takes {
            self.fill(node, at);
        }
        takes
    }

    /// Hands a frame to a host at once.
    pub fn inject(&mut self, node: usize, frame: &[u8]) {
        self.input(node, |host, now, actions| host.handle_frame(frame, now, actions));
    }

    /// Gives a host an input, and carries out what it asks for.
    pub fn input(&mut self, node: usize, input: impl FnOnce(&mut Host, Time, &mut Actions)) {
        let mut actions = Actions::default();
        let place = &mut self.nodes[node];
        if let Some(host) = &mut place.host
            && (self.tally_late == 0.0 || self.rng.unit() >= self.tally_late)
        {
            for passed in place.kernel.tally() {
                host.handle_passed(&passed, self.now, &mut actions);
            }
            for released in place.bulks.tally() {
                host.handle_released(&released, self.now, &mut actions);
            }
        }
        match &mut place.host {
            Some(host) => input(host, self.now, &mut actions),
            None => {
                // Without Clearway all packets leave at once.
                let held: Vec<u32> = self.nodes[node].held.keys().copied().collect();
                actions.verdicts.extend(held.into_iter().map(|id| (HeldId(id), Verdict::Accept)));
            }
        }
        self.nodes[node].kernel.allow(&actions);
        let place = &mut self.nodes[node];
        let left =
            |flow: &FlowKey| place.sources.iter().find(|one| one.flow == *flow).map_or(0, |one| one.left);
        let told = place.bulks.order(&actions, left);
        for flow in told {
            let at = self.nodes[node].sources.iter().position(|source| source.flow == flow);
            at.into_iter().for_each(|at| self.fill(node, at));
        }
        for (HeldId(id), verdict) in actions.verdicts {
            let place = &mut self.nodes[node];
            let (since, at) = place.held.remove(&id).expect("one verdict for each held packet");
            place.longest_hold = place.longest_hold.max(self.now.saturating_since(since));
            let source = &mut place.sources[at];
            source.queued -= 1;
            source.flying += 1;
            source.sent += 1;
            let mut segment = segment(source.flow, ACK, source.payload());
            if let Verdict::Stamped(stamp) = verdict {
                (segment.dscp, segment.id) = (SCHEDULED, stamp.id);
                if stamp.ecn {
                    segment.ecn = Ecn::Capable0;
                }
            }
            let to = node_of(segment.flow.destination);
            if segment.ecn != Ecn::NotCapable && self.rng.unit() < self.way.marks {
                segment.ecn = Ecn::Marked;
            }
            if verdict != Verdict::Drop {
                self.post(Event::Segment(to, segment));
            }
            // TCP notices at the latest by its timer that the packet is gone.
            self.schedule(self.way.delay * 2, Event::Acked(node, at));
        }
        for frame in actions.frames {
            let (_, to, control) = match frame[12..14] {
                [0x88, 0xb5] => Control::parse(&frame),
                _ => Control::parse_datagram(&frame, PORT),
            }
            .expect("hosts send good frames");
            self.nodes[node].left.push((self.now, control));
            self.post(Event::Frame(usize::from(to.0[5]) - 1, frame));
        }
    }

    /// Sends an event over the network, which may lose it, repeat it, and delay it.
    fn post(&mut self, event: Event) {
        if self.rng.unit() < self.way.loss {
            return;
        }
        if self.rng.unit() < self.way.repeat {
            let again = match &event {
                Event::Frame(to, frame) => Event::Frame(*to, *frame),
                Event::Segment(to, segment) => Event::Segment(*to, *segment),
                Event::Acked(..) => unreachable!("the network knows no acknowledgements"),
            };
            let delay = self.way.delay + self.rng.span_up_to(self.way.spread);
            self.schedule(delay, again);
        }
        let delay = self.way.delay + self.rng.span_up_to(self.way.spread);
        self.schedule(delay, event);
    }

    fn schedule(&mut self, delay: Span, event: Event) {
        self.order.push(Reverse((self.now + delay, self.count)));
        self.events.insert(self.count, event);
        self.count += 1;
    }

    pub fn run_for(&mut self, span: Span) {
        let end = self.now + span;
        loop {
            let event = self.order.peek().map_or(Time::MAX, |Reverse((at, _))| *at);
            let timers = self.nodes.iter().enumerate();
            let timer = timers
                .filter_map(|(node, place)| {
                    Some((place.host.as_ref()?.next_timeout().saturating_add(self.late), node))
                })
                .min()
                .unwrap_or((Time::MAX, 0));
            let next = event.min(timer.0);
            if next > end {
                break;
            }
            self.now = self.now.max(next);
            if timer.0 < event {
                self.input(timer.1, |host, now, actions| host.handle_timeout(now, actions));
                let after = self.host(timer.1).next_timeout();
                assert!(after > self.now, "a timer at {after} that does not advance");
                self.refill(timer.1);
                continue;
            }
            let Some(Reverse((_, count))) = self.order.pop() else { break };
            match self.events.remove(&count) {
                Some(Event::Frame(to, frame)) if self.is_taken(to, &frame) => {}
                Some(Event::Frame(to, frame)) => {
                    self.inject(to, &frame);
                    self.refill(to);
                }
                Some(Event::Segment(to, segment)) => self.arrive(to, segment),
                Some(Event::Acked(node, at)) => {
                    self.nodes[node].sources[at].flying -= 1;
                    self.fill(node, at);
                }
                None => {}
            }
        }
        self.now = end;
    }

    fn refill(&mut self, node: usize) {
        for at in 0..self.nodes[node].sources.len() {
            self.fill(node, at);
        }
    }

    fn arrive(&mut self, to: usize, segment: Segment) {
        let from = node_of(segment.flow.source);
        if segment.payload > 0 {
            self.nodes[to].arrived.push((self.now, segment));
        }
        let link = Link { local: mac(to), peer: mac(from) };
        self.input(to, |host, now, actions| {
            host.handle_segment(Direction::Incoming, &segment, link, now, actions);
        });
    }

    /// Starts the daemon of a node again: what it held leaves as it is.
    pub fn restart(&mut self, node: usize, transport: &str, seed: u64) {
        self.nodes[node].host = None;
        self.input(node, |_, _, _| {});
        self.nodes[node].host = Some(Host::new(config(node, transport), seed).unwrap());
    }

    /// Returns the number of control frames of a kind that a node sent.
    pub fn frames(&self, node: usize, kind: Kind) -> usize {
        self.nodes[node].left.iter().filter(|(_, control)| control.kind == kind).count()
    }

    /// Returns a counter of a host, as the daemon reports it.
    pub fn metric(&mut self, node: usize, name: &str, label: &str) -> f64 {
        let mut found = None;
        self.host(node).metrics(&mut |metric| {
            if metric.name == name && metric.label.is_none_or(|(_, value)| value == label) {
                found = Some(metric.value);
            }
        });
        found.unwrap_or_else(|| panic!("no metric {name} {label}"))
    }
}
