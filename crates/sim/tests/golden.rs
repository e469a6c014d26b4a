//! Fixed scenarios whose results may change only on purpose: bounds that must always hold, and the very bytes.
//!
//! If a change alters a hash on purpose, put the new one here in the commit that makes the change, and say why there
//! and in CHANGELOG.md. `cargo test -p clearway-sim --test golden -- --nocapture` prints the hashes.

mod common;

use clearway_sim::Results;
use clearway_sim::scenario::{Overrides, Scenario};
use common::run;
use std::path::Path;

/// A 4-ary fat tree with a web-search load, some loss, a link that fails, and processing delays.
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

/// The mean of a column's numbers.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn results_stay_within_their_bounds_and_to_the_byte_what_they_were() {
    let golden = [
        ("newreno", "a27a3c55a1167253f459844a06019bfb"),
        ("cubic", "d8c372039f652f1c719c61794e6211b2"),
        ("dctcp", "92d881fa13a6121f37da53957454a205"),
        ("expresspass", "56b2bbd1ee089f0e069171efbc2f48ed"),
        ("expresspass-hotnets16", "9bd3e6626ee3ebc09dadc1436838b283"),
        ("naive-credit", "aa47ef0f70463bc708fee2726c7e3b1b"),
        ("ec4", "05f0dad01c5986a32b31fd712dfb56f2"),
        ("rocev2", "87210f98819eda6d9acbd3182da7364a"),
        ("dcqcn", "7025d5cec3319bd8b09b9ef0c70ff931"),
        ("timely", "e25aec7ee3ae3e5f67e8bb7bf67404d3"),
        ("hpcc", "b9596e8b8e6a7af73edc2e48b8ebe6bc"),
        ("rdma-dctcp", "8f48a61ee38dbbff5633a4712a36dba4"),
        ("pacc", "11972fd279d09a9fc294968f3a5e37c0"),
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
