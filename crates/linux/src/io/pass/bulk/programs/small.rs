//! The program at the ingress, as credits of flows of small packets meet it.

use super::*;
use crate::io::samples::control;

/// The most bytes that small packets may spend.
const MOST: u32 = 3 * FRAME + 100;

/// Hands a flow over whose credits are for small packets.
fn begin(programs: &mut Programs, flow: FlowKey) {
    programs.table().most.store(MOST, Relaxed);
    programs.bulks.begin(&Bulk { is_small: true, keep: 0, ..bulk(flow) });
    programs.pass.order(&[Order::Take(flow.destination)], 0);
}

fn allowance(programs: &Programs, flow: FlowKey) -> i64 {
    let at = programs.pass.hosts[&flow.destination].at;
    programs.table().hosts[at].allowance.load(Relaxed)
}

#[test]
fn a_credit_adds_a_frame_to_what_small_packets_may_spend_up_to_the_bound_and_goes_no_further() {
    on_both(|programs, flow| {
        begin(programs, flow);
        for (number, bytes) in [(0, FRAME), (1, 2 * FRAME), (2, 3 * FRAME), (3, MOST), (4, MOST)] {
            assert_eq!(programs.credited(flow, FIRST + number).0, DROP);
            assert_eq!(allowance(programs, flow), i64::from(bytes));
        }
        let mut told = Vec::new();
        programs.pass.tally(|passed| told.push(passed));
        let added = u64::from(MOST);
        assert_eq!(told, [Passed { to: flow.destination, packets: 0, payload: 0, wire: 0, added }]);
        let (mut released, moved) = (Vec::new(), programs.table().moved.load(Relaxed));
        programs.bulks.tally(moved, 0, |one| released.push(one));
        assert_eq!((released[0].credits, released[0].packets, released[0].kept), (5, 0, 0));
        assert_eq!((released[0].highest, released[0].used), (FIRST + 4, 0b11111));
    });
}

#[test]
fn a_small_packet_spends_what_a_credit_added_before_the_daemon_hears_of_either() {
    on_both(|programs, flow| {
        begin(programs, flow);
        let small = Packet::data(flow, 1_000, 500);
        assert!(!programs.leaves(&small));
        programs.release(flow);
        programs.credited(flow, FIRST);
        assert!(programs.leaves(&small) && programs.leaves(&small) && !programs.leaves(&small));
        programs.release(flow);
        // What the daemon allows counts from what it was told of.
        programs.pass.tally(drop);
        programs.pass.allow(flow.destination, 200);
        assert_eq!(allowance(programs, flow), 200);
    });
}

#[test]
fn the_daemon_gets_the_credits_while_a_packet_waits_for_them_and_where_they_are_not_of_the_flow() {
    on_both(|programs, flow| {
        begin(programs, flow);
        let good = credit(flow, FIRST);
        let goes_on = |programs: &Programs, control_frame: Control, why: &str| {
            let frame = control(&control_frame);
            assert_eq!(programs.comes_in(&frame), (NEXT, frame.clone()), "{why}");
            assert_eq!(programs.run("cw_credits_in", &frame, 1), Some((NEXT, frame)), "{why}");
            assert_eq!(allowance(programs, flow), 0, "{why}");
        };
        goes_on(programs, Control { cookie: 78, ..good }, "cookie");
        goes_on(programs, Control { session: 4, ..good }, "session");
        programs.table().alive.store(1, Relaxed);
        goes_on(programs, good, "no sign of life");
        programs.table().alive.store(u64::MAX, Relaxed);
        assert!(!programs.leaves(&Packet::data(flow, 1_000, 500)));
        let frame = control(&good);
        assert_eq!(programs.comes_in(&frame), (NEXT, frame), "a packet of the flow is held");
        programs.release(flow);
        programs.pass.order(&[Order::Leave(flow.destination)], 0);
        let frame = control(&credit(flow, FIRST + 1));
        assert_eq!(programs.comes_in(&frame), (NEXT, frame), "a packet of another flow is held");
        assert_eq!(allowance(programs, flow), 0);
        programs.pass.order(&[Order::Take(flow.destination)], 0);
        assert_eq!(programs.credited(flow, FIRST + 2).0, DROP);
        assert_eq!(allowance(programs, flow), i64::from(FRAME));
    });
}

#[test]
fn a_credit_that_comes_again_adds_nothing() {
    on_both(|programs, flow| {
        begin(programs, flow);
        for number in [FIRST, FIRST + 2, FIRST, FIRST - 1, FIRST + 2] {
            assert_eq!(programs.credited(flow, number).0, DROP);
        }
        assert_eq!(allowance(programs, flow), 2 * i64::from(FRAME));
        assert_eq!(programs.place(flow).replayed.load(Relaxed), 3);
    });
}

#[test]
fn nothing_but_credits_of_such_a_flow_is_touched() {
    on_both(|programs, flow| {
        begin(programs, flow);
        programs.credited(flow, FIRST);
        let answer = Packet::answer(flow, 1_000, 500).frame();
        assert_eq!(programs.comes_in(&answer), (NEXT, answer.clone()), "the window stays");
        assert_eq!(programs.run("cw_credits_in", &answer, 1), Some((NEXT, answer)));
        let full = Packet::full(flow, 1_000);
        assert!(!programs.leaves(&full), "a large packet needs a credit of its own");
        assert_eq!(programs.goes_out(&full.frame()), (NEXT, full.frame()), "no number is written");
    });
}

#[test]
fn a_flow_of_small_packets_that_becomes_one_of_bulk_data_keeps_credits_for_its_window() {
    on_both(|programs, flow| {
        begin(programs, flow);
        programs.credited(flow, FIRST);
        programs.bulks.end(&flow, 0);
        assert_eq!(programs.credited(flow, FIRST + 1).0, NEXT, "it is the daemon's");
        programs.pass.tally(drop);
        programs.pass.allow(flow.destination, 0);
        programs.begin_with(&Bulk { highest: FIRST + 1, ..bulk(flow) });
        let before = allowance(programs, flow);
        programs.credited(flow, FIRST + 2);
        assert_eq!((seen(&programs.place(flow).came), allowance(programs, flow)), (1, before));
        assert!(programs.leaves(&Packet::full(flow, 1_000)));
    });
}
