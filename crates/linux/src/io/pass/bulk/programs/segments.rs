//! The program at the ingress, as segments of the other host meet it.

use super::*;
use crate::io::samples::{FIN, RST, SYN};

/// Returns the window in a frame, which must be whole.
fn window(frame: &[u8]) -> u32 {
    assert_eq!(fault(frame), None);
    Segment::parse(&frame[ETHERNET..]).expect("a segment").window.into()
}

#[test]
fn a_segment_of_the_other_host_offers_what_credits_grant_and_never_more_than_it_did() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let offers = |programs: &Programs, ack: u32, offered: u16| {
            let frame = Packet::answer(flow, ack, offered).frame();
            let (verdict, after) = programs.comes_in(&frame);
            assert_eq!(verdict, NEXT);
            let differs: Vec<usize> = (0..frame.len()).filter(|at| frame[*at] != after[*at]).collect();
            let tcp = ETHERNET + if flow.is_ipv6() { 40 } else { 20 };
            assert!(differs.iter().all(|at| (tcp + 14..tcp + 18).contains(at)), "{differs:?}");
            window(&after)
        };
        assert_eq!(offers(programs, 1_000, 500), 0, "no credit has come");
        programs.credited(flow, FIRST);
        assert_eq!(offers(programs, 1_000, 500), 12, "1,448 bytes, rounded up");
        assert_eq!(offers(programs, 1_000, 5), 5);
        programs.credited(flow, FIRST + 1);
        assert_eq!(offers(programs, 1_000, 500), 23, "2,896 bytes");
        // What a packet spends is what its credit granted, wherever it is on its way.
        assert!(programs.leaves(&Packet::data(flow, 1_000, 1_400)));
        assert_eq!(offers(programs, 1_000, 500), 23);
        assert_eq!(offers(programs, 2_400, 500), 12);
        assert_eq!(offers(programs, 2_000, 500), 500, "TCP itself takes no window of an old acknowledgement");
    });
}

#[test]
fn data_with_a_zero_sum_and_odd_lengths_keep_true_checksums_when_their_window_is_lowered() {
    on_both(|programs, flow| {
        programs.begin(flow);
        programs.credited(flow, FIRST);
        for payload in 0..300 {
            let answer = Packet { payload, window: 500 + payload as u16, ..Packet::answer(flow, 1_000, 0) };
            let (_, frame) = programs.comes_in(&answer.frame());
            assert_eq!(window(&frame), 12, "{payload} bytes");
            assert_eq!(seen(&programs.place(flow).seq), 7 + payload as u32);
        }
    });
}

#[test]
fn an_acknowledgement_of_what_was_not_sent_or_from_before_the_last_one_counts_for_nothing() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let place = |programs: &Programs| {
            let place = programs.place(flow);
            (seen(&place.ack), seen(&place.window), seen(&place.seq))
        };
        let before = place(programs);
        for (ack, why) in [(1_001, "more than was sent"), (999, "less than the last one")] {
            let frame = Packet { seq: 99, ..Packet::answer(flow, ack, 3) }.frame();
            assert_eq!(programs.comes_in(&frame), (NEXT, frame), "{why}");
            assert_eq!(place(programs), before, "{why}");
        }
        programs.comes_in(&Packet { seq: 9, flags: 16 | FIN, ..Packet::answer(flow, 1_000, 3) }.frame());
        assert_eq!(place(programs), (1_000, 3 << SCALE, 10), "the end counts as a byte");
    });
}

#[test]
fn a_segment_that_is_cut_off_a_fragment_or_of_lengths_that_contradict_each_other_counts_for_nothing() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let frame = Packet { payload: 100, ..Packet::answer(flow, 1_000, 300) }.frame();
        let tcp = ETHERNET + if flow.is_ipv6() { 40 } else { 20 };
        let length = ETHERNET + if flow.is_ipv6() { 4 } else { 2 };
        let with = |at: usize, byte: u8| {
            let mut frame = frame.clone();
            frame[at] = byte;
            frame
        };
        let mut broken = vec![
            (frame[..frame.len() - 1].to_vec(), "cut off"),
            (with(tcp + 12, 4 << 4), "a TCP header of 16 bytes"),
            (with(length + 1, 10), "a packet that is shorter than its headers"),
            (with(length, 0xff), "a packet that is longer than the frame"),
            (with(ETHERNET, frame[ETHERNET] ^ 0x20), "another version of IP"),
        ];
        if !flow.is_ipv6() {
            broken.push((with(ETHERNET, 0x44), "a header of 16 bytes"));
            broken.push((with(ETHERNET + 6, 0x20), "a first fragment"));
            broken.push((with(ETHERNET + 7, 1), "a later fragment"));
        }
        for (frame, why) in broken {
            assert_eq!(programs.comes_in(&frame), (NEXT, frame), "{why}");
            assert_eq!(seen(&programs.place(flow).seq), 7, "{why}");
        }
        programs.comes_in(&frame);
        assert_eq!(seen(&programs.place(flow).seq), 107);
    });
}

#[test]
fn segments_that_open_or_break_a_connection_and_those_without_an_acknowledgement_are_left_alone() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let before = seen(&programs.place(flow).window);
        for flags in [SYN, SYN | 16, RST, RST | 16, FIN] {
            let frame = Packet { flags, ..Packet::answer(flow, 1_000, 9) }.frame();
            assert_eq!(programs.comes_in(&frame), (NEXT, frame), "flags {flags}");
            assert_eq!(seen(&programs.place(flow).window), before);
        }
    });
}

#[test]
fn a_segment_that_may_be_signed_passes_as_it_is_and_credits_go_to_the_daemon_from_then_on() {
    on_both(|programs, flow| {
        for options in [vec![1, 1, 19, 18], vec![29, 8], vec![1, 1, 3, 3], vec![1, 8, 10, 1]] {
            programs.begin(flow);
            let options = [options, vec![0; 16]].concat();
            let frame = Packet { options, ..Packet::answer(flow, 1_000, 400) }.frame();
            assert_eq!(programs.comes_in(&frame), (NEXT, frame));
            let frame = samples::control(&credit(flow, FIRST));
            assert_eq!(programs.comes_in(&frame), (NEXT, frame));
            programs.bulks.end(&flow, 0);
        }
        programs.begin(flow);
        let selective = [vec![1, 1, 5, 10], vec![7; 8]].concat();
        for options in [vec![], selective] {
            let frame = Packet { options, ..Packet::answer(flow, 1_000, 400) }.frame();
            assert_eq!(window(&programs.comes_in(&frame).1), 0);
        }
    });
}

#[test]
fn windows_pass_as_they_are_where_the_daemon_has_given_no_sign_of_life_or_the_flow_was_taken_back() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let frame = Packet::answer(flow, 1_000, 500).frame();
        assert_eq!(window(&programs.comes_in(&frame).1), 0);
        programs.table().alive.store(1, Relaxed);
        assert_eq!(programs.comes_in(&frame), (NEXT, frame.clone()));
        programs.table().alive.store(u64::MAX, Relaxed);
        programs.bulks.end(&flow, 0);
        assert_eq!(programs.comes_in(&frame), (NEXT, frame.clone()));
        let other = FlowKey { source_port: 1_001, ..flow };
        let frame = Packet::answer(other, 1_000, 500).frame();
        assert_eq!(programs.comes_in(&frame), (NEXT, frame), "a flow of the daemon's");
    });
}
