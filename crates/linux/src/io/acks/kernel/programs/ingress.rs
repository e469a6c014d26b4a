//! What comes in.

use super::*;
use crate::io::samples::{ACK, FIN, PEER, RST, SYN, US};

#[test]
fn data_that_comes_is_told_with_its_headers_and_both_addresses_of_its_frame() {
    on_both(|programs, flow| {
        let frame = Packet { class: 3, ..Packet::full(flow, 7_000) }.frame();
        let events = programs.comes_in(&frame);
        assert_eq!(seen(&events), (Direction::Incoming, parsed(&frame)));
        let [Event::Seen(_, segment, link)] = &events[..] else { panic!("{events:?}") };
        assert_eq!(*link, Link { local: US, peer: PEER });
        let timestamps = segment.timestamps.expect("the options are told too");
        assert_eq!((timestamps.value, timestamps.echo, segment.ecn), (7, 9, crate::wire::Ecn::Marked));
    });
}

#[test]
fn what_opens_or_ends_a_connection_is_told_and_an_acknowledgement_alone_is_not() {
    on_both(|programs, flow| {
        for flags in [SYN, SYN | ACK, FIN | ACK, RST, RST | ACK] {
            let frame = Packet { flags, ..Packet::data(flow, 7, 0) }.frame();
            assert_eq!(seen(&programs.comes_in(&frame)), (Direction::Incoming, parsed(&frame)));
        }
        assert!(programs.comes_in(&Packet::data(flow, 7, 0).frame()).is_empty());
    });
}

#[test]
fn segments_for_other_hosts_are_not_told_and_mark_no_connection_as_one_that_brings_data() {
    on_both(|programs, flow| {
        let mut frame = Packet::full(flow, 7).frame();
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 77]);
        assert!(programs.comes_in(&frame).is_empty());
        assert!(!programs.goes_out(&ack(flow, 8).frame()).0);
    });
}

#[test]
fn headers_at_their_longest_are_told_whole() {
    on_both(|programs, flow| {
        let mut options = vec![1; 30];
        options.extend([8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
        let frame = Packet { options, ..Packet::data(flow, 1, 300) }.frame();
        let (_, segment) = seen(&programs.comes_in(&frame));
        assert_eq!((segment, segment.timestamps.map(|times| times.echo)), (parsed(&frame), Some(6)));
    });
}
