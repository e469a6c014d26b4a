//! The daemon's side of the table of flows, with the programs of the kernel played by functions.

use super::*;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

fn knows(_: &FlowKey) -> Option<Connection> {
    Some(Connection { scale: 7, payload: 1448, unsent: 0, window: 0 })
}

fn bulks() -> Bulks {
    Bulks::over(Shared::anonymous(), Kernel::Played(knows, |_| {}))
}

fn key(number: u32) -> FlowKey {
    let address = |last: u32| Ipv4Addr::from(0x0a00_0000 + last).into();
    FlowKey {
        source: address(1),
        destination: address(2 + number / 60_000),
        source_port: (number % 60_000) as u16,
        destination_port: 80,
    }
}

fn bulk(flow: FlowKey) -> Bulk {
    let peer = MacAddr([2, 0, 0, 0, 0, 9]);
    Bulk {
        flow,
        is_small: false,
        session: 3,
        cookie: 77,
        peer,
        ecn: true,
        keep: 5,
        highest: 100,
        seen: 0b101,
    }
}

/// The place of a flow, found as the programs do.
fn place<'a>(bulks: &'a Bulks, flow: &FlowKey) -> Option<&'a BulkPlace> {
    let version = if flow.is_ipv6() { 6 } else { 4 };
    let same = |stored: &[std::sync::atomic::AtomicU32; 4], address: IpAddr| {
        stored.iter().map(|word| word.load(Relaxed)).eq(words(address))
    };
    (0..PROBES).map(|step| &bulks.shared.table()[(first_place(flow) + step) % BULKS]).find(|place| {
        place.version.load(Relaxed) == version
            && place.ports.load(Relaxed) == ports(flow)
            && same(&place.source, flow.source)
            && same(&place.destination, flow.destination)
    })
}

/// Does what the programs do with so many credits and packets of a flow. Returns false if the flow is not the kernel's.
fn meets(bulks: &Bulks, flow: &FlowKey, credits: u32, packets: u32) -> bool {
    let Some(place) = place(bulks, flow).filter(|place| place.is_on.load(Relaxed) == 1) else { return false };
    place.came.fetch_add(credits, Relaxed);
    place.highest.fetch_add(credits.into(), Relaxed);
    place.last.store(5_000, Relaxed);
    place.taken.fetch_add(packets, Relaxed);
    place.bytes.fetch_add(u64::from(packets) * 1448, Relaxed);
    place.wire.fetch_add(u64::from(packets) * 1538, Relaxed);
    true
}

fn tally(bulks: &mut Bulks) -> Vec<Released> {
    let (mut all, moved) = (Vec::new(), bulks.tallied + 1);
    bulks.tally(moved, 2_000, |released| all.push(released));
    all
}

#[test]
fn a_flow_is_handed_over_with_all_that_its_credits_must_have_and_taken_back_with_what_it_kept() {
    let mut bulks = bulks();
    let six = FlowKey {
        source: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).into(),
        destination: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2).into(),
        ..key(9)
    };
    for flow in [key(1), six] {
        bulks.begin(&bulk(flow));
        let place = place(&bulks, &flow).unwrap();
        assert_eq!((place.session.load(Relaxed), place.cookie.load(Relaxed)), (3, 77));
        assert_eq!(place.peer.load(Relaxed).to_ne_bytes(), [2, 0, 0, 0, 0, 9, 1, 7], "ECN, and the scale");
        assert_eq!((place.payload.load(Relaxed), place.keep.load(Relaxed)), (1448, 5));
        assert_eq!((place.highest.load(Relaxed), place.seen.load(Relaxed)), (100, 0b101));
        assert!(meets(&bulks, &flow, 7, 4));
        bulks.end(&flow, 2_000);
        assert!(!meets(&bulks, &flow, 1, 1));
        let told = Released {
            flow,
            credits: 7,
            packets: 4,
            payload: 4 * 1448,
            wire: 4 * 1538,
            replayed: 0,
            kept: 3,
            last: Time::ZERO + Span::from_ns(3_000),
            highest: 107,
            used: 0,
            unsent: None,
        };
        assert_eq!(tally(&mut bulks), [told]);
        assert_eq!(tally(&mut bulks), [], "it is told once");
        // What it kept is gone, and the next session begins with nothing.
        self::place(&bulks, &flow).unwrap().used.store(0b11, Relaxed);
        bulks.begin(&bulk(flow));
        assert_eq!(self::place(&bulks, &flow).unwrap().used.load(Relaxed), 0);
        assert!(meets(&bulks, &flow, 2, 0));
        assert_eq!(tally(&mut bulks)[0].kept, 2);
        bulks.end(&flow, 2_000);
        tally(&mut bulks);
    }
}

