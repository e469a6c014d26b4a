//! Warnings on a model: a signal that can't occur, or a transport outside of what it was made for.
//!
//! Such a model runs and its books balance, but what it shows is not what the transport does where it is used. Whoever
//! compares transports has to know it before the numbers, so every table and page says it.
//!
//! | module | purpose |
//! |---|---|
//! | `queues`, `places` | the longest queue that a class can have at a port; classes and ports of switches |
//! | `marks` | marks that never come, and thresholds below those of DCTCP's paper |
//! | `losses` | transports made for lossless networks, headrooms, first windows beyond the buffer |
//! | `trims` | transports and parameters made for switches that trim where switches drop, and the other way round |
//! | `collapse` | cores so narrow that headers of cut packets and their answers fill them |
//! | `paths` | credits that don't return by the way of their data, and entropies that choose no path |

mod collapse;
mod losses;
mod marks;
mod paths;
mod places;
mod queues;
#[cfg(test)]
mod tests;
mod trims;

use crate::model::Model;

/// A warning: what is not as the transport needs it, in a sentence that names the key and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// The name of the transport that it is about.
    pub transport: &'static str,
    /// The kind, by which the warnings of many runs are told apart: `marks`, `lossless`, `headroom`, `first-windows`,
    /// `openings`, `trimming`, `collapse` or `paths`.
    pub kind: &'static str,
    /// The sentence, without the transport and without a full stop.
    pub text: String,
}

/// Returns the warnings on a model, those of a transport once each, in the order of its traffic.
pub fn warnings(model: &Model) -> Vec<Warning> {
    let mut found: Vec<Warning> = Vec::new();
    for entry in &model.traffic {
        let transport = entry.transport.info().name;
        let texts = [
            ("marks", marks::warning(model, entry)),
            ("lossless", losses::lossless(model, entry)),
            ("headroom", losses::headroom(model, entry)),
            ("first-windows", losses::first_windows(model, entry)),
            ("openings", losses::openings(entry)),
            ("trimming", trims::warning(model, entry)),
            ("collapse", collapse::warning(model, entry)),
            ("paths", paths::credits(model, entry).or_else(|| paths::entropies(model, entry))),
        ];
        for (kind, text) in texts {
            let warning = text.map(|text| Warning { transport, kind, text });
            found.extend(warning.filter(|warning| !found.contains(warning)));
        }
    }
    found
}
