//! Every counter of a window of measurement against a reference: what the same run had counted when it was stopped at the
//! window's end, less what it had when it was stopped at its start.

use crate::common::*;
use clearway_sim::model::*;
use clearway_sim::{FlowCounts, Results, Values, ports};
use clearway_topology::{NodeId, PortId, Star, Topology};
use clearway_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;

/// The counters of ports, and the columns of a whole run that make up each.
const COUNTS: [(&str, &[&str]); 4] = [
    ("window_data_bytes", &["tx_data_bytes"]),
    ("window_marks", &["marks"]),
    ("window_drops", &["drops_buffer", "drops_loss", "drops_down"]),
    ("window_drops_credit", &["drops_credit"]),
];

/// The means over time of ports, and the columns of a whole run that they are the part of.
const MEANS: [(&str, &str); 3] = [
    ("window_utilisation", "utilisation"),
    ("window_queue_mean_bytes", "queue_mean_bytes"),
    ("window_credit_queue_mean", "credit_queue_mean"),
];

/// The longest queues of ports, which no difference tells.
const MAXIMA: [&str; 2] = ["window_queue_max_bytes", "window_credit_queue_max"];

/// Reads a counter of flows.
type Counter = fn(&FlowCounts) -> u64;

/// The counters of the flows of a traffic entry, and the column of the table of flows that is its sum; duplicates have none.
const FLOWS: [(&str, Counter); 10] = [
    ("delivered_bytes", |counts| counts.delivered),
    ("data_packets", |counts| counts.stats.data_packets),
    ("retransmits", |counts| counts.stats.rare().retransmits),
    ("timeouts", |counts| counts.stats.rare().timeouts),
    ("credits_sent", |counts| counts.stats.credits_sent),
    ("credits_used", |counts| counts.stats.credits_used),
    ("credits_wasted", |counts| counts.stats.rare().credits_wasted),
    ("repeated_signals", |counts| counts.stats.rare().repeated_signals),
    ("notices", |counts| counts.stats.rare().notifications),
    (DUPLICATES, |counts| counts.stats.rare().duplicate_bytes),
];
const DUPLICATES: &str = "duplicate bytes";

/// A time at which no event of these models happens.
fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us) + Span::from_ps(137)
}

fn star(hosts: u32) -> Topology {
    Star { hosts, rate: Rate::gbps(10), delay: Span::from_us(1) }.build().unwrap()
}

/// A model with its window, of two traffic entries whose flows meet at the last host: hosts 0 and 1 send the first one's,
/// hosts 2 and 3 those of the second: each has two long flows and short ones all the time. Links lose packets, and two fail
/// for a while, before the window, in it and after it.
fn model(names: [&str; 2], loss: f64) -> Model {
    let transports = names.map(|name| {
        let mut transport = transport(name);
        let info = transport.info();
        if info.params.iter().any(|param| param.name == "rto_min") {
            transport.set("rto_min", "200 us").unwrap();
        }
        transport
    });
    let mut model = ports::network_for(star(5), transports.iter()).expect("they share ports");
    let data = &mut model.switch.classes[0];
    if let Some(marking) = &mut data.marking {
        let bytes = Bytes::new(5_000);
        marking.threshold = Threshold::Fixed(Amount { bytes, packets: u32::MAX });
    }
    if model.pfc.is_none() {
        data.limit = Amount { bytes: Bytes::new(60_000), packets: u32::MAX };
    }
    for (entry, transport) in (0..2).zip(&transports) {
        let senders = [2 * entry as u32, 2 * entry as u32 + 1];
        let long = senders.map(|src| Flow { start: at(100 * entry), ..flow(src, 4, 3_000_000) });
        let short = (2..40).map(|turn| Flow { start: at(100 * turn), ..flow(senders[0], 4, 9_000) });
        add(&mut model, transport, long.into_iter().chain(short).collect());
    }
    model.loss = (0..model.topology.ports().len()).map(|port| (PortId(port as u32), loss)).collect();
    // Data of host 0 is lost, and answers to host 2.
    let answers = model.topology.ports_of(NodeId(2))[0].reverse();
    for (us, port, length) in [(200, PortId(0), 150), (500, answers, 400)] {
        for later in [0u64, 1_000, 2_500] {
            let fault = |us: u64, up| Fault::at_once(at(us + later), port, up);
            model.faults.extend([fault(us, false), fault(us + length, true)]);
        }
    }
    model.faults.sort_by_key(|fault| fault.at);
    model
}

const WINDOW: (u64, u64) = (1_000, 2_500);

/// The models that together count all there is to count, inside of the window and on both sides of it.
fn models() -> Vec<(&'static str, Model)> {
    vec![
        ("tcp", model(["dctcp", "newreno"], 0.003)),
        ("credits", model(["expresspass", "expresspass"], 0.01)),
        ("rdma", model(["dcqcn", "dcqcn"], 0.002)),
    ]
}

fn stopped(model: &Model, us: u64) -> Results {
    run(&Model { stop: Some(at(us)), ..model.clone() })
}

fn in_window(model: &Model) -> Results {
    let measure = Measure { from: Some(at(WINDOW.0)), until: Some(at(WINDOW.1)) };
    run(&Model { measure, ..model.clone() })
}

/// The sums of a column of the table of flows over each traffic entry; zeros where no transport has the column.
fn by_entry(results: &Results, column: &str) -> [u64; 2] {
    let mut sums = [0; 2];
    let Some(values) = results.flows.column(column) else { return sums };
    let (Values::U64(values), Values::Text(entries, _)) =
        (&values.values, &results.flows.column("traffic").unwrap().values)
    else {
        panic!("a count, and names")
    };
    values.iter().zip(entries).for_each(|(value, entry)| sums[*entry as usize] += value);
    sums
}

