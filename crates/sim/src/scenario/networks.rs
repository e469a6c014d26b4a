//! Networks from files: Clearway's own TOML, and the formats of others.

use super::document::{Document, Path};
use super::error::{Result, ScenarioError};
use super::files::Text;
use super::schema::*;
use clearway_schema::suggestion;
use clearway_topology::{Builder, NodeId, Topology, TopologyError, from_graphml, from_hpcc, from_htsim};
use std::collections::BTreeMap;

/// A format of files of networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Own,
    Hpcc,
    Htsim,
    Graphml,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 4] = [Format::Own, Format::Hpcc, Format::Htsim, Format::Graphml];

    /// Returns the word for `kind` in `[topology]`.
    pub const fn kind(self) -> &'static str {
        match self {
            Format::Own => "file",
            Format::Hpcc => "hpcc-file",
            Format::Htsim => "htsim-file",
            Format::Graphml => "graphml-file",
        }
    }

    /// Returns a description for the reference.
    pub const fn doc(self) -> &'static str {
        match self {
            Format::Own => "A network from a TOML file of its own.",
            Format::Hpcc => {
                "A network in the text format of HPCC's ns-3. Hosts are named `h` and switches `s` with their number in \
                 the file."
            }
            Format::Htsim => {
                "A fat tree or leaf-spine from a `.topo` file of htsim. Hosts `h0` on, switches `tor0`, `agg0`, `core0` \
                 on, with two tiers `tor0` and `spine0` on."
            }
            Format::Graphml => {
                "A network in GraphML, as networkx writes it: nodes with the attribute `kind` (`host` or `switch`) and \
                 perhaps `tier`, edges with `rate`, `delay` and perhaps `loss`, or a graph with `rate` and `delay` for \
                 all. The `id` of a node is its name."
            }
        }
    }

    /// Reads the network of a file.
    pub fn read(self, text: &Text) -> Result<Topology> {
        let read = match self {
            Format::Own => return read_own(text),
            Format::Hpcc => from_hpcc(&text.text),
            Format::Htsim => from_htsim(&text.text),
            Format::Graphml => from_graphml(&text.text),
        };
        read.map_err(|error| refused(text, error))
    }
}

/// Returns the error of a topology with the file that it comes from.
fn refused(text: &Text, error: TopologyError) -> ScenarioError {
    match error {
        TopologyError::Line { line, problem } => text.error(line, &problem),
        other => ScenarioError::file(&text.name, other.to_string()),
    }
}

/// Reads a network from Clearway's own format.
fn read_own(text: &Text) -> Result<Topology> {
    let origin = text.name.clone();
    let document = Document::parse(&text.text, &origin).map_err(|error| with_kind(error, &text.text))?;
    let top = Path::default();
    let file = document.read_table::<NetworkFile>(&top)?;
    let mut nodes = Nodes { document: &document, builder: Builder::new(), ids: BTreeMap::new() };
    nodes.counted("hosts", file.hosts, Builder::add_host, "h")?;
    for (at, host) in document.read_list::<FileHost>(&top.key("host"))? {
        let id = nodes.builder.add_host(&host.name);
        nodes.name(&at.key("name"), host.name, id)?;
    }
    nodes.counted("switches", file.switches, |builder, name| builder.add_switch(name, 0), "s")?;
    for (at, switch) in document.read_list::<FileSwitch>(&top.key("switch"))? {
        let id = nodes.builder.add_switch(&switch.name, switch.tier.unwrap_or(0));
        nodes.name(&at.key("name"), switch.name, id)?;
    }
    for (at, link) in document.read_list::<FileLink>(&top.key("link"))? {
        let missing = |key: &str, example: &str| {
            let problem = format!("is missing; write {key} = {example:?} here or at the top of the file");
            document.error(&at.key(key), problem)
        };
        let rate = link.rate.or(file.rate).ok_or_else(|| missing("rate", "10 Gbps"))?;
        let delay = link.delay.or(file.delay).ok_or_else(|| missing("delay", "4 us"))?;
        let b = nodes.find(&at.key("b"), &link.b)?;
        for name in &link.a.0 {
            let a = nodes.find(&at.key("a"), name)?;
            let made = nodes.builder.try_link(a, b, rate, delay, link.loss);
            made.map_err(|error| {
                let at = match &error {
                    TopologyError::SecondLink { host, .. } => at.key(if *host == link.b { "b" } else { "a" }),
                    _ => at.clone(),
                };
                document.error(&at, error.to_string())
            })?;
        }
    }
    nodes.builder.build().map_err(|error| refused(text, error))
}

/// Adds to the error of a file that is no TOML which kind of file it seems to be.
fn with_kind(error: ScenarioError, text: &str) -> ScenarioError {
    let start = text.trim_start();
    let first: Vec<&str> =
        text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").split_whitespace().collect();
    let format = if start.starts_with('<') {
        Format::Graphml
    } else if first.len() == 3 && first.iter().all(|word| word.parse::<u64>().is_ok()) {
        Format::Hpcc
    } else if text.lines().any(|line| line.trim_start().to_ascii_lowercase().starts_with("tiers ")) {
        Format::Htsim
    } else {
        return error;
    };
    let problem = format!("{}; write kind = \"{}\" if it is such a file", error.problem, format.kind());
    ScenarioError { problem, ..error }
}

/// The nodes of a file that was read so far.
struct Nodes<'a> {
    document: &'a Document,
    builder: Builder,
    ids: BTreeMap<String, NodeId>,
}

impl Nodes<'_> {
    /// Adds the nodes of a count, named by a letter and a number.
    fn counted(
        &mut self,
        key: &str,
        count: u64,
        add: impl Fn(&mut Builder, String) -> NodeId,
        letter: &str,
    ) -> Result<()> {
        for index in 0..count {
            let name = format!("{letter}{index}");
            let id = add(&mut self.builder, name.clone());
            self.name(&Path::default().key(key), name, id)?;
        }
        Ok(())
    }

    fn name(&mut self, at: &Path, name: String, id: NodeId) -> Result<()> {
        if self.ids.contains_key(&name) {
            return Err(self.document.error(at, TopologyError::DuplicateName(name).to_string()));
        }
        self.ids.insert(name, id);
        Ok(())
    }

    fn find(&self, at: &Path, name: &str) -> Result<NodeId> {
        self.ids.get(name).copied().ok_or_else(|| {
            let hint = suggestion(name, self.ids.keys().take(10_000).map(String::as_str));
            let problem = format!("no node is named {name:?}{hint}; add it as [[host]] or [[switch]]");
            self.document.error(at, problem)
        })
    }
}
