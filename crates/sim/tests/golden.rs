//! Golden tests: fixed scenarios whose results have bounds that must always hold, and a hash that may change only on
//! purpose.
//!
//! If a change alters a hash on purpose, put the new one here in the commit that makes the change, and say why there
//! and in CHANGELOG.md. `cargo test -p clearway-sim --test golden -- --nocapture` prints the hashes.

mod common;

use clearway_sim::Results;
use clearway_sim::scenario::{Overrides, Scenario};
use common::run;
use std::path::Path;

/// The scenario: a 4-ary fat tree with a web-search load, random loss, a link that fails, and processing delays.
const SCENARIO: &str = r#"
    seed = 7
    [topology]
    kind = "fat-tree"
    k = 4
    rate = "10 Gbps"
    delay = "2 us"
    [host]
    processing_delay = { uniform = ["0.9 us", "6.2 us"] }
    [[traffic]]
    name = "web"
    kind = "poisson"
    workload = "web-search"
    load = 0.5
    load_of = "ns2"
    flows = 60
    [[traffic]]
    name = "queries"
    kind = "partition-aggregate"
    fan_out = 40
    rounds = 5
    [[fault]]
    link = ["agg0", "core0"]
    down = "2 ms"
    up = "9 ms"
"#;

fn results(transport: &str) -> Results {
    let overrides = Overrides { transport: Some(transport.into()), ..Overrides::default() };
    let scenario =
        Scenario::parse(SCENARIO, "golden", Path::new("."), &overrides).unwrap_or_else(|e| panic!("{e}"));
    run(&scenario.model)
}

/// Returns the mean of a column's numbers.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn results_stay_within_their_bounds_and_to_the_byte_what_they_were() {
    let golden = [
        ("newreno", "03ff9dafca39815ba36c88019e80749a"),
        ("cubic", "2bfb1e6ed69f5d33e72cbf2be8edb275"),
        ("dctcp", "230dbec4051da009f90f098936028f36"),
        ("expresspass", "f70879d0e49e9c32920492524dedee3a"),
        ("expresspass-hotnets16", "c5dd6a5b987177c0cf8e096f1bfa6879"),
        ("naive-credit", "01b6dc9b1424c29940db5fbcd3958143"),
        ("ec4", "af638f067af64ecec116215fb9db4aaf"),
        ("rocev2", "bea4d25fcdb809cf7e50a8e8195841c1"),
        ("dcqcn", "27961c40f482df843e7c3b366f0a18d2"),
        ("timely", "dc35f0511c92b129fbbe81909dc91273"),
        ("hpcc", "cfde1396c001524b9b232a118bef0436"),
        ("rdma-dctcp", "4b4b387e4befd139d4d0ffa3298f6701"),
        ("pacc", "305f73fe6cf0fdac06d32d11dec6e2cf"),
        ("hull", "46e18d5b265d41831488b4ac10858f00"),
        ("dx", "a8b012c3bd18aae7a8feef6a69a2c86b"),
        ("rcp", "23432655bfd4ad8ea5edfe70612a0c8d"),
        ("ideal", "1a82d632ea214351a5ab4ba854d6702f"),
        ("fixed-window", "d3a1b7337eeb14cff848e21c382aa34c"),
        ("pac", "5c5e084b1bdc9550ac1fe63ae031d18a"),
        ("ictcp", "7eddeaec6ed037c0ded4517a1a30365d"),
        ("ack-shaper", "28533484f1bd96f4df38e71b0284d7b3"),
    ];
    let mut changed = Vec::new();
    for (transport, expected) in golden {
        let results = results(transport);
        assert_eq!(results.summary.flows_completed, 60 + 2 * 40 * 5, "{transport}");
        let slowdown = mean(results.flows.f64s("slowdown"));
        assert!((1.0..60.0).contains(&slowdown), "{transport}: {slowdown}");
        if results.summary.credits[0].1 > 0 {
            assert_eq!(results.ports.u64s("drops_buffer").iter().sum::<u64>(), 0, "{transport} lost data");
        }
        let hash = results.hash();
        println!("(\"{transport}\", \"{hash}\"),");
        if hash != expected {
            changed.push(format!("{transport}: {expected} -> {hash}"));
        }
    }
    assert!(changed.is_empty(), "results changed:\n{}", changed.join("\n"));
}
