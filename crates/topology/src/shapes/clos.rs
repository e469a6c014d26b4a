//! Leaf-spine and three-tier Clos networks, and the wiring of three tiers that the fat trees share.

use super::limits::{hosts_within, switches_within, within};
use crate::alias::Alias;
use crate::builder::{Builder, HOSTS_MAX, LINKS_MAX, SWITCHES_MAX, at_most};
use crate::error::TopologyError;
use crate::graph::{NodeId, Topology};
use clearway_schema::declare;
use clearway_units::{Rate, Span};

declare! {
    /// A network of two tiers: every leaf (ToR) is linked to every spine.
    ///
    /// ```text
    ///      spine0   spine1          tier 2
    ///       | \  \ /  / |
    ///       |  \ / \ /  |
    ///      tor0  tor1  tor2         tier 1
    ///      / \    / \   / \
    ///     h0 h1  h2 h3 h4 h5
    /// ```
    ///
    /// Host `i` is attached to leaf `i / hosts_per_leaf`. The switches are named `tor{i}` (or `leaf{i}`)
    /// and `spine{i}`. There are
    /// `leaves * spines` links besides one for each host. Paths have 2 hops within a leaf, else 4.
    #[derive(Copy, PartialEq, Eq)]
    pub struct LeafSpine {
        /// The number of leaves.
        leaves: u32 = "4" in "1" to "10000";
        /// The number of spines.
        spines: u32 = "2" in "1" to "10000";
        /// The number of hosts on each leaf.
        hosts_per_leaf: u32 = "8" in "1" to "10000";
        /// The rate of host links.
        rate: Rate = "10 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of host links.
        delay: Span = "4 us" in "0 s" to "1 s";
        /// The rate of the links between leaves and spines.
        uplink_rate: Rate = "40 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of the links between leaves and spines.
        uplink_delay: Span = "4 us" in "0 s" to "1 s";
    }
}

impl LeafSpine {
    /// Builds the network.
    ///
    /// # Errors
    /// Returns an error for a parameter out of range, a rate of zero or a delay of more than 100 s.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        switches_within("LeafSpine", "leaves", self.leaves)?;
        switches_within("LeafSpine", "spines", self.spines)?;
        hosts_within("LeafSpine", "hosts_per_leaf", self.hosts_per_leaf)?;
        let (leaves, spines) = (u64::from(self.leaves), u64::from(self.spines));
        at_most("switches", leaves + spines, SWITCHES_MAX)?;
        at_most("hosts", leaves * u64::from(self.hosts_per_leaf), HOSTS_MAX)?;
        at_most("links", leaves * (u64::from(self.hosts_per_leaf) + spines), LINKS_MAX)?;
        let mut builder = Builder::new();
        let hosts = self.leaves * self.hosts_per_leaf;
        (0..hosts).for_each(|host| _ = builder.add_host(format!("h{host}")));
        let tors: Vec<NodeId> =
            (0..self.leaves).map(|tor| builder.add_switch(format!("tor{tor}"), 1)).collect();
        let spines: Vec<NodeId> =
            (0..self.spines).map(|spine| builder.add_switch(format!("spine{spine}"), 2)).collect();
        builder.alias(Alias::row("leaf", tors[0].0, self.leaves));
        for host in 0..hosts {
            builder.link(NodeId(host), tors[(host / self.hosts_per_leaf) as usize], self.rate, self.delay);
        }
        for &tor in &tors {
            for &spine in &spines {
                builder.link(tor, spine, self.uplink_rate, self.uplink_delay);
            }
        }
        builder.build()
    }
}

