//! The links of a network tier by tier, and the load that random pairs of hosts put on them.

use crate::model::{Model, Pattern, Poisson};
use clearway_topology::{NodeId, PortId, Topology, crossings};
use std::collections::BTreeMap;

/// The tiers of the two ends of a link, the lower first.
pub type Ends = (u8, u8);

/// The links between two tiers, and how flows between random pairs of hosts cross them.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Crossed {
    /// The times that a flow crosses links of the tier on average, in either direction.
    pub times: f64,
    /// The rate of all links that flows cross, both directions together, in bits a second.
    pub rate_bps: f64,
}

impl Crossed {
    /// Returns the tier and another together.
    pub fn plus(self, other: Crossed) -> Crossed {
        Crossed { times: self.times + other.times, rate_bps: self.rate_bps + other.rate_bps }
    }
}

/// The share of a tier's links that Poisson traffic asks for.
#[derive(Clone, PartialEq, Debug)]
pub struct TierShare {
    /// The tier, as the table of ports names it, such as `tor->agg`.
    pub tier: String,
    /// The bytes of flows that all Poisson traffic hands over while it arrives, as a share of the rate of all links of
    /// the tier in this direction.
    pub asked: f64,
}

/// Returns the tiers of the two ends of a link.
fn ends_of(topology: &Topology, port: PortId) -> Ends {
    let port = topology.port(port);
    let [from, to] = [port.from, port.to].map(|node| topology.nodes()[node.index()].tier);
    (from.min(to), from.max(to))
}

/// Returns how flows between random pairs of these hosts cross each tier. Tiers that they don't cross are left out.
pub fn crossed(topology: &Topology, hosts: &[NodeId]) -> BTreeMap<Ends, Crossed> {
    let mut tiers = BTreeMap::new();
    for (link, times) in crossings(topology, hosts).into_iter().enumerate().filter(|(_, times)| *times > 0.0)
    {
        let port = PortId::from_index(2 * link);
        let tier: &mut Crossed = tiers.entry(ends_of(topology, port)).or_default();
        *tier = tier.plus(Crossed { times, rate_bps: 2.0 * topology.port(port).rate.as_bps_f64() });
    }
    tiers
}

/// Returns the share of each tier's links that the Poisson traffic of a model asks for, in either direction, in the
/// order of tiers; nothing without such traffic.
pub fn asked(model: &Model) -> Vec<TierShare> {
    let topology = &model.topology;
    let mut asked_bps: BTreeMap<Ends, f64> = BTreeMap::new();
    let mut has_arrivals = false;
    for entry in &model.traffic {
        let Pattern::Poisson(poisson) = &entry.pattern else { continue };
        has_arrivals = true;
        for (ends, tier) in crossed(topology, &poisson.hosts) {
            *asked_bps.entry(ends).or_default() += tier.times * offered_bps(poisson);
        }
    }
    if !has_arrivals {
        return Vec::new();
    }
    let mut rates_bps: BTreeMap<Ends, f64> = BTreeMap::new();
    for (index, port) in topology.ports().iter().enumerate() {
        *rates_bps.entry(ends_of(topology, PortId::from_index(index))).or_default() += port.rate.as_bps_f64();
    }
    let shares = rates_bps.iter().flat_map(|(&(low, high), rate)| {
        let asked = asked_bps.get(&(low, high)).map_or(0.0, |asked| asked / rate);
        let names = [tier_name((low, high)), tier_name((high, low))];
        let count = if low == high { 1 } else { 2 };
        names.into_iter().take(count).map(move |tier| TierShare { tier, asked })
    });
    shares.collect()
}

/// Returns the bits of payload that flows hand over in a second on average.
fn offered_bps(poisson: &Poisson) -> f64 {
    8.0 * poisson.sizes.mean().max(1.0) / poisson.mean_gap_s
}

/// Returns the name of the tiers that a port joins, the sending one first.
pub fn tier_name((from, to): (u8, u8)) -> String {
    let level = |tier| match tier {
        0 => "host".into(),
        1 => "tor".into(),
        2 => "agg".into(),
        3 => "core".into(),
        other => format!("tier{other}"),
    };
    format!("{}->{}", level(from), level(to))
}
