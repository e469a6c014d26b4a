//! Shapes of networks.

use super::{KeySpec, NONE, REQUIRED, Table, read_key};
use crate::scenario::document::{Document, Path};
use crate::scenario::error::ScenarioError;
use crate::scenario::field::*;
use clearway_units::{Rate, Span};

table! {
    /// Two switches and a link that all pairs share. Hosts: senders `h0` on, then receivers.
    DumbbellTable {
        /// Senders, and as many receivers.
        pairs: u32 = "2", "1" to "500000";
        /// Rate of host links.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of host links.
        delay: Span = "4 us", "0 s" to "1 s";
        /// Rate of the link between the switches.
        bottleneck_rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of the link between the switches.
        bottleneck_delay: Span = "4 us", "0 s" to "1 s";
    }
}

table! {
    /// One switch. Hosts: `h0` on.
    StarTable {
        /// Hosts.
        hosts: u32 = "4", "1" to "60000";
        /// Rate of every link.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of every link.
        delay: Span = "4 us", "0 s" to "1 s";
    }
}

table! {
    /// Switches in a line: one flow over all links between them, and on each link a cross flow. Hosts: `long-sender`,
    /// `long-receiver`, then `cross-sender0`, `cross-receiver0`, ...
    ParkingLotTable {
        /// Links between switches.
        bottlenecks: u32 = "2", "1" to "100";
        /// Rate of every link.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of every link.
        delay: Span = "4 us", "0 s" to "1 s";
    }
}

table! {
    /// ExpressPass '17, Fig. 11 (a): flows 1 to N cross Link 1 and then Link 2, Flow 0 crosses Link 2 only. Hosts:
    /// `sender0` on, `receiver0` on.
    MultiBottleneckTable {
        /// N.
        flows: u32 = "2", "1" to "30000";
        /// One host for all senders, as in the authors' script.
        shared_sender: bool = "false";
        /// Rate of every link.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of every link.
        delay: Span = "4 us", "0 s" to "1 s";
    }
}

table! {
    /// The k-ary fat tree: k^3/4 hosts `h0` on, switches `tor0`, `agg0`, `core0` on.
    FatTreeTable {
        /// Ports of a switch, even.
        k: u32 = "4", "2" to "128";
        /// Rate of every link that has no other.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of every link that has no other.
        delay: Span = "4 us", "0 s" to "1 s";
        /// Rate of host links.
        host_rate: Option<Rate> = NONE, "1 Mbps" to "1.6 Tbps";
        /// Delay of host links.
        host_delay: Option<Span> = NONE, "0 s" to "1 s";
        /// Rate of links to the cores.
        core_rate: Option<Rate> = NONE, "1 Mbps" to "1.6 Tbps";
        /// Delay of links to the cores.
        core_delay: Option<Span> = NONE, "0 s" to "1 s";
    }
}

table! {
    /// The 192-host tree of ExpressPass '17, sec. 6.3, 3:1 oversubscribed at its 32 ToRs; 16 aggregation switches, 8
    /// cores.
    OversubscribedTable {
        /// Rate of every link.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of every link.
        delay: Span = "4 us", "0 s" to "1 s";
    }
}

table! {
    /// The 320-host tree of PACC and HPCC: 20 ToRs, 20 aggregation switches, 16 cores.
    Pacc320Table {
        /// Rate of host links.
        rate: Rate = "100 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Rate of links between switches.
        fabric_rate: Rate = "400 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of every link.
        delay: Span = "1 us", "0 s" to "1 s";
    }
}

table! {
    /// Three tiers with free counts. Hosts `h0` on, switches `tor0`, `agg0`, `core0` on.
    Clos3Table {
        /// Pods.
        pods: u32 = "4", "1" to "10000";
        /// ToRs of a pod.
        tors_per_pod: u32 = "4", "1" to "10000";
        /// Aggregation switches of a pod.
        aggs_per_pod: u32 = "4", "1" to "10000";
        /// Hosts of a ToR.
        hosts_per_tor: u32 = "8", "1" to "10000";
        /// Cores.
        cores: u32 = "16", "1" to "10000";
        /// Links from each aggregation switch to different cores.
        uplinks_per_agg: u32 = "4", "1" to "10000";
        /// Rate of host links.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of host links.
        delay: Span = "1 us", "0 s" to "1 s";
        /// Rate of links between ToRs and aggregation switches.
        agg_rate: Rate = "40 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of links between ToRs and aggregation switches.
        agg_delay: Span = "1 us", "0 s" to "1 s";
        /// Rate of links to the cores.
        core_rate: Rate = "40 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of links to the cores.
        core_delay: Span = "5 us", "0 s" to "1 s";
    }
}

table! {
    /// Two tiers: every leaf is linked to every spine. Hosts `h0` on, switches `tor0`, `spine0` on.
    LeafSpineTable {
        /// Leaves.
        leaves: u32 = "4", "1" to "10000";
        /// Spines.
        spines: u32 = "2", "1" to "10000";
        /// Hosts of a leaf.
        hosts_per_leaf: u32 = "8", "1" to "10000";
        /// Rate of host links.
        rate: Rate = "10 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of host links.
        delay: Span = "4 us", "0 s" to "1 s";
        /// Rate of links to the spines.
        uplink_rate: Rate = "40 Gbps", "1 Mbps" to "1.6 Tbps";
        /// Delay of links to the spines.
        uplink_delay: Span = "4 us", "0 s" to "1 s";
    }
}

table! {
    /// A network from a file.
    TopologyFile {
        /// The file, relative to the scenario's.
        path: String = REQUIRED;
        /// The BLAKE3 hash of the file, which is then refused if it has changed.
        hash: Option<String> = NONE;
    }
}