#[test]
fn what_the_kernel_does_before_the_daemon_goes_on_is_told_too() {
    let at_once = |place: &BulkPlace| {
        place.came.fetch_add(16, Relaxed);
        place.taken.fetch_add(16, Relaxed);
        place.bytes.fetch_add(16 * 1448, Relaxed);
        place.wire.fetch_add(16 * 1538, Relaxed);
    };
    let mut bulks = Bulks::over(Shared::anonymous(), Kernel::Played(knows, at_once));
    for _ in 0..2 {
        bulks.begin(&bulk(key(1)));
        let told = tally(&mut bulks);
        assert_eq!((told[0].credits, told[0].packets, told[0].payload), (16, 16, 16 * 1448));
        bulks.end(&key(1), 0);
        tally(&mut bulks);
    }
}

#[test]
fn a_packet_that_was_leaving_as_its_flow_was_taken_back_is_told_once() {
    let leaves = |bulks: &Bulks| {
        let place = place(bulks, &key(1)).unwrap();
        place.taken.fetch_add(1, Relaxed);
        place.bytes.fetch_add(1448, Relaxed);
        place.wire.fetch_add(1538, Relaxed);
    };
    for is_begun_again in [false, true] {
        let mut bulks = bulks();
        bulks.begin(&bulk(key(1)));
        meets(&bulks, &key(1), 5, 3);
        bulks.end(&key(1), 0);
        leaves(&bulks);
        if is_begun_again {
            bulks.begin(&bulk(key(1)));
        }
        let told: Vec<_> =
            tally(&mut bulks).iter().map(|told| (told.credits, told.packets, told.kept)).collect();
        assert_eq!(told, [(5, 3, 2), (0, 1, 0)], "what was kept is told as the flow is taken back");
        assert_eq!(tally(&mut bulks), []);
    }
}

#[test]
fn a_connection_that_tcp_does_not_know_here_stays_with_the_daemon() {
    let mut bulks = Bulks::over(Shared::anonymous(), Kernel::Played(|_| None, |_| {}));
    bulks.begin(&bulk(key(1)));
    assert!(!meets(&bulks, &key(1), 1, 0) && bulks.flows.is_empty());
    bulks.end(&key(1), 0);
    assert_eq!(tally(&mut bulks), []);
}

#[test]
fn flows_are_bounded_by_their_places_and_one_that_was_taken_back_gives_its_place_away() {
    let mut bulks = bulks();
    (0..3 * BULKS as u32).for_each(|number| bulks.begin(&bulk(key(number))));
    let on = (0..3 * BULKS as u32).filter(|number| meets(&bulks, &key(*number), 0, 0)).count();
    assert!((BULKS * 9 / 10..=BULKS).contains(&on), "{on} of {BULKS} places are taken");
    assert_eq!(bulks.flows.len(), on);
    // Flows whose first place is the same one.
    let same: Vec<FlowKey> =
        (0..).map(key).filter(|flow| first_place(flow) == first_place(&key(0))).take(200).collect();
    let (mine, others): (Vec<FlowKey>, Vec<FlowKey>) =
        same.iter().partition(|flow| meets(&bulks, flow, 0, 0));
    bulks.begin(&bulk(others[0]));
    assert!(!meets(&bulks, &others[0], 0, 0), "there is no place");
    bulks.end(&mine[0], 0);
    bulks.begin(&bulk(others[0]));
    assert!(meets(&bulks, &others[0], 1, 1) && !meets(&bulks, &mine[0], 0, 0));
    bulks.begin(&bulk(mine[0]));
    assert!(meets(&bulks, &others[0], 0, 0) && !bulks.flows.contains_key(&mine[0]), "the place is gone");
    let told = tally(&mut bulks);
    assert_eq!(told.iter().map(|released| released.flow).collect::<Vec<_>>(), [mine[0], others[0]]);
    assert_eq!(told[1].credits, 1, "what the first one did is not its own");
}

