//! Tests of runs in which time stands still: the engine ends them, whoever keeps it from passing, and keeps what was simulated.

use crate::common::*;
use clearway_proto::AnyTransport;
use clearway_schema::Auto;
use clearway_sim::model::*;
use clearway_sim::{Ended, Partition, Results, Simulation};
use clearway_units::{Span, Time};

/// Two flows that start at 1 ms. The requests of the first are repeated at once, which no scenario can say; those of the
/// second, at the other end of the network, are not.
fn endless() -> Model {
    let ms = Time::ZERO + Span::from_ms(1);
    let mut model = network_for(&transport("expresspass"), star(4));
    let mut at_once = transport("expresspass");
    let AnyTransport::ExpressPass(params) = &mut at_once else { panic!("another transport") };
    params.credit.retry = Auto::Set(Span::ZERO);
    add(&mut model, &transport("expresspass"), vec![Flow { start: Time::ZERO, ..flow(0, 1, 10_000) }]);
    add(&mut model, &at_once, vec![Flow { start: ms, ..flow(2, 3, 10_000) }]);
    model
}

fn in_steps(model: &Model, threads: usize, events: u64) -> Results {
    let partition = Partition::new(model, threads);
    assert_eq!(partition.parts(), threads);
    cut(model, &partition, events)
}

fn cut(model: &Model, partition: &Partition, events: u64) -> Results {
    let mut sim = Simulation::spooled(model, partition, [None, None]).unwrap();
    sim.always_hand_over();
    sim.take_turns_but(0);
    while sim.step(events) {}
    sim.finish().expect("the books balance")
}

#[test]
fn a_run_whose_events_are_all_at_one_instant_ends_and_names_what_goes_on_and_keeps_its_results() {
    let one = in_steps(&endless(), 1, u64::MAX);
    let summary = &one.summary;
    assert_eq!((summary.ended, summary.end), (Ended::Livelocked, Time::ZERO + Span::from_ms(1)));
    let found = summary.livelock.as_ref().expect("a livelock is told");
    let expected = "the timer of the sender of flow 0 (h2 to h3) of traffic traffic1 under expresspass";
    assert_eq!((found.at, found.what.as_str()), (summary.end, expected));
    assert!(summary.events < 3_000_000, "{}", summary.events);
    assert_eq!((summary.flows_started, summary.flows_completed), (2, 1));
    assert_eq!(one.flows.u64s("delivered_bytes"), [10_000, 0]);
}

#[test]
fn a_livelock_is_found_in_every_part_of_the_network_and_after_the_same_events_whatever_the_steps() {
    let two = in_steps(&endless(), 2, u64::MAX).summary;
    assert_eq!((two.ended, two.flows_completed), (Ended::Livelocked, 1));
    assert!(two.livelock.is_some_and(|found| found.what.contains("h2 to h3")));
    let [small, large] = [777, u64::MAX].map(|events| in_steps(&endless(), 1, events));
    assert_eq!((small.summary.events, small.hash()), (large.summary.events, large.hash()));
}

#[test]
fn a_livelock_in_a_block_ends_the_run_and_is_named_as_in_a_run_without_blocks() {
    let model = endless();
    let blocks = Partition::new(&model, 2).in_blocks();
    assert_eq!((blocks.parts(), blocks.blocks()), (1, &[2][..]));
    let [one, of_blocks] = [Partition::whole(&model), blocks].map(|of| cut(&model, &of, u64::MAX).summary);
    assert_eq!((of_blocks.ended, of_blocks.flows_completed), (Ended::Livelocked, 1));
    let [one, of_blocks] = [one, of_blocks].map(|of| of.livelock.map(|found| (found.at, found.what)));
    assert_eq!(one, of_blocks);
}

#[test]
fn events_of_the_whole_network_that_are_all_at_one_instant_end_the_run_too() {
    // No scenario can say a time of zero between samples, and these have no ports and keep nothing.
    let mut model = endless();
    model.traffic.truncate(1);
    model.samples = vec![Sample { name: "s".into(), every: Span::ZERO, what: Probe::Queue(Vec::new()) }];
    let summary = in_steps(&model, 1, u64::MAX).summary;
    assert_eq!((summary.ended, summary.end), (Ended::Livelocked, Time::ZERO));
    let found = summary.livelock.expect("a livelock is told");
    assert!(found.at == Time::ZERO && found.what.contains("sample"), "{}", found.what);
}
