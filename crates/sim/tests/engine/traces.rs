//! Traces: every packet's life in them is whole, they agree with the tables, and taking one changes nothing.

use crate::common::*;
use clearway_proto::TRANSPORTS;
use clearway_sim::model::*;
use clearway_sim::trace::{Step, What};
use clearway_sim::{Results, Values};
use clearway_topology::*;
use clearway_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;

/// A trace of everything.
fn everything(model: &Model) -> Trace {
    Trace {
        name: "all".into(),
        ports: (0..model.topology.ports().len() as u32).map(PortId).collect(),
        flows: None,
        from: Time::ZERO,
        until: None,
        limit: u64::MAX,
        formats: vec![TraceFormat::Pcapng, TraceFormat::Perfetto],
    }
}

/// A small network with short queues, loss, marks and a link that fails, under 6 flows of a transport.
fn trouble(name: &str, seed: u64) -> Model {
    let transport = transport(name);
    let shape = LeafSpine {
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 3,
        rate: Rate::gbps(10),
        delay: Span::from_us(1),
        ..LeafSpine::default()
    };
    let mut model = network_for(&transport, shape.build().expect("the shape is valid"));
    model.seed = seed;
    model.stop = Some(Time::ZERO + Span::from_ms(200));
    model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets: 12 };
    model.loss = vec![(PortId(3), 0.02), (PortId(6), 0.02)];
    let port = PortId(12);
    let fault = |us, up| {
        let at = Time::ZERO + Span::from_us(us);
        [port, port.reverse()].map(|port| Fault::at_once(at, port, up))
    };
    model.faults = [fault(40, false), fault(3_000, true)].concat();
    let flows = (0..6).map(|n| flow(n % 5, 5, 40_000 + 1_000 * u64::from(n))).collect();
    add(&mut model, &transport, flows);
    model
}

/// The number of entries of a trace at each port of an event.
fn per_port(results: &Results, is: impl Fn(Step) -> bool) -> BTreeMap<PortId, u64> {
    let mut counts = BTreeMap::new();
    results.traces[0].entries.iter().filter(|entry| is(entry.step)).for_each(|entry| {
        *counts.entry(entry.port).or_default() += 1;
    });
    counts
}

/// Asserts that the entries at each port agree with a column of the table of ports.
fn agree(results: &Results, column: &str, is: impl Fn(Step) -> bool) {
    let counts = per_port(results, is);
    for (index, expected) in results.ports.u64s(column).iter().enumerate() {
        let counted = counts.get(&PortId(index as u32)).copied().unwrap_or(0);
        assert_eq!(counted, *expected, "{column} of port {index}");
    }
}

/// The state of a packet between two entries.
#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Waits(PortId),
    OnLink(PortId, Time),
    Gone,
}

/// Asserts that the packets of a trace live: each waits at most once at a port, leaves it at most once, and comes to
/// the next one in the instant in which its last bit and the link's delay are over. Returns the states at the end.
fn check_lives(results: &Results) -> BTreeMap<u64, State> {
    let trace = &results.traces[0];
    let mut lives: BTreeMap<u64, State> = BTreeMap::new();
    let mut last = Time::ZERO;
    for entry in &trace.entries {
        assert!(entry.at >= last, "entries are in the order of their times");
        last = entry.at;
        let What::Packet(traced) = &entry.what else { continue };
        let state = lives.get(&traced.number).copied();
        let waits_here = state == Some(State::Waits(entry.port));
        let comes = match state {
            None => true,
            Some(State::OnLink(from, arrives)) => from != entry.port && arrives == entry.at,
            _ => false,
        };
        let lost_on_link = matches!(state, Some(State::OnLink(from, _)) if from == entry.port);
        let next = match entry.step {
            Step::Waits if comes => State::Waits(entry.port),
            Step::Leaves { .. } if comes || waits_here => {
                State::OnLink(entry.port, trace.arrival(entry).expect("it leaves"))
            }
            Step::Dropped(_) if comes || waits_here || lost_on_link => State::Gone,
            Step::Marked | Step::Trimmed if comes || waits_here => continue,
            step => panic!("packet {} at port {:?}: {step:?} after {state:?}", traced.number, entry.port),
        };
        lives.insert(traced.number, next);
    }
    lives
}

