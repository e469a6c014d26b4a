//! The match in front of NFQUEUE: the gate through which data leaves in the kernel.

use super::*;
use crate::io::samples::{FIN, RST, SYN, URG};

#[test]
fn no_data_packet_leaves_without_an_unspent_credit() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let mut seq = 1_000;
        for round in 0..20u64 {
            // Between one credit and as many as are kept, and each time more packets than those.
            let credits = round % 5 + 1;
            for number in 0..credits {
                assert_eq!(programs.credited(flow, FIRST + round * 8 + number).0, NEXT);
            }
            for packet in 0..credits + 2 {
                let leaves = programs.leaves(&Packet::full(flow, seq));
                assert_eq!(
                    leaves,
                    packet < credits,
                    "packet {packet} of round {round}, for {credits} credits"
                );
                programs.release(flow);
                seq += PAYLOAD;
            }
            let answer = Packet::answer(flow, programs.place(flow).sent_to.load(Relaxed), 500);
            programs.comes_in(&answer.frame());
        }
        let place = programs.place(flow);
        assert_eq!((seen(&place.came), seen(&place.taken)), (60, 60));
        assert_eq!(seen(&programs.held(flow).held), 1 + 40, "each other one is held");
    });
}

#[test]
fn what_leaves_is_counted_by_packets_bytes_of_payload_and_bytes_on_the_wire() {
    on_both(|programs, flow| {
        programs.begin(flow);
        programs.credited(flow, FIRST);
        programs.credited(flow, FIRST + 1);
        assert!(programs.leaves(&Packet::full(flow, 1_000)));
        assert!(programs.leaves(&Packet::data(flow, 2_448, 1_000)));
        let mut told = Vec::new();
        programs
            .bulks
            .tally(programs.pass.shared.table().moved.load(Relaxed), 0, |released| told.push(released));
        let (full, head) = if flow.is_ipv6() { (1428, 72 + 38) } else { (1448, 52 + 38) };
        assert_eq!((told[0].credits, told[0].packets, told[0].kept), (2, 2, 0));
        assert_eq!((told[0].payload, told[0].wire), (full + 1_000, u64::from(FRAME) + 1_000 + head));
        assert_eq!(programs.table().spent.load(Relaxed), 0, "no small packet passed");
    });
}

#[test]
fn each_change_at_a_flow_is_one_of_which_the_daemon_is_told() {
    on_both(|programs, flow| {
        programs.begin(flow);
        assert_eq!(programs.table().moved.load(Relaxed), 0);
        programs.credited(flow, FIRST);
        assert_eq!(programs.table().moved.load(Relaxed), 1);
        assert!(programs.leaves(&Packet::full(flow, 1_000)));
        assert_eq!(programs.table().moved.load(Relaxed), 2);
    });
}

#[test]
fn a_packet_for_which_a_credit_does_not_pay_or_that_can_name_none_is_held_and_the_credit_stays() {
    on_both(|programs, flow| {
        programs.begin(flow);
        programs.credited(flow, FIRST);
        let full = Packet::full(flow, 1_000);
        let longer = Packet { payload: full.payload + 1, ..full.clone() };
        let nameless = match flow.is_ipv6() {
            true => Packet { flags: full.flags | URG, urgent: 3, ..full.clone() },
            false => Packet { fragment: 0, ..full.clone() },
        };
        let last = Packet { flags: full.flags | FIN, ..full.clone() };
        for (packet, why) in [(longer, "larger than a frame"), (nameless, "no place"), (last, "the end")] {
            assert!(!programs.leaves(&packet), "{why}");
            assert_eq!(programs.held(flow).held.load(Relaxed), programs.held(flow).left.load(Relaxed) + 1);
            programs.release(flow);
        }
        assert_eq!(programs.leaves_joined(&full.frame(), 2), Some(0), "segments that TCP joined");
        assert_eq!(programs.held(flow).held.load(Relaxed), programs.held(flow).left.load(Relaxed) + 2);
        programs.release(flow);
        assert!(programs.leaves(&full));
    });
}

#[test]
fn no_packet_overtakes_one_of_its_flow_that_is_held() {
    on_both(|programs, flow| {
        programs.begin(flow);
        programs.credited(flow, FIRST);
        programs.credited(flow, FIRST + 1);
        assert!(programs.leaves(&Packet::full(flow, 1_000)));
        assert!(!programs.leaves(&Packet { flags: 17, ..Packet::full(flow, 2_448) }));
        assert!(!programs.leaves(&Packet::full(flow, 3_896)));
        programs.held(flow).left.fetch_add(1, Relaxed);
        assert!(!programs.leaves(&Packet::full(flow, 3_896)), "one of the two is still held");
        programs.release(flow);
        assert!(programs.leaves(&Packet::full(flow, 3_896)));
    });
}

#[test]
fn a_flow_that_was_taken_back_spends_nothing_in_the_kernel() {
    on_both(|programs, flow| {
        programs.begin(flow);
        (0..3).for_each(|number| drop(programs.credited(flow, FIRST + number)));
        programs.bulks.end(&flow, 0);
        assert!(!programs.leaves(&Packet::full(flow, 1_000)));
        // Not even if the kernel took a credit while the flow was taken back.
        programs.place(flow).came.fetch_add(1, Relaxed);
        programs.release(flow);
        assert!(!programs.leaves(&Packet::full(flow, 1_000)));
    });
}

