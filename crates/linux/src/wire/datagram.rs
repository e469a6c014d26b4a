//! Control frames in UDP datagrams over IPv4 and IPv6: the same fields, behind headers that routers forward.

use super::checksum::{fold, pseudo, sum};
use super::control::{BODY_LEN, ETHERNET_LEN, addresses};
use super::segment::IPV6_HEADER;
use super::{
    Carrier, Control, ControlError, DATAGRAM_LEN, Dscp, FlowKey, Kind, MacAddr, VERSION, VERSION_IPV6,
};
use crate::datapath::{FRAME_LEN, Frame};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;

/// The codepoint of credits in datagrams, and of all other control frames. Both are of the pool for experiments and local
/// use (RFC 2474, sec. 6: `xxxx11`).
pub const CREDIT_DSCP: Dscp = Dscp(0b000111);
/// The codepoint of requests, stops and the answers to both in datagrams.
pub const SIGNAL_DSCP: Dscp = Dscp(0b001011);
const IPV4_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const UDP: u8 = 17;
/// The hops that a datagram may take.
const HOPS: u8 = 64;
const IPV4: [u8; 2] = [8, 0];
const IPV6: [u8; 2] = [0x86, 0xdd];

impl Control {
    /// Returns the frame that takes this from one NIC to another, or to the next node on the way.
    pub fn encode(&self, carrier: Carrier, from: MacAddr, to: MacAddr) -> Frame {
        match carrier {
            Carrier::Ethernet => self.to_frame(from, to),
            Carrier::Udp(port) => self.to_datagram(from, to, port),
        }
    }

    /// Returns the frame that takes this in a UDP datagram from one NIC to the next node on the way, between the ports
    /// `port` of both hosts.
    pub fn to_datagram(&self, from: MacAddr, to: MacAddr, port: NonZeroU16) -> Frame {
        let mut frame = Frame::zeroes(DATAGRAM_LEN);
        frame[..6].copy_from_slice(&to.0);
        frame[6..12].copy_from_slice(&from.0);
        let dscp = if self.kind == Kind::Credit { CREDIT_DSCP } else { SIGNAL_DSCP };
        // Frames name the flow in the direction of its data, and some travel against it.
        let way = if self.kind.is_for_receiver() { self.flow } else { self.flow.reversed() };
        let header = match (way.source, way.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                frame[12..ETHERNET_LEN].copy_from_slice(&IPV4);
                let ip = &mut frame[ETHERNET_LEN..ETHERNET_LEN + IPV4_HEADER];
                let len = (DATAGRAM_LEN - ETHERNET_LEN) as u16;
                ip[..2].copy_from_slice(&[0x45, dscp.0 << 2]);
                ip[2..4].copy_from_slice(&len.to_be_bytes());
                // DF, since a fragment could not be read.
                ip[6..10].copy_from_slice(&[0x40, 0, HOPS, UDP]);
                ip[12..16].copy_from_slice(&source.octets());
                ip[16..20].copy_from_slice(&destination.octets());
                let checksum = !fold(sum(ip));
                ip[10..12].copy_from_slice(&checksum.to_be_bytes());
                IPV4_HEADER
            }
            (source, destination) => {
                frame[12..ETHERNET_LEN].copy_from_slice(&IPV6);
                let ip = &mut frame[ETHERNET_LEN..ETHERNET_LEN + IPV6_HEADER];
                let class = dscp.0 << 2;
                ip[..2].copy_from_slice(&[0x60 | class >> 4, class << 4]);
                ip[4..6].copy_from_slice(&((DATAGRAM_LEN - ETHERNET_LEN - IPV6_HEADER) as u16).to_be_bytes());
                ip[6..8].copy_from_slice(&[UDP, HOPS]);
                ip[8..24].copy_from_slice(&wide(source).octets());
                ip[24..40].copy_from_slice(&wide(destination).octets());
                IPV6_HEADER
            }
        };
        let udp = &mut frame[ETHERNET_LEN + header..];
        let len = udp.len() as u16;
        udp[..2].copy_from_slice(&port.get().to_be_bytes());
        udp[2..4].copy_from_slice(&port.get().to_be_bytes());
        udp[4..6].copy_from_slice(&len.to_be_bytes());
        udp[UDP_HEADER..UDP_HEADER + BODY_LEN].copy_from_slice(&self.body());
        let checksum = match !fold(pseudo(way.source, way.destination, len, UDP) + sum(udp)) {
            // Zero stands for no checksum.
            0 => u16::MAX,
            checksum => checksum,
        };
        udp[6..8].copy_from_slice(&checksum.to_be_bytes());
        frame
    }

    /// Reads a frame with a UDP datagram to `port`, which begins with the Ethernet header. Returns the addresses of the NICs
    /// from which and to which it was sent on its last hop, and the control with whole addresses.
    pub fn parse_datagram(
        frame: &[u8],
        port: NonZeroU16,
    ) -> Result<(MacAddr, MacAddr, Control), ControlError> {
        let head: &[u8; FRAME_LEN] = frame.first_chunk().ok_or(ControlError::Truncated)?;
        let ip = &frame[ETHERNET_LEN..];
        let (source, destination, version, header): (IpAddr, IpAddr, u8, usize) = match [head[12], head[13]] {
            // Without options, and no fragment.
            IPV4 if ip[0] == 0x45 && ip[9] == UDP && [ip[6] & 0x3f, ip[7]] == [0, 0] => {
                let address = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]).into();
                (address(12), address(16), VERSION, IPV4_HEADER)
            }
            IPV6 if ip[0] >> 4 == 6 && ip[6] == UDP => {
                let address =
                    |at: usize| ip[at..].first_chunk::<16>().map(|bytes| Ipv6Addr::from(*bytes).into());
                let [Some(source), Some(destination)] = [address(8), address(24)] else {
                    return Err(ControlError::Truncated);
                };
                (source, destination, VERSION_IPV6, IPV6_HEADER)
            }
            _ => return Err(ControlError::OtherType),
        };
        let udp = ip.get(header..).ok_or(ControlError::Truncated)?;
        let short = |at: usize| udp.get(at..at + 2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
        if short(2).ok_or(ControlError::Truncated)? != port.get() {
            return Err(ControlError::OtherType);
        }
        let len = short(4).ok_or(ControlError::Truncated)?;
        let udp = udp.get(..usize::from(len)).ok_or(ControlError::Truncated)?;
        let body: &[u8; BODY_LEN] =
            udp.get(UDP_HEADER..).and_then(|body| body.first_chunk()).ok_or(ControlError::Truncated)?;
        if fold(pseudo(source, destination, len, UDP) + sum(udp)) != u16::MAX {
            return Err(ControlError::Checksum);
        }
        if body[0] != version {
            return Err(ControlError::Version(body[0]));
        }
        let control = Control::of_body(body)?;
        let (source_port, destination_port) = (control.flow.source_port, control.flow.destination_port);
        let flow = match control.kind.is_for_receiver() {
            true => FlowKey { source, destination, source_port, destination_port },
            false => FlowKey { source: destination, destination: source, source_port, destination_port },
        };
        if flow.in_credits() != control.flow {
            return Err(ControlError::Addresses);
        }
        let (to, from) = addresses(head);
        Ok((from, to, Control { flow, ..control }))
    }
}

/// Returns an address in the width of IPv6.
fn wide(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

#[cfg(test)]
mod tests;
