//! Flows that begin once others are done under Ultra Ethernet's transports, against the consortium's simulator (uet-htsim 40ccb05) on
//! the same connection matrices with triggers: when senders know that all has arrived, over a fat tree of 128 hosts with links of
//! 1 us, packets of 4150 bytes.

use crate::common::run;
use crate::htsim::scenario;
use clearway_sim::Ended;
use clearway_sim::scenario::{Overrides, Scenario};
use std::collections::BTreeMap;

/// A connection matrix: lines of connections without their numbers, and of triggers.
fn matrix(connections: &[String], triggers: &[String]) -> String {
    let numbered = (1..).zip(connections).map(|(id, line)| line.replacen(' ', &format!(" id {id} "), 1));
    let lines: Vec<String> = numbered.chain(triggers.iter().cloned()).collect();
    format!(
        "Nodes 128\nConnections {}\nTriggers {}\n{}\n",
        connections.len(),
        triggers.len(),
        lines.join("\n")
    )
}

/// Runs a connection matrix, and returns the times at which senders know that flows have arrived, in microseconds and in the order in
/// which the flows began.
fn acknowledged(transport: &str, gbps: u64, matrix: &str, seed: u64) -> Vec<f64> {
    let text = scenario(transport, gbps, r#"kind = "file", path = "flows.cm""#, seed);
    let files = BTreeMap::from([("flows.cm".to_owned(), matrix.as_bytes().to_vec())]);
    let read = Scenario::parse(&text, "triggers", &files, &Overrides::default());
    let results = run(&read.unwrap_or_else(|error| panic!("{error}")).model);
    assert_eq!(results.summary.ended, Ended::Complete);
    let (starts, acked) = (results.flows.f64s("start_s"), results.flows.f64s("acked_s"));
    starts.iter().zip(acked).map(|(start, acked)| (start + acked) * 1e6).collect()
}

#[test]
fn chains_and_barriers_on_an_idle_network_take_as_long_as_in_the_consortium_simulator() {
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let chain = matrix(
        &lines(&["0->127 start 0 size 2000000 send_done_trigger 1", "127->0 trigger 1 size 100000"]),
        &lines(&["trigger id 1 oneshot"]),
    );
    let barrier = matrix(
        &lines(&[
            "0->127 start 0 size 2000000 send_done_trigger 1",
            "4->126 start 0 size 1000000 send_done_trigger 1",
            "127->0 trigger 1 size 100000 send_done_trigger 2",
            "64->1 trigger 2 size 3000",
        ]),
        &lines(&["trigger id 1 barrier count 2", "trigger id 2 oneshot"]),
    );
    let of_chain = [
        ("uec-nscc", 100, [176.2, 198.018]),
        ("uec-nscc", 400, [53.0499, 67.5046]),
        ("uec-rccc", 100, [177.368, 199.222]),
        ("uec-rccc", 400, [53.2732, 67.7369]),
        ("uec", 400, [53.2732, 67.7369]),
    ];
    for (name, gbps, theirs) in of_chain {
        let times = acknowledged(name, gbps, &chain, 1);
        println!("{name} at {gbps} Gbps: {times:?}, there {theirs:?}");
        // Where receivers pace, the last pulls for the first flow still leave there, and cross the second one's data: 0.036 us.
        for ((ours, theirs), within) in times.iter().zip(theirs).zip([1e-4, 2e-4]) {
            assert!((ours / theirs - 1.0).abs() < within, "{name} at {gbps} Gbps: {ours}, there {theirs}");
        }
    }
    // Single runs of each program.
    for (name, theirs, within) in [
        ("uec-nscc", [53.2159, 32.9023, 67.6706, 80.0459], 1e-5),
        ("uec-rccc", [53.3353, 32.9315, 67.7989, 80.1743], 1e-3),
    ] {
        let times = acknowledged(name, 400, &barrier, 1);
        println!("{name}: {times:?}, there {theirs:?}");
        for (ours, theirs) in times.iter().zip(theirs) {
            assert!((ours / theirs - 1.0).abs() < within, "{name}: {ours}, there {theirs}");
        }
    }
}

/// An all-to-all among every eighth host, as the script `gen_serialn_alltoall.py` writes one: each sends to the 15 others, to at most
/// `parallel` of them at once, and lets the next flow begin each time that one is acknowledged.
fn all_to_all(parallel: usize, bytes: u64) -> String {
    let (mut lines, mut triggers) = (Vec::new(), 0);
    for host in 0..16 {
        let steps = 15usize.div_ceil(parallel);
        for step in 0..steps {
            let begin = if step == 0 { "start 0".into() } else { format!("trigger {triggers}") };
            let pull = if step + 1 < steps {
                triggers += 1;
                format!(" send_done_trigger {triggers}")
            } else {
                String::new()
            };
            let whole = 15 / parallel;
            for flow in 0..parallel.min(15 - parallel * step) {
                let apart = if step < whole { step + 1 + flow * whole } else { parallel * whole + flow + 1 };
                let to = 8 * ((host + apart) % 16);
                lines.push(format!("{}->{to} {begin} size {bytes}{pull}", 8 * host));
            }
        }
    }
    let triggers: Vec<String> = (1..=triggers).map(|id| format!("trigger id {id} multishot")).collect();
    matrix(&lines, &triggers)
}

#[test]
fn a_serial_all_to_all_takes_as_long_as_in_the_consortium_simulator() {
    // Means there over 25 seeds: of the mean and of the last flow. With four flows at once single runs of RCCC end up to 10 % apart.
    for (name, parallel, theirs, within) in [
        ("uec-nscc", 1, [129.679, 243.183], [1e-3, 1e-3]),
        ("uec-rccc", 1, [129.808, 243.438], [1e-3, 1e-3]),
        ("uec-nscc", 4, [62.568, 106.698], [0.01, 0.02]),
        ("uec-rccc", 4, [63.791, 111.867], [0.02, 0.05]),
    ] {
        let matrix = all_to_all(parallel, 200_000);
        let mut sums = [0.0; 2];
        for seed in 1..=5 {
            let times = acknowledged(name, 400, &matrix, seed);
            assert_eq!(times.len(), 240);
            sums[0] += times.iter().sum::<f64>() / times.len() as f64 / 5.0;
            sums[1] += times.iter().copied().fold(0.0, f64::max) / 5.0;
        }
        println!("{name}, {parallel} at once: {sums:?}, there {theirs:?}");
        for ((ours, theirs), within) in sums.iter().zip(theirs).zip(within) {
            assert!(
                (ours / theirs - 1.0).abs() <= within,
                "{name}, {parallel} at once: {sums:?}, there {theirs}"
            );
        }
    }
}
