//! The reference of scenario files, which is written from the schema, and the lists for `clearway list`.

use super::networks::Format;
use super::schema::*;
use super::shapes::{KindInfo, SHAPES, example};
use super::tables::{KeyInfo, TableInfo, tables};
use crate::traffic::{WORKLOADS, WorkloadInfo};
use clearway_schema::{Declared, REQUIRED, Spec};
use std::fmt::Write;

/// A kind of network, for `clearway list topologies`.
#[derive(Clone, Debug)]
pub struct TopologyInfo {
    /// The name, as in scenario files.
    pub name: &'static str,
    /// A description in a sentence or two.
    pub summary: &'static str,
    /// The keys with their defaults, as written; a default is empty if there is none.
    pub keys: Vec<(&'static str, &'static str)>,
}

impl TopologyInfo {
    /// Returns the names of hosts and switches with the default keys; empty for networks from files.
    pub fn names(&self) -> String {
        example(self.name).map_or(String::new(), |network| {
            format!("hosts {}; switches {}", network.names().hosts(), network.names().switches())
        })
    }
}

/// Returns all kinds of networks.
pub fn topologies() -> Vec<TopologyInfo> {
    let info = |shape: &KindInfo| TopologyInfo {
        name: shape.name,
        summary: shape.doc.trim(),
        keys: shape.keys.iter().map(|key| (key.name, key.default)).collect(),
    };
    SHAPES.iter().map(info).collect()
}

/// Returns all built-in workloads.
pub fn workloads() -> &'static [WorkloadInfo] {
    WORKLOADS
}

const INTRODUCTION: &str = "\
# Scenario files

A scenario describes what to simulate: a network, its traffic, and what to observe. It is a TOML file; `--set key=value` and
Python set the same keys. `make docs` writes this page from the declarations that read the files, so it names every key.
[Write a scenario](../how-to/write-a-scenario.md) builds one step by step, and tells how an editor and the command help with it.

```toml
[topology]
kind = \"star\"
hosts = 17

[transport]
name = \"expresspass\"

[[traffic]]
name = \"burst\"
kind = \"incast\"
senders = 16
size = \"64 KB\"
```

**Values.** Times, rates and sizes are texts of a number and a unit: `\"4 us\"` (s, ms, us, ns, ps), `\"10 Gbps\"` (Tbps, Gbps,
Mbps, Kbps, bps), `\"384.5 KB\"` (TB, GB, MB, KB, B). 1 KB is 1000 B; GiB, MiB and KiB are binary. A host is written by its name
in the network, `\"h0\"`, or by its number, `0`. A port is written by both ends of its link, the sending end first: `\"tor0->h3\"`.
Many switches have a second name that says what they are, such as `leaf0` or `pod1-agg0`, which is accepted everywhere; results show
the first one. [`clearway show`](../how-to/own-network-and-flows.md) draws a network with its names.

**Mistakes.** Clearway refuses an unknown key, a wrong unit, a value out of range, or a host that does not exist before anything
runs. The message is one line with the file, the line, the key, the value, and what would be right. No key is ignored: a key
that has no meaning in its scenario is refused too, such as `switch.credit_queue` where no transport uses credits.

**`--set`** replaces a key by its path: `--set switch.buffer=\"1 MB\"`, `--set transport.alpha=0.25`. An entry of a list goes by
its name, `--set traffic.burst.size=\"1 MB\"`, or by its number from 0, `--set traffic.0.size=\"1 MB\"`. Traffic without a name
goes by its kind, as in the results: the first such incast is `traffic.incast`, the second `traffic.incast-2`; a sample without
a name goes by its `what`. A value that is no TOML is read as a text, so its quotes may be left out.

**`--transport X`** makes all traffic use X, as `clearway compare` does for each of its transports. What the file sets for X
stays. Parameters that the file sets for other transports are checked and then dropped. If the file's transports use credits
and X does not, the keys of credits are dropped too: `switch.credit_queue`, `switch.credit_queue_bytes`, `switch.credit_drop`,
`switch.credit_bucket`, `switch.credit_bucket_empty`, `switch.credit_share`, `switch.credit_class`, `host.credit_queue`, and `credit_class` of the
traffic. `--set` is applied afterwards, and so concerns X.

**The resolved scenario** that a run writes has every default and every parameter filled in, and names files by their full path
with their hash. Read again, it gives the same simulation.
";

