//! Anything goes: whatever the wire does, every byte arrives once and in order.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Case {
    loss: f64,
    jitter_us: u64,
    writes: Vec<(u64, u64)>,
    close_us: u64,
    truncate: bool,
    window: u64,
    sack: bool,
    delayed_ack: bool,
    handshake: bool,
    ecn: bool,
    bottleneck: bool,
    dupthresh: u32,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let writes = prop::collection::vec(
        (
            prop_oneof![0u64..3000, 0u64..200_000],
            prop_oneof![1u64..3000, 1u64..200_000, Just(1460), Just(14_600)],
        ),
        1..5,
    );
    let network = (
        prop_oneof![Just(0.0), 0.0..0.05, 0.0..0.3],
        prop_oneof![Just(0u64), 1u64..20, 1u64..400],
        prop_oneof![Just(1_000_000_000u64), 1u64..5000, 1u64..100_000],
        any::<bool>(),
    );
    let options = (any::<[bool; 5]>(), 1u32..8, 0u64..5000, any::<u64>());
    (writes, network, options).prop_map(
        |(writes, (loss, jitter_us, window, bottleneck), (flags, dupthresh, close_us, seed))| Case {
            loss,
            jitter_us,
            // Few bytes through a tiny window: each takes a round trip.
            writes: writes.into_iter().map(|(at, size)| (at, size.min(window * 200))).collect(),
            close_us,
            truncate: flags[0] && seed % 4 == 0,
            window,
            sack: flags[1],
            delayed_ack: flags[2],
            handshake: flags[3],
            ecn: flags[4],
            bottleneck,
            dupthresh,
            seed,
        },
    )
}

fn survives<T: Transport>(case: &Case, own: &[(&str, &str)])
where
    T::Sender: 'static,
    T::Receiver: 'static,
    T::Agent: 'static,
{
    let mut values = vec![
        ("receive_window", format!("{} B", case.window)),
        ("sack", case.sack.to_string()),
        ("delayed_ack", case.delayed_ack.to_string()),
        ("handshake", case.handshake.to_string()),
        ("dupthresh", case.dupthresh.to_string()),
    ];
    values.extend(own.iter().map(|(name, value)| (*name, value.to_string())));
    let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut actions: Vec<_> =
        case.writes.iter().map(|(at, bytes)| (at_us(*at), Operation::Write(*bytes))).collect();
    actions.sort_by_key(|(at, _)| *at);
    let last = actions.last().expect("at least one write").0;
    let end = if case.truncate { Operation::Truncate } else { Operation::Close };
    actions.push((last + Span::from_us(case.close_us), end));
    let wire = Wire { loss: case.loss, jitter: Span::from_us(case.jitter_us), ..ideal_wire() };
    let port = PortConfig { rate: Rate::gbps(1), buffer: 30_000, mark_above: 15_000 };
    let to_receiver = Wire { port: case.bottleneck.then_some(port), ..wire.clone() };
    let network = Network { to_receiver, ..both(wire) };
    let mut world = world::<T>(&values, network, case.seed, &[actions]);
    world.finish();
    let flow = &world.flows[0];
    if case.loss == 0.0 && case.jitter_us == 0 && !case.bottleneck {
        assert_eq!(flow.sender.stats().rare().retransmits, 0);
        assert_eq!(flow.receiver.stats().rare().duplicate_bytes, 0);
    }
    // New bytes leave once and in order; all that is sent again says so.
    let mut next = 0;
    for (_, seq, payload, flags) in sent(flow) {
        if flags.has(Flags::RETRANSMIT) {
            assert!(seq + payload as u64 <= next);
        } else {
            assert_eq!(seq, next);
            next += payload as u64;
        }
    }
    assert_eq!(next, flow.sender.written());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_byte_arrives_once_and_in_order_whatever_the_wire_does(case in case()) {
        let ecn = if case.ecn { "true" } else { "false" };
        survives::<NewReno>(&case, &[("ecn", ecn)]);
        survives::<Cubic>(&case, &[("ecn", ecn)]);
        survives::<Dctcp>(&case, &[]);
    }
}

#[test]
fn ten_megabytes_arrive_through_heavy_loss() {
    for (seed, sack) in [(1, "true"), (2, "false")] {
        for loss in [0.01, 0.1, 0.3] {
            let network = both(Wire { loss, jitter: Span::from_us(5), ..ideal_wire() });
            let mut world = world::<NewReno>(&[("sack", sack)], network, seed, &[one_write(10_000_000)]);
            world.finish();
            let sent = world.flows[0].sender.stats().data_packets as f64;
            assert!(sent < 10_000_000.0 / 1460.0 / (1.0 - loss) * 1.8);
        }
    }
}