declare! {
    /// A network of three tiers: within a pod, every ToR is linked to every aggregation switch, and aggregation switch
    /// `j` of every pod is linked to group `j` of the cores.
    ///
    /// ```text
    ///     core0 core1 | core2 core3      tier 3: group j for aggregation j of every pod
    ///        |  \   ____/  |
    ///      agg0    agg1      ...         tier 2, one pod
    ///       |  \  /  |
    ///     tor0    tor1       ...         tier 1
    ///     / \      / \
    ///    h0 h1    h2 h3
    /// ```
    ///
    /// Host `i` is attached to ToR `i / hosts_per_tor`, and ToR `t` is in pod `t / tors_per_pod`. Switches are numbered
    /// in the order `tor`, `agg`, `core`; `pod1-agg0` is another name of the first aggregation switch of pod 1. Aggregation switch `j` of a pod is linked to the `uplinks_per_agg` cores from
    /// `j * uplinks_per_agg` on, modulo the number of cores. Paths have 2, 4 or 6 hops.
    ///
    /// ExpressPass '17, Table 1, has two such networks of 8,192 hosts. The one that it calls a 32-ary fat tree has 16
    /// cores (a full one has 256) and 512 + 512 switches: `pods: 32, tors_per_pod: 16, aggs_per_pod: 16,
    /// hosts_per_tor: 16, cores: 16, uplinks_per_agg: 1`. The one that it calls a Clos has 16 cores, 128 aggregation
    /// switches and 1,024 ToRs. The paper does not say how many pods; 16 pods with `uplinks_per_agg: 2` fit.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Clos3 {
        /// The number of pods.
        pods: u32 = "4" in "1" to "10000";
        /// The number of ToRs in each pod.
        tors_per_pod: u32 = "4" in "1" to "10000";
        /// The number of aggregation switches in each pod.
        aggs_per_pod: u32 = "4" in "1" to "10000";
        /// The number of hosts on each ToR.
        hosts_per_tor: u32 = "8" in "1" to "10000";
        /// The number of cores.
        cores: u32 = "16" in "1" to "10000";
        /// The number of links from each aggregation switch to different cores. `aggs_per_pod * uplinks_per_agg` must
        /// be a multiple of `cores`, so that every pod has equally many links to every core.
        uplinks_per_agg: u32 = "4" in "1" to "10000";
        /// The rate of host links.
        rate: Rate = "10 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of host links (ExpressPass '17, Table 1).
        delay: Span = "1 us" in "0 s" to "1 s";
        /// The rate of links between ToRs and aggregation switches.
        agg_rate: Rate = "40 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of links between ToRs and aggregation switches.
        agg_delay: Span = "1 us" in "0 s" to "1 s";
        /// The rate of links to the cores.
        core_rate: Rate = "40 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of links to the cores.
        core_delay: Span = "5 us" in "0 s" to "1 s";
    }
}

