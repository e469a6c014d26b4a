//! The trait [`PortMechanism`]: the work of a transport at the output ports of switches, besides queueing, marking and
//! credit limits.
//!
//! A mechanism sees the packets that arrive at its port, those that leave it, or both. It votes on what becomes of those
//! that arrive ([`Verdict`]), may write into those that leave, have a timer, and ask for congestion notification packets
//! (CNPs) to the senders of flows.
//!
//! The driver of a mechanism follows one rule. Each packet that arrives, dropped later or not, goes to
//! [`PortMechanism::on_arrival`] if [`PortMechanism::SEES_ARRIVALS`] has it, and the driver carries the verdict out. A packet
//! of data for which there is no room then goes to [`PortMechanism::on_full`], unless that has changed it before. Each packet
//! that leaves for the link goes to [`PortMechanism::on_departure`] if [`PortMechanism::SEES_DEPARTURES`] has it.
//! [`PortMechanism::on_timeout`] is called at [`PortMechanism::next_timeout`], and then [`PortMechanism::poll_cnp`] until it
//! returns `None`. A call too early is harmless.

use crate::packet::{Extra, Flags, Kind, Packet};
use clearway_schema::{Declared, Spec, declare};
use clearway_units::{Rate, Time};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// The state of an output port that its mechanism may read.
#[derive(Clone, Copy, Debug)]
pub struct PortState {
    /// The present time.
    pub now: Time,
    /// The bytes that wait in all classes of data.
    pub queued: u64,
    /// The bytes sent so far.
    pub sent: u64,
}

/// What a port does with a packet that arrives, as its mechanism has voted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The packet goes on as it is.
    Keep,
    /// The packet goes on, changed.
    Change(Change),
    /// The packet is dropped, and counts under this reason.
    Drop(Reason),
    /// The packet goes back to its sender, changed, over the links by which it came; it is flagged [`Flags::RETURNED`]. Only
    /// mechanisms that say [`PortMechanism::RETURNS`] vote so.
    Return(Change),
}

/// The reason for which a mechanism drops a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// There is no room.
    Full,
    /// The mechanism drops it, though there may be room.
    Vote,
}

/// The changes of a packet. The default changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Change {
    /// The packet is marked ([`Flags::ECN_CE`]), if it may carry marks.
    pub marks: bool,
    /// The packet is cut to so many bytes on the wire, without payload ([`Packet::trim`]).
    pub trim_to: Option<u32>,
    /// The packet is in the class of its transport's packets of this kind, here and at the ports to come.
    pub class_of: Option<Kind>,
}

/// The packets that a mechanism sees, so that a port does nothing for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Sees {
    /// The mechanism sees no packet.
    Nothing,
    /// The mechanism sees all packets.
    All,
    /// The mechanism sees packets of data.
    Data,
    /// The mechanism sees packets that are flagged [`Flags::TELEMETRY`].
    Telemetry,
}

impl Sees {
    /// Returns true if the mechanism sees this packet.
    #[inline]
    pub fn has(self, packet: &Packet) -> bool {
        // Most ports have no mechanism, so this comes first.
        if self == Sees::Nothing {
            return false;
        }
        // One test, since a table of jumps is often guessed wrong.
        let seen = 1 << Sees::All as u8
            | u8::from(packet.kind() == Kind::Data) << Sees::Data as u8
            | u8::from(packet.flags.has(Flags::TELEMETRY)) << Sees::Telemetry as u8;
        seen >> self as u8 & 1 == 1
    }
}

