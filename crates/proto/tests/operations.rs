//! Sequences of operations on every transport of the registry: whatever the application and the network do in whatever
//! order, the ends keep the rules of their interface. A new transport is covered as soon as it is registered.

use clearway_proto::testing::{Fate, Network, Operation, Pair, PortConfig, Side, Way, Wire, forge};
use clearway_proto::{AnyTransport, Entity, Rng, TRANSPORTS, TRIALS};
use clearway_units::{Rate, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// A step of a sequence.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The application of a flow writes.
    Write(usize, u64),
    /// The application of a flow closes it: once.
    Close(usize),
    /// The application of a flow takes back what was not sent, and closes it: once.
    Truncate(usize),
    /// Time passes.
    Advance(Span),
    /// Something happens to the next packets in a direction.
    Next(Way, Fate, u32),
    /// The timer of an end is called before its time.
    Early(usize, Side),
    /// A packet that left an end before arrives there once more.
    Again(usize, usize),
    /// A packet arrives like one that left an end before, but with other values in its header.
    Forged(usize, usize, u64),
}

const FLOWS: usize = 2;

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        Just(Span::ZERO),
        (1u64..20_000).prop_map(Span::from_ns),
        (1u64..300).prop_map(Span::from_us),
        (1u64..30_000).prop_map(Span::from_us),
    ]
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![Just(Way::ToReceiver), Just(Way::ToSender)]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        Just(Fate::Lose),
        span().prop_map(Fate::Duplicate),
        span().prop_map(Fate::Delay),
        Just(Fate::Mark),
        Just(Fate::Pass),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let flow = 0..FLOWS;
    let bytes = prop_oneof![1u64..3_000, Just(1460), 1u64..200_000];
    let side = prop_oneof![Just(Side::Sender), Just(Side::Receiver)];
    prop_oneof![
        3 => (flow.clone(), bytes).prop_map(|(flow, bytes)| Step::Write(flow, bytes)),
        1 => flow.clone().prop_map(Step::Close),
        1 => flow.clone().prop_map(Step::Truncate),
        6 => span().prop_map(Step::Advance),
        4 => (way(), fate(), 1u32..20).prop_map(|(way, fate, count)| Step::Next(way, fate, count)),
        2 => (flow.clone(), side).prop_map(|(flow, side)| Step::Early(flow, side)),
        2 => (flow, any::<usize>()).prop_map(|(flow, which)| Step::Again(flow, which)),
    ]
}

/// The network of a sequence: with or without NICs that take time, a port with its mechanism, and connections that
/// stand already.
fn network() -> impl Strategy<Value = Network> {
    let loss = prop_oneof![Just(0.0), Just(0.0), 0.0..0.2];
    let jitter = prop_oneof![Just(Span::ZERO), (1u64..50).prop_map(Span::from_us)];
    (any::<[bool; 3]>(), loss, jitter, 1_600u64..200_000, any::<u64>()).prop_map(
        |([instant, established, port], loss, jitter, buffer, seed)| {
            let port = port.then_some(PortConfig { rate: Rate::gbps(5), buffer, mark_above: buffer / 2 });
            let wire = Wire { loss, jitter, duplicate: loss / 2.0, mark: loss, ..Wire::default() };
            let to_receiver = Wire { port, ..wire.clone() };
            // Timeouts double, and a sequence may lose dozens of packets in a row.
            let limit = Time::ZERO + Span::from_secs(24 * 3600);
            Network { instant, established, seed, to_receiver, to_sender: wire, limit, ..Network::default() }
        },
    )
}

/// Plays a sequence on a transport.
fn play(transport: &AnyTransport, network: &Network, steps: &[Step]) -> Pair {
    let mut pair = Pair::new(network.clone());
    pair.log = true;
    for _ in 0..FLOWS {
        pair.add(transport, []);
    }
    let mut closed = [false; FLOWS];
    for step in steps {
        match *step {
            Step::Write(flow, bytes) if !closed[flow] => pair.operate(flow, Operation::Write(bytes)),
            Step::Close(flow) if !closed[flow] => {
                closed[flow] = true;
                pair.operate(flow, Operation::Close);
            }
            Step::Truncate(flow) if !closed[flow] => {
                closed[flow] = true;
                pair.operate(flow, Operation::Truncate);
            }
            Step::Write(..) | Step::Close(_) | Step::Truncate(_) => {}
            Step::Advance(span) => pair.advance(span),
            Step::Next(way, fate, count) => (0..count).for_each(|_| pair.transit.decide_next(way, fate)),
            Step::Early(flow, side) => pair.fire_early(flow, side),
            Step::Again(flow, which) => {
                let log = &pair.flows[flow].log;
                if let Some(logged) = log.get(which % log.len().max(1)).copied() {
                    pair.repeat(flow, &logged);
                }
            }
            Step::Forged(flow, which, seed) => {
                let log = &pair.flows[flow].log;
                if let Some(logged) = log.get(which % log.len().max(1)).copied() {
                    let (packet, extra) = forge(&logged.packet, &mut Rng::stream(seed, Entity::Traffic, 0));
                    pair.inject(flow, packet, extra);
                }
            }
        }
    }
    for (flow, closed) in closed.into_iter().enumerate() {
        if !closed {
            pair.operate(flow, Operation::Close);
        }
    }
    pair
}

fn transports() -> impl Iterator<Item = AnyTransport> {
    TRANSPORTS.iter().chain(TRIALS).map(|info| AnyTransport::by_name(info.name).expect("it is listed"))
}

/// Returns all transports but `blast`, which sends all data once and has no acknowledgements.
fn those_that_recover() -> impl Iterator<Item = AnyTransport> {
    transports().filter(|transport| transport.info().name != "blast")
}

