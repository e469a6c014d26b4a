//! The number of a credit in the IPv4 header of the data packet that spends it.

use super::SCHEDULED;
use super::segment::DONT_FRAGMENT;
use crate::datapath::Stamp;

impl Stamp {
    /// Writes the number of the credit, the codepoint of scheduled data and, if asked for, ECT(0) into the IPv4 header
    /// at the start of `packet`, and mends its checksum. A packet that is no IPv4, or without DF, or a fragment stays as
    /// it is, since its identification is not free; the function then returns false.
    pub fn apply(self, packet: &mut [u8]) -> bool {
        let Some(header) = packet.first_chunk_mut::<20>() else { return false };
        let word = |header: &[u8; 20], at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        // The first bit of the word of flags is reserved; all others but DF tell of fragments.
        if header[0] >> 4 != 4 || word(header, 6) & 0x7fff != DONT_FRAGMENT {
            return false;
        }
        let before = [word(header, 0), word(header, 4)];
        let ecn = match (self.ecn, header[1] & 3) {
            (true, 0) => 2,
            (_, ecn) => ecn,
        };
        header[1] = SCHEDULED.0 << 2 | ecn;
        header[4..6].copy_from_slice(&self.id.to_be_bytes());
        let after = [word(header, 0), word(header, 4)];
        let mut checksum = word(header, 10);
        for (old, new) in before.into_iter().zip(after) {
            checksum = update(checksum, old, new);
        }
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        true
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
