//! Connection matrices (`.cm`) of htsim.

use super::flow::{Flows, HtsimUnit, ListError, ListRules, ListedFlow, fail};
use super::number;
use clearway_units::{Bytes, Time};
use std::collections::BTreeMap;

const FORM: &str = "write src->dst start TIME size BYTES";

/// The counts of the header.
#[derive(Default)]
struct Header {
    /// The number of hosts of the network.
    hosts: u64,
    nodes: Option<u64>,
    /// The number of connections, and its line.
    connections: Option<(usize, u64)>,
}

impl Header {
    /// Takes a line of the header, and returns false if it is no such line.
    fn take(&mut self, line: usize, words: &[&str]) -> Result<bool, ListError> {
        let count = |name: &str| match words {
            [_, number] => number
                .parse::<u64>()
                .or_else(|_| fail(line, format!("{name}: {number:?} is no number; write one such as 16"))),
            _ => fail(line, format!("{name} has {} values for 1; write one number", words.len() - 1)),
        };
        match words[0] {
            "Nodes" => match count("Nodes")? {
                nodes if nodes != self.hosts => {
                    let hosts = self.hosts;
                    let problem = format!(
                        "Nodes: {nodes}, but the network has {hosts} hosts; correct the number or the network"
                    );
                    return fail(line, problem);
                }
                nodes => self.nodes = Some(nodes),
            },
            "Connections" => self.connections = Some((line, count("Connections")?)),
            name @ ("Triggers" | "Failures") => {
                if count(name)? > 0 {
                    return fail(line, refusal(name));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Says why a part of a connection matrix can't be simulated.
fn refusal(word: &str) -> String {
    let why = match word {
        "Failures" | "failure" => "a failed link belongs to the scenario; write it as [[fault]] there",
        "prio" => "NDP's priority of pulls has no counterpart here; remove it",
        "msg" => "messages that share a connection can't be simulated; write a flow for each",
        _ => "a flow that starts when another ends can't be simulated; give each flow a start",
    };
    format!("{word}: {why}")
}

/// Reads a connection matrix: a header with `Nodes` and `Connections`, then a line `src->dst start TIME size BYTES` for
/// each flow, with an `id` of its own that is not needed here. A flow of size 0 sends until it is stopped. Triggers, failures,
/// priorities and connections that share an id are refused, since leaving them out would simulate something else. So is
/// another number of nodes than the network has, as in htsim.
pub(super) fn parse(text: &str, rules: ListRules) -> Result<Vec<ListedFlow>, ListError> {
    let mut header = Header { hosts: rules.hosts as u64, ..Header::default() };
    let (mut flows, mut lines_of_ids) = (Flows::new(rules), BTreeMap::new());
    for (line, content) in (1..).zip(text.lines().map(str::trim)) {
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        if header.take(line, &words)? {
            continue;
        }
        match words[0].split_once("->") {
            Some(ends) => {
                let (flow, id) = connection(line, ends, &words[1..], &header, rules)?;
                // The id 0 stands for none.
                if let Some(id) = id.filter(|&id| id > 0)
                    && let Some(other) = lines_of_ids.insert(id, line)
                {
                    let problem = "connections that share an id are one to htsim, with a message each; give each its own id, or none";
                    return fail(line, format!("id: {id} is that of line {other} too: {problem}"));
                }
                flows.push(flow)?;
            }
            None if matches!(words[0], "trigger" | "failure") => return fail(line, refusal(words[0])),
            None => return fail(line, format!("{:?} is no connection; {FORM}", words[0])),
        }
    }
    let count = flows.flows.len();
    match header.connections {
        Some((line, number)) if number != count as u64 => {
            fail(line, format!("Connections: {number}, but {count} lines follow; correct the number"))
        }
        _ => Ok(flows.flows),
    }
}

/// Reads a connection. Returns its id too, if it has one.
fn connection(
    line: usize,
    (src, dst): (&str, &str),
    words: &[&str],
    header: &Header,
    rules: ListRules,
) -> Result<(ListedFlow, Option<u64>), ListError> {
    for (name, host) in [("src", src), ("dst", dst)] {
        match (host.parse::<u64>(), header.nodes) {
            (Err(_), _) => return fail(line, format!("{name}: {host:?} is no number of a host; {FORM}")),
            (Ok(number), Some(nodes)) if number >= nodes => {
                let problem =
                    format!("{name}: {number} is beyond the {nodes} nodes of the file, which count from 0");
                return fail(line, problem);
            }
            _ => {}
        }
    }
    let (mut start, mut size, mut id) = (None, None, None);
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        if matches!(word, "trigger" | "send_done_trigger" | "recv_done_trigger" | "addon" | "prio" | "msg") {
            return fail(line, refusal(word));
        }
        if !matches!(word, "start" | "size" | "id") {
            return fail(line, format!("{word:?} is no attribute of a connection; {FORM}"));
        }
        let Some(&value) = words.next() else {
            return fail(line, format!("{word} has no value; {FORM}"));
        };
        let is_first = match word {
            "start" => start.replace(start_of(line, value, rules.start_unit)?).is_none(),
            "size" => size.replace(number::bytes(line, "size", value)?).is_none(),
            _ => match value.parse::<u64>() {
                Ok(number) => id.replace(number).is_none(),
                Err(_) => return fail(line, format!("id: {value:?} is no number; write one from 1")),
            },
        };
        if !is_first {
            return fail(line, format!("{word} {value}: {word} stands there twice; remove one"));
        }
    }
    let Some(start) = start else { return fail(line, format!("has no start; {FORM}")) };
    let Some(size) = size else { return fail(line, format!("has no size; {FORM}")) };
    let size = (size > Bytes::ZERO).then_some(size);
    Ok((ListedFlow { line, start, src: src.into(), dst: dst.into(), size }, id))
}

fn start_of(line: usize, value: &str, unit: Option<HtsimUnit>) -> Result<Time, ListError> {
    let power = match unit {
        Some(HtsimUnit::Microseconds) => 6,
        Some(HtsimUnit::Picoseconds) | None => 0,
    };
    match number::time(line, "start", value, power)? {
        time if unit.is_none() && time > Time::ZERO => fail(
            line,
            format!(
                "start: {value:?} has no unit, and htsim's programs differ; set start_unit beside the path: \"ps\" for \
                 NDP, EQDS, RoCE and HPCC of csg-htsim, \"us\" for Swift and for UEC and EQDS of uet-htsim"
            ),
        ),
        time => Ok(time),
    }
}
