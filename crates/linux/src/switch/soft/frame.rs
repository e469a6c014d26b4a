//! Frames of Ethernet: to which queue they belong, what they take on the wire, and how they are marked.

use crate::wire::{Carrier, Control, ETHERTYPE, Kind};

/// The length of an Ethernet header in bytes.
pub const ETHERNET_LEN: usize = 14;
/// The bytes of a frame on the wire besides those that Linux hands over: preamble, check sequence and gap.
const OVERHEAD: u32 = 24;
/// The size on the wire of the smallest frame.
const WIRE_MIN: u32 = 84;
const IPV4: [u8; 2] = [8, 0];
const IPV6: [u8; 2] = [0x86, 0xdd];
const CAPABLE: u8 = 0b11;

/// The queues of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A notification that this switch sends.
    Notification,
    /// A credit, under their rate limit.
    Credit,
    /// A signal: any other control frame.
    Signal,
    /// All else.
    Data,
}

impl Class {
    /// Returns the queue of a frame with a whole Ethernet header, where control frames travel by `carrier`, or straight over
    /// Ethernet.
    pub fn of(frame: &[u8], carrier: Carrier) -> Class {
        if let Carrier::Udp(port) = carrier
            && is_ip(frame)
        {
            return match Control::parse_datagram(frame, port) {
                Ok((.., control)) if control.kind == Kind::Credit => Class::Credit,
                Ok(_) => Class::Signal,
                Err(_) => Class::Data,
            };
        }
        // Behind the EtherType stand the version of the format and the kind.
        match (frame.get(12..14) == Some(&ETHERTYPE.to_be_bytes()), frame.get(15)) {
            (false, _) => Class::Data,
            (true, Some(&kind)) if kind == Kind::Credit as u8 => Class::Credit,
            (true, _) => Class::Signal,
        }
    }
}

/// Returns true if a frame with a whole Ethernet header has a packet of IPv4 or IPv6.
pub fn is_ip(frame: &[u8]) -> bool {
    matches!(frame.get(12..14), Some(kind) if kind == IPV4 || kind == IPV6)
}

/// Returns the size of a frame on the wire.
pub fn wire(frame: &[u8]) -> u32 {
    (frame.len() as u32 + OVERHEAD).max(WIRE_MIN)
}

/// Marks a packet with CE if it takes part in ECN. Returns true if it has the mark then.
pub fn mark(frame: &mut [u8]) -> bool {
    let Some((header, packet)) = frame.split_at_mut_checked(ETHERNET_LEN) else { return false };
    match [header[12], header[13]] {
        IPV4 if packet.len() >= 20 && packet[0] >> 4 == 4 => {
            let old = packet[1];
            if old & CAPABLE == 0 {
                return false;
            }
            packet[1] = old | CAPABLE;
            // RFC 1624, eq. 3: the sum changes by the change of the 16-bit word that the byte is in.
            let sum = u32::from(!u16::from_be_bytes([packet[10], packet[11]]))
                + u32::from(!u16::from_be_bytes([packet[0], old]))
                + u32::from(u16::from_be_bytes([packet[0], packet[1]]));
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = (sum & 0xffff) + (sum >> 16);
            [packet[10], packet[11]] = (!(sum as u16)).to_be_bytes();
            true
        }
        IPV6 if packet.len() >= 40 && packet[0] >> 4 == 6 => {
            // The ECN field is bits 10 and 11 of the header, which has no checksum.
            let capable = packet[1] >> 4 & CAPABLE != 0;
            packet[1] |= if capable { CAPABLE << 4 } else { 0 };
            capable
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The checksum of an IPv4 header, computed anew.
    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).enumerate().filter(|(at, _)| *at != 5);
        let mut sum: u32 = words.map(|(_, word)| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    proptest! {
        #[test]
        fn a_marked_ipv4_packet_has_the_checksum_of_its_header(mut bytes in prop::collection::vec(any::<u8>(), 34)) {
            bytes[12..14].copy_from_slice(&IPV4);
            bytes[14] = 0x45;
            let sum = checksum(&bytes[14..34]);
            bytes[24..26].copy_from_slice(&sum.to_be_bytes());
            let before = bytes.clone();
            let marked = mark(&mut bytes);
            prop_assert_eq!(marked, before[15] & 3 != 0);
            if marked {
                prop_assert_eq!(bytes[15], before[15] | 3);
                prop_assert_eq!(u16::from_be_bytes([bytes[24], bytes[25]]), checksum(&bytes[14..34]));
            } else {
                prop_assert_eq!(bytes, before);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            mark(&mut bytes);
            prop_assert!(wire(&bytes) >= WIRE_MIN);
            let _ = Class::of(&bytes, Carrier::Ethernet);
            let _ = Class::of(&bytes, Carrier::Udp(std::num::NonZeroU16::MIN));
        }
    }

    #[test]
    fn a_full_frame_takes_1538_bytes_on_the_wire_and_a_control_frame_84() {
        assert_eq!((wire(&[0; 1514]), wire(&[0; 60]), wire(&[0; 14])), (1538, 84, 84));
    }
}
