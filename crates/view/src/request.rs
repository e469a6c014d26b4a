//! The requests, as they stand in JSON.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A request. Runs are told apart by numbers that the caller chooses.
#[derive(Deserialize, Debug)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Asks for the transports and the version.
    Catalog {},
    /// Hands over files that scenarios may name, by the names that they use.
    Files {
        /// The files, which join those handed over before.
        files: BTreeMap<String, File>,
    },
    /// Opens a run, in place of any run of its number.
    Open(Open),
    /// Lets a run go on.
    Advance {
        /// The run.
        run: u32,
        /// The simulated time until which all events are handled; without it, until the run's end.
        until_ps: Option<u64>,
        /// The number of events after which the run pauses earlier, to the order of magnitude.
        events: Option<u64>,
    },
    /// Closes the books of a run that has ended, and asks for its hash and totals.
    Result {
        /// The run.
        run: u32,
    },
    /// Asks for the scenario with all defaults filled in.
    Resolved {
        /// The run.
        run: u32,
    },
    /// Forgets a run.
    Close {
        /// The run.
        run: u32,
    },
}

/// A file: text, or bytes in base64.
#[derive(Deserialize, Debug)]
#[serde(untagged)]
pub enum File {
    /// Text.
    Text(String),
    /// Bytes.
    Bytes {
        /// The bytes in base64 (RFC 4648, with padding).
        base64: String,
    },
}

/// The scenario of a run, and what replaces its keys.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The run.
    pub run: u32,
    /// The name in error messages.
    pub name: String,
    /// The scenario in TOML.
    pub text: String,
    /// The transport of all traffic.
    pub transport: Option<String>,
    /// The seed of all random streams.
    pub seed: Option<u64>,
    /// Keys with the values that replace theirs.
    #[serde(default)]
    pub set: Vec<(String, String)>,
}
