//! The stamp of scheduled data.

use super::*;
use crate::wire::{Ecn, Segment};
use proptest::prelude::*;

/// The checksum over the bytes of a header, which is zero if the header's own is right (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let mut sum: u32 = header
        .chunks(2)
        .map(|word| u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0)))
        .sum();
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
    let seven = {
        let mut packet = packet(0, 9, 0x40);
        packet[0] = 0x75;
        packet
    };
    let truncated = packet(0, 9, 0x40)[..19].to_vec();
    for mut packet in [
        packet(0, 9, 0),
        packet(0, 9, 0x60),
        packet(0, 9, 0x20),
        packet(0, 9, 0x41),
        seven,
        truncated,
        vec![],
    ] {
        let before = packet.clone();
        assert!(!Stamp { id: 4711, ecn: true }.apply(&mut packet));
        assert_eq!(packet, before);
    }
}

/// The checksum of a segment over IPv6 with its pseudo-header, which is zero if its own is right (RFC 8200, sec. 8.1).
fn checksum6(packet: &[u8]) -> u16 {
    let length = (packet.len() - 40) as u32;
    let pseudo = [&packet[8..40], &length.to_be_bytes(), &[0, 0, 0, 6], &packet[40..]].concat();
    checksum(&pseudo)
}

/// A segment over IPv6 with this payload and right checksum.
fn packet6(traffic_class: u8, flags: u8, urgent: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = (6u32 << 28 | u32::from(traffic_class) << 20 | 0xabcde).to_be_bytes().to_vec();
    packet.extend((20 + payload.len() as u16).to_be_bytes());
    packet.extend([6, 64]);
    packet.extend((0..32).map(|at| at * 7));
    packet.extend([0x9c, 0x40, 0x14, 0x51, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, flags, 1, 0, 0, 0]);
    packet.extend(urgent.to_be_bytes());
    packet.extend(payload);
    let sum = checksum6(&packet);
    packet[56..58].copy_from_slice(&sum.to_be_bytes());
    packet
}

#[test]
fn a_packet_of_ipv6_with_an_urgent_pointer_of_its_own_or_an_extension_header_stays_as_it_is() {
    let with = |at: usize, byte: u8| {
        let mut packet = packet6(0, 0x18, 0, &[1; 4]);
        packet[at] = byte;
        packet
    };
    for mut packet in
        [packet6(0, 0x38, 5, &[1; 4]), with(6, 0), with(6, 17), with(0, 0x70), with(0, 0x60)[..59].to_vec()]
    {
        let before = packet.clone();
        assert!(!Stamp { id: 4711, ecn: true }.apply(&mut packet));
        assert_eq!(packet, before);
    }
}

proptest! {
    #[test]
    fn a_stamped_packet_of_ipv6_has_a_right_checksum_and_keeps_its_flow_label(
        traffic_class: u8, urgent: u16, stamp: u16, ecn: bool, payload in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let mut packet = packet6(traffic_class, 0x18, urgent, &payload);
        prop_assert_eq!(checksum6(&packet), 0);
        let before = packet.clone();
        let is_stamped = Stamp { id: stamp, ecn }.apply(&mut packet);
        prop_assert!(is_stamped);
        prop_assert_eq!(checksum6(&packet), 0);
        let segment = Segment::parse(&packet).unwrap();
        prop_assert!(segment.is_scheduled());
        let expected = match (ecn, traffic_class & 3) {
            (true, 0) => Ecn::Capable0,
            (_, before) => Ecn::of(before),
        };
        prop_assert_eq!((segment.id, segment.ecn), (stamp, expected));
        prop_assert_eq!(packet[1] & 0x0f, before[1] & 0x0f);
        for at in (0..packet.len()).filter(|at| ![0, 1, 56, 57, 58, 59].contains(at)) {
            prop_assert_eq!(packet[at], before[at]);
        }
    }

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
