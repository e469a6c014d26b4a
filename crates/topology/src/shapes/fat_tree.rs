//! The fat trees of the papers: [`FatTree`], [`OversubscribedFatTree`] and [`Pacc320`].

use super::clos::Clos3;
use crate::error::TopologyError;
use crate::graph::Topology;
use clearway_schema::declare;
use clearway_units::{Rate, Span};

declare! {
    /// The k-ary fat tree (Al-Fares et al., SIGCOMM '08): k pods of k/2 ToRs and k/2 aggregation switches, k²/4
    /// cores, k³/4 hosts, every switch with k ports, no oversubscription.
    ///
    /// ```text
    ///   k = 4:      core0 core1   core2 core3        aggregation j of every pod to cores j*k/2 ..
    ///                 |  \          /  |
    ///     pod 0:    agg0    agg1          ... pods 1, 2, 3
    ///                | \   / |
    ///               tor0   tor1
    ///               / \     / \
    ///              h0 h1   h2 h3
    /// ```
    ///
    /// Host `i` is attached to ToR `i / (k/2)`; ToR and aggregation switch `t` are in pod `t / (k/2)`. There are
    /// `3k³/4` links. Paths have 2, 4 or 6 hops, and k²/4 shortest paths join two hosts of different pods. With `k: 8`
    /// and a delay of 5 us it is the network of ExpressPass '17, Fig. 1 (16 cores, 32 + 32 switches, 128 hosts).
    #[derive(Copy, PartialEq, Eq)]
    pub struct FatTree {
        /// The number of ports of a switch, which is even.
        k: u32 = "4" in "2" to "128";
        /// The rate of every link.
        rate: Rate = "10 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of every link.
        delay: Span = "4 us" in "0 s" to "1 s";
        /// The rate of host links. Without it, `rate`.
        host_rate: Option<Rate> = none in "1 Mbps" to "1.6 Tbps";
        /// The delay of host links. Without it, `delay`.
        host_delay: Option<Span> = none in "0 s" to "1 s";
        /// The rate of links between aggregation and core switches. Without it, `rate`.
        core_rate: Option<Rate> = none in "1 Mbps" to "1.6 Tbps";
        /// The delay of links between aggregation and core switches. Without it, `delay`.
        core_delay: Option<Span> = none in "0 s" to "1 s";
    }
}

impl FatTree {
    /// Builds the network.
    ///
    /// # Errors
    /// Returns an error for a `k` that is odd or out of range, a rate of zero or a delay of more than 100 s.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        if !(2..=128).contains(&self.k) || !self.k.is_multiple_of(2) {
            let right = "an even number from 2 to 128".into();
            let value = self.k.into();
            return Err(TopologyError::Parameter { shape: "FatTree", field: "k", value, right });
        }
        let half = self.k / 2;
        Clos3 {
            pods: self.k,
            tors_per_pod: half,
            aggs_per_pod: half,
            hosts_per_tor: half,
            cores: half * half,
            uplinks_per_agg: half,
            rate: self.host_rate.unwrap_or(self.rate),
            delay: self.host_delay.unwrap_or(self.delay),
            agg_rate: self.rate,
            agg_delay: self.delay,
            core_rate: self.core_rate.unwrap_or(self.rate),
            core_delay: self.core_delay.unwrap_or(self.delay),
        }
        .wire("FatTree", |agg, uplink| agg % half * half + uplink)
    }
}

declare! {
    /// The 192-host tree of ExpressPass '17, sec. 6.3 (also of '16 and EC4), wired as in the authors'
    /// `large-scale-fattree.tcl`: 8 pods of 4 ToRs and 2 aggregation switches, 6 hosts on each of the 32 ToRs, 8 cores.
    /// Aggregation switch `i` (counted over all pods) is linked to the 4 cores of its parity. The ToRs are
    /// oversubscribed 3 : 1.
    ///
    /// ```text
    ///        core0 core2 core4 core6   core1 core3 core5 core7
    ///             \   |   |   /             \   |   |   /
    ///   pod 0:       agg0                      agg1             ... agg14 agg15
    ///               /  |  |  \  (each ToR to both) /  |  |  \
    ///            tor0 tor1 tor2 tor3                            ... tor31
    ///            h0-5 h6-11  ...                                    h186-191
    /// ```
    ///
    /// There are 192 + 64 + 64 links. Paths have 2, 4 or 6 hops; 8 shortest paths join two pods, 2 join two ToRs of a
    /// pod. The hosts' processing delay (1 us in the paper) belongs to the hosts, not to the network.
    #[derive(Copy, PartialEq, Eq)]
    pub struct OversubscribedFatTree {
        /// The rate of every link (in the paper also 40 Gbps).
        rate: Rate = "10 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of every link.
        delay: Span = "4 us" in "0 s" to "1 s";
    }
}

