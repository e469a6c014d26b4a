//! TCP segments: real packets, packets put together header by header, and any bytes at all.

use super::*;
use proptest::prelude::*;

/// A packet that is put together header by header, as RFC 791 and RFC 9293 draw them.
#[derive(Clone, Debug)]
struct Built {
    traffic_class: u8,
    id: u16,
    dont_fragment: bool,
    ip_options: Vec<u8>,
    addresses: [[u8; 4]; 2],
    ports: [u16; 2],
    numbers: [u32; 2],
    flags: u8,
    window: u16,
    tcp_options: Vec<u8>,
    payload: usize,
}

impl Built {
    fn packet(&self) -> Vec<u8> {
        let tcp_len = 20 + self.tcp_options.len();
        let ip_header = 20 + self.ip_options.len();
        let mut packet = vec![0x40 | (ip_header / 4) as u8, self.traffic_class];
        packet.extend(((ip_header + tcp_len + self.payload) as u16).to_be_bytes());
        packet.extend(self.id.to_be_bytes());
        packet.extend([if self.dont_fragment { 0x40 } else { 0 }, 0]);
        packet.extend([64, 6, 0, 0]);
        packet.extend(self.addresses.concat());
        packet.extend(&self.ip_options);
        self.ports.iter().for_each(|port| packet.extend(port.to_be_bytes()));
        self.numbers.iter().for_each(|number| packet.extend(number.to_be_bytes()));
        packet.extend([((tcp_len / 4) << 4) as u8, self.flags]);
        packet.extend(self.window.to_be_bytes());
        packet.extend([0; 4]);
        packet.extend(&self.tcp_options);
        packet.extend(vec![0xdd; self.payload]);
        packet
    }
}

prop_compose! {
    fn any_built()(
        traffic_class: u8, id: u16, dont_fragment: bool, flags: u8, window: u16,
        ip_options in prop::collection::vec(any::<u8>(), 0..=10).prop_map(|words| words.repeat(4)),
        tcp_options in prop::collection::vec(any::<u8>(), 0..=10).prop_map(|words| words.repeat(4)),
        addresses: [[u8; 4]; 2], ports: [u16; 2], numbers: [u32; 2],
        payload in 0usize..3000,
    ) -> Built {
        Built {
            traffic_class, id, dont_fragment, ip_options, addresses, ports, numbers, flags, window, tcp_options, payload,
        }
    }
}

fn plain() -> Built {
    Built {
        traffic_class: 0,
        id: 1,
        dont_fragment: true,
        ip_options: vec![],
        addresses: [[10, 0, 0, 1], [10, 0, 0, 2]],
        ports: [40_000, 5201],
        numbers: [1, 1],
        flags: 0x18,
        window: 502,
        tcp_options: vec![],
        payload: 1448,
    }
}

#[test]
fn the_syn_of_a_linux_kernel_is_read_as_tcpdump_shows_it() {
    let syn = "4500003c04c44000400637f67f0000017f000001bfa8b3afed47077f00000000a002ffd7fe30000002\
               04ffd70402080a08d3d7d0000000000103030a";
    let syn: Vec<u8> =
        (0..syn.len()).step_by(2).map(|at| u8::from_str_radix(&syn[at..at + 2], 16).unwrap()).collect();
    let segment = Segment::parse(&syn).unwrap();
    assert_eq!(segment.flow.to_string(), "127.0.0.1:49064 > 127.0.0.1:45999");
    assert_eq!((segment.payload, segment.ip_len, segment.id), (0, 60, 0x04c4));
    assert_eq!((segment.seq, segment.ack, segment.window), (3_980_855_167, 0, 65_495));
    assert!(segment.flags.syn() && !segment.flags.ack() && segment.has_place);
    assert_eq!((segment.ecn, segment.is_pure_ack()), (Ecn::NotCapable, false));
}

#[test]
fn a_fragment_is_refused_be_it_the_first_one_or_a_later_one() {
    for (high, low, verdict) in [(0x20, 0, false), (0x00, 1, false), (0x1f, 0xff, false), (0x80, 0, true)] {
        let mut packet = plain().packet();
        packet[6] = high;
        packet[7] = low;
        let read = Segment::parse(&packet);
        assert_eq!(read.is_ok(), verdict, "{high:#x} {low:#x}");
        assert!(verdict || read == Err(SegmentError::Fragment));
    }
}

#[test]
fn other_protocols_and_contradicting_lengths_are_refused_with_the_reason() {
    let refused = |at: usize, byte: u8| {
        let mut packet = plain().packet();
        packet[at] = byte;
        Segment::parse(&packet)
    };
    assert_eq!(refused(0, 0x75), Err(SegmentError::NotIp));
    assert_eq!(refused(0, 0x44), Err(SegmentError::Inconsistent), "an IPv4 header of 16 B");
    assert_eq!(refused(9, 17), Err(SegmentError::NotTcp), "UDP");
    assert_eq!(refused(32, 0x40), Err(SegmentError::Inconsistent), "a TCP header of 16 B");
    let mut short = plain().packet();
    short[2..4].copy_from_slice(&39u16.to_be_bytes());
    assert_eq!(Segment::parse(&short), Err(SegmentError::Inconsistent), "shorter than its headers");
    // The kernel writes zero into the length of a packet beyond 64 KiB ("BIG TCP").
    short[2..4].copy_from_slice(&[0, 0]);
    assert_eq!(Segment::parse(&short), Err(SegmentError::Inconsistent));
}

