//! Test vectors of Ultra Ethernet's congestion control: inputs and what the protocol code of [`clearway_proto`] makes of them,
//! for those who have an implementation of their own, in a NIC say, and want to compare it event by event.
//!
//! | file | what is driven | parts |
//! |---|---|---|
//! | [`Algorithm::Nscc`] | [`Nscc`](clearway_proto::uec::window::Nscc) | `window` |
//! | [`Algorithm::Rccc`] | [`Credit`](clearway_proto::uec::credit::Credit), [`Pacer`](clearway_proto::uec::Pacer) | `sender`, `receiver` |
//! | [`Algorithm::Reps`] | [`Entropies`](clearway_proto::entropy::Entropies) | `paths` |
//!
//! A file has the *cases* of an algorithm under one [`Reading`]: boundary cases made by hand, and sequences drawn by a fixed
//! generator from a seed. The same seed gives the same bytes. `docs/vectors.schema.json` has the format with all keys.
//!
//! ```
//! use clearway_vectors::{Algorithm, Reading, text};
//!
//! let text = text(Algorithm::Reps, Reading::Specification, 1, "0.1.0");
//! assert!(text.starts_with("{\n\"schema\": \"clearway-vectors/1\",\n\"algorithm\": \"reps\",\n"));
//! ```
#![forbid(unsafe_code)]

mod case;
mod nscc;
mod rccc;
mod readings;
mod reps;
mod setting;

use case::{Case, json};
use clearway_schema::choice;

choice! {
    /// The algorithm of a file.
    pub enum Algorithm {
        /// NSCC: the window of a sender.
        Nscc = "nscc",
        /// RCCC: the credit of a receiver.
        Rccc = "rccc",
        /// REPS and the other policies by which a sender chooses paths.
        Reps = "reps",
    }
}

choice! {
    /// The text that the algorithm follows.
    pub enum Reading {
        /// The Ultra Ethernet Specification 1.0.3, as far as it could be read, and the consortium's program where it is silent.
        Specification = "specification",
        /// The consortium's program alone: uet-htsim, revision 40ccb05.
        Htsim = "htsim",
    }
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Algorithm; 3] = [Algorithm::Nscc, Algorithm::Rccc, Algorithm::Reps];

    /// Returns a sentence on what a file has.
    fn about(self) -> &'static str {
        match self {
            Algorithm::Nscc => {
                "NSCC, the window of a sender: what each acknowledgement, NACK, timeout and probe makes of it."
            }
            Algorithm::Rccc => {
                "RCCC: the credit that a sender spends and the demand that it tells; the pulls that a receiving host paces."
            }
            Algorithm::Reps => {
                "REPS and other choices of paths: the entropy value of each packet, after what was heard of others."
            }
        }
    }

    /// Returns the outputs that follow from real numbers, with the most by which another implementation may be off.
    fn tolerances(self) -> &'static [(&'static str, u64)] {
        match self {
            Algorithm::Nscc => &[("cwnd_bytes", 1), ("max_cwnd_bytes", 1)],
            Algorithm::Rccc => &[("next_ps", 1), ("rate_ppm", 1)],
            Algorithm::Reps => &[],
        }
    }
}

impl Reading {
    /// All readings.
    pub const ALL: [Reading; 2] = [Reading::Specification, Reading::Htsim];

    /// Returns what the algorithm follows, in words.
    fn about(self) -> &'static str {
        match self {
            Reading::Specification => {
                "Ultra Ethernet Specification 1.0.3, read at second hand; uet-htsim where it is silent, as in all of RCCC"
            }
            Reading::Htsim => "the Ultra Ethernet consortium's simulator, uet-htsim 40ccb05",
        }
    }
}

/// Returns the text of a file, as written by this version of Clearway.
pub fn text(algorithm: Algorithm, reading: Reading, seed: u64, version: &str) -> String {
    let cases = match algorithm {
        Algorithm::Nscc => nscc::cases(&setting::of_nscc(reading), seed),
        Algorithm::Rccc => rccc::cases(&setting::of_rccc(reading), seed),
        Algorithm::Reps => reps::cases(&setting::of_nscc(reading), seed),
    };
    let fields = [
        ("schema", json(&"clearway-vectors/1")),
        ("algorithm", json(&algorithm.to_string())),
        ("reading", json(&reading.to_string())),
        ("about", json(&algorithm.about())),
        ("follows", json(&reading.about())),
        ("clearway", json(&version)),
        ("seed", json(&seed)),
        ("tolerances", object(algorithm.tolerances().iter().map(|&(name, most)| (name, json(&most))))),
        ("readings", readings::text(algorithm, reading)),
    ];
    let mut text = String::from("{\n");
    fields.iter().for_each(|(name, value)| text += &format!("\"{name}\": {value},\n"));
    let cases: Vec<String> = cases.iter().map(Case::text).collect();
    text + "\"cases\": [\n" + &cases.join(",\n") + "\n]\n}\n"
}

/// Returns a JSON object with these values, which are JSON.
fn object<'a>(fields: impl Iterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<String> = fields.map(|(name, value)| format!("\"{name}\": {value}")).collect();
    format!("{{{}}}", fields.join(", "))
}

#[cfg(test)]
mod tests;
