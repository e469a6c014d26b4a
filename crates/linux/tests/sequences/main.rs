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
