//! The reference of scenario files, which is written from the schema, and the lists for `clearway list`.

use super::mechanism;
use super::networks::Format;
use super::schema::*;
use super::shapes::{SHAPES, example};
use super::traffic::KINDS;
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
            format!("hosts {}; switches {}", network.host_names(), network.switch_names())
        })
    }
}

/// Returns all kinds of networks.
pub fn topologies() -> Vec<TopologyInfo> {
    let info = |shape: &super::shapes::KindInfo| TopologyInfo {
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
Python set the same keys. `make docs` writes this page from the declarations that read the files, so it names every key. The
[guide](guide.md) builds a scenario step by step.

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
the first one. [`clearway show`](networks.md) draws a network with its names.

**Mistakes.** Clearway refuses an unknown key, a wrong unit, a value out of range, or a host that does not exist before anything
runs. The message is one line with the file, the line, the key, the value, and what would be right. No key is ignored: a key
that has no meaning in its scenario is refused too, such as `switch.credit_queue` where no transport uses credits.

**`--set`** replaces a key by its path: `--set switch.buffer=\"1 MB\"`, `--set transport.alpha=0.25`. An entry of a list goes by
its name, or by its number from 0: `--set traffic.burst.size=\"1 MB\"`. A value that is no TOML is read as a text, so its quotes
may be left out.

**`--transport X`** makes all traffic use X, as `clearway compare` does for each of its transports. What the file sets for X
stays. Parameters that the file sets for other transports are checked and then dropped. If the file's transports use credits
and X does not, the keys of credits are dropped too: `switch.credit_queue`, `switch.credit_queue_bytes`, `switch.credit_bucket`,
`switch.credit_bucket_empty`, `switch.credit_share`, `switch.credit_class`, `host.credit_queue`, and `credit_class` of the
traffic. `--set` is applied afterwards, and so concerns X.

**The resolved scenario** that a run writes has every default and every parameter filled in, and names files by their full path
with their hash. Read again, it gives the same simulation.
";

/// Writes a table with a line for each key.
fn keys(out: &mut String, keys: &[Spec]) {
    out.push_str("\n| key | value | default | range | meaning |\n|---|---|---|---|---|\n");
    for key in keys {
        key_line(out, key, key.name, key.doc);
    }
}

fn key_line(out: &mut String, key: &Spec, name: &str, doc: &str) {
    let default = match key.default {
        "" => "none".into(),
        REQUIRED => "**required**".into(),
        default => format!("`{default}`"),
    };
    let (range, kind) = (key.range(), key.kind_and_unit().replace('|', "\\|"));
    let _ = writeln!(out, "| `{name}` | {kind} | {default} | {range} | {} |", doc.trim().replace('|', "\\|"));
}

fn section(out: &mut String, title: &str, doc: &str, specs: &[Spec]) {
    let _ = write!(out, "\n## {title}\n\n{}\n", doc.trim());
    keys(out, specs);
}

/// The lines of the keys that port mechanisms add to the table `[switch]`.
fn mechanism_keys(out: &mut String) {
    for key in mechanism::keys() {
        let names: Vec<String> = key.transports.iter().map(|name| format!("`{name}`")).collect();
        let doc = format!(
            "{} Without it, what the transport asks for. Only with {}.",
            key.constant.doc.trim(),
            names.join(" or ")
        );
        key_line(out, &Spec { default: "", ..*key.constant }, &key.name, &doc);
    }
}

/// The tables of a file of a network.
fn own_file(out: &mut String) {
    let _ =
        write!(out, "\n{} They are read and refused like those of a scenario.\n", NetworkFile::DOC.trim());
    keys(out, NetworkFile::SPECS);
    for (title, doc, specs) in [
        ("[[host]]", FileHost::DOC, FileHost::SPECS),
        ("[[switch]]", FileSwitch::DOC, FileSwitch::SPECS),
        ("[[link]]", FileLink::DOC, FileLink::SPECS),
    ] {
        let _ = write!(out, "\n`{title}` of such a file: {}\n", doc.trim());
        keys(out, specs);
    }
}

/// Returns the page `docs/scenario.md`, written from the declarations that read scenario files: every table with its
/// keys, and for each key the kind of value, default, limits and meaning.
pub fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    section(&mut out, "Top level", Root::DOC, Root::SPECS);
    out.push_str("\n## `[topology]`\n\nThe network. `kind` chooses its shape and so the other keys.\n");
    for shape in SHAPES {
        let _ = write!(out, "\n### `kind = \"{}\"`\n\n{}\n", shape.name, shape.doc.trim());
        if let Some(network) = example(shape.name) {
            let (hosts, switches) = (network.host_names(), network.switch_names());
            let _ = writeln!(
                out,
                "With the default keys the hosts are named `{hosts}`, the switches `{switches}`."
            );
        }
        keys(&mut out, shape.keys);
        if shape.name == Format::Own.kind() {
            own_file(&mut out);
        }
    }
    section(&mut out, "`[[link]]`", LinkTable::DOC, LinkTable::SPECS);
    section(&mut out, "`[network]`", Network::DOC, Network::SPECS);
    section(&mut out, "`[switch]`", Switch::DOC, Switch::SPECS);
    mechanism_keys(&mut out);
    section(&mut out, "`[[switch.class]]`", ClassTable::DOC, ClassTable::SPECS);
    section(&mut out, "`[[switch.credit_class]]`", CreditClassTable::DOC, CreditClassTable::SPECS);
    section(&mut out, "`[host]`", Host::DOC, Host::SPECS);
    out.push_str(
        "\n## `[transport]`\n\nThe transport of all traffic that names none: `name`, optionally `profile` (a named set of \
         parameters or a list of such, applied first and in order), and its parameters.\n",
    );
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
    section(&mut out, "`[[traffic]]`", TrafficTable::DOC, TrafficTable::SPECS);
    for kind in KINDS {
        let _ = write!(out, "\n### `kind = \"{}\"`\n\n{}\n", kind.name, kind.doc.trim());
        keys(&mut out, kind.keys);
        if kind.name == "flows" {
            let _ = write!(out, "\n{} Its keys:\n", FlowTable::DOC.trim());
            keys(&mut out, FlowTable::SPECS);
        }
    }
    out.push_str("\n### Workloads\n\n| name | mean (B) | what |\n|---|---|---|\n");
    for workload in WORKLOADS {
        let _ = writeln!(out, "| `{}` | {:.0} | {} |", workload.name, workload.mean(), workload.summary);
    }
    section(&mut out, "`[[fault]]`", FaultTable::DOC, FaultTable::SPECS);
    section(&mut out, "`[[loss]]`", LossTable::DOC, LossTable::SPECS);
    section(&mut out, "`[measure]`", MeasureTable::DOC, MeasureTable::SPECS);
    section(&mut out, "`[[sample]]`", SampleTable::DOC, SampleTable::SPECS);
    out
}