#[test]
fn every_life_in_a_trace_is_whole_and_agrees_with_tables_and_books_for_every_transport() {
    for info in TRANSPORTS {
        let mut model = trouble(info.name, 7);
        let untraced = run(&model).hash();
        model.traces = vec![everything(&model)];
        let results = run(&model);
        assert_eq!(results.hash(), untraced, "{}: a trace changes nothing", info.name);
        let lives = check_lives(&results);
        let waiting = lives.values().filter(|state| matches!(state, State::Waits(_))).count() as u64;
        let gone = lives.values().filter(|state| **state == State::Gone).count() as u64;
        assert_eq!(lives.len() as u64, count(&results, "sent"), "{}", info.name);
        let dropped: u64 = ["buffer", "credit limit", "random loss", "link down"]
            .iter()
            .map(|why| count(&results, &format!("dropped, {why}")))
            .sum();
        assert_eq!(gone, dropped, "{}", info.name);
        assert!(waiting <= count(&results, "in flight"), "{}", info.name);
        let transmitted = per_port(&results, |step| matches!(step, Step::Leaves { .. }));
        assert_eq!(transmitted.values().sum::<u64>(), results.summary.link_transmissions, "{}", info.name);
        agree(&results, "tx_packets", |step| matches!(step, Step::Leaves { .. }));
        assert_eq!(results.traces[0].left_out, 0);
    }
}

#[test]
fn marks_and_drops_in_a_trace_are_those_of_the_table_of_ports() {
    let transport = transport("dctcp");
    let mut model = incast(&transport, 8, 100_000);
    model.switch.classes[0].limit = Amount { bytes: Bytes::new(60_000), packets: u32::MAX };
    model.switch.classes[0].marking = Some(Marking {
        threshold: Threshold::Fixed(Amount { bytes: Bytes::new(20_000), packets: u32::MAX }),
        at: clearway_proto::port::MarkAt::Dequeue,
    });
    model.traces = vec![everything(&model)];
    let results = run(&model);
    assert!(results.ports.u64s("marks").iter().sum::<u64>() > 10, "the case has marks");
    agree(&results, "marks", |step| step == Step::Marked);
    let drops = per_port(&results, |step| matches!(step, Step::Dropped(_)));
    assert!(drops.values().sum::<u64>() > 10, "the case has drops");
    assert_eq!(drops.values().sum::<u64>(), count(&results, "dropped, buffer"));
    check_lives(&results);
}

#[test]
fn pause_frames_are_sent_and_obeyed_in_a_trace() {
    let transport = transport("rocev2");
    let mut model = incast(&transport, 8, 300_000);
    let shared = SharedBuffer { size: Bytes::new(600_000), alpha: 8.0 };
    model.switch.shared = Some(shared);
    model.traces = vec![everything(&model)];
    let results = run(&model);
    let control = results.summary.flow_control.as_ref().expect("the transport needs flow control");
    assert!(control.pauses > 0, "the case has pauses");
    let frames = |is: fn(Step) -> bool| {
        let entries = results.traces[0].entries.iter();
        entries.filter(|entry| matches!(entry.what, What::Frame { .. }) && is(entry.step)).count()
    };
    let (sent, obeyed) =
        (frames(|step| matches!(step, Step::Leaves { .. })), frames(|step| step == Step::Obeys));
    assert!(sent as u64 >= control.pauses && sent == obeyed, "{sent} sent, {obeyed} obeyed");
    check_lives(&results);
}

#[test]
fn a_trace_holds_the_chosen_flows_ports_and_times_up_to_its_limit() {
    let transport = transport("expresspass");
    let mut model = incast(&transport, 4, 50_000);
    let (port, us) = (PortId(8), |us| Time::ZERO + Span::from_us(us));
    let part = Trace {
        ports: vec![port.reverse()],
        flows: Some(vec![FlowRange { traffic: 0, numbers: 1..=2 }]),
        from: us(8),
        until: Some(us(20)),
        ..everything(&model)
    };
    model.traces = vec![everything(&model), part.clone(), Trace { limit: 5, ..part }];
    let results = run(&model);
    let [all, chosen, few] = &results.traces[..] else { panic!("three traces") };
    let is_chosen = |entry: &&clearway_sim::trace::Entry| {
        let flow = entry.what.packet().expect("there are no pause frames").flow.number;
        entry.port == port.reverse() && (1..=2).contains(&flow) && entry.at >= us(8) && entry.at <= us(20)
    };
    let expected: Vec<String> =
        all.entries.iter().filter(is_chosen).map(|entry| format!("{entry:?}")).collect();
    let got: Vec<String> = chosen.entries.iter().map(|entry| format!("{entry:?}")).collect();
    assert!(expected.len() > 20, "{} entries", expected.len());
    assert_eq!(got, expected);
    assert_eq!((few.entries.len(), few.left_out as usize), (5, expected.len() - 5));
    let table = chosen.table();
    assert_eq!(table.rows(), expected.len());
    let Some(Values::Text(_, names)) = table.column("flow").map(|column| &column.values) else {
        panic!("texts")
    };
    assert_eq!(names.len(), 2, "{names:?}");
}
