//! Tests of PACC in the simulator: the readings of its hosts, the effect of a window, and the limits of its switches.

use crate::common::*;
use clearway_proto::AnyTransport;
use clearway_sim::model::*;
use clearway_sim::{Results, Values, ports};
use clearway_topology::{Dumbbell, Star};
use clearway_units::{Bytes, Rate, Span, Time};

/// Returns PACC with some parameters set.
fn pacc(set: &[(&str, &str)]) -> AnyTransport {
    let mut pacc = transport("pacc");
    set.iter().for_each(|(name, value)| pacc.set(name, value).unwrap());
    pacc
}

/// The parameters of the profile `print`, which follows eq. (1) as printed.
const PRINT: [(&str, &str); 4] =
    [("min_rate", "10 Mbps"), ("reaction", "on-cnp"), ("decrease_interval", "0 s"), ("clamp_target", "true")];

/// Makes a model of endless flows over a dumbbell, each from a host of its own, with samples of their payload rates in
/// 20 parts of the run.
fn long(transport: &AnyTransport, flows: u32, rate: Rate, delay: Span, stop: Span) -> Model {
    let shape = Dumbbell { pairs: flows, rate, delay, bottleneck_rate: rate, bottleneck_delay: delay * 2 };
    let mut model = network_for(transport, shape.build().unwrap());
    model.stop = Some(Time::ZERO + stop);
    let start = |pair: u32| Time::ZERO + Span::from_us(297) * pair.into();
    let pairs = (0..flows).map(|pair| Flow { size: None, start: start(pair), ..flow(pair, flows + pair, 1) });
    add(&mut model, transport, pairs.collect());
    let every = Span::from_ps(stop.as_ps() / 20);
    model.samples = vec![Sample { name: "rate".into(), every, what: Probe::Throughput(0) }];
    model
}

/// Runs a model and returns the mean payload rate of each flow in the second half, in bits per second.
fn second_half(model: &Model) -> Vec<f64> {
    let results = run(model);
    let (times, values) = (results.samples.f64s("time_s"), results.samples.f64s("value"));
    let half = (model.stop.unwrap() - Time::ZERO).as_secs_f64() / 2.0;
    let Values::Text(ids, names) = &results.samples.column("entity").unwrap().values else { panic!("text") };
    let mut rates = vec![0.0; results.flows.u64s("retransmits").len()];
    for ((time, value), id) in times.iter().zip(values).zip(ids) {
        if *time > half * 1.001 {
            let number: usize = names[*id as usize].rsplit('/').next().unwrap().parse().unwrap();
            rates[number] += value / 10.0;
        }
    }
    rates
}

#[test]
fn two_flows_fill_a_link_and_less_than_half_of_it_by_eq_1_as_printed_pacc_22() {
    let used = |transport: &AnyTransport| {
        let rate = Rate::gbps(25);
        let rates = second_half(&long(transport, 2, rate, Span::from_us(1), Span::from_ms(40)));
        // 1460 of 1538 bytes of a frame are payload.
        rates.iter().sum::<f64>() / rate.as_bps_f64() * 1538.0 / 1460.0
    };
    let (default, print) = (used(&pacc(&[])), used(&pacc(&PRINT)));
    println!("from 20 to 40 ms: {default:.3}, by eq. (1) {print:.3}");
    assert!(default > 0.98, "{default}");
    assert!(print < 0.5, "{print}");
    // The target rate makes the difference: with an unchanged target, and eq. (1) as printed otherwise, the link is
    // full.
    let kept = used(&pacc(&PRINT[..3]));
    assert!(kept > 0.98, "{kept}");
}

/// Runs an incast at 25 Gbps: 16 hosts send 200 KB each to one host at once.
fn incast(transport: &AnyTransport) -> Results {
    let star = Star { hosts: 17, rate: Rate::gbps(25), delay: Span::from_us(1) }.build().unwrap();
    let mut model = network_for(transport, star);
    add(&mut model, transport, (0..16).map(|src| flow(src, 16, 200_000)).collect());
    run(&model)
}

#[test]
fn a_window_moves_the_queue_from_the_switch_to_the_hosts() {
    let queue = |set: &[(&str, &str)]| {
        let results = incast(&pacc(set));
        results.ports.u64s("queue_max_bytes").iter().copied().max().unwrap()
    };
    // The window is what the line sends in the base round-trip time that is set: 12.5 KB of payload per flow.
    let fixed = queue(&[("windowing", "fixed"), ("base_rtt", "4 us")]);
    let none = queue(&[]);
    assert!(fixed <= 16 * 9 * 1538, "{fixed}");
    assert!(none > 10 * fixed, "{none} {fixed}");
}

