//! What the two ends of a flow and the ports between them say to each other.

use clearway_units::{Rate, Time};

/// What a packet is, and so which end of the flow it is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Bytes of the flow.
    Data,
    /// First packet of a handshake.
    Syn,
    /// "Send me credits" (ExpressPass `CREDIT_REQUEST`) as a packet of its own.
    CreditRequest,
    /// "Send no more credits" (ExpressPass `CREDIT_STOP`).
    CreditStop,
    /// Answer to a [`Kind::Syn`].
    SynAck,
    /// Acknowledgement, cumulative and perhaps selective.
    Ack,
    /// Permission to send one data packet.
    Credit,
    /// "Go back to `ack`": a receiver that takes no data out of order missed something.
    Nack,
    /// Congestion notification: "slow down" (CNP of RoCEv2), from a receiver or from a switch.
    Cnp,
    /// Flow control between neighbours: `seq` has the classes to stop, `ack` those that may go on. No end sees it.
    Pause,
}

impl Kind {
    /// Whether the data receiver handles this packet; else the data sender does.
    pub const fn is_for_receiver(self) -> bool {
        matches!(self, Kind::Data | Kind::Syn | Kind::CreditRequest | Kind::CreditStop)
    }
}

/// Single-bit marks on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Flags(u16);

impl Flags {
    /// None.
    pub const NONE: Flags = Flags(0);
    /// The transport understands ECN, so a switch may mark instead of dropping (RFC 3168 ECT).
    pub const ECN_CAPABLE: Flags = Flags(1);
    /// A switch met congestion (RFC 3168 CE).
    pub const ECN_CE: Flags = Flags(1 << 1);
    /// An acknowledgement echoes a mark (RFC 3168 ECE).
    pub const ECN_ECHO: Flags = Flags(1 << 2);
    /// The sender reduced its window (RFC 3168 CWR).
    pub const CWR: Flags = Flags(1 << 3);
    /// These bytes were sent before.
    pub const RETRANSMIT: Flags = Flags(1 << 4);
    /// The packet asks for credits besides what else it is.
    pub const CREDIT_REQUEST: Flags = Flags(1 << 5);
    /// The last bytes of the flow: nothing follows. On an acknowledgement of TCP: all of the flow has arrived.
    pub const LAST: Flags = Flags(1 << 6);
    /// The packet has an [`Extra`] beside it.
    pub const EXTRA: Flags = Flags(1 << 7);
    /// The sender has nothing more to send for now (ExpressPass '16 marks the last data packet so).
    pub const EMPTY: Flags = Flags(1 << 8);
    /// Ports on the way lower the rate in the packet to their own (RCP).
    pub const RATE: Flags = Flags(1 << 9);
    /// Ports on the way write what they know of themselves into the packet ([`Extra::Hops`]; HPCC's telemetry).
    pub const TELEMETRY: Flags = Flags(1 << 10);
    /// *Unscheduled* data (sent without a credit), in the class that yields to all others (RC3). It spends no credit.
    pub const UNSCHEDULED: Flags = Flags(1 << 11);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets the bits of `other`.
    #[inline]
    pub const fn set(&mut self, other: Flags) {
        self.0 |= other.0;
    }

    /// Clears the bits of `other`.
    #[inline]
    pub const fn clear(&mut self, other: Flags) {
        self.0 &= !other.0;
    }

    /// The bits of both.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// `self` with the bits of `other` if `yes`.
    #[inline]
    pub const fn with_if(self, yes: bool, other: Flags) -> Flags {
        if yes { self.with(other) } else { self }
    }
}

