//! Tests of all transports at the ends of the ranges of their parameters: a run gets on and ends, whatever a scenario says.

use crate::common::*;
use clearway_proto::{AnyTransport, TRANSPORTS, TransportInfo};
use clearway_schema::{Form, Spec};
use clearway_sim::model::*;
use clearway_sim::{Ended, Simulation, Summary};
use clearway_topology::{Builder, NodeId, Star};
use clearway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use proptest::sample::select;

/// The simulated time of a run, in which its flows could be sent three times.
const STOP: Time = Time::from_ps(2_000_000_000);

/// More events than any of these runs has: 2 ms on links of 10 Gbps are 12,000 frames, and a timer may come every 100 ns.
const MOST: u64 = 3_000_000;

/// The parameters of a transport that are numbers, and so have ends.
fn with_ends(info: &'static TransportInfo) -> Vec<&'static Spec> {
    let is_number =
        |form: &Form| matches!(form, Form::Quantity(_) | Form::Counted(_) | Form::Integer(_) | Form::Number);
    info.params.iter().filter(|spec| (spec.forms)().iter().any(is_number)).collect()
}

/// Three flows into one host over a short queue, where some data is lost; `None` where two parameters contradict each other, so
/// that a scenario with them is refused.
fn model(transport: &AnyTransport) -> Option<Model> {
    let star = Star { hosts: 4, rate: Rate::gbps(10), delay: Span::from_us(1) }.build().unwrap();
    let mut model = match clearway_sim::ports::network_for(star, [transport]) {
        Err(refused) if refused.to_string().contains("bdp_min: is above bdp_max") => return None,
        model => model.expect("one transport agrees with itself"),
    };
    model.stop = Some(STOP);
    if model.pfc.is_none() {
        model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets: 15 };
    }
    add(&mut model, transport, vec![flow(0, 3, 400_000), flow(1, 3, 400_000), flow(2, 3, 1)]);
    Some(model)
}

/// Runs with a transport as it was set, and asserts that time passes, the run ends and the books balance.
fn gets_on(transport: &AnyTransport) {
    let said = format!("{} with {:?}", transport.info().name, transport.write());
    let Some(model) = model(transport) else { return };
    let mut sim = Simulation::new(&model).unwrap_or_else(|error| panic!("{error} of {said}"));
    while sim.step(Simulation::SLICE) {
        let progress = sim.progress();
        assert!(progress.events < MOST, "{} events in {:?} of {said}", progress.events, progress.now);
    }
    let results = sim.finish().unwrap_or_else(|error| panic!("{error} of {said}"));
    let ended = results.summary.ended;
    assert!(matches!(ended, Ended::Complete | Ended::Stopped | Ended::Stalled), "{ended:?} of {said}");
    assert!(results.summary.end > Time::ZERO, "{said}");
}