/// Writes a table with a line for each key.
fn keys<'a>(out: &mut String, keys: impl IntoIterator<Item = (&'a str, &'a str, &'a Spec)>) {
    out.push_str("\n| key | value | default | range | meaning |\n|---|---|---|---|---|\n");
    for (name, doc, spec) in keys {
        let default = match spec.default {
            "" => "none".into(),
            REQUIRED => "**required**".into(),
            default => format!("`{default}`"),
        };
        let (range, kind) = (spec.range(), spec.kind_and_unit().replace('|', "\\|"));
        let _ =
            writeln!(out, "| `{name}` | {kind} | {default} | {range} | {} |", doc.trim().replace('|', "\\|"));
    }
}

fn of_table(table: &TableInfo) -> impl Iterator<Item = (&str, &str, &Spec)> {
    table.keys.iter().map(|KeyInfo { name, doc, spec }| (name.as_str(), doc.as_str(), spec))
}

fn of_specs(specs: &[Spec]) -> impl Iterator<Item = (&str, &str, &Spec)> {
    specs.iter().map(|spec| (spec.name, spec.doc, spec))
}

/// The tables of a file of a network.
fn own_file(out: &mut String) {
    let _ =
        write!(out, "\n{} They are read and refused like those of a scenario.\n", NetworkFile::DOC.trim());
    keys(out, of_specs(NetworkFile::SPECS));
    for (title, doc, specs) in [
        ("[[host]]", FileHost::DOC, FileHost::SPECS),
        ("[[switch]]", FileSwitch::DOC, FileSwitch::SPECS),
        ("[[link]]", FileLink::DOC, FileLink::SPECS),
    ] {
        let _ = write!(out, "\n`{title}` of such a file: {}\n", doc.trim());
        keys(out, of_specs(specs));
    }
}

/// Returns the page `docs/reference/scenario.md`, written from the declarations that read scenario files: every table
/// with its keys, and for each key the kind of value, default, limits and meaning.
pub fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    let all = tables();
    for table in all.iter().filter(|table| table.path != "traffic.list") {
        let _ = match (table.path, table.many) {
            ("", _) => write!(out, "\n## Top level\n\n{}\n", table.doc),
            (path, true) => write!(out, "\n## `[[{path}]]`\n\n{}\n", table.doc),
            (path, false) => write!(out, "\n## `[{path}]`\n\n{}\n", table.doc),
        };
        if !table.keys.is_empty() {
            keys(&mut out, of_table(table));
        }
        for kind in table.kinds {
            let _ = write!(out, "\n### `kind = \"{}\"`\n\n{}\n", kind.name, kind.doc.trim());
            if let Some(network) = example(kind.name).filter(|_| table.path == "topology") {
                let (hosts, switches) = (network.names().hosts(), network.names().switches());
                let _ = writeln!(
                    out,
                    "With the default keys the hosts are named `{hosts}`, the switches `{switches}`."
                );
            }
            keys(&mut out, of_specs(kind.keys));
            if table.path == "topology" && kind.name == Format::Own.kind() {
                own_file(&mut out);
            }
            let list = all.iter().find(|inner| inner.path == "traffic.list" && kind.name == "flows");
            if let Some(list) = list {
                let _ = write!(out, "\n{} Its keys:\n", list.doc);
                keys(&mut out, of_table(list));
            }
        }
        match table.path {
            "transport" => transports(&mut out),
            "traffic" => workload_list(&mut out),
            _ => {}
        }
    }
    out
}

/// Writes a section for each transport.
fn transports(out: &mut String) {
    for info in clearway_proto::TRANSPORTS {
        let _ =
            write!(out, "\n### `name = \"{}\"`\n\n{}. Source: {}.\n", info.name, info.summary, info.source);
        let _ = writeln!(out, "Checked against: {}. {}", info.checked.against(), info.checked.how());
        if !info.params.is_empty() {
            out.push_str(
                "\n| parameter | value | default | range | meaning | source |\n|---|---|---|---|---|---|\n",
            );
        }
        for spec in info.params {
            let (range, kind) = (spec.range(), spec.kind_and_unit());
            let (name, default, source) = (spec.name, spec.default, spec.source);
            let doc = spec.doc.trim().replace('|', "\\|");
            let _ = writeln!(out, "| `{name}` | {kind} | `{default}` | {range} | {doc} | {source} |");
        }
        for profile in info.profiles {
            let values: Vec<String> =
                profile.values.iter().map(|(key, value)| format!("`{key} = {value}`")).collect();
            let _ = write!(
                out,
                "\n`profile = \"{}\"`: {} Sets {}.\n",
                profile.name,
                profile.doc.trim(),
                values.join(", ")
            );
        }
    }
}

/// Writes the list of workloads.
fn workload_list(out: &mut String) {
    out.push_str("\n### Workloads\n\n| name | mean (B) | what |\n|---|---|---|\n");
    for workload in WORKLOADS {
        let _ = writeln!(out, "| `{}` | {:.0} | {} |", workload.name, workload.mean(), workload.summary);
    }
}
