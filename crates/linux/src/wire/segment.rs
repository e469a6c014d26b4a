//! TCP segments over IPv4 and IPv6: the fields that a datapath reads.

use super::FlowKey;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use thiserror::Error;

/// The ECN codepoint of an IP header (RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Ecn {
    /// The packet takes no part in ECN.
    NotCapable = 0,
    /// ECT(1).
    Capable1 = 1,
    /// ECT(0).
    Capable0 = 2,
    /// A switch met congestion (CE).
    Marked = 3,
}

impl Ecn {
    /// Returns the codepoint in the lowest two bits of the traffic class: in IPv4 the second byte of the header.
    pub const fn of(traffic_class: u8) -> Ecn {
        match traffic_class & 3 {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable1,
            2 => Ecn::Capable0,
            _ => Ecn::Marked,
        }
    }
}

/// A differentiated services codepoint, 0 to 63 (RFC 2474).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dscp(pub u8);

/// The codepoint of scheduled data, which says that the identification of the IPv4 header, or the urgent pointer of a segment
/// over IPv6, is the number of a credit. It is of the pool for experiments and local use (RFC 2474, sec. 6: `xxxx11`).
pub const SCHEDULED: Dscp = Dscp(0b000011);

/// The bits of the third 16-bit word of an IPv4 header: flags and fragment offset.
pub(super) const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;
/// The length of the fixed header of IPv6.
pub(super) const IPV6_HEADER: usize = 40;
/// The place of the flags in a TCP header, and the flag that gives the urgent pointer its meaning.
pub(super) const FLAGS_AT: usize = 13;
pub(super) const URG: u8 = 32;

/// The flags of a TCP header that a datapath reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    const FIN: u8 = 1;
    const SYN: u8 = 2;
    const RST: u8 = 4;
    const ACK: u8 = 16;
    const ECE: u8 = 64;

    /// Returns true if the segment opens a connection or answers that.
    pub const fn syn(self) -> bool {
        self.0 & Self::SYN != 0
    }

    /// Returns true if the sender of the segment sends no more data.
    pub const fn fin(self) -> bool {
        self.0 & Self::FIN != 0
    }

    /// Returns true if the connection is torn down.
    pub const fn rst(self) -> bool {
        self.0 & Self::RST != 0
    }

    /// Returns true if the segment echoes a mark (ECE, RFC 3168).
    pub const fn ecn_echo(self) -> bool {
        self.0 & Self::ECE != 0
    }

    /// Returns true if the acknowledgement number is valid.
    pub const fn ack(self) -> bool {
        self.0 & Self::ACK != 0
    }
}

/// The timestamps option of a TCP header (RFC 7323). The units of its values are those of the ends and unknown here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// The time at which the end made the segment (`TSval`).
    pub value: u32,
    /// The latest value that the end has received from the other one (`TSecr`).
    pub echo: u32,
}

impl Timestamps {
    /// Reads the option from all options of a header, if it is among them.
    fn find(mut options: &[u8]) -> Option<Timestamps> {
        loop {
            match *options {
                [8, 10, a, b, c, d, e, f, g, h, ..] => {
                    let (value, echo) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
                    return Some(Timestamps { value, echo });
                }
                [1, ref rest @ ..] => options = rest,
                // The end of the list, an option of the wrong length, or one that is cut off.
                [] | [0, ..] | [8, ..] | [_, 0 | 1, ..] => return None,
                [_, length, ..] => options = options.get(usize::from(length)..)?,
                [_] => return None,
            }
        }
    }
}

/// The fields of a TCP segment. The payload itself is not looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The flow in whose direction the segment travels.
    pub flow: FlowKey,
    /// The bytes of payload.
    pub payload: u16,
    /// The length of the whole IP packet in bytes.
    pub ip_len: u16,
    /// The field that names the credit of scheduled data: the identification of the IPv4 header, or the urgent pointer of
    /// a segment over IPv6.
    pub id: u16,
    /// True if that field is free for other uses. Over IPv4 the sender has set DF (Don't Fragment), so that no segment is a
    /// fragment (RFC 6864, sec. 4.1); over IPv6 the segment has no flag URG (RFC 9293, sec. 3.1).
    pub has_place: bool,
    /// The differentiated services codepoint.
    pub dscp: Dscp,
    /// The ECN codepoint.
    pub ecn: Ecn,
    /// The flags of the TCP header.
    pub flags: TcpFlags,
    /// True if the TCP header echoes a mark (ECE, RFC 3168).
    pub ecn_echo: bool,
    /// The sequence number of the first byte of payload.
    pub seq: u32,
    /// The acknowledgement number.
    pub ack: u32,
    /// The receive window as the header has it, before scaling.
    pub window: u16,
    /// The timestamps option, if the header has it and all of its bytes were given.
    pub timestamps: Option<Timestamps>,
}

