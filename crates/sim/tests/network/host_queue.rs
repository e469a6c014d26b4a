//! The queue of data at a host's NIC (`host.queue`): closed forms, and books that balance whatever the transport.

use crate::common::*;
use clearway_proto::TRANSPORTS;
use clearway_sim::Results;
use clearway_sim::model::*;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_topology::{LeafSpine, PortId, Star, Topology};
use clearway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use std::path::Path;

const FRAME: u64 = 1538;

fn slots(packets: u32) -> Amount {
    Amount { packets, ..Amount::UNLIMITED }
}

/// A network for a transport whose hosts have a queue of data.
fn queueing(name: &str, topology: Topology, limit: Amount) -> Model {
    let mut model = network_for(&transport(name), topology);
    model.host.queues_data = true;
    model.host.port.classes.iter_mut().for_each(|class| class.limit = limit);
    model
}

fn slow_star(hosts: u32) -> Topology {
    Star { hosts, rate: Rate::gbps(10), delay: Span::from_us(1) }.build().unwrap()
}

/// The port of a host.
fn port_of(model: &Model, host: u32) -> PortId {
    model.topology.ports_of(clearway_topology::NodeId(host))[0]
}

fn at_port(results: &Results, column: &str, port: PortId) -> u64 {
    results.ports.u64s(column)[port.index()]
}

/// Two flows of one window of ten segments each from host 0, to hosts 1 and 2.
fn two_windows(limit: Option<Amount>) -> (Model, Results) {
    let mut model = queueing("newreno", slow_star(3), limit.unwrap_or(Amount::UNLIMITED));
    model.host.queues_data = limit.is_some();
    add(&mut model, &transport("newreno"), vec![flow(0, 1, 14_600), flow(0, 2, 14_600)]);
    let results = run(&model);
    (model, results)
}

#[test]
fn a_window_enters_the_queue_whole_and_so_the_first_flow_is_done_before_the_second_begins() {
    // A frame takes 1230.4 ns on each of two links, whose delays are 1 us.
    let frame = FRAME as f64 * 0.8e-9;
    let done = |frames: f64| (frames + 1.0) * frame + 2e-6;
    let (_, turns) = two_windows(None);
    let (model, queued) = two_windows(Some(Amount::UNLIMITED));
    let (turns, fct) = (turns.flows.f64s("fct_s"), queued.flows.f64s("fct_s"));
    let expected = |frames| move |fct: f64| (fct - done(frames)).abs() < 1e-9;
    // The first flow sends two frames before the second has its first turn.
    assert!(expected(18.0)(turns[0]) && expected(20.0)(turns[1]), "by turns: {turns:?}");
    assert!(expected(10.0)(fct[0]) && expected(20.0)(fct[1]), "first in, first out: {fct:?}");
    let port = port_of(&model, 0);
    assert_eq!(at_port(&queued, "queue_max_bytes", port), 19 * FRAME, "all but the one that is being sent");
}

#[test]
fn what_finds_no_room_in_the_queue_is_lost_counted_at_the_hosts_port_and_sent_again() {
    let (model, results) = two_windows(Some(slots(12)));
    let port = port_of(&model, 0);
    // One frame is being sent, twelve wait, and seven of the twenty find no room.
    assert_eq!(at_port(&results, "drops_buffer", port), 7);
    assert_eq!(at_port(&results, "queue_max_bytes", port), 12 * FRAME);
    assert_eq!(count(&results, "dropped, buffer"), 7);
    check(&results, &model);
}

#[test]
fn packets_are_marked_in_the_queue_of_a_host_where_its_class_says_so() {
    let mut model = queueing("dctcp", slow_star(3), Amount::UNLIMITED);
    let threshold = Threshold::Fixed(Amount { bytes: Bytes::new(12 * FRAME), packets: u32::MAX });
    model.host.port.classes[0].marking =
        Some(Marking { threshold, at: clearway_proto::port::MarkAt::Enqueue });
    add(&mut model, &transport("dctcp"), vec![flow(0, 1, 14_600), flow(0, 2, 14_600)]);
    let results = run(&model);
    // The packets that meet 13 to 18 others.
    assert_eq!(at_port(&results, "marks", port_of(&model, 0)), 6);
}

#[test]
fn packets_that_come_find_on_average_what_a_closed_form_says() {
    let (model, results) = two_windows(Some(Amount::UNLIMITED));
    let port = port_of(&model, 0);
    let mean = results.ports.f64s("queue_mean_arrivals_bytes")[port.index()];
    // The first meets nothing, the k-th k - 2 frames: 18 x 19 / 2 frames over twenty packets and, on their way back, none
    // of the acknowledgements, which leave from the other hosts.
    assert_eq!(mean, 171.0 * FRAME as f64 / 20.0);
    let (model, results) = two_windows(Some(slots(12)));
    let mean = results.ports.f64s("queue_mean_arrivals_bytes")[port_of(&model, 0).index()];
    let of_first = (0..=11).sum::<u64>() + 7 * 12;
    let sent = at_port(&results, "tx_packets", port_of(&model, 0));
    assert!(sent >= 20 && mean >= (of_first * FRAME) as f64 / (sent + 7) as f64, "{mean} of {sent}");
}

