//! NDP and EQDS against htsim, the simulator of their authors: times at which senders know that their flows have arrived, in a
//! fat tree of 128 hosts with links of 1 us, and packets of 4150 bytes on the wire.

use clearway_sim::Results;

/// Runs flows between pairs of hosts at once.
fn simulate(transport: &str, rate: u32, size: &str, pairs: &[[u32; 2]], seed: u64) -> Results {
    let pairs = pairs.iter().map(|&[from, to]| (from, to));
    crate::htsim::simulate(transport, &crate::htsim::tree(rate.into()), size, pairs, seed, "")
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

/// Returns the mean and the maximum of the times of flows of 1 MB, and the number of packets sent again.
fn measure(transport: &str, rate: u32, pairs: &[[u32; 2]], seed: u64) -> (f64, f64, u64) {
    let results = simulate(transport, rate, "1 MB", pairs, seed);
    let times = times(&results, rate, pairs);
    let (sum, max) =
        times.iter().fold((0.0, 0.0), |(sum, max): (f64, f64), time| (sum + time, max.max(*time)));
    let again = results.flows.u64s("retransmits").iter().sum();
    assert_eq!(results.flows.u64s("timeouts").iter().sum::<u64>(), 0, "{transport}");
    let mean = sum / times.len() as f64;
    println!(
        "{transport}, {} flows, seed {seed}: mean {mean:.1} us, max {max:.1} us, {again} again",
        pairs.len()
    );
    (mean, max, again)
}

/// Holds flows, over three seeds, against htsim's mean and maximum, each to a share, and its number of packets sent again, to
/// 4 %.
fn check(transport: &str, rate: u32, pairs: &[[u32; 2]], expected: [(f64, f64); 2], again: u64) {
    for seed in 1..=3 {
        let (mean, max, repeated) = measure(transport, rate, pairs, seed);
        for (time, (expected, share)) in [mean, max].into_iter().zip(expected) {
            assert!((time / expected - 1.0).abs() < share, "{transport}: {time} us for {expected} us");
        }
        assert!(repeated.abs_diff(again) * 25 <= again, "{transport}: {repeated} sent again, not {again}");
    }
}

const NDP: &str = r#"name = "ndp", profile = "htsim", window = 43"#;
const EQDS: &str = r#"name = "eqds", profile = "htsim""#;

#[test]
fn incasts_of_ndp_are_as_fast_as_in_htsim_and_cut_as_many_packets() {
    let eight: Vec<_> = (0..8).map(|flow| [3 + 4 * flow, 0]).collect();
    check(NDP, 100, &eight, [(651.7, 0.01), (663.9, 0.01)], 275);
    let thirty_two: Vec<_> = (0..32).map(|flow| [4 + 3 * flow, 0]).collect();
    check(NDP, 100, &thirty_two, [(2615.1, 0.01), (2642.1, 0.01)], 1316);
}

#[test]
fn incasts_of_eqds_are_as_fast_as_in_htsim_and_cut_as_many_packets() {
    let eight: Vec<_> = (0..8).map(|flow| [3 + 4 * flow, 0]).collect();
    check(EQDS, 100, &eight, [(648.2, 0.01), (657.6, 0.005)], 234);
    let thirty_two: Vec<_> = (0..32).map(|flow| [4 + 3 * flow, 0]).collect();
    check(EQDS, 100, &thirty_two, [(2612.0, 0.01), (2639.0, 0.005)], 1538);
}

/// The hosts to which hosts 0 to 127 send in htsim's permutation.
pub const PERMUTATION: [u32; 128] = [
    127, 43, 66, 85, 15, 55, 99, 125, 118, 95, 77, 123, 19, 116, 17, 36, 5, 18, 30, 101, 107, 110, 40, 56,
    92, 114, 80, 73, 117, 84, 124, 75, 54, 47, 94, 51, 105, 33, 48, 71, 59, 113, 28, 89, 88, 90, 119, 49, 65,
    91, 27, 38, 13, 97, 122, 87, 6, 16, 12, 50, 26, 126, 24, 39, 102, 82, 60, 63, 41, 115, 106, 83, 103, 67,
    93, 20, 21, 8, 37, 112, 96, 108, 14, 34, 31, 35, 1, 57, 2, 10, 9, 86, 4, 32, 98, 11, 23, 74, 120, 22, 81,
    29, 3, 76, 58, 42, 78, 100, 79, 69, 68, 0, 44, 53, 45, 104, 62, 52, 64, 25, 70, 72, 46, 111, 61, 7, 121,
    109,
];

#[test]
fn a_permutation_of_eqds_is_as_fast_as_in_htsim() {
    let pairs: Vec<_> = (0..).zip(PERMUTATION).map(|(from, to)| [from, to]).collect();
    check(EQDS, 400, &pairs, [(36.37, 0.03), (39.9, 0.07)], 0);
}

#[test]
fn a_permutation_of_ndp_over_paths_that_senders_know_is_as_fast_as_in_htsim() {
    let pairs: Vec<_> = (0..).zip(PERMUTATION).map(|(from, to)| [from, to]).collect();
    let known = r#"name = "ndp", profile = "htsim", window = 151, path_values = 16"#;
    check(known, 400, &pairs, [(34.26, 0.005), (35.03, 0.005)], 0);
}
