//! The trait [`Datapath`]: a protocol at a host, between the kernel's TCP and the NIC.
//!
//! A datapath has no socket and no clock. Its driver ([`crate::io`], a test, a replayed recording) hands it what
//! happens, with the time, and carries out the [`Actions`] that it asks for. All times come from a clock that never
//! jumps and starts at zero with the driver.

use crate::wire::{FlowKey, MacAddr, Segment};
use clearway_units::Time;
use std::fmt;
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};

/// The number by which the kernel names a packet that it holds for us (`packet_id` of NFQUEUE).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HeldId(pub u32);

/// The direction in which a segment crosses the NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The segment comes from the network.
    Incoming,
    /// The segment leaves for the network.
    Outgoing,
}

/// What becomes of a packet that the kernel holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The packet leaves as it is.
    Accept,
    /// The packet leaves with other fields of its headers: [`Stamp`].
    Stamped(Stamp),
    /// The packet is dropped.
    Drop,
}

/// The fields that scheduled data carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// The identification of the IPv4 header, or the urgent pointer over IPv6: the lower 16 bits of the number of the credit
    /// that the packet spends.
    pub id: u16,
    /// If true, the packet takes part in ECN (codepoint ECT(0)); else its ECN field stays.
    pub ecn: bool,
}

/// What a datapath asks its driver to do, in the order in which it must be done.
///
/// The driver keeps one value and clears it after use, so a running datapath allocates nothing per packet.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Actions {
    /// Verdicts on packets that the kernel holds.
    pub verdicts: Vec<(HeldId, Verdict)>,
    /// Whole Ethernet frames to send.
    pub frames: Vec<Frame>,
    /// The bytes on the wire that small packets to a host may spend in the kernel from now on, without being held. A driver
    /// without a path in the kernel is asked for none.
    pub allowances: Vec<(IpAddr, i64)>,
    /// The flows whose bulk data shall leave in the kernel from now on, or no more.
    pub orders: Vec<Order>,
}

/// What becomes of the bulk data of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// It waits in its socket, and the kernel turns credits into room in the window of TCP. A driver that can't do so leaves it as it is.
    Begin(Bulk),
    /// It is held as before.
    End(FlowKey),
    /// TCP is asked whether its window keeps bytes in the socket ([`Released::unsent`]).
    Ask(FlowKey),
    /// From now on credits of flows of small packets to a host add to its allowance in the kernel.
    Take(IpAddr),
    /// They come to the datapath, because packets to the host wait for them there.
    Leave(IpAddr),
}

/// A flow whose bulk data shall leave in the kernel, or whose credits the kernel shall take for small packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bulk {
    /// The flow.
    pub flow: FlowKey,
    /// True if its credits shall add to the allowance of its host ([`Order::Take`]), and all of its packets stay as they are.
    pub is_small: bool,
    /// What its credits must have: session, cookie, and the Ethernet address from which they come.
    pub session: u32,
    /// The cookie.
    pub cookie: u64,
    /// The Ethernet address.
    pub peer: MacAddr,
    /// If true, scheduled data takes part in ECN.
    pub ecn: bool,
    /// The credits that are kept at most while TCP has no data.
    pub keep: u32,
    /// The highest number of a credit so far, and a bit for it and each of the 63 before that have arrived.
    pub highest: u64,
    /// The bits.
    pub seen: u64,
}

/// What a flow did in the kernel since it was told of last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Released {
    /// The flow.
    pub flow: FlowKey,
    /// The credits that the kernel took.
    pub credits: u64,
    /// The packets that left for one.
    pub packets: u64,
    /// Their payload in bytes.
    pub payload: u64,
    /// Their bytes on the wire.
    pub wire: u64,
    /// The credits that came again, and were refused.
    pub replayed: u64,
    /// The credits that are kept now. Those of a flow that has left the kernel are gone.
    pub kept: u32,
    /// The time of the last credit.
    pub last: Time,
    /// The highest number of a credit so far, and a bit for it and each of the 63 before that the kernel took.
    pub highest: u64,
    /// The bits.
    pub used: u64,
    /// The bytes in the socket that the window of credits keeps back, if that was asked.
    pub unsent: Option<u32>,
}

/// What became of the allowance of a host in the kernel: the small packets to it that left, and the credits that were taken for more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// The host.
    pub to: IpAddr,
    /// The number of packets.
    pub packets: u64,
    /// Their payload in bytes.
    pub payload: u64,
    /// Their bytes on the wire.
    pub wire: u64,
    /// The bytes on the wire that credits have added in the kernel.
    pub added: u64,
}

