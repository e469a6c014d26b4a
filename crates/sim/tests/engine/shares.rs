//! Tests of the utilisation and fairness of ExpressPass with long flows on one link, by which its default law was
//! chosen.

use crate::common::shares::{Cell, Net};
use crate::common::transport;

/// The least share of the data's capacity that is used, and the least Jain index over 10 ms.
const BOUNDS: (f64, f64) = (0.93, 0.95);

/// Measures the cells without unequal round-trip times under a law. Returns those outside the bounds, with their
/// figures.
fn outside(cells: impl Iterator<Item = Cell>, law: &str, seeds: u64) -> Vec<String> {
    let mut expresspass = transport("expresspass");
    expresspass.set("feedback", law).unwrap();
    let measured = cells.map(|cell| (cell, cell.mean(&expresspass, seeds)));
    let wrong = measured.filter(|(_, shares)| shares.used < BOUNDS.0 || shares.jain_10ms < BOUNDS.1);
    wrong.map(|(cell, shares)| format!("{cell:?}: {shares:?}")).collect()
}

#[test]
fn the_default_law_uses_93_percent_of_a_link_at_a_jain_index_of_0_95_over_10_ms() {
    let cell = |gbps, flows, net| Cell { gbps, flows, rtt: 25, net };
    let cells = [
        cell(10, 2, Net::Plain),
        cell(10, 4, Net::Plain),
        cell(10, 16, Net::Plain),
        cell(10, 64, Net::Plain),
        cell(10, 8, Net::HostDelay),
        cell(10, 4, Net::UnequalRtts(67, 133)),
        cell(100, 4, Net::Plain),
    ];
    let wrong = outside(cells.into_iter(), "sigcomm17", 1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The printed law reduces the rate twice for the same losses, for which reason the default is another law.
    assert_eq!(outside([cell(10, 4, Net::Plain)].into_iter(), "sigcomm17-printed", 1).len(), 1);
}

#[test]
#[ignore = "needs minutes; make test-full"]
fn the_default_law_keeps_its_bounds_from_2_to_64_flows_and_10_to_100_gbps() {
    let cells = [10, 25, 100].into_iter().flat_map(|gbps| {
        [2, 4, 8, 16, 32, 64]
            .into_iter()
            .flat_map(move |flows| [Net::Plain, Net::HostDelay].map(|net| Cell { gbps, flows, rtt: 25, net }))
    });
    let wrong = outside(cells, "sigcomm17", 3);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
