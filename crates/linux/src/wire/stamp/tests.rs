//! The stamp of scheduled data.

use super::*;
use crate::wire::{Ecn, Segment};
use proptest::prelude::*;

/// The checksum over the bytes of a header, which is zero if the header's own is right (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let mut sum: u32 = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The headers of a segment with 100 B of payload, with a right checksum.
fn packet(traffic_class: u8, id: u16, flags: u8) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    let mut packet =
        vec![0x45, traffic_class, 0, 140, high, low, flags, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend([0; 12]);
    packet.extend([0x50, 0x10, 1, 1, 0, 0, 0, 0]);
    packet
}

#[test]
fn a_stamped_packet_is_scheduled_data_with_the_number_of_the_credit() {
    let mut packet = packet(0, 9, 0x40);
    assert!(Stamp { id: 4711, ecn: true }.apply(&mut packet));
    let segment = Segment::parse(&packet).unwrap();
    assert!(segment.is_scheduled());
    assert_eq!((segment.id, segment.ecn, segment.payload), (4711, Ecn::Capable0, 100));
}

#[test]
fn a_mark_or_a_codepoint_that_tcp_set_stays() {
    for (before, ecn, after) in [(0, false, 0), (0, true, 2), (1, true, 1), (2, false, 2), (3, true, 3)] {
        let mut packet = packet(before, 9, 0x40);
        Stamp { id: 1, ecn }.apply(&mut packet);
        assert_eq!(packet[1], 0x0c | after);
    }
}

#[test]
fn a_packet_whose_identification_is_not_free_stays_as_it_is() {
    let six = {
        let mut packet = packet(0, 9, 0x40);
        packet[0] = 0x65;
        packet
    };
    let truncated = packet(0, 9, 0x40)[..19].to_vec();
    for mut packet in
        [packet(0, 9, 0), packet(0, 9, 0x60), packet(0, 9, 0x20), packet(0, 9, 0x41), six, truncated, vec![]]
    {
        let before = packet.clone();
        assert!(!Stamp { id: 4711, ecn: true }.apply(&mut packet));
        assert_eq!(packet, before);
    }
}

proptest! {
    #[test]
    fn the_checksum_of_a_stamped_packet_is_right_and_nothing_else_changes(
        traffic_class: u8, id: u16, stamp: u16, ecn: bool,
    ) {
        let mut packet = packet(traffic_class, id, 0x40);
        let before = packet.clone();
        let stamp = Stamp { id: stamp, ecn };
        prop_assert!(stamp.apply(&mut packet));
        prop_assert_eq!(checksum(&packet[..20]), 0);
        for at in (0..packet.len()).filter(|at| ![1, 4, 5, 10, 11].contains(at)) {
            prop_assert_eq!(packet[at], before[at]);
        }
    }
}
