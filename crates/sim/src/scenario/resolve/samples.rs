//! The sampled series.

use super::super::names::Names;
use super::links::link;
use super::traffic::ReadPart;
use crate::model::{Probe, Sample};
use crate::scenario::document::{Document, Path};
use crate::scenario::error::Result;
use crate::scenario::field::{Name, Pair, Ports, ProbeWord};
use crate::scenario::schema::*;
use crate::scenario::shapes::has;
use clearway_schema::{quoted, suggestion};
use clearway_topology::{PortId, Topology};
use clearway_units::Span;

/// The default time between samples.
const SAMPLE_EVERY: Span = Span::from_us(100);

/// What the ports of a scenario have, so that it can be sampled.
#[derive(Clone, Copy)]
pub(super) struct Has {
    /// True if a transport uses credits.
    pub credits: bool,
    /// True if there is flow control.
    pub flow_control: bool,
    /// True if queues of switches trim.
    pub trimming: bool,
}

pub(super) fn read_samples(
    document: &Document,
    topology: &Topology,
    parts: &[ReadPart],
    has: Has,
) -> Result<(Vec<Sample>, Vec<SampleTable>)> {
    let tables = document.read_list::<SampleTable>(&Path::default().key("sample"))?;
    let given: Vec<Option<Name>> = tables.iter().map(|(_, table)| table.name.clone()).collect();
    let mut names = Names::new(given.iter().flatten().map(|name| name.0.as_str()));
    let (mut samples, mut written): (Vec<Sample>, Vec<SampleTable>) = (Vec::new(), Vec::new());
    for (index, (at, table)) in tables.into_iter().enumerate() {
        check_place(document, &at, &table)?;
        let name = match &table.name {
            Some(name) if given[..index].contains(&Some(name.clone())) => {
                return Err(
                    document.error(&at.key("name"), "is taken by an earlier sample; write another name")
                );
            }
            Some(name) => name.0.clone(),
            None => names.free(&table.what.to_string()),
        };
        let (what, table) = probe(document, &at, table, topology, parts)?;
        check_sense(document, &at, &what, parts, has)?;
        let every = table.every.unwrap_or(SAMPLE_EVERY);
        let is_timed = !matches!(what, Probe::Rtt(_));
        let table = SampleTable { name: Some(Name(name.clone())), every: is_timed.then_some(every), ..table };
        samples.push(Sample { name, every: if is_timed { every } else { Span::MAX }, what });
        written.push(table);
    }
    Ok((samples, written))
}

/// Refuses keys that mean nothing for what the series shows.
fn check_place(document: &Document, at: &Path, table: &SampleTable) -> Result<()> {
    use ProbeWord::*;
    let of_traffic = matches!(
        table.what,
        Throughput | Sender | Rtt | Window | SendingRate | CreditRate | Losses | Notices
    );
    // An RTT is sampled when an acknowledgement arrives, and at no other time.
    let misplaced = [(if of_traffic { "ports" } else { "traffic" }, true), ("every", table.what == Rtt)];
    match misplaced.into_iter().find(|(key, is)| *is && has(document, at, key)) {
        None => Ok(()),
        Some((key, _)) => {
            let problem = format!("means nothing with what = {}; remove it", quoted(&table.what.to_string()));
            Err(document.error(&at.key(key), problem))
        }
    }
}

