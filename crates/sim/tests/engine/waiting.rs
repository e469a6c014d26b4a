//! Tests of flows that begin once others are done.

use crate::common::*;
use clearway_proto::{AnyTransport, TRANSPORTS};
use clearway_sim::model::*;
use clearway_sim::traffic::{Done, Fires, Pull, Triggers, Wait};
use clearway_sim::{Ended, Results};
use clearway_units::{Span, Time};
use std::sync::Arc;

fn wait(trigger: u32, message: u32, us: u64) -> Wait {
    Wait { trigger, message, pause: Span::from_us(us) }
}

fn pull(message: u32, done: Done, trigger: u32) -> Pull {
    Pull { message, done, trigger }
}

/// Makes a star of 100 Gbps whose hosts send flows of their own under a transport, some of which wait for triggers.
fn model_of(transport: &AnyTransport, flows: &[(u32, u32, u64)], triggers: Triggers) -> Model {
    let mut model = network_for(transport, star(4));
    let listed = flows.iter().map(|&(src, dst, bytes)| (flow(src, dst, bytes), None::<u32>)).collect();
    model.add_traffic("flows", transport, Pattern::Messages(Arc::new(Messages::new(listed, triggers))));
    model
}

fn sums(results: &Results, column: &str) -> Vec<f64> {
    let (starts, times) = (results.flows.f64s("start_s"), results.flows.f64s(column));
    starts.iter().zip(times).map(|(start, time)| start + time).collect()
}

/// Two times in seconds are the same to a picosecond.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn a_flow_of_every_transport_begins_in_the_instant_for_which_it_waits_or_so_much_later() {
    for info in TRANSPORTS {
        // 0 -> 1 -> 2 -> 3: the second waits for the arrival of the first, the third for the knowledge of the second's sender, if
        // it ever has it.
        let last = if info.recovers { Done::Acknowledged } else { Done::Delivered };
        let waits = vec![wait(0, 1, 0), wait(1, 2, 7)];
        let pulls = vec![pull(0, Done::Delivered, 0), pull(1, last, 1)];
        let triggers = Triggers::new(vec![Fires::All(1); 2], waits, pulls);
        let flows = [(0, 1, 50_000), (1, 2, 3_000), (2, 3, 20_000)];
        let model = model_of(&transport(info.name), &flows, triggers);
        let results = run_within(&model, 10_000_000);
        check(&results, &model);
        assert_eq!((results.summary.ended, results.flows.rows()), (Ended::Complete, 3), "{}", info.name);
        let starts = results.flows.f64s("start_s");
        assert!(same(starts[1], sums(&results, "fct_s")[0]), "{}: {starts:?}", info.name);
        let told = if info.recovers { "acked_s" } else { "fct_s" };
        assert!(same(starts[2], sums(&results, told)[1] + 7e-6), "{}: {starts:?}", info.name);
    }
}

#[test]
fn a_flow_begins_when_the_last_of_those_is_done_for_which_it_waits() {
    let waits = vec![wait(0, 2, 0), wait(0, 3, 0)];
    let pulls = [0, 1].map(|message| pull(message, Done::Delivered, 0)).to_vec();
    let triggers = Triggers::new(vec![Fires::All(2)], waits, pulls);
    let flows = [(0, 1, 90_000), (2, 3, 1_000), (3, 0, 5), (1, 2, 5)];
    let results = run(&model_of(&transport("dctcp"), &flows, triggers));
    let (starts, ends) = (results.flows.f64s("start_s"), sums(&results, "fct_s"));
    assert!(ends[1] < ends[0], "{ends:?}");
    assert!(same(starts[2], ends[0]) && same(starts[3], ends[0]), "{starts:?} {ends:?}");
}

#[test]
fn one_flow_begins_for_each_that_is_done_in_the_order_of_the_list() {
    let waits = vec![wait(0, 3, 0), wait(0, 2, 0)];
    let pulls = [0, 1].map(|message| pull(message, Done::Delivered, 0)).to_vec();
    let triggers = Triggers::new(vec![Fires::Next], waits, pulls);
    let flows = [(0, 1, 90_000), (2, 3, 1_000), (3, 0, 5), (1, 2, 6)];
    let results = run(&model_of(&transport("dctcp"), &flows, triggers));
    let (starts, ends) = (results.flows.f64s("start_s"), sums(&results, "fct_s"));
    // Rows are in the order of starts: the short flow ends first, and lets the one begin that stands first among those that wait.
    assert_eq!(results.flows.u64s("size_bytes"), [90_000, 1_000, 6, 5]);
    assert!(same(starts[2], ends[1]) && same(starts[3], ends[0]), "{starts:?} {ends:?}");
}

#[test]
fn a_connection_stays_open_for_a_message_that_waits_for_another_flow() {
    let transport = transport("dctcp");
    let mut model = network_for(&transport, star(4));
    let listed =
        vec![(flow(0, 1, 1_000), Some("a")), (flow(2, 3, 800_000), None), (flow(0, 1, 2_000), Some("a"))];
    let triggers = Triggers::new(vec![Fires::All(1)], vec![wait(0, 2, 0)], vec![pull(1, Done::Delivered, 0)]);
    model.add_traffic("flows", &transport, Pattern::Messages(Arc::new(Messages::new(listed, triggers))));
    let results = run(&model);
    check(&results, &model);
    assert_eq!(results.flows.u64s("flow"), [0, 1, 0]);
    assert!(same(results.flows.f64s("start_s")[2], sums(&results, "fct_s")[1]));
}

#[test]
fn a_run_that_stops_before_a_flow_may_begin_leaves_it_out() {
    let triggers = || {
        let waits = vec![wait(0, 1, 500)];
        Triggers::new(vec![Fires::All(1)], waits, vec![pull(0, Done::Delivered, 0)])
    };
    let mut model = model_of(&transport("dctcp"), &[(0, 1, 1_000), (1, 0, 1_000)], triggers());
    let whole = run(&model);
    assert_eq!((whole.summary.ended, whole.flows.rows()), (Ended::Complete, 2));
    model.stop = Some(Time::ZERO + Span::from_us(300));
    let results = run(&model);
    assert_eq!((results.summary.ended, results.flows.rows()), (Ended::Stopped, 1));
}
