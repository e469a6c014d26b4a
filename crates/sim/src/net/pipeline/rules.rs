//! The rules by which ports differ, and the instances of the pipeline that are made of them.

use crate::ids::{ClassId, CreditsId, PacketId};
use crate::net::credit_queue::WaitingCredit;
use crate::net::credits::Credits;
use crate::net::memory::Memory;
use crate::net::network::Network;
use crate::net::paths::Paths;
use crate::net::pause;
use crate::net::port::{ControlWork, Port};
use crate::net::scheduler::Arbiter;
use crate::net::slab::RoutedPacket;
use clearway_topology::{NodeId, PortId};
use clearway_units::Time;

/// The rules of a port: its memory, its limit of credits and the turns of its classes.
pub trait Rules {
    /// Set if the port may be down, and flow control may want something of it.
    const CONTROL: bool;
    /// Set if the flows of a host's port are asked for packets.
    const PULLS: bool;
    /// The memory that packets wait in.
    type Memory: MemoryRule;
    /// The limit of credits.
    type Credits: CreditRule;
    /// The turns of the classes of data.
    type Turns: TurnRule;
}

/// Any port: each rule is asked of the network.
pub enum General {}

impl Rules for General {
    const CONTROL: bool = true;
    const PULLS: bool = true;
    type Memory = AnyMemory;
    type Credits = AnyCredits;
    type Turns = AnyTurns;
}

/// The rules of [`Instance::Guarded`](crate::net::port::Instance::Guarded).
pub enum Guarded {}

impl Rules for Guarded {
    const CONTROL: bool = false;
    const PULLS: bool = false;
    type Memory = UnderControl;
    type Credits = NoCredits;
    type Turns = StrictTurns;
}

/// The rules of [`Instance::Trimming`](crate::net::port::Instance::Trimming).
pub enum Trimming {}

impl Rules for Trimming {
    const CONTROL: bool = false;
    const PULLS: bool = false;
    type Memory = AnyMemory;
    type Credits = NoCredits;
    type Turns = StrictTurns;
}

/// The answer of a switch's memory to a packet that would wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Admitted {
    /// Set if there is room.
    pub has_room: bool,
    /// The port that must be told that it is to stop.
    pub stops: Option<PortId>,
}

impl Admitted {
    /// The answer of memory that stops nobody.
    #[inline(always)]
    pub fn plainly(has_room: bool) -> Admitted {
        Admitted { has_room, stops: None }
    }
}

/// The way in which packets of data leave the memory of switches.
pub trait MemoryRule {
    /// A packet that left its queue leaves the memory of its switch.
    fn release(net: &mut Network, port: PortId, id: PacketId);
}

/// The way in which packets of data come into the memory of switches.
pub trait AdmissionRule {
    /// Set if flow control may stop classes of the port.
    const PAUSES: bool;

    /// Takes a packet into the memory of a switch, for a queue that holds `queued` bytes.
    fn admit(
        memory: &mut Memory,
        paths: &Paths,
        routed: &RoutedPacket,
        owner: NodeId,
        queued: u64,
    ) -> Admitted;
}

/// Flow control counts what waits, and stops who sends.
pub enum UnderControl {}

impl AdmissionRule for UnderControl {
    const PAUSES: bool = true;

    #[inline(always)]
    fn admit(
        memory: &mut Memory,
        paths: &Paths,
        routed: &RoutedPacket,
        owner: NodeId,
        queued: u64,
    ) -> Admitted {
        let from = pause::came_from(paths, routed);
        let control = memory.control_mut().expect("asked for where there is flow control");
        let (has_room, stops) = control.admit(routed, owner, from, queued);
        Admitted { has_room, stops: Some(from).filter(|_| stops) }
    }
}

impl MemoryRule for UnderControl {
    #[inline(always)]
    fn release(net: &mut Network, port: PortId, id: PacketId) {
        pause::leave_memory(net, port, id);
    }
}

/// Any memory but that under flow control.
pub enum WithoutControl {}

impl AdmissionRule for WithoutControl {
    const PAUSES: bool = false;

