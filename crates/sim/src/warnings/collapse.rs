//! Cores so narrow that headers of cut packets and their answers fill them, and no data gets through.

use super::places::class_at_switches;
use crate::model::{Model, Traffic};
use clearway_topology::{NodeId, Topology};

/// Warns of receivers that go on asking for packets at the rate of their links, where the core takes so little of it that cut
/// headers, NACKs and pulls, which go ahead of data, may fill it. Such a run may never end.
pub fn warning(model: &Model, entry: &Traffic) -> Option<String> {
    let advice = entry.transport.needs().unmoderated?;
    let data = class_at_switches(model, entry);
    let trim = model.switch.classes[data].leaves_headers()?;
    let (switch, times) = narrowest(&model.topology)?;
    // Each packet that is cut leaves its header in one direction, and a NACK and the next pull in the other, which opposite flows
    // use alike. What shares links with data by weight leaves room for it.
    let framing = &model.framing;
    let priority = |class: usize| model.switch.classes[class].priority;
    let in_priority = |class, bytes| if priority(class) < priority(data) { bytes } else { 0 };
    let control =
        in_priority(trim.headers, trim.config.to) + in_priority(entry.ack_class, 2 * framing.wire(0));
    if times * f64::from(control) < f64::from(framing.wire_max()) {
        return None;
    }
    Some(format!(
        "asks for packets at the rate of a host's link however many are cut to their headers, and here hosts can send {times:.0} times \
         what the links from {} to other switches take, so that headers and answers, which go ahead of data, may leave no room for \
         data for ever; write {advice}",
        model.topology.name(switch)
    ))
}

/// Returns the switch whose hosts can send the most in proportion to what its links to other switches take, with that proportion.
fn narrowest(topology: &Topology) -> Option<(NodeId, f64)> {
    let mut rates = vec![(0.0, 0.0); topology.nodes().len()];
    for port in topology.ports().iter().filter(|port| !topology.is_host(port.to)) {
        let to_switch = &mut rates[port.to.index()];
        let rate = port.rate.as_bps_f64();
        if topology.is_host(port.from) { to_switch.0 += rate } else { to_switch.1 += rate }
    }
    let switches = rates.iter().enumerate().filter(|(_, rates)| rates.0 > 0.0 && rates.1 > 0.0);
    let proportions = switches.map(|(node, rates)| (NodeId(node as u32), rates.0 / rates.1));
    proportions.reduce(|most, next| if next.1 > most.1 { next } else { most })
}
