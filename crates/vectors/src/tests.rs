//! What files have: both readings, each branch, and outputs that tell every reading and every constant from others.

use super::*;
use clearway_schema::Declared;
use serde_json::Value;

/// A file as another program reads it.
fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("a file is JSON")
}

/// The outputs of cases, without what they begin with.
fn outputs(cases: &[Case]) -> Vec<Value> {
    let steps = |case: &Case| read(&case.text())["steps"].as_array().unwrap().clone();
    cases.iter().flat_map(steps).map(|step| step["output"].clone()).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_other_sequences() {
    for algorithm in Algorithm::ALL {
        let of = |seed| text(algorithm, Reading::Specification, seed, "0");
        assert!(of(1) == of(1), "{algorithm}");
        assert!(of(1).replace("\"seed\": 1", "") != of(2).replace("\"seed\": 2", ""), "{algorithm}");
    }
}

#[test]
fn each_file_has_cases_with_names_of_their_own_and_times_that_never_go_back() {
    for (algorithm, reading) in Algorithm::ALL.into_iter().flat_map(|a| Reading::ALL.map(|r| (a, r))) {
        let file = read(&text(algorithm, reading, 1, "0"));
        let cases = file["cases"].as_array().unwrap();
        let mut names: Vec<&str> = cases.iter().map(|case| case["name"].as_str().unwrap()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), count > 15), (count, true), "{algorithm}, {reading}");
        for case in cases {
            let times: Vec<u64> = case["steps"]
                .as_array()
                .unwrap()
                .iter()
                .map(|step| step["at_ps"].as_u64().unwrap())
                .collect();
            assert!(times.is_sorted(), "{}", case["name"]);
        }
    }
}

/// The states of a window after each step of all cases.
fn states(reading: Reading) -> Vec<Value> {
    let file = read(&text(Algorithm::Nscc, reading, 1, "0"));
    let steps = file["cases"].as_array().unwrap().iter().flat_map(|case| case["steps"].as_array().unwrap());
    steps.map(|step| step["state"].clone()).collect()
}

#[test]
fn the_windows_of_both_readings_take_every_branch() {
    for reading in Reading::ALL {
        let states = states(reading);
        let number = |state: &Value, key: &str| state[key].as_f64().unwrap();
        let times = |is: &dyn Fn(&Value) -> bool| states.iter().filter(|state| is(state)).count();
        assert!(times(&|state| state["is_fast"] == true) > 20, "fast increase");
        assert!(times(&|state| number(state, "increase_bytes_squared") > 0.0) > 50, "increases that wait");
        assert!(times(&|state| number(state, "to_ignore_bytes") > 0.0) > 20, "quick adapt");
        assert!(times(&|state| number(state, "cwnd_bytes") == 4_150.0) > 3, "the least window");
        assert!(times(&|state| state["lost"] == true) > 10, "losses");
        let mut cuts: Vec<u64> = states.iter().map(|state| state["cut_ps"].as_u64().unwrap()).collect();
        cuts.dedup();
        assert!(cuts.len() > 20, "cuts: {}", cuts.len());
        let saved = times(&|state| !state["saved_cwnd_bytes"].is_null());
        assert_eq!(saved > 0, reading == Reading::Specification, "a window that is to come back");
    }
}

#[test]
fn every_reading_of_the_window_changes_an_output_by_itself() {
    let specification = setting::of_nscc(Reading::Specification);
    let htsim = setting::of_nscc(Reading::Htsim);
    let usual = outputs(&nscc::cases(&specification, 1));
    let theirs: Vec<_> = htsim.write().into_iter().collect();
    let keys = readings::keys(Algorithm::Nscc);
    assert!(keys.len() > 10);
    for key in keys.into_iter().filter(|&key| key != "fast_delay") {
        let value = &theirs.iter().find(|(name, _)| *name == key).expect("a reading has a parameter").1;
        let mut changed = specification.clone();
        changed.set(key, value.trim_matches('"')).unwrap();
        assert!(outputs(&nscc::cases(&changed, 1)) != usual, "{key}");
    }
}

