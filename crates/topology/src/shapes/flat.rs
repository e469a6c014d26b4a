//! Networks of one switch ([`Star`]) or two ([`Dumbbell`]).

use super::limits::{hosts_within, within};
use crate::alias::Alias;
use crate::builder::{Builder, HOSTS_MAX};
use crate::error::TopologyError;
use crate::graph::{NodeId, Topology};
use clearway_schema::declare;
use clearway_units::{Rate, Span};

declare! {
    /// Two switches joined by one link that all pairs of hosts share, for experiments on convergence and fairness.
    ///
    /// ```text
    ///  sender 0  h0 --+                      +-- hP     receiver 0
    ///  sender 1  h1 --+-- s0 ========== s1 --+-- hP+1   receiver 1
    ///             ...-+    bottleneck        +-- ...
    /// ```
    ///
    /// Hosts: senders `0..pairs`, receivers `pairs..2 * pairs`. Switches: `s0` (or `left`, of the senders), `s1` (or
    /// `right`, of the receivers).
    /// Links: `2 * pairs + 1`; the bottleneck is the last one. Every path from a sender to a receiver has 3 hops.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Dumbbell {
        /// The number of senders, and of receivers.
        pairs: u32 = "2" in "1" to "500000";
        /// The rate of host links.
        rate: Rate = "10 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of host links.
        delay: Span = "4 us" in "0 s" to "1 s";
        /// The rate of the link between the switches.
        bottleneck_rate: Rate = "10 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of the link between the switches.
        bottleneck_delay: Span = "4 us" in "0 s" to "1 s";
    }
}

impl Dumbbell {
    /// Returns the sender of pair `pair`, from 0.
    pub fn sender(&self, pair: u32) -> NodeId {
        NodeId(pair)
    }

    /// Returns the receiver of pair `pair`, from 0.
    pub fn receiver(&self, pair: u32) -> NodeId {
        NodeId(self.pairs + pair)
    }

    /// Builds the network.
    ///
    /// # Errors
    /// Returns an error for a parameter out of range, a rate of zero or a delay of more than 100 s.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        within("Dumbbell", "pairs", self.pairs, 1, HOSTS_MAX / 2)?;
        let mut builder = Builder::new();
        for host in 0..2 * self.pairs {
            builder.add_host(format!("h{host}"));
        }
        let (left, right) = (builder.add_switch("s0", 1), builder.add_switch("s1", 1));
        builder.alias(Alias::one("left", left.0));
        builder.alias(Alias::one("right", right.0));
        for pair in 0..self.pairs {
            builder.link(self.sender(pair), left, self.rate, self.delay);
        }
        for pair in 0..self.pairs {
            builder.link(self.receiver(pair), right, self.rate, self.delay);
        }
        builder.link(left, right, self.bottleneck_rate, self.bottleneck_delay);
        builder.build()
    }
}

declare! {
    /// Hosts around one switch, for testbeds and for incast to one port.
    ///
    /// ```text
    ///   h0 --+
    ///   h1 --+-- s0
    ///   ... -+
    /// ```
    ///
    /// Link `i` belongs to host `i`. Every path has 2 hops.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Star {
        /// The number of hosts.
        hosts: u32 = "4" in "1" to "60000";
        /// The rate of every link.
        rate: Rate = "10 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of every link.
        delay: Span = "4 us" in "0 s" to "1 s";
    }
}

impl Star {
    /// Builds the network.
    ///
    /// # Errors
    /// Returns an error for a parameter out of range, a rate of zero or a delay of more than 100 s.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        hosts_within("Star", "hosts", self.hosts)?;
        let mut builder = Builder::new();
        for host in 0..self.hosts {
            builder.add_host(format!("h{host}"));
        }
        let hub = builder.add_switch("s0", 1);
        builder.alias(Alias::one("switch", hub.0));
        for host in 0..self.hosts {
            builder.link(NodeId(host), hub, self.rate, self.delay);
        }
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, Routes};

    #[test]
    fn all_pairs_of_a_dumbbell_share_its_last_link() {
        let shape = Dumbbell { pairs: 3, bottleneck_rate: Rate::gbps(1), ..Dumbbell::default() };
        let network = shape.build().unwrap();
        assert_eq!((network.hosts(), network.switches(), network.links()), (6, 2, 7));
        assert_eq!(network.oversubscription(), 1.0, "a flat network has no uplinks");
        // Three hosts of 10 Gbps at each end of a link of 1 Gbps.
        assert_eq!(crate::core_oversubscription(&network), 30.0);
        let mut routes = Routes::new(Policy::SymmetricEcmp);
        let mut path = Vec::new();
        for pair in 0..3 {
            routes.paths(&network, shape.sender(pair), shape.receiver(pair), 0, &mut path).unwrap();
            let names: Vec<String> = path.iter().map(|&port| network.port_name(port)).collect();
            assert_eq!(names, [format!("h{pair}->s0"), "s0->s1".into(), format!("s1->h{}", pair + 3)]);
            assert_eq!(network.port(path[1]).rate, Rate::gbps(1));
        }
    }

    #[test]
    fn a_star_has_two_hops_between_any_two_hosts() {
        let network = Star { hosts: 5, ..Star::default() }.build().unwrap();
        assert_eq!((network.hosts(), network.switches(), network.links()), (5, 1, 5));
        let mut path = Vec::new();
        let set = Routes::new(Policy::Ecmp).paths(&network, NodeId(4), NodeId(1), 9, &mut path).unwrap();
        assert_eq!((set.count, set.hops), (1, 2));
    }

    #[test]
    fn impossible_counts_are_refused_with_the_range() {
        let error = Star { hosts: 0, ..Star::default() }.build().unwrap_err();
        assert_eq!(error.to_string(), "Star: hosts = 0 is out of range; give a number from 1 to 1000000");
        assert!(Dumbbell { pairs: u32::MAX, ..Dumbbell::default() }.build().is_err());
        assert!(Star { rate: Rate::ZERO, ..Star::default() }.build().is_err());
    }
}
