//! Tests of the window of measurement, against closed forms.

use crate::common::*;
use clearway_sim::model::*;
use clearway_sim::{FlowCounts, Results, WindowEnd};
use clearway_topology::PortId;
use clearway_units::{Bytes, Span, Time};

/// A full frame, in bytes on the wire.
const FRAME: f64 = 1538.0;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn measured(model: &Model, from: Option<u64>, until: Option<u64>) -> Results {
    run(&Model { measure: Measure { from: from.map(at), until: until.map(at) }, ..model.clone() })
}

/// Returns the port of the switch that leads to a host of a star.
fn down(model: &Model, host: &str) -> usize {
    let port = |&port: &usize| model.topology.port_name(PortId(port as u32)) == format!("s0->{host}");
    (0..model.topology.ports().len()).find(port).expect("the port is there")
}

/// Returns two hosts that send to a third at 100 Gbps each, 12.5 MB without any control.
fn two_to_one() -> Model {
    incast(&transport("blast"), 2, 12_500_000)
}

#[test]
fn a_queue_that_grows_evenly_has_the_maximum_of_its_end_and_the_mean_of_its_middle() {
    let model = two_to_one();
    let port = down(&model, "h2");
    let results = measured(&model, Some(200), Some(600));
    let (max, mean) = (
        results.ports.u64s("window_queue_max_bytes")[port],
        results.ports.f64s("window_queue_mean_bytes")[port],
    );
    // Frames arrive with 200 Gbps from 1.1 us on and leave with 100: 12.5 bytes a nanosecond stay.
    let queue = |us: f64| (us - 1.1) * 12_500.0;
    assert!((max as f64 - queue(600.0)).abs() < 2.0 * FRAME, "{max} against {}", queue(600.0));
    assert!((mean - queue(400.0)).abs() < 2.0 * FRAME, "{mean} against {}", queue(400.0));
    assert!((results.ports.f64s("window_utilisation")[port] - 1.0).abs() < 1e-3);
    // The queue of the whole run is longer, and goes on growing after the window.
    let total = results.ports.u64s("queue_max_bytes")[port];
    assert_eq!(total, run(&model).ports.u64s("queue_max_bytes")[port]);
    assert!(total > max + 1_000_000);
}

#[test]
fn a_burst_before_the_window_is_the_maximum_of_the_run_and_not_of_the_window() {
    // 16 frames wait at 3 us, and are gone after 16 x 123 ns. A lone flow follows.
    let blast = transport("blast");
    let mut model = network_for(&blast, star(3));
    let late = |src, us| Flow { start: at(us), ..flow(src, 2, 1_460_000) };
    add(&mut model, &blast, vec![flow(0, 2, 23_360), flow(1, 2, 23_360), late(0, 50)]);
    let port = down(&model, "h2");
    let results = measured(&model, Some(20), Some(100));
    assert_eq!(results.ports.u64s("window_queue_max_bytes")[port], 0);
    assert!(results.ports.u64s("queue_max_bytes")[port] >= 15 * FRAME as u64);
    // The flow's frames are on the switch's link from 51.1 us to the end of the window, 48.9 of 80 us.
    let used = results.ports.f64s("window_utilisation")[port];
    assert!((used - 48.88 / 80.0).abs() < 2e-3, "{used}");
}

#[test]
fn a_window_changes_nothing_of_what_the_network_did() {
    let model = incast(&transport("expresspass"), 8, 200_000);
    let alone = run(&model).hash();
    for window in
        [(Some(10), Some(50)), (Some(50), None), (None, Some(20)), (Some(1_000_000), Some(2_000_000))]
    {
        assert_eq!(measured(&model, window.0, window.1).hash(), alone, "{window:?}");
    }
}

#[test]
fn windows_side_by_side_add_up_to_the_run() {
    let model = incast(&transport("expresspass"), 8, 30_000);
    let parts =
        [(Some(0), Some(20)), (Some(20), Some(45)), (Some(45), None)].map(|(a, b)| measured(&model, a, b));
    let whole = run(&model);
    let sum = |of: fn(&FlowCounts) -> u64| -> u64 {
        parts.iter().map(|part| of(&part.summary.measured.flows[0])).sum()
    };
    let fate = |name: &str| whole.summary.credits.iter().find(|(line, _)| *line == name).unwrap().1;
    let credits = (sum(|flows| flows.stats.credits_used), sum(|flows| flows.stats.rare().credits_wasted));
    assert_eq!(credits, (fate("used"), fate("wasted")));
    assert!(fate("wasted") > 0 && parts[0].summary.measured.flows[0].stats.credits_used > 0);
    assert_eq!(sum(|flows| flows.delivered), 8 * 30_000);
    assert!(parts.iter().all(|part| part.summary.measured.flows[0].delivered > 10_000));
    let dropped = |results: &Results, name: &str| results.ports.u64s(name).iter().sum::<u64>();
    let in_parts: u64 = parts.iter().map(|part| dropped(part, "window_drops_credit")).sum();
    assert_eq!(in_parts, dropped(&whole, "drops_credit"));
    assert!(in_parts > 0);
    for column in ["queue_max_bytes", "credit_queue_max"] {
        let of = |part: &Results| part.ports.u64s(&format!("window_{column}")).to_vec();
        let longest =
            parts.iter().map(of).reduce(|a, b| a.into_iter().zip(b).map(|(a, b)| a.max(b)).collect());
        assert_eq!(longest.unwrap(), whole.ports.u64s(column), "{column}");
    }
}