#[test]
fn a_credit_of_one_flow_pays_for_no_packet_of_another() {
    on_both(|programs, flow| {
        let other = FlowKey { source_port: 1_001, ..flow };
        programs.begin(flow);
        programs.begin_with(&Bulk { cookie: 78, ..bulk(other) });
        programs.credited(flow, FIRST);
        assert!(!programs.leaves(&Packet::full(other, 1_000)));
        let far = FlowKey { destination: key(flow.is_ipv6()).source, ..flow };
        assert!(!programs.leaves(&Packet::full(far, 1_000)));
        assert!(programs.leaves(&Packet::full(flow, 1_000)));
    });
}

#[test]
fn a_packet_that_tcp_repeats_spends_a_credit_too_and_moves_no_end_of_data_back() {
    on_both(|programs, flow| {
        programs.begin(flow);
        programs.credited(flow, FIRST);
        programs.credited(flow, FIRST + 1);
        assert!(programs.leaves(&Packet::data(flow, 1_000, 1_400)));
        assert!(programs.leaves(&Packet::data(flow, 1_000, 1_400)));
        assert!(!programs.leaves(&Packet::data(flow, 1_000, 1_400)));
        assert_eq!(seen(&programs.place(flow).sent_to), 2_400);
        assert!(!programs.leaves(&Packet::data(flow, 900, 800)));
        assert_eq!(seen(&programs.place(flow).sent_to), 2_400, "it ends before");
        assert!(!programs.leaves(&Packet { flags: 17, ..Packet::data(flow, 2_400, 0) }));
        assert_eq!(seen(&programs.place(flow).sent_to), 2_401, "the end counts as a byte");
    });
}

#[test]
fn what_the_queue_does_not_hold_is_not_counted_and_is_no_data_of_the_flow() {
    on_both(|programs, flow| {
        programs.begin(flow);
        let before = (seen(&programs.held(flow).held), seen(&programs.place(flow).sent_to));
        programs.credited(flow, FIRST);
        for flags in [SYN, SYN | 16, RST, RST | 16] {
            assert!(!programs.leaves(&Packet { flags, ..Packet::full(flow, 9_000) }));
        }
        assert!(!programs.leaves(&Packet::data(flow, 9_000, 0)), "a pure acknowledgement");
        assert_eq!((seen(&programs.held(flow).held), seen(&programs.place(flow).sent_to)), before);
        assert_eq!(seen(&programs.place(flow).taken), 0);
    });
}

#[test]
fn a_small_packet_spends_what_is_left_over_for_its_host_and_no_credit() {
    on_both(|programs, flow| {
        programs.begin(flow);
        programs.credited(flow, FIRST);
        programs.pass.allow(flow.destination, 700);
        let (large, small) = (Packet::data(flow, 1_000, 520), Packet::data(flow, 1_520, 500));
        let wire = 590 + if flow.is_ipv6() { 20 } else { 0 };
        assert!(programs.leaves(&small));
        assert!(!programs.leaves(&large), "too little is left");
        programs.release(flow);
        let mut told = Vec::new();
        programs.pass.tally(|passed| told.push((passed.to, passed.packets, passed.payload, passed.wire)));
        assert_eq!(told, [(flow.destination, 1, 500, wire)]);
        assert_eq!(seen(&programs.place(flow).taken), 0);
        assert!(programs.leaves(&Packet::full(flow, 2_040)), "and the credit is still there");
    });
}

#[test]
fn without_a_sign_of_the_daemon_all_data_leaves_uncredited_and_is_counted() {
    on_both(|programs, flow| {
        programs.begin(flow);
        programs.credited(flow, FIRST);
        let payload: u32 = if flow.is_ipv6() { 1428 } else { 1448 };
        let (full, small) = (Packet::full(flow, 1_000), Packet::data(flow, 1_000 + payload, 100));
        // The small packet is held, since its host has no allowance, and so is what comes behind it.
        assert!(!programs.leaves(&small) && !programs.leaves(&full));
        assert_eq!(programs.pass.tally_unwatched(), (0, 0));
        programs.pass.live(0);
        assert!(programs.leaves(&full));
        assert!(programs.leaves(&small));
        assert_eq!(programs.pass.tally_unwatched(), (2, u64::from(payload) + 100));
        assert_eq!(programs.pass.tally_unwatched(), (0, 0), "they are told once");
        let place = programs.place(flow);
        assert_eq!((seen(&place.came), seen(&place.taken)), (1, 0), "the credit is kept");
        assert_eq!(seen(&place.sent_to), 1_000 + payload + 100, "the window follows what left");
        programs.table().alive.store(u64::MAX, Relaxed);
        assert!(!programs.leaves(&full), "what is held has not left yet");
        programs.release(flow);
        assert!(programs.leaves(&full), "and credits count again");
    });
}
