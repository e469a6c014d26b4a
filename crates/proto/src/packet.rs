//! Packets: the messages between the two ends of a flow and the ports between them.

use crate::tag::Tag;
use clearway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// The kinds of packets, for counters and for the choice of a class: [`Packet::kind`] derives it from the header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum Kind {
    /// A data packet carries bytes of the flow, or tells that none follow.
    Data,
    /// A SYN is the first packet of a handshake.
    Syn,
    /// A request asks the receiver for credits (ExpressPass `CREDIT_REQUEST`).
    CreditRequest,
    /// A stop asks the receiver to send no more credits (ExpressPass `CREDIT_STOP`).
    CreditStop,
    /// A SYN+ACK answers a [`Kind::Syn`].
    SynAck,
    /// An acknowledgement tells which bytes have arrived.
    Ack,
    /// A credit permits the sender to send one data packet.
    Credit,
    /// A negative acknowledgement tells that bytes before those that arrived are missing.
    Nack,
    /// A congestion notification packet (CNP of RoCEv2) tells the sender to slow down; a receiver or a switch sends it.
    Cnp,
    /// A pull asks the sender for data (NDP, EQDS, Ultra Ethernet).
    Pull,
    /// A pull request asks the receiver for pulls, or for an acknowledgement, without data (RTS).
    PullRequest,
    /// A probe asks the receiver for an acknowledgement and waits where data waits, so that its round trip tells of queues.
    Probe,
}

impl Kind {
    /// Returns true if packets of this kind go to the receiving end of a flow, false if they go to the sending end. A packet that
    /// a port sent back goes to the other one ([`Packet::is_for_receiver`]).
    #[inline]
    pub const fn is_for_receiver(self) -> bool {
        use Kind::{CreditRequest, CreditStop, Data, Probe, PullRequest, Syn};
        matches!(self, Data | Syn | CreditRequest | CreditStop | PullRequest | Probe)
    }
}

