//! Priority flow control: switches that stop who sends to them before their memory is full (IEEE 802.1Qbb).
//!
//! A packet that waits at a switch counts against the link by which it came: the port before the present one on its
//! path. A pause frame goes back over the same link, ahead of all else but behind the frame that is just leaving. It
//! names the classes to stop and those that may go on, and holds until the next frame says otherwise (real frames also
//! run out after a while and are repeated; an emulated switch never forgets).
//!
//! This is the accounting of switches, and the frames on their links; `pause.rs` does what follows from it at ports.

mod deadlock;
mod recut;

pub use deadlock::{Wait, circle, stuck};

use super::slab::RoutedPacket;
use crate::ids::{ClassId, ClassSet, Id, IdVec};
use crate::model::Model;
use clearway_proto::port::pfc::{Ingress, PfcMemory, headroom};
use clearway_topology::{NodeId, PortId, Topology};
use clearway_units::{Bytes, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The time between two looks at whether the network is stuck.
pub const WATCH: Span = Span::from_us(500);

/// A pause frame: the classes that shall be stopped, and those that may go on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// The classes to stop.
    pub stop: ClassSet,
    /// The classes that may go on.
    pub go: ClassSet,
}

/// A link into a switch, at its far end: what the switch asks of the port that feeds it.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
struct Ask {
    /// The classes that the last frame stopped.
    told: ClassSet,
    /// The frames that are under way to the port, or that it has yet to obey.
    frames: VecDeque<Frame>,
    /// The time since which the port has been stopped; `None` if it is not.
    since: Option<Time>,
    /// The time for which the port was stopped before that.
    stopped: Span,
    /// The longest time for which the port was stopped before that without a break.
    longest: Span,
    /// The number of times that a class of the port was stopped.
    pauses: u64,
    /// Set if the port was once stopped for longer than is sound.
    storm: bool,
}

impl Ask {
    /// Adds what another part of the network knows of the link.
    fn join(&mut self, more: &Ask) {
        self.told = self.told.or(more.told);
        self.frames.extend(&more.frames);
        self.since = self.since.or(more.since);
        self.stopped += more.stopped;
        self.longest = self.longest.max(more.longest);
        self.pauses += more.pauses;
        self.storm |= more.storm;
    }

    /// Returns the time for which the port has been stopped until `now` without a break. A run ends when its last
    /// packet left, and a frame may stop a port after that, before the run notices its end.
    fn open(&self, now: Time) -> Span {
        self.since.map_or(Span::ZERO, |since| now.saturating_since(since))
    }
}

/// The work of flow control in a whole run.
#[derive(Clone, Default, Debug)]
pub struct FlowControlSummary {
    /// The number of pause frames sent, those left out that only let classes go on.
    pub pauses: u64,
    /// The time for which ports were stopped, added up over ports.
    pub stopped: Span,
    /// The longest time for which a port was stopped without a break.
    pub longest: Span,
    /// The ports that were stopped without a break for longer than `pfc_storm`.
    pub storms: Vec<String>,
    /// The ports that wait for each other in a circle, so that none will ever go on, and those that wait for these.
    pub deadlock: Vec<String>,
    /// One such circle: each port waits for the next, the last for the first.
    pub circle: Vec<String>,
}

/// The flow control of all switches.
#[derive(Clone, Serialize, Deserialize)]
pub struct FlowControl {
    /// The classes that are protected.
    lossless: ClassSet,
    /// The share of the free memory that a queue may hold whose class is not protected.
    alpha: f64,
    /// The number of classes.
    classes: usize,
    /// The memory of each class of each link: those of a link stand together, in the order of the ports that feed them.
    ingress: Vec<Ingress>,
    /// The memory of each switch.
    memory: IdVec<NodeId, PfcMemory>,
    /// The classes that shall be stopped of each port that feeds a switch. Every packet looks here, so it stands apart.
    wanted: IdVec<PortId, ClassSet>,
    /// The state of each port that feeds a switch, and what that switch has told it.
    asks: IdVec<PortId, Ask>,
    /// The time from the arrival of a pause frame until its port obeys.
    response: Span,
    /// The time for which a port may be stopped without a break.
    storm: Span,
    /// Set while a look at stopped ports is scheduled.
    watching: bool,
}

