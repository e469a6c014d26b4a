//! Runs of what is compared with the programs of htsim: packets of 4150 bytes on the wire, 64 of them headers.

use crate::common::run;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_sim::{Ended, Results};
use std::path::Path;

/// What is compared: the mean and the largest time after which senders know that all has arrived, in microseconds, and the number of
/// packets that were sent again.
pub type Measured = [f64; 3];

/// A fat tree of 128 hosts with links of this rate and 1 us.
pub fn tree(gbps: u64) -> String {
    format!(r#"kind = "fat-tree", k = 8, rate = "{gbps} Gbps", delay = "1 us""#)
}

/// Returns a scenario with this traffic under a transport as the program has it (`profile = "htsim"`), over the tree and in its frames.
pub fn scenario(transport: &str, gbps: u64, traffic: &str, seed: u64) -> String {
    format!(
        r#"
        seed = {seed}
        transport = {{ name = "{transport}", profile = "htsim" }}
        topology = {{ {} }}
        network = {{ payload = "4086 B", overhead = "64 B", wire_min = "64 B" }}
        traffic = [{{ {traffic} }}]
        "#,
        tree(gbps)
    )
}

/// Runs flows of a size that start together between pairs of hosts. `transport` and `topology` are the keys of these tables, and
/// `rest` is what else the scenario has. Senders of NDP know their routes if they have as many values as paths (`path_values`).
pub fn simulate(
    transport: &str,
    topology: &str,
    size: &str,
    pairs: impl IntoIterator<Item = (u32, u32)>,
    seed: u64,
    rest: &str,
) -> Results {
    let pairs: Vec<_> = pairs.into_iter().map(|(src, dst)| format!(r#"["h{src}", "h{dst}"]"#)).collect();
    let routing = if transport.contains("path_values") { "source" } else { "auto" };
    let text = format!(
        r#"
        seed = {seed}
        transport = {{ {transport} }}
        topology = {{ {topology} }}
        network = {{ payload = "4086 B", overhead = "64 B", wire_min = "64 B", routing = "{routing}" }}
        traffic = [{{ kind = "long", pairs = [{}], size = "{size}" }}]
        {rest}
        "#,
        pairs.join(", ")
    );
    let scenario = Scenario::parse(&text, "htsim", Path::new("."), &Overrides::default());
    let results = run(&scenario.unwrap_or_else(|error| panic!("{error}")).model);
    assert_eq!(results.summary.ended, Ended::Complete);
    results
}

/// Measures a run.
pub fn measured(results: &Results) -> Measured {
    let times = results.flows.f64s("acked_s");
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let largest = times.iter().copied().fold(0.0, f64::max);
    let again: u64 = results.flows.u64s("retransmits").iter().sum();
    [mean * 1e6, largest * 1e6, again as f64]
}

/// Holds what was measured against the program's averages, each to a share of it.
pub fn check(of: &str, measured: Measured, theirs: Measured, within: Measured) {
    for (column, what) in ["mean", "largest", "sent again"].into_iter().enumerate() {
        let (ours, theirs) = (measured[column], theirs[column]);
        println!("{of}: {what} {ours:.2}, there {theirs}");
        assert!((ours - theirs).abs() <= theirs * within[column], "{of}: {what} {ours}, there {theirs}");
    }
}