#[test]
fn only_the_headers_are_needed_and_options_of_tcp_may_be_cut_off() {
    let packet = Built { tcp_options: vec![1; 12], ..plain() }.packet();
    for len in 0..40 {
        assert_eq!(Segment::parse(&packet[..len]), Err(SegmentError::Truncated), "{len} B");
    }
    assert_eq!(Segment::parse(&packet[..40]), Segment::parse(&packet));
    assert_eq!(Segment::parse(&packet).unwrap().payload, 1448);
}

#[test]
fn a_pure_acknowledgement_of_40_bytes_is_told_from_one_byte_of_data_in_spite_of_padding() {
    let mut ack = Built { payload: 0, flags: 0x10, ..plain() }.packet();
    ack.extend([0; 6]);
    assert!(Segment::parse(&ack).unwrap().is_pure_ack());
    let data = Segment::parse(&Built { payload: 1, flags: 0x10, ..plain() }.packet()).unwrap();
    assert_eq!((data.payload, data.is_pure_ack()), (1, false));
    for (flags, is_pure) in
        [(0x11, false), (0x12, false), (0x14, false), (0x00, false), (0x18, true), (0x50, true)]
    {
        let segment = Segment::parse(&Built { payload: 0, flags, ..plain() }.packet()).unwrap();
        assert_eq!(segment.is_pure_ack(), is_pure, "flags {flags:#x}");
    }
}

#[test]
fn a_segment_is_scheduled_if_it_has_the_codepoint_and_its_identification_is_free() {
    for (traffic_class, dont_fragment, expected) in [
        (0x0c, true, true),
        (0x0f, true, true),
        (0x0c, false, false),
        (0x08, true, false),
        (0xb8, true, false),
    ] {
        let segment = Segment::parse(&Built { traffic_class, dont_fragment, ..plain() }.packet()).unwrap();
        assert_eq!(segment.is_scheduled(), expected, "{traffic_class:#x}, DF {dont_fragment}");
    }
}

/// A packet of IPv6 that is put together header by header, as RFC 8200 and RFC 9293 draw them.
fn packet6(built: &Built, label: u32, urgent: u16) -> Vec<u8> {
    let class = u32::from(built.traffic_class);
    let mut packet = (6 << 28 | class << 20 | label & 0xf_ffff).to_be_bytes().to_vec();
    let tcp_len = 20 + built.tcp_options.len();
    packet.extend(((tcp_len + built.payload) as u16).to_be_bytes());
    packet.extend([6, 64]);
    built.addresses.iter().for_each(|address| packet.extend(address.repeat(4)));
    built.ports.iter().for_each(|port| packet.extend(port.to_be_bytes()));
    built.numbers.iter().for_each(|number| packet.extend(number.to_be_bytes()));
    packet.extend([((tcp_len / 4) << 4) as u8, built.flags]);
    packet.extend(built.window.to_be_bytes());
    packet.extend([0; 2]);
    packet.extend(urgent.to_be_bytes());
    packet.extend(&built.tcp_options);
    packet.extend(vec![0xdd; built.payload]);
    packet
}

#[test]
fn a_segment_over_ipv6_is_scheduled_if_it_has_the_codepoint_and_its_urgent_pointer_is_free() {
    for (traffic_class, flags, expected) in [
        (0x0c, 0x18, true),
        (0x0f, 0x10, true),
        (0x0c, 0x38, false),
        (0x08, 0x18, false),
        (0x30, 0x18, false),
    ] {
        let packet = packet6(&Built { traffic_class, flags, ..plain() }, 0xabcde, 4711);
        let segment = Segment::parse(&packet).unwrap();
        assert_eq!(segment.is_scheduled(), expected, "{traffic_class:#x}, flags {flags:#x}");
        assert_eq!(segment.id, 4711);
    }
}