/// Overloads a port of a switch by two hosts, whose frames come pair by pair.
fn overload(shared: bool) -> (Model, Results) {
    let mut model = quiet(slow_star(3));
    model.switch.classes[0].limit = slots(10);
    if shared {
        model.switch.shared = Some(SharedBuffer { size: Bytes::new(1_000_000), alpha: 8.0 });
    }
    add(&mut model, &transport("blast"), vec![flow(0, 2, 1460 * 100), flow(1, 2, 1460 * 100)]);
    let results = run(&model);
    (model, results)
}

#[test]
fn plain_ports_and_others_agree_on_what_packets_find_that_come_dropped_ones_included() {
    let mean = |shared| {
        let (model, results) = overload(shared);
        let port = port_of(&model, 2).reverse();
        assert_eq!(at_port(&results, "drops_buffer", port), 91);
        results.ports.f64s("queue_mean_arrivals_bytes")[port.index()]
    };
    // Of each pair the first finds what the second of the pair before left, less the frame that then begins, and the second
    // one more: 0 0, 1 1, 2 2, ... 9 9, then 10 and 10 once the queue is full.
    let (plain, queued) = (mean(false), mean(true));
    assert_eq!(plain, queued);
    assert!(plain > 9.0 * FRAME as f64 && plain < 10.0 * FRAME as f64, "{plain}");
}

#[test]
fn packets_that_waited_for_a_link_that_failed_still_count_among_those_that_came() {
    let mut model = quiet(slow_star(3));
    let port = port_of(&model, 2).reverse();
    let at = |us| Time::ZERO + Span::from_us(us);
    model.faults = vec![Fault::at_once(at(60), port, false)];
    add(&mut model, &transport("blast"), vec![flow(0, 2, 1460 * 30), flow(1, 2, 1460 * 30)]);
    let results = run(&model);
    // All sixty came while the link worked: 0 0 1 1 2 2 ... of pairs, of which one frame left meanwhile.
    let mean = results.ports.f64s("queue_mean_arrivals_bytes")[port.index()];
    let lost = at_port(&results, "drops_down", port);
    assert!(lost > 0 && at_port(&results, "tx_packets", port) + lost == 60);
    let (model, whole) = {
        let mut whole = model.clone();
        whole.faults.clear();
        let results = run(&whole);
        (whole, results)
    };
    assert_eq!(whole.ports.f64s("queue_mean_arrivals_bytes")[port_of(&model, 2).reverse().index()], mean);
}

fn parse(text: &str) -> Result<Scenario, String> {
    let made = Scenario::parse(text, "test", Path::new("."), &Overrides::default());
    made.map_err(|error| error.to_string())
}

fn with_host(transport: &str, host: &str) -> Result<Scenario, String> {
    parse(&format!(
        "[topology]\nkind = \"star\"\nhosts = 3\n[transport]\nname = \"{transport}\"\n[host]\n{host}\n\
         [[traffic]]\nkind = \"permutation\"\nsize = \"1 KB\"\n"
    ))
}

#[test]
fn the_key_makes_queues_with_the_limits_of_a_switch_and_its_marks() {
    let of = |host: &str| with_host("dctcp", host).unwrap().model.host;
    let host = of("queue = \"250 packets\"");
    assert!(host.queues_data);
    assert_eq!(host.port.classes[0].limit, Amount { bytes: Bytes::new(384_500), ..Amount::UNLIMITED });
    assert!(host.port.classes[0].marking.is_some(), "both ends of a link are alike");
    assert!(of("queue = \"1 MB\"\nqueue_marking = false").port.classes[0].marking.is_none());
    let host = of("buffer = \"1 MB\"");
    assert!(!host.queues_data && host.port.classes[0].marking.is_none());
}

#[test]
fn keys_that_mean_nothing_and_transports_that_would_fill_the_queue_without_end_are_refused_by_name() {
    let refused = |transport: &str, host: &str| with_host(transport, host).unwrap_err();
    let error = refused("dctcp", "queue_marking = true");
    assert!(error.contains("host.queue_marking") && error.contains("write a queue"), "{error}");
    let error = refused("dctcp", "queue = \"1 MB\"\nbuffer = \"1 MB\"");
    assert!(error.contains("host.buffer") && error.contains("limits the same queue"), "{error}");
    let error = refused("blast", "queue = \"1 MB\"");
    assert!(error.contains("host.queue") && error.contains("neither window nor pace"), "{error}");
    let error = refused("dctcp", "queue = \"0 B\"");
    assert!(error.contains("host.queue") && error.contains("holds nothing"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn flows_of_every_transport_are_delivered_through_queues_of_hosts_and_the_books_balance(
        limit in prop_oneof![Just(20u32), Just(100), Just(1000)],
        flows in prop::collection::vec((0u32..100, 0u32..100, 1u64..200_000, 0u64..300), 1..10),
        seed in any::<u64>(),
    ) {
        let rate = Rate::gbps(10);
        let topology = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 3, rate, ..LeafSpine::default() };
        let topology = topology.build().unwrap();
        for name in TRANSPORTS.iter().map(|info| info.name).filter(|name| *name != "blast") {
            let mut model = queueing(name, topology.clone(), slots(limit));
            model.seed = seed;
            let mut list: Vec<Flow> = flows.iter().map(|&(src, step, bytes, us)| {
                let (src, dst) = (src % 6, (src % 6 + 1 + step % 5) % 6);
                Flow { start: Time::ZERO + Span::from_us(us), ..flow(src, dst, bytes) }
            }).collect();
            list.sort_by_key(|flow| flow.start);
            add(&mut model, &transport(name), list);
            check(&run(&model), &model);
        }
    }
}
