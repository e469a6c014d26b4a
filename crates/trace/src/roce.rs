//! RoCEv2: InfiniBand's transport headers over UDP.

use super::ethernet::ETHERNET_LEN;
use clearway_proto::{Flags, Header, Packet};

/// The protocol number of UDP in IPv4.
pub const PROTOCOL: u8 = 17;
/// The UDP port of RoCEv2.
const PORT: u16 = 4791;
/// The length of the headers of UDP and of the base transport header (BTH), in bytes.
pub const HEADERS_LEN: usize = 8 + 12;
/// The length of the acknowledgement's extended header (AETH), in bytes.
const AETH_LEN: usize = 4;
/// The length of what follows the BTH of a congestion notification packet, in bytes: nothing but zeros.
const CNP_LEN: usize = 16;
/// The length of the invariant CRC, in bytes.
pub const ICRC_LEN: usize = 4;

/// The opcodes of a reliable connection's writes: first, middle, last, only. Data is a write and no send, since
/// Wireshark looks for RPC in sends, and takes one without payload for a malformed one.
const WRITE: [u8; 4] = [0x06, 0x07, 0x08, 0x0a];
/// The length of the header of a write's first packet (RETH), in bytes.
const RETH_LEN: usize = 16;
/// The opcode of an acknowledgement of a reliable connection.
const ACKNOWLEDGE: u8 = 0x11;
/// The opcode of a congestion notification packet.
const CNP: u8 = 0x81;
/// The syndrome of an acknowledgement that tells no credits.
const SYNDROME_ACK: u8 = 0x1f;
/// The syndrome of a negative acknowledgement: a packet is missing.
const SYNDROME_NAK: u8 = 0x60;
/// The default partition.
const PARTITION: u16 = 0xffff;
/// The bit that tells a queue pair of a receiver from one of a sender.
const RECEIVER: u32 = 0x80_0000;

/// Returns the length of the headers that follow the BTH, in bytes.
pub fn extended_len(packet: &Packet) -> usize {
    match packet.header {
        Header::RdmaAck { .. } | Header::RdmaNack { .. } => AETH_LEN,
        Header::Cnp => CNP_LEN,
        _ if packet.header.offset() == Some(0) => RETH_LEN,
        _ => 0,
    }
}

/// Returns the number of bytes that pad a payload to whole words of four, as InfiniBand's headers count.
pub fn padding(packet: &Packet) -> usize {
    packet.payload().wrapping_neg() as usize % 4
}

/// Writes the headers of UDP, BTH and what follows it. `length` counts the bytes from UDP's header on. A packet's
/// sequence number is the number of the full packets before it.
pub fn headers(
    out: &mut Vec<u8>,
    packet: &Packet,
    flow: u32,
    source_port: u16,
    payload_max: u32,
    length: usize,
) {
    out.extend(source_port.to_be_bytes());
    out.extend(PORT.to_be_bytes());
    out.extend((length.min(u16::MAX as usize) as u16).to_be_bytes());
    // A checksum of zero is none.
    out.extend([0, 0]);
    let psn = |offset: u64| (offset / u64::from(payload_max.max(1))) as u32 & 0xff_ffff;
    let is_last = packet.flags.has(Flags::LAST);
    let (opcode, sequence, syndrome) = match packet.header {
        Header::RdmaAck { ack, .. } => (ACKNOWLEDGE, psn(ack.saturating_sub(1)), Some(SYNDROME_ACK)),
        Header::RdmaNack { ack, .. } => (ACKNOWLEDGE, psn(ack), Some(SYNDROME_NAK)),
        Header::Cnp => (CNP, 0, None),
        _ => {
            let offset = packet.header.offset().unwrap_or(0);
            let place = match (offset == 0, is_last) {
                (true, false) => 0,
                (false, false) => 1,
                (false, true) => 2,
                (true, true) => 3,
            };
            (WRITE[place], psn(offset), None)
        }
    };
    let pair = flow & (RECEIVER - 1) | if packet.kind().is_for_receiver() { RECEIVER } else { 0 };
    out.extend([opcode, (padding(packet) as u8) << 4]);
    out.extend(PARTITION.to_be_bytes());
    // Of the first byte the second bit is BECN.
    let becn = if opcode == CNP { 0x40 } else { 0 };
    out.extend((becn << 24 | pair).to_be_bytes());
    let wants_ack = if syndrome.is_none() && opcode != CNP { 0x8000_0000 } else { 0 };
    out.extend((wants_ack | sequence).to_be_bytes());
    if let Some(syndrome) = syndrome {
        out.extend([syndrome, 0, 0, 0]);
    } else if opcode == CNP {
        out.extend([0; CNP_LEN]);
    } else if packet.header.offset() == Some(0) {
        // The address is that of the flow's first byte, and the length that of this packet, which knows no other.
        out.extend([0; RETH_LEN - 4]);
        out.extend(packet.payload().to_be_bytes());
    }
}

/// Returns the invariant CRC of a frame that ends before it (InfiniBand's annex A17): what switches may change counts as
/// ones.
pub fn icrc(frame: &[u8]) -> [u8; ICRC_LEN] {
    let mut covered = vec![0xff; 8];
    covered.extend(&frame[ETHERNET_LEN..]);
    let ip = 8;
    let (udp, bth) = (ip + 20, ip + 28);
    for at in [ip + 1, ip + 8, ip + 10, ip + 11, udp + 6, udp + 7, bth + 4] {
        covered[at] = 0xff;
    }
    crc32(&covered).to_le_bytes()
}

/// Returns the CRC of Ethernet.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_units::Time;

    fn bth(packet: &Packet) -> Vec<u8> {
        let mut out = Vec::new();
        headers(&mut out, packet, 3, 50_000, 1000, 100);
        out.split_off(8)
    }

    #[test]
    fn the_crc_is_that_of_ethernet() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn opcodes_tell_the_place_of_a_packet_in_its_message() {
        let opcode = |offset, flags| {
            let packet = Packet::data(Header::data(offset), 1000, 1100, Time::ZERO);
            let out = bth(&packet.with_flags(flags));
            (out[0], u32::from_be_bytes([0, out[9], out[10], out[11]]))
        };
        assert_eq!(opcode(0, Flags::NONE), (6, 0));
        assert_eq!(opcode(5000, Flags::NONE), (7, 5));
        assert_eq!(opcode(9000, Flags::LAST), (8, 9));
        assert_eq!(opcode(0, Flags::LAST), (10, 0));
    }

    #[test]
    fn a_notification_has_its_opcode_and_its_mark() {
        let out = bth(&Packet::control(Header::Cnp, 84, Time::ZERO));
        assert_eq!((out[0], out[4] & 0x40, out.len()), (0x81, 0x40, 28));
    }
}
