//! Random scenarios over all keys of scenario files and all parameters of all transports, and the rules that hold for each.
//!
//! The generator reads the declarations from which scenario files are read: a key, a kind of traffic, a shape of networks
//! or a transport that is added joins by itself. A value is the default, near it, anywhere in its range, or at one of
//! its ends.
//!
//! | module | purpose |
//! |---|---|
//! | `draw` | random choices, from a seed and the number of a case |
//! | `values` | a value for a key, in any of its forms |
//! | `files` | files that scenarios name: networks, lists of flows, distributions of sizes |
//! | `network` | the table of the network, and the names in it |
//! | `scenario`, `ports`, `traffic` | whole scenarios |
//! | `repair` | what remains of a scenario once the lines are removed for which it is refused |
//! | `rules` | what holds for every scenario and for every run of one |
//! | `runs` | runs in slices, on several threads, and from a checkpoint |
//! | `mutate` | scenario files with lines and bytes changed |
//! | `explore` | many cases one after the other, and the report of them |
//! | `shrink` | the smallest scenario that still fails |
//! | `heap` | the memory that the process takes |

mod draw;
mod explore;
mod files;
mod heap;
mod mutate;
mod network;
mod ports;
mod repair;
mod rules;
mod runs;
mod scenario;
mod shrink;
mod traffic;
mod values;

use clearway_proto::TransportInfo;
pub use draw::Draw;
pub use explore::{Report, mutants, scenarios};
pub use repair::repaired;
pub use scenario::Drawn;

/// The parts of a scenario that a case of the generator has drawn so far, to which the values of later keys refer.
#[derive(Clone, Default)]
pub struct World {
    /// The names of hosts.
    pub hosts: Vec<String>,
    /// The names of the two ends of each link.
    pub links: Vec<[String; 2]>,
    /// The names of classes of packets.
    pub classes: Vec<String>,
    /// The names of classes of credits.
    pub credit_classes: Vec<String>,
    /// The names of traffic entries.
    pub traffic: Vec<String>,
    /// The transports.
    pub transports: Vec<&'static TransportInfo>,
    /// The time at which the run stops, in picoseconds.
    pub stop: u64,
    /// The files that the scenario names.
    pub files: Files,
}

impl World {
    /// Returns whether a transport of the scenario uses credits.
    fn has_credits(&self) -> bool {
        self.transports.iter().any(|info| scenario::has_credits(info))
    }

    /// Returns whether a transport of the scenario asks switches to trim.
    fn trims(&self) -> bool {
        self.transports.iter().any(|info| scenario::trims(info))
    }

    /// Returns whether a key of `[switch]` belongs to the port mechanism of a transport of the scenario.
    fn has_mechanism_key(&self, name: &str) -> bool {
        self.transports.iter().any(|info| info.mechanism.keys().any(|(key, _)| key == name))
    }
}

/// Files by name.
pub type Files = std::collections::BTreeMap<String, Vec<u8>>;