#[test]
fn every_constant_of_the_window_changes_an_output() {
    let constants = [
        ("alpha", "4.01"),
        ("fi", "5.01"),
        ("fi_scale", "0.251"),
        ("eta", "0.16"),
        ("gamma", "0.81"),
        ("max_md_jump", "0.51"),
        ("delay_alpha", "0.0126"),
        ("fast_delay", "1000001 ps"),
        ("qa_gate", "2"),
        ("adjust_packets", "7"),
        ("maxwnd", "1.51"),
        ("target_qdelay", "10517041 ps"),
        ("adjust_period", "14022721 ps"),
    ];
    let htsim = setting::of_nscc(Reading::Htsim);
    let usual = outputs(&nscc::cases(&htsim, 1));
    for (key, value) in constants {
        let mut changed = htsim.clone();
        changed.set(key, value).unwrap();
        assert!(outputs(&nscc::cases(&changed, 1)) != usual, "{key}");
    }
}

#[test]
fn every_constant_of_credit_changes_an_output() {
    let constants = [
        ("quantum", "255 B"),
        ("pull_quanta", "63"),
        ("empty_quanta", "5"),
        ("pull_rate", "0.98"),
        ("acks_pull", "false"),
        ("stays_idle", "true"),
        ("min_rate", "0.02"),
        ("rate_ai", "0.011"),
        ("rate_md", "0.51"),
        ("rate_alpha", "0.51"),
        ("target_congestion", "0.31"),
        ("maxwnd", "1.6"),
    ];
    let ours = setting::of_rccc(Reading::Specification);
    let usual = outputs(&rccc::cases(&ours, 1));
    for (key, value) in constants {
        let mut changed = ours.clone();
        changed.set(key, value).unwrap();
        assert!(outputs(&rccc::cases(&changed, 1)) != usual, "{key}");
    }
}

#[test]
fn every_constant_of_a_sending_end_changes_an_output_by_itself() {
    let constants = [
        ("entropy", "reps"),
        ("paths", "128"),
        ("maxwnd", "1.4"),
        ("rto", "100 us"),
        ("rto_doubles", "false"),
        ("timeout_names_path", "false"),
        ("sack_threshold", "4096 B"),
        ("room_for_mtu", "false"),
        ("small_window_asks", "false"),
        ("base_rtt", "network"),
        ("quantum", "255 B"),
        ("acks_pull", "false"),
    ];
    let ours = setting::of_both(Reading::Specification);
    let usual = outputs(&flow::of(&ours, "both", 1));
    let values: Vec<_> = ours.write().into_iter().collect();
    for (key, value) in constants {
        let mut changed = ours.clone();
        changed.set(key, value).unwrap();
        let is_usual = changed.write().into_iter().eq(values.iter().cloned());
        assert!(!is_usual, "{key} = {value} is the default");
        assert!(outputs(&flow::of(&changed, "both", 1)) != usual, "{key}");
    }
}

#[test]
fn sending_ends_lose_repeat_ask_probe_and_end() {
    for reading in Reading::ALL {
        let outputs = outputs(&flow::cases(reading, 1));
        let times = |is: &dyn Fn(&Value) -> bool| outputs.iter().filter(|output| is(output)).count();
        assert!(times(&|output| output["repeats"] == true) > 50, "packets sent again");
        assert!(times(&|output| output["asks"] == true) > 50, "packets that ask");
        assert!(times(&|output| output["ends"] == true) > 10, "packets that tell the end");
        assert!(times(&|output| output["finished"] == true) > 3, "ends that are done");
        let is_control = |output: &Value| output["psn"].is_u64() && output["offset_bytes"].is_null();
        assert!(times(&|output| is_control(output) && output["target_quanta"].is_u64()) > 10, "requests");
        let probes = times(&|output| is_control(output) && output["target_quanta"].is_null());
        assert_eq!(probes > 0, reading == Reading::Specification, "{reading}: {probes} probes");
    }
}

#[test]
fn the_feedback_of_a_timeout_names_its_path_or_0() {
    let named = |reading| {
        let file = read(&text(Algorithm::Reps, reading, 1, "0"));
        let case =
            file["cases"].as_array().unwrap().iter().find(|case| case["name"] == "bitmap-drawn").unwrap();
        let steps = case["steps"].as_array().unwrap();
        let timeouts = steps.iter().filter(|step| step["input"]["feedback"] == "timeout");
        timeouts.map(|step| step["input"]["entropy"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert!(named(Reading::Specification).iter().any(|&entropy| entropy > 0));
    assert!(named(Reading::Htsim).iter().all(|&entropy| entropy == 0));
}
