//! Ethernet and IPv4: the headers below all others, pause frames, and checksums.

/// The EtherType of IPv4.
pub const IPV4: u16 = 0x0800;
/// The EtherType of our own header: the first of IEEE 802's two for local experiments.
pub const OWN: u16 = 0x88b5;
/// The EtherType of MAC control.
const CONTROL: u16 = 0x8808;
/// The opcode of priority flow control in MAC control (IEEE 802.1Qbb).
const PFC: u16 = 0x0101;
/// The address to which frames of MAC control go; no switch forwards it.
const CONTROL_ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
/// The length of the Ethernet header in bytes.
pub const ETHERNET_LEN: usize = 14;
/// The length of the IPv4 header in bytes.
pub const IPV4_LEN: usize = 20;
/// The smallest frame in bytes, without its frame check sequence.
pub const FRAME_MIN: usize = 60;

/// Returns the MAC address of a host: locally administered, with the host's number from 1.
pub fn host_mac(host: u32) -> [u8; 6] {
    let [a, b, c, d] = (host + 1).to_be_bytes();
    [0x02, 0x00, a, b, c, d]
}

/// Returns the MAC address of a node as the sender of pause frames.
fn node_mac(node: u32) -> [u8; 6] {
    let [a, b, c, d] = (node + 1).to_be_bytes();
    [0x02, 0x01, a, b, c, d]
}

/// Returns the IPv4 address of a host: 10.0.0.1 for the first one.
pub fn host_ip(host: u32) -> [u8; 4] {
    (0x0a00_0000 | ((host + 1) & 0x00ff_ffff)).to_be_bytes()
}

/// Writes an Ethernet header.
pub fn header(out: &mut Vec<u8>, src: u32, dst: u32, ether_type: u16) {
    out.extend(host_mac(dst));
    out.extend(host_mac(src));
    out.extend(ether_type.to_be_bytes());
}

/// The fields of an IPv4 header that differ between packets.
pub struct Ipv4 {
    /// The host that sends.
    pub src: u32,
    /// The host that receives.
    pub dst: u32,
    /// The protocol inside.
    pub protocol: u8,
    /// The two bits of ECN (RFC 3168).
    pub ecn: u8,
    /// The identification.
    pub id: u16,
    /// The time to live.
    pub ttl: u8,
    /// The length of what follows the header, in bytes.
    pub length: usize,
}

impl Ipv4 {
    /// Writes the header with its checksum.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let total = (IPV4_LEN + self.length).min(u16::MAX as usize) as u16;
        out.extend([0x45, self.ecn]);
        out.extend(total.to_be_bytes());
        out.extend(self.id.to_be_bytes());
        // Don't fragment.
        out.extend([0x40, 0x00, self.ttl, self.protocol, 0, 0]);
        out.extend(host_ip(self.src));
        out.extend(host_ip(self.dst));
        let sum = fold(sum_words(&out[start..], 0));
        out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
    }

    /// Returns the sum over the pseudo header of TCP and UDP.
    pub fn pseudo_sum(&self) -> u32 {
        let addresses = [host_ip(self.src), host_ip(self.dst)].concat();
        sum_words(&addresses, u32::from(self.protocol) + self.length as u32)
    }
}

/// Adds bytes, as big-endian words of 16 bits, to the sum of an Internet checksum (RFC 1071).
pub fn sum_words(bytes: &[u8], sum: u32) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    bytes.chunks(2).map(word).fold(sum, |sum, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    })
}

/// Returns the Internet checksum of a sum.
pub fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    !(((sum & 0xffff) + (sum >> 16)) as u16)
}

/// Returns a frame of priority flow control of a node: it stops classes for as long as possible, and lets others go on.
/// The frame has room for the first 8 classes.
pub fn pause(node: u32, stop: u64, go: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(FRAME_MIN);
    out.extend(CONTROL_ADDRESS);
    out.extend(node_mac(node));
    out.extend(CONTROL.to_be_bytes());
    out.extend(PFC.to_be_bytes());
    out.extend((((stop | go) & 0xff) as u16).to_be_bytes());
    for class in 0..8 {
        let quanta: u16 = if stop >> class & 1 == 1 { u16::MAX } else { 0 };
        out.extend(quanta.to_be_bytes());
    }
    out.resize(FRAME_MIN, 0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_header_with_its_checksum_is_zero() {
        let mut out = Vec::new();
        let ip = Ipv4 { src: 0, dst: 299, protocol: 6, ecn: 3, id: 0xbeef, ttl: 60, length: 1480 };
        ip.write(&mut out);
        assert_eq!(fold(sum_words(&out, 0)), 0);
        assert_eq!(out[12..16], [10, 0, 0, 1]);
        assert_eq!(out[16..20], [10, 0, 1, 44]);
        assert_eq!(out[2..4], 1500u16.to_be_bytes());
    }

    #[test]
    fn the_checksum_is_that_of_the_example_of_rfc_1071() {
        assert_eq!(sum_words(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7], 0), 0xddf2);
    }

    #[test]
    fn a_pause_frame_names_the_classes_that_it_stops_and_those_that_go_on() {
        let frame = pause(7, 0b01, 0b10);
        assert_eq!(frame.len(), 60);
        assert_eq!(frame[12..18], [0x88, 0x08, 0x01, 0x01, 0x00, 0b11]);
        assert_eq!(frame[18..22], [0xff, 0xff, 0, 0]);
    }
}
