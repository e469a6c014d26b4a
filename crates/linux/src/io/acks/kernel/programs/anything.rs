//! Any packets: the programs read them as the daemon does, take what NFQUEUE would get, and leave no frame half.

use super::*;
use crate::io::filter::{Family, Holds, held as filter, tests::run as run_filter};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;

/// A change that breaks a frame, or makes it one of another kind.
#[derive(Clone, Debug)]
enum Change {
    /// A byte of the headers.
    Byte(Index, u8),
    /// The end is cut off.
    Cut(Index),
    /// So many bytes stand behind.
    Longer(usize),
    /// A tag of a VLAN stands behind the addresses.
    Tag,
    /// The length that the TCP header tells, in words.
    Offset(u8),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        2 => any::<Index>().prop_map(Change::Cut),
        1 => (1usize..30).prop_map(Change::Longer),
        1 => Just(Change::Tag),
        1 => (0u8..16).prop_map(Change::Offset),
    ]
}

fn changed(mut frame: Vec<u8>, changes: &[Change], is_six: bool) -> Vec<u8> {
    for change in changes {
        match change {
            Change::Byte(at, byte) => {
                // The addresses of the frame tell whether it is for this host.
                let headers = frame.len().min(120);
                if headers > 12 {
                    frame[12 + at.index(headers - 12)] = *byte;
                }
            }
            Change::Cut(at) => frame.truncate(ETHERNET + at.index(frame.len().max(ETHERNET + 1) - ETHERNET)),
            Change::Longer(bytes) => frame.extend(vec![7; *bytes]),
            Change::Tag => drop(frame.splice(12..12, [0x81, 0, 0, 5])),
            Change::Offset(words) => {
                let at = ETHERNET + if is_six { 40 } else { 20 } + 12;
                if let Some(byte) = frame.get_mut(at) {
                    *byte = words << 4;
                }
            }
        }
    }
    frame
}

/// Returns what the daemon reads in a whole frame that one of its programs may read: no tag, and headers that are there.
fn read(frame: &[u8]) -> Option<(Segment, Family, usize)> {
    let (family, ip) = match frame.get(12..14)? {
        [8, 0] => (Family::Ipv4, usize::from(frame.get(ETHERNET)? & 15) * 4),
        [0x86, 0xdd] => (Family::Ipv6, 40),
        _ => return None,
    };
    let segment = Segment::parse(frame.get(ETHERNET..)?).ok()?;
    let is_six = segment.flow.is_ipv6();
    let tcp = ETHERNET + ip;
    let headers = tcp + usize::from(frame.get(tcp + 12)? >> 4) * 4;
    // The kernel has the headers whole before it copies them.
    (is_six == (family == Family::Ipv6) && headers <= frame.len()).then_some((segment, family, headers))
}

fn check(
    programs: &mut Programs,
    is_six: bool,
    is_in: bool,
    packet: &Packet,
    changes: &[Change],
) -> Result<(), TestCaseError> {
    let flow = key(is_six);
    let frame = changed(packet.frame(), changes, is_six);
    programs.comes_in(&Packet::data(flow, 0, 1).frame());
    let name = if is_in { "cw_acks_in" } else { "cw_acks_out" };
    let Some((result, after)) = programs.run(name, &frame, 0) else { return Ok(()) };
    let events = programs.events();
    prop_assert_eq!(&after, &frame, "no program changes a packet");
    let read = read(&frame);
    let ends = |segment: &Segment| segment.flags.0 & 7 != 0;
    if is_in {
        prop_assert_eq!(result, NEXT);
        let told = read.filter(|(segment, ..)| segment.payload > 0 || ends(segment));
        match (told, &events[..]) {
            (Some((segment, ..)), [Event::Seen(Direction::Incoming, seen, _)]) => {
                prop_assert_eq!(&segment, seen)
            }
            (None, []) => {}
            (told, events) => prop_assert!(false, "{told:?} {events:?}"),
        }
        return Ok(());
    }
    let holds = Holds::Acks { syn_acks: true, requests: false };
    let is_held = |family| run_filter(&filter(holds, family), &frame[ETHERNET..], 0) != 0;
    let is_taken = read.is_some_and(|(segment, family, headers)| {
        let is_ours = place(segment.flow.reversed()) == place(flow) || segment.flags.syn();
        is_held(family) && is_ours && headers == frame.len() && segment.payload == 0
    });
    match (is_taken, &events[..]) {
        (true, [Event::Held(id, segment)]) => {
            prop_assert_eq!((result, Some(*segment)), (TAKEN_AWAY, read.map(|(segment, ..)| segment)));
            let whole = programs.frames.frame(*id);
            prop_assert_eq!(whole.len(), frame.len());
            if changes.is_empty() {
                prop_assert_eq!(fault(whole), None);
            }
            programs.frames.verdict(*id, crate::datapath::Verdict::Drop);
        }
        (false, []) => prop_assert_eq!(result, NEXT),
        (false, [Event::Seen(Direction::Outgoing, segment, _)]) => {
            prop_assert_eq!(result, NEXT);
            prop_assert!(ends(segment));
        }
        (is_taken, events) => prop_assert!(false, "taken {is_taken}: {events:?}"),
    }
    Ok(())
}

/// Runs cases in which the programs find what the first case found. Data that comes marks the place of its connection, and a
/// changed frame may be data of any connection, whose acknowledgements are taken from then on. So cases of each way and each family
/// have programs of their own: those at which packets go out see data of one connection alone.
fn sequences(cases: u32) {
    let load = || (0..4).map(|_| Programs::load().map(RefCell::new)).collect::<Option<Vec<_>>>();
    let Some(programs) = load() else { return };
    let flags = prop_oneof![6 => Just(16u8), 1 => Just(17), 1 => Just(18), 1 => any::<u8>()];
    let payload = prop_oneof![4 => Just(0usize), 1 => 1usize..1_500];
    let options = prop_oneof![2 => Just(0usize), 3 => Just(3), 1 => 0usize..=10];
    let changes = prop_oneof![1 => Just(Vec::new()), 1 => prop::collection::vec(change(), 1..3)];
    let strategy = (any::<(bool, bool, u8, u32)>(), flags, payload, options, changes);
    let mut runner = TestRunner::new(Config { cases, ..Config::default() });
    let result = runner.run(&strategy, |((is_six, is_in, class, number), flags, payload, words, changes)| {
        let flow = key(is_six);
        let packet = if is_in { Packet::data(flow, number, 0) } else { ack(flow, number) };
        let packet = Packet { flags, class, payload, options: vec![1; words * 4], ..packet };
        let programs = &programs[usize::from(is_six) * 2 + usize::from(is_in)];
        check(&mut programs.borrow_mut(), is_six, is_in, &packet, &changes)
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    assert!(programs.iter().all(|programs| programs.borrow().frames.len() == 0), "nothing is left");
}

#[test]
fn any_packet_is_taken_told_or_left_alone_as_the_rules_for_nfqueue_and_the_daemon_read_it() {
    sequences(2_000);
}