/// The fields of a packet that depend on its kind and on the family of its transport: TCP (and raw streams), RCP, RDMA,
/// credits (ExpressPass and its relatives), or numbered packets that may each take a path of their own (NDP, EQDS, Ultra
/// Ethernet).
///
/// A field has one meaning in all variants that have it. Offsets count bytes from the start of the flow:
/// - `offset` is the offset of the first byte that a data packet carries;
/// - `ack` is a cumulative acknowledgement, the offset of the next byte that the receiver expects;
/// - `echo` returns the time at which the peer sent the packet that this one answers, so that the peer can measure a
///   round-trip time ([`Packet::sent`]); [`Time::ZERO`] if it answers none;
/// - `session` is the number of the round of credits that a request opened;
/// - `psn` is the number of a packet among those of its flow, from 0 on, which a retransmission keeps; in an answer it is
///   that of the packet that is answered;
/// - `pull` is the number of the last pull: how much of its data the receiver has asked for in all, in units of its
///   transport, beyond 32 bits from 0 on again;
/// - `received` is the number of bytes of the flow on the wire that have arrived, each once, beyond 32 bits from 0 on again;
/// - `rate` is the least rate of the ports on the way so far, as RCP grants it; zero in other transports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)] // The fields are explained once for all variants.
pub enum Header {
    /// Data of TCP, RDMA and raw streams. Its `echo` is that of TCP's timestamps option (RFC 7323).
    Data { offset: u64, echo: Time },
    /// Data of RCP, with the sender's smoothed round-trip time (zero if unknown).
    RcpData { offset: u64, rate: Rate, srtt: Span },
    /// Data that spends a credit; `echo` is the time at which the credit left the receiver.
    CreditData { offset: u64, session: u32, credit: u64, echo: Time },
    /// Unscheduled data: data of a credit transport that spends no credit and yields to all other data.
    UnscheduledData { offset: u64, session: u32 },
    /// Data of a transport whose packets are numbered. `target` is the pull that the sender wants to have come to.
    PulledData { offset: u64, psn: u32, pull: u32, target: u32 },
    /// The SYN of TCP.
    Syn,
    /// The SYN of RCP, which asks for a rate.
    RcpSyn { rate: Rate },
    /// A SYN that carries a request for credits.
    CreditSyn(CreditRequest),
    /// A request for credits as a packet of its own.
    CreditRequest(CreditRequest),
    /// A stop of the credits; `end` is the number of bytes sent so far or, if the packet is flagged [`Flags::LAST`],
    /// the length of the flow.
    CreditStop { session: u32, end: u64 },
    /// A sender of numbered packets asks for pulls without data (RTS). It takes a number among the packets.
    PullRequest { psn: u32, pull: u32, target: u32 },
    /// A sender of numbered packets asks for an acknowledgement. `psn` is its number among probes. It waits `with_data` at ports,
    /// or goes ahead as acknowledgements do.
    Probe { psn: u32, with_data: bool },
    /// The answer of TCP and RCP to a SYN, with the receive window in bytes.
    SynAck { window: u32, rate: Rate, echo: Time },
    /// The answer of a credit transport to a SYN.
    CreditSynAck(CreditAnswer),
    /// An acknowledgement of TCP and RCP, with the receive window in bytes.
    Ack { ack: u64, window: u32, rate: Rate, echo: Time },
    /// An acknowledgement of RDMA. It names the `len` bytes from `offset` on that the answered packet carried.
    RdmaAck { ack: u64, offset: u64, len: u32, echo: Time },
    /// An acknowledgement of numbered packets. All below `next` have arrived, and `held` beyond it; the bits of `map`, the
    /// lowest first, tell which from `from` on. `penalty` is what the receiver asks of the sender's window, as its transport
    /// defines it.
    PulledAck { next: u32, psn: u32, pull: u32, received: u32, from: u32, map: u64, held: u16, penalty: u8 },
    /// The answer of a credit transport to a [`Header::CreditStop`], or to data that ended the session.
    CreditAck(CreditAnswer),
    /// A negative acknowledgement of RDMA: the `len` bytes from `offset` on arrived, though bytes before them are
    /// missing.
    RdmaNack { ack: u64, offset: u64, len: u32, echo: Time },
    /// A negative acknowledgement of a credit transport: all bytes from `ack` on shall be sent again.
    CreditNack(CreditAnswer),
    /// A negative acknowledgement of a numbered packet: it arrived cut to its header. All below `next` have arrived.
    PulledNack { next: u32, psn: u32, pull: u32, received: u32 },
    /// A pull: the receiver of numbered packets asks for data. It `leads` where the sender has not asked for so much yet.
    Pull { pull: u32, leads: bool },
    /// A credit with its number; `echo` is the latest time at which data that has arrived was sent.
    Credit { number: u64, session: u32, ack: u64, echo: Time },
    /// A congestion notification packet.
    Cnp,
}

/// The fields of a request for credits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CreditRequest {
    /// The number of the round of credits that this request opens.
    pub session: u32,
    /// The number of credits that the sender could spend now.
    pub wanted: u64,
    /// The length of the flow so far: bytes that the application has written.
    pub written: u64,
}

/// The fields by which the receiver of a credit transport answers a request, a stop, or data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CreditAnswer {
    /// The number of the round of credits in force or last stopped.
    pub session: u32,
    /// The offset of the next byte that the receiver expects.
    pub ack: u64,
    /// The time at which the peer sent the packet that this one answers.
    pub echo: Time,
}

impl Header {
    /// Returns the header of data from `offset` on that returns no timestamp.
    #[inline]
    pub const fn data(offset: u64) -> Header {
        Header::Data { offset, echo: Time::ZERO }
    }

