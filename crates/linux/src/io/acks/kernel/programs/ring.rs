//! The ring: its order, its bounds, and how it wakes the daemon.

use super::*;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

/// The bytes of the ring, and those that a record takes in it.
const RING: usize = 4 << 20;
const RECORD: usize = (2 + FRAME_MAX + 8).next_multiple_of(8);

#[test]
fn events_come_in_the_order_in_which_they_happened() {
    on_both(|programs, flow| {
        programs.begin(flow);
        for number in 0..300 {
            programs.run("cw_acks_in", &Packet::full(flow, number).frame(), 0).expect("a run");
            programs.run("cw_acks_out", &ack(flow, number).frame(), 0).expect("a run");
        }
        let events = programs.events();
        assert_eq!(events.len(), 600);
        for (at, pair) in events.chunks(2).enumerate() {
            let [Event::Seen(_, data, _), Event::Held(id, ack)] = pair else { panic!("{pair:?}") };
            assert_eq!((data.seq, ack.ack, id.0), (at as u32, at as u32, at as u32));
        }
    });
}

#[test]
fn a_full_ring_lets_acknowledgements_pass_counts_what_it_missed_and_has_room_again_once_it_was_read() {
    let Some(mut programs) = Programs::load() else { return };
    let flow = key(false);
    programs.begin(flow);
    let (data, answer) = (Packet::data(flow, 5, 1).frame(), ack(flow, 101).frame());
    let room = (0..).take_while(|_| {
        programs.run("cw_acks_in", &data, 0).expect("a run");
        programs.acks.overruns() == (0, 0)
    });
    let room = room.take(2 * RING / RECORD).count();
    assert!((RING / RECORD - 1..=RING / RECORD).contains(&room), "{room} records");
    assert_eq!(programs.run("cw_acks_out", &answer, 0).expect("a run").0, NEXT);
    assert_eq!(programs.acks.overruns(), (1, 1));
    assert_eq!(programs.events().len(), room);
    assert!(programs.goes_out(&answer).0);
    assert_eq!(programs.acks.overruns(), (1, 1));
}

#[test]
fn what_is_read_is_bounded_and_the_rest_stays() {
    let Some(mut programs) = Programs::load() else { return };
    let flow = key(false);
    for number in 0..5 {
        programs.run("cw_acks_in", &Packet::data(flow, number, 1).frame(), 0).expect("a run");
    }
    let mut seqs = Vec::new();
    for most in [3, 3, 3] {
        let count = programs.acks.read(most, &mut programs.frames, |event| match event {
            Event::Seen(_, segment, _) => seqs.push(segment.seq),
            event => panic!("{event:?}"),
        });
        seqs.push(1_000 + count as u32);
    }
    assert_eq!(seqs, [0, 1, 2, 1_003, 3, 4, 1_002, 1_000]);
}

#[test]
fn only_a_daemon_that_sleeps_is_woken_and_only_once() {
    let Some(mut programs) = Programs::load() else { return };
    let epoll = Epoll::new(EpollCreateFlags::empty()).expect("an epoll");
    // At its edge, each wake-up is told once.
    let edge = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, 0);
    epoll.add(programs.acks.fd(), edge).expect("the ring can be waited for");
    let woken = |within_ms: u16| {
        epoll.wait(&mut [EpollEvent::empty()], EpollTimeout::from(within_ms)).expect("a wait") == 1
    };
    let frame = Packet::data(key(false), 5, 1).frame();
    let write = |programs: &Programs| programs.run("cw_acks_in", &frame, 0).map(|_| ()).expect("a run");
    write(&programs);
    assert!(!woken(50), "the daemon is at work");
    programs.events();
    programs.acks.sleeps(true);
    write(&programs);
    assert!(woken(2_000), "the daemon sleeps");
    assert_eq!(programs.table().sleeps.load(Relaxed), 0);
    write(&programs);
    assert!(!woken(50), "it was woken before");
    assert_eq!(programs.events().len(), 2, "the bell itself is no event");
    programs.acks.sleeps(true);
    programs.acks.sleeps(false);
    write(&programs);
    assert!(!woken(50), "a timer woke it meanwhile");
}
