//! The traces.

use super::super::names::Names;
use super::samples::sampled_ports;
use super::traffic::ReadPart;
use crate::model::{FlowRange, Pattern, Trace};
use crate::scenario::document::{Document, Path};
use crate::scenario::error::Result;
use crate::scenario::field::{FlowsRef, FormatWord, Name, Ports};
use crate::scenario::schema::*;
use crate::scenario::traffic::Surroundings;
use clearway_schema::suggestion;
use clearway_topology::PortId;

/// The length limit of a trace's name, in bytes, since the names of files have it in them.
const NAME_MAX: usize = 60;

pub(super) fn read_traces(
    surroundings: &Surroundings<'_>,
    parts: &[ReadPart],
) -> Result<(Vec<Trace>, Vec<TraceTable>)> {
    let document = surroundings.document;
    let tables = document.read_list::<TraceTable>(&Path::default().key("trace"))?;
    let given: Vec<Option<Name>> = tables.iter().map(|(_, table)| table.name.clone()).collect();
    let mut names = Names::new(given.iter().flatten().map(|name| name.0.as_str()));
    let (mut traces, mut written): (Vec<Trace>, Vec<TraceTable>) = (Vec::new(), Vec::new());
    for (index, (at, table)) in tables.into_iter().enumerate() {
        let name = match &table.name {
            Some(name) => {
                let path = at.key("name");
                if given[..index].contains(&Some(name.clone())) {
                    return Err(document.error(&path, "is taken by an earlier trace; write another name"));
                }
                let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                if !name.0.chars().all(is_safe) || name.0.len() > NAME_MAX {
                    let problem = format!(
                        "names a file; write at most {NAME_MAX} letters, digits, \"-\" and \"_\", such as \"incast\""
                    );
                    return Err(document.error(&path, problem));
                }
                name.0.clone()
            }
            None => names.free("packets"),
        };
        if table.until.is_some_and(|until| until <= table.from) {
            let problem = format!("must be later than from = {:?}", table.from.to_string());
            return Err(document.error(&at.key("until"), problem));
        }
        let flows =
            table.flows.as_deref().map(|flows| flow_ranges(document, &at, flows, parts)).transpose()?;
        let formats = table.format.clone().unwrap_or(vec![FormatWord::Pcapng, FormatWord::Perfetto]);
        if formats.is_empty() {
            return Err(document.error(&at.key("format"), "is empty; write [\"pcapng\", \"perfetto\"]"));
        }
        traces.push(Trace {
            name: name.clone(),
            ports: traced_ports(surroundings, &at, &table)?,
            flows,
            from: table.from,
            until: table.until,
            limit: table.limit,
            formats: formats.iter().map(|format| format.format()).collect(),
        });
        let all = table.ports.is_none() && table.hosts.is_none();
        written.push(TraceTable {
            name: Some(Name(name)),
            ports: if all { Some(Ports::All) } else { table.ports },
            format: Some(formats),
            ..table
        });
    }
    Ok((traces, written))
}

/// Returns the flows that a table names.
fn flow_ranges(
    document: &Document,
    at: &Path,
    flows: &[FlowsRef],
    parts: &[ReadPart],
) -> Result<Vec<FlowRange>> {
    let path = at.key("flows");
    let names = || parts.iter().map(|part| part.traffic.name.as_str());
    if flows.is_empty() {
        let example = names().next().unwrap_or("web");
        return Err(document.error(&path, format!("is empty; write a list such as [\"{example}/0..9\"]")));
    }
    let find = |(index, flows): (usize, &FlowsRef)| {
        let traffic = names().position(|name| name == flows.traffic).ok_or_else(|| {
            let known = names().take(20).collect::<Vec<_>>().join(", ");
            let hint = suggestion(&flows.traffic, names());
            let problem = format!("{:?} is no traffic entry{hint} (known: {known})", flows.traffic);
            document.error(&path.index(index), problem)
        })?;
        let pattern = &parts[traffic].traffic.pattern;
        let count = match pattern {
            // Rounds number their connections, of which there may be more than flows at a time.
            Pattern::Rounds(_) => None,
            Pattern::Messages(messages) => Some(messages.connections().len() as u64),
            _ => pattern.expected(),
        };
        if let (Some(numbers), Some(count)) = (&flows.numbers, count)
            && *numbers.end() >= count
        {
            let problem = format!("{} has {count} flows, numbered from 0", flows.traffic);
            return Err(document.error(&path.index(index), problem));
        }
        Ok(FlowRange { traffic, numbers: flows.numbers.clone().unwrap_or(0..=u64::MAX) })
    };
    flows.iter().enumerate().map(find).collect()
}

/// Returns the ports that a table names, in their order: those of `ports`, and both ports of the links of `hosts`.
fn traced_ports(surroundings: &Surroundings<'_>, at: &Path, table: &TraceTable) -> Result<Vec<PortId>> {
    let Surroundings { document, topology, .. } = *surroundings;
    let mut ports = match (&table.ports, &table.hosts) {
        (Some(ports), _) => sampled_ports(document, at, ports, topology)?,
        (None, Some(_)) => Vec::new(),
        (None, None) => sampled_ports(document, at, &Ports::All, topology)?,
    };
    let path = at.key("hosts");
    if table.hosts.as_ref().is_some_and(Vec::is_empty) {
        return Err(document.error(&path, "is empty; write a list such as [\"h0\"]"));
    }
    for (index, host) in table.hosts.iter().flatten().enumerate() {
        let node =
            surroundings.find_host(host).map_err(|problem| document.error(&path.index(index), problem))?;
        ports.extend(topology.ports_of(node).iter().flat_map(|&port| [port, port.reverse()]));
    }
    ports.sort();
    ports.dedup();
    Ok(ports)
}
