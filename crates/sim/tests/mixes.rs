//! Property tests of mixed scenarios: transports of several kinds share one network whose frames, classes, credit
//! classes, flow control, memory and faults are drawn together.
//!
//! A case is a scenario file, so that a failure can be run by hand. `PROPTEST_CASES=20000 cargo test -p clearway-sim --test mixes`
//! draws a quarter of that many cases.

mod common;

use clearway_sim::model::{Model, Traffic};
use clearway_sim::{Ended, Results};
use common::mixes::{may_collapse, model, one_in, scenarios, watched};
use common::{run, run_within};
use proptest::prelude::*;

/// Asserts what holds after every run; that the books balance, and credits with them, is a condition of having results.
fn check(model: &Model, results: &Results) {
    let summary = &results.summary;
    let recovers = model.traffic.iter().all(|entry| entry.transport.info().name != "blast");
    // Without flow control, go-back-N may lose the same packet for ever: where flows of one size time out in step, each
    // attempt meets the full buffers that the others cause.
    // So may headers and answers starve data in a narrow core, and transports that count on trimming take minutes where switches
    // drop: packets of flows that time out in step meet in full buffers, and their timeouts double.
    let drops_instead = |entry: &Traffic| {
        entry.transport.needs().trimming.is_some() && model.switch.classes[entry.class].trim.is_none()
    };
    let may_starve = may_collapse(model)
        || model.traffic.iter().any(drops_instead)
        || model.pfc.is_none() && model.traffic.iter().any(|entry| entry.transport.needs().lossless);
    if recovers && may_starve {
        assert!(matches!(summary.ended, Ended::Complete | Ended::Stopped), "{summary:?}");
    } else if recovers {
        assert_eq!(summary.ended, Ended::Complete, "{summary:?}");
        assert_eq!(summary.flows_completed, summary.flows_started);
        assert_eq!(results.flows.u64s("delivered_bytes"), results.flows.u64s("size_bytes"));
    } else {
        assert!(matches!(summary.ended, Ended::Complete | Ended::Stalled), "{summary:?}");
    }
    let takes_cnps = model.traffic.iter().any(|entry| entry.transport.needs().cnps);
    assert!(takes_cnps || summary.cnps == 0, "{} CNPs to nobody", summary.cnps);
    if summary.ended == Ended::Complete {
        let [_, delivered, ..] = summary.packets[..] else { panic!("the books have lines") };
        let lost: u64 = summary.packets[2..6].iter().map(|(_, count)| count).sum();
        assert_eq!(summary.packets[0].1, delivered.1 + lost, "the network is empty");
    }
}

proptest! {
    #![proptest_config(one_in(4))]

    #[test]
    fn any_mix_of_transports_classes_and_flow_control_delivers_every_byte_and_balances(text in scenarios()) {
        let model = match model(&text) {
            Ok(model) => model,
            Err(error) => return Err(TestCaseError::reject(error)),
        };
        let results = run_within(&model, 100_000_000);
        check(&model, &results);
        if model.seed % 4 == 0 {
            prop_assert_eq!(run(&watched(&model, results.summary.end)).hash(), results.hash());
        }
    }
}
