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

/// A case that was drawn: by a stop at 100 s one flow had not even begun.
#[test]
fn a_flow_whose_handshake_is_lost_seven_times_arrives_after_two_minutes() {
    let text = "seed = 2352959395\nstop = \"1000 s\"\n[topology]\nkind = \"fat-tree\"\nrate = \"10 Gbps\"\ndelay = \"228 ns\"\n\
        [network]\nrouting = \"adaptive\"\n[switch]\nshared_buffer = \"1 MB\"\n\
        [[switch.class]]\nname = \"c0\"\npriority = 1\nweight = 1\n\
        [[switch.class]]\nname = \"c1\"\npriority = 2\nweight = 1\nlossless = false\nbuffer = \"30 KB\"\n\
        [[traffic]]\ntransport = { name = \"pac\" }\nkind = \"flows\"\n\
        list = [{ src = 0, dst = 2, size = \"14833 B\" }, { src = 4, dst = 0, size = \"2067 B\", stop = \"738 us\" }, \
        { src = 1, dst = 0, size = \"21221 B\" }, { src = 5, dst = 0, size = \"40884 B\" }]\n\
        class = \"c0\"\nack_class = \"c0\"\n[[loss]]\nprobability = 0.033\n";
    let model = model(text).unwrap_or_else(|error| panic!("{error}"));
    let results = run(&model);
    check(&model, &results);
    // The handshake is tried at 0, 1, 3, 7, 15, 31 and 63 s and, after the longest timeout of a minute, at 123 s.
    let last = results.flows.f64s("fct_s").iter().copied().fold(0.0, f64::max);
    assert!((123.0..123.1).contains(&last), "{last} s");
}
