//! The change that scheduled data makes to an IPv4 header.

use crate::datapath::Stamp;
use crate::wire::SCHEDULED;

/// Writes `stamp` into the IPv4 header at the start of `packet` and corrects the header's checksum. Returns false, and
/// changes nothing, if there is no such header.
pub(super) fn apply(packet: &mut [u8], stamp: Stamp) -> bool {
    const ECT_0: u8 = 2;
    let Some(header) = packet.first_chunk_mut::<20>() else { return false };
    if header[0] >> 4 != 4 {
        return false;
    }
    let word = |header: &[u8; 20], at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let (old_tos, old_id) = (word(header, 0), word(header, 4));
    let ecn = if stamp.ecn { ECT_0 } else { header[1] & 3 };
    header[1] = SCHEDULED.0 << 2 | ecn;
    header[4..6].copy_from_slice(&stamp.id.to_be_bytes());
    let sum = word(header, 10);
    let sum = updated(updated(sum, old_tos, word(header, 0)), old_id, stamp.id);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    true
}

/// Returns the checksum after one word of what it covers has changed (RFC 1624, Eq. 3).
fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The checksum of a whole header (RFC 1071), the field itself counted as zero.
    fn checksum(header: &[u8; 20]) -> u16 {
        let words = header.chunks(2).enumerate().filter(|(at, _)| *at != 5);
        let mut sum: u32 = words.map(|(_, word)| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    proptest! {
        #[test]
        fn the_checksum_is_that_of_the_whole_header(mut header in any::<[u8; 20]>(), id: u16, ecn: bool) {
            header[0] = 0x45;
            let sum = checksum(&header).to_be_bytes();
            header[10..12].copy_from_slice(&sum);
            let before = header;
            let applied = apply(&mut header, Stamp { id, ecn });
            prop_assert!(applied);
            prop_assert_eq!(checksum(&header).to_be_bytes(), [header[10], header[11]]);
            prop_assert_eq!(u16::from_be_bytes([header[4], header[5]]), id);
            prop_assert_eq!(header[1] >> 2, SCHEDULED.0);
            prop_assert_eq!(header[1] & 3, if ecn { 2 } else { before[1] & 3 });
            for at in [0, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17, 18, 19] {
                prop_assert_eq!(header[at], before[at]);
            }
        }
    }

    #[test]
    fn what_is_no_ipv4_header_stays_as_it_is() {
        let mut short = [0x45; 19];
        assert!(!apply(&mut short, Stamp { id: 1, ecn: true }));
        assert_eq!(short, [0x45; 19]);
        let mut newer = [0x65; 40];
        assert!(!apply(&mut newer, Stamp { id: 1, ecn: true }));
        assert_eq!(newer, [0x65; 40]);
    }
}
