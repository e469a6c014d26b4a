//! The program at the ingress, as credits meet it.

use super::*;
use crate::io::samples::{ACK, PEER, control};

/// Returns the acknowledgement, the end of the window and the flags of a frame that TCP gets, which must be whole.
fn window(frame: &[u8]) -> (u32, u32, u8) {
    assert_eq!(fault(frame), None, "{frame:x?}");
    let segment = Segment::parse(&frame[ETHERNET..]).expect("a segment");
    (segment.ack, segment.ack + (u32::from(segment.window) << SCALE), segment.flags.0)
}

#[test]
fn a_credit_becomes_a_pure_acknowledgement_that_opens_the_window_by_one_segment() {
    on_both(|programs, flow| {
        programs.begin(flow);
        for number in 0..5 {
            let (verdict, frame) = programs.credited(flow, FIRST + number);
            assert_eq!(verdict, NEXT);
            let (ack, end, flags) = window(&frame);
            assert_eq!((ack, flags), (1_000, ACK), "it acknowledges what the last segment did");
            let room = (number as u32 + 1) * PAYLOAD;
            assert!((room..room + (1 << SCALE)).contains(&(end - ack)), "{} for {room} bytes", end - ack);
            let segment = Segment::parse(&frame[ETHERNET..]).unwrap();
            let back = FlowKey {
                source: flow.destination,
                destination: flow.source,
                source_port: flow.destination_port,
                destination_port: flow.source_port,
            };
            assert_eq!((segment.flow, segment.seq, segment.payload), (back, 7, 0));
            assert_eq!((&frame[..12], segment.timestamps), (&[US.0, PEER.0].concat()[..], None));
            assert_eq!(frame.len(), ETHERNET + usize::from(segment.ip_len), "nothing of the credit is left");
        }
    });
}

#[test]
fn a_window_that_credits_open_is_never_larger_than_that_of_the_other_host() {
    on_both(|programs, flow| {
        programs.begin(flow);
        // The other host takes 20 x 128 bytes beyond the byte 1,000: not two segments.
        programs.comes_in(&Packet::answer(flow, 1_000, 20).frame());
        assert_eq!(window(&programs.credited(flow, FIRST).1).1, 1_000 + (12 << SCALE));
        assert_eq!(window(&programs.credited(flow, FIRST + 1).1).1, 1_000 + (20 << SCALE));
        let frame = control(&credit(flow, FIRST + 2));
        assert_eq!(programs.comes_in(&frame), (DROP, frame), "it would look like a duplicate");
        assert_eq!(seen(&programs.place(flow).came), 3, "and is kept");
    });
}

#[test]
fn the_daemon_gets_the_credits_of_which_as_many_are_kept_as_may_be() {
    on_both(|programs, flow| {
        programs.begin(flow);
        (0..5).for_each(|number| assert_eq!(programs.credited(flow, FIRST + number).0, NEXT));
        let frame = control(&credit(flow, FIRST + 5));
        assert_eq!(programs.comes_in(&frame), (NEXT, frame));
        assert_eq!(seen(&programs.place(flow).came), 5);
        assert!(programs.leaves(&Packet::full(flow, 1_000)));
        assert_ne!(programs.credited(flow, FIRST + 6).1, control(&credit(flow, FIRST + 6)));
        assert_eq!(seen(&programs.place(flow).came), 6);
    });
}

#[test]
fn the_daemon_gets_the_credits_as_long_as_a_packet_of_the_flow_is_held() {
    on_both(|programs, flow| {
        programs.begin(flow);
        assert!(!programs.leaves(&Packet::full(flow, 1_000)));
        let frame = control(&credit(flow, FIRST));
        assert_eq!(programs.comes_in(&frame), (NEXT, frame));
        programs.release(flow);
        programs.credited(flow, FIRST + 1);
        assert_eq!(seen(&programs.place(flow).came), 1);
    });
}