/// Plays random sequences on each of these transports, and calls `after` with each pair.
fn fuzz(
    transports: impl Iterator<Item = AnyTransport>,
    step: impl Strategy<Value = Step> + Clone,
    after: impl Fn(&mut Pair),
) {
    for transport in transports {
        let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
        let steps = prop::collection::vec(step.clone(), 1..40);
        let result = TestRunner::new(config).run(&(network(), steps), |(network, steps)| {
            after(&mut play(&transport, &network, &steps));
            Ok(())
        });
        if let Err(error) = result {
            panic!("{}: {error}", transport.info().name);
        }
    }
}

/// Random sequences for each transport.
const CASES: u32 = 100;

#[test]
fn every_byte_arrives_once_and_in_order_and_both_ends_finish_whatever_happens() {
    fuzz(those_that_recover(), step().boxed(), Pair::finish);
}

/// The pacer of HULL updates its rate at the very instant in which the NIC asks for a packet, before its timer is called.
#[test]
fn a_pacer_sends_a_packet_only_if_it_said_so_though_its_rate_changes_at_that_instant() {
    let transport = AnyTransport::by_name("hull").expect("a transport with a pacer");
    let port = Some(PortConfig { rate: Rate::gbps(5), buffer: 24_608, mark_above: 12_304 });
    let to_receiver = Wire { port, ..Wire::default() };
    let limit = Time::ZERO + Span::from_secs(24 * 3600);
    let seed = 3_210_514_790_821_808_613;
    let network =
        Network { instant: false, established: false, seed, to_receiver, limit, ..Network::default() };
    let again = Step::Again(0, 6_883_214_376_712_226_795);
    let steps = [Step::Write(1, 38_556), Step::Write(0, 39_420), Step::Advance(Span::from_us(9)), again];
    play(&transport, &network, &steps).finish();
}

/// The network answers a question while the NIC still sends it, and loses all other answers.
#[test]
fn data_that_may_leave_while_the_nic_sends_a_question_leaves_behind_it() {
    let transport = AnyTransport::by_name("rcp").expect("a transport that asks before it sends");
    let network = Network { instant: false, established: false, ..Network::default() };
    let mut pair = Pair::new(network);
    pair.log = true;
    let flow = pair.add(&transport, []);
    (0..6).for_each(|_| pair.transit.decide_next(Way::ToSender, Fate::Lose));
    pair.operate(flow, Operation::Write(1));
    for which in [0, 2] {
        let logged = pair.flows[flow].log[which];
        pair.repeat(flow, &logged);
    }
    pair.operate(flow, Operation::Close);
    pair.finish();
}

/// The first packets get lost, among them the one without data that tells where the flow ends: so the data before it, once it is
/// repeated, tells the end first.
#[test]
fn an_end_that_repeated_data_has_told_is_told_no_more_and_the_flow_ends() {
    let port = Some(PortConfig { rate: Rate::gbps(5), buffer: 1_600, mark_above: 800 });
    let to_receiver = Wire { port, ..Wire::default() };
    let network = Network { instant: false, established: false, to_receiver, ..Network::default() };
    for name in ["ndp", "eqds", "uec-nscc", "uec-rccc", "uec"] {
        let transport = AnyTransport::by_name(name).expect("a transport that numbers its packets");
        for lost in 0..10 {
            let all = Step::Next(Way::ToReceiver, Fate::Lose, lost);
            let steps = [all, Step::Write(0, 1), Step::Advance(Span::from_ns(10_269))];
            play(&transport, &network, &steps).finish();
        }
    }
}

#[test]
fn forged_packets_neither_crash_an_end_nor_make_it_spin() {
    let forged = (0..FLOWS, any::<usize>(), any::<u64>())
        .prop_map(|(flow, which, seed)| Step::Forged(flow, which, seed));
    let step = prop_oneof![3 => step(), 1 => forged];
    fuzz(transports(), step.boxed(), |pair| {
        let soon = pair.now + Span::from_ms(50);
        pair.run_until(soon);
    });
}

#[test]
fn the_transport_that_does_not_recover_delivers_all_where_nothing_is_lost() {
    let blast = AnyTransport::by_name("blast").expect("a transport");
    let mut pair = Pair::new(Network::default());
    let flow = pair.add(&blast, [(Time::ZERO, Operation::Write(1_000_000)), (Time::ZERO, Operation::Close)]);
    pair.finish();
    assert_eq!(pair.flows[flow].sender.stats().data_packets, 1_000_000u64.div_ceil(1460));
}

/// A flow is closed while its last packet is repeated and it has no credit for the packet that would tell the end. The repeated packet
/// tells it, and the receiver, which has all, pulls no more: so nothing must be left to send.
#[test]
fn a_flow_of_uec_ends_whose_repeated_data_told_the_end_before_a_credit_came_for_it() {
    let transport = AnyTransport::by_name("uec").expect("a transport with credits");
    let loss = 0.196_378_164_885_232_58;
    let wire = Wire { loss, jitter: Span::from_us(6), duplicate: loss / 2.0, mark: loss, ..Wire::default() };
    let network = Network {
        instant: true,
        established: true,
        seed: 3_165_569_388_270_872_487,
        to_receiver: wire.clone(),
        to_sender: wire,
        limit: Time::ZERO + Span::from_secs(10),
        ..Network::default()
    };
    let steps = [
        Step::Write(0, 160_142),
        Step::Advance(Span::from_us(26_684)),
        Step::Close(1),
        Step::Next(Way::ToReceiver, Fate::Lose, 12),
        Step::Write(0, 1460),
        Step::Advance(Span::from_us(20_363)),
    ];
    play(&transport, &network, &steps).finish();
}
