//! Checksums over IP.

use std::net::IpAddr;

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