    /// Returns the kind of packet that this header belongs to.
    #[inline(always)]
    pub const fn kind(&self) -> Kind {
        // Apart from this one the kind follows from the variant alone, so that it is read from a table without a branch.
        if matches!(self, Header::Probe { with_data: true, .. }) {
            return Kind::Probe;
        }
        match self {
            Header::Data { .. }
            | Header::RcpData { .. }
            | Header::CreditData { .. }
            | Header::UnscheduledData { .. }
            | Header::PulledData { .. } => Kind::Data,
            Header::Syn | Header::RcpSyn { .. } | Header::CreditSyn(_) => Kind::Syn,
            Header::CreditRequest(_) => Kind::CreditRequest,
            Header::PullRequest { .. } | Header::Probe { .. } => Kind::PullRequest,
            Header::CreditStop { .. } => Kind::CreditStop,
            Header::SynAck { .. } | Header::CreditSynAck(_) => Kind::SynAck,
            Header::Ack { .. } | Header::RdmaAck { .. } | Header::CreditAck(_) | Header::PulledAck { .. } => {
                Kind::Ack
            }
            Header::RdmaNack { .. } | Header::CreditNack(_) | Header::PulledNack { .. } => Kind::Nack,
            Header::Credit { .. } => Kind::Credit,
            Header::Pull { .. } => Kind::Pull,
            Header::Cnp => Kind::Cnp,
        }
    }

    /// Returns the offset of the first byte that the packet carries, if it is a data packet.
    #[inline]
    pub const fn offset(&self) -> Option<u64> {
        match *self {
            Header::Data { offset, .. }
            | Header::RcpData { offset, .. }
            | Header::CreditData { offset, .. }
            | Header::UnscheduledData { offset, .. }
            | Header::PulledData { offset, .. } => Some(offset),
            _ => None,
        }
    }

    /// Returns the cumulative acknowledgement, if the packet has one.
    #[inline]
    pub const fn ack(&self) -> Option<u64> {
        match *self {
            Header::Ack { ack, .. }
            | Header::RdmaAck { ack, .. }
            | Header::RdmaNack { ack, .. }
            | Header::Credit { ack, .. } => Some(ack),
            Header::CreditSynAck(answer) | Header::CreditAck(answer) | Header::CreditNack(answer) => {
                Some(answer.ack)
            }
            _ => None,
        }
    }
}

/// Single-bit marks on a packet. The four highest bits are none: a packet keeps the lane of its [`Tag`] there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Flags(u16);

/// The bits of [`Flags`] that are not marks but the packet's tag: the lane, and below it whether the entropy is set.
const TAG_BITS: u16 = 0xf << ENTROPY_BIT;
/// The number of the bit that is set in a packet whose tag has an entropy.
const ENTROPY_BIT: u32 = 12;
/// The number of the lowest bit of a packet's lane.
const LANE_BIT: u32 = 13;

impl Flags {
    /// No mark at all.
    pub const NONE: Flags = Flags(0);
    /// The transport understands ECN, so a switch may mark the packet instead of dropping it (RFC 3168 ECT).
    pub const ECN_CAPABLE: Flags = Flags(1);
    /// A switch met congestion (RFC 3168 CE).
    pub const ECN_CE: Flags = Flags(1 << 1);
    /// An acknowledgement echoes a mark (RFC 3168 ECE).
    pub const ECN_ECHO: Flags = Flags(1 << 2);
    /// The sender reduced its window (RFC 3168 CWR).
    pub const CWR: Flags = Flags(1 << 3);
    /// The packet carries bytes that were sent before.
    pub const RETRANSMIT: Flags = Flags(1 << 4);
    /// The packet carries the last bytes of the flow; on an acknowledgement, the whole flow has arrived.
    pub const LAST: Flags = Flags(1 << 5);
    /// The packet has an [`Extra`] beside it.
    pub const EXTRA: Flags = Flags(1 << 6);
    /// The sender has nothing more to send for now (ExpressPass '16 marks the last data packet so).
    pub const EMPTY: Flags = Flags(1 << 7);
    /// Ports on the way write their state into the packet ([`Extra::Hops`]; HPCC's telemetry).
    pub const TELEMETRY: Flags = Flags(1 << 8);
    /// A port cut the packet to its header ([`Packet::trim`]).
    pub const TRIMMED: Flags = Flags(1 << 9);
    /// A port sent the packet back to its sender: it goes to the end from which it came.
    pub const RETURNED: Flags = Flags(1 << 10);
    /// The port that cut the packet leads to the host for which the packet is: the last hop of its way.
    pub const LAST_HOP: Flags = Flags(1 << 11);