impl OversubscribedFatTree {
    /// Builds the network.
    ///
    /// # Errors
    /// Returns an error for a rate of zero or a delay of more than 100 s.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        Clos3 {
            pods: 8,
            tors_per_pod: 4,
            aggs_per_pod: 2,
            hosts_per_tor: 6,
            cores: 8,
            uplinks_per_agg: 4,
            rate: self.rate,
            delay: self.delay,
            agg_rate: self.rate,
            agg_delay: self.delay,
            core_rate: self.rate,
            core_delay: self.delay,
        }
        .wire("OversubscribedFatTree", |agg, uplink| agg % 2 + 2 * uplink)
    }
}

declare! {
    /// The 320-host tree of HPCC's ns-3 fork and of PACC: 20 ToRs of 16 hosts, 5 pods of 4 ToRs and 4 aggregation
    /// switches, 16 cores; aggregation switch `j` of every pod is linked to cores `4j .. 4j + 4`. Not
    /// oversubscribed.
    ///
    /// ```text
    ///      core0-3   core4-7   core8-11  core12-15
    ///         |         |         |         |          4 links each
    ///       agg0      agg1      agg2      agg3         ... agg19
    ///         every ToR of the pod to all four
    ///       tor0      tor1      tor2      tor3         ... tor19
    ///       h0-15     h16-31    ...                        h304-319
    /// ```
    ///
    /// There are 320 + 80 + 80 links. Paths have 2, 4 or 6 hops; 16 shortest paths join two pods. HPCC runs it at
    /// 100 Gbps and 400 Gbps, the default here, and PACC at 25 Gbps and 100 Gbps.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Pacc320 {
        /// The rate of host links.
        rate: Rate = "100 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The rate of links between switches.
        fabric_rate: Rate = "400 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of every link.
        delay: Span = "1 us" in "0 s" to "1 s";
    }
}

