//! PAC as the sequences drive it, with bounds so small that they are reached.

use super::harness::{Bound, Harness, Rules};
use clearway_linux::pac::{Pac, PacEnv, PacParams};
use clearway_units::{Rate, Span};

/// PAC at a NIC of 100 Mbit/s.
pub fn setup() -> Harness<Pac> {
    let params = PacParams {
        max_flows: 6,
        max_flows_per_peer: 4,
        max_unanswered: 2,
        max_held: 12,
        ..PacParams::default()
    };
    let rules = Rules {
        hold_max: Span::from_ms(1_001),
        held_max: 12,
        allowance_max: 0,
        bounds: vec![
            Bound { name: "pac_flows", most: 6.0 },
            Bound { name: "pac_flows_opening", most: 6.0 },
            Bound { name: "pac_held", most: 12.0 },
        ],
        idle: Span::from_secs(400),
    };
    Harness::new(Pac::new(&params, PacEnv { line_rate: Rate::mbps(100), mtu: 1500 }), rules)
}
