//! NDP and EQDS against htsim, the simulator of their authors: times at which senders know that their flows have arrived, in a
//! fat tree of 128 hosts with links of 1 us, and packets of 4150 bytes on the wire.

mod common;

use clearway_sim::scenario::{Overrides, Scenario};
use clearway_sim::{Ended, Results};
use common::run;
use std::path::Path;

/// Runs flows between pairs of hosts at once.
fn simulate(transport: &str, rate: u32, size: &str, pairs: &[[u32; 2]], seed: u64) -> Results {
    let pairs: Vec<String> = pairs.iter().map(|[from, to]| format!("[\"h{from}\", \"h{to}\"]")).collect();
    let text = format!(
        r#"
        seed = {seed}
        transport = {{ {transport} }}
        topology = {{ kind = "fat-tree", k = 8, rate = "{rate} Gbps", delay = "1 us" }}
        network = {{ routing = "spray", payload = "4086 B", overhead = "64 B", wire_min = "64 B" }}
        traffic = [{{ kind = "long", pairs = [{}], size = "{size}" }}]
        "#,
        pairs.join(", ")
    );
    let scenario = Scenario::parse(&text, "pulled", Path::new("."), &Overrides::default());
    let results = run(&scenario.unwrap_or_else(|error| panic!("{error}")).model);
    assert_eq!(results.summary.ended, Ended::Complete);
    results
}

/// Returns the time of each flow in microseconds: the delivery of its last byte, and the way back of the acknowledgement of 64
/// bytes through an idle network.
fn times(results: &Results, rate: u32, pairs: &[[u32; 2]]) -> Vec<f64> {
    let links = |&[from, to]: &[u32; 2]| match () {
        () if from / 4 == to / 4 => 2.0,
        () if from / 16 == to / 16 => 4.0,
        () => 6.0,
    };
    let back = |pair| links(pair) * (1.0 + 64.0 * 8.0 / (f64::from(rate) * 1e3));
    results.flows.f64s("fct_s").iter().zip(pairs).map(|(fct, pair)| fct * 1e6 + back(pair)).collect()
}

/// Holds an idle flow across the tree against htsim's time.
fn check_idle(transport: &str, rate: u32, size: &str, expected: f64) {
    let pairs = [[0, 127]];
    let results = simulate(transport, rate, size, &pairs, 1);
    let time = times(&results, rate, &pairs)[0];
    println!("{transport} {rate} Gbps {size}: {time:.4} us, expected {expected}");
    assert!((time / expected - 1.0).abs() < 1e-4, "{transport}: {time} us for {expected} us");
    assert_eq!(results.flows.u64s("retransmits").iter().sum::<u64>(), 0);
}

#[test]
fn an_idle_flow_of_ndp_takes_the_time_that_it_takes_in_htsim() {
    let transport = r#"name = "ndp", profile = "htsim""#;
    check_idle(transport, 100, "1 MB", 95.451);
    check_idle(transport, 400, "10 MB", 217.503);
}

#[test]
fn an_idle_flow_of_eqds_takes_the_time_that_it_takes_in_htsim() {
    let transport = r#"name = "eqds", profile = "htsim""#;
    check_idle(transport, 100, "1 MB", 95.453);
    check_idle(transport, 400, "10 MB", 218.297);
}

/// Returns the mean and the maximum of the times of an incast of eight flows of 1 MB, and the number of packets sent again.
fn incast_8(transport: &str, seed: u64) -> (f64, f64, u64) {
    let pairs: Vec<[u32; 2]> = [3, 7, 11, 15, 19, 23, 27, 31].map(|from| [from, 0]).into();
    let results = simulate(transport, 100, "1 MB", &pairs, seed);
    let times = times(&results, 100, &pairs);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let again = results.flows.u64s("retransmits").iter().sum();
    assert_eq!(results.flows.u64s("timeouts").iter().sum::<u64>(), 0, "{transport}");
    println!(
        "{transport} seed {seed}: mean {mean:.1} us, max {:.1} us, {again} again",
        times.iter().copied().fold(0.0, f64::max)
    );
    (mean, times.into_iter().fold(0.0, f64::max), again)
}

#[test]
fn an_incast_of_ndp_is_as_fast_as_in_htsim() {
    // htsim: mean 651.7, max 663.9, 275 packets cut, with 43 packets in the first window.
    for seed in 1..=3 {
        let (mean, max, again) = incast_8(r#"name = "ndp", profile = "htsim", window = 43"#, seed);
        assert!((640.0..660.0).contains(&mean) && (657.0..675.0).contains(&max), "{mean} {max}");
        assert!((267..=283).contains(&again), "{again}");
    }
}

#[test]
fn an_incast_of_eqds_is_as_fast_as_in_htsim() {
    // htsim, 25 seeds: mean 648.2, max 657.6, 234 packets sent again.
    for seed in 1..=3 {
        let (mean, max, again) = incast_8(r#"name = "eqds", profile = "htsim""#, seed);
        assert!((641.0..655.0).contains(&mean) && (651.0..664.5).contains(&max), "{mean} {max}");
        assert!((227..=242).contains(&again), "{again}");
    }
}