#[test]
fn a_credit_that_is_not_of_the_flow_and_its_session_is_left_to_the_daemon_and_opens_nothing() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let good = credit(flow, FIRST);
        let other = FlowKey { source_port: 1_001, ..good.flow };
        for (false_one, why) in [
            (Control { cookie: 78, ..good }, "cookie"),
            (Control { session: 4, ..good }, "session"),
            (Control { flow: other, ..good }, "flow"),
            (Control { kind: Kind::Stopped, flow, ..good }, "kind"),
        ] {
            let frame = control(&false_one);
            assert_eq!(programs.comes_in(&frame), (NEXT, frame), "{why}");
        }
        let mut frames = [(); 4].map(|()| control(&good));
        frames[0][6..12].copy_from_slice(&[2, 0, 0, 0, 0, 8]);
        frames[1][0..6].copy_from_slice(&[2, 0, 0, 0, 0, 7]);
        frames[2][14] ^= 1;
        frames[3].truncate(59);
        for (frame, why) in frames.into_iter().zip(["sender", "another host's", "version", "cut off"]) {
            assert_eq!(programs.comes_in(&frame), (NEXT, frame), "{why}");
        }
        assert_eq!((seen(&programs.place(flow).came), programs.table().moved.load(Relaxed)), (0, 0));
        assert_ne!(programs.comes_in(&control(&good)).1, control(&good));
    });
}

#[test]
fn a_credit_counts_once_in_whatever_order_credits_come() {
    on_both(|programs, flow| {
        programs.begin_with(&Bulk { keep: 16, ..bulk(flow) });
        let numbers = [FIRST, FIRST + 3, FIRST + 1, FIRST + 66, FIRST + 4, FIRST + 65];
        for number in numbers {
            assert_eq!(programs.credited(flow, number).0, NEXT, "{number}");
        }
        let (mut replayed, place) = (0, programs.place(flow));
        // Two are too old to tell, one came before the flow was handed over, and one may be new.
        for number in [FIRST + 66, FIRST + 3, FIRST + 4, FIRST + 2, FIRST, FIRST - 1] {
            let frame = control(&credit(flow, number));
            assert_eq!(programs.comes_in(&frame), (DROP, frame), "{number}");
            replayed += 1;
            assert_eq!(place.replayed.load(Relaxed), replayed);
        }
        assert_eq!(seen(&place.came), numbers.len() as u32);
        assert_eq!(place.highest.load(Relaxed), FIRST + 66);
        // The highest one, the one before it, and the one 62 before.
        assert_eq!(place.used.load(Relaxed), 1 | 1 << 1 | 1 << 62 | 1 << 63);
    });
}

#[test]
fn the_daemon_gets_all_credits_where_it_has_given_no_sign_of_life_or_the_flow_was_taken_back() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let frame = control(&credit(flow, FIRST));
        programs.table().alive.store(1, Relaxed);
        assert_eq!(programs.comes_in(&frame), (NEXT, frame.clone()));
        programs.table().alive.store(u64::MAX, Relaxed);
        programs.bulks.end(&flow, 0);
        assert_eq!(programs.comes_in(&frame), (NEXT, frame.clone()));
        assert_eq!(seen(&programs.place(flow).came), 0);
        programs.bulks.begin(&bulk(flow));
        assert_ne!(programs.comes_in(&frame).1, frame);
    });
}

#[test]
fn the_daemon_gets_all_credits_of_a_flow_of_which_no_segment_came_and_no_data_left() {
    on_both(|programs, flow| {
        let frame = control(&credit(flow, FIRST));
        programs.bulks.begin(&bulk(flow));
        assert_eq!(programs.comes_in(&frame), (NEXT, frame.clone()));
        programs.comes_in(&Packet::answer(flow, 1_000, 500).frame());
        assert_eq!(programs.comes_in(&frame), (NEXT, frame.clone()));
        assert!(!programs.leaves(&Packet::data(flow, 900, 100)));
        programs.release(flow);
        assert_ne!(programs.comes_in(&frame).1, frame);
    });
}

#[test]
fn tcp_is_told_of_the_window_of_credits_while_they_are_taken_here_and_of_the_whole_one_when_the_flow_is_taken_back()
 {
    on_both(|programs, flow| {
        programs.begin(flow);
        let mut news = control(&credit(flow, 0));
        news[15] = NEWS;
        assert_eq!(window(&programs.comes_in(&news).1), (1_000, 1_000, ACK));
        programs.credited(flow, FIRST);
        assert_eq!(window(&programs.comes_in(&news).1).1, 1_000 + (12 << SCALE));
        programs.bulks.end(&flow, 0);
        assert_eq!(window(&programs.comes_in(&news).1).1, 1_000 + (500 << SCALE));
        let mut false_one = news.clone();
        false_one[34] ^= 1;
        assert_eq!(programs.comes_in(&false_one), (NEXT, false_one.clone()), "another cookie");
    });
}
