//! The links that differ from their shape, fail, or lose packets.

use crate::model::Fault;
use crate::scenario::document::{Document, Path};
use crate::scenario::error::Result;
use crate::scenario::field::{Direction, Links, Pair};
use crate::scenario::schema::*;
use clearway_topology::{PortId, Topology};
use clearway_units::{Time, sort_by_key};
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
    let node = |name: &String| topology.node(name).ok_or_else(|| topology.no_node(name));
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
    let tables = document.read_list::<FaultTable>(&Path::default().key("fault"))?;
    let mut faults = Vec::new();
    // The times at which each port is down already.
    let mut downs: BTreeMap<PortId, Vec<_>> = BTreeMap::new();
    for (at, table) in &tables {
        let port =
            link(topology, &table.link.0).map_err(|problem| document.error(&at.key("link"), problem))?;
        if table.up.is_some_and(|up| up <= table.down) {
            return Err(document.error(&at.key("up"), format!("must be after down, {}", table.down)));
        }
        if let Some(stop) = stop.filter(|stop| *stop <= table.down) {
            return Err(document.error(&at.key("down"), format!("is not before the scenario's stop, {stop}")));
        }
        for port in directions(port, table.direction) {
            let until = table.up.unwrap_or(Time::MAX);
            let known = downs.entry(port).or_default();
            if known.iter().any(|&(from, to)| table.down <= to && from <= until) {
                let problem = "the link is down at that time already; let the two faults not overlap";
                return Err(document.error(&at.key("down"), problem));
            }
            known.push((table.down, until));
            faults.push(Fault { at: table.down, port, up: false });
            faults.extend(table.up.map(|at| Fault { at, port, up: true }));
        }
    }
    sort_by_key(&mut faults, |fault| (fault.at, fault.port));
    Ok((faults, tables.into_iter().map(|(_, table)| table).collect()))
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
    let is_meant =
        |table: &FaultTable| table.up.is_none() && leads_over(topology, &table.link.0, table.direction, port);
    tables.iter().position(is_meant)
}

/// Returns whether a port is that of a link in a direction.
fn leads_over(topology: &Topology, ends: &Pair<String>, direction: Direction, port: PortId) -> bool {
    link(topology, ends).is_ok_and(|first| directions(first, direction).contains(&port))
}
