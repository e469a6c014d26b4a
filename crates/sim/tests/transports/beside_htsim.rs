//! NDP and Ultra Ethernet against uet-htsim (revision 40ccb05) on networks and flows by which nothing was settled: each of these
//! cases found a fault, or would find one of a rule that no other golden value needs.

use crate::common::run;
use crate::pulled_golden::PERMUTATION;
use clearway_sim::scenario::{Overrides, Scenario};
use clearway_sim::{Ended, Results};
use std::path::Path;

const TREE: &str = r#"kind = "fat-tree", k = 8, rate = "400 Gbps", delay = "1 us""#;
const SMALL: &str = r#"kind = "fat-tree", k = 4, rate = "400 Gbps", delay = "1 us""#;
const LEAVES: &str = r#"kind = "leaf-spine", leaves = 4, spines = 2, hosts_per_leaf = 8, rate = "100 Gbps", uplink_rate = "100 Gbps", delay = "1 us", uplink_delay = "1 us""#;
/// The hosts to which hosts 0 to 31 send over the leaf-spine.
const OVER_LEAVES: [u32; 32] = [
    29, 14, 28, 20, 17, 4, 8, 0, 10, 6, 15, 26, 25, 9, 13, 30, 21, 31, 24, 18, 23, 11, 1, 16, 19, 5, 7, 12,
    22, 27, 3, 2,
];

/// Runs flows of a size between pairs of hosts at once, with these keys of the transport, a topology and other tables. Returns the
/// mean and the largest time in microseconds until senders know that all has arrived, and the packets sent again.
fn simulate(
    transport: &str,
    topology: &str,
    size: &str,
    pairs: impl IntoIterator<Item = (u32, u32)>,
    rest: &str,
) -> (f64, f64, u64) {
    let pairs: Vec<String> =
        pairs.into_iter().map(|(from, to)| format!("[\"h{from}\", \"h{to}\"]")).collect();
    let routing = if transport.contains("ndp") { "source" } else { "auto" };
    let text = format!(
        r#"
        seed = 1
        transport = {{ profile = "htsim", {transport} }}
        topology = {{ {topology} }}
        network = {{ payload = "4086 B", overhead = "64 B", wire_min = "64 B", routing = "{routing}" }}
        traffic = [{{ kind = "long", pairs = [{}], size = "{size}" }}]
        {rest}
        "#,
        pairs.join(", ")
    );
    let scenario = Scenario::parse(&text, "beside", Path::new("."), &Overrides::default());
    let results: Results = run(&scenario.unwrap_or_else(|error| panic!("{error}")).model);
    assert_eq!(results.summary.ended, Ended::Complete);
    let times = results.flows.f64s("acked_s");
    let (sum, max) =
        times.iter().fold((0.0, 0.0), |(sum, max): (f64, f64), time| (sum + time, max.max(*time)));
    (1e6 * sum / times.len() as f64, 1e6 * max, results.flows.u64s("retransmits").iter().sum())
}

/// Holds a value against the simulator's mean over 25 seeds, to a share of it.
fn check(of: &str, value: f64, expected: f64, share: f64) {
    println!("{of}: {value:.2}, expected {expected}");
    assert!((value / expected - 1.0).abs() < share, "{of}: {value} for {expected}");
}

fn incast(senders: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..senders).map(|sender| (20 + 3 * sender, 0))
}

#[test]
fn packets_of_ndp_that_are_sent_again_take_pulls_where_flows_are_shorter_than_their_first_window() {
    let ndp = r#"name = "ndp", window = 151, path_values = 16"#;
    let (mean, max, again) = simulate(ndp, TREE, "262144 B", incast(32), "");
    check("mean", mean, 183.07, 0.01);
    check("largest", max, 188.70, 0.03);
    check("sent again", again as f64, 1809.0, 0.01);
}

#[test]
fn sleek_repeats_what_was_lost_in_a_large_incast_and_not_what_waits_in_queues() {
    let sleek = r#"name = "uec-nscc", sleek = true, trimming = false"#;
    let (mean, max, again) = simulate(sleek, TREE, "1 MB", incast(32), "");
    check("mean", mean, 626.49, 0.05);
    check("largest", max, 685.52, 0.05);
    check("sent again", again as f64, 5803.9, 0.02);
}

#[test]
fn receivers_share_credit_among_many_flows_of_each_host() {
    let all = (0..16).flat_map(|from| (1..16).map(move |step| (from, (from + step) % 16)));
    let (mean, max, _) = simulate(r#"name = "uec-rccc""#, SMALL, "100 KB", all.clone(), "");
    check("mean of short flows", mean, 49.127, 0.015);
    check("largest of short flows", max, 61.42, 0.05);
    let (mean, _, _) = simulate(r#"name = "uec-rccc""#, SMALL, "1 MB", all, "");
    check("mean of long flows", mean, 307.9, 0.01);
}

#[test]
fn receivers_ask_for_less_by_themselves_where_the_core_is_oversubscribed() {
    let pairs = (0..).zip(OVER_LEAVES);
    let (mean, _, again) = simulate(r#"name = "uec-rccc""#, LEAVES, "1 MB", pairs, "");
    check("mean", mean, 223.05, 0.02);
    check("sent again", again as f64, 1217.8, 0.1);
}

#[test]
fn a_slow_link_with_scaled_queues_delays_no_flow_by_much() {
    let slow = r#"
        [[fault]]
        link = ["agg0", "core0"]
        direction = "backward"
        down = "0 s"
        rate = "100 Gbps"
        queues = "scaled"
    "#;
    let (mean, max, _) = simulate(r#"name = "uec-nscc""#, TREE, "1 MB", (0..).zip(PERMUTATION), slow);
    check("mean", mean, 36.887, 0.02);
    check("largest", max, 46.886, 0.06);
}

#[test]
fn flows_of_eqds_take_turns_for_pulls_ahead_of_demand_where_hosts_send_and_receive_several() {
    let pairs = [(0, 20), (0, 40), (0, 60), (3, 20), (5, 20), (9, 40)];
    let (mean, max, _) = simulate(r#"name = "eqds""#, TREE, "1 MB", pairs, "");
    check("mean", mean, 67.52, 0.01);
    check("largest", max, 74.0, 0.01);
    let tree = TREE.replace("400", "100");
    let many = (0..64).map(|sender| (30 + sender, 0));
    let (mean, _, _) = simulate(r#"name = "eqds""#, &tree, "200 KB", many, "");
    check("mean of many", mean, 1066.96, 0.015);
}
