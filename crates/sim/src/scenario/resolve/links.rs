//! The links that differ from their shape, fail, or lose packets.

use crate::model::{Fault, LinkChange};
use crate::scenario::document::{Document, Path};
use crate::scenario::error::Result;
use crate::scenario::field::{Direction, Links, Noticed, Pair, QueuesWord};
use crate::scenario::schema::*;
use crate::scenario::shapes::has;
use clearway_topology::{PortId, Topology};
use clearway_units::{Rate, Span, Time};
use std::collections::BTreeMap;

/// A port that loses packets, and the probability that it loses one.
type Loss = (PortId, f64);

/// Returns the network with the links that `[[link]]` changes, and those tables.
pub(super) fn with_links(document: &Document, described: Topology) -> Result<(Topology, Vec<LinkTable>)> {
    let (mut topology, mut tables) = (described, Vec::new());
    for (at, table) in document.read_list::<LinkTable>(&Path::default().key("link"))? {
        let port =
            link(&topology, &table.link.0).map_err(|problem| document.error(&at.key("link"), problem))?;
        if table.rate.is_none() && table.delay.is_none() {
            return Err(document.error(&at, "changes nothing; write a rate or a delay"));
        }
        let is = *topology.port(port);
        topology.set_link(port, table.rate.unwrap_or(is.rate), table.delay.unwrap_or(is.delay));
        tables.push(table);
    }
    Ok((topology, tables))
}

/// Returns the port of the first end of a link towards the second.
pub(super) fn link(topology: &Topology, Pair(a, b): &Pair<String>) -> std::result::Result<PortId, String> {
    let node = |name: &String| topology.node(name).ok_or_else(|| topology.names().no_node(name));
    let (from, to) = (node(a)?, node(b)?);
    topology.port_between(from, to).ok_or_else(|| {
        let neighbours = topology.ports_of(from).iter().map(|&port| topology.name(topology.port(port).to));
        let neighbours: Vec<&str> = neighbours.take(10).collect();
        format!("no link joins {a} and {b}; {a} is linked to {}", neighbours.join(", "))
    })
}

fn directions(port: PortId, direction: Direction) -> Vec<PortId> {
    match direction {
        Direction::Both => vec![port, port.reverse()],
        Direction::Forward => vec![port],
        Direction::Backward => vec![port.reverse()],
    }
}

pub(super) fn read_faults(
    document: &Document,
    topology: &Topology,
    stop: Option<Time>,
) -> Result<(Vec<Fault>, Vec<FaultTable>)> {
    let mut tables = document.read_list::<FaultTable>(&Path::default().key("fault"))?;
    let mut faults = Vec::new();
    // The times at which each port is down or slower already, and whether it is slower.
    let mut known: BTreeMap<PortId, Vec<(Time, Time, bool)>> = BTreeMap::new();
    for (at, table) in &mut tables {
        let refuse = |(key, problem): (&str, String)| document.error(&at.key(key), problem);
        let ports = failing(topology, table).map_err(refuse)?;
        let is_given = has(document, at, "noticed");
        check_rate(topology, table, &ports, is_given).map_err(refuse)?;
        if table.rate.is_some() {
            table.noticed = Noticed::Never;
        }
        if table.up.is_some_and(|up| up <= table.down) {
            return Err(document.error(&at.key("up"), format!("must be after down, {}", table.down)));
        }
        if let Some(stop) = stop.filter(|stop| *stop <= table.down) {
            return Err(document.error(&at.key("down"), format!("is not before the scenario's stop, {stop}")));
        }
        for port in ports {
            let changes = changes(table, port, topology.port(port).rate);
            // Until routing has noticed that the link is up again, another failure would be a part of this one.
            let until = changes.get(1).map_or(Time::MAX, |change| change.noticed.unwrap_or(change.at));
            let known = known.entry(port).or_default();
            let overlaps = |(from, to, _): &&(Time, Time, bool)| table.down <= *to && *from <= until;
            if let Some(&(.., is_slower)) = known.iter().find(overlaps) {
                let problem = if is_slower || table.rate.is_some() {
                    "another fault of the link lasts at that time, or begins before this one ends; let the two faults not \
                     overlap"
                } else {
                    "the link is down at that time already, or routing has not noticed that it is up; let the two faults \
                     not overlap"
                };
                return Err(document.error(&at.key("down"), problem));
            }
            known.push((table.down, until, table.rate.is_some()));
            faults.extend(changes);
        }
    }
    faults.sort_by_key(|fault| (fault.at, fault.port));
    Ok((faults, tables.into_iter().map(|(_, table)| table).collect()))
}

/// Returns the ports that a fault concerns; the error names the key that is wrong.
fn failing(
    topology: &Topology,
    table: &FaultTable,
) -> std::result::Result<Vec<PortId>, (&'static str, String)> {
    match (&table.link, &table.switch) {
        (Some(ends), None) => {
            let port = link(topology, &ends.0).map_err(|problem| ("link", problem))?;
            Ok(directions(port, table.direction))
        }
        (None, Some(name)) => {
            let node = topology.node(name).ok_or_else(|| ("switch", topology.names().no_node(name)))?;
            if topology.is_host(node) {
                return Err(("switch", format!("{name} is a host; write link = [\"{name}\", its switch]")));
            }
            if table.direction != Direction::Both {
                return Err(("direction", "a switch fails in both directions; leave this key out".into()));
            }
            Ok(topology.ports_of(node).iter().flat_map(|&port| [port, port.reverse()]).collect())
        }
        (None, None) => Err(("link", "is missing; write the two ends of a link, or a switch".into())),
        (Some(_), Some(_)) => {
            Err(("switch", "stands beside link; write either a link or a switch that fails".into()))
        }
    }
}

