//! The daemon's side of the table, with the program of the kernel played by a function.

use super::*;
use crate::io::pass::hash::words;
use crate::io::pass::memory::Table;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::AtomicU32;

fn counting() -> (Shared<Table>, Counting) {
    (Shared::anonymous(), Counting::over(Shared::anonymous(), None))
}

fn key(number: u16) -> FlowKey {
    let address = |last: u8| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    FlowKey { source: address(2), destination: address(1), source_port: number, destination_port: 80 }
}

/// Flows that may have the same places as `key(0)`.
fn crowd(count: usize) -> Vec<FlowKey> {
    (0..).map(key).filter(|other| first_place(other) == first_place(&key(0))).take(count).collect()
}

/// Does what the program does with a small packet while counts are looked for. Returns false if the daemon hears of it.
fn meets(table: &Table, counting: &Counting, key: &FlowKey, wire: u64) -> bool {
    let same = |stored: &[AtomicU32; 4], address: IpAddr| {
        stored.iter().map(|word| word.load(Relaxed)).eq(words(address))
    };
    let places = counting.shared.table();
    let at = (0..PROBES).map(|step| (first_place(key) + step) % COUNTED).find(|at| {
        let place = &places[*at];
        place.version.load(Relaxed) == 4
            && place.ports.load(Relaxed) == ports(key)
            && same(&place.source, key.source)
            && same(&place.destination, key.destination)
    });
    let Some(at) = at else { return false };
    places[at].packets.fetch_add(1, Relaxed);
    places[at].payload.fetch_add(wire - 90, Relaxed);
    places[at].wire.fetch_add(wire, Relaxed);
    table.moved_counted[at / 64].fetch_or(1 << (at % 64), Relaxed);
    true
}

fn tally(table: &Table, counting: &mut Counting) -> Vec<Small> {
    let mut all = Vec::new();
    counting.tally(table, |small| all.push(small));
    all
}

#[test]
fn packets_of_a_flow_are_counted_once_one_was_heard_and_told_of_once() {
    let (shared, mut counting) = counting();
    let table = shared.table();
    assert!(!meets(table, &counting, &key(1), 190));
    counting.learn(&key(1));
    counting.learn(&key(1));
    assert!(meets(table, &counting, &key(1), 190) && meets(table, &counting, &key(1), 200));
    assert!(!meets(table, &counting, &key(2), 190), "another flow");
    let small = Small { flow: key(1), packets: 2, payload: 210, wire: 390 };
    assert_eq!(tally(table, &mut counting), [small]);
    assert_eq!((tally(table, &mut counting), counting.packets), (vec![], 2));
}

#[test]
fn a_connection_that_ends_gives_its_place_back_and_what_was_counted_is_told_of_all_the_same() {
    let (shared, mut counting) = counting();
    let table = shared.table();
    counting.learn(&key(1));
    assert!(meets(table, &counting, &key(1), 190));
    counting.forget(&key(1));
    counting.forget(&key(2));
    assert!(!meets(table, &counting, &key(1), 190), "the daemon hears of it again");
    let small = Small { flow: key(1), packets: 1, payload: 100, wire: 190 };
    assert_eq!(tally(table, &mut counting), [small]);
    counting.learn(&key(1));
    assert_eq!(tally(table, &mut counting), [], "the new connection begins with nothing");
}

#[test]
fn a_flow_takes_the_place_of_one_without_packets_for_a_second_and_of_no_other() {
    let (shared, mut counting) = counting();
    let table = shared.table();
    let flows = crowd(PROBES + 1);
    let (last, first) = flows.split_last().expect("there are some");
    first.iter().for_each(|key| counting.learn(key));
    counting.learn(last);
    assert!(!meets(table, &counting, last, 190), "all places are in use");
    // The one that becomes idle has not the first place that is looked at.
    let (busy, idle) = ([&first[..1], &first[2..]].concat(), &first[1]);
    for _ in 0..IDLE_LOOKS {
        busy.iter().for_each(|key| assert!(meets(table, &counting, key, 190)));
        tally(table, &mut counting);
        counting.look();
    }
    assert!(meets(table, &counting, idle, 190), "it still has its place");
    counting.learn(last);
    assert!(!meets(table, &counting, idle, 190) && meets(table, &counting, last, 190));
    let told: Vec<FlowKey> = tally(table, &mut counting).into_iter().map(|small| small.flow).collect();
    assert_eq!(told, [*idle, *last], "nothing that was counted is lost");
}

#[test]
fn packets_are_counted_only_while_the_daemon_says_that_it_looks_for_them() {
    let (shared, _) = counting();
    let table = shared.table();
    for looks in [true, true, false] {
        Counting::look_for(table, looks);
        assert_eq!(table.counts.load(Relaxed), u32::from(looks));
    }
}

proptest! {
    #[test]
    fn every_packet_is_heard_or_told_of_with_its_bytes_whatever_flows_come_and_go(
        steps in prop::collection::vec((0usize..24, 0u32..8, 94u64..769), 1..400),
    ) {
        let (shared, mut counting) = counting();
        let table = shared.table();
        // Half of the flows share four places.
        let flows = [crowd(12), (1..13).map(key).collect()].concat();
        let (mut came, mut told) = (BTreeMap::<FlowKey, [u64; 2]>::new(), BTreeMap::<FlowKey, [u64; 2]>::new());
        for (flow, what, wire) in steps {
            let key = flows[flow];
            match what {
                0 => counting.forget(&key),
                1 => (0..IDLE_LOOKS / 2).for_each(|_| counting.look()),
                2 => for small in tally(table, &mut counting) {
                    let sum = told.entry(small.flow).or_default();
                    *sum = [sum[0] + small.packets, sum[1] + small.wire];
                },
                _ if meets(table, &counting, &key, wire) => {
                    let sum = came.entry(key).or_default();
                    *sum = [sum[0] + 1, sum[1] + wire];
                }
                _ => counting.learn(&key),
            }
            prop_assert_eq!(counting.places.len(), counting.flows.iter().flatten().count());
        }
        for small in tally(table, &mut counting) {
            let sum = told.entry(small.flow).or_default();
            *sum = [sum[0] + small.packets, sum[1] + small.wire];
        }
        prop_assert_eq!(told, came);
    }
}