/// The reason why bytes are no TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SegmentError {
    /// The bytes end before the headers do.
    #[error("the packet is cut off within its headers")]
    Truncated,
    /// The packet is of neither IPv4 nor IPv6.
    #[error("the packet is of neither IPv4 nor IPv6")]
    NotIp,
    /// The packet is not of TCP, or has extension headers of IPv6 before that.
    #[error("the packet is not of TCP, or has extension headers before it")]
    NotTcp,
    /// The packet is a fragment, be it the first, so that no length of the whole segment is known.
    #[error("the packet is a fragment")]
    Fragment,
    /// A length in the headers contradicts another.
    #[error("the lengths in the headers contradict each other")]
    Inconsistent,
}

/// The fields of an IP header.
struct IpHeader {
    source: IpAddr,
    destination: IpAddr,
    /// The length of the header, and of the whole packet.
    header: usize,
    len: u16,
    traffic_class: u8,
    /// The identification, if it is free for other uses.
    id: u16,
    has_place: bool,
}

impl IpHeader {
    fn v4(packet: &[u8]) -> Result<IpHeader, SegmentError> {
        let ip: &[u8; 20] = packet.first_chunk().ok_or(SegmentError::Truncated)?;
        let short = |at: usize| u16::from_be_bytes([ip[at], ip[at + 1]]);
        let header = usize::from(ip[0] & 15) * 4;
        if ip[9] != 6 {
            return Err(SegmentError::NotTcp);
        }
        if short(6) & (MORE_FRAGMENTS | FRAGMENT_OFFSET) != 0 {
            return Err(SegmentError::Fragment);
        }
        if header < 20 {
            return Err(SegmentError::Inconsistent);
        }
        Ok(IpHeader {
            source: Ipv4Addr::new(ip[12], ip[13], ip[14], ip[15]).into(),
            destination: Ipv4Addr::new(ip[16], ip[17], ip[18], ip[19]).into(),
            header,
            len: short(2),
            traffic_class: ip[1],
            id: short(4),
            has_place: short(6) & DONT_FRAGMENT != 0,
        })
    }

    fn v6(packet: &[u8]) -> Result<IpHeader, SegmentError> {
        let ip: &[u8; IPV6_HEADER] = packet.first_chunk().ok_or(SegmentError::Truncated)?;
        if ip[6] != 6 {
            return Err(SegmentError::NotTcp);
        }
        let address = |at: usize| -> IpAddr {
            let bytes: &[u8; 16] = ip[at..].first_chunk().expect("the header has its whole length");
            Ipv6Addr::from(*bytes).into()
        };
        let len = u16::from_be_bytes([ip[4], ip[5]]).checked_add(IPV6_HEADER as u16);
        Ok(IpHeader {
            source: address(8),
            destination: address(24),
            header: IPV6_HEADER,
            len: len.ok_or(SegmentError::Inconsistent)?,
            traffic_class: ip[0] << 4 | ip[1] >> 4,
            id: 0,
            has_place: false,
        })
    }
}

impl Segment {
    /// Reads the headers of an IP packet, of which `packet` has at least these. Payload may be missing at its end, and
    /// padding of Ethernet may follow: all lengths are those of the headers. Over IPv6 the TCP header must follow at once on
    /// the fixed header.
    pub fn parse(packet: &[u8]) -> Result<Segment, SegmentError> {
        let ip = match packet.first().ok_or(SegmentError::Truncated)? >> 4 {
            4 => IpHeader::v4(packet)?,
            6 => IpHeader::v6(packet)?,
            _ => return Err(SegmentError::NotIp),
        };
        let tcp = packet.get(ip.header..ip.header + 20).ok_or(SegmentError::Truncated)?;
        let short = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
        let word = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
        let headers = ip.header + usize::from(tcp[12] >> 4) * 4;
        if tcp[12] >> 4 < 5 {
            return Err(SegmentError::Inconsistent);
        }
        let payload = usize::from(ip.len).checked_sub(headers).ok_or(SegmentError::Inconsistent)?;
        let (id, has_place) = match ip.source {
            IpAddr::V4(_) => (ip.id, ip.has_place),
            IpAddr::V6(_) => (short(18), tcp[FLAGS_AT] & URG == 0),
        };
        Ok(Segment {
            flow: FlowKey {
                source: ip.source,
                destination: ip.destination,
                source_port: short(0),
                destination_port: short(2),
            },
            payload: payload as u16,
            ip_len: ip.len,
            id,
            has_place,
            dscp: Dscp(ip.traffic_class >> 2),
            ecn: Ecn::of(ip.traffic_class),
            flags: TcpFlags(tcp[FLAGS_AT]),
            ecn_echo: TcpFlags(tcp[FLAGS_AT]).ecn_echo(),
            seq: word(4),
            ack: word(8),
            window: short(14),
            timestamps: Timestamps::find(
                packet.get(ip.header + 20..headers.min(packet.len())).unwrap_or_default(),
            ),
        })
    }

    /// Returns true if the segment carries the number of a credit ([`SCHEDULED`]).
    pub fn is_scheduled(&self) -> bool {
        self.dscp == SCHEDULED && self.has_place
    }

    /// Returns true if the segment only acknowledges: it carries no payload, opens nothing and ends nothing.
    pub fn is_pure_ack(&self) -> bool {
        self.payload == 0 && self.flags.ack() && !self.flags.syn() && !self.flags.fin() && !self.flags.rst()
    }
}

#[cfg(test)]
mod tests;
