//! A packet that waits, as its port knows it.

use clearway_proto::{Flags, Kind};
use serde::{Deserialize, Serialize};

/// The marks of a packet that a viewer sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Marks(u8);

impl Marks {
    /// The marks among the flags of a packet.
    #[inline]
    pub fn of(flags: Flags) -> Marks {
        Marks(u8::from(flags.has(Flags::ECN_CE)) | u8::from(flags.has(Flags::RETRANSMIT)) << 1)
    }

    /// True if the packet carries an ECN mark.
    #[inline]
    pub fn is_marked(self) -> bool {
        self.0 & 1 != 0
    }

    /// True if the packet is data that was sent before.
    #[inline]
    pub fn is_retransmission(self) -> bool {
        self.0 & 2 != 0
    }

    /// The marks as bits: 1 for an ECN mark, 2 for data that was sent before.
    #[inline]
    pub fn bits(self) -> u8 {
        self.0
    }
}

/// A packet that waits, as its port knows it: without its flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuedPacket {
    /// The kind of packet.
    pub kind: Kind,
    /// The size on the wire in bytes.
    pub wire: u32,
    /// The marks.
    pub marks: Marks,
}
