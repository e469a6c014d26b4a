//! Transports made for switches that trim where switches drop, and the other way round.

use super::places::class_at_switches;
use super::queues;
use crate::model::{Model, Traffic};

/// Warns of a transport that hears of losses from switches that trim, where they drop, and of parameters that are made for the
/// other kind of switch.
pub fn warning(model: &Model, entry: &Traffic) -> Option<String> {
    let needs = entry.transport.needs();
    let class = class_at_switches(model, entry);
    if model.switch.classes[class].leaves_headers().is_some() {
        let parameter = needs.for_dropping?;
        return Some(format!(
            "takes packets for lost because later ones have arrived ({parameter}), which is made for switches that drop, and here \
             they trim and the receiver asks for what was cut; leave {parameter} out, or write trimming = false beside it"
        ));
    }
    let longest = queues::longest(model, class).filter(|_| !is_lossless(model, class))?;
    if needs.trimming.is_some() {
        return Some(format!(
            "hears of packets without room from switches that cut them to their headers, and here a switch drops what exceeds a \
             queue of {longest} (trim = false), which a timeout has to find; leave trim out"
        ));
    }
    let parameter = needs.for_trimming?;
    Some(format!(
        "takes each timeout for a path that failed ({parameter}), which is made for switches that trim, and here they drop what \
         exceeds a queue of {longest}; let them trim, or choose paths in another way"
    ))
}

/// Returns whether flow control keeps a class from losing packets.
fn is_lossless(model: &Model, class: usize) -> bool {
    model.pfc.as_ref().is_some_and(|pfc| pfc.lossless[class])
}
