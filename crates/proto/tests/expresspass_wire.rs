//! The ExpressPass family over a virtual wire: every flow ends and every byte arrives, whatever is lost.

mod common;

use clearway_proto::Transport;
use clearway_proto::expresspass::hotnets::Hotnets16;
use clearway_proto::expresspass::naive::NaiveCredit;
use clearway_proto::expresspass::{self, ExpressPass};
use clearway_schema::Declared;
use clearway_units::{Span, Time};
use common::stream::Do;
use common::wire::{Outcome, Wire};
use proptest::prelude::*;

/// The parameters of profile "ns2".
fn ns2() -> expresspass::Params {
    with(ExpressPass::PROFILES[0].values)
}

/// Runs the wire under one member of the family.
fn run(member: usize, wire: &Wire) -> Outcome {
    match member {
        0 => wire.run::<ExpressPass>(&Default::default()),
        1 => wire.run::<ExpressPass>(&ns2()),
        2 => wire.run::<Hotnets16>(&Default::default()),
        3 => wire.run::<NaiveCredit>(&Default::default()),
        // Pieces of the paper and of the ns-2 code that no profile puts together.
        4 => wire.run::<ExpressPass>(&with(&[
            ("early_stop", "true"),
            ("handshake", "none"),
            ("reorder_credits", "30"),
            ("idle_timeout", "1 us"),
            ("reorder_window", "0 s"),
        ])),
        5 => wire.run::<ExpressPass>(&with(&[("tell_end", "true"), ("end_margin", "0")])),
        6 => wire.run::<ExpressPass>(&with(&[
            ("feedback", "ns2"),
            ("early_stop", "true"),
            ("tell_end", "true"),
            ("reorder_credits", "8"),
            ("handshake", "none"),
        ])),
        7 => wire.run::<ExpressPass>(&with(&[("low_priority", "1")])),
        8 => wire.run::<ExpressPass>(&with(&[
            ("low_priority", "2"),
            ("tell_end", "true"),
            ("handshake", "none"),
        ])),
        9 => wire.run::<ExpressPass>(&with(&[("low_priority", "0.5"), ("recovery", "go-back-n")])),
        _ => wire.run::<ExpressPass>(&with(&[
            ("feedback", "ns2"),
            ("recovery", "go-back-n"),
            ("randomize_size", "true"),
            ("retry", "20 us"),
        ])),
    }
}

/// The defaults but for these.
fn with(values: &[(&str, &str)]) -> expresspass::Params {
    let mut params = expresspass::Params::default();
    values.iter().for_each(|(name, value)| params.set(name, *value).unwrap());
    params
}

const MEMBERS: std::ops::Range<usize> = 0..11;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[test]
fn a_megabyte_without_loss_needs_no_retransmission() {
    for member in 0..4 {
        let outcome = run(member, &Wire::with_flow(1_000_000));
        assert_eq!(outcome.sender.retransmits, 0);
        assert_eq!(outcome.sender.timeouts, 0);
        assert_eq!(outcome.receiver.duplicate_bytes, 0);
        assert_eq!(outcome.sender.data_packets, 1_000_000u64.div_ceil(1460));
        assert_eq!(outcome.sender.credits_used, outcome.sender.data_packets);
    }
}

#[test]
fn losing_any_one_or_two_packets_of_a_short_flow_does_not_hang_it() {
    for member in MEMBERS {
        for bytes in [0, 1, 1_460, 6_000] {
            for first in 0..12u64 {
                for second in 0..12u64 {
                    let lose = vec![(first % 2 == 0, first / 2), (second % 2 == 0, second / 2)];
                    run(member, &Wire { lose, ..Wire::with_flow(bytes) });
                }
            }
        }
    }
}

#[test]
fn a_persistent_connection_asks_anew_for_each_message() {
    let script = (0..20).map(|i| (us(i * 1_000), Do::Write(200))).chain([(us(30_000), Do::Close)]).collect();
    let wire = Wire { established: true, script, ..Wire::default() };
    for member in 0..4 {
        let outcome = run(member, &wire);
        assert_eq!(outcome.kinds.get("CreditRequest"), Some(&20), "{member}");
        assert_eq!(outcome.sender.data_packets, 20);
        assert_eq!(outcome.sender.retransmits + outcome.sender.timeouts, 0);
    }
}