/// Returns the quantity that a table asks for, and the table with its traffic or its ports filled in.
fn probe(
    document: &Document,
    at: &Path,
    table: SampleTable,
    topology: &Topology,
    parts: &[ReadPart],
) -> Result<(Probe, SampleTable)> {
    let of_traffic = |probe: fn(usize) -> Probe, table: SampleTable| {
        let index = sampled_traffic(document, at, &table, parts)?;
        let traffic = Some(Name(parts[index].traffic.name.clone()));
        Ok((probe(index), SampleTable { traffic, ..table }))
    };
    let of_ports = |probe: fn(Vec<PortId>) -> Probe, table: SampleTable| {
        let chosen = table.ports.clone().unwrap_or(Ports::Switches);
        let ports = sampled_ports(document, at, &chosen, topology)?;
        Ok((probe(ports), SampleTable { ports: Some(chosen), ..table }))
    };
    match table.what {
        ProbeWord::Throughput => of_traffic(Probe::Throughput, table),
        ProbeWord::Sender => of_traffic(Probe::Sender, table),
        ProbeWord::Rtt => of_traffic(Probe::Rtt, table),
        ProbeWord::Queue => of_ports(Probe::Queue, table),
        ProbeWord::Rate => of_ports(Probe::PortRate, table),
        ProbeWord::CreditQueue => of_ports(Probe::CreditQueue, table),
        ProbeWord::Window => of_traffic(Probe::Window, table),
        ProbeWord::SendingRate => of_traffic(Probe::SendingRate, table),
        ProbeWord::CreditRate => of_traffic(Probe::CreditRate, table),
        ProbeWord::Losses => of_traffic(Probe::Losses, table),
        ProbeWord::Notices => of_traffic(Probe::Notices, table),
        ProbeWord::Drops => of_ports(Probe::Drops, table),
        ProbeWord::Marks => of_ports(Probe::Marks, table),
        ProbeWord::Trims => of_ports(Probe::Trims, table),
        ProbeWord::CreditDrops => of_ports(Probe::CreditDrops, table),
        ProbeWord::Pauses => of_ports(Probe::Pauses, table),
    }
}

/// Refuses a series that would be empty, since nothing in the scenario has the quantity.
fn check_sense(document: &Document, at: &Path, probe: &Probe, parts: &[ReadPart], has: Has) -> Result<()> {
    let transport = |entry: usize| &parts[entry].traffic.transport;
    let problem = match probe {
        Probe::CreditQueue(_) | Probe::CreditDrops(_) if !has.credits => {
            "there are no credits, since no transport of the scenario uses them".into()
        }
        Probe::CreditRate(entry) if transport(*entry).needs().credits.is_none() => {
            format!("there are no credits, since {} uses none", transport(*entry).info().name)
        }
        Probe::Notices(entry) if !transport(*entry).info().counts_cnps => {
            format!(
                "there are no notifications of congestion, since {} counts none",
                transport(*entry).info().name
            )
        }
        Probe::Trims(_) if !has.trimming => {
            "nothing is trimmed, since no transport of the scenario asks for it".into()
        }
        Probe::Pauses(_) if !has.flow_control => {
            "there are no pauses, since the scenario has no flow control; set switch.pfc = true".into()
        }
        _ => return Ok(()),
    };
    Err(document.error(&at.key("what"), problem))
}

/// Returns the index of the traffic entry that a table names. The name may be left out if there is one entry.
fn sampled_traffic(document: &Document, at: &Path, table: &SampleTable, parts: &[ReadPart]) -> Result<usize> {
    let names = || parts.iter().map(|part| part.traffic.name.as_str());
    let path = at.key("traffic");
    let known = || names().take(20).collect::<Vec<_>>().join(", ");
    match &table.traffic {
        None if parts.len() == 1 => Ok(0),
        None => Err(document.error(&path, format!("is missing; write one of {}", known()))),
        Some(name) => names().position(|other| other == name.0).ok_or_else(|| {
            let hint = suggestion(&name.0, names());
            document.error(&path, format!("is no traffic entry{hint} (known: {})", known()))
        }),
    }
}

/// Returns the ports that a table names.
pub(super) fn sampled_ports(
    document: &Document,
    at: &Path,
    ports: &Ports,
    topology: &Topology,
) -> Result<Vec<PortId>> {
    let all = || (0..topology.ports().len() as u32).map(PortId);
    let of_host = |port: &PortId| topology.is_host(topology.port(*port).from);
    Ok(match ports {
        Ports::All => all().collect(),
        Ports::Hosts => all().filter(of_host).collect(),
        Ports::Switches => all().filter(|port| !of_host(port)).collect(),
        Ports::List(list) => {
            let path = at.key("ports");
            if list.is_empty() {
                return Err(document.error(&path, "is empty; write a list such as [\"tor0->h3\"]"));
            }
            let find = |(index, name): (usize, &String)| {
                let ends = name.split_once("->").map(|(a, b)| Pair(a.trim().into(), b.trim().into()));
                let port = ends.map_or_else(
                    || Err("is no port; write both ends of its link, such as \"tor0->h3\"".into()),
                    |ends| link(topology, &ends),
                );
                port.map_err(|problem| document.error(&path.index(index), problem))
            };
            list.iter().enumerate().map(find).collect::<Result<_>>()?
        }
    })
}
