//! Sentences on several transports beside each other.

use crate::ahead;
use crate::finding::{Finding, Kind};
use crate::one::{IDLE, LIMITS, amount_lost, capital, why};
use crate::side::Side;
use crate::text::{list, many, percent, rate, size};

/// The most transports that a sentence lists; of more it names the first and the last.
const LISTED: usize = 4;
/// The most findings.
const MOST: usize = 5;

pub fn findings(sides: &[Side]) -> Vec<Finding> {
    let mut found = ahead::findings(sides);
    found.extend(carried(sides).map(|text| Finding::new(Kind::Flows, text)));
    found.push(Finding::new(Kind::Queue, queues(sides)));
    found.push(Finding::new(Kind::Lost, losses(sides)));
    found.extend(limits(sides).map(|text| Finding::new(Kind::Limit, text)));
    found.truncate(MOST);
    found
}

/// What flows without an end carried.
fn carried(sides: &[Side]) -> Option<String> {
    let told: Vec<String> = sides
        .iter()
        .filter_map(|side| {
            let carried = side.mean(|run| run.endless.as_ref().map(|one| one.rate_bps))?;
            let jain = side.mean(|run| run.endless.as_ref().and_then(|one| one.jain));
            let shares = jain.map_or(String::new(), |jain| format!(" with a Jain index of {jain:.3}"));
            Some(format!("{}{shares} under {}", rate(carried), side.name))
        })
        .collect();
    (!told.is_empty()).then(|| format!("Flows without an end carried {}.", list(&told)))
}

/// The longest queue of each, and why it is where it is.
fn queues(sides: &[Side]) -> String {
    let mut order: Vec<&Side> = sides.iter().collect();
    let bytes = |side: &Side| side.queue().map_or(0.0, |queue| queue.bytes);
    order.sort_by(|one, other| bytes(one).total_cmp(&bytes(other)));
    let longest = order[order.len() - 1];
    let Some(queue) = longest.queue() else {
        return "No data waited at a switch under any of them.".into();
    };
    if order.len() > LISTED {
        order = vec![order[0], longest];
    }
    let told: Vec<String> =
        order.iter().map(|side| format!("{} under {}", size(bytes(side)), side.name)).collect();
    let is_same = order.iter().filter_map(|side| side.queue()).all(|one| one.port == queue.port);
    let place =
        if is_same { format!(", at {}", queue.port) } else { format!("; the last is at {}", queue.port) };
    let why = why(queue).map_or(String::new(), |why| format!(", {why}"));
    format!("The longest queue was {}{place}{why}.", list(&told))
}

/// What each lost.
fn losses(sides: &[Side]) -> String {
    let (losing, whole): (Vec<&Side>, Vec<&Side>) =
        sides.iter().partition(|side| side.sum(|run| run.drops.all) > 0);
    let timers = |side: &Side| side.sum(|run| run.timeouts);
    if losing.is_empty() {
        let waited: Vec<String> = whole
            .iter()
            .filter(|side| timers(side) > 0)
            .map(|side| format!("{} under {}", many(timers(side), "retransmission timer"), side.name))
            .collect();
        let tail = if waited.is_empty() { String::new() } else { format!(", but {} expired", list(&waited)) };
        return format!("No packet was lost{tail}.");
    }
    let mut told: Vec<String> = losing
        .iter()
        .take(LISTED)
        .map(|side| {
            let expired = match timers(side) {
                0 => String::new(),
                number => format!(" and saw {} expire", many(number, "retransmission timer")),
            };
            format!("{} lost {}{expired}", side.name, amount_lost(side))
        })
        .collect();
    if losing.len() > LISTED {
        told.push(format!("{} others lost packets too", losing.len() - LISTED));
    }
    let names: Vec<String> = whole.iter().take(LISTED).map(|side| side.name.to_owned()).collect();
    match (whole.len(), whole.len() <= LISTED) {
        (0, _) => {}
        (_, true) => told.push(format!("{} lost none", list(&names))),
        (_, false) => told.push("the others lost none".into()),
    }
    format!("{}.", told.join("; "))
}

/// How busy the busiest link was under each, and what credits found nothing to send.
fn limits(sides: &[Side]) -> Option<String> {
    let mut order: Vec<(&Side, f64)> = sides
        .iter()
        .filter_map(|side| Some((side, side.mean(|run| run.busiest.as_ref().map(|link| link.busy))?)))
        .collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (least, most) = (order.first()?.1, order.last()?.1);
    let ports: Vec<&str> =
        order.iter().filter_map(|(side, _)| Some(side.runs[0].busiest.as_ref()?.port.as_str())).collect();
    let link = if ports.iter().all(|port| *port == ports[0]) {
        format!("the link {}", ports[0])
    } else {
        "the busiest link".to_owned()
    };
    let shown = if order.len() > LISTED { vec![order[0], order[order.len() - 1]] } else { order };
    let told: Vec<String> =
        shown.iter().map(|(side, busy)| format!("{} under {}", percent(*busy), side.name)).collect();
    let busy = format!("{} was busy for {}", capital(&link), list(&told).replacen(" %", " % of the time", 1));
    let verdict = if least >= LIMITS {
        ", so it limits"
    } else if most < IDLE {
        ", so no link limits"
    } else {
        ""
    };
    let waste: Vec<String> = sides
        .iter()
        .filter_map(|side| Some((side, side.mean(|run| run.credit_waste).filter(|waste| *waste >= 0.001)?)))
        .take(LISTED)
        .map(|(side, waste)| format!("{} of the credits of {}", percent(waste), side.name))
        .collect();
    let unused =
        if waste.is_empty() { String::new() } else { format!("; {} found nothing to send", list(&waste)) };
    Some(format!("{busy}{verdict}{unused}."))
}
