//! The checksums of TCP and UDP.

use super::segment::IPV6_HEADER;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The number of TCP among the protocols over IP, and the place of the checksum in its header.
const TCP: u8 = 6;
const TCP_CHECKSUM: usize = 16;

/// Returns the sum of the words of 16 bits in some bytes.
pub(super) fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(2);
    words.map(|word| u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0))).sum()
}

/// Returns the sum of the pseudo-header (RFC 768; RFC 9293, sec. 3.1; RFC 8200, sec. 8.1).
pub(super) fn pseudo(source: IpAddr, destination: IpAddr, len: u16, protocol: u8) -> u32 {
    let of = |address: IpAddr| match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    };
    of(source) + of(destination) + u32::from(len) + u32::from(protocol)
}

/// Folds a sum of words into 16 bits with end-around carry.
pub(super) fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Writes the checksum of TCP into a whole IP packet, which the kernel may have left to the NIC. `None` if that is no packet of TCP.
pub(crate) fn complete_tcp(packet: &mut [u8]) -> Option<()> {
    let (source, destination, header): (IpAddr, IpAddr, usize) = match packet.first()? >> 4 {
        4 => {
            let address =
                |at: usize| packet.get(at..)?.first_chunk::<4>().map(|bytes| Ipv4Addr::from(*bytes));
            (address(12)?.into(), address(16)?.into(), usize::from(packet[0] & 15) * 4)
        }
        6 => {
            let address =
                |at: usize| packet.get(at..)?.first_chunk::<16>().map(|bytes| Ipv6Addr::from(*bytes));
            (address(8)?.into(), address(24)?.into(), IPV6_HEADER)
        }
        _ => return None,
    };
    let tcp = packet.get_mut(header..).filter(|tcp| tcp.len() >= TCP_CHECKSUM + 2)?;
    tcp[TCP_CHECKSUM..TCP_CHECKSUM + 2].fill(0);
    let checksum = !fold(pseudo(source, destination, tcp.len() as u16, TCP) + sum(tcp));
    tcp[TCP_CHECKSUM..TCP_CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An acknowledgement over IPv4, without its checksum.
    const V4: [u8; 52] = [
        0x45, 0, 0, 52, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x03, 0xe8, 0, 80, 0, 0,
        0, 1, 0, 0, 0, 7, 0x80, 0x10, 1, 0xf4, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9,
    ];

    fn covered(packet: &[u8], addresses: std::ops::Range<usize>, tcp: usize) -> u16 {
        let mut all = packet[addresses].to_vec();
        all.extend([0, TCP, 0, (packet.len() - tcp) as u8]);
        all.extend(&packet[tcp..]);
        fold(sum(&all))
    }

    #[test]
    fn the_sum_of_a_packet_with_its_checksum_is_full_over_both_versions_of_ip_whatever_stood_there() {
        for stood in [0, 0xff, 0x5a] {
            let mut packet = V4;
            packet[36..38].fill(stood);
            assert_eq!(complete_tcp(&mut packet), Some(()));
            assert_eq!(covered(&packet, 12..20, 20), 0xffff);
            assert_eq!(
                (packet[..36].to_vec(), packet[38..].to_vec()),
                (V4[..36].to_vec(), V4[38..].to_vec())
            );
            let mut six = [[0x60, 0, 0, 0, 0, 32, 6, 64].to_vec(), vec![0xfd; 16], vec![7; 16]].concat();
            six.extend(&V4[20..]);
            six[56..58].fill(stood);
            assert_eq!(complete_tcp(&mut six), Some(()));
            assert_eq!(covered(&six, 8..40, 40), 0xffff);
        }
    }

    #[test]
    fn what_ends_before_its_tcp_header_does_gets_no_checksum() {
        assert_eq!(complete_tcp(&mut []), None);
        for len in 1..38 {
            assert_eq!(complete_tcp(&mut V4.to_vec()[..len]), None, "{len} bytes");
        }
        assert_eq!(complete_tcp(&mut V4.to_vec()[..38]), Some(()));
        let mut other = V4;
        other[0] = 0x75;
        assert_eq!(complete_tcp(&mut other), None);
    }
}
