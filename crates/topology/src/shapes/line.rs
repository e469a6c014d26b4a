//! Networks whose switches form a line, for flows that cross more than one bottleneck.

use super::limits::within;
use crate::alias::Alias;
use crate::builder::Builder;
use crate::error::TopologyError;
use crate::graph::{NodeId, PortId, Topology};
use clearway_schema::declare;
use clearway_units::{Rate, Span};

/// The largest number of bottlenecks of a parking lot.
const BOTTLENECKS_MAX: u64 = 1_000;

declare! {
    /// The parking lot of ExpressPass '17, Figs. 4 (b) and 10 (a): one long flow crosses all bottleneck links, and each
    /// of them carries one cross flow.
    ///
    /// ```text
    ///  long sender #0 --+                                               +-- #1 long receiver
    ///                   s0 ===link 0=== s1 ===link 1=== s2 ... ===link N-1=== sN
    ///                   |               | |             | |               |
    ///                   #2             #3 #4           #5 #6            #2N+1
    ///           cross flow 0: #2 -> #3,  cross flow 1: #4 -> #5, ...     (# is the host's id)
    /// ```
    ///
    /// Host 0 is `long-sender`, host 1 is `long-receiver`. Cross flow `i` of `0..bottlenecks` has the sender `2 + 2i`
    /// (`cross-sender{i}`, on `s{i}`) and the receiver `3 + 2i` (`cross-receiver{i}`, on `s{i+1}`). There are
    /// `bottlenecks + 1` switches and `3 * bottlenecks + 2` links, of which the bottlenecks come first. The long path
    /// has `bottlenecks + 2` hops, a cross path 3.
    ///
    /// Links are numbered here in the order in which data crosses them. The paper numbers them in the order of credits:
    /// its Link 1, which the long flow's credits cross first and which naive credits leave underused, is the last one
    /// here.
    ///
    /// In the authors' script one host receives cross flow `i` and sends cross flow `i + 1`. Two hosts do so here, to
    /// keep the credits of one flow and the data of the other off a common host link, which the figure does not show.
    #[derive(Copy, PartialEq, Eq)]
    pub struct ParkingLot {
        /// The number of links that the long flow shares with a cross flow (in the paper 1 to 6).
        bottlenecks: u32 = "2" in "1" to "100";
        /// The rate of every link.
        rate: Rate = "10 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of every link.
        delay: Span = "4 us" in "0 s" to "1 s";
    }
}

impl ParkingLot {
    /// Returns the sender of the long flow.
    pub fn long_sender(&self) -> NodeId {
        NodeId(0)
    }

    /// Returns the receiver of the long flow.
    pub fn long_receiver(&self) -> NodeId {
        NodeId(1)
    }

    /// Returns the sender of the cross flow on a bottleneck, counted from 0.
    pub fn cross_sender(&self, bottleneck: u32) -> NodeId {
        NodeId(2 + 2 * bottleneck)
    }

    /// Returns the receiver of the cross flow on a bottleneck, counted from 0.
    pub fn cross_receiver(&self, bottleneck: u32) -> NodeId {
        NodeId(3 + 2 * bottleneck)
    }

    /// Returns the port at which data queues for a bottleneck, counted from 0. Credits cross its reverse.
    pub fn bottleneck(&self, bottleneck: u32) -> PortId {
        PortId(2 * bottleneck)
    }