    #[inline(always)]
    fn admit(memory: &mut Memory, _: &Paths, routed: &RoutedPacket, owner: NodeId, queued: u64) -> Admitted {
        let Memory::Shared(shared) = memory else { return Admitted::plainly(true) };
        Admitted::plainly(shared.admit(owner, queued, routed.packet.wire.into()))
    }
}

/// Any memory.
pub enum AnyMemory {}

impl MemoryRule for AnyMemory {
    #[inline(always)]
    fn release(net: &mut Network, port: PortId, id: PacketId) {
        match &mut net.memory {
            Memory::Apart => {}
            Memory::Shared(memory) => {
                memory.release(net.ports[port].owner, net.slab[id].packet.wire.into());
            }
            Memory::Guarded(_) => pause::leave_memory(net, port, id),
        }
    }
}

/// The limit of credits at a port.
pub trait CreditRule {
    /// Takes the credit whose turn it is, if one waits and the limit lets it pass.
    fn next(credits: &mut Credits, at: Option<CreditsId>, now: Time) -> Option<WaitingCredit>;

    /// Returns the time at which the limit lets the next credit pass, if one waits and [`CreditRule::next`] was called in
    /// this instant.
    fn ready_at(credits: &mut Credits, at: Option<CreditsId>, now: Time) -> Option<Time>;
}

/// No credit waits at the port.
pub enum NoCredits {}

impl CreditRule for NoCredits {
    #[inline(always)]
    fn next(_: &mut Credits, _: Option<CreditsId>, _: Time) -> Option<WaitingCredit> {
        None
    }

    #[inline(always)]
    fn ready_at(_: &mut Credits, _: Option<CreditsId>, _: Time) -> Option<Time> {
        None
    }
}

/// Any limit and any classes of credits, or none.
pub enum AnyCredits {}

impl CreditRule for AnyCredits {
    #[inline(always)]
    fn next(credits: &mut Credits, at: Option<CreditsId>, now: Time) -> Option<WaitingCredit> {
        credits.next(at?, now)
    }

    #[inline(always)]
    fn ready_at(credits: &mut Credits, at: Option<CreditsId>, now: Time) -> Option<Time> {
        credits.ready_at(at?, now)
    }
}

/// The turns of the classes of data that share a port.
pub trait TurnRule {
    /// Returns the class that may send next, among those for which `has` says that a packet waits and may leave.
    fn pick(
        arbiter: &mut Arbiter,
        port: PortId,
        out: &Port,
        has: impl Fn(ClassId) -> bool,
    ) -> Option<ClassId>;

    /// Charges a packet of `wire` bytes to its class.
    fn charge(arbiter: &mut Arbiter, port: PortId, is_host: bool, class: ClassId, wire: u32);
}

/// Classes share no turns: the first of those that have packets goes.
pub enum StrictTurns {}

impl TurnRule for StrictTurns {
    #[inline(always)]
    fn pick(arbiter: &mut Arbiter, _: PortId, out: &Port, has: impl Fn(ClassId) -> bool) -> Option<ClassId> {
        arbiter.first(out.nic.is_some(), has)
    }

    #[inline(always)]
    fn charge(_: &mut Arbiter, _: PortId, _: bool, _: ClassId, _: u32) {}
}

/// Any classes: one, by priority, or in turns.
pub enum AnyTurns {}

impl TurnRule for AnyTurns {
    #[inline(always)]
    fn pick(
        arbiter: &mut Arbiter,
        port: PortId,
        out: &Port,
        has: impl Fn(ClassId) -> bool,
    ) -> Option<ClassId> {
        let is_host = out.nic.is_some();
        match arbiter.only(is_host) {
            Some(only) => Some(only).filter(|_| !out.control.has(ControlWork::STOPPED)),
            None => arbiter.pick(port, is_host, has),
        }
    }

    #[inline(always)]
    fn charge(arbiter: &mut Arbiter, port: PortId, is_host: bool, class: ClassId, wire: u32) {
        arbiter.charge(port, is_host, class, wire);
    }
}

/// A packet that left its queue at a switch's port leaves the memory of the switch.
pub fn leave_memory(net: &mut Network, port: PortId, id: PacketId) {
    AnyMemory::release(net, port, id);
}
