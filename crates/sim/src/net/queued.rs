//! A packet that waits, as its port knows it.

use clearway_proto::{Flags, Kind};
use serde::{Deserialize, Serialize};

/// The marks of a packet that a viewer sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Marks(u8);

impl Marks {
    /// The flags that are marks, all among the lowest eight.
    const SEEN: Flags = Flags::ECN_CE.with(Flags::RETRANSMIT);
    /// The bit of packets that were cut, in the place of a flag that is no mark.
    const TRIMMED: u8 = 1;

    /// Returns the marks among the flags of a packet.
    #[inline]
    pub fn of(flags: Flags) -> Marks {
        Marks((flags.bits() & Marks::SEEN.bits()) as u8)
    }

    /// Returns the marks of a packet that may have been cut to its header. At a plain port none was: what is cut travels in a class
    /// of its own, and a plain port has one.
    #[inline]
    pub fn of_any(flags: Flags) -> Marks {
        let trimmed = if flags.has(Flags::TRIMMED) { Marks::TRIMMED } else { 0 };
        Marks(Marks::of(flags).0 | trimmed)
    }

    /// Returns true if the packet carries an ECN mark.
    #[inline]
    pub fn is_marked(self) -> bool {
        u16::from(self.0) & Flags::ECN_CE.bits() != 0
    }

    /// Returns true if the packet is data that was sent before.
    #[inline]
    pub fn is_retransmission(self) -> bool {
        u16::from(self.0) & Flags::RETRANSMIT.bits() != 0
    }

    /// Returns true if the packet is what a switch left of one of data.
    #[inline]
    pub fn is_trimmed(self) -> bool {
        self.0 & Marks::TRIMMED != 0
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_viewer_sees_each_mark_of_a_packet_by_itself_and_no_other_flag() {
        for (flags, is_marked, is_retransmission) in [
            (Flags::NONE, false, false),
            (Flags::ECN_CE, true, false),
            (Flags::RETRANSMIT, false, true),
            (Flags::ECN_CE.with(Flags::RETRANSMIT), true, true),
            (Flags::ECN_CAPABLE.with(Flags::LAST).with(Flags::EXTRA), false, false),
        ] {
            let marks = Marks::of(flags);
            assert_eq!((marks.is_marked(), marks.is_retransmission()), (is_marked, is_retransmission));
            let cut = Marks::of_any(flags.with(Flags::TRIMMED));
            assert_eq!(
                (cut.is_marked(), cut.is_retransmission(), cut.is_trimmed()),
                (is_marked, is_retransmission, true)
            );
            assert!(!marks.is_trimmed() && Marks::of_any(flags) == marks);
        }
    }
}