#[test]
fn every_parameter_of_every_transport_has_a_range_if_it_is_a_number() {
    let mut count = 0;
    for info in TRANSPORTS {
        for spec in with_ends(info) {
            let name = format!("{} of {}", spec.name, info.name);
            assert!(!spec.min.is_empty() && !spec.max.is_empty(), "{name} has no range: {:?}", spec.range());
            let mut transport = transport(info.name);
            for end in [spec.min, spec.max] {
                transport.set(spec.name, end).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            count += 1;
        }
    }
    assert!(count > 200, "most transports have a dozen of them, and these are {count}");
}

#[test]
fn a_time_that_sets_a_timer_again_and_again_cannot_be_so_short_that_a_run_does_not_get_on() {
    let timers =
        ["retry", "update_period", "alpha_period", "increase_timer", "cnp_gap", "rto", "rto_min", "period"];
    let mut count = 0;
    for info in TRANSPORTS {
        for spec in info.params.iter().filter(|spec| timers.contains(&spec.name)) {
            let least: Span = spec.min.parse().unwrap();
            assert!(least >= Span::from_ns(100), "{} of {}: {least}", spec.name, info.name);
            for short in ["0 ps", "1 ps", "99 ns"] {
                let refusal = transport(info.name).set(spec.name, short).unwrap_err().to_string();
                assert!(refusal.contains(&format!("must be from {}", spec.min)), "{refusal}");
            }
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn a_run_gets_on_with_each_parameter_of_each_transport_at_each_end_of_its_range() {
    for info in TRANSPORTS {
        for spec in with_ends(info) {
            for end in [spec.min, spec.max] {
                let mut transport = transport(info.name);
                transport.set(spec.name, end).unwrap();
                gets_on(&transport);
            }
        }
    }
}

/// A transport each of whose parameters is at its default or, one in three, at an end of its range or another word.
fn at_random() -> impl Strategy<Value = AnyTransport> {
    let info = select((0..TRANSPORTS.len()).collect::<Vec<_>>());
    (info, prop::collection::vec((0u8..6, any::<prop::sample::Index>()), 64)).prop_map(|(info, draws)| {
        let info = &TRANSPORTS[info];
        let mut transport = transport(info.name);
        for (spec, (draw, word)) in info.params.iter().zip(draws) {
            let words: Vec<_> = (spec.forms)().iter().filter_map(word_of).collect();
            let value = match draw {
                0 if spec.min.is_empty() => words[word.index(words.len())],
                0 => spec.min,
                1 if !spec.max.is_empty() => spec.max,
                _ => continue,
            };
            transport.set(spec.name, value).unwrap();
        }
        transport
    })
}

fn word_of(form: &Form) -> Option<&'static str> {
    match form {
        Form::Word(word) => Some(word),
        Form::Truth => Some("true"),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_run_gets_on_with_many_parameters_at_their_ends(transport in at_random()) {
        gets_on(&transport);
    }
}

#[test]
fn every_transport_gets_on_where_a_link_is_as_slow_and_others_as_fast_and_as_long_as_they_may_be() {
    // A round trip holds 1.6 Tbps for four seconds, and the link between the switches would need a month for that.
    let (fast, slow, second) = (Rate::gbps(1_600), Rate::mbps(1), Span::from_ms(1_000));
    let mut builder = Builder::new();
    let [a, b] = ["a", "b"].map(|name| builder.add_host(name));
    let [near, far] = ["near", "far"].map(|name| builder.add_switch(name, 0));
    builder.link(a, near, fast, second);
    builder.link(near, far, slow, second);
    builder.link(far, b, fast, second);
    let topology = builder.build().unwrap();
    for info in TRANSPORTS {
        let transport = transport(info.name);
        let mut model = network_for(&transport, topology.clone());
        // Receivers that send credits at the rate of such a host send billions before the first comes back.
        let sends_credits = transport.needs().credits.is_some();
        model.stop = Some(Time::ZERO + Span::from_ms(if sends_credits { 3_001 } else { 100_000 }));
        add(&mut model, &transport, vec![flow(0, 1, 5_000)]);
        let results = run_within(&model, MOST);
        let Summary { flows_completed, .. } = results.summary;
        assert_eq!(flows_completed, u64::from(!sends_credits), "{}: {:?}", info.name, results.summary);
    }
}

#[test]
fn a_run_without_a_stop_ends_before_its_times_leave_their_range() {
    // Rounds with pauses of ten days: they would last for three years, and times reach 213 days.
    let dctcp = transport("dctcp");
    let mut model = network_for(&dctcp, star(3));
    let rounds = Rounds {
        client: NodeId(0),
        workers: vec![NodeId(1), NodeId(2)],
        request: Bytes::ZERO,
        response: Bytes::new(1_000),
        longer: 0,
        reconnect: false,
        rounds: 100,
        barrier: true,
        start: Time::ZERO,
        pause: Span::from_secs(864_000),
        spread: Span::ZERO,
    };
    model.add_traffic("rounds", &dctcp, Pattern::Rounds(rounds));
    let results = run(&model);
    let Summary { ended, end, flows_completed, .. } = results.summary;
    // Eleven rounds start within 106.75 days.
    assert_eq!((ended, end, flows_completed), (Ended::Stopped, Time::from_ps(u64::MAX / 2), 22));
}