impl FlowControl {
    /// Returns the flow control of a model, while nothing waits; `None` if it has none.
    pub fn new(model: &Model) -> Option<FlowControl> {
        let (pfc, shared) = (model.pfc.as_ref()?, model.switch.shared?);
        let topology = &model.topology;
        let slowest = topology.ports().iter().map(|port| port.rate).min()?;
        let mut apart: IdVec<NodeId, u64> = vec![0; topology.nodes().len()].into();
        let mut ingress = Vec::new();
        let stamps = model.traffic.iter().map(|traffic| traffic.transport.needs().stamp);
        let stamp = stamps.max().unwrap_or(0);
        for port in topology.ports() {
            let response = pfc.config.response;
            let room =
                pfc.headroom.unwrap_or(headroom(port.rate, port.delay, model.framing, stamp, response));
            let alpha = pfc.config.alpha * port.rate.as_bps_f64() / slowest.as_bps_f64();
            let class = |&lossless: &bool| {
                let room = if lossless { room } else { Bytes::ZERO };
                let reserve = if lossless { pfc.config.reserve.get() } else { 0 };
                apart[port.to] += room.get() + reserve;
                Ingress::new(room, alpha)
            };
            ingress.extend(pfc.lossless.iter().map(class));
        }
        let memory = |apart: &u64| PfcMemory::new(&pfc.config, shared.size, Bytes::new(*apart));
        Some(FlowControl {
            lossless: (0..pfc.lossless.len()).filter(|&c| pfc.lossless[c]).map(ClassId::from_index).collect(),
            alpha: shared.alpha,
            classes: pfc.lossless.len(),
            ingress,
            memory: apart.iter().map(memory).collect(),
            wanted: vec![ClassSet::EMPTY; topology.ports().len()].into(),
            asks: vec![Ask::default(); topology.ports().len()].into(),
            response: pfc.config.response,
            storm: pfc.storm,
            watching: false,
        })
    }

    fn protects(&self, routed: &RoutedPacket) -> bool {
        self.lossless.has(routed.class)
    }

    /// Takes a packet into a switch's memory; `from` is the port from which it came, and `queued` the bytes in the
    /// queue that it would join. Returns whether there is room, and whether that port must be told something.
    pub fn admit(&mut self, routed: &RoutedPacket, node: NodeId, from: PortId, queued: u64) -> (bool, bool) {
        let (wire, protects) = (routed.packet.wire as u64, self.protects(routed));
        let memory = &mut self.memory[node];
        if !protects {
            let short = (queued + wire) as f64 <= self.alpha * memory.free() as f64;
            return (short && memory.admit_lossy(wire), false);
        }
        let ingress = &mut self.ingress[from.index() * self.classes + routed.class.index()];
        let room = memory.admit(ingress, wire);
        let wanted = &mut self.wanted[from];
        let stops = !wanted.has(routed.class) && memory.must_pause(ingress);
        if stops {
            wanted.add(routed.class);
        }
        (room, stops)
    }

    /// A packet leaves a switch's memory. Returns whether the port from which it came must be told something.
    pub fn release(&mut self, routed: &RoutedPacket, node: NodeId, from: PortId) -> bool {
        let (wire, protects) = (routed.packet.wire as u64, self.protects(routed));
        let memory = &mut self.memory[node];
        if !protects {
            memory.release_lossy(wire);
            return false;
        }
        let ingress = &mut self.ingress[from.index() * self.classes + routed.class.index()];
        memory.release(ingress, wire);
        let wanted = &mut self.wanted[from];
        let resumes = wanted.has(routed.class) && memory.may_resume(ingress);
        if resumes {
            wanted.remove(routed.class);
        }
        resumes
    }

    /// Sends the frame that is due for a port, and returns it; `None` if what was asked for was taken back in the meantime.
    pub fn send_frame(&mut self, port: PortId) -> Option<Frame> {
        let (ask, wanted) = (&mut self.asks[port], self.wanted[port]);
        let frame = Frame { stop: wanted.without(ask.told), go: ask.told.without(wanted) };
        if frame == Frame::default() {
            return None;
        }
        ask.told = wanted;
        ask.pauses += u64::from(!frame.stop.is_empty());
        ask.frames.push_back(frame);
        Some(frame)
    }