/// A mechanism at one output port of a switch. The documentation of the module says how it is driven.
pub trait PortMechanism: Debug + Sized {
    /// The constants of the mechanism. Transports whose configurations are equal can share the ports of a network.
    type Config: Declared + PartialEq + 'static;
    /// The name of the mechanism, for messages.
    const NAME: &'static str;
    /// The first word of the mechanism's keys in a scenario's `[switch]`: the constant `drain` of the mechanism
    /// `phantom` has the key `phantom_drain`.
    const PREFIX: &'static str = "";
    /// The names of the constants that have a key in `[switch]`.
    const KEYS: &'static [&'static str] = &[];
    /// The packets for which the port calls [`PortMechanism::on_arrival`].
    const SEES_ARRIVALS: Sees = Sees::Nothing;
    /// The packets for which the port calls [`PortMechanism::on_departure`].
    const SEES_DEPARTURES: Sees = Sees::Nothing;
    /// True if the mechanism asks for CNPs, which then have a class of their own.
    const SENDS_CNPS: bool = false;
    /// True if the mechanism may drop packets for which there is room ([`Reason::Vote`]).
    const DROPS: bool = false;
    /// True if the mechanism may return packets to their senders ([`Verdict::Return`]).
    const RETURNS: bool = false;

    /// Makes the mechanism of a port whose link has this rate.
    fn new(config: &Self::Config, rate: Rate) -> Self;

    /// Votes on a packet that arrives and may still find no room. `flow` names its flow if the flow's sender reacts to CNPs
    /// ([`Needs::cnps`](crate::Needs::cnps)); no other flow ever has the same name. A flow without a name can't be
    /// notified.
    fn on_arrival(&mut self, packet: &Packet, flow: Option<u64>, port: PortState) -> Verdict {
        let _ = (packet, flow, port);
        Verdict::Keep
    }

    /// Votes on a packet of data for which the queue of its class, or the memory, has no room. If it is kept as it is, it is
    /// dropped; if it is changed, it is tried once more.
    fn on_full(&mut self, packet: &Packet, port: PortState) -> Verdict {
        let _ = (packet, port);
        Verdict::Keep
    }

    /// Handles a packet that leaves for the link. `extra` is `None` unless the packet is flagged
    /// [`crate::Flags::EXTRA`].
    fn on_departure(&mut self, packet: &mut Packet, extra: Option<&mut Extra>, port: PortState) {
        let _ = (packet, extra, port);
    }

    /// Returns the time at which [`PortMechanism::on_timeout`] must be called, or [`Time::MAX`] for never.
    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    /// Handles the timer at the time of [`PortMechanism::next_timeout`], or earlier.
    fn on_timeout(&mut self, port: PortState) {
        let _ = port;
    }

    /// Returns the name of the flow whose sender gets the next CNP, as given on arrival.
    fn poll_cnp(&mut self, now: Time) -> Option<u64> {
        let _ = now;
        None
    }
}

declare! {
    /// The constants of a mechanism that has none.
    #[derive(PartialEq)]
    pub struct NoConstants {}
}

/// The mechanism of transports that need none. No value of this type exists.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum NoMechanism {}

impl PortMechanism for NoMechanism {
    type Config = NoConstants;
    const NAME: &'static str = "none";

    fn new(_: &NoConstants, _: Rate) -> NoMechanism {
        unreachable!("a transport without a mechanism configures none")
    }
}

/// The information on a mechanism.
#[derive(Clone, Copy, Debug)]
pub struct MechanismInfo {
    /// The name of the mechanism, as [`PortMechanism::NAME`].
    pub name: &'static str,
    /// True if the mechanism asks for CNPs, as [`PortMechanism::SENDS_CNPS`].
    pub sends_cnps: bool,
    /// True if the mechanism drops packets, as [`PortMechanism::DROPS`].
    pub drops: bool,
    /// True if the mechanism returns packets, as [`PortMechanism::RETURNS`].
    pub returns: bool,
    prefix: &'static str,
    constants: &'static [Spec],
    keyed: &'static [&'static str],
}

impl MechanismInfo {
    /// Returns the information on the mechanism `M`.
    pub const fn of<M: PortMechanism>() -> MechanismInfo {
        MechanismInfo {
            name: M::NAME,
            sends_cnps: M::SENDS_CNPS,
            drops: M::DROPS,
            returns: M::RETURNS,
            prefix: M::PREFIX,
            constants: M::Config::SPECS,
            keyed: M::KEYS,
        }
    }

    /// Returns the keys of the mechanism in a scenario's `[switch]`, each with the constant that it sets.
    pub fn keys(&self) -> impl Iterator<Item = (String, &'static Spec)> {
        let MechanismInfo { prefix, constants, keyed, .. } = *self;
        let constant = move |name: &&str| constants.iter().find(|constant| constant.name == *name);
        keyed.iter().map(move |name| {
            (format!("{prefix}_{name}"), constant(name).expect("each key is one of the constants"))
        })
    }
}