    /// Returns true if all bits of `other` are set.
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

    /// Returns all marks, as [`Flags::ECN_CAPABLE`] and the others number their bits.
    #[inline]
    pub const fn bits(self) -> u16 {
        self.0 & !TAG_BITS
    }

    /// Returns the bits of both.
    #[inline]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Returns `self`, with the bits of `other` if `yes`.
    #[inline]
    pub const fn with_if(self, yes: bool, other: Flags) -> Flags {
        if yes { self.with(other) } else { self }
    }
}

/// One packet, as the ends of a flow see it. The network keeps its place and its path beside it.
///
/// [`Packet::data`] and [`Packet::control`] make one; neither can leave a field of the header out.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Packet {
    /// The fields that depend on the kind of packet.
    pub header: Header,
    /// The time at which its end sent the packet.
    pub sent: Time,
    /// The size on the wire in bytes, preamble and inter-packet gap included; at most [`Packet::WIRE_MAX`].
    pub wire: u16,
    /// The bytes of the flow that the packet carries; 16 bits, so that a packet fits into a cache line with its path.
    payload: u16,
    /// The entropy of the tag, if the flags say that there is one.
    entropy: u16,
    /// The marks.
    pub flags: Flags,
}

// The simulator keeps a packet and 16 bytes of its own in one cache line.
const _: () = assert!(size_of::<Header>() == 32 && size_of::<Packet>() == 48);

impl Packet {
    /// The largest size of one packet on the wire, and so the largest payload, in bytes.
    pub const WIRE_MAX: u32 = u16::MAX as u32;

    /// Returns a data packet with `payload` bytes of the flow and `wire` bytes on the wire, without marks.
    #[inline]
    pub const fn data(header: Header, payload: u32, wire: u32, sent: Time) -> Packet {
        debug_assert!(payload <= wire && wire <= Packet::WIRE_MAX, "a packet has at most 65,535 bytes");
        debug_assert!(header.offset().is_some(), "only data packets carry payload");
        Packet { header, sent, wire: wire as u16, payload: payload as u16, entropy: 0, flags: Flags::NONE }
    }

    /// Returns a packet without payload and with `wire` bytes on the wire, without marks.
    #[inline]
    pub const fn control(header: Header, wire: u32, sent: Time) -> Packet {
        debug_assert!(header.offset().is_none(), "a data packet is made by Packet::data");
        debug_assert!(wire <= Packet::WIRE_MAX, "a packet has at most 65,535 bytes");
        Packet { header, sent, wire: wire as u16, payload: 0, entropy: 0, flags: Flags::NONE }
    }

    /// Returns the packet with the given marks instead of its own. Its tag stays what it was.
    #[inline]
    pub const fn with_flags(self, flags: Flags) -> Packet {
        Packet { flags: Flags(self.flags.0 & TAG_BITS | flags.bits()), ..self }
    }

    /// Returns the tag that its end gave the packet.
    #[inline]
    pub const fn tag(&self) -> Tag {
        let has_entropy = self.flags.0 & 1 << ENTROPY_BIT != 0;
        Tag { lane: self.lane(), entropy: if has_entropy { Some(self.entropy) } else { None } }
    }

    /// Returns the lane of the packet's tag.
    #[inline]
    pub const fn lane(&self) -> u8 {
        (self.flags.0 >> LANE_BIT) as u8
    }