    /// Builds the network.
    ///
    /// # Errors
    /// Returns an error for a parameter out of range, a rate of zero or a delay of more than 100 s.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        within("ParkingLot", "bottlenecks", self.bottlenecks, 1, BOTTLENECKS_MAX)?;
        let mut builder = Builder::new();
        builder.add_host("long-sender");
        builder.add_host("long-receiver");
        for bottleneck in 0..self.bottlenecks {
            builder.add_host(format!("cross-sender{bottleneck}"));
            builder.add_host(format!("cross-receiver{bottleneck}"));
        }
        let switches: Vec<NodeId> =
            (0..=self.bottlenecks).map(|switch| builder.add_switch(format!("s{switch}"), 1)).collect();
        builder.alias(Alias::row("switch", switches[0].0, self.bottlenecks + 1));
        let mut link = |a, b| builder.link(a, b, self.rate, self.delay);
        for ends in switches.windows(2) {
            link(ends[0], ends[1]);
        }
        link(self.long_sender(), switches[0]);
        link(self.long_receiver(), switches[self.bottlenecks as usize]);
        for (bottleneck, ends) in (0..).zip(switches.windows(2)) {
            link(self.cross_sender(bottleneck), ends[0]);
            link(self.cross_receiver(bottleneck), ends[1]);
        }
        builder.build()
    }
}

declare! {
    /// The multi-bottleneck network of ExpressPass '17, Figs. 4 (a) and 11 (a): the credits of flows 1 to N cross Link
    /// 1 and then Link 2, which they share with Flow 0; those of Flow 0 cross Link 2 only.
    ///
    /// ```text
    ///  receiver1 --+                 receiver0              +-- sender0
    ///  receiver2 --+                     |                  +-- sender1
    ///        ... --+-- s0 ===Link 1=== s1 ===Link 2=== s2 --+-- ...
    ///                 credits of 1..N -->   credits of all -->
    ///                   <-- data of 1..N      <-- data of all
    /// ```
    ///
    /// We had the paper's text but not these figures, and read the network from the text: the *second switch from the
    /// left* gets twice as many credits of Flow 0 as of either of Flows 1 and 2, whose credits have passed the limit of
    /// Link 1, and it forwards all of them to Link 2. So credits travel from left to right, receivers are on the left,
    /// and the max-min share of every flow is 1/(N+1) of Link 2. The authors' `multi-bottleneck.tcl` agrees, except
    /// that one host sends all flows there and its own link is Link 2; [`shared_sender`] builds that network.
    ///
    /// Flow `i` of `0..=flows` has the sender `i` and the receiver `flows + 1 + i`; with [`shared_sender`] the one
    /// sender is host 0 and the receiver of flow `i` is `1 + i`. Link 1 is the first link, Link 2 the second. The path
    /// of Flow 0 has 3 hops (2 with a shared sender), the others have 4 (3 with a shared sender).
    ///
    /// [`shared_sender`]: MultiBottleneck::shared_sender
    #[derive(Copy, PartialEq, Eq)]
    pub struct MultiBottleneck {
        /// N, the number of flows besides Flow 0, which cross both links (Fig. 4 (a)).
        flows: u32 = "2" in "1" to "30000";
        /// If true, one host sends all flows, as in the authors' script.
        shared_sender: bool = "false";
        /// The rate of every link.
        rate: Rate = "10 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// The delay of every link.
        delay: Span = "4 us" in "0 s" to "1 s";
    }
}

impl MultiBottleneck {
    /// Returns the sender of flow `flow` of `0..=flows`.
    pub fn sender(&self, flow: u32) -> NodeId {
        NodeId(if self.shared_sender { 0 } else { flow })
    }

    /// Returns the receiver of flow `flow` of `0..=flows`.
    pub fn receiver(&self, flow: u32) -> NodeId {
        NodeId(self.senders() + flow)
    }

    /// Returns the port at which data queues for Link 1. Credits cross its reverse.
    pub fn link1(&self) -> PortId {
        PortId(0)
    }

    /// Returns the port at which data queues for Link 2. Credits cross its reverse.
    pub fn link2(&self) -> PortId {
        PortId(2)
    }

    fn senders(&self) -> u32 {
        if self.shared_sender { 1 } else { self.flows + 1 }
    }

