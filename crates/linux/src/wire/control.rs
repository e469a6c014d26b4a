//! Control frames: requests, stops, credits and their answers, straight over Ethernet (`datagram`: over UDP).
//!
//! `docs/reference/wire-format.md` specifies the format, byte by byte.

use super::{DATAGRAM_LEN, FlowKey, MacAddr};
use crate::datapath::{FRAME_LEN, Frame};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use thiserror::Error;

/// The EtherType of control frames: the first of IEEE 802 for local experiments.
pub const ETHERTYPE: u16 = 0x88B5;
/// The version of the format for flows over IPv4. Version 1 is that of the simulator's traces (`docs/how-to/traces.md`).
pub const VERSION: u8 = 2;
/// The version of the format for flows over IPv6.
pub const VERSION_IPV6: u8 = 3;
/// The length of the Ethernet header in bytes.
pub(super) const ETHERNET_LEN: usize = 14;
/// The length of the fields from the version to the MTU.
pub(super) const BODY_LEN: usize = FRAME_LEN - ETHERNET_LEN;
/// The length of a frame of an IPv6 flow that has both addresses whole.
const FRAME_WHOLE: usize = FRAME_LEN + 24;
/// The flag of an accept that asks for ECN-capable data. All other flags are zero, and ignored.
const WANTS_ECN: u8 = 1;

/// The kinds of control frames. The codes are those of version 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// The sender of data asks for credits.
    Request = 4,
    /// The sender of data asks to send no more credits.
    Stop = 5,
    /// The receiver of data accepts a request.
    Accept = 6,
    /// The receiver of data has stopped its credits.
    Stopped = 7,
    /// A credit, which permits to send one packet of data.
    Credit = 9,
    /// A switch tells the sender of data to slow down (PACC).
    Cnp = 10,
}

impl Kind {
    /// Returns true if frames of this kind travel with the data, from its sender to its receiver.
    pub const fn is_for_receiver(self) -> bool {
        matches!(self, Kind::Request | Kind::Stop)
    }

    fn of(code: u8) -> Option<Kind> {
        [Kind::Request, Kind::Stop, Kind::Accept, Kind::Stopped, Kind::Credit, Kind::Cnp]
            .into_iter()
            .find(|kind| *kind as u8 == code)
    }
}

/// The fields of a control frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// The kind of frame.
    pub kind: Kind,
    /// The flow, in the direction of its data. Of a credit over IPv6 the lower 32 bits of each address alone
    /// ([`FlowKey::in_credits`]): such a credit names its flow by the cookie.
    pub flow: FlowKey,
    /// The number of the session: the round of credits that a request opens.
    pub session: u32,
    /// A random number that the sender of data chooses for the flow and writes into its first request. All frames of
    /// both sides repeat it, so that nobody who does not see the flow can forge one.
    pub cookie: u64,
    /// Of a credit: its number. Of a request: the number of packets that wait. Else zero.
    pub number: u64,
    /// Of a request and an accept: the rate of the NIC that sends the frame, in bit/s. Of a credit: the time
    /// at which it left, in nanoseconds of the receiver's own clock. Else zero.
    pub value: u64,
    /// Of a request and an accept: the MTU of the NIC that sends the frame, in bytes. Else zero.
    pub mtu: u16,
    /// Of an accept: true if the receiver's feedback control reads ECN marks (EC4), so that scheduled data shall be
    /// ECN-capable. The receiver decides, since two hosts may run different transports. Else false.
    pub wants_ecn: bool,
}

/// The reason why bytes are no control frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ControlError {
    /// The frame is too short.
    #[error("the frame is cut off")]
    Truncated,
    /// The frame is not of our EtherType.
    #[error("the frame is not of EtherType 0x88B5")]
    OtherType,
    /// The datagram's checksum is wrong.
    #[error("the checksum of the datagram is wrong")]
    Checksum,
    /// The addresses of the datagram are not those of its flow.
    #[error("the addresses of the datagram are not those of the flow")]
    Addresses,
    /// The frame is of another version of the format.
    #[error("the frame is of version {0} of the format, which this program does not know")]
    Version(u8),
    /// The frame is of an unknown kind.
    #[error("the frame is of the unknown kind {0}")]
    Kind(u8),
}

/// Returns the length of a frame that begins with these bytes: those of IPv6 flows that are no credits have both addresses
/// whole, at their end, and those in a datagram have one length.
pub(crate) fn frame_len(head: &[u8; FRAME_LEN]) -> usize {
    if head[12..ETHERNET_LEN] != ETHERTYPE.to_be_bytes() {
        return DATAGRAM_LEN;
    }
    let is_long = head[ETHERNET_LEN] == VERSION_IPV6 && head[ETHERNET_LEN + 1] != Kind::Credit as u8;
    if is_long { FRAME_WHOLE } else { FRAME_LEN }
}

/// Returns the upper 96 bits of an address, which of IPv4 are none, and its lower 32 bits.
fn parts(address: IpAddr) -> ([u8; 12], [u8; 4]) {
    match address {
        IpAddr::V4(address) => ([0; 12], address.octets()),
        IpAddr::V6(address) => {
            let number = u128::from(address);
            let upper = (number >> 32).to_be_bytes();
            (*upper.last_chunk().unwrap_or(&[0; 12]), (number as u32).to_be_bytes())
        }
    }
}

