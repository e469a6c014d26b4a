//! The programs, run as the kernel runs them.

use super::*;
use crate::wire::{Carrier, Control, FlowKey, MacAddr, Segment};
use proptest::prelude::*;
use std::net::IpAddr;
use std::num::NonZero;

/// Runs a program on a packet as the kernel does, and returns its result. A load outside of the packet ends the
/// program with zero.
pub fn run(program: &[Instruction], packet: &[u8], packet_type: u32) -> u32 {
    run_with(program, packet, packet_type, 1)
}

/// Runs a program where each random number is `random`.
fn run_with(program: &[Instruction], packet: &[u8], packet_type: u32, random: u32) -> u32 {
    let (mut a, mut x, mut pc) = (0u32, 0u32, 0);
    let bytes = |at: u32, len: usize| -> Option<u32> {
        let at = at as usize;
        Some(packet.get(at..at.checked_add(len)?)?.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
    };
    loop {
        let Instruction { code, if_true, if_false, k } = program[pc];
        pc += 1;
        let mut branch = |holds: bool| pc += usize::from(if holds { if_true } else { if_false });
        let loaded = match code {
            LD_W_ABS if k == PACKET_TYPE => Some(packet_type),
            LD_W_ABS if k == RANDOM => Some(random),
            LD_B_ABS => bytes(k, 1),
            LD_H_ABS => bytes(k, 2),
            LD_B_IND => bytes(x + k, 1),
            LD_H_IND => bytes(x + k, 2),
            LDX_B_MSH => {
                let Some(byte) = bytes(k, 1) else { return 0 };
                x = (byte & 15) * 4;
                Some(a)
            }
            LDX_IMM => {
                x = k;
                Some(a)
            }
            ALU_ADD_X => Some(a.wrapping_add(x)),
            ALU_AND => Some(a & k),
            ALU_RSH => Some(a >> k),
            MISC_TAX => {
                x = a;
                Some(a)
            }
            JEQ => {
                branch(a == k);
                Some(a)
            }
            JGT_X => {
                branch(a > x);
                Some(a)
            }
            JSET => {
                branch(a & k != 0);
                Some(a)
            }
            RET => return k,
            _ => panic!("the operation {code:#x} is unknown"),
        };
        let Some(loaded) = loaded else { return 0 };
        a = loaded;
    }
}

/// Makes a TCP packet with options of the given lengths in words, which IPv6 has none of.
fn packet(family: Family, flags: u32, ip_options: u8, tcp_options: u8, payload: u16) -> Vec<u8> {
    let ip = match family {
        Family::Ipv4 => 20 + 4 * usize::from(ip_options),
        Family::Ipv6 => 40,
    };
    let mut packet = vec![0; ip + 20 + 4 * usize::from(tcp_options) + usize::from(payload)];
    let len = packet.len();
    match family {
        Family::Ipv4 => {
            packet[0] = 0x45 + ip_options;
            packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            packet[6] = 0x40;
            packet[9] = 6;
        }
        Family::Ipv6 => {
            packet[0] = 0x60;
            packet[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
            packet[6] = 6;
        }
    }
    packet[ip + 12] = (5 + tcp_options) << 4;
    packet[ip + 13] = flags as u8;
    packet
}

fn framed(packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 14];
    frame[12..14].copy_from_slice(if packet[0] >> 4 == 6 { &[0x86, 0xdd] } else { &[8, 0] });
    frame.extend_from_slice(packet);
    frame
}

const FAMILIES: [Family; 2] = [Family::Ipv4, Family::Ipv6];

proptest! {
    #[test]
    fn the_programs_agree_with_the_parser_on_every_kind_of_segment(
        family in prop::sample::select(&FAMILIES[..]),
        flags in 0u32..64, ip_options in 0u8..=10, tcp_options in 0u8..=10,
        payload in prop_oneof![Just(0u16), 0u16..1460], packet_type in prop_oneof![Just(0u32), Just(3), Just(4)],
        id in prop_oneof![Just(0x1280u16), any::<u16>()],
    ) {
        let mut packet = packet(family, flags, ip_options, tcp_options, payload);
        if family == Family::Ipv4 {
            packet[4..6].copy_from_slice(&id.to_be_bytes());
        }
        let held = |holds| held(holds, family);
        let segment = Segment::parse(&packet).unwrap();
        prop_assert_eq!((segment.payload, segment.flow.is_ipv6()), (payload, family == Family::Ipv6));
        let special = segment.flags.syn() || segment.flags.fin() || segment.flags.rst();
        let data = (payload > 0 || segment.flags.fin()) && !segment.flags.syn() && !segment.flags.rst();
        prop_assert_eq!(run(&held(Holds::Data), &packet, 0) != 0, data);
        prop_assert_eq!(run(&held(Holds::Acks { syn_acks: false, requests: false }), &packet, 0) != 0, segment.is_pure_ack());
        let syn_ack = segment.flags.syn() && segment.flags.ack() && !segment.flags.fin() && !segment.flags.rst();
        prop_assert_eq!(
            run(&held(Holds::Acks { syn_acks: true, requests: false }), &packet, 0) != 0,
            segment.is_pure_ack() || syn_ack
        );
        let asks = Holds::Acks { syn_acks: false, requests: true };
        prop_assert_eq!(run(&held(asks), &packet, 0) != 0, segment.flags.ack() && !special);
        let seen = packet_type != 3 && (special || payload > 0 && packet_type == 0);
        let acks = Holds::Acks { syn_acks: false, requests: false };
        prop_assert_eq!(run(&sniffed(acks, true), &framed(&packet), packet_type) != 0, seen);
        let without = run(&sniffed(acks, false), &framed(&packet), packet_type) != 0;
        prop_assert_eq!(without, seen && family == Family::Ipv4, "no rule for IPv6");
        let opens = run(&opens(true), &framed(&packet), packet_type) != 0;
        prop_assert_eq!(opens, packet_type == 4 && segment.flags.syn());
        // Samples of IPv6 are random, and the numbers of this test never zero.
        let seen = seen || packet_type != 3 && family == Family::Ipv4 && id % 128 == 0;
        prop_assert_eq!(run(&sniffed(Holds::Data, true), &framed(&packet), packet_type) != 0, seen);
    }

    #[test]
    fn no_bytes_lead_a_program_astray(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let acks = Holds::Acks { syn_acks: true, requests: false };
        for holds in [Holds::Data, acks] {
            for family in FAMILIES {
                prop_assert!(run(&held(holds, family), &bytes, 0) <= SNAP_LEN);
            }
            prop_assert!(run(&sniffed(holds, true), &bytes, 0) <= SNAP_LEN);
        }
    }
}

#[test]
fn fragments_extension_headers_and_other_protocols_are_not_held() {
    let held = |packet: &[u8], family| run(&held(Holds::Data, family), packet, 0);
    for (family, protocol) in [(Family::Ipv4, 9), (Family::Ipv6, 6)] {
        let data = packet(family, ACK, 0, 0, 100);
        assert_eq!(held(&data, family), 1);
        // UDP, and a header of hop-by-hop options.
        for other in [17, 0] {
            let mut packet = data.clone();
            packet[protocol] = other;
            assert_eq!(held(&packet, family), 0, "{family:?} {other}");
            assert!(Segment::parse(&packet).is_err());
        }
    }
    let mut fragment = packet(Family::Ipv4, ACK, 0, 0, 100);
    fragment[7] = 1;
    assert_eq!(held(&fragment, Family::Ipv4), 0);
}

#[test]
fn one_in_128_segments_of_ipv6_is_a_sample() {
    let ack = framed(&packet(Family::Ipv6, ACK, 0, 0, 0));
    let program = sniffed(Holds::Data, true);
    let seen = (0..1024).filter(|random| run_with(&program, &ack, 4, *random) != 0).count();
    assert_eq!(seen, 8);
}

#[test]
fn datagrams_to_our_port_and_frames_of_our_type_are_chosen_and_nothing_else() {
    let program = datagrams(1021);
    let udp = |family, port: u16| {
        let mut packet = packet(family, 0, 0, 0, 60);
        let at = if family == Family::Ipv4 { 20 } else { 40 };
        packet[if family == Family::Ipv4 { 9 } else { 6 }] = 17;
        packet[at + 2..at + 4].copy_from_slice(&port.to_be_bytes());
        packet
    };
    for family in FAMILIES {
        assert_eq!(run(&program, &framed(&udp(family, 1021)), 0), 112);
        assert_eq!(run(&program, &framed(&udp(family, 1022)), 0), 0, "another port");
        assert_eq!(run(&program, &framed(&packet(family, ACK, 0, 0, 60)), 0), 0, "TCP");
    }
    let mut fragment = udp(Family::Ipv4, 1021);
    fragment[6] = 0x20;
    assert_eq!(run(&program, &framed(&fragment), 0), 0);
    let mut ours = [0; 60];
    ours[12..14].copy_from_slice(&[0x88, 0xb5]);
    assert_eq!((run(&program, &ours, 0), run(&nothing(), &ours, 0)), (112, 0));
}

#[test]
fn all_control_frames_but_credits_are_signals_in_whatever_way_they_travel() {
    let port = NonZero::new(1021).unwrap();
    for carrier in [Carrier::Ethernet, Carrier::Udp(port)] {
        let program = match carrier {
            Carrier::Ethernet => signals(None),
            Carrier::Udp(port) => signals(Some(port.get())),
        };
        for (source, destination) in
            [(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])), ([1; 16].into(), [2; 16].into())]
        {
            let flow = FlowKey { source, destination, source_port: 9, destination_port: 10 };
            for kind in [Kind::Request, Kind::Stop, Kind::Accept, Kind::Stopped, Kind::Credit] {
                let control = Control {
                    kind,
                    flow,
                    session: 1,
                    cookie: 2,
                    number: 3,
                    value: 4,
                    mtu: 1500,
                    wants_ecn: false,
                };
                let frame = control.encode(carrier, MacAddr([2; 6]), MacAddr([4; 6]));
                assert_eq!(
                    run(&program, &frame, 0) != 0,
                    kind != Kind::Credit,
                    "{carrier:?} {kind:?} {source}"
                );
            }
        }
    }
}

#[test]
fn bytecode_begins_with_the_number_of_its_instructions() {
    let program = held(Holds::Data, Family::Ipv4);
    let text = to_bytecode(&program);
    assert_eq!(text.split(',').count(), program.len() + 1);
    assert!(text.starts_with(&format!("{},48 0 0 9,21 0 ", program.len())), "{text}");
    assert!(text.ends_with(",6 0 0 1,6 0 0 0"), "{text}");
}
