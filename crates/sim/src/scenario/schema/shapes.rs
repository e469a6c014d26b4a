//! Networks from files, and the keys of such a file. The shapes are declared in `clearway_topology`.

use crate::scenario::field::{Ends, Tables};
use clearway_schema::declare;
use clearway_units::{Rate, Span};

declare! {
    /// A network from a file.
    pub table TopologyFile {
        /// The file, relative to the scenario's. It may be packed by gzip or Zstandard.
        path: String = required;
        /// The BLAKE3 hash of the file, which is then refused if it has changed.
        hash: Option<String> = none;
    }
}

declare! {
    /// A file of a network is TOML with these keys.
    pub table NetworkFile {
        /// The number of hosts named `h0`, `h1`, ...
        hosts: u64 = "0" in "0" to "1000000";
        /// The number of switches named `s0`, `s1`, ...
        switches: u64 = "0" in "0" to "65000";
        /// The rate of links that give none.
        rate: Option<Rate> = none in "1 Mbps" to "1.6 Tbps";
        /// The delay of links that give none.
        delay: Option<Span> = none in "0 s" to "1 s";
        /// Hosts with names of their own, each under `[[host]]`. They are numbered after those of `hosts`.
        host: Tables = none;
        /// Switches with names of their own, each under `[[switch]]`.
        switch: Tables = none;
        /// The links, each under `[[link]]`.
        link: Tables = none;
    }
}

declare! {
    /// A host with a name of its own.
    pub table FileHost {
        /// The name, without spaces.
        name: String = required;
    }
}

declare! {
    /// A switch with a name of its own.
    pub table FileSwitch {
        /// The name, without spaces.
        name: String = required;
        /// The tier: 1 for a ToR, 2 for an aggregation, 3 for a core switch. Without it, the number of hops to the
        /// nearest host.
        tier: Option<u8> = none in "1" to "255";
    }
}

declare! {
    /// A link, or a link from each of several nodes.
    pub table FileLink {
        /// The node at one end, or a list of nodes, each of which is linked to `b`.
        a: Ends = required;
        /// The node at the other end.
        b: String = required;
        /// The rate in both directions. Without it, the file's.
        rate: Option<Rate> = none in "1 Mbps" to "1.6 Tbps";
        /// The delay in both directions. Without it, the file's.
        delay: Option<Span> = none in "0 s" to "1 s";
        /// The share of packets that are lost in each direction.
        loss: f64 = "0" in "0" to "1";
    }
}