#[test]
fn the_credits_that_are_kept_are_bounded_by_the_numbers_that_have_room() {
    let mut bulks = bulks();
    bulks.begin(&Bulk { keep: 1_000, ..bulk(key(1)) });
    assert_eq!(place(&bulks, &key(1)).unwrap().keep.load(Relaxed), KEPT);
    bulks.begin(&Bulk { keep: 0, ..bulk(key(2)) });
    assert_eq!(place(&bulks, &key(2)).unwrap().keep.load(Relaxed), 1);
}

#[test]
fn all_flows_are_taken_back_at_the_end() {
    let mut bulks = bulks();
    (0..10).for_each(|number| bulks.begin(&bulk(key(number))));
    bulks.end_all(0);
    assert!((0..10).all(|number| !meets(&bulks, &key(number), 0, 0)));
    assert_eq!(tally(&mut bulks).len(), 10);
}

#[test]
fn bytes_that_the_window_of_credits_keeps_in_the_socket_are_told_and_no_others() {
    type Ask = fn(&FlowKey) -> Option<Connection>;
    let connections: [(Ask, u32, &str); 6] = [
        (
            |_| Some(Connection { scale: 7, payload: 1448, unsent: 9_000, window: 0 }),
            9_000,
            "a closed window",
        ),
        (
            |_| Some(Connection { scale: 7, payload: 1448, unsent: 9_000, window: 1_447 }),
            9_000,
            "too small a window",
        ),
        (|_| Some(Connection { scale: 7, payload: 1448, unsent: 100, window: 99 }), 100, "for the rest too"),
        (|_| Some(Connection { scale: 7, payload: 1448, unsent: 9_000, window: 1_448 }), 0, "TCP may send"),
        (|_| Some(Connection { scale: 7, payload: 1448, unsent: 0, window: 0 }), 0, "an empty socket"),
        (|_| None, 0, "a connection that has ended"),
    ];
    for (connection, unsent, why) in connections {
        let mut bulks = bulks();
        bulks.begin(&bulk(key(1)));
        bulks.kernel = Kernel::Played(connection, |_| {});
        let ask = |bulks: &mut Bulks, window: u32| {
            let place = place(bulks, &key(1)).unwrap();
            place.ack.store(u32::MAX - 5, Relaxed);
            place.sent_to.store(u32::MAX - 5, Relaxed);
            place.window.store(window, Relaxed);
            bulks.ask(&key(1));
            tally(bulks).iter().map(|released| released.unsent).collect::<Vec<_>>()
        };
        assert_eq!(ask(&mut bulks, 64_000), [Some(unsent)], "{why}");
        assert_eq!(tally(&mut bulks), [], "it is told once");
        assert_eq!(ask(&mut bulks, 50), [Some(0)], "the other host's own window");
        bulks.end(&key(1), 0);
        tally(&mut bulks);
        assert_eq!(ask(&mut bulks, 64_000), [], "nobody waits for the answer");
    }
}

proptest! {
    #[test]
    fn what_is_told_of_a_flow_adds_up_to_what_it_did(
        steps in prop::collection::vec((0u32..4, 0u32..4, 0u32..6), 1..200),
    ) {
        let mut bulks = bulks();
        let (mut did, mut told, mut kept) = ([[0u64; 2]; 4], [[0u64; 2]; 4], [0u32; 4]);
        let mut hear = |bulks: &mut Bulks| {
            for released in tally(bulks) {
                let at = (0..4).find(|number| key(*number as u32) == released.flow).unwrap();
                told[at][0] += released.credits;
                told[at][1] += released.packets;
            }
            told
        };
        for (number, what, count) in steps {
            let (flow, at) = (key(number), number as usize);
            match what {
                0 => bulks.begin(&bulk(flow)),
                1 => {
                    bulks.end(&flow, 0);
                    kept[at] = 0;
                }
                2 => {
                    hear(&mut bulks);
                }
                _ => {
                    let packets = count.min(kept[at]);
                    if meets(&bulks, &flow, count, packets) {
                        did[at] = [did[at][0] + u64::from(count), did[at][1] + u64::from(packets)];
                        kept[at] += count - packets;
                    }
                }
            }
        }
        bulks.end_all(0);
        prop_assert_eq!(hear(&mut bulks), did);
    }
}
