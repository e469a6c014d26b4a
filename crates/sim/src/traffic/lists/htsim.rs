//! Connection matrices (`.cm`) of htsim.

use super::flow::{Flows, HtsimUnit, List, ListError, ListRules, ListedFlow, fail};
use super::htsim_triggers::{self, Lines, Named};
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
    /// The triggers that the line names.
    triggers: Named,
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
    /// The number of triggers, and its line.
    triggers: Option<(usize, u64)>,
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
            "Triggers" => self.triggers = Some((line, count("Triggers")?)),
            "Failures" => {
                if count("Failures")? > 0 {
                    return fail(line, refusal("Failures"));
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
        _ => "means nothing to htsim any more; remove it",
    };
    format!("{word}: {why}")
}

/// Reads a connection matrix: a header with `Nodes` and `Connections`, then a line `src->dst start TIME size BYTES` for
/// each flow. It may have an `id`, which lines with `msg` may share: they are messages of one connection, as with htsim's option
/// `-conn_reuse`. Instead of a start it may have a `trigger`, which others pull by `send_done_trigger` or `recv_done_trigger` and
/// which has a line of its own. A flow of size 0 sends until it is stopped. Failures and priorities are refused, since leaving
/// them out would simulate something else. So is another number of nodes than the network has, as in htsim.
pub(super) fn parse(text: &str, rules: ListRules) -> Result<List, ListError> {
    let mut header = Header { hosts: rules.hosts as u64, ..Header::default() };
    let (mut flows, mut ids, mut shared) = (Flows::new(rules), Vec::new(), BTreeMap::new());
    let mut triggers = Lines::default();
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
                triggers.name(line, ids.len(), read.triggers);
                ids.push(read.id);
                flows.push(read.flow)?;
            }
            None if words[0] == "trigger" => triggers.define(line, &words[1..])?,
            None if words[0] == "failure" => return fail(line, refusal(words[0])),
            None => return fail(line, format!("{:?} is no connection; {FORM}", words[0])),
        }
    }
    for (flow, id) in flows.flows.iter_mut().zip(ids) {
        flow.connection = id.filter(|id| shared[id].has_messages).map(|id| id.to_string());
    }
    let counts = [
        ("Connections", header.connections, flows.flows.len()),
        ("Triggers", header.triggers, triggers.count()),
    ];
    for (name, stated, count) in counts {
        if let Some((line, number)) = stated.filter(|(_, number)| *number != count as u64) {
            return fail(line, format!("{name}: {number}, but {count} lines follow; correct the number"));
        }
    }
    Ok(List { flows: flows.flows, triggers: triggers.finish()? })
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
    let (mut start, mut size, mut id, mut is_message, mut triggers) =
        (None, None, None, false, Named::default());
    let mut words = words.iter().peekable();
    while let Some(&word) = words.next() {
        if matches!(word, "addon" | "prio") {
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
        let is_known = matches!(word, "start" | "size" | "id") || triggers.of(word).is_some();
        if !is_known {
            return fail(line, format!("{word:?} is no attribute of a connection; {FORM}"));
        }
        let Some(&value) = words.next() else {
            return fail(line, format!("{word} has no value; {FORM}"));
        };
        let is_first = match word {
            "start" => start.replace(start_of(line, value, rules.start_unit)?).is_none(),
            "size" => size.replace(number::bytes(line, "size", value)?).is_none(),
            _ => match (triggers.of(word), value.parse::<u64>()) {
                (Some(place), _) => place.replace(htsim_triggers::id(line, word, value)?).is_none(),
                (None, Ok(number)) => id.replace(number).is_none(),
                (None, Err(_)) => return fail(line, format!("id: {value:?} is no number; write one from 1")),
            },
        };
        if !is_first {
            return fail(line, format!("{word} {value}: {word} stands there twice; remove one"));
        }
    }
    let start = match (start, triggers.waits) {
        (Some(start), None) => start,
        (None, Some(_)) => Time::ZERO,
        (None, None) => {
            return fail(line, format!("has no start; {FORM}, or trigger N in place of the start"));
        }
        (Some(_), Some(id)) => {
            return fail(line, format!("trigger: {id} stands beside a start; remove one of them"));
        }
    };
    let Some(size) = size else { return fail(line, format!("has no size; {FORM}")) };
    let size = (size > Bytes::ZERO).then_some(size);
    // The id 0 stands for none.
    let id = id.filter(|&id| id > 0);
    if is_message && id.is_none() {
        return fail(line, "msg: a message needs the id of its connection; write one such as id 1");
    }
    if is_message && triggers.sent.is_some() {
        let problem = "send_done_trigger: of a message htsim fires it as soon as the last packet was sent, for which nothing can \
                       wait here; write recv_done_trigger, which fires when all has arrived";
        return fail(line, problem);
    }
    let flow = ListedFlow::plain(line, start, [src, dst], size);
    Ok(Line { flow, id, is_message, triggers })
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
