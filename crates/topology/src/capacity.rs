//! How much more hosts can send than a network carries.

use crate::graph::{NodeId, Port, Topology};

impl Topology {
    /// Returns the oversubscription of the first tier: the capacity of the links to hosts divided by that of the
    /// links to higher tiers, summed over all switches of tier 1 that have uplinks. It is 3 for the 192-host tree of
    /// ExpressPass, below 1 if uplinks abound, and 1 if no switch of tier 1 has uplinks, as in flat networks.
    ///
    /// It is a ratio of sums, not the worst switch's ratio, because the load of a network is defined by the sums.
    pub fn oversubscription(&self) -> f64 {
        let is_higher = |other| other > 1;
        let (down, up) =
            capacities(self, 1, is_higher).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if up == 0 { 1.0 } else { down as f64 / up as f64 }
    }
}

/// Returns the oversubscription of the way from hosts to the core: the product over all tiers of the capacity of links to
/// lower tiers, divided by that of all other links, at the switch of the tier that has the least of them in proportion. A tier in
/// which these carry more counts as 1.
///
/// It is 3 for the 192-host tree of ExpressPass, 4 for a dumbbell whose four pairs of hosts and middle link have one rate,
/// and 1 for a star.
pub fn core_oversubscription(topology: &Topology) -> f64 {
    let tiers = topology.nodes().iter().map(|node| node.tier).max().unwrap_or(0);
    let of_tier = |tier| {
        let switches = capacities(topology, tier, move |other| other >= tier);
        switches.map(|(down, up)| down as f64 / up as f64).fold(1.0, f64::max)
    };
    (1..=tiers).map(of_tier).product()
}

/// Returns for each switch of a tier the capacity in bits/s of its links to lower tiers and that of its links to tiers that count,
/// if it has such links.
fn capacities(
    topology: &Topology,
    tier: u8,
    counts: impl Fn(u8) -> bool,
) -> impl Iterator<Item = (u128, u128)> {
    let of_tier = move |switch: &usize| topology.nodes()[*switch].tier == tier;
    let capacity = move |switch| {
        let (mut lower, mut counted) = (0, 0);
        for &port in topology.ports_of(NodeId::from_index(switch)) {
            let Port { to, rate, .. } = *topology.port(port);
            match topology.nodes()[to.index()].tier {
                other if other < tier => lower += u128::from(rate.as_bps()),
                other if counts(other) => counted += u128::from(rate.as_bps()),
                _ => {}
            }
        }
        (lower, counted)
    };
    let switches = topology.hosts()..topology.nodes().len();
    switches.filter(of_tier).map(capacity).filter(|(_, counted)| *counted > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;
    use clearway_units::{Rate, Span};

    #[test]
    fn one_narrow_switch_decides_for_the_core_and_counts_among_others_for_loads() {
        let mut builder = Builder::new();
        let hosts: Vec<_> = (0..12).map(|host| builder.add_host(format!("h{host}"))).collect();
        let leaves = ["wide", "narrow"].map(|name| builder.add_switch(name, 1));
        let spine = builder.add_switch("spine", 2);
        let mut link = |a, b, gbps| _ = builder.link(a, b, Rate::gbps(gbps), Span::from_us(1));
        for (number, &host) in hosts.iter().enumerate() {
            link(host, leaves[number / 6], 10);
        }
        link(leaves[0], spine, 200);
        link(leaves[1], spine, 10);
        let network = builder.build().unwrap();
        assert_eq!((core_oversubscription(&network), network.oversubscription()), (6.0, 120.0 / 210.0));
    }
}
