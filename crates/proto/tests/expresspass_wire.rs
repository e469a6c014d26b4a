//! The ExpressPass family over a virtual wire: every flow ends and every byte arrives, whatever is lost.

use clearway_proto::expresspass::{self, ExpressPass};
use clearway_proto::testing::{Fate, Network, Operation, Pair, Way, Wire};
use clearway_proto::{AnyTransport, Kind, Transport};
use clearway_schema::Declared;
use clearway_units::{Span, Time};
use proptest::prelude::*;

/// The parameters of profile "ns2".
fn ns2() -> expresspass::ExpressPassParams {
    with(ExpressPass::PROFILES[0].values)
}

/// One member of the family.
fn member(number: usize) -> AnyTransport {
    let params = match number {
        0 => Default::default(),
        1 => ns2(),
        2 => return AnyTransport::ExpressPassHotnets16(Default::default()),
        3 => return AnyTransport::NaiveCredit(Default::default()),
        // Pieces of the paper and of the ns-2 code that no profile puts together.
        4 => with(&[
            ("early_stop", "true"),
            ("handshake", "none"),
            ("reorder_credits", "30"),
            ("idle_timeout", "1 us"),
            ("reorder_window", "0 s"),
        ]),
        5 => with(&[("tell_end", "true"), ("end_margin", "0")]),
        6 => with(&[
            ("feedback", "ns2"),
            ("early_stop", "true"),
            ("tell_end", "true"),
            ("reorder_credits", "8"),
            ("handshake", "none"),
        ]),
        7 => with(&[("low_priority", "1")]),
        8 => with(&[("low_priority", "2"), ("tell_end", "true"), ("handshake", "none")]),
        9 => with(&[("low_priority", "0.5"), ("recovery", "go-back-n")]),
        _ => with(&[
            ("feedback", "ns2"),
            ("recovery", "go-back-n"),
            ("randomize_size", "true"),
            ("retry", "20 us"),
        ]),
    };
    AnyTransport::ExpressPass(params)
}

/// Runs one flow with these operations, of which the packets at these places in their direction are lost.
fn run_losing(
    transport: &AnyTransport,
    network: Network,
    operations: Vec<(Time, Operation)>,
    lose: &[(Way, u64)],
) -> Pair {
    let mut pair = Pair::new(network);
    pair.add(transport, operations);
    let lose = lose.to_vec();
    pair.transit
        .decide(move |it| if lose.contains(&(it.way, it.position)) { Fate::Lose } else { Fate::Pass });
    pair.finish();
    pair
}

/// Runs one flow with these operations.
fn run(transport: &AnyTransport, network: Network, operations: Vec<(Time, Operation)>) -> Pair {
    run_losing(transport, network, operations, &[])
}

/// Runs one flow of this size over wires that lose nothing.
fn send(transport: &AnyTransport, bytes: u64) -> Pair {
    run(transport, Network::default(), flow_of(bytes))
}

/// Runs one flow of this size under ExpressPass with these parameters.
fn send_with(values: &[(&str, &str)], bytes: u64) -> Pair {
    send(&AnyTransport::ExpressPass(with(values)), bytes)
}

fn flow_of(bytes: u64) -> Vec<(Time, Operation)> {
    vec![(us(0), Operation::Write(bytes)), (us(0), Operation::Close)]
}

/// The defaults but for these.
fn with(values: &[(&str, &str)]) -> expresspass::ExpressPassParams {
    let mut params = expresspass::ExpressPassParams::default();
    values.iter().for_each(|(name, value)| params.set(name, *value).unwrap());
    params
}

const MEMBERS: std::ops::Range<usize> = 0..11;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Wires that lose this share of packets in both directions.
fn lossy(loss: f64, seed: u64) -> Network {
    Network { seed, ..Network::of(Wire { loss, ..Wire::default() }) }
}

#[test]
fn a_megabyte_without_loss_needs_no_retransmission() {
    for number in 0..4 {
        let pair = send(&member(number), 1_000_000);
        let (sender, receiver) = (pair.flows[0].sender.stats(), pair.flows[0].receiver.stats());
        assert_eq!(
            (sender.rare().retransmits, sender.rare().timeouts, receiver.rare().duplicate_bytes),
            (0, 0, 0)
        );
        assert_eq!(sender.data_packets, 1_000_000u64.div_ceil(1460));
        assert_eq!(sender.credits_used, sender.data_packets);
    }
}

#[test]
fn losing_any_one_or_two_packets_of_a_short_flow_does_not_hang_it() {
    for number in MEMBERS {
        let transport = member(number);
        for bytes in [0, 1, 1_460, 6_000] {
            for first in 0..12u64 {
                for second in 0..12u64 {
                    let place = |number: u64| {
                        (if number.is_multiple_of(2) { Way::ToReceiver } else { Way::ToSender }, number / 2)
                    };
                    let lose = [place(first), place(second)];
                    run_losing(&transport, Network::default(), flow_of(bytes), &lose);
                }
            }
        }
    }
}

#[test]
fn a_persistent_connection_asks_anew_for_each_message() {
    let writes = (0..20).map(|i| (us(i * 1_000), Operation::Write(200)));
    let operations: Vec<_> = writes.chain([(us(30_000), Operation::Close)]).collect();
    for number in 0..4 {
        let network = Network { established: true, ..Network::default() };
        let pair = run(&member(number), network, operations.clone());
        assert_eq!(pair.transit.kinds().get(&Kind::CreditRequest), Some(&20), "{number}");
        let sender = pair.flows[0].sender.stats();
        assert_eq!((sender.data_packets, sender.rare().retransmits, sender.rare().timeouts), (20, 0, 0));
    }
}

