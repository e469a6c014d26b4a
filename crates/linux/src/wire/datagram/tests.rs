//! Control frames in UDP datagrams: headers as the kernel and routers read them, and any bytes at all.

use super::*;
use crate::wire::control::tests::any_control;
use proptest::prelude::*;

const FROM: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const TO: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const PORT: NonZeroU16 = NonZeroU16::new(1021).unwrap();

fn credit(is_ipv6: bool) -> Control {
    let [source, destination]: [IpAddr; 2] = [1, 2].map(|last| match is_ipv6 {
        false => Ipv4Addr::new(10, 0, 0, last).into(),
        true => Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 7, last.into()).into(),
    });
    let flow = FlowKey { source, destination, source_port: 40_000, destination_port: 5201 };
    Control {
        kind: Kind::Credit,
        flow,
        session: 7,
        cookie: 9,
        number: 4711,
        value: 5,
        mtu: 0,
        wants_ecn: false,
    }
}

#[test]
fn a_credit_travels_from_the_receiver_of_data_to_its_sender_with_the_codepoint_of_credits() {
    let frame = credit(false).to_datagram(FROM, TO, PORT);
    assert_eq!(frame.len(), 108);
    assert_eq!(frame[12..24], [8, 0, 0x45, 7 << 2, 0, 94, 0, 0, 0x40, 0, 64, 17]);
    assert_eq!(frame[26..34], [10, 0, 0, 2, 10, 0, 0, 1]);
    assert_eq!(frame[34..40], [3, 253, 3, 253, 0, 74]);
    assert_eq!(frame[42..44], [2, 9]);
    assert!(frame[88..].iter().all(|byte| *byte == 0), "padding up to the length of IPv6");
    let frame = credit(true).to_datagram(FROM, TO, PORT);
    assert_eq!(frame.len(), 108);
    assert_eq!(frame[12..22], [0x86, 0xdd, 0x61, 0xc0, 0, 0, 0, 54, 17, 64]);
    assert_eq!((frame[37], frame[53]), (2, 1), "the last bytes of both addresses");
    assert_eq!(frame[62..64], [3, 9]);
    let request = Control { kind: Kind::Request, ..credit(true) }.to_datagram(FROM, TO, PORT);
    assert_eq!((request[14..16].to_vec(), request[37], request[53]), (vec![0x62, 0xc0], 1, 2));
}

#[test]
fn what_is_no_datagram_of_ours_is_refused_with_the_reason() {
    for is_ipv6 in [false, true] {
        let frame = credit(is_ipv6).to_datagram(FROM, TO, PORT);
        let header = if is_ipv6 { 40 } else { 20 };
        let with = |changes: &[(usize, u8)]| {
            let mut frame = frame;
            changes.iter().for_each(|(at, byte)| frame[*at] = *byte);
            Control::parse_datagram(&frame, PORT)
        };
        for len in 0..frame.len() {
            assert_eq!(Control::parse_datagram(&frame[..len], PORT), Err(ControlError::Truncated), "{len} B");
        }
        let udp = 14 + header;
        assert_eq!(with(&[(12, 0x88), (13, 0xb5)]), Err(ControlError::OtherType));
        assert_eq!(with(&[(if is_ipv6 { 20 } else { 23 }, 6)]), Err(ControlError::OtherType), "TCP");
        assert_eq!(with(&[(udp + 3, 1)]), Err(ControlError::OtherType), "another port");
        assert_eq!(with(&[(udp + 5, 53)]), Err(ControlError::Truncated), "a datagram that is too short");
        assert_eq!(with(&[(udp + 20, 1)]), Err(ControlError::Checksum));
        // Two changes that leave the sum as it is.
        assert_eq!(
            with(&[(udp + 8, 4), (udp + 10, if is_ipv6 { 0xff } else { 0xfe })]),
            Err(ControlError::Checksum)
        );
    }
    let other = FlowKey { source: Ipv4Addr::new(10, 0, 0, 3).into(), ..credit(false).flow };
    let mut frame = credit(false).to_datagram(FROM, TO, PORT);
    let right = Control { flow: other, ..credit(false) }.to_datagram(FROM, TO, PORT);
    // The addresses of one flow in the headers, and those of another among the fields.
    frame[26..34].copy_from_slice(&right[26..34]);
    frame[40..42].copy_from_slice(&right[40..42]);
    let field: u16 = 3 - 1;
    let mended = u16::from_be_bytes([frame[40], frame[41]]).wrapping_add(field);
    frame[40..42].copy_from_slice(&mended.to_be_bytes());
    assert_eq!(Control::parse_datagram(&frame, PORT), Err(ControlError::Addresses));
    let mut fragment = credit(false).to_datagram(FROM, TO, PORT);
    fragment[20] = 0x20;
    assert_eq!(Control::parse_datagram(&fragment, PORT), Err(ControlError::OtherType));
}

proptest! {
    #[test]
    fn a_datagram_is_read_as_it_was_written(control in any_control(), from: [u8; 6], to: [u8; 6], port: NonZeroU16) {
        let (from, to) = (MacAddr(from), MacAddr(to));
        let frame = control.to_datagram(from, to, port);
        prop_assert_eq!(frame.len(), DATAGRAM_LEN);
        prop_assert_eq!(crate::wire::frame_len(frame.first_chunk().unwrap()), DATAGRAM_LEN);
        prop_assert_eq!(Control::parse_datagram(&frame, port), Ok((from, to, control)));
        if !control.flow.is_ipv6() {
            prop_assert_eq!(fold(sum(&frame[14..34])), u16::MAX, "the checksum of the IPv4 header");
        }
    }

    #[test]
    fn no_bytes_make_the_parser_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..150), is_ipv6: Option<bool>,
    ) {
        if let Some(is_ipv6) = is_ipv6 && bytes.len() > 60 {
            let udp = if is_ipv6 { 54 } else { 34 };
            bytes[12..14].copy_from_slice(if is_ipv6 { &IPV6 } else { &IPV4 });
            bytes[14] = if is_ipv6 { 0x60 } else { 0x45 };
            bytes[if is_ipv6 { 20 } else { 23 }] = 17;
            bytes[20] &= if is_ipv6 { 0xff } else { 0 };
            bytes[udp + 2..udp + 4].copy_from_slice(&PORT.get().to_be_bytes());
            bytes[udp + 4] = 0;
        }
        let _ = Control::parse_datagram(&bytes, PORT);
    }
}
