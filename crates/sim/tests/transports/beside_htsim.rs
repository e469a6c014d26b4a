//! NDP and Ultra Ethernet against uet-htsim (revision 40ccb05) on networks and flows by which nothing was settled: each of these
//! cases found a fault, or would find one of a rule that no other golden value needs.

use crate::htsim::{check, measured, simulate, tree};
use crate::pulled_golden::PERMUTATION;

const SMALL: &str = r#"kind = "fat-tree", k = 4, rate = "400 Gbps", delay = "1 us""#;
const LEAVES: &str = r#"kind = "leaf-spine", leaves = 4, spines = 2, hosts_per_leaf = 8, rate = "100 Gbps", uplink_rate = "100 Gbps", delay = "1 us", uplink_delay = "1 us""#;
/// The hosts to which hosts 0 to 31 send over the leaf-spine.
const OVER_LEAVES: [u32; 32] = [
    29, 14, 28, 20, 17, 4, 8, 0, 10, 6, 15, 26, 25, 9, 13, 30, 21, 31, 24, 18, 23, 11, 1, 16, 19, 5, 7, 12,
    22, 27, 3, 2,
];

fn incast(senders: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..senders).map(|sender| (20 + 3 * sender, 0))
}

#[test]
fn packets_of_ndp_that_are_sent_again_take_pulls_where_flows_are_shorter_than_their_first_window() {
    let ndp = r#"name = "ndp", profile = "htsim", window = 151, path_values = 16"#;
    let run = simulate(ndp, &tree(400), "262144 B", incast(32), 1, "");
    check("NDP", measured(&run), [183.07, 188.70, 1809.0], [0.01, 0.03, 0.01]);
}

#[test]
fn sleek_repeats_what_was_lost_in_a_large_incast_and_not_what_waits_in_queues() {
    let sleek = r#"name = "uec-nscc", profile = "htsim", sleek = true, trimming = false"#;
    let run = simulate(sleek, &tree(400), "1 MB", incast(32), 1, "");
    check("SLEEK", measured(&run), [626.49, 685.52, 5803.9], [0.05, 0.05, 0.02]);
}

const RCCC: &str = r#"name = "uec-rccc", profile = "htsim""#;

#[test]
fn receivers_share_credit_among_many_flows_of_each_host() {
    let all = (0..16).flat_map(|from| (1..16).map(move |step| (from, (from + step) % 16)));
    let short = simulate(RCCC, SMALL, "100 KB", all.clone(), 1, "");
    check("short flows", measured(&short), [49.127, 61.42, 0.0], [0.015, 0.05, 0.0]);
    let long = simulate(RCCC, SMALL, "1 MB", all, 1, "");
    check("long flows", measured(&long), [307.9, 342.4, 0.0], [0.01, 0.03, 0.0]);
}

#[test]
fn receivers_ask_for_less_by_themselves_where_the_core_is_oversubscribed() {
    let run = simulate(RCCC, LEAVES, "1 MB", (0..).zip(OVER_LEAVES), 1, "");
    check("leaf-spine", measured(&run), [223.05, 368.82, 1217.8], [0.02, 0.06, 0.1]);
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
    let nscc = r#"name = "uec-nscc", profile = "htsim""#;
    let [mean, largest, _] = measured(&simulate(nscc, &tree(400), "1 MB", (0..).zip(PERMUTATION), 1, slow));
    check("slow link", [mean, largest, 0.0], [36.887, 46.886, 0.0], [0.02, 0.06, 0.0]);
}

#[test]
fn flows_of_eqds_take_turns_for_pulls_ahead_of_demand_where_hosts_send_and_receive_several() {
    let eqds = r#"name = "eqds", profile = "htsim""#;
    let pairs = [(0, 20), (0, 40), (0, 60), (3, 20), (5, 20), (9, 40)];
    let several = simulate(eqds, &tree(400), "1 MB", pairs, 1, "");
    check("several", measured(&several), [67.52, 74.0, 57.0], [0.01, 0.02, 0.05]);
    let many = simulate(eqds, &tree(100), "200 KB", (0..64).map(|sender| (30 + sender, 0)), 1, "");
    check("many", measured(&many), [1066.96, 1153.06, 3063.0], [0.015, 0.06, 0.02]);
}

