//! Shims, which sit at a host between its network card and the receivers of its flows, and change no TCP code.
//!
//! A shim sees the packets that arrive for the receivers, before they do, and the acknowledgements that these send.
//! It may rewrite an acknowledgement, or hold it and release it later. Its state spans all flows of a host.
//!
//! Whoever drives it follows one rule. A packet for a receiver goes to [`Shim::handle_incoming`], then to the
//! receiver; each packet that the receiver answers with goes to [`Shim::handle_outgoing`], and leaves if that returns
//! it. After all of that, and after [`Shim::handle_timeout`], [`Shim::poll_release`] is called until it returns
//! `None`, and what it returns leaves; then the timer is set to [`Shim::next_timeout`]. Calls too early are harmless.
//!
//! Flows are told apart by numbers that the driver chooses. A number may be used again after [`Shim::forget`].

use crate::endpoint::Framing;
use crate::packet::{Extra, Packet};
use clearway_units::{Rate, Time};

/// The host at which a shim sits.
#[derive(Clone, Copy, Debug)]
pub struct ShimEnv {
    /// Rate of the host's network card.
    pub line_rate: Rate,
    /// The sizes of frames and of what they carry.
    pub framing: Framing,
}

/// The counters of a shim.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ShimStats {
    /// Acknowledgements held now.
    pub held: u64,
    /// The most that were held at a time.
    pub held_max: u64,
    /// Acknowledgements that went through, or were released.
    pub released: u64,
    /// Acknowledgements that were dropped, because others that stayed or left said the same or more.
    pub dropped: u64,
}

/// A shim. The module's page says how it is driven.
pub trait Shim: std::fmt::Debug {
    /// A packet for a receiver arrived: data, or one of a handshake. The receiver has not seen it yet.
    fn handle_incoming(&mut self, flow: u32, packet: &Packet, now: Time);

    /// A receiver sends a packet: an acknowledgement, or the answer to a handshake. It leaves as returned; `None`:
    /// the shim holds it.
    fn handle_outgoing(&mut self, flow: u32, packet: Packet, extra: &Extra, now: Time) -> Option<Packet>;

    /// The next packet held that may leave now.
    fn poll_release(&mut self, now: Time) -> Option<(u32, Packet, Extra)>;

    /// The time of [`Shim::next_timeout`] came, or an earlier one.
    fn handle_timeout(&mut self, now: Time);

    /// The time at which this shim wants [`Shim::handle_timeout`]; [`Time::MAX`] for never.
    fn next_timeout(&self) -> Time;

    /// Both ends of a flow are done. The shim drops the packets that it holds of the flow, and forgets it.
    fn forget(&mut self, flow: u32);

    /// The counters so far.
    fn stats(&self) -> ShimStats;
}

/// The shim of transports without one: no value of this type exists.
#[derive(Clone, Copy, Debug)]
pub enum NoShim {}

impl Shim for NoShim {
    fn handle_incoming(&mut self, _: u32, _: &Packet, _: Time) {
        match *self {}
    }

    fn handle_outgoing(&mut self, _: u32, _: Packet, _: &Extra, _: Time) -> Option<Packet> {
        match *self {}
    }

    fn poll_release(&mut self, _: Time) -> Option<(u32, Packet, Extra)> {
        match *self {}
    }

    fn handle_timeout(&mut self, _: Time) {
        match *self {}
    }

    fn next_timeout(&self) -> Time {
        match *self {}
    }

    fn forget(&mut self, _: u32) {
        match *self {}
    }

    fn stats(&self) -> ShimStats {
        match *self {}
    }
}