#[test]
fn extension_headers_other_protocols_and_contradicting_lengths_of_ipv6_are_refused_with_the_reason() {
    let refused = |at: usize, byte: u8| {
        let mut packet = packet6(&plain(), 0, 0);
        packet[at] = byte;
        Segment::parse(&packet)
    };
    // Hop-by-hop options, routing, fragment, UDP, no next header.
    for next in [0, 43, 44, 17, 59] {
        assert_eq!(refused(6, next), Err(SegmentError::NotTcp), "next header {next}");
    }
    assert_eq!(refused(52, 0x40), Err(SegmentError::Inconsistent), "a TCP header of 16 B");
    let with_length = |length: u16| {
        let mut packet = packet6(&plain(), 0, 0);
        packet[4..6].copy_from_slice(&length.to_be_bytes());
        Segment::parse(&packet).map(|segment| segment.payload)
    };
    assert_eq!(with_length(19), Err(SegmentError::Inconsistent), "shorter than the TCP header");
    assert_eq!(with_length(0), Err(SegmentError::Inconsistent), "a jumbogram (BIG TCP)");
    assert_eq!((with_length(20), with_length(65_495)), (Ok(0), Ok(65_475)));
    assert_eq!(with_length(65_496), Err(SegmentError::Inconsistent), "more than 16 bits can count");
    let packet = packet6(&Built { tcp_options: vec![1; 12], ..plain() }, 0, 0);
    for len in 1..60 {
        assert_eq!(Segment::parse(&packet[..len]), Err(SegmentError::Truncated), "{len} B");
    }
    assert_eq!(Segment::parse(&packet[..60]), Segment::parse(&packet));
}

proptest! {
    #[test]
    fn a_packet_of_ipv6_is_read_as_it_was_put_together(built in any_built(), label: u32, urgent: u16) {
        let packet = packet6(&built, label, urgent);
        let segment = Segment::parse(&packet).unwrap();
        let address = |bytes: [u8; 4]| Ipv6Addr::from(u128::from(u32::from_be_bytes(bytes)) * 0x1_0000_0001_0000_0001_0000_0001).into();
        prop_assert_eq!(segment, Segment {
            flow: FlowKey {
                source: address(built.addresses[0]),
                destination: address(built.addresses[1]),
                source_port: built.ports[0],
                destination_port: built.ports[1],
            },
            payload: built.payload as u16,
            ip_len: packet.len() as u16,
            id: urgent,
            has_place: built.flags & 0x20 == 0,
            dscp: Dscp(built.traffic_class / 4),
            ecn: [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::Marked][usize::from(built.traffic_class % 4)],
            flags: TcpFlags(built.flags),
            ecn_echo: built.flags & 0x40 != 0,
            seq: built.numbers[0],
            ack: built.numbers[1],
            window: built.window,
            timestamps: Timestamps::find(&built.tcp_options),
        });
    }

    #[test]
    fn a_packet_is_read_as_it_was_put_together_with_whatever_options(built in any_built()) {
        let packet = built.packet();
        let segment = Segment::parse(&packet).unwrap();
        let flow = FlowKey {
            source: Ipv4Addr::from(built.addresses[0]).into(),
            destination: Ipv4Addr::from(built.addresses[1]).into(),
            source_port: built.ports[0],
            destination_port: built.ports[1],
        };
        prop_assert_eq!(segment, Segment {
            flow,
            payload: built.payload as u16,
            ip_len: packet.len() as u16,
            id: built.id,
            has_place: built.dont_fragment,
            dscp: Dscp(built.traffic_class / 4),
            ecn: [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::Marked][usize::from(built.traffic_class % 4)],
            flags: TcpFlags(built.flags),
            ecn_echo: built.flags & 0x40 != 0,
            seq: built.numbers[0],
            ack: built.numbers[1],
            window: built.window,
            timestamps: Timestamps::find(&built.tcp_options),
        });
        prop_assert_eq!(segment.flow.reversed().reversed(), flow);
    }

    #[test]
    fn no_bytes_make_the_parser_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..120),
        looks_right: Option<bool>,
    ) {
        if let Some(is_ipv6) = looks_right && bytes.len() > 9 {
            bytes[0] = if is_ipv6 { 0x60 } else { 0x40 } | bytes[0] & 15;
            bytes[if is_ipv6 { 6 } else { 9 }] = 6;
        }
        if let Ok(segment) = Segment::parse(&bytes) {
            let headers = if segment.flow.is_ipv6() { 60 } else { 40 };
            prop_assert!(segment.payload <= segment.ip_len - headers);
        }
    }
}

#[test]
fn the_timestamps_are_found_among_other_options_and_never_in_broken_ones() {
    let option = [8, 10, 0, 0, 1, 2, 0, 0, 3, 4];
    let found = Some(Timestamps { value: 0x102, echo: 0x304 });
    let with = |before: &[u8]| Timestamps::find(&[before, &option[..]].concat());
    assert_eq!(with(&[]), found);
    assert_eq!(with(&[1, 1]), found, "after padding");
    assert_eq!(with(&[2, 4, 5, 0xb4, 4, 2]), found, "after MSS and SACK permitted");
    assert_eq!(with(&[0]), None, "after the end of the list");
    assert_eq!(with(&[5, 0]), None, "an option without length would never end");
    assert_eq!(with(&[5, 1]), None);
    assert_eq!(with(&[5, 200]), None, "an option that is longer than the header");
    assert_eq!(Timestamps::find(&option[..9]), None, "cut off");
    assert_eq!(Timestamps::find(&[8]), None);
}
