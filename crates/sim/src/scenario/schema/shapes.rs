//! Networks from files. The shapes are declared in `clearway_topology`.

use clearway_schema::declare;

declare! {
    /// A network from a file.
    pub table TopologyFile {
        /// The file, relative to the scenario's. It may be packed by gzip or Zstandard.
        path: String = required;
        /// The BLAKE3 hash of the file, which is then refused if it has changed.
        hash: Option<String> = none;
    }
}