#[test]
fn under_the_profile_ns2_a_flow_of_one_frame_draws_one_credit_and_opens_without_a_handshake() {
    for bytes in [1, 1_000, 1_460] {
        let outcome = Wire::with_flow(bytes).run::<ExpressPass>(&ns2());
        assert_eq!((outcome.receiver.credits_sent, outcome.sender.credits_wasted), (1, 0), "{bytes}");
        let kinds: Vec<(&str, u64)> = outcome.kinds.iter().map(|(kind, count)| (&kind[..], *count)).collect();
        let expected = [("Ack", 1), ("Credit", 1), ("CreditRequest", 1), ("CreditStop", 1), ("Data", 1)];
        assert_eq!(kinds, expected, "{bytes}: the answer to the stop is ours");
        let default = Wire::with_flow(bytes).run::<ExpressPass>(&Default::default());
        assert!(default.receiver.credits_sent > 1, "{bytes}");
    }
}

#[test]
fn released_data_leaves_before_the_stop_where_both_wait_in_one_queue() {
    let params = with(&[("release", "queue"), ("idle_timeout", "0 s")]);
    let outcome = Wire::with_flow(14_600).run::<ExpressPass>(&params);
    assert_eq!(outcome.kinds["CreditStop"], 1, "the answer to it finds all data there");
    assert_eq!(outcome.sender.data_packets, 10);
}

#[test]
fn a_receiver_that_was_told_the_end_sends_a_credit_a_frame_and_the_margin() {
    for bytes in [1, 1_460, 14_600, 146_000, 1_000_000] {
        let frames = u64::div_ceil(bytes, 1_460);
        for (margin, extra) in [("0", 0), ("0.1", 2)] {
            let params = with(&[("tell_end", "true"), ("end_margin", margin)]);
            let outcome = Wire::with_flow(bytes).run::<ExpressPass>(&params);
            assert_eq!(outcome.sender.credits_used, frames);
            // A round trip is ten frames long, so the margin is two credits at most.
            let sent = outcome.receiver.credits_sent - outcome.credits_dropped;
            assert!(sent >= frames && sent <= frames + extra, "{bytes} {margin}: {sent}");
            assert_eq!(outcome.sender.timeouts, 0);
        }
        let default = Wire::with_flow(bytes).run::<ExpressPass>(&with(&[]));
        assert!(default.sender.credits_wasted >= 1, "{bytes}: {}", default.sender.credits_wasted);
    }
}

#[test]
fn an_endless_flow_ends_where_it_is_cut_off() {
    for member in MEMBERS {
        let script = vec![
            (us(0), Do::Write(u64::MAX / 4)),
            (us(0), Do::Write(u64::MAX / 4)),
            (us(2_000), Do::Truncate),
        ];
        let outcome = run(member, &Wire { script, ..Wire::default() });
        assert!(outcome.delivered > 1_500_000 && outcome.delivered < 2_500_000, "{member}: {outcome:?}");
    }
}

#[test]
fn two_megabytes_arrive_through_ten_percent_loss_in_bounded_time() {
    for member in MEMBERS {
        let outcome = run(member, &Wire { loss: 0.1, ..Wire::with_flow(2_000_000) });
        assert!(outcome.finished_at < Time::ZERO + Span::from_secs(1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn large_flows_arrive_too(
        member in MEMBERS, seed in any::<u64>(), bytes in 1_000_000u64..10_000_000, loss in 0.0..0.3,
    ) {
        let wire = Wire { loss, seed, limit: Time::ZERO + Span::from_secs(2), ..Wire::with_flow(bytes) };
        run(member, &wire);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_flow_ends_and_every_byte_arrives(
        member in MEMBERS,
        seed in any::<u64>(),
        loss in prop_oneof![Just(0.0), 0.0..0.3],
        reorder in prop_oneof![Just(0.0), 0.0..0.3],
        established in any::<bool>(),
        writes in prop::collection::vec((0u64..2_000, prop_oneof![1u64..3_000, 1u64..300_000]), 0..6),
        close_after in 0u64..2_000,
        truncate in any::<bool>(),
    ) {
        let (mut at, mut script) = (0, Vec::new());
        for (pause, bytes) in writes {
            at += pause;
            script.push((us(at), Do::Write(bytes)));
        }
        let end = us(at + close_after);
        script.push((end, if truncate { Do::Truncate } else { Do::Close }));
        run(member, &Wire { loss, reorder, established, seed, script, ..Wire::default() });
    }
}

#[test]
fn more_data_in_a_session_that_the_receiver_ended_by_itself_is_heard_of_though_what_said_so_was_lost() {
    let script = vec![
        (us(0), Do::Write(29_201)),
        (us(1090), Do::Write(1)),
        (us(1293), Do::Write(29_201)),
        (us(1293), Do::Close),
    ];
    let wire = Wire {
        loss: 0.20994011589468983,
        established: false,
        seed: 11378104757884537117,
        script,
        ..Wire::default()
    };
    run(8, &wire);
}