impl Pacc320 {
    /// Builds the network.
    ///
    /// # Errors
    /// Returns an error for a rate of zero or a delay of more than 100 s.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        Clos3 {
            pods: 5,
            tors_per_pod: 4,
            aggs_per_pod: 4,
            hosts_per_tor: 16,
            cores: 16,
            uplinks_per_agg: 4,
            rate: self.rate,
            delay: self.delay,
            agg_rate: self.fabric_rate,
            agg_delay: self.delay,
            core_rate: self.fabric_rate,
            core_delay: self.delay,
        }
        .wire("Pacc320", |agg, uplink| agg % 4 * 4 + uplink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NodeId, Policy, Routes};

    const RATE: Rate = Rate::gbps(10);
    const DELAY: Span = Span::from_us(4);

    /// Returns the names of the neighbours of a node that start with `prefix`.
    fn above(network: &Topology, node: &str, prefix: &str) -> Vec<String> {
        let node = network.node(node).unwrap();
        let names =
            network.ports_of(node).iter().map(|&port| network.name(network.port(port).to).to_string());
        names.filter(|name| name.starts_with(prefix)).collect()
    }

    #[test]
    fn a_fat_tree_has_the_counts_of_its_k() {
        for k in [2, 4, 6, 8, 16] {
            let network = FatTree { k, ..FatTree::default() }.build().unwrap();
            let k = k as usize;
            assert_eq!((network.hosts(), network.links()), (k * k * k / 4, 3 * k * k * k / 4));
            assert_eq!(network.switches(), k * k + k * k / 4);
            for switch in network.hosts()..network.nodes().len() {
                assert_eq!(network.ports_of(NodeId(switch as u32)).len(), k);
            }
            assert_eq!(network.oversubscription(), 1.0);
        }
    }

    #[test]
    fn paths_of_a_fat_tree_have_2_4_or_6_hops() {
        let network = FatTree { k: 8, ..FatTree::default() }.build().unwrap();
        let mut routes = Routes::new(Policy::Spray);
        let mut out = Vec::new();
        for (to, count, hops) in [(3, 1, 2), (4, 4, 4), (15, 4, 4), (16, 16, 6), (127, 16, 6)] {
            let set = routes.paths(&network, NodeId(0), NodeId(to), 1, &mut out).unwrap();
            assert_eq!((set.count, set.hops), (count, hops), "h0 to h{to}");
        }
    }

    #[test]
    fn each_tier_may_have_its_own_rate_and_delay() {
        let shape =
            FatTree { core_rate: Some(Rate::gbps(40)), host_delay: Some(Span::ZERO), ..FatTree::default() };
        let network = shape.build().unwrap();
        for port in network.ports() {
            let tiers = [port.from, port.to].map(|end| network.nodes()[end.index()].tier);
            let expected = match (tiers[0].min(tiers[1]), tiers[0].max(tiers[1])) {
                (0, 1) => (RATE, Span::ZERO),
                (1, 2) => (RATE, DELAY),
                (2, 3) => (Rate::gbps(40), DELAY),
                other => panic!("tiers {other:?} are not linked"),
            };
            assert_eq!((port.rate, port.delay), expected);
        }
    }

    #[test]
    fn k_must_be_even_and_of_a_sane_size() {
        for k in [0, 3, 130, u32::MAX] {
            let error = FatTree { k, ..FatTree::default() }.build().unwrap_err().to_string();
            assert_eq!(error, format!("FatTree: k = {k} is out of range; give an even number from 2 to 128"));
        }
    }

    #[test]
    fn the_largest_tree_is_built_and_routed() {
        let network = FatTree { k: 128, ..FatTree::default() }.build().unwrap();
        assert_eq!((network.hosts(), network.switches()), (524_288, 20_480));
        let mut out = Vec::new();
        let set =
            Routes::new(Policy::Spray).paths(&network, NodeId(0), NodeId(524_287), 0, &mut out).unwrap();
        assert_eq!((set.count, set.hops), (1_024, 6), "of 4,096 paths");
    }

    #[test]
    fn the_192_host_tree_is_wired_as_in_the_authors_script() {
        let network = OversubscribedFatTree::default().build().unwrap();
        assert_eq!((network.hosts(), network.switches(), network.links()), (192, 56, 320));
        assert_eq!((network.oversubscription(), crate::core_oversubscription(&network)), (3.0, 3.0));
        for tor in 0..32 {
            let pod = tor / 4;
            let name = format!("tor{tor}");
            assert_eq!(above(&network, &name, "agg"), [2 * pod, 2 * pod + 1].map(|agg| format!("agg{agg}")));
            assert_eq!(above(&network, &name, "h").len(), 6);
            assert!(above(&network, &name, "h").contains(&format!("h{}", 6 * tor)));
        }
        for agg in 0..16 {
            let parity = agg % 2;
            let cores = [0, 2, 4, 6].map(|core| format!("core{}", core + parity));
            assert_eq!(above(&network, &format!("agg{agg}"), "core"), cores);
        }
        assert!(network.ports().iter().all(|port| port.rate == Rate::gbps(10) && port.delay == DELAY));
    }

    #[test]
    fn the_320_host_tree_is_wired_as_in_hpccs_file() {
        let network = Pacc320::default().build().unwrap();
        assert_eq!((network.hosts(), network.switches(), network.links()), (320, 56, 480));
        assert_eq!(network.oversubscription(), 1.0);
        for agg in 0..20 {
            let cores = [0, 1, 2, 3].map(|core| format!("core{}", agg % 4 * 4 + core));
            assert_eq!(above(&network, &format!("agg{agg}"), "core"), cores);
        }
        for tor in 0..20 {
            let aggs = [0, 1, 2, 3].map(|agg| format!("agg{}", tor / 4 * 4 + agg));
            assert_eq!(above(&network, &format!("tor{tor}"), "agg"), aggs);
        }
        let mut out = Vec::new();
        let set = Routes::new(Policy::Spray).paths(&network, NodeId(0), NodeId(319), 0, &mut out).unwrap();
        assert_eq!((set.count, set.hops), (16, 6));
    }
}
