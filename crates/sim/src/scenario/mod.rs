//! Scenario files: TOML, from text to a [`Model`].
//!
//! `docs/reference/scenario.md`, which [`reference()`] writes, lists every key. A fault in a file is refused in one
//! line, with the file, the line, the key, the value, and what would be right. No key that a user sets is ignored.
//!
//! | module | purpose |
//! |---|---|
//! | `document` | the file as written, whose values know their line; `--set` writes into it |
//! | `field` | kinds of values that scenario files alone have |
//! | `schema` | the keys, each declared once |
//! | `shapes`, `networks`, `transport`, `mechanism`, `traffic`, `resolve` | from keys to the model |
//! | `tables`, `reference` | from keys to lists of them and to the documentation |
//! | `memory` | the refusal of what would exhaust memory |

mod document;
mod error;
mod field;
mod files;
mod mechanism;
mod memory;
mod names;
mod networks;
#[cfg_attr(target_family = "wasm", path = "packed/absent.rs")]
mod packed;
mod reference;
mod resolve;
mod schema;
mod shapes;
mod sizes;
mod stacks;
mod tables;
#[cfg(test)]
mod tests;
mod traffic;
mod transport;

pub use error::ScenarioError;
pub use files::{File, Files, LIST_MAX, ParquetReader, read_parquet_with};
pub use packed::unpack;
pub use reference::{TopologyInfo, reference, topologies, workloads};
pub(crate) use resolve::{AllNeeds, classes_of, ports_for};
pub use shapes::KindInfo;
pub use tables::{KeyInfo, TableInfo, tables};
pub use traffic::FLOWS_MAX;

use crate::estimate::Estimate;
use crate::model::Model;
use document::Document;
use resolve::Asked;
use std::path::Path;

/// A scenario that is ready to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name: the key `name` of the file, or the name of the file itself.
    pub name: String,
    /// The model that a simulation runs.
    pub model: Model,
    /// The resolved scenario without its name and its seed.
    resolved: String,
    /// Set if something in the model was drawn by the seed.
    has_drawn: bool,
}

/// What is asked for beside a file: values that replace its keys or add to them, and the memory for its run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Overrides {
    /// The transport of all traffic. Keys that the file sets for other transports are dropped: their parameters, and
    /// the keys of credits if this transport uses none. Keys for this transport stay.
    pub transport: Option<String>,
    /// The seed of all random streams.
    pub seed: Option<u64>,
    /// Keys and values, such as `("traffic.web.load", "0.4")`. They come after `transport`, so that
    /// `("transport.alpha", "0.5")` is a parameter of the transport that it names.
    pub set: Vec<(String, String)>,
    /// The memory in bytes that reading and running the scenario may take. One whose [`Estimate`] is larger is refused
    /// with the key that asks for most. Without it, there is no limit.
    pub memory: Option<u64>,
    /// The most links that the network may have. A larger network is refused before it is built. Without it, there is no
    /// limit.
    pub links: Option<u64>,
    /// The room in bytes on the disk to which finished flows and samples go, if they leave memory during the run
    /// ([`Simulation::spooled`](crate::Simulation::spooled)). A run that would take more is refused.
    pub disk: Option<u64>,
}

impl Scenario {
    /// Reads the scenario file at `path`.
    ///
    /// # Errors
    /// The first fault in the order of the reference. Nothing has been run or written then.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Scenario, ScenarioError> {
        let origin = path.display().to_string();
        let text = files::read(path, files::TEXT_MAX).map_err(|error| ScenarioError {
            line: error.line,
            ..ScenarioError::file(&origin, error.problem)
        })?;
        let base_dir = path.parent().unwrap_or(Path::new(""));
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().replace(char::is_control, "?"));
        Scenario::read(&text.text, &origin, stem, &base_dir, overrides)
    }

    /// Reads the text of a scenario. `origin` stands for the file in messages; `files` are those that it may name, such
    /// as a folder on the disk.
    ///
    /// # Errors
    /// The first fault, as from [`Scenario::load`].
    pub fn parse(
        text: &str,
        origin: &str,
        files: &(impl Files + ?Sized),
        overrides: &Overrides,
    ) -> Result<Scenario, ScenarioError> {
        Scenario::read(text, origin, None, &files, overrides)
    }

    fn read(
        text: &str,
        origin: &str,
        stem: Option<String>,
        files: &dyn Files,
        overrides: &Overrides,
    ) -> Result<Scenario, ScenarioError> {
        if text.len() as u64 > files::TEXT_MAX {
            return Err(ScenarioError::file(
                origin,
                format!("is too large; the limit is {} bytes", files::TEXT_MAX),
            ));
        }
        if text.trim().is_empty() {
            return Err(ScenarioError::file(origin, "is empty; start from one of scenarios/"));
        }
        let mut document = Document::parse(text, origin)?;
        if let Some(name) = &overrides.transport {
            transport::replace_all(&mut document, name)?;
        }
        for (key, value) in &overrides.set {
            document.set(key, value)?;
        }
        if let Some(seed) = overrides.seed {
            document.set("seed", &seed.to_string())?;
        }
        stacks::equalise(&mut document);
        let &Overrides { memory, links, disk, .. } = overrides;
        let asked = Asked { replaced: overrides.transport.is_some(), memory, links, disk };
        let resolved = resolve::resolve(&document, files, asked)?;
        let name = resolved.name.or(stem).unwrap_or_else(|| "scenario".into());
        Ok(Scenario { name, model: resolved.model, resolved: resolved.toml, has_drawn: resolved.has_drawn })
    }

    /// Returns the scenario with another seed, as it would be if it were read with that one. Returns `None` if it has to be
    /// read for that: where the seed draws pairs of hosts, hosts, or the times at which flows start.
    pub fn with_seed(&self, seed: u64) -> Option<Scenario> {
        let mut other = (!self.has_drawn).then(|| self.clone())?;
        other.model.seed = seed;
        Some(other)
    }

    /// Estimates what a run will take: its traffic, memory and time.
    pub fn estimate(&self) -> Estimate {
        Estimate::of(&self.model)
    }

    /// Returns the resolved scenario, in which every default and every parameter is filled in and files stand with
    /// their full path and hash. Read again, it gives the same model.
    pub fn to_toml(&self) -> String {
        format!(
            "name = {}\nseed = {}\n{}",
            clearway_schema::quoted(&self.name),
            self.model.seed,
            self.resolved
        )
    }
}