/// Counts that must not all be zero, by name: before the window, in it and after it.
#[derive(Default)]
struct Seen(BTreeMap<String, [u64; 3]>);

impl Seen {
    fn add(&mut self, name: &str, parts: [u64; 3]) {
        let sums = self.0.entry(name.into()).or_default();
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }

    fn check(&self) {
        for (name, parts) in &self.0 {
            assert!(parts.iter().all(|part| *part > 0), "{name}: before, in and after the window {parts:?}");
        }
    }
}

#[test]
fn every_count_of_a_port_in_a_window_is_what_it_rose_by_there() {
    let mut seen = Seen::default();
    for (name, model) in models() {
        let [first, last, all] = [WINDOW.0, WINDOW.1, 100_000].map(|us| stopped(&model, us));
        let window = in_window(&model);
        for (column, parts) in COUNTS {
            let sum = |results: &Results, port: usize| -> u64 {
                parts.iter().map(|part| results.ports.u64s(part)[port]).sum()
            };
            for (port, &counted) in window.ports.u64s(column).iter().enumerate() {
                let [before, until, end] = [&first, &last, &all].map(|results| sum(results, port));
                assert_eq!(counted, until - before, "{name}: {column} of port {port}");
                seen.add(column, [before, counted, end - until]);
            }
        }
    }
    seen.check();
}

#[test]
fn every_mean_of_a_port_over_a_window_is_its_part_of_the_integral() {
    let mut seen = Seen::default();
    for (name, model) in models() {
        let [first, last, all] = [WINDOW.0, WINDOW.1, 100_000].map(|us| stopped(&model, us));
        let window = in_window(&model);
        let span = (at(WINDOW.1) - at(WINDOW.0)).as_secs_f64();
        for (column, whole) in MEANS {
            let area = |results: &Results, port: usize| {
                results.ports.f64s(whole)[port] * results.summary.end.as_secs_f64()
            };
            for (port, &mean) in window.ports.f64s(column).iter().enumerate() {
                let [before, until, end] = [&first, &last, &all].map(|results| area(results, port));
                let expected = (until - before) / span;
                // A link may be a frame ahead of the time at which a run is stopped, and its share is no more than one.
                let near = 1e-9 * until / span + if column == MEANS[0].0 { 1.3e-6 / span } else { 0.0 };
                assert!(
                    (mean - expected).abs() <= near,
                    "{name}: {column} of port {port}: {mean} {expected}"
                );
                seen.add(column, [before, mean, end - until].map(|value| u64::from(value > 0.0)));
            }
        }
    }
    seen.check();
}

#[test]
fn every_count_of_flows_in_a_window_is_what_the_flows_of_the_entry_rose_by_there() {
    let mut seen = Seen::default();
    for (name, model) in models() {
        let [first, last, all] = [WINDOW.0, WINDOW.1, 100_000].map(|us| stopped(&model, us));
        let window = in_window(&model).summary.measured.flows;
        for (column, of) in FLOWS {
            let sums = |results: &Results| match column {
                DUPLICATES => [0, 1].map(|entry| of(&results.summary.measured.flows[entry])),
                column => by_entry(results, column),
            };
            let [before, until, end] = [&first, &last, &all].map(sums);
            for entry in 0..2 {
                let counted = of(&window[entry]);
                assert_eq!(counted, until[entry] - before[entry], "{name}: {column} of entry {entry}");
                seen.add(column, [before[entry], counted, end[entry] - until[entry]]);
            }
        }
    }
    seen.check();
}

#[test]
fn the_longest_queues_of_a_window_are_those_in_it_and_not_those_before_or_after() {
    // A crowd before the window or after it, and in the window a lone flow that meets nobody.
    for (name, column, lone) in [("dctcp", MAXIMA[0], 1538), ("naive-credit", MAXIMA[1], 1)] {
        for crowd_at in [0, 3_000] {
            let transport = transport(name);
            let mut model = network_for(&transport, star(5));
            let from = |src, us| Flow { start: at(us), ..flow(src, 4, 30_000) };
            let mut flows: Vec<Flow> = (0..4).map(|src| from(src, crowd_at)).collect();
            flows.push(from(0, 1_100));
            flows.sort_by_key(|flow| flow.start);
            add(&mut model, &transport, flows);
            let most = |results: &Results, column: &str| *results.ports.u64s(column).iter().max().unwrap();
            let (whole, window, run) =
                (column.strip_prefix("window_").unwrap(), in_window(&model), run(&model));
            assert!(most(&window, column) <= lone, "{name}: {}", most(&window, column));
            assert!(most(&run, whole) > 4 * lone, "{name}: {}", most(&run, whole));
            assert_eq!(window.ports.u64s(whole), run.ports.u64s(whole), "the run has its own back");
        }
    }
}

#[test]
fn these_tests_know_every_column_of_a_window() {
    let results = in_window(&models().remove(0).1);
    let mut columns: Vec<&str> = results.ports.columns.iter().map(|column| column.name).collect();
    columns.retain(|name| name.starts_with("window_"));
    let mut known: Vec<&str> = MAXIMA.to_vec();
    known.extend(COUNTS.iter().map(|count| count.0));
    known.extend(MEANS.iter().map(|mean| mean.0));
    columns.sort_unstable();
    known.sort_unstable();
    assert_eq!(columns, known);
}
