//! Connection matrices (`.cm`) of htsim.

use super::flow::{Flows, HtsimUnit, ListError, ListRules, ListedFlow, fail};
use super::number;
use clearway_units::{Bytes, Time};
use std::collections::BTreeMap;

const FORM: &str = "write src->dst start TIME size BYTES";

/// A line of a connection matrix.
struct Line {
    flow: ListedFlow,
    /// The number of the connection, which several lines share if they are its messages.
    id: Option<u64>,
    /// True if the line says that it is a message.
    is_message: bool,
}

/// The lines that an id has.
struct Shared {
    /// The first of them.
    line: usize,
    /// True if one of them says that it is a message.
    has_messages: bool,
}

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
        _ => "a flow that starts when another ends can't be simulated; give each flow a start",
    };
    format!("{word}: {why}")
}

/// Reads a connection matrix: a header with `Nodes` and `Connections`, then a line `src->dst start TIME size BYTES` for
/// each flow. It may have an `id`, which lines with `msg` may share: they are messages of one connection, as with htsim's option
/// `-conn_reuse`. A flow of size 0 sends until it is stopped. Triggers, failures and priorities are refused, since leaving them
/// out would simulate something else. So is another number of nodes than the network has, as in htsim.
pub(super) fn parse(text: &str, rules: ListRules) -> Result<Vec<ListedFlow>, ListError> {
    let mut header = Header { hosts: rules.hosts as u64, ..Header::default() };
    let (mut flows, mut ids, mut shared) = (Flows::new(rules), Vec::new(), BTreeMap::new());
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
                let read = connection(line, ends, &words[1..], &header, rules)?;
                if let Some(id) = read.id {
                    let known = shared.entry(id).or_insert(Shared { line, has_messages: false });
                    if known.line != line && !read.is_message {
                        let problem = "connections that share an id are one to htsim, with a message each; give each its own id \
                                       or none, or write msg on this line";
                        return fail(line, format!("id: {id} is that of line {} too: {problem}", known.line));
                    }
                    known.has_messages |= read.is_message;
                }
                ids.push(read.id);
                flows.push(read.flow)?;
            }
            None if matches!(words[0], "trigger" | "failure") => return fail(line, refusal(words[0])),
            None => return fail(line, format!("{:?} is no connection; {FORM}", words[0])),
        }
    }
    for (flow, id) in flows.flows.iter_mut().zip(ids) {
        flow.connection = id.filter(|id| shared[id].has_messages).map(|id| id.to_string());
    }
    let count = flows.flows.len();
    match header.connections {
        Some((line, number)) if number != count as u64 => {
            fail(line, format!("Connections: {number}, but {count} lines follow; correct the number"))
        }
        _ => Ok(flows.flows),
    }
}

/// Reads a line of a connection.
fn connection(
    line: usize,
    (src, dst): (&str, &str),
    words: &[&str],
    header: &Header,
    rules: ListRules,
) -> Result<Line, ListError> {
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
    let (mut start, mut size, mut id, mut is_message) = (None, None, None, false);
    let mut words = words.iter().peekable();
    while let Some(&word) = words.next() {
        if matches!(word, "trigger" | "send_done_trigger" | "recv_done_trigger" | "addon" | "prio") {
            return fail(line, refusal(word));
        }
        if word == "msg" {
            if std::mem::replace(&mut is_message, true) {
                return fail(line, "msg stands there twice; remove one");
            }
            // Its number, if it has one, means nothing to htsim but that it is not 0.
            if words.next_if(|next| next.parse::<u64>().is_ok()) == Some(&"0") {
                return fail(line, "msg: 0 is no number of a message; write one from 1, or none");
            }
            continue;
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
    // The id 0 stands for none.
    let id = id.filter(|&id| id > 0);
    if is_message && id.is_none() {
        return fail(line, "msg: a message needs the id of its connection; write one such as id 1");
    }
    let flow = ListedFlow { line, start, src: src.into(), dst: dst.into(), size, connection: None };
    Ok(Line { flow, id, is_message })
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
