//! Idle flows of Ultra Ethernet's transports, against the completion times that the consortium's simulator prints (uet-htsim
//! 40ccb05, its own flows of 1 and 10 MB across pods of a fat tree of 128 hosts, links of 1 us, packets of 4150 bytes).

mod common;

use clearway_proto::{AnyTransport, Framing};
use clearway_sim::Results;
use clearway_topology::FatTree;
use clearway_units::{Rate, Span};
use common::{add, check, flow, network_for, run};

/// The sizes of packets there: a header of 64 bytes, and nothing else on the wire.
const FRAMING: Framing = Framing { payload_max: 4086, overhead: 64, wire_min: 64 };

/// Runs a flow of a transport between hosts of two pods, in an idle network.
fn idle(name: &str, gbps: u64, bytes: u64) -> Results {
    let mut transport = AnyTransport::by_name(name).expect("a transport");
    transport.set("profile", "htsim").unwrap();
    let (rate, delay) = (Rate::gbps(gbps), Span::from_us(1));
    let tree = FatTree { k: 8, rate, delay, ..FatTree::default() }.build().unwrap();
    let mut model = network_for(&transport, tree);
    model.framing = FRAMING;
    add(&mut model, &transport, vec![flow(0, 127, bytes)]);
    let results = run(&model);
    check(&results, &model);
    results
}

/// Checks the time after which the sender knows that all has arrived, in microseconds.
fn expect(name: &str, gbps: u64, bytes: u64, theirs_us: f64) {
    let results = idle(name, gbps, bytes);
    let ours_us = results.flows.f64s("acked_s")[0] * 1e6;
    println!("{name}, {bytes} B at {gbps} Gbps: {ours_us:.4} us, there {theirs_us}");
    assert!((ours_us / theirs_us - 1.0).abs() < 1e-4, "{name}: {ours_us} us, there {theirs_us}");
    assert_eq!(results.flows.u64s("retransmits")[0], 0);
}

#[test]
fn an_idle_flow_of_nscc_takes_as_long_as_in_the_consortium_simulator() {
    expect("uec-nscc", 100, 1_000_000, 94.945);
    expect("uec-nscc", 400, 10_000_000, 215.556);
}

#[test]
fn an_idle_flow_of_rccc_takes_as_long_as_in_the_consortium_simulator() {
    expect("uec-rccc", 100, 1_000_000, 95.101);
    expect("uec-rccc", 400, 10_000_000, 217.409);
}

#[test]
fn an_idle_flow_of_both_takes_as_long_as_in_the_consortium_simulator() {
    expect("uec", 100, 1_000_000, 95.101);
    expect("uec", 400, 10_000_000, 217.409);
}
