//! Facts about a machine, as far as the daemon depends on them.

use crate::io::NicReport;
use clearway_schema::choice;
use std::collections::BTreeMap;

choice! {
    /// The kinds of daemons for which a machine is examined.
    pub enum Kind {
        /// `clearwayd host`.
        Host = "host",
        /// `clearwayd pac`.
        Pac = "pac",
        /// `clearwayd switch` with the kernel's traffic control.
        Switch = "switch",
    }
}

/// Everything that was found out about a machine.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The release of the kernel, as `uname -r` prints it.
    pub kernel: String,
    /// The names of the effective capabilities among those that the daemon can use.
    pub capabilities: Vec<&'static str>,
    /// Programs by name, and the places where they were found.
    pub programs: BTreeMap<&'static str, Place>,
    /// The congestion control of the kernel's TCP.
    pub congestion_control: Option<String>,
    /// True if the kernel has `net.ipv4.tcp_tso_rtt_log`, which limits what TCP hands over at once.
    pub has_burst_setting: bool,
    /// Whether the kernel takes the programs of the path in the kernel: the reason why not, a clause.
    pub kernel_path: Result<(), String>,
    /// The memory that programs could still have, in bytes.
    pub memory_available: Option<u64>,
    /// The folder of journals and sockets.
    pub run_dir: RunDir,
    /// The journals in that folder.
    pub journals: Vec<JournalFound>,
    /// The numbers of the netfilter queues that a program has bound in this network namespace.
    pub queues: Vec<u32>,
    /// The NICs that were named, each with what it is found to be.
    pub nics: Vec<(String, Result<NicFacts, String>)>,
    /// The trials in a network namespace of their own, or the reason why there were none.
    pub trials: Result<Vec<Trial>, String>,
}

/// The places where a program was found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Place {
    /// True if a folder of `PATH` has it.
    pub in_path: bool,
    /// True if a folder has it in which the daemon looks for programs that set and undo rules.
    pub in_folders: bool,
}

/// The state of the folder of journals and sockets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunDir {
    /// The folder is not there; the daemon makes it.
    Absent(String),
    /// The folder is there and can be used.
    Usable(String),
    /// The daemon would refuse the folder, for this reason.
    Refused(String),
}

/// A journal in the run directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JournalFound {
    /// The file.
    pub path: String,
    /// The name of the device that the daemon works, or worked, on.
    pub device: String,
    /// True if a daemon answers at the socket beside the journal.
    pub lives: bool,
}

/// The state of a NIC.
#[derive(Clone, Debug)]
pub struct NicFacts {
    /// The link, its rate, its MTU and its offloads.
    pub report: NicReport,
    /// True if a device is known to stand behind the NIC; the rate that a virtual NIC tells means nothing.
    pub has_hardware: bool,
    /// The qdisc that somebody set at its root; the error says why that could not be asked.
    pub root_qdisc: Result<Option<String>, String>,
}

/// One thing that the daemon does, tried in a network namespace of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trial {
    /// The thing that was tried, in words for a list.
    pub name: &'static str,
    /// The reason why it failed, in one line.
    pub result: Result<(), String>,
}
