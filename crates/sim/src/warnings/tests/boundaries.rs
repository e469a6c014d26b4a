//! The values between which a warning comes and goes, and which port, flow or class decides.

use super::{incast, marks, only, texts};
use crate::model::{Flow, Model, Pattern};
use crate::scenario::{Overrides, Scenario};
use clearway_proto::AnyTransport;
use clearway_proto::port::pfc::headroom;
use clearway_topology::{Dumbbell, NodeId, PortId};
use clearway_units::{Bytes, Rate, Span, Time};
use std::path::Path;
use std::sync::Arc;

/// The bytes on the wire of a first window of ten full frames.
const WINDOW: u64 = 15_380;

/// An incast under DCTCP with so many answers of one size.
fn answers(buffer: u64, workers: usize, size: u64) -> Model {
    let mut model = incast(&format!("buffer = \"{buffer} B\"\nmarking = \"1 packets\""), "dctcp", "");
    let Pattern::Rounds(rounds) = &mut model.traffic[0].pattern else { panic!("an incast is in rounds") };
    rounds.workers.truncate(workers);
    rounds.response = Bytes::new(size);
    model
}

/// Flows of a list by start in microseconds, receiver and size; each sender is a host of its own.
fn listed(buffer: u64, flows: impl Iterator<Item = (u64, usize, u64)>) -> Model {
    let mut model = answers(buffer, 40, 64_000);
    let flow = |(index, (start, dst, size)): (usize, (u64, usize, u64))| Flow {
        start: Time::ZERO + Span::from_us(start),
        src: NodeId::from_index(index + 2),
        dst: NodeId::from_index(dst),
        size: Some(Bytes::new(size)),
        stop: None,
    };
    model.traffic[0].pattern = Pattern::Flows(Arc::new(flows.enumerate().map(flow).collect()));
    model
}

fn loses_first_windows(model: &Model) -> bool {
    texts(model).iter().any(|text| text.contains("loses packets before it can react"))
}

#[test]
fn all_first_windows_but_one_have_to_fit_to_the_byte() {
    assert!(loses_first_windows(&answers(WINDOW - 1, 2, 64_000)));
    assert!(!loses_first_windows(&answers(WINDOW, 2, 64_000)));
    assert!(!loses_first_windows(&answers(WINDOW - 1, 1, 64_000)));
    // Two full frames and one of 178 B.
    assert!(loses_first_windows(&answers(3_253, 2, 3_020)));
    assert!(!loses_first_windows(&answers(3_254, 2, 3_020)));
}

#[test]
fn first_windows_lose_nothing_under_flow_control_and_are_lost_by_pac_only_where_connections_stand() {
    let shared = |pfc: bool| {
        let text = format!("shared_buffer = \"4 MB\"\nmarking = \"30 KB\"\npfc = {pfc}");
        let mut model = incast(&text, "dctcp", "");
        model.switch.shared.as_mut().unwrap().size = Bytes::new(200_000);
        model
    };
    assert!(loses_first_windows(&shared(false)));
    assert!(!loses_first_windows(&shared(true)));
    let pac = "buffer = \"100 KB\"\nmarking = \"10 packets\"";
    assert!(loses_first_windows(&incast(pac, "pac", "")));
    assert!(!loses_first_windows(&incast(pac, "pac", "connections = \"per-round\"")));
}

#[test]
fn what_leaves_while_answers_begin_leaves_by_the_link_of_the_client() {
    let more = "spread = \"100 us\"";
    let mut model = incast("buffer = \"384.5 KB\"\nmarking = \"30 KB\"", "dctcp", more);
    let (rate, delay) = (Rate::gbps(10), Span::from_us(4));
    let network =
        Dumbbell { pairs: 21, rate, delay, bottleneck_rate: Rate::gbps(100), bottleneck_delay: delay };
    model.topology = Arc::new(network.build().unwrap());
    assert!(loses_first_windows(&model), "125 KB of 600 KB leave at 10 Gbps, and all would at 100 Gbps");
}

#[test]
fn only_flows_of_a_list_that_start_together_towards_one_host_meet() {
    let flows = |start: fn(u64) -> u64, dst: fn(u64) -> usize, size: fn(u64) -> u64| {
        listed(200_000, (0..38).map(move |at| (start(at), dst(at), size(at))))
    };
    let found = texts(&flows(|_| 0, |at| (at % 2) as usize, |_| 64_000));
    assert!(found.iter().any(|text| text.contains("19 flows start at once")), "{found:?}");
    assert!(!loses_first_windows(&flows(|at| at, |_| 0, |_| 64_000)), "each starts alone");
    assert!(!loses_first_windows(&flows(|_| 0, |_| 0, |at| 64_000 - 63_000 * (at / 37))), "by the smallest");
}

#[test]
fn pac_misses_no_opening_where_there_is_one_worker() {
    let misses = |workers: usize| {
        let mut model = incast("buffer = \"1 MB\"\nmarking = \"10 packets\"", "pac", "");
        let Pattern::Rounds(rounds) = &mut model.traffic[0].pattern else { panic!("an incast is in rounds") };
        rounds.workers.truncate(workers);
        texts(&model).iter().any(|text| text.contains("does not control the first windows"))
    };
    assert_eq!([1, 2].map(misses), [false, true]);
    let dctcp = incast("buffer = \"1 MB\"\nmarking = \"10 packets\"", "dctcp", "");
    assert_eq!(texts(&dctcp), [""; 0], "it has no first windows to control");
}

