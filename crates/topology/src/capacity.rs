//! How much more hosts can send than a network carries.

use crate::graph::{NodeId, Port, Topology};

impl Topology {
    /// Returns the oversubscription of the first tier: the capacity of the links to hosts divided by that of the
    /// links to higher tiers, summed over all switches of tier 1 that have uplinks. It is 3 for the 192-host tree of
    /// ExpressPass, below 1 if uplinks abound, and 1 if no switch of tier 1 has uplinks, as in flat networks.
    ///
    /// It is a ratio of sums, not the worst switch's ratio, because the load of a network is defined by the sums.
    pub fn oversubscription(&self) -> f64 {
        let is_uplink = |tier, other| other > tier;
        ratio(self, 1, is_uplink)
    }
}

/// Returns the oversubscription of the way from hosts to the core: the product over all tiers of the capacity of links to
/// lower tiers, divided by that of all other links of the tier's switches. A tier in which these carry more counts as 1.
///
/// It is 3 for the 192-host tree of ExpressPass, 4 for a dumbbell whose four pairs of hosts and middle link have one rate,
/// and 1 for a star.
pub fn core_oversubscription(topology: &Topology) -> f64 {
    let tiers = topology.nodes().iter().map(|node| node.tier).max().unwrap_or(0);
    let is_across = |tier, other| other >= tier;
    (1..=tiers).map(|tier| ratio(topology, tier, is_across).max(1.0)).product()
}

/// Returns the capacity of the links of a tier's switches to lower tiers, divided by that of the links to tiers that count,
/// over all switches that have such links; 1 if none has.
fn ratio(topology: &Topology, tier: u8, counts: fn(u8, u8) -> bool) -> f64 {
    let (mut down, mut up) = (0u128, 0u128);
    let of_tier =
        topology.nodes().iter().enumerate().skip(topology.hosts()).filter(|(_, node)| node.tier == tier);
    for (index, _) in of_tier {
        let (mut to_lower, mut to_counted) = (0u128, 0u128);
        for &port in topology.ports_of(NodeId::from_index(index)) {
            let Port { to, rate, .. } = *topology.port(port);
            match topology.nodes()[to.index()].tier {
                other if other < tier => to_lower += u128::from(rate.as_bps()),
                other if counts(tier, other) => to_counted += u128::from(rate.as_bps()),
                _ => {}
            }
        }
        if to_counted > 0 {
            down += to_lower;
            up += to_counted;
        }
    }
    if up == 0 { 1.0 } else { down as f64 / up as f64 }
}