/// Small packets of a flow from another host, without the number of a credit, that were counted in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Small {
    /// The flow.
    pub flow: FlowKey,
    /// The number of packets.
    pub packets: u64,
    /// Their payload in bytes.
    pub payload: u64,
    /// Their bytes on the wire.
    pub wire: u64,
}

/// The length in bytes of control frames of IPv4 flows, and of credits of all flows, from the destination address to the last
/// byte: the least of Ethernet, without the frame check sequence.
pub const FRAME_LEN: usize = 60;
/// The length in bytes of the longest control frame: one in a UDP datagram.
pub const FRAME_MAX: usize = 108;

/// A control frame of our own, whole: Ethernet header and [`crate::wire::Control`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    bytes: [u8; FRAME_MAX],
    len: u8,
}

impl Frame {
    /// Makes a frame of zeroes. A length above [`FRAME_MAX`] is taken for that.
    pub fn zeroes(len: usize) -> Frame {
        Frame { bytes: [0; FRAME_MAX], len: len.min(FRAME_MAX) as u8 }
    }
}

impl Deref for Frame {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl DerefMut for Frame {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl Actions {
    /// Removes all actions.
    pub fn clear(&mut self) {
        self.verdicts.clear();
        self.frames.clear();
        self.allowances.clear();
        self.orders.clear();
    }
}

/// A protocol at a host. The documentation of the module says how it is driven.
///
/// After any input the driver carries out all actions, and calls [`Datapath::handle_timeout`] at
/// [`Datapath::next_timeout`]. A call too early is harmless.
pub trait Datapath {
    /// Handles a frame with our EtherType that came from the network. `frame` begins with the Ethernet header and may
    /// hold anything at all.
    fn handle_frame(&mut self, frame: &[u8], now: Time, actions: &mut Actions);

    /// Handles a TCP segment that crossed the NIC and was not held: only its headers are known. `local` and
    /// `peer` are the Ethernet addresses of this host and of the next node towards the other one.
    fn handle_segment(
        &mut self,
        direction: Direction,
        segment: &Segment,
        link: Link,
        now: Time,
        actions: &mut Actions,
    );

    /// Handles a packet that the kernel holds until the datapath asks for a verdict. Each held packet gets one verdict.
    fn handle_held(&mut self, id: HeldId, segment: &Segment, now: Time, actions: &mut Actions);

    /// Handles what left in the kernel for an allowance, and what credits added to that.
    fn handle_passed(&mut self, passed: &Passed, now: Time, actions: &mut Actions);

    /// Handles small packets that came and were counted, in place of [`Datapath::handle_segment`] for each.
    fn handle_small(&mut self, small: &Small, now: Time, actions: &mut Actions);

    /// Handles what the bulk data of a flow did in the kernel.
    fn handle_released(&mut self, released: &Released, now: Time, actions: &mut Actions);

    /// Counts packets, with so many bytes of payload, that left as they were because the daemon gave no sign of life.
    fn count_unwatched(&mut self, packets: u64, payload: u64);

    /// Asks for a verdict on every packet that is held, because the datapath ends or the NIC went down: they
    /// leave as they are.
    fn release_all(&mut self, now: Time, actions: &mut Actions);

    /// Returns the time at which [`Datapath::handle_timeout`] must be called, or [`Time::MAX`] for never.
    fn next_timeout(&self) -> Time;

    /// Returns true if nothing waits for a frame or a segment that may come now, so that the datapath may hear of credits and of data a
    /// millisecond late. Requests, stops and their answers never wait.
    fn is_patient(&self, now: Time) -> bool;

    /// Handles the timer at the time of [`Datapath::next_timeout`], or earlier.
    fn handle_timeout(&mut self, now: Time, actions: &mut Actions);

    /// Hands every counter and gauge, with its name in Prometheus' style without prefix, to `each`.
    fn metrics(&self, each: &mut dyn FnMut(Metric));
}

/// The Ethernet addresses of a segment, seen from this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The address of this host's NIC.
    pub local: MacAddr,
    /// The address of the next node towards the other host.
    pub peer: MacAddr,
}

/// A number that the daemon reports.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Metric {
    /// The name, such as `credits_sent_total`; names of counters end in `_total`.
    pub name: &'static str,
    /// One sentence that says what is counted.
    pub help: &'static str,
    /// The label by which values of one name differ, such as `("reason", "unknown_flow")`.
    pub label: Option<(&'static str, &'static str)>,
    /// The value.
    pub value: f64,
}