/// What the page of results says of NSCC's incasts (`ours/fabric`): which reading of the specification makes their last flow late, and
/// for which senders.
#[test]
fn ue_3_alone_keeps_windows_small_after_an_incast_of_short_flows_from_hosts_at_several_distances() {
    let last = |reading: &str, first: u32, step: usize| {
        let nscc = format!(r#"name = "uec-nscc"{reading}"#);
        let pairs = (first..).step_by(step).take(32).map(|sender| (sender, 0));
        let least_us = 32.0 * 256e3 * 8.0 / 400e3;
        measured(&simulate(&nscc, &tree(400), "256 KB", pairs, 1, ""))[1] / least_us
    };
    let [late, acts, far] = [last("", 1, 1), last(", acts_without_sample = true", 1, 1), last("", 20, 3)];
    assert!(late > 3.0 && acts < 1.4 && far < 1.6, "{late} {acts} {far}");
}

#[test]
fn short_flows_of_eqds_from_one_host_wait_for_a_timeout_of_150_us_and_six_full_queues() {
    let eqds = r#"name = "eqds", profile = "htsim""#;
    let run = simulate(eqds, &tree(400), "262144 B", [(0, 40), (0, 60), (0, 80)], 1, "");
    check("outcast", measured(&run), [264.587, 264.84, 0.0], [0.001, 0.001, 0.0]);
}

#[test]
fn the_window_of_an_idle_flow_grows_less_where_its_increases_take_more_than_32_bits() {
    let nscc = r#"name = "uec-nscc", profile = "htsim", cwnd = "415000 B""#;
    let far = tree(400).replace("1 us", "2 us");
    let [mean, ..] = measured(&simulate(nscc, &far, "5 MB", [(0, 127)], 1, ""));
    assert!((mean / 157.986 - 1.0).abs() < 1e-4, "{mean}");
}

#[test]
fn senders_of_ndp_take_turns_among_nine_paths_of_a_tree_of_six_ports() {
    let ndp = r#"name = "ndp", profile = "htsim", window = 43, path_values = 9"#;
    let pairs = (0..54).map(|host| (host, (host * 7 + 5) % 54)).filter(|(src, dst)| src != dst);
    let tree = tree(100).replace("k = 8", "k = 6");
    check(
        "nine paths",
        measured(&simulate(ndp, &tree, "1 MB", pairs, 1, "")),
        [101.36, 107.72, 0.0],
        [0.005, 0.01, 0.0],
    );
}

#[test]
fn queues_without_trimming_drop_others_than_those_that_arrive_so_that_neighbours_are_not_shut_out_of_an_incast()
 {
    let sleek = r#"name = "uec-nscc", profile = "htsim", sleek = true, trimming = false"#;
    let four = LEAVES.replace("spines = 2", "spines = 4");
    let neighbours = (24..32).filter(|host| *host != 27);
    let pairs: Vec<_> = neighbours.chain(0..9).map(|host| (host, 27)).collect();
    let run = simulate(sleek, &four, "262144 B", pairs, 1, "");
    let times = run.flows.f64s("acked_s");
    let near = times[..7].iter().sum::<f64>() / 7e-6;
    println!("neighbours: {near:.1} us");
    assert!((near / 237.0 - 1.0).abs() < 0.1, "{near} us, there 237.0");
}

#[test]
fn receivers_of_ndp_and_eqds_pull_less_where_the_core_is_oversubscribed_if_they_are_told_to() {
    let pairs = || (0..).zip(OVER_LEAVES);
    let run = |transport: &str| measured(&simulate(transport, LEAVES, "1 MB", pairs(), 1, ""));
    // The data that the core cuts is sent again less often: 4556 and 11,005 times without the control.
    let ndp = r#"name = "ndp", profile = "htsim", window = 29, path_values = 2"#;
    check("NDP", run(ndp), [208.64, 316.36, 4556.1], [0.03, 0.03, 0.05]);
    check(
        "NDP, told",
        run(&format!("{ndp}, oversubscribed_cc = true")),
        [191.6, 340.81, 411.6],
        [0.03, 0.06, 0.05],
    );
    let eqds = r#"name = "eqds", profile = "htsim""#;
    check("EQDS", run(eqds), [228.75, 337.98, 11_005.1], [0.03, 0.03, 0.03]);
    check(
        "EQDS, told",
        run(&format!("{eqds}, oversubscribed_cc = true")),
        [206.8, 321.96, 4337.9],
        [0.03, 0.03, 0.03],
    );
    let incast = |transport: &str| {
        measured(&simulate(transport, &tree(100), "1 MB", (0..8).map(|i| (4 * i + 3, 0)), 1, ""))
    };
    let told = format!("{eqds}, oversubscribed_cc = true");
    check("EQDS, incast", incast(&told), [651.17, 660.41, 207.1], [0.01, 0.01, 0.05]);
    let known = r#"name = "ndp", profile = "htsim", window = 43, path_values = 16, oversubscribed_cc = true"#;
    check("NDP, incast", incast(known), [651.89, 666.37, 275.0], [0.01, 0.01, 0.02]);
}