#[test]
fn links_lose_packets_at_random_only_with_a_probability_above_zero() {
    let mut model = incast("", "hpcc", "");
    model.loss = vec![(PortId::from_index(0), 0.0)];
    assert_eq!(texts(&model), [""; 0]);
    model.loss[0].1 = 1e-9;
    assert!(only(&model).contains("links lose packets at random"));
}

#[test]
fn a_class_of_data_that_flow_control_leaves_out_is_not_lossless() {
    let mut model = incast("", "hpcc", "");
    model.pfc.as_mut().expect("flow control is on by itself").lossless.fill(false);
    assert!(only(&model).contains("here a switch drops what exceeds a queue"));
}

#[test]
fn a_headroom_holds_what_arrives_by_the_fastest_link_with_the_largest_frames_to_the_byte() {
    let mut model = incast("", "hpcc", "");
    let (slow, fast, delay) = (Rate::gbps(10), Rate::gbps(40), Span::from_us(4));
    let network = Dumbbell { pairs: 21, rate: slow, delay, bottleneck_rate: fast, bottleneck_delay: delay };
    model.topology = Arc::new(network.build().unwrap());
    let mut plain = model.traffic[0].clone();
    plain.transport = AnyTransport::by_name("rocev2").unwrap();
    let stamp = model.traffic[0].transport.needs().stamp;
    assert!(stamp > plain.transport.needs().stamp);
    model.traffic.push(plain);
    let framing = model.framing;
    let pfc = model.pfc.as_mut().unwrap();
    pfc.config.response = Span::from_us(3);
    let needed = headroom(fast, delay, framing, stamp, Span::from_us(3));
    let mut warned = |own: u64| {
        model.pfc.as_mut().unwrap().headroom = Some(Bytes::new(own));
        texts(&model).iter().any(|text| text.contains(&format!("up to {needed} arrive at")))
    };
    assert_eq!([needed.get() - 1, needed.get()].map(&mut warned), [true, false]);
}

#[test]
fn a_frame_that_just_fits_above_the_threshold_is_marked() {
    // A hundred frames fit exactly: one that meets 99 has room.
    for (frames, is_marked) in [(98, true), (99, false)] {
        let switch = format!("buffer = \"153800 B\"\nmarking = \"{} B\"", frames * 1538);
        let model = incast(&switch, "dctcp", "");
        let warned = texts(&model).iter().any(|text| text.contains("none is ever given"));
        assert_eq!((marks(&model) > 0, warned), (is_marked, !is_marked), "{frames} frames");
    }
}

#[test]
fn a_threshold_of_a_seventh_of_the_bytes_in_flight_at_the_slowest_link_is_enough_to_the_byte() {
    // Three links of 50 us; a full frame takes 307.6, 1230.4 and 307.6 ns, and its answer 16.8, 67.2 and 16.8 ns. At 10 Gbps
    // these are 377,433 B.
    let delay = Span::from_us(50);
    let (rate, bottleneck_rate) = (Rate::gbps(40), Rate::gbps(10));
    let network = Dumbbell { pairs: 21, rate, delay, bottleneck_rate, bottleneck_delay: delay };
    let network = Arc::new(network.build().unwrap());
    let found = |marking: &str| {
        let mut model = incast(&format!("buffer = \"4 MB\"\n{marking}"), "dctcp", "");
        model.topology = network.clone();
        texts(&model)
    };
    let early = found("marking = \"53918 B\"");
    assert!(early[0].contains("and at 10 Gbps and a round trip of 301.946 us"), "{early:?}");
    assert_eq!(found("marking = \"53919 B\""), [""; 0]);
    let red = "marking = \"red\"\nred_kmin = \"5 KB\"\nred_kmax = \"600 KB\"\nred_rate = \"10 Gbps\"";
    assert_eq!(found(red), [""; 0], "the rule is that of a single threshold");
}

#[test]
fn credits_return_by_other_links_where_there_are_two_paths_and_only_credits_do() {
    let warned = |spines: u32, transport: &str| {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = {spines}\n[network]\nrouting = \"ecmp\"\n\
             [transport]\nname = \"{transport}\"\n[[traffic]]\nkind = \"permutation\"\nsize = \"64 KB\"\n"
        );
        let model = Scenario::parse(&text, "x.toml", Path::new("."), &Overrides::default()).unwrap().model;
        texts(&model).iter().any(|text| text.contains("ExpressPass '17, sec. 3.1"))
    };
    assert_eq!([1, 2].map(|spines| warned(spines, "expresspass")), [false, true]);
    assert!(!warned(2, "dctcp"));
}

#[test]
fn the_shorter_of_two_limits_of_a_queue_counts_with_packets_as_full_frames() {
    let longest = |packets: u32, bytes: u64| {
        let mut model = answers(1_000_000, 40, 64_000);
        let limit = &mut model.switch.classes[0].limit;
        (limit.packets, limit.bytes) = (packets, Bytes::new(bytes));
        super::super::queues::longest(&model, 0)
    };
    assert_eq!(longest(10, 100_000), Some(Bytes::new(WINDOW)));
    assert_eq!(longest(100, 100_000), Some(Bytes::new(100_000)));
}
