//! Control frames: exact bytes, and any bytes at all.

use super::*;
use proptest::prelude::*;

const FROM: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const TO: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const KINDS: [Kind; 6] = [Kind::Request, Kind::Stop, Kind::Accept, Kind::Stopped, Kind::Credit, Kind::Cnp];

fn accept() -> Control {
    Control {
        kind: Kind::Accept,
        flow: FlowKey {
            source: Ipv4Addr::new(10, 0, 0, 2).into(),
            destination: Ipv4Addr::new(10, 0, 0, 1).into(),
            source_port: 40_000,
            destination_port: 5201,
        },
        session: 7,
        cookie: 0x0123_4567_89ab_cdef,
        number: 0xa0a1_a2a3_a4a5_a6a7,
        value: 100_000_000,
        mtu: 1500,
        wants_ecn: true,
    }
}

/// The bytes that a text of hexadecimal digits stands for, blanks left out.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn a_control_frame_has_each_field_at_its_place_and_fills_the_least_frame_of_ethernet() {
    let expected = bytes(
        "020000000002 020000000001 88b5
         02 06 01 00 00000007
         0a000002 0a000001 9c40 1451
         0123456789abcdef a0a1a2a3a4a5a6a7 0000000005f5e100 05dc",
    );
    assert_eq!(accept().to_frame(FROM, TO)[..], expected);
    assert_eq!(expected.len(), 60);
}

/// The flow of [`accept`] over IPv6.
fn over_ipv6(control: Control) -> Control {
    let [source, destination] = [2, 1].map(|last| Ipv6Addr::new(0xfd00, 0xa, 0xb, 0xc, 1, 2, 3, last).into());
    Control { flow: FlowKey { source, destination, ..control.flow }, ..control }
}

#[test]
fn a_signal_over_ipv6_has_the_rest_of_both_addresses_behind_the_fields_of_ipv4() {
    let expected = bytes(
        "020000000002 020000000001 88b5
         03 06 01 00 00000007
         00030002 00030001 9c40 1451
         0123456789abcdef a0a1a2a3a4a5a6a7 0000000005f5e100 05dc
         fd00000a000b000c00010002 fd00000a000b000c00010002",
    );
    let frame = over_ipv6(accept()).to_frame(FROM, TO);
    assert_eq!(frame[..], expected);
    assert_eq!(expected.len(), 84);
    for len in 0..84 {
        assert_eq!(Control::parse(&frame[..len]), Err(ControlError::Truncated), "{len} B");
    }
}

#[test]
fn a_credit_over_ipv6_is_as_long_as_one_over_ipv4_and_has_the_lower_32_bits_of_each_address() {
    let credit = Control { kind: Kind::Credit, mtu: 0, wants_ecn: false, ..over_ipv6(accept()) };
    let frame = credit.to_frame(FROM, TO);
    assert_eq!(frame.len(), 60);
    assert_eq!(frame[14..34], bytes("03 09 00 00 00000007 00030002 00030001 9c40 1451"));
    let read = Control::parse(&frame).unwrap().2;
    assert_eq!(read.flow.to_string(), "[::3:2]:40000 > [::3:1]:5201");
    assert_eq!(read, Control { flow: credit.flow.in_credits(), ..credit });
}

#[test]
fn the_example_of_the_specification_is_the_frame_that_it_describes() {
    let page = include_str!("../../../../../docs/reference/wire-format.md");
    let block = page.split("<!-- example frame -->\n```text\n").nth(1).expect("the page has the example");
    let dump = block.split("```").next().expect("a block ends");
    let frame: Vec<u8> =
        dump.lines().flat_map(|line| bytes(line.split_once("  ").expect("an offset").1)).collect();
    let credit = Control {
        kind: Kind::Credit,
        number: 4711,
        value: 1_500_000_000,
        mtu: 0,
        wants_ecn: false,
        ..accept()
    };
    assert_eq!(frame, credit.to_frame(FROM, TO)[..]);
    assert_eq!(Control::parse(&frame), Ok((FROM, TO, credit)));
}

#[test]
fn each_kind_has_the_code_of_version_1_and_goes_with_the_data_or_against_it() {
    let codes = KINDS.map(|kind| Control { kind, ..accept() }.to_frame(FROM, TO)[15]);
    assert_eq!(codes, [4, 5, 6, 7, 9, 10]);
    assert_eq!(KINDS.map(Kind::is_for_receiver), [true, true, false, false, false, false]);
}

