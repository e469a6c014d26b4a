//! ExpressPass as the sequences drive it, with bounds so small that they are reached.

use super::harness::{Bound, Harness, OWN, Rules};
use clearway_linux::host::{Host, HostConfig, HostParams};
use clearway_linux::wire::Carrier;
use clearway_units::{Rate, Span};

/// A host with ExpressPass at a NIC of 100 Mbit/s.
pub fn setup() -> Harness<Host> {
    let params = HostParams { held_max: 12, flows_max: 6, flows_per_peer: 4, ..HostParams::default() };
    let rules = Rules {
        hold_max: params.hold_max,
        held_max: 12,
        allowance_max: params.leftover.into(),
        bounds: vec![
            Bound { name: "flows_sent", most: 6.0 },
            Bound { name: "flows_received", most: 6.0 },
            Bound { name: "credits_queued", most: 8.0 },
        ],
        idle: Span::from_secs(200),
    };
    let transport = HostConfig::transport("expresspass").expect("a transport of hosts");
    let config = HostConfig {
        kernel_path: true,
        bulk_path: true,
        credit_path: true,
        address: OWN,
        rate: Rate::mbps(100),
        mtu: 1500,
        carrier: Carrier::Ethernet,
        transport,
        params,
    };
    Harness::new(Host::new(config, 1).expect("usable settings"), rules)
}
