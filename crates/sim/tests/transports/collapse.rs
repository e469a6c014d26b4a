//! Congestion collapse under transports whose receivers ask for packets at the rate of their links, whatever the core takes.

use crate::common::*;
use clearway_sim::model::Amount;
use clearway_sim::{Ended, Simulation, warnings};
use clearway_topology::Dumbbell;
use clearway_units::{Bytes, Rate};

/// Runs flows between so many pairs of hosts with links of 100 Gbps, one in each direction over a link of 10 Gbps whose queues
/// hold 20 packets. Returns how it ended within a million events, if it did, and the bytes delivered.
fn opposite_flows(name: &str, pairs: u32, moderates: bool) -> (Option<Ended>, u64) {
    let mut transport = transport(name);
    transport.set("oversubscribed_cc", if moderates { "true" } else { "false" }).unwrap();
    let shape = Dumbbell { pairs, rate: Rate::gbps(100), ..Dumbbell::default() };
    let mut model = network_for(&transport, shape.build().unwrap());
    model.switch.classes[0].limit = Amount { bytes: Bytes::MAX, packets: 20 };
    let both_ways = |pair| [flow(pair, pair + pairs, 500_000), flow(pair + pairs, pair, 500_000)];
    add(&mut model, &transport, (0..pairs).flat_map(both_ways).collect());
    let is_warned = warnings(&model).iter().any(|warning| warning.kind == "collapse");
    assert_eq!(is_warned, !moderates, "{name}");
    let mut simulation = Simulation::new(&model).unwrap();
    simulation.step(1_000_000);
    let ended = simulation.ended();
    simulation.interrupt();
    (ended, simulation.finish().unwrap().flows.u64s("delivered_bytes").iter().sum())
}

#[test]
fn headers_and_answers_of_opposite_flows_starve_data_in_a_narrow_core_unless_receivers_ask_for_less() {
    // A cut packet leaves a header of 84 B in one direction, and a NACK and a pull as large in the other. At 100 Gbps in each
    // direction these are 100 Gbps * 252 / 1538 = 16 Gbps, which go ahead of data on a link of 10 Gbps.
    for (name, pairs) in [("eqds", 1), ("uec-rccc", 4)] {
        let (ended, delivered) = opposite_flows(name, pairs, false);
        assert_eq!(ended, None, "{name}");
        assert!(delivered < 50_000, "{name} delivered {delivered} B");
        let (ended, delivered) = opposite_flows(name, pairs, true);
        assert_eq!((ended, delivered), (Some(Ended::Complete), u64::from(pairs) * 1_000_000), "{name}");
    }
}
