//! Warnings on a model: a signal that can't occur, or a transport outside of what it was made for.
//!
//! Such a model runs and its books balance, but what it shows is not what the transport does where it is used. Whoever
//! compares transports has to know it before the numbers, so every table and page says it.
//!
//! | module | purpose |
//! |---|---|
//! | `queues` | the longest queue that a class can have at a port |
//! | `marks` | marks that never come, and thresholds below those of DCTCP's paper |
//! | `losses` | transports made for lossless networks, headrooms, first windows beyond the buffer |
//! | `paths` | credits that don't return by the way of their data |

mod losses;
mod marks;
mod paths;
mod queues;
#[cfg(test)]
mod tests;

use crate::model::{Model, Traffic};
use clearway_topology::{PortId, Topology};
use clearway_units::Bytes;

/// A warning: what is not as the transport needs it, in a sentence that names the key and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// The name of the transport that it is about.
    pub transport: &'static str,
    /// The kind, by which the warnings of many runs are told apart: `marks`, `lossless`, `headroom`, `first-windows`,
    /// `openings` or `paths`.
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
            ("paths", paths::credits(model, entry)),
        ];
        for (kind, text) in texts {
            let warning = text.map(|text| Warning { transport, kind, text });
            found.extend(warning.filter(|warning| !found.contains(warning)));
        }
    }
    found
}

/// Returns a size to three digits, as warnings name those that nobody wrote.
fn about(size: Bytes) -> Bytes {
    let digits = size.get().checked_ilog10().unwrap_or(0);
    let unit = 10u64.pow(digits.saturating_sub(2));
    Bytes::new((size.get() + unit / 2) / unit * unit)
}

/// Returns the class that data of an entry joins at switches.
fn class_at_switches(model: &Model, entry: &Traffic) -> usize {
    model.switch.classes[entry.class].at_switches.unwrap_or(entry.class)
}

/// Returns the ports of switches.
fn switch_ports(topology: &Topology) -> impl Iterator<Item = PortId> {
    let of_switch = |port: &PortId| !topology.is_host(topology.port(*port).from);
    (0..topology.ports().len()).map(PortId::from_index).filter(of_switch)
}