#[test]
fn without_a_setting_the_window_of_poisson_traffic_ends_with_its_last_arrival() {
    let blast = transport("blast");
    let mut model = network_for(&blast, star(8));
    let sizes = std::sync::Arc::new(clearway_sim::traffic::Cdf::fixed(Bytes::new(1_000_000)));
    let hosts = (0..8).map(clearway_topology::NodeId).collect();
    let poisson = Poisson { sizes, mean_gap_s: 20e-6, flows: 200, start: at(100), stop: None, hosts };
    model.add_traffic("web", &blast, Pattern::Poisson(poisson));
    let results = run(&model);
    let starts = results.flows.f64s("start_s");
    let window = &results.summary.measured;
    assert_eq!(window.end, WindowEnd::LastArrival);
    assert_eq!(window.from.as_secs_f64(), starts[0]);
    assert_eq!(window.until.as_secs_f64(), *starts.last().unwrap());
    assert!(!window.is_set && window.until < results.summary.end);
    // Beside it, a time that is set counts.
    let set = measured(&model, None, Some(1_000));
    assert_eq!((set.summary.measured.end, set.summary.measured.until), (WindowEnd::Set, at(1_000)));
    // A window that opens after the last arrival lasts until the end of the run.
    let late = measured(&model, Some((window.until.as_secs_f64() * 1e6) as u64 + 1), None);
    assert_eq!(late.summary.measured.until, late.summary.end);
    assert_eq!(late.summary.measured.end, WindowEnd::RunEnd);
}

#[test]
fn without_arrivals_the_window_is_the_run_from_its_first_flow() {
    let mut model = two_to_one();
    let Pattern::Flows(flows) = &mut model.traffic[0].pattern else { panic!("a list") };
    std::sync::Arc::make_mut(flows).iter_mut().for_each(|flow| flow.start = at(7));
    let results = run(&model);
    let window = &results.summary.measured;
    assert_eq!((window.from, window.until, window.end), (at(7), results.summary.end, WindowEnd::RunEnd));
    let port = down(&model, "h2");
    let (used, all) =
        (results.ports.f64s("window_utilisation")[port], results.ports.f64s("utilisation")[port]);
    let (end, start) = (results.summary.end.as_secs_f64(), 7e-6);
    assert!((used * (end - start) - all * end).abs() < 1e-12, "{used} {all}");
}

#[test]
fn a_run_that_ends_before_its_window_has_measured_nothing() {
    let model = two_to_one();
    let results = measured(&model, Some(1_000_000), Some(2_000_000));
    let window = &results.summary.measured;
    assert_eq!((window.from, window.until), (at(1_000_000), at(1_000_000)));
    assert!(results.ports.f64s("window_utilisation").iter().all(|used| used.is_nan()));
    assert_eq!(results.summary.end, run(&model).summary.end, "the run does not wait for its window");
}

#[test]
fn a_window_does_not_prolong_a_run_that_stalls() {
    let mut model = two_to_one();
    model.loss = vec![(PortId(0), 1.0)];
    let alone = run(&model);
    let watched = measured(&model, Some(10), Some(9_000_000));
    assert_eq!(watched.summary.ended, clearway_sim::Ended::Stalled);
    assert_eq!((watched.summary.end, watched.hash()), (alone.summary.end, alone.hash()));
    assert_eq!(watched.summary.measured.until, alone.summary.end);
}

#[test]
fn a_window_counts_what_each_traffic_entry_delivers_in_it() {
    // Two lone flows at 100 Gbps, the second one from 50 us on. Of 1538 bytes on the wire 1460 are payload.
    let blast = transport("blast");
    let mut model = network_for(&blast, star(4));
    add(&mut model, &blast, vec![flow(0, 1, 14_600_000)]);
    add(&mut model, &blast, vec![Flow { start: at(50), ..flow(2, 3, 14_600_000) }]);
    let results = measured(&model, Some(20), Some(100));
    let [first, second] = &results.summary.measured.flows[..] else { panic!("an entry each") };
    // The first frame arrives 2 us and two frame times after the start, the others a frame time apart.
    let frames = |us: f64| us * 12_500.0 / FRAME;
    let (all, late) = (frames(80.0) * 1460.0, (frames(48.0) - 1.0) * 1460.0);
    assert!((first.delivered as f64 - all).abs() < 1.1 * 1460.0, "{} {all}", first.delivered);
    assert!((second.delivered as f64 - late).abs() < 1.1 * 1460.0, "{} {late}", second.delivered);
    assert_eq!(second.stats.data_packets, frames(50.0).ceil() as u64, "one every frame time from 50 us on");
}