    /// Builds the network.
    ///
    /// # Errors
    /// Returns an error for a parameter out of range, a rate of zero or a delay of more than 100 s.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        within("MultiBottleneck", "flows", self.flows, 1, 100_000)?;
        let mut builder = Builder::new();
        if self.shared_sender {
            builder.add_host("sender");
        } else {
            for flow in 0..=self.flows {
                builder.add_host(format!("sender{flow}"));
            }
        }
        for flow in 0..=self.flows {
            builder.add_host(format!("receiver{flow}"));
        }
        let (left, middle) = (builder.add_switch("s0", 1), builder.add_switch("s1", 1));
        builder.alias(Alias::one("left", left.0));
        builder.alias(Alias::one("middle", middle.0));
        let right = if self.shared_sender { self.sender(0) } else { builder.add_switch("s2", 1) };
        if !self.shared_sender {
            builder.alias(Alias::one("right", right.0));
        }
        let mut link = |a, b| builder.link(a, b, self.rate, self.delay);
        link(middle, left);
        link(right, middle);
        for sender in (0..self.senders()).map(NodeId).filter(|&sender| sender != right) {
            link(sender, right);
        }
        link(self.receiver(0), middle);
        for flow in 1..=self.flows {
            link(self.receiver(flow), left);
        }
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, Routes};

    fn path(network: &Topology, from: NodeId, to: NodeId) -> Vec<PortId> {
        let mut path = Vec::new();
        Routes::new(Policy::SymmetricEcmp).paths(network, from, to, 5, &mut path).unwrap();
        path
    }

    #[test]
    fn the_long_flow_of_a_parking_lot_shares_one_link_with_each_cross_flow() {
        for bottlenecks in 1..=6 {
            let shape = ParkingLot { bottlenecks, ..ParkingLot::default() };
            let network = shape.build().unwrap();
            assert_eq!(network.hosts(), 2 + 2 * bottlenecks as usize);
            assert_eq!(network.switches(), 1 + bottlenecks as usize);
            assert_eq!(network.links(), 2 + 3 * bottlenecks as usize);
            let long = path(&network, shape.long_sender(), shape.long_receiver());
            let middle: Vec<PortId> = (0..bottlenecks).map(|link| shape.bottleneck(link)).collect();
            assert_eq!(long[1..long.len() - 1], middle);
            for link in 0..bottlenecks {
                let cross = path(&network, shape.cross_sender(link), shape.cross_receiver(link));
                assert_eq!(cross.len(), 3);
                let shared: Vec<_> = cross.iter().filter(|port| long.contains(port)).collect();
                assert_eq!(shared, [&shape.bottleneck(link)]);
            }
        }
    }

    #[test]
    fn flow_0_crosses_link_2_only_and_the_others_both() {
        for shared_sender in [false, true] {
            let shape = MultiBottleneck { flows: 4, shared_sender, ..MultiBottleneck::default() };
            let network = shape.build().unwrap();
            let zero = path(&network, shape.sender(0), shape.receiver(0));
            assert!(zero.contains(&shape.link2()) && !zero.contains(&shape.link1()));
            assert_eq!(zero.len(), if shared_sender { 2 } else { 3 });
            for flow in 1..=4 {
                let other = path(&network, shape.sender(flow), shape.receiver(flow));
                assert!(other.contains(&shape.link2()) && other.contains(&shape.link1()));
                assert_eq!(other.len(), zero.len() + 1);
            }
        }
    }

    #[test]
    fn the_authors_script_has_one_sender_and_two_switches() {
        let shape = MultiBottleneck { flows: 64, shared_sender: true, ..MultiBottleneck::default() };
        let network = shape.build().unwrap();
        assert_eq!((network.hosts(), network.switches(), network.links()), (66, 2, 67));
        let shape = MultiBottleneck { shared_sender: false, ..shape };
        let network = shape.build().unwrap();
        assert_eq!((network.hosts(), network.switches(), network.links()), (130, 3, 132));
    }

    #[test]
    fn a_number_of_bottlenecks_or_flows_out_of_range_is_refused() {
        assert!(ParkingLot { bottlenecks: 0, ..ParkingLot::default() }.build().is_err());
        assert!(MultiBottleneck { flows: 0, ..MultiBottleneck::default() }.build().is_err());
        assert!(MultiBottleneck { flows: u32::MAX, ..MultiBottleneck::default() }.build().is_err());
    }
}