    /// Returns the packet with the given tag instead of its own. The lane must be below [`Tag::LANES`].
    #[inline]
    pub const fn with_tag(self, tag: Tag) -> Packet {
        debug_assert!(tag.lane < Tag::LANES, "there are eight lanes");
        let lane = ((tag.lane & (Tag::LANES - 1)) as u16) << LANE_BIT;
        let (entropy, is_set) = match tag.entropy {
            Some(entropy) => (entropy, 1 << ENTROPY_BIT),
            None => (0, 0),
        };
        Packet { entropy, flags: Flags(self.flags.bits() | lane | is_set), ..self }
    }

    /// Gives the packet another size on the wire, in bytes.
    #[inline]
    pub const fn resize(&mut self, wire: u32) {
        debug_assert!(
            self.payload as u32 <= wire && wire <= Packet::WIRE_MAX,
            "a packet has at most 65,535 bytes"
        );
        self.wire = wire as u16;
    }

    /// Returns the kind of packet.
    #[inline(always)]
    pub const fn kind(&self) -> Kind {
        self.header.kind()
    }

    /// Returns true for a credit.
    #[inline]
    pub const fn is_credit(&self) -> bool {
        matches!(self.header, Header::Credit { .. })
    }

    /// Returns the number of bytes of the flow that the packet carries.
    #[inline]
    pub const fn payload(&self) -> u32 {
        self.payload as u32
    }

    /// Cuts the packet to `wire` bytes on the wire, or leaves its size if it is smaller, and takes its payload away. The header
    /// still says which bytes it carried from.
    pub fn trim(&mut self, wire: u32) {
        self.payload = 0;
        self.resize(wire.min(self.wire.into()));
        self.flags.set(Flags::TRIMMED);
    }

    /// Returns true if the packet goes to the receiving end of its flow, false if it goes to the sending end.
    #[inline]
    pub const fn is_for_receiver(&self) -> bool {
        self.kind().is_for_receiver() && !self.flags.has(Flags::RETURNED)
    }

    /// Returns the bytes of the flow that a data packet carries, as offsets; an empty range at 0 for other packets.
    #[inline]
    pub fn range(&self) -> std::ops::Range<u64> {
        let start = self.header.offset().unwrap_or(0);
        start..start + self.payload as u64
    }
}

/// A range of bytes that arrived out of order: `start..end` (RFC 2018).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct SackBlock {
    /// The offset of the first byte.
    pub start: u64,
    /// The offset after the last byte; equal to `start` in an unused block.
    pub end: u64,
}

/// The largest number of ports that can write into one packet.
pub const HOPS_MAX: usize = 8;

/// An entry of in-band telemetry (HPCC): the state of a port at the moment when a packet leaves it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Hop {
    /// The time at which the packet started on the link.
    pub left: Time,
    /// The bytes on the wire that the port has sent so far, this packet included.
    pub sent: u64,
    /// The bytes on the wire that wait behind the packet.
    pub queued: u64,
    /// The rate of the link.
    pub rate: Rate,
}

/// A list of [`Hop`]s in the order of the packet's way. The count stands first, so that the first cache line tells where
/// the next entry goes.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub struct Hops {
    count: u8,
    hops: [Hop; HOPS_MAX],
}

impl Hops {
    /// Adds the entry of a port. Returns false, and adds nothing, if the list is full.
    #[inline]
    pub fn push(&mut self, hop: Hop) -> bool {
        let Some(place) = self.hops.get_mut(self.count as usize) else { return false };
        *place = hop;
        self.count += 1;
        true
    }

    /// Returns the entries.
    #[inline]
    pub fn as_slice(&self) -> &[Hop] {
        &self.hops[..self.count as usize]
    }
}

/// Fields that only few packets have, kept beside the packet so that the others stay small. Valid only if the packet is
/// flagged [`Flags::EXTRA`]. They are large, so [`Extra::take_over`] copies only what is in use.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)] // A box would allocate for each packet.
pub enum Extra {
    /// The packet has no such fields.
    #[default]
    None,
    /// Up to three selective acknowledgements, the most recent first.
    Sack([SackBlock; 3]),
    /// The telemetry that the ports on the way wrote.
    Hops(Hops),
}

