//! The flags of packets that mean something of their own here.

use crate::packet::Flags;

/// Data: the sender may have to wait after this packet, and asks for an acknowledgement at once.
pub const ASKS: Flags = Flags::EMPTY;
/// An acknowledgement: it answers a probe, whose number it tells.
pub const OF_PROBE: Flags = Flags::EMPTY;
/// An acknowledgement: it answers a packet that was sent again.
pub const OF_REPEAT: Flags = Flags::CWR;