impl Control {
    /// Returns the frame that takes this from one NIC to another.
    pub fn to_frame(&self, from: MacAddr, to: MacAddr) -> Frame {
        let is_long = self.flow.is_ipv6() && self.kind != Kind::Credit;
        let mut frame = Frame::zeroes(if is_long { FRAME_WHOLE } else { FRAME_LEN });
        frame[..6].copy_from_slice(&to.0);
        frame[6..12].copy_from_slice(&from.0);
        frame[12..ETHERNET_LEN].copy_from_slice(&ETHERTYPE.to_be_bytes());
        frame[ETHERNET_LEN..FRAME_LEN].copy_from_slice(&self.body());
        if is_long {
            let (middle, end) = (FRAME_LEN + 12, FRAME_WHOLE);
            frame[FRAME_LEN..middle].copy_from_slice(&parts(self.flow.source).0);
            frame[middle..end].copy_from_slice(&parts(self.flow.destination).0);
        }
        frame
    }

    /// Returns the fields from the version to the MTU.
    pub(super) fn body(&self) -> [u8; BODY_LEN] {
        let mut body = [0; BODY_LEN];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            body[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&[if self.flow.is_ipv6() { VERSION_IPV6 } else { VERSION }, self.kind as u8]);
        put(&[if self.wants_ecn { WANTS_ECN } else { 0 }, 0]);
        put(&self.session.to_be_bytes());
        put(&parts(self.flow.source).1);
        put(&parts(self.flow.destination).1);
        put(&self.flow.source_port.to_be_bytes());
        put(&self.flow.destination_port.to_be_bytes());
        put(&self.cookie.to_be_bytes());
        put(&self.number.to_be_bytes());
        put(&self.value.to_be_bytes());
        put(&self.mtu.to_be_bytes());
        body
    }

    /// Reads the fields from the version to the MTU, where an address of IPv6 has its lower 32 bits alone.
    pub(super) fn of_body(body: &[u8; BODY_LEN]) -> Result<Control, ControlError> {
        let kind = Kind::of(body[1]).ok_or(ControlError::Kind(body[1]))?;
        let short = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
        let word = |at: usize| u32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        let long = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
        let address = |lower: u32| -> Result<IpAddr, ControlError> {
            match body[0] {
                VERSION => Ok(Ipv4Addr::from(lower).into()),
                VERSION_IPV6 => Ok(Ipv6Addr::from(u128::from(lower)).into()),
                version => Err(ControlError::Version(version)),
            }
        };
        Ok(Control {
            kind,
            session: word(4),
            flow: FlowKey {
                source: address(word(8))?,
                destination: address(word(12))?,
                source_port: short(16),
                destination_port: short(18),
            },
            cookie: long(20),
            number: long(28),
            value: long(36),
            mtu: short(44),
            wants_ecn: body[2] & WANTS_ECN != 0,
        })
    }

    /// Reads a frame, which begins with the Ethernet header. Returns the addresses of the NICs from which and to which
    /// it was sent, and the control.
    pub fn parse(frame: &[u8]) -> Result<(MacAddr, MacAddr, Control), ControlError> {
        let head: &[u8; FRAME_LEN] = frame.first_chunk().ok_or(ControlError::Truncated)?;
        if head[12..ETHERNET_LEN] != ETHERTYPE.to_be_bytes() {
            return Err(ControlError::OtherType);
        }
        let body: &[u8; BODY_LEN] = head.last_chunk().expect("the frame has its whole length");
        if ![VERSION, VERSION_IPV6].contains(&body[0]) {
            return Err(ControlError::Version(body[0]));
        }
        let mut control = Control::of_body(body)?;
        let rest = frame.get(FRAME_LEN..frame_len(head)).ok_or(ControlError::Truncated)?;
        if let Some((source, destination)) = rest.split_at_checked(12)
            && !rest.is_empty()
        {
            control.flow.source = with_upper(control.flow.source, source);
            control.flow.destination = with_upper(control.flow.destination, destination);
        }
        let (to, from) = addresses(head);
        Ok((from, to, control))
    }
}

/// Returns the address of IPv6 whose lower 32 bits are those of `lower`, and whose upper 96 bits are `upper`.
fn with_upper(lower: IpAddr, upper: &[u8]) -> IpAddr {
    let upper = upper.iter().fold(0u128, |upper, byte| upper << 8 | u128::from(*byte));
    match lower {
        IpAddr::V4(_) => lower,
        IpAddr::V6(lower) => Ipv6Addr::from(upper << 32 | u128::from(lower)).into(),
    }
}

/// Returns the addresses to which and from which a frame was sent.
pub(super) fn addresses(head: &[u8; FRAME_LEN]) -> (MacAddr, MacAddr) {
    let mac = |at: usize| MacAddr(*head[at..].first_chunk().expect("the frame has its whole length"));
    (mac(0), mac(6))
}

#[cfg(test)]
pub(super) mod tests;
