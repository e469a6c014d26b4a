//! The trait [`Shim`]: a layer at a host between its NIC and the receivers of its flows, which needs no change
//! to TCP.
//!
//! A shim sees the packets that arrive for the receivers, before they do, and the acknowledgements that these send.
//! It may rewrite an acknowledgement, or hold it and release it later. Its state spans all flows of a host.
//!
//! The driver of a shim follows one rule. A packet for a receiver goes to [`Shim::handle_incoming`], and then to the
//! receiver. Each packet of the receiver goes to [`Shim::handle_outgoing`], and leaves if that returns it. After these,
//! and after [`Shim::handle_timeout`], the driver calls [`Shim::poll_release`] until it returns `None` and sends each
//! packet that it returns; then it sets the timer to [`Shim::next_timeout`]. Calls too early are harmless.
//!
//! The driver chooses a number for each flow, and may use it again after [`Shim::forget`].

use crate::endpoint::Framing;
use crate::packet::{Extra, Packet};
use clearway_units::{Rate, Time};
use serde::{Deserialize, Serialize};

/// The environment of a shim.
#[derive(Clone, Copy, Debug)]
pub struct ShimEnv {
    /// The rate of the host's NIC, above zero: a shim may divide by it.
    pub line_rate: Rate,
    /// The sizes of frames.
    pub framing: Framing,
}

/// The counters of a shim.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ShimStats {
    /// The number of acknowledgements that are held.
    pub held: u64,
    /// The largest number of acknowledgements held at a time.
    pub held_max: u64,
    /// The number of acknowledgements that were passed on or released.
    pub released: u64,
    /// The number of acknowledgements that were dropped because others supersede them.
    pub dropped: u64,
}

/// A shim at one host. The documentation of the module says how it is driven.
pub trait Shim: std::fmt::Debug {
    /// False for the shim of transports without one.
    const EXISTS: bool = true;

    /// Handles a packet for a receiver, data or part of a handshake, before the receiver sees it.
    fn handle_incoming(&mut self, flow: u32, packet: &Packet, now: Time);

    /// Handles a packet that a receiver sends, an acknowledgement or part of a handshake. The packet that is returned
    /// leaves; `None` means that the shim holds it.
    fn handle_outgoing(&mut self, flow: u32, packet: Packet, extra: &Extra, now: Time) -> Option<Packet>;

    /// Returns the next packet held that may leave now, with its flow.
    fn poll_release(&mut self, now: Time) -> Option<(u32, Packet, Extra)>;

    /// Handles the timer at the time of [`Shim::next_timeout`], or earlier.
    fn handle_timeout(&mut self, now: Time);

    /// Returns the time at which [`Shim::handle_timeout`] must be called, or [`Time::MAX`] for never.
    fn next_timeout(&self) -> Time;

    /// Drops the packets and the state of a flow that both of its ends have finished.
    fn forget(&mut self, flow: u32);

    /// Returns the counters.
    fn stats(&self) -> ShimStats;
}

/// The shim of transports without one. No value of this type exists.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum NoShim {}

impl Shim for NoShim {
    const EXISTS: bool = false;

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
