//! The program at the egress, which writes the number of a credit into the packet that spends it.

use super::*;
use crate::datapath::Stamp;
use crate::io::samples::control;

/// Lets so many credits come from a number on, and as many full packets pass the match.
fn spend(programs: &Programs, flow: FlowKey, number: u64, count: u64, seq: u32) {
    (number..number + count).for_each(|number| assert_eq!(programs.credited(flow, number).0, NEXT));
    for packet in 0..count as u32 {
        assert!(programs.leaves(&Packet::full(flow, seq + packet * PAYLOAD)));
    }
}

#[test]
fn a_packet_that_spends_a_credit_leaves_as_the_daemon_would_stamp_it() {
    on_both(|programs, flow| {
        for (round, (ecn, class)) in
            [(false, 0), (true, 0), (true, 1), (true, 0xb8), (false, 0xba), (true, 3)].into_iter().enumerate()
        {
            let first = FIRST + round as u64 * 0x3039;
            programs.begin_with(&Bulk { ecn, highest: first - 1, ..bulk(flow) });
            spend(programs, flow, first, 1, 1_000);
            let mut frame = Packet { class, ..Packet::full(flow, 1_000) }.frame();
            let (verdict, out) = programs.goes_out(&frame);
            assert!(Stamp { id: first as u16, ecn }.apply(&mut frame[ETHERNET..]));
            assert_eq!((verdict, fault(&out)), (NEXT, None));
            assert!(out == frame, "ECN {ecn}, class {class:#x}");
            assert!(Segment::parse(&out[ETHERNET..]).unwrap().is_scheduled());
            programs.bulks.end(&flow, 0);
            programs.bulks.flows.clear();
            programs.bulks.shared.table().iter().for_each(|place| place.version.store(0, Relaxed));
        }
    });
}

#[test]
fn each_packet_names_a_credit_of_its_own_and_one_without_a_credit_names_none() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let (mut seq, mut named) = (1_000, Vec::new());
        for round in 0..40 {
            spend(programs, flow, FIRST + round, 1, seq);
            for again in [false, true] {
                let frame = Packet::full(flow, seq).frame();
                let (_, out) = programs.goes_out(&frame);
                if again {
                    assert!(out == frame, "no credit was spent for it");
                } else {
                    named.push(u64::from(Segment::parse(&out[ETHERNET..]).unwrap().id));
                }
            }
            seq += PAYLOAD;
        }
        assert_eq!(named, (FIRST..FIRST + 40).collect::<Vec<_>>());
    });
}

#[test]
fn the_next_packet_does_not_take_the_number_of_one_that_came_no_further_than_the_match() {
    on_both(|programs, flow| {
        programs.begin(flow);
        (0..3).for_each(|number| assert_eq!(programs.credited(flow, FIRST + number).0, NEXT));
        assert!(programs.leaves(&Packet::full(flow, 1_000)));
        assert!(programs.leaves(&Packet::full(flow, 2_448)));
        let (_, out) = programs.goes_out(&Packet::full(flow, 2_448).frame());
        assert_eq!(u64::from(Segment::parse(&out[ETHERNET..]).unwrap().id), FIRST + 1);
        let frame = Packet::full(flow, 3_896).frame();
        assert!(programs.goes_out(&frame).1 == frame);
    });
}

#[test]
fn a_flow_that_is_taken_back_leaves_no_number_of_a_kept_credit_for_packets_that_leave_as_plain_tcp() {
    on_both(|programs, flow| {
        let frame = Packet::full(flow, 1_000).frame();
        let named = |out: &[u8]| u64::from(Segment::parse(&out[ETHERNET..]).unwrap().id);
        for again in [false, true] {
            programs.begin(flow);
            let first = FIRST + 10 * u64::from(again);
            (0..3).for_each(|number| assert_eq!(programs.credited(flow, first + number).0, NEXT));
            programs.bulks.end(&flow, 0);
            assert!(programs.goes_out(&frame).1 == frame);
        }
        programs.begin(flow);
        (0..3).for_each(|number| assert_eq!(programs.credited(flow, FIRST + 20 + number).0, NEXT));
        assert!(programs.leaves(&Packet::full(flow, 1_000)));
        programs.bulks.end(&flow, 0);
        assert_eq!(named(&programs.goes_out(&frame).1), FIRST + 20, "one that is on its way has its own");
        assert!(programs.goes_out(&frame).1 == frame);
    });
}

#[test]
fn packets_that_need_no_credit_and_those_that_the_daemon_stamped_leave_as_they_are() {
    on_both(|programs, flow| {
        programs.begin(flow);
        spend(programs, flow, FIRST, 1, 1_000);
        let mut stamped = Packet::full(flow, 1_000).frame();
        Stamp { id: 5, ecn: false }.apply(&mut stamped[ETHERNET..]);
        let small = Packet::data(flow, 2_448, 400).frame();
        let empty = Packet::data(flow, 2_448, 0).frame();
        let other = Packet::full(FlowKey { source_port: 1_001, ..flow }, 1_000).frame();
        for (frame, why) in
            [(stamped, "stamped"), (small, "small"), (empty, "without data"), (other, "another flow")]
        {
            assert!(programs.goes_out(&frame) == (NEXT, frame), "{why}");
        }
        let frame = Packet::full(flow, 1_000).frame();
        assert!(programs.goes_out(&frame).1 != frame, "the number is still there");
    });
}

#[test]
fn what_the_daemon_says_to_itself_comes_in_by_the_nic_and_control_frames_for_others_leave() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let credit = control(&credit(flow, FIRST));
        let mut news = credit.clone();
        news[15] = NEWS;
        assert_eq!(programs.goes_out(&news), (REDIRECT, news));
        assert_eq!(programs.goes_out(&credit), (NEXT, credit));
    });
}
