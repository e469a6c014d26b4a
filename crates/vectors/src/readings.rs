//! The readings UE-1 to UE-17 that matter for a file, with the value that each has there.

use crate::case::{json, object};
use crate::choices::{Algorithm, Reading};
use crate::setting;
use clearway_schema::Declared;
use std::collections::BTreeMap;

/// A reading of Ultra Ethernet: its number, the parameter that decides it, and the question.
type Row = (&'static str, &'static str, &'static str);

const NSCC: &[Row] = &[
    ("UE-1", "gains", "The gains are scaled by the packet on the wire (mtu) or by its payload (mss)."),
    ("UE-3", "acts_without_sample", "An answer without a valid sample acts as one with the average delay."),
    ("UE-4", "penalty", "A penalty is taken back (restored) or stays (kept)."),
    (
        "UE-5",
        "average",
        "The average delay is over the last round trip, in a form that is ours, or over samples.",
    ),
    ("UE-6", "qa_at_end", "A period of quick adapt is over at its end; else just after it."),
    ("UE-7", "qa_late_always", "A late packet sets off quick adapt with trimming too."),
    (
        "UE-8",
        "adjust_late",
        "Increases come into force just after a period, and every answer holds the window.",
    ),
    (
        "UE-9",
        "nack_leaves_first",
        "A cut packet leaves the bytes in flight before quick adapt asks for them.",
    ),
    (
        "UE-10",
        "last_hop_adapts",
        "A packet cut at the last hop may set off quick adapt where receivers pace.",
    ),
    ("UE-12", "timeout_is_ignored", "The bytes of a packet that timed out count as ignored."),
    ("UE-13", "room_for_mtu", "The window must have room for a full packet; else for the one that leaves."),
    ("UE-17", "fast_delay", "The delay below which the window may grow fast."),
];

const RCCC: &[Row] = &[
    ("credit in ACKs", "acks_pull", "Acknowledgements tell the number of the last pull."),
    ("UEC-9", "stays_idle", "Each pull puts its flow in turn once more for a pull ahead of demand."),
];

const REPS: &[Row] = &[(
    "UE-12",
    "timeout_names_path",
    "The feedback of a timeout has the entropy of the packet that was lost; else 0. Inputs are as the reading has them.",
)];

const FLOW: &[Row] = &[
    (
        "UE-12",
        "timeout_names_path",
        "The feedback of a timeout has the entropy of the packet that was lost; else 0.",
    ),
    ("UE-13", "room_for_mtu", "The window must have room for a full packet; else for the one that leaves."),
    ("UE-14", "small_window_asks", "Packets of a window below 16 KB ask for acknowledgements."),
];

/// Returns the rows of a file.
fn rows(algorithm: Algorithm) -> &'static [Row] {
    match algorithm {
        Algorithm::Nscc => NSCC,
        Algorithm::Rccc => RCCC,
        Algorithm::Reps => REPS,
        Algorithm::Flow => FLOW,
    }
}

/// Returns the parameters that the readings of a file decide.
#[cfg(test)]
pub fn keys(algorithm: Algorithm) -> Vec<&'static str> {
    rows(algorithm).iter().map(|row| row.1).collect()
}

/// Returns the readings of a file as JSON: the parameter, its value and what it decides, by number.
pub fn text(algorithm: Algorithm, reading: Reading) -> String {
    let values: BTreeMap<_, _> = match algorithm {
        Algorithm::Nscc | Algorithm::Reps | Algorithm::Flow => {
            setting::of_nscc(reading).write().into_iter().collect()
        }
        Algorithm::Rccc => setting::of_rccc(reading).write().into_iter().collect(),
    };
    object(rows(algorithm).iter().map(|&(id, key, about)| {
        let value = values.get(key).map_or("", |value| value.trim_matches('"'));
        let fields = [("parameter", json(&key)), ("value", json(&value)), ("about", json(&about))];
        (id, object(fields.into_iter()))
    }))
}