#[test]
fn frames_of_other_types_versions_and_kinds_and_short_ones_are_refused_with_the_reason() {
    let frame = accept().to_frame(FROM, TO);
    let with = |at: usize, byte: u8| {
        let mut frame = frame;
        frame[at] = byte;
        Control::parse(&frame)
    };
    for len in 0..FRAME_LEN {
        assert_eq!(Control::parse(&frame[..len]), Err(ControlError::Truncated), "{len} B");
    }
    // A tag of a VLAN stands where the EtherType is looked for.
    assert_eq!(with(12, 0x81), Err(ControlError::OtherType));
    assert_eq!(with(13, 0xb6), Err(ControlError::OtherType));
    // The frame is too short for a signal of version 3.
    assert_eq!(with(14, VERSION_IPV6), Err(ControlError::Truncated));
    for version in (0..=u8::MAX).filter(|version| ![VERSION, VERSION_IPV6].contains(version)) {
        assert_eq!(with(14, version), Err(ControlError::Version(version)));
    }
    for code in (0..=u8::MAX).filter(|code| KINDS.iter().all(|kind| *kind as u8 != *code)) {
        assert_eq!(with(15, code), Err(ControlError::Kind(code)));
    }
}

#[test]
fn reserved_bits_and_bytes_behind_the_frame_are_ignored() {
    let mut long = accept().to_frame(FROM, TO).to_vec();
    long[16] |= 0xfe;
    long[17] = 0xff;
    long.extend_from_slice(&[0xee; 1454]);
    assert_eq!(Control::parse(&long), Ok((FROM, TO, accept())));
}

prop_compose! {
    /// Any control frame of either version of IP.
    pub(in crate::wire) fn any_control()(
        kind in prop::sample::select(&KINDS[..]),
        [source, destination] in any::<[u128; 2]>(), is_ipv6 in any::<bool>(), session in any::<u32>(),
        [source_port, destination_port, mtu] in any::<[u16; 3]>(),
        [cookie, number, value] in any::<[u64; 3]>(),
        wants_ecn in any::<bool>(),
    ) -> Control {
        let [source, destination] = [source, destination].map(|address| match is_ipv6 {
            false => IpAddr::V4(Ipv4Addr::from(address as u32)),
            true => IpAddr::V6(Ipv6Addr::from(address)),
        });
        let flow = FlowKey { source, destination, source_port, destination_port };
        Control { kind, flow, session, cookie, number, value, mtu, wants_ecn }
    }
}

proptest! {
    #[test]
    fn a_control_frame_is_read_as_it_was_written(control in any_control(), from: [u8; 6], to: [u8; 6]) {
        let (from, to) = (MacAddr(from), MacAddr(to));
        let frame = control.to_frame(from, to);
        let is_long = control.flow.is_ipv6() && control.kind != Kind::Credit;
        prop_assert_eq!(frame.len(), if is_long { 84 } else { 60 });
        let flow = if control.kind == Kind::Credit { control.flow.in_credits() } else { control.flow };
        prop_assert_eq!(Control::parse(&frame), Ok((from, to, Control { flow, ..control })));
    }

    #[test]
    fn what_is_read_from_any_bytes_is_written_as_it_stood_but_for_reserved_bits(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        kind in prop::sample::select(&KINDS[..]),
        version in prop::sample::select(&[VERSION, VERSION_IPV6][..]),
        is_ours: bool,
    ) {
        if is_ours && bytes.len() >= 16 {
            bytes[12..16].copy_from_slice(&[0x88, 0xb5, version, kind as u8]);
        }
        if let Ok((from, to, control)) = Control::parse(&bytes) {
            bytes[16] &= WANTS_ECN;
            bytes[17] = 0;
            let frame = control.to_frame(from, to);
            prop_assert_eq!(&frame[..], &bytes[..frame.len()]);
        } else {
            let is_long = version == VERSION_IPV6 && kind != Kind::Credit;
            let whole = if is_long { 84 } else { FRAME_LEN };
            prop_assert!(bytes.len() < whole || !is_ours);
        }
    }
}