/// One packet, as the ends of a flow see it. Where it is and how it travels is the network's business.
///
/// | field | data | acknowledgement | credit | request, stop |
/// |---|---|---|---|---|
/// | `seq` | first byte's offset | RCP: the rate granted | number of the credit | credits wanted; bytes sent so far |
/// | `ack` | number of the credit spent | next byte expected | next byte expected | bytes written so far |
/// | `window` | round of credits | receive window or round of credits | round of credits | round of credits |
/// | `sent` | when it left its end | when it left its end | when it left its end | likewise |
/// | `echo` | `sent` of the credit spent, or of TCP's newest acknowledgement | `sent` of the data acknowledged | newest `sent` of data that arrived | |
///
/// In RCP, data and the `SYN` are flagged [`Flags::RATE`]: `ack` is then the least rate on the way in bit/s, and `echo`
/// the sender's smoothed round-trip time (as a time after zero; zero if unknown). Their answer has the rate in `seq`.
/// The one-way delay of the data acknowledged (DX) is an acknowledgement's `sent` minus its `echo`.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// What it is.
    pub kind: Kind,
    /// Marks.
    pub flags: Flags,
    /// Bytes on the wire, preamble and inter-packet gap included.
    pub wire: u32,
    /// Bytes of the flow that it carries.
    pub payload: u32,
    /// Receive window, in bytes, on acknowledgements; the round of credits that a request opened, in schemes
    /// with credits.
    pub window: u32,
    /// See the table above.
    pub seq: u64,
    /// See the table above.
    pub ack: u64,
    /// When its end sent it.
    pub sent: Time,
    /// A timestamp returned.
    pub echo: Time,
}

impl Packet {
    /// A packet of a kind and a size on the wire; all else zero.
    pub const fn new(kind: Kind, wire: u32) -> Packet {
        Packet {
            kind,
            flags: Flags::NONE,
            wire,
            payload: 0,
            window: 0,
            seq: 0,
            ack: 0,
            sent: Time::ZERO,
            echo: Time::ZERO,
        }
    }
}

/// A range of bytes that arrived out of order: `start..end` (RFC 2018).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SackBlock {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte; equal to `start` in an unused block.
    pub end: u64,
}

/// Most ports that write into one packet.
pub const HOPS_MAX: usize = 8;

/// What a port knows of itself when a packet leaves it: an entry of HPCC's in-band telemetry.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Hop {
    /// When the packet left (started on the link).
    pub left: Time,
    /// Bytes on the wire that the port has sent so far, this packet included.
    pub sent: u64,
    /// Bytes on the wire that wait behind the packet.
    pub queued: u64,
    /// Rate of the link.
    pub rate: Rate,
}

/// A list of [`Hop`]s in the order of the packet's way.
#[derive(Clone, Copy, Default, Debug)]
pub struct Hops {
    hops: [Hop; HOPS_MAX],
    count: u8,
}

impl Hops {
    /// Adds a port. Answers false, and adds nothing, if the list is full.
    #[inline]
    pub fn push(&mut self, hop: Hop) -> bool {
        let Some(place) = self.hops.get_mut(self.count as usize) else { return false };
        *place = hop;
        self.count += 1;
        true
    }

    /// The entries.
    #[inline]
    pub fn as_slice(&self) -> &[Hop] {
        &self.hops[..self.count as usize]
    }
}

/// What few packets carry, kept beside the packet so that the others stay small. Valid only where
/// [`Flags::EXTRA`] is set.
#[derive(Clone, Copy, Default, Debug)]
#[allow(clippy::large_enum_variant)] // Copied only where a packet has one; a box would allocate for each.
pub enum Extra {
    /// Nothing.
    #[default]
    None,
    /// Up to three selective acknowledgements, the most recent first.
    Sack([SackBlock; 3]),
    /// What the ports on the way wrote.
    Hops(Hops),
}

impl Extra {
    /// The selective acknowledgements, used and unused ones.
    #[inline]
    pub fn sack(&self) -> &[SackBlock] {
        match self {
            Extra::Sack(blocks) => blocks,
            _ => &[],
        }
    }

    /// What the ports on the way wrote.
    #[inline]
    pub fn hops(&self) -> &[Hop] {
        match self {
            Extra::Hops(hops) => hops.as_slice(),
            _ => &[],
        }
    }
}