impl Clos3 {
    /// Builds the network.
    ///
    /// # Errors
    /// Returns an error for a parameter out of range, uplinks that do not divide evenly among the cores, a rate of zero
    /// or a delay of more than 100 s.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        let cores = u64::from(self.cores);
        within("Clos3", "uplinks_per_agg", self.uplinks_per_agg, 1, cores.max(1))?;
        if cores > 0 && (u64::from(self.aggs_per_pod) * u64::from(self.uplinks_per_agg)) % cores != 0 {
            return Err(TopologyError::Parameter {
                shape: "Clos3",
                field: "uplinks_per_agg",
                value: self.uplinks_per_agg.into(),
                right: format!(
                    "a number that times aggs_per_pod ({}) is a multiple of cores ({})",
                    self.aggs_per_pod, self.cores
                ),
            });
        }
        let first = |agg: u32| (u64::from(agg % self.aggs_per_pod) * u64::from(self.uplinks_per_agg)) % cores;
        self.wire("Clos3", |agg, uplink| ((first(agg) + u64::from(uplink)) % cores) as u32)
    }

    /// Builds any tree of three tiers. `core_of(agg, u)` is the core that uplink `u` of aggregation switch `agg`
    /// (counted over all pods) goes to, the one thing in which these trees differ.
    pub(super) fn wire(
        &self,
        shape: &'static str,
        core_of: impl Fn(u32, u32) -> u32,
    ) -> Result<Topology, TopologyError> {
        switches_within(shape, "pods", self.pods)?;
        switches_within(shape, "tors_per_pod", self.tors_per_pod)?;
        switches_within(shape, "aggs_per_pod", self.aggs_per_pod)?;
        switches_within(shape, "cores", self.cores)?;
        hosts_within(shape, "hosts_per_tor", self.hosts_per_tor)?;
        let pods = u64::from(self.pods);
        let (tors, aggs) = (u64::from(self.tors_per_pod), u64::from(self.aggs_per_pod));
        let hosts = pods * tors * u64::from(self.hosts_per_tor);
        at_most("switches", pods * (tors + aggs) + u64::from(self.cores), SWITCHES_MAX)?;
        at_most("hosts", hosts, HOSTS_MAX)?;
        let uplinks = pods * aggs * u64::from(self.uplinks_per_agg);
        at_most("links", hosts + pods * tors * aggs + uplinks, LINKS_MAX)?;

        let mut builder = Builder::new();
        let (hosts, tors) = (hosts as u32, self.pods * self.tors_per_pod);
        (0..hosts).for_each(|host| _ = builder.add_host(format!("h{host}")));
        let mut tier = |count: u32, name: &str, tier| -> Vec<NodeId> {
            (0..count).map(|index| builder.add_switch(format!("{name}{index}"), tier)).collect()
        };
        let tors = tier(tors, "tor", 1);
        let aggs = tier(self.pods * self.aggs_per_pod, "agg", 2);
        let cores = tier(self.cores, "core", 3);
        builder.alias(Alias::pods("tor", tors[0].0, self.pods * self.tors_per_pod, self.tors_per_pod));
        builder.alias(Alias::pods("agg", aggs[0].0, self.pods * self.aggs_per_pod, self.aggs_per_pod));
        for host in 0..hosts {
            builder.link(NodeId(host), tors[(host / self.hosts_per_tor) as usize], self.rate, self.delay);
        }
        for (tor, &lower) in tors.iter().enumerate() {
            let first = tor / self.tors_per_pod as usize * self.aggs_per_pod as usize;
            for &upper in &aggs[first..first + self.aggs_per_pod as usize] {
                builder.link(lower, upper, self.agg_rate, self.agg_delay);
            }
        }
        for (agg, &lower) in (0..).zip(&aggs) {
            for uplink in 0..self.uplinks_per_agg {
                let upper = cores[core_of(agg, uplink) as usize];
                builder.link(lower, upper, self.core_rate, self.core_delay);
            }
        }
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, Routes};

    #[test]
    fn a_leaf_spine_is_complete_between_its_tiers() {
        let network = LeafSpine { leaves: 3, spines: 2, ..LeafSpine::default() }.build().unwrap();
        assert_eq!((network.hosts(), network.switches(), network.links()), (24, 5, 24 + 6));
        assert_eq!(network.oversubscription(), 1.0);
        let mut routes = Routes::new(Policy::Spray);
        let mut out = Vec::new();
        let set = routes.paths(&network, NodeId(0), NodeId(7), 0, &mut out).unwrap();
        assert_eq!((set.count, set.hops), (1, 2), "within a leaf");
        let set = routes.paths(&network, NodeId(0), NodeId(8), 0, &mut out).unwrap();
        assert_eq!((set.count, set.hops), (2, 4), "one path a spine");
    }

    #[test]
    fn the_networks_of_table_1_have_its_counts() {
        let tree =
            Clos3 { pods: 32, tors_per_pod: 16, aggs_per_pod: 16, hosts_per_tor: 16, ..Clos3::default() };
        let network = Clos3 { cores: 16, uplinks_per_agg: 1, ..tree }.build().unwrap();
        assert_eq!((network.hosts(), network.switches()), (8_192, 16 + 512 + 512));
        let clos =
            Clos3 { pods: 16, tors_per_pod: 64, aggs_per_pod: 8, hosts_per_tor: 8, ..Clos3::default() };
        let network = Clos3 { cores: 16, uplinks_per_agg: 2, ..clos }.build().unwrap();
        assert_eq!((network.hosts(), network.switches()), (8_192, 16 + 128 + 1_024));
        assert_eq!(network.oversubscription(), 80.0 / 320.0);
    }

    #[test]
    fn every_pod_has_equally_many_links_to_every_core() {
        let shape = Clos3 { aggs_per_pod: 6, cores: 4, uplinks_per_agg: 2, ..Clos3::default() };
        let network = shape.build().unwrap();
        for core in 0..4 {
            let core = network.node(&format!("core{core}")).unwrap();
            assert_eq!(network.ports_of(core).len(), 4 * 3);
        }
    }

    #[test]
    fn uplinks_that_do_not_divide_are_refused_with_the_condition() {
        let error = Clos3 { uplinks_per_agg: 3, ..Clos3::default() }.build().unwrap_err().to_string();
        assert_eq!(
            error,
            "Clos3: uplinks_per_agg = 3 is out of range; give a number that times aggs_per_pod (4) is a multiple of cores (16)"
        );
    }

    #[test]
    fn absurd_counts_are_refused_before_anything_is_built() {
        let huge = u32::MAX;
        assert!(LeafSpine { leaves: huge, ..LeafSpine::default() }.build().is_err());
        assert!(
            LeafSpine { leaves: 60_000, hosts_per_leaf: 1_000_000, ..LeafSpine::default() }.build().is_err()
        );
        assert!(LeafSpine { leaves: 30_000, spines: 30_000, ..LeafSpine::default() }.build().is_err());
        for zero in [
            Clos3 { pods: 0, ..Clos3::default() },
            Clos3 { tors_per_pod: 0, ..Clos3::default() },
            Clos3 { aggs_per_pod: 0, ..Clos3::default() },
            Clos3 { hosts_per_tor: 0, ..Clos3::default() },
            Clos3 { cores: 0, uplinks_per_agg: 1, ..Clos3::default() },
            Clos3 { uplinks_per_agg: 0, ..Clos3::default() },
            Clos3 { pods: huge, tors_per_pod: huge, hosts_per_tor: huge, ..Clos3::default() },
            Clos3 { pods: 60_000, tors_per_pod: 60_000, hosts_per_tor: 1_000_000, ..Clos3::default() },
        ] {
            assert!(matches!(
                zero.build(),
                Err(TopologyError::Parameter { .. } | TopologyError::TooMany { .. })
            ));
        }
    }
}
