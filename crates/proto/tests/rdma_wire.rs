//! RDMA flows over a virtual wire: every flow ends and every byte arrives, whatever is lost, late or doubled.

use clearway_proto::testing::{Fate, Flow, Network, Operation, Pair, Way, Wire};
use clearway_proto::{AnyTransport, Flags, Kind};
use clearway_units::{Span, Time};
use proptest::prelude::*;

const TRANSPORTS: [&str; 6] = ["rocev2", "dcqcn", "timely", "hpcc", "rdma-dctcp", "pacc"];
const RECOVERIES: [&str; 2] = ["go-back-n", "selective-repeat"];

/// Payload of a full packet, in bytes.
const MSS: u64 = 1460;

fn transport(name: &str, values: &[(&str, &str)]) -> AnyTransport {
    let mut transport = AnyTransport::by_name(name).expect("a transport");
    values.iter().for_each(|(key, value)| transport.set(key, *value).expect("a valid parameter"));
    transport
}

fn whole(bytes: u64) -> [(Time, Operation); 2] {
    [(Time::ZERO, Operation::Write(bytes)), (Time::ZERO, Operation::Close)]
}

/// Runs a flow of `packets` under `rocev2`. Of the data packets, counted from 0 in the order of their departure, those
/// in `lost` are lost.
fn with_losses(recovery: &str, packets: u64, lost: &'static [u64]) -> Flow {
    let mut pair = Pair::new(Network::default());
    pair.log = true;
    pair.add(&transport("rocev2", &[("recovery", recovery)]), whole(packets * MSS));
    pair.transit.decide(move |departure| {
        let is_data = departure.packet.kind() == Kind::Data;
        if is_data && lost.contains(&departure.position) { Fate::Lose } else { Fate::Pass }
    });
    pair.finish();
    pair.flows.remove(0)
}

/// The numbers of the packets that were sent again, in the order of their departure.
fn repeated(flow: &Flow) -> Vec<u64> {
    let again = flow.data_sent().filter(|logged| logged.packet.flags.has(Flags::RETRANSMIT));
    again.map(|logged| logged.packet.range().start / MSS).collect()
}

#[test]
fn without_loss_nothing_is_sent_twice() {
    for name in TRANSPORTS {
        for recovery in RECOVERIES {
            let mut pair = Pair::new(Network::default());
            let flow = pair.add(&transport(name, &[("recovery", recovery)]), whole(200_000));
            pair.finish();
            let (sender, receiver) = (pair.flows[flow].sender.stats(), pair.flows[flow].receiver.stats());
            assert_eq!((sender.rare().retransmits, sender.rare().timeouts), (0, 0), "{name} {recovery}");
            assert_eq!((sender.data_packets, receiver.rare().duplicate_bytes), (137, 0), "{name} {recovery}");
        }
    }
}

#[test]
fn selective_repeat_sends_a_lost_packet_once_more_and_go_back_n_all_that_followed() {
    let flow = with_losses("selective-repeat", 60, &[10]);
    assert_eq!(repeated(&flow), [10]);
    assert_eq!((flow.sender.stats().rare().timeouts, flow.receiver.stats().rare().duplicate_bytes), (0, 0));
    let flow = with_losses("go-back-n", 60, &[10]);
    let again = repeated(&flow);
    assert_eq!(again, (10..10 + again.len() as u64).collect::<Vec<_>>());
    // The notice of the loss takes a round trip of 12.5 us, in which ten packets of 1.23 us leave.
    assert!((9..=12).contains(&again.len()), "{again:?}");
    assert_eq!((flow.sender.stats().rare().timeouts, flow.receiver.stats().rare().duplicate_bytes), (0, 0));
}

#[test]
fn a_lost_repetition_is_repeated_without_a_timeout_while_data_follows() {
    // Packet 10 is lost, and so are its first two repetitions.
    let mut pair = Pair::new(Network::default());
    pair.log = true;
    pair.add(&transport("rocev2", &[("recovery", "selective-repeat")]), whole(100 * MSS));
    let mut lost = 0;
    pair.transit.decide(move |departure| {
        let is_tenth = departure.packet.kind() == Kind::Data && departure.packet.range().start == 10 * MSS;
        lost += is_tenth as u32;
        if is_tenth && lost <= 3 { Fate::Lose } else { Fate::Pass }
    });
    pair.finish();
    assert_eq!(repeated(&pair.flows[0]), [10, 10, 10]);
    assert_eq!(pair.flows[0].sender.stats().rare().timeouts, 0);
}

#[test]
fn a_lost_tail_waits_for_the_timer() {
    for recovery in RECOVERIES {
        let flow = with_losses(recovery, 20, &[19]);
        assert_eq!((flow.sender.stats().rare().timeouts, repeated(&flow)), (1, vec![19]), "{recovery}");
    }
}

#[test]
fn a_receiver_of_marks_sends_at_most_one_cnp_in_an_interval() {
    let wire = Wire { mark: 1.0, ..Wire::default() };
    let mut pair = Pair::new(Network { to_receiver: wire, ..Network::default() });
    pair.log = true;
    let flow = pair.add(&transport("dcqcn", &[("cnp_interval", "50 us")]), whole(1_000_000));
    pair.finish();
    let cnps = pair.flows[flow].left(Way::ToSender).filter(|logged| logged.packet.kind() == Kind::Cnp);
    let times: Vec<Time> = cnps.map(|logged| logged.at).collect();
    assert!(times.len() > 10, "{times:?}");
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= Span::from_us(50)), "{times:?}");
    assert_eq!(pair.flows[flow].sender.stats().rare().notifications, times.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_byte_arrives_through_loss_reordering_and_duplicates(
        name in prop::sample::select(&TRANSPORTS[..]),
        recovery in prop::sample::select(&RECOVERIES[..]),
        loss in 0.0..0.2,
        late in 0.0..0.3,
        duplicate in 0.0..0.1,
        mark in 0.0..0.5,
        seed in any::<u64>(),
        writes in prop::collection::vec((0u64..2_000, 1u64..60_000), 1..6),
    ) {
        let wire = Wire { loss, late, duplicate, mark, ..Wire::default() };
        let mut pair = Pair::new(Network { seed, ..Network::of(wire) });
        let mut now = Time::ZERO;
        let mut script = Vec::new();
        for (us, bytes) in writes {
            now += Span::from_us(us);
            script.push((now, Operation::Write(bytes)));
        }
        script.push((now + Span::from_us(30), Operation::Close));
        pair.add(&transport(name, &[("recovery", recovery)]), script);
        pair.finish();
    }
}