    /// Takes back the frame that was just sent: its port is in another part of the network.
    pub fn withdraw_frame(&mut self, port: PortId) {
        self.asks[port].frames.pop_back();
    }

    /// A frame for a port came from another part of the network.
    pub fn accept_frame(&mut self, port: PortId, frame: Frame) {
        self.asks[port].frames.push_back(frame);
    }

    /// Returns the flow control of two parts of a network together. Each knows of a port that feeds a switch what
    /// happens on its side of the link.
    pub fn joined(mut self, other: &FlowControl) -> FlowControl {
        for (wanted, more) in self.wanted.iter_mut().zip(other.wanted.iter()) {
            *wanted = wanted.or(*more);
        }
        for (ask, more) in self.asks.iter_mut().zip(other.asks.iter()) {
            ask.join(more);
        }
        self
    }

    /// Returns the frame that a port obeys now: the first of those under way to it.
    pub fn take_frame(&mut self, port: PortId) -> Frame {
        self.asks[port].frames.pop_front().expect("an event for each frame")
    }

    /// Returns the number of frames that are under way, or that no port has obeyed yet.
    pub fn frames_in_flight(&self) -> u64 {
        self.asks.iter().map(|ask| ask.frames.len() as u64).sum()
    }

    /// Returns the time from the arrival of a frame until its port obeys.
    pub fn response(&self) -> Span {
        self.response
    }

    /// Returns the classes of a port that shall be stopped, as far as the switch that it feeds has not taken that back.
    pub fn wanted(&self, port: PortId) -> ClassSet {
        self.wanted[port]
    }

    /// Forgets what a port was told, because its link failed or recovered. Returns whether it must be told again.
    pub fn forget(&mut self, port: PortId, now: Time) -> bool {
        self.asks[port].told = ClassSet::EMPTY;
        self.note(port, ClassSet::EMPTY, now);
        !self.wanted[port].is_empty()
    }

    /// Notes that the `paused` classes of a port are stopped from now on, and no others.
    pub fn note(&mut self, port: PortId, paused: ClassSet, now: Time) {
        let ask = &mut self.asks[port];
        match ask.since {
            None if !paused.is_empty() => ask.since = Some(now),
            Some(since) if paused.is_empty() => {
                ask.stopped += now - since;
                ask.longest = ask.longest.max(now - since);
                ask.since = None;
            }
            _ => {}
        }
    }

    /// Returns whether the watch must be set up, now that a port is stopped.
    pub fn starts_watch(&mut self) -> bool {
        !std::mem::replace(&mut self.watching, true)
    }

    /// Sets whether a watch runs, as far as a block of the network knows that has its turn. Returns what was known before.
    pub fn set_watching(&mut self, is_watching: bool) -> bool {
        std::mem::replace(&mut self.watching, is_watching)
    }

    /// Looks for ports that are stopped for too long. Returns whether any port is stopped.
    pub fn watch(&mut self, now: Time) -> bool {
        let storm = self.storm;
        for ask in self.asks.iter_mut() {
            ask.storm |= ask.open(now) > storm;
        }
        self.watching = self.asks.iter().any(|ask| ask.since.is_some());
        self.watching
    }

    /// Returns whether some port has been stopped since the last look but one, so that a look for a deadlock is worth
    /// it.
    pub fn has_waited_long(&self, now: Time) -> bool {
        self.asks.iter().any(|ask| ask.since.is_some() && ask.open(now) >= WATCH)
    }

    /// Returns the number of times that a class of a port was stopped, and the time for which any was.
    pub fn stopped(&self, port: PortId, now: Time) -> (u64, Span) {
        let ask = &self.asks[port];
        (ask.pauses, ask.stopped + ask.open(now))
    }

