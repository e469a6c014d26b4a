//! Random sequences of inputs to the datapaths. `fuzz/` runs the same sequences under libFuzzer.

mod harness;
mod host;
mod pac;

use arbitrary::{Arbitrary, Unstructured};
use harness::Step;
use proptest::prelude::*;

/// Returns the steps that bytes stand for.
fn steps(bytes: &[u8]) -> Vec<Step> {
    let mut bytes = Unstructured::new(bytes);
    let mut steps = Vec::new();
    while !bytes.is_empty()
        && let Ok(step) = Step::arbitrary(&mut bytes)
    {
        steps.push(step);
    }
    steps
}

#[test]
fn credits_that_are_spent_in_the_instant_in_which_they_leave_do_not_make_the_timer_spin() {
    harness::play(host::setup(), &harness::credits_spent_at_once());
}

#[test]
fn a_crowd_of_flows_reaches_every_bound_of_a_host_and_passes_none() {
    let mut host = host::setup();
    harness::crowd().iter().for_each(|step| host.step(step));
    assert_eq!(host.most(), (12, &[6.0, 6.0, 8.0][..]));
    host.finish();
}

#[test]
fn a_crowd_of_flows_reaches_the_bounds_of_flows_and_held_packets_of_pac_and_passes_none() {
    let mut pac = pac::setup();
    harness::crowd().iter().for_each(|step| pac.step(step));
    let (held, gauges) = pac.most();
    assert_eq!((held, gauges[0], gauges[2]), (12, 6.0, 12.0));
    pac.finish();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn a_host_with_expresspass_keeps_all_rules_whatever_comes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        harness::play(host::setup(), &steps(&bytes));
    }

    #[test]
    fn pac_keeps_all_rules_whatever_comes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        harness::play(pac::setup(), &steps(&bytes));
    }
}