impl Extra {
    /// Takes over what the other holds. A list of hops stays a list, if need be without entries, so that the next one
    /// that is written here needs no room to be made.
    #[inline]
    pub fn take_over(&mut self, other: &Extra) {
        match (self, other) {
            (Extra::Hops(hops), Extra::None) => hops.count = 0,
            (Extra::Hops(hops), Extra::Hops(others)) => {
                let used = others.as_slice();
                hops.hops[..used.len()].copy_from_slice(used);
                hops.count = others.count;
            }
            (extra, other) => *extra = *other,
        }
    }

    /// Returns the selective acknowledgements, used and unused ones.
    #[inline]
    pub fn sack(&self) -> &[SackBlock] {
        match self {
            Extra::Sack(blocks) => blocks,
            _ => &[],
        }
    }

    /// Returns the telemetry that the ports on the way wrote.
    #[inline]
    pub fn hops(&self) -> &[Hop] {
        match self {
            Extra::Hops(hops) => hops.as_slice(),
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_is_trimmed_keeps_its_header_and_never_grows() {
        let mut packet = Packet::data(Header::data(7_300), 1460, 1538, Time::from_ps(5));
        packet.trim(84);
        assert_eq!((packet.wire, packet.payload(), packet.range()), (84, 0, 7_300..7_300));
        assert!(packet.flags.has(Flags::TRIMMED) && packet.sent == Time::from_ps(5));
        packet.trim(200);
        assert_eq!(packet.wire, 84);
    }

    #[test]
    fn a_packet_that_is_returned_goes_to_the_end_from_which_it_came() {
        let data = Packet::data(Header::data(0), 1460, 1538, Time::ZERO);
        assert!(data.is_for_receiver());
        assert!(!data.with_flags(Flags::RETURNED).is_for_receiver());
        let ack = Packet::control(Header::Cnp, 84, Time::ZERO);
        assert!(!ack.is_for_receiver() && !ack.with_flags(Flags::RETURNED).is_for_receiver());
    }

    #[test]
    fn a_tag_and_the_marks_of_a_packet_leave_each_other_alone() {
        let all = Flags(!TAG_BITS);
        let packet = Packet::data(Header::data(0), 1460, 1538, Time::ZERO);
        assert_eq!(
            packet.tag(),
            Tag::default(),
            "the network draws the entropy of a packet whose end set none"
        );
        for (lane, entropy) in [(0, Some(0)), (7, None), (7, Some(u16::MAX)), (3, Some(1)), (0, None)] {
            let tag = Tag { lane, entropy };
            let tagged = packet.with_flags(all).with_tag(tag);
            assert_eq!((tagged.tag(), tagged.lane(), tagged.flags.bits()), (tag, lane, all.bits()));
            assert_eq!((tagged.payload(), tagged.wire), (1460, 1538));
            let mut marked = packet.with_tag(tag).with_flags(Flags::ECN_CAPABLE);
            marked.flags.set(Flags::ECN_CE);
            marked.flags.clear(Flags::ECN_CAPABLE);
            assert_eq!((marked.tag(), marked.flags.bits()), (tag, Flags::ECN_CE.bits()));
        }
    }

    #[test]
    fn a_list_of_hops_takes_over_the_entries_of_another_and_no_more() {
        let hops = |count| {
            let mut hops = Hops::default();
            (1..=count).for_each(|queued| assert!(hops.push(Hop { queued, ..Hop::default() })));
            Extra::Hops(hops)
        };
        let mut extra = hops(8);
        if let Extra::Hops(hops) = &mut extra {
            assert!(!hops.push(Hop::default()), "the list is full");
        }
        for other in
            [hops(3), hops(5), Extra::None, hops(2), Extra::Sack([SackBlock { start: 1, end: 2 }; 3])]
        {
            extra.take_over(&other);
            assert_eq!((extra.hops(), extra.sack()), (other.hops(), other.sack()));
        }
    }
}
