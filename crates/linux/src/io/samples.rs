//! Frames for tests of programs in the kernel: TCP segments with true checksums, and what is wrong with a frame.

use crate::wire::{Control, FlowKey, MacAddr};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The length of the Ethernet header.
pub const ETHERNET: usize = 14;
/// The Ethernet address of this host, which is that of the loopback here, and of the other one.
pub const US: MacAddr = MacAddr([0; 6]);
pub const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);
pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;
pub const URG: u8 = 32;
/// Two empty options and timestamps, as Linux writes them.
const TIMESTAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9];

/// A flow over IPv4, or over IPv6.
pub fn key(is_six: bool) -> FlowKey {
    let address = |last: u8| -> IpAddr {
        if is_six {
            Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 7, last.into()).into()
        } else {
            Ipv4Addr::new(10, 0, 0, last).into()
        }
    };
    FlowKey { source: address(1), destination: address(2), source_port: 1000, destination_port: 80 }
}

/// A TCP segment.
#[derive(Clone, Debug)]
pub struct Packet {
    pub flow: FlowKey,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub options: Vec<u8>,
    pub payload: usize,
    pub class: u8,
    /// The flags and the offset of a fragment, of IPv4.
    pub fragment: u16,
    pub urgent: u16,
}

impl Packet {
    /// A data segment of a flow.
    pub fn data(flow: FlowKey, seq: u32, payload: usize) -> Packet {
        let (flags, options, fragment) = (ACK, TIMESTAMPS.to_vec(), 0x4000);
        Packet { flow, seq, ack: 7, flags, window: 500, options, payload, class: 0, fragment, urgent: 0 }
    }

    /// A full data segment of a flow.
    pub fn full(flow: FlowKey, seq: u32) -> Packet {
        Packet::data(flow, seq, if flow.is_ipv6() { 1428 } else { 1448 })
    }

    /// A pure acknowledgement of the other host for data of a flow.
    pub fn answer(flow: FlowKey, ack: u32, window: u16) -> Packet {
        let FlowKey { source, destination, source_port, destination_port } = flow;
        let (source, destination, source_port, destination_port) =
            (destination, source, destination_port, source_port);
        let flow = FlowKey { source, destination, source_port, destination_port };
        Packet { ack, window, ..Packet::data(flow, 7, 0) }
    }

    /// The frame, with true lengths and checksums.
    pub fn frame(&self) -> Vec<u8> {
        let tcp_len = 20 + self.options.len() + self.payload;
        let mut tcp = Vec::with_capacity(tcp_len);
        tcp.extend(self.flow.source_port.to_be_bytes());
        tcp.extend(self.flow.destination_port.to_be_bytes());
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([((20 + self.options.len()) * 4) as u8, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0, 0]);
        tcp.extend(self.urgent.to_be_bytes());
        tcp.extend(&self.options);
        tcp.extend((0..self.payload).map(|at| (at * 7) as u8));
        let mut frame = [US.0, PEER.0].concat();
        match (self.flow.source, self.flow.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                frame.extend([8, 0, 0x45, self.class]);
                frame.extend(((20 + tcp_len) as u16).to_be_bytes());
                frame.extend([0x12, 0x34]);
                frame.extend(self.fragment.to_be_bytes());
                frame.extend([64, 6, 0, 0]);
                frame.extend(source.octets());
                frame.extend(destination.octets());
                let sum = !sum(&frame[ETHERNET..]);
                frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                frame.extend([0x86, 0xdd, 6 << 4 | self.class >> 4, self.class << 4, 1, 2]);
                frame.extend((tcp_len as u16).to_be_bytes());
                frame.extend([6, 64]);
                frame.extend(source.octets());
                frame.extend(destination.octets());
            }
            _ => panic!("a flow has addresses of one version"),
        }
        let at = frame.len();
        frame.extend(tcp);
        let sum = !covered(&frame, at);
        frame[at + 16..at + 18].copy_from_slice(&sum.to_be_bytes());
        frame
    }
}

/// The frame of a control frame from the other host.
pub fn control(control: &Control) -> Vec<u8> {
    control.to_frame(PEER, US).to_vec()
}

/// The sum of bytes as 16-bit words in the arithmetic of one's complement.
fn sum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let sum = bytes.chunks(2).map(word).sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum + (sum >> 16)) as u16
}

/// The sum of all that the checksum of a TCP header at `tcp` covers.
fn covered(frame: &[u8], tcp: usize) -> u16 {
    let end = ETHERNET + length(frame);
    let addresses =
        if frame[ETHERNET] >> 4 == 4 { ETHERNET + 12..ETHERNET + 20 } else { ETHERNET + 8..ETHERNET + 40 };
    let mut all = frame[addresses].to_vec();
    all.extend([0, 6]);
    all.extend(((end - tcp) as u16).to_be_bytes());
    all.extend(&frame[tcp..end]);
    sum(&all)
}

/// The length of the IP packet in a frame by its header.
fn length(frame: &[u8]) -> usize {
    let word = |at: usize| usize::from(u16::from_be_bytes([frame[ETHERNET + at], frame[ETHERNET + at + 1]]));
    if frame[ETHERNET] >> 4 == 4 { word(2) } else { word(4) + 40 }
}

/// Says what is wrong with a frame of TCP, if anything is: a length, or a checksum.
pub fn fault(frame: &[u8]) -> Option<&'static str> {
    let ip = frame.get(ETHERNET..)?;
    let kind = u16::from_be_bytes([frame[12], frame[13]]);
    let (header, next) = match (kind, ip.first()? >> 4) {
        (0x0800, 4) if ip.len() >= 20 => (usize::from(ip[0] & 15) * 4, ip[9]),
        (0x86dd, 6) if ip.len() >= 40 => (40, ip[6]),
        _ => return Some("the type of the frame is not that of its packet"),
    };
    if next != 6 || header < 20 || ip.len() < header + 20 {
        return Some("no TCP header follows");
    }
    if length(frame) > ip.len() || length(frame) < header + 20 {
        return Some("the length of the packet");
    }
    let offset = usize::from(ip[header + 12] >> 4) * 4;
    if offset < 20 || header + offset > length(frame) {
        return Some("the length of the TCP header");
    }
    if kind == 0x0800 && sum(&ip[..header]) != 0xffff {
        return Some("the checksum of the IP header");
    }
    (covered(frame, ETHERNET + header) != 0xffff).then_some("the checksum of the TCP header")
}

mod tests {
    use super::*;
    use crate::wire::Segment;

    #[test]
    fn a_frame_that_is_made_has_no_fault_and_one_with_a_changed_byte_has() {
        for flow in [key(false), key(true)] {
            let frame = Packet::full(flow, 1).frame();
            assert_eq!(fault(&frame), None);
            assert_eq!(frame.len() + 24, 1538);
            let segment = Segment::parse(&frame[ETHERNET..]).unwrap();
            assert_eq!((segment.flow, segment.seq, segment.window), (flow, 1, 500));
            for at in [ETHERNET + 30, frame.len() - 1] {
                let mut changed = frame.clone();
                changed[at] ^= 1;
                assert!(fault(&changed).is_some(), "byte {at}");
            }
        }
    }
}
