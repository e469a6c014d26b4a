//! The programs at the NIC and at the packet socket, which choose what the daemon hears of and count the rest.

use super::*;
use crate::io::filter::SNAP_LEN;
use crate::io::pass::counted::Counting;
use crate::io::pass::heard::Heard;
use crate::io::samples::{ACK, FIN, RST, SYN};
use crate::wire::{Control, Kind};
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use std::os::fd::BorrowedFd;

/// The traffic class of data that names a credit.
const SCHEDULED: u8 = 3 << 2;
/// The programs by which the daemon hears of packets that come.
const SOCKET: &str = "cw_seen";
const COMES: [&str; 3] = [SOCKET, "cw_credits_in", "cw_bulk_in"];
/// Those at the NIC by which it hears of packets that leave.
const LEAVES: [&str; 2] = ["cw_small_out", "cw_bulk_out"];

/// A daemon that hears by one program.
struct Ear<'a> {
    programs: &'a mut Programs,
    heard: Heard,
    way: &'static str,
}

/// Runs a test with a daemon that hears IPv6 and counts, for a flow from the other host, by each of these programs.
fn on_each(ways: &[&'static str], test: impl Fn(&mut Ear<'_>, FlowKey)) {
    for way in ways {
        on_both(|programs, flow| {
            let Some(Map::Array(map)) = programs.loaded.map("cw_counted") else {
                panic!("there is no such map")
            };
            let shared = Shared::map(map.fd().as_fd()).expect("the flows are mapped");
            programs.pass.counting = Some(Counting::over(shared, None));
            assert!(programs.pass.hear(true).is_none(), "the test has the rings");
            let heard = Heard::of(&mut programs.loaded).expect("the rings are mapped");
            let FlowKey { source, destination, source_port, destination_port } = flow;
            let (source, destination) = (destination, source);
            let (source_port, destination_port) = (destination_port, source_port);
            let flow = FlowKey { source, destination, source_port, destination_port };
            test(&mut Ear { programs, heard, way }, flow);
        });
    }
}

impl Ear<'_> {
    /// Returns true if the daemon hears of a packet.
    fn hears(&mut self, packet: &Packet) -> bool {
        self.hears_frame(&packet.frame())
    }

    fn hears_frame(&mut self, frame: &[u8]) -> bool {
        if self.way == SOCKET {
            // The kernel takes the Ethernet header away before it runs a program of this kind, and here the program reads from that on.
            let twice = [&frame[..ETHERNET], frame].concat();
            let (bytes, _) = self.programs.run(self.way, &twice, 1).expect("the kernel runs the program");
            assert!(bytes == 0 || bytes as u32 == SNAP_LEN, "{bytes}");
            return bytes != 0;
        }
        let (result, _) = self.programs.run(self.way, frame, 1).expect("the kernel runs the program");
        assert_eq!(result, NEXT, "{}", self.way);
        let mut told = Vec::new();
        self.heard.read(9, |bytes, is_outgoing| told.push((bytes.to_vec(), is_outgoing)));
        assert!(told.len() <= 1, "{told:?}");
        told.pop().is_some_and(|(bytes, is_outgoing)| {
            assert_eq!(bytes, frame[..frame.len().min(SNAP_LEN as usize)]);
            assert_eq!(is_outgoing, LEAVES.contains(&self.way));
            true
        })
    }
}

/// Returns true if there is something to read.
fn is_readable(fd: BorrowedFd<'_>) -> bool {
    poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], 0u8).expect("poll answers") > 0
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
    on_each(&COMES, |ear, flow| {
        let small = Packet::data(flow, 1_000, 100);
        assert!(ear.programs.pass.look_for_small(true));
        assert!(ear.hears(&small), "the flow has no place");
        learn(ear.programs, &small);
        assert!(!ear.hears(&small) && !ear.hears(&Packet::data(flow, 1_100, 60)));
        let head = if flow.is_ipv6() { 72 + 38 } else { 52 + 38 };
        assert_eq!(told(ear.programs), [(flow, 2, 160, 160 + 2 * head)]);
        let other = FlowKey { source_port: flow.source_port + 1, ..flow };
        assert!(ear.hears(&Packet::data(other, 1_000, 100)));
        ear.programs.pass.look_for_small(false);
        assert!(ear.hears(&small), "nobody looks");
        assert_eq!(told(ear.programs), []);
    });
}

#[test]
fn the_daemon_hears_of_data_with_a_credit_of_large_data_and_of_the_ends_of_connections() {
    on_each(&COMES, |ear, flow| {
        let small = Packet::data(flow, 1_000, 100);
        ear.programs.pass.look_for_small(true);
        learn(ear.programs, &small);
        assert!(ear.hears(&Packet { class: SCHEDULED, ..small.clone() }), "it names a credit");
        let head = if flow.is_ipv6() { 72 + 38 } else { 52 + 38 };
        let most = SMALL as usize - head;
        assert!(!ear.hears(&Packet::data(flow, 1_000, most)));
        assert!(ear.hears(&Packet::data(flow, 1_000, most + 1)), "it is large");
        for flags in [SYN, SYN | ACK, FIN | ACK, RST] {
            assert!(ear.hears(&Packet { flags, ..small.clone() }));
        }
        learn(ear.programs, &Packet { flags: FIN | ACK, ..small.clone() });
        assert!(ear.hears(&small), "the connection has ended");
        assert_eq!(told(ear.programs), [(flow, 1, most as u64, SMALL.into())]);
    });
}

