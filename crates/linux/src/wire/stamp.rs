//! The number of a credit in the data packet that spends it: in the IPv4 header, or in the TCP header over IPv6.

use super::SCHEDULED;
use super::segment::{DONT_FRAGMENT, FLAGS_AT, IPV6_HEADER, URG};
use crate::datapath::Stamp;

/// The length of a TCP header without options.
const TCP_HEADER: usize = 20;

impl Stamp {
    /// Writes the number of the credit, the codepoint of scheduled data and, if asked for, ECT(0) into the headers of `packet`,
    /// and mends the checksum that covers the number. A packet whose field for the number is not free stays as it is, and the
    /// function then returns false: one of IPv4 without DF, a fragment, or one of IPv6 with URG or extension headers.
    pub fn apply(self, packet: &mut [u8]) -> bool {
        match packet.first().map(|byte| byte >> 4) {
            Some(4) => self.apply_v4(packet),
            Some(6) => self.apply_v6(packet),
            _ => false,
        }
    }

    fn apply_v4(self, packet: &mut [u8]) -> bool {
        let Some(header) = packet.first_chunk_mut::<20>() else { return false };
        let word = |header: &[u8; 20], at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        // The first bit of the word of flags is reserved; all others but DF tell of fragments.
        if word(header, 6) & 0x7fff != DONT_FRAGMENT {
            return false;
        }
        let before = [word(header, 0), word(header, 4)];
        header[1] = self.traffic_class(header[1]);
        header[4..6].copy_from_slice(&self.id.to_be_bytes());
        let after = [word(header, 0), word(header, 4)];
        let mut checksum = word(header, 10);
        for (old, new) in before.into_iter().zip(after) {
            checksum = update(checksum, old, new);
        }
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        true
    }

    fn apply_v6(self, packet: &mut [u8]) -> bool {
        let Some((ip, rest)) = packet.split_first_chunk_mut::<IPV6_HEADER>() else { return false };
        let Some(tcp) = rest.first_chunk_mut::<TCP_HEADER>() else { return false };
        if ip[6] != 6 || tcp[FLAGS_AT] & URG != 0 {
            return false;
        }
        // The traffic class lies in two bytes, and no checksum covers it. The flow label stays.
        let class = self.traffic_class(ip[0] << 4 | ip[1] >> 4);
        ip[0] = ip[0] & 0xf0 | class >> 4;
        ip[1] = class << 4 | ip[1] & 0x0f;
        let [checksum, old] = [16, 18].map(|at| u16::from_be_bytes([tcp[at], tcp[at + 1]]));
        tcp[16..18].copy_from_slice(&update(checksum, old, self.id).to_be_bytes());
        tcp[18..20].copy_from_slice(&self.id.to_be_bytes());
        true
    }

    /// Returns the traffic class of scheduled data whose class was `before`.
    fn traffic_class(self, before: u8) -> u8 {
        let ecn = match (self.ecn, before & 3) {
            (true, 0) => 2,
            (_, ecn) => ecn,
        };
        SCHEDULED.0 << 2 | ecn
    }
}

/// Returns a checksum after a word of the header changed (RFC 1624, equation 3).
fn update(checksum: u16, old: u16, new: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

#[cfg(test)]
mod tests;
