//! From the load of some links to the rate at which flows arrive.

use crate::scenario::field::LoadOf;
use crate::traffic::{Crossed, crossed};
use clearway_proto::Framing;
use clearway_topology::{NodeId, Topology};

/// The arrivals of Poisson traffic.
pub(super) struct Arrivals<'a> {
    pub topology: &'a Topology,
    pub framing: Framing,
    /// The hosts of all pairs.
    pub hosts: &'a [NodeId],
    /// The mean size of a flow, in bytes.
    pub mean: f64,
}

impl Arrivals<'_> {
    /// Returns how many flows arrive in a second at a load of some links.
    ///
    /// # Errors
    /// What is wrong, and what would be right, if the flows cross none of these links.
    pub fn flows_per_s(&self, load: f64, of: LoadOf) -> Result<f64, String> {
        let tiers = crossed(self.topology, self.hosts);
        let from = |lower: u8| {
            let tiers = tiers.iter().filter(|((low, _), _)| *low == lower).map(|(_, tier)| *tier);
            tiers.reduce(Crossed::plus)
        };
        let share = |tier: &Crossed| tier.times / tier.rate_bps;
        let found = match of {
            LoadOf::Ns2 => return Ok(self.of_script(load)),
            LoadOf::Hosts => from(0),
            LoadOf::Uplinks => from(1),
            LoadOf::Bottleneck => tiers.values().copied().max_by(|a, b| share(a).total_cmp(&share(b))),
        };
        match found {
            Some(tier) => Ok(load / share(&tier) / (8.0 * self.mean)),
            None => {
                Err("is about links between ToR switches and other switches, and this traffic crosses none; \
                         write \"hosts\" or \"bottleneck\""
                    .into())
            }
        }
    }

    /// Returns the rule of the ExpressPass authors' ns-2 script.
    fn of_script(&self, load: f64) -> f64 {
        let on_wire = self.mean * f64::from(self.framing.wire_max()) / f64::from(self.framing.payload_max);
        let ports = self.hosts.iter().flat_map(|&host| self.topology.ports_of(host));
        let capacity: f64 = ports.map(|&port| self.topology.port(port).rate.as_bps_f64()).sum();
        // Where uplinks abound the host links are what fills up.
        capacity / 8.0 * load / on_wire / self.topology.oversubscription().max(1.0)
    }
}