#[test]
fn one_acknowledgement_in_128_is_heard_of_and_far_fewer_while_small_packets_are_counted() {
    on_each(&COMES, |ear, flow| {
        let ack = Packet::data(flow, 1_000, 0);
        let heard = |ear: &mut Ear<'_>| (0..2_000).filter(|_| ear.hears(&ack)).count();
        // 15.6 on average; of 2,000 draws fewer than 2 or more than 50 come less than once in a million times.
        let often = heard(ear);
        assert!((2..=50).contains(&often), "{often}");
        ear.programs.pass.look_for_small(true);
        assert!(heard(ear) <= 8, "half a packet on average");
    });
}

#[test]
fn the_daemon_hears_neither_of_packets_for_other_hosts_nor_of_ipv6_unless_it_wants_to_nor_of_anything_else() {
    on_each(&COMES, |ear, flow| {
        let small = Packet::data(flow, 1_000, 100);
        let frame = small.frame();
        let mut others = frame.clone();
        others[..6].copy_from_slice(&[2, 0, 0, 0, 0, 7]);
        assert!(!ear.hears_frame(&others), "another host's");
        let mut udp = frame.clone();
        udp[ETHERNET + if flow.is_ipv6() { 6 } else { 9 }] = 17;
        assert!(!ear.hears_frame(&udp), "not TCP");
        let cookie = Control { kind: Kind::Request, ..credit(flow, 1) };
        assert!(!ear.hears_frame(&samples::control(&cookie)), "a control frame");
        ear.programs.pass.hear(false);
        assert_eq!(ear.hears(&small), !flow.is_ipv6());
    });
}

#[test]
fn of_packets_that_leave_the_daemon_hears_when_a_connection_begins_or_ends_and_of_one_in_128_others() {
    on_each(&LEAVES, |ear, flow| {
        let flow = FlowKey {
            source: flow.destination,
            destination: flow.source,
            source_port: flow.destination_port,
            destination_port: flow.source_port,
        };
        let data = Packet::data(flow, 1_000, 100);
        for flags in [SYN, SYN | ACK, FIN | ACK, RST] {
            assert!(ear.hears(&Packet { flags, ..data.clone() }));
        }
        let heard = (0..2_000).filter(|_| ear.hears(&data)).count();
        assert!((2..=50).contains(&heard), "{heard}");
        ear.programs.pass.look_for_small(true);
        assert!((0..2_000).filter(|_| ear.hears(&data)).count() <= 8, "half a packet on average");
    });
}

#[test]
fn a_connection_that_is_opened_from_here_or_answered_wakes_the_daemon_and_others_only_if_they_shall() {
    on_each(&["cw_credits_in", "cw_small_out"], |ear, flow| {
        let is_outgoing = LEAVES.contains(&ear.way);
        for (flags, wakes) in [(SYN, true), (SYN | ACK, true), (FIN | ACK, false), (RST, false)] {
            let wakes = wakes && is_outgoing;
            assert!(ear.hears(&Packet { flags, ..Packet::data(flow, 1_000, 0) }));
            assert_eq!(is_readable(ear.heard.opened()), wakes, "{} with {flags}", ear.way);
            ear.heard.forget_opened();
            assert!(!is_readable(ear.heard.opened()), "it is forgotten");
        }
        let frame = Packet { flags: RST, ..Packet::data(flow, 1_000, 0) }.frame();
        for wakes in [false, true, false] {
            ear.heard.wake(wakes);
            // Such a wait sees wake-ups alone, and not what there is to read.
            let waits = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).expect("the kernel makes a wait");
            let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, 0);
            waits.add(ear.heard.fd(), event).expect("it waits for the ring");
            ear.programs.run(ear.way, &frame, 1).expect("the kernel runs the program");
            let most_ms = if wakes { 5_000u16 } else { 0 };
            let woken = waits.wait(&mut [EpollEvent::empty()], most_ms).expect("the wait ends");
            assert_eq!(woken > 0, wakes, "{}", ear.way);
            assert_eq!(ear.heard.read(9, |_, _| {}), 1);
        }
    });
}

#[test]
fn the_daemon_hears_nothing_from_the_nic_while_a_packet_socket_tells_it() {
    on_each(&["cw_credits_in", "cw_bulk_in", "cw_small_out", "cw_bulk_out"], |ear, flow| {
        ear.programs.table().hears.store(0, Relaxed);
        assert!(!ear.hears(&Packet { flags: SYN, ..Packet::data(flow, 1_000, 0) }));
        assert!(!is_readable(ear.heard.opened()));
    });
}

#[test]
fn packets_for_which_the_ring_has_no_room_are_lost_and_later_ones_are_heard() {
    on_each(&["cw_credits_in"], |ear, flow| {
        let opens = |seq| Packet { flags: SYN, ..Packet::data(flow, seq, 0) }.frame();
        let room = (4 << 20) / (8 + 2 + SNAP_LEN as usize);
        for seq in 0..room as u32 + 50 {
            ear.programs.run(ear.way, &opens(seq), 1).expect("the kernel runs the program");
        }
        let mut told = 0;
        while ear.heard.read(1_000, |_, _| told += 1) > 0 {}
        assert!((room - 100..=room).contains(&told), "{told} of {room}");
        assert!(ear.hears_frame(&opens(7)));
    });
}