#[test]
fn under_the_profile_ns2_a_flow_of_one_frame_draws_one_credit_and_opens_without_a_handshake() {
    for bytes in [1, 1_000, 1_460] {
        let pair = send(&AnyTransport::ExpressPass(ns2()), bytes);
        let (sender, receiver) = (pair.flows[0].sender.stats(), pair.flows[0].receiver.stats());
        assert_eq!((receiver.credits_sent, sender.rare().credits_wasted), (1, 0), "{bytes}");
        let expected = [Kind::Data, Kind::CreditRequest, Kind::CreditStop, Kind::Ack, Kind::Credit];
        assert_eq!(
            *pair.transit.kinds(),
            expected.map(|kind| (kind, 1)).into(),
            "{bytes}: the answer to the stop is ours"
        );
        assert!(send_with(&[], bytes).flows[0].receiver.stats().credits_sent > 1, "{bytes}");
    }
}

#[test]
fn released_data_leaves_before_the_stop_where_both_wait_in_one_queue() {
    let pair = send_with(&[("release", "queue"), ("idle_timeout", "0 s")], 14_600);
    assert_eq!(pair.transit.kinds()[&Kind::CreditStop], 1, "the answer to it finds all data there");
    assert_eq!(pair.flows[0].sender.stats().data_packets, 10);
}

#[test]
fn a_receiver_that_was_told_the_end_sends_a_credit_a_frame_and_the_margin() {
    for bytes in [1, 1_460, 14_600, 146_000, 1_000_000] {
        let frames = u64::div_ceil(bytes, 1_460);
        for (margin, extra) in [("0", 0), ("0.1", 2)] {
            let pair = send_with(&[("tell_end", "true"), ("end_margin", margin)], bytes);
            let sender = pair.flows[0].sender.stats();
            assert_eq!((sender.credits_used, sender.rare().timeouts), (frames, 0));
            // A round trip is ten frames long, so the margin is two credits at most.
            let sent = pair.flows[0].receiver.stats().credits_sent - pair.transit.credits_dropped();
            assert!(sent >= frames && sent <= frames + extra, "{bytes} {margin}: {sent}");
        }
        assert!(send_with(&[], bytes).flows[0].sender.stats().rare().credits_wasted >= 1, "{bytes}");
    }
}

#[test]
fn an_endless_flow_ends_where_it_is_cut_off() {
    for number in MEMBERS {
        let operations = vec![
            (us(0), Operation::Write(u64::MAX / 4)),
            (us(0), Operation::Write(u64::MAX / 4)),
            (us(2_000), Operation::Truncate),
        ];
        let pair = run(&member(number), Network::default(), operations);
        let delivered = pair.flows[0].receiver.delivered();
        assert!((1_500_000..2_500_000).contains(&delivered), "{number}: {delivered}");
    }
}

#[test]
fn two_megabytes_arrive_through_ten_percent_loss_in_bounded_time() {
    for number in MEMBERS {
        let pair = run(&member(number), lossy(0.1, 1), flow_of(2_000_000));
        assert!(pair.flows[0].finished_at.iter().all(|at| at.unwrap() < us(1_000_000)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn large_flows_arrive_too(
        number in MEMBERS, seed in any::<u64>(), bytes in 1_000_000u64..10_000_000, loss in 0.0..0.3,
    ) {
        let network = Network { limit: us(2_000_000), ..lossy(loss, seed) };
        run(&member(number), network, flow_of(bytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_flow_ends_and_every_byte_arrives(
        number in MEMBERS,
        seed in any::<u64>(),
        loss in prop_oneof![Just(0.0), 0.0..0.3],
        reorder in prop_oneof![Just(0.0), 0.0..0.3],
        established in any::<bool>(),
        writes in prop::collection::vec((0u64..2_000, prop_oneof![1u64..3_000, 1u64..300_000]), 0..6),
        close_after in 0u64..2_000,
        truncate in any::<bool>(),
    ) {
        let (mut at, mut operations) = (0, Vec::new());
        for (pause, bytes) in writes {
            at += pause;
            operations.push((us(at), Operation::Write(bytes)));
        }
        let end = if truncate { Operation::Truncate } else { Operation::Close };
        operations.push((us(at + close_after), end));
        let wire = Wire { loss, late: reorder, ..Wire::default() };
        run(&member(number), Network { established, seed, ..Network::of(wire) }, operations);
    }
}

#[test]
fn more_data_in_a_session_that_the_receiver_ended_by_itself_is_heard_of_though_what_said_so_was_lost() {
    let operations = vec![
        (us(0), Operation::Write(10_000)),
        (us(300), Operation::Write(29_201)),
        (us(600), Operation::Close),
    ];
    // Under some of these losses the receiver ends its session by itself, and the packet that tells of more is lost.
    for lost in
        (0..40).flat_map(|data| (0..12).map(move |back| [(Way::ToReceiver, data), (Way::ToSender, back)]))
    {
        run_losing(&member(8), Network::default(), operations.clone(), &lost);
    }
}
