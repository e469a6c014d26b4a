//! The two ways in which control frames travel, and what each takes of a link.

use std::num::NonZeroU16;

/// The length of a control frame in a UDP datagram, in bytes, from the destination address to the last byte: over both
/// versions of IP, so that ports of switches count all credits alike.
pub const DATAGRAM_LEN: usize = 108;
/// The bytes that a NIC adds to a frame: preamble, check sequence and gap.
const BESIDE: u32 = 24;

/// The way in which control frames travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// Straight over Ethernet, within one segment.
    Ethernet,
    /// In UDP datagrams from and to this port, which routers forward.
    Udp(NonZeroU16),
}

impl Carrier {
    /// Returns the size of a credit on the wire, in bytes.
    pub const fn credit_wire(self) -> u32 {
        match self {
            Carrier::Ethernet => 84,
            Carrier::Udp(_) => DATAGRAM_LEN as u32 + BESIDE,
        }
    }
}
