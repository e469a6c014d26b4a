//! Tests of sampled series of ports and flows against closed forms.

use crate::common::*;
use clearway_proto::AnyTransport;
use clearway_sim::model::*;
use clearway_sim::{Results, Values};
use clearway_topology::{Dumbbell, PortId};
use clearway_units::{Bytes, Rate, Span, Time};

/// The time that a full frame takes at 100 Gbps, in seconds.
const FRAME_S: f64 = 1538.0 * 8.0 / 100e9;

/// The time that a credit and its full frame take at 10 Gbps, in seconds.
const CREDIT_S: f64 = 1622.0 * 8.0 / 10e9;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Returns the port of a model by its name.
fn port(model: &Model, name: &str) -> PortId {
    let mut ports = (0..model.topology.ports().len() as u32).map(PortId);
    ports.find(|&port| model.topology.port_name(port) == name).expect("the port is there")
}

/// Runs a model until `stop` with one series, sampled every `every` microseconds.
fn sampled(model: &Model, what: Probe, every: u64, stop: u64) -> Results {
    let samples = vec![Sample { name: "p".into(), every: Span::from_us(every), what }];
    run(&Model { samples, stop: Some(at(stop)), ..model.clone() })
}

/// Returns the values of a quantity, in the order of time and then of ports or flows.
fn values(results: &Results, quantity: &str) -> Vec<f64> {
    let Values::Text(which, names) = &results.samples.column("quantity").unwrap().values else {
        panic!("quantities have names")
    };
    let wanted = names.iter().position(|name| name == quantity).expect("a known quantity") as u32;
    let values = which.iter().zip(results.samples.f64s("value"));
    values.filter(|(which, _)| **which == wanted).map(|(_, value)| *value).collect()
}

/// Asserts that all values but the first few are near one value.
fn assert_steady(values: &[f64], skip: usize, expected: f64, tolerance: f64) {
    assert!(values.len() > skip + 3, "{values:?}");
    for value in &values[skip..] {
        assert!((value - expected).abs() <= tolerance, "{value} against {expected}: {values:?}");
    }
}

/// Returns two hosts that send to a third at 100 Gbps each without any control.
fn two_to_one() -> Model {
    incast(&transport("blast"), 2, 125_000_000)
}

#[test]
fn a_full_queue_drops_what_exceeds_its_link_and_a_sample_shows_it() {
    let mut model = two_to_one();
    model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets: 20 };
    let results = sampled(&model, Probe::Drops(vec![port(&model, "s0->h2")]), 10, 100);
    // 200 Gbps arrive and 100 leave: a frame is dropped every frame time. The queue is full after 20 of these.
    assert_steady(&values(&results, "drops_buffer_packets"), 1, 10e-6 / FRAME_S, 1.0);
    assert!(values(&results, "drops_loss_packets").is_empty(), "no link loses");
    assert!(values(&results, "drops_down_packets").is_empty(), "no link fails");
}

#[test]
fn losses_at_random_and_on_a_failed_link_have_samples_of_their_own() {
    let blast = transport("blast");
    let mut model = network_for(&blast, star(3));
    add(&mut model, &blast, vec![flow(0, 2, 125_000_000), flow(1, 2, 125_000_000)]);
    let (lossy, failing) = (port(&model, "h0->s0"), port(&model, "h1->s0"));
    model.loss = vec![(lossy, 1.0)];
    model.faults = vec![Fault::at_once(at(51), port(&model, "s0->h2"), false)];
    let at_nic = sampled(&model, Probe::Drops(vec![lossy, failing]), 10, 100);
    let lost = values(&at_nic, "drops_loss_packets");
    let (of_lossy, of_other): (Vec<f64>, Vec<f64>) =
        (lost.iter().step_by(2).copied().collect(), lost.iter().skip(1).step_by(2).copied().collect());
    assert_steady(&of_lossy, 0, 10e-6 / FRAME_S, 1.0);
    assert_steady(&of_other, 0, 0.0, 0.0);
    let at_switch = sampled(&model, Probe::Drops(vec![port(&model, "s0->h2")]), 10, 200);
    let down = values(&at_switch, "drops_down_packets");
    assert!(down[..5].iter().all(|&count| count == 0.0), "{down:?}");
    // The other host's frames arrive every frame time, and find the link down.
    assert_steady(&down, 6, 10e-6 / FRAME_S, 1.0);
}

#[test]
fn marks_are_those_of_packets_that_join_too_long_a_queue() {
    // A window of 2,000 segments never ends, so 200 Gbps arrive; every packet that waits behind another one is marked.
    let mut fixed = transport("rdma-dctcp");
    fixed.set("lossless", "false").unwrap();
    let mut model = network_for(&fixed, star(3));
    model.switch.classes[0].limit = Amount::UNLIMITED;
    let threshold = Threshold::Fixed(Amount { bytes: Bytes::MAX, packets: 0 });
    model.switch.classes[0].marking = Some(Marking { threshold, at: clearway_proto::port::MarkAt::Enqueue });
    add(&mut model, &fixed, vec![flow(0, 2, 125_000_000), flow(1, 2, 125_000_000)]);
    let bottleneck = port(&model, "s0->h2");
    let results = sampled(&model, Probe::Marks(vec![bottleneck]), 1, 10);
    let marks = values(&results, "marked_packets");
    let total = results.ports.u64s("marks")[bottleneck.0 as usize];
    assert_eq!(marks.iter().sum::<f64>(), total as f64, "{marks:?}");
    // Until the first echo both hosts send at line rate, and all but the first frame wait: two a frame time.
    assert!((marks[2] - 2.0 * 1e-6 / FRAME_S).abs() <= 2.0, "{marks:?}");
}