/// Makes a model of flows that share 10 Gbps and a buffer of 384.5 KB without flow control.
fn lossy(transport: &AnyTransport, flows: u32, stop: Span) -> Model {
    let mut model = long(transport, flows, Rate::gbps(10), Span::from_ns(12_500), stop);
    (model.pfc, model.switch.shared) = (None, None);
    model.switch.classes[0].limit = Amount { bytes: Bytes::new(384_500), packets: u32::MAX };
    model.host.processing_delay = Delay::Uniform(Span::ZERO, Span::from_ns(2400));
    model
}

#[test]
fn with_rounding_down_a_small_buffer_sends_no_cnps_to_many_flows_pacc_20() {
    let fair =
        |set: &[(&str, &str)], flows| jain(&second_half(&lossy(&pacc(set), flows, Span::from_ms(120))));
    let cnps = |flows, ms| run(&lossy(&pacc(&[]), flows, Span::from_ms(ms))).summary.cnps;
    // A full buffer gives 0.05 x (384.5 - 50) = 16.7 CNPs, which are one for each of 16 flows and none for 18.
    let few = fair(&[], 16);
    assert!(few > 0.95, "{few}");
    assert!(cnps(16, 80) > cnps(16, 40) + 1000, "16 flows are notified all the time");
    assert_eq!(cnps(18, 80), cnps(18, 40), "no notification leaves any more");
    let many = fair(&[], 32);
    assert!(many < 0.1, "one flow keeps the link: {many}");
    // With rounding to the nearest, up to 33 flows get a CNP.
    let nearest = fair(&[("rounding", "nearest")], 32);
    assert!(nearest > 0.8, "{nearest}");
    // PACC without CNPs performs as no congestion control does.
    let none = jain(&second_half(&lossy(&transport("rocev2"), 32, Span::from_ms(120))));
    assert!(none < 0.1, "{none}");
    // Selective repeat does not help, so the recovery of losses is not the cause.
    let kept = fair(&[("recovery", "selective-repeat")], 32);
    println!(
        "Jain: 16 flows {few:.3}, 32 flows {many:.3}, to the nearest {nearest:.3}, selective repeat {kept:.3}"
    );
    assert!(kept < 0.2, "{kept}");
}

#[test]
fn notifications_in_a_class_that_only_hosts_have_join_another_one_at_switches() {
    let (rate, delay) = (Rate::gbps(25), Span::from_us(1));
    let mut model = long(&pacc(&[]), 4, rate, delay, Span::from_ms(5));
    for port in [&mut model.switch, &mut model.host.port] {
        let cnps = Class { name: "cnps".into(), at_switches: Some(0), ..port.classes[0].clone() };
        port.classes.push(cnps);
    }
    model.pfc.as_mut().unwrap().lossless.push(true);
    model.traffic[0].notice_class = 1;
    assert!(run(&model).summary.cnps > 0);
}

#[test]
fn switches_notify_only_flows_that_react_to_notifications() {
    // Flows with credits, TCP and RoCEv2 without congestion control build the queue together with PACC's.
    let pacc = transport("pacc");
    let others = ["expresspass", "ec4", "cubic", "rocev2"].map(transport);
    let all: Vec<&AnyTransport> = others.iter().chain([&pacc]).collect();
    let mut model =
        ports::network_for(star(11), all.iter().copied().filter(|one| one.info().name != "ec4")).unwrap();
    for (index, transport) in all.iter().enumerate() {
        add(&mut model, transport, (0..2).map(|one| flow(2 * index as u32 + one, 10, 3_000_000)).collect());
    }
    let results = run(&model);
    check(&results, &model);
    let (notices, traffic) = (results.flows.u64s("notices"), results.flows.column("traffic").unwrap());
    let Values::Text(parts, _) = &traffic.values else { panic!("text") };
    let heard = |own: bool| -> u64 {
        let flows = notices.iter().zip(parts).filter(|(_, part)| (**part == 4) == own);
        flows.map(|(notices, _)| notices).sum()
    };
    assert!(heard(true) > 100, "{notices:?}");
    assert_eq!((heard(false), heard(true)), (0, results.summary.cnps), "no notification is sent in vain");
}
