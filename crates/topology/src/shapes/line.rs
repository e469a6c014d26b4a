//! Switches in a line, for flows that meet more than one bottleneck.

use super::within;
use crate::{Builder, NodeId, PortId, Topology, TopologyError};
use clearway_schema::declare;
use clearway_units::{Rate, Span};

/// Long enough for any parking lot; far from the limit on paths.
const BOTTLENECKS_MAX: u64 = 1_000;

declare! {
    /// ExpressPass '17, Figs. 4 (b) and 10 (a): one long flow over all bottleneck links, and on every link one cross
    /// flow of its own.
    ///
    /// ```text
    ///  long sender #0 --+                                               +-- #1 long receiver
    ///                   s0 ===link 0=== s1 ===link 1=== s2 ... ===link N-1=== sN
    ///                   |               | |             | |               |
    ///                   #2             #3 #4           #5 #6            #2N+1
    ///           cross flow 0: #2 -> #3,  cross flow 1: #4 -> #5, ...     (# is the host's id)
    /// ```
    ///
    /// Hosts: 0 (`long-sender`), 1 (`long-receiver`), then cross flow `i` of `0..bottlenecks` has the sender `2 + 2i`
    /// (`cross-sender{i}`, on `s{i}`) and the receiver `3 + 2i` (`cross-receiver{i}`, on `s{i+1}`). Switches:
    /// `bottlenecks + 1`. Links: `3 * bottlenecks + 2`, the bottlenecks first. The long path has `bottlenecks + 2`
    /// hops, a cross path 3.
    ///
    /// Links are counted here as data crosses them. The paper counts them as credits do: its Link 1, which the long
    /// flow's credits meet first and which naive credits leave underused, is the last one here.
    ///
    /// The authors' script lets one host end cross flow `i` and start cross flow `i + 1`. Two hosts keep the
    /// credits of one from meeting the data of the other on a host link, which the figure doesn't mean to show.
    #[derive(Copy, PartialEq, Eq)]
    pub struct ParkingLot {
        /// Links between switches.
        bottlenecks: u32 = "2" in "1" to "100";
        /// Rate of every link.
        rate: Rate = "10 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// Delay of every link.
        delay: Span = "4 us" in "0 s" to "1 s";
    }
}

impl ParkingLot {
    /// Where the long flow starts.
    pub fn long_sender(&self) -> NodeId {
        NodeId(0)
    }

    /// Where the long flow ends.
    pub fn long_receiver(&self) -> NodeId {
        NodeId(1)
    }

    /// Where the cross flow of a bottleneck (from 0) starts.
    pub fn cross_sender(&self, bottleneck: u32) -> NodeId {
        NodeId(2 + 2 * bottleneck)
    }

    /// Where the cross flow of a bottleneck (from 0) ends.
    pub fn cross_receiver(&self, bottleneck: u32) -> NodeId {
        NodeId(3 + 2 * bottleneck)
    }

    /// The port at which the data of a bottleneck (from 0) queues; credits cross its reverse.
    pub fn bottleneck(&self, bottleneck: u32) -> PortId {
        PortId(2 * bottleneck)
    }

    /// The network.
    ///
    /// # Errors
    /// A parameter out of range, or a rate of zero.
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
    /// ExpressPass '17, Figs. 4 (a) and 11 (a): flows 1 to N meet first on Link 1, then on Link 2, which they share
    /// with Flow 0; Flow 0 crosses Link 2 only.
    ///
    /// ```text
    ///  receiver1 --+                 receiver0              +-- sender0
    ///  receiver2 --+                     |                  +-- sender1
    ///        ... --+-- s0 ===Link 1=== s1 ===Link 2=== s2 --+-- ...
    ///                 credits of 1..N -->   credits of all -->
    ///                   <-- data of 1..N      <-- data of all
    /// ```
    ///
    /// Figures 4 (a) and 11 (a) are not in our copy of the text. The reading is from it: the *second switch from
    /// the left* gets twice as many credits for Flow 0 as for either of Flows 1 and 2, since theirs have passed
    /// Link 1's limit, and it hands all of them to Link 2. So credits travel left to right, receivers are on the
    /// left, and the max-min share of every flow is 1/(N+1) of Link 2. The authors' `multi-bottleneck.tcl` agrees,
    /// except that there one host sends all flows and its own link is Link 2: [`shared_sender`] builds that.
    ///
    /// Hosts: flow `i` of `0..=flows` has the sender `i` and the receiver `flows + 1 + i`; with [`shared_sender`]
    /// the one sender is host 0 and the receiver of flow `i` is `1 + i`. Links: Link 1 is the first, Link 2 the
    /// second. Flow 0's path has 3 hops (2 if shared), the others' 4 (3 if shared).
    ///
    /// [`shared_sender`]: MultiBottleneck::shared_sender
    #[derive(Copy, PartialEq, Eq)]
    pub struct MultiBottleneck {
        /// N, the flows that cross both links; Flow 0 comes on top.
        flows: u32 = "2" in "1" to "30000";
        /// One host for all senders, as in the authors' script.
        shared_sender: bool = "false";
        /// Rate of every link.
        rate: Rate = "10 Gbps" in "1 Mbps" to "1.6 Tbps";
        /// Delay of every link.
        delay: Span = "4 us" in "0 s" to "1 s";
    }
}

impl MultiBottleneck {
    /// Where flow `flow` of `0..=flows` starts.
    pub fn sender(&self, flow: u32) -> NodeId {
        NodeId(if self.shared_sender { 0 } else { flow })
    }

    /// Where flow `flow` of `0..=flows` ends.
    pub fn receiver(&self, flow: u32) -> NodeId {
        NodeId(self.senders() + flow)
    }

    /// The port at which data queues for Link 1; credits cross its reverse.
    pub fn link1(&self) -> PortId {
        PortId(0)
    }

    /// The port at which data queues for Link 2; credits cross its reverse.
    pub fn link2(&self) -> PortId {
        PortId(2)
    }

    fn senders(&self) -> u32 {
        if self.shared_sender { 1 } else { self.flows + 1 }
    }

    /// The network.
    ///
    /// # Errors
    /// A parameter out of range, or a rate of zero.
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
        let right = if self.shared_sender { self.sender(0) } else { builder.add_switch("s2", 1) };
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
    fn the_long_flow_of_a_parking_lot_meets_each_cross_flow_once() {
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
    fn no_bottleneck_is_no_parking_lot() {
        assert!(ParkingLot { bottlenecks: 0, ..ParkingLot::default() }.build().is_err());
        assert!(MultiBottleneck { flows: 0, ..MultiBottleneck::default() }.build().is_err());
        assert!(MultiBottleneck { flows: u32::MAX, ..MultiBottleneck::default() }.build().is_err());
    }
}
