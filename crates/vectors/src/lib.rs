//! Test vectors of Ultra Ethernet's congestion control: inputs and what the protocol code of [`clearway_proto`] makes of them,
//! for those who have an implementation of their own, in a NIC say, and want to compare it event by event.
//!
//! | file | what is driven | parts |
//! |---|---|---|
//! | [`Algorithm::Nscc`] | [`Nscc`](clearway_proto::uec::window::Nscc) | `window` |
//! | [`Algorithm::Rccc`] | [`Credit`](clearway_proto::uec::credit::Credit), [`Pacer`](clearway_proto::uec::Pacer) | `sender`, `receiver` |
//! | [`Algorithm::Reps`] | [`Entropies`](clearway_proto::entropy::Entropies) | `paths` |
//! | [`Algorithm::Flow`] | [`Sender`](clearway_proto::uec::Sender), which has all of these | `flow` |
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
mod choices;
mod flow;
mod nscc;
mod rccc;
mod readings;
mod reps;
mod setting;

pub use choices::{Algorithm, Reading};

use case::{Case, json, object};

/// Returns the text of a file, as written by this version of Clearway.
pub fn text(algorithm: Algorithm, reading: Reading, seed: u64, version: &str) -> String {
    let cases = match algorithm {
        Algorithm::Nscc => nscc::cases(&setting::of_nscc(reading), seed),
        Algorithm::Rccc => rccc::cases(&setting::of_rccc(reading), seed),
        Algorithm::Reps => reps::cases(&setting::of_nscc(reading), seed),
        Algorithm::Flow => flow::cases(reading, seed),
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

#[cfg(test)]
mod tests;