    /// Returns the work of flow control so far; `stuck` are the ports that are stopped for ever.
    pub fn summary(&self, stuck: &[Wait], topology: &Topology, now: Time) -> FlowControlSummary {
        let names = |ports: Vec<PortId>| ports.into_iter().map(|port| topology.port_name(port)).collect();
        let mut ports: Vec<PortId> = stuck.iter().map(|wait| wait.port).collect();
        ports.dedup();
        let (deadlock, circle) = (names(ports), names(circle(stuck)));
        let mut sum = FlowControlSummary { deadlock, circle, ..FlowControlSummary::default() };
        for (port, ask) in self.asks.enumerate() {
            sum.pauses += ask.pauses;
            sum.stopped += ask.stopped + ask.open(now);
            sum.longest = sum.longest.max(ask.longest).max(ask.open(now));
            if ask.storm || ask.longest.max(ask.open(now)) > self.storm {
                sum.storms.push(topology.port_name(port));
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_topology::Dumbbell;
    use clearway_units::Rate;

    const PORT: PortId = PortId(0);

    /// Flow control of one link, with a storm after 1 ms.
    fn one_link() -> FlowControl {
        FlowControl {
            lossless: set(&[0, 1]),
            alpha: 1.0,
            classes: 0,
            ingress: Vec::new(),
            memory: IdVec::new(),
            wanted: vec![ClassSet::EMPTY; 1].into(),
            asks: vec![Ask::default(); 1].into(),
            response: Span::ZERO,
            storm: Span::from_ms(1),
            watching: false,
        }
    }

    fn set(classes: &[usize]) -> ClassSet {
        classes.iter().map(|&class| ClassId::from_index(class)).collect()
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// The bytes that a link into a switch fills until it is paused, and those that the switch takes then from its headroom.
    fn fills(model: &Model, from: PortId, wire: u32) -> (u64, u64) {
        let mut control = FlowControl::new(model).expect("there is flow control");
        let node = model.topology.port(from).to;
        let routed = RoutedPacket::for_test(wire);
        let (mut taken, mut stops) = (0, false);
        while !stops {
            let (room, must_stop) = control.admit(&routed, node, from, 0);
            assert!(room);
            (taken, stops) = (taken + u64::from(wire), must_stop);
        }
        let rest = (0..).take_while(|_| control.admit(&routed, node, from, 0).0).count();
        (taken, rest as u64 * u64::from(wire))
    }

    #[test]
    fn the_share_of_the_memory_and_the_headroom_of_a_link_grow_with_its_rate() {
        let (slow, fast) = (Rate::gbps(100), Rate::gbps(400));
        let shape = Dumbbell { pairs: 1, rate: slow, bottleneck_rate: fast, ..Dumbbell::default() };
        let rocev2 = clearway_proto::AnyTransport::by_name("rocev2").unwrap();
        let mut model = crate::ports::network_for(shape.build().unwrap(), [&rocev2]).unwrap();
        let config = model.pfc.as_ref().unwrap().config;
        let between = model.topology.ports().iter().position(|port| port.rate == fast).unwrap();
        let node = model.topology.port(PortId(between as u32)).to;
        let links: Vec<usize> =
            (0..model.topology.ports().len()).filter(|&at| model.topology.ports()[at].to == node).collect();
        assert_eq!(links.len(), 2, "of a host and of the other switch");
        let room = |at: usize| {
            let port = &model.topology.ports()[at];
            headroom(port.rate, port.delay, model.framing, 0, config.response).get()
        };
        // Of this memory 900,000 bytes are shared.
        let apart: u64 = links.iter().map(|&at| room(at) + config.reserve.get()).sum();
        let rooms: Vec<u64> = links.iter().map(|&at| room(at)).collect();
        model.switch.shared.as_mut().unwrap().size = Bytes::new(apart + 900_000);
        for (&at, room) in links.iter().zip(rooms) {
            let rate = model.topology.ports()[at].rate;
            // The link is paused at x = a (900,000 - x): a is an eighth at 100 Gbps, and a half at 400.
            let share = if rate == slow { 100_000 } else { 300_000 };
            let (taken, rest) = fills(&model, PortId(at as u32), 100);
            let all = share + config.reserve.get();
            assert!(taken >= all && taken < all + 200, "{rate}: {taken} of {all}");
            assert!(
                taken + rest <= all + room && taken + rest + 200 > all + room,
                "{rate}: {rest} of {room}"
            );
        }
    }

    #[test]
    fn a_class_without_flow_control_holds_a_share_that_no_rate_changes_and_leaves_links_alone() {
        let (slow, fast) = (Rate::gbps(100), Rate::gbps(400));
        let shape = Dumbbell { pairs: 1, rate: slow, bottleneck_rate: fast, ..Dumbbell::default() };
        let rocev2 = clearway_proto::AnyTransport::by_name("rocev2").unwrap();
        let mut model = crate::ports::network_for(shape.build().unwrap(), [&rocev2]).unwrap();
        model.pfc.as_mut().unwrap().lossless = vec![false];
        // Without a class under flow control no memory is set apart.
        model.switch.shared = Some(crate::model::SharedBuffer { size: Bytes::new(900_000), alpha: 0.5 });
        for from in [slow, fast] {
            let at = model
                .topology
                .ports()
                .iter()
                .position(|port| port.rate == from && !model.topology.is_host(port.to));
            let from = PortId(at.unwrap() as u32);
            let node = model.topology.port(from).to;
            let mut control = FlowControl::new(&model).unwrap();
            let routed = RoutedPacket::for_test(100);
            let mut queued = 0;
            while let (true, stops) = control.admit(&routed, node, from, queued) {
                assert!(!stops && !control.release(&routed, node, from));
                assert!(control.admit(&routed, node, from, queued).0, "what was given back is free again");
                queued += 100;
            }
            // A queue holds half of what is free: 300,000 of 600,000.
            assert!(queued.abs_diff(300_000) <= 100, "{queued}");
        }
    }

    #[test]
    fn a_frame_tells_what_has_changed_since_the_last_one() {
        let mut control = one_link();
        assert!(control.send_frame(PORT).is_none(), "nothing is asked");
        control.wanted[PORT] = set(&[0]);
        assert!(control.send_frame(PORT).is_some());
        control.wanted[PORT] = set(&[1]);
        assert!(control.send_frame(PORT).is_some() && control.send_frame(PORT).is_none());
        assert_eq!(control.frames_in_flight(), 2);
        assert_eq!(control.take_frame(PORT), Frame { stop: set(&[0]), go: set(&[]) });
        assert_eq!(control.take_frame(PORT), Frame { stop: set(&[1]), go: set(&[0]) });
        assert_eq!(control.stopped(PORT, at(0)).0, 2);
    }

    #[test]
    fn a_port_whose_link_failed_is_told_again() {
        let mut control = one_link();
        control.wanted[PORT] = set(&[1]);
        assert!(control.send_frame(PORT).is_some());
        assert!(control.forget(PORT, at(0)));
        assert!(control.send_frame(PORT).is_some());
        control.wanted[PORT] = set(&[]);
        assert!(!control.forget(PORT, at(0)), "nothing is asked any more");
    }

    #[test]
    fn the_time_for_which_a_port_is_stopped_adds_up_and_a_long_one_is_a_storm() {
        let mut control = one_link();
        control.note(PORT, set(&[0]), at(10));
        control.note(PORT, set(&[0, 1]), at(20));
        control.note(PORT, set(&[]), at(40));
        control.note(PORT, set(&[1]), at(100));
        assert_eq!(control.stopped(PORT, at(150)).1, Span::from_us(80));
        assert!(control.starts_watch() && !control.starts_watch());
        assert!(control.watch(at(1100)));
        assert!(!control.asks[PORT].storm, "1 ms is not yet too long");
        control.watch(at(1101));
        assert!(control.asks[PORT].storm && control.has_waited_long(at(1101)));
        control.note(PORT, set(&[]), at(1200));
        assert!(!control.watch(at(1300)));
        assert!(control.starts_watch(), "the watch ended with the last pause");
        assert_eq!(control.asks[PORT].longest, Span::from_us(1100));
        control.note(PORT, set(&[1]), at(1300));
        control.note(PORT, set(&[]), at(1310));
        assert_eq!(control.asks[PORT].longest, Span::from_us(1100), "a shorter one after it does not count");
    }

    #[test]
    fn a_port_that_is_stopped_after_the_end_of_the_run_was_stopped_for_no_time() {
        let mut control = one_link();
        control.note(PORT, set(&[0]), at(100));
        assert_eq!(control.stopped(PORT, at(40)), (0, Span::ZERO));
        assert!(!control.has_waited_long(at(40)));
    }
}
