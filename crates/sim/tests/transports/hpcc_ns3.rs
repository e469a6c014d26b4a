//! Tests of parity with the HPCC authors' ns-3 code: completion times on one switch at 100 Gbps with links of 1 us,
//! which we measured with that code. Serialisation times here are truncated to whole nanoseconds, as there.
//!
//! A completion time of the ns-3 code ends when the last acknowledgement arrives at the sender, which is our `acked_s`.

use crate::common::*;
use clearway_proto::{AnyTransport, Framing};
use clearway_topology::{Star, Topology};
use clearway_units::{Rate, Span};

/// The framing of the ns-3 code: 1,000 B of payload are 1,048 B on the wire, and an acknowledgement is 60 B.
const FRAMING: Framing = Framing { payload_max: 1000, overhead: 48, wire_min: 60 };

fn star(hosts: u32) -> Topology {
    Star { hosts, rate: Rate::gbps(100), delay: Span::from_us(1) }.build().unwrap()
}

fn authors(name: &str, settings: &[(&str, &str)]) -> AnyTransport {
    let mut transport = transport(name);
    transport.set("profile", "hpcc-ns3").unwrap();
    settings.iter().for_each(|(key, value)| transport.set(key, value).unwrap());
    transport
}

/// Returns the completion times, in nanoseconds and as the ns-3 code counts them, of `flows` flows of `bytes` to one
/// host.
fn fcts(transport: &AnyTransport, flows: u32, bytes: u64, whole_ns: bool, seed: u64) -> Vec<f64> {
    let mut model = network_for(transport, star(flows + 1));
    model.seed = seed;
    model.framing = FRAMING;
    model.whole_ns = whole_ns;
    add(&mut model, transport, (0..flows).map(|src| flow(src, flows, bytes)).collect());
    let results = run(&model);
    assert_eq!(results.summary.flows_completed, u64::from(flows));
    let mut fcts: Vec<f64> = results.flows.f64s("acked_s").iter().map(|fct| fct * 1e9).collect();
    fcts.sort_by(f64::total_cmp);
    fcts
}

/// The base round-trip time of the ns-3 code's script, which counts the payload only: twice 80 ns and four times 1 us.
const BASE_RTT: (&str, &str) = ("base_rtt", "4.16 us");

/// The completion times of one transport in the ns-3 code, in nanoseconds.
struct Theirs {
    transport: &'static str,
    /// The parameters that are set besides the profile.
    settings: &'static [(&'static str, &'static str)],
    ns: [f64; 2],
}

/// The times of a flow of 1 KB and of one of 10 MB, each alone.
const ALONE: [Theirs; 4] = [
    Theirs { transport: "hpcc", settings: &[("ai", "40 Mbps"), BASE_RTT], ns: [4_188.0, 921_111.0] },
    Theirs { transport: "dcqcn", settings: &[], ns: [4_174.0, 834_091.0] },
    Theirs { transport: "timely", settings: &[], ns: [4_176.0, 844_092.0] },
    Theirs { transport: "rdma-dctcp", settings: &[], ns: [4_174.0, 834_091.0] },
];

/// The times of two flows of 10 MB to one host: that of the first to end, and that of the last.
const TWO: [Theirs; 4] = [
    Theirs { transport: "hpcc", settings: &[("ai", "50 Mbps"), BASE_RTT], ns: [1_594_745.0, 1_842_893.0] },
    Theirs { transport: "dcqcn", settings: &[], ns: [2_115_615.0, 2_177_851.0] },
    Theirs { transport: "timely", settings: &[], ns: [1_973_739.0, 2_049_746.0] },
    Theirs { transport: "rdma-dctcp", settings: &[], ns: [1_664_008.0, 1_664_091.0] },
];

#[test]
fn single_flows_take_as_long_as_in_hpccs_ns3_code_to_the_nanosecond() {
    let mut wrong = Vec::new();
    for Theirs { transport: name, settings, ns } in ALONE {
        let transport = authors(name, settings);
        for (bytes, theirs) in [1000, 10_000_000].into_iter().zip(ns) {
            let ours = fcts(&transport, 1, bytes, true, 1)[0];
            let exact = fcts(&transport, 1, bytes, false, 1)[0];
            println!(
                "{name} {bytes} B: {ours:.0} ns, there {theirs} ({:+.3} %); exact {exact:.1}",
                (ours / theirs - 1.0) * 100.0
            );
            if (ours - theirs).abs() >= 0.5 {
                wrong.push((name, bytes, ours, theirs));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Returns the medians over seeds of the time of the first flow to end and of the last. DCQCN's marks are random in
/// both simulators, so that one run of the ns-3 code is one draw.
fn medians(transport: &AnyTransport, whole_ns: bool) -> [f64; 2] {
    let seeds = if transport.info().name == "dcqcn" { 51 } else { 1 };
    let runs: Vec<Vec<f64>> = (0..seeds).map(|seed| fcts(transport, 2, 10_000_000, whole_ns, seed)).collect();
    [0, 1].map(|place| {
        let mut times: Vec<f64> = runs.iter().map(|fcts| fcts[place]).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

#[test]
fn two_flows_to_one_host_take_as_long_as_in_hpccs_ns3_code() {
    let mut wrong = Vec::new();
    for Theirs { transport: name, settings, ns } in TWO {
        let transport = authors(name, settings);
        let (ours, exact) = (medians(&transport, true), medians(&transport, false));
        println!("{name}: {ours:.0?} ns, there {ns:?}; exact {exact:.0?}");
        // Transports without random draws and ties of events agree to the nanosecond.
        let most = |theirs: f64| if matches!(name, "timely" | "rdma-dctcp") { 0.5 } else { 0.05 * theirs };
        for (ours, theirs) in ours.into_iter().zip(ns) {
            if (ours - theirs).abs() >= most(theirs) {
                wrong.push((name, ours, theirs));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