/// Refuses a rate that makes a link no slower, a notice of it, and queues that cannot follow it; the error names the key that is
/// wrong. `is_given` is set if the scenario says when routing takes notice.
fn check_rate(
    topology: &Topology,
    table: &FaultTable,
    ports: &[PortId],
    is_given: bool,
) -> std::result::Result<(), (&'static str, String)> {
    let Some(rate) = table.rate else {
        let problem =
            "means nothing without rate, since a link that is down has no queue; remove it, or write rate";
        let is_kept = table.queues == QueuesWord::Kept;
        return if is_kept { Ok(()) } else { Err(("queues", problem.into())) };
    };
    if let Some(&port) = ports.iter().find(|&&port| topology.port(port).rate <= rate) {
        let (name, of_link) = (topology.port_name(port), topology.port(port).rate);
        return Err(("rate", format!("must be below the rate of {name}, {of_link}; write less")));
    }
    if table.queues == QueuesWord::Scaled && (table.down > Time::ZERO || table.up.is_some()) {
        let problem = "\"scaled\" means a link that is slow throughout the run; write down = \"0 s\" and no up, or leave this key out";
        return Err(("queues", problem.into()));
    }
    if is_given && table.noticed != Noticed::Never {
        let problem = "means nothing beside rate, since routing takes no notice of a slower link; remove it";
        return Err(("noticed", problem.into()));
    }
    Ok(())
}

/// Returns the changes of a port by a fault: that it fails, or becomes slower than `full`, and, if ever, that it recovers.
fn changes(table: &FaultTable, port: PortId, full: Rate) -> Vec<Fault> {
    let after = match table.noticed {
        Noticed::AtOnce => Some(Span::ZERO),
        Noticed::After(time) => Some(time),
        Noticed::Never => None,
    };
    // Routing notices a failure that lasts.
    let lasts = |time: &Span| table.up.is_none_or(|up| table.down.saturating_add(*time) < up);
    let after = after.filter(lasts);
    let scales = table.queues == QueuesWord::Scaled;
    let change = |at: Time, change| Fault {
        at,
        port,
        change,
        noticed: after.map(|time| at.saturating_add(time)),
        scales,
    };
    let [begins, ends] = match table.rate {
        None => [LinkChange::Down, LinkChange::Up],
        Some(rate) => [rate, full].map(LinkChange::Rate),
    };
    std::iter::once(change(table.down, begins)).chain(table.up.map(|at| change(at, ends))).collect()
}

pub(super) fn read_loss(document: &Document, topology: &Topology) -> Result<(Vec<Loss>, Vec<LossTable>)> {
    let tables = document.read_list::<LossTable>(&Path::default().key("loss"))?;
    let ports = || (0..topology.ports().len() as u32).map(PortId);
    let mut loss: BTreeMap<PortId, f64> = BTreeMap::new();
    loss.extend(ports().map(|port| (port, topology.loss(port))));
    for (at, table) in &tables {
        let on: Vec<PortId> = match &table.link {
            Links::All if table.direction != Direction::Both => {
                let problem = "all links have no common direction; name a link, or leave this key out";
                return Err(document.error(&at.key("direction"), problem));
            }
            Links::All => ports().collect(),
            Links::Between(ends) => {
                let port =
                    link(topology, ends).map_err(|problem| document.error(&at.key("link"), problem))?;
                directions(port, table.direction)
            }
        };
        loss.extend(on.into_iter().map(|port| (port, table.probability)));
    }
    let loss = loss.into_iter().filter(|(_, probability)| *probability > 0.0).collect();
    Ok((loss, tables.into_iter().map(|(_, table)| table).collect()))
}

/// Returns the table that says how often a port loses packets: the last one that names its link. `None` if the topology
/// says so.
pub(super) fn loss_of(topology: &Topology, tables: &[LossTable], port: PortId) -> Option<usize> {
    let is_meant = |table: &LossTable| match &table.link {
        Links::All => true,
        Links::Between(ends) => leads_over(topology, ends, table.direction, port),
    };
    tables.iter().rposition(is_meant)
}

/// Returns the table that lets the link of a port fail for good.
pub(super) fn fault_of(topology: &Topology, tables: &[FaultTable], port: PortId) -> Option<usize> {
    let is_meant = |table: &FaultTable| {
        table.up.is_none() && failing(topology, table).is_ok_and(|ports| ports.contains(&port))
    };
    tables.iter().position(is_meant)
}

/// Returns whether a port is that of a link in a direction.
fn leads_over(topology: &Topology, ends: &Pair<String>, direction: Direction, port: PortId) -> bool {
    link(topology, ends).is_ok_and(|first| directions(first, direction).contains(&port))
}
