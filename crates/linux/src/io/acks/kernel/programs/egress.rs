//! What goes out.

use super::*;
use crate::io::samples::{ACK, FIN, RST, SYN};

#[test]
fn acknowledgements_are_taken_once_data_of_their_connection_has_come_and_pass_before() {
    on_both(|programs, flow| {
        let frame = ack(flow, 101).frame();
        // However long data may be ago.
        programs.table().idle.store(u64::MAX, Relaxed);
        assert!(matches!(programs.goes_out(&frame), (false, events) if events.is_empty()));
        programs.begin(flow);
        let (is_taken, events) = programs.goes_out(&frame);
        assert_eq!((is_taken, held(&events).1), (true, parsed(&frame)));
        // Neither another connection of these hosts nor the other way of this one has brought data.
        let other = FlowKey { source_port: 1001, ..flow };
        assert!(!programs.goes_out(&ack(other, 101).frame()).0);
        assert!(!programs.goes_out(&ack(flow.reversed(), 101).frame()).0);
    });
}

#[test]
fn an_acknowledgement_that_is_held_has_every_byte_and_the_checksum_that_was_left_to_the_nic() {
    on_both(|programs, flow| {
        programs.begin(flow);
        // Three selective acknowledgements, as long as options can be.
        let mut options = vec![1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 1, 1, 5, 26];
        options.extend(1..25);
        let whole = Packet { options, class: 2, ..ack(flow, 101) }.frame();
        let mut left = whole.clone();
        let checksum = if flow.is_ipv6() { ETHERNET + 56 } else { ETHERNET + 36 };
        left[checksum..checksum + 2].copy_from_slice(&[0xab, 0xcd]);
        assert!(fault(&left).is_some());
        let (is_taken, events) = programs.goes_out(&left);
        let (id, _) = held(&events);
        assert!(is_taken);
        assert_eq!(programs.frames.frame(id), &whole[..]);
        assert_eq!(fault(programs.frames.frame(id)), None);
    });
}

#[test]
fn data_and_the_ends_of_connections_pass_and_the_daemon_is_told_of_the_ends() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let data = Packet { payload: 1, ..ack(flow, 101) }.frame();
        assert!(matches!(programs.goes_out(&data), (false, events) if events.is_empty()));
        for flags in [SYN, FIN | ACK, RST, RST | ACK] {
            let frame = Packet { flags, ..ack(flow, 101) }.frame();
            let (is_taken, events) = programs.goes_out(&frame);
            assert_eq!((is_taken, seen(&events)), (false, (Direction::Outgoing, parsed(&frame))), "{flags}");
        }
    });
}

#[test]
fn an_answer_to_a_syn_is_taken_of_any_connection_unless_it_shall_pass() {
    on_both(|programs, flow| {
        let frame = Packet { flags: SYN | ACK, ..ack(flow, 1) }.frame();
        let (is_taken, events) = programs.goes_out(&frame);
        assert_eq!((is_taken, held(&events).1), (true, parsed(&frame)));
        programs.table().takes_syn_acks.store(0, Relaxed);
        let (is_taken, events) = programs.goes_out(&frame);
        assert_eq!((is_taken, seen(&events).0), (false, Direction::Outgoing));
    });
}

#[test]
fn packets_that_the_daemon_sends_pass_and_so_does_everything_when_the_daemon_lives_no_more() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let frame = ack(flow, 101).frame();
        let mark = programs.acks.mark;
        assert_ne!(mark, 0, "packets of others have no mark");
        assert_eq!(programs.run("cw_acks_out", &frame, mark).expect("a run").0, NEXT);
        assert!(programs.events().is_empty());
        assert_eq!(programs.run("cw_acks_out", &frame, mark ^ 2).expect("a run").0, TAKEN_AWAY);
        programs.acks.pass();
        assert!(!programs.acks.lives());
        let (first, second) = (frame.clone(), Packet { flags: SYN | ACK, ..ack(flow, 1) }.frame());
        programs.events();
        assert!(!programs.goes_out(&first).0 && !programs.goes_out(&second).0);
        programs.acks.live(0);
        assert!(!programs.goes_out(&first).0, "0.3 s after the clock began");
        programs.acks.live(u64::MAX);
        assert!(programs.goes_out(&first).0);
    });
}

#[test]
fn acknowledgements_of_a_connection_that_has_been_idle_for_long_pass_until_data_comes_again() {
    on_both(|programs, flow| {
        programs.begin(flow);
        programs.table().idle.store(1_000_000, Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(3));
        assert!(!programs.goes_out(&ack(flow, 101).frame()).0);
        programs.table().idle.store(60_000_000_000, Relaxed);
        assert!(programs.goes_out(&ack(flow, 101).frame()).0);
    });
}

#[test]
fn an_acknowledgement_with_bytes_behind_it_passes() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let mut frame = ack(flow, 101).frame();
        frame.extend([0; 6]);
        assert!(matches!(programs.goes_out(&frame), (false, events) if events.is_empty()));
    });
}

#[test]
fn acknowledgements_of_a_connection_that_shares_its_place_with_one_that_brings_data_are_taken_too() {
    on_both(|programs, flow| {
        let others = (0..=u16::MAX).flat_map(|port| (81..=90).map(move |other| (port, other)));
        let mut others =
            others.map(|(source_port, destination_port)| FlowKey { source_port, destination_port, ..flow });
        let other = others
            .find(|other| place(*other) == place(flow))
            .expect("one of ten times as many as there are places");
        programs.begin(flow);
        assert!(programs.goes_out(&ack(other, 101).frame()).0, "{other:?}");
        let beside = FlowKey { source_port: other.source_port ^ 1, ..other };
        assert!(place(beside) != place(flow) && !programs.goes_out(&ack(beside, 101).frame()).0);
    });
}
