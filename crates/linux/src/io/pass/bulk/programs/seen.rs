//! The program at the packet socket, which chooses what the daemon hears of and counts the rest.

use super::*;
use crate::io::filter::SNAP_LEN;
use crate::io::pass::counted::Counting;
use crate::io::samples::{ACK, FIN, RST, SYN};
use crate::wire::{Control, Kind};

/// The traffic class of data that names a credit.
const SCHEDULED: u8 = 3 << 2;

/// Loads the programs with a daemon that hears IPv6 and counts, for a flow from the other host.
fn on_both_counted(test: impl Fn(&mut Programs, FlowKey)) {
    on_both(|programs, flow| {
        let Some(Map::Array(map)) = programs.loaded.map("cw_counted") else { panic!("there is no such map") };
        let shared = Shared::map(map.fd().as_fd()).expect("the flows are mapped");
        programs.pass.counting = Some(Counting::over(shared, None));
        programs.pass.hear_ipv6(true);
        let FlowKey { source, destination, source_port, destination_port } = flow;
        let (source, destination) = (destination, source);
        let (source_port, destination_port) = (destination_port, source_port);
        test(programs, FlowKey { source, destination, source_port, destination_port });
    });
}

/// Returns true if the daemon hears of a packet.
fn hears(programs: &Programs, packet: &Packet) -> bool {
    let frame = packet.frame();
    // The kernel takes the Ethernet header away before it runs a program of this kind, and here the program reads from that on.
    let twice = [&frame[..ETHERNET], &frame].concat();
    match programs.run("cw_seen", &twice, 1).expect("the kernel runs the program").0 {
        0 => false,
        bytes => {
            assert_eq!(bytes as u32, SNAP_LEN);
            true
        }
    }
}

fn told(programs: &mut Programs) -> Vec<(FlowKey, u64, u64, u64)> {
    let mut told = Vec::new();
    programs.pass.tally_small(|small| told.push((small.flow, small.packets, small.payload, small.wire)));
    told
}

/// Has the daemon hear of a packet, so that its flow has a place.
fn learn(programs: &mut Programs, packet: &Packet) {
    let segment = Segment::parse(&packet.frame()[ETHERNET..]).expect("a segment");
    programs.pass.on_small(&segment);
}

#[test]
fn small_packets_of_a_flow_that_was_heard_of_are_counted_while_the_daemon_looks_for_them() {
    on_both_counted(|programs, flow| {
        let small = Packet::data(flow, 1_000, 100);
        assert!(programs.pass.look_for_small(true));
        assert!(hears(programs, &small), "the flow has no place");
        learn(programs, &small);
        assert!(!hears(programs, &small) && !hears(programs, &Packet::data(flow, 1_100, 60)));
        let head = if flow.is_ipv6() { 72 + 38 } else { 52 + 38 };
        assert_eq!(told(programs), [(flow, 2, 160, 160 + 2 * head)]);
        let other = FlowKey { source_port: flow.source_port + 1, ..flow };
        assert!(hears(programs, &Packet::data(other, 1_000, 100)));
        programs.pass.look_for_small(false);
        assert!(hears(programs, &small), "nobody looks");
        assert_eq!(told(programs), []);
    });
}

#[test]
fn the_daemon_hears_of_data_with_a_credit_of_large_data_and_of_the_ends_of_connections() {
    on_both_counted(|programs, flow| {
        let small = Packet::data(flow, 1_000, 100);
        programs.pass.look_for_small(true);
        learn(programs, &small);
        assert!(hears(programs, &Packet { class: SCHEDULED, ..small.clone() }), "it names a credit");
        let head = if flow.is_ipv6() { 72 + 38 } else { 52 + 38 };
        let most = SMALL as usize - head;
        assert!(!hears(programs, &Packet::data(flow, 1_000, most)));
        assert!(hears(programs, &Packet::data(flow, 1_000, most + 1)), "it is large");
        for flags in [SYN, SYN | ACK, FIN | ACK, RST] {
            assert!(hears(programs, &Packet { flags, ..small.clone() }));
        }
        learn(programs, &Packet { flags: FIN | ACK, ..small.clone() });
        assert!(hears(programs, &small), "the connection has ended");
        assert_eq!(told(programs), [(flow, 1, most as u64, SMALL.into())]);
    });
}

#[test]
fn one_acknowledgement_in_128_is_heard_of_and_far_fewer_while_small_packets_are_counted() {
    on_both_counted(|programs, flow| {
        let ack = Packet::data(flow, 1_000, 0);
        let heard = |programs: &Programs| (0..2_000).filter(|_| hears(programs, &ack)).count();
        // 15.6 on average; of 2,000 draws fewer than 2 or more than 50 come less than once in a million times.
        let often = heard(programs);
        assert!((2..=50).contains(&often), "{often}");
        programs.pass.look_for_small(true);
        assert!(heard(programs) <= 8, "half a packet on average");
    });
}

#[test]
fn the_daemon_hears_neither_of_packets_for_other_hosts_nor_of_ipv6_unless_it_wants_to_nor_of_anything_else() {
    on_both_counted(|programs, flow| {
        let small = Packet::data(flow, 1_000, 100);
        let frame = small.frame();
        let run = |frame: &[u8]| {
            programs.run("cw_seen", &[&frame[..ETHERNET], frame].concat(), 1).expect("it runs").0
        };
        let mut others = frame.clone();
        others[..6].copy_from_slice(&[2, 0, 0, 0, 0, 7]);
        assert_eq!(run(&others), 0, "another host's");
        let mut udp = frame.clone();
        udp[ETHERNET + if flow.is_ipv6() { 6 } else { 9 }] = 17;
        assert_eq!(run(&udp), 0, "not TCP");
        let cookie = Control { kind: Kind::Request, ..credit(flow, 1) };
        assert_eq!(run(&samples::control(&cookie)), 0, "a control frame");
        programs.pass.hear_ipv6(false);
        assert_eq!(hears(programs, &small), !flow.is_ipv6());
    });
}
