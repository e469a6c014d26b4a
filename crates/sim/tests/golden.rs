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
        ("newreno", "17579a56333e024f8cd8a8c8f9f047d2"),
        ("cubic", "d251cf7f54721b5c7bf7f09f866f433c"),
        ("dctcp", "5f76a3705d00af0cb42eeff564d55f44"),
        ("expresspass", "89053532b64576b9e37f45c7c45b1d63"),
        ("expresspass-hotnets16", "1e44b020424335611937b5ae241c2c3b"),
        ("naive-credit", "693c44abf3933b54f09b20b12fd55272"),
        ("ec4", "dfac27600f0aeb0af336573ba5a7155c"),
        ("rocev2", "7bfb2d38975cbece439c96aa0efe8af7"),
        ("dcqcn", "a4f5d760b2be5db2635fab6867ed9780"),
        ("timely", "fdb8a31ee4e35c2a27a9ff474fbaa000"),
        ("hpcc", "0172607c8dfdb0875a948fd166d1b6f2"),
        ("rdma-dctcp", "7247b4cc9ae675f6d3d38ff58fed781e"),
        ("pacc", "31dc50aae13decae7060b249d8565a7c"),
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
