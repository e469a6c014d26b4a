//! TCP segments over IPv4: the fields that a datapath reads.

use super::FlowKey;
use std::net::Ipv4Addr;
use thiserror::Error;

/// The ECN codepoint of an IPv4 header (RFC 3168).
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
    /// Returns the codepoint in the lowest two bits of the second byte of an IPv4 header.
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

/// The codepoint of scheduled data, which says that the identification of the IPv4 header is the number of a credit. It
/// is of the pool for experiments and local use (RFC 2474, sec. 6: `xxxx11`).
pub const SCHEDULED: Dscp = Dscp(0b000011);

/// The bits of the third 16-bit word of an IPv4 header: flags and fragment offset.
pub(super) const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

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

/// The fields of a TCP segment over IPv4. The payload itself is not looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The flow in whose direction the segment travels.
    pub flow: FlowKey,
    /// The bytes of payload.
    pub payload: u16,
    /// The length of the whole IPv4 packet in bytes.
    pub ip_len: u16,
    /// The identification field of the IPv4 header.
    pub id: u16,
    /// True if the sender set DF (Don't Fragment): the identification is then free for other uses, since no segment is
    /// a fragment (RFC 6864, sec. 4.1).
    pub dont_fragment: bool,
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

/// The reason why bytes are no TCP segment over IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SegmentError {
    /// The bytes end before the headers do.
    #[error("the packet is cut off within its headers")]
    Truncated,
    /// The packet is not of IPv4.
    #[error("the packet is not of IPv4")]
    NotIpv4,
    /// The packet is not of TCP.
    #[error("the packet is not of TCP")]
    NotTcp,
    /// The packet is a fragment, be it the first, so that no length of the whole segment is known.
    #[error("the packet is a fragment")]
    Fragment,
    /// A length in the headers contradicts another.
    #[error("the lengths in the headers contradict each other")]
    Inconsistent,
}

impl Segment {
    /// Reads the headers of an IPv4 packet, of which `packet` has at least these. Payload may be missing at its end, and
    /// padding of Ethernet may follow: all lengths are those of the headers.
    pub fn parse(packet: &[u8]) -> Result<Segment, SegmentError> {
        let ip = packet.get(..20).ok_or(SegmentError::Truncated)?;
        let short = |at: usize| u16::from_be_bytes([ip[at], ip[at + 1]]);
        if ip[0] >> 4 != 4 {
            return Err(SegmentError::NotIpv4);
        }
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
        let tcp = packet.get(header..header + 20).ok_or(SegmentError::Truncated)?;
        let word = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
        let headers = header + usize::from(tcp[12] >> 4) * 4;
        let ip_len = short(2);
        if tcp[12] >> 4 < 5 {
            return Err(SegmentError::Inconsistent);
        }
        let payload = usize::from(ip_len).checked_sub(headers).ok_or(SegmentError::Inconsistent)?;
        Ok(Segment {
            flow: FlowKey {
                source: Ipv4Addr::new(ip[12], ip[13], ip[14], ip[15]),
                destination: Ipv4Addr::new(ip[16], ip[17], ip[18], ip[19]),
                source_port: u16::from_be_bytes([tcp[0], tcp[1]]),
                destination_port: u16::from_be_bytes([tcp[2], tcp[3]]),
            },
            payload: payload as u16,
            ip_len,
            id: short(4),
            dont_fragment: short(6) & DONT_FRAGMENT != 0,
            dscp: Dscp(ip[1] >> 2),
            ecn: Ecn::of(ip[1]),
            flags: TcpFlags(tcp[13]),
            ecn_echo: TcpFlags(tcp[13]).ecn_echo(),
            seq: word(4),
            ack: word(8),
            window: u16::from_be_bytes([tcp[14], tcp[15]]),
            timestamps: Timestamps::find(
                packet.get(header + 20..headers.min(packet.len())).unwrap_or_default(),
            ),
        })
    }

    /// Returns true if the segment carries the number of a credit ([`SCHEDULED`]) in its identification.
    pub fn is_scheduled(&self) -> bool {
        self.dscp == SCHEDULED && self.dont_fragment
    }

    /// Returns true if the segment only acknowledges: it carries no payload, opens nothing and ends nothing.
    pub fn is_pure_ack(&self) -> bool {
        self.payload == 0 && self.flags.ack() && !self.flags.syn() && !self.flags.fin() && !self.flags.rst()
    }
}

#[cfg(test)]
mod tests;