/// Returns two flows of credits without feedback whose receivers share a link for credits.
fn naive() -> (AnyTransport, Model) {
    let naive = even_credits("naive-credit");
    let (rate, delay) = (Rate::gbps(10), Span::from_us(1));
    let shape = Dumbbell { pairs: 2, rate, delay, bottleneck_rate: rate, bottleneck_delay: delay };
    let mut model = network_for(&naive, shape.build().unwrap());
    let flows = (0..2).map(|pair| Flow { size: None, ..flow(pair, 2 + pair, 1) }).collect();
    add(&mut model, &naive, flows);
    (naive, model)
}

#[test]
fn credits_of_two_receivers_without_feedback_are_dropped_by_half() {
    let (_, model) = naive();
    let results = sampled(&model, Probe::CreditDrops(vec![port(&model, "s1->s0")]), 1000, 6000);
    // Each receiver sends a credit every 1.2976 us, and as many pass the link as one of them sends.
    assert_steady(&values(&results, "dropped_credits"), 1, 1e-3 / CREDIT_S, 12.0);
}

#[test]
fn a_receiver_without_feedback_sends_credits_at_its_link_s_rate() {
    let (_, model) = naive();
    let results = sampled(&model, Probe::CreditRate(0), 1000, 6000);
    assert_steady(&values(&results, "credits_per_s"), 2, 1.0 / CREDIT_S, 0.01 / CREDIT_S);
    // Each of them releases a frame of 1538 bytes.
    assert_steady(&values(&results, "feedback_rate_bps"), 0, 1538.0 * 8.0 / CREDIT_S, 1e6);
}

#[test]
fn each_of_two_hosts_that_share_a_link_by_pauses_is_stopped_for_half_of_the_time() {
    let model = incast(&transport("rocev2"), 2, 125_000_000);
    let nics = vec![port(&model, "h0->s0"), port(&model, "h1->s0")];
    let results = sampled(&model, Probe::Pauses(nics.clone()), 100, 5000);
    let paused = values(&results, "paused_s");
    // The memory of the switch is full after 20 MB, or 1.6 ms.
    let steady = &paused[2 * 25..];
    let share = steady.iter().sum::<f64>() / (steady.len() as f64 * 100e-6);
    assert!((share - 0.5).abs() < 0.01, "{share}");
    assert!(steady.iter().all(|&one| (0.0..=100e-6).contains(&one)), "{steady:?}");
    let pauses: f64 = values(&results, "pauses").iter().sum();
    assert_eq!(
        pauses,
        nics.iter().map(|nic| results.ports.u64s("pauses")[nic.0 as usize]).sum::<u64>() as f64
    );
}

#[test]
fn a_constant_window_and_a_constant_rate_are_sampled_as_they_are_set() {
    let mut fixed = transport("fixed-window");
    fixed.set("window", "7").unwrap();
    let mut model = network_for(&fixed, star(2));
    add(&mut model, &fixed, vec![Flow { size: None, ..flow(0, 1, 1) }]);
    let results = sampled(&model, Probe::Window(0), 10, 100);
    assert_steady(&values(&results, "cwnd_bytes"), 1, 7.0 * 1460.0, 0.0);
    assert_eq!(results.samples.rows(), values(&results, "cwnd_bytes").len(), "nothing but the window");
    let mut roce = transport("rocev2");
    roce.set("rate", "25 Gbps").unwrap();
    let mut model = network_for(&roce, star(2));
    add(&mut model, &roce, vec![Flow { size: None, ..flow(0, 1, 1) }]);
    let results = sampled(&model, Probe::SendingRate(0), 10, 100);
    assert_steady(&values(&results, "rate_bps"), 0, 25e9, 0.0);
}

#[test]
fn a_flow_that_loses_all_has_samples_of_its_repetitions_and_timeouts() {
    let reno = transport("newreno");
    let mut model = network_for(&reno, star(2));
    model.loss = vec![(port(&model, "s0->h1"), 1.0)];
    add(&mut model, &reno, vec![flow(0, 1, 1_000_000)]);
    let results = sampled(&model, Probe::Losses(0), 100_000, 10_000_000);
    let (repeated, timeouts) = (values(&results, "retransmitted_packets"), values(&results, "timeouts"));
    let total = |column: &str| results.flows.u64s(column)[0] as f64;
    assert_eq!(timeouts.iter().sum::<f64>(), total("timeouts"));
    assert_eq!(repeated.iter().sum::<f64>(), total("retransmits"));
    assert!(total("timeouts") >= 4.0, "{timeouts:?}");
    // The timer doubles, so that no sample after the first ones has two of them.
    assert!(timeouts[20..].iter().all(|&count| count <= 1.0), "{timeouts:?}");
}

#[test]
fn notices_are_sampled_as_they_are_heard() {
    let model = incast(&transport("dcqcn"), 8, 12_500_000);
    let results = sampled(&model, Probe::Notices(0), 50, 2000);
    let heard: f64 = values(&results, "notices").iter().sum();
    assert_eq!(heard, results.flows.u64s("notices").iter().sum::<u64>() as f64);
    assert!(heard > 8.0);
    // A receiver sends a flow one CNP in 50 us at most.
    assert!(values(&results, "notices").iter().all(|&count| count <= 2.0));
}
