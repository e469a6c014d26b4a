//! What is watched, and how often.

use super::links::link;
use super::traffic::ReadPart;
use super::{Both, Result, free_name};
use crate::model::{Probe, Sample};
use crate::scenario::document::{Document, Path};
use crate::scenario::field::{Name, Pair, Ports, What};
use crate::scenario::schema::*;
use crate::scenario::shapes::has;
use clearway_schema::{Field, suggestion};
use clearway_topology::{PortId, Topology};
use clearway_units::Span;

/// Time between samples where a scenario does not say.
const SAMPLE_EVERY: Span = Span::from_us(100);

pub(super) fn read_samples(
    document: &Document,
    topology: &Topology,
    parts: &[ReadPart],
    has_credits: bool,
) -> Result<Both<Sample, SampleTable>> {
    let mut tables = document.read_list::<SampleTable>(&Path::default().key("sample"))?;
    let given: Vec<Option<Name>> = tables.iter().map(|(_, table)| table.name.clone()).collect();
    let mut samples: Vec<Sample> = Vec::new();
    for (index, (at, table)) in tables.iter_mut().enumerate() {
        let word = table.what.write().unwrap_or_default();
        let of_traffic = matches!(table.what, What::Throughput | What::Sender | What::Rtt);
        let misplaced = [
            (if of_traffic { "ports" } else { "traffic" }, true),
            // It is the acknowledgements that say when.
            ("every", table.what == What::Rtt),
        ];
        if let Some((key, _)) = misplaced.into_iter().find(|(key, is)| *is && has(document, at, key)) {
            return Err(document.error(&at.key(key), format!("means nothing with what = {word}; remove it")));
        }
        let name = match &table.name {
            Some(name) if given[..index].contains(&Some(name.clone())) => {
                return Err(
                    document.error(&at.key("name"), "is taken by an earlier sample; write another name")
                );
            }
            Some(name) => name.0.clone(),
            None => free_name(word.trim_matches('"'), |name| {
                given.contains(&Some(Name(name.into()))) || samples.iter().any(|sample| sample.name == name)
            }),
        };
        let what = match table.what {
            What::Throughput => Probe::Throughput(sampled_traffic(document, at, table, parts)?),
            What::Sender => Probe::Sender(sampled_traffic(document, at, table, parts)?),
            What::Rtt => Probe::Rtt(sampled_traffic(document, at, table, parts)?),
            What::Queue => Probe::Queue(sampled_ports(document, at, table, topology)?),
            What::CreditQueue if !has_credits => {
                let problem = "there are no credits, since no transport of the scenario uses them";
                return Err(document.error(&at.key("what"), problem));
            }
            What::CreditQueue => Probe::CreditQueue(sampled_ports(document, at, table, topology)?),
            What::Rate => Probe::PortRate(sampled_ports(document, at, table, topology)?),
        };
        table.name = Some(Name(name.clone()));
        let every = match what {
            Probe::Rtt(_) => Span::MAX,
            _ => *table.every.get_or_insert(SAMPLE_EVERY),
        };
        samples.push(Sample { name, every, what });
    }
    Ok((samples, tables.into_iter().map(|(_, table)| table).collect()))
}

fn sampled_traffic(
    document: &Document,
    at: &Path,
    table: &mut SampleTable,
    parts: &[ReadPart],
) -> Result<usize> {
    let names = || parts.iter().map(|part| part.traffic.name.as_str());
    let path = at.key("traffic");
    let known = || names().take(20).collect::<Vec<_>>().join(", ");
    let index = match &table.traffic {
        None if parts.len() == 1 => 0,
        None => return Err(document.error(&path, format!("is missing; write one of {}", known()))),
        Some(name) => names().position(|other| other == name.0).ok_or_else(|| {
            let hint = suggestion(&name.0, names());
            document.error(&path, format!("is no part of the traffic{hint} (known: {})", known()))
        })?,
    };
    table.traffic = Some(Name(parts[index].traffic.name.clone()));
    Ok(index)
}

fn sampled_ports(
    document: &Document,
    at: &Path,
    table: &mut SampleTable,
    topology: &Topology,
) -> Result<Vec<PortId>> {
    let all = || (0..topology.ports().len() as u32).map(PortId);
    let of_host = |port: &PortId| topology.is_host(topology.port(*port).from);
    let ports = table.ports.get_or_insert(Ports::Switches);
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
