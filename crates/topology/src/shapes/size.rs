//! The sizes of shapes, by arithmetic, so that a network too large can be refused before it is built.

use super::{
    Clos3, Dumbbell, FatTree, LeafSpine, MultiBottleneck, OversubscribedFatTree, Pacc320, ParkingLot, Star,
};

/// The number of nodes and links of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// The number of hosts.
    pub hosts: u64,
    /// The number of switches.
    pub switches: u64,
    /// The number of links.
    pub links: u64,
}

impl Dumbbell {
    /// Returns the size of the network.
    pub fn size(&self) -> Size {
        let hosts = 2 * u64::from(self.pairs);
        Size { hosts, switches: 2, links: hosts + 1 }
    }
}

impl Star {
    /// Returns the size of the network.
    pub fn size(&self) -> Size {
        let hosts = u64::from(self.hosts);
        Size { hosts, switches: 1, links: hosts }
    }
}

impl ParkingLot {
    /// Returns the size of the network.
    pub fn size(&self) -> Size {
        let bottlenecks = u64::from(self.bottlenecks);
        Size { hosts: 2 + 2 * bottlenecks, switches: bottlenecks + 1, links: 2 + 3 * bottlenecks }
    }
}

impl MultiBottleneck {
    /// Returns the size of the network.
    pub fn size(&self) -> Size {
        let receivers = u64::from(self.flows) + 1;
        match self.shared_sender {
            true => Size { hosts: receivers + 1, switches: 2, links: receivers + 2 },
            false => Size { hosts: 2 * receivers, switches: 3, links: 2 * receivers + 2 },
        }
    }
}

impl LeafSpine {
    /// Returns the size of the network.
    pub fn size(&self) -> Size {
        let [leaves, spines, each] = [self.leaves, self.spines, self.hosts_per_leaf].map(u64::from);
        Size { hosts: leaves * each, switches: leaves + spines, links: leaves * (each + spines) }
    }
}

impl Clos3 {
    /// Returns the size of the network.
    pub fn size(&self) -> Size {
        let [pods, tors, aggs] = [self.pods, self.tors_per_pod, self.aggs_per_pod].map(u64::from);
        let [each, cores, uplinks] = [self.hosts_per_tor, self.cores, self.uplinks_per_agg].map(u64::from);
        let hosts = pods * tors * each;
        Size { hosts, switches: pods * (tors + aggs) + cores, links: hosts + pods * aggs * (tors + uplinks) }
    }
}

impl FatTree {
    /// Returns the size of the network.
    pub fn size(&self) -> Size {
        let k = u64::from(self.k);
        let hosts = k * k * k / 4;
        Size { hosts, switches: 5 * k * k / 4, links: 3 * hosts }
    }
}

impl OversubscribedFatTree {
    /// Returns the size of the network.
    pub fn size(&self) -> Size {
        Size { hosts: 192, switches: 32 + 16 + 8, links: 192 + 64 + 64 }
    }
}

impl Pacc320 {
    /// Returns the size of the network.
    pub fn size(&self) -> Size {
        Size { hosts: 320, switches: 20 + 20 + 16, links: 320 + 80 + 80 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Topology;

    fn check(size: Size, built: &Topology) {
        let [hosts, switches, links] =
            [built.hosts(), built.switches(), built.links()].map(|count| count as u64);
        assert_eq!(size, Size { hosts, switches, links });
    }

    #[test]
    fn a_shape_knows_its_size_before_it_is_built() {
        macro_rules! check_all {
            ($($shape:expr),+ $(,)?) => {$( let shape = $shape; check(shape.size(), &shape.build().unwrap()); )+};
        }
        check_all!(
            Dumbbell { pairs: 7, ..Dumbbell::default() },
            Star { hosts: 9, ..Star::default() },
            ParkingLot { bottlenecks: 5, ..ParkingLot::default() },
            MultiBottleneck { flows: 6, ..MultiBottleneck::default() },
            MultiBottleneck { flows: 6, shared_sender: true, ..MultiBottleneck::default() },
            LeafSpine { leaves: 3, spines: 5, hosts_per_leaf: 7, ..LeafSpine::default() },
            Clos3 { pods: 3, tors_per_pod: 5, hosts_per_tor: 2, ..Clos3::default() },
            FatTree { k: 6, ..FatTree::default() },
            OversubscribedFatTree::default(),
            Pacc320::default(),
        );
    }
}
